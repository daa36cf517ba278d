#include "report/functions.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "report/html.h"
#include "base/size.h"
#include "view/coverage.h"

#define WIDTH 1000
#define HEIGHT 150
#define LEFT 64 /* room for the labels of the vertical axis */
#define FILES_SHOWN 100u
#define MISSED_SHOWN 60u /* functions that were not reached */
#define SOURCE_LINES 4000u /* of a file */
#define SOURCE_ALL ((size_t)4 << 20) /* bytes of all sources in a page */
#define LINE_SHOWN 400u
#define OPEN_FIRST 3 /* unfolded ones */

/* ---- how it grew ---- */

struct plot {
	const struct cover_series *series;
	struct buf *out;
	double per_ms, per_one;
};

static double plot_y(const struct plot *plot, uint64_t value)
{
	return HEIGHT - (double)value * plot->per_one;
}

/* Steps: between two points it is not known when it rose, but that it never fell. */
static void put_path(const struct plot *plot, const char *class, size_t offset, bool area)
{
	double x = LEFT;

	buf_fmt(plot->out, "<path class=%s d=\"", class);
	for (size_t i = 0; i < plot->series->count; i++) {
		const struct series_point *point = &plot->series->points[i];
		double y = plot_y(plot, *(const uint64_t *)((const char *)point + offset));
		x = LEFT + (double)point->ms * plot->per_ms;
		if (i == 0)
			buf_fmt(plot->out, "M%d %.1fL%.1f %.1f", LEFT, y, x, y);
		else
			buf_fmt(plot->out, "H%.1fV%.1f", x, y);
	}
	if (area)
		buf_fmt(plot->out, "V%dH%dZ", HEIGHT, LEFT);
	buf_str(plot->out, "\"/>\n");
}

static void put_axes(struct buf *out, uint64_t most, uint64_t ms)
{
	for (int i = 0; i <= 2; i++) {
		double y = HEIGHT - (HEIGHT - 10) * i / 2.0;
		if (i == 1 && most < 2)
			continue;
		buf_fmt(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, WIDTH, y, y);
		buf_fmt(out, "<text x=\"%d\" y=\"%.1f\" class=end>", LEFT - 6, y + 4);
		html_count(out, most * (uint64_t)i / 2);
		buf_str(out, "</text>\n");
	}
	for (int i = 0; i <= 4; i++) {
		char text[32];
		buf_fmt(out, "<text x=\"%d\" y=\"%d\" class=%s>%s</text>\n", LEFT + (WIDTH - LEFT) * i / 4, HEIGHT + 18,
			i == 0 ? "start" : i == 4 ? "end" : "middle",
			i == 0 ? "0" : duration_text(ms * (uint64_t)i / 4 * NS_PER_MS, text, sizeof(text)));
	}
}

static void put_plot(const struct cover_history *history, struct buf *out)
{
	const struct cover_series *series = &history->series;
	uint64_t most = 1, ms = series->count ? series->points[series->count - 1].ms : 0;

	if (series->count < 2 || ms == 0)
		return;
	for (size_t i = 0; i < series->count; i++) {
		most = series->points[i].features > most ? series->points[i].features : most;
		most = series->points[i].corpus > most ? series->points[i].corpus : most;
	}
	struct plot plot = {series, out, (double)(WIDTH - LEFT) / (double)ms, (HEIGHT - 10.0) / (double)most};
	buf_str(out, "<div class=legend><span><i class=running></i>features, as the engine counts them</span>"
		     "<span><i class=success></i>inputs of the corpus</span></div>\n");
	buf_fmt(out, "<div class=wide><svg viewBox=\"0 0 %d %d\" role=img", WIDTH, HEIGHT + 24);
	buf_str(out, " aria-label=\"Features and corpus over time\">\n");
	put_axes(out, most, ms);
	put_path(&plot, "area", offsetof(struct series_point, features), true);
	put_path(&plot, "running", offsetof(struct series_point, features), false);
	put_path(&plot, "success", offsetof(struct series_point, corpus), false);
	buf_str(out, "</svg></div>\n");
}

/* ---- figures ---- */

static void put_part(struct buf *out, uint64_t part, uint64_t whole)
{
	if (!whole) {
		buf_str(out, "-");
		return;
	}
	html_percent(out, part, whole);
	buf_str(out, " <span class=soft>");
	html_count(out, part);
	buf_char(out, '/');
	html_count(out, whole);
	buf_str(out, "</span>");
}

static void put_meter(struct buf *out, uint64_t part, uint64_t whole)
{
	double width = whole ? (double)part * 100 / (double)whole : 0;

	buf_str(out, "<svg class=meter viewBox=\"0 0 100 8\" preserveAspectRatio=none aria-hidden=true>"
		     "<rect class=idle width=\"100\" height=\"8\"/>");
	buf_fmt(out, "<rect class=success width=\"%.1f\" height=\"8\"/></svg>", width);
}

static void put_since(struct buf *out, const struct function_change *change)
{
	if (!change->known) {
		buf_str(out, "<span class=soft>the first time</span>");
		return;
	}
	buf_fmt(out, "<span class=%s>+%u</span> ", change->more ? "gained" : "soft", change->more);
	buf_fmt(out, "<span class=%s>&minus;%u</span>", change->less ? "lost" : "soft", change->less);
	if (change->edited)
		buf_fmt(out, " <span class=soft>%u edited</span>", change->edited);
}

static void put_row(const struct cover_history *history, struct buf *out)
{
	struct coverage_sums sums = coverage_sums(history->coverage.files, history->coverage.count);

	buf_fmt(out, "<tr><td><a href=\"#fn-%s\"><code>", history->id);
	html_text(out, history->name);
	buf_str(out, "</code></a> <span class=soft>");
	html_text(out, history->language);
	buf_str(out, "</span></td><td class=\"n wide-only\">");
	html_count(out, history->totals.execs);
	buf_str(out, "</td><td class=\"n wide-only\">");
	html_count(out, history->totals.rate > 0 ? (uint64_t)history->totals.rate : 0);
	buf_str(out, "</td><td class=\"n wide-only\">");
	html_count(out, history->totals.features);
	buf_str(out, "</td><td class=\"n wide-only\">");
	html_count(out, history->totals.corpus);
	buf_fmt(out, "</td><td class=\"n%s\">", history->totals.crashes ? " error" : "");
	html_count(out, history->totals.crashes);
	buf_str(out, "</td><td class=n>");
	put_part(out, sums.lines_hit, sums.lines);
	buf_str(out, "</td><td class=n>");
	if (history->covered_ms)
		put_since(out, &history->change);
	buf_str(out, "</td></tr>\n");
}

static void put_table(const struct cover_histories *histories, struct buf *out)
{
	buf_str(out, "<div class=wide><table class=figures><tr><th>Function</th>"
		     "<th class=\"n wide-only\">Executions</th><th class=\"n wide-only\">a second</th>"
		     "<th class=\"n wide-only\">Features</th><th class=\"n wide-only\">Corpus</th><th class=n>Crashes</th>"
		     "<th class=n>Lines reached</th><th class=n>Since the run before</th></tr>\n");
	for (size_t i = 0; i < histories->count; i++)
		put_row(&histories->list[i], out);
	buf_str(out, "</table></div>\n");
}

/* ---- sources ---- */

static const struct {
	const char *class, *mark;
} looks[] = {
	[LINE_NO_CODE] = {"no", " "},
	[LINE_MISSED] = {"missed", "!"},
	[LINE_REACHED] = {"hit", " "},
	[LINE_FRESH] = {"hit fresh", "+"},
	[LINE_LOST] = {"missed gone", "&minus;"},
};

struct page {
	const struct findings *findings;
	struct buf *out;
	size_t room; /* bytes of sources that it still takes */
};

/* What was found of this function at that line; its file is told from where hotcell was started. */
static void put_found(
	const struct page *page, const struct cover_history *history, const struct coverage_file *file, size_t line)
{
	size_t len = strlen(file->name);

	for (size_t i = 0; i < page->findings->count; i++) {
		const struct finding *finding = page->findings->list[i];
		size_t path = finding->file ? strlen(finding->file) : 0;
		if (finding->line != line || strcmp(finding->target, history->name) != 0 || path < len ||
			strcmp(finding->file + path - len, file->name) != 0 || (path > len && finding->file[path - len - 1] != '/'))
			continue;
		buf_fmt(page->out, " <a href=\"#f-%s\">%s: %s</a>", finding->id, severity_name(finding_severity(finding)),
			finding->oracle);
	}
}

static void put_source(const struct page *page, const struct cover_history *history, const struct coverage_file *file,
	const char *text, size_t len)
{
	struct buf *out = page->out;
	const char *end = text + len;
	size_t number = 1;

	buf_str(out, "<pre class=src>");
	for (const char *at = text; at < end && number <= SOURCE_LINES; number++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t line = (size_t)((stop ? stop : end) - at), shown = line < LINE_SHOWN ? line : LINE_SHOWN;
		unsigned kind = number < file->hit_count && file->hit[number] <= LINE_LOST ? file->hit[number] : LINE_NO_CODE;
		while (shown < line && shown > 0 && ((unsigned char)at[shown] & 0xc0) == 0x80)
			shown--;
		buf_fmt(out, "<span class=\"%s\"><i>%zu %s</i>", looks[kind].class, number, looks[kind].mark);
		html_log(out, at, shown);
		buf_str(out, shown < line ? "..." : "");
		put_found(page, history, file, number);
		buf_str(out, "</span>");
		at = stop ? stop + 1 : end;
	}
	buf_str(out, "</pre>\n");
	if (number > SOURCE_LINES)
		buf_fmt(out, "<p class=note>The first %u lines are shown.</p>\n", SOURCE_LINES);
}

static const char *source_of(const struct coverage_file *file, size_t *room, struct buf *text)
{
	char sum[65];

	if (!file->hit_count)
		return "of so large a project only the sums are kept";
	if (*room == 0)
		return "this page has enough sources";
	if (!file->sha256)
		return "its source could not be read, or is hidden from cells";
	if (!cover_source_read(file->root, file->name, text, sum))
		return "its source cannot be read";
	if (strcmp(sum, file->sha256) != 0)
		return "its source has changed since it was measured";
	if (memchr(buf_text(text), '\0', text->len))
		return "its source is no text";
	*room = text->len < *room ? *room - text->len : 0;
	return NULL;
}

static void put_unreached(const struct coverage_file *file, struct buf *out)
{
	size_t shown = 0, missed = 0;

	for (size_t i = 0; i < file->list_count; i++)
		missed += !file->list[i].hit;
	if (!missed)
		return;
	buf_str(out, "<p class=note>Functions that no input reached:");
	for (size_t i = 0; i < file->list_count && shown < MISSED_SHOWN; i++) {
		if (file->list[i].hit)
			continue;
		buf_str(out, shown++ ? ", <code>" : " <code>");
		html_text(out, file->list[i].name);
		buf_str(out, "</code>");
		if (file->list[i].line)
			buf_fmt(out, " (%u)", file->list[i].line);
	}
	if (missed > shown)
		buf_fmt(out, " and %zu more", missed - shown);
	buf_str(out, ".</p>\n");
}

static void put_file(struct page *page, const struct cover_history *history, const struct coverage_file *file, bool open)
{
	own(buf_done) struct buf text = {0};
	const char *why = source_of(file, &page->room, &text);
	struct buf *out = page->out;

	buf_fmt(out, "<details%s><summary><span class=cov>", open && !why ? " open" : "");
	put_meter(out, file->lines_hit, file->lines);
	buf_str(out, "</span><code>");
	html_text(out, file->name);
	buf_str(out, "</code> <b>");
	put_part(out, file->lines_hit, file->lines);
	buf_str(out, "</b> <span class=soft>lines, functions ");
	html_count(out, file->functions_hit);
	buf_char(out, '/');
	html_count(out, file->functions);
	buf_str(out, "</span></summary>\n");
	put_unreached(file, out);
	if (why)
		buf_fmt(out, "<p class=note>Not shown: %s.</p>\n", why);
	else
		put_source(page, history, file, buf_text(&text), text.len);
	buf_str(out, "</details>\n");
}

/* ---- one ---- */

static void put_facts(const struct cover_history *history, struct buf *out)
{
	buf_str(out, "<p class=note>Last run ");
	html_date(out, history->ended_ms);
	buf_str(out, ", ");
	html_duration(out, history->took_ms * NS_PER_MS);
	if (history->totals.first_exec_ns) {
		buf_str(out, "; first execution after ");
		html_duration(out, history->totals.first_exec_ns);
	}
	if (history->totals.since_new_ns) {
		buf_str(out, "; nothing new for the last ");
		html_duration(out, history->totals.since_new_ns);
	}
	if (history->covered_ms && history->covered_ms != history->ended_ms) {
		buf_str(out, "; lines measured ");
		html_date(out, history->covered_ms);
	}
	buf_str(out, ".");
	if (history->change.known) {
		own(buf_done) struct buf since = {0};
		coverage_put_since(&history->change, &since);
		buf_str(out, " Since the run before it: ");
		html_text(out, buf_text(&since));
		buf_str(out, ".");
	}
	buf_str(out, "</p>\n");
}

static void put_function(struct page *page, const struct cover_history *history, bool open)
{
	struct buf *out = page->out;
	size_t shown = history->coverage.count < FILES_SHOWN ? history->coverage.count : FILES_SHOWN;

	buf_fmt(out, "<details id=fn-%s%s><summary><b><code>", history->id, open ? " open" : "");
	html_text(out, history->name);
	buf_str(out, "</code></b> <span class=soft>");
	html_text(out, history->function);
	buf_str(out, "</span></summary>\n");
	put_facts(history, out);
	put_plot(history, out);
	if (!history->covered_ms)
		buf_str(out, "<p class=note>Which lines it reaches was not measured.</p>\n");
	for (size_t i = 0; i < shown; i++)
		put_file(page, history, &history->coverage.files[i], open && history->coverage.count == 1);
	if (shown < history->coverage.count)
		buf_fmt(out, "<p class=note>And %zu files more.</p>\n", history->coverage.count - shown);
	buf_str(out, "</details>\n");
}

void functions_html_section(const struct cover_histories *histories, const struct findings *findings, struct buf *out)
{
	struct page page = {.findings = findings, .out = out, .room = SOURCE_ALL};

	if (!histories->count)
		return;
	buf_str(out, "<section id=functions><h2>Functions</h2>\n");
	put_table(histories, out);
	buf_str(out, "<p class=note></p>\n<div class=legend><span><i class=success></i>reached</span>"
		     "<span><i class=running></i>+ reached, and not by the run before</span>"
		     "<span><i class=error></i>! not reached</span>"
		     "<span><i class=again></i>&minus; not reached any more</span></div>\n");
	for (size_t i = 0; i < histories->count; i++)
		put_function(&page, &histories->list[i], i < OPEN_FIRST);
	buf_str(out, "</section>\n");
}

/* ---- a page ---- */

static void put_tile(struct buf *out, const char *class, uint64_t count, const char *what)
{
	buf_fmt(out, "<div class=%s><b>", class);
	html_count(out, count);
	buf_fmt(out, "</b><small>%s</small></div>\n", what);
}

static void put_tiles(const struct cover_histories *histories, size_t findings, struct buf *out)
{
	uint64_t execs = 0, more = 0;
	struct coverage_sums all = {0};

	for (size_t i = 0; i < histories->count; i++) {
		const struct cover_history *one = &histories->list[i];
		struct coverage_sums sums = coverage_sums(one->coverage.files, one->coverage.count);
		execs += one->totals.execs;
		more += one->change.more;
		all.lines += sums.lines;
		all.lines_hit += sums.lines_hit;
	}
	buf_str(out, "<div class=tiles>\n");
	put_tile(out, findings ? "error" : "success", findings, findings == 1 ? "finding" : "findings");
	put_tile(out, "running", histories->count, histories->count == 1 ? "function" : "functions");
	put_tile(out, "running", execs, "executions, last runs");
	buf_str(out, "<div class=success><b>");
	html_percent(out, all.lines_hit, all.lines);
	buf_str(out, "</b><small>of lines reached</small></div>\n");
	put_tile(out, "idle", more, "lines new since");
	buf_str(out, "</div>\n");
}

void functions_html(const struct cover_histories *histories, const struct findings *findings, struct buf *out)
{
	html_begin(out, "hotcell report");
	buf_fmt(out, "<header><h1>hotcell report <span class=%s>%zu open</span></h1>\n<div class=soft>",
		findings->count ? "escaped" : "held", findings->count);
	html_date(out, findings->now > 0 ? (uint64_t)findings->now * 1000 : 0);
	buf_fmt(out, "</div>\n<nav>%s<a href=\"#functions\">Functions</a></nav>\n",
		findings->count ? "<a href=\"#findings\">Findings</a>" : "");
	put_tiles(histories, findings->count, out);
	buf_str(out, "</header>\n<main>\n");
	if (findings->count)
		findings_html_section(findings, out);
	functions_html_section(histories, findings, out);
	buf_str(out, "</main>\n<footer>Made by hotcell " HOTCELL_VERSION
		     ". That nothing more was found is no proof that there is nothing.</footer>\n</body></html>\n");
}
