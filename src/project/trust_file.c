/* The record's file: where it is, reading it, and changing it.
 *
 * The folder is ours alone (0700) and no link; the file is changed by writing a new one beside it and renaming that, under a
 * lock, so that a reader needs none and whoever is killed leaves the one or the other. What cannot be read is not believed. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "project/trust.h"

#define FOLDER "hotcell"
#define FILE_NAME "states"
#define NEW_NAME "states.new"
#define LOCK_NAME "lock"
#define LOCK_TRIES 1000 /* of 10 ms */
#define CROWDED 500 /* entries from which on those of folders that are gone are looked for */
#define WAY_OUT "set XDG_STATE_HOME to a folder of yours, outside of the project"

/* ---- where ---- */

static bool is_mine(const char *folder)
{
	struct stat st;

	return folder && *folder == '/' && stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

/* From the file itself: a static program asks no name service. */
static char *home_of_account(void)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *row = NULL;
	char *home = NULL;

	while (file && (row = fgetpwent(file)) && row->pw_uid != geteuid())
		;
	if (row && row->pw_dir && *row->pw_dir == '/')
		home = xstrdup(row->pw_dir);
	if (file)
		(void)fclose(file);
	return home;
}

/* HOME, unless it is somebody else's: after sudo or su it may be that of the user before. */
static char *state_home(struct err *err)
{
	const char *given = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (given && *given && *given != '/') {
		(void)err_set(err, ERR_USAGE, "XDG_STATE_HOME is '%.100s', which is no absolute path: set it to one, or leave it out", given);
		return NULL;
	}
	if (given && *given)
		return xstrdup(given);
	own(freep) char *account = is_mine(home) ? NULL : home_of_account();
	const char *chosen = is_mine(account) || !(home && *home == '/') ? account : home;
	chosen = is_mine(home) ? home : chosen;
	if (!chosen)
		(void)err_set(err, ERR_USAGE, "there is no home folder in which hotcell can record its state folders: set HOME, or " WAY_OUT);
	return chosen ? xfmt("%s/.local/state", strcmp(chosen, "/") == 0 ? "" : chosen) : NULL;
}

char *trust_folder(struct err *err)
{
	own(freep) char *home = state_home(err);

	return home ? xfmt("%s/" FOLDER, home) : NULL;
}

static int failed(struct err *err, int code, const char *home)
{
	return err_set(err, code, "hotcell cannot write '%.140s/" FOLDER "', where it records its state folders: %s; make it writable, or " WAY_OUT, home, strerror(code));
}

static int check_folder(int fd, const char *home, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at '%s/" FOLDER "'", home);
	if (st.st_uid != geteuid())
		return err_set(err, ERR_USAGE,
			"'%.140s/" FOLDER "', in which state folders are recorded, belongs to another user: set HOME to your own, or " WAY_OUT, home);
	if (st.st_mode & 022)
		return err_set(err, ERR_USAGE,
			"'%.140s/" FOLDER "', in which state folders are recorded, can be written by others: look at what is in it, and "
			"'chmod 700' it",
			home);
	return (st.st_mode & 077) && fchmod(fd, 0700) < 0 ? failed(err, errno, home) : 0;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* -1 with code 0: it is not there, and shall not be made. The home may be behind links of the user's own; the last step is none. */
static int open_folder(bool make, struct err *err)
{
	own(freep) char *home = state_home(err);

	*err = home ? (struct err){0} : *err;
	if (!home)
		return -1;
	own(fd_closep) int made = make && !is_folder(home) ? beneath_root_make(home, 0700, NULL, err) : -1;
	if (made < 0 && err->code)
		return failed(err, err->code, home);
	own(fd_closep) int above = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (above < 0)
		return errno == ENOENT ? -1 : failed(err, errno, home);
	if (make && mkdirat(above, FOLDER, 0700) < 0 && errno != EEXIST)
		return failed(err, errno, home);
	own(fd_closep) int fd = openat(above, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return -1;
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(err, ERR_USAGE, "'%.140s/" FOLDER "', in which state folders are recorded, is a link or no folder: remove it", home);
	if (fd < 0)
		return failed(err, errno, home);
	return check_folder(fd, home, err) < 0 ? -1 : fd_take(&fd);
}

int trust_prepare(struct err *err)
{
	own(fd_closep) int fd = open_folder(true, err);

	return fd < 0 ? -1 : 0;
}

/* ---- reading ---- */

static int read_list(int folder, struct trust_list *ret, struct err *err)
{
	own(freep) char *place = trust_folder(err);
	own(freep) char *name = xfmt("%s/" FILE_NAME, place ? place : "");
	own(buf_done) struct buf text = {0};
	struct stat st;

	*ret = (struct trust_list){0};
	if (fstatat(folder, FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_errno(err, errno, "look at the record of state folders '%s'", name);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) || (size_t)st.st_size > TRUST_BYTES_MAX)
		return err_set(err, EINVAL,
			"the record of state folders '%.160s' is not a file that you alone can write, of at most %zu MB: move it away, and "
			"'hotcell trust' each state folder again",
			name, TRUST_BYTES_MAX >> 20);
	if (fs_read_small(folder, FILE_NAME, TRUST_BYTES_MAX, &text, err) < 0)
		return err_wrap(err, "the record of state folders in '%.100s'", place ? place : "");
	return trust_list_parse(ret, buf_text(&text), text.len, name, err);
}

int trust_read(struct trust_list *ret, struct err *err)
{
	own(fd_closep) int folder = open_folder(false, err);

	*ret = (struct trust_list){0};
	if (folder < 0)
		return err->code ? -1 : 0;
	return read_list(folder, ret, err);
}

/* ---- changing ---- */

static int lock_folder(int folder, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	own(fd_closep) int fd = openat(folder, LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct flock lock = {.l_type = F_WRLCK};

	if (fd < 0)
		return err_errno(err, errno, "lock the record of state folders");
	for (int i = 0; fcntl(fd, F_OFD_SETLK, &lock) < 0; i++) {
		if ((errno != EAGAIN && errno != EACCES) || i == LOCK_TRIES)
			return err_errno(err, errno, "lock the record of state folders");
		(void)nanosleep(&pause, NULL);
	}
	return fd_take(&fd);
}

/* Gone for certain: something else is there, or nothing where its folder still is. A disk that is not mounted now is neither. */
static bool is_gone(const struct trust_entry *entry)
{
	own(freep) char *above = xstrdup(entry->path);
	char *slash = strrchr(above, '/');
	struct stat st;

	if (lstat(entry->path, &st) == 0)
		return st.st_ino != entry->inode;
	*(slash == above ? slash + 1 : slash) = '\0';
	return errno == ENOENT && lstat(above, &st) == 0;
}

static void drop(struct trust_list *list, size_t at)
{
	free(list->items[at].path);
	memmove(&list->items[at], &list->items[at + 1], (list->count - at - 1) * sizeof(*list->items));
	list->count--;
}

/* Small lists are left alone: to look at a folder on a dead network disk may take for ever. */
static void make_room(struct trust_list *list, struct buf *text)
{
	for (size_t i = list->count > CROWDED ? list->count - 1 : 0; i-- > 0;)
		if (is_gone(&list->items[i]))
			drop(list, i);
	while (list->count > TRUST_ENTRIES_MAX)
		drop(list, 0);
	trust_list_text(list, text);
	while (text->len > TRUST_BYTES_MAX && list->count > 1) {
		drop(list, 0);
		text->len = 0;
		trust_list_text(list, text);
	}
}

static int write_all(int fd, const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		ssize_t put = write(fd, text->data + at, text->len - at);
		if (put < 0 && errno != EINTR)
			return -1;
		at += put > 0 ? (size_t)put : 0;
	}
	return fdatasync(fd);
}

static int write_list(int folder, struct trust_list *list, struct err *err)
{
	own(buf_done) struct buf text = {0};

	make_room(list, &text);
	(void)unlinkat(folder, NEW_NAME, 0); /* of one that was killed */
	own(fd_closep) int fd = openat(folder, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && write_all(fd, &text) == 0 && renameat(folder, NEW_NAME, folder, FILE_NAME) == 0)
		return 0;
	int code = errno;
	(void)unlinkat(folder, NEW_NAME, 0);
	own(freep) char *home = state_home(err);
	return failed(err, code, home ? home : "");
}

/* Without what it has of this path. */
static bool take_out(struct trust_list *list, const char *path)
{
	size_t before = list->count;

	for (size_t i = list->count; i-- > 0;)
		if (strcmp(list->items[i].path, path) == 0)
			drop(list, i);
	return list->count < before;
}

int trust_add(const struct trust_entry *entry, struct err *err)
{
	own(trust_list_done) struct trust_list list = {0};
	own(fd_closep) int folder = open_folder(true, err);
	own(fd_closep) int lock = folder < 0 ? -1 : lock_folder(folder, err);

	if (lock < 0 || read_list(folder, &list, err) < 0)
		return -1;
	(void)take_out(&list, entry->path);
	list.items = xrealloc(list.items, list.count + 1, sizeof(*list.items));
	list.items[list.count] = *entry;
	list.items[list.count++].path = xstrdup(entry->path);
	return write_list(folder, &list, err);
}

int trust_remove(const char *path, bool *ret_removed, struct err *err)
{
	own(trust_list_done) struct trust_list list = {0};
	own(fd_closep) int folder = open_folder(false, err);

	*ret_removed = false;
	if (folder < 0)
		return err->code ? -1 : 0;
	own(fd_closep) int lock = lock_folder(folder, err);
	if (lock < 0 || read_list(folder, &list, err) < 0)
		return -1;
	*ret_removed = take_out(&list, path);
	return *ret_removed ? write_list(folder, &list, err) : 0;
}
