/* The kernel's surface: calls that a cell never needs and that have been ways out. */
#include "review/program/hostile.h"

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/fsuid.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define UPPER (1UL << 32) /* the kernel reads 32 bits of such an argument; a filter must too */

static const struct {
	const char *name;
	unsigned long flag;
} spaces[] = {
	{ "user", CLONE_NEWUSER }, { "mnt", CLONE_NEWNS },     { "pid", CLONE_NEWPID },	  { "net", CLONE_NEWNET },
	{ "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS },    { "cgroup", CLONE_NEWCGROUP },
	{ "time", CLONE_NEWTIME }, { "user-mnt", CLONE_NEWUSER | CLONE_NEWNS },
};

static void try_unshare(const char *name, unsigned long flags)
{
	char what[64];

	snprintf(what, sizeof(what), "unshare-%s", name);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		got(what, syscall(SYS_unshare, flags));
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void try_clone(const char *name, unsigned long flags)
{
	char what[64];

	snprintf(what, sizeof(what), "clone-%s", name);
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0)
		_exit(0);
	got(what, pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
}

static void try_clone3(const char *name, unsigned long flags)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	char what[64];

	snprintf(what, sizeof(what), "clone3-%s", name);
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	got(what, pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, __WALL);
}

/* namespaces: new ones, in every way */
static int attack_namespaces(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(spaces); i++) {
		try_unshare(spaces[i].name, spaces[i].flag);
		if (spaces[i].flag != CLONE_NEWTIME) /* clone() reads that bit as part of the signal */
			try_clone(spaces[i].name, spaces[i].flag);
		try_clone3(spaces[i].name, spaces[i].flag);
	}
	try_unshare("user-upper", CLONE_NEWUSER | UPPER);
	try_clone("user-upper", CLONE_NEWUSER | UPPER);
	try_clone3("plain", 0);
	return 0;
}

/* setns: into the namespaces of others, by path and by pidfd */
static int attack_setns(int argc, char **argv)
{
	static const char *const names[] = { "user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(names); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		int fd = open(path, O_RDONLY);
		got(path, fd < 0 ? -1 : setns(fd, 0));
		snprintf(path, sizeof(path), "/proc/1/ns/%s", names[i]);
		fd = open(path, O_RDONLY);
		got(path, fd < 0 ? -1 : setns(fd, 0));
	}
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	got("pidfd-init", pidfd < 0 ? -1 : setns(pidfd, CLONE_NEWNS | CLONE_NEWNET));
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	got("pidfd-self", pidfd < 0 ? -1 : setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS));
	return 0;
}

#ifdef __x86_64__
static long int80(long number)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static long x32(long number)
{
	return syscall(0x40000000L | number);
}
#endif

/* foreign: system calls of other architectures, each in a child; foreign-here: in this process */
static int attack_foreign(int argc, char **argv)
{
	(void)argc, (void)argv;
#ifdef __x86_64__
	pid_t pid = fork();
	if (pid == 0)
		_exit(int80(20 /* getpid */) > 0 ? 1 : 2);
	got_child("int80-getpid", pid);
	pid = fork();
	if (pid == 0)
		_exit(int80(11 /* execve */) == -EFAULT ? 1 : 2);
	got_child("int80-execve", pid);
	pid = fork();
	if (pid == 0)
		_exit(x32(SYS_getpid) > 0 ? 1 : 2);
	got_child("x32-getpid", pid);
	pid = fork();
	if (pid == 0)
		_exit(x32(520 /* execve of x32 */) == -EFAULT ? 1 : 2);
	got_child("x32-execve", pid);
#endif
	return 0;
}

static int attack_foreign_here(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
#ifdef __x86_64__
	int80(20);
#else
	raise(SIGSYS);
#endif
	return 3;
}

/* io_uring: all three calls */
static int attack_io_uring(int argc, char **argv)
{
	char params[256] = { 0 };

	(void)argc, (void)argv;
	got("setup", syscall(SYS_io_uring_setup, 8, params));
	got("enter", syscall(SYS_io_uring_enter, 0, 1, 1, 0, NULL, 0));
	got("register", syscall(SYS_io_uring_register, 0, 0, NULL, 0));
	return 0;
}

/* unknown: numbers no kernel has yet */
static int attack_unknown(int argc, char **argv)
{
	int other = 0, first = 0;

	(void)argc, (void)argv;
	for (int number = 520; number < 4096; number++) {
		if (syscall(number, 0, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS)
			continue;
		if (!other++)
			first = number;
	}
	got_number("other-than-enosys", other);
	got_number("first", first);
	got("huge", syscall(0x3fffffff));
	return 0;
}

/* keys NAME: the kernel's keyring, which not every namespace divides */
static int attack_keys(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	got("add_key", syscall(SYS_add_key, "user", argv[0], "secret", 6, -3 /* session */));
	got("add_key-user", syscall(SYS_add_key, "user", argv[0], "secret", 6, -4));
	got("request_key", syscall(SYS_request_key, "user", argv[0], NULL, 0));
	got("keyctl-session", syscall(SYS_keyctl, 0 /* GET_KEYRING_ID */, -3, 0));
	got("keyctl-join", syscall(SYS_keyctl, 1 /* JOIN_SESSION_KEYRING */, NULL));
	got("keyctl-search", syscall(SYS_keyctl, 10 /* SEARCH */, -4, "user", argv[0], 0));
	return 0;
}

static void try_debugging(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1 };
	struct perf_event_attr perf = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(perf), .exclude_kernel = 1 };
	char space[64];
	struct iovec here = { space, sizeof(space) }, there = { (void *)0x400000, sizeof(space) };

	got("bpf-map", syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
	got("bpf-load", syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
	got("perf_event_open", syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0));
	got("userfaultfd", syscall(SYS_userfaultfd, 0));
	got("userfaultfd-user", syscall(SYS_userfaultfd, 1 /* USER_MODE_ONLY */));
	got("process_vm_readv", syscall(SYS_process_vm_readv, 1, &here, 1, &there, 1, 0));
	got("process_vm_writev", syscall(SYS_process_vm_writev, 1, &here, 1, &there, 1, 0));
	got("kcmp", syscall(SYS_kcmp, getpid(), 1, 0, 0, 0));
	got("ptrace-attach", ptrace(PTRACE_ATTACH, 1, NULL, NULL));
	got("ptrace-seize", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	int pidfd = (int)syscall(SYS_pidfd_open, 1, 0);
	got("pidfd_getfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	got("process_madvise", pidfd < 0 ? -1 : syscall(SYS_process_madvise, pidfd, &there, 1, 21, 0));
	got("pidfd_getfd-upper", syscall(SYS_pidfd_getfd, (unsigned long)pidfd | UPPER, 0, 0));
}

static void try_machine(void)
{
	struct timespec epoch = { 0 };
	struct timex adjust = { .modes = ADJ_OFFSET };

	got("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	got("kexec_file_load", syscall(SYS_kexec_file_load, 0, 0, 0, NULL, 0));
	got("init_module", syscall(SYS_init_module, NULL, 0, ""));
	got("finit_module", syscall(SYS_finit_module, 0, "", 0));
	got("delete_module", syscall(SYS_delete_module, "loop", O_NONBLOCK));
	got("reboot", syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL)); /* CAD_OFF: harmless if it works */
	got("swapon", syscall(SYS_swapon, "/workspace/swap", 0));
	got("swapoff", syscall(SYS_swapoff, "/workspace/swap"));
	got("acct", syscall(SYS_acct, NULL));
	got("quotactl", syscall(SYS_quotactl, 0x800007 << 8, "/dev/vda", 0, NULL));
	got("syslog", syscall(SYS_syslog, 3, NULL, 0));
	got("settimeofday", syscall(SYS_settimeofday, NULL, NULL));
	got("clock_settime", syscall(SYS_clock_settime, 0, &epoch));
	got("adjtimex", syscall(SYS_adjtimex, &adjust));
	got("sethostname", syscall(SYS_sethostname, "owned", 5));
	got("setdomainname", syscall(SYS_setdomainname, "owned", 5));
	got("vhangup", syscall(SYS_vhangup));
	got("fanotify_init", syscall(SYS_fanotify_init, 0, 0));
	got("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
	got("nice-down", setpriority(PRIO_PROCESS, 0, -20));
#ifdef __x86_64__
	got("iopl", syscall(SYS_iopl, 3));
	got("ioperm", syscall(SYS_ioperm, 0x60, 1, 1));
	got("modify_ldt", syscall(SYS_modify_ldt, 1, NULL, 0));
#endif
}

static void try_privileges(void)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };
	uint32_t all[6] = { ~0u, ~0u, ~0u, ~0u, ~0u, ~0u };

	got("capset", syscall(SYS_capset, &header, all));
	got("setuid-0", setuid(0));
	got("setresuid-0", setresuid(0, 0, 0));
	got("setgid-0", setgid(0));
	got("setgroups", syscall(SYS_setgroups, 1, &(gid_t){ 0 }));
	got("setfsuid-0", setfsuid(0) < 0 || setfsuid(0) != 0 ? (errno = EPERM, -1) : 0);
	got("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	got("no-new-privs-off", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	got("seccomp-off", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
	got("subreaper-mm", prctl(PR_SET_MM, 8 /* PR_SET_MM_ARG_START */, 0, 0, 0));
}

/* surface: one try of each */
static int attack_surface(int argc, char **argv)
{
	(void)argc, (void)argv;
	try_debugging();
	try_machine();
	try_privileges();
	got_number("no-new-privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	return 0;
}

/* sockets: families that must not be had, also with the upper half of the argument set */
static int attack_sockets(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long family;
		int type, protocol;
	} tries[] = {
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "vsock-upper", AF_VSOCK | UPPER, SOCK_STREAM, 0 },
		{ "packet", AF_PACKET, SOCK_RAW, 0x300 },
		{ "packet-dgram", AF_PACKET, SOCK_DGRAM, 0x300 },
		{ "raw4", AF_INET, SOCK_RAW, 1 },
		{ "raw6", AF_INET6, SOCK_RAW, 58 },
		{ "raw4-cloexec", AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255 },
		{ "netlink-route", AF_NETLINK, SOCK_RAW, NETLINK_ROUTE },
		{ "netlink-netfilter", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER },
		{ "netlink-upper", AF_NETLINK | UPPER, SOCK_DGRAM, NETLINK_NETFILTER },
		{ "netlink-audit", AF_NETLINK, SOCK_RAW, NETLINK_AUDIT },
		{ "netlink-uevent", AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT },
		{ "xdp", 44, SOCK_RAW, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "key", AF_KEY, SOCK_RAW, 2 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 1 },
		{ "can", AF_CAN, SOCK_RAW, 1 },
		{ "tipc", AF_TIPC, SOCK_STREAM, 0 },
		{ "rds", AF_RDS, SOCK_SEQPACKET, 0 },
		{ "smc", 43, SOCK_STREAM, 0 },
		{ "kcm", 41, SOCK_DGRAM, 0 },
		{ "rxrpc", AF_RXRPC, SOCK_DGRAM, 2 },
		{ "nfc", AF_NFC, SOCK_SEQPACKET, 0 },
		{ "qipcrtr", 42, SOCK_DGRAM, 0 },
		{ "ax25", AF_AX25, SOCK_DGRAM, 0 },
		{ "appletalk", AF_APPLETALK, SOCK_DGRAM, 0 },
		{ "llc", 26, SOCK_STREAM, 0 },
		{ "mctp", 45, SOCK_DGRAM, 0 },
		{ "sctp", AF_INET, SOCK_STREAM, 132 },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "unix", AF_UNIX, SOCK_STREAM, 0 },
		{ "tcp4", AF_INET, SOCK_STREAM, 0 },
		{ "udp4", AF_INET, SOCK_DGRAM, 0 },
		{ "tcp6", AF_INET6, SOCK_STREAM, 0 },
	};

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(tries); i++) {
		long fd = syscall(SYS_socket, tries[i].family, tries[i].type, tries[i].protocol);

		got(tries[i].name, fd);
		if (fd >= 0)
			close((int)fd);
	}
	return 0;
}

static int abstract(const char *name, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "%s", name);
	return (int)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

/* abstract NAME: call an abstract unix socket; abstract-listen NAME: be one */
static int attack_abstract(int argc, char **argv)
{
	struct sockaddr_un address;

	if (argc != 1)
		return 99;
	int len = abstract(argv[0], &address), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	got("connect", connect(fd, (struct sockaddr *)&address, (socklen_t)len));
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	got("send", sendto(fd, "x", 1, 0, (struct sockaddr *)&address, (socklen_t)len));
	return 0;
}

static int attack_abstract_listen(int argc, char **argv)
{
	struct sockaddr_un address;

	if (argc != 1)
		return 99;
	int len = abstract(argv[0], &address), fd = socket(AF_UNIX, SOCK_STREAM, 0);
	got("bind", bind(fd, (struct sockaddr *)&address, (socklen_t)len));
	got("listen", listen(fd, 1));
	ready();
	sleep_forever();
	return 0;
}

/* connect PORT: straight out, ignoring every proxy; and to the host's loopback */
static int attack_connect(int argc, char **argv)
{
	static const char *const hosts[] = { "127.0.0.1", "1.1.1.1", "10.0.0.1", "169.254.169.254", "192.168.0.1" };
	int port = argc > 0 ? atoi(argv[0]) : 80;

	for (size_t i = 0; i < COUNT(hosts); i++) {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		inet_pton(AF_INET, hosts[i], &address.sin_addr);
		got(hosts[i], fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof(address)));
		close(fd);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		char what[64];
		snprintf(what, sizeof(what), "udp-%s", hosts[i]);
		got(what, sendto(fd, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)));
		close(fd);
	}
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	inet_pton(AF_INET6, "2606:4700:4700::1111", &six.sin6_addr);
	got("ip6", fd < 0 ? -1 : connect(fd, (struct sockaddr *)&six, sizeof(six)));
	return 0;
}

/* loopback: our own loopback works; interfaces in sight */
static int attack_loopback(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	char line[512], name[64];
	FILE *devices = fopen("/proc/net/dev", "r");

	(void)argc, (void)argv;
	got("bind", bind(server, (struct sockaddr *)&address, sizeof(address)));
	got("listen", listen(server, 1));
	getsockname(server, (struct sockaddr *)&address, &len);
	got("connect", connect(client, (struct sockaddr *)&address, sizeof(address)));
	got("devices", devices ? 0 : -1);
	while (devices && fgets(line, sizeof(line), devices))
		if (sscanf(line, " %63[^: ]:", name) == 1 && strchr(line, ':'))
			got_text(name, "interface");
	return 0;
}

/* storm: many processes that do nothing but ask for what is refused, for ever */
static int attack_storm(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
	for (int i = 0; i < 5; i++)
		(void)fork();
	for (;;)
		(void)syscall(SYS_unshare, CLONE_NEWUSER);
	return 0;
}

/* refused N: calls that are refused and counted, N times each */
static int attack_refused(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 3;

	for (int i = 0; i < count; i++) {
		got("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
		got("bpf", syscall(SYS_bpf, 0, NULL, 0));
		got("packet", syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0));
	}
	return 0;
}

const struct attack kernel_attacks[] = {
	{ "namespaces", attack_namespaces }, { "setns", attack_setns },
	{ "foreign", attack_foreign },	     { "foreign-here", attack_foreign_here },
	{ "io_uring", attack_io_uring },     { "unknown", attack_unknown },
	{ "keys", attack_keys },	     { "surface", attack_surface },
	{ "sockets", attack_sockets },	     { "abstract", attack_abstract },
	{ "abstract-listen", attack_abstract_listen }, { "connect", attack_connect },
	{ "loopback", attack_loopback },     { "refused", attack_refused },
	{ "storm", attack_storm },
	{ 0 },
};
