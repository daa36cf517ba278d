/* Findings for a terminal: a table of many, and one whole. Whatever was in a capsule is escaped. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/term.h"
#include "view/findings.h"

#define SUBJECT_WIDTH 28
#define MESSAGE_WIDTH 96
#define LINE_SHOWN 4000
#define INPUT_SHOWN 16000
#define LABEL_WIDTH 17

/* ---- many ---- */

static const char *const colors[] = {
	[SEVERITY_NOTE] = "", [SEVERITY_LOW] = "", [SEVERITY_MEDIUM] = "\033[33m", [SEVERITY_HIGH] = "\033[31m",
	[SEVERITY_CRITICAL] = "\033[1;31m",
};
_Static_assert(ARRAY_LEN(colors) == SEVERITY_COUNT, "a severity has no colour");

/* Columns that its characters take; wide ones of some scripts take more, and the table is off by that. */
static size_t columns(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += ((unsigned char)*text & 0xc0) != 0x80;
	return count;
}

static void put_cell(struct buf *out, const char *text, size_t width)
{
	size_t taken = columns(text);

	buf_str(out, text);
	buf_fmt(out, "%*s", (int)(taken < width ? width - taken + 2 : 2), "");
}

static void subject_text(const struct finding *finding, struct buf *ret)
{
	term_line(finding->subject, strlen(finding->subject), SUBJECT_WIDTH - 3, ret);
}

static void put_row(const struct findings *findings, const struct finding *finding, size_t width, struct buf *out)
{
	enum severity severity = finding_severity(finding);
	const char *color = findings->color ? colors[severity] : "";
	own(buf_done) struct buf subject = {0};
	char repro[32];

	subject_text(finding, &subject);
	(void)snprintf(repro, sizeof(repro), "%u/%u", finding->seen, finding->tried);
	buf_str(out, color);
	put_cell(out, severity_name(severity), strlen("SEVERITY"));
	buf_str(out, *color ? "\033[0m" : "");
	put_cell(out, finding->oracle, strlen("output-schema"));
	put_cell(out, buf_text(&subject), width);
	put_cell(out, finding->id, FINDING_ID_LEN);
	put_cell(out, repro, strlen("REPRO"));
	put_cell(out, finding_state_now(finding, findings->now), strlen("suppressed"));
	term_line(finding->message, strlen(finding->message), MESSAGE_WIDTH, out);
	buf_char(out, '\n');
}

static size_t subject_width(const struct findings *findings)
{
	size_t width = strlen("SUBJECT");

	for (size_t i = 0; i < findings->count; i++) {
		own(buf_done) struct buf subject = {0};
		subject_text(findings->list[i], &subject);
		size_t taken = columns(buf_text(&subject));
		width = taken > width ? taken : width;
	}
	return width;
}

void findings_table(const struct findings *findings, struct buf *out)
{
	size_t width = subject_width(findings);

	if (findings->count > 0)
		buf_fmt(out, "%-8s  %-13s  %-*s  %-16s  %-5s  %-10s  %s\n", "SEVERITY", "ORACLE", (int)width, "SUBJECT", "ID", "REPRO",
			"STATE", "MESSAGE");
	for (size_t i = 0; i < findings->count; i++)
		put_row(findings, findings->list[i], width, out);
	findings_summary(findings, out);
	buf_char(out, '\n');
	for (size_t i = 0; findings->gaps && i < findings->gaps->count; i++) {
		buf_str(out, "limitation: ");
		term_line(findings->gaps->items[i], strlen(findings->gaps->items[i]), LINE_SHOWN, out);
		buf_char(out, '\n');
	}
}

/* ---- one ---- */

static void put_label(struct buf *out, const char *label)
{
	buf_fmt(out, "%-*s", LABEL_WIDTH, label);
}

static void put_line(struct buf *out, const char *label, const char *text, size_t max)
{
	size_t len = strlen(text), shown = text_cut(text, max);

	put_label(out, label);
	term_line(text, shown, max * 4, out); /* an escaped byte takes four */
	if (shown < len)
		buf_fmt(out, "... and %zu bytes more, in the capsule", len - shown);
	buf_char(out, '\n');
}

static void put_list(struct buf *out, const char *label, const struct strings *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		put_line(out, i == 0 ? label : "", texts->items[i], LINE_SHOWN);
}

static void put_what(const struct finding *finding, struct buf *out)
{
	const struct finding_rule *rule = finding_rule(finding->oracle);
	struct finding_weakness weakness = finding_weakness(finding);
	own(freep) char *of = xfmt("%s of %s", finding->subject, finding->target);

	buf_fmt(out, "%s: %s\n", finding->id, rule ? rule->title : finding->oracle);
	put_line(out, "what", finding->message, LINE_SHOWN);
	put_line(out, "subject", of, LINE_SHOWN);
	put_label(out, "severity");
	buf_fmt(out, "%s (%s)%s%s\n", severity_name(weakness.severity), severity_score(weakness.severity), *weakness.why ? ": " : "", weakness.why);
	put_line(out, "oracle", finding->oracle, LINE_SHOWN);
	if (weakness.cwe) {
		put_label(out, "weakness");
		buf_fmt(out, "CWE-%d, cwe.mitre.org/data/definitions/%d.html\n", weakness.cwe, weakness.cwe);
	}
	if (finding->file) {
		own(freep) char *where = finding->line ? xfmt("%s:%u", finding->file, finding->line) : xstrdup(finding->file);
		put_line(out, "where", where, LINE_SHOWN);
	}
}

static void put_history(const struct finding *finding, int64_t now, struct buf *out)
{
	own(buf_done) struct buf state = {0}, reproduced = {0};

	finding_state_text(finding, now, &state);
	put_line(out, "state", buf_text(&state), LINE_SHOWN);
	put_label(out, "seen");
	buf_str(out, "first ");
	finding_date(finding->first_seen, out);
	buf_str(out, ", last ");
	finding_date(finding->last_seen, out);
	buf_fmt(out, ", in %llu campaign%s\n", (unsigned long long)finding->times, finding->times == 1 ? "" : "s");
	finding_reproduced(finding, &reproduced);
	put_line(out, "reproduced", buf_text(&reproduced), LINE_SHOWN);
}

static void put_again(const struct finding *finding, const char *folder, struct buf *out)
{
	own(buf_done) struct buf command = {0}, flags = {0}, again = {0}, capsule = {0};

	finding_words(&finding->command, &command);
	finding_words(&finding->flags, &flags);
	put_line(out, "kind", finding->kind, LINE_SHOWN);
	put_line(out, "command", buf_text(&command), LINE_SHOWN);
	if (finding->target_sha256)
		put_line(out, "sha256", finding->target_sha256, LINE_SHOWN);
	if (flags.len)
		put_line(out, "cell", buf_text(&flags), LINE_SHOWN);
	if (finding->profile)
		put_line(out, "profile", finding->profile, LINE_SHOWN);
	put_list(out, "environment", &finding->environment);
	buf_fmt(out, "%-*s%llu\n", LABEL_WIDTH, "seed", (unsigned long long)finding->seed);
	if (!folder)
		return;
	finding_capsule(finding, folder, &capsule);
	put_line(out, "capsule", buf_text(&capsule), LINE_SHOWN);
	if (finding->binary) {
		own(freep) char *files = xfmt("%s/%s: " STORE_INPUT "%s, " STORE_REPORT "%s", folder, finding->id,
			finding->found ? ", " STORE_FOUND : "", finding->core ? ", " STORE_CORE ", " STORE_PROGRAM : "");
		put_line(out, "files", files, LINE_SHOWN);
		if (finding->core) {
			own(freep) char *debug = xfmt("gdb %s/%s/" STORE_PROGRAM " %s/%s/" STORE_CORE, folder, finding->id, folder, finding->id);
			put_line(out, "debug", debug, LINE_SHOWN);
		}
	}
	finding_command(finding, folder, &again);
	put_line(out, "reproduce", buf_text(&again), LINE_SHOWN);
}

void finding_write(const struct finding *finding, const char *capsule_folder, int64_t now, struct buf *out)
{
	const struct finding_rule *rule = finding_rule(finding->oracle);

	put_what(finding, out);
	put_history(finding, now, out);
	put_list(out, "evidence", &finding->evidence);
	put_list(out, "frames", &finding->frames);
	put_line(out, finding->binary ? "input, base64" : "input", finding->input, INPUT_SHOWN);
	if (finding->found)
		put_line(out, finding->binary ? "original, base64" : "original input", finding->found, INPUT_SHOWN);
	if (finding->unfinished) {
		own(freep) char *more = xfmt("time ran out while minimising; continue with: hotcell findings minimise %s", finding->id);
		put_line(out, "limitation", more, LINE_SHOWN);
	}
	put_again(finding, capsule_folder, out);
	if (rule)
		put_line(out, "remediation", rule->help, LINE_SHOWN);
}
