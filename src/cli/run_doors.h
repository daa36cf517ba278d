/* The doors of a single run: its policy, its files, the process that serves them, and what came of it.
 *
 * Life: run_doors_build, run_doors_files, run_doors_open when the pool is there, then as doors.h says for its `run`.
 * Without a door in the options everything here does nothing. */
#ifndef HOTCELL_CLI_RUN_DOORS_H
#define HOTCELL_CLI_RUN_DOORS_H

#include "run/audit.h"
#include "cli/run_spec.h"
#include "door/doors.h"

struct run_doors {
	struct door_policy policy;
	struct doors *doors;
	struct doors_run *run; /* NULL: none, or closed */
	int log, record, replay, output; /* -1: none */
	char *spent; /* that the budget is used up, in a sentence; NULL: it is not */
	struct door_totals totals; /* when it is over */
	struct run_audit *audit; /* where each verdict goes; NULL: nowhere but to the log */
	bool quiet;
};
#define RUN_DOORS_NONE { .log = -1, .record = -1, .replay = -1, .output = -1 }

bool run_doors_any(const struct run_doors *doors);
/* Makes the policy and shows it to the cell; with `load`, takes the credentials from our environment. */
MUST_CHECK int run_doors_build(struct run_doors *doors, const struct run_options *options, const char *backend,
	struct run_spec *built, bool load, struct err *err);
/* network.jsonl and exchanges.jsonl go to the folder of --output; so it is opened here instead of by the cell. */
MUST_CHECK int run_doors_files(struct run_doors *doors, const struct run_options *options, struct cell_spec *spec,
	struct err *err);
MUST_CHECK int run_doors_open(struct run_doors *doors, struct loop *loop, struct err *err);
void run_doors_done(struct run_doors *doors);

/* "network": {...} in the result */
void run_doors_json(const struct run_doors *doors, struct json *json);
/* What it would be told about doors with --verbose, or else if there is something to tell. False: nothing. */
bool run_doors_verdict(const struct run_doors *doors, bool verbose, struct buf *ret);
void run_doors_list(const struct run_doors *doors, struct json *json); /* for `hotcell doors`: one object */

#endif
