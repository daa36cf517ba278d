#include "view/function.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "view/coverage.h"
#include "base/utf8.h"
#include "view/campaign.h"
#include "view/fuzz.h"

#define COLUMNS 80
#define ROWS 24
#define NAME_LEAST 12
#define NAME_MOST 32
#define LABEL 11
#define HISTORY_STEP (NS_PER_S / 4) /* at first */
#define SPARK_LEAST 8
#define BOLD "1"
#define RED "31"
#define TARGETS_TOLD 100u /* in JSON */

/* ---- coverage over time ---- */

static uint64_t coverage_of(const struct function_progress *progress)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < progress->target_count; i++)
		sum += progress->targets[i].coverage ? progress->targets[i].coverage : progress->targets[i].features;
	return sum;
}

void function_history_add(struct function_history *history, const struct function_progress *progress)
{
	uint64_t coverage = coverage_of(progress);
	uint32_t value = coverage < UINT32_MAX ? (uint32_t)coverage : UINT32_MAX;

	if (!history->count && !value)
		return;
	if (!history->count) {
		history->from_ns = progress->ns;
		history->step_ns = HISTORY_STEP;
	}
	uint64_t ns = progress->ns > history->from_ns ? progress->ns - history->from_ns : 0;
	while (ns / history->step_ns >= HISTORY_MAX) {
		for (size_t i = 0; i + 1 < history->count; i += 2)
			history->coverage[i / 2] = history->coverage[i + 1];
		history->count /= 2;
		history->step_ns *= 2;
	}
	size_t at = (size_t)(ns / history->step_ns);
	for (; history->count <= at; history->count++) /* what was missed was as before */
		history->coverage[history->count] = history->count ? history->coverage[history->count - 1] : value;
	history->coverage[at] = value;
}

void function_history_json(const struct function_history *history, struct json *json)
{
	json_open(json, '{');
	json_put_uint(json, "from_ms", history->from_ns / NS_PER_MS);
	json_put_uint(json, "step_ms", history->step_ns / NS_PER_MS);
	json_key(json, "coverage");
	json_open(json, '[');
	for (size_t i = 0; i < history->count; i++)
		json_uint(json, history->coverage[i]);
	json_close(json, ']');
	json_close(json, '}');
}

/* The last value of each of `width` parts; the least of all is the ground, so that small gains are seen. */
static void put_spark(const struct function_history *history, unsigned width, struct buf *out)
{
	uint32_t values[HISTORY_MAX], least = UINT32_MAX;
	size_t count = history->count < width ? history->count : width;

	for (size_t i = 0; i < count; i++) {
		values[i] = history->coverage[(i + 1) * history->count / count - 1];
		least = values[i] && values[i] < least ? values[i] : least;
	}
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] ? values[i] - least + 1 : 0;
	view_sparkline(values, count, out);
}

/* ---- numbers ---- */

/* 1234567 as 1.2M: columns stay columns at a million a second. */
static void put_short(uint64_t count, int width, struct buf *out)
{
	if (count < 100000)
		buf_fmt(out, "%*" PRIu64, width, count);
	else if (count < 10000000)
		buf_fmt(out, "%*.1fk", width - 1, (double)count / 1e3);
	else if (count < UINT64_C(10000000000))
		buf_fmt(out, "%*.1fM", width - 1, (double)count / 1e6);
	else
		buf_fmt(out, "%*.1fG", width - 1, (double)count / 1e9);
}

static void put_count(uint64_t count, struct buf *out)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, count);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_char(out, ',');
		buf_char(out, text[i]);
	}
}

static double rate_of(const struct function_progress *progress)
{
	double rate = 0;

	for (size_t i = 0; i < progress->target_count; i++)
		rate += progress->targets[i].rate;
	return rate;
}

struct sums {
	uint64_t corpus, features, coverage, since_new_ns;
	bool begun;
};

static struct sums sums_of(const struct function_progress *progress)
{
	struct sums sums = {.since_new_ns = UINT64_MAX};

	for (size_t i = 0; i < progress->target_count; i++) {
		const struct target_progress *target = &progress->targets[i];
		sums.corpus += target->corpus;
		sums.features += target->features;
		sums.coverage += target->coverage;
		sums.begun = sums.begun || target->first_exec_ns;
		if (target->first_exec_ns && target->since_new_ns < sums.since_new_ns)
			sums.since_new_ns = target->since_new_ns;
	}
	return sums;
}

static void put_seconds(uint64_t seconds, struct buf *out)
{
	if (seconds < 600)
		buf_fmt(out, "%" PRIu64 "s", seconds);
	else if (seconds < 36000)
		buf_fmt(out, "%" PRIu64 "m %02" PRIu64 "s", seconds / 60, seconds % 60);
	else
		buf_fmt(out, "%" PRIu64 "h %02" PRIu64 "m", seconds / 3600, seconds / 60 % 60);
}

/* How long it is at it, and what of time or executions is left: "12s, 48s left of 60s". Building is not of the limit. */
static void put_time(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	put_seconds(progress->ns / NS_PER_S, out);
	if (progress->left_ns) {
		buf_str(out, ", ");
		put_seconds((progress->left_ns + NS_PER_S - 1) / NS_PER_S, out);
		buf_str(out, " left of ");
		put_seconds(look->duration_ns / NS_PER_S, out);
	} else if (look->max_execs && rate_of(progress) >= 1 && progress->execs < look->max_execs) {
		buf_str(out, ", about ");
		put_seconds((uint64_t)((double)(look->max_execs - progress->execs) / rate_of(progress)) + 1, out);
		buf_str(out, " left");
	}
}

void function_view_line(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	const struct sums sums = sums_of(progress);
	char since[24];

	put_time(progress, look, out);
	buf_fmt(out, ": %" PRIu64 " execs, %.0f/s, corpus %" PRIu64 ", coverage %" PRIu64 ", features %" PRIu64, progress->execs,
		rate_of(progress), sums.corpus, sums.coverage, sums.features);
	if (sums.begun)
		buf_fmt(out, ", last new path %s ago", duration_text(sums.since_new_ns, since, sizeof(since)));
	buf_str(out, "; findings: ");
	fuzz_view_severities(look->severities, out);
	if (progress->doing)
		buf_fmt(out, "; %s", progress->doing);
}

/* ---- targets ---- */

static const struct {
	const char *head;
	int width;
} table_columns[] = {{"execs", 8}, {"execs/s", 8}, {"coverage", 9}, {"features", 9}, {"corpus", 7}, {"crashes", 8}};
#define LAST_WIDTH 11 /* a time */

static unsigned numbers_width(void)
{
	unsigned width = LAST_WIDTH;

	for (size_t i = 0; i < ARRAY_LEN(table_columns); i++)
		width += (unsigned)table_columns[i].width;
	return width;
}

/* Columns of a name as terminals show it: what may be wide counts as two. */
static unsigned width_of(const char *text)
{
	unsigned width = 0;

	for (size_t at = 0, len = strlen(text); at < len;) {
		int size = utf8_char(text + at, len - at);
		width += size >= 3 ? 2 : 1;
		at += size > 0 ? (size_t)size : 1;
	}
	return width;
}

/* A stranger's name in exactly so many columns, of which the last is empty. Of a long one the end is shown: that is where the
 * names of a project differ. */
static void put_name(const char *name, unsigned width, struct buf *out)
{
	own(buf_done) struct buf safe = {0};

	term_line(name, strlen(name), 400, &safe);
	const char *at = buf_text(&safe);
	unsigned wide = width_of(at);
	bool whole = wide < width;
	while (*at && wide + (whole ? 1 : 4) > width) {
		int size = utf8_char(at, strlen(at));
		wide -= size >= 3 ? 2 : 1;
		at += size > 0 ? size : 1;
	}
	buf_fmt(out, "%s%s", whole ? "" : "...", at);
	for (wide += whole ? 0 : 3; wide < width; wide++)
		buf_char(out, ' ');
}

static unsigned names_width(const struct function_targets *targets, unsigned most)
{
	unsigned width = NAME_LEAST;

	for (size_t i = 0; i < targets->count; i++) {
		unsigned wide = width_of(targets->list[i].name) + 2;
		width = wide > width ? wide : width;
	}
	return width < most ? width : most;
}

static void put_table(const struct function_targets *targets, const struct target_progress *totals, size_t max, bool live,
	unsigned columns, struct buf *out)
{
	size_t shown = max && max < targets->count ? max - 1 : targets->count;
	unsigned most = columns > numbers_width() + NAME_LEAST ? columns - numbers_width() : NAME_LEAST;
	unsigned width = names_width(targets, most < NAME_MOST ? most : NAME_MOST);

	put_name("target", width, out);
	for (size_t i = 0; i < ARRAY_LEN(table_columns); i++)
		buf_fmt(out, "%*s", table_columns[i].width, table_columns[i].head);
	buf_fmt(out, "%*s\n", LAST_WIDTH, live ? "last new" : "first exec");
	for (size_t i = 0; i < shown; i++) {
		const struct target_progress *total = &totals[i];
		const uint64_t numbers[] = {
			total->execs, (uint64_t)total->rate, total->coverage, total->features, total->corpus, total->crashes};
		char took[24] = "-";
		put_name(targets->list[i].name, width, out);
		for (size_t k = 0; k < ARRAY_LEN(table_columns); k++)
			put_short(numbers[k], table_columns[k].width, out);
		if (total->first_exec_ns)
			(void)duration_text(live ? total->since_new_ns : total->first_exec_ns, took, sizeof(took));
		buf_fmt(out, "%*s\n", LAST_WIDTH, took);
	}
	if (shown < targets->count)
		buf_fmt(out, "and %zu more\n", targets->count - shown);
}

void function_view_targets(
	const struct function_targets *targets, const struct target_progress *totals, size_t max, struct buf *out)
{
	put_table(targets, totals, max, false, UINT16_MAX, out);
}

/* ---- the picture ---- */

struct page {
	struct buf *out;
	unsigned columns, left; /* of a line; lines that may still come */
	unsigned used;
	bool color;
};

/* As much of it as fits. In what is not ours anything that could be wide counts as two columns. */
static void put_any(struct page *page, const char *style, const char *text, bool foreign)
{
	size_t len = strcspn(text, "\n"), end = 0;

	while (end < len) {
		int size = utf8_char(text + end, len - end);
		unsigned width = foreign && size >= 3 ? 2 : 1;
		if (page->used + width > page->columns)
			break;
		page->used += width;
		end += size > 0 ? (size_t)size : 1;
	}
	if (page->color && style && end)
		buf_fmt(page->out, "\033[%sm", style);
	buf_add(page->out, text, end);
	if (page->color && style && end)
		buf_str(page->out, "\033[0m");
}

static void put(struct page *page, const char *style, const char *text)
{
	put_any(page, style, text, false);
}

static void PRINTF_LIKE(3, 4) put_fmt(struct page *page, const char *style, const char *format, ...)
{
	char text[240];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(page, style, text);
}

static void line_end(struct page *page)
{
	buf_char(page->out, '\n');
	page->used = 0;
	page->left -= page->left > 0;
}

static void put_title(struct page *page, const struct function_progress *progress, const struct function_look *look)
{
	own(buf_done) struct buf time = {0}, name = {0};

	put_time(progress, look, &time);
	if (look->note)
		buf_fmt(&time, "  %s", look->note);
	unsigned room = page->columns > time.len + NAME_LEAST + 2 ? page->columns - (unsigned)time.len : NAME_LEAST;
	if (look->targets->count == 1)
		put_name(look->targets->list[0].name, names_width(look->targets, room), &name);
	else
		buf_fmt(&name, "%zu targets  ", look->targets->count);
	put_any(page, BOLD, buf_text(&name), true);
	put(page, NULL, buf_text(&time));
	line_end(page);
}

static void put_execs(struct page *page, const struct function_progress *progress, const struct function_look *look)
{
	own(buf_done) struct buf count = {0}, rate = {0}, found = {0};
	unsigned crashes = 0;

	put_count(progress->execs, &count);
	put_count((uint64_t)rate_of(progress), &rate);
	for (int i = 0; i < SEVERITY_COUNT; i++)
		crashes += look->severities[i];
	fuzz_view_severities(look->severities, &found);
	put_fmt(page, NULL, "%-*s%s   %s/s   corpus %" PRIu64 "   ", LABEL, "execs", buf_text(&count), buf_text(&rate),
		sums_of(progress).corpus);
	put_fmt(page, crashes ? RED : NULL, "findings %s", buf_text(&found));
	if (progress->waiting)
		put_fmt(page, NULL, ", %zu to confirm", progress->waiting);
	line_end(page);
}

static void put_coverage(struct page *page, const struct function_progress *progress, const struct function_look *look)
{
	const struct sums sums = sums_of(progress);
	own(buf_done) struct buf spark = {0}, tail = {0};
	char since[24] = "";

	put_fmt(page, NULL, "%-*s%" PRIu64 " ", LABEL, "coverage", sums.coverage);
	buf_fmt(&tail, " features %" PRIu64, sums.features);
	if (sums.begun)
		buf_fmt(&tail, "   last new path %s ago", duration_text(sums.since_new_ns, since, sizeof(since)));
	if (look->history && look->history->count && page->columns > page->used + tail.len + SPARK_LEAST)
		put_spark(look->history, page->columns - page->used - (unsigned)tail.len, &spark);
	put(page, NULL, buf_text(&spark));
	put(page, NULL, buf_text(&tail));
	line_end(page);
}

static void put_worker(struct page *page, const struct function_progress *progress, const struct function_look *look, size_t index)
{
	const struct worker_progress *worker = &progress->workers[index];
	own(buf_done) struct buf text = {0}, name = {0};
	char label[32];

	(void)snprintf(label, sizeof(label), "worker %zu", index + 1);
	buf_fmt(&text, "%-*s%-10s", LABEL, label, worker->doing ? worker->doing : "");
	put_short((uint64_t)worker->rate, 9, &text);
	buf_str(&text, "/s");
	put_short(worker->execs, 12, &text);
	buf_str(&text, " execs  ");
	put(page, NULL, buf_text(&text));
	if (look->targets->count > 1 && worker->target < look->targets->count && page->columns > page->used + NAME_LEAST) {
		put_name(look->targets->list[worker->target].name, page->columns - page->used, &name);
		put_any(page, NULL, buf_text(&name), true);
	}
	line_end(page);
}

static void put_workers(struct page *page, const struct function_progress *progress, const struct function_look *look)
{
	size_t room = page->left > 2 ? page->left - 1 : 0, shown = progress->worker_count;

	if (look->targets->count > 1) /* the rest is the targets' */
		room = (room + 1) / 2;
	if (shown > room)
		shown = room ? room - 1 : 0;
	for (size_t i = 0; i < shown; i++)
		put_worker(page, progress, look, i);
	if (shown < progress->worker_count && room) {
		put_fmt(page, NULL, "and %zu more workers", progress->worker_count - shown);
		line_end(page);
	}
}

void function_view_block(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	struct page page = {.out = out, .columns = (look->columns ? look->columns : COLUMNS) - 1,
		.left = (look->rows ? look->rows : ROWS) - 1, .color = look->color};
	own(buf_done) struct buf table = {0};

	put_title(&page, progress, look);
	put_execs(&page, progress, look);
	put_coverage(&page, progress, look);
	if (progress->doing && page.left > 1) {
		put_fmt(&page, NULL, "%-*s%s", LABEL, "besides", progress->doing);
		line_end(&page);
	}
	put_workers(&page, progress, look);
	if (look->targets->count < 2 || page.left < 3)
		return;
	put_table(look->targets, progress->targets, page.left - 1, true, page.columns, &table);
	for (const char *at = buf_text(&table); *at && page.left; at += strcspn(at, "\n") + 1) {
		put_any(&page, NULL, at, true);
		line_end(&page);
	}
}

/* ---- for machines ---- */

static void put_number(struct json *json, const char *key, double number)
{
	json_put_uint(json, key, number > 0 ? (uint64_t)(number + 0.5) : 0);
}

static void put_workers_json(const struct function_progress *progress, const struct function_look *look, struct json *json)
{
	json_key(json, "workers");
	json_open(json, '[');
	for (size_t i = 0; i < progress->worker_count; i++) {
		const struct worker_progress *worker = &progress->workers[i];
		json_open(json, '{');
		json_put_string(json, "target", worker->target < look->targets->count ? look->targets->list[worker->target].name : "");
		json_put_string(json, "doing", worker->doing ? worker->doing : "waiting");
		json_put_uint(json, "execs", worker->execs);
		put_number(json, "execs_per_s", worker->rate);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_targets_json(const struct function_progress *progress, const struct function_look *look, struct json *json)
{
	json_key(json, "targets");
	json_open(json, '[');
	for (size_t i = 0; i < progress->target_count && i < TARGETS_TOLD; i++) {
		const struct target_progress *target = &progress->targets[i];
		json_open(json, '{');
		json_put_string(json, "name", look->targets->list[i].name);
		json_put_uint(json, "execs", target->execs);
		put_number(json, "execs_per_s", target->rate);
		json_put_uint(json, "coverage", target->coverage);
		json_put_uint(json, "features", target->features);
		json_put_uint(json, "corpus", target->corpus);
		json_put_uint(json, "crashes", target->crashes);
		json_put_uint(json, "since_new_ms", target->since_new_ns / NS_PER_MS);
		json_put_uint(json, "first_exec_ms", target->first_exec_ns / NS_PER_MS);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void function_view_json(const struct function_progress *progress, const struct function_look *look, struct json *json)
{
	json_put_uint(json, "ms", progress->ns / NS_PER_MS);
	json_put_uint(json, "left_ms", progress->left_ns / NS_PER_MS);
	json_put_uint(json, "execs", progress->execs);
	put_number(json, "execs_per_s", rate_of(progress));
	json_put_uint(json, "findings", progress->findings);
	json_put_uint(json, "unconfirmed", progress->waiting);
	json_put_string(json, "doing", progress->doing);
	if (progress->covered) {
		json_key(json, "covered");
		json_open(json, '{');
		coverage_put_sums(progress->covered, json);
		json_close(json, '}');
	}
	put_workers_json(progress, look, json);
	put_targets_json(progress, look, json);
	if (!look->history)
		return;
	json_key(json, "coverage_over_time");
	function_history_json(look->history, json);
}
