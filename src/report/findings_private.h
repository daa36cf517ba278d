/* Between the files that write findings: one for each format, and what they have in common. */
#ifndef HOTCELL_REPORT_FINDINGS_PRIVATE_H
#define HOTCELL_REPORT_FINDINGS_PRIVATE_H

#include "report/findings.h"

void findings_json(const struct findings *findings, struct buf *out);
void findings_csv(const struct findings *findings, struct buf *out);
void findings_sarif(const struct findings *findings, struct buf *out);
void findings_html(const struct findings *findings, struct buf *out);
void findings_md(const struct findings *findings, struct buf *out);

#endif
