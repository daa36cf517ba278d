#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "project/state.h"
#include "campaign/status.h"

static char folder[] = "/tmp/hotcell-status-XXXXXX";

static void put_campaign(struct ledger *ledger)
{
	own(campaign_record_done) struct campaign_record campaign = {
		.name = xstrdup("night"),
		.uuid = NULL,
		.output = xstrdup("/p/fuzz/runs"),
		.cwd = xstrdup("/p"),
		.words = xstrdup("true"),
		.words_len = 5,
		.note = xstrdup(""),
		.plan = {.runs = 50, .workers = 2, .seed = 1},
		.timeout_ms = 1000,
	};
	struct ledger_worker workers[] = {{.worker = 1, .number = 8}, {.worker = 2}};
	char alerts[] = "resource_exhaustion";
	struct ledger_live live = {
		.at_ms = 1, .memory = 4096, .workers = workers, .worker_count = 2, .alerts = alerts};
	struct err err = {0};

	if (ledger_campaign_add(ledger, &campaign, &err) < 0)
		fail_msg("%s", err.text);
	campaign.sums.state[RUN_SUCCESS] = 6;
	campaign.sums.state[RUN_TIMEOUT] = 1;
	if (ledger_campaign_put(ledger, &campaign, &err) < 0 ||
		ledger_live_put(ledger, campaign.id, &live, &err) < 0)
		fail_msg("%s", err.text);
}

static void another_process_reads_what_the_ledger_knows(void **state)
{
	own(freep) char *path = state_ledger(folder);
	struct err err = {0};
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_CREATE, &err);
	own(status_done) struct campaign_status status = {0}, held = {0}, none = {0};

	(void)state;
	assert_non_null(ledger);
	put_campaign(ledger);
	assert_int_equal(status_read(ledger, folder, "night", &status, &err), 0);
	assert_string_equal(status.campaign.name, "night");
	assert_int_equal(status.complete, 7);
	assert_int_equal(status.failed, 1);
	assert_int_equal(status.left, 43);
	assert_int_equal(status.live.worker_count, 2);
	assert_true(status.now_ms > UINT64_C(1600000000000));
	/* Nobody holds it: nothing of it runs. */
	assert_false(status.held);
	assert_int_equal(status.running, 0);
	assert_string_equal(status_word(&status), "interrupted");

	own(fd_closep) int lock = state_lock(folder, "night", &err);
	assert_true(lock >= 0);
	assert_int_equal(status_read(ledger, folder, "night", &held, &err), 0);
	assert_true(held.held);
	assert_int_equal(held.running, 1);
	assert_string_equal(status_word(&held), "running");
	assert_false(status_fresh(&held)); /* its heartbeat is of 1970 */

	assert_int_equal(status_read(ledger, folder, "day", &none, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_null(none.campaign.name);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct err err;

	(void)state;
	return fs_remove_tree(AT_FDCWD, folder, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_reads_what_the_ledger_knows),
	};
	return cmocka_run_group_tests_name("campaign status", tests, make_folder, remove_folder);
}
