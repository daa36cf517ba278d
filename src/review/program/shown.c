/* What a cell is shown: hidden names, sockets, attributes and flags of mounts, /proc, places that others might share. */
#include "review/program/hostile.h"

#include <ftw.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/xattr.h>

static int visit(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (kind == FTW_F)
		read_path(path);
	return 0;
}

/* hidden FOLDER: read everything in it, then again with its folders renamed, and by what lies below it */
static int attack_hidden(int argc, char **argv)
{
	char from[4096], to[4200];

	if (argc != 1)
		return 99;
	nftw(argv[0], visit, 32, FTW_PHYS);
	for (int i = 0; i < 8; i++) {
		snprintf(from, sizeof(from), "%s/folder-%d", argv[0], i);
		snprintf(to, sizeof(to), "%s.moved", from);
		got_text(from, rename(from, to) == 0 ? "renamed" : strerrorname_np(errno));
		snprintf(to, sizeof(to), "%s/.env", from);
		unlink(to);
		read_path(to);
		got(to, umount2(to, MNT_DETACH));
	}
	snprintf(from, sizeof(from), "%s/.env", argv[0]);
	snprintf(to, sizeof(to), "%s/innocent", argv[0]);
	(void)!link(from, to);
	(void)!syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
	nftw(argv[0], visit, 32, FTW_PHYS);
	return 0;
}

/* sockets PATH: to speak to who listens there */
static int attack_sockets(int argc, char **argv)
{
	static const struct {
		const char *what;
		int kind;
	} kinds[] = { { "stream", SOCK_STREAM }, { "dgram", SOCK_DGRAM }, { "seqpacket", SOCK_SEQPACKET } };
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	if (argc != 1)
		return 99;
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", argv[0]);
	for (size_t i = 0; i < COUNT(kinds); i++)
		got(kinds[i].what, connect(socket(AF_UNIX, kinds[i].kind, 0), (struct sockaddr *)&name, sizeof(name)));
	return 0;
}

static int control_seen, control_answered;

/* As a client would ask for the list of cells. */
static int control_ask(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	const uint32_t list[] = { 1, 0, 0 };
	struct timeval wait = { .tv_sec = 2 };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char answer[4096];

	(void)kind, (void)ftw;
	if (!S_ISSOCK(st->st_mode))
		return 0;
	control_seen++;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0 && send(fd, list, sizeof(list), MSG_NOSIGNAL) > 0 &&
		recv(fd, answer, sizeof(answer), 0) > 0)
		control_answered++;
	close(fd);
	return 0;
}

/* control FOLDER: to find control sockets below it, and to ask who listens there for the list of cells */
static int attack_control(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	for (int i = 0; i < 20 && control_seen == 0; i++) {
		nftw(argv[0], control_ask, 32, FTW_PHYS);
		usleep(20000);
	}
	got_text("seen", control_seen > 0 ? "ok" : "none");
	got_text("answered", control_answered > 0 ? "ok" : "nobody");
	return 0;
}

/* state FOLDER: to leave a state folder there for whoever comes next, as hotcell makes them */
static int attack_state(int argc, char **argv)
{
	if (argc != 1 || chdir(argv[0]) < 0 || mkdir(".hotcell", 0700) < 0 || mkdir(".hotcell/findings", 0700) < 0)
		return 99;
	got_text("left", "all");
	return 0;
}

static void set_flag(const char *what, int fd, int flag)
{
	int flags = 0;

	ioctl(fd, FS_IOC_GETFLAGS, &flags);
	flags |= flag;
	got(what, ioctl(fd, FS_IOC_SETFLAGS, &flags));
	flags &= ~flag;
	if (gentle()) /* nobody could remove it */
		ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/* attributes FOLDER: files in it that the host could not remove, or that it would trust */
static int attack_attributes(int argc, char **argv)
{
	struct fsxattr project = { .fsx_projid = 7, .fsx_xflags = FS_XFLAG_PROJINHERIT };
	/* not security.selinux: where no policy is loaded, every owner may set it */
	static const char *const names[] = { "trusted.overlay.opaque", "security.ima", "security.evm", "security.SMACK64",
		"security.apparmor", "trusted.md5sum" };

	if (argc != 1 || chdir(argv[0]) < 0)
		return 99;
	int fd = open("attributes", O_RDWR | O_CREAT, 0644);
	set_flag("immutable", fd, FS_IMMUTABLE_FL);
	set_flag("append-only", fd, FS_APPEND_FL);
	got("project", ioctl(fd, FS_IOC_FSSETXATTR, &project));
	for (size_t i = 0; i < COUNT(names); i++)
		got(names[i], fsetxattr(fd, names[i], "y", 1, 0));
	got("chown-root", fchown(fd, 0, 0));
	got("chown-other", fchown(fd, 12345, 12345));
	got("device", mknod("device", S_IFCHR | 0666, 0x0103));
	return 0;
}

/* flags FILE: for every mount, what it should forbid; then waits for FILE */
static int attack_flags(int argc, char **argv)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char line[8192], point[4096], what[4200];
	struct statvfs fs;

	if (argc != 1)
		return 99;
	while (mounts && fgets(line, sizeof(line), mounts)) {
		if (sscanf(line, "%*d %*d %*s %*s %4095s", point) != 1 || statvfs(point, &fs) < 0)
			continue;
		snprintf(what, sizeof(what), "suid:%s", point);
		got_text(what, fs.f_flag & ST_NOSUID ? "nosuid" : "ok");
	}
	wait_for(argv[0]);
	return 0;
}

/* knobs FILE: writes to our own entries of /proc, which are ours; then waits for FILE */
static int attack_knobs(int argc, char **argv)
{
	static const char *const knobs[][2] = { { "/proc/self/oom_score_adj", "777" }, { "/proc/self/coredump_filter", "0x7f" },
		{ "/proc/self/comm", "renamed" }, { "/proc/self/clear_refs", "1" }, { "/proc/self/autogroup", "0" },
		{ "/proc/self/attr/current", "x" }, { "/proc/self/setgroups", "deny" }, { "/proc/self/uid_map", "0 0 1" },
		{ "/proc/self/timerslack_ns", "1" } };

	if (argc != 1)
		return 99;
	for (size_t i = 0; i < COUNT(knobs); i++) {
		int fd = open(knobs[i][0], O_WRONLY);
		got(knobs[i][0], fd < 0 ? -1 : write(fd, knobs[i][1], strlen(knobs[i][1])));
	}
	wait_for(argv[0]);
	return 0;
}

/* fake FOLDER: whether something else stands where the kernel's own file systems must be */
static int attack_fake(int argc, char **argv)
{
	static const char *const procs[] = { "/proc", "/proc/self", "/proc/self/attr", "/proc/sys", "/proc/1" };
	struct statfs fs;
	struct stat st;
	char what[64];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(procs); i++) {
		snprintf(what, sizeof(what), "fake:%s", procs[i]);
		got_text(what, statfs(procs[i], &fs) < 0 ? strerrorname_np(errno) : fs.f_type == PROC_SUPER_MAGIC ? "procfs" : "ok");
	}
	got_text("fake:/dev/null", stat("/dev/null", &st) == 0 && (!S_ISCHR(st.st_mode) || st.st_rdev != 0x0103) ? "ok" : "device");
	got_text("fake:/dev/shm", statfs("/dev/shm", &fs) == 0 && fs.f_type != TMPFS_MAGIC ? "ok" : "tmpfs");
	return 0;
}

/* told: what /proc tells of the machine; and again when everything that can be lifted was */
static int attack_told(int argc, char **argv)
{
	static const char *const files[] = { "/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/key-users", "/proc/timer_list",
		"/proc/sched_debug", "/proc/kpagecount" };
	char what[128], data[64];

	(void)argc, (void)argv;
	for (int again = 0; again < 2; again++) {
		for (size_t i = 0; i < COUNT(files); i++) {
			ssize_t len = read(open(files[i], O_RDONLY | O_NONBLOCK), data, sizeof(data));
			snprintf(what, sizeof(what), "%s:%s", again ? "uncovered" : "told", files[i]);
			got_text(what, len > 0 ? "ok" : len == 0 ? "nothing" : strerrorname_np(errno));
			if (!again || !mounts_are_ours())
				continue;
			got(files[i], umount2(files[i], MNT_DETACH));
		}
	}
	return 0;
}

/* leases FILE GO: what makes others wait who open FILE, or reaches its inode, by a descriptor that only reads; then waits for GO */
static int attack_leases(int argc, char **argv)
{
	static const struct {
		const char *what;
		unsigned long command, value;
	} ways[] = { { "read-lease", F_SETLEASE, F_RDLCK }, { "write-lease", F_SETLEASE, F_WRLCK },
		{ "read-lease-upper", F_SETLEASE | 1UL << 32, F_RDLCK }, { "write-lease-upper", F_SETLEASE | 1UL << 32, F_WRLCK },
		{ "delegation", 1040, 0 }, { "delegation-upper", 1040 | 1UL << 32, 0 }, { "hint", 1036, 0 } };
	static const struct {
		const char *what;
		unsigned long request;
	} requests[] = { { "key", FS_IOC_ADD_ENCRYPTION_KEY }, { "key-upper", FS_IOC_ADD_ENCRYPTION_KEY | 1UL << 32 },
		{ "lock", FS_IOC_REMOVE_ENCRYPTION_KEY }, { "all-of-a-disk", 0x9408 /* BTRFS_IOC_SYNC */ } };
	_Alignas(uint64_t) char nothing[256] = { 0 }; /* to read, of a delegation; none, of a hint or a key */

	if (argc != 2)
		return 99;
	int fd = open(argv[0], O_RDONLY);
	signal(SIGIO, SIG_IGN);
	for (size_t i = 0; i < COUNT(ways); i++) {
		bool lease = (uint32_t)ways[i].command == F_SETLEASE;
		got_refused(ways[i].what, syscall(SYS_fcntl, fd, ways[i].command, lease ? (void *)ways[i].value : (void *)nothing), EPERM);
	}
	int folder = open("/usr", O_RDONLY | O_DIRECTORY);
	got_refused("notice", fcntl(folder, F_NOTIFY, DN_MODIFY | DN_CREATE | DN_MULTISHOT), EPERM);
	for (size_t i = 0; i < COUNT(requests); i++)
		got_refused(requests[i].what, syscall(SYS_ioctl, fd, requests[i].request, nothing), EPERM);
	wait_for(argv[1]);
	return 0;
}

/* leave NAME FILE: files of that name where cells might meet; then waits for FILE */
static int attack_leave(int argc, char **argv)
{
	static const char *const folders[] = { "/tmp", "/dev/shm", "/workspace", "/var/tmp", "/run" };
	char path[4096];

	if (argc != 2)
		return 99;
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], argv[0]);
		got_text(path, open(path, O_WRONLY | O_CREAT | O_EXCL, 0666) < 0 ? strerrorname_np(errno) : "made");
	}
	wait_for(argv[1]);
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", folders[i], argv[0]);
		unlink(path);
	}
	return 0;
}

const struct attack shown_attacks[] = {
	{ "hidden", attack_hidden }, { "sockets", attack_sockets }, { "attributes", attack_attributes }, { "flags", attack_flags },
	{ "knobs", attack_knobs },   { "fake", attack_fake },	    { "told", attack_told },		 { "leave", attack_leave },
	{ "leases", attack_leases },
	{ "control", attack_control }, { "state", attack_state },
	{ 0 },
};
