#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "campaign/ledger/plan.h"
#include "campaign/sched.h"

/* ---- plan ---- */

static void a_name_is_letters_digits_dots_dashes_and_underscores(void **state)
{
	static const char *const good[] = {"c1", "night-run", "a.b_c", "0", "A"};
	static const char *const bad[] = {"", ".", "..", "-x", ".x", "a/b", "../x", "a b", "a\nb", "\xc3\xa9",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(plan_name_check(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(plan_name_check(bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_null(strchr(err.text, '\n'));
	}
}

static void the_same_campaign_and_number_give_the_same_seed_for_ever(void **state)
{
	(void)state;
	/* written down once: a change here breaks every campaign anybody ever recorded */
	assert_int_equal(plan_seed(1, 1), UINT64_C(8232782446381918));
	assert_int_equal(plan_seed(1, 2), UINT64_C(6644604159053408));
	assert_int_equal(plan_seed(42, 7), UINT64_C(774905205516092));
}

static void seeds_differ_and_are_read_exactly_by_every_language(void **state)
{
	(void)state;
	for (uint64_t number = 1; number < 5000; number++) {
		assert_true(plan_seed(9, number) < UINT64_C(1) << 53);
		assert_int_not_equal(plan_seed(9, number), plan_seed(9, number + 1));
		assert_int_not_equal(plan_seed(9, number), plan_seed(10, number));
	}
}

static void a_session_has_as_many_digits_as_the_last_needs_and_three_at_least(void **state)
{
	char name[24];

	(void)state;
	assert_string_equal(plan_session_name(5, 1, name, sizeof(name)), "001");
	assert_string_equal(plan_session_name(999, 12, name, sizeof(name)), "012");
	assert_string_equal(plan_session_name(1000, 12, name, sizeof(name)), "0012");
	assert_string_equal(plan_session_name(1000000, 1000000, name, sizeof(name)), "1000000");
}

static void nonsense_numbers_are_refused(void **state)
{
	static const struct campaign_plan bad[] = {
		{.runs = 0, .workers = 1},
		{.runs = PLAN_MAX_RUNS + 1, .workers = 1},
		{.runs = 1, .workers = 0},
		{.runs = 1, .workers = PLAN_MAX_WORKERS + 1},
		{.runs = 1, .workers = 1, .seed = UINT64_C(1) << 53},
	};
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(plan_check(&bad[i], &err), -1);
	const struct campaign_plan good = {.runs = 1, .workers = 1};
	assert_int_equal(plan_check(&good, &err), 0);
}

/* ---- sched ---- */

static const struct campaign_plan two_by_five = {.runs = 5, .workers = 2};

static void expect_start(struct sched *sched, uint64_t number)
{
	struct sched_next next = sched_next(sched, 0);

	assert_int_equal(next.what, SCHED_START);
	assert_int_equal(next.run.number, number);
}

static void a_worker_that_is_free_is_never_idle(void **state)
{
	struct sched sched;

	(void)state;
	sched_init(&sched, &two_by_five, 1, 0);
	expect_start(&sched, 1);
	expect_start(&sched, 2);
	assert_int_equal(sched_next(&sched, 0).what, SCHED_WAIT);
	for (uint64_t number = 3; number <= 5; number++) {
		sched_ended(&sched, NULL);
		expect_start(&sched, number);
	}
	sched_ended(&sched, NULL);
	assert_int_equal(sched_next(&sched, 0).what, SCHED_WAIT);
	sched_ended(&sched, NULL);
	assert_int_equal(sched_next(&sched, 0).what, SCHED_DONE);
	sched_done(&sched);
}

static void what_is_to_be_done_again_comes_before_what_was_never_begun(void **state)
{
	struct sched sched;
	const struct sched_run again = {.number = 1, .attempt = 2}, left = {.number = 4, .attempt = 1};

	(void)state;
	sched_init(&sched, &two_by_five, 5, 0);
	sched_add_again(&sched, &left);
	expect_start(&sched, 4);
	expect_start(&sched, 5);
	sched_ended(&sched, &again);
	struct sched_next next = sched_next(&sched, 0);
	assert_int_equal(next.run.number, 1);
	assert_int_equal(next.run.attempt, 2);
	sched_done(&sched);
}

static void a_rate_spaces_the_starts_and_saves_nothing_up(void **state)
{
	struct campaign_plan plan = {.runs = 10, .workers = 10, .rate = 60};
	struct sched sched;

	(void)state;
	sched_init(&sched, &plan, 1, 0);
	assert_int_equal(sched_next(&sched, NS_PER_S).what, SCHED_START);
	struct sched_next next = sched_next(&sched, NS_PER_S);
	assert_int_equal(next.what, SCHED_WAIT);
	assert_int_equal(next.at_ns, 2 * NS_PER_S);
	assert_int_equal(sched_next(&sched, 100 * NS_PER_S).what, SCHED_START);
	assert_int_equal(sched_next(&sched, 100 * NS_PER_S).what, SCHED_WAIT);
	sched_done(&sched);
}

static void pausing_starts_nothing_and_ends_nothing(void **state)
{
	struct sched sched;

	(void)state;
	sched_init(&sched, &two_by_five, 1, 0);
	sched.paused = true;
	assert_int_equal(sched_next(&sched, 0).what, SCHED_WAIT);
	sched.paused = false;
	expect_start(&sched, 1);
	sched_done(&sched);
}

static void draining_ends_when_what_runs_has(void **state)
{
	struct sched sched;

	(void)state;
	sched_init(&sched, &two_by_five, 1, 0);
	expect_start(&sched, 1);
	sched.draining = true;
	assert_int_equal(sched_next(&sched, 0).what, SCHED_WAIT);
	sched_ended(&sched, NULL);
	assert_int_equal(sched_next(&sched, 0).what, SCHED_DONE);
	sched_done(&sched);
}

static void too_many_failures_start_no_more(void **state)
{
	struct campaign_plan plan = {.runs = 10, .workers = 1, .stop_after_failures = 2};
	struct sched sched;

	(void)state;
	sched_init(&sched, &plan, 1, 0);
	expect_start(&sched, 1);
	sched_ended(&sched, NULL);
	assert_false(sched_failure(&sched));
	expect_start(&sched, 2);
	sched_ended(&sched, NULL);
	assert_true(sched_failure(&sched));
	assert_int_equal(sched_next(&sched, 0).what, SCHED_DONE);
	sched_done(&sched);
}

static void a_million_queued_runs_cost_nothing(void **state)
{
	struct campaign_plan plan = {.runs = 1000000, .workers = 16};
	struct sched sched;

	(void)state;
	sched_init(&sched, &plan, 1, 0);
	for (uint64_t number = 1; number <= plan.runs; number++) {
		expect_start(&sched, number);
		sched_ended(&sched, NULL);
	}
	assert_int_equal(sched_next(&sched, 0).what, SCHED_DONE);
	assert_null(sched.again);
	sched_done(&sched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_letters_digits_dots_dashes_and_underscores),
		cmocka_unit_test(the_same_campaign_and_number_give_the_same_seed_for_ever),
		cmocka_unit_test(seeds_differ_and_are_read_exactly_by_every_language),
		cmocka_unit_test(a_session_has_as_many_digits_as_the_last_needs_and_three_at_least),
		cmocka_unit_test(nonsense_numbers_are_refused),
		cmocka_unit_test(a_worker_that_is_free_is_never_idle),
		cmocka_unit_test(what_is_to_be_done_again_comes_before_what_was_never_begun),
		cmocka_unit_test(a_rate_spaces_the_starts_and_saves_nothing_up),
		cmocka_unit_test(pausing_starts_nothing_and_ends_nothing),
		cmocka_unit_test(draining_ends_when_what_runs_has),
		cmocka_unit_test(too_many_failures_start_no_more),
		cmocka_unit_test(a_million_queued_runs_cost_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
