#include "run/door_audit.h"

#include <stdlib.h>
#include <string.h>

struct door_audit_kind {
	enum doors_judged judged;
	unsigned port;
	char *door, *name, *reason;
	uint64_t count;
};

/* ---- one event ---- */

static struct json *begin(struct audit *audit, const char *event, const struct door_audit_run *of)
{
	struct json *json = audit_begin(audit, event);

	if (of->campaign) {
		json_put_string(json, "campaign", of->campaign);
		json_put_uint(json, "run", of->run);
	}
	if (of->cell && of->cell[0])
		json_put_string(json, "cell", of->cell);
	return json;
}

static void put_text(struct audit *audit, const char *key, const char *text)
{
	if (text[0])
		audit_text(audit, key, text);
}

static void put_verdict(struct audit *audit, struct json *json, const struct doors_verdict *verdict)
{
	json_put_string(json, "verdict", doors_judged_names[verdict->judged]);
	audit_text(audit, "door", verdict->door);
	put_text(audit, "name", verdict->name);
	json_put_uint(json, "port", verdict->port);
	put_text(audit, "reason", verdict->reason);
	put_text(audit, "rule", verdict->rule);
	put_text(audit, "request", verdict->request);
}

/* ---- too many ---- */

static bool is_same(const struct door_audit_kind *kind, const struct doors_verdict *verdict)
{
	return kind->judged == verdict->judged && kind->port == verdict->port && strcmp(kind->door, verdict->door) == 0 &&
		strcmp(kind->name, verdict->name) == 0 && strcmp(kind->reason, verdict->reason) == 0;
}

static void leave_out(struct door_audit *doors, const struct doors_verdict *verdict)
{
	for (size_t i = 0; i < doors->kind_count; i++)
		if (is_same(&doors->kinds[i], verdict)) {
			doors->kinds[i].count++;
			return;
		}
	if (doors->kind_count == DOOR_AUDIT_KINDS) {
		doors->others++;
		return;
	}
	if (!doors->kinds)
		doors->kinds = xcalloc(DOOR_AUDIT_KINDS, sizeof(*doors->kinds));
	doors->kinds[doors->kind_count++] = (struct door_audit_kind){.judged = verdict->judged, .port = verdict->port,
		.door = xstrdup(verdict->door), .name = xstrdup(verdict->name), .reason = xstrdup(verdict->reason), .count = 1};
}

static void tell_left_out(struct audit *audit, const struct door_audit_run *of, uint64_t count, const char *reason)
{
	if (count == 0)
		return;
	json_put_uint(begin(audit, "door-left-out", of), "count", count);
	audit_text(audit, "reason", reason);
	audit_end(audit);
}

/* ---- a run's ---- */

void door_audit_add(struct door_audit *doors, struct audit *audit, const struct door_audit_run *of,
	const struct doors_verdict *verdict)
{
	doors->heard += verdict->judged != DOORS_CUT;
	if (doors->lines >= DOOR_AUDIT_LINES) {
		leave_out(doors, verdict);
		return;
	}
	doors->lines++;
	put_verdict(audit, begin(audit, "door", of), verdict);
	audit_end(audit);
}

void door_audit_end(struct door_audit *doors, struct audit *audit, const struct door_audit_run *of,
	const struct door_totals *totals)
{
	const uint64_t *count = totals->count;
	uint64_t judged = count[COUNT_CONNECTIONS] + count[COUNT_REFUSED] + count[COUNT_FAILED];

	for (size_t i = 0; i < doors->kind_count; i++) {
		const struct door_audit_kind *kind = &doors->kinds[i];
		struct json *json = begin(audit, "door-left-out", of);
		json_put_uint(json, "count", kind->count);
		put_verdict(audit, json, &(struct doors_verdict){.judged = kind->judged, .port = kind->port,
			.door = kind->door, .name = kind->name, .reason = kind->reason, .rule = "", .request = ""});
		audit_end(audit);
	}
	tell_left_out(audit, of, doors->others, "too many of too many sorts");
	tell_left_out(audit, of, judged > doors->heard ? judged - doors->heard : 0,
		"not told: the process that serves doors ended, or this one stood still");
	door_audit_done(doors);
}

void door_audit_done(struct door_audit *doors)
{
	for (size_t i = 0; i < doors->kind_count; i++) {
		free(doors->kinds[i].door);
		free(doors->kinds[i].name);
		free(doors->kinds[i].reason);
	}
	free(doors->kinds);
	*doors = (struct door_audit){0};
}
