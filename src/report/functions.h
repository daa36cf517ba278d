/* Fuzzed functions as a section of a page, or with the findings as a page of their own: figures, how they grew,
 * and the source with what of it was reached. Sources are read here: only those whose text is the one that was
 * measured are shown, so that a state folder of somebody else cannot make us show a file that they do not know
 * already. */
#ifndef HOTCELL_REPORT_FUNCTIONS_H
#define HOTCELL_REPORT_FUNCTIONS_H

#include "report/findings.h"
#include "fuzz/function/cover_history.h"

/* <section id=functions>...</section>; nothing where there are none. Lines of sources lead to findings that are on the page. */
void functions_html_section(const struct cover_histories *histories, const struct findings *findings, struct buf *out);
/* The whole page; `findings` may have none. */
void functions_html(const struct cover_histories *histories, const struct findings *findings, struct buf *out);

#endif
