/* The inside of a campaign at work, shared by campaign.c (the whole), runs.c (one run from its folder to
 * its end), campaign_doors.c (what leads out of its cell), campaign_audit.c (what is to be told of it later) and batch.c (what is written to the ledger, and when). */
#ifndef HOTCELL_CAMPAIGN_WORK_H
#define HOTCELL_CAMPAIGN_WORK_H

#include "audit/audit.h"
#include "campaign/campaign.h"
#include "run/door_audit.h"
#include "campaign/sched.h"
#include "campaign/session.h"
#include "door/doors.h"
#include "redact/scrub.h"

#define GRID_MAX 4096

struct worker {
	struct campaign *campaign;
	unsigned index; /* from 1 */
	bool busy; /* has a run */
	bool over; /* which has ended: its cell is to be freed */
	bool recorded; /* its start is in the ledger */
	struct cell *cell;
	struct session session;
	int in; /* the run's own stdin; -1: none */
	struct run_record run;
	unsigned ours; /* see sched_run */
	struct doors_run *doors; /* NULL: none, or closed */
	struct door_totals before; /* what earlier tries of its run spent there */
	struct door_audit verdicts; /* of them, in the audit log */
	const struct cell_result *result; /* its cell is over, its doors are not yet */
	char *spent; /* that a budget of its own or of all is used up, in a sentence; NULL: none is */
	struct scrub scrub[2]; /* its stdout and stderr on their way to its logs */
};

struct ended { /* a run that is over and not yet in the ledger */
	struct run_record run;
	uint64_t seq; /* 0: not final */
	struct ended *next;
};

struct note { /* an event for the ledger */
	char kind[16];
	uint64_t run;
	char *text;
	struct note *next;
};

struct campaign {
	struct loop *loop;
	struct campaign_events events;
	struct ledger *ledger;
	struct audit *audit;
	struct redactor *audit_redactor;
	const struct redactor *redactor; /* of all else that is written or said; NULL: nothing is known */
	struct cell_pool *pool;
	struct doors *doors; /* NULL: none */
	struct door_policy *policy;
	int replay;
	char *spent; /* that the budget of all is used up; NULL: it is not */
	struct campaign_status status; /* with the record, sums and live data */
	struct sched sched;
	struct alerts alerts;
	const char *backend; /* static */
	int lock, owner, sessions, stdin_fd;
	struct cell_spec spec;
	const char **env; /* the spec's, with room for ours behind */
	size_t env_count;
	struct worker *workers;
	uint8_t *grid;
	size_t grid_count;
	unsigned lost_in_a_row; /* cells that could not be made, without one that could */

	struct ended *ended, **ended_end;
	struct ended *unmarked, **unmarked_end; /* in the ledger, their markers not yet in their folders */
	struct note *notes, **notes_end;
	bool dirty; /* the campaign's own row has changed */
	uint64_t flushed_ns; /* when last */
	bool blocked; /* nothing can be written or started now */
	char blocked_said[400]; /* why, as the user was told; "" if all is well */
	uint64_t blocked_until_ns;
	bool cancelling, finished, warm, hopeless, too_many, stop_on_budget, out_of_budget;
	bool marks_missing; /* of ends in an earlier life; see mark_left */
	uint64_t heartbeat_ns, second; /* the second that live.done's last entry counts */
	uint64_t orphans_due_ns, failures_before;
	uint64_t busy_before, total_before; /* of /proc/stat */
	struct loop_source *schedule, *flush, *heartbeat, *wake;
};

/* ---- runs.c ---- */

/* Makes the folder and starts the cell. On failure the run is put back, and *err says why. */
MUST_CHECK int worker_begin(struct campaign *campaign, struct worker *worker, const struct sched_run *run,
	struct err *err);
void worker_free(struct worker *worker); /* after its end: the worker is free again */

bool is_passing(int code); /* an error that goes away: a full disk, too many open files ... */

/* ---- campaign_doors.c ---- */

MUST_CHECK int campaign_open_doors(struct campaign *campaign, const struct campaign_setup *setup, struct err *err);
void campaign_close_doors(struct campaign *campaign);
/* The record, the recording and the doors of a run that begins. Nothing where there are none. */
MUST_CHECK int worker_open_doors(struct worker *worker, uint64_t number, struct err *err);
void campaign_count_doors(struct campaign *campaign); /* what has passed so far, into the sums */
/* The user said to go on: whether there is any budget left, after what the ledger says of it now. */
bool campaign_may_go_on(struct campaign *campaign);

/* ---- campaign_audit.c ---- */

MUST_CHECK int campaign_open_audit(struct campaign *campaign, const struct campaign_setup *setup, struct err *err);
void campaign_close_audit(struct campaign *campaign);
void campaign_audit_begin(struct campaign *campaign); /* the plan, and what was decided */
void campaign_audit_note(struct campaign *campaign, const char *kind, const char *text);
void worker_audit_start(struct worker *worker);
void worker_audit_verdict(struct worker *worker, const struct doors_verdict *verdict);
void worker_audit_end(struct worker *worker, const struct cell_result *result);

/* ---- batch.c ---- */

uint64_t batch_now_ms(void);
void batch_add(struct campaign *campaign, const struct run_record *run, uint64_t seq); /* copies */
void batch_note(struct campaign *campaign, const char *kind, uint64_t run, const char *format, ...)
	PRINTF_LIKE(4, 5);
/* Writes everything that is not yet written, then makes the markers. Later, again, if it fails. */
bool batch_flush(struct campaign *campaign);
void batch_soon(struct campaign *campaign); /* at once if it has been quiet, else within a tenth of a second */
bool batch_clean(const struct campaign *campaign); /* nothing is left to write */
void batch_done(struct campaign *campaign);

/* ---- campaign.c ---- */

void campaign_tend_soon(struct campaign *campaign);
/* Nothing is started for a second; said once for each cause. */
void campaign_block(struct campaign *campaign, const struct err *err);
void campaign_say(struct campaign *campaign, const char *format, ...) PRINTF_LIKE(2, 3);
void campaign_grid_set(struct campaign *campaign, uint64_t number, enum run_state state);

#endif
