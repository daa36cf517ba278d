/* What is in a folder, entry by entry: made from the folder, written down, read back and compared.
 *
 *	manifest_scan	what is there now; every regular file is read
 *	manifest_write	as the text of a MANIFEST.json
 *	manifest_read	from such a text, which may be a stranger's
 *	manifest_compare	what is different, by path; pure
 *
 * Whoever can write the folder can write its manifest too: it tells that something changed, not who did it. */
#ifndef HOTCELL_MANIFEST_MANIFEST_H
#define HOTCELL_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#define MANIFEST_NAME "MANIFEST.json" /* at the top of the folder it tells of; not an entry of itself */
#define MANIFEST_ENTRIES_MAX 250000
#define MANIFEST_TEXT_MAX ((size_t)128 << 20)
#define MANIFEST_BYTES_MAX (UINT64_C(1) << 42) /* of all files: a sparse one may claim anything */

enum manifest_kind {
	MANIFEST_FILE,
	MANIFEST_FOLDER,
	MANIFEST_LINK,
	MANIFEST_FIFO,
	MANIFEST_SOCKET,
	MANIFEST_CHAR_DEVICE,
	MANIFEST_BLOCK_DEVICE,
	MANIFEST_KINDS,
};
extern const char *const manifest_kind_names[MANIFEST_KINDS]; /* "file", "folder", ... */

#define MANIFEST_CHANGING (-1) /* a trouble: the file changed while it was read */

struct manifest_entry {
	char *path; /* relative; control characters, '%' and what is not UTF-8 are written as %NN */
	enum manifest_kind kind;
	unsigned mode; /* the low 12 bits; 0 for a link, which has none of its own */
	uint64_t size; /* a file's */
	unsigned char sha256[SHA256_SIZE]; /* a file's */
	char *target; /* where a link points, as `path` is written; "8:1" for a device; else NULL */
	int trouble; /* of a scan: why it could not be read, an errno or MANIFEST_CHANGING; else 0 */
};

struct manifest {
	struct manifest_entry *entries; /* by path, as strcmp sorts, each once */
	size_t count;
};

void manifest_done(struct manifest *manifest);
uint64_t manifest_bytes(const struct manifest *manifest); /* of all its files */

/* Everything below `dir`, other mounts there included. Links are not followed; only regular files are opened. What
 * cannot be read has a trouble and is no error. With `expected`, a file is read only if its size is the one expected:
 * a file of another size, or a new one, differs anyway, and whoever made it shall not choose how long we read.
 * *ret is empty after an error. ERR_LIMIT beyond the limits above, in depth or in a path's length. Much is read by several processes at once. */
MUST_CHECK int manifest_scan(struct manifest *ret, int dir, const struct manifest *expected, struct err *err);

/* The same entries always give the same bytes. The last member is the sum of the entries' lines. */
void manifest_write(const struct manifest *manifest, struct buf *out);
void manifest_sum(const struct manifest *manifest, char ret[SHA256_HEX]); /* that sum: who keeps it elsewhere knows another manifest */
/* Errors have code ERR_USAGE and begin with `name`. That includes a manifest whose entries are not those it was written
 * with, and paths that are not relative, sorted and written as a scan writes them. */
MUST_CHECK int manifest_read(struct manifest *ret, const char *text, size_t len, const char *name, struct err *err);

enum manifest_change { /* may be several */
	MANIFEST_ADDED = 1,
	MANIFEST_REMOVED = 2,
	MANIFEST_UNREADABLE = 4,
	MANIFEST_KIND_CHANGED = 8,
	MANIFEST_SIZE_CHANGED = 16,
	MANIFEST_MODE_CHANGED = 32,
	MANIFEST_CONTENTS_CHANGED = 64, /* of a file of the same size */
	MANIFEST_TARGET_CHANGED = 128, /* of a link, a device's numbers */
};

struct manifest_difference {
	const char *path;
	unsigned changes;
	const struct manifest_entry *was, *is; /* NULL: added, removed */
};

typedef void manifest_difference_fn(void *data, const struct manifest_difference *difference);
/* Calls `fn` (NULL: nobody) for each difference, in the order of paths; returns how many there are. What was below a
 * folder that cannot be read now is not called removed. */
size_t manifest_compare(const struct manifest *was, const struct manifest *is, manifest_difference_fn *fn, void *data);
/* "size 10 -> 12, mode 0644 -> 0755" */
void manifest_difference_text(const struct manifest_difference *difference, struct buf *out);

#endif
