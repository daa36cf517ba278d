/* soak [COUNT]: that many cells, four at a time, from one pool, then proof that nothing is left: no descriptor,
 * process, zombie, cgroup, mount or file, and that neither we nor our helpers grew. Prints "ok ..." and
 * "not ok ..." lines; exits 1 if one is not ok. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/cell.h"

#define AT_ONCE 4
#define GROWTH_ALLOWED_KB 256
#define RESTING_DESCRIPTORS 48 /* of the few slots that may rest between two bursts: a bound, not a leak */

static unsigned failed, live, done_count, bad_results;

static void check(bool good, const char *what, long before, long after)
{
	printf("%s %s (%ld before, %ld after)\n", good ? "ok" : "not ok", what, before, after);
	failed += !good;
}

static long entries(const char *path)
{
	DIR *dir = opendir(path);
	long count = 0;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

static long lines(const char *path)
{
	FILE *file = fopen(path, "re");
	long count = 0;
	int c;

	while (file != NULL && (c = getc(file)) != EOF)
		count += c == '\n';
	if (file != NULL)
		(void)fclose(file);
	return count;
}

static long resident_kb(long pid)
{
	char path[64], line[256];
	long kb = 0;

	(void)snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "VmRSS: %ld kB", &kb) == 1)
			break;
	if (file != NULL)
		(void)fclose(file);
	return kb;
}

/* Calls fn for every process whose ancestor is `root`; returns their number. */
static long descendants(long root, long *ret_kb, const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		long pid = atol(entry->d_name), up = pid;
		char comm[32] = "";
		for (int depth = 0; up > 1 && up != root && depth < 8; depth++) {
			char path[64];
			long parent = 0;
			(void)snprintf(path, sizeof(path), "/proc/%ld/stat", up);
			FILE *file = fopen(path, "re");
			if (file == NULL || fscanf(file, "%*d (%31[^)]) %*c %ld", comm, &parent) != 2)
				parent = 0;
			if (file != NULL)
				(void)fclose(file);
			if (up == pid && name != NULL && strcmp(comm, name) != 0)
				parent = 0;
			up = parent;
		}
		if (pid <= 1 || pid == root || up != root)
			continue;
		count++;
		if (ret_kb != NULL)
			*ret_kb += resident_kb(pid);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

static long cgroup_folders(const char *path, int depth)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char ours[32];
	long count = 0;

	(void)snprintf(ours, sizeof(ours), "hotcell-%d", (int)getpid());
	while (dir != NULL && depth < 8 && (entry = readdir(dir)) != NULL) {
		char below[1024];
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		count += strncmp(entry->d_name, ours, strlen(ours)) == 0;
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) < (int)sizeof(below))
			count += cgroup_folders(below, depth + 1);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count;
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	(void)data;
	bad_results += result->outcome != CELL_EXITED || result->exit_code != 0;
	if (bad_results == 1 && result->err.text[0] != '\0')
		printf("# %s\n", result->err.text);
	live--;
	done_count++;
	(void)cell_free(cell);
}

static int run_cells(struct cell_pool *pool, struct loop *loop, const struct cell_spec *spec, unsigned count)
{
	const struct cell_io io = { -1, -1, -1, false, 0 };
	unsigned target = done_count + count, started = done_count;
	struct err err;

	while (done_count < target) {
		while (live < AT_ONCE && started < target) {
			if (cell_start(pool, spec, &io, on_done, NULL, &err) == NULL) {
				printf("not ok start a cell: %s\n", err.text);
				return -1;
			}
			live++;
			started++;
		}
		(void)loop_turn(loop, -1);
	}
	return 0;
}

struct size {
	long self, helpers, descriptors;
};

static struct size measure(struct loop *loop)
{
	struct size size = { 0 };

	for (int i = 0; i < 50; i++) /* let the last ones be torn down and the warm ones be made */
		(void)loop_turn(loop, 10);
	size.self = resident_kb(getpid());
	(void)descendants(getpid(), &size.helpers, "hotcell-zygote");
	(void)descendants(getpid(), &size.helpers, "hotcell-yard");
	size.descriptors = entries("/proc/self/fd");
	return size;
}

int main(int argc, char **argv)
{
	static const char *const command[] = { "/bin/true", NULL };
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
	long fds = entries("/proc/self/fd"), mounts = lines("/proc/self/mountinfo");
	struct err err = { 0 };
	struct cell_spec spec;

	struct loop *loop = loop_open(&err);
	struct cell_pool *pool = loop == NULL ? NULL : cell_pool_open(NULL, loop, &err);
	if (pool == NULL) {
		printf("not ok open a pool: %s\n", err.text);
		return 1;
	}
	cell_spec_defaults(&spec);
	spec.argv = command;
	if (cell_pool_warm(pool, &spec, 2, &err) < 0 || run_cells(pool, loop, &spec, count / 10) < 0)
		return 1;
	struct size early = measure(loop);
	if (run_cells(pool, loop, &spec, count - count / 10) < 0)
		return 1;
	struct size late = measure(loop);
	check(bad_results == 0, "every cell's program exited 0", 0, bad_results);
	check(late.self <= early.self + GROWTH_ALLOWED_KB, "the supervisor's memory in kB is flat", early.self,
		late.self);
	check(late.helpers <= early.helpers + GROWTH_ALLOWED_KB, "the zygote's and yard's memory in kB is flat",
		early.helpers, late.helpers);
	check(late.descriptors <= early.descriptors + RESTING_DESCRIPTORS,
		"descriptors while running are bounded", early.descriptors,
		late.descriptors);
	(void)cell_pool_free(pool);
	(void)loop_free(loop);
	check(descendants(getpid(), NULL, NULL) == 0, "no process or zombie is left", 0,
		descendants(getpid(), NULL, NULL));
	check(entries("/proc/self/fd") == fds, "no descriptor is left", fds, entries("/proc/self/fd"));
	check(lines("/proc/self/mountinfo") == mounts, "no mount is left", mounts, lines("/proc/self/mountinfo"));
	check(cgroup_folders("/sys/fs/cgroup", 0) == 0, "no cgroup is left", 0, cgroup_folders("/sys/fs/cgroup", 0));
	return failed > 0;
}
