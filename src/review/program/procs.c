/* Proc, descriptors, tty and signals: see the host's processes, keep a terminal, outlive the end. */
#include "review/program/hostile.h"

#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <time.h>

extern char **environ;

static void ignore_all(void)
{
	for (int signal = 1; signal < 65; signal++)
		(void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
}

static void show_file(const char *what, const char *path)
{
	char data[65536], line[256];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t len = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (len < 0) {
		got(what, -1);
	} else {
		for (ssize_t i = 0; i < len; i++)
			if (data[i] == '\n' || data[i] == '\0')
				data[i] = '|';
		snprintf(line, sizeof(line), "%s ", what);
		fputs(line, stdout);
		fwrite(data, 1, (size_t)len, stdout);
		fputs("\n", stdout);
	}
	if (fd >= 0)
		close(fd);
}

/* scan: every process in sight with its name, command line, environment and root */
static int attack_scan(int argc, char **argv)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	(void)argc, (void)argv;
	while (proc && (entry = readdir(proc))) {
		static const char *const files[] = { "comm", "cmdline", "environ" };

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		got_text("pid", entry->d_name);
		for (size_t i = 0; i < COUNT(files); i++) {
			char path[512], what[300];

			snprintf(path, sizeof(path), "/proc/%.200s/%s", entry->d_name, files[i]);
			snprintf(what, sizeof(what), "%s-%.200s", files[i], entry->d_name);
			show_file(what, path);
		}
	}
	return 0;
}

/* tune: write the kernel's knobs */
static int attack_tune(int argc, char **argv)
{
	static const char *const knobs[] = {
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/kernel/modprobe",
		"/proc/sys/kernel/ns_last_pid", "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/shmmax",
		"/proc/sys/vm/drop_caches", "/proc/sys/vm/overcommit_memory", "/proc/sys/net/ipv4/ip_forward",
		"/proc/sys/fs/file-max", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/user/max_user_namespaces",
		"/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/acpi/wakeup",
		"/proc/1/oom_score_adj", "/proc/1/uid_map", "/proc/1/mem", "/proc/self/uid_map",
		"/proc/self/gid_map", "/proc/self/setgroups", "/proc/self/oom_score_adj", "/proc/self/attr/exec",
		"/proc/bus/pci/00/00.0", "/proc/kcore", "/sys/kernel/uevent_helper", "/sys/power/state",
		"/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs",
	};

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(knobs); i++)
		got(knobs[i], open(knobs[i], O_WRONLY));
	return 0;
}

/* masked: files of /proc that tell about the kernel and the machine; the bytes read */
static int attack_masked(int argc, char **argv)
{
	static const char *const files[] = {
		"/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/key-users", "/proc/timer_list",
		"/proc/sched_debug", "/proc/kmsg", "/proc/latency_stats", "/proc/sysrq-trigger", "/proc/vmallocinfo",
		"/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/slabinfo", "/proc/pagetypeinfo",
		"/proc/scsi/scsi", "/proc/acpi/wakeup", "/sys/kernel/notes", "/sys/firmware/memmap",
		"/sys/kernel/debug/sched/debug", "/sys/kernel/tracing/trace", "/sys/class/net/eth0/address",
		"/proc/cmdline",
	};
	char id[40] = "";

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(files); i++) {
		char data[4096];
		int fd = open(files[i], O_RDONLY | O_NONBLOCK);
		ssize_t len = fd < 0 ? -1 : read(fd, data, sizeof(data));

		if (len < 0)
			got(files[i], -1);
		else
			got_number(files[i], len);
	}
	(void)!read(open("/proc/sys/kernel/random/boot_id", O_RDONLY), id, 36);
	got_text("boot-id", id[0] != '\0' ? id : "none");
	return 0;
}

/* tiocsti: push characters into a terminal, with the request's upper half set too */
static int attack_tiocsti(int argc, char **argv)
{
	static const unsigned long requests[] = { TIOCSTI, TIOCSTI | (1UL << 32), TIOCLINUX,
		TIOCLINUX | (1UL << 32), TIOCCONS };
	int tty = open("/dev/tty", O_RDWR);

	(void)argc, (void)argv;
	got("open-tty", tty);
	for (size_t i = 0; i < COUNT(requests); i++) {
		for (int fd = 0; fd < 3; fd++) {
			char what[64], byte = 'X';

			snprintf(what, sizeof(what), "fd%d-%#lx", fd, requests[i]);
			got(what, syscall(SYS_ioctl, fd, requests[i], &byte));
		}
		if (tty >= 0) {
			char what[64], byte = 'X';

			snprintf(what, sizeof(what), "tty-%#lx", requests[i]);
			got(what, syscall(SYS_ioctl, tty, requests[i], &byte));
		}
	}
	got("steal-tty", ioctl(0, TIOCSCTTY, 1));
	return 0;
}

/* tty: what the terminal is */
static int attack_tty(int argc, char **argv)
{
	struct winsize size = { 0 };

	(void)argc, (void)argv;
	for (int fd = 0; fd < 3; fd++) {
		char what[16];

		snprintf(what, sizeof(what), "isatty-%d", fd);
		got_number(what, isatty(fd));
	}
	got("dev-tty", open("/dev/tty", O_RDWR));
	got("winsize", ioctl(1, TIOCGWINSZ, &size));
	got_number("rows", size.ws_row);
	got_number("columns", size.ws_col);
	got_number("own-session", getsid(0) == getpid());
	got_number("session", getsid(0));
	got_number("foreground", tcgetpgrp(0) == getpgrp());
	return 0;
}

static volatile sig_atomic_t resized;

static void on_resize(int signal)
{
	(void)signal;
	resized = 1;
}

/* resize: wait for a new window size and tell it */
static int attack_resize(int argc, char **argv)
{
	struct winsize size = { 0 };
	struct sigaction action = { .sa_handler = on_resize };

	(void)argc, (void)argv;
	sigaction(SIGWINCH, &action, NULL);
	ready();
	for (int i = 0; i < 500 && !resized; i++)
		usleep(10000);
	ioctl(0, TIOCGWINSZ, &size);
	got_number("rows", size.ws_row);
	got_number("columns", size.ws_col);
	return 0;
}

/* everyone SIGNAL: that signal to -1 and to every pid but our own */
static int attack_everyone(int argc, char **argv)
{
	int signal = argc > 0 ? atoi(argv[0]) : SIGKILL, reached = 0;

	ready();
	for (pid_t pid = 1; pid < 100000; pid++)
		if (pid != getpid() && kill(pid, signal) == 0)
			reached++;
	got_number("reached", reached);
	got("all", kill(-1, signal));
	got_number("parent", getppid());
	got("parent-signalled", kill(getppid(), signal));
	return 0;
}

/* tamper: make the cell's init slow, small and deaf, so that nobody ends us */
static int attack_tamper(int argc, char **argv)
{
	static const int resources[] = { RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_STACK };
	struct rlimit none = { 0, 0 };
	cpu_set_t cpus;

	(void)argc, (void)argv;
	ignore_all();
	for (size_t i = 0; i < COUNT(resources); i++)
		got("prlimit", prlimit(1, (__rlimit_resource_t)resources[i], &none, NULL));
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	got("affinity", sched_setaffinity(1, sizeof(cpus), &cpus));
	got("idle", sched_setscheduler(1, SCHED_IDLE, &(struct sched_param){ 0 }));
	got("nice", setpriority(PRIO_PROCESS, 1, 19));
	for (int signal = 1; signal < 65; signal++)
		(void)kill(1, signal);
	ready();
	for (int i = 0; i < 16; i++)
		if (fork() == 0)
			while (getppid() > 0)
				(void)kill(1, SIGCHLD);
	sleep_forever();
	return 0;
}

/* stop: stop ourselves and never go on */
static int attack_stop(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
	while (raise(SIGSTOP) == 0)
		;
	return 1;
}

/* freeze MARKER [MB]: stop all others as soon as they are there, until a line comes on stdin; then take that much memory, and stay */
static int attack_freeze(int argc, char **argv)
{
	const struct timespec moment = { 0, 15000 }; /* who has slept is let in where another is at work */
	struct pollfd told = { .fd = 0, .events = POLLIN };
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 0) << 20;

	if (gentle())
		return 1;
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_TIMERSLACK, 1);
	ready();
	while (poll(&told, 1, 0) == 0)
		for (int i = 0; i < 100; i++) {
			(void)kill(-1, SIGSTOP);
			nanosleep(&moment, NULL);
		}
	char *memory = size > 0 ? malloc(size) : NULL;
	if (memory != NULL)
		memset(memory, 1, size);
	got_text("taken", memory != NULL && memory[size / 2] == 1 ? "yes" : "no");
	sleep_forever();
	return 0;
}

/* stubborn [MARKER]: ignore every signal that can be ignored, and go on for ever */
static int attack_stubborn(int argc, char **argv)
{
	(void)argc, (void)argv;
	ignore_all();
	ready();
	sleep_forever();
	return 0;
}

/* A child in a session of its own, orphaned, not bound to its parent's life; says whether there is one. */
static void go_daemon(void)
{
	int born[2];
	pid_t pid = pipe(born) < 0 ? -1 : fork();

	if (pid < 0)
		got("fork", -1);
	if (pid != 0) {
		(void)waitpid(pid, NULL, 0);
		close(born[1]);
		got_number("daemons", read(born[0], &(char){ 0 }, 1));
		close(born[0]);
		return;
	}
	setsid();
	if (fork() != 0)
		_exit(0);
	prctl(PR_SET_PDEATHSIG, 0);
	prctl(PR_SET_NAME, "innocent");
	ignore_all();
	setsid();
	(void)!write(born[1], "", 1);
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	for (;;)
		sleep(1000);
}

/* daemon MARKER: leave a process behind and exit at once */
static int attack_daemon(int argc, char **argv)
{
	(void)argc, (void)argv;
	go_daemon();
	return 0;
}

/* holder MARKER: a child that keeps stdout open after its parent has gone */
static int attack_holder(int argc, char **argv)
{
	(void)argc, (void)argv;
	if (fork() == 0) {
		setsid();
		ignore_all();
		sleep_forever();
	}
	printf("parent done\n");
	return 7;
}

/* tree MARKER: a process, a child, an orphan in another session and a stopped one; all stay */
static int attack_tree(int argc, char **argv)
{
	(void)argc, (void)argv;
	go_daemon();
	if (fork() == 0) {
		ignore_all();
		sleep_forever();
	}
	if (fork() == 0)
		for (;;)
			raise(SIGSTOP);
	ignore_all();
	ready();
	sleep_forever();
	return 0;
}

/* zombies N: N orphans, then the zombies that are still in sight; N stay: for who looks from outside */
static int attack_zombies(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 200, failed = 0, zombies = 0, patience = 1000;

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		/* who is to reap them may have to wait for a processor */
		for (; pid < 0 && errno == EAGAIN && patience > 0; patience--) {
			usleep(1000);
			pid = fork();
		}

		if (pid == 0) {
			(void)fork();
			_exit(0);
		}
		if (pid < 0)
			failed++;
		else
			(void)waitpid(pid, NULL, 0);
	}
	usleep(200000);
	for (pid_t pid = 1; argc < 2 && pid < 100000; pid++) {
		char path[64], state = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		FILE *stat = fopen(path, "r");
		if (!stat)
			continue;
		if (fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state == 'Z')
			zombies++;
		fclose(stat);
	}
	got_number("failed", failed);
	got_number("zombies", zombies);
	return argc > 1 ? hold() : 0;
}

/* status: how the kernel describes us: credentials, filters, namespaces, cgroup, limits */
static int attack_status(int argc, char **argv)
{
	static const char *const spaces[] = { "user", "pid", "mnt", "net", "ipc", "uts", "cgroup" };
	static const struct {
		const char *name;
		int resource;
	} limits[] = {
		{ "limit-core", RLIMIT_CORE }, { "limit-fsize", RLIMIT_FSIZE }, { "limit-nofile", RLIMIT_NOFILE },
		{ "limit-nproc", RLIMIT_NPROC }, { "limit-memlock", RLIMIT_MEMLOCK }, { "limit-as", RLIMIT_AS },
	};
	char line[512], key[64], value[256];
	FILE *status = fopen("/proc/self/status", "r");

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "%63[^:]: %255[^\n]", key, value) != 2)
			continue;
		for (char *c = value; *c; c++)
			if (*c == '\t' || *c == ' ')
				*c = ',';
		got_text(key, value);
	}
	for (size_t i = 0; i < COUNT(spaces); i++) {
		char path[64], target[128] = "";

		snprintf(path, sizeof(path), "/proc/self/ns/%s", spaces[i]);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			snprintf(target, sizeof(target), "%s", strerrorname_np(errno));
		snprintf(key, sizeof(key), "ns-%s", spaces[i]);
		got_text(key, target);
	}
	for (size_t i = 0; i < COUNT(limits); i++) {
		struct rlimit limit;

		getrlimit((__rlimit_resource_t)limits[i].resource, &limit);
		got_number(limits[i].name, (long long)limit.rlim_max);
	}
	show_file("cgroup", "/proc/self/cgroup");
	gethostname(value, sizeof(value));
	got_text("hostname", value);
	if (argc > 0 && strcmp(argv[0], "stay") == 0) {
		ready();
		sleep_forever();
	}
	return 0;
}

/* env: the environment, one variable after another, each ended by NUL */
static int attack_env(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (char **variable = environ; *variable; variable++)
		fwrite(*variable, 1, strlen(*variable) + 1, stdout);
	return 0;
}

/* args: our arguments, each ended by NUL */
static int attack_args(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		fwrite(argv[i], 1, strlen(argv[i]) + 1, stdout);
	return 0;
}

/* signals: what of the caller's signal state came along */
static int attack_signals(int argc, char **argv)
{
	sigset_t blocked;
	int count = 0, ignored = 0;

	(void)argc, (void)argv;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int signal = 1; signal < 65; signal++) {
		struct sigaction action = { 0 };

		count += sigismember(&blocked, signal) == 1;
		if (sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			ignored++;
	}
	got_number("blocked", count);
	got_number("ignored", ignored);
	return 0;
}

/* die SIGNAL: end by it;  exit CODE: end with it */
static int attack_die(int argc, char **argv)
{
	raise(argc > 0 ? atoi(argv[0]) : SIGKILL);
	return 98;
}

static int attack_exit(int argc, char **argv)
{
	return argc > 0 ? atoi(argv[0]) : 0;
}

/* stay [MARKER]: say so, and stay until ended */
static int attack_stay(int argc, char **argv)
{
	(void)argc, (void)argv;
	ready();
	sleep_forever();
	return 0;
}

/* echo: what comes in on stdin, line by line, as it comes */
static int attack_echo(int argc, char **argv)
{
	char line[4096];

	(void)argc, (void)argv;
	ready();
	while (fgets(line, sizeof(line), stdin)) {
		printf("got:%s", line);
		fflush(stdout);
	}
	printf("end\n");
	return 0;
}

const struct attack procs_attacks[] = {
	{ "scan", attack_scan },	 { "tune", attack_tune },     { "masked", attack_masked },
	{ "tiocsti", attack_tiocsti },	 { "tty", attack_tty },	      { "resize", attack_resize },
	{ "everyone", attack_everyone }, { "stop", attack_stop },     { "stubborn", attack_stubborn },
	{ "freeze", attack_freeze },
	{ "daemon", attack_daemon },	 { "holder", attack_holder }, { "tree", attack_tree },
	{ "zombies", attack_zombies },	 { "status", attack_status }, { "env", attack_env },
	{ "tamper", attack_tamper },	 { "args", attack_args },     { "die", attack_die },	      { "exit", attack_exit },
	{ "stay", attack_stay },	 { "echo", attack_echo },     { "signals", attack_signals },
	{ 0 },
};
