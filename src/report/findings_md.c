/* Findings as Markdown, as GitHub renders it. Whatever was in a capsule stands in code spans and fenced blocks and nowhere
 * else: there no markup, no HTML, no link and no mention is one. */
#include <string.h>

#include "base/own.h"
#include "base/term.h"
#include "report/findings_private.h"

#define SPAN_SHOWN 300
#define LINE_SHOWN 2000
#define LINES_SHOWN 30
#define BLOCK_SHOWN ((size_t)8 << 10)
#define FENCE_MIN 3

/* ---- code ---- */

static size_t longest_run(const char *text, char c)
{
	size_t longest = 0, run = 0;

	for (; *text; text++) {
		run = *text == c ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void put_ticks(struct buf *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buf_char(out, '`');
}

/* The blanks within are taken off again by whoever reads it, and keep backticks of the text apart from ours. */
static void put_span(struct buf *out, const char *text)
{
	own(buf_done) struct buf line = {0};
	size_t shown = text_cut(text, SPAN_SHOWN);

	term_line(text, shown, SPAN_SHOWN * 4, &line);
	if (text[shown])
		buf_str(&line, "...");
	if (strspn(buf_text(&line), " ") == line.len) {
		buf_str(out, "(empty)");
		return;
	}
	size_t ticks = longest_run(line.data, '`') + 1;
	put_ticks(out, ticks);
	buf_fmt(out, " %s ", line.data);
	put_ticks(out, ticks);
}

static void put_block(struct buf *out, const struct buf *text, const char *language)
{
	size_t run = longest_run(buf_text(text), '`');
	size_t ticks = run < FENCE_MIN ? FENCE_MIN : run + 1;

	put_ticks(out, ticks);
	buf_fmt(out, "%s\n%s", language, buf_text(text));
	if (text->len == 0 || text->data[text->len - 1] != '\n')
		buf_char(out, '\n');
	put_ticks(out, ticks);
	buf_str(out, "\n\n");
}

static void put_lines(struct buf *out, const char *what, const struct strings *texts)
{
	own(buf_done) struct buf all = {0};

	if (!texts->count)
		return;
	for (size_t i = 0; i < texts->count && i < LINES_SHOWN; i++) {
		size_t shown = text_cut(texts->items[i], LINE_SHOWN);
		term_line(texts->items[i], shown, LINE_SHOWN * 4, &all);
		buf_str(&all, texts->items[i][shown] ? "...\n" : "\n");
	}
	if (texts->count > LINES_SHOWN)
		buf_fmt(&all, "... and %zu lines more, in the capsule\n", texts->count - LINES_SHOWN);
	buf_fmt(out, "%s:\n\n", what);
	put_block(out, &all, "text");
}

static void put_input(struct buf *out, const char *what, const struct finding *finding, const char *text)
{
	own(buf_done) struct buf shown = {0};
	size_t len = strlen(text), cut = text_cut(text, BLOCK_SHOWN);

	term_line(text, cut, BLOCK_SHOWN * 4, &shown);
	buf_fmt(out, "%s, %zu bytes%s", what, len, finding->binary ? " of base64" : "");
	if (cut < len)
		buf_fmt(out, ", of which the first %zu", cut);
	buf_str(out, ":\n\n");
	put_block(out, &shown, finding->binary || cut < len ? "text" : "json");
}

/* ---- one ---- */

static void put_item(struct buf *out, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	buf_fmt(out, "- %s: ", what);
	put_span(out, text);
	buf_char(out, '\n');
}

static void put_state(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	buf_fmt(out, "- State: %s", finding_state_now(finding, findings->now));
	if (finding->state == FINDING_SUPPRESSED && finding->until) {
		buf_str(out, finding_is_suppressed(finding, findings->now) ? " until " : ": suppressed until ");
		finding_date(finding->until, out);
	}
	buf_char(out, '\n');
	if (finding->state == FINDING_SUPPRESSED)
		put_item(out, "Reason", finding->reason);
}

static void put_facts(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	struct finding_weakness weakness = finding_weakness(finding);
	own(freep) char *where = !finding->file ? NULL : finding->line ? xfmt("%s:%u", finding->file, finding->line) : xstrdup(finding->file);
	own(buf_done) struct buf reproduced = {0}, command = {0}, again = {0};

	buf_fmt(out, "- Severity: **%s** (%s)%s%s\n", severity_name(weakness.severity), severity_score(weakness.severity),
		*weakness.why ? ": " : "", weakness.why);
	if (weakness.cwe)
		buf_fmt(out, "- Weakness: [CWE-%d](https://cwe.mitre.org/data/definitions/%d.html)\n", weakness.cwe, weakness.cwe);
	put_item(out, "Subject", finding->subject);
	put_item(out, "Target", finding->target);
	put_item(out, "Where", where);
	put_item(out, "Id", finding->id);
	put_state(findings, finding, out);
	finding_reproduced(finding, &reproduced);
	buf_fmt(out, "- Reproduced: %s\n", buf_text(&reproduced));
	finding_words(&finding->command, &command);
	put_item(out, "Command", buf_text(&command));
	finding_command(finding, findings->capsule_folder, &again);
	put_item(out, "Reproduce", buf_text(&again));
	buf_char(out, '\n');
}

static void put_finding(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	const struct finding_rule *rule = finding_rule(finding->oracle);

	buf_fmt(out, "## %s: %s\n\n", severity_name(finding_severity(finding)), rule ? rule->title : "A finding");
	put_span(out, finding->message);
	buf_str(out, "\n\n");
	put_facts(findings, finding, out);
	put_lines(out, "Evidence", &finding->evidence);
	put_lines(out, "Frames", &finding->frames);
	put_input(out, finding->unfinished ? "Input, not fully minimised" : finding->found ? "Minimised input" : "Input", finding, finding->input);
	if (finding->found)
		put_input(out, "Original input", finding, finding->found);
}

/* ---- all ---- */

void findings_md(const struct findings *findings, struct buf *out)
{
	own(buf_done) struct buf summary = {0};

	buf_str(out, "# Findings");
	if (findings->title && *findings->title) {
		buf_str(out, " of ");
		put_span(out, findings->title);
	}
	findings_summary(findings, &summary);
	buf_fmt(out, "\n\n%s.\n\n", buf_text(&summary));
	for (size_t i = 0; i < findings->count; i++)
		put_finding(findings, findings->list[i], out);
	if (findings->gaps && findings->gaps->count)
		buf_str(out, "## Limitations\n\n");
	for (size_t i = 0; findings->gaps && i < findings->gaps->count; i++) {
		buf_str(out, "- ");
		put_span(out, findings->gaps->items[i]);
		buf_char(out, '\n');
	}
}
