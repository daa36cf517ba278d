/* finished: gives a campaign that was stopped a past of very many runs, as if all had been done.
 *
 *	finished .hotcell/ledger.db NAME 1000000
 *
 * Written through the ledger's own calls, so that it is what a supervisor would have written; there
 * are no session folders. `bench/run` measures what a long past costs whoever resumes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "campaign/ledger/ledger.h"

#define BATCH 50000
#define RUN_MS 4

static int add_run(struct ledger *ledger, const struct campaign_record *campaign, uint64_t number,
	struct err *err)
{
	char cause[] = "exit 0";
	const struct run_record run = {
		.number = number,
		.attempt = 1,
		.state = RUN_SUCCESS,
		.outcome = CELL_EXITED,
		.worker = (unsigned)(number % campaign->plan.workers) + 1,
		.seed = plan_seed(campaign->plan.seed, number),
		.started_ms = campaign->created_ms + number,
		.ended_ms = campaign->created_ms + number + RUN_MS,
		.wall_ns = RUN_MS * NS_PER_MS,
		.setup_ns = NS_PER_MS,
		.user_us = 500,
		.system_us = 800,
		.peak_memory = 400000,
		.cause = cause,
	};

	return ledger_run_end(ledger, campaign->id, &run, number, err);
}

static int add_runs(struct ledger *ledger, const struct campaign_record *campaign, uint64_t count,
	struct err *err)
{
	for (uint64_t number = 1; number <= count;) {
		if (ledger_begin(ledger, err) < 0)
			return -1;
		for (unsigned i = 0; i < BATCH && number <= count; i++, number++)
			if (add_run(ledger, campaign, number, err) < 0)
				return -1;
		if (ledger_commit(ledger, err) < 0)
			return -1;
	}
	return 0;
}

/* A sum holds for what is in the ledger, so the runs that really ran are not counted beside. */
static void add_sums(struct campaign_record *campaign, uint64_t count)
{
	campaign->next = count + 1;
	campaign->last_seq = campaign->marked_seq = count;
	campaign->active_ms = count * RUN_MS / campaign->plan.workers;
	campaign->sums =
		(struct campaign_sums){.cells = count, .wall_ns = count * RUN_MS * NS_PER_MS};
	campaign->sums.state[RUN_SUCCESS] = count;
	campaign->sums.outcome[CELL_EXITED] = count;
}

static int finish_runs(const char *path, const char *name, uint64_t count, struct err *err)
{
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_WRITE, err);
	own(campaign_record_done) struct campaign_record campaign = {0};

	if (!ledger || ledger_campaign_get(ledger, name, &campaign, err) < 0)
		return -1;
	if (count >= campaign.plan.runs || count + 1 < campaign.next)
		return err_set(err, ERR_USAGE,
			"'%s' has %" PRIu64 " runs, of which %" PRIu64
			" have begun: give a number between",
			name, campaign.plan.runs, campaign.next - 1);
	if (add_runs(ledger, &campaign, count, err) < 0)
		return -1;
	add_sums(&campaign, count);
	return ledger_campaign_put(ledger, &campaign, err);
}

int main(int argc, char **argv)
{
	struct err err = {0};

	if (argc != 4) {
		fputs("usage: finished LEDGER CAMPAIGN COUNT\n", stderr);
		return 2;
	}
	if (finish_runs(argv[1], argv[2], strtoull(argv[3], NULL, 10), &err) < 0) {
		fprintf(stderr, "finished: %s\n", err.text);
		return 1;
	}
	return 0;
}
