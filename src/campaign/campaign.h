/* A campaign at work: N runs by M workers in cells, on the caller's loop.
 *
 * campaign_open takes the campaign's lock and its folder and mends what an earlier life left half-done;
 * then each loop_turn makes progress until campaign_over. It tells what happens through its events and
 * prints nothing. campaign_free may come at any time: what runs is killed and stays to be done. */
#ifndef HOTCELL_CAMPAIGN_CAMPAIGN_H
#define HOTCELL_CAMPAIGN_CAMPAIGN_H

#include "base/loop.h"
#include "campaign/alert.h"
#include "campaign/status.h"
#include "cell/cell.h"
#include "door/policy/policy.h"
#include "redact/redact.h"

struct campaign;

struct campaign_events {
	/* The cell lives until after `ended`. */
	void (*started)(void *data, const char *session, const struct run_record *run, struct cell *cell);
	/* In a final state, or to be done again. cell may be NULL: it could not be made. */
	void (*ended)(void *data, const char *session, const struct run_record *run, struct cell *cell);
	void (*alert)(void *data, const struct alert_rule *rule, double value);
	void (*said)(void *data, const char *text); /* a line for the user: paused, disk full, draining ... */
	void *data;
};

struct campaign_setup {
	const char *state; /* the state folder */
	const char *name;
	const char *backend;
	const struct cell_spec *spec; /* of every run; its environment is added to */
	unsigned workers; /* 0: as many as the ledger says */
	int stdin_fd; /* the same for each run, from its beginning; -1: nothing */
	struct alerts alerts;
	/* What leads out of its cells, which the spec shows them; with credentials. NULL: nothing. It must live on, and its
	 * budget changes when the user raises it. */
	struct door_policy *policy;
	bool stop_on_budget; /* when the budget is used up it ends, resumable, instead of waiting for a larger one */
	const struct redactor *redactor; /* knows what must not be written or said; NULL: nothing. It must live on */
	int replay; /* the folder of sessions whose recordings answer at secret doors; -1: none */
};

MUST_CHECK struct campaign *campaign_open(struct loop *loop, const struct campaign_setup *setup,
	const struct campaign_events *events, struct err *err);
struct campaign *campaign_free(struct campaign *campaign); /* NULL is fine; returns NULL */

bool campaign_over(const struct campaign *campaign); /* nothing runs, nothing more will, all is written */
void campaign_drain(struct campaign *campaign); /* starts no more; over when what runs has ended */
void campaign_cancel(struct campaign *campaign); /* ends what runs, too; it stays to be done */
bool campaign_stopped_by_budget(const struct campaign *campaign);
void campaign_pause(struct campaign *campaign, bool paused);
bool campaign_has_doors(const struct campaign *campaign);
void campaign_doors(const struct campaign *campaign, struct json *json); /* for `hotcell doors`: one object */
/* For those who bring programs into its cells: what is to be in the audit log. A program that cannot be there must not begin. */
MUST_CHECK int campaign_exec_begins(struct campaign *campaign, const char *cell, int asker, const char *const *argv,
	struct err *err);
void campaign_exec_ended(struct campaign *campaign, const char *cell, int wait_status, const struct err *err);
const struct campaign_record *campaign_record(const struct campaign *campaign);
uint64_t campaign_alerts(const struct campaign *campaign); /* how often one began to fire */
/* As of now; the strings are the campaign's. Ask status_derive not again. */
const struct campaign_status *campaign_status(struct campaign *campaign);
/* As view_look wants it: one byte a run, or where there are more than 4096, one for each 4096th part. */
const uint8_t *campaign_grid(const struct campaign *campaign, size_t *ret_count);

#endif
