/* The rows of the ledger as structs: what a campaign is and how far it is, and what became of a run.
 * Times are milliseconds since 1970. */
#ifndef HOTCELL_CAMPAIGN_LEDGER_RECORD_H
#define HOTCELL_CAMPAIGN_LEDGER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "campaign/ledger/plan.h"
#include "cell/cell.h"
#include "door/policy/budget.h"

enum run_state {
	RUN_RUNNING, /* begun, not ended; after a crash: to be done again */
	RUN_AGAIN, /* ended, and to be done again: a retry, or cancelled */
	RUN_SUCCESS, /* exited with 0 */
	RUN_ERROR, /* anything else */
	RUN_TIMEOUT,
	RUN_STATE_COUNT
};
#define RUN_NOT_BEGUN 0xff /* a run that has no state yet, where states are bytes */
extern const char *const run_state_names[RUN_STATE_COUNT]; /* "running", "again", "success", "error", "timeout" */
bool run_state_final(enum run_state state);
/* The marker file of a final state: "SUCCESS", "ERROR", "TIMEOUT"; else NULL. */
const char *run_state_marker(enum run_state state);

enum campaign_state {
	CAMPAIGN_RUNNING, /* a supervisor is (or, if none holds it, was) at work */
	CAMPAIGN_PAUSED, /* a supervisor is there and starts nothing */
	CAMPAIGN_STOPPED, /* ended before all runs were done; resumable */
	CAMPAIGN_DONE, /* every run has its outcome */
	CAMPAIGN_FAILED, /* stopped by --stop-after-failures; resumable */
	CAMPAIGN_STATE_COUNT
};
extern const char *const campaign_state_names[CAMPAIGN_STATE_COUNT];

struct run_record {
	uint64_t number;
	unsigned attempt;
	enum run_state state;
	enum cell_outcome outcome;
	int exit_code, signal; /* -1, 0: none */
	unsigned worker; /* from 1 */
	uint64_t seed;
	uint64_t started_ms, ended_ms; /* ended_ms 0: not yet */
	uint64_t wall_ns, setup_ns, user_us, system_us;
	uint64_t peak_memory, written_bytes, stdout_bytes, stderr_bytes, refused;
	struct door_totals network; /* what passed its doors */
	char *cause; /* one line for people: "exit 3", "SIGSEGV", "oom", ...; owned; may be NULL */
	char *cell; /* the live cell's id while it runs; owned; may be NULL */
};
void run_record_done(struct run_record *run);

/* Sums over all runs that have ended, kept up to date in the campaign's own row. */
struct campaign_sums {
	uint64_t state[RUN_STATE_COUNT]; /* how many runs are in each final state; the other two stay 0 */
	uint64_t outcome[CELL_OUTCOME_COUNT]; /* of every cell, retries included */
	uint64_t cells; /* made, retries included */
	uint64_t cell_failures; /* that could not be made */
	uint64_t cleanup_failures, orphans;
	uint64_t retried, cancelled;
	uint64_t wall_ns, user_us, system_us, written_bytes; /* summed over cells */
	uint64_t peak_sum, peak_max; /* of memory */
	uint64_t oom_kills; /* processes that went beyond their cell's memory, whatever became of the cell */
	uint64_t weaker; /* cells whose receipt was less than full */
	struct door_totals network; /* of all runs, those that are going included */
};

/* Runs in a final state. */
static inline uint64_t campaign_sums_complete(const struct campaign_sums *sums)
{
	return sums->state[RUN_SUCCESS] + sums->state[RUN_ERROR] + sums->state[RUN_TIMEOUT];
}

struct campaign_record {
	int64_t id;
	char *name, *uuid;
	enum campaign_state state;
	struct campaign_plan plan;
	char *output; /* folder of the sessions, absolute */
	char *cwd; /* where it was started */
	char *words; /* its command line, for resuming: NUL-separated; words_len bytes */
	size_t words_len;
	char *shown; /* the same as people may see it, if that is something else; shown_len bytes */
	size_t shown_len;
	char *env_names; /* names whose values must be given again: NUL-separated */
	size_t env_names_len;
	char *budget; /* of what passes its doors, as it is now; "" for none */
	char *note; /* why it is in this state: one line; may be "" */
	uint64_t memory_limit; /* of one cell */
	uint64_t timeout_ms;
	uint64_t created_ms, updated_ms, ended_ms; /* ended_ms 0: not ended */
	uint64_t active_ms; /* time a supervisor was at work, over all its lives */
	uint64_t next; /* the lowest number never started */
	uint64_t last_seq; /* of ends, see ledger_run_end */
	uint64_t marked_seq; /* every end up to here has its marker in its folder */
	int holder; /* pid of the supervisor that holds it, or held it last; 0: none yet */
	struct campaign_sums sums;
};
void campaign_record_done(struct campaign_record *campaign);
/* Its command line, for people: NUL-separated, *ret_len bytes. */
const char *campaign_record_shown(const struct campaign_record *campaign, size_t *ret_len);

#endif
