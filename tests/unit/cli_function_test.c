/* Fuzzing functions as it is shown, here and by other processes; and where a plan's folders are without cells. */
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
#include "base/utf8.h"
#include "cli/core/cli.h"
#include "view/function_status.h"

/* Brings its own: the table of verbs is main.c's. */
const struct cli_verb *const cli_verbs[] = {NULL};

#define TARGETS 3
#define WORKERS 4

static struct function_target names[TARGETS] = {
	{.name = (char *)"parser.py:parse"}, {.name = (char *)"a/rather/long/path/to/some/module.c:function_with_a_name"},
	{.name = (char *)"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2\xe5\xad\x97\x1b[31m.py:f"}};
static const struct function_targets targets = {names, TARGETS};
static const struct target_progress totals[TARGETS] = {
	{.execs = 1234567, .rate = 98765, .corpus = 12, .coverage = 345, .features = 1000, .crashes = 1, .since_new_ns = 3 * NS_PER_S,
		.first_exec_ns = NS_PER_S},
	{.execs = UINT64_MAX / 8, .rate = 1e12, .corpus = 99999999, .coverage = 1, .features = 2},
	{.execs = 1},
};
static const struct worker_progress workers[WORKERS] = {
	{.doing = "fuzzing", .execs = 1000, .rate = 10}, {.target = 1, .doing = "starting"}, {.target = 2, .doing = "waiting"},
	{.target = 2, .doing = "fuzzing", .execs = 99999999999, .rate = 1e9}};
static const unsigned severities[SEVERITY_COUNT] = {[SEVERITY_HIGH] = 2};

static struct function_progress some_progress(void)
{
	return (struct function_progress){.ns = 12 * NS_PER_S, .execs = 1234568, .left_ns = 48 * NS_PER_S, .doing = "replaying",
		.waiting = 2, .workers = workers, .worker_count = WORKERS, .targets = totals, .target_count = TARGETS, .findings = 2};
}

static struct function_history some_history(size_t samples)
{
	struct function_history history = {0};
	struct target_progress target = {0};
	struct function_progress progress = {.targets = &target, .target_count = 1};

	for (size_t i = 0; i < samples; i++) {
		progress.ns = i * NS_PER_S / 4;
		target.coverage = 300 + i;
		function_history_add(&history, &progress);
	}
	return history;
}

/* As a terminal shows it: colours take no room, and what may be wide takes two columns. */
static unsigned width_of(const char *line, size_t len)
{
	unsigned width = 0;

	for (size_t at = 0; at < len;) {
		if (line[at] == '\033') {
			at += strcspn(line + at, "m") + 1;
			continue;
		}
		int size = utf8_char(line + at, len - at);
		assert_true(size > 0);
		assert_true(size > 1 || line[at] >= ' ');
		bool spark = size == 3 && (unsigned char)line[at] == 0xe2;
		width += size >= 3 && !spark ? 2 : 1;
		at += (size_t)size;
	}
	return width;
}

static void no_line_of_the_picture_is_too_wide_and_no_picture_too_high(void **state)
{
	const struct function_history history = some_history(500);
	const struct function_progress progress = some_progress();

	(void)state;
	for (unsigned columns = 20; columns <= 210; columns++)
		for (unsigned rows = 5; rows <= 30; rows += 5)
			for (size_t count = 1; count <= TARGETS; count += 2) {
				const struct function_targets some = {names, count};
				const struct function_look look = {.targets = &some, .duration_ns = 60 * NS_PER_S, .severities = severities,
					.history = &history, .note = "process 12345", .rows = rows, .columns = columns, .color = rows == 10};
				own(buf_done) struct buf out = {0};
				unsigned lines = 0;
				function_view_block(&progress, &look, &out);
				for (const char *at = buf_text(&out); *at; lines++) {
					size_t len = strcspn(at, "\n");
					assert_true(width_of(at, len) < columns);
					at += len + 1;
				}
				assert_true(lines >= 3 && lines < rows);
			}
}

static void the_picture_has_what_a_fuzzing_person_looks_for(void **state)
{
	const struct function_history history = some_history(100);
	const struct function_progress progress = some_progress();
	const struct function_look look = {.targets = &targets, .duration_ns = 60 * NS_PER_S, .severities = severities,
		.history = &history, .rows = 30, .columns = 100};
	static const char *const wanted[] = {"12s, 48s left of 60s", "1,234,568", "/s", "corpus", "2 high", "2 to confirm", "coverage", "features",
		"last new path 3.0 s ago", "replaying", "worker 1", "worker 4", "parser.py:parse", "\xe2\x96\x88", "\xe2\x96\x82"};
	own(buf_done) struct buf out = {0};

	(void)state;
	function_view_block(&progress, &look, &out);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (!strstr(buf_text(&out), wanted[i]))
			fail_msg("no '%s' in:\n%s", wanted[i], buf_text(&out));
	assert_null(strchr(buf_text(&out), '\033'));
}

static void a_history_has_the_whole_time_in_few_samples(void **state)
{
	const struct function_history few = some_history(10), many = some_history(100000);

	(void)state;
	assert_int_equal(few.count, 10);
	assert_int_equal(few.coverage[9], 309);
	assert_true(many.count > HISTORY_MAX / 2 - 1 && many.count <= HISTORY_MAX);
	assert_int_equal(many.coverage[many.count - 1], 100299);
	for (size_t i = 1; i < many.count; i++)
		assert_true(many.coverage[i] > many.coverage[i - 1]);
	assert_true(many.coverage[0] < 300 + 100000 / HISTORY_MAX * 2 + 1);
}

/* ---- as others see it ---- */

static void what_is_written_is_read_again(void **state)
{
	const struct function_history history = some_history(100);
	const struct function_progress progress = some_progress();
	const struct function_look look = {
		.targets = &targets, .duration_ns = 60 * NS_PER_S, .max_execs = 7, .severities = severities, .history = &history};
	own(buf_done) struct buf text = {0};
	own(function_status_done) struct function_status back = {0};
	struct err err = {0};

	(void)state;
	function_status_write(&progress, &look, 4242, &text);
	assert_int_equal(function_status_read(buf_text(&text), text.len, &back, &err), 0);
	assert_true(back.pid == 4242 && back.duration_ns == 60 * NS_PER_S && back.max_execs == 7);
	assert_int_equal(back.targets.count, TARGETS);
	assert_string_equal(back.targets.list[2].name, names[2].name);
	assert_true(back.progress.execs == 1234568 && back.progress.left_ns == 48 * NS_PER_S && back.progress.waiting == 2);
	assert_string_equal(back.progress.doing, "replaying");
	assert_true(back.progress.targets[0].coverage == 345 && back.progress.targets[0].since_new_ns == 3 * NS_PER_S);
	assert_int_equal(back.progress.worker_count, WORKERS);
	assert_int_equal(back.progress.workers[1].target, 1);
	assert_string_equal(back.progress.workers[1].doing, "starting");
	assert_int_equal(back.severities[SEVERITY_HIGH], 2);
	assert_int_equal(back.history.count, 100);
	assert_int_equal(back.history.coverage[99], 399);
}

static void files_of_strangers_are_refused_or_shown_harmlessly(void **state)
{
	static const char *const refused[] = {"", "{", "[]", "null", "{}", "{\"format\":\"hotcell-fuzzing-2\"}", "{\"format\":1}"};
	static const char odd[] = "{\"format\":\"hotcell-fuzzing-1\",\"pid\":-1,\"execs\":1e99,\"targets\":[{\"name\":\"\\u001b[2J\"},7,{}],"
				  "\"workers\":[{\"target\":\"none such\",\"doing\":\"\\u001b]0;x\\u0007\"},[]],\"severities\":[],"
				  "\"coverage_over_time\":{\"coverage\":[1,\"x\",99999999999]},\"doing\":{}}";
	own(function_status_done) struct function_status odd_one = {0};
	struct err err = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct function_status status;
		assert_int_equal(function_status_read(refused[i], strlen(refused[i]), &status, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(function_status_read(odd, sizeof(odd) - 1, &odd_one, &err), 0);
	assert_true(odd_one.targets.count == 3 && odd_one.pid == 0 && odd_one.progress.execs == 0);
	odd_one.alive = true;
	odd_one.folder = xstrdup("fuzz/x");
	const struct function_statuses all = {&odd_one, 1};
	own(buf_done) struct buf out = {0};
	function_statuses_view(&all, 24, 80, false, &out);
	function_statuses_lines(&all, &out);
	assert_null(strchr(buf_text(&out), '\033'));
	assert_non_null(strstr(buf_text(&out), "busy"));
}

static void a_file_is_alive_as_long_as_its_lock(void **state)
{
	const struct function_progress progress = some_progress();
	const struct function_look look = {.targets = &targets, .severities = severities};
	own(buf_done) struct buf text = {0};
	char folder[] = "/tmp/hotcell-status-XXXXXX";
	struct function_statuses all;
	struct err err = {0};
	int lock = -1;

	(void)state;
	assert_non_null(mkdtemp(folder));
	own(freep) char *above = xfmt("%s/fuzz", folder), *run = xfmt("%s/one", above), *link = xfmt("%s/two", above);
	assert_true(mkdir(above, 0700) == 0 && mkdir(run, 0700) == 0 && symlink(run, link) == 0);
	function_status_write(&progress, &look, 1, &text);
	own(fd_closep) int held = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	function_status_put(held, &text, &lock);
	function_status_put(held, &text, &lock);
	assert_true(lock >= 0);
	function_statuses_read(folder, &all);
	assert_true(all.count == 1 && all.list[0].alive);
	assert_string_equal(all.list[0].folder, "fuzz/one");
	function_statuses_done(&all);
	(void)close(lock);
	function_statuses_read(folder, &all);
	assert_true(all.count == 1 && !all.list[0].alive);
	function_statuses_done(&all);
	assert_int_equal(fs_remove_tree(AT_FDCWD, folder, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_line_of_the_picture_is_too_wide_and_no_picture_too_high),
		cmocka_unit_test(the_picture_has_what_a_fuzzing_person_looks_for),
		cmocka_unit_test(a_history_has_the_whole_time_in_few_samples),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(files_of_strangers_are_refused_or_shown_harmlessly),
		cmocka_unit_test(a_file_is_alive_as_long_as_its_lock),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
