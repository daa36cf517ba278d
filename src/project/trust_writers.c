/* Processes whose cells have a folder mounted read-write. What is to be hidden from a cell is
 * looked for when it starts: a state folder that is made below such a mount while the cell runs
 * would be the cell's to write. So none is made there, nor an empty one taken, meanwhile.
 *
 * Each process has a file in `writers` beside the record, locked as long as it or a child of it
 * lives, with a folder a line: its device, its inode and its path. A mount follows its folder when
 * that is renamed, so the inode counts as much as the path. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/fs_walk.h"
#include "project/trust.h"
#include "project/trust_text.h"

#define FOLDER "writers"
#define TEXT_MAX ((size_t)1 << 20)
#define LOOKED_AT 10000
#define UNKNOWN "(unknown)" /* who writes cannot be read: it may be anywhere */

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

/* Nobody holds it, for sure: one that we cannot look at may be of a live process. */
static bool has_ended(int folder, const char *name)
{
	own(fd_closep) int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = {.l_type = F_WRLCK};

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_UNLCK;
}

static bool is_below(const char *folder, const char *path)
{
	size_t len = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* ---- a path, and all folders that it is in ---- */

struct way {
	const char *path;
	struct folder_id {
		uint64_t device, inode;
	} *ids; /* the nearest first */
	size_t count;
};

static void way_done(struct way *way)
{
	free(way->ids);
}

static bool way_has(const struct way *way, uint64_t device, uint64_t inode)
{
	for (size_t i = 0; i < way->count; i++)
		if (way->ids[i].device == device && way->ids[i].inode == inode)
			return true;
	return false;
}

/* A step up for each step of the path, which has no links. One that is not there is in no folder. */
static void way_find(const char *path, struct way *ret)
{
	own(fd_closep) int at = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t steps = 1;
	struct stat st;

	for (const char *c = path; *c; c++)
		steps += *c == '/';
	*ret = (struct way){.path = path, .ids = xcalloc(steps, sizeof(*ret->ids))};
	while (at >= 0 && ret->count < steps && fstat(at, &st) == 0) {
		ret->ids[ret->count++] =
			(struct folder_id){(uint64_t)st.st_dev, (uint64_t)st.st_ino};
		int above = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = above;
	}
}

/* ---- who writes there ---- */

/* The folder of that file that holds the path, or is in it; NULL: none. */
static char *folder_above(int folder, const char *name, const struct way *way)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(folder, name, TEXT_MAX, &text, &err) < 0)
		return err.code == ENOENT ? NULL : xstrdup(UNKNOWN);
	char *rest = text.data;
	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		uint64_t device = 0, inode = 0;
		int used = 0;
		bool older = *line == '/'; /* a path alone */
		if (!older &&
			(sscanf(line, "%" SCNu64 " %" SCNu64 " %n", &device, &inode, &used) < 2 || !used))
			continue;
		own(freep) char *source = trust_path_read(line + used);
		bool within = source && way->path[1] &&
			is_below(way->path, source); /* a part of it is written to */
		if (source &&
			(within || is_below(source, way->path) || way_has(way, device, inode)))
			return ptr_take(&source);
	}
	return NULL;
}

char *trust_writer_above(const char *path)
{
	own(way_done) struct way way = {0};
	errno = 0;
	int fd = open_writers(false);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		return xstrdup(UNKNOWN);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	char *found = NULL;

	if (!dir)
		fd_close(&fd);
	way_find(path, &way);
	for (int i = 0; dir && !found && i < LOOKED_AT; i++) {
		struct dirent *entry = readdir(dir);
		if (!entry)
			break;
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, ours_name) == 0 ||
			fs_entry_kind(dirfd(dir), entry) != DT_REG)
			continue;
		if (has_ended(dirfd(dir), entry->d_name))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
		else
			found = folder_above(dirfd(dir), entry->d_name, &way);
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
	struct stat st = {0};

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
	(void)!stat(source, &st); /* one that is not there is not mounted either */
	buf_fmt(&line, "%" PRIu64 " %" PRIu64 " ", (uint64_t)st.st_dev, (uint64_t)st.st_ino);
	trust_path_text(source, &line);
	buf_char(&line, '\n');
	if (ours >= 0)
		(void)!write(ours, line.data, line.len);
}
