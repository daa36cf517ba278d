/* Fuzzing functions in words and tables: while it runs, and in the end. Pure; names are a stranger's and are made safe. */
#ifndef HOTCELL_CLI_FUNCTION_VIEW_H
#define HOTCELL_CLI_FUNCTION_VIEW_H

#include "fuzz/function.h"

struct function_look {
	const struct function_targets *targets;
	uint64_t duration_ns, max_execs; /* 0: no limit */
	const unsigned *severities; /* findings of each, SEVERITY_COUNT of them */
	unsigned rows, columns; /* of the terminal; 0: not known */
};

void function_view_line(const struct function_progress *progress, const struct function_look *look, struct buf *out);
void function_view_block(const struct function_progress *progress, const struct function_look *look, struct buf *out);
/* A row for each target, under a head; at most `max` rows, 0: all. */
void function_view_targets(const struct function_targets *targets, const struct target_progress *totals, size_t max, struct buf *out);
/* One JSON object, without its end of line. */
void function_view_json(const struct function_progress *progress, const struct function_look *look, struct buf *out);

#endif
