/* A run's folder: locked by whoever lives in it, so that what a killed run left is known and removed by the next
 * one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "fuzz/function/run.h"

#define NAME_LEN 6u
#define TRIES 20

/* Ours only: six characters, as mkdtemp makes them. What is locked is alive. */
static void remove_dead(int above, const char *name)
{
	own(fd_closep) int fd = -1;
	struct err err;

	if (strlen(name) != NAME_LEN || *name == '.')
		return;
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)!fs_remove_tree(above, name, &err); /* one that cannot be removed is nobody's hindrance */
}

static void sweep(const char *above)
{
	own(fd_closep) int fd = open(above, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int copy = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir) {
		fd_close(&copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		remove_dead(fd, entry->d_name);
	(void)closedir(dir);
}

/* Another one that begins now may take it for dead before it is locked: then it is made again. */
static int make_locked(char *path, int *ret_fd, struct err *err)
{
	struct stat mine, there;

	if (!mkdtemp(path))
		return err_errno(err, errno, "make a folder '%s'", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd >= 0 && flock(*ret_fd, LOCK_SH | LOCK_NB) == 0 && fstat(*ret_fd, &mine) == 0 &&
		stat(path, &there) == 0 && mine.st_ino == there.st_ino)
		return 0;
	fd_close(ret_fd);
	return err_set(err, EAGAIN, "the folder '%s' was removed by another run", path);
}

int run_folder_open(const char *above, char **ret, int *ret_fd, struct err *err)
{
	if (fs_mkdirs(above, err) < 0)
		return -1;
	sweep(above);
	for (int tries = 0; tries < TRIES; tries++) {
		own(freep) char *path = xfmt("%s/XXXXXX", above);
		if (make_locked(path, ret_fd, err) == 0) {
			*ret = ptr_take(&path);
			return 0;
		}
		if (err->code != EAGAIN)
			return -1;
	}
	return -1;
}
