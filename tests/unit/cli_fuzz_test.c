/* The options of fuzzing: dictionaries, what a capsule keeps and what of it is safe; and what is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "cli/fuzz_cells.h"
#include "cli/fuzz_options.h"
#include "cli/fuzz_setup.h"
#include "view/fuzz.h"

/* Brings its own: the table of verbs is main.c's. */
const struct cli_verb *const cli_verbs[] = {NULL};

static void a_dictionary_has_a_word_a_line_or_the_syntax_of_afl(void **state)
{
	static const char text[] = "plain words\n# a remark\n\nkeyword_1=\"a\\x41\\\\b\\\"c\"\r\n\"bare\"\nname=\"unfinished\nx=y\n";
	static const char *const wanted[] = {"plain words", "aA\\b\"c", "bare", "name=\"unfinished", "x=y"};
	struct strings words = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(dict_read(text, sizeof(text) - 1, "d", &words, &err), 0);
	assert_int_equal(words.count, ARRAY_LEN(wanted));
	for (size_t i = 0; i < words.count; i++)
		assert_string_equal(words.items[i], wanted[i]);
	strings_done(&words);
}

static void a_dictionary_that_is_wrong_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		const char *why;
	} cases[] = {
		{"fine\nx=\"\\q\"\n", 11, "d:2: after a backslash"},
		{"x=\"\\x00\"", 8, "d:1: a word cannot hold \\x00"},
		{"x=\"\\x4\"", 7, "d:1: after a backslash"},
		{"a\0b\n", 4, "d:1: a word cannot hold a NUL byte"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strings words = {0};
		struct err err = {0};
		assert_int_equal(dict_read(cases[i].text, cases[i].len, "d", &words, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, cases[i].why));
		strings_done(&words);
	}
}

static void a_dictionary_for_engines_is_checked_line_by_line(void **state)
{
	static const struct {
		const char *text, *told; /* NULL: it is well */
	} cases[] = {
		{"", NULL},
		{"# words\n\n  kw=\"a\\x00b\\\\ \\\" \"quoted\" end\"\r\n\"plain\"\nname@2=\"x\"", NULL},
		{"a=\"b\"\nbroken \"\n", "d:2: a word in quotes is expected: name=\"value\""},
		{"word\n", "d:1: a word in quotes is expected: name=\"value\""},
		{"\"\n", "d:1: a word in quotes is expected: name=\"value\""},
		{"\n\na=\"\"\n", "d:3: an empty word says nothing"},
		{"a=\"\\n\"\n", "d:1: after a backslash, x and two digits, a backslash or a quote is expected"},
		{"a=\"\\x4\"", "d:1: after a backslash, x and two digits, a backslash or a quote is expected"},
		{"a=\"b\\\"", "d:1: after a backslash, x and two digits, a backslash or a quote is expected"},
		{"a=\"\xc3\xa9\"\n", "d:1: a byte that is no plain character is written as \\xNN"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = {0};
		assert_int_equal(dict_check(cases[i].text, strlen(cases[i].text), "d", &err), cases[i].told ? -1 : 0);
		assert_string_equal(err.text, cases[i].told ? cases[i].told : "");
	}
}

static void a_port_may_have_a_path(void **state)
{
	static const struct {
		const char *text;
		int rc;
		unsigned port;
		const char *path;
	} cases[] = {
		{"8000", 0, 8000, "/mcp"}, {"80/api/mcp", 0, 80, "/api/mcp"}, {"0", -1, 0, NULL}, {"70000", -1, 0, NULL}, {"x/mcp", -1, 0, NULL},
		{"80/a b", -1, 0, NULL}, {"80/a\r\nHost: x", -1, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fuzz_cli cli = {0};
		struct err err = {0};
		assert_int_equal(fuzz_http_set(&cli, cases[i].text, &err), cases[i].rc);
		assert_int_equal(cli.port, cases[i].port);
		if (cases[i].path)
			assert_string_equal(cli.path, cases[i].path);
	}
}

static void what_opens_a_cell_needs_trust(void **state)
{
	static const struct {
		const char *flag;
		bool safe;
	} cases[] = {
		{"--memory=64M", true}, {"--memory=4G", true}, {"--memory=1T", false}, {"--processes=100", true}, {"--processes=1000000", false},
		{"--disk=1T", false}, {"--memory", false}, {"--call-timeout=1s", true}, {"--allow-write=/tmp", true}, {"--require=full", true},
		{"--mount=sub:/app", true}, {"--mount=sub:/app:ro", true}, {"--mount=.:/app", true}, {"--schema=sub/s.json", true},
		{"--mount=sub:/app:rw", false}, {"--mount=/etc:/e", false}, {"--mount=..:/up", false}, {"--mount=sub/../..:/up", false},
		{"--mount=link:/app", false}, {"--mount=missing:/x", false}, {"--schema=/etc/passwd", false}, {"--schema=link/passwd", false},
		{"--no-sandbox", false}, {"--backend=none", false}, {"--uid=0", false}, {"--engine=go=sub", false}, {"--venv=sub", true}, {"--venv=link", false}, {"--image=/x", false}, {"--tmp-exec", false}, {"--no-default-hide", false},
		{"--env=A=b", false}, {"--pass-env=A", false}, {"--allow=example.org", false}, {"--stdin=/etc/passwd", false},
		{"--audit=/home/x", false}, {"--export-sarif=x", false}, {"--state=/x", false}, {"--json", false}, {"memory=1", false},
		{"--memoryx=1", false}, {"", false}, {"-", false},
	};
	char folder[] = "/tmp/cli-fuzz-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("sub", 0700), 0);
	assert_int_equal(symlink("/etc", "link"), 0);
	FILE *file = fopen("sub/s.json", "w");
	assert_non_null(file);
	(void)fclose(file);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (flag_is_safe(cases[i].flag) != cases[i].safe)
			fail_msg("%s is %staken", cases[i].flag, cases[i].safe ? "not " : "");
	assert_true(flag_is_missing("--schema=s.json"));
	assert_true(flag_is_missing("--mount=gone:/app:ro"));
	assert_false(flag_is_missing("--schema=sub/s.json"));
	assert_false(flag_is_missing("--schema=/etc/passwd"));
	assert_false(flag_is_missing("--image=gone"));
	assert_int_equal(setenv("HOME", folder, 1), 0);
	assert_false(flag_is_safe("--mount=.:/app")); /* a home as a whole */
	assert_true(flag_is_safe("--mount=sub:/app"));
	assert_int_equal(unlink("sub/s.json") + unlink("link") + rmdir("sub") + chdir("/") + rmdir(folder), 0);
}

static void a_file_is_named_from_the_folder_that_holds_the_state(void **state)
{
	static const struct {
		const char *state, *here, *file, *shown;
	} cases[] = {
		{"/p/.hotcell", "/p", "s.json", "s.json"},
		{"/p/.hotcell", "/p/sub", "s.json", "sub/s.json"},
		{"/p/.hotcell", "/p/sub", "./s.json", "sub/s.json"},
		{"/p/.hotcell", "/p/sub", "/p/s.json", "s.json"},
		{"/p/.hotcell", "/p/sub", "/etc/s.json", "/etc/s.json"},
		{"/p/.hotcell", "/pp", "s.json", "s.json"},
		{"/p/.hotcell", "/pp", "/pp/s.json", "s.json"},
		{"/p/state", "/p/sub", "s.json", "s.json"},
		{"/.hotcell", "/p/sub", "s.json", "s.json"},
		{NULL, "/p", "/p/s.json", "s.json"},
		{"/p/.hotcell", NULL, "s.json", "s.json"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *shown = fuzz_file_shown(cases[i].state, cases[i].here, cases[i].file);
		if (strcmp(shown, cases[i].shown) != 0)
			fail_msg("case %zu: %s", i, shown);
	}
}

static void a_capsule_keeps_names_of_variables_and_paths_from_here(void **state)
{
	char folder[] = "/tmp/cli-fuzz-XXXXXX";
	struct strings flags = {0}, names = {0};

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	own(freep) char *mount = xfmt("--mount=%s:/app:ro", folder);
	const char *given[] = {mount, "--env=TOKEN=hunter2", "--pass-env=KEY", "--json", "--max-calls=10", "--memory=64M", "--mount=/etc:/e", NULL};
	const struct cli_args args = {.given = {given, ARRAY_LEN(given) - 1}};
	fuzz_flags(&args, &flags, &names);
	assert_int_equal(flags.count, 3);
	assert_string_equal(flags.items[0], "--mount=.:/app:ro");
	assert_string_equal(flags.items[1], "--memory=64M");
	assert_string_equal(flags.items[2], "--mount=/etc:/e");
	assert_int_equal(names.count, 2);
	assert_string_equal(names.items[0], "TOKEN");
	assert_string_equal(names.items[1], "KEY");
	strings_done(&flags);
	strings_done(&names);
	assert_int_equal(chdir("/") + rmdir(folder), 0);
}

/* ---- what is shown ---- */

static struct subject evil = {.name = (char[]){"\033[2Jlong-name-that-goes-on-and-on-and-on-for-ever"}}, plain = {.name = (char[]){"echo"}};

static struct subject_progress rows[] = {
	{.subject = &evil, .calls = 1234567, .ok = 1, .findings = 2},
	{.subject = &plain, .calls = 3},
	{.subject = &plain, .calls = 4},
	{.subject = &plain, .calls = 5},
};
static const struct fuzz_progress progress = {.ns = 12 * NS_PER_S, .calls = 1234579, .rate = 99.6, .restarts = 2, .kept = 7, .subjects = rows,
	.subject_count = ARRAY_LEN(rows), .doing = "exploring"};

static void a_home_behind_a_link_is_a_home(void **state)
{
	char folder[] = "/tmp/hotcell-home-XXXXXX";
	const char *home = getenv("HOME");
	own(freep) char *before = home ? xstrdup(home) : NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	own(freep) char *real_home = xfmt("%s/real", folder), *link = xfmt("%s/link", folder), *other = xfmt("%s/real/project", folder);
	assert_int_equal(mkdir(real_home, 0700) + symlink(real_home, link) + setenv("HOME", link, 1), 0);
	assert_true(folder_is_too_much(real_home));
	assert_true(folder_is_too_much(link));
	assert_true(folder_is_too_much(folder));
	assert_false(folder_is_too_much(other));
	assert_int_equal(before ? setenv("HOME", before, 1) : unsetenv("HOME"), 0);
	assert_int_equal(unlink(link) + rmdir(real_home) + rmdir(folder), 0);
}

static void a_file_that_is_mostly_hole_has_no_sum(void **state)
{
	char path[] = "/tmp/hotcell-hole-XXXXXX", cat[] = "cat";
	char *const command[] = {cat, path, NULL};
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	own(freep) char *small = fuzz_target_sum(command);
	assert_non_null(small);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	assert_null(fuzz_target_sum(command));
	assert_int_equal(close(fd) + unlink(path), 0);
}

static void a_picture_fits_its_terminal_and_shows_no_escapes(void **state)
{
	static const unsigned severities[SEVERITY_COUNT] = {[SEVERITY_CRITICAL] = 1, [SEVERITY_LOW] = 3};

	(void)state;
	for (unsigned columns = 20; columns < 140; columns += 7)
		for (unsigned lines = 4; lines < 12; lines++) {
			const struct fuzz_look look = {.name = "\033[31mtarget", .duration_ns = 60 * NS_PER_S, .severities = severities,
				.rows = lines, .columns = columns};
			own(buf_done) struct buf out = {0};
			unsigned count = 0;
			fuzz_view_block(&progress, &look, &out);
			assert_null(strchr(buf_text(&out), '\033'));
			for (const char *at = buf_text(&out); *at; at += strcspn(at, "\n") + 1, count++)
				assert_true(strcspn(at, "\n") < columns);
			assert_true(count > 0 && count < lines);
		}
}

static void a_line_says_how_far_it_is(void **state)
{
	static const unsigned severities[SEVERITY_COUNT] = {[SEVERITY_CRITICAL] = 1, [SEVERITY_LOW] = 3};
	const struct fuzz_look look = {.name = "t", .duration_ns = 60 * NS_PER_S, .max_calls = 5000000, .severities = severities};
	own(buf_done) struct buf out = {0};

	(void)state;
	fuzz_view_line(&progress, &look, &out);
	assert_string_equal(buf_text(&out),
		"12s of 60s: 1,234,579 of 5,000,000 calls, 100/s, 2 restarts, 7 kept; findings: 1 critical, 3 low; exploring");
}

static void more_tools_than_rows_are_counted(void **state)
{
	own(buf_done) struct buf out = {0}, all = {0};

	(void)state;
	fuzz_view_subjects(&progress, 2, 0, &out);
	assert_non_null(strstr(buf_text(&out), "1,234,567"));
	assert_non_null(strstr(buf_text(&out), "and 3 more\n"));
	fuzz_view_subjects(&progress, 0, 0, &all);
	assert_null(strstr(buf_text(&all), "more"));
}

static int count_events(void *data, uint64_t line, const struct value *value, const char *text, size_t len)
{
	uint64_t *counts = data;
	const struct value *event = value ? value_get(value, "event") : NULL;

	(void)line, (void)text, (void)len;
	assert_non_null(event);
	counts[strcmp(event->text, "cell-end") == 0]++;
	return 0;
}

static void cells_beyond_the_cap_are_counted_and_those_begun_are_ended(void **state)
{
	char folder[] = "/tmp/hotcell-fuzz-cells-XXXXXX";
	assert_non_null(mkdtemp(folder));
	own(freep) char *path = xfmt("%s/audit.jsonl", folder);
	struct err err = {0};
	struct cell_spec spec = {0};
	const struct run_audit log = {.audit = audit_open(path, NULL, &err), .spec = &spec};
	struct fuzz_cells cells = {.log = &log};
	const struct cell_result result = {.exit_code = 0, .refused_total = 3};
	uint64_t counts[2] = {0};

	(void)state;
	assert_non_null(log.audit);
	fuzz_cells_begin(&cells, "first"); /* and ends last */
	for (int i = 1; i < FUZZ_CELLS_LINES / 2 + 7; i++) {
		char id[24];
		(void)snprintf(id, sizeof(id), "c%d", i);
		fuzz_cells_begin(&cells, id);
		fuzz_cells_end(&cells, id, &result);
	}
	fuzz_cells_end(&cells, "first", &result);
	assert_int_equal(cells.started, FUZZ_CELLS_LINES / 2 + 7);
	assert_int_equal(cells.ended, cells.started);
	assert_int_equal(cells.left_out, 7);
	assert_int_equal(cells.left_out_refused, 21);
	fuzz_cells_done(&cells);
	assert_int_equal(audit_each(path, count_events, counts, &err), 0);
	assert_int_equal(counts[0], FUZZ_CELLS_LINES / 2);
	assert_int_equal(counts[1], FUZZ_CELLS_LINES / 2);
	(void)audit_free(log.audit);
	assert_int_equal(fs_remove_tree(AT_FDCWD, folder, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dictionary_for_engines_is_checked_line_by_line),
		cmocka_unit_test(a_dictionary_has_a_word_a_line_or_the_syntax_of_afl),
		cmocka_unit_test(a_dictionary_that_is_wrong_is_refused_with_its_line),
		cmocka_unit_test(a_port_may_have_a_path),
		cmocka_unit_test(what_opens_a_cell_needs_trust),
		cmocka_unit_test(a_file_is_named_from_the_folder_that_holds_the_state),
		cmocka_unit_test(a_capsule_keeps_names_of_variables_and_paths_from_here),
		cmocka_unit_test(a_home_behind_a_link_is_a_home),
		cmocka_unit_test(a_file_that_is_mostly_hole_has_no_sum),
		cmocka_unit_test(a_picture_fits_its_terminal_and_shows_no_escapes),
		cmocka_unit_test(a_line_says_how_far_it_is),
		cmocka_unit_test(more_tools_than_rows_are_counted),
		cmocka_unit_test(cells_beyond_the_cap_are_counted_and_those_begun_are_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
