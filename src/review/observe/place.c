/* Where the files of a review are: a folder below TMPDIR that no cell is shown, locked as long as the review lives. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fs.h"
#include "review/observe/scene.h"

#define PREFIX "hotcell-review."
#define STALE_S 60 /* a younger one may be about to be locked */

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	while (len > 0 && folder[len - 1] == '/')
		len--;
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* Where the scene may be: not where every cell looks, or what a cell may read would pass for an escape. The caller frees. */
static char *place_above(const struct review_options *options, struct err *err)
{
	static const char *const shown[] = {"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", NULL};
	const char *wanted = getenv("TMPDIR");
	own(freep) char *above = realpath(wanted && *wanted ? wanted : "/tmp", NULL);
	own(freep) char *image = options->image ? realpath(options->image, NULL) : NULL;
	const char *seen = above && image && is_below(above, image) ? image : NULL;

	if (!above) {
		err_errno(err, errno, "TMPDIR, where the review has its files: '%s'", wanted && *wanted ? wanted : "/tmp");
		return NULL;
	}
	for (const char *const *each = shown; *each && !seen; each++)
		seen = is_below(above, *each) ? *each : NULL;
	if (seen)
		err_set(err, ERR_USAGE, "TMPDIR is '%s', but cells are shown '%s'; set it to a folder that they are not", above, seen);
	else if (strchr(above, ':') || strpbrk(above, "\n\r\033"))
		err_set(err, ERR_USAGE, "TMPDIR is '%s', which cannot be mounted into a cell; set it to a plain path", above);
	return seen || err->code ? NULL : ptr_take(&above);
}

/* What a review left that was killed: a folder of ours that nobody has locked. */
static void sweep_one(int above, const char *name)
{
	own(fd_closep) int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	struct err err;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_mtime + STALE_S < time(NULL) &&
		flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)!fs_remove_tree(above, name, &err);
}

static void sweep(const char *above)
{
	DIR *dir = opendir(above);

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
			sweep_one(dirfd(dir), entry->d_name);
	if (dir)
		(void)closedir(dir);
}

char *place_make(const struct review_options *options, int *ret_lock, struct err *err)
{
	own(freep) char *above = place_above(options, err);

	if (!above)
		return NULL;
	sweep(above);
	own(freep) char *folder = xfmt("%s/" PREFIX "XXXXXX", above);
	if (!mkdtemp(folder)) {
		err_errno(err, errno, "make a folder in '%s' (TMPDIR names another)", above);
		return NULL;
	}
	*ret_lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_lock < 0 || flock(*ret_lock, LOCK_EX | LOCK_NB) < 0 || fchmod(*ret_lock, 0755) < 0) {
		err_errno(err, errno, "lock the folder '%s'", folder);
		(void)rmdir(folder);
		return NULL;
	}
	return ptr_take(&folder);
}
