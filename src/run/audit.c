#include "run/audit.h"

#include <stdio.h>

#include "base/clock.h"
#include "run/cell_audit.h"
#include "run/secrets.h"
#include "project/state.h"

#define WAIT_NS (NS_PER_S / 10) /* of verdicts: there may be thousands in a second */

int run_audit_open(struct run_audit *ret, const char *path, const char *backend, const struct cell_spec *spec,
	const struct door_policy *policy, struct err *err)
{
	if (!path)
		return 0;
	ret->profile = spec->profile;
	ret->redactor = secrets_redactor(&(struct secrets){.env = spec->env, .policy = policy}, true);
	ret->audit = audit_open(path, ret->redactor, err);
	if (!ret->audit)
		return err_wrap(err, "the audit log");
	ret->spec = spec;
	cell_audit_policy(ret->audit, backend, spec, policy);
	return audit_flush(ret->audit, err);
}

char *run_audit_project(struct err *err)
{
	own(freep) char *state = state_is_none(NULL) ? NULL : state_folder(NULL, false, err);

	return state ? state_audit(state) : NULL;
}

void run_audit_done(struct run_audit *audit)
{
	audit->timer = loop_remove(audit->timer);
	door_audit_done(&audit->verdicts);
	audit->audit = audit_free(audit->audit);
	audit->redactor = redactor_free(audit->redactor);
}

int run_audit_start(struct run_audit *audit, const char *cell, struct err *err)
{
	if (!audit->audit)
		return 0;
	(void)snprintf(audit->cell, sizeof(audit->cell), "%s", cell);
	json_put_string(audit_begin(audit->audit, "cell-start"), "cell", cell);
	if (audit->profile)
		audit_text(audit->audit, "profile", audit->profile);
	audit_end(audit->audit);
	return audit_flush(audit->audit, err);
}

static void on_timer(void *data)
{
	struct run_audit *audit = data;
	struct err err = {0};

	audit->timer = loop_remove(audit->timer);
	(void)!audit_flush(audit->audit, &err);
}

void run_audit_verdict(struct run_audit *audit, const struct doors_verdict *verdict)
{
	if (!audit->audit)
		return;
	door_audit_add(&audit->verdicts, audit->audit, &(struct door_audit_run){.cell = audit->cell}, verdict);
	if (audit->loop && !audit->timer && !audit_clean(audit->audit))
		audit->timer = loop_add_timer(audit->loop, clock_now() + WAIT_NS, on_timer, audit);
}

int run_audit_end(struct run_audit *audit, const struct cell_result *result, const struct door_totals *network,
	struct err *err)
{
	if (!audit->audit)
		return 0;
	if (network)
		door_audit_end(&audit->verdicts, audit->audit, &(struct door_audit_run){.cell = audit->cell}, network);
	struct json *json = audit_begin(audit->audit, "cell-end");
	if (audit->cell[0])
		json_put_string(json, "cell", audit->cell);
	cell_audit_result(audit->audit, json, result, network);
	audit_end(audit->audit);
	cell_audit_required(audit->audit, audit->spec, result);
	return audit_flush(audit->audit, err);
}

int run_audit_exec(struct run_audit *audit, int asker, const char *const *argv, struct err *err)
{
	if (!audit->audit)
		return 0;
	cell_audit_exec(audit->audit, NULL, audit->cell, asker, argv);
	return audit_flush(audit->audit, err);
}

int run_audit_exec_end(struct run_audit *audit, int wait_status, const struct err *how, struct err *err)
{
	if (!audit->audit)
		return 0;
	cell_audit_exec_end(audit->audit, NULL, audit->cell, wait_status, how);
	return audit_flush(audit->audit, err);
}
