/* The pictures: squares as links, histogram and timeline as SVG. Their colours come from the style,
 * so they follow the reader's light or dark. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "report/campaign_private.h"

#define WIDTH 1000
#define LEFT 56 /* room for the labels of the vertical axis */

/* 2 s, not 2.0 s: a mark is exact. */
static void put_mark(struct buf *out, double ns)
{
	char text[32];
	char *zero = strstr(duration_text((uint64_t)(ns + 0.5), text, sizeof(text)), ".0 ");

	if (zero)
		memmove(zero, zero + 2, strlen(zero + 2) + 1);
	buf_str(out, text);
}

/* ---- squares ---- */

static void square_title(struct buf *out, const struct report *report, size_t i)
{
	const struct report_square *square = &report->squares[i];
	uint64_t runs = report->status->campaign.plan.runs, count = report->square_count;
	uint64_t first = (uint64_t)(((unsigned __int128)i * runs + count - 1) / count) + 1;
	uint64_t last = (uint64_t)(((unsigned __int128)(i + 1) * runs + count - 1) / count);
	const char *state = square->number == 0 ? "not begun" : report_class(square->state);

	buf_fmt(out, " title=\"%" PRIu64, first);
	if (last > first)
		buf_fmt(out, "–%" PRIu64, last);
	buf_fmt(out, ": %s", state);
	if (last > first && square->number != 0 && square->state != RUN_SUCCESS)
		buf_fmt(out, ", first in %" PRIu64, square->number);
	buf_char(out, '"');
}

void report_squares(const struct report *report, struct buf *out)
{
	char name[24];

	buf_str(out, "<div class=grid>\n");
	for (size_t i = 0; i < report->square_count; i++) {
		const struct report_square *square = &report->squares[i];
		buf_fmt(out, square->number != 0 ? "<a class=%s" : "<i class=%s",
			report_class(square->state));
		square_title(out, report, i);
		if (square->number == 0) {
			buf_str(out, "></i>\n");
			continue;
		}
		(void)plan_session_name(
			report->status->campaign.plan.runs, square->number, name, sizeof(name));
		buf_fmt(out, " href=\"%s%s/\"></a>\n", report->links, name);
	}
	buf_str(out, "</div>\n");
}

/* ---- histogram ---- */

#define MAX_EDGES 80
#define PLOT_HEIGHT 200

struct scale {
	double edges[MAX_EDGES + 1]; /* ns; buckets are between neighbours */
	unsigned buckets;
	bool is_log;
};

static double power_of_ten_below(double value)
{
	double power = 1;

	while (power * 10 <= value)
		power *= 10;
	return power;
}

/* 1, 2 or 5 times a power of ten, not below `least` nor below 1. */
static double nice_step(double least)
{
	double power = power_of_ten_below(least);
	double factor = least / power;

	return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

static void linear_scale(struct scale *scale, double min, double max)
{
	/* Steps finer than the counted ones would show gaps that are not there. */
	double wanted = (max - min) / 24, finest = max / 200;
	double step = nice_step(wanted > finest ? wanted : finest);
	double first = (double)(uint64_t)(min / step);

	for (;;) {
		scale->edges[scale->buckets] = (first + scale->buckets) * step;
		if (scale->edges[scale->buckets] > max || scale->buckets == MAX_EDGES)
			return;
		scale->buckets++;
	}
}

static void log_scale(struct scale *scale, double min, double max)
{
	static const double fine[] = {1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8}, coarse[] = {1, 2, 5};
	bool few = max / min < 10000;
	const double *factors = few ? fine : coarse;
	size_t count = few ? ARRAY_LEN(fine) : ARRAY_LEN(coarse), i = 0;
	double power = power_of_ten_below(min);

	scale->is_log = true;
	for (;;) {
		double edge = power * factors[i];
		if (edge <= min)
			scale->buckets = 0;
		scale->edges[scale->buckets] = edge;
		if (edge > max || scale->buckets == MAX_EDGES)
			return;
		scale->buckets++;
		power *= ++i == count ? 10 : 1;
		i %= count;
	}
}

static void choose_scale(struct scale *scale, const struct report_durations *durations)
{
	double min = (double)durations->min_ns, max = (double)durations->max_ns;

	*scale = (struct scale){0};
	if (min >= 1000 && max / min > 12)
		log_scale(scale, min, max);
	else
		linear_scale(scale, min, max);
}

static void fill_buckets(const struct report_durations *durations, const struct scale *scale,
	uint64_t counts[MAX_EDGES][RUN_STATE_COUNT])
{
	unsigned bucket = 0;

	for (unsigned step = 0; step < REPORT_STEPS; step++) {
		while (bucket + 1 < scale->buckets &&
			(double)report_step_ns(step) >= scale->edges[bucket + 1])
			bucket++;
		for (int state = 0; state < RUN_STATE_COUNT; state++)
			counts[bucket][state] += durations->steps[state][step];
	}
}

static void put_bucket(struct buf *out, const struct scale *scale, unsigned i,
	const uint64_t counts[RUN_STATE_COUNT], uint64_t most)
{
	static const enum run_state order[] = {RUN_SUCCESS, RUN_TIMEOUT, RUN_ERROR};
	double width = (double)(WIDTH - LEFT) / scale->buckets, y = PLOT_HEIGHT;
	uint64_t all = counts[RUN_SUCCESS] + counts[RUN_TIMEOUT] + counts[RUN_ERROR];

	if (all == 0)
		return;
	buf_str(out, "<g><title>");
	put_mark(out, scale->edges[i]);
	buf_str(out, " to ");
	put_mark(out, scale->edges[i + 1]);
	buf_fmt(out, ": %" PRIu64 " runs, %" PRIu64 " of them failed</title>", all,
		all - counts[RUN_SUCCESS]);
	for (size_t s = 0; s < ARRAY_LEN(order); s++) {
		double height = (double)counts[order[s]] / (double)most * (PLOT_HEIGHT - 10);
		if (counts[order[s]] == 0)
			continue;
		/* One among thousands is still to be seen. */
		height = height < 2 ? 2 : height;
		y -= height;
		buf_fmt(out,
			"<rect class=%s x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
			report_class((uint8_t)order[s]), LEFT + width * i + 1, y,
			width > 4 ? width - 2 : width, height);
	}
	buf_str(out, "</g>\n");
}

/* Labels stand where there is room: about eight of them. */
static void put_edges(struct buf *out, const struct scale *scale)
{
	double width = (double)(WIDTH - LEFT) / scale->buckets;
	unsigned each = (scale->buckets + 7) / 8;

	for (unsigned i = 0; i <= scale->buckets; i += each) {
		double x = LEFT + width * i;
		buf_fmt(out, "<text x=\"%.1f\" y=\"%d\" class=%s>", x, PLOT_HEIGHT + 18,
			i == 0                   ? "start"
				: x > WIDTH - 30 ? "end"
						 : "middle");
		put_mark(out, scale->edges[i]);
		buf_str(out, "</text>\n");
	}
}

static void put_count_axis(struct buf *out, uint64_t most)
{
	for (int i = 1; i <= 2; i++) {
		double y = PLOT_HEIGHT - (PLOT_HEIGHT - 10) * i / 2.0;
		if (i == 1 && most < 2)
			continue;
		buf_fmt(out,
			"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" class=end>",
			LEFT, WIDTH, y, y, LEFT - 6, y + 4);
		html_count(out, i == 2 ? most : most / 2);
		buf_str(out, "</text>\n");
	}
	buf_fmt(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT, WIDTH, PLOT_HEIGHT,
		PLOT_HEIGHT);
}

void report_histogram(const struct report *report, struct buf *out)
{
	uint64_t counts[MAX_EDGES][RUN_STATE_COUNT] = {0}, most = 1;
	struct scale scale;

	if (report->durations->count == 0) {
		buf_str(out, "<p>No run has ended yet.</p>\n");
		return;
	}
	choose_scale(&scale, report->durations);
	fill_buckets(report->durations, &scale, counts);
	for (unsigned i = 0; i < scale.buckets; i++) {
		uint64_t all =
			counts[i][RUN_SUCCESS] + counts[i][RUN_ERROR] + counts[i][RUN_TIMEOUT];
		most = all > most ? all : most;
	}
	buf_fmt(out,
		"<div class=wide><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"Histogram of durations\">\n",
		WIDTH, PLOT_HEIGHT + 26);
	put_count_axis(out, most);
	for (unsigned i = 0; i < scale.buckets; i++)
		put_bucket(out, &scale, i, counts[i], most);
	put_edges(out, &scale);
	buf_fmt(out, "</svg></div>\n<p class=note>%s scale.</p>\n",
		scale.is_log ? "Logarithmic" : "Linear");
}

/* ---- timeline ---- */

#define LANE_HEIGHT 14
#define LANE_GAP 4

struct lanes {
	const struct report_timeline *timeline;
	struct buf *out;
	double per_ms;
};

static double lane_x(const struct lanes *lanes, uint64_t ms)
{
	return LEFT + (double)(ms - lanes->timeline->from_ms) * lanes->per_ms;
}

static int lane_y(unsigned lane)
{
	return (int)lane * (LANE_HEIGHT + LANE_GAP);
}

static void put_lane_rect(
	const struct lanes *lanes, unsigned lane, uint8_t state, double x, double width)
{
	buf_fmt(lanes->out, "<rect class=%s x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"",
		report_class(state), x, lane_y(lane), width < 0.6 ? 0.6 : width, LANE_HEIGHT);
}

static void put_bars(const struct lanes *lanes)
{
	const struct report_timeline *timeline = lanes->timeline;

	for (size_t i = 0; i < timeline->bar_count; i++) {
		const struct report_bar *bar = &timeline->bars[i];
		if (bar->worker == 0 || bar->worker > timeline->lanes)
			continue;
		double x = lane_x(lanes, bar->start_ms), width = lane_x(lanes, bar->end_ms) - x;
		/* A hair between neighbours, where there is room for one. */
		put_lane_rect(
			lanes, bar->worker - 1, bar->state, x, width > 3 ? width - 0.8 : width);
		buf_fmt(lanes->out, "><title>%" PRIu64 ": %s, ", bar->number,
			report_class(bar->state));
		html_duration(lanes->out, (bar->end_ms - bar->start_ms) * NS_PER_MS);
		buf_str(lanes->out, "</title></rect>\n");
	}
}

/* Neighbours that look the same are one. */
static void put_cells(const struct lanes *lanes)
{
	const struct report_timeline *timeline = lanes->timeline;
	double width = (double)(WIDTH - LEFT) / timeline->columns;

	for (unsigned lane = 0; lane < timeline->lanes; lane++) {
		const uint8_t *cells = timeline->cells + (size_t)lane * timeline->columns;
		for (unsigned from = 0, until; from < timeline->columns; from = until) {
			for (until = from + 1;
				until < timeline->columns && cells[until] == cells[from];)
				until++;
			if (cells[from] == RUN_NOT_BEGUN)
				continue;
			put_lane_rect(lanes, lane, cells[from], LEFT + width * from,
				width * (until - from));
			buf_str(lanes->out, "/>\n");
		}
	}
}

static void put_time_axis(const struct lanes *lanes)
{
	uint64_t span = lanes->timeline->until_ms - lanes->timeline->from_ms;
	int y = lane_y(lanes->timeline->lanes) + 14;

	for (int i = 0; i <= 4; i++) {
		buf_fmt(lanes->out, "<text x=\"%d\" y=\"%d\" class=%s>",
			LEFT + (WIDTH - LEFT) * i / 4, y,
			i == 0           ? "start"
				: i == 4 ? "end"
					 : "middle");
		if (i == 0)
			buf_char(lanes->out, '0');
		else
			put_mark(lanes->out, (double)span * i / 4 * (double)NS_PER_MS);
		buf_str(lanes->out, "</text>\n");
	}
	for (unsigned lane = 0; lane < lanes->timeline->lanes; lane++)
		buf_fmt(lanes->out, "<text x=\"%d\" y=\"%d\" class=end>%u</text>\n", LEFT - 8,
			lane_y(lane) + LANE_HEIGHT - 3, lane + 1);
}

static void put_timeline_notes(const struct report_timeline *timeline, struct buf *out)
{
	buf_str(out, "<p class=note>One line a worker, from ");
	html_date(out, timeline->from_ms);
	buf_str(out, " on.");
	if (timeline->cells)
		buf_fmt(out,
			" There are more than %d runs: neighbours are merged, and each piece has the colour of the "
			"worst run in it.",
			REPORT_BARS);
	if (timeline->workers > timeline->lanes)
		buf_fmt(out, " The first %u of %u workers are shown.", timeline->lanes,
			timeline->workers);
	buf_str(out, "</p>\n");
}

void report_lanes(const struct report *report, struct buf *out)
{
	const struct report_timeline *timeline = &report->timeline;

	if (timeline->lanes == 0) {
		buf_str(out, "<p>No run has begun yet.</p>\n");
		return;
	}
	struct lanes lanes = {.timeline = timeline,
		.out = out,
		.per_ms =
			(double)(WIDTH - LEFT) / (double)(timeline->until_ms - timeline->from_ms)};
	buf_fmt(out,
		"<div class=wide><svg viewBox=\"0 0 %d %d\" role=img aria-label=\"Timeline of the workers\">\n",
		WIDTH, lane_y(timeline->lanes) + 20);
	if (timeline->cells)
		put_cells(&lanes);
	else
		put_bars(&lanes);
	put_time_axis(&lanes);
	buf_str(out, "</svg></div>\n");
	put_timeline_notes(timeline, out);
}
