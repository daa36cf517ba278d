/* Kernel features, each tried in a child. A trial makes what a cell makes, in the way a cell makes
 * it, and looks whether it holds; namespaces, mounts and rules end with the child. Nothing it does
 * can be seen outside: mounts are detached or in a mount namespace of its own. */
#include "cell/native/probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIAL_SECONDS 3 /* then it is stuck, and killed */

/* ---- running one ---- */

struct outcome { /* in memory shared with the child */
	bool told;
	int result;
	char saw[SAW_MAX];
	struct err err;
};

static int enter_user_ns(unsigned inside, struct err *err)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER) < 0)
		return err_errno(err, errno, "make a user namespace");
	if (fs_write_value(AT_FDCWD, "/proc/self/setgroups", "deny", err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1", inside, uid);
	if (fs_write_value(AT_FDCWD, "/proc/self/uid_map", map, err) < 0)
		return -1;
	(void)snprintf(map, sizeof(map), "%u %u 1", inside, gid);
	return fs_write_value(AT_FDCWD, "/proc/self/gid_map", map, err);
}

static int enter_namespaces(int namespaces, struct err *err)
{
	if (namespaces == 0)
		return 0;
	if (!native_is_root() && !native_user_ns_works())
		return err_set(err, ERR_MISSING,
			"an ordinary user makes it in a user namespace, and there is none");
	if (!native_is_root() && enter_user_ns(0, err) < 0)
		return -1;
	if (unshare(namespaces) < 0)
		return err_errno(err, errno, "make the namespaces");
	/* mounts made here must not travel to the host's tree */
	if ((namespaces & CLONE_NEWNS) != 0 &&
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(err, errno, "part from the host's mounts");
	return 0;
}

static _Noreturn void child_try(const struct trial *trial, struct outcome *outcome)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)alarm(TRIAL_SECONDS);
	outcome->result = trial->fn(outcome->saw, &outcome->err);
	outcome->told = true;
	_exit(0);
}

static _Noreturn void child_main(const struct trial *trial, struct outcome *outcome)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(TRIAL_SECONDS);
	outcome->result = enter_namespaces(trial->namespaces, &outcome->err);
	if (outcome->result < 0) {
		outcome->told = true;
		_exit(0);
	}
	if ((trial->namespaces & CLONE_NEWPID) == 0)
		child_try(trial, outcome);
	pid_t first = fork(); /* the one who sees the new pid namespace, as its process 1 */
	if (first == 0)
		child_try(trial, outcome);
	if (first > 0)
		(void)waitpid(first, NULL, 0);
	_exit(0);
}

int trial_run(const struct trial *trial, char saw[SAW_MAX], struct err *err)
{
	struct outcome *outcome = mmap(
		NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (outcome == MAP_FAILED)
		return err_errno(err, errno, "share memory with a child");
	(void)native_user_ns_works(); /* asked once, here, and known in every child */
	pid_t pid = fork();
	if (pid == 0)
		child_main(trial, outcome);
	int result = pid < 0 ? err_errno(err, errno, "start a child") : 0;
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	if (pid > 0 && !outcome->told)
		result = err_set(err, EINTR, "the child that tried it died");
	else if (pid > 0 && outcome->result < 0)
		*err = outcome->err, result = -1;
	else if (pid > 0)
		(void)snprintf(saw, SAW_MAX, "%.*s", SAW_MAX - 1, outcome->saw);
	(void)munmap(outcome, sizeof(*outcome));
	return result;
}

/* ---- namespaces ---- */

/* As the zygote and the yard do: an ordinary user's cell is in a namespace within a namespace. */
static int try_user_ns(char saw[SAW_MAX], struct err *err)
{
	bool nested = !native_is_root();

	if (pretend("no-userns"))
		return err_set(err, ERR_MISSING, "HOTCELL_PRETEND says there are none");
	if ((nested && enter_user_ns(0, err) < 0) || enter_user_ns(1000, err) < 0)
		return -1;
	if (getuid() != 1000 || getgid() != 1000)
		return err_set(err, EINVAL, "user 1000 was asked for, %u came", (unsigned)getuid());
	(void)snprintf(saw, SAW_MAX, "made%s: user 1000 inside, nobody outside",
		nested ? ", one within another" : "");
	return 0;
}

static int try_namespaces(char saw[SAW_MAX], struct err *err)
{
	struct utsname name;

	if (getpid() != 1)
		return err_set(err, EINVAL, "the first process of a pid namespace has number %d",
			(int)getpid());
	if (sethostname("cell", 4) < 0 || uname(&name) < 0 || strcmp(name.nodename, "cell") != 0)
		return err_errno(err, errno, "name the host inside");
	(void)snprintf(saw, SAW_MAX, "made: process 1 inside, own mounts, own host name");
	return 0;
}

static int try_cgroup_ns(char saw[SAW_MAX], struct err *err)
{
	(void)err;
	(void)snprintf(saw, SAW_MAX, "made");
	return 0;
}

static int loopback_up(struct err *err)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	own(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return err_errno(err, errno, "raise the loopback");
	return 0;
}

/* One datagram from us to us. */
static int talk_to_self(struct err *err)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(to);
	char got[4] = {0};
	own(fd_closep) int in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	own(fd_closep) int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (in < 0 || out < 0 || bind(in, (struct sockaddr *)&to, len) < 0 ||
		getsockname(in, (struct sockaddr *)&to, &len) < 0 ||
		sendto(out, "cell", 4, 0, (struct sockaddr *)&to, len) != 4 ||
		recv(in, got, 4, 0) != 4)
		return err_errno(err, errno, "use the loopback");
	return 0;
}

static int try_network(char saw[SAW_MAX], struct err *err)
{
	struct sockaddr_in away = {.sin_family = AF_INET, .sin_port = htons(53)};
	own(fd_closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (loopback_up(err) < 0 || talk_to_self(err) < 0)
		return -1;
	(void)inet_pton(AF_INET, "192.0.2.1", &away.sin_addr); /* an address for documentation */
	if (connect(fd, (struct sockaddr *)&away, sizeof(away)) == 0 || errno != ENETUNREACH)
		return err_set(err, EINVAL, "a new network namespace has a way out");
	(void)snprintf(saw, SAW_MAX, "made: loopback answers, no other network is reachable");
	return 0;
}

/* ---- mounts ---- */

static int mount_new(const char *type, const char *const *options, struct err *err)
{
	own(fd_closep) int fs = fsopen(type, FSOPEN_CLOEXEC);
	int failed = fs < 0;

	for (size_t i = 0; !failed && options != NULL && options[i] != NULL; i += 2)
		failed = fsconfig(fs, FSCONFIG_SET_STRING, options[i], options[i + 1], 0) < 0;
	failed = failed || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0;
	int mounted =
		failed ? -1 : fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	return mounted < 0 ? err_errno(err, errno, "mount a %s", type) : mounted;
}

static int try_proc(char saw[SAW_MAX], struct err *err)
{
	own(fd_closep) int proc = mount_new("proc", NULL, err);
	char self[16] = {0};

	if (proc < 0)
		return -1;
	if (readlinkat(proc, "self", self, sizeof(self) - 1) < 0 || strcmp(self, "1") != 0)
		return err_set(err, EINVAL, "a new /proc shows other processes");
	(void)snprintf(saw, SAW_MAX, "mounted: shows the processes of its namespace alone");
	return 0;
}

static int try_scratch(char saw[SAW_MAX], struct err *err)
{
	static const char *const options[] = {"size", "64k", "nr_inodes", "8", NULL};
	own(fd_closep) int tmp = mount_new("tmpfs", options, err);
	own(fd_closep) int file =
		tmp < 0 ? -1 : openat(tmp, "filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	char block[4096] = {0};
	unsigned written = 0;

	if (tmp < 0)
		return -1;
	if (file < 0)
		return err_errno(err, errno, "write to a tmpfs");
	while (written < 4 * 64 && write(file, block, sizeof(block)) == (ssize_t)sizeof(block))
		written += 4;
	if (written != 64 || errno != ENOSPC)
		return err_set(err, EFBIG, "a tmpfs of 64 KB took %u KB", written);
	(void)snprintf(saw, SAW_MAX, "a tmpfs of 64 KB was full after 64 KB");
	return 0;
}

static int touch(const char *path, struct err *err)
{
	own(fd_closep) int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	return fd < 0 ? err_errno(err, errno, "make a file on a tmpfs") : 0;
}

static int try_overlay(char saw[SAW_MAX], struct err *err)
{
	if (pretend("no-overlay"))
		return err_set(err, ERR_MISSING, "HOTCELL_PRETEND says there is none");
	if (mount("trial", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k") < 0 ||
		chdir("/tmp") < 0)
		return err_errno(err, errno, "mount a tmpfs");
	if (mkdir("upper", 0755) < 0 || mkdir("lower", 0755) < 0 || mkdir("on", 0755) < 0)
		return err_errno(err, errno, "make folders on a tmpfs");
	if (touch("lower/.env", err) < 0 || touch("lower/kept", err) < 0)
		return -1;
	if (mknod("upper/.env", S_IFCHR, makedev(0, 0)) < 0)
		return err_errno(err, errno, "make a whiteout");
	if (mount("overlay", "on", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		    "lowerdir=upper:lower") < 0)
		return err_errno(err, errno, "mount an overlay");
	if (access("on/kept", F_OK) < 0 || access("on/.env", F_OK) == 0)
		return err_set(err, EINVAL, "an overlay did not hide a file");
	(void)snprintf(saw, SAW_MAX, "mounted: a hidden file vanished, its neighbour stayed");
	return 0;
}

#define OWNER 1900000000u /* a number that no system gives to anybody */
#define OWNER_MAP "0 1900000000 1"

/* A user namespace in which number 0 is the cell's user outside: what the mount is mapped through. */
static int map_make(struct err *err)
{
	pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (child == 0)
		for (;;)
			(void)pause();
	if (child < 0)
		return err_errno(err, errno, "make a user namespace to map through");
	own(freep) char *uid_map = xfmt("/proc/%d/uid_map", (int)child);
	own(freep) char *gid_map = xfmt("/proc/%d/gid_map", (int)child);
	own(freep) char *path = xfmt("/proc/%d/ns/user", (int)child);
	int result = fs_write_value(AT_FDCWD, uid_map, OWNER_MAP, err);
	if (result == 0)
		result = fs_write_value(AT_FDCWD, gid_map, OWNER_MAP, err);
	int ns = result < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (result == 0 && ns < 0)
		(void)err_errno(err, errno, "open '%s'", path);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	return ns;
}

static int map_mount(int tree, int ns, struct err *err)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)ns};
	struct stat st;

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return err_errno(err, errno, "map the owner of a mount");
	if (fstat(tree, &st) < 0 || st.st_uid != OWNER)
		return err_set(err, EINVAL, "a mapped mount still shows its owner");
	return 0;
}

/* The folder we are in is most likely to be mounted; where its file system cannot, another may. */
static int try_id_map(char saw[SAW_MAX], struct err *err)
{
	static const char *const places[] = {".", "/", NULL};
	struct err first = {0};

	if (!native_is_root()) {
		(void)snprintf(saw, SAW_MAX, "not needed: what is yours is the cell's user's");
		return 0;
	}
	own(fd_closep) int ns = map_make(err);
	if (ns < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		struct err here = {0};
		own(fd_closep) int tree = places[i] == NULL
			? mount_new("tmpfs", NULL, &here)
			: open_tree(AT_FDCWD, places[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (tree >= 0 && map_mount(tree, ns, &here) == 0) {
			(void)snprintf(saw, SAW_MAX, "%s: its owner appeared as the cell's user%s",
				places[i] == NULL ? "a tmpfs" : places[i],
				i > 0 ? "; the file system of this folder cannot do it" : "");
			return 0;
		}
		if (i == 0)
			first = here;
	}
	*err = first;
	return -1;
}

/* ---- users ---- */

static int enter_own_users(struct users_ids *ret, struct err *err)
{
	own(fd_closep) int lock = -1;
	struct users_mapping mapping;

	if (users_take_own(ret, &lock, err) < 0)
		return -1;
	users_mapping_begin(ret, &mapping);
	own(fd_closep) int ns = users_mapping_end(&mapping, err);
	if (ns >= 0 && setns(ns, CLONE_NEWUSER) < 0)
		return err_errno(err, errno, "enter a user namespace that newuidmap has mapped");
	return ns < 0 ? -1 : 0;
}

/* As the zygote: what it forks for a moment is reaped by the kernel, and is gone when we are. */
static int own_users_look(struct users_ids *ret, bool *ret_maps, struct err *err)
{
	(void)signal(SIGCHLD, SIG_IGN);
	int entered = enter_own_users(ret, err);

	*ret_maps = entered == 0 && users_tmpfs_maps();
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	return entered;
}

static int try_own_users(char saw[SAW_MAX], struct err *err)
{
	struct users_ids own;
	bool maps;

	if (native_is_root()) {
		(void)snprintf(
			saw, SAW_MAX, "each slot of a hotcell has another of %u numbers", USERS_SPAN);
		return 0;
	}
	if (own_users_look(&own, &maps, err) < 0)
		return -1;
	(void)snprintf(saw, SAW_MAX,
		"newuidmap mapped %u numbers from %u on; cells that are shown files of yours%s are you",
		own.count, own.first, maps ? "" : ", or whose output is kept (Linux 6.3),");
	return 0;
}

/* What a cell of an own user leaves can be read by us. */
static int try_own_output(char saw[SAW_MAX], struct err *err)
{
	struct users_ids own;
	bool maps;

	(void)saw;
	if (own_users_look(&own, &maps, err) < 0)
		return -1;
	if (maps)
		return 0;
	return err_set(err, EINVAL, "a tmpfs cannot be shown with other owners: Linux 6.3 can");
}

/* ---- sealing ---- */

/* Makes a refused call under the filter and tells what came of it as its exit code. */
static _Noreturn void refused_main(const struct sock_fprog *filter, int flags, int tell)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, filter);

	if (listener < 0)
		_exit(200);
	if (flags != 0 && wire_send(tell, "l", 1, &listener, 1) < 0)
		_exit(201);
	if (flags != 0)
		(void)close(listener); /* who waits for an answer must not be the one to give it */
	_exit(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? errno : 202);
}

/* As a cell's init does it. */
static int answer(int listener, struct err *err)
{
	union {
		struct seccomp_notif notif;
		char room[512];
	} request;
	struct seccomp_notif_resp response = {.error = -EPERM};

	memset(&request, 0, sizeof(request));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return err_errno(err, errno, "hear of a refused call");
	if (request.notif.data.nr != SYS_mount)
		return err_set(err, EINVAL, "the filter's listener heard of another call");
	response.id = request.notif.id;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0)
		return err_errno(err, errno, "answer a refused call");
	return 0;
}

static int refused_status(int status, struct err *err)
{
	if (!WIFEXITED(status))
		return err_set(err, EINTR, "the filtered child died");
	if (WEXITSTATUS(status) == 200)
		return err_set(err, EINVAL, "the kernel takes no system call filter");
	if (WEXITSTATUS(status) != EPERM)
		return err_set(err, EINVAL, "a refused call was not refused");
	return 0;
}

static int refuse(bool counted, struct err *err)
{
	own(freep) struct sock_filter *program = NULL;
	int pair[2], status = 0, result = 0;
	size_t len = 0, count = 0;
	char letter;

	if (filter_build(counted ? FILTER_COUNTED : 0, &program, &len, err) < 0)
		return -1;
	const struct sock_fprog filter = {(unsigned short)len, program};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, errno, "make a socket pair");
	pid_t child = fork();
	if (child == 0)
		refused_main(&filter, counted ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, pair[1]);
	own(fd_closep) int ours = pair[0], listener = -1;
	(void)close(pair[1]);
	if (child < 0)
		return err_errno(err, errno, "start a child");
	if (counted && wire_recv(ours, &letter, 1, &listener, 1, &count, 0) == 1)
		result = answer(listener, err);
	if (result < 0)
		(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return result < 0 ? -1 : refused_status(status, err);
}

static int try_filter(char saw[SAW_MAX], struct err *err)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, errno, "set no_new_privs");
	if (refuse(true, err) == 0) {
		(void)snprintf(saw, SAW_MAX, "loaded: mount() was refused, and counted");
		return 0;
	}
	if (refuse(false, err) < 0)
		return -1;
	return err_set(err, EBUSY, "loaded: mount() was refused, but cannot be counted");
}

static int try_landlock(char saw[SAW_MAX], struct err *err)
{
	static const char outside[] = "/proc/self/comm", inside[] = "/dev/null";
	const struct template t = {.rule_files = true};

	if (pretend("no-landlock"))
		return err_set(err, ERR_MISSING, "HOTCELL_PRETEND says there is none");
	int abi =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return err_errno(err, errno, "ask for Landlock");
	own(fd_closep) int before = open(outside, O_WRONLY | O_CLOEXEC);
	bool heard = kill(getppid(), 0) == 0;
	own(fd_closep) int rules = landlock_rules(&t, err);
	if (rules < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		landlock_enter(rules, err) < 0)
		return -1;
	own(fd_closep) int denied = open(outside, O_WRONLY | O_CLOEXEC);
	own(fd_closep) int allowed = open(inside, O_WRONLY | O_CLOEXEC);
	if (before < 0 || denied >= 0 || allowed < 0)
		return err_set(err, EINVAL, "Landlock did not keep a write inside");
	if (abi >= 6 && (!heard || kill(getppid(), 0) == 0))
		return err_set(err, EINVAL, "Landlock did not keep a signal inside");
	(void)snprintf(saw, SAW_MAX, "a write outside%s denied; ABI %d%s", abi >= 6 ? " and a signal to outside were" : " was", abi,
		abi >= 6 ? "" : ", which does not keep signals inside");
	return 0;
}

const struct trial trial_user_ns = {try_user_ns, 0};
const struct trial trial_namespaces = {
	try_namespaces, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS};
const struct trial trial_cgroup_ns = {try_cgroup_ns, CLONE_NEWCGROUP};
const struct trial trial_network = {try_network, CLONE_NEWNET};
const struct trial trial_proc = {try_proc, CLONE_NEWPID | CLONE_NEWNS};
const struct trial trial_scratch = {try_scratch, CLONE_NEWNS};
const struct trial trial_overlay = {try_overlay, CLONE_NEWNS};
const struct trial trial_id_map = {try_id_map, 0};
const struct trial trial_own_users = {try_own_users, 0};
const struct trial trial_own_output = {try_own_output, 0};
const struct trial trial_filter = {try_filter, 0};
const struct trial trial_landlock = {try_landlock, 0};
