/* What `hotcell review` writes and says besides its verdicts. */
#ifndef HOTCELL_CLI_CMD_HOST_REVIEW_OUT_H
#define HOTCELL_CLI_CMD_HOST_REVIEW_OUT_H

#include "review/review.h"

struct review_files { /* paths, as the user gave them; NULL: not wanted */
	const char *html, *sarif, *save;
};
/* Whether they could be written, before anything is tried; only one document can be on stdout, and `json` says that one is. */
MUST_CHECK int review_files_check(const struct review_files *files, bool json, struct err *err);
bool review_files_on_stdout(const struct review_files *files); /* one of them is, and nothing else may be there */
/* Writes them, each whole or not at all; says which. Returns 0, or says why not and returns an exit code; one that cannot
 * be written keeps no other from it. */
int review_write(const struct review *review, const struct review_files *files);

/* Reads what was saved, whole, before anything is tried. */
MUST_CHECK int review_read(const char *path, struct value *ret, struct err *err);
void review_put_changes(const struct review_changes *changes, const char *path, struct buf *out);
void review_put_changes_json(const struct review_changes *changes, const char *path, struct json *json); /* one object */

/* For each protection that this machine lacks and something got through for want of: the way to get it. */
void review_put_fixes(const struct review *review, struct buf *out);

/* The audit log of the project: that of `state` (which is made), else the one that is there; where there is none, nothing
 * is kept. Opened before anything is tried, so that what is wrong with it is known then. */
struct review_log {
	struct redactor *redactor;
	struct audit *audit; /* NULL: there is none */
};
MUST_CHECK int review_log_open(const char *state, struct review_log *ret, struct err *err);
/* The review, its counts, and the sum that a file it is saved in has. */
MUST_CHECK int review_log_put(const struct review_log *log, const struct review *review, struct err *err);
void review_log_done(struct review_log *log);

#endif
