/* What `hotcell review` writes and says besides its verdicts. */
#ifndef HOTCELL_CLI_REVIEW_OUT_H
#define HOTCELL_CLI_REVIEW_OUT_H

#include "review/review.h"

struct review_files { /* paths, as the user gave them; NULL: not wanted */
	const char *html, *sarif, *save;
};
/* Writes them, each whole or not at all; says which. Returns 0, or says why not and returns an exit code. */
int review_write(const struct review *review, const struct review_files *files);

/* Reads what was saved, whole, before anything is tried. */
MUST_CHECK int review_read(const char *path, struct value *ret, struct err *err);
void review_put_changes(const struct review_changes *changes, const char *path, struct buf *out);
void review_put_changes_json(const struct review_changes *changes, const char *path, struct json *json); /* one object */

/* For each protection that this machine lacks and something got through for want of: the way to get it. */
void review_put_fixes(const struct review *review, struct buf *out);

/* The review and its counts, into the audit log of the project: that of `state` (which is made), else the one that is
 * there; where there is none, nothing. */
MUST_CHECK int review_audit(const struct review *review, const char *state, struct err *err);

#endif
