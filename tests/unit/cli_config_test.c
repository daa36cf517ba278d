#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/yaml.h"
#include "cli/config.h"

struct options {
	bool quiet, json;
	const char *name;
	struct cli_list hide, env, alert;
	uint64_t memory, timeout, runs;
	uint32_t cpus;
	char uid[32];
};

static int set_uid(void *options, const char *value, struct err *err)
{
	struct options *into = options;

	if (strspn(value, "0123456789") != strlen(value))
		return err_set(err, ERR_USAGE, "--uid takes a number");
	(void)strncpy(into->uid, value, sizeof(into->uid) - 1);
	return 0;
}

static int check_alert(void *options, const char *value, struct err *err)
{
	(void)options;
	return strchr(value, '>') ? 0 : err_set(err, ERR_USAGE, "'%s' has no '>'", value);
}

#define INTO(member) CLI_INTO(struct options, member)

static const struct cli_option table[] = {
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet), .help = "q"},
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "j", .not_in_file = true},
	{.name = "name", .value = "NAME", .kind = CLI_TEXT, INTO(name), .help = "n"},
	{.name = "mode", .value = "MODE", .kind = CLI_TEXT, INTO(name), .help = "m", .choices = "fast slow"},
	{.name = "hide", .value = "GLOB", .kind = CLI_LIST, INTO(hide), .help = "h"},
	{.name = "env", .value = "N=V", .kind = CLI_LIST, INTO(env), .help = "e", .secret = true},
	{.name = "alert", .value = "RULE", .kind = CLI_LIST, INTO(alert), .help = "a", .set = check_alert},
	{.name = "memory", .value = "SIZE", .kind = CLI_SIZE, INTO(memory), .help = "m"},
	{.name = "timeout", .value = "TIME", .kind = CLI_DURATION, INTO(timeout), .help = "t"},
	{.name = "runs", .value = "N", .kind = CLI_COUNT, INTO(runs), .min = 1, .max = 1000, .help = "r"},
	{.name = "cpus", .value = "N", .kind = CLI_CPUS, INTO(cpus), .help = "c"},
	{.name = "uid", .value = "UID", .kind = CLI_OTHER, .set = set_uid, .help = "u"},
	{0},
};

static void defaults(void *options)
{
	((struct options *)options)->runs = 10;
}

static const struct cli_verb verb = {
	.name = "campaign run", .summary = "s", .usage = "[FILE]", .options = table,
	.options_size = sizeof(struct options), .defaults = defaults, .words_max = 1, .word = "FILE",
	.takes_command = true, .command_optional = true,
};
static const struct cli_verb bare = {.name = "bare", .summary = "takes nothing"};

const struct cli_verb *const cli_verbs[] = {&verb, &bare, NULL};

/* ---- from text to words ---- */

static int convert(const char *text, struct config_words *ret, struct err *err)
{
	own(value_done) struct value root = {0};

	*ret = (struct config_words){0};
	if (yaml_parse(text, strlen(text), "c.yaml", &root, err) < 0)
		return -1;
	return config_words(&verb, &root, "c.yaml", ret, err);
}

/* All words, then the command's, each in brackets. */
static void show(const struct config_words *words, struct buf *out)
{
	for (size_t i = 0; i < words->count; i++)
		buf_fmt(out, "%s%s", i ? " | " : "", words->words[i]);
	for (char **word = words->command; word && *word; word++)
		buf_fmt(out, "[%s]", *word);
}

static void keys_become_the_words_of_the_command_line(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"", ""},
		{"# nothing\n", ""},
		{"{}", ""},
		{"memory: 2g\nruns: 100\n", "--memory=2g | --runs=100"},
		{"timeout: 90\ncpus: 0.5\nuid: 1000\n", "--timeout=90 | --cpus=0.5 | --uid=1000"},
		{"name: 5\n", "--name=5"},
		{"name: \"--json\"\n", "--name=--json"},
		{"mode: fast", "--mode=fast"},
		{"quiet: true", "--quiet"},
		{"quiet: false", ""},
		{"hide: .netrc", "--hide=.netrc"},
		{"hide: [.netrc, '*.pem', 5]", "--hide=.netrc | --hide=*.pem | --hide=5"},
		{"hide: []", ""},
		{"env: [A=1, 'B==', C=]", "--env=A=1 | --env=B== | --env=C="},
		{"env:\n  A: 1\n  B: x=y z\n  C: true\n  D: ''\n",
			"--env=A=1 | --env=B=x=y z | --env=C=true | --env=D="},
		{"env: A=b", "--env=A=b"},
		{"alerts:\n- name: crowd\n  condition: orphans > 5\n  severity: critical\n- 'x: memory > 9%'\n",
			"--alert=crowd: orphans > 5 critical | --alert=x: memory > 9%"},
		{"alerts:\n- {condition: orphans > 5, name: c}\n", "--alert=c: orphans > 5"},
		{"alert: 'x: y > 1'", "--alert=x: y > 1"},
		{"command: [./fuzz, --fast, -n, 5, true, null, '']", "[./fuzz][--fast][-n][5][true][null][]"},
		{"command: [true]", "[true]"},
		{"command: make test | tee log", "[/bin/sh][-c][make test | tee log]"},
		{"command: true", "[/bin/sh][-c][true]"},
		{"command: |\n  set -e\n  ./x\n", "[/bin/sh][-c][set -e\n./x\n]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(config_words_done) struct config_words words = {0};
		own(buf_done) struct buf out = {0};
		struct err err = {0};
		if (convert(rows[i].text, &words, &err) < 0)
			fail_msg("'%s': %s", rows[i].text, err.text);
		show(&words, &out);
		assert_string_equal(buf_text(&out), rows[i].expected);
	}
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"runs: 5\nmemroy: 2g\n", "c.yaml:2: unknown key 'memroy'; did you mean 'memory'?"},
		{"alrets: []", "c.yaml:1: unknown key 'alrets'; did you mean 'alerts'?"},
		{"comand: x", "c.yaml:1: unknown key 'comand'; did you mean 'command'?"},
		{"zzzzzz: 1", "c.yaml:1: unknown key 'zzzzzz'; 'hotcell campaign run --help' lists the options"},
		{"\"\\e[2J\": 1", "c.yaml:1: unknown key '\\x1b[2J'; 'hotcell campaign run --help' lists the options"},
		{"q: true", "c.yaml:1: unknown key 'q'; 'hotcell campaign run --help' lists the options"},
		{"json: true", "c.yaml:1: 'json' cannot be set in a file; give --json on the command line"},
		{"json: 1", "c.yaml:1: 'json' cannot be set in a file; give --json on the command line"},
		{"help: true", "c.yaml:1: 'help' cannot be set in a file; give --help on the command line"},
		{"\nruns:\n  - 1\n", "c.yaml:3: 'runs' must be a number, not an array"},
		{"runs: true", "c.yaml:1: 'runs' must be a number, not true or false"},
		{"runs:\n", "c.yaml:1: 'runs' must be a number, not nothing"},
		{"memory: {}", "c.yaml:1: 'memory' must be a size such as 512M, not an object"},
		{"timeout: [1m]", "c.yaml:1: 'timeout' must be a duration such as 15m, not an array"},
		{"name: true", "c.yaml:1: 'name' must be a string, not true or false; put it in quotes to have it as a string"},
		{"name: [a]", "c.yaml:1: 'name' must be a string, not an array"},
		{"uid: {}", "c.yaml:1: 'uid' must be a string, not an object"},
		{"quiet: 1", "c.yaml:1: 'quiet' must be true or false, not a number"},
		{"quiet: yes", "c.yaml:1: 'quiet' must be true or false, not a string"},
		{"hide: {a: b}", "c.yaml:1: 'hide' must be a string or an array of strings, not an object"},
		{"hide:\n- a\n- [b]\n", "c.yaml:3: 'hide' must be a string or an array of strings, not an array"},
		{"hide: ['']", "c.yaml:1: hide needs a GLOB, but what was given is empty"},
		{"name: ''", "c.yaml:1: name needs a NAME, but what was given is empty"},
		{"mode: quick", "c.yaml:1: mode cannot be 'quick': choose one of fast slow"},
		{"uid: me", "c.yaml:1: uid takes a number"},
		{"env: [A]", "c.yaml:1: an item of 'env' must be NAME=VALUE"},
		{"env: [=A]", "c.yaml:1: an item of 'env' must be NAME=VALUE"},
		{"env: {A=B: c}", "c.yaml:1: 'A=B' cannot be the name of a variable"},
		{"env: {'': c}", "c.yaml:1: '' cannot be the name of a variable"},
		{"env:\n  A: 1\n  B:\n", "c.yaml:3: 'B' has no value; write \"\" to set it to nothing"},
		{"env: {A: [1]}", "c.yaml:1: 'A' must be a string, not an array"},
		{"env: [{A: 1}]", "c.yaml:1: 'env' must be a string or an array of strings, not an object"},
		{"alerts:\n- name: a\n  condition: x > 1\n- name: b\n", "c.yaml:4: this alert has no condition"},
		{"alerts: [{condition: x > 1}]", "c.yaml:1: this alert has no name"},
		{"alerts:\n- name: a\n  when: x\n",
			"c.yaml:3: unknown key 'when': an alert has name, condition and severity"},
		{"alerts: [{name: [a]}]", "c.yaml:1: 'name' must be a string, not an array"},
		{"alerts: {name: a, condition: b}", "c.yaml:1: alerts: 'a: b' has no '>'"},
		{"alerts:\n- 'x: y > 1'\n- nothing\n", "c.yaml:3: alerts: 'nothing' has no '>'"},
		{"command: []", "c.yaml:1: the command is empty: give the name or path of a program"},
		{"command: ['', x]", "c.yaml:1: the command is empty: give the name or path of a program"},
		{"command: ' '", "c.yaml:1: the command is empty: give the name or path of a program"},
		{"command:\n", "c.yaml:1: the command is empty: give the name or path of a program"},
		{"command: {a: b}", "c.yaml:1: 'command' must be an array of strings, or one string, not an object"},
		{"command:\n- x\n- [y]\n", "c.yaml:3: an item of 'command' must be a string, not an array"},
		{"command:\n- x\n-\n", "c.yaml:3: an item of 'command' is missing; write \"\" for an empty argument"},
		{"- a\n", "c.yaml:1: this must be an object of options (name: value), not an array"},
		{"run -- x", "c.yaml:1: this must be an object of options (name: value), not a string"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(config_words_done) struct config_words words = {0};
		struct err err = {0};
		if (convert(rows[i].text, &words, &err) == 0)
			fail_msg("'%s' is taken", rows[i].text);
		assert_int_equal(err.code, ERR_USAGE);
		if (strcmp(err.text, rows[i].says) != 0)
			fail_msg("'%s' says: %s", rows[i].text, err.text);
	}
}

static void values_are_checked_by_the_options_own_parsers(void **state)
{
	static const char *const bad[] = {"runs: 0", "runs: 1001", "runs: many", "runs: 1e2", "runs: -1",
		"memory: 12Q", "memory: 0", "timeout: 1h30m", "cpus: 0", "cpus: all"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		own(config_words_done) struct config_words words = {0};
		struct err err = {0};
		own(freep) char *begins = xfmt("c.yaml:1: %.*s: '", (int)strcspn(bad[i], ":"), bad[i]);
		assert_int_equal(convert(bad[i], &words, &err), -1);
		if (strncmp(err.text, begins, strlen(begins)) != 0)
			fail_msg("'%s' says: %s", bad[i], err.text);
	}
}

static void a_verb_without_options_or_command_takes_no_keys(void **state)
{
	own(config_words_done) struct config_words words = {0};
	own(value_done) struct value root = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(yaml_parse("command: x", 10, "c", &root, &err), 0);
	assert_int_equal(config_words(&bare, &root, "c", &words, &err), -1);
	assert_non_null(strstr(err.text, "unknown key 'command'"));
}

/* ---- files ---- */

static char folder[] = "/tmp/cli_config_test_XXXXXX";

static const char *file_of(const char *text)
{
	static char path[64];
	(void)snprintf(path, sizeof(path), "%s/c.yaml", folder);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	(void)close(fd);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"c.yaml", "link.yaml", "pipe"};
	char path[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	return rmdir(folder);
}

static void read_refused(const char *path, const char *says)
{
	own(config_words_done) struct config_words words = {0};
	struct err err = {0};

	assert_int_equal(config_read(&verb, path, &words, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.text, says))
		fail_msg("'%s' says: %s", path, err.text);
}

static void a_file_is_read_through_links_and_nothing_else_is(void **state)
{
	own(config_words_done) struct config_words words = {0};
	own(buf_done) struct buf large = {0};
	struct err err = {0};
	char link[64], pipe[64];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/link.yaml", folder);
	(void)snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
	assert_int_equal(symlink(file_of("runs: 3\n"), link), 0);
	assert_int_equal(config_read(&verb, link, &words, &err), 0);
	assert_string_equal(words.words[0], "--runs=3");
	assert_int_equal(mkfifo(pipe, 0600), 0);
	read_refused(pipe, "is a pipe, not a file of options");
	read_refused(folder, "is a folder, not a file of options");
	read_refused("/dev/zero", "is a device, not a file of options");
	read_refused("/dev/null", "is a device, not a file of options");
	read_refused("/no/such\033[2J", "there is no file '/no/such\\x1b[2J'; a command comes after '--'");
	read_refused("", "there is no file ''");
	while (large.len <= YAML_MAX_BYTES)
		buf_str(&large, "# comment\n");
	read_refused(file_of(buf_text(&large)), "c.yaml:1: the file is larger than the 1 MiB that are read");
	read_refused(file_of("a:\n\tb: 1\n"), "c.yaml:2: this line is indented with a tab");
}

static void what_comes_after_the_files_words_wins_and_lists_add_up(void **state)
{
	own(config_words_done) struct config_words words = {0};
	char typed[][16] = {"--runs=7", "--hide=b", "--quiet"}, *argv[16] = {0};
	struct options options = {0};
	struct cli_args args;
	struct err err = {0};
	int argc = 0;
	bool help;

	(void)state;
	assert_int_equal(convert("runs: 100\nname: filed\nmemory: 2g\nhide: [a]\nenv: {A: 1}\n", &words, &err), 0);
	for (size_t i = 0; i < words.count; i++)
		argv[argc++] = words.words[i];
	for (size_t i = 0; i < ARRAY_LEN(typed); i++)
		argv[argc++] = typed[i];
	assert_int_equal(cli_parse(&verb, argc, argv, &options, &args, &help, &err), 0);
	assert_int_equal(options.runs, 7);
	assert_string_equal(options.name, "filed");
	assert_int_equal(options.memory, UINT64_C(2) << 30);
	assert_true(options.quiet);
	assert_int_equal(options.hide.count, 2);
	assert_string_equal(options.hide.items[0], "a");
	assert_string_equal(options.hide.items[1], "b");
	assert_string_equal(options.env.items[0], "A=1");
	cli_parse_done(&verb, &options, &args);
}

static void a_check_leaves_the_value_and_nothing_else_behind(void **state)
{
	char secret[] = "A=hunter2";
	struct err err = {0};

	(void)state;
	assert_int_equal(cli_option_check(&verb, cli_option_find(&verb, "env"), secret, &err), 0);
	assert_string_equal(secret, "A=hunter2");
	assert_int_equal(cli_option_check(&verb, cli_option_find(&verb, "runs"), "0", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_null(cli_option_find(&verb, "run"));
	assert_null(cli_option_find(&bare, "runs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_become_the_words_of_the_command_line),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(values_are_checked_by_the_options_own_parsers),
		cmocka_unit_test(a_verb_without_options_or_command_takes_no_keys),
		cmocka_unit_test(a_file_is_read_through_links_and_nothing_else_is),
		cmocka_unit_test(what_comes_after_the_files_words_wins_and_lists_add_up),
		cmocka_unit_test(a_check_leaves_the_value_and_nothing_else_behind),
	};
	return cmocka_run_group_tests_name("cli config", tests, make_folder, remove_folder);
}
