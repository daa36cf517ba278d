/* The text format of Prometheus, version 0.0.4:
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * Each number comes twice: hotcell_X with a label for its campaign, and hotcell_all_X over all of
 * them. Not the same name with and without the label: a sum over that would count everything twice.
 */
#include "report/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct metric {
	const char *name, *type, *help;
	double (*value)(const struct campaign_status *status, unsigned i);
	/* Several samples, told apart by a label; or, for a summary, _sum and _count. */
	const char *label;
	const char *(*label_value)(unsigned i);
	unsigned count; /* 0: one, without a label */
	bool max; /* over all campaigns it is the largest, not the sum */
};

#define SUMS(status) (&(status)->campaign.sums)
#define GETTER(name, expression)                                                                   \
	static double get_##name(const struct campaign_status *status, unsigned i)                 \
	{                                                                                          \
		(void)i;                                                                           \
		return (double)(expression);                                                       \
	}

GETTER(up, status->held)
GETTER(state, status->campaign.state == (enum campaign_state)i)
GETTER(planned, status->campaign.plan.runs)
GETTER(workers, status->campaign.plan.workers)
GETTER(active, (double)status->campaign.active_ms / 1000)
GETTER(cells, SUMS(status)->cells)
GETTER(cell_failures, SUMS(status)->cell_failures)
GETTER(outcome, SUMS(status)->outcome[i])
GETTER(lifetime, i == 0 ? (double)SUMS(status)->wall_ns / 1e9 : (double)status_lived(SUMS(status)))
GETTER(cleanup_failures, SUMS(status)->cleanup_failures)
GETTER(orphans, SUMS(status)->orphans)
GETTER(oom_kills, SUMS(status)->oom_kills)
GETTER(weaker, SUMS(status)->weaker)
GETTER(retried, SUMS(status)->retried)
GETTER(cancelled, SUMS(status)->cancelled)
GETTER(cpu, (double)(i == 0 ? SUMS(status)->user_us : SUMS(status)->system_us) / 1e6)
GETTER(peak, i == 0 ? SUMS(status)->peak_sum : status_lived(SUMS(status)))
GETTER(peak_max, SUMS(status)->peak_max)
GETTER(written, SUMS(status)->written_bytes)
GETTER(door_connections, SUMS(status)->network.count[COUNT_CONNECTIONS])
GETTER(door_requests, SUMS(status)->network.count[COUNT_REQUESTS])
GETTER(door_refused, SUMS(status)->network.count[COUNT_REFUSED])
GETTER(door_failed, SUMS(status)->network.count[COUNT_FAILED])
GETTER(door_bytes, SUMS(status)->network.count[i == 0 ? COUNT_SENT : COUNT_RECEIVED])
GETTER(door_tokens, SUMS(status)->network.count[i == 0 ? COUNT_TOKENS_IN : COUNT_TOKENS_OUT])
GETTER(door_dollars, (double)SUMS(status)->network.count[COUNT_MICRODOLLARS] / 1e6)
GETTER(door_unpriced, SUMS(status)->network.count[COUNT_UNPRICED])
GETTER(memory_now, status_fresh(status) ? status->live.memory : 0)
GETTER(cpu_now, status_fresh(status) ? (double)status->live.cpu_milli / 1000 : 0)

enum { RUNS_QUEUED = RUN_STATE_COUNT, RUNS_KINDS };

/* What waits to be done again waits with the rest: every planned run is in exactly one of the
 * states. */
static double get_runs(const struct campaign_status *status, unsigned i)
{
	if (i == RUN_RUNNING)
		return (double)status->running;
	if (i == RUNS_QUEUED)
		return status->left > status->running ? (double)(status->left - status->running)
						      : 0;
	return (double)SUMS(status)->state[i];
}

static const char *runs_name(unsigned i)
{
	return i == RUNS_QUEUED ? "queued" : i == RUN_AGAIN ? NULL : run_state_names[i];
}

static const char *campaign_state_name(unsigned i)
{
	return campaign_state_names[i];
}

static const char *outcome_name(unsigned i)
{
	return cell_outcome_name((enum cell_outcome)i);
}

static const char *cpu_name(unsigned i)
{
	return i == 0 ? "user" : "system";
}

static const char *bytes_name(unsigned i)
{
	return i == 0 ? "sent" : "received";
}

static const char *tokens_name(unsigned i)
{
	return i == 0 ? "input" : "output";
}

static const struct metric metrics[] = {
	{"campaign_up", "gauge", "Whether a supervisor is at work on it.", get_up},
	{"campaign_state", "gauge", "1 for the state it is in.", get_state, "state",
		campaign_state_name, CAMPAIGN_STATE_COUNT},
	{"campaign_active_seconds_total", "counter", "Time a supervisor was at work on it.",
		get_active},
	{"runs_planned", "gauge", "Runs it is to have.", get_planned},
	{"runs", "gauge", "Planned runs by what has become of them.", get_runs, "state", runs_name,
		RUNS_KINDS},
	{"run_retries_total", "counter", "Further tries of runs that did not succeed.",
		get_retried},
	{"runs_cancelled_total", "counter", "Cells that we or the user ended.", get_cancelled},
	{"workers", "gauge", "Runs it may do at the same time.", get_workers},
	{"cells_total", "counter", "Cells that were tried, those of retries too.", get_cells},
	{"cell_failures_total", "counter", "Cells that could not be made, or were lost.",
		get_cell_failures},
	{"cell_outcomes_total", "counter", "Cells by how they ended.", get_outcome, "outcome",
		outcome_name, CELL_OUTCOME_COUNT},
	{"cell_lifetime_seconds", "summary", "Wall-clock time of cells.", get_lifetime, .count = 2},
	{"cell_cpu_seconds_total", "counter", "CPU time of cells.", get_cpu, "mode", cpu_name, 2},
	{"cell_memory_peak_bytes", "summary", "The most memory each cell had.", get_peak,
		.count = 2},
	{"cell_memory_peak_max_bytes", "gauge", "The most memory any cell had.", get_peak_max,
		.max = true},
	{"cell_written_bytes_total", "counter", "What cells had written when they ended.",
		get_written},
	{"cell_cleanup_failures_total", "counter", "Cells of which something was left.",
		get_cleanup_failures},
	{"cell_oom_kills_total", "counter", "Processes killed for going beyond their cell's memory.",
		get_oom_kills},
	{"cells_weaker_total", "counter", "Cells that lacked a protection.", get_weaker},
	{"door_connections_total", "counter", "Connections let out of cells.", get_door_connections},
	{"door_requests_total", "counter", "HTTP requests and tunnels let out of cells.", get_door_requests},
	{"door_refused_total", "counter", "Connections and requests refused at doors.", get_door_refused},
	{"door_failed_total", "counter", "Those let out and then not reached.", get_door_failed},
	{"door_bytes_total", "counter", "Bytes through doors, as cells see them.", get_door_bytes, "direction",
		bytes_name, 2},
	{"door_tokens_total", "counter", "Tokens of language models, as their answers say.", get_door_tokens, "direction",
		tokens_name, 2},
	{"door_dollars_total", "counter", "What those tokens cost.", get_door_dollars},
	{"door_unpriced_total", "counter", "Answers whose cost is estimated: without usage, cut off, or of a model without a price.", get_door_unpriced},
	{"orphans", "gauge", "Processes of dead supervisors on this machine.", get_orphans},
	{"memory_bytes", "gauge", "Memory of all running cells now.", get_memory_now},
	{"cpu_cores", "gauge", "CPUs in use on this machine, by whomever.", get_cpu_now},
};

/* ---- text ---- */

/* A label's value is UTF-8 in which only \, " and newline are special. */
static void put_label(struct buf *out, const char *name, const char *value)
{
	size_t len = strlen(value);

	buf_fmt(out, "%s=\"", name);
	for (size_t at = 0; at < len;) {
		int size = utf8_char(value + at, len - at);
		if (size <= 0)
			buf_str(out, "\xef\xbf\xbd");
		else if (value[at] == '\n')
			buf_str(out, "\\n");
		else if (value[at] == '\\' || value[at] == '"')
			buf_fmt(out, "\\%c", value[at]);
		else
			buf_add(out, value + at, (size_t)size);
		at += size > 0 ? (size_t)size : 1;
	}
	buf_char(out, '"');
}

static void put_labels(
	struct buf *out, const struct metric *metric, unsigned i, const char *campaign)
{
	bool kinds = metric->label != NULL;

	if (!campaign && !kinds)
		return;
	buf_char(out, '{');
	if (campaign)
		put_label(out, "campaign", campaign);
	if (campaign && kinds)
		buf_char(out, ',');
	if (kinds)
		put_label(out, metric->label, metric->label_value(i));
	buf_char(out, '}');
}

static void put_sample(struct buf *out, const struct metric *metric, unsigned i,
	const char *campaign, double value)
{
	bool summary = metric->count > 0 && !metric->label;

	if (metric->label && !metric->label_value(i))
		return;
	buf_fmt(out, "hotcell_%s%s%s", campaign ? "" : "all_", metric->name,
		!summary         ? ""
			: i == 0 ? "_sum"
				 : "_count");
	put_labels(out, metric, i, campaign);
	buf_fmt(out, " %.15g\n", value);
}

static void put_head(struct buf *out, bool all, const struct metric *metric)
{
	const char *prefix = all ? "all_" : "";

	buf_fmt(out, "# HELP hotcell_%s%s %s%s\n", prefix, metric->name,
		all ? "In all campaigns: " : "", metric->help);
	buf_fmt(out, "# TYPE hotcell_%s%s %s\n", prefix, metric->name, metric->type);
}

static unsigned samples_of(const struct metric *metric)
{
	return metric->count > 0 ? metric->count : 1;
}

static const char *name_of(const struct campaign_status *status)
{
	return status->campaign.name ? status->campaign.name : "";
}

static void put_each(struct buf *out, const struct metric *metric,
	const struct campaign_status *statuses, size_t count)
{
	if (count == 0)
		return;
	put_head(out, false, metric);
	for (size_t at = 0; at < count; at++)
		for (unsigned i = 0; i < samples_of(metric); i++)
			put_sample(out, metric, i, name_of(&statuses[at]),
				metric->value(&statuses[at], i));
}

static void put_all(struct buf *out, const struct metric *metric,
	const struct campaign_status *statuses, size_t count)
{
	put_head(out, true, metric);
	for (unsigned i = 0; i < samples_of(metric); i++) {
		double all = 0;
		for (size_t at = 0; at < count; at++) {
			double one = metric->value(&statuses[at], i);
			all = !metric->max ? all + one : one > all ? one : all;
		}
		put_sample(out, metric, i, NULL, all);
	}
}

static void put_alerts(struct buf *out, const struct campaign_status *status)
{
	const char *at = status->held && status->live.alerts ? status->live.alerts : "";

	while (*at) {
		size_t len = strcspn(at, ",");
		own(freep) char *name = xfmt("%.*s", (int)len, at);
		buf_str(out, "hotcell_alert_firing{");
		put_label(out, "campaign", name_of(status));
		buf_char(out, ',');
		put_label(out, "alert", name);
		buf_str(out, "} 1\n");
		at += len + (at[len] == ',');
	}
}

void metrics_text(const struct campaign_status *statuses, size_t count, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(metrics); i++) {
		put_each(out, &metrics[i], statuses, count);
		put_all(out, &metrics[i], statuses, count);
	}
	buf_str(out,
		"# HELP hotcell_alert_firing Alert rules that fire now.\n# TYPE hotcell_alert_firing gauge\n");
	for (size_t at = 0; at < count; at++)
		put_alerts(out, &statuses[at]);
	buf_fmt(out,
		"# HELP hotcell_all_campaigns Campaigns in the ledger.\n# TYPE hotcell_all_campaigns gauge\n"
		"hotcell_all_campaigns %zu\n",
		count);
}
