#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/cli.h"

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

const struct cli_verb *const cli_verbs[] = { &runs, &enters, &ends, &lists, NULL };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_option_reaches_its_place),
		cmocka_unit_test(letters_may_be_joined_with_each_other_and_with_their_value),
		cmocka_unit_test(the_command_begins_at_the_first_word_and_is_left_alone),
		cmocka_unit_test(words_and_options_mix_where_there_is_no_command),
		cmocka_unit_test(help_is_heard_everywhere_but_in_the_command),
		cmocka_unit_test(what_is_wrong_is_named_with_the_way_out),
		cmocka_unit_test(a_secret_is_kept_and_wiped_from_the_arguments),
		cmocka_unit_test(the_nearest_name_is_near),
		cmocka_unit_test(help_manual_and_completion_have_every_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
