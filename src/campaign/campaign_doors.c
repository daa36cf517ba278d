/* The doors of a campaign: one process serves those of all its runs, and counts against the budget of all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "door/policy/totals.h"
#include "campaign/work.h"

#define DIGITS_MAX 10 /* of a session's name: see plan_digits */

/* ---- budgets ---- */

/* It goes on, and its doors answer that there is no more. */
static void run_spent(struct campaign *campaign, uint64_t number, const char *sentence)
{
	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++) {
		struct worker *worker = &campaign->workers[i];
		if (!worker->busy || worker->over || worker->spent != NULL || (number != 0 && worker->run.number != number))
			continue;
		worker->spent = xstrdup(sentence);
		if (number != 0)
			batch_note(campaign, "budget", number, "%s", sentence);
	}
}

static void all_spent(struct campaign *campaign, const char *sentence)
{
	struct campaign_record *record = &campaign->status.campaign;

	run_spent(campaign, 0, sentence);
	if (campaign->spent != NULL)
		return;
	campaign->spent = xstrdup(sentence);
	batch_note(campaign, "budget", 0, "%s", sentence);
	if (!campaign->sched.draining) {
		free(record->note);
		record->note = xstrdup(sentence);
	}
	if (campaign->stop_on_budget && !campaign->sched.draining) {
		campaign->out_of_budget = campaign->sched.draining = true;
		batch_note(campaign, "draining", 0, "%u runs are going", campaign->sched.running);
		campaign_tend_soon(campaign);
	} else {
		campaign_pause(campaign, true);
	}
	campaign_say(campaign, "%s; 'hotcell campaign resume %s --budget LIST' raises it%s", sentence, record->name,
		campaign->out_of_budget ? " and goes on; ending when what runs has ended" : "");
}

bool campaign_stopped_by_budget(const struct campaign *campaign)
{
	return campaign->out_of_budget && campaign->status.campaign.state == CAMPAIGN_STOPPED;
}

/* A request that asked for too much is its own affair, as long as others may fit. */
static void on_spent(void *data, uint64_t run, const char *sentence, bool over)
{
	if (run == 0 && !over)
		batch_note(data, "budget", 0, "%s", sentence);
	else if (run == 0)
		all_spent(data, sentence);
	else
		run_spent(data, run, sentence);
}

static void on_said(void *data, const char *text)
{
	struct campaign *campaign = data;

	batch_note(campaign, "doors", 0, "%s", text);
	campaign_say(campaign, "%s", text);
}

/* The budget as whoever resumes it has left it in the ledger. */
static void take_budget(struct campaign *campaign)
{
	struct campaign_record *record = &campaign->status.campaign;
	own(campaign_record_done) struct campaign_record now = { 0 };
	struct door_budget budget = { 0 };
	struct err err;

	if (ledger_campaign_get(campaign->ledger, record->name, &now, &err) < 0) {
		campaign_say(campaign, "%s", err.text);
		return;
	}
	if (now.budget[0] != '\0' && budget_parse(&budget, now.budget, "the budget", &err) < 0) {
		campaign_say(campaign, "%s", err.text);
		return;
	}
	/* What is in force decides, not the text: one that was raised while we began is in our record, and not in force. */
	if (memcmp(&budget, &campaign->policy->budget, sizeof(budget)) == 0)
		return;
	free(record->budget);
	record->budget = ptr_take(&now.budget);
	campaign->policy->budget = budget;
	doors_renew(campaign->doors);
	batch_note(campaign, "budget", 0, "it is %s now", record->budget);
}

bool campaign_may_go_on(struct campaign *campaign)
{
	own(buf_done) struct buf sentence = { 0 };
	struct door_totals totals;

	if (campaign->doors == NULL)
		return true;
	take_budget(campaign);
	doors_totals(campaign->doors, &totals);
	enum budget_kind kind = budget_reached(&campaign->policy->budget, &totals);
	if (kind != BUDGET_KINDS) {
		budget_sentence(&campaign->policy->budget, &totals, kind, &sentence);
		campaign_say(campaign, "still paused: %s", buf_text(&sentence));
		return false;
	}
	if (campaign->spent != NULL)
		doors_renew(campaign->doors); /* when it is too little again, that is told again */
	free(campaign->spent);
	campaign->spent = NULL;
	return true;
}

static void on_verdict(void *data, uint64_t run, const struct doors_verdict *verdict)
{
	struct campaign *campaign = data;

	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++) {
		struct worker *worker = &campaign->workers[i];
		if (worker->busy && !worker->over && worker->run.number == run)
			worker_audit_verdict(worker, verdict);
	}
}

/* ---- a run's ---- */

/* As the campaign that was recorded called it: it may have had more runs, or fewer, and so other digits. */
static int recording_open(int sessions, uint64_t number)
{
	for (int digits = 3; digits <= DIGITS_MAX; digits++) {
		char name[64];
		(void)snprintf(name, sizeof(name), "%0*llu/" NETWORK_EXCHANGES, digits, (unsigned long long)number);
		int file = beneath_try(sessions, name, O_RDONLY, 0);
		if (file >= 0)
			return file;
	}
	return -1; /* then its secret doors have no answer, and say so */
}

int worker_open_doors(struct worker *worker, uint64_t number, struct err *err)
{
	struct campaign *campaign = worker->campaign;

	if (campaign->doors == NULL)
		return 0;
	own(fd_closep) int log = session_log(&worker->session, NETWORK_LOG, err), record = -1, replay = -1;
	if (log < 0)
		return -1;
	if (campaign->policy->record && (record = session_log(&worker->session, NETWORK_EXCHANGES, err)) < 0)
		return -1;
	if (campaign->replay >= 0)
		replay = recording_open(campaign->replay, number);
	worker->doors = doors_run_open(campaign->doors, number, &worker->before, log, record, replay);
	return 0;
}

/* ---- all of them ---- */

int campaign_open_doors(struct campaign *campaign, const struct campaign_setup *setup, struct err *err)
{
	const struct doors_events events = { .spent = on_spent, .said = on_said, .verdict = on_verdict,
		.data = campaign };

	if (setup->policy == NULL)
		return 0;
	campaign->policy = setup->policy;
	campaign->replay = setup->replay;
	campaign->doors = doors_open(campaign->loop, setup->policy, &campaign->status.campaign.sums.network, &events, err);
	return campaign->doors == NULL ? -1 : 0;
}

void campaign_close_doors(struct campaign *campaign)
{
	campaign->doors = doors_free(campaign->doors);
	free(campaign->spent);
	campaign->spent = NULL;
}

/* Runs that are going count too: should we be killed, what they have used is not forgotten. */
void campaign_count_doors(struct campaign *campaign)
{
	struct campaign_sums *sums = &campaign->status.campaign.sums;
	struct door_totals totals;

	if (campaign->doors == NULL)
		return;
	doors_totals(campaign->doors, &totals);
	if (memcmp(&totals, &sums->network, sizeof(totals)) == 0)
		return;
	sums->network = totals;
	campaign->dirty = true;
}

bool campaign_has_doors(const struct campaign *campaign)
{
	return campaign->doors != NULL;
}

void campaign_doors(const struct campaign *campaign, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "campaign", campaign->status.campaign.name);
	json_put_string(json, "budget", campaign->spent);
	json_key(json, "network");
	doors_list(campaign->doors, json);
	json_close(json, '}');
}
