/* soak [COUNT [SEED]]: that many cells, four at a time, from one pool; then a stream of cells while the processes that
 * make them are killed one after another, each cell with one result all the same; then proof that nothing is
 * left: no descriptor, process, zombie, cgroup, mount or file (and so no namespace, which only processes, descriptors and mounts keep), and
 * that neither we nor our helpers grew. Prints "ok ..." and "not ok ..." lines; exits 1 if one is not ok. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/cell.h"

#define AT_ONCE 4
#define KILLS 50
#define KILLS_PATIENCE_NS (60 * NS_PER_S)
#define GROWTH_ALLOWED_KB 256
#define RESTING_DESCRIPTORS 48 /* of the few slots that may rest between two bursts: a bound, not a leak */

static unsigned failed, live, done_count, bad_results, lost_count;

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

/* Files and folders of ours, by their name and owner, where any could be. */
static long files(void)
{
	static const char *const places[] = { "/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock" };
	long count = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		DIR *dir = opendir(places[i]);
		struct dirent *entry;
		struct stat st;
		while (dir != NULL && (entry = readdir(dir)) != NULL)
			count += strncmp(entry->d_name, "hotcell", 7) == 0 &&
				fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_uid == geteuid();
		if (dir != NULL)
			(void)closedir(dir);
	}
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

static bool stat_of(long pid, char comm[32], long *ret_parent)
{
	char path[64], state = 0;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	FILE *file = fopen(path, "re");
	bool read = file != NULL && fscanf(file, "%*d (%31[^)]) %c %ld", comm, &state, ret_parent) == 3;
	if (file != NULL)
		(void)fclose(file);
	if (state == 'Z')
		comm[0] = '\0'; /* it has left its name and its work */
	return read;
}

static bool is_below(long pid, long root)
{
	char comm[32];

	for (int depth = 0; pid > 1 && pid != root && depth < 8; depth++)
		if (!stat_of(pid, comm, &pid))
			return false;
	return pid == root;
}

/* Processes whose ancestor is `root`, of this name or any; adds their memory to *ret_kb. */
static long descendants(long root, long *ret_kb, const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		long pid = atol(entry->d_name), parent;
		char comm[32];
		if (pid <= 1 || pid == root || !is_below(pid, root))
			continue;
		if (name != NULL && (!stat_of(pid, comm, &parent) || strcmp(comm, name) != 0))
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

	(void)snprintf(ours, sizeof(ours), "hotcell-%d.", (int)getpid());
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

/* ---- while the makers of cells are killed ---- */

struct chaos {
	struct loop *loop;
	unsigned kills, started, done, lost, bad;
	unsigned told[8192]; /* results of each cell */
	unsigned of_role[4];
};

/* One of our helpers by its role: the zygote, a yard, a stall, a cell's init. An init has the stall's name, and so
 * has its program until the exec. */
static long victim(unsigned role, unsigned random)
{
	static const char *const names[] = { "hotcell-zygote", "hotcell-yard", "hotcell-stall", "hotcell-stall" };
	static const char *const parents[] = { NULL, NULL, "hotcell-yard", "hotcell-stall" };
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	long found[256], count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL && count < 256) {
		long pid = atol(entry->d_name), parent = 0;
		char comm[32] = "", above[32] = "", top[32] = "";
		if (pid <= 1 || !is_below(pid, getpid()) || !stat_of(pid, comm, &parent) || strcmp(comm, names[role]) != 0)
			continue;
		if (!stat_of(parent, above, &parent) || (parents[role] != NULL && strcmp(above, parents[role]) != 0))
			continue;
		if (role < 3 || (stat_of(parent, top, &parent) && strcmp(top, "hotcell-yard") == 0))
			found[count++] = pid;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return count == 0 ? 0 : found[random % (unsigned long)count];
}

static void on_chaos_done(void *data, struct cell *cell, const struct cell_result *result)
{
	unsigned *told = data;

	(*told)++;
	live--;
	done_count++;
	bool fine = result->outcome == CELL_EXITED && result->exit_code == 0 && !result->lost;
	if (result->lost)
		bad_results += result->outcome != CELL_SIGNALED && result->outcome != CELL_SETUP_FAILED;
	else if (!fine)
		bad_results++;
	if (!fine && !result->lost)
		printf("# %s: %s\n", cell_outcome_name(result->outcome), result->err.text);
	lost_count += result->lost;
	(void)cell_free(cell);
}

/* Two sorts of cells, so that there are two yards; one is kept warm. */
static void chaos(struct cell_pool *pool, struct loop *loop, const struct cell_spec *spec)
{
	static const char *const briefly[] = { "/bin/sleep", "0.02", NULL };
	static struct chaos chaos;
	const struct cell_io io = { -1, -1, -1, false, 0 };
	uint64_t next = clock_now(), until = next + KILLS_PATIENCE_NS;
	struct cell_spec specs[2] = { *spec, *spec };
	struct err err;

	specs[0].argv = briefly;
	specs[1].limits.tmp *= 2;
	while ((chaos.kills < KILLS || live > 0) && clock_now() < until) {
		while (live < AT_ONCE && chaos.kills < KILLS && chaos.started < 8192) {
			unsigned *told = &chaos.told[chaos.started++];
			if (cell_start(pool, &specs[chaos.started % 2], &io, on_chaos_done, told, &err) != NULL)
				live++;
			else
				printf("# start: %s\n", err.text), (*told)++, bad_results++;
		}
		(void)loop_turn(loop, 1);
		if (clock_now() < next || chaos.kills == KILLS)
			continue;
		unsigned role = (unsigned)random() % 4;
		long pid = victim(role, (unsigned)random());
		if (pid > 0 && kill((pid_t)pid, SIGKILL) == 0) {
			chaos.kills++;
			chaos.of_role[role]++;
		}
		next = clock_now() + (uint64_t)(random() % (chaos.kills % 2 ? 4 : 40)) * NS_PER_MS;
	}
	for (int i = 0; i < 50; i++) /* what the last one took with it is noticed */
		(void)loop_turn(loop, 10);
	unsigned once = 0;
	for (unsigned i = 0; i < chaos.started; i++)
		once += chaos.told[i] == 1;
	printf("# killed: %u zygotes, %u yards, %u stalls, %u inits; %u of %u cells lost\n", chaos.of_role[0],
		chaos.of_role[1], chaos.of_role[2], chaos.of_role[3], lost_count, chaos.started);
	check(chaos.kills == KILLS && live == 0, "the makers of cells were killed, and all cells ended", KILLS, chaos.kills);
	check(once == chaos.started, "each cell had exactly one result", chaos.started, once);
	check(bad_results == 0, "each that was hit was told to be lost, and no other", 0, bad_results);
	check(lost_count > 0, "some were", 1, lost_count);
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
	long fds = entries("/proc/self/fd"), mounts = lines("/proc/self/mountinfo"), named = files();
	struct err err = { 0 };
	struct cell_spec spec;

	struct loop *loop = loop_open(&err);
	struct cell_pool *pool = loop == NULL ? NULL : cell_pool_open(NULL, loop, &err);
	if (pool == NULL) {
		printf("not ok open a pool: %s\n", err.text);
		return 1;
	}
	srandom(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
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
	chaos(pool, loop, &spec);
	if (run_cells(pool, loop, &spec, 100) < 0)
		return 1;
	check(bad_results == 0, "and then all is as before", 0, bad_results);
	(void)cell_pool_free(pool);
	(void)loop_free(loop);
	check(descendants(getpid(), NULL, NULL) == 0, "no process or zombie is left", 0,
		descendants(getpid(), NULL, NULL));
	check(entries("/proc/self/fd") == fds, "no descriptor is left", fds, entries("/proc/self/fd"));
	check(lines("/proc/self/mountinfo") == mounts, "no mount is left", mounts, lines("/proc/self/mountinfo"));
	check(files() == named, "no file is left", named, files());
	check(cgroup_folders("/sys/fs/cgroup", 0) == 0, "no cgroup is left", 0, cgroup_folders("/sys/fs/cgroup", 0));
	return failed > 0;
}
