/* Cells in the audit log, as `run` and campaigns write them. */
#ifndef HOTCELL_CAMPAIGN_CELL_AUDIT_H
#define HOTCELL_CAMPAIGN_CELL_AUDIT_H

#include "audit/audit.h"
#include "cell/cell.h"
#include "door/policy.h"

/* What was decided: the backend, limits, mounts, names of variables, doors; and "unsafe-mode" where there is no sandbox.
 * `policy` may be NULL. */
void cell_audit_policy(struct audit *audit, const char *backend, const struct cell_spec *spec,
	const struct door_policy *policy);
/* Members of "cell-end". `network`: NULL without doors. */
void cell_audit_result(struct audit *audit, struct json *json, const struct cell_result *result,
	const struct door_totals *network);

#endif
