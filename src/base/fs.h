/* Files whose names, kinds or contents somebody hostile chose. Nothing here follows a symbolic
 * link, blocks on a FIFO, opens a device or trusts a size it was told. */
#ifndef HOTCELL_BASE_FS_H
#define HOTCELL_BASE_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* What a copy may cost. */
struct fs_caps {
	uint64_t bytes; /* of data, holes not counted */
	uint64_t entries; /* files and folders */
	unsigned depth;
	const char *const *reserved; /* names at the top that are not taken; NULL-terminated; or NULL */
	bool links; /* symbolic links come along as they are, and count as files: nobody but a cell will follow them */
	bool merge; /* folders that are there are added to */
	bool anybody; /* what is made can be written by anybody, since nobody else can reach it; with a umask of 0 */
};

#define FS_SKIPPED_KEPT 20

struct fs_skipped {
	char *name; /* path below the source, raw bytes */
	const char *reason; /* static: "symbolic link", "FIFO", "device", "socket", "sparse", ... */
};

struct fs_copy_report {
	uint64_t files, folders, bytes;
	uint64_t skipped_count, renamed_count;
	bool capped; /* a cap was reached: more was there than was taken */
	const char *cap; /* which: "bytes", "entries" or "depth" */
	struct fs_skipped skipped[FS_SKIPPED_KEPT]; /* the first ones */
};

/* Copies the tree below `from` into `to`. Regular files and folders only: links (hard links are
 * copied as files), FIFOs, devices and sockets are skipped and reported; set-id bits, owners and
 * times do not come along (modes become 0644/0755 by the owner's x bit); holes stay holes, and a
 * file whose length exceeds what caps->bytes leaves, lengths summed up, is skipped as sparse; a folder without r-x for us is
 * opened anyway where we own it. Names with control bytes or invalid UTF-8 are written with those
 * bytes as %NN. Never overwrites: an existing name (but for folders with caps->merge) is skipped as "exists", one of caps->reserved (before or
 * after that change) as "reserved name". An error is only ours (the destination failed: disk full); what
 * was copied stays. */
MUST_CHECK int fs_copy_tree(int from, int to, const struct fs_caps *caps, struct fs_copy_report *ret,
	struct err *err);
void fs_copy_report_done(struct fs_copy_report *report);

/* Walks below `dir`, other mounts there included (*ret_mounts says whether there were any), and calls
 * `fn` with the path (relative) of each entry that matches one of the globs, of each socket and FIFO, and of each folder that
 * cannot be listed but whose content may be reached all the same; a match is not entered. Of a link that matches, what it
 * leads to below `dir` is found, too, but for a folder that the link is in, or that a name leads to which files have (".env", "*.pem");
 * and so is what matches by a path that leads through links to folders below `dir`. Stops with ERR_LIMIT beyond max_entries, and beyond
 * 4,096 that only links lead to.
 *
 * Globs: "x" is a name in any folder, "a/b" the name b in any folder a, "/x" a path from the top, "!x" what does not match whatever
 * comes before it. Case does not count. `above` is the path of `dir` itself, whose names count for an "a/b"; NULL: not known. */
typedef int fs_match_fn(void *data, const char *path, bool is_dir, struct err *err);
MUST_CHECK int fs_find(int dir, const char *above, const char *const *globs, uint64_t max_entries, fs_match_fn *fn, void *data,
	bool *ret_mounts, struct err *err);

/* Likewise, and matches each folder that is one of these, whatever its name is here. *ret_links, unless NULL, gets a line for each
 * folder that was found because of a link. */
struct fs_id {
	dev_t device;
	ino_t inode;
};
struct fs_ids {
	const struct fs_id *id;
	size_t count;
};
/* Whether it is of the kernel's own file system of processes. */
bool fs_is_proc(int fd);
bool fs_ids_have(const struct fs_ids *ids, dev_t device, ino_t inode);
MUST_CHECK int fs_find_ids(int dir, const char *above, const char *const *globs, const struct fs_ids *ids, uint64_t max_entries, fs_match_fn *fn,
	void *data, bool *ret_mounts, struct buf *ret_links, struct err *err);

/* Whether fs_find with these globs would find what this relative path leads to, or a folder on its way. */
bool fs_is_hidden(const char *const *globs, const char *above, const char *path);

/* Calls `fn` for each regular file below `dir`, other mounts there included; `dir` and `name` open it, `path` is
 * relative to the top. The folders of the top that `skip` names (NULL-terminated) are left out. `closed` is called with each
 * folder that cannot be listed but whose content may be reached; NULL: those are left out, and one of our own is an error.
 * Stops with ERR_LIMIT beyond max_entries. */
typedef int fs_file_fn(void *data, int dir, const char *name, const char *path, struct err *err);
MUST_CHECK int fs_each_file(int dir, const char *const *skip, uint64_t max_entries, fs_file_fn *fn, fs_match_fn *closed, void *data,
	struct err *err);
/* The same for each symbolic link, too, which is not followed. */
MUST_CHECK int fs_each_file_or_link(int dir, const char *const *skip, uint64_t max_entries, fs_file_fn *fn, fs_match_fn *closed, void *data,
	struct err *err);

/* Opens a file that the user named. Its last step may be no symbolic link, since a cell that could write there may have put it
 * in place; but for those of /dev and /proc, such as /dev/stdin. `dir` may be AT_FDCWD. */
MUST_CHECK int fs_open_named(int dir, const char *path, int flags, mode_t mode, struct err *err);

/* Removes a tree without following links; a missing one is fine. Used only below folders of ours. */
MUST_CHECK int fs_remove_tree(int dir, const char *name, struct err *err);
/* Reads a small file whole (at most max bytes, more is ERR_LIMIT). */
MUST_CHECK int fs_read_small(int dir, const char *path, size_t max, struct buf *ret, struct err *err);
/* Writes a whole value into an existing file (cgroup, proc, sysctl) with one write. */
MUST_CHECK int fs_write_value(int dir, const char *path, const char *value, struct err *err);

/* Closes every descriptor from `first` on but these. */
void fs_close_others(const int *fds, size_t count, int first);

#endif
