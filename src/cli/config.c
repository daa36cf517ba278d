/* From a tree of values to the words that would have said the same on the command line. */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/term.h"
#include "base/yaml.h"
#include "cli/file_schema.h"

#define SHOWN_MAX 60 /* bytes of the file repeated in an error */
#define NAME_SHOWN 160

struct config {
	const struct cli_verb *verb;
	const char *file;
	struct config_words *words;
	struct err *err;
};

/* ---- errors ---- */

static int fail(struct config *config, unsigned line, const char *format, ...) PRINTF_LIKE(3, 4);

static int fail(struct config *config, unsigned line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(config->err, config->file, line, format, args);
	va_end(args);
	return failed;
}

/* What a value of this kind is called: "'runs' must be ..." */
static const char *kind_wanted(const struct cli_option *option)
{
	switch (option->kind) {
	case CLI_FLAG: return "true or false";
	case CLI_LIST: return "a string or an array of strings";
	case CLI_SIZE: return "a size such as 512M";
	case CLI_DURATION: return "a duration such as 15m";
	case CLI_COUNT:
	case CLI_CPUS: return "a number";
	case CLI_TEXT:
	case CLI_OTHER: break;
	}
	return "a string";
}

static int wrong_kind(
	struct config *config, const char *key, const struct value *value, const char *wanted)
{
	bool quotes = value->kind == VALUE_BOOL && strncmp(wanted, "a string", 8) == 0;
	return fail(config, value->line, "'%s' must be %s, not %s%s", key, wanted,
		value_kind_name(value->kind),
		quotes ? "; put it in quotes to have it as a string" : "");
}

/* ---- words ---- */

static void word_add(struct config *config, char *word)
{
	struct config_words *words = config->words;

	words->words = xrealloc(words->words, words->count + 1, sizeof(*words->words));
	words->words[words->count++] = word;
}

/* Refuses what the option's parser would; its sentence begins with the flag, ours with the key. */
static int option_add(struct config *config, const char *key, const struct cli_option *option,
	unsigned line, const char *text)
{
	struct err err = {0};
	size_t len = strlen(option->name);

	if (cli_option_check(config->verb, option, text, &err) == 0) {
		word_add(config, xfmt("--%s=%s", option->name, text));
		return 0;
	}
	if (strncmp(err.text, "--", 2) == 0 && strncmp(err.text + 2, option->name, len) == 0)
		return fail(config, line, "%s%s", key, err.text + 2 + len);
	return fail(config, line, "%s: %s", key, err.text);
}

static bool is_text(const struct value *value)
{
	return value->kind == VALUE_TEXT || value->kind == VALUE_NUMBER;
}

/* ---- lists whose items have a form of their own ---- */

struct form {
	const char *key, *option;
	enum config_shape shape;
	/* An item that is a map; or the whole, where `whole` is set. */
	int (*map)(struct config *config, const struct form *form, const struct cli_option *option,
		const struct value *map);
	bool whole;
	bool pairs; /* a text is NAME=VALUE */
};

/* NAME: VALUE. True and false are text here, as they are written: so programs read them. */
static int pairs_add(struct config *config, const struct form *form,
	const struct cli_option *option, const struct value *map)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct value *value = &map->items[i];
		const char *name = map->keys[i];
		own(buf_done) struct buf shown = {0};

		term_line(name, strlen(name), SHOWN_MAX, &shown);
		if (!*name || strchr(name, '='))
			return fail(config, map->key_lines[i],
				"'%s' cannot be the name of a variable", buf_text(&shown));
		if (!value->text)
			return wrong_kind(config, buf_text(&shown), value, "a string");
		if (value->kind == VALUE_NULL)
			return fail(config, value->line,
				"'%s' has no value; write \"\" to set it to nothing",
				buf_text(&shown));
		own(freep) char *pair = xfmt("%s=%s", name, value->text);
		if (option_add(config, form->key, option, value->line, pair) < 0)
			return -1;
	}
	return 0;
}

enum { ALERT_NAME, ALERT_CONDITION, ALERT_SEVERITY };
const char *const config_alert_keys[CONFIG_ALERT_KEYS] = {
	[ALERT_NAME] = "name", [ALERT_CONDITION] = "condition", [ALERT_SEVERITY] = "severity"};

/* {name, condition, severity}; the severity may be missing. */
static int alert_add(struct config *config, const struct form *form,
	const struct cli_option *option, const struct value *map)
{
	const char *texts[CONFIG_ALERT_KEYS] = {0};

	for (size_t i = 0; i < map->count; i++) {
		size_t at = 0;
		while (at < CONFIG_ALERT_KEYS && strcmp(config_alert_keys[at], map->keys[i]) != 0)
			at++;
		if (at == CONFIG_ALERT_KEYS) {
			own(buf_done) struct buf shown = {0};
			term_line(map->keys[i], strlen(map->keys[i]), SHOWN_MAX, &shown);
			return fail(config, map->key_lines[i],
				"unknown key '%s': an alert has name, condition and severity",
				buf_text(&shown));
		}
		if (!is_text(&map->items[i]))
			return wrong_kind(config, config_alert_keys[at], &map->items[i], "a string");
		texts[at] = map->items[i].text;
	}
	for (size_t i = 0; i < CONFIG_ALERT_REQUIRED; i++) {
		if (!texts[i])
			return fail(config, map->line, "this alert has no %s", config_alert_keys[i]);
	}
	const char *severity = texts[ALERT_SEVERITY];
	own(freep) char *text = xfmt("%s: %s%s%s", texts[ALERT_NAME], texts[ALERT_CONDITION],
		severity ? " " : "", severity ? severity : "");
	return option_add(config, form->key, option, map->line, text);
}

static const struct form forms[] = {
	{.key = "env", .option = "env", .shape = CONFIG_PAIRS, .map = pairs_add, .whole = true, .pairs = true},
	{.key = "alerts", .option = "alert", .shape = CONFIG_ALERTS, .map = alert_add},
	{.key = "alert", .option = "alert", .shape = CONFIG_ALERTS, .map = alert_add},
};

static const struct form *form_find(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (strcmp(forms[i].key, key) == 0)
			return &forms[i];
	}
	return NULL;
}

/* ---- one key ---- */

static int item_add(struct config *config, const char *key, const struct form *form,
	const struct cli_option *option, const struct value *item)
{
	if (item->kind == VALUE_MAP && form && !form->whole)
		return form->map(config, form, option, item);
	if (!is_text(item))
		return wrong_kind(config, key, item, kind_wanted(option));
	const char *equals = strchr(item->text, '=');
	if (form && form->pairs && (!equals || equals == item->text))
		return fail(config, item->line, "an item of '%s' must be NAME=VALUE", key);
	return option_add(config, key, option, item->line, item->text);
}

static int list_add(struct config *config, const char *key, const struct cli_option *option,
	const struct value *value)
{
	const struct form *form = form_find(key);

	if (value->kind == VALUE_MAP && form && form->whole)
		return form->map(config, form, option, value);
	if (value->kind != VALUE_LIST)
		return item_add(config, key, form, option, value);
	for (size_t i = 0; i < value->count; i++) {
		if (item_add(config, key, form, option, &value->items[i]) < 0)
			return -1;
	}
	return 0;
}

static int key_add(struct config *config, const char *key, const struct cli_option *option,
	const struct value *value)
{
	if (option->kind == CLI_LIST)
		return list_add(config, key, option, value);
	if (option->kind == CLI_FLAG && value->kind == VALUE_BOOL) {
		if (value->truth)
			word_add(config, xfmt("--%s", option->name));
		return 0;
	}
	if (option->kind == CLI_FLAG || !is_text(value))
		return wrong_kind(config, key, value, kind_wanted(option));
	return option_add(config, key, option, value->line, value->text);
}

/* ---- the command ---- */

static void command_add(struct config_words *words, size_t at, const char *word)
{
	words->command = xrealloc(words->command, at + 2, sizeof(*words->command));
	words->command[at] = xstrdup(word);
	words->command[at + 1] = NULL;
}

/* "true" is a program like any other, and "null" an argument. */
static int command_set(struct config *config, const struct value *value)
{
	const struct value *items = value->kind == VALUE_LIST ? value->items : value;
	size_t count = value->kind == VALUE_LIST ? value->count : 1, at = 0;

	if (value->kind == VALUE_MAP)
		return wrong_kind(config, "command", value, "an array of strings, or one string");
	if (count == 0 || (items[0].text && !items[0].text[strspn(items[0].text, " \t\n")]))
		return fail(config, value->line,
			"the command is empty: give the name or path of a program");
	if (items == value) {
		command_add(config->words, at++, "/bin/sh");
		command_add(config->words, at++, "-c");
	}
	for (size_t i = 0; i < count; i++) {
		if (!items[i].text)
			return fail(config, items[i].line,
				"an item of 'command' must be a string, not %s",
				value_kind_name(items[i].kind));
		if (items[i].kind == VALUE_NULL && !*items[i].text)
			return fail(config, items[i].line,
				"an item of 'command' is missing; write \"\" for an empty argument");
		command_add(config->words, at++, items[i].text);
	}
	return 0;
}

/* ---- all keys ---- */

/* Those of options, of forms that are called otherwise, and "command". */
bool config_key_at(const struct cli_verb *verb, size_t index, struct config_key *ret)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		const struct form *form = form_find(option->name);
		*ret = (struct config_key){option->name, option, form ? form->shape : CONFIG_OPTION};
		if (!option->not_in_file && index-- == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const struct cli_option *option = cli_option_find(verb, forms[i].option);
		*ret = (struct config_key){forms[i].key, option, forms[i].shape};
		if (option && !option->not_in_file && strcmp(option->name, forms[i].key) != 0 && index-- == 0)
			return true;
	}
	*ret = (struct config_key){"command", NULL, CONFIG_COMMAND};
	return verb->takes_command && index == 0;
}

static const char *key_at(const void *data, size_t index)
{
	struct config_key key;

	return config_key_at(data, index, &key) ? key.name : NULL;
}

static int key_unknown(struct config *config, unsigned line, const char *key)
{
	own(buf_done) struct buf shown = {0};
	const char *near = cli_nearest(key, key_at, config->verb);

	term_line(key, strlen(key), SHOWN_MAX, &shown);
	if (near)
		return fail(config, line, "unknown key '%s'; did you mean '%s'?", buf_text(&shown),
			near);
	return fail(config, line, "unknown key '%s'; 'hotcell %s --help' lists the options",
		buf_text(&shown), config->verb->name);
}

static int key_take(struct config *config, const struct value *root, size_t at)
{
	const char *key = root->keys[at];
	const struct value *value = &root->items[at];
	const struct form *form = form_find(key);
	const struct cli_option *option = cli_option_find(config->verb, form ? form->option : key);

	if (!option && config->verb->takes_command && strcmp(key, "command") == 0)
		return command_set(config, value);
	if (strcmp(key, "help") == 0 || (option && option->not_in_file))
		return fail(config, root->key_lines[at],
			"'%s' cannot be set in a file; give --%s on the command line", key, key);
	if (!option)
		return key_unknown(config, root->key_lines[at], key);
	return key_add(config, key, option, value);
}

static int keys_take(struct config *config, const struct value *root)
{
	if (root->kind == VALUE_NULL)
		return 0;
	if (root->kind != VALUE_MAP)
		return fail(config, root->line,
			"this must be an object of options (name: value), not %s",
			value_kind_name(root->kind));
	for (size_t i = 0; i < root->count; i++) {
		if (key_take(config, root, i) < 0)
			return -1;
	}
	return 0;
}

/* The reader speaks first, since it knows more: what is near, what to write instead. */
int config_words(const struct cli_verb *verb, const struct value *root, const char *file,
	struct config_words *ret, struct err *err)
{
	struct config config = {.verb = verb, .file = file, .words = ret, .err = err};
	own(json_done) struct json schema = {0};

	*ret = (struct config_words){0};
	config_schema(verb, &schema);
	if (keys_take(&config, root) == 0 && file_schema_check(&schema.out, root, file, err) == 0)
		return 0;
	config_words_done(ret);
	return -1;
}

void config_words_done(struct config_words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		explicit_bzero(words->words[i], strlen(words->words[i]));
		free(words->words[i]);
	}
	for (char **word = words->command; word && *word; word++)
		free(*word);
	free(words->words);
	free(words->command);
	*words = (struct config_words){0};
}

/* ---- the file ---- */

static const char *file_kind(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a folder";
	if (S_ISFIFO(mode))
		return "a pipe";
	return S_ISSOCK(mode) ? "a socket" : "a device";
}

static int file_open(const char *path, const char *shown, const char *what, struct err *err)
{
	struct stat stat;
	own(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT)
		return err_set(
			err, ERR_USAGE, "there is no file '%s'%s", shown, what ? "" : "; a command comes after '--'");
	if (fd < 0 || fstat(fd, &stat) < 0) {
		(void)err_errno(err, errno, "open '%s'", shown);
		err->code = ERR_USAGE;
		return -1;
	}
	if (!S_ISREG(stat.st_mode))
		return err_set(err, ERR_USAGE, "'%s' is %s, not %s", shown, file_kind(stat.st_mode),
			what ? what : "a file of options");
	return fd_take(&fd);
}

/* One byte more than is taken, at most, so that too much is seen. */
static int file_read(int fd, const char *shown, struct buf *ret, struct err *err)
{
	char part[16 << 10];

	while (ret->len <= YAML_MAX_BYTES) {
		ssize_t got = read(fd, part, sizeof(part));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, errno, "read '%s'", shown);
		if (got == 0)
			break;
		buf_add(ret, part, (size_t)got);
	}
	return 0;
}

int config_text(const char *path, const char *what, struct buf *ret, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), NAME_SHOWN, &shown);
	own(fd_closep) int fd = file_open(path, buf_text(&shown), what, err);
	return fd < 0 ? -1 : file_read(fd, buf_text(&shown), ret, err);
}

int config_read(
	const struct cli_verb *verb, const char *path, struct config_words *ret, struct err *err)
{
	own(buf_done) struct buf text = {0};
	own(value_done) struct value root = {0};

	*ret = (struct config_words){0};
	if (config_text(path, NULL, &text, err) < 0 ||
		yaml_parse(buf_text(&text), text.len, path, &root, err) < 0)
		return -1;
	return config_words(verb, &root, path, ret, err);
}
