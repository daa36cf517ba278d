/* Findings as a table, and one whole, for a terminal. Pure. */
#ifndef HOTCELL_VIEW_FINDINGS_H
#define HOTCELL_VIEW_FINDINGS_H

#include "finding/words.h"

void findings_table(const struct findings *findings, struct buf *out);
/* One, whole: what, evidence, input, shrunk input, how often it was reproduced, and how to. For a terminal. Without a
 * folder, it is in none, and nothing is said of that. */
void finding_write(const struct finding *finding, const char *capsule_folder, int64_t now, struct buf *out);

#endif
