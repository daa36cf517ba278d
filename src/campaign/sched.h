/* When the next run starts, and which: a pure function of what has happened so far.
 *
 * Nothing is kept for runs that have not begun: a million of them cost a counter. Runs to be done again
 * (retries, and those a killed supervisor left) wait in a queue that is never longer than the workers. */
#ifndef HOTCELL_CAMPAIGN_SCHED_H
#define HOTCELL_CAMPAIGN_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/ledger/plan.h"
#include "door/policy/budget.h"

enum sched_what {
	SCHED_START, /* `run`, now */
	SCHED_WAIT, /* until a run ends, or until `at_ns` if that is not 0 */
	SCHED_DONE, /* nothing runs and nothing is left to start */
};

struct sched_run {
	uint64_t number;
	unsigned attempt; /* from 1 */
	unsigned ours; /* tries that failed by no fault of the program's */
	struct door_totals spent; /* by earlier tries, at doors: its budget is for all of them */
};

struct sched_next {
	enum sched_what what;
	struct sched_run run;
	uint64_t at_ns;
};

struct sched {
	struct campaign_plan plan;
	uint64_t next; /* the lowest number never started */
	unsigned running;
	uint64_t failures; /* that count for stop_after_failures */
	bool paused, draining; /* draining: start no more, end when all have */
	uint64_t due_ns; /* the rate's: no start before */
	struct sched_run *again; /* oldest first */
	size_t again_count;
};

void sched_init(struct sched *sched, const struct campaign_plan *plan, uint64_t next, uint64_t failures);
void sched_done(struct sched *sched);
/* Takes what it returns: SCHED_START counts as running from here on. */
struct sched_next sched_next(struct sched *sched, uint64_t now_ns);
/* A run is over. `again`: as what it is to be done once more; NULL if it is not. */
void sched_ended(struct sched *sched, const struct sched_run *again);
/* Before the first start: a run that was begun in an earlier life and must be done again. */
void sched_add_again(struct sched *sched, const struct sched_run *run);
/* A counted failure. True if that was one too many: the campaign starts no more. */
bool sched_failure(struct sched *sched);

#endif
