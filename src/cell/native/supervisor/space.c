/* Spaces: file systems with a size that several cells are shown at once.
 *
 * A child of the zygote's, which has the rights to mount that a cell's makers have, mounts a tmpfs in a mount namespace of its own,
 * makes it the root there, lets go of everything else, and sends two descriptors to the supervisor: of the namespace, and of the top
 * folder. The supervisor reads and writes through the second. The first goes to each yard whose cells are to be shown a folder of it:
 * the yard enters the namespace for as long as it takes to copy the mount. Nothing is mounted anywhere else, and nothing is on a disk:
 * when the supervisor is gone, however that ended, its cells go, and with them the last that holds it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell/native/supervisor/pool.h"
#include "cell/native/maker/root.h"

#define PATIENCE_MS 10000
#define POINT "/tmp" /* covered in our own mount namespace only */

/* ---- in the zygote's child ---- */

static int space_mount(uint64_t bytes, uint64_t files, struct err *err)
{
	char options[96];

	(void)snprintf(options, sizeof(options), "mode=0755,size=%llu,nr_inodes=%llu", (unsigned long long)bytes,
		(unsigned long long)files);
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(err, errno, "make mounts for a file system with a size");
	if (mount("hotcell", POINT, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOATIME, options) < 0)
		return err_errno(err, errno, "mount a file system with a size");
	return 0;
}

static int space_make(uint64_t bytes, uint64_t files, int ret[2], struct err *err)
{
	if (space_mount(bytes, files, err) < 0)
		return -1;
	ret[0] = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (ret[0] < 0)
		return err_errno(err, errno, "open the mounts of a file system with a size");
	if (chdir(POINT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return err_errno(err, errno, "let go of the host's root");
	ret[1] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret[1] < 0 ? err_errno(err, errno, "open a file system with a size") : 0;
}

void space_main(int socket, uint64_t bytes, uint64_t files)
{
	own(buf_done) struct buf message = { 0 };
	struct err err = { 0 };
	int fds[2] = { -1, -1 };

	if (space_make(bytes, files, fds, &err) < 0)
		message_send_failed(socket, NO_SLOT, &err);
	wire_put_u32(&message, MSG_SPACE);
	if (err.code == 0)
		(void)!wire_send(socket, message.data, message.len, fds, 2);
	_exit(0);
}

/* ---- in a yard ---- */

int space_tree(const struct cell_space *space, const char *name, uint64_t attributes, struct err *err)
{
	own(fd_closep) int ours = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	own(freep) char *path = xfmt("/%s", name);

	if (ours < 0 || setns(space->view, CLONE_NEWNS) < 0)
		return err_errno(err, errno, "enter the mounts of a file system with a size");
	int tree = tree_open(AT_FDCWD, path, attributes, err);
	if (setns(ours, CLONE_NEWNS) < 0) {
		fd_close(&tree);
		return err_errno(err, errno, "come back from the mounts of a file system with a size");
	}
	return tree;
}

/* ---- in the supervisor ---- */

static int space_receive(int socket, struct cell_space *ret, struct err *err)
{
	struct pollfd said = { .fd = socket, .events = POLLIN };
	char message[512];
	int fds[2] = { -1, -1 };
	size_t count = 0;

	if (poll(&said, 1, PATIENCE_MS) != 1)
		return err_set(err, ERR_LOST, "the process that makes cells does not answer");
	ssize_t len = wire_recv(socket, message, sizeof(message), fds, 2, &count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };
	uint32_t kind = wire_get_u32(&reader);

	ret->view = fds[0];
	ret->top = fds[1];
	if (kind == MSG_SPACE && count == 2)
		return 0;
	if (kind != MSG_FAILED)
		return err_set(err, ERR_LOST, "a process that makes a file system with a size was killed from outside");
	(void)wire_get_u32(&reader);
	message_get_err(&reader, err);
	return -1;
}

int native_space_open(struct cell_backend_pool *pool, uint64_t bytes, uint64_t files, struct cell_space *ret, struct err *err)
{
	own(buf_done) struct buf message = { 0 };
	own(fd_closep) int ours = -1, theirs = -1;
	int pair[2];

	if (zygote_ensure(pool, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	ours = pair[0];
	theirs = pair[1];
	wire_put_u32(&message, MSG_SPACE);
	wire_put_u64(&message, bytes);
	wire_put_u64(&message, files);
	if (wire_send(pool->zygote, message.data, message.len, &theirs, 1) < 0)
		return err_errno(err, errno, "reach the zygote");
	fd_close(&theirs);
	return space_receive(ours, ret, err);
}

void native_space_close(struct cell_backend_pool *pool, const struct cell_space *space)
{
	kinds_leave(pool, space);
	kinds_tidy(pool);
}
