#include "base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "base/fs.h"
#include "base/term.h"

#define HELD_MAX 4
#define RETRIES_MAX 64 /* of a step that comes and goes under us */

/* ---- one way to open ---- */

static int open_beneath(int dir, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
		.mode = flags & (O_CREAT | O_TMPFILE) & ~O_DIRECTORY ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	/* EAGAIN: a folder was moved or a mount made while the kernel looked: it could not be sure, so it is asked again */
	for (int i = 0; i < RETRIES_MAX; i++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EINTR && errno != EAGAIN))
			break;
	}
	return (int)fd;
}

static bool is_path(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] == '.' && (at[2] == '/' || !at[2]))
			return false;
	}
	return path[0] && path[0] != '/';
}

int beneath_try(int dir, const char *path, int flags, mode_t mode)
{
	struct stat st;

	if (!is_path(path)) {
		errno = EINVAL;
		return -1;
	}
	own(fd_closep) int fd = open_beneath(dir, path, flags & ~O_TRUNC, mode);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	int code = 0;
	if (S_ISLNK(st.st_mode))
		code = ELOOP; /* held by O_PATH */
	else if (!(flags & O_DIRECTORY) && !(flags & O_PATH) && !S_ISREG(st.st_mode))
		code = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	else if ((flags & O_TRUNC) && ftruncate(fd, 0) < 0) /* only now that it is known for a file */
		code = errno;
	if (code) {
		errno = code;
		return -1;
	}
	return fd_take(&fd);
}

/* ---- errors ---- */

/* The path of what is in the way, as a user would name it. */
static void shown_path(int dir, const char *path, size_t len, struct buf *ret)
{
	char link[32], folder[4096];
	own(buf_done) struct buf whole = {0};

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	ssize_t got = readlink(link, folder, sizeof(folder));
	if (got > 0 && folder[0] == '/')
		buf_add(&whole, folder, (size_t)got);
	if (whole.len && !(len == 1 && path[0] == '.')) {
		if (whole.data[whole.len - 1] != '/')
			buf_char(&whole, '/');
		buf_add(&whole, path, len);
	} else if (!whole.len) {
		buf_add(&whole, path, len);
	}
	term_line(whole.data, whole.len, 200, ret);
}

static const char *kind_of(mode_t mode)
{
	return S_ISLNK(mode) ? "a symbolic link" : S_ISREG(mode) ? "a file" : S_ISDIR(mode) ? "a folder"
		: S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* The length of the path up to the first step that is neither a folder nor the last one's right kind; 0 if there is none. */
static size_t step_in_the_way(int dir, const char *path, bool folder, mode_t *ret_mode)
{
	own(fd_closep) int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	struct stat st;

	for (const char *step = path; at >= 0 && *step;) {
		size_t len = strcspn(step, "/");
		own(freep) char *name = xfmt("%.*s", (int)len, step);
		bool last = step[len + strspn(step + len, "/")] == '\0';
		if (len && (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0))
			return 0;
		if (len && !S_ISDIR(st.st_mode) && (!last || folder || !S_ISREG(st.st_mode))) {
			*ret_mode = st.st_mode;
			return (size_t)(step + len - path);
		}
		if (last)
			return 0;
		if (len) {
			int next = open_beneath(at, name, O_PATH | O_DIRECTORY, 0);
			fd_close(&at);
			at = next;
		}
		step += len + strspn(step + len, "/");
	}
	return 0;
}

int beneath_fail(int dir, const char *path, int code, const char *doing, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	mode_t mode = 0;
	bool odd = code == ELOOP || code == ENOTDIR || code == EINVAL || code == ENXIO || code == EEXIST || code == EXDEV;
	size_t len = odd && is_path(path) ? step_in_the_way(dir, path, code == ENOTDIR, &mode) : 0;

	shown_path(dir, path, len ? len : strlen(path), &shown);
	if (len && S_ISLNK(mode))
		return err_set(err, ERR_USAGE, "'%s' is a symbolic link, and hotcell follows none below its own folders: remove the link",
			buf_text(&shown));
	if (len)
		return err_set(err, ERR_USAGE, "'%s' is %s, %s; move it away", buf_text(&shown), kind_of(mode),
			S_ISREG(mode) ? "and no folder" : "which hotcell did not put there");
	return err_errno(err, code, "%s '%s'", doing, buf_text(&shown));
}

int beneath_open(int dir, const char *path, int flags, mode_t mode, struct err *err)
{
	int fd = beneath_try(dir, path, flags, mode);

	return fd < 0 ? beneath_fail(dir, path, errno, flags & O_CREAT ? "make" : "open", err) : fd;
}

/* ---- the folder itself ---- */

/* One for each state folder that was taken for ours, which is one in most processes. The descriptor keeps the inode's number
 * from being given to another; a child that closes what it does not know finds it gone, and compares the numbers. */
static struct {
	char *path;
	int fd;
	dev_t device;
	ino_t inode;
} held[HELD_MAX];

void beneath_hold(const char *path, int fd)
{
	struct stat st;
	size_t free_at = HELD_MAX;

	for (size_t i = HELD_MAX; i-- > 0;) {
		if (held[i].path && strcmp(held[i].path, path) == 0)
			return;
		free_at = held[i].path ? free_at : i;
	}
	if (free_at == HELD_MAX || fstat(fd, &st) < 0)
		return;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (copy < 0)
		return;
	held[free_at].path = xstrdup(path);
	held[free_at].fd = copy;
	held[free_at].device = st.st_dev;
	held[free_at].inode = st.st_ino;
}

static bool is_same(size_t i, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_dev == held[i].device && st.st_ino == held[i].inode;
}

static int root_open(const char *path, struct err *err)
{
	own(freep) char *folder = NULL;
	own(freep) char *last = beneath_split(path, &folder);
	own(buf_done) struct buf shown = {0};
	struct stat st;

	term_line(path, strlen(path), 200, &shown);
	/* last the root, "." or "..": no name that somebody could have replaced by a link */
	bool plain = strcmp(last, "/") && strcmp(last, ".") && strcmp(last, "..");
	own(fd_closep) int above = open(plain ? folder : path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = above < 0 ? -1 : openat(above, plain ? last : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	int code = errno;
	if (above >= 0 && plain && fstatat(above, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, S_ISLNK(st.st_mode) ? "'%s' is a symbolic link; name the folder itself" : "'%s' is no folder",
			buf_text(&shown));
	return err_errno(err, code, "open the folder '%s'", buf_text(&shown));
}

int beneath_root(const char *path, struct err *err)
{
	for (size_t i = 0; i < HELD_MAX; i++) {
		if (!held[i].path || strcmp(held[i].path, path) != 0)
			continue;
		own(fd_closep) int fd = is_same(i, held[i].fd) ? fcntl(held[i].fd, F_DUPFD_CLOEXEC, 3) : root_open(path, err);
		if (fd >= 0 && !is_same(i, fd))
			return err_set(err, ERR_USAGE, "'%s' is another folder than it was: start again", path);
		return fd_take(&fd);
	}
	return root_open(path, err);
}

bool beneath_is_held(const char *path)
{
	for (size_t i = 0; i < HELD_MAX; i++)
		if (held[i].path && strcmp(held[i].path, path) == 0)
			return true;
	return false;
}

/* The way to it is the user's own, links and all. */
static int make_above(const char *folder, struct err *err)
{
	own(freep) char *so_far = xstrdup(folder);

	for (char *slash = so_far + (*so_far == '/'); slash && *slash;) {
		slash = strchr(slash, '/');
		if (slash)
			*slash = '\0';
		if (mkdir(so_far, 0755) < 0 && errno != EEXIST) {
			int code = errno; /* one that is there may refuse a mkdir, too */
			if (access(so_far, F_OK) < 0)
				return err_errno(err, code, "make the folder '%s'", so_far);
		}
		if (slash)
			*slash++ = '/';
	}
	return 0;
}

int beneath_parent(const char *path, bool make, char **ret_last, struct err *err)
{
	own(freep) char *folder = NULL;
	own(freep) char *last = beneath_split(path, &folder);
	own(buf_done) struct buf shown = {0};

	if (make && make_above(folder, err) < 0)
		return -1;
	int fd = beneath_is_held(folder) ? beneath_root(folder, err) : open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		*ret_last = ptr_take(&last);
		return fd;
	}
	int code = errno;
	if (beneath_is_held(folder))
		return -1;
	term_line(path, strlen(path), 200, &shown);
	return err_errno(err, code, "open the folder of '%s'", buf_text(&shown));
}

int beneath_root_make(const char *path, mode_t mode, bool *ret_made, struct err *err)
{
	own(freep) char *folder = NULL;
	own(freep) char *last = beneath_split(path, &folder);
	bool made = false;

	if (strcmp(last, "/") && strcmp(last, ".") && strcmp(last, "..")) {
		own(freep) char *name = NULL;
		own(fd_closep) int above = beneath_parent(path, true, &name, err);
		if (above < 0)
			return -1;
		made = mkdirat(above, last, mode) == 0;
		int code = errno; /* why it was not made; a read-only file system says so of what is there, too */
		if (!made && code != EEXIST && faccessat(above, last, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return err_errno(err, code, "make the folder '%s'", path);
	}
	if (ret_made)
		*ret_made = made;
	return beneath_root(path, err);
}

/* ---- folders ---- */

char *beneath_split(const char *path, char **ret_folder)
{
	size_t len = strlen(path);

	for (size_t was = 0; was != len;) {
		was = len;
		while (len > 1 && path[len - 1] == '/')
			len--;
		if (len > 1 && path[len - 1] == '.' && path[len - 2] == '/')
			len--;
	}
	size_t from = len;
	while (from > 0 && path[from - 1] != '/')
		from--;
	size_t above = from;
	while (above > 1 && path[above - 1] == '/')
		above--;
	if (from == len) { /* the root alone, or nothing */
		*ret_folder = xstrdup(len ? "/" : ".");
		return xstrdup(len ? "/" : ".");
	}
	*ret_folder = above ? xfmt("%.*s", (int)above, path) : xstrdup(".");
	return xfmt("%.*s", (int)(len - from), path + from);
}

/* The folder of the last step, held. -1 with errno. */
static int parent_of(int dir, const char *path, char **ret_last)
{
	own(freep) char *folder = NULL;
	own(freep) char *last = beneath_split(path, &folder);

	if (!is_path(path) || strcmp(last, ".") == 0) {
		errno = EINVAL;
		return -1;
	}
	int fd = open_beneath(dir, folder, O_PATH | O_DIRECTORY, 0);
	if (fd >= 0)
		*ret_last = ptr_take(&last);
	return fd;
}

/* One step down, made if it is missing. -1 with errno. */
static int step_down(int at, const char *name, bool last, mode_t mode)
{
	for (int i = 0; i < RETRIES_MAX; i++) {
		int fd = open_beneath(at, name, (last ? O_RDONLY : O_PATH) | O_DIRECTORY, 0);
		if (fd >= 0 || errno != ENOENT)
			return fd;
		if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
			return -1;
	}
	return -1;
}

int beneath_mkdirs(int dir, const char *path, mode_t mode, struct err *err)
{
	own(fd_closep) int at = is_path(path) ? open_beneath(dir, ".", (strcmp(path, ".") ? O_PATH : O_RDONLY) | O_DIRECTORY, 0) : -1;

	if (at < 0)
		return beneath_fail(dir, path, is_path(path) ? errno : EINVAL, "make the folder", err);
	for (const char *step = path; *step;) {
		size_t len = strcspn(step, "/");
		own(freep) char *name = xfmt("%.*s", (int)len, step);
		if (len) {
			int next = step_down(at, name, !step[len + strspn(step + len, "/")], mode);
			if (next < 0)
				return beneath_fail(dir, path, errno, "make the folder", err);
			fd_close(&at);
			at = next;
		}
		step += len + strspn(step + len, "/");
	}
	return fd_take(&at);
}

int beneath_mkdir(int dir, const char *path, mode_t mode, struct err *err)
{
	own(freep) char *last = NULL;
	own(fd_closep) int parent = parent_of(dir, path, &last);

	if (parent < 0)
		return beneath_fail(dir, path, errno, "make the folder", err);
	if (mkdirat(parent, last, mode) < 0)
		return err_errno(err, errno, "make the folder '%s'", path);
	int fd = open_beneath(parent, last, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? beneath_fail(dir, path, errno, "open the folder", err) : fd;
}

int beneath_mkdtemp(int dir, char *path, mode_t mode, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	size_t end = strlen(path), from = end;
	unsigned char random[16];

	while (from > 0 && path[from - 1] == 'X' && end - from < sizeof(random))
		from--;
	for (int i = 0; i < RETRIES_MAX; i++) {
		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return err_errno(err, errno, "make the folder '%s'", path);
		for (size_t at = from; at < end; at++)
			path[at] = letters[random[at - from] % 32];
		int fd = beneath_mkdir(dir, path, mode, err);
		if (fd >= 0 || err->code != EEXIST)
			return fd;
	}
	return -1;
}

/* ---- files ---- */

int beneath_read(int dir, const char *path, size_t max, struct buf *ret, struct err *err)
{
	char chunk[8192];
	size_t total = 0;
	own(fd_closep) int fd = beneath_open(dir, path, O_RDONLY, 0, err);

	if (fd < 0)
		return -1;
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return beneath_fail(dir, path, errno, "read", err);
		if (got == 0)
			return 0;
		total += (size_t)got;
		if (total > max)
			return err_set(err, ERR_LIMIT, "read '%s': more than %zu bytes", path, max);
		buf_add(ret, chunk, (size_t)got);
	}
}

static int write_all(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(fd, text->data + done, text->len - done);
		if (wrote < 0 && errno != EINTR)
			return -1;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return fsync(fd);
}

/* A draft beside it, with a name that nobody can guess; not O_TMPFILE, since linkat replaces nothing. */
static int write_beside(int parent, const char *last, const struct buf *text, mode_t mode)
{
	unsigned long long number = 0;
	struct stat st;

	if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : S_ISLNK(st.st_mode) ? ELOOP : EINVAL;
		return -1;
	}
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -1;
	own(freep) char *draft = xfmt(".%.60s.%016llx", last, number);
	own(fd_closep) int fd = open_beneath(parent, draft, O_WRONLY | O_CREAT | O_EXCL, mode);
	if (fd < 0)
		return -1;
	if (write_all(fd, text) == 0 && renameat(parent, draft, parent, last) == 0)
		return 0;
	int code = errno;
	(void)unlinkat(parent, draft, 0);
	errno = code;
	return -1;
}

int beneath_write(int dir, const char *path, const struct buf *text, mode_t mode, struct err *err)
{
	own(freep) char *last = NULL;
	own(fd_closep) int parent = parent_of(dir, path, &last);

	if (parent < 0 || write_beside(parent, last, text, mode) < 0)
		return beneath_fail(dir, path, errno, "write", err);
	return 0;
}

int beneath_rename(int from_dir, const char *from, int to_dir, const char *to, struct err *err)
{
	own(freep) char *from_last = NULL, *to_last = NULL;
	own(fd_closep) int from_parent = parent_of(from_dir, from, &from_last);

	if (from_parent < 0)
		return beneath_fail(from_dir, from, errno, "rename", err);
	own(fd_closep) int to_parent = parent_of(to_dir, to, &to_last);
	if (to_parent < 0 || renameat(from_parent, from_last, to_parent, to_last) < 0)
		return beneath_fail(to_dir, to, errno, "rename to", err);
	return 0;
}

int beneath_remove(int dir, const char *path, struct err *err)
{
	own(freep) char *last = NULL;
	own(fd_closep) int parent = parent_of(dir, path, &last);

	if (parent < 0)
		return errno == ENOENT ? 0 : beneath_fail(dir, path, errno, "remove", err);
	return fs_remove_tree(parent, last, err);
}

int beneath_unlink(int dir, const char *path, int flags)
{
	own(freep) char *last = NULL;
	own(fd_closep) int parent = parent_of(dir, path, &last);

	return parent < 0 ? -1 : unlinkat(parent, last, flags);
}

/* ---- looking ---- */

int beneath_stat(int dir, const char *path, struct stat *ret)
{
	own(fd_closep) int fd = is_path(path) ? open_beneath(dir, path, O_PATH, 0) : -1;

	if (!is_path(path))
		errno = EINVAL;
	return fd < 0 ? -1 : fstat(fd, ret);
}

bool beneath_is_file(int dir, const char *path)
{
	struct stat st;

	return beneath_stat(dir, path, &st) == 0 && S_ISREG(st.st_mode);
}

bool beneath_is_folder(int dir, const char *path)
{
	struct stat st;

	return beneath_stat(dir, path, &st) == 0 && S_ISDIR(st.st_mode);
}

DIR *beneath_list(int dir, const char *path)
{
	own(fd_closep) int fd = beneath_try(dir, path, O_RDONLY | O_DIRECTORY, 0);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (list)
		(void)fd_take(&fd);
	return list;
}
