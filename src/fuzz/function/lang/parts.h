/* Parts of a cache of the host's (Go's modules, cargo's crates) that a build needs. A cache holds what every project of the user's
 * has fetched, private ones too, and more: so a build is shown those that its project's lock file names, and nothing else.
 * Folders are mounted, each for itself, in a folder of ours that has the few small files. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_PARTS_H
#define HOTCELL_FUZZ_FUNCTION_LANG_PARTS_H

#include "base/buf.h"
#include "base/fs.h"
#include "cell/cell.h"
#include "finding/finding.h"

struct part {
	char *name; /* below `top` */
	char *source; /* a folder on the host; NULL: a file with these bytes */
	struct fs_id id; /* of that folder: no other is mounted or copied */
	char *text;
};

struct parts {
	const char *top; /* in the cell; NULL: there are none */
	struct part *list;
	size_t count;
	char *seed; /* what a build's cache begins with, on the host, seen as FUNCTION_CACHE_SEED; NULL: nothing */
	struct fs_id seed_id;
};
#define FUNCTION_CACHE_SEED "/cache.seed"
void parts_done(struct parts *parts);
void parts_add_folder(struct parts *parts, const char *name, const char *source);
void parts_add_file(struct parts *parts, const char *name, const struct buf *text);

/* As a cell is shown them; private. */
struct parts_shown {
	struct cell_mount *mounts;
	size_t count;
	struct strings own; /* the paths in them */
};
void parts_shown_done(struct parts_shown *shown);
/* Makes the folder `folder`/parts, beneath the descriptor `dir` of `folder`, in which all of them are. What is too much to be
 * mounted is copied. */
MUST_CHECK int parts_show(const struct parts *parts, const char *folder, int dir, struct parts_shown *ret, struct err *err);

/* Of Go's module cache, what go.sum names, and is what its sum says. */
void parts_of_go(const char *root, struct parts *ret);
/* The cache of a language's builds, below the state's: one for each project, since a build is the target's code and may write
 * anything there; and the one that no build writes to, with which they begin. */
char *parts_cache(const char *language, const char *root);
void parts_seed(const char *state, const char *language, struct parts *ret);
/* Of cargo's registry, what Cargo.lock names, of the package in `manifest` below root and of those around it. */
void parts_of_rust(const char *root, const char *manifest, const char *registry, struct parts *ret);

#endif
