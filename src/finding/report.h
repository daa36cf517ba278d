/* Findings as tables, files and gates. Pure: texts out; what is shown is made safe for where it goes. */
#ifndef HOTCELL_FINDING_REPORT_H
#define HOTCELL_FINDING_REPORT_H

#include "finding/store.h"

enum finding_format { FINDINGS_TABLE, FINDINGS_JSON, FINDINGS_CSV, FINDINGS_SARIF, FINDINGS_HTML, FINDINGS_MD, FINDING_FORMAT_COUNT };
const char *finding_format_name(enum finding_format format); /* "table", "json", ... */

struct findings {
	const struct finding *const *list; /* by severity, then id */
	size_t count;
	const char *title; /* "hotcell fuzz mcp: server-git"; for HTML and Markdown */
	const char *version; /* of hotcell */
	const struct finding_texts *gaps; /* what was not fuzzed; may be NULL */
	const char *capsule_folder; /* how a capsule is named in commands: ".hotcell/examples" */
	int64_t now;
	bool color; /* of the table: it goes to a terminal */
};
void findings_write(const struct findings *findings, enum finding_format format, struct buf *out);
/* For a page that has more: <section id=findings>...</section> */
void findings_html_section(const struct findings *findings, struct buf *out);
/* "open", "fixed", "suppressed", or "expired": a suppression has ended, and the finding counts again. */
const char *finding_state_now(const struct finding *finding, int64_t now);
/* "2027-01-31 00:00 UTC"; "-" for 0 and for what is no date. */
void finding_date(int64_t seconds, struct buf *out);
/* One, whole: what, evidence, input, shrunk input, how sure, how to do it again. For a terminal. Without a
 * folder, it is in none, and nothing is said of that. */
void finding_write(const struct finding *finding, const char *capsule_folder, int64_t now, struct buf *out);
/* "hotcell findings repro ID", with --state where that is needed */
void finding_command(const struct finding *finding, const char *capsule_folder, struct buf *out);

/* ---- gates ---- */

enum finding_gate { GATE_NONE, GATE_ERROR, GATE_WARNING, GATE_NOTE, GATE_ANY };
bool finding_gate_read(const char *text, enum finding_gate *ret); /* "error", "warning", "note", "any", "none" */
#define BASELINE_MAX ((size_t)64 << 20) /* bytes of its file */
/* Ids that were there before: of SARIF (partialFingerprints), of `findings export --format json`, or of capsules. The text is a
 * stranger's. Errors are ERR_USAGE. */
MUST_CHECK int baseline_read(const char *text, size_t len, const char *name, struct finding_texts *ret, struct err *err);
/* How many are open, not suppressed, not in the baseline (NULL: none), and at or above the gate. */
size_t findings_over(const struct findings *findings, enum finding_gate gate, const struct finding_texts *baseline);

#endif
