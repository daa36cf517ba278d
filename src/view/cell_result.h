/* A result in words, for people. Pure: facts in, text out; nothing in the text can steer a
 * terminal. */
#ifndef HOTCELL_VIEW_CELL_RESULT_H
#define HOTCELL_VIEW_CELL_RESULT_H

#include <stdbool.h>

#include "cell/cell.h"

/* "timeout: ended after 60.0 s (limit --timeout 60s)". cancel_signal: the signal that made us end
 * it, or 0. False, and nothing added, for a program that ended by itself. */
bool verdict_line(const struct cell_result *result, const struct cell_limits *limits,
	int cancel_signal, struct buf *out);
/* "weaker cell: memory-limit (watched, no cgroup), ...". False, and nothing added, when it was
 * full. */
bool verdict_weaker(const struct cell_receipt *receipt, struct buf *out);
/* What of the workspace was not collected. False, and nothing added, when all of it was, or when
 * result->err has more to say. */
bool verdict_collect(
	const struct cell_result *result, const struct cell_limits *limits, struct buf *out);
/* Costs and the whole receipt, several lines, the last one without its newline. */
void verdict_details(const struct cell_result *result, struct buf *out);

#endif
