/* For fs.c, fs_copy.c and manifest/ only: opening names somebody hostile chose, and walking down.
 *
 * A walk keeps one descriptor per level (two when it has a destination), so it goes at most
 * FS_DEPTH_MAX deep and needs no recursion. */
#ifndef HOTCELL_BASE_FS_WALK_H
#define HOTCELL_BASE_FS_WALK_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"

#define FS_DEPTH_MAX 200

struct fs_level {
	DIR *dir;
	int to; /* -1 without destination; owned */
	size_t path_len; /* of the path up to here */
};

struct fs_walk {
	struct fs_level levels[FS_DEPTH_MAX];
	unsigned depth; /* levels in use */
	struct buf path; /* of the entry fs_walk_next gave, relative to the top */
};

/* One component below `dir`, never through a link, a mount or a magic link. -1 with errno. */
int fs_open_beneath(int dir, const char *name, int flags);
int fs_open_across(int dir, const char *name, int flags); /* the same, also into another mount */
/* Opens for reading; where the owner's `need` bits (0400, 0500, 0700) are missing and the entry is
 * ours they are added first. O_NONBLOCK. The caller checks the kind. */
int fs_open_unlocked(int dir, const char *name, int flags, mode_t need);

/* Takes both descriptors, also on failure (-1 with errno). The path of the new level is that of the
 * entry last given. */
MUST_CHECK int fs_walk_push(struct fs_walk *walk, int fd, int to);
/* The next name of the deepest level, without . and ..; NULL with errno 0 at its end. */
struct dirent *fs_walk_next(struct fs_walk *walk);
void fs_walk_pop(struct fs_walk *walk);
void fs_walk_done(struct fs_walk *walk);

static inline struct fs_level *fs_walk_top(struct fs_walk *walk)
{
	return &walk->levels[walk->depth - 1];
}

static inline int fs_walk_fd(struct fs_walk *walk)
{
	return dirfd(fs_walk_top(walk)->dir);
}

/* The kind of an entry as DT_REG and its like; DT_UNKNOWN when it is gone. */
unsigned char fs_entry_kind(int dir, const struct dirent *entry);

#endif
