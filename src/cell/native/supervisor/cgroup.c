/* Cgroups, from the supervisor's side: a folder for each slot in each hierarchy that has a controller
 * we need. On v1 these lie in our own cgroup, and their names tell whose they are. On v2 they lie in
 * one folder of ours there, to which the controllers are delegated.
 *
 * A cell's init enters its slot by itself. On v1 it writes "0" to `tasks`: the kernel lets a single
 * thread move itself without its global lock (0.04 ms; a parent's write to cgroup.procs waits for
 * an RCU grace period, 10-20 ms). On v2 it is born inside (CLONE_INTO_CGROUP). */
#include "cell/native/native.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/native/supervisor/cgroup_paths.h"

#define SLOT_PREFIX "s"

struct hierarchy {
	char *folder; /* the slots' folders are in it; NULL: there is none. v1: the cgroup we are in; v2: ours */
	char *prefix; /* their names are this and a number */
	int fd; /* of the folder, once made; -1: none */
	bool v2;
};

struct cgroup_host {
	struct hierarchy at[CONTROLLER_COUNT]; /* on v2 all three are the same folder */
	char *own_v2, *supervisor_v2; /* where we were, and where we moved */
	bool left; /* what we made is the zygote's to remove */
	unsigned number; /* of pools this process has opened before */
	char why[200];
};

struct cgroup_slot {
	struct cgroup_host *host;
	unsigned index;
	int dir[CONTROLLER_COUNT];
	int enter[CONTROLLER_COUNT]; /* v1: `tasks`; v2: the folder, once */
	size_t enter_count;
	bool v2;
	int now, peak, events; /* of memory, kept open: they are read for every cell; -1: none */
	int cpu_time[2]; /* files that count it, where there are such: user and system (v2: the same) */
	uint64_t cpu_before[2];
	uint64_t oom_before;
};

/* ---- making and removing our folders ---- */

/* A pid means something only to those who count in the same pid namespace: another may share our cgroups. */
static unsigned long pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : (unsigned long)st.st_ino;
}

/* hotcell-<pid>.<pid namespace>, the beginning of all our folders' names; the caller frees. */
static char *own_name(void)
{
	return xfmt("hotcell-%d.%lx", (int)getpid(), pid_space());
}

/* Removes the empty folders whose name is the prefix and a number; false if one had to stay. */
static bool sweep_slots(const char *folder, const char *prefix)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t len = strlen(prefix);
	bool clean = true;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, prefix, len) == 0 && isdigit((unsigned char)entry->d_name[len]) &&
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
			clean = false;
	if (dir != NULL)
		(void)closedir(dir);
	return clean;
}

/* Removes the folders hotcell-<pid>... whose process is gone: what a killed supervisor left. */
static void sweep_dead(const char *own_path)
{
	DIR *dir = opendir(own_path);
	struct dirent *entry;
	const unsigned long ours = pid_space();

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		int pid = 0, used = 0;
		unsigned long space = 0;
		if (sscanf(entry->d_name, "hotcell-%d.%lx%n", &pid, &space, &used) != 2 || pid <= 0 || space != ours)
			continue;
		if (entry->d_name[used] != '\0' && strchr("-.", entry->d_name[used]) == NULL)
			continue;
		own(freep) char *proc = xfmt("/proc/%d", pid);
		if (access(proc, F_OK) == 0)
			continue;
		own(freep) char *folder = xfmt("%s/%s", own_path, entry->d_name);
		(void)sweep_slots(folder, SLOT_PREFIX);
		(void)rmdir(folder);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

static void hierarchy_name(struct hierarchy *at, const char *own_path, bool v2, unsigned number)
{
	own(freep) char *name = own_name();
	own(freep) char *ours = number == 0 ? xstrdup(name) : xfmt("%s-%u", name, number);

	at->folder = v2 ? xfmt("%s/%s", own_path, ours) : xstrdup(own_path);
	at->prefix = v2 ? xstrdup(SLOT_PREFIX) : xfmt("%s." SLOT_PREFIX, ours);
	at->v2 = v2;
}

/* On v1 the first slot's folder shows whether we may make any. */
static int hierarchy_make(struct hierarchy *at, struct err *err)
{
	own(freep) char *path = at->v2 ? xstrdup(at->folder) : xfmt("%s/%s0", at->folder, at->prefix);

	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_errno(err, errno, "make cgroup '%s'", path);
	at->fd = open(at->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at->fd < 0)
		return err_errno(err, errno, "open cgroup '%s'", at->folder);
	return 0;
}

static bool alone_in(int own_dir)
{
	own(buf_done) struct buf text = { 0 };
	struct err err;
	char us[16];

	(void)snprintf(us, sizeof(us), "%d\n", (int)getpid());
	return fs_read_small(own_dir, "cgroup.procs", 1 << 16, &text, &err) == 0 && strcmp(buf_text(&text), us) == 0;
}

/* v2 allows no processes beside children with controllers: we step into a leaf of our own first. */
static int v2_step_aside(struct cgroup_host *host, const char *own_path, struct err *err)
{
	own(fd_closep) int own_dir = open(own_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char pid[16];

	if (own_dir < 0)
		return err_errno(err, errno, "open our cgroup '%s'", own_path);
	if (faccessat(own_dir, "cgroup.type", F_OK, 0) < 0) /* the root of the tree needs no leaf */
		return fs_write_value(own_dir, "cgroup.subtree_control", "+memory +cpu +pids", err);
	if (!alone_in(own_dir))
		return err_set(err, ERR_MISSING, "our cgroup '%s' also holds other processes", own_path);
	host->own_v2 = xstrdup(own_path);
	own(freep) char *name = own_name();
	host->supervisor_v2 = xfmt("%s/%s-sup", own_path, name);
	if (mkdir(host->supervisor_v2, 0755) < 0)
		return err_errno(err, errno, "make cgroup '%s'", host->supervisor_v2);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	own(freep) char *procs = xfmt("%s/cgroup.procs", host->supervisor_v2);
	if (fs_write_value(AT_FDCWD, procs, pid, err) < 0)
		return -1;
	return fs_write_value(own_dir, "cgroup.subtree_control", "+memory +cpu +pids", err);
}

static void v2_step_back(struct cgroup_host *host)
{
	struct err err;
	char pid[16];

	if (host->supervisor_v2 == NULL)
		return;
	own(freep) char *control = xfmt("%s/cgroup.subtree_control", host->own_v2);
	own(freep) char *procs = xfmt("%s/cgroup.procs", host->own_v2);
	(void)!fs_write_value(AT_FDCWD, control, "-memory -cpu -pids", &err);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)!fs_write_value(AT_FDCWD, procs, pid, &err);
	(void)rmdir(host->supervisor_v2);
}

static int v2_make(struct cgroup_host *host, const char *own_path, struct err *err)
{
	own(buf_done) struct buf has = { 0 };
	own(freep) char *controllers = xfmt("%s/cgroup.controllers", own_path);

	if (fs_read_small(AT_FDCWD, controllers, 4096, &has, err) < 0)
		return -1;
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		if (!cgroup_list_has(buf_text(&has), controller_name[c]))
			return err_set(err, ERR_MISSING, "the %s controller is not delegated to '%s'",
				controller_name[c], own_path);
	sweep_dead(own_path);
	if (v2_step_aside(host, own_path, err) < 0)
		return -1;
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		hierarchy_name(&host->at[c], own_path, true, host->number);
		if (hierarchy_make(&host->at[c], err) < 0)
			return -1;
	}
	return fs_write_value(host->at[MEMORY].fd, "cgroup.subtree_control", "+memory +cpu +pids", err);
}

static void hierarchy_forget(struct hierarchy *at)
{
	free(at->folder);
	free(at->prefix);
	at->folder = at->prefix = NULL;
	fd_close(&at->fd);
}

/* Whether we may make folders there, as far as that can be told without doing it. */
static void hierarchy_expect(struct hierarchy *at, struct err *err)
{
	if (faccessat(AT_FDCWD, at->folder, W_OK, AT_EACCESS) == 0)
		return;
	(void)err_errno(err, errno, "make a cgroup in '%s'", at->folder);
	hierarchy_forget(at);
}

bool cgroup_v1_mounted(void)
{
	return access("/sys/fs/cgroup/memory/tasks", F_OK) == 0 || access("/sys/fs/cgroup/cpu/tasks", F_OK) == 0 ||
		access("/sys/fs/cgroup/pids/tasks", F_OK) == 0;
}

struct cgroup_host *cgroup_open(struct err *err)
{
	struct cgroup_host *host = xcalloc(1, sizeof(*host));
	own(cgroup_paths_done) struct cgroup_paths found = { 0 };
	struct err why = { 0 };
	static unsigned opened;

	(void)err;
	host->number = opened++;
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		host->at[c].fd = -1;
	if (pretend("no-cgroup")) {
		(void)snprintf(host->why, sizeof(host->why), "HOTCELL_PRETEND says there is no cgroup");
		return host;
	}
	cgroup_paths_read(&found);
	bool any_v1 = false;
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		if (found.v1[c] == NULL)
			continue;
		any_v1 = true;
		hierarchy_name(&host->at[c], found.v1[c], false, host->number);
		hierarchy_expect(&host->at[c], &why);
	}
	if (!any_v1 && found.v2 == NULL)
		(void)err_set(&why, ERR_MISSING, "no cgroup file system is mounted");
	if (!any_v1 && found.v2 != NULL && v2_make(host, found.v2, &why) < 0) {
		(void)cgroup_sweep(host);
		for (int c = 0; c < CONTROLLER_COUNT; c++)
			hierarchy_forget(&host->at[c]);
		v2_step_back(host);
		free(host->supervisor_v2);
		host->supervisor_v2 = NULL;
	}
	(void)snprintf(host->why, sizeof(host->why), "%.190s", why.text);
	return host;
}

static unsigned controllers(const struct cgroup_host *host)
{
	unsigned bits = 0;

	for (int c = 0; c < CONTROLLER_COUNT; c++)
		bits |= host->at[c].folder != NULL ? 1u << c : 0;
	return bits;
}

bool cgroup_make(struct cgroup_host *host)
{
	struct err why = { 0 };
	const unsigned expected = controllers(host), all = (1u << CONTROLLER_COUNT) - 1;

	for (int c = 0; c < CONTROLLER_COUNT; c++)
		if (host->at[c].folder != NULL && host->at[c].fd < 0 && hierarchy_make(&host->at[c], &why) < 0)
			hierarchy_forget(&host->at[c]);
	if (controllers(host) != all && host->why[0] == '\0')
		(void)snprintf(host->why, sizeof(host->why), "%.190s",
			why.text[0] != '\0' ? why.text : "a controller is not mounted");
	return controllers(host) == expected;
}

void cgroup_sweep_dead(const struct cgroup_host *host)
{
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		if (host->at[c].folder != NULL && !host->at[c].v2)
			sweep_dead(host->at[c].folder);
}

bool cgroup_sweep(const struct cgroup_host *host)
{
	bool clean = true;

	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		const struct hierarchy *at = &host->at[c];
		if (at->folder == NULL)
			continue;
		clean = sweep_slots(at->folder, at->prefix) && clean;
		if (at->v2 && rmdir(at->folder) < 0 && errno != ENOENT)
			clean = false;
	}
	return clean; /* the zygote is itself in supervisor_v2: the next supervisor removes that */
}

void cgroup_encode(struct buf *buf, const struct cgroup_host *host)
{
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		wire_put_str(buf, host->at[c].folder);
		wire_put_str(buf, host->at[c].prefix);
		wire_put_u32(buf, host->at[c].v2);
	}
}

struct cgroup_host *cgroup_decode(struct wire_reader *reader)
{
	struct cgroup_host *host = xcalloc(1, sizeof(*host));

	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		const char *folder = wire_get_str(reader), *prefix = wire_get_str(reader);
		bool v2 = wire_get_u32(reader) != 0;
		if (reader->bad || folder == NULL || prefix == NULL)
			folder = prefix = NULL;
		host->at[c] = (struct hierarchy){ .folder = folder == NULL ? NULL : xstrdup(folder),
			.prefix = prefix == NULL ? NULL : xstrdup(prefix), .fd = -1, .v2 = v2 };
	}
	return host;
}

struct cgroup_host *cgroup_free(struct cgroup_host *host)
{
	if (host == NULL)
		return NULL;
	if (!host->left) {
		(void)cgroup_sweep(host);
		v2_step_back(host);
	}
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		hierarchy_forget(&host->at[c]);
	free(host->own_v2);
	free(host->supervisor_v2);
	free(host);
	return NULL;
}

void cgroup_leave(struct cgroup_host *host)
{
	host->left = true;
}

bool cgroup_memory(const struct cgroup_host *host)
{
	return host->at[MEMORY].folder != NULL;
}

bool cgroup_cpu(const struct cgroup_host *host)
{
	return host->at[CPU].folder != NULL;
}

bool cgroup_pids(const struct cgroup_host *host)
{
	return host->at[PIDS].folder != NULL;
}

const char *cgroup_why(const struct cgroup_host *host)
{
	return host->why;
}

const char *cgroup_kind(const struct cgroup_host *host)
{
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		if (host->at[c].folder != NULL)
			return host->at[c].v2 ? "cgroup v2" : "cgroup v1";
	return "";
}

/* ---- slots ---- */

static int set_number(int dir, const char *file, uint64_t value, struct err *err)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (fs_write_value(dir, file, text, err) < 0)
		return err_wrap(err, "the cgroup refuses a limit");
	return 0;
}

#define CPU_PERIOD_US 100000

/* Niceness counts among the tasks of one cgroup, and each cell has its own: that must weigh less as a whole. As the kernel
 * weighs tasks. */
static const uint16_t weights[] = {1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29, 23, 18, 15};

static void give_way(const struct cgroup_slot *slot, unsigned by)
{
	int dir = slot->dir[slot->v2 ? MEMORY : CPU];
	struct err only_politeness;

	if (by > 0 && by < ARRAY_LEN(weights) && dir >= 0)
		(void)!set_number(dir, slot->v2 ? "cpu.weight.nice" : "cpu.shares", slot->v2 ? by : weights[by], &only_politeness);
}

static int limit_v1(const struct cgroup_slot *slot, const struct cell_limits *limits, struct err *err)
{
	if (slot->dir[MEMORY] >= 0) {
		if (set_number(slot->dir[MEMORY], "memory.limit_in_bytes", limits->memory, err) < 0)
			return -1;
		struct err no_swap_accounting, no_socket_limit;
		/* socket buffers are counted apart */
		(void)!set_number(slot->dir[MEMORY], "memory.kmem.tcp.limit_in_bytes", limits->memory / 4,
			&no_socket_limit);
		if (set_number(slot->dir[MEMORY], "memory.memsw.limit_in_bytes", limits->memory,
			    &no_swap_accounting) < 0)
			(void)!set_number(slot->dir[MEMORY], "memory.swappiness", 0, &no_swap_accounting);
	}
	if (slot->dir[CPU] >= 0 &&
		(set_number(slot->dir[CPU], "cpu.cfs_period_us", CPU_PERIOD_US, err) < 0 ||
			set_number(slot->dir[CPU], "cpu.cfs_quota_us",
				(uint64_t)limits->cpus_milli * (CPU_PERIOD_US / 1000), err) < 0))
		return -1;
	/* + 2: the slot's stall and the cell's init */
	return slot->dir[PIDS] < 0 ? 0 : set_number(slot->dir[PIDS], "pids.max", limits->processes + 2, err);
}

static int limit_v2(const struct cgroup_slot *slot, const struct cell_limits *limits, struct err *err)
{
	char cpu[48];
	int dir = slot->dir[MEMORY];
	struct err no_swap;

	if (set_number(dir, "memory.max", limits->memory, err) < 0)
		return -1;
	(void)!set_number(dir, "memory.swap.max", 0, &no_swap); /* without swap there is no such file */
	(void)snprintf(cpu, sizeof(cpu), "%llu %d",
		(unsigned long long)limits->cpus_milli * (CPU_PERIOD_US / 1000), CPU_PERIOD_US);
	if (fs_write_value(dir, "cpu.max", cpu, err) < 0)
		return err_wrap(err, "the cgroup refuses a limit");
	return set_number(dir, "pids.max", limits->processes + 2, err);
}

static void slot_name(const struct cgroup_slot *slot, int c, char ret[NAME_MAX])
{
	(void)snprintf(ret, NAME_MAX, "%s%u", slot->host->at[c].prefix, slot->index);
}

static int slot_folder(struct cgroup_slot *slot, int c, struct err *err)
{
	struct hierarchy *at = &slot->host->at[c];
	char name[NAME_MAX];

	slot_name(slot, c, name);
	if (mkdirat(at->fd, name, 0755) < 0 && errno != EEXIST)
		return err_errno(err, errno, "make cgroup '%s/%s'", at->folder, name);
	slot->dir[c] = openat(at->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (slot->dir[c] < 0)
		return err_errno(err, errno, "open cgroup '%s/%s'", at->folder, name);
	if (at->v2)
		return 0;
	slot->enter[slot->enter_count] = openat(slot->dir[c], "tasks", O_WRONLY | O_CLOEXEC);
	if (slot->enter[slot->enter_count] < 0)
		return err_errno(err, errno, "open '%s/%s/tasks'", at->folder, name);
	slot->enter_count++;
	return 0;
}

static void memory_files(struct cgroup_slot *slot)
{
	int dir = slot->dir[MEMORY];

	if (dir < 0)
		return;
	slot->now = openat(dir, slot->v2 ? "memory.current" : "memory.usage_in_bytes", O_RDONLY | O_CLOEXEC);
	slot->events = openat(dir, slot->v2 ? "memory.events" : "memory.oom_control", O_RDONLY | O_CLOEXEC);
	/* on v2 a reset holds for the descriptor that made it, since Linux 6.12; before, it only grows */
	slot->peak = openat(dir, slot->v2 ? "memory.peak" : "memory.max_usage_in_bytes", O_RDWR | O_CLOEXEC);
	if (slot->peak < 0)
		slot->peak = openat(dir, "memory.peak", O_RDONLY | O_CLOEXEC);
}

static void cpu_files(struct cgroup_slot *slot)
{
	static const char *const v1[] = { "cpuacct.usage_user", "cpuacct.usage_sys" };

	for (int i = 0; i < 2; i++) /* v1: only where cpuacct is mounted together with cpu, as systemd does */
		slot->cpu_time[i] = slot->v2 ? openat(slot->dir[MEMORY], "cpu.stat", O_RDONLY | O_CLOEXEC)
			: slot->dir[CPU] < 0 ? -1
					     : openat(slot->dir[CPU], v1[i], O_RDONLY | O_CLOEXEC);
}

struct cgroup_slot *cgroup_slot_open(struct cgroup_host *host, unsigned index, const struct cell_limits *limits,
	struct err *err)
{
	struct cgroup_slot *slot = xcalloc(1, sizeof(*slot));

	slot->host = host;
	slot->index = index;
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		slot->dir[c] = slot->enter[c] = -1;
	slot->now = slot->peak = slot->events = slot->cpu_time[0] = slot->cpu_time[1] = -1;
	int failed = 0;
	for (int c = 0; c < CONTROLLER_COUNT && failed == 0; c++)
		if (host->at[c].fd >= 0 && !(c > 0 && host->at[c].v2))
			failed = slot_folder(slot, c, err);
	slot->v2 = host->at[MEMORY].fd >= 0 && host->at[MEMORY].v2;
	if (failed == 0)
		memory_files(slot);
	if (failed == 0)
		cpu_files(slot);
	if (failed == 0 && slot->v2)
		failed = limit_v2(slot, limits, err);
	else if (failed == 0)
		failed = limit_v1(slot, limits, err);
	if (failed == 0)
		give_way(slot, limits->nice);
	if (failed == 0 && pretend("cgroup-refuses"))
		failed = err_set(err, EBUSY, "the cgroup refuses a limit: HOTCELL_PRETEND says so");
	return failed == 0 ? slot : cgroup_slot_free(slot);
}

struct cgroup_slot *cgroup_slot_free(struct cgroup_slot *slot)
{
	char name[NAME_MAX];

	if (slot == NULL)
		return NULL;
	fd_close(&slot->now);
	fd_close(&slot->peak);
	fd_close(&slot->events);
	fd_close(&slot->cpu_time[0]);
	fd_close(&slot->cpu_time[1]);
	for (int c = 0; c < CONTROLLER_COUNT; c++) {
		fd_close(&slot->enter[c]);
		if (slot->dir[c] >= 0 && !slot->host->left) {
			slot_name(slot, c, name);
			(void)unlinkat(slot->host->at[c].fd, name, AT_REMOVEDIR);
		}
		fd_close(&slot->dir[c]);
	}
	free(slot);
	return NULL;
}

static uint64_t read_number(int fd, const char *key)
{
	char text[1024];
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return cgroup_number(text, key);
}

static uint64_t cpu_us(const struct cgroup_slot *slot, int which)
{
	if (slot->v2)
		return read_number(slot->cpu_time[which], which == 0 ? "user_usec" : "system_usec");
	return read_number(slot->cpu_time[which], NULL) / 1000;
}

bool cgroup_slot_cpu(const struct cgroup_slot *slot, uint64_t *ret_user_us, uint64_t *ret_system_us)
{
	if (slot->cpu_time[0] < 0 || slot->cpu_time[1] < 0)
		return false;
	*ret_user_us = cpu_us(slot, 0) - slot->cpu_before[0];
	*ret_system_us = cpu_us(slot, 1) - slot->cpu_before[1];
	return true;
}

#define CACHE_WORTH_DROPPING (UINT64_C(8) << 20)

void cgroup_slot_reset(struct cgroup_slot *slot)
{
	struct err err;

	slot->oom_before = read_number(slot->events, "oom_kill");
	for (int i = 0; i < 2; i++)
		slot->cpu_before[i] = cpu_us(slot, i);
	if (read_number(slot->now, NULL) > CACHE_WORTH_DROPPING) /* what earlier cells read must not count here */
		(void)!fs_write_value(slot->dir[MEMORY], slot->v2 ? "memory.reclaim" : "memory.force_empty",
			slot->v2 ? "1G" : "0", &err);
	if (slot->peak >= 0)
		(void)!pwrite(slot->peak, "0", 1, 0);
}

size_t cgroup_slot_fds(const struct cgroup_slot *slot, int ret[4], bool *ret_v2)
{
	*ret_v2 = slot->v2;
	if (slot->v2) {
		ret[0] = slot->dir[MEMORY];
		return 1;
	}
	for (size_t i = 0; i < slot->enter_count; i++)
		ret[i] = slot->enter[i];
	return slot->enter_count;
}

void cgroup_slot_usage(const struct cgroup_slot *slot, uint64_t *ret_peak, uint64_t *ret_oom_kills,
	uint64_t *ret_now)
{
	uint64_t kills = read_number(slot->events, "oom_kill");

	*ret_peak = read_number(slot->peak, NULL);
	*ret_now = read_number(slot->now, NULL);
	*ret_oom_kills = kills > slot->oom_before ? kills - slot->oom_before : 0;
}
