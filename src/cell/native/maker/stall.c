/* A stall: one slot's own process. Theory of operation.
 *
 * It is in its slot's cgroup and network, so that what it clones is born there: entering v1 cgroups costs 0.1 ms
 * that no cell pays. The first cell is born at once and makes by itself all that is its own. When a second one
 * is asked for, the stall settles: it takes a mount, an ipc and a cgroup namespace of its own, sets the limits and
 * mounts scratch space, and from then on each cell has a copy of that: a tmpfs takes as long to make and to
 * remove as a process.
 *
 * Nothing that one cell leaves is seen by the next:
 *
 *	scratch	is used again only if it is as it was mounted: no file in it, and not even its own folder
 *		touched. The stall looks as soon as the cell is gone; else there is a new one.
 *	ipc	only if no program asked for an object in it. The filter tells init, init the supervisor, and
 *		that asks for a new one.
 *	network	only if no socket was left in it; else there is a new stall. A cell with listeners always has a
 *		new one: what waits to be accepted by them is that cell's.
 *
 * The pid namespace, /proc and the mount namespace are always the cell's own. */
#include "cell/native/native.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/weaken.h"

#define INIT_PATIENCE_MS 500 /* when the supervisor is gone, init ends at once by itself */

/* All that can be seen of a folder which nobody has put anything into. */
struct look {
	uint64_t mode, owner, links, size, attributes;
	struct statx_timestamp read, written, changed, born;
	uint64_t blocks, blocks_free, inodes_free;
	ssize_t names_len; /* of extended attributes: their values cannot change without the rest */
	char names[256];
};

struct place {
	int fd; /* -1: not ours, each cell mounts its own */
	struct look fresh;
};

struct stall {
	struct birth *birth;
	int yard, host_proc;
	bool settled, own_mounts;
	struct place places[SCRATCH_COUNT];
};

/* ---- scratch space that is used again ---- */

static bool look_at(int fd, struct look *ret)
{
	struct statx st;
	struct statfs fs;

	memset(ret, 0, sizeof(*ret)); /* they are compared as a whole */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 || fstatfs(fd, &fs) < 0)
		return false;
	ret->mode = st.stx_mode;
	ret->owner = (uint64_t)st.stx_uid << 32 | st.stx_gid;
	ret->links = st.stx_nlink;
	ret->size = st.stx_size;
	ret->attributes = st.stx_attributes;
	const struct statx_timestamp *const times[] = { &st.stx_atime, &st.stx_mtime, &st.stx_ctime, &st.stx_btime };
	struct statx_timestamp *const kept[] = { &ret->read, &ret->written, &ret->changed, &ret->born };
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		kept[i]->tv_sec = times[i]->tv_sec;
		kept[i]->tv_nsec = times[i]->tv_nsec;
	}
	ret->blocks = (uint64_t)fs.f_blocks;
	ret->blocks_free = (uint64_t)fs.f_bfree;
	ret->inodes_free = (uint64_t)fs.f_ffree;
	ret->names_len = flistxattr(fd, ret->names, sizeof(ret->names));
	return ret->names_len >= 0 || errno == EOPNOTSUPP;
}

static bool place_is_fresh(const struct place *place)
{
	struct look now;

	return place->fd >= 0 && look_at(place->fd, &now) && memcmp(&now, &place->fresh, sizeof(now)) == 0;
}

/* Mounts it anew. If that cannot be, each cell goes on mounting its own, over whatever is there. */
static void place_make(struct stall *stall, enum scratch which)
{
	struct place *place = &stall->places[which];
	const char *path = root_scratch_paths[which];
	struct err none;

	if (place->fd >= 0) {
		fd_close(&place->fd);
		(void)umount2(path, MNT_DETACH);
	}
	stall->birth->scratch &= ~(1u << which);
	if (root_scratch(stall->birth, which, &none) < 0)
		return;
	place->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place->fd < 0 || !look_at(place->fd, &place->fresh)) {
		fd_close(&place->fd);
		return;
	}
	stall->birth->scratch |= 1u << which;
}

/* Landlock knows a folder by its inode: the rules hold for as long as all of them are the same. */
static void refresh_scratch(struct stall *stall)
{
	const struct template *t = stall->birth->t;
	bool changed = false;
	struct err none;

	for (enum scratch which = 0; which < SCRATCH_COUNT; which++) {
		if (place_is_fresh(&stall->places[which]))
			continue;
		place_make(stall, which);
		changed = true;
	}
	if (!t->landlock || (!changed && stall->birth->ruleset >= 0))
		return;
	fd_close(&stall->birth->ruleset);
	const unsigned all = (1u << SCRATCH_COUNT) - 1;
	if (stall->birth->scratch == all)
		stall->birth->ruleset = landlock_rules(t, &none);
}

/* ---- making cells ---- */

static void settle_mounts(struct stall *stall)
{
	struct birth *birth = stall->birth;

	stall->own_mounts = unshare(CLONE_NEWNS) == 0;
	if (!stall->own_mounts || birth->proc_view < 0)
		return;
	int own = openat(stall->host_proc, "self/ns/mnt", O_RDONLY | O_CLOEXEC);
	stall->own_mounts = own >= 0; /* else what is mounted in ours is no cell's */
	if (own < 0)
		return;
	fd_close(&birth->mounts);
	birth->mounts = own;
}

static void settle(struct stall *stall)
{
	struct birth *birth = stall->birth;
	struct err none;

	stall->settled = true;
	settle_mounts(stall);
	birth->limited = (weakened("cgroup-namespace") || unshare(CLONE_NEWCGROUP) == 0) && seal_limits(birth->t, &none) == 0;
	birth->ipc = weakened("ipc-namespace") || unshare(CLONE_NEWIPC) == 0;
	birth->sockets = openat(stall->host_proc, "self/net/sockstat", O_RDONLY | O_CLOEXEC);
	if (stall->own_mounts)
		refresh_scratch(stall);
}

static int tell_made(const struct stall *stall, pid_t pid, const int *fds, size_t count, struct err *err)
{
	/* not from the heap: each page of it that we touch is copied, since the last cell's init has it too */
	const uint32_t message[] = { htole32(MSG_MADE), htole32(stall->birth->slot), htole32((uint32_t)pid) };

	if (wire_send(stall->yard, message, sizeof(message), fds, count) < 0)
		return users_send_failed("hand over a new cell", err);
	return 0;
}

_Static_assert(1 + CELL_MAX_LISTENERS <= WIRE_MAX_FDS, "a cell's listeners do not fit into a message");

/* Clones one cell's init, which is born into the stall's cgroup and network. *ret_pidfd: -1 if there is none. */
static int make_cell(const struct stall *stall, int *ret_pidfd, struct err *err)
{
	const struct template *t = stall->birth->t;
	int fds[1 + CELL_MAX_LISTENERS] = { -1 }; /* its pidfd, its listeners */
	struct clone_args args = { .flags = CLONE_NEWPID | CLONE_PIDFD | (stall->birth->proc_view < 0 ? CLONE_NEWNS : 0),
		.pidfd = (uint64_t)(uintptr_t)&fds[0], .exit_signal = SIGCHLD };
	size_t count = 1;
	int failed = 0;

	*ret_pidfd = -1;
	if (!stall->birth->ipc && !weakened("ipc-namespace"))
		args.flags |= CLONE_NEWIPC;
	if (weakened("pid-namespace") || weakened("kill-all"))
		args.flags &= ~(uint64_t)CLONE_NEWPID;
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		init_main(stall->birth);
	if (pid < 0)
		return err_errno(err, errno, "make the cell's namespaces");
	if (t->listener_count > 0) { /* not before the clone: no process of the cell shall have one */
		failed = listeners_open(t->listeners, t->listener_count, fds + 1, err);
		count += failed == 0 ? t->listener_count : 0;
	}
	if (failed == 0)
		failed = tell_made(stall, pid, fds, count, err);
	if (failed < 0)
		(void)syscall(SYS_pidfd_send_signal, fds[0], SIGKILL, NULL, 0);
	for (size_t i = 1; i < count; i++)
		(void)close(fds[i]);
	*ret_pidfd = fds[0];
	return failed;
}

/* An init that hangs, and so does not see that the supervisor is gone, is ended by us. */
static void wait_for_cell(int pidfd, int socket)
{
	struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN }, { .fd = socket } }; /* of the socket only its end */

	while (pidfd >= 0 && poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	if (pidfd >= 0 && fds[0].revents == 0 && poll(fds, 1, INIT_PATIENCE_MS) <= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) /* SIGCHLD is ignored: until there is no child left */
		;
}

/* Waits until a cell is asked for; false when the supervisor needs this slot no more. */
static bool await(struct stall *stall, int socket)
{
	struct birth *birth = stall->birth;
	char message[64];
	size_t count = 0;
	ssize_t len = wire_recv(socket, message, sizeof(message), &birth->control, 1, &count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	if (len <= 0 || wire_get_u32(&reader) != MSG_MAKE || count != 1)
		return false;
	uint32_t flags = wire_get_u32(&reader);
	if (!stall->settled)
		settle(stall);
	else if (birth->ipc && (flags & MAKE_FRESH_IPC) != 0)
		birth->ipc = unshare(CLONE_NEWIPC) == 0;
	return !reader.bad;
}

void stall_main(struct birth *birth, int yard, int socket, int host_proc)
{
	struct stall stall = { .birth = birth, .yard = yard, .host_proc = host_proc };
	struct err err;
	int pidfd;

	(void)prctl(PR_SET_NAME, "hotcell-stall", 0, 0, 0);
	for (enum scratch which = 0; which < SCRATCH_COUNT; which++)
		stall.places[which].fd = -1;
	do { /* the first one's control socket is in birth already */
		if (make_cell(&stall, &pidfd, &err) < 0)
			message_send_failed(yard, birth->slot, &err);
		(void)close(birth->control);
		wait_for_cell(pidfd, socket);
		fd_close(&pidfd);
		if (stall.own_mounts)
			refresh_scratch(&stall); /* at once: what is in it takes memory */
	} while (await(&stall, socket));
	_exit(0);
}
