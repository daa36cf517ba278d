/* The zygote and its yards. Theory of operation.
 *
 * The zygote is forked from the supervisor before that has read anything secret or grown: it forgets
 * the supervisor's descriptors, environment and arguments, and (for an ordinary user) makes one user
 * namespace in which it has the rights to mount and to make networks. On MSG_TEMPLATE it forks a
 * yard. When the supervisor dies its socket ends; then the zygote waits for the cells to be gone
 * (they end by the same token), removes the cgroups and exits.
 *
 * A yard builds one template's root in a mount namespace of its own, moves into it (an ordinary user's: into a copy of that without the
 * host's /proc, which was lent to the first one), and from then on forks a stall for each slot on MSG_MAKE (stall.c). The net and user namespaces of a slot are made once
 * and used again for each cell of that slot in turn. None of these processes ever has a second thread.
 *
 * The first stall is forked before the root is built, and takes the first MSG_MAKE by itself: it enters its
 * cgroup and network on another CPU meanwhile, and then waits for the root. */
#include "cell/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/magic.h>
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
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
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

/* ---- where to work ---- */

/* What is forked beside other work is queued behind it, or takes its place for a while, and a CPU that falls idle is slow to fetch
 * it: 1 ms of the first cell's 6. So it is sent to another CPU, and is free again when it is told something after that: no cell is
 * bound to where its makers were. Without effect where there is one CPU, or more than a set holds. */

static void cpus_look(cpu_set_t *ret)
{
	if (sched_getaffinity(0, sizeof(*ret), ret) < 0)
		CPU_ZERO(ret);
}

static void work_elsewhere(const cpu_set_t *all, pid_t pid)
{
	cpu_set_t cpus = *all;
	int here = sched_getcpu();

	if (here < 0)
		return;
	CPU_CLR((unsigned)here, &cpus);
	if (CPU_COUNT(&cpus) > 0)
		(void)sched_setaffinity(pid, sizeof(cpus), &cpus);
}

static void work_anywhere(const cpu_set_t *all)
{
	if (CPU_COUNT(all) > 0)
		(void)sched_setaffinity(0, sizeof(*all), all);
}

/* ---- the yard ---- */

struct slot {
	int net_ns, user_ns; /* -1: not made yet */
	int collect_ns; /* as in struct birth */
};

/* What the zygote is, and thereby all that it forks. */
static struct {
	bool nested; /* in a user namespace of its own */
	bool own; /* which has other numbers than the user's */
	bool tried_maps, maps; /* file systems made there can be shown with other owners */
	bool pending; /* it is not entered yet, since it is being mapped */
	struct users_mapping mapping;
} zygote;

/* Its group outside. */
static uint32_t outer_group(uint32_t outer)
{
	return zygote.nested ? 0 : outer;
}

struct yard {
	int socket, host_proc;
	int proc_view, mounts; /* as in struct birth */
	struct template t;
	struct buf bytes; /* what t's strings point into */
	/* the user and group outside of the first slot, and of its mounts; 0: our own, and so for all */
	uint32_t outer;
	int collect_ns; /* the first slot's */
	uint32_t covers;
	struct slot *slots;
	size_t slot_count;
	bool prepared; /* what its stalls inherit: covers, filters */
	cpu_set_t cpus; /* that we may be on; empty: nobody knows */
	int first_cpu; /* see struct birth */
	struct sock_fprog counted, plain;
	struct call_set calls;
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

/* ---- a slot's network and user namespace ---- */

/* A connection that nobody answers tries again after twice the time, up to two minutes, and keeps what it has to send even
 * when the cell is gone. Not shorter: who left bytes for a slow reader is given up after some such times. Kernels before
 * 6.15 do not have it. */
static void network_hasten(const struct yard *yard)
{
	struct err none;

	(void)!fs_write_value(yard->host_proc, "sys/net/ipv4/tcp_rto_max_ms", "15000", &none);
}

/* By itself, which everybody may for one number, his own, if he forgoes setgroups. */
static int holder_map(const struct yard *yard, uint32_t outer, struct err *err)
{
	char map[64];

	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* a change of user made our files in /proc root's */
	if (fs_write_value(yard->host_proc, "self/setgroups", "deny", err) < 0)
		return -1;
	if (zygote.nested && outer != 0)
		return 0; /* another number: who takes the namespace has the right to map it */
	(void)snprintf(map, sizeof(map), "%u %u 1", yard->t.uid, outer);
	if (fs_write_value(yard->host_proc, "self/uid_map", map, err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1", yard->t.gid, outer);
	return fs_write_value(yard->host_proc, "self/gid_map", map, err);
}

static int holder_become(const struct yard *yard, pid_t parent, uint32_t outer, bool user_ns, struct err *err)
{
	die_with(parent);
	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(err, errno, "make a network for a cell");
	(void)loopback_up(); /* a cell without loopback is poorer, not weaker */
	network_hasten(yard);
	if (!user_ns)
		return 0;
	/* kernel quotas (inotify, timers, ...) count against the namespace's owner: not real root. An
	 * ordinary user's cells have one owner, so that what all of them take is capped */
	if (outer != 0 && !zygote.nested &&
		(setgroups(0, NULL) < 0 || setresgid(outer, outer, outer) < 0 ||
			setresuid(outer, outer, outer) < 0))
		return err_errno(err, errno, "become a cell's user");
	die_with(parent); /* after the change of user, which undoes it */
	users_mapped();
	if (unshare(CLONE_NEWUSER) < 0)
		return err_errno(err, errno, "make a user namespace for a cell");
	if (holder_map(yard, outer, err) < 0)
		return -1;
	if (zygote.nested)
		users_cap_inotify(yard->host_proc, 8);
	return 0;
}

/* Makes the namespaces of a new slot, sends them, and goes when they were taken. */
static _Noreturn void holder_main(const struct yard *yard, pid_t parent, int socket, uint32_t outer, bool user_ns)
{
	static const char *const names[] = { "self/ns/net", "self/ns/user" };
	const size_t count = user_ns ? 2 : 1;
	struct buf message = { 0 };
	struct err err = { 0 };
	int fds[2] = { -1, -1 };
	int failed = holder_become(yard, parent, outer, user_ns, &err);

	for (size_t i = 0; i < count && failed == 0; i++) {
		fds[i] = openat(yard->host_proc, names[i], O_RDONLY | O_CLOEXEC);
		failed = fds[i] < 0 ? err_errno(&err, errno, "open a new cell's '%s'", names[i]) : 0;
	}
	message_put_err(&message, &err);
	wire_put_u32(&message, (uint32_t)getpid());
	bool mapped = !zygote.nested || outer == 0 || !user_ns;
	char word;
	if (wire_send(socket, message.data, message.len, fds, failed == 0 ? count : 0) >= 0)
		while (!mapped && recv(socket, &word, 1, 0) < 0 && errno == EINTR)
			; /* nothing is said: the other end is closed once it is mapped */
	_exit(0);
}

/* Making a network takes the kernel longest of all. Returns where the namespaces come. */
static int holder_begin(const struct yard *yard, uint32_t outer, bool user_ns, struct err *err)
{
	pid_t self = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(pair[0]); /* whose end it waits for */
		holder_main(yard, self, pair[1], outer, user_ns);
	}
	int cause = errno;
	(void)close(pair[1]);
	if (pid > 0) {
		work_elsewhere(&yard->cpus, pid);
		return pair[0];
	}
	(void)close(pair[0]);
	return err_errno(err, cause, "start a process for new namespaces");
}

/* Takes the socket. outer: whose user namespace it is, if it makes one. */
static int slot_fill(
	const struct yard *yard, struct slot *slot, int socket, uint32_t outer, struct err *err)
{
	own(fd_closep) int holder = socket;
	int fds[2] = { -1, -1 };
	size_t count = 0;
	char message[512];
	ssize_t len = wire_recv(holder, message, sizeof(message), fds, 2, &count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	struct err said;

	if (len <= 0)
		return err_set(err, ERR_LOST, "a process that makes the cell was killed from outside");
	message_get_err(&reader, &said);
	if (count == 0) {
		*err = said;
		return -1;
	}
	slot->net_ns = fds[0];
	if (count == 2)
		slot->user_ns = fds[1];
	pid_t pid = (pid_t)wire_get_u32(&reader);
	if (count != 2 || !zygote.nested || outer == 0)
		return 0;
	return users_map(yard->host_proc, pid, yard->t.uid, yard->t.gid, outer, outer_group(outer), err);
}

/* Where the cell's user is not who collects what it made. */
static int slot_collect(const struct yard *yard, struct slot *slot, uint32_t outer, struct err *err)
{
	if (!zygote.nested || outer == 0 || !yard->t.want_workspace || slot->collect_ns >= 0)
		return 0;
	slot->collect_ns = users_space(yard->host_proc, outer, 0, 0, 0, err);
	return slot->collect_ns < 0 ? -1 : 0;
}

struct make { /* a MSG_MAKE */
	uint32_t index, flags, outer;
	int fds[WIRE_MAX_FDS]; /* control, the stall's socket, then the cgroup's */
	size_t count;
};

static struct slot *slot_get(struct yard *yard, const struct make *make, struct err *err)
{
	if (make->index >= yard->slot_count) {
		size_t count = make->index + 16;
		yard->slots = xrealloc(yard->slots, count, sizeof(*yard->slots));
		for (size_t i = yard->slot_count; i < count; i++)
			yard->slots[i] = (struct slot){ -1, -1, -1 };
		yard->slot_count = count;
	}
	struct slot *slot = &yard->slots[make->index];
	if ((make->flags & MAKE_FRESH_NET) != 0)
		fd_close(&slot->net_ns);
	if (slot->net_ns >= 0)
		return slot;
	int holder = holder_begin(yard, make->outer, yard->t.user_ns && slot->user_ns < 0, err);
	if (holder < 0 || slot_fill(yard, slot, holder, make->outer, err) < 0 ||
		slot_collect(yard, slot, make->outer, err) < 0) {
		fd_close(&slot->net_ns);
		fd_close(&slot->user_ns);
		return NULL;
	}
	return slot;
}

/* ---- stalls ---- */

/* False when the supervisor is gone; its cells see the same. */
static bool make_take(const struct yard *yard, struct make *ret, struct err *err)
{
	char message[64];

	*ret = (struct make){ .index = NO_SLOT };
	ssize_t len = wire_recv(yard->socket, message, sizeof(message), ret->fds, WIRE_MAX_FDS, &ret->count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	uint32_t kind = wire_get_u32(&reader);
	ret->index = wire_get_u32(&reader);
	ret->flags = wire_get_u32(&reader);
	ret->outer = wire_get_u32(&reader);
	if (yard->outer == 0)
		ret->outer = 0; /* it could not be had */
	if (len > 0 && (kind != MSG_MAKE || reader.bad || ret->count < 2 || ret->index > 1u << 20))
		(void)err_set(err, EPROTO, "the yard got a damaged message");
	return len > 0;
}

static void make_done(struct make *make)
{
	for (size_t i = 0; i < make->count; i++)
		(void)close(make->fds[i]);
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

/* Until the root is built; then it is ours too, and nothing is left of the one we were born in. With word of it come
 * the yard's mounts, its view of /proc, and where /proc may be mounted. */
static int first_wait(struct yard *yard, int go, struct err *err)
{
	int fds[3] = { -1, -1, -1 };
	char word;
	size_t count = 0;

	ssize_t got = wire_recv(go, &word, 1, fds, 3, &count, 0);
	if (got == 0)
		_exit(0); /* the yard has told why */
	work_anywhere(&yard->cpus);
	if (got < 0 || count < 2)
		return err_set(err, ERR_LIMIT, "no descriptor is left for the cell's root: see 'ulimit -n'");
	int failed = setns(fds[0], CLONE_NEWNS) < 0 ? err_errno(err, errno, "enter the cell's root") : 0;
	if (fds[2] >= 0)
		yard->mounts = fd_take(&fds[0]);
	yard->proc_view = fds[2];
	fd_close(&fds[0]);
	(void)close(go);
	fd_close(&yard->host_proc);
	yard->host_proc = fds[1];
	return failed;
}

/* The rest of this process's life. `go`: where it waits for the root; -1: that is built. */
static _Noreturn void stall_become(struct yard *yard, const struct slot *slot, struct make *make, int go)
{
	struct birth birth = { .t = &yard->t, .outer_uid = make->outer,
		.outer_gid = outer_group(make->outer),
		.control = make->fds[0], .user_ns = slot->user_ns, .collect_ns = slot->collect_ns,
		.filter = &yard->counted, .filter_plain = &yard->plain, .calls = &yard->calls, .slot = make->index, .covers = yard->covers,
		.sockets = -1, .ruleset = -1, .proc_view = -1, .mounts = -1, .first_cpu = yard->first_cpu };
	bool v2 = (make->flags & MAKE_CGROUP_V2) != 0;
	struct err err;

	if (stall_enter(make->fds + 2, v2 ? 0 : make->count - 2, slot->net_ns, &err) < 0 ||
		(go >= 0 && first_wait(yard, go, &err) < 0)) {
		yard_fail(yard, make->index, &err);
		_exit(125);
	}
	birth.proc_view = yard->proc_view;
	birth.mounts = yard->mounts;
	for (size_t i = 2; i < make->count; i++)
		(void)close(make->fds[i]);
	stall_main(&birth, yard->socket, make->fds[1], yard->host_proc);
}

/* Forks; a v2 cgroup is one to be born in. */
static pid_t stall_fork(const struct make *make, uint64_t flags, struct err *err)
{
	struct clone_args args = { .flags = flags, .exit_signal = (flags & CLONE_PARENT) != 0 ? 0 : SIGCHLD };

	if ((make->flags & MAKE_CGROUP_V2) != 0 && make->count > 2) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)make->fds[2];
	}
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 ? err_errno(err, errno, "start a slot's process") : pid;
}

static int make_stall(struct yard *yard, struct make *make, struct err *err)
{
	const struct slot *slot = slot_get(yard, make, err);
	pid_t self = getpid(), pid = slot == NULL ? -1 : stall_fork(make, 0, err);

	if (pid == 0) {
		die_with(self);
		stall_become(yard, slot, make, -1);
	}
	return pid < 0 ? -1 : 0;
}

static int filters_build(struct yard *yard, struct err *err)
{
	size_t len;
	unsigned want = yard->t.pin_cpus > 0 ? FILTER_PINNED : 0;

	want |= yard->t.watch_memory > 0 ? FILTER_NO_HIDDEN_MEMORY : 0;
	want |= filter_want_of(yard->t.mounts, yard->t.mount_count);
	calls_set(&yard->t, &yard->calls);
	if (yard->t.effects && getrandom(&yard->calls.mark, sizeof(yard->calls.mark), 0) != sizeof(yard->calls.mark))
		return err_errno(err, errno, "draw a random number");
	if (filter_build_set(want | FILTER_COUNTED, &yard->calls, &yard->counted.filter, &len, err) < 0)
		return -1;
	yard->counted.len = (unsigned short)len;
	struct call_set plain = yard->calls; /* where nobody is asked, nothing is observed; and it judges what is */
	memset(plain.observed, 0, sizeof(plain.observed));
	memset(plain.effects, 0, sizeof(plain.effects));
	if (filter_build_set(want, &plain, &yard->plain.filter, &len, err) < 0)
		return -1;
	yard->plain.len = (unsigned short)len;
	return 0;
}

/* A uts namespace, and the cell's name in it. */
static int take_name(struct err *err)
{
	if (weakened("uts-namespace"))
		return 0;
	if (unshare(CLONE_NEWUTS) < 0 || sethostname("cell", 4) < 0 || setdomainname("(none)", 6) < 0)
		return err_errno(err, errno, "name the cell");
	return 0;
}

/* What every stall of the yard inherits. */
static int yard_prepare(struct yard *yard, struct err *err)
{
	struct err may_fail;

	/* if the machine runs out of memory, cells go first */
	(void)!fs_write_value(yard->host_proc, "self/oom_score_adj", "500", &may_fail);
	if (!yard->t.user_ns) /* else entering the cell's fills it again */
		seal_bounding_set();
	yard->covers = root_covers(yard->host_proc);
	yard->prepared = take_name(err) == 0 && filters_build(yard, err) == 0;
	return yard->prepared ? 0 : -1;
}

static void yard_serve(struct yard *yard)
{
	for (;;) {
		struct make make;
		struct err err = { 0 };
		if (!make_take(yard, &make, &err))
			return;
		if (err.code != 0 || (!yard->prepared && yard_prepare(yard, &err) < 0) || make_stall(yard, &make, &err) < 0)
			yard_fail(yard, make.index, &err);
		make_done(&make);
	}
}

static int proc_open(struct yard *yard, struct err *err)
{
	yard->host_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return yard->host_proc < 0 ? err_errno(err, errno, "open /proc") : 0;
}

static int views_take(struct yard *yard, const int *views, size_t count, struct err *err)
{
	if (count != yard->t.space_count)
		return err_set(err, EPROTO, "the template's message is damaged");
	for (size_t i = 0; i < count; i++)
		yard->t.spaces[i].view = views[i];
	return 0;
}

/* The root has mounts of them now: as long as these are open nothing of them is ever given back. */
static void views_close(struct yard *yard)
{
	for (size_t i = 0; i < yard->t.space_count; i++)
		fd_close(&yard->t.spaces[i].view);
}

/* In a child of the yard, beside it. What fails is told once it is known for which slot. */
static _Noreturn void first_main(struct yard *yard, pid_t parent, int holder, int go)
{
	struct slot slot = { -1, -1, yard->collect_ns };
	struct make make;
	struct err err = { 0 }, failed = { 0 };

	die_with(parent);
	views_close(yard);
	(void)!yard_prepare(yard, &failed);
	users_mapped(); /* what is taken from the socket is nobody else's */
	if (!make_take(yard, &make, &err))
		_exit(0);
	if (err.code == 0)
		err = failed;
	pid_t pid = err.code != 0 || slot_fill(yard, &slot, holder, yard->outer, &err) < 0 ? -1 : 0;
	if (pid == 0 && (make.flags & MAKE_CGROUP_V2) != 0) /* in our place: beside us, not below */
		pid = stall_fork(&make, CLONE_PARENT, &err);
	if (pid == 0) {
		die_with(parent);
		stall_become(yard, &slot, &make, go);
	}
	if (pid < 0)
		yard_fail(yard, make.index, &err);
	_exit(0);
}

/* Returns where the first stall waits for word of the root; -1: there is none, and the yard makes it when asked. Begun
 * before the yard has mounts of its own: while those change their root, whoever shares them counts as in a chroot, and
 * may make no user namespace. Its holder is begun before it: what takes longest starts soonest. */
static int first_begin(struct yard *yard)
{
	own(fd_closep) int holder = -1;
	struct err err; /* where there is no holder there is no first stall: the yard says why when asked for one */
	pid_t self = getpid();
	int go[2];

	holder = proc_open(yard, &err) < 0 ? -1 : holder_begin(yard, yard->outer, yard->t.user_ns, &err);
	if (holder < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(go[0]);
		first_main(yard, self, holder, go[1]);
	}
	(void)close(go[1]);
	if (pid > 0)
		work_elsewhere(&yard->cpus, pid);
	else
		fd_close(&go[0]);
	return go[0];
}

static int mounts_open(const struct yard *yard)
{
	return openat(yard->host_proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

/* Ends when the first stall is at work, so that what it is there for is not taken from it by who would begin anew. */
static void first_go(const struct yard *yard, int first)
{
	own(fd_closep) int mounts = mounts_open(yard);
	const int fds[3] = { mounts, yard->host_proc, yard->proc_view };
	char word;

	if (first >= 0 && wire_send(first, "g", 1, fds, mounts < 0 ? 0 : yard->proc_view < 0 ? 2 : 3) >= 0)
		while (recv(first, &word, 1, 0) < 0 && errno == EINTR)
			; /* it says nothing: it goes, or closes its end */
}

/* Cells shall not have what was lent to the root, but must see it when they mount their own. To take it from each again would be to wait
 * for all CPUs each time: so there are two mount namespaces, with it and without. */
static int yard_return_proc(struct yard *yard, struct err *err)
{
	yard->proc_view = mounts_open(yard);
	if (yard->proc_view < 0 || unshare(CLONE_NEWNS) < 0)
		return err_errno(err, errno, "make mounts without the host's /proc");
	struct statfs fs;
	(void)umount2("/proc", MNT_DETACH); /* it cannot be told from its errors whether there was one */
	if (statfs("/proc", &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC)
		return err_set(err, EPERM, "the host's /proc cannot be taken from the cells' mounts");
	yard->mounts = mounts_open(yard);
	return yard->mounts < 0 ? err_errno(err, errno, "open the mounts of the cells") : 0;
}

/* Root, too, may lack the right to raise limits: then a cell's programs have half of what init has. */
static void init_gets_more_files(struct template *t)
{
	uint64_t limit;

	if (!users_raise_files(t->open_files, &limit))
		t->open_files = users_open_files(t->open_files, false, limit, limit);
}

/* Whether the cells have users of their own, or not, though they were to: then they have as few open
 * files as others that share one. */
static void yard_choose_user(struct yard *yard, uint64_t files_soft, uint64_t files_hard)
{
	struct slot first = { -1, -1, -1 };
	struct err none;

	if (!zygote.nested || yard->outer == 0)
		return;
	bool can = zygote.own && yard->t.user_ns && (!yard->t.want_workspace || zygote.maps) &&
		proc_open(yard, &none) == 0 && slot_collect(yard, &first, yard->outer, &none) == 0;
	fd_close(&yard->host_proc);
	yard->collect_ns = first.collect_ns;
	if (can)
		return;
	yard->outer = 0;
	yard->t.open_files = users_open_files(yard->t.open_files, false, files_soft, files_hard);
}

static int yard_build(struct yard *yard, int memfd, const int *views, size_t view_count, int *ret_first, enum hide_how *ret_hide,
	struct buf *ret_forbidden, struct err *err)
{
	int got = wire_from_memfd(memfd, MAX_JOB_BYTES, &yard->bytes, err);
	(void)close(memfd);
	if (got < 0)
		return -1;
	struct wire_reader reader = { .data = yard->bytes.data, .len = yard->bytes.len };
	yard->outer = wire_get_u32(&reader);
	uint64_t files_soft = wire_get_u64(&reader), files_hard = wire_get_u64(&reader);
	if (template_decode(&yard->t, &reader, err) < 0 || views_take(yard, views, view_count, err) < 0)
		return -1;
	yard_choose_user(yard, files_soft, files_hard);
	if (yard->outer != 0)
		init_gets_more_files(&yard->t);
	*ret_first = first_begin(yard);
	fd_close(&yard->host_proc);
	if (unshare(CLONE_NEWNS) < 0)
		return err_errno(err, errno, "make a mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(err, errno, "part from the host's mounts");
	if (proc_open(yard, err) < 0 ||
		root_build(&yard->t, yard->outer, outer_group(yard->outer), zygote.nested,
			yard->host_proc, ret_hide, ret_forbidden, err) < 0)
		return -1;
	views_close(yard);
	return root_proc_lent(zygote.nested) && !weakened("private-proc") ? yard_return_proc(yard, err) : 0;
}

void yard_main(int socket, int memfd, const int *views, size_t view_count)
{
	struct yard yard = { .socket = socket, .host_proc = -1, .proc_view = -1, .mounts = -1,
		.collect_ns = -1 };
	own(fd_closep) int first = -1;
	own(buf_done) struct buf message = { 0 }, forbidden = { 0 };
	own(fd_closep) int covered = -1;
	enum hide_how hide = HIDE_NOTHING;
	struct err err;

	(void)prctl(PR_SET_NAME, "hotcell-yard", 0, 0, 0);
	(void)umask(022);
	cpus_look(&yard.cpus);
	yard.first_cpu = sched_getcpu() < 0 ? 0 : sched_getcpu() % CPU_SETSIZE;
	if (yard_build(&yard, memfd, views, view_count, &first, &hide, &forbidden, &err) < 0 ||
		(forbidden.len > 0 && (covered = wire_to_memfd(&forbidden, &err)) < 0)) {
		users_mapped(); /* else another yard takes our place, and speaks */
		yard_fail(&yard, NO_SLOT, &err);
		_exit(125);
	}
	wire_put_u32(&message, MSG_READY);
	wire_put_u32(&message, hide);
	(void)!wire_send(socket, message.data, message.len, &covered, covered >= 0); /* before any cell is told of */
	fd_close(&covered);
	first_go(&yard, first);
	fd_close(&first);
	yard_serve(&yard);
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

static void cap_inotify(void)
{
	own(fd_closep) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	users_cap_inotify(proc, 2);
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

/* fds: the yard's socket, its template, views of its spaces. `err`: why there can be no yard, if its code is not 0. */
static void zygote_serve(int socket, const int *fds, size_t count, const struct err *err)
{
	struct err failed = *err;
	pid_t self = getpid(), pid = failed.code == 0 ? fork() : -1;

	if (pid == 0) {
		die_with(self);
		(void)close(socket);
		yard_main(fds[0], fds[1], fds + 2, count - 2);
	}
	if (failed.code == 0 && pid < 0)
		(void)err_errno(&failed, errno, "start the process that makes cells");
	if (failed.code != 0)
		message_send_failed(fds[0], NO_SLOT, &failed);
}

/* To be root in a user namespace, with other numbers beside that if there are such. */
static int zygote_nest(struct err *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	struct err none;
	own(fd_closep) int ns = -1;

	zygote.pending = false;
	if (zygote.mapping.ids.count > 0)
		ns = users_mapping_end(&zygote.mapping, &none);
	zygote.own = ns >= 0 && setns(ns, CLONE_NEWUSER) == 0;
	if (!zygote.own && unshare(CLONE_NEWUSER) < 0)
		return err_errno(err, errno,
			"make a user namespace: 'hotcell doctor' says what this machine lacks");
	if (!zygote.own && map_self(uid, gid, err) < 0)
		return err_wrap(err, "be root in a user namespace");
	cap_inotify();
	return 0;
}

/* Once, and not before somebody needs it. */
static void zygote_try_maps(void)
{
	if (!zygote.own || zygote.tried_maps)
		return;
	zygote.tried_maps = true;
	zygote.maps = users_tmpfs_maps();
}

/* A first yard, in the namespace that is being mapped: there is much that it can do meanwhile. It
 * takes and says nothing before that is done. Returns whether there is one; if not, or if it was in
 * vain, another is forked. */
static bool zygote_serve_early(int socket, const int *fds, size_t count, struct err *err)
{
	pid_t self = getpid(), pid = fork();

	if (pid == 0) {
		die_with(self);
		(void)close(socket);
		if (users_mapping_enter(&zygote.mapping, err) < 0) {
			message_send_failed(fds[0], NO_SLOT, err);
			_exit(125);
		}
		die_with(self); /* in case that undid it */
		zygote.own = true;
		cap_inotify();
		yard_main(fds[0], fds[1], fds + 2, count - 2);
	}
	own(fd_closep) int pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	int nested = zygote_nest(err);
	if (nested == 0 && zygote.own)
		return pid > 0;
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return false;
}

/* maps: the yard goes by zygote.maps. */
static void zygote_template(int socket, const int *fds, size_t count, bool maps, struct err *err)
{
	if (zygote.pending && !maps && zygote_serve_early(socket, fds, count, err))
		return;
	if (zygote.pending)
		(void)!zygote_nest(err);
	if (maps)
		zygote_try_maps();
	zygote_serve(socket, fds, count, err);
}

/* A space, in a child: who makes it has mounts of its own. */
static void zygote_space(int socket, struct wire_reader *reader, int fd, struct err *err)
{
	uint64_t bytes = wire_get_u64(reader), files = wire_get_u64(reader);

	if (zygote.pending)
		(void)!zygote_nest(err);
	struct err failed = *err;
	pid_t self = getpid(), pid = failed.code == 0 ? fork() : -1;

	if (pid == 0) {
		die_with(self);
		(void)close(socket);
		space_main(fd, bytes, files);
	}
	if (failed.code == 0 && pid < 0)
		(void)err_errno(&failed, errno, "start the process that makes a file system");
	if (failed.code != 0)
		message_send_failed(fd, NO_SLOT, &failed);
}

/* Looked at here, beside the first yard: the supervisor is busier then. */
static void zygote_tell_about(int socket, bool nest)
{
	own(buf_done) struct buf message = { 0 };

	wire_put_u32(&message, MSG_ABOUT);
	wire_put_u32(&message, nest || native_user_ns_works()); /* who nests has tried before */
	(void)!wire_send(socket, message.data, message.len, NULL, 0);
}

static _Noreturn void zygote_main(
	int socket, bool nest, const struct users_ids *own, const cpu_set_t *cpus)
{
	struct cgroup_host *cgroup = NULL;
	bool told = false;
	struct err err;
	int fds[2 + CELL_MAX_SPACES];

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
	zygote.nested = nest;
	if (nest)
		users_halve_limits();
	if (nest && own->count > 0)
		users_mapping_begin(own, &zygote.mapping); /* it takes longest */
	forget_arguments();
	forget_shared();
	err.code = 0;
	zygote.pending = nest;
	if (nest && !zygote.mapping.asked)
		(void)!zygote_nest(&err);
	for (;;) {
		static char message[MAX_MESSAGE]; /* on the stack each of its pages would be touched, and so copied */
		size_t count = 0;
		ssize_t len = wire_recv(socket, message, sizeof(message), fds, ARRAY_LEN(fds), &count, 0);
		struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
		if (len <= 0)
			break;
		if (!told)
			work_anywhere(cpus);
		told = true;
		uint32_t kind = wire_get_u32(&reader);
		if (kind == MSG_TEMPLATE && count >= 2)
			zygote_template(socket, fds, count, wire_get_u32(&reader) != 0, &err);
		else if (kind == MSG_SPACE && count == 1)
			zygote_space(socket, &reader, fds[0], &err);
		else if (kind == MSG_CGROUPS && cgroup == NULL)
			cgroup = cgroup_decode(&reader);
		else if (kind == MSG_ABOUT)
			zygote_tell_about(socket, nest);
		for (size_t i = 0; i < count; i++)
			(void)close(fds[i]);
	}
	if (zygote.pending)
		(void)!zygote_nest(&err); /* what was begun is ended, and is a child no more */
	/* the supervisor is gone: its cells are dying now, and then their cgroups can be removed */
	wait_for_children();
	if (cgroup != NULL)
		cgroup_sweep_dead(cgroup);
	for (uint64_t until = clock_now() + SWEEP_NS; cgroup != NULL && clock_now() < until;) {
		struct timespec pause = { 0, 20 * (long)NS_PER_MS };
		if (cgroup_sweep(cgroup))
			break;
		(void)nanosleep(&pause, NULL);
	}
	_exit(0);
}

int zygote_start(bool nest, const struct users_ids *own, pid_t *ret_pid, struct err *err)
{
	int pair[2];
	cpu_set_t cpus;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	cpus_look(&cpus);
	pid_t pid = fork();
	if (pid == 0)
		zygote_main(pair[1], nest, own, &cpus);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		return err_errno(err, errno, "start the zygote");
	}
	work_elsewhere(&cpus, pid);
	*ret_pid = pid;
	return pair[0];
}
