/* Verdicts of doors in the audit log: an event "door" for each, as run and campaigns write them.
 *
 * A run may have DOOR_AUDIT_LINES of them: one that knocks a million times must not fill the disk. After that equal ones
 * are only counted, and at its end an event "door-left-out" says how often each was. */
#ifndef HOTCELL_RUN_DOOR_AUDIT_H
#define HOTCELL_RUN_DOOR_AUDIT_H

#include "audit/audit.h"
#include "door/doors.h"

#define DOOR_AUDIT_LINES 10000
#define DOOR_AUDIT_KINDS 64 /* sorts of verdicts that are counted one by one; all others together */

struct door_audit_kind;

struct door_audit { /* of one run; zero: nothing yet */
	uint64_t lines; /* written */
	uint64_t heard; /* that the totals count, too */
	struct door_audit_kind *kinds;
	size_t kind_count;
	uint64_t others;
};

struct door_audit_run { /* whose they are */
	const char *campaign; /* NULL: none */
	uint64_t run; /* of it */
	const char *cell; /* its id */
};

void door_audit_add(struct door_audit *doors, struct audit *audit, const struct door_audit_run *of,
	const struct doors_verdict *verdict);
/* The run is over: what was left out, and how many the doors counted that never came here (their process was killed, or
 * ours was stopped). */
void door_audit_end(struct door_audit *doors, struct audit *audit, const struct door_audit_run *of,
	const struct door_totals *totals);
void door_audit_done(struct door_audit *doors); /* as if new */

#endif
