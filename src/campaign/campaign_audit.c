/* What a campaign writes to the audit log, which is beside the ledger. It goes with the batches: see batch.c. */
#include <errno.h>

#include "run/cell_audit.h"
#include "run/secrets.h"
#include "project/state.h"
#include "campaign/work.h"

int campaign_open_audit(struct campaign *campaign, const struct campaign_setup *setup, struct err *err)
{
	own(freep) char *path = state_audit(setup->state);

	const struct secrets secrets = {.env = setup->spec->env, .policy = setup->policy};

	campaign->audit_redactor = secrets_redactor(&secrets, true);
	campaign->audit = audit_open(path, campaign->audit_redactor, err);
	return campaign->audit ? 0 : -1;
}

void campaign_close_audit(struct campaign *campaign)
{
	campaign->audit = audit_free(campaign->audit);
	campaign->audit_redactor = redactor_free(campaign->audit_redactor);
}

static struct json *begin(struct campaign *campaign, const char *event)
{
	struct json *json = audit_begin(campaign->audit, event);

	json_put_string(json, "campaign", campaign->status.campaign.name);
	return json;
}

void campaign_audit_note(struct campaign *campaign, const char *kind, const char *text)
{
	own(freep) char *event = xfmt("campaign-%s", kind);

	(void)begin(campaign, event);
	audit_text(campaign->audit, "text", text);
	audit_end(campaign->audit);
}

void campaign_audit_begin(struct campaign *campaign)
{
	const struct campaign_record *record = &campaign->status.campaign;
	struct json *json = begin(campaign, "campaign-plan");

	json_put_string(json, "uuid", record->uuid);
	json_put_uint(json, "runs", record->plan.runs);
	json_put_uint(json, "workers", record->plan.workers);
	json_put_uint(json, "seed", record->plan.seed);
	json_put_uint(json, "begun", record->next - 1);
	audit_end(campaign->audit);
	cell_audit_policy(campaign->audit, campaign->backend, &campaign->spec, campaign->policy);
}

static void put_run(const struct worker *worker, struct json *json)
{
	json_put_uint(json, "run", worker->run.number);
	json_put_uint(json, "worker", worker->index);
	if (worker->run.cell)
		json_put_string(json, "cell", worker->run.cell);
}

void worker_audit_start(struct worker *worker)
{
	struct json *json = begin(worker->campaign, "cell-start");

	put_run(worker, json);
	json_put_uint(json, "attempt", worker->run.attempt);
	json_put_uint(json, "seed", worker->run.seed);
	if (worker->campaign->spec.profile)
		audit_text(worker->campaign->audit, "profile", worker->campaign->spec.profile);
	audit_end(worker->campaign->audit);
}

static struct door_audit_run run_of(const struct worker *worker)
{
	return (struct door_audit_run){.campaign = worker->campaign->status.campaign.name, .run = worker->run.number,
		.cell = worker->run.cell};
}

void worker_audit_verdict(struct worker *worker, const struct doors_verdict *verdict)
{
	const struct door_audit_run of = run_of(worker);

	door_audit_add(&worker->verdicts, worker->campaign->audit, &of, verdict);
	if (!audit_clean(worker->campaign->audit))
		batch_soon(worker->campaign);
}

void worker_audit_end(struct worker *worker, const struct cell_result *result)
{
	struct campaign *campaign = worker->campaign;
	const struct door_audit_run of = run_of(worker);

	door_audit_end(&worker->verdicts, campaign->audit, &of, &worker->run.network);
	struct json *json = begin(campaign, "cell-end");

	put_run(worker, json);
	json_put_string(json, "state", run_state_names[worker->run.state]);
	cell_audit_result(campaign->audit, json, result, campaign->doors ? &worker->run.network : NULL);
	audit_end(campaign->audit);
	cell_audit_required(campaign->audit, &campaign->spec, result);
}

int campaign_exec_begins(struct campaign *campaign, const char *cell, int asker, const char *const *argv, struct err *err)
{
	if (campaign->blocked)
		return err_set(err, EAGAIN, "nothing is started for now: %s", campaign->blocked_said);
	cell_audit_exec(campaign->audit, campaign->status.campaign.name, cell, asker, argv);
	if (audit_flush(campaign->audit, err) == 0)
		return 0;
	campaign_block(campaign, err);
	return -1;
}

void campaign_exec_ended(struct campaign *campaign, const char *cell, int wait_status, const struct err *err)
{
	cell_audit_exec_end(campaign->audit, campaign->status.campaign.name, cell, wait_status, err);
	campaign->dirty = true; /* written with the next batch */
}
