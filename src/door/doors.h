/* The supervisor's side of the doors: starts the process that serves them (doord), hands it each cell's listeners,
 * and starts it again should it die. In between nothing is served: what connects waits, or fails.
 *
 * Life of a run's doors: doors_run_open, doors_run_listen when its cell has listeners, doors_run_close when the cell is
 * dead, `closed` exactly once. */
#ifndef HOTCELL_DOOR_DOORS_H
#define HOTCELL_DOOR_DOORS_H

#include "base/json.h"
#include "base/loop.h"
#include "door/policy/policy.h"

struct doors;
struct doors_run;

/* As it was judged; all texts are hostile, but for what is secret in them: that is out. */
struct doors_verdict {
	enum doors_judged {
		DOORS_ALLOWED, /* "cut off" is said of one of these later on */
		DOORS_REFUSED,
		DOORS_FAILED,
		DOORS_CUT,
		DOORS_JUDGED_COUNT
	} judged;
	const char *door, *name; /* of the door; of where it leads */
	unsigned port;
	const char *reason, *rule, *request; /* "" for none; request: "POST /v1/messages", of secret doors */
};
extern const char *const doors_judged_names[DOORS_JUDGED_COUNT];

struct doors_events {
	/* A budget of one run (its number; 0: of all) is used up, or so nearly that a request was refused for what it may
	 * cost (over); or there is more left, and one was refused all the same. Each is told once for each. */
	void (*spent)(void *data, uint64_t run, const char *sentence, bool over);
	/* doord died and was started again, or cannot be started: for people. */
	void (*said)(void *data, const char *text);
	void *data;
	/* Each verdict on a connection of this run, when it is judged; before `closed`. NULL: nobody wants them. */
	void (*verdict)(void *data, uint64_t run, const struct doors_verdict *verdict);
};

/* `before`: what earlier lives of the campaign have used; NULL: nothing. The policy must live on. */
MUST_CHECK struct doors *doors_open(struct loop *loop, const struct door_policy *policy, const struct door_totals *before,
	const struct doors_events *events, struct err *err);
/* The policy's budget of all runs has changed. What is open stays so. */
void doors_renew(struct doors *doors);
struct doors *doors_free(struct doors *doors); /* ends it; NULL is fine; returns NULL */

/* before: what earlier tries of the same run have spent, which counts for its budget and in its
 * totals; NULL: nothing. log: where the run's verdicts go, opened for appending, or -1. record: where
 * its exchanges are kept, or -1. replay: a recording to answer from, or -1. All three are copied. */
struct doors_run *doors_run_open(struct doors *doors, uint64_t number,
	const struct door_totals *before, int log, int record, int replay);
/* The cell's listeners, in the order of policy_listeners. Copied. */
void doors_run_listen(struct doors_run *run, const int *fds, size_t count);
typedef void doors_closed_fn(void *data, const struct door_totals *totals);
/* Nothing passes any more; `closed` comes from the loop when the record is whole, or after two seconds without it. The
 * run is freed then. fn NULL: freed at once. */
void doors_run_close(struct doors_run *run, doors_closed_fn *fn, void *data);
void doors_run_totals(const struct doors_run *run, struct door_totals *ret); /* so far */
void doors_totals(const struct doors *doors, struct door_totals *ret); /* of all, earlier lives included */

/* One object: the doors, and what passed them so far, in all and for each live run. For `hotcell doors`. */
void doors_list(const struct doors *doors, struct json *json);

#endif
