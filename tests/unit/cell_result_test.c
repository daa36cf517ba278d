/* How a run is judged and told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "cell/backend.h"

#define EXIT(code) ((code) << 8) /* as wait tells it */
#define SIGNAL(number) (number)

static void what_we_did_comes_before_what_it_died_of(void **state)
{
	static const struct {
		struct cell_end end;
		enum cell_reason reason;
		enum cell_outcome outcome;
	} cases[] = {
		{{.wait_status = EXIT(0)}, CELL_REASON_NONE, CELL_EXITED},
		{{.wait_status = EXIT(3)}, CELL_REASON_NONE, CELL_EXITED},
		{{.wait_status = SIGNAL(SIGSEGV)}, CELL_REASON_NONE, CELL_SIGNALED},
		{{.wait_status = SIGNAL(SIGKILL)}, CELL_REASON_NONE, CELL_SIGNALED},
		/* ours */
		{{.wait_status = SIGNAL(SIGKILL)}, CELL_REASON_TIMEOUT, CELL_TIMEOUT},
		{{.wait_status = EXIT(0)}, CELL_REASON_TIMEOUT, CELL_TIMEOUT},
		{{.wait_status = SIGNAL(SIGKILL), .oom_kills = 1}, CELL_REASON_TIMEOUT, CELL_TIMEOUT},
		{{.wait_status = SIGNAL(SIGKILL), .filter_killed = true}, CELL_REASON_CANCEL, CELL_CANCELLED},
		{{.wait_status = SIGNAL(SIGKILL), .disk_full = true}, CELL_REASON_OUTPUT, CELL_OUTPUT_LIMIT},
		{{.wait_status = EXIT(0)}, CELL_REASON_SETUP, CELL_SETUP_FAILED},
		/* memory */
		{{.wait_status = SIGNAL(SIGKILL), .oom_kills = 1}, CELL_REASON_NONE, CELL_OOM},
		{{.wait_status = SIGNAL(SIGKILL), .memory_killed = true}, CELL_REASON_NONE, CELL_OOM},
		{{.wait_status = EXIT(137), .oom_kills = 2}, CELL_REASON_NONE, CELL_OOM},
		{{.wait_status = EXIT(0), .oom_kills = 2}, CELL_REASON_NONE, CELL_EXITED},
		{{.wait_status = SIGNAL(SIGSYS), .oom_kills = 1, .filter_killed = true}, CELL_REASON_NONE, CELL_OOM},
		/* the filter */
		{{.wait_status = SIGNAL(SIGSYS), .filter_killed = true}, CELL_REASON_NONE, CELL_DENIED},
		{{.wait_status = SIGNAL(SIGSYS), .filter_killed = true, .disk_full = true}, CELL_REASON_NONE,
			CELL_DENIED},
		/* the disk */
		{{.wait_status = EXIT(1), .disk_full = true}, CELL_REASON_NONE, CELL_DISK_LIMIT},
		{{.wait_status = EXIT(0), .disk_full = true}, CELL_REASON_NONE, CELL_EXITED},
		{{.wait_status = SIGNAL(SIGBUS), .disk_full = true}, CELL_REASON_NONE, CELL_DISK_LIMIT},
		{{.wait_status = SIGNAL(SIGXFSZ)}, CELL_REASON_NONE, CELL_DISK_LIMIT},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum cell_outcome outcome = cell_decide(&cases[i].end, cases[i].reason);
		if (outcome != cases[i].outcome)
			fail_msg("case %zu: %s, not %s", i, cell_outcome_name(outcome),
				cell_outcome_name(cases[i].outcome));
	}
}

static void exit_codes_follow_the_manual(void **state)
{
	static const struct {
		enum cell_outcome outcome;
		int exit_code, signal, err, expected;
	} cases[] = {
		{CELL_EXITED, 0, 0, 0, 0}, {CELL_EXITED, 7, 0, 0, 7}, {CELL_EXITED, 0, 0, 5, 125},
		{CELL_EXITED, 7, 0, 5, 7}, {CELL_SIGNALED, -1, SIGSEGV, 0, 139}, {CELL_TIMEOUT, -1, SIGKILL, 0, 124},
		{CELL_TIMEOUT, 0, 0, 0, 124}, {CELL_OOM, -1, SIGKILL, 0, 137}, {CELL_OOM, 1, 0, 0, 1},
		{CELL_OUTPUT_LIMIT, -1, SIGKILL, 0, 137}, {CELL_OUTPUT_LIMIT, 0, 0, 0, 137},
		{CELL_DISK_LIMIT, 1, 0, 0, 1}, {CELL_DISK_LIMIT, -1, SIGXFSZ, 0, 128 + SIGXFSZ},
		{CELL_DENIED, -1, SIGSYS, 0, 128 + SIGSYS}, {CELL_SETUP_FAILED, -1, 0, 5, 125},
		{CELL_CANCELLED, -1, SIGKILL, 0, 130},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cell_result result = {.outcome = cases[i].outcome, .exit_code = cases[i].exit_code,
			.signal = cases[i].signal, .err = {.code = cases[i].err}};
		if (cell_result_exit_code(&result) != cases[i].expected)
			fail_msg("case %zu: %d, not %d", i, cell_result_exit_code(&result), cases[i].expected);
	}
}

static void every_name_is_there_and_unlike_the_others(void **state)
{
	(void)state;
	for (int i = 0; i < CELL_OUTCOME_COUNT; i++)
		assert_non_null(cell_outcome_name(i));
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		assert_non_null(cell_protection_name(i));
		assert_true(strlen(cell_protection_help(i)) > 10);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(cell_protection_name(i), cell_protection_name(j));
	}
	assert_string_equal(cell_outcome_name(CELL_OUTPUT_LIMIT), "output-limit");
	assert_string_equal(cell_protection_name(CELL_USER_NS), "user-namespace");
	assert_string_equal(cell_protection_name(CELL_KILL_ALL), "kill-all");
	assert_string_equal(cell_outcome_name(999), "unknown");
	assert_string_equal(cell_protection_name(999), "unknown");
}

static void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s\ndoes not have %s", text, part);
}

static void the_json_has_every_fact(void **state)
{
	(void)state;
	char name[] = "a\nb\xff";
	struct cell_result result = {.outcome = CELL_EXITED, .exit_code = 3, .wall_ns = 1234567, .setup_ns = 400000,
		.user_us = 1500, .peak_memory = 4096, .processes = 3, .stdout_bytes = 5, .refused_total = 3,
		.refused = {{"mount", 1}, {"socket", 2}}, .collected = true,
		.collect = {.files = 1, .skipped_count = 1, .capped = true, .cap = "bytes",
			.skipped = {{name, "FIFO"}}}};
	result.receipt.backend = "fake";
	result.receipt.grade[CELL_SECCOMP] = CELL_ON;
	result.receipt.grade[CELL_CPU_LIMIT] = CELL_WEAKER;
	strcpy(result.receipt.note[CELL_CPU_LIMIT], "nice");
	struct json json = {0};
	cell_result_json(&result, &json);
	const char *text = buf_text(&json.out);
	has(text, "{\"outcome\":\"exited\",\"exit_code\":3,\"signal\":null,\"lost\":false,\"wall_ms\":1.235,\"setup_ms\":0.400");
	has(text, "\"refused\":{\"total\":3,\"calls\":{\"mount\":1,\"socket\":2}}");
	has(text, "\"capped\":\"bytes\",\"skipped_first\":[{\"name\":\"a\\nb\xef\xbf\xbd\",\"reason\":\"FIFO\"}]");
	has(text, "\"receipt\":{\"backend\":\"fake\",\"full\":false,\"protections\":{\"user-namespace\":{\"state\":\"off\"");
	has(text, "\"seccomp\":{\"state\":\"on\",\"note\":\"\"}");
	has(text, "\"cpu-limit\":{\"state\":\"weaker\",\"note\":\"nice\"}");
	has(text, "\"error\":null}");
	json_done(&json);
}

static void the_json_of_a_killed_run_has_no_exit_code(void **state)
{
	(void)state;
	struct cell_result result = {.outcome = CELL_SIGNALED, .exit_code = -1, .signal = 11, .lost = true};
	struct json json = {0};
	(void)err_set(&result.err, 5, "a \"sentence\"");
	memset(result.receipt.grade, CELL_ON, sizeof(result.receipt.grade));
	cell_result_json(&result, &json);
	has(buf_text(&json.out), "\"exit_code\":null,\"signal\":11,\"lost\":true,");
	has(buf_text(&json.out), "\"output\":null");
	has(buf_text(&json.out), "\"full\":true");
	has(buf_text(&json.out), "\"error\":\"a \\\"sentence\\\"\"}");
	json_done(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_did_comes_before_what_it_died_of),
		cmocka_unit_test(exit_codes_follow_the_manual),
		cmocka_unit_test(every_name_is_there_and_unlike_the_others),
		cmocka_unit_test(the_json_has_every_fact),
		cmocka_unit_test(the_json_of_a_killed_run_has_no_exit_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
