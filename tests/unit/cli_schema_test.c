/* The schemas of our own files and their readers agree: over the files there are, and over files made from the schemas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <string.h>

#include "base/yaml.h"
#include "cli/config.h"
#include "cli/file_schema.h"
#include "cli/cmd/verbs.h"
#include "profile/profile.h"
#include "schema/generate.h"

const struct cli_verb *const cli_verbs[] = {NULL};

#define FILE_NAME "f.yaml"
#define SOURCES SCHEMAS "/../.."

/* The rows that have no parser of their own: of those a schema says all but ranges. */
static struct cli_option plain_table[128];
static struct cli_verb plain_verb;

static int make_plain_verb(void **state)
{
	size_t count = 0;

	(void)state;
	plain_verb = verb_campaign_run;
	for (const struct cli_option *option = verb_campaign_run.options; option->name; option++) {
		assert_true(count + 1 < ARRAY_LEN(plain_table));
		if (!option->set)
			plain_table[count++] = *option;
	}
	plain_verb.options = plain_table;
	return 0;
}

/* ---- both judges of one file ---- */

struct judged {
	bool taken, fits;
	char reader[sizeof(((struct err *)0)->text)], schema[sizeof(((struct err *)0)->text)];
};

static void judge(const struct buf *schema, const struct value *root, struct judged *ret)
{
	struct err err = {0};

	ret->fits = file_schema_check(schema, root, FILE_NAME, &err) == 0;
	memcpy(ret->schema, err.text, sizeof(ret->schema));
	/* what the reader itself has no sentence for is refused in the schema's */
	if (!ret->fits && (ret->taken || strcmp(ret->reader, ret->schema) == 0))
		fail_msg("the schema alone refuses: %s", ret->schema);
}

static void judge_campaign(const struct cli_verb *verb, const struct value *root, struct judged *ret)
{
	own(config_words_done) struct config_words words = {0};
	own(json_done) struct json schema = {0};
	struct err err = {0};

	ret->taken = config_words(verb, root, FILE_NAME, &words, &err) == 0;
	memcpy(ret->reader, err.text, sizeof(ret->reader));
	config_schema(verb, &schema);
	judge(&schema.out, root, ret);
}

static void judge_profile(const struct buf *text, const struct value *root, struct judged *ret)
{
	own(profile_done) struct profile profile = {0};
	own(json_done) struct json schema = {0};
	struct err err = {0};

	ret->taken = profile_parse(&profile, buf_text(text), text->len, FILE_NAME, &err) == 0;
	memcpy(ret->reader, err.text, sizeof(ret->reader));
	profile_schema(&schema);
	judge(&schema.out, root, ret);
}

/* ---- files that there are ---- */

struct counts {
	size_t campaigns, profiles;
};

static void judge_text(const struct buf *text, struct counts *counts)
{
	own(value_done) struct value root = {0};
	struct judged judged;
	struct err err = {0};

	if (yaml_parse(buf_text(text), text->len, FILE_NAME, &root, &err) < 0)
		return;
	judge_campaign(&verb_campaign_run, &root, &judged);
	counts->campaigns += judged.taken;
	judge_profile(text, &root, &judged);
	counts->profiles += judged.taken;
}

static void judge_folder(const char *path, struct counts *counts)
{
	DIR *folder = opendir(path);

	assert_non_null(folder);
	for (struct dirent *entry; (entry = readdir(folder));) {
		own(freep) char *file = xfmt("%s/%s", path, entry->d_name);
		own(buf_done) struct buf text = {0};
		struct err err = {0};
		if (config_text(file, "a file", &text, &err) == 0)
			judge_text(&text, counts);
	}
	(void)closedir(folder);
}

static void every_file_that_a_reader_takes_fits_its_schema(void **state)
{
	static const char *const folders[] = {SOURCES "/examples/agent-fuzz", SOURCES "/examples/profiles",
		SOURCES "/tests/fuzz/corpus/yaml", SOURCES "/tests/fuzz/corpus/profile"};
	struct counts counts = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		judge_folder(folders[i], &counts);
	for (const char *const *name = profile_names; *name; name++) {
		own(profile_done) struct profile profile = {0};
		own(buf_done) struct buf text = {0};
		struct err err = {0};
		assert_int_equal(profile_builtin(&profile, *name, &err), 0);
		profile_yaml(&profile, &text);
		judge_text(&text, &counts);
	}
	assert_true(counts.campaigns >= 2);
	assert_true(counts.profiles >= 3 + 4);
}

static void what_may_be_written_in_more_than_one_way_fits_in_each(void **state)
{
	static const char *const campaigns[] = {"", "{}", "runs: '007'", "memory: 512", "memory: 1.5GiB", "memory: 3b", "timeout: 0.0019",
		"timeout: 250ms", "timeout: 31536000.0005", "cpus: 4096.0005", "cpus: '0.5'", "image: 0x1f", "hide: x", "hide: []",
		"hide: [1, a]", "env: A=", "env: ['A=b=c']", "env: {A: true, B: 1, C: ''}", "command: true", "command: [~, null, '']",
		"command: [1, 2]", "alerts: {name: a, condition: orphans > 5}", "alert: 'a: orphans > 5'",
		"alerts: [{name: 1, condition: orphans > 5, severity: critical}]", "backend: none", "tmp-exec: false", "uid: 5"};
	static const char *const profiles[] = {"", "{}", "description: 5", "syscalls: {}", "syscalls: {deny: all, allow: [read]}",
		"paths: [{path: /, rights: modify}, {path: /a/..b/.c, rights: [write, make]}]", "capabilities: {drop: [Cap_Net_Raw, ALL]}",
		"limits: {timeout: 5, cpus: 0.5, processes: '9', memory: 1kb}", "doors: {allow: []}", "hide: 5", "require: full"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(campaigns) + ARRAY_LEN(profiles); i++) {
		bool first = i < ARRAY_LEN(campaigns);
		own(buf_done) struct buf text = {0};
		own(value_done) struct value root = {0};
		struct judged judged;
		struct err err = {0};
		buf_str(&text, first ? campaigns[i] : profiles[i - ARRAY_LEN(campaigns)]);
		assert_int_equal(yaml_parse(buf_text(&text), text.len, FILE_NAME, &root, &err), 0);
		if (first)
			judge_campaign(&verb_campaign_run, &root, &judged);
		else
			judge_profile(&text, &root, &judged);
		if (!judged.taken || !judged.fits)
			fail_msg("'%s': %s%s", buf_text(&text), judged.reader, judged.schema);
	}
}

/* ---- files made from the schemas ---- */

/* What a schema does not say, by the sentence it is refused with. */
static const char *const unsaid[] = {
	" is too large; at most 1024T is taken", /* the range of a text */
	" is no size at all;",
	" is too long; at most 365d is taken",
	" is no time at all;",
	" is out of range; from ",
	" is both in syscalls.deny and in syscalls.allow", /* two keys together */
	"this path is given twice",
};

/* A schema knows numbers, not how they are written: readers take neither 1e3 nor 2.0 for a whole one. */
static bool is_other_notation(const char *sentence)
{
	const char *end = strstr(sentence, "' is not a "), *at = end;

	while (at && at > sentence && at[-1] != '\'')
		at--;
	return at && strspn(at, "0123456789.eE+-") == (size_t)(end - at) && strcspn(at, ".eE") < (size_t)(end - at);
}

static bool is_unsaid(const char *sentence)
{
	for (size_t i = 0; i < ARRAY_LEN(unsaid); i++)
		if (strstr(sentence, unsaid[i]))
			return true;
	return is_other_notation(sentence);
}

/* Sentences begin with the file, the line and the key. */
static bool is_of_parser(const char *sentence)
{
	const char *key = strstr(sentence, ": ");
	size_t len = key ? strcspn(key + 2, ": ") : 0;
	struct config_key known;

	for (size_t i = 0; key && config_key_at(&verb_campaign_run, i, &known); i++)
		if (known.option && known.option->set && strlen(known.name) == len && strncmp(known.name, key + 2, len) == 0)
			return true;
	return false;
}

struct made_of {
	const struct cli_verb *verb; /* NULL: profiles */
	bool plain, malformed;
};

/* Returns how many of the files were taken; *ret_read: how many are YAML, too. */
static size_t make_files(const struct made_of *of, size_t count, size_t *ret_read)
{
	const struct generator_options options = {.plain = of->plain, .depth = 4};
	own(json_done) struct json json = {0};
	own(draw_done) struct draw draw = {0};
	struct err err = {0};
	size_t taken = 0;

	if (of->verb)
		config_schema(of->verb, &json);
	else
		profile_schema(&json);
	own(schema_freep) struct schema *schema = schema_read(buf_text(&json.out), json.out.len, NULL, NULL, &err);
	assert_non_null(schema);
	own(generator_freep) struct generator *generator = generator_open(schema, &options, &err);
	assert_non_null(generator);
	draw_init(&draw, 7);
	*ret_read = 0;
	for (size_t i = 0; i < count; i++) {
		own(json_done) struct json text = {0};
		own(value_done) struct value root = {0};
		struct judged judged;
		struct made made;
		int failed = of->malformed ? generator_make_malformed(generator, &draw, &made, &err) :
					     generator_make(generator, &draw, &made, &err);
		assert_int_equal(failed, 0);
		json_value(&text, made.value, false);
		if (strstr(made.text, "\\u0000") || yaml_parse(buf_text(&text.out), text.out.len, FILE_NAME, &root, &err) < 0)
			continue; /* YAML has no NUL, no control characters */
		(*ret_read)++;
		if (of->verb)
			judge_campaign(of->verb, &root, &judged);
		else
			judge_profile(&text.out, &root, &judged);
		taken += judged.taken;
		if (judged.fits == of->malformed)
			fail_msg("%.*s: %s", (int)text.out.len, buf_text(&text.out), judged.schema);
		if (!of->malformed && !judged.taken && !is_unsaid(judged.reader) && !is_of_parser(judged.reader))
			fail_msg("%.*s: %s", (int)text.out.len, buf_text(&text.out), judged.reader);
	}
	return taken;
}

#define MADE 150

static void every_file_made_from_a_schema_is_taken_but_for_what_a_schema_does_not_say(void **state)
{
	const struct made_of all[] = {{&plain_verb, true, false}, {&plain_verb, false, false}, {NULL, true, false},
		{NULL, false, false}, {&verb_campaign_run, true, false}};
	size_t read;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t taken = make_files(&all[i], MADE, &read);
		assert_true(read > MADE * 9 / 10);
		assert_true(taken > MADE / 3);
	}
}

static void a_file_that_breaks_its_schema_once_is_refused_by_the_readers_own_sentence(void **state)
{
	const struct made_of all[] = {{&verb_campaign_run, true, true}, {NULL, true, true}};
	size_t read;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(make_files(&all[i], MADE, &read), 0);
		assert_int_equal(read, MADE);
	}
}

/* ---- the sentence of a schema ---- */

static void what_only_a_schema_refuses_is_told_with_its_line(void **state)
{
	static const char text[] = "runs: 5\nmemroy: 2g\n";
	own(json_done) struct json schema = {0};
	own(value_done) struct value root = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(yaml_parse(text, strlen(text), FILE_NAME, &root, &err), 0);
	config_schema(&verb_campaign_run, &schema);
	assert_int_equal(file_schema_check(&schema.out, &root, FILE_NAME, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_string_equal(err.text, FILE_NAME ":2: there must be no 'memroy' in it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_that_a_reader_takes_fits_its_schema),
		cmocka_unit_test(what_may_be_written_in_more_than_one_way_fits_in_each),
		cmocka_unit_test(every_file_made_from_a_schema_is_taken_but_for_what_a_schema_does_not_say),
		cmocka_unit_test(a_file_that_breaks_its_schema_once_is_refused_by_the_readers_own_sentence),
		cmocka_unit_test(what_only_a_schema_refuses_is_told_with_its_line),
	};

	return cmocka_run_group_tests(tests, make_plain_verb, NULL);
}
