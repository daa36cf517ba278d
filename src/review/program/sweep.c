/* The kernel's surface, swept: every spelling of a forbidden call that can be generated. What is gained is kept for who
 * looks from the host. */
#include "review/program/hostile.h"

#include <linux/netlink.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>

#define UPPER (1UL << 32) /* the kernel reads 32 bits of such an argument; a filter must too */

/* ---- namespaces ---- */

static const unsigned long kinds[] = { 0x80 /* time */, CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
	CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
#define COMBINATIONS (1u << COUNT(kinds))

static unsigned long combination(unsigned number)
{
	unsigned long flags = 0;

	for (size_t i = 0; i < COUNT(kinds); i++)
		if (number & 1u << i)
			flags |= kinds[i];
	return flags;
}

enum form { UNSHARE, CLONE, CLONE3 };

/* The child of a clone that worked stays in what it was given; so do we where unshare worked. */
static long make_spaces(enum form form, unsigned long flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	long pid;

	if (form == UNSHARE)
		return syscall(SYS_unshare, flags);
	pid = form == CLONE ? syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL)
			    : syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "gained");
		sleep_forever();
	}
	return pid;
}

/* All combinations of one form, until one works. */
static void sweep_spaces(enum form form, const char *name, unsigned long more)
{
	for (unsigned number = 1; number < COMBINATIONS; number++) {
		unsigned long flags = combination(number) | more;
		char what[64];

		if (form == CLONE && (flags & 0x80)) /* it reads that bit as part of the signal */
			continue;
		snprintf(what, sizeof(what), "%s-%#lx", name, flags);
		long rc = make_spaces(form, flags);
		got_refused(what, rc, form == CLONE3 ? ENOSYS : EPERM);
		if (rc >= 0)
			return;
	}
}

/* namespaces: new ones, in every combination and by every call */
static int attack_namespaces(int argc, char **argv)
{
	int done[2];

	(void)argc, (void)argv;
	sweep_spaces(CLONE, "clone", 0);
	sweep_spaces(CLONE, "clone-upper", UPPER);
	sweep_spaces(CLONE, "clone-parent", CLONE_PARENT);
	sweep_spaces(CLONE3, "clone3", 0);
	if (pipe(done) < 0)
		return 1;
	pid_t pid = fork(); /* unshare changes who calls it */
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		sweep_spaces(UNSHARE, "unshare", 0);
		sweep_spaces(UNSHARE, "unshare-upper", UPPER);
		sweep_spaces(UNSHARE, "unshare-files", CLONE_FILES | CLONE_FS);
		close(done[0]), close(done[1]);
		sleep_forever();
	}
	close(done[1]);
	(void)!read(done[0], &(char){ 0 }, 1); /* until it has tried */
	return hold();
}

static void enter_spaces(const char *who)
{
	static const char *const names[] = { "user", "mnt", "pid", "pid_for_children", "net", "ipc", "uts", "cgroup", "time" };
	static const struct {
		const char *name;
		unsigned long request;
	} asks[] = { { "owner", _IO(0xb7, 1) }, { "parent", _IO(0xb7, 2) } };

	for (size_t i = 0; i < COUNT(names); i++) {
		char path[64], what[96];

		snprintf(path, sizeof(path), "/proc/%s/ns/%s", who, names[i]);
		int fd = open(path, O_RDONLY);
		got(path, fd < 0 ? -1 : setns(fd, 0));
		for (size_t k = 0; k < COUNT(asks); k++) {
			int up = fd < 0 ? -1 : ioctl(fd, asks[k].request);
			snprintf(what, sizeof(what), "%s-%s", path, asks[k].name);
			got(what, up);
			snprintf(what, sizeof(what), "%s-%s-enter", path, asks[k].name);
			got(what, up < 0 ? -1 : setns(up, 0));
		}
	}
}

/* setns: into the namespaces of others, by path, by pidfd, and up from our own */
static int attack_setns(int argc, char **argv)
{
	char what[64];

	(void)argc, (void)argv;
	enter_spaces("self");
	enter_spaces("1");
	for (int one = 0; one < 2; one++) {
		int pidfd = (int)syscall(SYS_pidfd_open, one ? 1 : getpid(), 0);
		for (unsigned number = 1; number < COMBINATIONS; number += 37) {
			snprintf(what, sizeof(what), "pidfd-%s-%#lx", one ? "init" : "own", combination(number));
			got(what, pidfd < 0 ? -1 : setns(pidfd, (int)combination(number)));
		}
	}
	return 0;
}

/* ---- numbers ---- */

#ifdef __x86_64__
static long int80(long number, long a, long b, long c)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static void try_foreign(const char *name, const char *way, long number, long a, long b, long c)
{
	char what[64];

	snprintf(what, sizeof(what), "%s-%s", way, name);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (strcmp(way, "int80") == 0)
			(void)int80(number, a, b, c);
		else
			(void)syscall(0x40000000L | number, a, b, c);
		_exit(1);
	}
	got_child(what, pid);
}
#endif

/* foreign: forbidden calls, and an innocent one, by the numbers of other architectures */
static int attack_foreign(int argc, char **argv)
{
	(void)argc, (void)argv;
#ifdef __x86_64__
	static const struct {
		const char *name;
		long i386, x32, a, b, c;
	} calls[] = {
		{ "getpid", 20, SYS_getpid, 0, 0, 0 }, { "unshare", 310, SYS_unshare, CLONE_NEWUSER, 0, 0 },
		{ "socket", 359, SYS_socket, AF_NETLINK, SOCK_RAW, 0 }, { "keyctl", 288, SYS_keyctl, 0, -3, 0 },
		{ "bpf", 357, SYS_bpf, 9999, 0, 0 }, { "userfaultfd", 374, SYS_userfaultfd, 1, 0, 0 },
		{ "io_uring", 425, SYS_io_uring_setup, 8, 0, 0 }, { "execve", 11, 520, 0, 0, 0 }, { "ioctl", 54, 514, 0, 0x5412, 0 },
		{ "unknown", 4000, 4000, 0, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(calls); i++) {
		try_foreign(calls[i].name, "int80", calls[i].i386, calls[i].a, calls[i].b, calls[i].c);
		try_foreign(calls[i].name, "x32", calls[i].x32, calls[i].a, calls[i].b, calls[i].c);
	}
#endif
	return 0;
}

/* unknown: numbers between and beyond those that this kernel's programs use */
static int attack_unknown(int argc, char **argv)
{
	static const long ranges[][2] = {
#ifdef __x86_64__
		{ 337, 423 }, /* about the two before, which end who calls them, the kernel asks no filter */
#else
		{ 300, 423 },
#endif
		{ 447, 447 /* memfd_secret */ }, { 457, 461 }, { 463, 4200 }, { 0xfffe, 0x10001 }, { 0x3ffffff0, 0x3fffffff },
	};
	char what[32];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(ranges); i++)
		for (long number = ranges[i][0]; number <= ranges[i][1]; number++) {
			snprintf(what, sizeof(what), "call-%ld", number);
			got_refused(what, syscall(number, 0, 0, 0, 0, 0, 0), ENOSYS);
		}
	return 0;
}

/* ---- sockets ---- */

#define KEPT_MAX 32
static int kept;

static void keep(int fd)
{
	if (fd >= 0 && kept++ >= KEPT_MAX)
		close(fd);
}

/* One protocol in all spellings is enough: each argument is compared by itself. */
static void try_family(unsigned long family, unsigned long type, unsigned long protocol)
{
	const struct {
		const char *name;
		unsigned long family, type, protocol;
	} spellings[] = {
		{ "", 0, 0, 0 }, { "-upper-family", UPPER, 0, 0 }, { "-upper-type", 0, UPPER | SOCK_CLOEXEC, 0 },
		{ "-upper-protocol", 0, SOCK_NONBLOCK, UPPER },
	};
	char what[96];

	for (size_t i = 0; i < (protocol ? 1 : COUNT(spellings)); i++) {
		snprintf(what, sizeof(what), "socket-%lu-%lu-%lu%s", family, type, protocol, spellings[i].name);
		long fd = syscall(SYS_socket, family | spellings[i].family, type | spellings[i].type, protocol | spellings[i].protocol);
		got(what, fd);
		keep((int)fd);
	}
}

static bool is_plain(unsigned long family, unsigned long type)
{
	return (family == AF_UNIX || family == AF_INET || family == AF_INET6) &&
		(type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET);
}

/* sockets: every family, kind and protocol but the plain ones. Gently, only those that load no module. */
static int attack_sockets(int argc, char **argv)
{
	static const unsigned long types[] = { 1, 2, 3, 4, 5, 6, 10 }, protocols[] = { 0, 2, 9, 12, 16, 132, 136, 255, 262 };
	char what[64];
	int pair[2];

	(void)argc, (void)argv;
	for (unsigned long family = 0; family < 64; family++) {
		if (gentle() && family != AF_NETLINK && family != AF_PACKET)
			continue;
		for (size_t i = 0; i < COUNT(types); i++)
			for (size_t k = 0; k < COUNT(protocols); k++)
				if (protocols[k] != 0 || !is_plain(family, types[i]))
					try_family(family, types[i], protocols[k]);
		snprintf(what, sizeof(what), "pair-%lu", family);
		if (family != AF_UNIX)
			got(what, syscall(SYS_socketpair, family, SOCK_STREAM, 0, pair));
	}
	got("raw4", syscall(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP));
	got("raw6", syscall(SYS_socket, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6));
	return hold();
}

/* netfilter: ask nf_tables for its tables; in a cell, make one too. Also out of namespaces of our own. */
static int attack_netfilter(int argc, char **argv)
{
	static const unsigned protocols[] = { NETLINK_NETFILTER, NETLINK_ROUTE, NETLINK_XFRM, NETLINK_SOCK_DIAG, NETLINK_GENERIC,
		NETLINK_AUDIT, NETLINK_KOBJECT_UEVENT, NETLINK_CONNECTOR, NETLINK_CRYPTO, NETLINK_SELINUX };
	struct {
		struct nlmsghdr head;
		unsigned char family, version;
		uint16_t id;
	} get = { { sizeof(get), 10 << 8 | 1 /* GETTABLE */, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, AF_INET, 0, 0 };
	char what[64];

	(void)argc, (void)argv;
	for (int own = 0; own < 2; own++) {
		if (own)
			(void)syscall(SYS_unshare, CLONE_NEWUSER | CLONE_NEWNET);
		for (size_t i = 0; i < COUNT(protocols); i++) {
			int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, (int)protocols[i]);
			snprintf(what, sizeof(what), "netlink-%u%s", protocols[i], own ? "-own" : "");
			got(what, fd);
			if (fd >= 0 && protocols[i] == NETLINK_NETFILTER)
				got("ask-nf_tables", send(fd, &get, sizeof(get), 0));
			keep(fd);
		}
	}
	return hold();
}

/* ---- cgroups, the machine ---- */

/* Mounts only where nobody else sees it: in a mount namespace of our own, unless this is a cell. */
static void try_cgroup_mounts(unsigned long flags)
{
	static const char *const types[] = { "cgroup", "cgroup2" };
	static const char *const options[] = { NULL, "memory", "rdma", "none,name=hotcell-review" };

	int private = (int)syscall(SYS_unshare, flags);
	got("unshare", private);
	if (private < 0 && gentle())
		return;
	(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	for (size_t i = 0; i < COUNT(types); i++) {
		for (size_t k = 0; k < COUNT(options); k++) {
			char what[64];
			if (gentle() && k > 1) /* a new hierarchy would stay a while */
				break;
			snprintf(what, sizeof(what), "mount-%s-%s", types[i], options[k] ? options[k] : "all");
			got(what, mount("none", "/tmp", types[i], 0, options[k]));
		}
	}
}

/* cgroup: a cgroup file system of our own, release_agent, other cgroups */
static int attack_cgroup(int argc, char **argv)
{
	static const unsigned long spaces[] = { CLONE_NEWNS, CLONE_NEWUSER | CLONE_NEWNS,
		CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP };
	static const char *const files[] = { "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/rdma/release_agent",
		"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs",
		"/sys/fs/cgroup/cgroup.subtree_control", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/tasks" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(spaces); i++) {
		pid_t pid = fork();
		if (pid == 0) {
			try_cgroup_mounts(spaces[i]);
			_exit(0);
		}
		(void)waitpid(pid, NULL, 0);
	}
	for (size_t i = 0; i < COUNT(files); i++)
		got(files[i], open(files[i], O_WRONLY));
	for (int i = 0; i < 2; i++) {
		int fd = open(i ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", O_PATH | O_DIRECTORY);
		struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned)fd };
		long pid = fd < 0 ? -1 : syscall(SYS_clone3, &args, sizeof(args));
		if (pid == 0)
			_exit(0);
		got("clone-into-cgroup", pid);
	}
	return 0;
}

/* machine: what changes the machine for all. What could do so where we are no cell's is left out there. */
static int attack_machine(int argc, char **argv)
{
	struct timex read_only = { 0 };

	(void)argc, (void)argv;
	got_refused("adjtimex-read", syscall(SYS_adjtimex, &read_only), EPERM);
	got_refused("clock_adjtime-read", syscall(SYS_clock_adjtime, 0, &read_only), EPERM);
	got_refused("settimeofday-nowhere", syscall(SYS_settimeofday, 1, 0), EPERM);
	got_refused("swapoff-nowhere", syscall(SYS_swapoff, 1), EPERM);
	got_refused("syslog-size", syscall(SYS_syslog, 10, NULL, 0), EPERM);
	got_refused("quotactl-nowhere", syscall(SYS_quotactl, -1, 1, 0, 0), EPERM);
	got_refused("fanotify", syscall(SYS_fanotify_init, 0x200 /* FID */, 0), EPERM);
	got_refused("name_to_handle", syscall(SYS_name_to_handle_at, -1, 1, 1, 1, 0), EPERM);
#ifdef __x86_64__
	got_refused("modify_ldt-read", syscall(SYS_modify_ldt, 0, NULL, 0), EPERM);
	got_refused("ioperm-nowhere", syscall(SYS_ioperm, -1L, 1, 0), EPERM);
#endif
	got_refused("personality", syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */), EPERM);
	if (gentle())
		return 0;
	got("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL));
	got("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	got("kexec_file_load", syscall(SYS_kexec_file_load, 0, 0, 0, NULL, 0));
	got("init_module", syscall(SYS_init_module, NULL, 0, ""));
	got("finit_module", syscall(SYS_finit_module, 0, "", 0));
	got("delete_module", syscall(SYS_delete_module, "loop", O_NONBLOCK));
	got("swapon", syscall(SYS_swapon, "/workspace/swap", 0));
	got("acct", syscall(SYS_acct, NULL));
	got("clock_settime", syscall(SYS_clock_settime, 0, &(struct timespec){ 0 }));
	got("sethostname", syscall(SYS_sethostname, "owned", 5));
	got("setdomainname", syscall(SYS_setdomainname, "owned", 5));
	got("vhangup", syscall(SYS_vhangup));
	return 0;
}

const struct attack sweep_attacks[] = {
	{ "namespaces", attack_namespaces }, { "setns", attack_setns },	    { "foreign", attack_foreign },
	{ "unknown", attack_unknown },	     { "sockets", attack_sockets }, { "netfilter", attack_netfilter },
	{ "cgroup", attack_cgroup },	     { "machine", attack_machine },
	{ 0 },
};
