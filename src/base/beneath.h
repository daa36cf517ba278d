/* Everything below a folder of ours: a state, an output, a session folder. Somebody else may be able to write there (a cell with
 * the project mounted, whoever made an archive), and put a link or a FIFO in place of any name, at any moment.
 *
 * So the folder itself is opened once and held, and every path is opened beneath that descriptor: a symbolic link in any step is
 * an error and never followed, no step leads above the folder, and nothing blocks. What is made, renamed or removed is a single
 * name in a folder that was opened this way. Other mounts below are entered: whoever can mount there needs no link.
 *
 * A path is relative, has no "..", and may be "." for the folder itself. Errors name the step that is in the way. */
#ifndef HOTCELL_BASE_BENEATH_H
#define HOTCELL_BASE_BENEATH_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* The folder itself, as the user named it: the way to it may have links, its last step may be none (ERR_USAGE). */
MUST_CHECK int beneath_root(const char *path, struct err *err);
/* The same, made with the folders above it where it is missing; *ret_made (or NULL) says whether. */
MUST_CHECK int beneath_root_make(const char *path, mode_t mode, bool *ret_made, struct err *err);

/* Holds this folder for as long as the process lives: beneath_root of the same path then gives this one again, whatever is put at
 * the path meanwhile. For a state folder, once it has been found trustworthy. */
void beneath_hold(const char *path, int fd);
bool beneath_is_held(const char *path);
/* The folder of a file or folder that the user named, reached in any way, unless it is one that is held; with `make` it is made.
 * *ret_last is the name in it (the caller frees). */
MUST_CHECK int beneath_parent(const char *path, bool make, char **ret_last, struct err *err);

/* Opens a file or a folder (O_DIRECTORY). A file that is read or written is a regular one, else it is an error;
 * O_CREAT makes it in a folder that is there. */
MUST_CHECK int beneath_open(int dir, const char *path, int flags, mode_t mode, struct err *err);
/* The same without a sentence: -1 with errno; ELOOP for a link in any step. */
MUST_CHECK int beneath_try(int dir, const char *path, int flags, mode_t mode);
/* A folder, open for listing; made with those above it where it is missing. */
MUST_CHECK int beneath_mkdirs(int dir, const char *path, mode_t mode, struct err *err);
/* One new folder, which must not be there (-1 with EEXIST in err->code); its descriptor. */
MUST_CHECK int beneath_mkdir(int dir, const char *path, mode_t mode, struct err *err);
/* One new folder with a name that nobody has: the X of `path`'s end are replaced. */
MUST_CHECK int beneath_mkdtemp(int dir, char *path, mode_t mode, struct err *err);

/* Reads a regular file whole: at most `max` bytes, more is ERR_LIMIT. */
MUST_CHECK int beneath_read(int dir, const char *path, size_t max, struct buf *ret, struct err *err);
/* Writes a file whole or not at all, over a regular file that is there. Anything else there is an error. */
MUST_CHECK int beneath_write(int dir, const char *path, const struct buf *text, mode_t mode, struct err *err);
/* Replaces what is at `to`, a link too, and follows neither. */
MUST_CHECK int beneath_rename(int from_dir, const char *from, int to_dir, const char *to, struct err *err);
/* Removes a tree, or a file, or a link and not what it leads to; a missing one is fine. */
MUST_CHECK int beneath_remove(int dir, const char *path, struct err *err);
/* Removes one name that is no folder (an empty one with AT_REMOVEDIR). -1 with errno. */
int beneath_unlink(int dir, const char *path, int flags);

/* Of the name itself, a link's own if it is one. -1 with errno; ELOOP for a link in a step before it. */
MUST_CHECK int beneath_stat(int dir, const char *path, struct stat *ret);
/* Whether a file or folder is there, and a link is nothing. */
bool beneath_is_file(int dir, const char *path);
bool beneath_is_folder(int dir, const char *path);
/* For readdir; closedir ends it. NULL with errno. */
MUST_CHECK DIR *beneath_list(int dir, const char *path);

/* What is in the way of `path`, in one sentence: the first step that is a link, or no folder. `code` is the errno. Returns -1. */
int beneath_fail(int dir, const char *path, int code, const char *doing, struct err *err);

/* The last step of a path, with *ret_folder the rest ("." if there is none; the caller frees). Slashes at the end, and
 * "/." there, are no step: open would follow a link before them. */
char *beneath_split(const char *path, char **ret_folder);

#endif
