/* What tables, pages and files say of findings in the same words. Pure: texts out. */
#ifndef HOTCELL_FINDING_WORDS_H
#define HOTCELL_FINDING_WORDS_H

#include "finding/store.h"

#define FINDING_FOLDER ".hotcell/findings" /* in a project, if nobody says otherwise */

struct findings {
	const struct finding *const *list; /* by severity, then id */
	size_t count;
	const char *title; /* "hotcell fuzz mcp: server-git"; for HTML and Markdown */
	const char *version; /* of hotcell */
	const struct strings *gaps; /* what was not fuzzed; may be NULL */
	const char *capsule_folder; /* how a capsule is named in commands: ".hotcell/findings" */
	int64_t now;
	bool color; /* of the table: it goes to a terminal */
};
/* How many there are: by severity, and of those how many count. */
struct finding_counts {
	size_t all[SEVERITY_COUNT];
	size_t open, suppressed, expired, fixed;
};
void findings_count(const struct findings *findings, struct finding_counts *ret);
/* "3 findings: 1 critical, 2 high; 1 suppressed" */
void findings_summary(const struct findings *findings, struct buf *out);

/* "5 of 5 times" */
void finding_reproduced(const struct finding *finding, struct buf *out);
/* "suppressed until 2027-01-31 00:00 UTC: REASON" */
void finding_state_text(const struct finding *finding, int64_t now, struct buf *out);
/* "python3 server.py": a list of words as a shell wants them typed. Bytes are as they are. */
void finding_words(const struct strings *words, struct buf *out);
/* FOLDER/ID.json */
void finding_capsule(const struct finding *finding, const char *folder, struct buf *out);
/* How many bytes of the text to show: at most `max`, and no character cut in two. */
size_t text_cut(const char *text, size_t max);
/* "open", "fixed", "suppressed", or "expired": a suppression has ended, and the finding counts again. */
const char *finding_state_now(const struct finding *finding, int64_t now);
/* "2027-01-31 00:00 UTC"; "-" for 0 and for what is no date. */
void finding_date(int64_t seconds, struct buf *out);
/* "hotcell findings repro ID", with --state where that is needed */
void finding_command(const struct finding *finding, const char *capsule_folder, struct buf *out);

#endif
