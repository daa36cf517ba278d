/* A review as text for a terminal. Pure. */
#ifndef HOTCELL_VIEW_REVIEW_H
#define HOTCELL_VIEW_REVIEW_H

#include "review/review.h"

void review_text(const struct review *review, bool color, struct buf *out);
/* What the receipt says: how many protections there are, and how many of them are on. */
void review_protections(const struct review *review, size_t *ret_on, size_t *ret_count);

#endif
