#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "campaign/alert.h"

static void rules_are_read_as_people_write_them(void **state)
{
	static const struct {
		const char *text, *name;
		enum alert_metric metric;
		bool below;
		double limit;
		bool critical;
	} cases[] = {
		{"a: creation_failure_rate > 10%", "a", ALERT_CREATION_FAILURE_RATE, false, 10,
			false},
		{"a: creation_failure_rate > 10", "a", ALERT_CREATION_FAILURE_RATE, false, 10,
			false},
		{"a:memory_usage>90%critical", NULL, 0, false, 0, false},
		{"a:memory_usage>90% critical", "a", ALERT_MEMORY_USAGE, false, 90, true},
		{" \ta : orphans\t<  5\twarning ", "a", ALERT_ORPHANS, true, 5, false},
		{"x-1.y_Z: failure_rate > 0.5%", "x-1.y_Z", ALERT_FAILURE_RATE, false, 0.5, false},
		{"t: timeout_rate > 100% critical", "t", ALERT_TIMEOUT_RATE, false, 100, true},
		{"t: oom_kills > 0", "t", ALERT_OOM_KILLS, false, 0, false},
		{"t: cleanup_failures > 12", "t", ALERT_CLEANUP_FAILURES, false, 12, false},
		{"high_container_failure_rate: container_creation_failure_rate > 10% warning",
			"high_container_failure_rate", ALERT_CREATION_FAILURE_RATE, false, 10,
			false},
		{"resource_exhaustion: container_memory_usage > 90% critical",
			"resource_exhaustion", ALERT_MEMORY_USAGE, false, 90, true},
		{"cleanup_failures: orphaned_containers > 5", "cleanup_failures", ALERT_ORPHANS,
			false, 5, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct alerts alerts = {0};
		struct err err = {0};
		int rc = alerts_add(&alerts, cases[i].text, &err);
		if (!cases[i].name) {
			assert_int_equal(rc, -1);
			continue;
		}
		if (rc < 0)
			fail_msg("'%s': %s", cases[i].text, err.text);
		assert_int_equal(alerts.count, 1);
		assert_string_equal(alerts.rules[0].name, cases[i].name);
		assert_int_equal(alerts.rules[0].metric, cases[i].metric);
		assert_int_equal(alerts.rules[0].below, cases[i].below);
		assert_true(alerts.rules[0].limit == cases[i].limit);
		assert_int_equal(alerts.rules[0].critical, cases[i].critical);
		assert_false(alerts.rules[0].firing);
	}
}

static void what_is_no_rule_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "begins with a name"},
		{":", "begins with a name"},
		{": orphans > 5", "begins with a name"},
		{"a,b: orphans > 5", "begins with a name"},
		{"a\nb: orphans > 5", "begins with a name"},
		{"\xc3\xa4: orphans > 5", "begins with a name"},
		{"0123456789012345678901234567890123456789: orphans > 5", "begins with a name"},
		{"orphans > 5", "after the name comes ':'"},
		{"a", "after the name comes ':'"},
		{"a:", "one of creation_failure_rate, memory_usage, orphans,"},
		{"a: orphan > 5", "one of creation_failure_rate"},
		{"a: Orphans > 5", "one of creation_failure_rate"},
		{"a: orphans", "comes '>' or '<'"},
		{"a: orphans = 5", "comes '>' or '<'"},
		{"a: orphans >= 5", "comes a number"},
		{"a: orphans >", "comes a number"},
		{"a: orphans > %", "comes a number"},
		{"a: orphans > -5", "comes a number"},
		{"a: orphans > 1e3", "comes a number"},
		{"a: orphans > 0x10", "comes a number"},
		{"a: orphans > nan", "comes a number"},
		{"a: orphans > inf", "comes a number"},
		{"a: orphans > .5", "comes a number"},
		{"a: orphans > 5.", "comes a number"},
		{"a: orphans > 1.2.3", "comes a number"},
		{"a: orphans > 1,5", "comes a number"},
		{"a: orphans > 1234567890123456", "comes a number"},
		{"a: orphans > 123456789012345", "too large"},
		{"a: orphans > 5%", "leave the '%' out"},
		{"a: memory_usage > 101%", "more than 100%"},
		{"a: memory_usage > 10%%", "comes a number"},
		{"a: memory_usage > 10 %", "'warning' or 'critical'"},
		{"a: orphans > 5 fatal", "'warning' or 'critical'"},
		{"a: orphans > 5 warning critical", "'warning' or 'critical'"},
		{"a: orphans > 5 \033[2J", "'warning' or 'critical'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct alerts alerts = {0};
		struct err err = {0};
		if (alerts_add(&alerts, cases[i].text, &err) == 0)
			fail_msg("'%s' was taken", cases[i].text);
		assert_int_equal(err.code, ERR_USAGE);
		assert_int_equal(alerts.count, 0);
		if (!strstr(err.text, cases[i].says))
			fail_msg("'%s': %s", cases[i].text, err.text);
		assert_null(strchr(err.text, '\033'));
		assert_null(strchr(err.text, '\n'));
	}
}

static void the_defaults_are_the_three_of_the_requirement(void **state)
{
	static const char *const texts[] = {
		"high_container_failure_rate: container_creation_failure_rate > 10% warning",
		"resource_exhaustion: container_memory_usage > 90% critical",
		"cleanup_failures: orphaned_containers > 5 warning",
	};
	struct alerts alerts, read = {0};
	struct err err;

	(void)state;
	alerts_defaults(&alerts);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(alerts_add(&read, texts[i], &err), 0);
	assert_int_equal(alerts.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(alerts.rules[i].name, read.rules[i].name);
		assert_int_equal(alerts.rules[i].metric, read.rules[i].metric);
		assert_true(alerts.rules[i].limit == read.rules[i].limit);
		assert_int_equal(alerts.rules[i].critical, read.rules[i].critical);
		assert_false(alerts.rules[i].below);
	}
}

static void a_name_that_is_there_is_replaced_and_there_is_an_end_to_them(void **state)
{
	struct alerts alerts;
	struct err err = {0};
	char text[64];

	(void)state;
	alerts_defaults(&alerts);
	assert_int_equal(alerts_add(&alerts, "cleanup_failures: orphans > 50 critical", &err), 0);
	assert_int_equal(alerts.count, 3);
	assert_true(alerts.rules[2].limit == 50);
	assert_true(alerts.rules[2].critical);
	for (int i = 3; i < ALERT_MAX_RULES; i++) {
		(void)snprintf(text, sizeof(text), "rule%d: orphans > %d", i, i);
		assert_int_equal(alerts_add(&alerts, text, &err), 0);
	}
	assert_int_equal(alerts_add(&alerts, "one_more: orphans > 1", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(alerts.count, ALERT_MAX_RULES);
	assert_int_equal(alerts_add(&alerts, "rule7: orphans > 1", &err), 0);
}

/* ---- watching ---- */

static struct ledger_worker workers[] = {
	{.worker = 1, .number = 7, .memory = 460}, {.worker = 2, .number = 8, .memory = 100},
	{.worker = 3, .number = 0, .memory = 999}, /* idle: what it had is over */
};

static void each_value_is_what_its_name_says(void **state)
{
	static const double expected[] = {
		[ALERT_CREATION_FAILURE_RATE] = 20,
		[ALERT_MEMORY_USAGE] = 46,
		[ALERT_ORPHANS] = 6,
		[ALERT_FAILURE_RATE] = 25,
		[ALERT_TIMEOUT_RATE] = 5,
		[ALERT_OOM_KILLS] = 2,
		[ALERT_CLEANUP_FAILURES] = 4,
	};
	struct campaign_status status = {
		.held = true,
		.campaign = {.memory_limit = 1000,
			.plan = {.runs = 200},
			.sums = {.state = {[RUN_SUCCESS] = 75, [RUN_ERROR] = 20, [RUN_TIMEOUT] = 5},
				.outcome = {[CELL_OOM] = 1},
				.oom_kills = 2,
				.cells = 100,
				.cell_failures = 20,
				.orphans = 6,
				.cleanup_failures = 4}},
		.live = {.workers = workers, .worker_count = ARRAY_LEN(workers)},
	};

	(void)state;
	status_derive(&status);
	for (int i = 0; i < ALERT_METRIC_COUNT; i++)
		if (alert_value((enum alert_metric)i, &status) != expected[i])
			fail_msg("%s is %f", alert_metric_names[i],
				alert_value((enum alert_metric)i, &status));
}

static void nothing_at_all_divides_by_nothing(void **state)
{
	struct campaign_status status = {0};

	(void)state;
	for (int i = 0; i < ALERT_METRIC_COUNT; i++)
		assert_true(alert_value((enum alert_metric)i, &status) == 0);
}

struct told {
	unsigned began, ceased;
	double value;
	char name[40];
};

static void tell(void *data, const struct alert_rule *rule, double value)
{
	struct told *told = data;

	told->began += rule->firing;
	told->ceased += !rule->firing;
	told->value = value;
	(void)snprintf(told->name, sizeof(told->name), "%s", rule->name);
}

static void a_rule_tells_when_it_begins_and_when_it_ceases(void **state)
{
	struct campaign_status status = {.held = true,
		.campaign = {.memory_limit = 500},
		.live = {.workers = workers, .worker_count = ARRAY_LEN(workers)}};
	own(buf_done) struct buf names = {0};
	struct told told = {0};
	struct alerts alerts;

	(void)state;
	alerts_defaults(&alerts);
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 1);
	assert_string_equal(told.name, "resource_exhaustion");
	assert_true(told.value == 92);
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 1);
	status.campaign.sums.orphans = 5;
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 1); /* 5 is not more than 5 */
	status.campaign.sums.orphans = 6;
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 2);
	alerts_firing(&alerts, &names);
	assert_string_equal(buf_text(&names), "resource_exhaustion,cleanup_failures");
	status.campaign.memory_limit = 5000;
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 2);
	assert_int_equal(told.ceased, 1);
	assert_int_equal(alerts.fired, 2);
	status.campaign.memory_limit = 500;
	alerts_check(&alerts, &status, NULL, NULL);
	assert_int_equal(alerts.fired, 3);
}

static void rates_count_from_ten_cells_on(void **state)
{
	struct campaign_status status = {.campaign = {.sums = {.cells = 9, .cell_failures = 4}}};
	struct told told = {0};
	struct alerts alerts;

	(void)state;
	alerts_defaults(&alerts);
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 0);
	status.campaign.sums.cells = 10;
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 1);
	assert_string_equal(told.name, "high_container_failure_rate");
	assert_true(told.value == 40);
}

static void below_waits_until_there_is_something_to_judge(void **state)
{
	struct campaign_status status = {.held = true, .campaign = {.memory_limit = 500}};
	struct alerts alerts = {0};
	struct told told = {0};
	struct err err;

	(void)state;
	assert_int_equal(alerts_add(&alerts, "few: failure_rate < 50%", &err), 0);
	assert_int_equal(alerts_add(&alerts, "small: memory_usage < 50%", &err), 0);
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 0);
	status.campaign.sums.state[RUN_SUCCESS] = 10;
	status_derive(&status);
	alerts_check(&alerts, &status, tell, &told);
	assert_int_equal(told.began, 1);
	assert_string_equal(told.name, "few");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_read_as_people_write_them),
		cmocka_unit_test(what_is_no_rule_is_refused_with_a_sentence),
		cmocka_unit_test(the_defaults_are_the_three_of_the_requirement),
		cmocka_unit_test(a_name_that_is_there_is_replaced_and_there_is_an_end_to_them),
		cmocka_unit_test(each_value_is_what_its_name_says),
		cmocka_unit_test(nothing_at_all_divides_by_nothing),
		cmocka_unit_test(a_rule_tells_when_it_begins_and_when_it_ceases),
		cmocka_unit_test(rates_count_from_ten_cells_on),
		cmocka_unit_test(below_waits_until_there_is_something_to_judge),
	};
	return cmocka_run_group_tests_name("campaign alert", tests, NULL, NULL);
}
