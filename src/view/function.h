/* Fuzzing functions in words and tables: while it runs, and in the end. Pure; names are a stranger's and are made safe. */
#ifndef HOTCELL_VIEW_FUNCTION_H
#define HOTCELL_VIEW_FUNCTION_H

#include "fuzz/function/function.h"

#define HISTORY_MAX 128 /* even */

/* Coverage over the whole time since there is any: when there is no room for another sample, every second one goes. */
struct function_history {
	uint32_t coverage[HISTORY_MAX]; /* of all targets; at the end of each step */
	size_t count;
	uint64_t from_ns, step_ns;
};
void function_history_add(struct function_history *history, const struct function_progress *progress);
void function_history_json(const struct function_history *history, struct json *json); /* an object */

struct function_look {
	const struct function_targets *targets;
	uint64_t duration_ns, max_execs; /* 0: no limit */
	const unsigned *severities; /* findings of each, SEVERITY_COUNT of them */
	const struct function_history *history; /* may be NULL */
	const char *note; /* behind the title; may be NULL */
	unsigned rows, columns; /* of the terminal; 0: not known */
	bool color;
};

void function_view_line(const struct function_progress *progress, const struct function_look *look, struct buf *out);
/* Some lines, each ended by \n and narrower than the terminal; fewer than it has rows. */
void function_view_block(const struct function_progress *progress, const struct function_look *look, struct buf *out);
/* A row for each target, under a head; at most `max` rows, 0: all. */
void function_view_targets(const struct function_targets *targets, const struct target_progress *totals, size_t max, struct buf *out);
/* Members of a JSON object that is open; with the history, if there is one. */
void function_view_json(const struct function_progress *progress, const struct function_look *look, struct json *json);

#endif
