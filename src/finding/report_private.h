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

#endif
