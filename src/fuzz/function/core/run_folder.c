/* A run's folder: locked by whoever lives in it, so that what a killed run left is known and removed by the next
 * one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "fuzz/function/core/run.h"

#define RUNS "fuzz"
#define NAME_LEN 6u
#define TRIES 20

/* Ours only: six characters, as mkdtemp makes them. What is locked is alive. */
static void remove_dead(int above, const char *name)
{
	struct err err;

	if (strlen(name) != NAME_LEN || *name == '.')
		return;
	own(fd_closep) int fd = beneath_try(above, name, O_RDONLY | O_DIRECTORY, 0);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)!beneath_remove(above, name, &err); /* one that cannot be removed is nobody's hindrance */
}

static void sweep(int above)
{
	DIR *dir = beneath_list(above, ".");

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		remove_dead(above, entry->d_name);
	(void)closedir(dir);
}

/* Another one that begins now may take it for dead before it is locked: then it is made again. */
static int make_locked(int above, char *name, int *ret_fd, struct err *err)
{
	struct stat mine, there;

	*ret_fd = beneath_mkdtemp(above, name, 0700, err);
	if (*ret_fd < 0)
		return -1;
	if (flock(*ret_fd, LOCK_SH | LOCK_NB) == 0 && fstat(*ret_fd, &mine) == 0 && beneath_stat(above, name, &there) == 0 &&
		mine.st_ino == there.st_ino)
		return 0;
	fd_close(ret_fd);
	return err_set(err, EAGAIN, "the folder '%s' was removed by another run", name);
}

int run_folder_open(const char *state, char **ret, int *ret_fd, struct err *err)
{
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int above = root < 0 ? -1 : beneath_mkdirs(root, RUNS, 0755, err);

	if (above < 0)
		return -1;
	sweep(above);
	for (int tries = 0; tries < TRIES; tries++) {
		char name[] = "XXXXXX";
		if (make_locked(above, name, ret_fd, err) == 0) {
			*ret = xfmt("%s/" RUNS "/%s", state, name);
			return 0;
		}
		if (err->code != EAGAIN)
			return -1;
	}
	return -1;
}

int run_folder_remove(const char *state, const char *folder, struct err *err)
{
	const char *slash = strrchr(folder, '/');
	own(freep) char *path = xfmt(RUNS "/%s", slash ? slash + 1 : folder);
	own(fd_closep) int root = beneath_root(state, err);

	return root < 0 ? -1 : beneath_remove(root, path, err);
}
