/* Which state folders are this user's own: those that this user's hotcell made, and those that the user said may be believed.
 *
 * Who can write to a project could else command hotcell: a clone, a copy, an archive, or a program in a cell with the project
 * mounted read-write brings a `.hotcell` as easily as any other folder. So what is believed is recorded outside of every
 * project, in `states` below $XDG_STATE_HOME/hotcell or ~/.local/state/hotcell: the path with all links followed, the
 * inode's number, and when the inode was born. A copy has another inode; one that was removed and made anew at the same
 * path may get the same number, but not the same birth; one that was moved has another path. The number of the device is not
 * recorded, since it changes from one boot to the next. */
#ifndef HOTCELL_PROJECT_TRUST_H
#define HOTCELL_PROJECT_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define TRUST_ENTRIES_MAX 2000 /* beyond these the oldest go */
#define TRUST_BYTES_MAX ((size_t)8 << 20) /* of the record's file */

struct trust_entry {
	char *path; /* without links */
	uint64_t inode;
	char born[48]; /* "SECONDS.NANOSECONDS"; of file systems without births a sum of the file handle, or "-" */
	bool by_hand; /* `hotcell trust`, and not made by hotcell */
	int64_t since; /* seconds since 1970 */
};
void trust_entry_done(struct trust_entry *entry);

struct trust_list {
	struct trust_entry *items; /* oldest first */
	size_t count;
};
void trust_list_done(struct trust_list *list);

/* What would be recorded of an open folder; `since` is now. */
MUST_CHECK int trust_entry_of(int folder, struct trust_entry *ret, struct err *err);
bool trust_list_has(const struct trust_list *list, const struct trust_entry *entry);
const struct trust_entry *trust_list_at(const struct trust_list *list, const char *path); /* whatever is there now; or NULL */

/* Pure: the file's text, and back. `name` is for errors: a file that hotcell did not write is not believed in part. */
void trust_list_text(const struct trust_list *list, struct buf *out);
MUST_CHECK int trust_list_parse(struct trust_list *ret, const char *text, size_t len, const char *name, struct err *err);

/* ---- the record ---- */

/* The folder that holds it, which need not be there; the caller frees. */
MUST_CHECK char *trust_folder(struct err *err);
/* Made, so that nobody else makes it. */
MUST_CHECK int trust_prepare(struct err *err);
/* All of it; none yet is an empty one. */
MUST_CHECK int trust_read(struct trust_list *ret, struct err *err);
/* Added, in place of what was recorded of its path; safe among many hotcells at once. */
MUST_CHECK int trust_add(const struct trust_entry *entry, struct err *err);
/* *ret_removed: whether the path was recorded. */
MUST_CHECK int trust_remove(const char *path, bool *ret_removed, struct err *err);

/* ---- cells that write (trust_writers.c) ---- */

/* While this process lives, a cell of it can write below that folder, given without links. */
void trust_writer(const char *source);
/* What a cell of another live process can write and that holds the path, or is in it; NULL: there
 * is none. "(unknown)": a file that would say it cannot be read. The caller frees. */
char *trust_writer_above(const char *path);

#endif
