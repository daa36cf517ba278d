/* The ledger: campaigns, runs and events in one SQLite file (WAL), `.hotcell/ledger.db`.
 *
 * One supervisor writes the runs of one campaign; others read at the same time, and may leave a wish
 * (pause, stop) in a row of its own. Nothing is in it for runs that were never started.
 *
 * The ledger is the truth, the marker in a session's folder follows from it: an end is written and
 * committed first, then the marker is made, then `marked_seq` moves on. Whoever resumes makes the markers
 * that are missing. What the kernel had not written when the machine died is as if it had never run.
 *
 * Errors are sentences that name the file. ERR_USAGE: what was asked for cannot be (no such campaign, the
 * name is taken, a newer version's ledger); ENOSPC: the disk is full (or a quota, or `ulimit -f`), and the same
 * may be tried again; EBUSY: another process wrote for more than five seconds; EUCLEAN: the file is damaged.
 *
 * An older version's ledger is brought up to date by whoever opens it to write; who only reads it reads it as it is.
 *
 * A callback may call anything here, on the same ledger too. */
#ifndef HOTCELL_CAMPAIGN_LEDGER_LEDGER_H
#define HOTCELL_CAMPAIGN_LEDGER_LEDGER_H

#include "base/err.h"
#include "campaign/ledger/record.h"

struct ledger;

enum ledger_how {
	LEDGER_CREATE, /* made if it is not there */
	LEDGER_WRITE, /* must be there */
	LEDGER_READ, /* must be there; works on a read-only file and in a read-only folder too */
};
MUST_CHECK struct ledger *ledger_open(const char *path, enum ledger_how how, struct err *err);
struct ledger *ledger_free(struct ledger *ledger); /* rolls back what is not committed; NULL is fine */
void ledger_freep(struct ledger **ledger);
const char *ledger_path(const struct ledger *ledger);

/* Changes between begin and commit are one; without them, each call is one by itself. Keep it short: whoever
 * else writes waits meanwhile. On a LEDGER_READ ledger all reads in between see the same moment.
 *
 * If the commit fails, or a call before it with anything but ERR_USAGE, none of the changes is there: all were
 * rolled back at once, and until the commit every further change fails in the same way, as does the commit.
 * So keep what is in a batch until its commit has succeeded; else (ENOSPC, EBUSY: when there is space or time)
 * begin again, make every change again, commit again. A begin drops whatever was not committed. Changes hold
 * values, not differences: should a commit that failed be found done after a crash, it does no harm. */
MUST_CHECK int ledger_begin(struct ledger *ledger, struct err *err);
MUST_CHECK int ledger_commit(struct ledger *ledger, struct err *err);

/* ---- campaigns ---- */

/* Sets campaign->id, uuid and the times. A name that is taken is ERR_USAGE. */
MUST_CHECK int ledger_campaign_add(struct ledger *ledger, struct campaign_record *campaign, struct err *err);
/* By name. ERR_USAGE if there is none: the sentence names the nearest or lists what there is. */
MUST_CHECK int ledger_campaign_get(struct ledger *ledger, const char *name, struct campaign_record *ret,
	struct err *err);
/* Writes state, note, next, sums, seqs, holder, times and the plan's workers back; the rest never changes, but for the budget. */
MUST_CHECK int ledger_campaign_put(struct ledger *ledger, const struct campaign_record *campaign, struct err *err);
/* Raises or lowers what may pass its doors; a supervisor at work takes it when it is told to go on. */
MUST_CHECK int ledger_campaign_budget(struct ledger *ledger, int64_t id, const char *budget, struct err *err);
/* Newest first; calls fn until it returns non-zero, which is returned. The record is the ledger's. */
typedef int ledger_campaign_fn(void *data, const struct campaign_record *campaign);
MUST_CHECK int ledger_campaigns(struct ledger *ledger, ledger_campaign_fn *fn, void *data, struct err *err);
/* With everything of it. A million runs take seconds; unless within a batch, others get to write meanwhile. */
MUST_CHECK int ledger_campaign_remove(struct ledger *ledger, int64_t id, struct err *err);
/* True also when it cannot be known: adding it will say why. */
MUST_CHECK bool ledger_name_free(struct ledger *ledger, const char *name);

/* ---- runs ---- */

/* It began (again): the row becomes RUN_RUNNING with this attempt; what an earlier one came to is forgotten. */
MUST_CHECK int ledger_run_start(struct ledger *ledger, int64_t campaign, const struct run_record *run, struct err *err);
/* It ended, finally or to be done again; needs no row that says it began. `seq` is the campaign's last_seq + 1
 * for a final state, and 0 else. */
MUST_CHECK int ledger_run_end(struct ledger *ledger, int64_t campaign, const struct run_record *run, uint64_t seq,
	struct err *err);
/* 1: found; 0: it never began; -1: error. */
MUST_CHECK int ledger_run_get(struct ledger *ledger, int64_t campaign, uint64_t number, struct run_record *ret,
	struct err *err);
MUST_CHECK int ledger_run_remove(struct ledger *ledger, int64_t campaign, uint64_t number, struct err *err);

enum ledger_order { LEDGER_BY_NUMBER, LEDGER_SLOWEST, LEDGER_LATEST /* final ones only, the last to end first */ };
struct ledger_query {
	unsigned states; /* bits 1u << enum run_state; 0: all */
	enum ledger_order order;
	uint64_t after_seq; /* only ends after this one; 0: all */
	uint64_t from, limit; /* numbers from `from` on (by number only); limit 0: all */
};
typedef int ledger_run_fn(void *data, const struct run_record *run);
MUST_CHECK int ledger_runs(struct ledger *ledger, int64_t campaign, const struct ledger_query *query,
	ledger_run_fn *fn, void *data, struct err *err);

/* ---- what the supervisor shows while it works: overwritten at every heartbeat ---- */

#define LEDGER_HEARTBEATS 120
struct ledger_worker {
	unsigned worker; /* from 1 */
	uint64_t number; /* of its run; 0: idle */
	uint64_t since_ms, memory;
};
struct ledger_live {
	uint64_t at_ms; /* 0: no heartbeat yet */
	uint64_t memory; /* of all cells now */
	uint64_t cpu_milli; /* in use on the whole machine over the last heartbeat, in thousandths of a CPU */
	uint32_t done[LEDGER_HEARTBEATS]; /* ends in each of the last seconds, the latest last */
	struct ledger_worker *workers;
	size_t worker_count;
	char *alerts; /* names of the rules that are firing, comma-separated; "" if none */
};
void ledger_live_done(struct ledger_live *live);
MUST_CHECK int ledger_live_put(struct ledger *ledger, int64_t campaign, const struct ledger_live *live, struct err *err);
MUST_CHECK int ledger_live_get(struct ledger *ledger, int64_t campaign, struct ledger_live *ret, struct err *err);

/* ---- wishes of others ---- */

enum ledger_wish { WISH_NONE, WISH_PAUSE, WISH_GO, WISH_STOP /* drain */, WISH_CANCEL /* now */, WISH_COUNT };
MUST_CHECK int ledger_wish_put(struct ledger *ledger, int64_t campaign, enum ledger_wish wish, struct err *err);
/* WISH_NONE if there is none; a later wish replaces an earlier one. Cheap when nobody wrote since the last call. */
MUST_CHECK int ledger_wish_take(struct ledger *ledger, int64_t campaign, enum ledger_wish *ret, struct err *err);

/* ---- events: what happened, for people ---- */

MUST_CHECK int ledger_event(struct ledger *ledger, int64_t campaign, const char *kind, uint64_t run /* 0: none */,
	const char *text, struct err *err);
struct ledger_event {
	uint64_t at_ms, run;
	const char *kind, *text;
};
typedef int ledger_event_fn(void *data, const struct ledger_event *event);
MUST_CHECK int ledger_events(struct ledger *ledger, int64_t campaign, uint64_t limit, ledger_event_fn *fn, void *data,
	struct err *err); /* the latest (0: all), oldest of them first */

#endif
