/* One run after another in the same slot: each looks for whatever an earlier one may have left, and then leaves
 * something itself, for the next. Prints "found WHAT" for each thing that is not as in a new cell, and exits 1. */
#include "review/program/hostile.h"

#include <dirent.h>
#include <linux/fs.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

static const struct {
	const char *path;
	mode_t mode;
} places[] = { { "/tmp", 01777 }, { "/dev/shm", 01777 }, { "/workspace", 0755 } };

static unsigned found;

static void check(bool clean, const char *where, const char *what)
{
	if (clean)
		return;
	printf("found %s %s\n", where, what);
	fflush(stdout);
	found++;
}

static int entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = -2;

	while (dir != NULL && readdir(dir) != NULL)
		count++;
	if (dir != NULL)
		closedir(dir);
	return count;
}

static bool same(struct statx_timestamp a, struct statx_timestamp b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static void look_at_place(const char *path, mode_t mode)
{
	struct statx st;
	struct statfs fs;
	char names[256];
	int flags = 0, fd = open(path, O_RDONLY | O_DIRECTORY);

	/* the times first: looking may change them */
	check(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &st) == 0, path, "gone");
	check(same(st.stx_mtime, st.stx_ctime), path, "times");
	check(st.stx_mtime.tv_sec > 1600000000, path, "time");
	check((st.stx_mode & 07777) == mode && st.stx_uid == getuid() && st.stx_gid == getgid(), path, "mode");
	check((st.stx_attributes & (STATX_ATTR_NODUMP | STATX_ATTR_APPEND | STATX_ATTR_IMMUTABLE)) == 0, path, "attributes");
	check(ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_NODUMP_FL) == 0, path, "flags");
	for (ssize_t at = 0, len = flistxattr(fd, names, sizeof(names)); at < len; at += (ssize_t)strlen(names + at) + 1)
		check(strncmp(names + at, "security.", 9) == 0, path, names + at);
	check(statfs(path, &fs) == 0 && fs.f_bfree == fs.f_blocks && fs.f_ffree + 1 >= fs.f_files, path, "space");
	check(entries(path) == 0, path, "files");
	close(fd);
}

static void look_at_ipc(void)
{
	struct shm_info shm;
	struct seminfo sem;
	struct msginfo msg;

	check(shmctl(0, SHM_INFO, (struct shmid_ds *)&shm) >= 0 && shm.used_ids == 0, "ipc", "shm");
	check(semctl(0, 0, SEM_INFO, &sem) >= 0 && sem.semusz == 0, "ipc", "sem");
	check(msgctl(0, MSG_INFO, (struct msqid_ds *)&msg) >= 0 && msg.msgpool == 0, "ipc", "msg");
}

/* Looking is asking, and makes the namespace a used one: only soon after a queue was left. */
static void look_at_queues(void)
{
	check(mq_open("/trace", O_RDONLY) == (mqd_t)-1 && errno == ENOENT, "ipc", "queue");
}

static void look_at_the_rest(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0trace" };
	struct sockaddr_in port = { .sin_family = AF_INET, .sin_port = htons(7777) };
	int local = socket(AF_UNIX, SOCK_STREAM, 0), net = socket(AF_INET, SOCK_STREAM, 0);
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int processes = 0;

	check(bind(local, (struct sockaddr *)&name, sizeof(sa_family_t) + 6) == 0, "socket", "name");
	check(bind(net, (struct sockaddr *)&port, sizeof(port)) == 0, "socket", "port");
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		processes += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
	check(dir == NULL || processes == 2, "process", "alive");
	if (dir != NULL)
		closedir(dir);
	close(local);
	close(net);
}

static void touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	if (fd >= 0)
		close(fd);
}

static void set_acl(const char *path)
{
	/* version 2; user::rwx user:1:r-x group::r-x mask::rwx other::r-x */
	static const uint16_t words[] = { 2, 0, 1, 7, 0xffff, 0xffff, 2, 5, 1, 0, 4, 5, 0xffff, 0xffff, 0x10, 7, 0xffff,
		0xffff, 0x20, 5, 0xffff, 0xffff };

	(void)!setxattr(path, "system.posix_acl_access", words, sizeof(words), 0);
}

static void leave_ipc(unsigned which)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t queue;

	switch (which) {
	case 0: (void)!shmget(7, 4096, IPC_CREAT | 0666); break;
	case 1: (void)!semget(7, 1, IPC_CREAT | 0666); break;
	case 2: (void)!msgget(7, IPC_CREAT | 0666); break;
	default:
		queue = mq_open("/trace", O_CREAT | O_RDWR, 0666, &attr);
		if (queue != (mqd_t)-1)
			(void)!mq_send(queue, "trace", 5, 0);
	}
}

static void leave_sockets(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0trace" };
	struct sockaddr_in port = { .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr = { htonl(0x7f000001) } };
	int local = socket(AF_UNIX, SOCK_STREAM, 0), server = socket(AF_INET, SOCK_STREAM, 0),
	    client = socket(AF_INET, SOCK_STREAM, 0);

	(void)!bind(local, (struct sockaddr *)&name, sizeof(sa_family_t) + 6);
	(void)!bind(server, (struct sockaddr *)&port, sizeof(port));
	(void)!listen(server, 1);
	(void)!connect(client, (struct sockaddr *)&port, sizeof(port));
	close(accept(server, NULL, NULL)); /* one end in TIME_WAIT */
	close(client);
	if (fork() == 0)
		sleep_forever();
}

static void leave_in_place(unsigned which, const char *path)
{
	struct timespec old[2] = { { 1, 1 }, { 2, 2 } };
	char file[64];
	int fd, flags = FS_NODUMP_FL;

	snprintf(file, sizeof(file), "%s/trace", path);
	switch (which) {
	case 0: touch(file); break;
	case 1:
		touch(file);
		unlink(file);
		break;
	case 2: (void)!chmod(path, 0700); break;
	case 3: (void)!utimensat(AT_FDCWD, path, old, 0); break;
	case 4: (void)!setxattr(path, "user.trace", "trace", 5, 0); break;
	case 5: set_acl(path); break;
	case 6:
		fd = open(path, O_RDONLY);
		(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
		close(fd);
		break;
	case 7: (void)!mkdir(file, 0); break;
	default:
		fd = open(path, O_TMPFILE | O_RDWR, 0600);
		(void)!write(fd, "trace", 5);
	}
}

#define IN_PLACE 9u
#define IPC 4u
#define KINDS (IN_PLACE * COUNT(places) + IPC + 2)

/* run NUMBER: looks, and leaves the trace of that number */
static int attack_run(int argc, char **argv)
{
	unsigned number = argc == 1 ? (unsigned)atoi(argv[0]) % KINDS : 0;

	for (size_t i = 0; i < COUNT(places); i++)
		look_at_place(places[i].path, places[i].mode);
	look_at_ipc();
	if (number + 2 >= KINDS || number < 4) /* the queue is the last of ipc */
		look_at_queues();
	look_at_the_rest();
	if (number < IN_PLACE * COUNT(places))
		leave_in_place(number % IN_PLACE, places[number / IN_PLACE].path);
	else if (number < IN_PLACE * COUNT(places) + IPC)
		leave_ipc(number - IN_PLACE * COUNT(places));
	else if (number == IN_PLACE * COUNT(places) + IPC)
		leave_sockets();
	return found > 0;
}

const struct attack traces_attacks[] = {
	{ "run", attack_run },
	{ 0 },
};
