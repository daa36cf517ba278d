#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"

struct options {
	bool flag, other;
	const char *text;
	struct cli_list list, secrets;
	uint64_t size, duration, count;
	uint32_t cpus;
	char set[32];
};

static int set_other(void *options, const char *value, struct err *err)
{
	struct options *into = options;

	if (strcmp(value, "bad") == 0)
		return err_set(err, ERR_USAGE, "--special: 'bad' is bad");
	strncpy(into->set, value, sizeof(into->set) - 1);
	return 0;
}

#define INTO(member) CLI_INTO(struct options, member)

static const struct cli_option table[] = {
	{ .name = "flag", .letter = 'f', .kind = CLI_FLAG, INTO(flag), .help = "a flag" },
	{ .name = "other", .letter = 'o', .kind = CLI_FLAG, INTO(other), .help = "another [flag]: it's one" },
	{ .name = "text", .letter = 't', .value = "TEXT", .kind = CLI_TEXT, INTO(text), .help = "a text" },
	{ .name = "list", .value = "ITEM", .kind = CLI_LIST, INTO(list), .help = "items" },
	{ .name = "secret", .value = "K=V", .kind = CLI_LIST, INTO(secrets), .secret = true, .help = "secrets" },
	{ .name = "size", .value = "SIZE", .kind = CLI_SIZE, INTO(size), .fallback = "1M", .help = "a size" },
	{ .name = "duration", .value = "TIME", .kind = CLI_DURATION, INTO(duration), .help = "a time" },
	{ .name = "count", .value = "N", .kind = CLI_COUNT, INTO(count), .min = 2, .max = 9, .help = "a number" },
	{ .name = "cpus", .value = "N", .kind = CLI_CPUS, INTO(cpus), .help = "processors" },
	{ .name = "special", .value = "X", .kind = CLI_OTHER, .set = set_other, .help = "its own" },
	{ .name = "choice", .value = "NAME", .kind = CLI_TEXT, INTO(text), .hint = CLI_HINT_CHOICE,
		.choices = "one two", .help = "of two" },
	{ 0 },
};

static const struct cli_verb runs = {
	.name = "runs", .summary = "takes a command", .usage = "[options] -- COMMAND", .options = table,
	.options_size = sizeof(struct options), .takes_command = true,
};
static const struct cli_verb enters = {
	.name = "enters", .summary = "takes a word and a command", .usage = "CELL -- COMMAND", .options = table,
	.options_size = sizeof(struct options), .words_min = 1, .words_max = 1, .word = "CELL", .takes_command = true,
	.word_hint = CLI_HINT_CELL,
};
static const struct cli_verb ends = {
	.name = "ends", .summary = "takes words", .usage = "CELL...", .options = table,
	.options_size = sizeof(struct options), .words_max = -1, .word = "CELL",
};
static const struct cli_verb lists = { .name = "lists", .summary = "takes nothing", .usage = "" };

static const struct cli_verb group_runs = {
	.name = "group run", .summary = "may take a command", .usage = "[FILE] [-- COMMAND]", .options = table,
	.options_size = sizeof(struct options), .words_max = 1, .word = "FILE", .word_hint = CLI_HINT_CHOICE,
	.word_choices = "this.yaml that.yaml", .takes_command = true, .command_optional = true,
};
static const struct cli_verb group_ends = { .name = "group end", .summary = "is the second of two words" };
static const struct cli_verb group_hides = { .name = "group hide", .summary = "is not shown", .hidden = true };
static const struct cli_verb helps = {
	.name = "helps", .summary = "takes a verb", .words_max = 2, .word = "VERB", .word_hint = CLI_HINT_VERB,
};

const struct cli_verb *const cli_verbs[] = { &runs, &enters, &ends, &lists, &group_runs, &group_ends,
	&group_hides, &helps, NULL };

/* One command line: words are split at blanks into an argv of its own. */
struct line {
	char text[256];
	char *argv[32];
	int argc;
	struct options options;
	struct cli_args args;
	bool help;
	struct err err;
	int rc;
};

static void parse(struct line *line, const struct cli_verb *verb, const char *text)
{
	char *save = NULL;

	*line = (struct line){ 0 };
	(void)strncpy(line->text, text, sizeof(line->text) - 1);
	for (char *word = strtok_r(line->text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		line->argv[line->argc++] = word;
	line->rc = cli_parse(verb, line->argc, line->argv, &line->options, &line->args, &line->help, &line->err);
}

static void done(const struct cli_verb *verb, struct line *line)
{
	cli_parse_done(verb, &line->options, &line->args);
}

static void every_kind_of_option_reaches_its_place(void **state)
{
	struct line line;

	(void)state;
	parse(&line, &runs, "-f --text=a=b --list x --list=y --size 2k --duration 1m --count 9 --cpus 0.5 "
			    "--special s -- prog -f --text");
	assert_int_equal(line.rc, 0);
	assert_true(line.options.flag);
	assert_false(line.options.other);
	assert_string_equal(line.options.text, "a=b");
	assert_int_equal(line.options.list.count, 2);
	assert_string_equal(line.options.list.items[0], "x");
	assert_string_equal(line.options.list.items[1], "y");
	assert_null(line.options.list.items[2]);
	assert_int_equal(line.options.size, 2048);
	assert_int_equal(line.options.duration, 60000);
	assert_int_equal(line.options.count, 9);
	assert_int_equal(line.options.cpus, 500);
	assert_string_equal(line.options.set, "s");
	assert_string_equal(line.args.command[0], "prog");
	assert_string_equal(line.args.command[2], "--text");
	assert_null(line.args.command[3]);
	done(&runs, &line);
}

static void letters_may_be_joined_with_each_other_and_with_their_value(void **state)
{
	static const char *const same[] = { "-fo -tthis x", "-f -o -t this x", "-of -t=this -- x",
		"-fotthis x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		struct line line;
		parse(&line, &runs, same[i]);
		assert_int_equal(line.rc, 0);
		assert_true(line.options.flag && line.options.other);
		assert_string_equal(line.options.text, "this");
		assert_string_equal(line.args.command[0], "x");
		done(&runs, &line);
	}
}

static void the_command_begins_at_the_first_word_and_is_left_alone(void **state)
{
	struct line line;

	(void)state;
	parse(&line, &runs, "-f prog --no-such-option -- -x --help");
	assert_int_equal(line.rc, 0);
	assert_false(line.help);
	assert_string_equal(line.args.command[0], "prog");
	assert_string_equal(line.args.command[2], "--");
	assert_string_equal(line.args.command[4], "--help");
	done(&runs, &line);
	parse(&line, &enters, "c123 -f prog -o");
	assert_int_equal(line.rc, 0);
	assert_int_equal(line.args.word_count, 1);
	assert_string_equal(line.args.words[0], "c123");
	assert_true(line.options.flag);
	assert_false(line.options.other);
	assert_string_equal(line.args.command[1], "-o");
	done(&enters, &line);
	parse(&line, &enters, "c123 -- -o");
	assert_int_equal(line.rc, 0);
	assert_string_equal(line.args.command[0], "-o");
	done(&enters, &line);
}

static void a_command_may_be_optional(void **state)
{
	struct line line;

	(void)state;
	parse(&line, &group_runs, "-f this.yaml");
	assert_int_equal(line.rc, 0);
	assert_string_equal(line.args.words[0], "this.yaml");
	assert_null(line.args.command);
	done(&group_runs, &line);
	parse(&line, &group_runs, "-f -- prog -x");
	assert_int_equal(line.rc, 0);
	assert_int_equal(line.args.word_count, 0);
	assert_string_equal(line.args.command[1], "-x");
	done(&group_runs, &line);
	parse(&line, &group_runs, "");
	assert_int_equal(line.rc, 0);
	done(&group_runs, &line);
	parse(&line, &group_runs, "this.yaml --");
	assert_int_equal(line.rc, -1);
	assert_non_null(strstr(line.err.text, "no command follows '--'"));
	done(&group_runs, &line);
}

static void words_and_options_mix_where_there_is_no_command(void **state)
{
	struct line line;

	(void)state;
	parse(&line, &ends, "a -f b - -- -c --text");
	assert_int_equal(line.rc, 0);
	assert_int_equal(line.args.word_count, 5);
	assert_string_equal(line.args.words[2], "-");
	assert_string_equal(line.args.words[4], "--text");
	assert_null(line.args.words[5]);
	assert_null(line.args.command);
	assert_true(line.options.flag);
	done(&ends, &line);
}

static void help_is_heard_everywhere_but_in_the_command(void **state)
{
	static const char *const asks[] = { "--help", "-h", "-f --help --nonsense", "-fh", "--size 1k -h" };
	struct line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		parse(&line, &runs, asks[i]);
		assert_int_equal(line.rc, 0);
		assert_true(line.help);
		done(&runs, &line);
	}
	parse(&line, &lists, "--help");
	assert_true(line.help);
	done(&lists, &line);
}

static void an_option_may_have_a_value_for_when_none_follows(void **state)
{
	static const struct cli_option table_bare[] = {
		{ .name = "flag", .kind = CLI_FLAG, INTO(flag), .help = "a flag" },
		{ .name = "text", .value = "TEXT", .bare = "usual", .kind = CLI_TEXT, INTO(text), .help = "a text" },
		{ 0 },
	};
	static const struct cli_verb bare = { .name = "bare", .summary = "takes nothing", .usage = "", .options = table_bare,
		.options_size = sizeof(struct options) };
	static const char *const rows[][2] = { { "--text", "usual" }, { "--text --flag", "usual" }, { "--text other --flag", "other" },
		{ "--text=--flag", "--flag" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line line;
		parse(&line, &bare, rows[i][0]);
		assert_int_equal(line.rc, 0);
		assert_string_equal(line.options.text, rows[i][1]);
		done(&bare, &line);
	}
}

static void what_is_wrong_is_named_with_the_way_out(void **state)
{
	static const struct {
		const struct cli_verb *verb;
		const char *line, *says;
	} rows[] = {
		{ &runs, "--flga -- x", "unknown option '--flga'; did you mean '--flag'?" },
		{ &runs, "--durat=1 -- x", "did you mean '--duration'?" },
		{ &runs, "--zzzzzzzz -- x", "'hotcell runs --help' lists them" },
		{ &runs, "-z -- x", "unknown option '-z'" },
		{ &runs, "--size", "--size needs a SIZE" },
		{ &runs, "--size -- x", "--size needs a SIZE, but '--' follows" },
		{ &runs, "--text --flag x", "'--flag' follows; write --text=--flag if you mean that" },
		{ &runs, "--size=-1 x", "--size" },
		{ &runs, "--size 12Q x", "12Q" },
		{ &runs, "--size= x", "--size needs a SIZE, but what was given is empty" },
		{ &runs, "--count 1 x", "--count" },
		{ &runs, "--count 10 x", "--count" },
		{ &runs, "--flag=yes x", "--flag takes no value" },
		{ &runs, "--special bad x", "'bad' is bad" },
		{ &runs, "--choice three x", "--choice cannot be 'three': choose one of one two" },
		{ &runs, "--choice on x", "choose one of" },
		{ &runs, "-f", "no command given: hotcell runs [options] -- COMMAND" },
		{ &runs, "--", "no command given" },
		{ &enters, "", "no CELL given" },
		{ &enters, "-- x", "no CELL given" },
		{ &enters, "c1", "no command given" },
		{ &lists, "x", "takes no arguments, but got 'x'" },
		{ &lists, "-- x", "takes no arguments" },
		{ &lists, "--json", "unknown option '--json'" },
		{ &runs, "--\033[2J x", "unknown option '--\\x1b[2J'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct line line;
		parse(&line, rows[i].verb, rows[i].line);
		assert_int_equal(line.rc, -1);
		assert_int_equal(line.err.code, ERR_USAGE);
		if (!strstr(line.err.text, rows[i].says))
			fail_msg("'%s' says: %s", rows[i].line, line.err.text);
		done(rows[i].verb, &line);
	}
}

static void a_secret_is_kept_and_wiped_from_the_arguments(void **state)
{
	struct line line;

	(void)state;
	parse(&line, &runs, "--secret TOKEN=hunter2 --secret=KEY=a=b x");
	assert_int_equal(line.rc, 0);
	assert_string_equal(line.options.secrets.items[0], "TOKEN=hunter2");
	assert_string_equal(line.options.secrets.items[1], "KEY=a=b");
	assert_string_equal(line.argv[1], "TOKEN=*******");
	assert_string_equal(line.argv[2], "--secret=KEY=***");
	done(&runs, &line);
}

static const char *fruit(const void *data, size_t index)
{
	static const char *const names[] = { "apple", "banana", "cherry", NULL };
	(void)data;
	return names[index];
}

static void the_nearest_name_is_near(void **state)
{
	static const struct {
		const char *typed, *near;
	} rows[] = {
		{ "aple", "apple" }, { "appel", "apple" }, { "bananna", "banana" }, { "che", "cherry" },
		{ "x", NULL }, { "", NULL }, { "potato", NULL },
		{ "a-name-that-is-far-longer-than-any-name-of-ours-would-be", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *near = cli_nearest(rows[i].typed, fruit, NULL);
		if (!near != !rows[i].near || (near && strcmp(near, rows[i].near) != 0))
			fail_msg("'%s' is near to %s", rows[i].typed, near ? near : "nothing");
	}
}

static void help_manual_and_completion_have_every_option(void **state)
{
	struct buf help = { 0 }, man = { 0 }, bash = { 0 }, zsh = { 0 };

	(void)state;
	cli_help_verb(&runs, &help);
	cli_man_options(&runs, &man);
	cli_completion_bash(&bash);
	cli_completion_zsh(&zsh);
	for (const struct cli_option *option = table; option->name; option++) {
		char name[32] = "--", mdoc[32] = "Fl -";
		assert_non_null(strstr(buf_text(&help), strcat(name, option->name)));
		assert_non_null(strstr(buf_text(&bash), name));
		assert_non_null(strstr(buf_text(&zsh), name));
		assert_non_null(strstr(buf_text(&man), strcat(mdoc, option->name)));
	}
	assert_non_null(strstr(buf_text(&help), "  -f, --flag"));
	assert_non_null(strstr(buf_text(&help), "a size (default 1M)"));
	assert_non_null(strstr(buf_text(&man), ".It Fl t , Fl -text Ar TEXT\n"));
	assert_non_null(strstr(buf_text(&zsh), "another \\[flag\\]\\: it'\\''s one"));
	buf_done(&help);
	buf_done(&man);
	buf_done(&bash);
	buf_done(&zsh);
}

static void a_verb_is_named_by_one_word_or_by_two(void **state)
{
	static const struct {
		const char *words[3];
		const struct cli_verb *verb;
		const char *group, *says;
		int taken;
	} rows[] = {
		{ .words = { "runs", "x" }, .verb = &runs, .taken = 1 },
		{ .words = { "group", "run", "x" }, .verb = &group_runs, .taken = 2 },
		{ .words = { "group", "hide" }, .verb = &group_hides, .taken = 2 },
		{ .words = { "group-run" }, .verb = &group_runs, .taken = 1 },
		{ .words = { "group run" }, .verb = &group_runs, .taken = 1 },
		{ .words = { "group" }, .group = "group", .taken = 1 },
		{ .words = { "group", "--help" }, .group = "group", .taken = 1 },
		{ .words = { "group", "rnu" }, .says = "unknown verb 'group rnu'; did you mean 'group run'?" },
		{ .words = { "group", "zzz" }, .says = "unknown verb 'group zzz'; 'hotcell help group' lists them" },
		{ .words = { "group", "" }, .says = "unknown verb 'group '" },
		{ .words = { "group", "hides" }, .says = "'hotcell help group' lists them" },
		{ .words = { "gruop", "run" }, .says = "unknown verb 'gruop'; did you mean 'group'?" },
		{ .words = { "grou" }, .says = "did you mean 'group'?" },
		{ .words = { "run" }, .says = "did you mean 'runs'?" },
		{ .words = { "zzzz" }, .says = "unknown verb 'zzzz'; 'hotcell help' lists them" },
		{ .words = { "\033[2J" }, .says = "unknown verb '\\x1b[2J'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *words[3] = { 0 };
		struct cli_pick pick;
		struct err err = { 0 };
		int count = 0;

		for (; count < 3 && rows[i].words[count]; count++)
			words[count] = (char *)(uintptr_t)rows[i].words[count];
		int rc = cli_verb_pick(count, words, &pick, &err);
		if (rc != (rows[i].says ? -1 : 0))
			fail_msg("'%s' %s", words[0], rc ? err.text : "is a verb");
		if (rc < 0) {
			assert_int_equal(err.code, ERR_USAGE);
			if (!strstr(err.text, rows[i].says))
				fail_msg("'%s' says: %s", words[0], err.text);
			continue;
		}
		assert_ptr_equal(pick.verb, rows[i].verb);
		assert_int_equal(pick.words, rows[i].taken);
		if (rows[i].group)
			assert_string_equal(pick.group, rows[i].group);
		else
			assert_null(pick.group);
	}
}

/* The exit code, and what it printed to `fd`. */
static int dispatched(int fd, const char *first, const char *second, char *said, size_t len)
{
	char *argv[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second, NULL };
	int pipes[2], kept = dup(fd);

	assert_true(kept >= 0 && pipe(pipes) == 0);
	(void)fflush(NULL);
	assert_true(dup2(pipes[1], fd) == fd);
	int code = cli_dispatch(second ? 2 : 1, argv);
	(void)fflush(NULL);
	assert_true(dup2(kept, fd) == fd);
	(void)close(pipes[1]);
	ssize_t got = read(pipes[0], said, len - 1);
	assert_true(got >= 0);
	said[got] = '\0';
	(void)close(pipes[0]);
	(void)close(kept);
	return code;
}

static void a_group_alone_names_its_verbs(void **state)
{
	char said[2000];

	(void)state;
	assert_int_equal(dispatched(STDERR_FILENO, "group", NULL, said, sizeof(said)), EXIT_USAGE);
	assert_string_equal(said,
		"hotcell: 'hotcell group' needs one more word after it, run or end; 'hotcell help group' tells of each\n");
	assert_int_equal(dispatched(STDERR_FILENO, "group", "--flag", said, sizeof(said)), EXIT_USAGE);
	assert_non_null(strstr(said, "needs one more word"));
	assert_int_equal(dispatched(STDOUT_FILENO, "group", "--help", said, sizeof(said)), 0);
	assert_non_null(strstr(said, "  group run   may take a command\n"));
	assert_int_equal(dispatched(STDOUT_FILENO, "group", "-h", said, sizeof(said)), 0);
	assert_int_equal(dispatched(STDERR_FILENO, "group", "rnu", said, sizeof(said)), EXIT_USAGE);
	assert_non_null(strstr(said, "did you mean 'group run'?"));
}

static void the_help_aligns_verbs_of_two_words(void **state)
{
	struct buf all = { 0 }, group = { 0 };

	(void)state;
	cli_help_all(&all);
	cli_help_group("group", &group);
	assert_non_null(strstr(buf_text(&all), "  runs        takes a command\n"));
	assert_non_null(strstr(buf_text(&all), "  group run   may take a command\n"));
	assert_non_null(strstr(buf_text(&group), "Usage: hotcell group VERB"));
	assert_non_null(strstr(buf_text(&group), "  group run   may take a command\n  group end   is the"));
	assert_null(strstr(buf_text(&group), "  runs"));
	assert_null(strstr(buf_text(&group), "hide"));
	buf_done(&all);
	buf_done(&group);
}

/* What bash offers for the last of the words. */
static void bash_offers(const char *words, const char *expected)
{
	struct buf script = { 0 };
	char path[] = "/tmp/cli_test_XXXXXX", answer[2000] = "";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	cli_completion_bash(&script);
	buf_fmt(&script, "compopt() { :; }\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
			 "_hotcell\necho \"${COMPREPLY[*]}\"\n", words);
	assert_int_equal(write(fd, script.data, script.len), script.len);
	(void)close(fd);
	char *call = xfmt("bash %s", path);
	FILE *bash = popen(call, "r");
	assert_non_null(bash);
	size_t got = fread(answer, 1, sizeof(answer) - 1, bash);
	assert_int_equal(pclose(bash), 0);
	assert_true(got > 0);
	answer[got - 1] = '\0';
	if (strcmp(answer, expected) != 0)
		fail_msg("for (%s) bash offers: %s", words, answer);
	(void)unlink(path);
	free(call);
	buf_done(&script);
}

static void bash_completes_both_words_and_then_the_options(void **state)
{
	(void)state;
	bash_offers("hotcell ''", "runs enters ends lists group helps --help --version");
	bash_offers("hotcell gr", "group");
	bash_offers("hotcell group ''", "run end --help");
	bash_offers("hotcell group r", "run");
	bash_offers("hotcell group run --fl", "--flag");
	bash_offers("hotcell group run --choice ''", "one two");
	bash_offers("hotcell group run tha", "that.yaml");
	bash_offers("hotcell group end --", "--help");
	bash_offers("hotcell runs --fl", "--flag");
	bash_offers("hotcell helps gr", "group");
	bash_offers("hotcell helps group e", "end");
}

static void zsh_completes_both_words(void **state)
{
	struct buf zsh = { 0 };

	(void)state;
	cli_completion_zsh(&zsh);
	assert_non_null(strstr(buf_text(&zsh), "\t\t'group:run end'\n"));
	assert_non_null(strstr(buf_text(&zsh),
		"\tgroup) verbs=(\n\t\t'run:may take a command'\n\t\t'end:is the second of two words'\n\t) ;;\n"));
	assert_non_null(strstr(buf_text(&zsh), "\t'group run')\n\t\t_arguments"));
	assert_non_null(strstr(buf_text(&zsh), "\t\t\t'1:FILE:(this.yaml that.yaml)' \\\n"
					       "\t\t\t'2:command:_command_names -e' \\\n"));
	buf_done(&zsh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_option_reaches_its_place),
		cmocka_unit_test(letters_may_be_joined_with_each_other_and_with_their_value),
		cmocka_unit_test(the_command_begins_at_the_first_word_and_is_left_alone),
		cmocka_unit_test(a_command_may_be_optional),
		cmocka_unit_test(words_and_options_mix_where_there_is_no_command),
		cmocka_unit_test(help_is_heard_everywhere_but_in_the_command),
		cmocka_unit_test(an_option_may_have_a_value_for_when_none_follows),
		cmocka_unit_test(what_is_wrong_is_named_with_the_way_out),
		cmocka_unit_test(a_secret_is_kept_and_wiped_from_the_arguments),
		cmocka_unit_test(the_nearest_name_is_near),
		cmocka_unit_test(help_manual_and_completion_have_every_option),
		cmocka_unit_test(a_verb_is_named_by_one_word_or_by_two),
		cmocka_unit_test(a_group_alone_names_its_verbs),
		cmocka_unit_test(the_help_aligns_verbs_of_two_words),
		cmocka_unit_test(bash_completes_both_words_and_then_the_options),
		cmocka_unit_test(zsh_completes_both_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
