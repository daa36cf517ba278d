#include "review/observe/counters.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "review/observe/look.h"

#define MB UINT64_C(1048576)
#define LOOK_NS (3 * NS_PER_S) /* no row's program goes on for longer */
#define LOOKS 50 /* until one of its processes is seen */
#define PIDS_SLACK 2 /* of hotcell's own: the cell's init, and what it starts the program with */
#define MEMORY_SLACK (4 * MB) /* the kernel counts in batches, one a processor */
#define MEMORY_LEAST (8 * MB) /* must have been counted, or nobody looked while it was taken */
#define ATTEMPTS 3 /* at looking in time: what takes all of its memory at once is over soon, and a busy machine looks late */
#define CPU_SHARE_MOST 0.06
#define CPU_WALL_NS (300 * NS_PER_MS) /* over less than this a share says nothing */

enum kind { MEMORY, CPU, PIDS };

/* Which counter a row is judged by, and how much it may be: as in its flags. */
static const struct counted {
	const char *id;
	enum kind kind;
	uint64_t limit; /* bytes, thousandths of a processor, processes */
	bool waits; /* its program begins on SIGTERM, once it was found */
} rows[] = {
	{"exhaustion.forks", PIDS, 20},
	{"exhaustion.threads", PIDS, 20},
	{"exhaustion.fork-bomb", PIDS, 30, true},
	{"exhaustion.memory", MEMORY, 64 * MB, true},
	{"exhaustion.memory-family", MEMORY, 48 * MB, true},
	{"exhaustion.memfd", MEMORY, 64 * MB, true},
	{"exhaustion.shm-sysv", MEMORY, 64 * MB, true},
	{"exhaustion.page-cache", MEMORY, 64 * MB, true},
	{"exhaustion.cpu-threads", CPU, 20},
	{"exhaustion.cpu-bursts", CPU, 20},
	{"exhaustion.cpu-swarm", CPU, 20},
};

/* The files of a counter: [0] in a hierarchy of its own, [1] in the unified one. Time of a processor is counted beside its
 * limit, or in a hierarchy that the cell is not in: then only how often it was held back can be read. */
static const struct files {
	const char *controller, *protection;
	struct {
		const char *file, *key;
	} used[2], time[2];
	const char *limit[2];
} files[] = {
	[MEMORY] = {"memory", "memory-limit", {{"memory.max_usage_in_bytes", NULL}, {"memory.current", NULL}},
		.limit = {"memory.limit_in_bytes", "memory.max"}},
	[CPU] = {"cpu", "cpu-limit", {{"cpu.stat", "nr_throttled"}, {"cpu.stat", "nr_throttled"}},
		{{"cpuacct.usage", NULL}, {"cpu.stat", "usage_usec"}}},
	[PIDS] = {"pids", "process-limit", {{"pids.current", NULL}, {"pids.current", NULL}}, .limit = {"pids.max", "pids.max"}},
};

struct counters {
	const struct counted *row;
	bool unified;
	char *folder; /* of the cell's cgroup; NULL: it has none of its own */
	uint64_t limit, most; /* as read; of a processor: how often it was held back */
	struct {
		uint64_t first, last, first_at, last_at; /* ns; *_at: when, as of clock_now(). 0: not counted */
	} time;
	bool seen; /* a process of the attack was */
	pid_t session; /* of its own; 0: it has none */
	size_t tasks; /* its processes and threads in the host's /proc, at most */
};

static void counters_done(struct counters *counters)
{
	free(counters->folder);
}

/* ---- where it is ---- */

static bool list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += len)
		if ((at == list || at[-1] == ',') && strchr(",:\n", at[len]))
			return true;
	return false;
}

/* The path behind "N:LIST:" where LIST has the controller, or is empty for NULL. The caller frees; NULL: none. */
static char *path_in(const struct buf *cgroup, const char *controller)
{
	for (const char *line = buf_text(cgroup); line && *line; line = strchr(line, '\n'), line += line != NULL) {
		const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (path && (controller ? path > list + 1 && list_has(list + 1, controller) && strstr(list, controller) < path
					: path == list + 1))
			return strndup(path + 1, strcspn(path + 1, "\n"));
	}
	return NULL;
}

/* Where that hierarchy is mounted whole; NULL: nowhere. Paths that the kernel would escape are not looked for. */
static char *mounted_at(const char *controller)
{
	own(buf_done) struct buf mounts = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, "/proc/self/mountinfo", 8 * MB, &mounts, &err) < 0)
		return NULL;
	for (const char *line = buf_text(&mounts); line && *line; line = strchr(line, '\n'), line += line != NULL) {
		char root[256], point[256], type[32], options[256];
		const char *rest = strstr(line, " - ");
		if (!rest || rest > line + strcspn(line, "\n") || sscanf(line, "%*d %*d %*s %255s %255s", root, point) != 2 ||
			sscanf(rest, " - %31s %*s %255s", type, options) != 2 || strcmp(root, "/") != 0)
			continue;
		if (controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller) : strcmp(type, "cgroup2") == 0)
			return xstrdup(point);
	}
	return NULL;
}

/* The folder of this process's cgroup for the controller, unless it is the one that we are in. */
static char *folder_of(const struct review_try *try, pid_t pid, const char *controller)
{
	own(buf_done) struct buf its = {0}, ours = {0};

	if (!try_proc(try, pid, "cgroup", &its) || !try_proc(try, getpid(), "cgroup", &ours))
		return NULL;
	own(freep) char *path = path_in(&its, controller), *own_path = path_in(&ours, controller);
	own(freep) char *point = path ? mounted_at(controller) : NULL;
	return !point || (own_path && strcmp(path, own_path) == 0) ? NULL : xfmt("%s%s", point, path);
}

/* ---- reading it ---- */

static bool read_number(const char *folder, const char *file, const char *key, uint64_t *ret)
{
	own(freep) char *path = xfmt("%s/%s", folder, file);
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, path, 65536, &text, &err) < 0)
		return false;
	const char *at = key ? strstr(buf_text(&text), key) : buf_text(&text);
	if (!at)
		return false;
	at += key ? strlen(key) + 1 : 0;
	*ret = strncmp(at, "max", 3) == 0 ? UINT64_MAX : strtoull(at, NULL, 10);
	return true;
}

/* In thousandths of a processor; "-1" and "max" are no limit. */
static bool read_share(const struct counters *counters, uint64_t *ret)
{
	own(freep) char *path = xfmt("%s/%s", counters->folder, counters->unified ? "cpu.max" : "cpu.cfs_quota_us");
	own(buf_done) struct buf text = {0};
	struct err err;
	long long quota = 0;
	unsigned long long period = 0;

	if (fs_read_small(AT_FDCWD, path, 256, &text, &err) < 0)
		return false;
	if (counters->unified)
		(void)sscanf(buf_text(&text), "%lld %llu", &quota, &period);
	else if (!read_number(counters->folder, "cpu.cfs_period_us", NULL, (uint64_t *)&period) ||
		sscanf(buf_text(&text), "%lld", &quota) != 1)
		return false;
	*ret = quota <= 0 || period == 0 ? UINT64_MAX : (uint64_t)quota * 1000 / period;
	return true;
}

static bool read_limit(struct counters *counters)
{
	const char *file = files[counters->row->kind].limit[counters->unified];

	return file ? read_number(counters->folder, file, NULL, &counters->limit) : read_share(counters, &counters->limit);
}

/* Of its cgroup; as many as may be if they cannot be read. */
static uint64_t members(const struct counters *counters)
{
	own(freep) char *path = xfmt("%s/%s", counters->folder, counters->unified ? "cgroup.threads" : "tasks");
	own(buf_done) struct buf text = {0};
	uint64_t count = 0;
	struct err err;

	if (fs_read_small(AT_FDCWD, path, 65536, &text, &err) < 0)
		return UINT64_MAX;
	for (const char *at = buf_text(&text); (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

static bool find(struct review_try *try, struct counters *counters)
{
	const struct files *of = &files[counters->row->kind];
	pid_t pids[64];
	size_t count = try_processes(try, pids, ARRAY_LEN(pids));
	uint64_t number;

	struct look_stat stat;

	counters->seen = count > 0;
	for (size_t i = 0; i < count && !counters->session; i++)
		if (look_stat(pids[i], &stat) && stat.session == pids[i])
			counters->session = pids[i];
	for (size_t i = 0; i < 2 * count; i++) { /* hotcell's own processes may have the mark for a moment */
		bool unified = i % 2;
		own(freep) char *folder = folder_of(try, pids[i / 2], unified ? NULL : of->controller);
		if (!folder || !read_number(folder, of->used[unified].file, of->used[unified].key, &number))
			continue;
		counters->folder = ptr_take(&folder);
		counters->unified = unified;
		return true;
	}
	return false;
}

static size_t tasks_of(pid_t pid)
{
	own(freep) char *path = xfmt("/proc/%d/task", pid);
	DIR *dir = opendir(path);
	size_t count = 0;

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	if (dir)
		(void)closedir(dir);
	return count;
}

/* Its processes without a look at their memory, where their marks are: who forks without end has it locked nearly always,
 * also while waiting for its turn, and whoever would read there waits as well. */
static size_t in_session(pid_t session, pid_t *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	struct look_stat stat;
	size_t count = 0;

	for (const struct dirent *entry; proc && count < max && (entry = readdir(proc));) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && look_stat(pid, &stat) && stat.session == session && stat.state != 'Z' && stat.state != 'X')
			ret[count++] = pid;
	}
	if (proc)
		(void)closedir(proc);
	return count;
}

/* Whether it goes on: there are processes of it. */
static bool count_tasks(const struct review_try *try, struct counters *counters)
{
	pid_t pids[512];
	size_t count = counters->session ? in_session(counters->session, pids, ARRAY_LEN(pids))
					: try_processes(try, pids, ARRAY_LEN(pids)), tasks = 0;

	for (size_t i = 0; i < count; i++)
		tasks += tasks_of(pids[i]);
	if (tasks > counters->tasks)
		counters->tasks = tasks;
	return count > 0;
}

static void count_time(struct counters *counters)
{
	const struct files *of = &files[counters->row->kind];
	uint64_t number;

	if (!of->time[0].file ||
		!read_number(counters->folder, of->time[counters->unified].file, of->time[counters->unified].key, &number))
		return;
	number *= counters->unified ? 1000 : 1;
	if (counters->time.first_at == 0)
		counters->time.first = number, counters->time.first_at = clock_now();
	if (number > counters->time.last) /* once nobody computes any more, the clock must not count either */
		counters->time.last = number, counters->time.last_at = clock_now();
}

/* false: it is gone. */
static bool count_used(struct counters *counters)
{
	const struct files *of = &files[counters->row->kind];
	uint64_t number;

	if (!read_number(counters->folder, of->used[counters->unified].file, of->used[counters->unified].key, &number))
		return false;
	if (counters->row->kind == PIDS && number > counters->row->limit + PIDS_SLACK) {
		uint64_t there = members(counters); /* pids.current has a fork that is refused in it until that is undone */
		number = there < number ? there : number;
	}
	if (number > counters->most)
		counters->most = number;
	count_time(counters);
	return true;
}

static void watch_counters(struct review_try *try)
{
	struct counters *counters = try->own;
	uint64_t until = clock_now() + LOOK_NS;
	bool found = find(try, counters);

	for (int i = 0; !counters->seen && i < LOOKS; i++) { /* a swarm may have been between two of its processes */
		(void)usleep(2000);
		found = find(try, counters);
	}
	if (found && !read_limit(counters))
		try_failed(try, "the limit of its cgroup cannot be read");
	if (counters->row->waits)
		look_release(try);
	while (clock_now() < until && (!found || count_used(counters))) {
		bool looks = !found || counters->row->kind == PIDS;
		if (looks && !count_tasks(try, counters))
			break;
		if (try->attack->during)
			try->attack->during(try);
		(void)usleep(2000);
	}
}

/* ---- judging it ---- */

static void judge_memory(struct review_try *try, const struct counters *counters)
{
	uint64_t told = try_result_number(try, "peak_memory");

	if (counters->most > counters->row->limit + MEMORY_SLACK)
		try_escaped(try, "its cgroup counted %llu bytes of memory, and there may be %llu", (unsigned long long)counters->most,
			(unsigned long long)counters->row->limit);
	else if (counters->most < MEMORY_LEAST)
		try_failed(try, "its cgroup counted only %llu bytes of memory", (unsigned long long)counters->most);
	if (told + MEMORY_SLACK < counters->most)
		try_escaped(try, "hotcell tells of %llu bytes of memory, and its cgroup counted %llu", (unsigned long long)told,
			(unsigned long long)counters->most);
}

static void judge_cpu(struct review_try *try, const struct counters *counters)
{
	uint64_t told_ms = try_result_number(try, "user_ms") + try_result_number(try, "system_ms");
	uint64_t used = counters->time.last - counters->time.first, wall = counters->time.last_at - counters->time.first_at;

	if (counters->most == 0)
		try_failed(try, "its cgroup never had to hold it back");
	if (counters->time.first_at == 0)
		return;
	if (wall > CPU_WALL_NS && (double)used / (double)wall > CPU_SHARE_MOST)
		try_escaped(try, "its cgroup counted %.2f processors, and there may be 0.02", (double)used / (double)wall);
	if (used > (told_ms + 20) * 2 * NS_PER_MS)
		try_escaped(try, "hotcell tells of %llu ms of a processor, and its cgroup counted %llu", (unsigned long long)told_ms,
			(unsigned long long)(used / NS_PER_MS));
}

static void judge_pids(struct review_try *try, const struct counters *counters)
{
	if (counters->most > counters->row->limit + PIDS_SLACK)
		try_escaped(try, "its cgroup counted %llu processes and threads, and there may be %llu", (unsigned long long)counters->most,
			(unsigned long long)counters->row->limit);
}

/* With a cgroup and without. */
static void judge_tasks(struct review_try *try, const struct counters *counters)
{
	if (counters->tasks > counters->row->limit)
		try_escaped(try, "the host had %zu of its processes and threads, and there may be %llu", counters->tasks,
			(unsigned long long)counters->row->limit);
	else if (counters->tasks < counters->row->limit / 2)
		try_failed(try, "the host had only %zu of its processes and threads", counters->tasks);
}

static void judge_counters(struct review_try *try, const struct counters *counters)
{
	static void (*const judges[])(struct review_try *, const struct counters *) = {
		[MEMORY] = judge_memory, [CPU] = judge_cpu, [PIDS] = judge_pids};
	own(freep) char *path = xfmt("receipt.protections.%s.state", files[counters->row->kind].protection);
	const char *state = try_result(try, path);

	if (!counters->seen)
		try_failed(try, "no process of it was seen");
	else if (!counters->folder && state && strcmp(state, "on") == 0)
		try_failed(try, "%s is on, and no cgroup of the cell was found", files[counters->row->kind].protection);
	if (counters->row->kind == PIDS)
		judge_tasks(try, counters);
	if (!counters->folder)
		return;
	if (counters->limit > counters->row->limit + (counters->row->kind == PIDS ? PIDS_SLACK : 0))
		try_escaped(try, "its cgroup has a limit of %llu, and %llu was asked for", (unsigned long long)counters->limit,
			(unsigned long long)counters->row->limit);
	judges[counters->row->kind](try, counters);
}

/* Whether it had a cgroup, and was over before anybody had looked. */
static bool was_missed(const struct counters *counters)
{
	return counters->folder && counters->row->kind == MEMORY && counters->most < MEMORY_LEAST;
}

/* Whether it is to be done again: it was missed, and this was not the last time. */
static bool run_counted(struct review_try *try, const struct counted *row, bool last)
{
	const struct review_attack *attack = try->attack;
	own(counters_done) struct counters counters = {.row = row};

	try->own = &counters;
	struct try_command command = {.flags = attack->flags, .program = attack->program, .during = watch_counters};
	bool ran = try_run(try, &command) == 0;
	try->own = NULL;
	if (!ran)
		return false;
	try_judge(try);
	if (attack->judge)
		attack->judge(try);
	if (was_missed(&counters) && !last && try->verdict == REVIEW_HELD)
		return true;
	judge_counters(try, &counters);
	return false;
}

void counters_alone(struct review_try *try)
{
	const struct counted *row = NULL;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].id, try->attack->id) == 0)
			row = &rows[i];
	if (!row)
		try_failed(try, "nobody knows what it is counted by");
	for (int i = 1; row && i <= ATTEMPTS && run_counted(try, row, i == ATTEMPTS); i++)
		;
}
