/* Processes whose cells have a folder mounted read-write. What is to be hidden from a cell is looked for when it starts: a state folder that is
 * made below such a mount while the cell runs would be the cell's to write. So none is made there, nor an empty one taken, meanwhile.
 *
 * Each process has a file in `writers` beside the record, locked as long as it or a child of it lives, with a folder a line. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "project/trust.h"
#include "project/trust_text.h"

#define FOLDER "writers"
#define TEXT_MAX ((size_t)1 << 20)
#define LOOKED_AT 10000

static int ours = -1; /* open until we end */
static char ours_name[64];

static int open_writers(bool make)
{
	struct err none = {0};
	own(freep) char *record = trust_folder(&none);
	own(freep) char *path = record ? xfmt("%s/" FOLDER, record) : NULL;
	struct stat st;

	if (!path || (make && (trust_prepare(&none) < 0 || (mkdir(path, 0700) < 0 && errno != EEXIST))))
		return -1;
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 022))
		return -1;
	return fd_take(&fd);
}

static bool is_held(int folder, const char *name)
{
	own(fd_closep) int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK};

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool is_below(const char *folder, const char *path)
{
	size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The folder of that file that holds the path; NULL: none. */
static char *folder_above(int folder, const char *name, const char *path)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(folder, name, TEXT_MAX, &text, &err) < 0 || !text.len)
		return NULL;
	char *rest = text.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		own(freep) char *source = trust_path_read(line);
		if (source && is_below(source, path))
			return ptr_take(&source);
	}
	return NULL;
}

char *trust_writer_above(const char *path)
{
	int fd = open_writers(false);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char *found = NULL;

	if (!dir)
		fd_close(&fd);
	for (int i = 0; dir && !found && i < LOOKED_AT; i++) {
		struct dirent *entry = readdir(dir);
		if (!entry)
			break;
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, ours_name) == 0)
			continue;
		if (is_held(dirfd(dir), entry->d_name))
			found = folder_above(dirfd(dir), entry->d_name, path);
		else
			(void)unlinkat(dirfd(dir), entry->d_name, 0); /* of one that has ended */
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* Under another name until it is locked: who looks sees no file that nobody holds, and removes none that is just being made. */
void trust_writer(const char *source)
{
	own(fd_closep) int folder = ours >= 0 ? -1 : open_writers(true);
	own(buf_done) struct buf line = {0};

	if (ours < 0 && folder >= 0) {
		struct flock lock = {.l_type = F_WRLCK};
		own(freep) char *swept = trust_writer_above("/");
		own(freep) char *name = xfmt("%d-%llx", (int)getpid(), (unsigned long long)clock_now());
		own(freep) char *before = xfmt(".%s", name);
		own(fd_closep) int fd = openat(folder, before, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600);
		if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0 || renameat(folder, before, folder, name) < 0) {
			(void)unlinkat(folder, before, 0);
			return;
		}
		ours = fd_take(&fd);
		(void)snprintf(ours_name, sizeof(ours_name), "%s", name);
	}
	trust_path_text(source, &line);
	buf_char(&line, '\n');
	if (ours >= 0)
		(void)!write(ours, line.data, line.len);
}
