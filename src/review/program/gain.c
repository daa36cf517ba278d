/* What a cell must not get, tried and kept: who looks from the host sees it in /proc/PID. Each ends on SIGTERM. */
#include "review/program/hostile.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <pthread.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

/* nothing: only be looked at */
static int attack_nothing(int argc, char **argv)
{
	(void)argc, (void)argv;
	got_number("pid", getpid());
	return hold();
}

/* descriptors: what was left open for us, and what can be had by it */
static int attack_descriptors(int argc, char **argv)
{
	char what[64], bytes[256];

	(void)argc, (void)argv;
	for (int fd = 3; fd < 1024; fd++) {
		snprintf(what, sizeof(what), "fd-%d", fd);
		got(what, fcntl(fd, F_GETFD));
		ssize_t len = pread(fd, bytes, sizeof(bytes) - 1, 0);
		if (len > 0)
			printf("fd-%d-says %.*s\n", fd, (int)len, bytes);
		snprintf(what, sizeof(what), "fd-%d-folder", fd);
		got(what, openat(fd, "etc", O_PATH | O_DIRECTORY));
	}
	return hold();
}

/* ids: become root, take capabilities, lay down what binds us */
static int attack_ids(int argc, char **argv)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct all[2] = { { ~0u, ~0u, ~0u }, { ~0u, ~0u, ~0u } };
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog program = { 1, &allow };

	(void)argc, (void)argv;
	got("capset", syscall(SYS_capset, &header, all));
	got("setuid", setuid(0));
	got("setreuid", setreuid(0, 0));
	got("setresuid", setresuid(-1, 0, -1));
	got("setgid", setgid(0));
	got("setresgid", setresgid(-1, 0, 0));
	got("setgroups", syscall(SYS_setgroups, 1, &(gid_t){ 0 }));
	setfsuid(0);
	got("setfsuid", setfsuid(-1) == 0 ? 0 : (errno = EPERM, -1));
	for (int cap = 0; cap < 41; cap++) {
		char what[32];
		snprintf(what, sizeof(what), "ambient-%d", cap);
		got(what, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0));
	}
	got("securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0));
	got("keepcaps", prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0));
	got("no-new-privs-off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	got("seccomp-off", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
	/* one of our own cannot undo the first: the stricter verdict counts */
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2) {
		(void)prctl(PR_SET_SECCOMP, 2 /* FILTER */, &program, 0, 0);
		(void)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	}
	return hold();
}

/* session: a terminal, or the session of who started us */
static int attack_session(int argc, char **argv)
{
	(void)argc, (void)argv;
	got("open-tty", open("/dev/tty", O_RDWR));
	got("open-console", open("/dev/console", O_RDWR | O_NONBLOCK));
	for (int i = 0; i < 4; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/dev/tty%d", i);
		got(path, open(path, O_RDWR | O_NONBLOCK | O_NOCTTY));
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		got(path, open(path, O_RDWR | O_NONBLOCK | O_NOCTTY));
	}
	for (int fd = 0; fd < 3; fd++) {
		got("take-tty", ioctl(fd, TIOCSCTTY, 1));
		got("foreground", tcsetpgrp(fd, getpgrp()));
	}
	got("join-parent", setpgid(0, getpgid(getppid())));
	return hold();
}

/* io_uring: rings of all kinds, and the calls without a ring */
static int attack_io_uring(int argc, char **argv)
{
	static const unsigned flags[] = { 0, 1u << 1 /* SQPOLL */, 1u << 6 /* R_DISABLED */, 1u << 8 /* COOP_TASKRUN */,
		1u << 16 /* NO_SQARRAY */, ~0u };
	char what[64];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(flags); i++) {
		unsigned params[30] = { 0, 0, flags[i] };
		snprintf(what, sizeof(what), "setup-%#x", flags[i]);
		got_refused(what, syscall(SYS_io_uring_setup, 8, params), ENOSYS);
		snprintf(what, sizeof(what), "setup-upper-%#x", flags[i]);
		got_refused(what, syscall(SYS_io_uring_setup, 8UL | 1UL << 32, params), ENOSYS);
	}
	for (int fd = -1; fd < 3; fd++) {
		snprintf(what, sizeof(what), "enter-%d", fd);
		got_refused(what, syscall(SYS_io_uring_enter, fd, 1, 1, 0, NULL, 0), ENOSYS);
		snprintf(what, sizeof(what), "enter-registered-%d", fd);
		got_refused(what, syscall(SYS_io_uring_enter, fd, 1, 1, 1u << 4, NULL, 0), ENOSYS);
		for (unsigned code = 0; code < 40; code++) {
			snprintf(what, sizeof(what), "register-%d-%u", fd, code);
			got_refused(what, syscall(SYS_io_uring_register, fd, code, NULL, 0), ENOSYS);
		}
	}
	got_refused("io_setup", syscall(SYS_io_setup, 1, &(unsigned long){ 0 }), ENOSYS);
	return hold();
}

static void try_bpf(void)
{
	char what[64];

	for (int type = 1; type < 34; type++) {
		union bpf_attr attr = { .map_type = (unsigned)type, .key_size = 4, .value_size = 4, .max_entries = 1 };
		snprintf(what, sizeof(what), "map-%d", type);
		got(what, syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
		/* mov r0, 0; exit: loaded, never attached, gone with us */
		static const uint64_t code[] = { 0xb7, 0x95 };
		union bpf_attr load = { .prog_type = (unsigned)type, .insn_cnt = 2, .insns = (uintptr_t)code,
			.license = (uintptr_t) "GPL" };
		snprintf(what, sizeof(what), "program-%d", type);
		got(what, syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load)));
	}
	got_refused("no-such-command", syscall(SYS_bpf, 9999, NULL, 0), EPERM);
}

static void try_perf(void)
{
	for (unsigned type = 0; type < 6; type++) {
		for (int other = 0; other < 2; other++) {
			struct perf_event_attr attr = { .type = type, .size = sizeof(attr), .exclude_kernel = 1, .exclude_hv = 1,
				.disabled = 1 };
			char what[64];
			snprintf(what, sizeof(what), "perf-%u-%s", type, other ? "all" : "own");
			got(what, syscall(SYS_perf_event_open, &attr, other ? -1 : 0, other ? 0 : -1, -1, 0));
		}
	}
	got_refused("perf-nothing", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0), EPERM);
}

/* bpf: programs, counters and faults of the kernel's */
static int attack_bpf(int argc, char **argv)
{
	(void)argc, (void)argv;
	try_bpf();
	try_perf();
	got("userfaultfd", syscall(SYS_userfaultfd, 0));
	got("userfaultfd-user", syscall(SYS_userfaultfd, 1 /* USER_MODE_ONLY */));
	got("userfaultfd-user-upper", syscall(SYS_userfaultfd, 1UL | 1UL << 32));
	got("userfaultfd-device", open("/dev/userfaultfd", O_RDWR));
	return hold();
}

#define KEYS_MAX 64

/* keys NAME: into every keyring, of every kind; none stays */
static int attack_keys(int argc, char **argv)
{
	static const char *const kinds[] = { "user", "keyring", "logon", "big_key", "asymmetric", "encrypted", "trusted" };
	long made[KEYS_MAX], ring_of[KEYS_MAX];
	size_t count = 0;
	char what[96];

	if (argc != 1)
		return 99;
	for (size_t kind = 0; kind < (gentle() ? 2 : COUNT(kinds)); kind++) {
		bool ring = strcmp(kinds[kind], "keyring") == 0;
		for (int to = -1; to >= -6; to--) {
			snprintf(what, sizeof(what), "add-%s%d", kinds[kind], to);
			long key = syscall(SYS_add_key, kinds[kind], argv[0], ring ? NULL : "secret", ring ? 0 : 6, to);
			got(what, key);
			if (key > 0 && count < KEYS_MAX) {
				ring_of[count] = to;
				made[count++] = key;
			}
		}
		snprintf(what, sizeof(what), "request-%s", kinds[kind]);
		got(what, syscall(SYS_request_key, kinds[kind], argv[0], NULL, 0));
	}
	for (int code = 0; code < 33 && !gentle(); code++) {
		snprintf(what, sizeof(what), "keyctl-%d", code);
		got_refused(what, syscall(SYS_keyctl, code, -3, 0, 0, 0), EPERM);
	}
	got("keyctl-get", syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -5, 0));
	got("keyctl-describe", syscall(SYS_keyctl, 6 /* DESCRIBE */, -4, what, sizeof(what)));
	(void)hold();
	while (count-- > 0)
		(void)syscall(SYS_keyctl, 9 /* UNLINK */, made[count], ring_of[count]);
	return 0;
}

static void *run_fifo(void *unused)
{
	struct sched_param one = { 1 };

	(void)unused;
	got("thread-fifo", sched_setscheduler((pid_t)syscall(SYS_gettid), SCHED_FIFO, &one));
	return NULL;
}

/* priority: more of the CPU than others have */
static int attack_priority(int argc, char **argv)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} deadline = { .size = 48, .policy = 6, .runtime = 10000000, .deadline = 30000000, .period = 30000000 };
	pthread_t thread;
	char what[64];

	(void)argc, (void)argv;
	for (int policy = 1; policy < 3; policy++) {
		for (int level = 1; level < 100; level += 49) {
			snprintf(what, sizeof(what), "policy-%d-%d", policy, level);
			got(what, sched_setscheduler(0, policy, &(struct sched_param){ level }));
			snprintf(what, sizeof(what), "policy-%d-%d-inherited", policy, level);
			got(what, sched_setscheduler(0, policy | 0x40000000, &(struct sched_param){ level }));
		}
	}
	got("deadline", syscall(SYS_sched_setattr, 0, &deadline, 0));
	for (int nice = -20; nice < 0; nice += 19) {
		snprintf(what, sizeof(what), "nice%d", nice);
		got(what, setpriority(PRIO_PROCESS, 0, nice));
		snprintf(what, sizeof(what), "nice%d-group", nice);
		got(what, setpriority(PRIO_PGRP, 0, nice));
	}
	got("io-realtime", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
	got("rtprio-limit", setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 99, 99 }));
	got("nice-limit", setrlimit(RLIMIT_NICE, &(struct rlimit){ 40, 40 }));
	if (pthread_create(&thread, NULL, run_fifo, NULL) == 0)
		(void)pthread_join(thread, NULL);
	return hold();
}

/* layers: how many Landlock rulesets can be laid upon us: one less than the kernel's 16 where somebody has laid one */
static int attack_layers(int argc, char **argv)
{
	uint64_t handled = LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0), layers = 0;

	(void)argc, (void)argv;
	if (ruleset < 0) {
		got_text("layers", "unknown");
		return 0;
	}
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	while (layers < 64 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0)
		layers++;
	got_number("layers", layers);
	return 0;
}

/* debug: what debuggers do, to ourselves; mounts: each call in a way that tells who refused it */
static int attack_debug(int argc, char **argv)
{
	char here[8] = "", there[8] = "secret";
	struct iovec to = { here, sizeof(here) }, from = { there, sizeof(there) };
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec cold = { page, 4096 };
	unsigned long all = 1;

	(void)argc, (void)argv;
	got("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0));
	got("process_vm_writev", syscall(SYS_process_vm_writev, getpid(), &to, 1, &from, 1, 0));
	for (int type = 0; type < 8; type++) {
		char what[32];
		snprintf(what, sizeof(what), "kcmp-%d", type);
		got_refused(what, syscall(SYS_kcmp, getpid(), getpid(), type, 0, 0), EPERM);
	}
	got("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 1, 0));
	got("pidfd_getfd-upper", syscall(SYS_pidfd_getfd, (unsigned long)(unsigned)pidfd | 1UL << 32, 1, 0));
	got("process_madvise", syscall(SYS_process_madvise, pidfd, &cold, 1, 20 /* COLD */, 0));
	got("move_pages", syscall(SYS_move_pages, 0, 1, &page, NULL, &(int){ 0 }, 0));
	got("migrate_pages", syscall(SYS_migrate_pages, 0, 8, &all, &all));
	return hold();
}

static int attack_mounts(int argc, char **argv)
{
	char *nowhere = (char *)1;

	(void)argc, (void)argv;
	got_refused("mount", syscall(SYS_mount, nowhere, nowhere, nowhere, 0, nowhere), EPERM);
	got_refused("umount", syscall(SYS_umount2, "/", 0xdead0000), EPERM);
	got_refused("chroot", syscall(SYS_chroot, "/there/is/no/such/folder"), EPERM);
	got_refused("pivot_root", syscall(SYS_pivot_root, nowhere, nowhere), EPERM);
	got_refused("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", O_CLOEXEC), EPERM);
	got_refused("open_tree-clone", syscall(SYS_open_tree, AT_FDCWD, "/", 1 | O_CLOEXEC), EPERM);
	got_refused("move_mount", syscall(SYS_move_mount, -1, nowhere, -1, nowhere, 0xdead0000), EPERM);
	got_refused("fsopen", syscall(SYS_fsopen, "tmpfs", 0), EPERM);
	got_refused("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0xdead0000), EPERM);
	got_refused("fsconfig", syscall(SYS_fsconfig, -1, 0, NULL, NULL, 0), EPERM);
	got_refused("fsmount", syscall(SYS_fsmount, -1, 0xdead0000, 0), EPERM);
	got_refused("mount_setattr", syscall(SYS_mount_setattr, -1, nowhere, 0xdead0000, nowhere, 0), EPERM);
	return 0;
}

const struct attack gain_attacks[] = {
	{ "nothing", attack_nothing },	 { "descriptors", attack_descriptors },
	{ "ids", attack_ids },		 { "session", attack_session },
	{ "io_uring", attack_io_uring }, { "bpf", attack_bpf },	      { "keys", attack_keys },
	{ "priority", attack_priority }, { "layers", attack_layers }, { "debug", attack_debug },
	{ "mounts", attack_mounts },
	{ 0 },
};
