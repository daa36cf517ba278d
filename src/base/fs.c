#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "base/fs_walk.h"
#include "base/term.h"

/* A path for an error text: somebody hostile may have chosen it. */
static int path_errno(struct err *err, int code, const char *doing, const char *path)
{
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), 200, &shown);
	return err_errno(err, code, "%s '%s'", doing, buf_text(&shown));
}

/* Finding */

struct glob {
	char *text;
	bool path; /* matched against the whole relative path */
};

static void globs_free(struct glob **globs)
{
	for (struct glob *glob = *globs; glob && glob->text; glob++)
		free(glob->text);
	free(*globs);
}

/* "/x" is x at the top; "x/" is x, because a glob that can match nothing would hide nothing. */
static struct glob *globs_read(const char *const *texts)
{
	size_t count = 0;

	while (texts[count])
		count++;
	struct glob *globs = xcalloc(count + 1, sizeof(*globs));
	for (size_t i = 0; i < count; i++) {
		const char *text = texts[i];
		size_t len = strlen(text);
		while (len > 1 && text[len - 1] == '/')
			len--;
		globs[i].path = memchr(text, '/', len) != NULL;
		globs[i].text = xstrdup(text + (text[0] == '/'));
		globs[i].text[len - (text[0] == '/')] = '\0';
	}
	return globs;
}

static bool globs_match(const struct glob *globs, const char *path, const char *name)
{
	for (; globs->text; globs++)
		if (fnmatch(globs->text, globs->path ? path : name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool is_own(const struct stat *st)
{
	return st->st_uid == (uid_t)setfsuid((uid_t)-1); /* which changes nothing, and says as whom we go */
}

/* A folder that we may not list. What is in it can be reached by name where it may be searched, or once its owner
 * has unlocked it: nobody can say what that is, so it is told of as a whole. What we can do neither with, a
 * cell cannot, which is no more than us. */
static int find_closed(struct fs_walk *walk, const char *name, fs_match_fn *closed, void *data, struct err *err)
{
	const char *path = buf_text(&walk->path);
	int top = fs_walk_fd(walk);
	struct stat st;

	if (fstatat(top, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone, or where we may only list */
	if (closed && (is_own(&st) || faccessat(top, name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0))
		return closed(data, path, true, err) < 0 ? -1 : 0;
	return is_own(&st) ? path_errno(err, EACCES, "search", path) : 0;
}

/* Enters a folder, unless it is gone. `closed` is told of those that cannot be listed; NULL: they are left out, but
 * for our own, which are an error. */
static int find_enter(struct fs_walk *walk, const char *name, fs_match_fn *closed, void *data, bool *ret_mounts,
	struct err *err)
{
	const char *path = buf_text(&walk->path);
	int top = fs_walk_fd(walk);
	struct stat st;

	if (walk->depth == FS_DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "search: more than %d levels", FS_DEPTH_MAX);
	own(fd_closep) int fd = fs_open_beneath(top, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == EXDEV) {
		fd = fs_open_across(top, name, O_RDONLY | O_DIRECTORY);
		*ret_mounts = true;
	}
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	if (fd < 0 && errno != EACCES)
		return path_errno(err, errno, "search", path);
	/* one of our own that can be listed only could be made searchable */
	bool locked = fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IXUSR) == 0 && is_own(&st) &&
		faccessat(top, name, X_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0;
	if (fd < 0 || locked)
		return find_closed(walk, name, closed, data, err);
	return fs_walk_push(walk, fd_take(&fd), -1) < 0 ? path_errno(err, errno, "search", path) : 0;
}

static int find_entry(struct fs_walk *walk, const struct glob *globs, const struct dirent *entry,
	fs_match_fn *fn, void *data, bool *ret_mounts, struct err *err)
{
	unsigned char kind = fs_entry_kind(fs_walk_fd(walk), entry);
	bool is_dir = kind == DT_DIR;
	const char *path = buf_text(&walk->path);

	if (kind == DT_SOCK || kind == DT_FIFO || globs_match(globs, path, entry->d_name))
		return fn(data, path, is_dir, err) < 0 ? -1 : 0;
	return is_dir ? find_enter(walk, entry->d_name, fn, data, ret_mounts, err) : 0;
}

/* What a walk does with each entry: enters it, or not, or ends the walk with -1. */
typedef int walk_fn(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err);

static int walk_below(int dir, uint64_t max_entries, walk_fn *fn, void *data, struct err *err)
{
	own(fs_walk_done) struct fs_walk walk = {.depth = 0};
	uint64_t seen = 0;
	int top = fs_open_beneath(dir, ".", O_RDONLY | O_DIRECTORY);

	if (top < 0 && errno == EACCES) /* who gave it to us may list it */
		top = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (top < 0 || fs_walk_push(&walk, top, -1) < 0)
		return err_errno(err, errno, "search a folder");
	while (walk.depth) {
		struct dirent *entry = fs_walk_next(&walk);
		if (!entry && errno)
			return path_errno(err, errno, "search", buf_text(&walk.path));
		if (!entry) {
			fs_walk_pop(&walk);
			continue;
		}
		if (++seen > max_entries)
			return err_set(err, ERR_LIMIT, "search a folder: more than %llu entries",
				(unsigned long long)max_entries);
		if (fn(&walk, entry, data, err) < 0)
			return -1;
	}
	return 0;
}

struct finder {
	const struct glob *globs;
	fs_match_fn *fn;
	void *data;
	bool *mounts;
};

static int find_step(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err)
{
	const struct finder *finder = data;

	return find_entry(walk, finder->globs, entry, finder->fn, finder->data, finder->mounts, err);
}

int fs_find(int dir, const char *const *globs, uint64_t max_entries, fs_match_fn *fn, void *data,
	bool *ret_mounts, struct err *err)
{
	own(globs_free) struct glob *wanted = globs_read(globs);
	struct finder finder = {wanted, fn, data, ret_mounts};

	*ret_mounts = false;
	return walk_below(dir, max_entries, find_step, &finder, err);
}

bool fs_is_hidden(const char *const *globs, const char *path)
{
	own(globs_free) struct glob *wanted = globs_read(globs);
	own(freep) char *part = xstrdup(path);
	bool hidden = false;

	for (char *name = part, *slash; name && !hidden; name = slash ? slash + 1 : NULL) {
		slash = strchr(name, '/');
		if (slash)
			*slash = '\0';
		hidden = globs_match(wanted, part, name);
		if (slash)
			*slash = '/';
	}
	return hidden;
}

struct each {
	const char *const *skip;
	fs_file_fn *fn;
	fs_match_fn *closed;
	void *data;
};

static bool is_named(const char *const *names, const char *name)
{
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static int each_step(struct fs_walk *walk, const struct dirent *entry, void *data, struct err *err)
{
	const struct each *each = data;
	unsigned char kind = fs_entry_kind(fs_walk_fd(walk), entry);
	bool mounts;

	if (kind == DT_REG)
		return each->fn(each->data, fs_walk_fd(walk), entry->d_name, buf_text(&walk->path), err);
	if (kind != DT_DIR || (walk->depth == 1 && is_named(each->skip, entry->d_name)))
		return 0;
	return find_enter(walk, entry->d_name, each->closed, each->data, &mounts, err);
}

int fs_each_file(int dir, const char *const *skip, uint64_t max_entries, fs_file_fn *fn, fs_match_fn *closed, void *data,
	struct err *err)
{
	struct each each = {skip, fn, closed, data};

	return walk_below(dir, max_entries, each_step, &each, err);
}

/* Removing */

/* A tree may be nested deeper than we may have descriptors. What is too deep is moved up to the
 * top of the tree, whose listing then starts again. */
struct removal {
	struct fs_walk walk;
	unsigned long next_name;
	bool moved;
};

#define REMOVE_DEPTH 64

static int removal_move_up(struct removal *removal, const char *name)
{
	int top = dirfd(removal->walk.levels[0].dir);
	char moved[48];

	do {
		(void)snprintf(moved, sizeof(moved), ".too-deep-%lu", removal->next_name++);
		if (renameat(fs_walk_fd(&removal->walk), name, top, moved) == 0) {
			removal->moved = true;
			return 0;
		}
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -1;
}

/* -1 with errno. */
static int removal_entry(struct removal *removal, const struct dirent *entry)
{
	struct fs_walk *walk = &removal->walk;
	int dir = fs_walk_fd(walk);
	bool folder = fs_entry_kind(dir, entry) == DT_DIR;

	if (unlinkat(dir, entry->d_name, folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT)
		return 0;
	if (!folder || (errno != ENOTEMPTY && errno != EEXIST))
		return -1;
	if (walk->depth >= REMOVE_DEPTH)
		return removal_move_up(removal, entry->d_name);
	int fd = fs_open_unlocked(dir, entry->d_name, O_RDONLY | O_DIRECTORY, 0700);
	return fd < 0 ? -1 : fs_walk_push(walk, fd, -1);
}

/* The deepest folder is empty: remove it from the one above. -1 with errno. */
static int removal_leave(struct removal *removal)
{
	struct fs_walk *walk = &removal->walk;

	if (walk->depth == 1 && removal->moved) {
		removal->moved = false;
		rewinddir(walk->levels[0].dir);
		return 0;
	}
	fs_walk_pop(walk);
	if (!walk->depth)
		return 0;
	const char *path = buf_text(&walk->path);
	const char *slash = strrchr(path, '/');
	int rc = unlinkat(fs_walk_fd(walk), slash ? slash + 1 : path, AT_REMOVEDIR);
	return rc < 0 && errno != ENOENT ? -1 : 0;
}

static int removal_walk(struct removal *removal, struct err *err)
{
	while (removal->walk.depth) {
		struct dirent *entry = fs_walk_next(&removal->walk);
		if (!entry && errno)
			return path_errno(err, errno, "list", buf_text(&removal->walk.path));
		if ((entry ? removal_entry(removal, entry) : removal_leave(removal)) < 0)
			return path_errno(err, errno, "remove", buf_text(&removal->walk.path));
	}
	return 0;
}

static void removal_done(struct removal *removal)
{
	fs_walk_done(&removal->walk);
}

static int remove_below(int dir, const char *name, struct err *err)
{
	own(removal_done) struct removal removal = {.moved = false};

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return path_errno(err, errno, "remove", name);
	int fd = fs_open_unlocked(dir, name, O_RDONLY | O_DIRECTORY, 0700);
	if (fd < 0 || fs_walk_push(&removal.walk, fd, -1) < 0)
		return path_errno(err, errno, "remove", name);
	if (removal_walk(&removal, err) < 0)
		return err_wrap(err, "remove a folder");
	if (unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return path_errno(err, errno, "remove", name);
	return 0;
}

/* The folders above the last step are ours and may be reached in any way; the step itself and all
 * below it are opened one by one. */
int fs_remove_tree(int dir, const char *name, struct err *err)
{
	own(freep) char *above = xstrdup(name);
	own(freep) char *last = NULL;

	for (size_t len = strlen(above); len > 1 && above[len - 1] == '/'; len--)
		above[len - 1] = '\0';
	char *slash = strrchr(above, '/');
	if (!slash)
		return remove_below(dir, above, err);
	last = xstrdup(slash + 1);
	slash[slash == above] = '\0'; /* "/" stays "/" */
	own(fd_closep) int parent = openat(dir, above, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return errno == ENOENT ? 0 : path_errno(err, errno, "remove", name);
	return remove_below(parent, last, err);
}

/* Small things */

int fs_open_named(int dir, const char *path, int flags, mode_t mode, struct err *err)
{
	bool special = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
	int fd = openat(dir, path, flags | O_NOCTTY | O_CLOEXEC | (special ? 0 : O_NOFOLLOW), mode);

	if (fd < 0 && errno == ELOOP && !special)
		return err_set(err, ERR_USAGE, "'%s' is a symbolic link: name what it points to", path);
	return fd < 0 ? err_errno(err, errno, "open '%s'", path) : fd;
}

int fs_mkdirs(const char *path, struct err *err)
{
	own(freep) char *so_far = xstrdup(path);

	for (char *slash = so_far + (*so_far == '/'); (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		/* Only the last step decides: one above may exist and yet refuse a mkdir. */
		if (mkdir(so_far, 0755) < 0 && (errno == ENOTDIR || errno == ENOSPC))
			return path_errno(err, errno, "create folder", so_far);
		*slash = '/';
	}
	if (mkdir(path, 0755) == 0)
		return 0;
	int code = errno;
	own(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return 0;
	return path_errno(err, code == EEXIST ? errno : code, "create folder", path);
}

int fs_read_small(int dir, const char *path, size_t max, struct buf *ret, struct err *err)
{
	struct stat st;
	char chunk[4096];
	size_t total = 0;
	const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	own(fd_closep) int fd = openat(dir, path, flags);

	if (fd < 0 || fstat(fd, &st) < 0)
		return path_errno(err, errno, "read", path);
	if (!S_ISREG(st.st_mode))
		return path_errno(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, "read", path);
	for (;;) { /* to the end and not to st_size: files of proc say 0 */
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return path_errno(err, errno, "read", path);
		if (got == 0)
			return 0;
		total += (size_t)got;
		if (total > max)
			return err_set(err, ERR_LIMIT, "read '%s': more than %zu bytes", path, max);
		buf_add(ret, chunk, (size_t)got);
	}
}

int fs_write_value(int dir, const char *path, const char *value, struct err *err)
{
	size_t len = strlen(value);
	own(fd_closep) int fd = openat(dir, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return path_errno(err, errno, "open", path);
	ssize_t wrote = write(fd, value, len);
	if (wrote < 0)
		return err_errno(err, errno, "write '%s' to '%s'", value, path);
	if ((size_t)wrote != len)
		return err_set(err, EIO, "write '%s' to '%s': only a part was taken", value, path);
	return 0;
}

/* The gaps between them one by one. */
void fs_close_others(const int *fds, size_t count, int first)
{
	for (int next = first;;) {
		int nearest = INT_MAX;
		for (size_t i = 0; i < count; i++)
			if (fds[i] >= next && fds[i] < nearest)
				nearest = fds[i];
		if (nearest > next)
			(void)close_range((unsigned)next, nearest == INT_MAX ? ~0U : (unsigned)nearest - 1, 0);
		if (nearest == INT_MAX)
			return;
		next = nearest + 1;
	}
}
