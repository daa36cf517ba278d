/* What `run --audit FILE` writes: what was decided, the beginning and the end of the cell, and each verdict of its doors.
 * Without a file everything here does nothing. */
#ifndef HOTCELL_RUN_AUDIT_H
#define HOTCELL_RUN_AUDIT_H

#include "audit/audit.h"
#include "base/loop.h"
#include "run/door_audit.h"
#include "cell/cell.h"
#include "door/policy/policy.h"

struct run_audit { /* zero: none */
	struct audit *audit;
	struct redactor *redactor;
	const struct cell_spec *spec;
	const char *profile; /* of the spec, which outlives it; NULL: none */
	char cell[32]; /* its id; "": it has not begun */
	struct loop *loop; /* NULL: verdicts wait for what is written next */
	struct loop_source *timer; /* they wait */
	struct door_audit verdicts;
};

/* `path` NULL: none. Writes what was decided: a log that cannot be written fails before anything runs. */
MUST_CHECK int run_audit_open(struct run_audit *ret, const char *path, const char *backend, const struct cell_spec *spec,
	const struct door_policy *policy, struct err *err);
/* The log of the project that we are in, for what must leave a trace though no --audit was given; NULL: there is none, and
 * err says why where it cannot be used. The caller frees. */
char *run_audit_project(struct err *err);
void run_audit_done(struct run_audit *audit);
MUST_CHECK int run_audit_start(struct run_audit *audit, const char *cell, struct err *err);
/* `network`: NULL without doors. */
MUST_CHECK int run_audit_end(struct run_audit *audit, const struct cell_result *result, const struct door_totals *network,
	struct err *err);
/* Written within a tenth of a second; one that cannot be is tried again with what comes next. */
void run_audit_verdict(struct run_audit *audit, const struct doors_verdict *verdict);
/* A program that `hotcell exec` brings into the cell. */
MUST_CHECK int run_audit_exec(struct run_audit *audit, int asker, const char *const *argv, struct err *err);
MUST_CHECK int run_audit_exec_end(struct run_audit *audit, int wait_status, const struct err *how, struct err *err);

#endif
