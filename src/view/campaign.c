/* Lines are built from parts. A part that does not fit is left out or cut, so no line is ever too
 * wide: one that wraps would make the redraw of all lines above it miss its place. */
#include "view/campaign.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "base/utf8.h"
#include "door/policy/totals.h"

#define DEFAULT_COLUMNS 80
#define DEFAULT_ROWS 24
#define NARROW 60 /* below this, words give way to signs */
#define BAR_MIN 16
#define BAR_MAX 60
#define TIME_BAR 12
#define SPARK_SECONDS 60
#define FOREIGN_MAX 400 /* bytes shown of a text that is not ours */

#define BOLD "1"
#define DIM "90"
#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define BLUE "34"

/* ---- parts of lines ---- */

struct page {
	struct buf *out;
	unsigned columns;
	unsigned left; /* lines that may still be written */
	unsigned used; /* columns of the current line */
	bool color;
};

/* Of our own text every character has one column. In a text that is not ours anything that could be
 * wide counts as two, since terminals do not agree about it. */
static unsigned char_width(const char *at, int size, bool foreign)
{
	return foreign && (size == 4 || (size == 3 && (unsigned char)at[0] >= 0xe1)) ? 2 : 1;
}

/* How many bytes of it fit into so many columns, and how many columns those are. */
static size_t text_fit(const char *text, unsigned columns, bool foreign, unsigned *ret_width)
{
	size_t at = 0, len = strlen(text);

	*ret_width = 0;
	while (at < len) {
		int size = utf8_char(text + at, len - at);
		unsigned width = char_width(text + at, size, foreign);
		if (*ret_width + width > columns)
			break;
		*ret_width += width;
		at += size > 0 ? (size_t)size : 1;
	}
	return at;
}

static unsigned text_width(const char *text, bool foreign)
{
	unsigned width;

	(void)text_fit(text, UINT_MAX, foreign, &width);
	return width;
}

static unsigned room(const struct page *page)
{
	return page->columns - page->used;
}

/* Adds it, cut with an ellipsis where it does not fit. */
static void put_cut(struct page *page, const char *style, const char *text, bool foreign)
{
	unsigned width = text_width(text, foreign);
	bool whole = width <= room(page);
	size_t bytes = strlen(text);

	if (room(page) == 0 || bytes == 0)
		return;
	if (!whole)
		bytes = text_fit(text, room(page) - 1, foreign, &width);
	if (page->color && style)
		buf_fmt(page->out, "\033[%sm", style);
	buf_add(page->out, text, bytes);
	if (!whole)
		buf_str(page->out, "…");
	if (page->color && style)
		buf_str(page->out, "\033[0m");
	page->used += width + !whole;
}

static void put(struct page *page, const char *style, const char *text)
{
	put_cut(page, style, text, false);
}

static void put_foreign(struct page *page, const char *style, const char *text)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), FOREIGN_MAX, &shown);
	put_cut(page, style, buf_text(&shown), true);
}

/* Two spaces and the text, or nothing if that does not fit. */
static void PRINTF_LIKE(3, 4)
	put_part(struct page *page, const char *style, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	unsigned gap = page->used > 0 ? 2 : 0;
	if (gap + text_width(text, false) > room(page))
		return;
	put(page, NULL, gap > 0 ? "  " : "");
	put(page, style, text);
}

static void put_repeated(struct page *page, const char *style, const char *text, uint64_t times)
{
	own(buf_done) struct buf line = {0};

	for (uint64_t i = 0; i < times && i < page->columns; i++)
		buf_str(&line, text);
	put(page, style, buf_text(&line));
}

static void line_end(struct page *page)
{
	buf_char(page->out, '\n');
	page->used = 0;
	page->left--;
}

/* ---- numbers for people ---- */

static char *time_text(uint64_t ms, char *ret, size_t len)
{
	if (ms < 59950)
		(void)snprintf(ret, len, "%" PRIu64 ".%" PRIu64 "s", (ms + 50) / 1000,
			(ms + 50) / 100 % 10);
	else
		(void)duration_text(
			ms < UINT64_MAX / NS_PER_MS ? ms * NS_PER_MS : UINT64_MAX, ret, len);
	return ret;
}

/* 1000, but 10,000. */
static char *count_text(uint64_t count, char *ret, size_t len)
{
	char digits[24];
	size_t used = 0, total = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (size_t i = 0; i < total && used + 2 < len; i++) {
		if (i > 0 && total > 4 && (total - i) % 3 == 0)
			ret[used++] = ',';
		ret[used++] = digits[i];
	}
	ret[used] = '\0';
	return ret;
}

static char *rate_text(double per_s, char *ret, size_t len)
{
	static const struct {
		double scale;
		const char *unit;
	} units[] = {{1, "s"}, {60, "min"}, {3600, "h"}};
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(units) && per_s * units[i].scale < 1)
		i++;
	double rate = per_s * units[i].scale;
	(void)snprintf(ret, len, rate < 100 ? "%.1f/%s" : "%.0f/%s", rate, units[i].unit);
	return ret;
}

/* Cut, not rounded: 100% is when all are done. */
static char *percent_text(uint64_t part, uint64_t whole, char *ret, size_t len)
{
	unsigned permille = whole == 0 || part >= whole
		? 1000
		: (unsigned)((double)part / (double)whole * 1000);

	if (whole >= 1000)
		(void)snprintf(ret, len, "%u.%u%%", permille / 10, permille % 10);
	else
		(void)snprintf(ret, len, "%u%%", permille / 10);
	return ret;
}

/* ---- the head: what it is, how far, how well ---- */

static const char *state_style(const struct campaign_status *status)
{
	static const char *const styles[CAMPAIGN_STATE_COUNT] = {
		[CAMPAIGN_RUNNING] = GREEN,
		[CAMPAIGN_PAUSED] = YELLOW,
		[CAMPAIGN_STOPPED] = YELLOW,
		[CAMPAIGN_DONE] = GREEN,
		[CAMPAIGN_FAILED] = RED,
	};
	enum campaign_state state = status->campaign.state;

	return state == CAMPAIGN_RUNNING && !status->held ? YELLOW : styles[state];
}

static void put_title(struct page *page, const struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;
	char elapsed[32], silent[32];

	if (page->left == 0)
		return;
	put_foreign(page, BOLD, campaign->name ? campaign->name : "?");
	put_part(page, state_style(status), "%s", status_word(status));
	put_part(page, NULL, "%s", time_text(campaign->active_ms, elapsed, sizeof(elapsed)));
	if (status->held && status->live.at_ms != 0 && !status_fresh(status))
		put_part(page, YELLOW, "no news for %s",
			time_text(status->now_ms - status->live.at_ms, silent, sizeof(silent)));
	if (campaign->note && campaign->note[0] && room(page) > 8) {
		put(page, NULL, "  ");
		put_foreign(page, DIM, campaign->note);
	}
	line_end(page);
}

/* The width in proportion, the parts one after the other: each part's end is rounded, not its
 * length. */
static void put_bar(struct page *page, const struct campaign_status *status, unsigned width)
{
	static const struct {
		enum run_state state;
		const char *style;
	} parts[] = {{RUN_SUCCESS, GREEN}, {RUN_ERROR, RED}, {RUN_TIMEOUT, YELLOW}};
	uint64_t runs = status->campaign.plan.runs, sum = 0;
	unsigned done = 0;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		sum += status->campaign.sums.state[parts[i].state];
		uint64_t end = runs == 0 || sum >= runs
			? width
			: (uint64_t)((double)sum / (double)runs * width);
		put_repeated(page, parts[i].style, page->color ? "━" : "█", end - done);
		done = (unsigned)end;
	}
	put_repeated(page, DIM, page->color ? "━" : "░", width - done);
}

static void put_numbers(struct page *page, const struct campaign_status *status, bool percent)
{
	uint64_t runs = status->campaign.plan.runs;
	char done[32], all[32], text[32];

	if (percent)
		put_part(
			page, BOLD, "%s", percent_text(status->complete, runs, text, sizeof(text)));
	put_part(page, NULL, "%s/%s", count_text(status->complete, done, sizeof(done)),
		count_text(runs, all, sizeof(all)));
	if (status->rate > 0)
		put_part(page, NULL, "%s", rate_text(status->rate, text, sizeof(text)));
	if (status->eta_ms > 0)
		put_part(page, NULL, "ETA %s", time_text(status->eta_ms, text, sizeof(text)));
}

static unsigned numbers_width(const struct campaign_status *status)
{
	own(buf_done) struct buf out = {0};
	struct page page = {.out = &out, .columns = 200, .left = 1};

	put_numbers(&page, status, true);
	return page.used;
}

/* One line, or two where that would leave no bar to speak of. */
static void put_progress(struct page *page, const struct campaign_status *status)
{
	unsigned numbers = numbers_width(status) + 2;
	bool beside = page->columns >= numbers + BAR_MIN;
	unsigned bar = beside ? page->columns - numbers : page->columns > 9 ? page->columns - 9 : 0;
	char percent[32];

	if (page->left == 0)
		return;
	if (beside || page->left >= 3) {
		put_bar(page, status, bar < BAR_MAX ? bar : BAR_MAX);
		if (!beside) {
			put_part(page, BOLD, "%s",
				percent_text(status->complete, status->campaign.plan.runs, percent,
					sizeof(percent)));
			line_end(page);
		}
	}
	put_numbers(page, status, beside || page->left < 3);
	line_end(page);
}

static void put_outcomes(struct page *page, const struct campaign_status *status)
{
	const struct campaign_sums *sums = &status->campaign.sums;
	bool narrow = page->columns < NARROW;
	const struct {
		const char *sign, *word, *style;
		uint64_t count;
		bool always;
	} parts[] = {
		{"✓", "", GREEN, sums->state[RUN_SUCCESS], true},
		{"✗", "", RED, sums->state[RUN_ERROR], true},
		{"⏱", "", YELLOW, sums->state[RUN_TIMEOUT], true},
		{"▶", " running", NULL, status->running, status->held},
		{"↻", " retried", BLUE, sums->retried, false},
		{"⊘", " cancelled", BLUE, sums->cancelled, false},
	};
	char count[32];

	if (page->left == 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i].count > 0 || parts[i].always)
			put_part(page, parts[i].count > 0 ? parts[i].style : DIM, "%s %s%s",
				parts[i].sign, count_text(parts[i].count, count, sizeof(count)),
				narrow ? "" : parts[i].word);
	line_end(page);
}

/* What passed the doors; nothing where nothing came to one. */
static void put_network(struct page *page, const struct campaign_status *status)
{
	const uint64_t *count = status->campaign.sums.network.count;
	const char *budget = status->campaign.budget ? status->campaign.budget : "";
	char text[32], more[32];

	if (page->left == 0 || (!network_used(&status->campaign.sums.network) && !budget[0]))
		return;
	put_part(page, NULL, "doors");
	put_part(page, NULL, "%s requests", count_text(count[COUNT_REQUESTS], text, sizeof(text)));
	put_part(page, count[COUNT_REFUSED] > 0 ? YELLOW : DIM, "%s refused", count_text(count[COUNT_REFUSED], text, sizeof(text)));
	put_part(page, NULL, "↑ %s ↓ %s", size_text(count[COUNT_SENT], text, sizeof(text)),
		size_text(count[COUNT_RECEIVED], more, sizeof(more)));
	if (count[COUNT_TOKENS_IN] > 0 || count[COUNT_MICRODOLLARS] > 0)
		put_part(page, NULL, "%s", network_dollars(count[COUNT_MICRODOLLARS], text, sizeof(text)));
	if (count[COUNT_UNPRICED] > 0)
		put_part(page, YELLOW, "%s estimated", count_text(count[COUNT_UNPRICED], text, sizeof(text)));
	if (budget[0])
		put_part(page, DIM, "budget %s", budget);
	line_end(page);
}

/* ---- while it works ---- */

static void put_load(struct page *page, const struct campaign_status *status)
{
	own(buf_done) struct buf spark = {0};
	const struct ledger_live *live = &status->live;
	char memory[16];

	if (page->left == 0 || !status_fresh(status))
		return;
	put_part(page, NULL, "memory %s", size_text(live->memory, memory, sizeof(memory)));
	put_part(page, NULL, "cpu %" PRIu64 ".%" PRIu64, live->cpu_milli / 1000,
		live->cpu_milli / 100 % 10);
	unsigned fits = room(page) > 2 ? room(page) - 2 : 0;
	size_t seconds = fits < SPARK_SECONDS ? fits : SPARK_SECONDS;
	if (seconds >= 8) {
		view_sparkline(live->done + LEDGER_HEARTBEATS - seconds, seconds, &spark);
		put(page, NULL, "  ");
		put(page, BLUE, buf_text(&spark));
	}
	line_end(page);
}

static void put_time_bar(struct page *page, uint64_t ms, uint64_t limit_ms)
{
	unsigned used =
		ms >= limit_ms ? TIME_BAR : (unsigned)((double)ms / (double)limit_ms * TIME_BAR);
	bool late = ms / 4 >= limit_ms / 5;

	put(page, NULL, "  ");
	put_repeated(page, late ? YELLOW : BLUE, page->color ? "━" : "█", used);
	put_repeated(page, DIM, page->color ? "━" : "░", TIME_BAR - used);
}

static void put_worker(
	struct page *page, const struct campaign_status *status, const struct ledger_worker *worker)
{
	uint64_t ms = status->now_ms > worker->since_ms ? status->now_ms - worker->since_ms : 0;
	uint64_t limit_ms = status->campaign.timeout_ms;
	char session[24], text[48], part[64], memory[16];

	(void)snprintf(part, sizeof(part), "%4u  ", worker->worker);
	put(page, DIM, part);
	if (worker->number == 0) {
		put(page, DIM, "idle");
		line_end(page);
		return;
	}
	(void)snprintf(part, sizeof(part), "[%s]",
		plan_session_name(
			status->campaign.plan.runs, worker->number, session, sizeof(session)));
	put(page, NULL, part);
	(void)snprintf(part, sizeof(part), "%9s", time_text(ms, text, sizeof(text)));
	put(page, NULL, part);
	(void)snprintf(part, sizeof(part), "%9s",
		worker->memory > 0 ? size_text(worker->memory, memory, sizeof(memory)) : "");
	put(page, DIM, part);
	if (limit_ms > 0 && page->columns >= NARROW)
		put_time_bar(page, ms, limit_ms);
	line_end(page);
}

static void put_workers(struct page *page, const struct campaign_status *status, unsigned lines)
{
	size_t count = status->live.worker_count;
	size_t shown = count <= lines ? count : lines - 1;
	char more[48];

	for (size_t i = 0; i < shown; i++)
		put_worker(page, status, &status->live.workers[i]);
	if (shown < count) {
		(void)snprintf(more, sizeof(more), "... and %zu more", count - shown);
		put(page, DIM, more);
		line_end(page);
	}
}

/* ---- the whole ---- */

static void put_grid(struct page *page, const struct view_look *look)
{
	own(buf_done) struct buf lines = {0};

	if (page->left < 2)
		return;
	line_end(page);
	view_grid(look->grid, look->grid_count, page->columns, page->left, page->color, &lines);
	buf_str(page->out, buf_text(&lines));
	page->left = 0;
}

/* Workers first; where there are more than fit, the grid keeps a quarter of the room. */
static void put_middle(
	struct page *page, const struct campaign_status *status, const struct view_look *look)
{
	size_t workers = status->held ? status->live.worker_count : 0;
	bool grid = look->grid && look->grid_count > 0;

	if (workers > 0 && page->left >= 2) {
		unsigned lines = page->left;
		if (lines >= 5) {
			line_end(page);
			lines--;
		}
		put_workers(page, status,
			grid && workers > lines && lines >= 8 ? lines - lines / 4 : lines);
	}
	if (grid)
		put_grid(page, look);
}

static void put_alerts(struct page *page, const char *alerts)
{
	own(buf_done) struct buf line = {0};

	buf_str(&line, "! ");
	for (const char *at = alerts; *at; at++) {
		buf_char(&line, *at);
		if (*at == ',')
			buf_char(&line, ' ');
	}
	put_foreign(page, "1;31", buf_text(&line));
	line_end(page);
}

void view_status(
	const struct campaign_status *status, const struct view_look *look, struct buf *out)
{
	unsigned lines = (look->rows > 0 ? look->rows : DEFAULT_ROWS) - 1;
	const char *alerts = status->held && status->live.alerts ? status->live.alerts : "";
	unsigned foot = (alerts[0] != '\0') + (look->message != NULL);

	foot = foot < lines ? foot : lines > 0 ? lines - 1 : 0;
	struct page page = {
		.out = out,
		.columns = look->columns > 0 ? look->columns : DEFAULT_COLUMNS,
		.left = lines - foot,
		.color = look->color,
	};
	put_title(&page, status);
	put_progress(&page, status);
	put_outcomes(&page, status);
	put_network(&page, status);
	put_load(&page, status);
	put_middle(&page, status, look);
	page.left = foot;
	if (alerts[0] && page.left > 0)
		put_alerts(&page, alerts);
	if (look->message && page.left > 0) {
		put_foreign(&page, NULL, look->message);
		line_end(&page);
	}
}
