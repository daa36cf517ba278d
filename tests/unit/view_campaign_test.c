#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "view/campaign.h"

#define NOW UINT64_C(1700000000000)
#define MB (UINT64_C(1) << 20)

/* ---- a status to look at ---- */

static char name[] = "nightly", empty[] = "", uuid[] = "u-1", output[] = "/p/fuzz/runs";
static char words[] = "sh\0-c\0exit 3";
static char two_alerts[] = "resource_exhaustion,cleanup_failures";
static struct ledger_worker some_workers[100];

static struct campaign_status working(size_t workers)
{
	struct campaign_status status = {
		.campaign =
			{
				.name = name,
				.uuid = uuid,
				.note = empty,
				.output = output,
				.cwd = output,
				.words = words,
				.words_len = sizeof(words),
				.state = CAMPAIGN_RUNNING,
				.plan = {.runs = 1000, .workers = (unsigned)workers, .seed = 7},
				.memory_limit = 512 * MB,
				.timeout_ms = 900000,
				.created_ms = NOW - 800000,
				.active_ms = 724000,
				.next = 433,
				.holder = 77,
				.sums =
					{
						.state = {[RUN_SUCCESS] = 400,
							[RUN_ERROR] = 15,
							[RUN_TIMEOUT] = 5},
						.outcome = {[CELL_EXITED] = 415, [CELL_TIMEOUT] = 5},
						.cells = 423,
						.retried = 3,
						.cancelled = 2,
						.wall_ns = 423 * NS_PER_S,
					},
			},
		.live = {.at_ms = NOW - 500,
			.memory = 1234 * MB,
			.cpu_milli = 2930,
			.alerts = empty,
			.workers = some_workers,
			.worker_count = workers},
		.held = true,
		.now_ms = NOW,
	};

	for (size_t i = 0; i < workers; i++)
		some_workers[i] = (struct ledger_worker){.worker = (unsigned)i + 1,
			.number = 421 + i,
			.since_ms = NOW - 12300 - i * 1000,
			.memory = 41 * MB};
	for (size_t i = 0; i < LEDGER_HEARTBEATS; i++)
		status.live.done[i] = (uint32_t)(i % 5);
	status_derive(&status);
	return status;
}

/* ---- looking at lines ---- */

/* Columns of a line as a terminal has it: colours have none, characters one, wide ones two. */
static unsigned columns_of(const char *line, size_t len)
{
	unsigned columns = 0;

	for (size_t i = 0; i < len;) {
		if (line[i] == '\033') {
			size_t end = i + strcspn(line + i, "m") + 1;
			assert_true(end <= len);
			i = end;
			continue;
		}
		int size = utf8_char(line + i, len - i);
		assert_true(size > 0);
		assert_false(utf8_is_control(line + i, size));
		/* The only wide ones in these tests. */
		columns += (unsigned char)line[i] == 0xe6 || size == 4 ? 2 : 1;
		i += (size_t)size;
	}
	return columns;
}

static unsigned check_shape(const struct buf *out, unsigned columns, unsigned rows)
{
	unsigned lines = 0;
	const char *at = buf_text(out), *end;

	for (; (end = strchr(at, '\n')); at = end + 1, lines++) {
		unsigned used = columns_of(at, (size_t)(end - at));
		if (used > columns)
			fail_msg("%u columns in a line for %u: %.*s", used, columns,
				(int)(end - at), at);
	}
	assert_int_equal(*at, '\0');
	if (lines > rows - 1)
		fail_msg("%u lines for %u rows", lines, rows);
	return lines;
}

static void assert_has(const struct buf *out, const char *text)
{
	if (!strstr(buf_text(out), text))
		fail_msg("no '%s' in:\n%s", text, buf_text(out));
}

static void assert_has_not(const struct buf *out, const char *text)
{
	if (strstr(buf_text(out), text))
		fail_msg("'%s' in:\n%s", text, buf_text(out));
}

/* ---- the live view ---- */

static void the_view_tells_everything_at_eighty_columns(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(3);

	(void)state;
	view_status(&status, &(struct view_look){0}, &out);
	(void)check_shape(&out, 80, 24);
	assert_has(&out, "nightly  running  12m 4s\n");
	assert_has(&out, "█░");
	assert_has(&out, "  42.0%  420/1000  2.0/s  ETA 4m 50s\n");
	assert_has(&out, "✓ 400  ✗ 15  ⏱ 5  ▶ 3 running  ↻ 3 retried  ⊘ 2 cancelled\n");
	assert_has(&out, "memory 1.2 GB  cpu 2.9  ");
	assert_has(&out, "▁▃▅▆█▁▃▅▆█");
	assert_has(&out, "   1  [0421]    12.3s    41 MB");
	assert_has(&out, "   3  [0423]    14.3s    41 MB");
	assert_has_not(&out, "more");
	assert_has_not(&out, "\033");
}

static void no_line_is_ever_too_wide_nor_are_there_too_many(void **state)
{
	static const unsigned sizes[] = {1, 2, 3, 5, 8, 10, 20, 40, 59, 60, 80, 132, 400};
	struct campaign_status status = working(64);
	uint8_t grid[5000];

	(void)state;
	status.live.alerts = two_alerts;
	for (size_t i = 0; i < sizeof(grid); i++)
		grid[i] = (uint8_t)(i % 11);
	for (size_t c = 0; c < ARRAY_LEN(sizes); c++) {
		for (unsigned rows = 1; rows < 60; rows++) {
			own(buf_done) struct buf out = {0};
			struct view_look look = {.columns = sizes[c],
				.rows = rows,
				.color = rows % 2,
				.message = "draining: 3 runs are still going",
				.grid = grid,
				.grid_count = sizeof(grid)};
			view_status(&status, &look, &out);
			(void)check_shape(&out, sizes[c], rows);
		}
	}
}

static void a_small_terminal_keeps_what_matters(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(16);

	(void)state;
	status.live.alerts = two_alerts;
	view_status(&status, &(struct view_look){.columns = 40, .rows = 10, .message = "draining"},
		&out);
	assert_int_equal(check_shape(&out, 40, 10), 9);
	assert_has(&out, "nightly  running  12m 4s\n");
	assert_has(&out, "  42.0%\n");
	assert_has(&out, "420/1000  2.0/s  ETA 4m 50s\n");
	assert_has(&out, "✓ 400  ✗ 15  ⏱ 5  ▶ 16  ↻ 3  ⊘ 2\n");
	assert_has(&out, "   1  [0421]    12.3s    41 MB\n");
	assert_has(&out, "... and 15 more\n");
	assert_has(&out, "! resource_exhaustion, cleanup_failures\n");
	assert_has(&out, "\ndraining\n");
}

static void what_does_not_fit_is_counted(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(100);

	(void)state;
	view_status(&status, &(struct view_look){.columns = 80, .rows = 24}, &out);
	assert_int_equal(check_shape(&out, 80, 24), 23);
	assert_has(&out, "  17  [0437] ");
	assert_has_not(&out, "  18  [0438] ");
	assert_has(&out, "... and 83 more\n");
}

static void an_idle_worker_keeps_its_line(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(3);

	(void)state;
	some_workers[1].number = 0;
	status_derive(&status);
	assert_int_equal(status.running, 2);
	view_status(&status, &(struct view_look){0}, &out);
	assert_has(&out, "\n   2  idle\n");
}

static void colours_are_there_only_when_asked_for(void **state)
{
	own(buf_done) struct buf plain = {0};
	own(buf_done) struct buf coloured = {0};
	struct campaign_status status = working(3);
	uint8_t grid[] = {RUN_SUCCESS, RUN_ERROR};
	struct view_look look = {.grid = grid, .grid_count = 2, .message = "m"};

	(void)state;
	status.live.alerts = two_alerts;
	view_status(&status, &look, &plain);
	look.color = true;
	view_status(&status, &look, &coloured);
	assert_has_not(&plain, "\033");
	assert_has(&plain, "\nsx\n");
	assert_has(&coloured, "\033[32m✓ 400\033[0m");
	assert_has(&coloured, "\033[31m✗ 15\033[0m");
	assert_has(&coloured, "\033[33m⏱ 5\033[0m");
	assert_has(&coloured, "\033[1;31m! resource_exhaustion, cleanup_failures\033[0m\n");
	assert_has(&coloured, "\033[32m■\033[31m■\033[0m\n");
}

static void hostile_names_are_shown_and_not_obeyed(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(3);
	char bad_name[] = "a\033[2J\nb\xff 日本",
	     bad_note[] = "\033]0;title\a日本日本日本日本日本日本日本日本日本日本日本日本",
	     bad_alerts[] = "x\033[H\n";

	(void)state;
	status.campaign.name = bad_name;
	status.campaign.note = bad_note;
	status.live.alerts = bad_alerts;
	view_status(&status,
		&(struct view_look){.columns = 60,
			.message = "\033c\r日本\xc2\x9b"
				   "1m"},
		&out);
	(void)check_shape(&out, 60, 24);
	assert_has(&out, "a\\x1b[2J\\nb\\xff 日本  running");
	assert_has(&out, "! x\\x1b[H\\n\n");
	assert_has(&out, "\\x1bc\\x0d日本\\xc2\\x9b1m\n");
	assert_has(&out, "…");
}

static void one_that_nobody_works_on_shows_no_workers_but_its_grid(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(3);
	uint8_t grid[] = {
		RUN_SUCCESS, RUN_ERROR, RUN_TIMEOUT, RUN_RUNNING, RUN_AGAIN, RUN_NOT_BEGUN};

	(void)state;
	status.held = false;
	status.live.alerts = two_alerts;
	status_derive(&status);
	view_status(&status, &(struct view_look){.grid = grid, .grid_count = sizeof(grid)}, &out);
	assert_has(&out, "nightly  interrupted  12m 4s\n");
	assert_has_not(&out, "[0421]");
	assert_has_not(&out, "memory");
	assert_has_not(&out, "resource_exhaustion");
	assert_has_not(&out, "ETA");
	assert_has(&out, "\n\nsxtra.\n");
}

static void a_silent_supervisor_is_told(void **state)
{
	own(buf_done) struct buf out = {0};
	struct campaign_status status = working(3);

	(void)state;
	status.live.at_ms = NOW - 42000;
	view_status(&status, &(struct view_look){0}, &out);
	assert_has(&out, "no news for 42.0s");
}

static void all_done_is_a_hundred_percent_and_not_before(void **state)
{
	struct campaign_status status = working(0);
	own(buf_done) struct buf nearly = {0};
	own(buf_done) struct buf all = {0};

	(void)state;
	status.campaign.plan.runs = 1000000;
	status.campaign.sums.state[RUN_SUCCESS] = 999979;
	status_derive(&status);
	view_status(&status, &(struct view_look){0}, &nearly);
	assert_has(&nearly, "99.9%  999,999/1,000,000");
	assert_has(&nearly, "░");
	status.campaign.sums.state[RUN_SUCCESS]++;
	status.campaign.state = CAMPAIGN_DONE;
	status.held = false;
	status_derive(&status);
	view_status(&status, &(struct view_look){0}, &all);
	assert_has(&all, "nightly  done ");
	assert_has(&all, "100.0%  1,000,000/1,000,000");
	assert_has_not(&all, "░");
}

/* ---- the grid and the sparkline ---- */

static void the_worst_run_of_a_cell_is_the_one_that_is_seen(void **state)
{
	static const struct {
		uint8_t first, second;
		char seen;
	} pairs[] = {
		{RUN_SUCCESS, RUN_ERROR, 'x'},
		{RUN_ERROR, RUN_TIMEOUT, 'x'},
		{RUN_TIMEOUT, RUN_AGAIN, 't'},
		{RUN_RUNNING, RUN_AGAIN, 'a'},
		{RUN_SUCCESS, RUN_RUNNING, 'r'},
		{RUN_NOT_BEGUN, RUN_SUCCESS, 's'},
		{RUN_NOT_BEGUN, 200, '.'},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		own(buf_done) struct buf out = {0};
		uint8_t grid[] = {pairs[i].first, pairs[i].second};
		char expected[] = {pairs[i].seen, '\n', '\0'};
		view_grid(grid, 2, 1, 1, false, &out);
		assert_string_equal(buf_text(&out), expected);
	}
}

static void the_grid_stays_in_its_room(void **state)
{
	own(freep) uint8_t *grid = xcalloc(4096, 1);

	(void)state;
	memset(grid, RUN_SUCCESS, 4096);
	for (unsigned columns = 1; columns < 120; columns += 7) {
		for (unsigned lines = 1; lines < 12; lines++) {
			own(buf_done) struct buf out = {0};
			view_grid(grid, 4096, columns, lines, lines % 2, &out);
			assert_true(check_shape(&out, columns, lines + 1) >= 1);
		}
	}
}

static void a_grid_breaks_into_lines(void **state)
{
	own(buf_done) struct buf out = {0};
	uint8_t grid[] = {RUN_SUCCESS, RUN_SUCCESS, RUN_ERROR, RUN_SUCCESS, RUN_NOT_BEGUN};

	(void)state;
	view_grid(grid, 0, 80, 10, false, &out);
	view_grid(grid, 5, 0, 10, false, &out);
	view_grid(grid, 5, 80, 0, false, &out);
	assert_int_equal(out.len, 0);
	view_grid(grid, 5, 2, 10, false, &out);
	assert_string_equal(buf_text(&out), "ss\nxs\n.\n");
}

static void a_sparkline_spans_from_nothing_to_the_most(void **state)
{
	static const struct {
		uint32_t values[4];
		const char *expected;
	} cases[] = {
		{{0, 0, 0, 0}, "▁▁▁▁"},
		{{0, 1, 0, 1}, "▁█▁█"},
		{{0, 1, 50, 100}, "▁▂▅█"},
		{{UINT32_MAX, UINT32_MAX / 2, 1, 0}, "█▄▂▁"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		view_sparkline(cases[i].values, 4, &out);
		assert_string_equal(buf_text(&out), cases[i].expected);
	}
}

/* ---- the plain lines ---- */

static char oom_cause[] = "out of memory (limit 512 MB)", bad_cause[] = "no such\033[2J\nfile";

static void plain_lines_are_the_ones_scripts_look_for(void **state)
{
	static const struct {
		struct run_record run;
		uint64_t timeout_ms;
		const char *expected;
	} cases[] = {
		{{.state = RUN_SUCCESS, .wall_ns = 42300 * NS_PER_MS}, 0, "[001] ✓ Done (42.3s)"},
		{{.state = RUN_SUCCESS, .wall_ns = 3725960 * NS_PER_MS}, 0,
			"[001] ✓ Done (3726.0s)"},
		{{.state = RUN_TIMEOUT, .outcome = CELL_TIMEOUT}, 900000,
			"[001] ✗ Failed: Timeout after 900s"},
		{{.state = RUN_TIMEOUT, .outcome = CELL_TIMEOUT}, 1500,
			"[001] ✗ Failed: Timeout after 1.5s"},
		{{.state = RUN_TIMEOUT, .outcome = CELL_TIMEOUT}, 1,
			"[001] ✗ Failed: Timeout after 0.001s"},
		{{.state = RUN_ERROR, .outcome = CELL_EXITED, .exit_code = 3}, 1,
			"[001] ✗ Failed: Cell error (exit 3)"},
		{{.state = RUN_ERROR, .outcome = CELL_SIGNALED, .exit_code = -1, .signal = SIGSEGV},
			1, "[001] ✗ Failed: Cell error (signal SIGSEGV)"},
		{{.state = RUN_ERROR, .outcome = CELL_SIGNALED, .exit_code = -1, .signal = 99}, 1,
			"[001] ✗ Failed: Cell error (signal 99)"},
		{{.state = RUN_ERROR, .outcome = CELL_OOM, .cause = oom_cause}, 1,
			"[001] ✗ Failed: out of memory (limit 512 MB)"},
		{{.state = RUN_ERROR, .outcome = CELL_SETUP_FAILED, .cause = bad_cause}, 1,
			"[001] ✗ Failed: no such\\x1b[2J\\nfile"},
		{{.state = RUN_ERROR, .outcome = CELL_DENIED}, 1,
			"[001] ✗ Failed: ended by the system call filter"},
		{{.state = RUN_AGAIN, .outcome = CELL_EXITED, .exit_code = 3}, 1,
			"[001] ↻ Again: Cell error (exit 3)"},
		{{.state = RUN_AGAIN, .outcome = CELL_TIMEOUT}, 900000,
			"[001] ↻ Again: Timeout after 900s"},
		{{.state = RUN_AGAIN, .outcome = CELL_CANCELLED}, 1, "[001] ↻ Again: cancelled"},
	};
	own(buf_done) struct buf others = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		view_ended("001", &cases[i].run, cases[i].timeout_ms, &out);
		assert_string_equal(buf_text(&out), cases[i].expected);
	}
	view_started("001", &others);
	buf_char(&others, '|');
	view_progress(10, 100, &others);
	assert_string_equal(buf_text(&others), "[001] Starting...|Progress: 10/100 complete");
}

/* ---- what is derived, and JSON ---- */

static void rate_and_eta_are_those_of_the_last_minute_or_else_of_all(void **state)
{
	struct campaign_status status = working(3);

	(void)state;
	assert_int_equal(status.complete, 420);
	assert_int_equal(status.failed, 20);
	assert_int_equal(status.left, 580);
	assert_int_equal(status.running, 3);
	for (size_t i = 0; i < LEDGER_HEARTBEATS; i++)
		status.live.done[i] = i < LEDGER_HEARTBEATS - 60 ? 100 : 2;
	status_derive(&status);
	assert_true(status.rate == 2.0);
	assert_int_equal(status.eta_ms, 290000);
	/* As long as it has been going. */
	memset(status.live.done, 0, sizeof(status.live.done));
	status.live.done[LEDGER_HEARTBEATS - 1] = 50;
	status.campaign.active_ms = 10000;
	status_derive(&status);
	assert_true(status.rate == 5.0);
	/* Too few ends to tell: all the time it was at work. */
	status.live.done[LEDGER_HEARTBEATS - 1] = 1;
	status.campaign.active_ms = 840000;
	status_derive(&status);
	assert_true(status.rate == 0.5);
	assert_int_equal(status.eta_ms, 1160000);
	/* An old pulse says nothing about now. */
	status.live.done[LEDGER_HEARTBEATS - 1] = 1000;
	status.live.at_ms = NOW - 60000;
	status_derive(&status);
	assert_true(status.rate == 0.5);
	/* Nobody is at work: it will never end like this. */
	status.held = false;
	status_derive(&status);
	assert_int_equal(status.eta_ms, 0);
	assert_int_equal(status.running, 0);
}

static void nothing_done_yet_gives_no_rate(void **state)
{
	struct campaign_status status = {.held = true, .campaign = {.plan = {.runs = 5}}};

	(void)state;
	status_derive(&status);
	assert_true(status.rate == 0);
	assert_int_equal(status.eta_ms, 0);
	assert_int_equal(status.left, 5);
	status.campaign.sums.state[RUN_SUCCESS] = 9;
	status_derive(&status);
	assert_int_equal(status.left, 0);
}

static void json_says_the_same(void **state)
{
	own(json_done) struct json json = {0};
	struct campaign_status status = working(2);

	(void)state;
	some_workers[1].number = 0;
	status.live.alerts = two_alerts;
	status_derive(&status);
	status_json(&status, &json);
	static const char *const parts[] = {
		"{\"name\":\"nightly\",\"uuid\":\"u-1\",\"state\":\"running\",\"note\":\"\",\"held\":true,"
		"\"holder_pid\":77,",
		"\"command\":[\"sh\",\"-c\",\"exit 3\"],\"env_names\":[],\"now_ms\":1700000000000,",
		"\"ended_ms\":null,\"active_ms\":724000,\"next\":433,",
		"\"plan\":{\"runs\":1000,\"workers\":2,\"retries\":0,\"seed\":7,\"rate_per_minute\":null,"
		"\"stop_after_failures\":null},\"limits\":{\"memory_bytes\":536870912,\"timeout_ms\":900000},",
		"\"derived\":{\"complete\":420,\"failed\":20,\"left\":580,\"running\":1,\"rate_per_s\":",
		"\"sums\":{\"states\":{\"success\":400,\"error\":15,\"timeout\":5},\"outcomes\":{\"exited\":415,",
		"\"wall_ns\":423000000000,\"mean_wall_ns\":1000000000,",
		"\"workers\":[{\"worker\":1,\"run\":421,\"session\":\"0421\",\"since_ms\":1699999987700,"
		"\"running_ms\":12300,\"memory_bytes\":42991616},{\"worker\":2,\"run\":null,\"session\":null,",
		"\"alerts\":[\"resource_exhaustion\",\"cleanup_failures\"]}",
	};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		assert_has(&json.out, parts[i]);
}

static void json_of_one_at_rest_has_nothing_live(void **state)
{
	own(json_done) struct json json = {0};
	struct campaign_status status = working(2);

	(void)state;
	status.held = false;
	status.live.alerts = two_alerts;
	status_derive(&status);
	status_json(&status, &json);
	assert_has(&json.out, "\"state\":\"interrupted\"");
	assert_has(&json.out, "\"holder_pid\":null");
	assert_has(&json.out, "\"live\":null,\"alerts\":[]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_view_tells_everything_at_eighty_columns),
		cmocka_unit_test(no_line_is_ever_too_wide_nor_are_there_too_many),
		cmocka_unit_test(a_small_terminal_keeps_what_matters),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(an_idle_worker_keeps_its_line),
		cmocka_unit_test(colours_are_there_only_when_asked_for),
		cmocka_unit_test(hostile_names_are_shown_and_not_obeyed),
		cmocka_unit_test(one_that_nobody_works_on_shows_no_workers_but_its_grid),
		cmocka_unit_test(a_silent_supervisor_is_told),
		cmocka_unit_test(all_done_is_a_hundred_percent_and_not_before),
		cmocka_unit_test(the_worst_run_of_a_cell_is_the_one_that_is_seen),
		cmocka_unit_test(the_grid_stays_in_its_room),
		cmocka_unit_test(a_grid_breaks_into_lines),
		cmocka_unit_test(a_sparkline_spans_from_nothing_to_the_most),
		cmocka_unit_test(plain_lines_are_the_ones_scripts_look_for),
		cmocka_unit_test(rate_and_eta_are_those_of_the_last_minute_or_else_of_all),
		cmocka_unit_test(nothing_done_yet_gives_no_rate),
		cmocka_unit_test(json_says_the_same),
		cmocka_unit_test(json_of_one_at_rest_has_nothing_live),
	};
	return cmocka_run_group_tests_name("campaign view", tests, NULL, NULL);
}
