/* Verdicts of doors in the audit log: one line each, but never more than a disk can take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/door_audit.h"

static char folder[] = "/tmp/door-audit-XXXXXX";
static char *path;

static const struct door_audit_run of = {.campaign = "night", .run = 7, .cell = "c0ffee"};

static int make(void **state)
{
	(void)state;
	(void)strcpy(strrchr(folder, '-') + 1, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	path = xfmt("%s/audit.jsonl", folder);
	return 0;
}

static int done(void **state)
{
	own(freep) char *head = audit_head_path(path);

	(void)state;
	(void)unlink(path);
	(void)unlink(head);
	(void)rmdir(folder);
	free(path);
	return 0;
}

struct seen {
	size_t doors, left_out;
	uint64_t count; /* of those left out */
	char last[600];
};

static int see(void *data, uint64_t line, const struct value *value, const char *text, size_t len)
{
	struct seen *seen = data;

	(void)line;
	assert_non_null(value);
	const char *event = value_get(value, "event")->text;
	seen->doors += strcmp(event, "door") == 0;
	if (strcmp(event, "door-left-out") == 0) {
		seen->left_out++;
		seen->count += strtoull(value_get(value, "count")->text, NULL, 10);
	}
	(void)snprintf(seen->last, sizeof(seen->last), "%.*s", (int)len, text);
	return 0;
}

static struct seen written(struct audit *audit)
{
	struct err err = {0};
	struct seen seen = {0};
	struct audit_report report;

	assert_int_equal(audit_flush(audit, &err), 0);
	assert_int_equal(audit_verify(path, NULL, NULL, NULL, &report, &err), 0);
	assert_int_equal(report.problems, 0);
	assert_int_equal(audit_each(path, see, &seen, &err), 0);
	return seen;
}

static struct doors_verdict refusal(const char *name)
{
	return (struct doors_verdict){.judged = DOORS_REFUSED, .door = "proxy", .name = name, .port = 443,
		.reason = "not on the allowlist", .rule = "", .request = ""};
}

static void a_verdict_is_a_line_with_its_run_and_its_reason(void **state)
{
	struct err err = {0};
	own(audit_freep) struct audit *audit = audit_open(path, NULL, &err);
	struct door_audit doors = {0};
	const struct doors_verdict verdict = refusal("evil.test");

	(void)state;
	door_audit_add(&doors, audit, &of, &verdict);
	struct seen seen = written(audit);
	assert_int_equal(seen.doors, 1);
	assert_non_null(strstr(seen.last,
		"\"event\":\"door\",\"campaign\":\"night\",\"run\":7,\"cell\":\"c0ffee\",\"verdict\":\"refused\",\"door\":\"proxy\","
		"\"name\":\"evil.test\",\"port\":443,\"reason\":\"not on the allowlist\"}"));
	door_audit_done(&doors);
}

static void what_comes_after_too_many_is_counted_by_its_sort(void **state)
{
	struct err err = {0};
	own(audit_freep) struct audit *audit = audit_open(path, NULL, &err);
	struct door_audit doors = {0};
	struct door_totals totals = {0};

	(void)state;
	for (unsigned i = 0; i < DOOR_AUDIT_LINES + 5; i++) {
		const struct doors_verdict verdict = refusal("evil.test");
		door_audit_add(&doors, audit, &of, &verdict);
	}
	for (unsigned i = 0; i < 3 * DOOR_AUDIT_KINDS; i++) {
		own(freep) char *name = xfmt("n%u.evil.test", i);
		const struct doors_verdict verdict = refusal(name);
		door_audit_add(&doors, audit, &of, &verdict);
	}
	totals.count[COUNT_REFUSED] = DOOR_AUDIT_LINES + 5 + 3 * DOOR_AUDIT_KINDS;
	door_audit_end(&doors, audit, &of, &totals);
	struct seen seen = written(audit);
	assert_int_equal(seen.doors, DOOR_AUDIT_LINES);
	assert_int_equal(seen.left_out, DOOR_AUDIT_KINDS + 1);
	assert_int_equal(seen.count, 5 + 3 * DOOR_AUDIT_KINDS);
	assert_int_equal(doors.lines, 0); /* as new, for the next run */
}

static void what_was_judged_and_never_told_is_counted(void **state)
{
	struct err err = {0};
	own(audit_freep) struct audit *audit = audit_open(path, NULL, &err);
	struct door_audit doors = {0};
	struct door_totals totals = {0};
	struct doors_verdict verdict = refusal("evil.test");

	(void)state;
	door_audit_add(&doors, audit, &of, &verdict);
	verdict.judged = DOORS_CUT; /* no verdict that the totals count */
	door_audit_add(&doors, audit, &of, &verdict);
	totals.count[COUNT_CONNECTIONS] = 2;
	totals.count[COUNT_REFUSED] = 1;
	totals.count[COUNT_FAILED] = 1;
	door_audit_end(&doors, audit, &of, &totals);
	struct seen seen = written(audit);
	assert_int_equal(seen.doors, 2);
	assert_int_equal(seen.left_out, 1);
	assert_int_equal(seen.count, 3);
	assert_non_null(strstr(seen.last, "not told"));
}

static void a_verdict_cannot_write_anything_but_text(void **state)
{
	struct err err = {0};
	own(audit_freep) struct audit *audit = audit_open(path, NULL, &err);
	struct door_audit doors = {0};
	struct doors_verdict verdict = refusal("x\",\"event\":\"cell-end\"}\n{\x1b[2J\xff");

	(void)state;
	verdict.request = "POST /v1/password=hunter2hunter2";
	door_audit_add(&doors, audit, &of, &verdict);
	struct seen seen = written(audit);
	assert_int_equal(seen.doors, 1);
	assert_null(strstr(seen.last, "hunter2"));
	assert_null(strchr(seen.last, '\x1b'));
	door_audit_done(&doors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_verdict_is_a_line_with_its_run_and_its_reason, make, done),
		cmocka_unit_test_setup_teardown(what_comes_after_too_many_is_counted_by_its_sort, make, done),
		cmocka_unit_test_setup_teardown(what_was_judged_and_never_told_is_counted, make, done),
		cmocka_unit_test_setup_teardown(a_verdict_cannot_write_anything_but_text, make, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
