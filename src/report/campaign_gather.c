/* One pass over the runs. Everything kept has a bound that does not depend on how many there are. */
#include <string.h>

#include "base/term.h"
#include "door/policy/totals.h"
#include "report/campaign_private.h"

/* ---- durations ---- */

/* Like a float with eight bits of fraction. */
unsigned report_step(uint64_t ns)
{
	if (ns < 256)
		return (unsigned)ns;
	unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
	return (octave - 7) * 256 + (unsigned)(ns >> (octave - 8) & 255);
}

uint64_t report_step_ns(unsigned step)
{
	if (step < 256)
		return step;
	unsigned shift = step / 256 - 1;
	return ((UINT64_C(256) + step % 256) << shift) + ((UINT64_C(1) << shift) / 2);
}

uint64_t report_percentile(const struct report_durations *durations, unsigned permille)
{
	uint64_t wanted = (uint64_t)((double)durations->count * permille / 1000), seen = 0;

	for (unsigned step = 0; step < REPORT_STEPS; step++) {
		for (int state = 0; state < RUN_STATE_COUNT; state++)
			seen += durations->steps[state][step];
		if (seen > wanted) {
			uint64_t ns = report_step_ns(step);
			return ns < durations->min_ns    ? durations->min_ns
				: ns > durations->max_ns ? durations->max_ns
							 : ns;
		}
	}
	return durations->max_ns;
}

static void add_duration(struct report_durations *durations, const struct run_record *run)
{
	if (durations->count++ == 0 || run->wall_ns < durations->min_ns)
		durations->min_ns = run->wall_ns;
	if (run->wall_ns > durations->max_ns)
		durations->max_ns = run->wall_ns;
	durations->sum_ns += run->wall_ns;
	durations->steps[run->state][report_step(run->wall_ns)]++;
}

/* ---- squares ---- */

static unsigned badness(uint8_t state)
{
	static const unsigned char order[RUN_STATE_COUNT] = {
		[RUN_SUCCESS] = 1,
		[RUN_RUNNING] = 2,
		[RUN_AGAIN] = 3,
		[RUN_TIMEOUT] = 4,
		[RUN_ERROR] = 5,
	};
	return state < RUN_STATE_COUNT ? order[state] : 0;
}

static void add_square(struct report *report, const struct run_record *run)
{
	uint64_t runs = report->status->campaign.plan.runs;

	if (run->number == 0 || run->number > runs)
		return;
	size_t at = (size_t)((unsigned __int128)(run->number - 1) * report->square_count / runs);
	struct report_square *square = &report->squares[at];
	if (badness((uint8_t)run->state) > badness(square->state))
		*square =
			(struct report_square){.state = (uint8_t)run->state, .number = run->number};
}

/* ---- timeline ---- */

static uint64_t column_of(const struct report_timeline *timeline, uint64_t ms)
{
	uint64_t span = timeline->until_ms - timeline->from_ms;

	if (ms <= timeline->from_ms)
		return 0;
	uint64_t column =
		(uint64_t)((unsigned __int128)(ms - timeline->from_ms) * timeline->columns / span);
	return column < timeline->columns ? column : timeline->columns - 1;
}

static void paint(struct report_timeline *timeline, const struct report_bar *bar)
{
	if (bar->worker == 0 || bar->worker > timeline->lanes)
		return;
	uint8_t *lane = timeline->cells + (size_t)(bar->worker - 1) * timeline->columns;
	uint64_t last = column_of(timeline, bar->end_ms);
	for (uint64_t column = column_of(timeline, bar->start_ms); column <= last; column++)
		if (badness(bar->state) > badness(lane[column]))
			lane[column] = bar->state;
}

/* Numbers go out in the order of starts, so the earliest start is among the first bars. */
static void timeline_coarsen(struct report *report)
{
	struct report_timeline *timeline = &report->timeline;
	unsigned workers = report->status->campaign.plan.workers;

	if (timeline->workers > workers)
		workers = timeline->workers;
	timeline->lanes = workers < 1 ? 1 : workers > REPORT_LANES ? REPORT_LANES : workers;
	timeline->columns = REPORT_BARS / timeline->lanes;
	timeline->cells = xcalloc((size_t)timeline->lanes * timeline->columns, 1);
	memset(timeline->cells, RUN_NOT_BEGUN, (size_t)timeline->lanes * timeline->columns);
	for (size_t i = 0; i < timeline->bar_count; i++)
		paint(timeline, &timeline->bars[i]);
}

static uint64_t last_moment(const struct campaign_status *status)
{
	uint64_t last = status->campaign.updated_ms;

	if (status->campaign.ended_ms > last)
		last = status->campaign.ended_ms;
	if (status->held && status->now_ms > last)
		last = status->now_ms;
	return last;
}

static void add_bar(struct report *report, const struct run_record *run)
{
	struct report_timeline *timeline = &report->timeline;
	uint64_t end_ms = run->ended_ms > run->started_ms ? run->ended_ms : run->started_ms;

	if (run->state == RUN_RUNNING)
		end_ms = report->status->held ? report->status->now_ms : run->started_ms;
	struct report_bar bar = {.start_ms = run->started_ms,
		.end_ms = end_ms,
		.number = run->number,
		.worker = run->worker,
		.state = (uint8_t)run->state};
	if (run->worker > timeline->workers)
		timeline->workers = run->worker;
	if (!timeline->cells) {
		if (timeline->from_ms == 0 || bar.start_ms < timeline->from_ms)
			timeline->from_ms = bar.start_ms;
		if (bar.end_ms >= timeline->until_ms)
			timeline->until_ms = bar.end_ms + 1;
	}
	if (!timeline->cells && timeline->bar_count == REPORT_BARS) {
		uint64_t last = last_moment(report->status);
		if (last > timeline->until_ms)
			timeline->until_ms = last;
		timeline_coarsen(report);
	}
	if (timeline->cells)
		paint(timeline, &bar);
	else
		timeline->bars[timeline->bar_count++] = bar;
}

/* ---- the slowest and the failed ---- */

static struct run_record copy_of(const struct run_record *run)
{
	struct run_record copy = *run;

	copy.cause = run->cause ? xstrdup(run->cause) : NULL;
	copy.cell = NULL;
	return copy;
}

static void add_slow(struct report *report, const struct run_record *run)
{
	struct run_record *slowest = report->slowest;
	size_t at = report->slowest_count;

	if (at == REPORT_SLOWEST) {
		if (run->wall_ns <= slowest[at - 1].wall_ns)
			return;
		run_record_done(&slowest[--at]);
	} else {
		report->slowest_count++;
	}
	for (; at > 0 && slowest[at - 1].wall_ns < run->wall_ns; at--)
		slowest[at] = slowest[at - 1];
	slowest[at] = copy_of(run);
}

static void add_cause(struct report *report, const struct run_record *run)
{
	const char *cause =
		run->cause && run->cause[0] ? run->cause : cell_outcome_name(run->outcome);
	char text[REPORT_CAUSE_LEN];
	size_t len = strnlen(cause, sizeof(text) - 1);

	memcpy(text, cause, len);
	text[len] = '\0';
	for (size_t i = 0; i < report->cause_count; i++) {
		if (strcmp(report->causes[i].text, text) == 0) {
			report->causes[i].count++;
			return;
		}
	}
	if (report->cause_count == REPORT_CAUSES) {
		report->causes_beyond++;
		return;
	}
	struct report_cause *fresh = &report->causes[report->cause_count++];
	memcpy(fresh->text, text, sizeof(text));
	fresh->count = 1;
	fresh->example = run->number;
}

static int by_count(const void *left, const void *right)
{
	const struct report_cause *a = left, *b = right;

	return a->count != b->count       ? (a->count < b->count ? 1 : -1)
		: a->example > b->example ? 1
					  : -1;
}

/* ---- doors ---- */

static void add_networked(struct report *report, const struct run_record *run)
{
	if (!network_used(&run->network))
		return;
	report->networked_all++;
	if (report->networked_count < REPORT_LOGS)
		report->networked[report->networked_count++] = run->number;
}

/* ---- the pass ---- */

static int add_run(void *data, const struct run_record *run)
{
	struct report *report = data;

	report->states[run->state]++;
	add_square(report, run);
	add_bar(report, run);
	if (!run_state_final(run->state))
		return 0;
	add_networked(report, run);
	report->setup_ns += run->setup_ns;
	report->refused += run->refused;
	report->stdout_bytes += run->stdout_bytes;
	report->stderr_bytes += run->stderr_bytes;
	add_duration(report->durations, run);
	add_slow(report, run);
	if (run->state == RUN_SUCCESS)
		return 0;
	add_cause(report, run);
	if (report->failure_count < REPORT_FAILURES)
		report->failures[report->failure_count++] = copy_of(run);
	return 0;
}

int report_gather(struct report *report, struct ledger *ledger, struct err *err)
{
	const struct campaign_record *campaign = &report->status->campaign;
	struct ledger_query all = {.order = LEDGER_BY_NUMBER};
	uint64_t runs = campaign->plan.runs;

	report->square_count = runs < REPORT_SQUARES ? (size_t)runs : REPORT_SQUARES;
	report->squares = xcalloc(report->square_count + 1, sizeof(*report->squares));
	for (size_t i = 0; i < report->square_count; i++)
		report->squares[i].state = RUN_NOT_BEGUN;
	report->durations = xcalloc(1, sizeof(*report->durations));
	report->networked = xcalloc(REPORT_LOGS, sizeof(*report->networked));
	report->timeline.bars = xcalloc(REPORT_BARS, sizeof(*report->timeline.bars));
	if (ledger_runs(ledger, campaign->id, &all, add_run, report, err) < 0)
		return -1;
	qsort(report->causes, report->cause_count, sizeof(*report->causes), by_count);
	if (!report->timeline.cells) {
		unsigned workers = report->timeline.workers;
		report->timeline.lanes = workers > REPORT_LANES ? REPORT_LANES : workers;
	}
	return 0;
}

void report_done(struct report *report)
{
	for (size_t i = 0; i < report->slowest_count; i++)
		run_record_done(&report->slowest[i]);
	for (size_t i = 0; i < report->failure_count; i++)
		run_record_done(&report->failures[i]);
	free(report->links);
	free(report->squares);
	free(report->networked);
	free(report->durations);
	free(report->timeline.bars);
	free(report->timeline.cells);
	fd_close(&report->sessions);
}
