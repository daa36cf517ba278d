#include "cli/file_schema.h"

#include <ctype.h>
#include <string.h>

#include "base/size.h"
#include "cli/config.h"
#include "cli/cmd/verbs.h"
#include "profile/profile.h"
#include "schema/schema.h"

#define SCALAR "string number" /* what a reader takes as text, as it is written */
#define PAIR_PATTERN "^[^=]+=" /* NAME=VALUE */
#define NAME_PATTERN "^[^=]+$"
#define WORD_PATTERN "[^ \\t\\n]" /* not blank */
/* Absolute, no part is '.' or '..' or empty; "/" itself. */
#define PATH_PATTERN "^(/|(/(?!\\.\\.?(/|$))[^/]{1,255})+)$"

/* ---- parts ---- */

/* A list of the words in a text. */
static void put_words(struct json *json, const char *key, const char *words)
{
	json_key(json, key);
	json_open(json, '[');
	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		json_bytes(json, at, len);
		at += len;
	}
	json_close(json, ']');
}

static void put_head(struct json *json, const char *title, const char *description)
{
	json_put_string(json, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_put_string(json, "title", title);
	json_put_string(json, "description", description);
	put_words(json, "type", "object null"); /* an empty file is a file without keys */
	json_put_bool(json, "additionalProperties", false);
}

static void open_map(struct json *json, const char *key)
{
	json_key(json, key);
	json_open(json, '{');
}

/* Of a number's range the last thousandth is open: readers cut off what is finer. */
static void put_number(struct json *json, uint64_t least_milli, uint64_t most_milli, const char *pattern)
{
	put_words(json, "type", SCALAR);
	json_put_real(json, "minimum", (double)least_milli / 1000, 3);
	json_put_real(json, "exclusiveMaximum", (double)(most_milli + 1) / 1000, 3);
	json_put_string(json, "pattern", pattern);
}

static void put_whole(struct json *json, uint64_t least, uint64_t most, const char *pattern)
{
	put_words(json, "type", "string integer");
	json_put_uint(json, "minimum", least);
	json_put_uint(json, "maximum", most);
	json_put_string(json, "pattern", pattern);
}

static void put_size(struct json *json)
{
	put_whole(json, 1, SIZE_LARGEST, SIZE_PATTERN);
}

static void put_duration(struct json *json)
{
	put_number(json, 1, DURATION_LONGEST_MS, DURATION_PATTERN);
}

static void put_cpus(struct json *json)
{
	put_number(json, CPUS_LEAST_MILLI, CPUS_MOST_MILLI, CPUS_PATTERN);
}

/* ---- a campaign's file ---- */

static void put_text(struct json *json, const struct cli_option *option)
{
	if (option->choices) {
		put_words(json, "enum", option->choices);
		return;
	}
	put_words(json, "type", SCALAR);
	json_put_uint(json, "minLength", 1);
}

static void put_list(struct json *json, const struct cli_option *option)
{
	put_words(json, "type", SCALAR " array");
	json_put_uint(json, "minLength", 1);
	open_map(json, "items");
	put_text(json, option);
	json_close(json, '}');
}

static void put_option(struct json *json, const struct cli_option *option)
{
	switch (option->kind) {
	case CLI_FLAG: json_put_string(json, "type", "boolean"); return;
	case CLI_LIST: put_list(json, option); return;
	case CLI_SIZE: put_size(json); return;
	case CLI_DURATION: put_duration(json); return;
	case CLI_COUNT: put_whole(json, option->min, option->max, COUNT_PATTERN); return;
	case CLI_CPUS: put_cpus(json); return;
	case CLI_TEXT:
	case CLI_OTHER: put_text(json, option); return;
	}
}

static void put_pairs(struct json *json)
{
	put_words(json, "type", "string array object");
	json_put_string(json, "pattern", PAIR_PATTERN);
	open_map(json, "items");
	json_put_string(json, "type", "string");
	json_put_string(json, "pattern", PAIR_PATTERN);
	json_close(json, '}');
	open_map(json, "propertyNames");
	json_put_string(json, "pattern", NAME_PATTERN);
	json_close(json, '}');
	open_map(json, "additionalProperties");
	put_words(json, "type", SCALAR " boolean");
	json_close(json, '}');
}

/* A text, or a map of its parts. */
static void put_alert(struct json *json, const char *types)
{
	put_words(json, "type", types);
	json_put_uint(json, "minLength", 1);
	json_put_bool(json, "additionalProperties", false);
	open_map(json, "properties");
	for (size_t i = 0; i < CONFIG_ALERT_KEYS; i++) {
		open_map(json, config_alert_keys[i]);
		put_words(json, "type", SCALAR);
		json_close(json, '}');
	}
	json_close(json, '}');
	json_key(json, "required");
	json_open(json, '[');
	for (size_t i = 0; i < CONFIG_ALERT_REQUIRED; i++)
		json_string(json, config_alert_keys[i]);
	json_close(json, ']');
}

static void put_alerts(struct json *json)
{
	put_alert(json, SCALAR " object array");
	open_map(json, "items");
	put_alert(json, SCALAR " object");
	json_close(json, '}');
}

#define WORD_TYPES SCALAR " boolean null" /* "true" is a program like any other */

static void put_command(struct json *json)
{
	json_put_string(json, "title", "command");
	json_put_string(json, "description", "what is run: an array of words, or one string for /bin/sh -c");
	put_words(json, "type", WORD_TYPES " array");
	json_put_string(json, "pattern", WORD_PATTERN);
	json_put_uint(json, "minItems", 1);
	json_key(json, "prefixItems");
	json_open(json, '[');
	json_open(json, '{');
	put_words(json, "type", WORD_TYPES);
	json_put_string(json, "pattern", WORD_PATTERN);
	json_close(json, '}');
	json_close(json, ']');
	open_map(json, "items");
	put_words(json, "type", WORD_TYPES);
	json_close(json, '}');
}

static void put_help(struct json *json, const struct cli_option *option)
{
	own(freep) char *title = xfmt("--%s%s%s", option->name, option->value ? " " : "", option->value ? option->value : "");
	own(freep) char *help = option->fallback ? xfmt("%s (default: %s)", option->help, option->fallback) : xstrdup(option->help);

	json_put_string(json, "title", title);
	json_put_string(json, "description", help);
}

static void put_key(struct json *json, const struct config_key *key)
{
	open_map(json, key->name);
	if (key->option)
		put_help(json, key->option);
	switch (key->shape) {
	case CONFIG_OPTION: put_option(json, key->option); break;
	case CONFIG_PAIRS: put_pairs(json); break;
	case CONFIG_ALERTS: put_alerts(json); break;
	case CONFIG_COMMAND: put_command(json); break;
	}
	json_close(json, '}');
}

void config_schema(const struct cli_verb *verb, struct json *json)
{
	own(freep) char *title = xfmt("A file of 'hotcell %s'", verb->name);
	struct config_key key;

	json_open(json, '{');
	put_head(json, title, "each key is an option, and an option on the command line wins over the key");
	open_map(json, "properties");
	for (size_t i = 0; config_key_at(verb, i, &key); i++)
		put_key(json, &key);
	json_close(json, '}');
	json_close(json, '}');
}

/* ---- a profile ---- */

/* One of "#/$defs/NAME", or a list of them. */
static void put_one_or_many(struct json *json, const char *name, bool may_be_empty)
{
	own(freep) char *ref = xfmt("#/$defs/%s", name);

	json_key(json, "anyOf");
	json_open(json, '[');
	json_open(json, '{');
	json_put_string(json, "$ref", ref);
	json_close(json, '}');
	json_open(json, '{');
	json_put_string(json, "type", "array");
	json_put_uint(json, "minItems", may_be_empty ? 0 : 1);
	json_put_uint(json, "maxItems", PROFILE_MAX_ITEMS);
	open_map(json, "items");
	json_put_string(json, "$ref", ref);
	json_close(json, '}');
	json_close(json, '}');
	json_close(json, ']');
}

static void put_map_of(struct json *json, const char *name, const char *def)
{
	open_map(json, name);
	put_one_or_many(json, def, true);
	json_close(json, '}');
}

static void put_calls(struct json *json)
{
	open_map(json, "properties");
	put_map_of(json, "deny", "denied");
	put_map_of(json, "allow", "allowed");
	json_close(json, '}');
}

static void put_paths(struct json *json)
{
	json_put_string(json, "type", "array");
	json_put_uint(json, "minItems", 1);
	json_put_uint(json, "maxItems", CELL_MAX_PATHS);
	open_map(json, "items");
	json_put_string(json, "type", "object");
	json_put_bool(json, "additionalProperties", false);
	put_words(json, "required", "path rights");
	open_map(json, "properties");
	open_map(json, "path");
	json_put_string(json, "type", "string");
	json_put_string(json, "pattern", PATH_PATTERN);
	json_put_uint(json, "maxLength", 4095);
	json_close(json, '}');
	open_map(json, "rights");
	put_one_or_many(json, "right", false);
	json_close(json, '}');
	json_close(json, '}');
	json_close(json, '}');
}

static void put_limits(struct json *json)
{
	open_map(json, "properties");
	for (size_t i = 0; i < PROFILE_LIMITS; i++) {
		const struct profile_limit *limit = &profile_limits[i];
		const struct cli_option *option = cli_option_find(&verb_run, limit->name);
		open_map(json, limit->name);
		if (option)
			put_help(json, option);
		switch (limit->kind) {
		case PROFILE_SIZE: put_size(json); break;
		case PROFILE_COUNT: put_whole(json, 1, limit->max, COUNT_PATTERN); break;
		case PROFILE_CPUS: put_cpus(json); break;
		case PROFILE_DURATION: put_duration(json); break;
		}
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_doors(struct json *json)
{
	open_map(json, "properties");
	for (size_t i = PROFILE_ALLOW; i <= PROFILE_SECRET; i++) {
		const struct cli_option *option = cli_option_find(&verb_run, profile_list_names[i]);
		open_map(json, profile_list_names[i]);
		if (option)
			put_help(json, option);
		put_one_or_many(json, "text", true);
		json_close(json, '}');
	}
	json_close(json, '}');
}

static void put_bases(struct json *json)
{
	json_key(json, "enum");
	json_open(json, '[');
	for (const char *const *name = profile_names; *name; name++)
		json_string(json, *name);
	json_close(json, ']');
}

static void put_profile_key(struct json *json, const struct profile_key *key)
{
	bool is_map = key->shape >= PROFILE_IS_CALLS && key->shape != PROFILE_IS_PATHS;

	open_map(json, key->name);
	json_put_string(json, "title", key->name);
	json_put_string(json, "description", key->help);
	if (is_map) {
		json_put_string(json, "type", "object");
		json_put_bool(json, "additionalProperties", false);
	}
	switch (key->shape) {
	case PROFILE_IS_BASE: put_bases(json); break;
	case PROFILE_IS_TEXT:
		put_words(json, "type", SCALAR);
		json_put_uint(json, "maxLength", PROFILE_MAX_TEXT);
		break;
	case PROFILE_IS_FLAG: json_put_string(json, "type", "boolean"); break;
	case PROFILE_IS_LIST: put_one_or_many(json, "text", true); break;
	case PROFILE_IS_CALLS: put_calls(json); break;
	case PROFILE_IS_PATHS: put_paths(json); break;
	case PROFILE_IS_CAPABILITIES:
		open_map(json, "properties");
		put_map_of(json, "drop", "capability");
		json_close(json, '}');
		break;
	case PROFILE_IS_LIMITS: put_limits(json); break;
	case PROFILE_IS_DOORS: put_doors(json); break;
	}
	json_close(json, '}');
}

static void put_call_names(struct json *json, const char *name, const char *also, enum cell_call_kind but)
{
	const struct cell_call *call;

	open_map(json, name);
	json_key(json, "enum");
	json_open(json, '[');
	if (also)
		json_string(json, also);
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (call->kind != but)
			json_string(json, call->name);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_right_names(struct json *json)
{
	const char *name;

	open_map(json, "right");
	json_key(json, "enum");
	json_open(json, '[');
	for (size_t i = 0; (name = profile_right_at(i)); i++)
		json_string(json, name);
	json_close(json, ']');
	json_close(json, '}');
}

/* A letter of either case, since ECMA-262 has no part of an expression that says so. */
static void add_any_case(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (isalpha((unsigned char)*text))
			buf_fmt(out, "[%c%c]", toupper((unsigned char)*text), tolower((unsigned char)*text));
		else
			buf_char(out, *text);
	}
}

static void put_capability_names(struct json *json)
{
	own(buf_done) struct buf pattern = {0};

	buf_str(&pattern, "^(");
	add_any_case(&pattern, "CAP_");
	buf_str(&pattern, ")?(");
	for (size_t i = 0; profile_capabilities[i]; i++) {
		buf_str(&pattern, i ? "|" : "");
		add_any_case(&pattern, profile_capabilities[i]);
	}
	buf_str(&pattern, ")$");
	open_map(json, "capability");
	json_put_string(json, "type", "string");
	json_put_string(json, "pattern", buf_text(&pattern));
	json_close(json, '}');
}

void profile_schema(struct json *json)
{
	const struct profile_key *key;

	json_open(json, '{');
	put_head(json, "A security profile of hotcell", "what a cell may do, for --profile");
	open_map(json, "properties");
	for (size_t i = 0; (key = profile_key_at(i)); i++)
		put_profile_key(json, key);
	json_close(json, '}');
	open_map(json, "$defs");
	open_map(json, "text");
	put_words(json, "type", SCALAR);
	json_put_uint(json, "minLength", 1);
	json_put_uint(json, "maxLength", PROFILE_MAX_TEXT);
	json_close(json, '}');
	put_call_names(json, "denied", "all", CELL_CALL_KEPT);
	put_call_names(json, "allowed", NULL, CELL_CALL_NEVER);
	put_right_names(json);
	put_capability_names(json);
	json_close(json, '}');
	json_close(json, '}');
}

/* ---- checking ---- */

static int refuse(struct err *err, const char *file, unsigned line, const char *format, ...) PRINTF_LIKE(4, 5);

static int refuse(struct err *err, const char *file, unsigned line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(err, file, line, format, args);
	va_end(args);
	return failed;
}

int file_schema_check(const struct buf *schema, const struct value *root, const char *file, struct err *err)
{
	own(schema_errors_done) struct schema_errors errors = {0};
	own(buf_done) struct buf sentence = {0};
	struct err why = {0};

	own(schema_freep) struct schema *compiled = schema_read(buf_text(schema), schema->len, NULL, NULL, err);
	if (!compiled)
		return -1;
	switch (schema_check(compiled, root, &errors, &why)) {
	case SCHEMA_VALID: return 0;
	case SCHEMA_GAVE_UP: return refuse(err, file, root->line, "%s", why.text);
	case SCHEMA_INVALID: break;
	}
	schema_error_text(&errors.list[0], &sentence);
	return refuse(err, file, errors.list[0].line ? errors.list[0].line : root->line, "%s", buf_text(&sentence));
}
