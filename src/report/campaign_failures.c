/* The runs that failed, with the ends of their logs. What is in a session's folder was made by a
 * hostile run: links are not followed, FIFOs not waited for, and no more is read than is shown. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "report/campaign_private.h"
#include "redact/redact.h"

#define OPEN_DETAILS 3

/* The last bytes of a regular file; how long it is, or 0 where there is none. */
static uint64_t tail_read(int dir, const char *name, char tail[REPORT_TAIL], size_t *ret_len)
{
	own(fd_closep) int fd = beneath_try(dir, name, O_RDONLY, 0);
	struct stat st;

	*ret_len = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
		return 0;
	off_t from = st.st_size > REPORT_TAIL ? st.st_size - REPORT_TAIL : 0;
	ssize_t got = pread(fd, tail, REPORT_TAIL, from);
	*ret_len = got > 0 ? (size_t)got : 0;
	return (uint64_t)st.st_size;
}

/* Where it was cut, the rest of a line, if it is near, or else of a word is dropped: that of a key would not be known as one. */
static size_t clean_start(const char *tail, size_t len)
{
	const char *line = memchr(tail, '\n', len < 256 ? len : 256);
	const char *word = memchr(tail, ' ', len < 256 ? len : 256);
	size_t at = 0;

	if (line && line + 1 < tail + len)
		return (size_t)(line + 1 - tail);
	if (word)
		return (size_t)(word + 1 - tail);
	while (at < len && at < 4 && ((unsigned char)tail[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static bool put_tail(struct buf *out, int dir, const char *name)
{
	char tail[REPORT_TAIL];
	size_t len;
	own(buf_done) struct buf shown = {0};
	uint64_t size = tail_read(dir, name, tail, &len);

	if (len == 0)
		return false;
	size_t from = size > len ? clean_start(tail, len) : 0;
	buf_fmt(out, "<div class=note>%s", name);
	if (size > len) {
		buf_str(out, ", the end of ");
		html_size(out, size);
	}
	buf_str(out, "</div>\n<div class=tail><pre>\n");
	redact_show(NULL, REDACT_ALL, tail + from, len - from, &shown); /* known values are not in a log */
	html_log(out, buf_text(&shown), shown.len);
	buf_str(out, "</pre></div>\n");
	return true;
}

static void put_tails(struct buf *out, const struct report *report, const char *session)
{
	own(fd_closep) int dir =
		report->sessions < 0 ? -1 : beneath_try(report->sessions, session, O_RDONLY | O_DIRECTORY, 0);

	if (dir < 0) {
		buf_str(out, "<p class=note>Its folder is not there any more.</p>\n");
		return;
	}
	bool any = put_tail(out, dir, "stderr.log");
	any = put_tail(out, dir, "stdout.log") || any;
	if (!any)
		buf_str(out, "<p class=note>It printed nothing.</p>\n");
}

static void put_failure(
	struct buf *out, const struct report *report, const struct run_record *run, bool open)
{
	const struct campaign_record *campaign = &report->status->campaign;
	own(buf_done) struct buf line = {0};
	char session[24];

	(void)plan_session_name(campaign->plan.runs, run->number, session, sizeof(session));
	view_ended(session, run, campaign->timeout_ms, &line);
	buf_fmt(out, "<details class=%s%s><summary><b>", report_class((uint8_t)run->state),
		open ? " open" : "");
	html_text(out, buf_text(&line));
	buf_str(out, "</b> <span class=soft>after ");
	html_duration(out, run->wall_ns);
	buf_str(out, "</span></summary>\n<p class=note>Folder ");
	html_session(out, report, run->number);
	buf_fmt(out, ", seed %" PRIu64 ", attempt %u, worker %u, memory at most ", run->seed,
		run->attempt, run->worker);
	html_size(out, run->peak_memory);
	if (run->refused > 0)
		buf_fmt(out, ", %" PRIu64 " system calls refused", run->refused);
	buf_str(out, ".</p>\n");
	put_tails(out, report, session);
	buf_str(out, "</details>\n");
}

static void put_causes(struct buf *out, const struct report *report)
{
	uint64_t failed = report->states[RUN_ERROR] + report->states[RUN_TIMEOUT];

	buf_str(out,
		"<table><tr><th>Cause</th><th class=n>Runs</th><th class=n>Of all failures</th>"
		"<th class=n>First</th></tr>\n");
	for (size_t i = 0; i < report->cause_count; i++) {
		buf_str(out, "<tr><td>");
		html_text(out, report->causes[i].text);
		buf_str(out, "</td><td class=n>");
		html_count(out, report->causes[i].count);
		buf_str(out, "</td><td class=n>");
		html_percent(out, report->causes[i].count, failed);
		buf_str(out, "</td><td class=n>");
		html_session(out, report, report->causes[i].example);
		buf_str(out, "</td></tr>\n");
	}
	if (report->causes_beyond > 0) {
		buf_str(out, "<tr><td>other causes</td><td class=n>");
		html_count(out, report->causes_beyond);
		buf_str(out, "</td><td class=n></td><td></td></tr>\n");
	}
	buf_str(out, "</table>\n");
}

void report_failures(const struct report *report, struct buf *out)
{
	uint64_t failed = report->states[RUN_ERROR] + report->states[RUN_TIMEOUT];

	if (failed == 0) {
		buf_str(out, "<p>None.</p>\n");
		return;
	}
	put_causes(out, report);
	buf_str(out, "<p class=note></p>\n");
	for (size_t i = 0; i < report->failure_count; i++)
		put_failure(out, report, &report->failures[i], i < OPEN_DETAILS);
	if (failed > report->failure_count) {
		buf_str(out, "<p class=note>And ");
		html_count(out, failed - report->failure_count);
		buf_str(out, " more. All of them: <code>hotcell campaign show ");
		html_text(out, report->status->campaign.name);
		buf_str(out, "</code>.</p>\n");
	}
}
