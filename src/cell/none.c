/* The backend that protects nothing: a child of ours with two rlimits, a clock and a folder.
 *
 * For machines and moments where a sandbox cannot be had and is not needed. Its receipt says what
 * is missing: nearly everything. The program's process group is killed at its end; what left the
 * group lives on, and nothing here pretends otherwise.
 *
 * Beside each program there is a guard, a fork of ours that waits for our end on a pipe and then does what we cannot any more: it
 * kills the group, unless a byte has told it that the group's number may be another's by now, and removes the workspace. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "cell/backend.h"

#define TEMPORARY "/tmp"
#define GROUP_WAIT_NS (200 * NS_PER_MS) /* for the killed rest of the group to be gone */
#define GROUP_STEP_NS (2 * NS_PER_MS)

struct cell_backend_pool {
	struct loop *loop;
	unsigned runs;
};

struct cell_backend_run {
	struct cell_backend_pool *pool;
	struct cell_backend_events events;
	pid_t pid; /* 0 when reaped */
	pid_t group, guard;
	int alive; /* the guard reads from the other end */
	int pid_fd, report_fd, workspace_fd, tty_master;
	struct loop_source *pid_source, *report_source, *timer;
	char workspace[40];
	uint64_t ended_ns;
	struct cell_end end;
};

/* ---- the child ---- */

/* One entry changes: the home of a cell is its workspace, which is elsewhere here. */
static const char **child_env(const struct cell_spec *spec, const char *home)
{
	size_t count = 0;
	while (spec->env && spec->env[count])
		count++;
	const char **env = xcalloc(count + 1, sizeof(*env));
	for (size_t i = 0; i < count; i++)
		env[i] = strcmp(spec->env[i], "HOME=" CELL_WORKSPACE) == 0 ? home : spec->env[i];
	return env;
}

static void limit(int resource, uint64_t value)
{
	struct rlimit now;
	if (getrlimit(resource, &now) < 0)
		return;
	if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
		value = now.rlim_max;
	(void)setrlimit(resource, &(struct rlimit){value, value});
}

static void reset_signals(void)
{
	sigset_t none;
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_stdio(const int stdio[3], const char *tty)
{
	int fds[3] = {stdio[0] < 0 && !tty ? open("/dev/null", O_RDONLY | O_CLOEXEC) : stdio[0], stdio[1], stdio[2]};
	if (tty) {
		fds[0] = fds[1] = fds[2] = open(tty, O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (fds[0] < 0 || ioctl(fds[0], TIOCSCTTY, 0) < 0)
			return -1;
	}
	/* Out of the way of 0 to 2 first: one of them may be the source of another. */
	for (int i = 0; i < 3; i++)
		if ((fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3)) < 0)
			return -1;
	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) < 0)
			return -1;
	return 0;
}

static void child_fail(int report, const char *doing, const char *name)
{
	struct err err = {0};
	(void)err_errno(&err, errno, "%s%s%s%s", doing, name ? " '" : "", name ? name : "", name ? "'" : "");
	ssize_t unused = write(report, &err, sizeof(err));
	(void)unused;
	_exit(125);
}

static void child_run(const struct cell_backend_run *run, const struct cell_spec *spec, const int stdio[3],
	const char *tty, char *const *env, int report, pid_t supervisor)
{
	reset_signals();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* there may never be a guard */
	if (getppid() != supervisor)
		_exit(125);
	if (setsid() < 0 || child_stdio(stdio, tty) < 0)
		child_fail(report, "set up the program's input and output", NULL);
	/* All others vanish at exec, the report among them: its end of file means that the program runs. */
	(void)syscall(SYS_close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	limit(RLIMIT_FSIZE, spec->limits.file_size);
	limit(RLIMIT_NOFILE, spec->limits.open_files);
	limit(RLIMIT_CORE, 1); /* where a handler of the machine takes cores, 0 is not asked */
	if (spec->limits.nice > 0)
		(void)!nice((int)spec->limits.nice);
	if (chdir(run->workspace) < 0)
		child_fail(report, "enter the workspace", NULL);
	if (spec->cwd && strcmp(spec->cwd, CELL_WORKSPACE) != 0 && chdir(spec->cwd) < 0)
		child_fail(report, "enter the working folder", spec->cwd);
	environ = (char **)env; /* where execvp takes PATH from */
	(void)execvp(spec->argv[0], (char *const *)spec->argv);
	child_fail(report, "run", spec->argv[0]);
}

/* ---- the guard ---- */

static bool workspace_remove(const struct cell_backend_run *run)
{
	struct err ignored;
	own(fd_closep) int parent = open(TEMPORARY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return parent < 0 || !run->workspace[0] || fs_remove_tree(parent, run->workspace + sizeof(TEMPORARY), &ignored) == 0;
}

static _Noreturn void guard_main(const struct cell_backend_run *run, int alive)
{
	char byte;
	ssize_t got;
	bool waited_for = false;
	reset_signals();
	(void)prctl(PR_SET_NAME, "hotcell-guard", 0, 0, 0);
	(void)setsid(); /* Ctrl-C is not for us */
	fs_close_others(&alive, 1, 0);
	while ((got = read(alive, &byte, 1)) > 0 || (got < 0 && errno == EINTR))
		waited_for = waited_for || got > 0;
	if (!waited_for)
		(void)kill(-run->group, SIGKILL);
	/* what is still dying may write once more */
	for (uint64_t end = clock_now() + GROUP_WAIT_NS; !workspace_remove(run) && clock_now() < end;)
		(void)usleep(GROUP_STEP_NS / 1000);
	_exit(0);
}

static int guard_start(struct cell_backend_run *run, struct err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	run->alive = ends[1];
	run->guard = fork();
	int code = errno;
	if (run->guard == 0) {
		fd_close(&run->alive);
		guard_main(run, ends[0]);
	}
	fd_close(&ends[0]);
	return run->guard < 0 ? err_errno(err, code, "start a process that ends the program if we are killed") : 0;
}

static void guard_end(struct cell_backend_run *run)
{
	if (run->guard > 0 && kill(run->guard, SIGKILL) == 0)
		while (waitpid(run->guard, NULL, 0) < 0 && errno == EINTR)
			;
	run->guard = 0;
	fd_close(&run->alive);
}

/* ---- the receipt ---- */

struct grant {
	enum cell_protection protection;
	enum cell_grade grade;
	const char *note;
};

static const struct grant grants[] = {
	{CELL_MOUNT_NS, CELL_OFF, "sees the whole machine; mounts and image are ignored"},
	{CELL_HIDDEN_FILES, CELL_OFF, "nothing is mounted, nothing is hidden"},
	{CELL_NON_ROOT, CELL_OFF, "runs as you; --uid is ignored"},
	{CELL_FILE_LIMITS, CELL_ON, "rlimits"},
	{CELL_CLEAN_FDS, CELL_ON, ""},
	{CELL_CLEAN_ENV, CELL_ON, ""},
	{CELL_OWN_SESSION, CELL_ON, ""},
	{CELL_KILL_ALL, CELL_WEAKER, "its process group only"},
};

static void fill_receipt(struct cell_receipt *receipt)
{
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (i != CELL_OUTPUT_LIMITED && i != CELL_WALL_CLOCK)
			(void)snprintf(receipt->note[i], sizeof(receipt->note[i]), "no sandbox was asked for");
	for (size_t i = 0; i < ARRAY_LEN(grants); i++) {
		const struct grant *grant = &grants[i];
		receipt->grade[grant->protection] = (uint8_t)grant->grade;
		(void)snprintf(receipt->note[grant->protection], sizeof(receipt->note[0]), "%s", grant->note);
	}
}

/* ---- the end ---- */

static void run_end(struct cell_backend_run *run)
{
	run->timer = loop_remove(run->timer);
	run->events.ended(run->events.data, &run->end, fd_take(&run->workspace_fd));
}

/* Whatever of the group is still dying holds pipes and writes files. */
static void wait_for_group(void *data)
{
	struct cell_backend_run *run = data;
	run->timer = loop_remove(run->timer);
	uint64_t now = clock_now();
	if ((kill(-run->group, 0) < 0 && errno == ESRCH) || now - run->ended_ns > GROUP_WAIT_NS)
		run_end(run);
	else
		run->timer = loop_add_timer(run->pool->loop, now + GROUP_STEP_NS, wait_for_group, run);
}

static void reap(struct cell_backend_run *run)
{
	struct rusage usage = {0};
	pid_t ended;
	/* Before the wait: until then the number cannot be somebody else's. */
	(void)kill(-run->group, SIGKILL);
	(void)!write(run->alive, "w", 1);
	while ((ended = wait4(run->pid, &run->end.wait_status, 0, &usage)) < 0 && errno == EINTR)
		;
	run->end.lost = ended != run->pid; /* somebody else waited for it, or wants no child waited for */
	run->pid = 0;
	run->ended_ns = clock_now();
	run->end.user_us = (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec;
	run->end.system_us = (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
	run->end.peak_memory = (uint64_t)usage.ru_maxrss * 1024;
	run->end.processes = 1;
}

static void on_exit_of_program(void *data, int fd, uint32_t events)
{
	struct cell_backend_run *run = data;
	(void)fd;
	(void)events;
	if (run->report_source)
		return; /* how it began comes first */
	run->pid_source = loop_remove(run->pid_source);
	reap(run);
	wait_for_group(run);
}

/* End of file: exec has happened. Else the child says why it has not. */
static void on_report(void *data, int fd, uint32_t events)
{
	struct cell_backend_run *run = data;
	struct err err = {0};
	(void)events;
	ssize_t got = read(fd, &err, sizeof(err));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	run->report_source = loop_remove(run->report_source);
	fd_close(&run->report_fd);
	if (got == 0) {
		run->events.started(run->events.data, clock_now(), fd_take(&run->tty_master));
		return;
	}
	run->pid_source = loop_remove(run->pid_source);
	reap(run);
	err.text[sizeof(err.text) - 1] = '\0';
	run->events.failed(run->events.data, &err);
}

static void run_kill(struct cell_backend_run *run)
{
	if (run->pid <= 0)
		return;
	/* Its group exists only once it called setsid. */
	(void)kill(-run->group, SIGKILL);
	(void)kill(run->pid, SIGKILL);
}

static void run_release(struct cell_backend_run *run)
{
	run->timer = loop_remove(run->timer);
	run->pid_source = loop_remove(run->pid_source);
	run->report_source = loop_remove(run->report_source);
	if (run->pid > 0) {
		run_kill(run);
		reap(run);
	}
	fd_close(&run->pid_fd);
	fd_close(&run->report_fd);
	fd_close(&run->workspace_fd);
	fd_close(&run->tty_master);
	(void)workspace_remove(run);
	guard_end(run);
	run->pool->runs--;
	free(run);
}

static void run_freep(struct cell_backend_run **run)
{
	if (*run)
		run_release(*run);
}

/* ---- the start ---- */

static int open_workspace(struct cell_backend_run *run, struct err *err)
{
	char path[] = TEMPORARY "/hotcell-none-XXXXXX";
	_Static_assert(sizeof(path) <= sizeof(run->workspace), "the path does not fit");
	if (!mkdtemp(path))
		return err_errno(err, errno, "make a workspace in " TEMPORARY);
	memcpy(run->workspace, path, sizeof(path));
	run->workspace_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return run->workspace_fd < 0 ? err_errno(err, errno, "open the workspace '%s'", path) : 0;
}

static int open_terminal(struct cell_backend_run *run, char *ret_name, size_t len, struct err *err)
{
	run->tty_master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (run->tty_master < 0 || grantpt(run->tty_master) < 0 || unlockpt(run->tty_master) < 0 ||
		ptsname_r(run->tty_master, ret_name, len) != 0)
		return err_errno(err, errno, "make a terminal");
	return 0;
}

static int spawn(struct cell_backend_run *run, const struct cell_spec *spec, const int stdio[3], const char *tty,
	struct err *err)
{
	own(freep) char *home = xfmt("HOME=%s", run->workspace);
	own(freep) const char **env = child_env(spec, home);
	int report[2];
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(err, errno, "make a pipe");
	run->report_fd = report[0];
	pid_t supervisor = getpid(), pid = fork();
	if (pid == 0)
		child_run(run, spec, stdio, tty, (char *const *)env, report[1], supervisor);
	int code = errno;
	fd_close(&report[1]);
	if (pid < 0)
		return err_errno(err, code, "start a process");
	run->pid = run->group = pid;
	run->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (run->pid_fd < 0)
		return err_errno(err, errno, "watch the program");
	return guard_start(run, err);
}

static struct cell_backend_run *none_start(struct cell_backend_pool *pool, const struct cell_spec *spec,
	const int stdio[3], struct cell_receipt *receipt, const struct cell_backend_events *events, struct err *err)
{
	char tty[64];
	fill_receipt(receipt);
	if (cell_require_check(cell_required(spec), receipt, err) < 0)
		return NULL;
	if (spec->forbid && spec->forbid[0]) {
		(void)err_set(err, ERR_USAGE, "without a sandbox '%s' cannot be forbidden: leave --forbid out, or the "
					      "backend 'none'", spec->forbid[0]);
		return NULL;
	}
	if (spec->path_count > 0 || spec->no_exec || spec->observe || (spec->calls_deny && spec->calls_deny[0])) {
		(void)err_set(err, ERR_USAGE, "without a sandbox nothing holds a program to a profile's calls and paths: leave the "
					      "profile out, or the backend 'none'");
		return NULL;
	}
	if (spec->listener_count > 0 || (spec->hosts && spec->hosts[0])) {
		(void)err_set(err, ERR_USAGE, "doors open from a cell, and the backend 'none' makes no cell: leave them out, "
					      "or the backend 'none'");
		return NULL;
	}
	own(run_freep) struct cell_backend_run *run = xcalloc(1, sizeof(*run));
	run->pool = pool;
	run->events = *events;
	run->alive = run->pid_fd = run->report_fd = run->workspace_fd = run->tty_master = -1;
	pool->runs++;
	if (open_workspace(run, err) < 0 || (spec->tty && open_terminal(run, tty, sizeof(tty), err) < 0) ||
		spawn(run, spec, stdio, spec->tty ? tty : NULL, err) < 0)
		return NULL;
	run->report_source = loop_add_fd(pool->loop, run->report_fd, EPOLLIN, on_report, run);
	run->pid_source = loop_add_fd(pool->loop, run->pid_fd, EPOLLIN, on_exit_of_program, run);
	if (!run->report_source || !run->pid_source) {
		(void)err_errno(err, errno, "watch the program");
		return NULL;
	}
	return ptr_take(&run);
}

/* ---- the rest ---- */

static struct cell_backend_pool *none_open(struct loop *loop, struct err *err)
{
	(void)err;
	struct cell_backend_pool *pool = xcalloc(1, sizeof(*pool));
	pool->loop = loop;
	return pool;
}

static void none_close(struct cell_backend_pool *pool, bool leaving)
{
	(void)leaving;
	uint64_t until = clock_now() + NS_PER_S;
	while (pool->runs > 0 && clock_now() < until && loop_turn(pool->loop, 10) == 0)
		;
	if (pool->runs == 0)
		free(pool);
}

static uint64_t none_memory(const struct cell_backend_run *run)
{
	char path[40];
	own(buf_done) struct buf text = {0};
	struct err ignored;
	uint64_t pages = 0;
	if (run->pid <= 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)run->pid);
	if (fs_read_small(AT_FDCWD, path, 256, &text, &ignored) < 0 ||
		sscanf(buf_text(&text), "%*u %" SCNu64, &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int none_pid(const struct cell_backend_run *run)
{
	return (int)run->pid;
}

static int none_exec(struct cell_backend_run *run, const char *const *argv, const char *const *env, const int fds[3],
	bool tty, cell_exec_fn *done, void *data, struct err *err)
{
	(void)run, (void)argv, (void)env, (void)fds, (void)tty, (void)done, (void)data;
	return err_set(err, ENOTSUP, "there is no cell to enter: this run has no sandbox");
}

static size_t none_probe(struct cell_probe *ret, size_t max)
{
	if (max == 0)
		return 0;
	ret[0] = (struct cell_probe){.name = "sandbox", .grade = CELL_OFF,
		.detail = "the backend 'none' runs programs unprotected", .fix = "use the backend 'native'"};
	return 1;
}

static void none_explain(const struct cell_spec *spec, struct buf *ret)
{
	buf_str(ret, "NO SANDBOX: the program runs as you and can do whatever you can do.\n");
	buf_str(ret, "workspace      a new folder in " TEMPORARY ", removed afterwards; HOME points at it\n");
	buf_fmt(ret, "wall clock     %" PRIu64 " ms\n", spec->limits.timeout_ms);
	buf_fmt(ret, "output         %" PRIu64 " bytes\n", spec->limits.output);
	buf_fmt(ret, "largest file   %" PRIu64 " bytes\n", spec->limits.file_size);
	buf_fmt(ret, "open files     %" PRIu64 "\n", spec->limits.open_files);
	buf_str(ret, "ignored        memory, CPUs, processes, mounts, image, user, hidden files\n");
	if (spec->listener_count > 0 || (spec->hosts && spec->hosts[0]))
		buf_str(ret, "doors          it would not start: they open from a cell, and there is none\n");
}

const struct cell_backend cell_none = {
	.name = "none",
	.open = none_open,
	.close = none_close,
	.start = none_start,
	.kill = run_kill,
	.release = run_release,
	.memory = none_memory,
	.pid = none_pid,
	.exec = none_exec,
	.probe = none_probe,
	.explain = none_explain,
};
