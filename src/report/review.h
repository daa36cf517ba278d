/* A review as a page and as SARIF. Pure. */
#ifndef HOTCELL_REPORT_REVIEW_H
#define HOTCELL_REPORT_REVIEW_H

#include "base/json.h"
#include "review/review.h"

void review_html(const struct review *review, struct buf *out); /* a page that needs nothing but itself */
/* SARIF 2.1.0. `where`: the file that results are shown at, as a path in a repository: the saved review. */
void review_sarif(const struct review *review, const char *where, struct json *json);

#endif
