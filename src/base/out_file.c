#include "base/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/term.h"

bool out_file_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

static int target_check(int folder, const char *name, const char *shown, bool replace, struct err *err)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
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

/* A file that is being written: its folder, held, its name there, and the name of its draft, if that has one. */
struct draft {
	int folder, fd;
	char *name, *beside;
	struct buf shown; /* the path, for errors */
};

static void draft_done(struct draft *draft)
{
	fd_close(&draft->folder);
	fd_close(&draft->fd);
	free(draft->name);
	free(draft->beside);
	buf_done(&draft->shown);
}

static char *name_beside(const char *name)
{
	unsigned number = 0;

	return getrandom(&number, sizeof(number), 0) < 0 ? NULL : xfmt("%.200s.%06x", name, number & 0xffffff);
}

/* Without a name, where the file system can: then not even kill -9 leaves a draft behind. */
static int draft_open(struct draft *draft)
{
	draft->fd = openat(draft->folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (draft->fd >= 0)
		return 0;
	draft->beside = name_beside(draft->name);
	if (draft->beside)
		draft->fd = openat(draft->folder, draft->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return draft->fd < 0 ? -1 : 0;
}

/* Gives a draft without a name the file's; or, to replace what is there, a name beside it. */
static int draft_link(struct draft *draft, bool replace)
{
	char held[32];

	(void)snprintf(held, sizeof(held), "/proc/self/fd/%d", draft->fd);
	own(freep) char *name = replace ? name_beside(draft->name) : xstrdup(draft->name);
	if (!name || linkat(AT_FDCWD, held, draft->folder, name, AT_SYMLINK_FOLLOW) < 0)
		return -1; /* a name that was taken stays whose it is */
	if (replace)
		draft->beside = ptr_take(&name);
	return 0;
}

/* link fails where the name has been taken meanwhile; rename would not. */
static int draft_place(struct draft *draft, bool replace)
{
	if (!draft->beside && draft_link(draft, replace) < 0)
		return -1;
	if (!draft->beside) /* it was given the name itself */
		return 0;
	if (replace)
		return renameat(draft->folder, draft->beside, draft->folder, draft->name);
	if (linkat(draft->folder, draft->beside, draft->folder, draft->name, 0) < 0)
		return -1;
	(void)unlinkat(draft->folder, draft->beside, 0);
	return 0;
}

static int draft_begin(const char *path, bool replace, struct draft *ret, struct err *err)
{
	term_line(path, strlen(path), 200, &ret->shown);
	size_t len = strlen(path);
	if (len > 0 && path[len - 1] == '/')
		return err_set(err, ERR_USAGE, "'%s' is a folder; name a file in it", buf_text(&ret->shown));
	ret->folder = beneath_parent(path, false, &ret->name, err);
	if (ret->folder < 0)
		return err_wrap(err, "write '%s'", buf_text(&ret->shown));
	if (target_check(ret->folder, ret->name, buf_text(&ret->shown), replace, err) < 0)
		return -1;
	return draft_open(ret) < 0 ? err_errno(err, errno, "write '%s'", buf_text(&ret->shown)) : 0;
}

int out_file_check(const char *path, bool replace, struct err *err)
{
	own(draft_done) struct draft draft = {.folder = -1, .fd = -1};

	if (draft_begin(path, replace, &draft, err) < 0)
		return -1;
	if (draft.beside)
		(void)unlinkat(draft.folder, draft.beside, 0);
	return 0;
}

int out_file_write(const char *path, const struct buf *text, bool replace, struct err *err)
{
	own(draft_done) struct draft draft = {.folder = -1, .fd = -1};

	if (draft_begin(path, replace, &draft, err) < 0)
		return -1;
	if (draft_write(draft.fd, text) == 0 && draft_place(&draft, replace) == 0)
		return 0;
	int code = errno;
	if (draft.beside)
		(void)unlinkat(draft.folder, draft.beside, 0);
	return err_errno(err, code, "write '%s'", buf_text(&draft.shown));
}
