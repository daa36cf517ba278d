/* The page: one string, from top to bottom. */
#include "report/campaign.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "report/campaign_private.h"
#include "campaign/session.h"

/* ---- where the sessions are ---- */

/* How to get from one absolute folder to another, both without "..", links and double slashes. */
static char *relative_path(const char *from, const char *to)
{
	own(buf_done) struct buf path = {0};
	size_t same = 0;

	for (size_t i = 0;; i++) {
		bool from_ends = from[i] == '/' || !from[i], to_ends = to[i] == '/' || !to[i];
		if (from_ends && to_ends)
			same = i;
		if (from[i] != to[i] || !from[i])
			break;
	}
	for (const char *at = from + same; *at; at++)
		if (*at == '/' && at[1])
			buf_str(&path, "../");
	buf_str(&path, to[same] == '/' ? to + same + 1 : to + same);
	return buf_take(&path);
}

static char *sessions_from(const char *page, const char *output)
{
	own(freep) char *copy = page ? xstrdup(page) : NULL;
	own(freep) char *folder = copy ? realpath(dirname(copy), NULL) : NULL;
	own(freep) char *sessions = realpath(output, NULL);

	if (!folder || !sessions)
		return xstrdup(sessions ? sessions : output);
	return relative_path(strcmp(folder, "/") == 0 ? "" : folder, sessions);
}

static void set_links(struct report *report, const char *page)
{
	const char *output = report->status->campaign.output ? report->status->campaign.output : "";
	own(freep) char *path = sessions_from(page, output);
	own(buf_done) struct buf links = {0};

	html_path(&links, path);
	if (links.len > 0 && links.data[links.len - 1] != '/')
		buf_char(&links, '/');
	report->links = links.data ? buf_take(&links) : xstrdup("");
	struct err none; /* then its parts say that they are not there */
	report->sessions = sessions_folder(output, false, &none);
}

void html_session(struct buf *out, const struct report *report, uint64_t number)
{
	char name[24];

	(void)plan_session_name(report->status->campaign.plan.runs, number, name, sizeof(name));
	buf_fmt(out, "<a href=\"%s%s/\">%s</a>", report->links, name, name);
}

const char *report_class(uint8_t state)
{
	return state < RUN_STATE_COUNT ? run_state_names[state] : "idle";
}

/* ---- the head ---- */

static void put_words(struct buf *out, const char *words, size_t len)
{
	for (size_t at = 0; words && at < len;) {
		size_t word = strnlen(words + at, len - at);
		buf_char(out, ' ');
		html_shell(out, words + at, word);
		at += word + 1;
	}
}

static void put_bar(struct buf *out, const struct campaign_status *status)
{
	static const enum run_state order[] = {RUN_SUCCESS, RUN_ERROR, RUN_TIMEOUT};
	double x = 0, runs = (double)status->campaign.plan.runs;

	buf_str(out,
		"<div class=bar><svg viewBox=\"0 0 1000 8\" preserveAspectRatio=none aria-hidden=true>");
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		double width =
			runs > 0 ? (double)status->campaign.sums.state[order[i]] / runs * 1000 : 0;
		if (width <= 0)
			continue;
		width = width < 2 ? 2 : width;
		buf_fmt(out, "<rect class=%s x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"8\"/>",
			report_class((uint8_t)order[i]), x, width);
		x += width;
	}
	buf_str(out, "</svg></div>\n");
}

static void put_tile(
	struct buf *out, const char *class, const char *word, uint64_t count, uint64_t runs)
{
	buf_fmt(out, "<div class=%s><b>", class);
	html_count(out, count);
	buf_fmt(out, "</b><small>%s, ", word);
	html_percent(out, count, runs);
	buf_str(out, "</small></div>\n");
}

static void put_tiles(struct buf *out, const struct campaign_status *status)
{
	const uint64_t *states = status->campaign.sums.state;
	uint64_t runs = status->campaign.plan.runs;

	buf_str(out, "<div class=tiles>\n");
	put_tile(out, "success", "succeeded", states[RUN_SUCCESS], runs);
	put_tile(out, "error", "failed", states[RUN_ERROR], runs);
	put_tile(out, "timeout", "timed out", states[RUN_TIMEOUT], runs);
	if (status->running > 0)
		put_tile(out, "running", "running", status->running, runs);
	put_tile(out, "idle", "to do",
		status->left > status->running ? status->left - status->running : 0, runs);
	buf_str(out, "</div>\n");
}

static void put_header(struct buf *out, const struct campaign_status *status, const struct report_more *more)
{
	const struct campaign_record *campaign = &status->campaign;

	buf_str(out, "<header><h1>");
	html_text(out, campaign->name);
	buf_fmt(out, " <span class=%s>%s</span></h1>\n<div class=soft>", status_word(status),
		status_word(status));
	html_count(out, status->complete);
	buf_str(out, " of ");
	html_count(out, campaign->plan.runs);
	buf_str(out, " runs complete, begun ");
	html_date(out, campaign->created_ms);
	if (campaign->ended_ms > 0) {
		buf_str(out, ", ended ");
		html_date(out, campaign->ended_ms);
	}
	buf_str(out, ", at work for ");
	html_duration(out, campaign->active_ms * NS_PER_MS);
	buf_str(out, ".");
	if (campaign->note && campaign->note[0]) {
		buf_char(out, ' ');
		html_text(out, campaign->note);
	}
	buf_str(out,
		"</div>\n<nav>");
	if (more->findings)
		buf_str(out, "<a href=\"#findings\">Findings</a>");
	if (more->functions)
		buf_str(out, "<a href=\"#functions\">Functions</a>");
	buf_str(out,
		"<a href=\"#sessions\">Sessions</a><a href=\"#durations\">Durations</a>"
		"<a href=\"#timeline\">Timeline</a><a href=\"#slowest\">Slowest</a><a href=\"#failures\">Failures</a>"
		"<a href=\"#network\">Network</a><a href=\"#numbers\">Numbers</a><a href=\"#again\">Run one again</a></nav>\n");
	put_bar(out, status);
	put_tiles(out, status);
	buf_str(out, "</header>\n");
}

/* ---- sections ---- */

static void section(struct buf *out, const char *id, const char *title)
{
	buf_fmt(out, "<section id=%s><h2>%s</h2>\n", id, title);
}

static void put_sessions(struct buf *out, const struct report *report)
{
	static const uint8_t states[] = {
		RUN_SUCCESS, RUN_ERROR, RUN_TIMEOUT, RUN_RUNNING, RUN_AGAIN, RUN_NOT_BEGUN};
	static const char *const words[] = {
		"success", "error", "timeout", "running", "to be done again", "not begun"};

	section(out, "sessions", "Sessions");
	buf_str(out, "<div class=legend>");
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		buf_fmt(out, "<span><i class=%s></i>%s</span>", report_class(states[i]), words[i]);
	buf_str(out, "</div>\n");
	report_squares(report, out);
	buf_str(out, "<p class=note>");
	if (report->square_count < report->status->campaign.plan.runs)
		buf_fmt(out,
			"There are more than %d runs: each square is several neighbours, with the colour of the worst, "
			"and leads to that one's folder.",
			REPORT_SQUARES);
	else
		buf_str(out, "Each square is a run and leads to its folder.");
	buf_str(out, "</p>\n</section>\n");
}

static void put_durations(struct buf *out, const struct report *report)
{
	const struct report_durations *durations = report->durations;
	static const struct {
		const char *word;
		unsigned permille;
	} marks[] = {{"half within", 500}, {"90% within", 900}, {"99% within", 990}};

	section(out, "durations", "Durations");
	report_histogram(report, out);
	if (durations->count > 0) {
		buf_str(out, "<p>Shortest ");
		html_duration(out, durations->min_ns);
		for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
			buf_fmt(out, ", %s ", marks[i].word);
			html_duration(out, report_percentile(durations, marks[i].permille));
		}
		buf_str(out, ", longest ");
		html_duration(out, durations->max_ns);
		buf_str(out, "; mean ");
		html_duration(out, durations->sum_ns / durations->count);
		buf_str(out, ".</p>\n");
	}
	buf_str(out, "</section>\n");
}

static void put_slow(struct buf *out, const struct report *report, const struct run_record *run)
{
	buf_str(out, "<tr><td>");
	html_session(out, report, run->number);
	buf_fmt(out, "</td><td class=%s>", report_class((uint8_t)run->state));
	html_text(out,
		run->cause && run->state != RUN_SUCCESS ? run->cause : run_state_names[run->state]);
	buf_str(out, "</td><td class=n>");
	html_duration(out, run->wall_ns);
	buf_str(out, "</td><td class=n>");
	html_duration(out, (run->user_us + run->system_us) * 1000);
	buf_str(out, "</td><td class=n>");
	html_size(out, run->peak_memory);
	buf_fmt(out, "</td><td class=\"n wide-only\">%" PRIu64 "</td></tr>\n", run->seed);
}

static void put_slowest(struct buf *out, const struct report *report)
{
	section(out, "slowest", "Slowest");
	if (report->slowest_count == 0) {
		buf_str(out, "<p>No run has ended yet.</p>\n</section>\n");
		return;
	}
	buf_str(out,
		"<table><tr><th>Run</th><th>Outcome</th><th class=n>Time</th><th class=n>CPU</th>"
		"<th class=n>Memory</th><th class=\"n wide-only\">Seed</th></tr>\n");
	for (size_t i = 0; i < report->slowest_count; i++)
		put_slow(out, report, &report->slowest[i]);
	buf_str(out, "</table>\n</section>\n");
}

/* ---- numbers ---- */

static void row(struct buf *out, const char *what)
{
	buf_fmt(out, "<tr><td class=k>%s</td><td class=n>", what);
}

static void count_row(struct buf *out, const char *what, uint64_t count)
{
	row(out, what);
	html_count(out, count);
	buf_str(out, "</td></tr>\n");
}

static void size_row(struct buf *out, const char *what, uint64_t bytes)
{
	row(out, what);
	html_size(out, bytes);
	buf_str(out, "</td></tr>\n");
}

static void time_row(struct buf *out, const char *what, uint64_t ns)
{
	row(out, what);
	html_duration(out, ns);
	buf_str(out, "</td></tr>\n");
}

static void put_cell_rows(struct buf *out, const struct campaign_sums *sums)
{
	count_row(out, "Cells tried, those of retries too", sums->cells);
	count_row(out, "Cells that could not be made, or were lost", sums->cell_failures);
	count_row(out, "Timeouts", sums->outcome[CELL_TIMEOUT]);
	count_row(out, "Out of memory", sums->outcome[CELL_OOM]);
	count_row(out, "Processes killed for memory", sums->oom_kills);
	count_row(out, "Ended by a signal", sums->outcome[CELL_SIGNALED]);
	count_row(out, "Too much output", sums->outcome[CELL_OUTPUT_LIMIT]);
	count_row(out, "Scratch space full", sums->outcome[CELL_DISK_LIMIT]);
	count_row(out, "Ended by the system call filter", sums->outcome[CELL_DENIED]);
	count_row(out, "Cancelled", sums->cancelled);
	count_row(out, "Retries", sums->retried);
	count_row(out, "Cells of which something was left", sums->cleanup_failures);
	count_row(out, "Leftovers of dead supervisors", sums->orphans);
}

static void put_use_rows(struct buf *out, const struct report *report)
{
	const struct campaign_sums *sums = &report->status->campaign.sums;
	uint64_t lived = status_lived(sums), each = lived > 0 ? lived : 1;
	uint64_t ended = report->durations->count > 0 ? report->durations->count : 1;

	time_row(out, "Mean lifetime of a cell", sums->wall_ns / each);
	time_row(out, "Mean time to make one", report->setup_ns / ended);
	time_row(out, "CPU in all", (sums->user_us + sums->system_us) * 1000);
	time_row(out, "CPU of a cell, mean", (sums->user_us + sums->system_us) * 1000 / each);
	size_row(out, "Memory of a cell at its most, mean", sums->peak_sum / each);
	size_row(out, "Memory of a cell at its most, largest", sums->peak_max);
	size_row(out, "Memory a cell may have", report->status->campaign.memory_limit);
	size_row(out, "Written to scratch space", sums->written_bytes);
	size_row(out, "Written by a cell, mean", sums->written_bytes / each);
	size_row(out, "Printed to stdout", report->stdout_bytes);
	size_row(out, "Printed to stderr", report->stderr_bytes);
	count_row(out, "System calls refused", report->refused);
}

static void put_numbers(struct buf *out, const struct report *report)
{
	const struct campaign_sums *sums = &report->status->campaign.sums;

	section(out, "numbers", "Numbers");
	buf_str(out, "<div class=two><table>\n");
	put_cell_rows(out, sums);
	buf_str(out, "</table><table>\n");
	put_use_rows(out, report);
	buf_str(out, "</table></div>\n<p>");
	if (sums->weaker > 0) {
		buf_str(out, "<b>");
		html_count(out, sums->weaker);
		buf_str(out, " of ");
		html_count(out, sums->cells);
		buf_str(out,
			" cells lacked a protection.</b> Which one is in the receipt of each run&#39;s "
			"<code>result.json</code>; <code>hotcell doctor</code> says how this machine could have it.");
	} else {
		buf_str(out,
			"Every cell had every protection; the receipts are in each run&#39;s <code>result.json</code>.");
	}
	buf_str(out, "</p>\n</section>\n");
}

/* ---- how to do it again ---- */

/* What says how runs are made many, not what one is. */
static bool is_of_campaign(const char *word, size_t len)
{
	static const char *const names[] = {"--runs", "--workers", "--name", "--seed", "--retries",
		"--rate", "--stop-after-failures", "--output", "--alert", "--on-alert",
		"--timeout", "--budget", "--run-budget", "--network-record"};
	const char *equals = memchr(word, '=', len);
	size_t name = equals ? (size_t)(equals - word) : len;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == name && memcmp(names[i], word, name) == 0)
			return true;
	return false;
}

/* A campaign answers from a folder of sessions, a run from one of them. */
static void put_replay(struct buf *out, const struct campaign_record *campaign, const char *word, size_t len, uint64_t number)
{
	char session[24];
	own(freep) char *mine =
		xfmt("%.*s/%s", (int)len, word, plan_session_name(campaign->plan.runs, number, session, sizeof(session)));

	buf_char(out, ' ');
	html_shell(out, mine, strlen(mine));
}

static void put_run_line(
	struct buf *out, const struct campaign_record *campaign, uint64_t number, uint64_t seed)
{
	bool options = true;

	buf_str(out, "cd ");
	html_shell(
		out, campaign->cwd ? campaign->cwd : "", campaign->cwd ? strlen(campaign->cwd) : 0);
	bool seconds = campaign->timeout_ms % 1000 == 0;
	buf_fmt(out, " &amp;&amp; hotcell run --timeout=%" PRIu64 "%s",
		campaign->timeout_ms / (seconds ? 1000 : 1), seconds ? "s" : "ms");
	buf_fmt(out,
		" --env=HOTCELL_RUN=%" PRIu64 " --env=HOTCELL_SEED=%" PRIu64
		" --env=HOTCELL_CAMPAIGN=",
		number, seed);
	html_text(out, campaign->name);
	size_t shown_len;
	const char *shown = campaign_record_shown(campaign, &shown_len);
	for (size_t at = 0; shown && at < shown_len;) {
		const char *word = shown + at;
		size_t len = strnlen(word, shown_len - at);
		options = options && !(len == 2 && memcmp(word, "--", 2) == 0);
		if (options && strncmp(word, "--network-replay=", strlen("--network-replay=")) == 0) {
			put_replay(out, campaign, word, len, number);
		} else if (!options || !is_of_campaign(word, len)) {
			buf_char(out, ' ');
			html_shell(out, word, len);
		}
		at += len + 1;
	}
}

static void put_env_names(struct buf *out, const struct campaign_record *campaign)
{
	if (campaign->env_names_len == 0)
		return;
	buf_str(out,
		"<p class=note>Not in this page, nor kept anywhere: the values given with <code>--env</code> for<code>");
	put_words(out, campaign->env_names, campaign->env_names_len);
	buf_str(out, "</code>. Add them.</p>\n");
}

static void put_again(struct buf *out, const struct report *report)
{
	const struct campaign_record *campaign = &report->status->campaign;
	bool failed = report->failure_count > 0;
	uint64_t number = failed ? report->failures[0].number : 1;
	uint64_t seed = failed ? report->failures[0].seed : plan_seed(campaign->plan.seed, 1);

	section(out, "again", "Run one again");
	buf_str(out, "<p>The campaign was started with</p>\n<pre class=line>hotcell campaign run");
	size_t shown_len;
	const char *shown = campaign_record_shown(campaign, &shown_len);
	put_words(out, shown, shown_len);
	buf_fmt(out,
		"</pre>\n<p>and the seed %" PRIu64
		", from which each run&#39;s <code>HOTCELL_SEED</code> derives: the "
		"same campaign and number give the same seed for ever. What run %" PRIu64
		" printed:</p>\n"
		"<pre class=line>hotcell logs ",
		campaign->plan.seed, number);
	html_text(out, campaign->name);
	buf_fmt(out, "/%" PRIu64 "</pre>\n<p>The same run by itself:</p>\n<pre class=line>",
		number);
	put_run_line(out, campaign, number, seed);
	buf_str(out, "</pre>\n");
	put_env_names(out, campaign);
	buf_str(out, "</section>\n");
}

/* ---- the page ---- */

static void put_page(struct buf *out, const struct report *report, const struct report_more *more)
{
	html_begin(out, report->status->campaign.name);
	put_header(out, report->status, more);
	buf_str(out, "<main>\n");
	buf_str(out, more->findings ? more->findings : "");
	buf_str(out, more->functions ? more->functions : "");
	put_sessions(out, report);
	put_durations(out, report);
	section(out, "timeline", "Timeline");
	report_lanes(report, out);
	buf_str(out, "</section>\n");
	put_slowest(out, report);
	section(out, "failures", "Failures");
	report_failures(report, out);
	buf_str(out, "</section>\n");
	section(out, "network", "Network");
	report_network(report, out);
	buf_str(out, "</section>\n");
	put_numbers(out, report);
	put_again(out, report);
	buf_str(out, "</main>\n<footer>Made by hotcell " HOTCELL_VERSION " on ");
	html_date(out, report->status->now_ms);
	buf_str(out, ".</footer>\n</body></html>\n");
}

int report_html_at(struct ledger *ledger, const struct campaign_status *status, const char *page,
	const struct report_more *more, struct buf *out, struct err *err)
{
	static const struct report_more none = {0};
	own(report_done) struct report report = {.status = status, .sessions = -1};

	if (report_gather(&report, ledger, err) < 0)
		return err_wrap(err, "read the runs of campaign '%s'", status->campaign.name);
	set_links(&report, page);
	put_page(out, &report, more ? more : &none);
	return 0;
}

int report_html(struct ledger *ledger, const struct campaign_status *status, struct buf *out,
	struct err *err)
{
	return report_html_at(ledger, status, NULL, NULL, out, err);
}
