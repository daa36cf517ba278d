#include "cell/native/inside/watch.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "cell/cell.h"

void watch_open(struct watch *watch, bool proc, bool memory, int sockets)
{
	*watch = (struct watch){ .proc = -1, .loadavg = -1, .sockets = sockets };
	if (!proc)
		return;
	if (memory)
		watch->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watch->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	if (sockets < 0)
		watch->sockets = open("/proc/self/net/sockstat", O_RDONLY | O_CLOEXEC);
}

/* The last field of loadavg is the newest pid of the reader's pid namespace: numbers are given out in
 * order, so it counts. */
uint64_t watch_processes(const struct watch *watch)
{
	char text[128];
	ssize_t len = watch->loadavg < 0 ? -1 : pread(watch->loadavg, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	const char *last = strrchr(text, ' ');
	uint64_t newest = last == NULL ? 0 : strtoull(last, NULL, 10);
	return newest > 0 ? newest - 1 : 0;
}

static long field_after(const char *text, const char *line, const char *key)
{
	const char *at = strstr(text, line);
	const char *end = at == NULL ? NULL : strchr(at, '\n');

	at = at == NULL ? NULL : strstr(at, key);
	return at == NULL || (end != NULL && at > end) ? 0 : strtol(at + strlen(key), NULL, 10);
}

/* `used` is all sockets of this network, whatever their kind and however dead their owner; the kernel's own are none of
 * them, and connections that only wait for their time have no socket any more. */
bool watch_net_clean(const struct watch *watch)
{
	char text[1024];
	ssize_t len = watch->sockets < 0 ? -1 : pread(watch->sockets, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return field_after(text, "sockets:", " used ") == 0 && field_after(text, "TCP:", " tw ") == 0 &&
	       field_after(text, "FRAG:", " inuse ") == 0;
}

/* By its path: the root is read-only, so these are the mounts that we made. */
static uint64_t used(const char *path, bool *full)
{
	struct statfs fs;

	if (statfs(path, &fs) < 0)
		return 0;
	if (fs.f_bavail == 0 || fs.f_ffree == 0)
		*full = true;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

bool watch_disk_full(uint64_t *ret_written)
{
	bool full = false;

	*ret_written = used("/tmp", &full) + used(CELL_WORKSPACE, &full);
	(void)used("/dev/shm", &full);
	return full;
}

/* ---- memory ---- */

/* Of all processes. */
struct usage {
	uint64_t all, shared; /* `shared` of `all`: pages of files and of shared memory */
	uint64_t space; /* addresses */
	uint64_t nameless; /* shared memory that is no file's, whether it is used or not */
	struct {
		unsigned long inode;
		uint64_t end;
	} regions[64]; /* those that `nameless` is made of; if there are more, the rest is counted once a process */
	size_t region_count;
};

/* Adds what one process has; false: it has no memory, or cannot be looked at. */
typedef bool measure_fn(int dir, const char *name, struct usage *usage);

static int open_of(int dir, const char *name, const char *what)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%.20s/%s", name, what);
	return openat(dir, path, O_RDONLY | O_CLOEXEC);
}

static bool resident(int dir, const char *name, struct usage *usage)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long space = 0, all = 0, shared = 0;
	char text[128];
	own(fd_closep) int fd = open_of(dir, name, "statm");
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	(void)sscanf(text, "%llu %llu %llu", &space, &all, &shared);
	usage->space += space * page;
	usage->all += all * page;
	usage->shared += shared * page;
	return space > 0;
}

static uint64_t kilobytes_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10) * 1024;
}

static bool proportional(int dir, const char *name, struct usage *usage)
{
	char text[2048];
	own(fd_closep) int fd = open_of(dir, name, "smaps_rollup");
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return resident(dir, name, usage);
	text[len] = '\0';
	usage->all += kilobytes_after(text, "\nPss:");
	usage->shared += kilobytes_after(text, "\nPss_File:") + kilobytes_after(text, "\nPss_Shmem:");
	return true;
}

static void region_add(struct usage *usage, unsigned long inode, uint64_t end)
{
	for (size_t i = 0; i < usage->region_count; i++) {
		if (usage->regions[i].inode != inode)
			continue;
		if (end > usage->regions[i].end) {
			usage->nameless += end - usage->regions[i].end;
			usage->regions[i].end = end;
		}
		return;
	}
	usage->nameless += end;
	if (usage->region_count == ARRAY_LEN(usage->regions))
		return;
	usage->regions[usage->region_count].inode = inode;
	usage->regions[usage->region_count++].end = end;
}

/* A page of it that a process lets go of is in no count of a process, and stays: so it is taken by its size. */
static bool nameless(int dir, const char *name, struct usage *usage)
{
	int fd = open_of(dir, name, "maps");
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512], buffer[4096]; /* the kernel gives so much at once */
	bool any = false;

	if (file != NULL)
		(void)setvbuf(file, buffer, _IOFBF, sizeof(buffer));
	for (; file != NULL && fgets(line, sizeof(line), file) != NULL; any = true) {
		unsigned long long from, to, offset;
		unsigned long inode;
		char shared;
		if (strstr(line, " /dev/zero (deleted)\n") != NULL &&
			sscanf(line, "%llx-%llx %*3c%c %llx %*s %lu", &from, &to, &shared, &offset, &inode) == 5 && shared == 's')
			region_add(usage, inode, offset + (to - from));
	}
	if (file != NULL)
		(void)fclose(file);
	return any;
}

/* The first thread of a process may end before the others: it has no memory then, and they have it all. */
static void measure_thread(int proc, const char *pid, measure_fn *measure, struct usage *usage)
{
	char path[64];
	struct stat st;
	struct dirent *entry;

	(void)snprintf(path, sizeof(path), "%.20s/task", pid);
	if (fstatat(proc, path, &st, 0) < 0 || st.st_nlink <= 3) /* no other: it waits for its parent */
		return;
	int fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && measure(fd, entry->d_name, usage))
			break;
	if (dir != NULL)
		(void)closedir(dir);
}

static struct usage sum(const struct watch *watch, measure_fn *measure)
{
	struct usage usage = { 0 };
	int fd = watch->proc < 0 ? -1 : openat(watch->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]) && strcmp(entry->d_name, "1") != 0 &&
			!measure(watch->proc, entry->d_name, &usage))
			measure_thread(watch->proc, entry->d_name, measure, &usage);
	if (dir != NULL)
		(void)closedir(dir);
	return usage;
}

/* System V shared memory that nobody maps is in no process's count. */
static uint64_t shared_memory(const struct watch *watch)
{
	uint64_t total = 0;
	int fd = watch->proc < 0 ? -1 : openat(watch->proc, "sysvipc/shm", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512];
	unsigned long long rss;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &rss) == 1)
			total += rss;
	if (file != NULL)
		(void)fclose(file);
	return total;
}

/* What is resident of `nameless` is in `shared` as well. */
static uint64_t total(const struct usage *usage, uint64_t nameless)
{
	return usage->all - usage->shared + (usage->shared > nameless ? usage->shared : nameless);
}

uint64_t watch_memory(struct watch *watch, uint64_t limit)
{
	bool full;
	uint64_t files = used("/tmp", &full) + used(CELL_WORKSPACE, &full) + used("/dev/shm", &full) +
			 shared_memory(watch);
	struct usage usage = sum(watch, resident);
	/* who has not so many addresses cannot have so much memory: most need not be looked at closer */
	uint64_t unseen = usage.space + files > limit ? sum(watch, nameless).nameless : 0;
	uint64_t now = total(&usage, unseen) + files;

	if (now > watch->peak) { /* pages shared by forks were counted once a process: look closer */
		usage = sum(watch, proportional);
		now = total(&usage, unseen) + files;
		if (now > watch->peak)
			watch->peak = now;
	}
	watch->last = now;
	return now;
}

int watch_pause_ms(const struct watch *watch, uint64_t limit)
{
	uint64_t room = limit > watch->last ? limit - watch->last : 0;
	uint64_t pause = room >> 21; /* half of what a gigabyte a second leaves */

	return pause < 5 ? 5 : pause > 100 ? 100 : (int)pause;
}
