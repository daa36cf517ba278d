/* Cells in the audit log, as `run` and campaigns write them. */
#ifndef HOTCELL_RUN_CELL_AUDIT_H
#define HOTCELL_RUN_CELL_AUDIT_H

#include "audit/audit.h"
#include "cell/cell.h"
#include "door/policy/policy.h"

/* What was decided: the backend, limits, mounts, names of variables, doors; and "unsafe-mode" where there is no sandbox.
 * `policy` may be NULL. */
void cell_audit_policy(struct audit *audit, const char *backend, const struct cell_spec *spec,
	const struct door_policy *policy);
/* Members of "cell-end". `network`: NULL without doors. */
void cell_audit_result(struct audit *audit, struct json *json, const struct cell_result *result,
	const struct door_totals *network);
/* A program that was brought into a cell by `hotcell exec`. `campaign`: NULL for none. `asker`: who asked, a pid; 0 if that is
 * not known. `err`: NULL when it ran. */
void cell_audit_exec(struct audit *audit, const char *campaign, const char *cell, int asker, const char *const *argv);
void cell_audit_exec_end(struct audit *audit, const char *campaign, const char *cell, int wait_status, const struct err *err);

/* Something was not even begun, as `rule` ("manifest", "require") forbids it. */
void cell_audit_refused(struct audit *audit, const char *rule, const char *text);
/* The same, if that is what the result says. */
void cell_audit_required(struct audit *audit, const struct cell_spec *spec, const struct cell_result *result);
/* Opens the log, writes that one line and closes it. */
MUST_CHECK int cell_audit_refusal(const char *path, const struct redactor *redactor, const char *rule, const char *text,
	struct err *err);

#endif
