#include "cli/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

/* link fails where the name has been taken meanwhile; rename would not. */
static int draft_place(const char *draft, const char *path, bool replace)
{
	if (replace)
		return rename(draft, path);
	if (link(draft, path) < 0)
		return -1;
	(void)unlink(draft);
	return 0;
}

int out_file_write(const char *path, const struct buf *text, bool replace, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	own(freep) char *draft = xfmt("%s.XXXXXX", path);

	term_line(path, strlen(path), 200, &shown);
	if (target_check(path, buf_text(&shown), replace, err) < 0)
		return -1;
	own(fd_closep) int fd = mkostemp(draft, O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "write '%s'", buf_text(&shown));
	if (draft_write(fd, text) == 0 && draft_place(draft, path, replace) == 0)
		return 0;
	int code = errno;
	(void)unlink(draft);
	return err_errno(err, code, "write '%s'", buf_text(&shown));
}
