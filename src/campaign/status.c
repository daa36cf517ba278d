#include "campaign/status.h"

#include <string.h>

#include "door/policy/totals.h"

#define FRESH_MS 10000 /* a supervisor heartbeats every second, but a machine under load may be late */
#define RATE_SECONDS 60
#define RATE_ENDS 5 /* fewer say nothing about a rate */

/* ---- what follows from it ---- */

bool status_fresh(const struct campaign_status *status)
{
	/* A clock that was set back makes a heartbeat of the future; it is as good as new. */
	return status->held && status->live.at_ms != 0 &&
		status->now_ms < status->live.at_ms + FRESH_MS;
}

const char *status_word(const struct campaign_status *status)
{
	enum campaign_state state = status->campaign.state;

	if (!status->held && (state == CAMPAIGN_RUNNING || state == CAMPAIGN_PAUSED))
		return "interrupted";
	return campaign_state_names[state];
}

uint64_t status_lived(const struct campaign_sums *sums)
{
	uint64_t failed = sums->outcome[CELL_SETUP_FAILED];

	return sums->cells > failed ? sums->cells - failed : 0;
}

static uint64_t ends_within(const struct ledger_live *live, unsigned seconds)
{
	uint64_t ends = 0;

	for (size_t i = LEDGER_HEARTBEATS - seconds; i < LEDGER_HEARTBEATS; i++)
		ends += live->done[i];
	return ends;
}

static double overall_rate(const struct campaign_status *status)
{
	uint64_t active_ms = status->campaign.active_ms;

	return active_ms > 0 ? (double)status->complete * 1000 / (double)active_ms : 0;
}

/* Long runs end seldom: then the whole time it has been going tells more than a minute does. */
static double current_rate(const struct campaign_status *status)
{
	static const unsigned windows[] = {RATE_SECONDS, LEDGER_HEARTBEATS};
	double active_s = (double)status->campaign.active_ms / 1000;

	for (size_t i = 0; i < ARRAY_LEN(windows) && status_fresh(status); i++) {
		uint64_t ends = ends_within(&status->live, windows[i]);
		double seconds = active_s >= 1 && active_s < windows[i] ? active_s : windows[i];
		if (ends >= RATE_ENDS)
			return (double)ends / seconds;
	}
	return overall_rate(status);
}

static uint64_t busy_workers(const struct ledger_live *live)
{
	uint64_t busy = 0;

	for (size_t i = 0; i < live->worker_count; i++)
		busy += live->workers[i].number != 0;
	return busy;
}

void status_derive(struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;
	const uint64_t *ended = campaign->sums.state;
	bool going = status->held && campaign->state == CAMPAIGN_RUNNING;

	status->failed = ended[RUN_ERROR] + ended[RUN_TIMEOUT];
	status->complete = ended[RUN_SUCCESS] + status->failed;
	status->left =
		campaign->plan.runs > status->complete ? campaign->plan.runs - status->complete : 0;
	status->running = status->held ? busy_workers(&status->live) : 0;
	status->rate = current_rate(status);
	status->eta_ms = 0;
	if (going && status->left > 0 && status->rate > 0) {
		double eta = (double)status->left / status->rate * 1000;
		status->eta_ms = eta >= 1e18 ? 0 : eta < 1 ? 1 : (uint64_t)eta;
	}
}

/* ---- JSON ---- */

static void put_words(struct json *json, const char *key, const char *words, size_t len)
{
	json_key(json, key);
	json_open(json, '[');
	for (size_t at = 0; words && at < len;) {
		size_t word = strnlen(words + at, len - at);
		json_bytes(json, words + at, word);
		at += word + 1;
	}
	json_close(json, ']');
}

/* 0 stands for what is not known, or has not happened. */
static void put_known(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	if (value > 0)
		json_uint(json, value);
	else
		json_null(json);
}

static void put_campaign(struct json *json, const struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;

	json_put_string(json, "name", campaign->name);
	json_put_string(json, "uuid", campaign->uuid);
	json_put_string(json, "state", status_word(status));
	json_put_string(json, "note", campaign->note ? campaign->note : "");
	json_put_bool(json, "held", status->held);
	put_known(json, "holder_pid",
		status->held && campaign->holder > 0 ? (uint64_t)campaign->holder : 0);
	json_put_string(json, "output", campaign->output);
	json_put_string(json, "cwd", campaign->cwd);
	size_t shown_len;
	const char *shown = campaign_record_shown(campaign, &shown_len);
	put_words(json, "command", shown, shown_len);
	put_words(json, "env_names", campaign->env_names, campaign->env_names_len);
	json_put_uint(json, "now_ms", status->now_ms);
	json_put_uint(json, "created_ms", campaign->created_ms);
	json_put_uint(json, "updated_ms", campaign->updated_ms);
	put_known(json, "ended_ms", campaign->ended_ms);
	json_put_uint(json, "active_ms", campaign->active_ms);
	json_put_uint(json, "next", campaign->next);
	json_put_string(json, "budget", campaign->budget && campaign->budget[0] ? campaign->budget : NULL);
}

static void put_plan(struct json *json, const struct campaign_record *campaign)
{
	const struct campaign_plan *plan = &campaign->plan;

	json_key(json, "plan");
	json_open(json, '{');
	json_put_uint(json, "runs", plan->runs);
	json_put_uint(json, "workers", plan->workers);
	json_put_uint(json, "retries", plan->retries);
	json_put_uint(json, "seed", plan->seed);
	put_known(json, "rate_per_minute", plan->rate);
	put_known(json, "stop_after_failures", plan->stop_after_failures);
	json_close(json, '}');
	json_key(json, "limits");
	json_open(json, '{');
	put_known(json, "memory_bytes", campaign->memory_limit);
	put_known(json, "timeout_ms", campaign->timeout_ms);
	json_close(json, '}');
}

static void put_derived(struct json *json, const struct campaign_status *status)
{
	json_key(json, "derived");
	json_open(json, '{');
	json_put_uint(json, "complete", status->complete);
	json_put_uint(json, "failed", status->failed);
	json_put_uint(json, "left", status->left);
	json_put_uint(json, "running", status->running);
	json_put_real(json, "rate_per_s", status->rate, 4);
	put_known(json, "eta_ms", status->eta_ms);
	json_close(json, '}');
}

static void put_sums(struct json *json, const struct campaign_sums *sums)
{
	json_key(json, "sums");
	json_open(json, '{');
	json_key(json, "states");
	json_open(json, '{');
	for (int state = RUN_SUCCESS; state < RUN_STATE_COUNT; state++)
		json_put_uint(json, run_state_names[state], sums->state[state]);
	json_close(json, '}');
	json_key(json, "outcomes");
	json_open(json, '{');
	for (int outcome = 0; outcome < CELL_OUTCOME_COUNT; outcome++)
		json_put_uint(json, cell_outcome_name((enum cell_outcome)outcome),
			sums->outcome[outcome]);
	json_close(json, '}');
	json_put_uint(json, "cells", sums->cells);
	json_put_uint(json, "cell_failures", sums->cell_failures);
	json_put_uint(json, "cleanup_failures", sums->cleanup_failures);
	json_put_uint(json, "orphans", sums->orphans);
	json_put_uint(json, "retried", sums->retried);
	json_put_uint(json, "cancelled", sums->cancelled);
	json_put_uint(json, "oom_kills", sums->oom_kills);
	json_put_uint(json, "weaker", sums->weaker);
	json_put_uint(json, "wall_ns", sums->wall_ns);
	uint64_t lived = status_lived(sums);
	put_known(json, "mean_wall_ns", lived > 0 ? sums->wall_ns / lived : 0);
	json_put_uint(json, "user_us", sums->user_us);
	json_put_uint(json, "system_us", sums->system_us);
	json_put_uint(json, "written_bytes", sums->written_bytes);
	json_put_uint(json, "peak_memory_sum_bytes", sums->peak_sum);
	json_put_uint(json, "peak_memory_max_bytes", sums->peak_max);
	json_key(json, "network");
	json_open(json, '{');
	network_json(&sums->network, json);
	json_close(json, '}');
	json_close(json, '}');
}

static void put_worker(
	struct json *json, const struct campaign_status *status, const struct ledger_worker *worker)
{
	char session[24];
	bool busy = worker->number != 0;
	uint64_t since_ms = busy ? worker->since_ms : 0;

	json_open(json, '{');
	json_put_uint(json, "worker", worker->worker);
	put_known(json, "run", worker->number);
	json_put_string(json, "session",
		!busy ? NULL
		      : plan_session_name(status->campaign.plan.runs, worker->number, session,
				sizeof(session)));
	put_known(json, "since_ms", since_ms);
	put_known(json, "running_ms",
		since_ms > 0 && status->now_ms > since_ms ? status->now_ms - since_ms : 0);
	json_put_uint(json, "memory_bytes", worker->memory);
	json_close(json, '}');
}

static void put_live(struct json *json, const struct campaign_status *status)
{
	const struct ledger_live *live = &status->live;

	json_key(json, "live");
	if (!status->held || live->at_ms == 0) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_uint(json, "at_ms", live->at_ms);
	json_put_uint(json, "memory_bytes", live->memory);
	json_put_uint(json, "cpu_milli", live->cpu_milli);
	json_key(json, "done_per_s");
	json_open(json, '[');
	for (size_t i = 0; i < LEDGER_HEARTBEATS; i++)
		json_uint(json, live->done[i]);
	json_close(json, ']');
	json_key(json, "workers");
	json_open(json, '[');
	for (size_t i = 0; i < live->worker_count; i++)
		put_worker(json, status, &live->workers[i]);
	json_close(json, ']');
	json_close(json, '}');
}

static void put_alerts(struct json *json, const struct campaign_status *status)
{
	const char *at = status->held && status->live.alerts ? status->live.alerts : "";

	json_key(json, "alerts");
	json_open(json, '[');
	while (*at) {
		size_t len = strcspn(at, ",");
		if (len > 0)
			json_bytes(json, at, len);
		at += len + (at[len] == ',');
	}
	json_close(json, ']');
}

void status_members(const struct campaign_status *status, struct json *json)
{
	put_campaign(json, status);
	put_plan(json, &status->campaign);
	put_derived(json, status);
	put_sums(json, &status->campaign.sums);
	put_live(json, status);
	put_alerts(json, status);
}

void status_json(const struct campaign_status *status, struct json *json)
{
	json_open(json, '{');
	status_members(status, json);
	json_close(json, '}');
}
