/* Findings as tables and files. Pure: texts out; what is shown is made safe for where it goes. */
#ifndef HOTCELL_REPORT_FINDINGS_H
#define HOTCELL_REPORT_FINDINGS_H

#include "finding/gate.h"

enum finding_format { FINDINGS_TABLE, FINDINGS_JSON, FINDINGS_CSV, FINDINGS_SARIF, FINDINGS_HTML, FINDINGS_MD, FINDING_FORMAT_COUNT };
const char *finding_format_name(enum finding_format format); /* "table", "json", ... */
void findings_write(const struct findings *findings, enum finding_format format, struct buf *out);
/* For a page that has more: <section id=findings>...</section> */
void findings_html_section(const struct findings *findings, struct buf *out);

#endif
