/* A file the user asked us to write: whole or not at all. */
#ifndef HOTCELL_BASE_OUT_FILE_H
#define HOTCELL_BASE_OUT_FILE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Writes beside `path` and renames, so that a reader sees the old file or the new one. What is at `path` and
 * no regular file (a link, a device, a folder) is left alone and an error; so is a regular file, unless
 * `replace`. Errors of the path have code ERR_USAGE. */
MUST_CHECK int out_file_write(const char *path, const struct buf *text, bool replace, struct err *err);

/* Whether that could be done now: for work that is long, and whose result would be lost. Writes nothing. */
MUST_CHECK int out_file_check(const char *path, bool replace, struct err *err);

/* "-": stdout, as every verb takes it. */
bool out_file_is_stdout(const char *path);

#endif
