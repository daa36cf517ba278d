/* Between the files that write findings: one for each format, and what they have in common. */
#ifndef HOTCELL_FINDING_REPORT_PRIVATE_H
#define HOTCELL_FINDING_REPORT_PRIVATE_H

#include "finding/report.h"

void findings_table(const struct findings *findings, struct buf *out);
void findings_json(const struct findings *findings, struct buf *out);
void findings_csv(const struct findings *findings, struct buf *out);
void findings_sarif(const struct findings *findings, struct buf *out);
void findings_html(const struct findings *findings, struct buf *out);
void findings_md(const struct findings *findings, struct buf *out);

/* Where GitHub looks for the identity of a result, and where we read it again. */
#define SARIF_FINGERPRINT "hotcell/v1"
#define FINDINGS_FORMAT "hotcell-findings-1"
#define FINDING_FOLDER ".hotcell/examples" /* in a project, if nobody says otherwise */

/* How many there are: by severity, and of those how many count. */
struct finding_counts {
	size_t all[SEVERITY_COUNT];
	size_t open, suppressed, expired, fixed;
};
void findings_count(const struct findings *findings, struct finding_counts *ret);
/* "3 findings: 1 critical, 2 high; 1 suppressed" */
void findings_summary(const struct findings *findings, struct buf *out);

/* "5 of 5 replays did it again: 57 % to 100 % of the time" */
void finding_sure(const struct finding *finding, struct buf *out);
/* "suppressed until 2027-01-31 00:00 UTC: REASON" */
void finding_state_text(const struct finding *finding, int64_t now, struct buf *out);
/* "python3 server.py": a list of words as a shell wants them typed. Bytes are as they are. */
void finding_words(const struct finding_texts *words, struct buf *out);
/* FOLDER/ID.json */
void finding_capsule(const struct finding *finding, const char *folder, struct buf *out);
/* How many bytes of the text to show: at most `max`, and no character cut in two. */
size_t text_cut(const char *text, size_t max);

#endif
