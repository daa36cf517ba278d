/* The zygote and its yards. Theory of operation.
 *
 * The zygote is forked from the supervisor before that has read anything secret or grown: it forgets
 * the supervisor's descriptors, environment and arguments, and (for an ordinary user) makes one user
 * namespace in which it has the rights to mount and to make networks. On MSG_TEMPLATE it forks a
 * yard. When the supervisor dies its socket ends; then the zygote waits for the cells to be gone
 * (they end by the same token), removes the cgroups and exits.
 *
 * A yard builds one template's root in a mount namespace of its own, moves into it, and from then on
 * forks a stall for each slot on MSG_MAKE (stall.c). The net and user namespaces of a slot are made once
 * and used again for each cell of that slot in turn. None of these processes ever has a second thread. */
#include "cell/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/weaken.h"


#define SWEEP_NS (3 * NS_PER_S)

/* SIGCHLD is ignored, so this only ends when there is none left. */
static void wait_for_children(void)
{
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

void die_with(pid_t parent)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent) /* too late: it is dead already */
		_exit(0);
}

/* ---- the yard ---- */

struct slot {
	int net_ns, user_ns; /* -1: not made yet */
};

struct holder { /* a process that holds a new slot's namespaces */
	pid_t pid; /* 0: none */
	int ready; /* an errno comes when it is, or 0 */
};

struct yard {
	int socket, host_proc;
	struct holder early; /* begun before there was a slot for it */
	struct template t;
	struct buf bytes; /* what t's strings point into */
	uint32_t outer_uid, outer_gid, covers;
	struct slot *slots;
	size_t slot_count;
	struct sock_fprog counted, plain;
};

static void yard_fail(const struct yard *yard, uint32_t slot, const struct err *err)
{
	message_send_failed(yard->socket, slot, err);
}

static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	own(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &request);
}

/* Holds the namespaces of a new slot open until the yard has descriptors of them. */
static int holder_become(const struct yard *yard, pid_t parent, bool user_ns)
{
	die_with(parent);
	if (unshare(CLONE_NEWNET) < 0)
		return errno;
	(void)loopback_up(); /* a cell without loopback is poorer, not weaker */
	/* kernel quotas (inotify, timers, ...) count against the namespace's owner: not real root */
	if (user_ns && yard->outer_uid != 0 &&
		(setgroups(0, NULL) < 0 || setresgid(yard->outer_gid, yard->outer_gid, yard->outer_gid) < 0 ||
			setresuid(yard->outer_uid, yard->outer_uid, yard->outer_uid) < 0))
		return errno;
	if (user_ns && unshare(CLONE_NEWUSER) < 0)
		return errno;
	die_with(parent); /* after the change of user, which undoes it */
	return 0;
}

static _Noreturn void holder_main(const struct yard *yard, pid_t parent, int tell, bool user_ns)
{
	int failed = holder_become(yard, parent, user_ns);

	(void)!write(tell, &failed, sizeof(failed));
	for (;;)
		(void)pause();
}

static int proc_write(const struct yard *yard, pid_t pid, const char *file, const char *text, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, file);
	return fs_write_value(yard->host_proc, path, text, err);
}

static int proc_ns(const struct yard *yard, pid_t pid, const char *name, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%d/ns/%s", (int)pid, name);
	int fd = openat(yard->host_proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "open a new cell's %s namespace", name);
	return fd;
}

static int slot_take(const struct yard *yard, struct slot *slot, pid_t holder, struct err *err)
{
	char map[64];

	slot->net_ns = proc_ns(yard, holder, "net", err);
	if (slot->net_ns < 0)
		return -1;
	if (!yard->t.user_ns || slot->user_ns >= 0)
		return 0;
	(void)snprintf(map, sizeof(map), "%u %u 1", yard->t.uid, yard->outer_uid);
	if (proc_write(yard, holder, "uid_map", map, err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1", yard->t.gid, yard->outer_gid);
	if (proc_write(yard, holder, "gid_map", map, err) < 0)
		return -1;
	slot->user_ns = proc_ns(yard, holder, "user", err);
	return slot->user_ns < 0 ? -1 : 0;
}

/* Making a network takes the kernel longest of all: the first one is begun before the root is built, on
 * another CPU, and before the yard has mounts of its own. Whoever shares those while the yard changes its root
 * counts as in a chroot, and may make no user namespace. */
static int holder_begin(const struct yard *yard, bool user_ns, struct holder *ret, struct err *err)
{
	pid_t self = getpid();
	int tell[2];

	if (pipe2(tell, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	ret->pid = fork();
	if (ret->pid == 0)
		holder_main(yard, self, tell[1], user_ns);
	int cause = errno;
	(void)close(tell[1]);
	ret->ready = tell[0];
	if (ret->pid > 0)
		return 0;
	fd_close(&ret->ready);
	ret->pid = 0;
	return err_errno(err, cause, "start a process for new namespaces");
}

/* It never ends by itself. One that was killed is there a little longer, without anything left to take. */
static bool holder_is_gone(pid_t pid)
{
	for (int tries = 0; tries < 50 && kill(pid, 0) == 0; tries++)
		(void)nanosleep(&(struct timespec){ 0, (long)NS_PER_MS }, NULL);
	return kill(pid, 0) < 0;
}

static int slot_fill(struct yard *yard, struct slot *slot, struct err *err)
{
	struct holder holder = yard->early;
	int failed = EPIPE, result = 0;

	yard->early = (struct holder){ 0, -1 };
	if (holder.pid == 0)
		result = holder_begin(yard, yard->t.user_ns && slot->user_ns < 0, &holder, err);
	if (result == 0 && read(holder.ready, &failed, sizeof(failed)) != (ssize_t)sizeof(failed))
		failed = EPIPE;
	if (result == 0 && failed != 0)
		result = err_errno(err, failed, "make a network and a user namespace for a cell");
	fd_close(&holder.ready);
	if (result == 0)
		result = slot_take(yard, slot, holder.pid, err);
	if (result < 0 && holder.pid > 0 && holder_is_gone(holder.pid))
		(void)err_set(err, ERR_LOST, "a process that makes the cell was killed from outside");
	if (holder.pid > 0)
		(void)kill(holder.pid, SIGKILL); /* reaped by the kernel: we ignore SIGCHLD */
	return result;
}

static struct slot *slot_get(struct yard *yard, uint32_t index, bool fresh_net, struct err *err)
{
	if (index >= yard->slot_count) {
		size_t count = index + 16;
		yard->slots = xrealloc(yard->slots, count, sizeof(*yard->slots));
		for (size_t i = yard->slot_count; i < count; i++)
			yard->slots[i] = (struct slot){ -1, -1 };
		yard->slot_count = count;
	}
	struct slot *slot = &yard->slots[index];
	if (fresh_net)
		fd_close(&slot->net_ns);
	if (slot->net_ns < 0 && slot_fill(yard, slot, err) < 0)
		return NULL;
	return slot;
}

static int stall_enter(const int *tasks, size_t count, int net_ns, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (write(tasks[i], "0", 1) != 1)
			return err_errno(err, errno, "enter the cell's cgroup");
	if (!weakened("net-namespace") && setns(net_ns, CLONE_NEWNET) < 0)
		return err_errno(err, errno, "enter the cell's network");
	return 0;
}

/* fds: control, the stall's socket, then the cgroup's. */
static int make_stall(struct yard *yard, uint32_t index, uint32_t flags, const int *fds, size_t count,
	struct err *err)
{
	struct slot *slot = slot_get(yard, index, (flags & MAKE_FRESH_NET) != 0, err);
	bool v2 = (flags & MAKE_CGROUP_V2) != 0;

	if (slot == NULL)
		return -1;
	struct birth birth = { .t = &yard->t, .outer_uid = yard->outer_uid, .outer_gid = yard->outer_gid,
		.control = fds[0], .user_ns = slot->user_ns,
		.filter = &yard->counted, .filter_plain = &yard->plain, .slot = index, .covers = yard->covers,
		.sockets = -1, .ruleset = -1 };
	struct clone_args args = { .exit_signal = SIGCHLD };
	if (v2 && count > 2) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)fds[2];
	}
	pid_t self = getpid(), pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		die_with(self);
		if (stall_enter(fds + 2, v2 ? 0 : count - 2, slot->net_ns, err) < 0) {
			yard_fail(yard, index, err);
			_exit(125);
		}
		for (size_t i = 2; i < count; i++)
			(void)close(fds[i]);
		stall_main(&birth, yard->socket, fds[1], yard->host_proc);
	}
	return pid < 0 ? err_errno(err, errno, "start a slot's process") : 0;
}

static void yard_serve(struct yard *yard)
{
	char message[64];
	int fds[WIRE_MAX_FDS];

	for (;;) {
		size_t count = 0;
		ssize_t len = wire_recv(yard->socket, message, sizeof(message), fds, WIRE_MAX_FDS, &count, 0);
		struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
		struct err err;
		if (len <= 0)
			return; /* the supervisor is gone; its cells see the same */
		uint32_t kind = wire_get_u32(&reader), index = wire_get_u32(&reader), flags = wire_get_u32(&reader);
		if (kind != MSG_MAKE || reader.bad || count < 2 || index > 1u << 20)
			(void)err_set(&err, EPROTO, "the yard got a damaged message");
		else if (make_stall(yard, index, flags, fds, count, &err) == 0)
			err.code = 0;
		if (err.code != 0)
			yard_fail(yard, index, &err);
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
	}
}

static int filters_build(struct yard *yard, struct err *err)
{
	size_t len;
	unsigned want = yard->t.pin_cpus > 0 ? FILTER_PINNED : 0;

	want |= yard->t.watch_memory > 0 ? FILTER_NO_HIDDEN_MEMORY : 0;
	for (size_t i = 0; i < yard->t.mount_count; i++)
		want |= yard->t.mounts[i].writable ? FILTER_NO_SET_ID : 0;
	if (filter_build(want | FILTER_COUNTED, &yard->counted.filter, &len, err) < 0)
		return -1;
	yard->counted.len = (unsigned short)len;
	if (filter_build(want, &yard->plain.filter, &len, err) < 0)
		return -1;
	yard->plain.len = (unsigned short)len;
	return 0;
}

static int yard_build(struct yard *yard, int memfd, enum hide_how *ret_hide, struct err *err)
{
	if (wire_from_memfd(memfd, MAX_JOB_BYTES, &yard->bytes, err) < 0)
		return -1;
	struct wire_reader reader = { .data = yard->bytes.data, .len = yard->bytes.len };
	yard->outer_uid = wire_get_u32(&reader);
	yard->outer_gid = wire_get_u32(&reader);
	if (template_decode(&yard->t, &reader, err) < 0)
		return -1;
	if (holder_begin(yard, yard->t.user_ns, &yard->early, err) < 0)
		return -1;
	if (unshare(CLONE_NEWNS | (weakened("uts-namespace") ? 0 : CLONE_NEWUTS)) < 0)
		return err_errno(err, errno, "make a mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(err, errno, "part from the host's mounts");
	if (!weakened("uts-namespace") && (sethostname("cell", 4) < 0 || setdomainname("(none)", 6) < 0))
		return err_errno(err, errno, "name the cell");
	yard->host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (yard->host_proc < 0)
		return err_errno(err, errno, "open /proc");
	struct err may_fail; /* if the machine runs out of memory, cells go first */
	(void)!fs_write_value(yard->host_proc, "self/oom_score_adj", "500", &may_fail);
	if (!yard->t.user_ns) /* else entering the cell's fills it again */
		seal_bounding_set();
	yard->covers = root_covers(yard->host_proc);
	if (filters_build(yard, err) < 0)
		return -1;
	return root_build(&yard->t, yard->outer_uid, yard->outer_gid, yard->host_proc, ret_hide, err);
}

void yard_main(int socket, int memfd)
{
	struct yard yard = { .socket = socket, .host_proc = -1, .early = { 0, -1 } };
	own(buf_done) struct buf message = { 0 };
	enum hide_how hide = HIDE_NOTHING;
	struct err err;

	(void)prctl(PR_SET_NAME, "hotcell-yard", 0, 0, 0);
	(void)umask(022);
	if (yard_build(&yard, memfd, &hide, &err) < 0) {
		if (yard.early.pid > 0)
			(void)kill(yard.early.pid, SIGKILL);
		yard_fail(&yard, NO_SLOT, &err);
		_exit(125);
	}
	(void)close(memfd);
	wire_put_u32(&message, MSG_READY);
	wire_put_u32(&message, hide);
	(void)!wire_send(socket, message.data, message.len, NULL, 0);
	yard_serve(&yard);
	if (yard.early.pid > 0)
		(void)kill(yard.early.pid, SIGKILL);
	wait_for_children();
	_exit(0);
}

/* ---- the zygote ---- */

static int map_self(uid_t uid, gid_t gid, struct err *err)
{
	char map[64];

	if (fs_write_value(AT_FDCWD, "/proc/self/setgroups", "deny", err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)uid);
	if (fs_write_value(AT_FDCWD, "/proc/self/uid_map", map, err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "0 %u 1", (unsigned)gid);
	return fs_write_value(AT_FDCWD, "/proc/self/gid_map", map, err);
}

/* The supervisor's arguments and environment may hold secrets and tell of the host; a cell can read
 * /proc/1/cmdline, which is ours. The kernel tells where they lie: fields 48 to 51 of stat. */
static void forget_arguments(void)
{
	own(buf_done) struct buf stat = { 0 };
	struct err err;
	unsigned long at[4] = { 0 };
	extern char **environ;
	static char *empty[] = { NULL };

	for (char **entry = environ; entry != NULL && *entry != NULL; entry++)
		explicit_bzero(*entry, strlen(*entry));
	environ = empty;
	if (fs_read_small(AT_FDCWD, "/proc/self/stat", 4096, &stat, &err) < 0)
		return;
	const char *field = strrchr(buf_text(&stat), ')'); /* the name before it may hold anything */
	for (int i = 2; field != NULL && i < 52; i++) {
		field = strchr(field + 1, ' ');
		if (field != NULL && i + 1 >= 48 && i + 1 < 52)
			at[i + 1 - 48] = strtoul(field, NULL, 10);
	}
	for (int i = 0; i < 4; i += 2)
		if (at[i] != 0 && at[i] < at[i + 1])
			explicit_bzero((void *)at[i], at[i + 1] - at[i]);
	if (at[0] != 0 && at[1] - at[0] >= sizeof("hotcell"))
		memcpy((void *)at[0], "hotcell", sizeof("hotcell"));
}

/* What the supervisor shares with others (a database's index, say) is no memory of a cell's init. */
static void forget_shared(void)
{
	own(buf_done) struct buf maps = { 0 };
	struct err err;

	if (fs_read_small(AT_FDCWD, "/proc/self/maps", 1 << 20, &maps, &err) < 0)
		return;
	for (char *line = maps.data, *next; line != NULL && *line != '\0'; line = next) {
		unsigned long from = 0, to = 0;
		char rights[5] = "";
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 && rights[3] == 's')
			(void)munmap((void *)from, to - from);
	}
}

/* fds: the yard's socket, its template. `err`: why there can be no yard, if its code is not 0. */
static void zygote_serve(int socket, const int fds[2], const struct err *err)
{
	struct err failed = *err;
	pid_t self = getpid(), pid = failed.code == 0 ? fork() : -1;

	if (pid == 0) {
		die_with(self);
		(void)close(socket);
		yard_main(fds[0], fds[1]);
	}
	if (failed.code == 0 && pid < 0)
		(void)err_errno(&failed, errno, "start the process that makes cells");
	if (failed.code != 0)
		message_send_failed(fds[0], NO_SLOT, &failed);
}

static _Noreturn void zygote_main(int socket, const struct cgroup_host *cgroup, bool nest)
{
	struct err err;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int fds[4];

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* no cell of a dead yard goes unreaped */
	if (!weakened("own-session"))
		(void)setsid(); /* Ctrl-C is the supervisor's to answer */
	/* a real-time supervisor's cells are not: they could starve the machine, and no cgroup takes them */
	(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
	(void)prctl(PR_SET_NAME, "hotcell-zygote", 0, 0, 0);
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL); /* what our ancestors ignore is no business of a cell's */
	struct sigaction ignore = { .sa_handler = SIG_IGN, .sa_flags = SA_NOCLDWAIT };
	(void)sigaction(SIGCHLD, &ignore, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (dup3(socket, 3, O_CLOEXEC) == 3)
		socket = 3;
	/* left out in part: our own other end would keep us from ever seeing the supervisor's */
	(void)close_range(4, weakened("clean-descriptors") ? 99 : ~0U, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 3; i++)
		(void)dup2(null, i);
	forget_arguments();
	forget_shared();
	err.code = 0;
	if (nest && unshare(CLONE_NEWUSER) < 0)
		(void)err_errno(&err, errno, "make a user namespace: 'hotcell doctor' says what this machine lacks");
	else if (nest && map_self(uid, gid, &err) < 0)
		(void)err_wrap(&err, "be root in a user namespace");
	for (;;) {
		char message[MAX_MESSAGE];
		size_t count = 0;
		ssize_t len = wire_recv(socket, message, sizeof(message), fds, 4, &count, 0);
		struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
		if (len <= 0)
			break;
		if (wire_get_u32(&reader) == MSG_TEMPLATE && count == 2)
			zygote_serve(socket, fds, &err);
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
	}
	/* the supervisor is gone: its cells are dying now, and then their cgroups can be removed */
	wait_for_children();
	for (uint64_t until = clock_now() + SWEEP_NS; clock_now() < until;) {
		struct timespec pause = { 0, 20 * (long)NS_PER_MS };
		if (cgroup_sweep(cgroup))
			break;
		(void)nanosleep(&pause, NULL);
	}
	_exit(0);
}

int zygote_start(const struct cgroup_host *cgroup, bool nest, pid_t *ret_pid, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	pid_t pid = fork();
	if (pid == 0)
		zygote_main(pair[1], cgroup, nest);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_errno(err, errno, "start the zygote");
	}
	*ret_pid = pid;
	return pair[0];
}
