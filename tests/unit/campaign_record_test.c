#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "campaign/ledger/record.h"

static void exactly_the_final_states_have_a_marker(void **state)
{
	static const struct {
		enum run_state state;
		const char *name, *marker;
	} rows[] = {
		{RUN_RUNNING, "running", NULL},
		{RUN_AGAIN, "again", NULL},
		{RUN_SUCCESS, "success", "SUCCESS"},
		{RUN_ERROR, "error", "ERROR"},
		{RUN_TIMEOUT, "timeout", "TIMEOUT"},
	};

	(void)state;
	assert_int_equal(ARRAY_LEN(rows), RUN_STATE_COUNT);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(run_state_names[rows[i].state], rows[i].name);
		assert_int_equal(run_state_final(rows[i].state), rows[i].marker != NULL);
		if (rows[i].marker)
			assert_string_equal(run_state_marker(rows[i].state), rows[i].marker);
		else
			assert_null(run_state_marker(rows[i].state));
	}
}

static void a_state_out_of_range_is_not_final(void **state)
{
	(void)state;
	assert_false(run_state_final(RUN_STATE_COUNT));
	assert_null(run_state_marker((enum run_state) - 1));
}

static void every_state_of_a_campaign_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i < CAMPAIGN_STATE_COUNT; i++)
		assert_non_null(campaign_state_names[i]);
}

static void records_can_be_freed_twice_and_empty(void **state)
{
	struct run_record run = {.cause = xstrdup("exit 3"), .cell = xstrdup("c4f1a02")};
	struct campaign_record campaign = {.name = xstrdup("night"), .note = xstrdup("")};

	(void)state;
	run_record_done(&run);
	run_record_done(&run);
	campaign_record_done(&campaign);
	campaign_record_done(&campaign);
	assert_null(run.cause);
	assert_null(campaign.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_final_states_have_a_marker),
		cmocka_unit_test(a_state_out_of_range_is_not_final),
		cmocka_unit_test(every_state_of_a_campaign_has_a_name),
		cmocka_unit_test(records_can_be_freed_twice_and_empty),
	};
	return cmocka_run_group_tests_name("campaign record", tests, NULL, NULL);
}
