/* Findings as one page, or as a section of another: for somebody who has nothing but the file. */
#include <string.h>

#include "report/html.h"
#include "base/own.h"
#include "report/findings_private.h"

#define INPUT_SHOWN ((size_t)64 << 10)
#define LINE_SHOWN 4000
#define LINES_SHOWN 100
#define OPEN_FIRST 5 /* unfolded ones */

static const struct {
	const char *tag, *tile; /* classes of the style */
} looks[] = {
	[SEVERITY_NOTE] = {"none", "idle"},
	[SEVERITY_LOW] = {"none", "running"},
	[SEVERITY_MEDIUM] = {"degraded", "timeout"},
	[SEVERITY_HIGH] = {"failed", "error"},
	[SEVERITY_CRITICAL] = {"escaped", "error"},
};
_Static_assert(ARRAY_LEN(looks) == SEVERITY_COUNT, "a severity has no look");

/* ---- texts ---- */

static void put_cut(struct buf *out, const char *text, size_t max, bool lines)
{
	size_t len = strlen(text), shown = text_cut(text, max);

	if (lines)
		html_log(out, text, shown);
	else
		html_bytes(out, text, shown);
	if (shown < len) {
		buf_str(out, "... and ");
		html_count(out, len - shown);
		buf_str(out, " bytes more, in the capsule");
	}
}

static void fact(struct buf *out, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	buf_fmt(out, "<dt>%s</dt><dd>", what);
	put_cut(out, text, LINE_SHOWN, false);
	buf_str(out, "</dd>");
}

static void fact_code(struct buf *out, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	buf_fmt(out, "<dt>%s</dt><dd><code>", what);
	put_cut(out, text, LINE_SHOWN, false);
	buf_str(out, "</code></dd>");
}

static void put_lines(struct buf *out, const char *what, const struct strings *texts)
{
	if (!texts->count)
		return;
	buf_fmt(out, "<p>%s</p>\n<pre>", what);
	for (size_t i = 0; i < texts->count && i < LINES_SHOWN; i++) {
		put_cut(out, texts->items[i], LINE_SHOWN, false);
		buf_char(out, '\n');
	}
	if (texts->count > LINES_SHOWN)
		buf_fmt(out, "... and %zu lines more, in the capsule\n", texts->count - LINES_SHOWN);
	buf_str(out, "</pre>\n");
}

/* ---- one ---- */

static void put_facts(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	const struct finding_rule *rule = finding_rule(finding->oracle);
	struct finding_weakness weakness = finding_weakness(finding);
	own(buf_done) struct buf reproduced = {0}, state = {0}, seen = {0};
	own(freep) char *where = !finding->file ? NULL : finding->line ? xfmt("%s:%u", finding->file, finding->line) : xstrdup(finding->file);

	buf_str(out, "<dl>");
	fact(out, "What", rule ? rule->title : finding->oracle);
	buf_fmt(out, "<dt>Severity</dt><dd>%s (%s)%s%s</dd>", severity_name(weakness.severity), severity_score(weakness.severity),
		*weakness.why ? ": " : "", weakness.why);
	if (weakness.cwe)
		buf_fmt(out, "<dt>Weakness</dt><dd>CWE-%d <span class=soft>cwe.mitre.org/data/definitions/%d.html</span></dd>",
			weakness.cwe, weakness.cwe);
	fact_code(out, "Subject", finding->subject);
	fact_code(out, "Target", finding->target);
	fact_code(out, "Where", where);
	finding_reproduced(finding, &reproduced);
	fact(out, "Reproduced", buf_text(&reproduced));
	finding_state_text(finding, findings->now, &state);
	fact(out, "State", buf_text(&state));
	buf_str(&seen, "first ");
	finding_date(finding->first_seen, &seen);
	buf_str(&seen, ", last ");
	finding_date(finding->last_seen, &seen);
	buf_fmt(&seen, ", in %llu campaign%s", (unsigned long long)finding->times, finding->times == 1 ? "" : "s");
	fact(out, "Seen", buf_text(&seen));
	fact(out, "Remediation", rule ? rule->help : NULL);
	buf_str(out, "</dl>\n");
}

static void put_input(const char *what, const struct finding *finding, const char *text, struct buf *out)
{
	buf_fmt(out, "<div><p>%s%s <span class=soft>", what, finding->binary ? ", in base64" : "");
	html_count(out, strlen(text));
	buf_str(out, " bytes</span></p>\n<pre>");
	put_cut(out, text, INPUT_SHOWN, true);
	buf_str(out, "</pre></div>\n");
}

static void put_inputs(const struct finding *finding, struct buf *out)
{
	buf_str(out, "<div class=two>\n");
	put_input(finding->unfinished ? "Input, not fully minimised" : finding->found ? "Minimised input" : "Input", finding, finding->input, out);
	if (finding->found)
		put_input("Original input", finding, finding->found, out);
	buf_str(out, "</div>\n");
}

static void put_again(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	own(buf_done) struct buf again = {0}, capsule = {0}, command = {0}, flags = {0}, names = {0}, seed = {0};

	finding_command(finding, findings->capsule_folder, &again);
	finding_capsule(finding, findings->capsule_folder, &capsule);
	finding_words(&finding->command, &command);
	finding_words(&finding->flags, &flags);
	finding_words(&finding->environment, &names);
	buf_fmt(&seed, "%llu", (unsigned long long)finding->seed);
	buf_str(out, "<p>Reproduce</p>\n<pre class=line>");
	html_text(out, buf_text(&again));
	buf_str(out, "</pre>\n<dl>");
	fact_code(out, "Kind", finding->kind);
	fact_code(out, "Command", buf_text(&command));
	fact_code(out, "SHA-256 of it", finding->target_sha256);
	fact_code(out, "Cell", buf_text(&flags));
	fact_code(out, "Profile", finding->profile);
	fact_code(out, "Variables", buf_text(&names));
	fact_code(out, "Seed", buf_text(&seed));
	fact_code(out, "Capsule", buf_text(&capsule));
	buf_str(out, "</dl>\n");
}

static void put_finding(const struct findings *findings, const struct finding *finding, bool open, struct buf *out)
{
	enum severity severity = finding_severity(finding);
	const char *state = finding_state_now(finding, findings->now);

	buf_fmt(out, "<details id=f-%s%s><summary><span class=\"tag %s\">%s</span><span class=what><code>", finding->id, open ? " open" : "",
		looks[severity].tag, severity_name(severity));
	html_text(out, finding->oracle);
	buf_str(out, "</code> <b>");
	put_cut(out, finding->subject, 200, false);
	buf_str(out, "</b>: ");
	put_cut(out, finding->message, 400, false);
	buf_fmt(out, " <span class=soft>%s%s%s</span></span></summary>\n", finding->id, strcmp(state, "open") == 0 ? "" : ", ",
		strcmp(state, "open") == 0 ? "" : state);
	put_facts(findings, finding, out);
	put_lines(out, "Evidence", &finding->evidence);
	put_lines(out, "Frames", &finding->frames);
	put_inputs(finding, out);
	put_again(findings, finding, out);
	buf_str(out, "</details>\n");
}

/* ---- all ---- */

static void put_tiles(const struct findings *findings, struct buf *out)
{
	struct finding_counts counts;

	findings_count(findings, &counts);
	buf_str(out, "<div class=tiles>\n");
	for (int i = SEVERITY_COUNT - 1; i >= 0; i--) {
		buf_fmt(out, "<div class=%s><b>", counts.all[i] ? looks[i].tile : "idle");
		html_count(out, counts.all[i]);
		buf_fmt(out, "</b><small>%s</small></div>\n", severity_name((enum severity)i));
	}
	buf_str(out, "</div>\n");
}

void findings_html_section(const struct findings *findings, struct buf *out)
{
	own(buf_done) struct buf summary = {0};

	findings_summary(findings, &summary);
	buf_str(out, "<section id=findings><h2>Findings</h2>\n<p>");
	html_text(out, buf_text(&summary));
	buf_str(out, ".</p>\n");
	for (size_t i = 0; i < findings->count; i++)
		put_finding(findings, findings->list[i], i < OPEN_FIRST, out);
	buf_str(out, "</section>\n");
}

static void put_gaps(const struct findings *findings, struct buf *out)
{
	if (!findings->gaps || !findings->gaps->count)
		return;
	buf_str(out, "<section id=limitations><h2>Limitations</h2>\n<ul>\n");
	for (size_t i = 0; i < findings->gaps->count; i++) {
		buf_str(out, "<li>");
		put_cut(out, findings->gaps->items[i], LINE_SHOWN, false);
		buf_str(out, "</li>\n");
	}
	buf_str(out, "</ul>\n</section>\n");
}

void findings_html(const struct findings *findings, struct buf *out)
{
	const char *title = findings->title && *findings->title ? findings->title : "Findings";
	struct finding_counts counts;

	findings_count(findings, &counts);
	html_begin(out, title);
	buf_str(out, "<header><h1>");
	html_text(out, title);
	buf_fmt(out, " <span class=%s>%zu open</span></h1>\n<div class=soft>", counts.open ? "escaped" : "held", counts.open);
	html_date(out, findings->now > 0 ? (uint64_t)findings->now * 1000 : 0);
	buf_str(out, "</div>\n");
	put_tiles(findings, out);
	buf_str(out, "</header>\n<main>\n");
	findings_html_section(findings, out);
	put_gaps(findings, out);
	buf_str(out, "</main>\n<footer>Made by hotcell ");
	html_text(out, findings->version ? findings->version : HOTCELL_VERSION);
	buf_str(out, ". That nothing more was found is no proof that there is nothing.</footer>\n</body></html>\n");
}
