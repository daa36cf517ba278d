/* A cell's init: process 1 of its pid namespace. Theory of operation.
 *
 * It is born in the yard's root, still with the yard's rights (root's, or those of the user namespace
 * the zygote made), and in its slot's cgroup and network. It mounts what is the cell's own, and then gives
 * those rights up by entering the cell's user namespace, which owns nothing: not even full
 * capabilities there have power over the cell's mounts, network or limits. Then it seals itself,
 * limits, capabilities, Landlock and the system call filter included, and waits for its job.
 *
 * All of this happens before there is a job, so that starting one costs little more than exec: the
 * program is a child that takes over what init has become.
 *
 *	init     keeps: control socket, signalfd, the filter's listener, what it measures with, the workspace; until its job /dev/null
 *	program  gets: 0, 1 and 2
 *
 * Init reaps, answers and counts what the filter refuses, watches memory where no cgroup does, and
 * obeys MSG_KILL. When the program ends it kills all others, reports, and exits. If the supervisor
 * dies, the control socket ends and init exits; the kernel kills whatever is left of a namespace
 * without init. Being under its own filter, init must never make a call that the filter refuses: it
 * would wait for its own answer. Nor does it ever wait for a process that another one in the cell can
 * stop: while it waits, nobody is watched.
 *
 * The program has the same user as init, so init is not dumpable (no ptrace, no /proc/1/mem), takes
 * no signals from inside (it is process 1) and trusts nothing in the cell's files. */
#include "cell/native/inside/program.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/weaken.h"
#include "cell/native/inside/effects.h"
#include "cell/native/inside/watch.h"

#define MAX_EXECS 16
/* A program that ends before this is told of once, with its report: each message wakes the supervisor. */
#define TELL_START_NS (2 * NS_PER_MS)
#define FLIGHT_TRIES 40
#define FLIGHT_PAUSE_MS 5

struct execed {
	pid_t pid; /* 0: free */
	uint32_t id;
	int became; /* as `became` below; -1: it has, or need not ask */
};

struct init {
	const struct birth *birth;
	int control, signals, listener;
	int null; /* the cell's own /dev/null, for what a job is not given; -1: not open */
	int workspace; /* -1: not wanted; open from the start, as the program may close the folder to its own user */
	struct watch watch;
	struct effects effects;
	pid_t starting; /* the main program before it has become that, if it has to ask us; 0: none */
	int became; /* of that one: it can be read when it has */
	struct execed execs[MAX_EXECS];
	pid_t main_pid;
	int main_status;
	bool main_ended, memory_killed, timed_out, ipc_used;
	bool start_told;
	bool alone; /* there is no other process */
	uint64_t deadline; /* clock_now; 0: none */
	uint64_t next_watch; /* likewise: until then memory may be left alone, however often we are asked */
	uint64_t started, ended; /* of the main program */
	uint32_t facts;
	uint64_t refused[FILTER_MAX_REFUSED]; /* by calls_index */
	uint32_t seen[CELL_MAX_CALLS / 32]; /* likewise, a bit each: observed */
	struct statx scratch[SCRATCH_COUNT]; /* at the start */
};

/* ---- telling the supervisor ---- */

static void tell(const struct init *init, const struct buf *message, const int *fds, size_t fd_count)
{
	(void)!wire_send_marked(init->control, message->data, message->len, fds, fd_count, 0, init->birth->calls->mark);
}

/* ---- becoming the cell ---- */

static int become_user(const struct birth *birth, uint32_t *facts, struct err *err)
{
	const struct template *t = birth->t;
	bool inside = birth->user_ns >= 0 && !weakened("user-namespace");
	gid_t gid = inside ? t->gid : birth->outer_gid;
	uid_t uid = inside ? t->uid : birth->outer_uid;

	/* only real root may drop its groups; an ordinary user's stay, and reach nothing that is not
	 * mounted */
	if (birth->outer_gid != 0 && setgroups(0, NULL) < 0)
		return err_errno(err, errno, "leave all groups");
	if (weakened("non-root"))
		return 0;
	if (inside && setns(birth->user_ns, CLONE_NEWUSER) < 0)
		return err_errno(err, errno, "enter the cell's user namespace");
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return err_errno(err, errno, "become the cell's user %u", (unsigned)uid);
	if (inside)
		*facts |= FACT_USER_NS;
	if (birth->outer_uid != 0)
		*facts |= FACT_OWN_USER;
	/* both are undone by a change of user, so they come after it */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

/* Who collects it is another user than the cell's, and no root: he is shown it as its owner. */
static int workspace_open(const struct birth *birth, struct err *err)
{
	if (birth->collect_ns < 0)
		return open(CELL_WORKSPACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP,
		.userns_fd = (uint64_t)birth->collect_ns };
	own(fd_closep) int tree =
		open_tree(AT_FDCWD, CELL_WORKSPACE, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(err, errno, "show the cell's workspace to its user");
	int fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err_errno(err, errno, "open the cell's workspace for its user") : fd;
}

static int become_cell(struct init *init, struct err *err)
{
	const struct birth *birth = init->birth;
	bool proc = false;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (birth->limited || weakened("cgroup-namespace") || unshare(CLONE_NEWCGROUP) == 0)
		init->facts |= FACT_CGROUP_NS;
	if (root_private(birth, &proc, err) < 0 || root_paths(birth, err) < 0)
		return -1;
	for (enum scratch which = 0; which < SCRATCH_COUNT && birth->t->observe; which++)
		(void)statx(AT_FDCWD, root_scratch_paths[which], AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &init->scratch[which]);
	init->facts |= proc ? FACT_PROC : 0;
	watch_open(&init->watch, proc, birth->t->watch_memory > 0, birth->sockets);
	if (birth->t->watch_memory > 0)
		init->facts |= FACT_WATCHED;
	if (birth->t->effects)
		effects_open(&init->effects, init->control, proc, birth->calls->mark);
	if (birth->t->want_workspace)
		init->workspace = workspace_open(birth, err);
	if (birth->collect_ns >= 0 && init->workspace < 0)
		return -1;
	if (become_user(birth, &init->facts, err) < 0)
		return -1;
	const int keep[] = { init->control, init->watch.loadavg, init->watch.sockets, init->watch.proc,
		init->workspace, birth->ruleset };
	if (!weakened("clean-descriptors"))
		fs_close_others(keep, ARRAY_LEN(keep), 3);
	return seal_self(birth, &init->listener, &init->facts, err);
}

/* ---- programs ---- */

static void answer_refused(struct init *init);

static void say_failed(const struct init *init, const struct err *err)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, MSG_FAILED);
	wire_put_u32(&message, NO_SLOT);
	message_put_err(&message, err);
	tell(init, &message, NULL, 0);
}

static int check_needs(const struct init *init, const struct job *job, struct err *err)
{
	if ((init->facts & job->need) == job->need)
		return 0;
	return err_set(err, ERR_MISSING,
		"a required protection did not take effect in the cell: 'hotcell doctor' says which and why");
}

static void tell_start(struct init *init, int master)
{
	own(buf_done) struct buf message = { 0 };

	init->start_told = true;
	wire_put_u32(&message, MSG_STARTED);
	wire_put_u32(&message, init->facts);
	wire_put_u64(&message, init->started);
	tell(init, &message, &master, master >= 0 ? 1 : 0);
}

static bool can_be_read(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) > 0;
}

static void answer_until_it_became(void *data, pid_t pid, int became)
{
	struct init *init = data;

	init->starting = pid;
	init->became = became;
	while (!can_be_read(became)) {
		struct pollfd fds[] = { { .fd = became, .events = POLLIN }, { .fd = init->listener, .events = POLLIN },
			{ .fd = init->control } };
		if (poll(fds, ARRAY_LEN(fds), -1) <= 0)
			continue;
		if (fds[1].revents != 0)
			answer_refused(init);
		if (fds[2].revents != 0)
			_exit(0); /* its end: the supervisor is gone */
	}
	init->starting = 0;
}

/* Exec asks us about itself. */
static bool exec_asks(const struct init *init)
{
	return init->birth->t->effects && init->listener >= 0;
}

static pid_t start_program(struct init *init, const struct job *job, const int *stdio, struct err *err)
{
	uint64_t open_files = init->birth->t->open_files;

	if (exec_asks(init))
		return program_start_asking(job, stdio, open_files, answer_until_it_became, init, err);
	return program_start(job, stdio, open_files, err);
}

static _Alignas(4096) char inbox[MAX_MESSAGE]; /* on the stack each of its pages would be touched, and so copied */

/* Whatever was our maker's is copied, or found again, page by page at the first touch: before a job is read, when in a warm cell nobody
 * waits yet. */
static void rehearse(struct init *init)
{
	static const char *words[] = { "program", NULL };
	const struct job played = { .argv = words, .env = words, .cwd = "/" };
	own(buf_done) struct buf bytes = { 0 };
	own(job_done) struct job job = { 0 };
	struct err none;

	job_encode(&bytes, &played);
	struct wire_reader reader = { .data = bytes.data, .len = bytes.len };
	(void)!job_decode(&job, &reader, &none);
	((volatile char *)inbox)[0] = 0;
	program_rehearse();
	init->null = program_null(init->birth->calls->mark);
}

static void start_main(struct init *init, struct wire_reader *reader, const int *given, size_t count)
{
	own(job_done) struct job job = { 0 };
	own(fd_closep) int master = -1, inside = -1, null = fd_take(&init->null);
	uint64_t mark = init->birth->calls->mark;
	struct err err;
	int stdio[3];

	init->main_pid = -1;
	if (job_receive(&job, reader, &given, &count, &err) == 0 && check_needs(init, &job, &err) == 0 &&
		(!job.tty || program_terminal(&job, mark, &master, &inside, &err) == 0) &&
		program_stdio(&job, mark, given, count, job.tty ? &inside : &null, stdio, &err) == 0) {
		init->started = clock_now();
		init->main_pid = start_program(init, &job, stdio, &err);
	}
	if (init->main_pid < 0) {
		say_failed(init, &err);
		_exit(125);
	}
	if (job.backstop_ms > 0)
		init->deadline = clock_now() + job.backstop_ms * NS_PER_MS;
	if (job.tty || init->birth->t->effects) /* whether there are effects is known when anything else is */
		tell_start(init, master);
}

static void say_exec_done(const struct init *init, uint32_t id, int status)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, MSG_EXEC_DONE);
	wire_put_u32(&message, id);
	wire_put_u32(&message, (uint32_t)status);
	tell(init, &message, NULL, 0);
}

/* A program beside the main one, which may do its worst meanwhile; what fails it is told on its stderr. */
static void start_beside(struct init *init, uint32_t id, struct wire_reader *reader, const int *given, size_t count)
{
	own(job_done) struct job job = { 0 };
	own(fd_closep) int inside = -1;
	int stdio[3] = { -1, -1, -1 };
	struct err err = { 0, "too many programs are being executed in this cell" };
	struct execed *slot = NULL;
	pid_t pid = -1;
	int became = -1;

	for (size_t i = 0; i < MAX_EXECS && slot == NULL; i++)
		if (init->execs[i].pid == 0)
			slot = &init->execs[i];
	if (job_receive(&job, reader, &given, &count, &err) == 0 &&
		program_stdio(&job, init->birth->calls->mark, given, count, &inside, stdio, &err) == 0 && slot != NULL)
		pid = program_start_beside(&job, stdio, init->birth->t->open_files, exec_asks(init) ? &became : NULL, &err);
	if (pid > 0) {
		init->alone = false;
		*slot = (struct execed){ pid, id, became };
		return;
	}
	if (stdio[2] >= 0)
		(void)dprintf(stdio[2], "hotcell: %s\n", err.text);
	say_exec_done(init, id, PROGRAM_NOT_STARTED << 8);
}

/* ---- what happens inside ---- */

/* Whether the call goes on; else *ret_error is what it gets. Its registers are what the kernel will use: the caller waits in
 * the kernel, and what a signal interrupts begins anew and asks again. */
static bool judge(struct init *init, const struct seccomp_data *data, int index, int *ret_error)
{
	const struct call_set *calls = init->birth->calls;
	bool known = data->nr >= 0 && data->nr < FILTER_MAX_NR, noticed = filter_is_noticed(data->nr);
	const char *name;

	*ret_error = EPERM;
	if (known && calls->denied[data->nr])
		return false;
	*ret_error = filter_refusal(data->nr, &name);
	if (known && (calls->observed[data->nr] || calls->effects[data->nr] != EFFECT_NOT)) {
		if (filter_judge(init->birth->filter_plain, data) != SECCOMP_RET_ALLOW)
			return false;
		init->seen[index / 32] |= 1u << index % 32;
	} else if (!noticed) {
		return false;
	}
	init->ipc_used = init->ipc_used || noticed;
	return true;
}

/* Whether this is a child of ours on its way to its program, which does nothing but exec. */
static bool is_starting(struct init *init, pid_t pid)
{
	if (pid == init->starting)
		return !can_be_read(init->became);
	for (size_t i = 0; i < MAX_EXECS; i++) {
		struct execed *execed = &init->execs[i];
		if (execed->pid != pid || execed->became < 0)
			continue;
		if (!can_be_read(execed->became))
			return true;
		fd_close(&execed->became);
	}
	return false;
}

static void answer_refused(struct init *init)
{
	union {
		struct seccomp_notif notif;
		char room[512]; /* a newer kernel's may be longer */
	} request;
	struct seccomp_notif_resp response = { 0 };
	int error = 0;

	memset(&request, 0, sizeof(request));
	if (ioctl(init->listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return; /* the caller was killed while it waited */
	bool starting = is_starting(init, (pid_t)request.notif.pid);
	if (init->birth->t->effects && !starting && !effects_tell(&init->effects, init->listener, &request.notif))
		return;
	int index = calls_index(request.notif.data.nr);
	response.id = request.notif.id;
	if (judge(init, &request.notif.data, index, &error))
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		response.error = -error;
	if (response.error != 0 && index >= 0)
		init->refused[index]++;
	(void)ioctl(init->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static void child_ended(struct init *init, pid_t pid, int status)
{
	if (WIFSTOPPED(status)) { /* it asked its parent, us, to trace it: no, thank you */
		int number = WSTOPSIG(status);
		if (init->birth->calls->observed[SYS_ptrace]) { /* we would have to answer ourselves */
			(void)kill(pid, SIGKILL);
			return;
		}
		(void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)(number == SIGTRAP ? 0 : number));
		return;
	}
	if (pid == init->main_pid) {
		init->ended = clock_now();
		init->main_status = status;
		init->main_ended = true;
	}
	for (size_t i = 0; i < MAX_EXECS; i++) {
		if (init->execs[i].pid != pid)
			continue;
		say_exec_done(init, init->execs[i].id, status);
		fd_close(&init->execs[i].became);
		init->execs[i].pid = 0;
	}
}

static void reap(struct init *init)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		child_ended(init, pid, status);
	/* all that live here descend from us, and orphans are ours: no child, no process */
	init->alone = pid < 0 && errno == ECHILD;
}

static void kill_all(struct init *init)
{
	int status;
	pid_t pid;

	if (weakened("pid-namespace") || weakened("kill-all")) { /* all would be the user's own */
		(void)(init->main_pid > 0 && kill(init->main_pid, SIGKILL));
		return;
	}
	do { /* again after each that dies, until there is no child left, orphans included */
		(void)kill(-1, SIGKILL);
		pid = waitpid(-1, &status, __WALL);
		if (pid > 0)
			child_ended(init, pid, status);
	} while (pid > 0 || errno == EINTR);
}

static void obey(struct init *init)
{
	int fds[4];
	size_t count = 0;
	ssize_t len = wire_recv(init->control, inbox, sizeof(inbox), fds, 4, &count, MSG_DONTWAIT);
	struct wire_reader reader = { .data = inbox, .len = len < 0 ? 0 : (size_t)len };

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0)
		_exit(0); /* the supervisor is gone: so is the cell */
	switch (wire_get_u32(&reader)) {
	case MSG_KILL:
		if (init->main_pid == 0)
			_exit(0); /* there was no program: nothing to report */
		kill_all(init);
		init->main_ended = true;
		break;
	case MSG_JOB:
		(void)wire_get_u32(&reader);
		if (init->main_pid == 0)
			start_main(init, &reader, fds, count);
		break;
	case MSG_EXEC: {
		uint32_t id = wire_get_u32(&reader);
		if (init->main_pid > 0)
			start_beside(init, id, &reader, fds, count);
		break;
	}
	default:
		break;
	}
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	explicit_bzero(inbox, len > 0 ? (size_t)len : 0); /* an environment may hold secrets */
}

/* When to look again without being asked: for the watch on memory, to tell of the start, or at the deadline. */
static int next_look_ms(const struct init *init, bool watching)
{
	if (init->main_pid > 0 && !init->start_told)
		return (int)(TELL_START_NS / NS_PER_MS);
	uint64_t until = watching ? init->next_watch : init->deadline, now = clock_now();
	if (until == 0)
		return watching ? 0 : -1;
	uint64_t left = until > now ? (until - now) / NS_PER_MS + 1 : 0;
	return left > INT32_MAX ? INT32_MAX : (int)left;
}

/* It costs a millisecond or so: not after every call that is asked about. */
static void look_at_memory(struct init *init)
{
	uint64_t limit = init->birth->t->watch_memory;

	if (watch_memory(&init->watch, limit) > limit) {
		init->memory_killed = true;
		kill_all(init);
		init->main_ended = true;
	}
	init->next_watch = clock_now() + (uint64_t)watch_pause_ms(&init->watch, limit) * NS_PER_MS;
}

static void turn(struct init *init)
{
	struct pollfd fds[] = { { .fd = init->control, .events = POLLIN }, { .fd = init->signals, .events = POLLIN },
		{ .fd = init->listener, .events = POLLIN } };
	struct signalfd_siginfo info;
	bool watching = init->birth->t->watch_memory > 0 && init->main_pid > 0;
	int ready = poll(fds, ARRAY_LEN(fds), next_look_ms(init, watching));

	if (ready > 0 && fds[1].revents != 0) {
		(void)!read(init->signals, &info, sizeof(info));
		reap(init);
	}
	if (ready > 0 && fds[2].revents != 0)
		answer_refused(init);
	if (ready > 0 && fds[0].revents != 0)
		obey(init);
	if (init->main_pid > 0 && !init->main_ended && !init->start_told &&
		clock_now() >= init->started + TELL_START_NS)
		tell_start(init, -1);
	/* the supervisor's clock comes first; this is for one that was stopped or hangs */
	if (init->deadline != 0 && !init->main_ended && clock_now() > init->deadline) {
		init->timed_out = true;
		kill_all(init);
		init->main_ended = true;
	}
	if (watching && !init->main_ended && clock_now() >= init->next_watch)
		look_at_memory(init);
}

static bool wrote(const struct statx *then, const char *path)
{
	struct statx now;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &now) < 0)
		return true;
	return now.stx_mtime.tv_sec != then->stx_mtime.tv_sec || now.stx_mtime.tv_nsec != then->stx_mtime.tv_nsec;
}

static void put_observed(const struct init *init, struct buf *message)
{
	uint32_t flags = 0;

	if (!init->birth->t->observe || init->listener < 0) {
		wire_put_u32(message, 0);
		return;
	}
	for (enum scratch which = 0; which < SCRATCH_COUNT; which++)
		if (wrote(&init->scratch[which], root_scratch_paths[which]))
			flags |= OBSERVED_WROTE << which;
	wire_put_u32(message, flags | OBSERVED);
	for (size_t i = 0; i < ARRAY_LEN(init->seen); i++)
		wire_put_u32(message, init->seen[i]);
}

/* Of its user's limit of descriptors in flight others may have taken all: those of dead ones are found within a moment. */
static void tell_with_workspace(const struct init *init, const struct buf *message)
{
	for (int i = 0; i < FLIGHT_TRIES; i++) {
		if (wire_send_marked(init->control, message->data, message->len, &init->workspace, 1, 0, init->birth->calls->mark) >= 0 ||
			errno != ETOOMANYREFS)
			return;
		(void)poll(NULL, 0, FLIGHT_PAUSE_MS);
	}
	tell(init, message, NULL, 0); /* how it ended, at least */
}

static void report(struct init *init)
{
	own(buf_done) struct buf message = { 0 };
	struct rusage usage;
	uint64_t written = 0;
	bool full = watch_disk_full(&written);

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	wire_put_u32(&message, MSG_REPORT);
	wire_put_u32(&message, init->facts);
	wire_put_u32(&message, (uint32_t)init->main_status);
	wire_put_u64(&message, init->started);
	wire_put_u64(&message, init->ended);
	wire_put_u64(&message, (uint64_t)usage.ru_utime.tv_sec * 1000000 + (uint64_t)usage.ru_utime.tv_usec);
	wire_put_u64(&message, (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec);
	uint64_t peak = (uint64_t)usage.ru_maxrss * 1024;
	wire_put_u64(&message, peak > init->watch.peak ? peak : init->watch.peak);
	wire_put_u64(&message, watch_processes(&init->watch));
	wire_put_u64(&message, written);
	wire_put_u32(&message, full);
	wire_put_u32(&message, init->memory_killed);
	wire_put_u32(&message, init->timed_out);
	wire_put_u32(&message, watch_net_clean(&init->watch));
	wire_put_u32(&message, !init->ipc_used && init->listener >= 0);
	put_observed(init, &message);
	for (uint32_t i = 0; i < FILTER_MAX_REFUSED; i++) {
		if (init->refused[i] == 0)
			continue;
		wire_put_u32(&message, i);
		wire_put_u64(&message, init->refused[i]);
	}
	if (init->workspace >= 0)
		tell_with_workspace(init, &message);
	else
		tell(init, &message, NULL, 0);
}

void init_main(const struct birth *birth)
{
	struct init init = { .birth = birth, .control = birth->control, .listener = -1, .null = -1, .workspace = -1 };
	struct err err;
	sigset_t set;

	(void)sigfillset(&set);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)signal(SIGCHLD, SIG_DFL); /* the zygote ignores these two; the rest it has reset */
	(void)signal(SIGPIPE, SIG_DFL);
	if (become_cell(&init, &err) < 0) {
		say_failed(&init, &err);
		_exit(125);
	}
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	init.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	rehearse(&init);
	while (!init.main_ended)
		turn(&init);
	if (!init.alone)
		kill_all(&init);
	if (birth->t->effects)
		effects_end(&init.effects);
	report(&init);
	_exit(0);
}
