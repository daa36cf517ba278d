/* Attacks on what there is a limited amount of: memory, processes, processors, disk, output, time.
 *
 * Limits are small, so that a row is quick and its program need not take much more to prove that one is missing. Seen
 * from outside: how the run ended, what hotcell measured, what the host's kernel counts for the cell's cgroup where it has
 * one, how many processes the host has, and how long a small piece of work takes on the host meanwhile. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "review/counters.h"
#include "review/crowd.h"
#include "review/props.h"
#include "review/scene.h"

#define MB UINT64_C(1048576)
#define SHM_KEY_BASE 0x52000000 /* keys of ours begin with this byte */
#define KEPT_MB 16
#define CORPUS_MB 16 /* the least that hotcell takes */
#define LIVES 3
#define SHARERS 3 /* runs, as in the row */
#define HOST_WORST_NS (3 * NS_PER_S) /* for a fork and a small file: a host that takes longer is not usable */

/* ---- numbers ---- */

/* What a number may be at most, and must be at least for something to have been tried: one that the program told, or one
 * of hotcell's result. */
static const struct bound {
	const char *id, *said, *result;
	uint64_t least, most;
} bounds[] = {
	{"exhaustion.memory", NULL, "peak_memory", 32 * MB, 80 * MB},
	{"exhaustion.memory-family", NULL, "peak_memory", 24 * MB, 64 * MB},
	{"exhaustion.memory-locked", "taken", NULL, 0, 8},
	{"exhaustion.memfd", NULL, "peak_memory", 32 * MB, 80 * MB},
	{"exhaustion.shm-sysv", NULL, "peak_memory", 32 * MB, 80 * MB},
	{"exhaustion.message-queues", "taken", NULL, 0, MB},
	{"exhaustion.page-cache", NULL, "peak_memory", MB, 80 * MB},
	{"exhaustion.page-cache", "read", NULL, MB, UINT64_MAX},
	{"exhaustion.forks", "made", NULL, 10, 20},
	{"exhaustion.threads", "made", NULL, 10, 20},
	{"exhaustion.disk", "taken", NULL, 4 * MB, 8 * MB},
	{"exhaustion.disk", NULL, "written_bytes", 4 * MB, 9 * MB},
	{"exhaustion.tmp", "taken", NULL, 4 * MB, 8 * MB},
	{"exhaustion.dev-shm", "taken", NULL, 4 * MB, 8 * MB},
	{"exhaustion.file-size", "taken", NULL, MB / 2, MB},
	{"exhaustion.descriptors", "made", NULL, 32, 64},
	{"exhaustion.sparse", NULL, "written_bytes", 0, MB},
	{"exhaustion.core", "hard", NULL, 0, 1},
	{"exhaustion.core", "dumped", NULL, 0, 0},
	{"exhaustion.endless", NULL, "wall_ms", 400, 8000},
	{"exhaustion.fork-bomb", NULL, "wall_ms", 1000, 8000},
};

static void judge_bounds(struct review_try *try)
{
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		const struct bound *bound = &bounds[i];
		if (strcmp(bound->id, try->attack->id) != 0)
			continue;
		const char *name = bound->said ? bound->said : bound->result;
		const char *text = bound->said ? try_said(try, name) : try_result(try, name);
		uint64_t number = text ? strtoull(text, NULL, 10) : 0;
		if (number > bound->most)
			try_escaped(try, "%s was %llu, and may be %llu", name, (unsigned long long)number, (unsigned long long)bound->most);
		else if (!text || number < bound->least)
			try_failed(try, "%s was %s: not enough was tried", name, text ? text : "not told");
	}
}

/* ---- the host meanwhile ---- */

/* How long a fork and a small file take. */
static uint64_t host_work(const struct review_try *try)
{
	uint64_t begun = clock_now();
	own(freep) char *path = xfmt("%s/work", try->dir);
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	own(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)!write(fd, "x", 1);
	(void)unlink(path);
	return clock_now() - begun;
}

static void watch_host(struct review_try *try)
{
	uint64_t took = host_work(try);

	if (took > HOST_WORST_NS)
		try_escaped(try, "a fork and a small file took %.1f s on the host meanwhile", (double)took / 1e9);
}

/* ---- rows that judge by themselves ---- */

static void judge_family(struct review_try *try)
{
	if (!try_outcome_is(try, "oom") && try_result_number(try, "oom_kills") == 0)
		try_escaped(try, "twice its memory was taken, and nobody was killed for it");
	judge_bounds(try);
}

/* Of a row with -c 0.02: so little that a busy machine, too, would give it more if it were let. */
static void judge_cpu(struct review_try *try)
{
	double used = (double)(try_result_number(try, "user_ms") + try_result_number(try, "system_ms"));
	double wall = (double)try_result_number(try, "wall_ms");
	const char *told = try_said(try, "cpu"); /* what hotcell does not count it may have all the same */

	if (told && strtod(told, NULL) > used)
		used = strtod(told, NULL);
	if (wall > 0 && used / wall > 0.06)
		try_escaped(try, "it used %.2f processors, and may use 0.02", used / wall);
	else if (wall < 500 || used < 2)
		try_failed(try, "it computed for %.0f ms in %.0f: not enough was tried", used, wall);
}

static void judge_output(struct review_try *try)
{
	uint64_t passed = try_result_number(try, "stdout_bytes") + try_result_number(try, "stderr_bytes");

	if (passed > MB || try->out_bytes > MB + 4096 || try->err_bytes > MB + 4096)
		try_escaped(try, "%llu bytes were passed on, and a million may be",
			(unsigned long long)(try->out_bytes + try->err_bytes));
	if (try_outcome_is(try, "output-limit") && try_result_number(try, "dropped_bytes") == 0)
		try_escaped(try, "what was cut off is not told");
}

static uint64_t blocks_below(const char *folder)
{
	DIR *dir = opendir(folder);
	uint64_t bytes = 0;
	struct stat st;

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_blocks * 512;
	if (dir)
		(void)closedir(dir);
	return bytes;
}

static void judge_sparse(struct review_try *try)
{
	own(freep) char *out = xfmt("%s/out", try->dir), *hole = xfmt("%s/out/hole", try->dir);
	uint64_t bytes = blocks_below(out);
	struct stat st;

	const char *written = try_said(try, "pwrite");

	judge_bounds(try);
	if (!written || strcmp(written, "ok") != 0)
		try_failed(try, "the file of holes was not made");
	if (bytes > MB)
		try_escaped(try, "a file of holes took %llu bytes of the host's disk", (unsigned long long)bytes);
	if (lstat(hole, &st) == 0)
		try_escaped(try, "a file that is larger than all that may be taken back was taken back");
}

static void judge_core(struct review_try *try)
{
	own(freep) char *out = xfmt("%s/out", try->dir);

	judge_bounds(try);
	if (blocks_below(out) > 0)
		try_escaped(try, "a core was left");
}

/* Each of the three places that a cell may write to. */
static void alone_inodes(struct review_try *try)
{
	static const char *const places[] = {"--disk=1M .", "--tmp-size=1M /tmp", "--shm=1M /dev/shm"};

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const char *space = strchr(places[i], ' ');
		own(freep) char *flags = xfmt("%.*s", (int)(space - places[i]), places[i]);
		own(freep) char *program = xfmt("exhaust inodes %s/{mark} 1000", space + 1);
		if (try_run(try, &(struct try_command){.flags = flags, .program = program}) < 0)
			return;
		try_judge(try);
		const char *made = try_said(try, "made");
		if (made && atol(made) > 400)
			try_escaped(try, "%s files were made in %s, which has a megabyte", made, space + 1);
		else if (!made || atol(made) < 50)
			try_failed(try, "%s files were made in %s: not enough was tried", made ? made : "no", space + 1);
	}
}

static uint64_t shared_memory(const struct review_try *try)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	(void)try;
	if (fs_read_small(AT_FDCWD, "/proc/meminfo", 65536, &text, &err) < 0)
		return 0;
	const char *line = try_status_line(&text, "Shmem");
	return line ? strtoull(line, NULL, 10) * 1024 : 0;
}

/* What others do with memory meanwhile is not the cell's doing: it is waited for it to go down again. */
static bool memory_came_back(struct review_try *try, uint64_t before)
{
	for (int i = 0; i < 50; i++) {
		if (shared_memory(try) < before + KEPT_MB * MB)
			return true;
		(void)usleep(100000);
	}
	return false;
}

static void alone_afterlife(struct review_try *try)
{
	key_t key = SHM_KEY_BASE | (key_t)(strtoull(try->mark + strlen("@review-"), NULL, 16) & 0xffffff);
	own(freep) char *program = xfmt("exhaust afterlife %#x %d", (unsigned)key, KEPT_MB);
	uint64_t before = shared_memory(try);

	for (int i = 0; i < LIVES; i++) {
		if (try_run(try, &(struct try_command){.flags = "-m 64M", .program = program}) < 0)
			return;
		int left = shmget(key, 0, 0);
		if (left >= 0) {
			try_escaped(try, "shared memory of it was left on the host");
			(void)shmctl(left, IPC_RMID, NULL);
			return;
		}
		try_judge(try);
	}
	if (!memory_came_back(try, before))
		try_escaped(try, "after %d cells of %d MB each the host has less memory than before", LIVES, 2 * KEPT_MB);
}

/* ---- what a fuzzed function writes ---- */

/* Stands for Python. Where hotcell looks whether that is there, it is; instead of fuzzing, it fills
 * its corpus with a file that has no name any more. */
static const char engine[] = "#!/bin/sh\n"
			     "[ \"$2\" = fuzz ] || exit 0\n"
			     "exec 9>/fuzz/corpus/{mark} && rm /fuzz/corpus/{mark}\n"
			     "/review/attack {mark} exhaust fill /proc/self/fd/9 64 >/told/said\n";

static void corpus_judge(struct review_try *try)
{
	own(freep) char *path = props_path(try, "told/said");
	own(buf_done) struct buf said = {0};
	struct err err;

	bool read = fs_read_small(AT_FDCWD, path, 4096, &said, &err) == 0;
	const char *taken = read ? strstr(buf_text(&said), "taken ") : NULL;
	unsigned long long bytes = taken ? strtoull(taken + strlen("taken "), NULL, 10) : 0;
	if (bytes > CORPUS_MB * MB)
		try_escaped(try, "it wrote %llu bytes, and may write %d MB", bytes, CORPUS_MB);
	else if (bytes < MB)
		try_failed(try, "it wrote %llu bytes: not enough was tried: %.200s", bytes,
			buf_text(&try->err));
	try->tries++;
}

static void alone_corpus(struct review_try *try)
{
	own(freep) char *target = props_path(try, "t.py:f"), *told = props_path(try, "told");
	own(freep) char *state = xfmt("--state=%s/state", try->dir);
	own(freep) char *python = xfmt("--engine=python=%s/engine", try->dir);
	own(freep) char *program = xfmt("--mount=%s:/review", scene_program(try->scene));
	own(freep) char *tells = xfmt("--mount=%s:/told:rw", told);
	own(freep) char *backend = xfmt("--backend=%s", try->options->backend);
	own(freep) char *size = xfmt("--corpus-max=%dM", CORPUS_MB);
	const char *const fuzz[] = {try->options->hotcell, "fuzz", "function", target, state, python,
		program, tells, backend, size, "--duration=5s", "--workers=1", "--no-coverage",
		"--no-deepen", "--quiet", NULL};
	own(buf_done) struct buf said = {0};

	if (try->outside || try->options->image) {
		try_not_applicable(try, try->outside
				? "without a sandbox there is no file system for it"
				: "functions are fuzzed with this machine's own programs, and in no image");
		return;
	}
	props_file(try, "t.py", "def f(x: bytes): pass\n", 0644);
	props_file(try, "engine/bin/python3", engine, 0755);
	props_folder(try, "told");
	(void)chmod(told, 0777); /* cells may have another user than we */
	try->enter = props_record;
	if (try_host(try, fuzz, &said) < 0)
		return;
	scene_look(try->scene, try);
	corpus_judge(try);
}

/* ---- what the kernel counts by the user ---- */

static bool share_enter(const struct review_try *try)
{
	const struct rlimit few = {1024, 1024};

	(void)try;
	(void)setrlimit(RLIMIT_NOFILE, &few); /* who has fewer keeps those */
	return true;
}

/* An ordinary user's cells share what the kernel lets nobody share out: the receipt says which. */
static void share_judge(struct review_try *try, unsigned run)
{
	static const struct {
		const char *what;
		bool always;
	} needs[] = {{"flight", false}, {"inotify", true}, {"pipe", false}, {"signal", true}};
	own(freep) char *path = xfmt("%s/got-%u", try->dir, run);
	own(buf_done) struct buf got = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, path, 4096, &got, &err) < 0) {
		try_escaped(try, "a run beside it was lost, or could not begin");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(needs); i++) {
		own(freep) char *line = xfmt("%s ok\n", needs[i].what);
		try->tries++;
		if (!strstr(buf_text(&got), line) && (needs[i].always || geteuid() == 0))
			try_escaped(try, "a run beside it got no %s", needs[i].what);
	}
}

static void alone_share(struct review_try *try)
{
	const struct try_command command = {.verb = "campaign run", .flags = try->attack->flags, .program = try->attack->program};
	own(freep) char *taken = xfmt("%s/taken-0", try->dir);
	int status = 0;

	if (try->outside) {
		try_not_applicable(try, "without a sandbox there is one user only");
		return;
	}
	try->enter = share_enter;
	pid_t pid = chmod(try->dir, 0777) < 0 ? -1 : try_beside(try, &command);
	try->enter = NULL;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return;
	if (access(taken, F_OK) < 0)
		try_failed(try, "nothing was taken");
	for (unsigned run = 1; run < SHARERS; run++)
		share_judge(try, run);
}

/* ---- the catalogue ---- */

const struct review_attack review_exhaustion[] = {
	{
		.id = "exhaustion.forks",
		.technique = "make as many processes as there may be",
		.safe = "held at the limit; the host, and the cell's cgroup where it has one, count no more",
		.without = "process-limit",
		.flags = "-p 20",
		.program = "exhaust forks 60 300",
		.tries = 2,
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.threads",
		.technique = "make as many threads as there may be",
		.safe = "held at the limit; the host, and the cell's cgroup where it has one, count no more",
		.without = "process-limit",
		.flags = "-p 20",
		.program = "exhaust threads 60 300",
		.tries = 2,
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.fork-bomb",
		.technique = "a fork bomb: every process makes others, for ever",
		.safe = "held at the limit, ended on the clock, none left; the host goes on meanwhile",
		.without = "process-limit wall-clock",
		.flags = "-p 30 -t 1500ms",
		.program = "exhaust forkbomb 1000",
		.outcomes = "timeout",
		.during = watch_host,
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.memory",
		.technique = "take twice its memory",
		.safe = "killed, called oom; at the limit in the count of hotcell, and of the cell's cgroup where it has one",
		.without = "memory-limit",
		.flags = "-m 64M",
		.program = "exhaust memory 128 2000",
		.outcomes = "oom",
		.during = watch_host,
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.memory-family",
		.technique = "take twice its memory, spread over children of which none is large",
		.safe = "counted for the cell as a whole",
		.without = "memory-limit",
		.flags = "-m 48M",
		.program = "exhaust family 12 2000",
		.outcomes = "oom exited",
		.alone = counters_alone,
		.judge = judge_family,
	},
	{
		/* two limits hold it, the cell's memory and that of locked pages: neither alone is missed */
		.id = "exhaustion.memory-locked",
		.technique = "lock memory so that it cannot be swapped",
		.safe = "a few megabytes at most",
		.by = "the kernel itself: its own limit of locked memory, of 8 MB, is the same for everybody without capabilities",
		.flags = "-m 64M",
		.program = "exhaust locked 128",
		.outcomes = "exited oom",
		.judge = judge_bounds,
		.own_word = true,
	},
	{
		.id = "exhaustion.memfd",
		.technique = "take memory in a file without a name, which no process has mapped",
		.safe = "killed, called oom",
		.without = "memory-limit",
		.flags = "-m 64M",
		.program = "exhaust memfd 128 2000",
		.outcomes = "oom",
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.shm-sysv",
		.technique = "take memory in System V segments, which outlive their maker",
		.safe = "killed, called oom",
		.without = "memory-limit",
		.flags = "-m 64M",
		.program = "exhaust sysv 128 2000",
		.outcomes = "oom",
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.message-queues",
		.technique = "fill message queues, whose memory is the kernel's",
		.safe = "a megabyte at most",
		.by = "the kernel itself: a namespace's queues and a user's bytes in them are few",
		.program = "exhaust mqueue",
		.tries = 2,
		.judge = judge_bounds,
		.own_word = true,
	},
	{
		.id = "exhaustion.page-cache",
		.technique = "read every file there is, write and drop files, so that the page cache never rests",
		.safe = "the host stays quick; the cell's share stays within its memory",
		.by = "the kernel itself: pages that a cell reads and writes count as its memory, and go first",
		.flags = "-m 64M --disk 32M",
		.program = "exhaust churn 900 2000",
		.tries = 1,
		.during = watch_host,
		.alone = counters_alone,
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.disk",
		.technique = "fill the workspace",
		.safe = "ENOSPC inside; called disk-limit",
		.without = "disk-limit",
		.flags = "--disk 8M",
		.program = "exhaust fill {mark} 16",
		.outcomes = "disk-limit",
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.tmp",
		.technique = "fill /tmp",
		.safe = "ENOSPC inside; called disk-limit",
		.without = "tmp-size",
		.flags = "--tmp-size 8M",
		.program = "exhaust fill /tmp/{mark} 16",
		.outcomes = "disk-limit",
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.dev-shm",
		.technique = "fill /dev/shm",
		.safe = "ENOSPC inside",
		.without = "shm-size",
		.flags = "--shm 8M",
		.program = "exhaust fill /dev/shm/{mark} 16",
		.outcomes = "exited disk-limit",
		.judge = judge_bounds,
		.own_word = true,
	},
	{
		.id = "exhaustion.inodes",
		.technique = "make empty files without end in the workspace, /tmp and /dev/shm",
		.safe = "ENOSPC inside after a number that goes with the size",
		.without = "disk-limit",
		.outcomes = "disk-limit exited",
		.alone = alone_inodes,
		.own_word = true,
	},
	{
		.id = "exhaustion.file-size",
		.technique = "write a file beyond the largest size, and truncate it to four terabytes",
		.safe = "EFBIG",
		.without = "file-limits",
		.flags = "--file-size 1M",
		.program = "exhaust longfile {mark}",
		.tries = 3,
		.judge = judge_bounds,
		.own_word = true,
	},
	{
		.id = "exhaustion.sparse",
		.technique = "leave a file of four terabytes that is one hole, to be collected",
		.safe = "counted by its blocks, inside and on the host",
		.without = "collect-sparse",
		.flags = "--file-size 8T --output {dir}/out --max-collect 8M",
		.program = "exhaust sparse hole 4398046511104",
		.tries = 2,
		.but = "ftruncate pwrite",
		.judge = judge_sparse,
	},
	{
		.id = "exhaustion.descriptors",
		.technique = "open files without end, and raise the limit",
		.safe = "EMFILE, EPERM",
		.without = "file-limits",
		.flags = "--open-files 64",
		.program = "exhaust descriptors",
		.tries = 3,
		.judge = judge_bounds,
		.own_word = true,
	},
	{
		.id = "exhaustion.stdout",
		.technique = "print without end",
		.safe = "cut off, flagged, drained",
		.without = "output-limit",
		.flags = "--max-output 1M -t 5s",
		.program = "exhaust print 1",
		.outcomes = "output-limit",
		.judge = judge_output,
	},
	{
		.id = "exhaustion.stderr",
		.technique = "print without end to stderr",
		.safe = "cut off, flagged, drained",
		.without = "output-limit",
		.flags = "--max-output 1M -t 5s",
		.program = "exhaust print 2",
		.outcomes = "output-limit",
		.judge = judge_output,
	},
	{
		.id = "exhaustion.core",
		.technique = "raise the limit of core dumps, and crash",
		.safe = "the hard limit stays below any core, and none is left",
		.without = "core-limit",
		.flags = "--output {dir}/out",
		.program = "exhaust core",
		.outcomes = "crashed",
		.judge = judge_core,
		.own_word = true,
	},
	{
		.id = "exhaustion.cpu-threads",
		.technique = "compute in many threads at once",
		.safe = "together they get the cell's share; its cgroup, where it has one, held them back",
		.without = "cpu-limit",
		.flags = "-c 0.02",
		.program = "exhaust burn 1500 8",
		.tries = 2,
		.alone = counters_alone,
		.judge = judge_cpu,
	},
	{
		.id = "exhaustion.cpu-bursts",
		.technique = "compute in bursts, and sleep in between",
		.safe = "time is counted, not looked at now and then",
		.without = "cpu-limit",
		.flags = "-c 0.02",
		.program = "exhaust bursts 1500",
		.tries = 1,
		.alone = counters_alone,
		.judge = judge_cpu,
	},
	{
		.id = "exhaustion.cpu-swarm",
		.technique = "compute in orphans that live for a few milliseconds",
		.safe = "their time counts as the cell's",
		.without = "cpu-limit",
		.flags = "-c 0.02",
		.program = "exhaust swarm 1500",
		.tries = 1,
		.alone = counters_alone,
		.judge = judge_cpu,
	},
	{
		.id = "exhaustion.endless",
		.technique = "never end, and ignore every signal",
		.safe = "ended on the clock",
		.without = "wall-clock",
		.flags = "-t 500ms",
		.program = "bypass hang",
		.outcomes = "timeout",
		.judge = judge_bounds,
	},
	{
		.id = "exhaustion.corpus",
		.technique = "fill the corpus of a fuzzed function, by a file that has no name any more",
		.safe = "ENOSPC inside",
		.without = "corpus-size",
		.own_word = true,
		.tries = 1,
		.alone = alone_corpus,
	},
	{
		.id = "exhaustion.afterlife",
		.technique = "leave memory behind that no process holds, cell after cell",
		.safe = "it is gone with each cell",
		.without = "ipc-namespace",
		.tries = 1,
		.alone = alone_afterlife,
	},
	{
		.id = "exhaustion.crowd",
		.technique = "all of this in 100 cells at once",
		.safe = "a healthy cell among them keeps its pace, and nothing is left of any",
		.wants = "memory-limit cpu-limit process-limit",
		.harsh = true,
		.tries = 1,
		.alone = crowd_alone,
	},
	{
		.id = "exhaustion.per-user",
		.technique = "take all inotify instances, descriptors in flight, pipe memory and pending signals of a user, in one run of several",
		.safe = "the other runs get theirs; of an ordinary user's, inotify and signals, and none is lost",
		.without = "per-user-limits",
		.flags = "--name share --plain --state {dir}/state --output {dir}/runs -t 20s --runs 3 --workers 3 --mount {dir}:/shown:rw",
		.program = "share run /shown 3",
		.tries = 8,
		.alone = alone_share,
	},
	{0},
};
