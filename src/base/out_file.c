#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/term.h"

bool out_file_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int target_check(const char *path, const char *shown, bool replace, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_errno(err, errno, "write '%s'", shown);
	if (S_ISLNK(st.st_mode))
		return err_set(err, ERR_USAGE, "'%s' is a symbolic link and is not followed; name the file itself, or - for stdout",
			shown);
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "'%s' is a folder; name a file in it", shown);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "'%s' is no regular file; name one, or - for stdout", shown);
	if (!replace)
		return err_set(err, ERR_USAGE, "'%s' is there already; --force overwrites it", shown);
	return 0;
}

/* For the user's eyes, as any file of theirs: mkstemp's 0600 would keep a collector out. */
static int draft_mode(int fd)
{
	mode_t mask = umask(0);
	(void)umask(mask);
	return fchmod(fd, 0666 & ~mask);
}

static int draft_write(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(fd, text->data + done, text->len - done);
		if (wrote < 0 && errno != EINTR)
			return -1;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return draft_mode(fd) < 0 || fsync(fd) < 0 ? -1 : 0;
}

/* Without a name, where the file system can: then not even kill -9 leaves a draft behind. Else at *ret_name. */
static int draft_open(const char *path, char **ret_name)
{
	const char *slash = strrchr(path, '/');
	own(freep) char *folder = !slash ? xstrdup(".") : xfmt("%.*s", slash == path ? 1 : (int)(slash - path), path);
	int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	*ret_name = xfmt("%s.XXXXXX", path);
	return mkostemp(*ret_name, O_CLOEXEC);
}

/* Gives a draft without a name the path; or, to replace what is there, a name beside it. */
static int draft_link(int fd, const char *path, bool replace, char **ret_name)
{
	char held[32];
	unsigned number = 0;

	(void)snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	if (!replace)
		return linkat(AT_FDCWD, held, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
	if (getrandom(&number, sizeof(number), 0) < 0)
		return -1;
	own(freep) char *name = xfmt("%s.%06x", path, number & 0xffffff);
	if (linkat(AT_FDCWD, held, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0)
		return -1; /* a name that was taken stays whose it is */
	*ret_name = ptr_take(&name);
	return 0;
}

/* link fails where the name has been taken meanwhile; rename would not. */
static int draft_place(int fd, char **name, const char *path, bool replace)
{
	if (!*name && draft_link(fd, path, replace, name) < 0)
		return -1;
	if (!*name) /* it was given the path itself */
		return 0;
	if (replace)
		return rename(*name, path);
	if (link(*name, path) < 0)
		return -1;
	(void)unlink(*name);
	return 0;
}

/* `shown`: the path for errors. */
static int draft_begin(const char *path, bool replace, struct buf *shown, char **ret_name, struct err *err)
{
	term_line(path, strlen(path), 200, shown);
	if (target_check(path, buf_text(shown), replace, err) < 0)
		return -1;
	int fd = draft_open(path, ret_name);
	return fd < 0 ? err_errno(err, errno, "write '%s'", buf_text(shown)) : fd;
}

int out_file_check(const char *path, bool replace, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	own(freep) char *draft = NULL;
	own(fd_closep) int fd = draft_begin(path, replace, &shown, &draft, err);

	if (fd < 0)
		return -1;
	if (draft)
		(void)unlink(draft);
	return 0;
}

int out_file_write(const char *path, const struct buf *text, bool replace, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	own(freep) char *draft = NULL;
	own(fd_closep) int fd = draft_begin(path, replace, &shown, &draft, err);

	if (fd < 0)
		return -1;
	if (draft_write(fd, text) == 0 && draft_place(fd, &draft, path, replace) == 0)
		return 0;
	int code = errno;
	if (draft)
		(void)unlink(draft);
	return err_errno(err, code, "write '%s'", buf_text(&shown));
}
