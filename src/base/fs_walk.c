#include "base/fs_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452 /* Linux 6.6 */
#endif

static int open_resolved(int dir, const char *name, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = resolve,
	};
	long fd;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	do
		fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return (int)fd;
}

int fs_open_beneath(int dir, const char *name, int flags)
{
	return open_resolved(dir, name, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

int fs_open_across(int dir, const char *name, int flags)
{
	return open_resolved(dir, name, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

/* chmod of what an O_PATH descriptor holds: by name it could be swapped for a link meanwhile. */
static int chmod_held(int fd, mode_t mode)
{
	char link[32];

	if (syscall(SYS_fchmodat2, fd, "", mode, AT_EMPTY_PATH) == 0)
		return 0;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode);
}

static int unlock(int dir, const char *name, mode_t need)
{
	struct stat st;
	/* A folder that may not be searched cannot even be asked for its own ".". */
	own(fd_closep) int held = strcmp(name, ".") ? fs_open_beneath(dir, name, O_PATH)
						    : fcntl(dir, F_DUPFD_CLOEXEC, 3);

	if (held < 0 || fstat(held, &st) < 0)
		return -1;
	if (st.st_uid != geteuid() || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
		errno = EACCES;
		return -1;
	}
	return chmod_held(held, (st.st_mode & 0777) | need);
}

int fs_open_unlocked(int dir, const char *name, int flags, mode_t need)
{
	struct stat st;
	own(fd_closep) int fd = fs_open_beneath(dir, name, flags);

	if (fd < 0 && errno == EACCES && unlock(dir, name, need) == 0)
		fd = fs_open_beneath(dir, name, flags);
	if (fd < 0 || !(flags & O_DIRECTORY))
		return fd_take(&fd);
	/* A folder that can be listed but not searched opens, and then yields nothing. */
	if (fstat(fd, &st) == 0 && (st.st_mode & need) != need && st.st_uid == geteuid())
		(void)fchmod(fd, (st.st_mode & 0777) | need);
	return fd_take(&fd);
}

int fs_walk_push(struct fs_walk *walk, int fd, int to)
{
	if (walk->depth == FS_DEPTH_MAX) {
		fd_close(&fd);
		fd_close(&to);
		errno = ELOOP;
		return -1;
	}
	DIR *dir = fdopendir(fd);
	if (!dir) {
		int saved = errno;
		fd_close(&fd);
		fd_close(&to);
		errno = saved;
		return -1;
	}
	walk->levels[walk->depth++] = (struct fs_level){
		.dir = dir,
		.to = to,
		.path_len = walk->path.len,
	};
	return 0;
}

/* Cuts the path back to the folder of the deepest level. */
static void path_cut(struct fs_walk *walk)
{
	walk->path.len = fs_walk_top(walk)->path_len;
	if (walk->path.data)
		walk->path.data[walk->path.len] = '\0';
}

struct dirent *fs_walk_next(struct fs_walk *walk)
{
	struct dirent *entry;

	path_cut(walk);
	do {
		errno = 0;
		entry = readdir(fs_walk_top(walk)->dir);
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	if (!entry)
		return NULL;
	if (walk->path.len)
		buf_char(&walk->path, '/');
	buf_str(&walk->path, entry->d_name);
	return entry;
}

void fs_walk_pop(struct fs_walk *walk)
{
	path_cut(walk);
	struct fs_level *level = fs_walk_top(walk);
	(void)closedir(level->dir);
	fd_close(&level->to);
	walk->depth--;
}

void fs_walk_done(struct fs_walk *walk)
{
	while (walk->depth)
		fs_walk_pop(walk);
	buf_done(&walk->path);
}

unsigned char fs_entry_kind(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type;
	if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return DT_UNKNOWN;
	return IFTODT(st.st_mode);
}
