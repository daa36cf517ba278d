/* Function fuzzers as other processes see them: each leaves the figures of its live view in a file of its run's folder, a few
 * times a minute at least, locked as long as its process lives.
 *
 * Such a file is read as a stranger's: it is in a folder that a target without a sandbox could write into. */
#ifndef HOTCELL_VIEW_FUNCTION_STATUS_H
#define HOTCELL_VIEW_FUNCTION_STATUS_H

#include "view/function.h"

struct function_status {
	int pid;
	bool alive;
	char *folder; /* of its run */
	struct function_targets targets; /* of which only names are known */
	struct function_progress progress;
	struct function_history history;
	unsigned severities[SEVERITY_COUNT];
	uint64_t duration_ns, max_execs;
};
void function_status_done(struct function_status *status);

/* The file's text, and back. Pure. Errors are ERR_USAGE. */
void function_status_write(const struct function_progress *progress, const struct function_look *look, int pid, struct buf *out);
MUST_CHECK int function_status_read(const char *text, size_t len, struct function_status *ret, struct err *err);
/* As it is shown: an empty one is about no target. */
struct function_look function_status_look(const struct function_status *status);

/* Puts it in place of the one before; *lock is -1 at first, and open until the file is to look like a dead one's. */
void function_status_put(int folder, const struct buf *text, int *lock);

struct function_statuses {
	struct function_status *list;
	size_t count;
};
/* Of a state folder: those at work, and those that were killed. What cannot be read is left out. */
void function_statuses_read(const char *state, struct function_statuses *ret);
void function_statuses_done(struct function_statuses *statuses);
size_t function_statuses_alive(const struct function_statuses *statuses);
/* A picture of each at work, and a line of each that is not. */
void function_statuses_view(const struct function_statuses *statuses, unsigned rows, unsigned columns, bool color, struct buf *out);
/* One line each. */
void function_statuses_lines(const struct function_statuses *statuses, struct buf *out);
void function_statuses_json(const struct function_statuses *statuses, struct json *json); /* a list */

#endif
