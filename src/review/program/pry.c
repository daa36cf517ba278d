/* At other processes: signals to them, their memory and descriptors, all that /proc and /sys tell, and hiding from who
 * looks for us. */
#include "review/program/hostile.h"

#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>

extern char **environ;

/* ---- signals ---- */

static void signal_directly(pid_t pid, int number)
{
	siginfo_t info = { .si_code = SI_QUEUE, .si_signo = number };
	char what[64];
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct {
		const char *name;
		long rc;
		int error;
	} tries[] = {
		{ "kill", kill(pid, number), errno },
		{ "group", kill(-pid, number), errno },
		{ "tkill", syscall(SYS_tkill, pid, number), errno },
		{ "tgkill", syscall(SYS_tgkill, pid, pid, number), errno },
		{ "queue", syscall(SYS_rt_sigqueueinfo, pid, number, &info), errno },
		{ "tgqueue", syscall(SYS_rt_tgsigqueueinfo, pid, pid, number, &info), errno },
		{ "pidfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0), pidfd < 0 ? ESRCH : errno },
	};

	for (size_t i = 0; i < COUNT(tries); i++) {
		errno = tries[i].error;
		snprintf(what, sizeof(what), "%s-%d", tries[i].name, number);
		got_refused(what, tries[i].rc, ESRCH);
	}
	if (pidfd >= 0)
		close(pidfd);
}

/* By somebody else's hand: the owner of a descriptor, the thread of a timer. */
static void signal_indirectly(pid_t pid)
{
	struct sigevent event = { .sigev_notify = 4 /* THREAD_ID */, .sigev_signo = SIGUSR1 };
	int pair[2];
	timer_t timer;

	event._sigev_un._tid = pid;
	got("timer", timer_create(CLOCK_MONOTONIC, &event, &timer));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	(void)fcntl(pair[0], F_SETSIG, SIGUSR2);
	(void)fcntl(pair[0], F_SETOWN, pid);
	(void)ioctl(pair[0], 0x8901 /* FIOSETOWN */, &pid);
	(void)fcntl(pair[0], F_SETFL, O_ASYNC);
	(void)!write(pair[1], "x", 1);
	(void)!send(pair[1], "x", 1, MSG_OOB);
}

/* signal PID: every signal in every way; gently, only such as do no harm */
static int attack_signal(int argc, char **argv)
{
	pid_t pid = argc == 1 ? atoi(argv[0]) : 0;

	if (pid <= 1)
		return 99;
	for (int number = 0; number < 65; number++) {
		if (gentle() && number != 0 && number != SIGUSR1 && number != SIGWINCH)
			continue;
		signal_directly(pid, number);
	}
	signal_indirectly(pid);
	return 0;
}

/* ---- memory and descriptors ---- */

/* What stands in these bytes behind the name of the variable that must not be found; in hexadecimal. */
static void show_secret(const char *what, const char *bytes, size_t len)
{
	static const char name[] = "REVIEW_TOKEN=";

	for (const char *at = bytes; (at = memmem(at, len - (size_t)(at - bytes), name, sizeof(name) - 1)); at++) {
		size_t left = len - (size_t)(at - bytes);
		printf("%s secret-", what);
		for (size_t i = sizeof(name) - 1; i < sizeof(name) + 31 && i < left; i++)
			printf("%02x", (unsigned char)at[i]);
		printf("\n");
	}
	fflush(stdout);
}

/* Its writable memory, by each of three ways. */
static void read_memory(pid_t pid)
{
	static char page[1 << 20];
	char path[64], line[512], flags[8];
	unsigned long from, to;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	int mem = open(path, O_RDONLY);
	got("mem", mem);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "r");
	got("maps", maps ? 0 : -1);
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, flags) != 3 || flags[1] != 'w')
			continue;
		for (; from < to; from += sizeof(page)) {
			size_t want = to - from < sizeof(page) ? to - from : sizeof(page);
			struct iovec here = { page, want }, there = { (void *)from, want };
			ssize_t len = pread(mem, page, want, (off_t)from);
			if (len > 0)
				show_secret("mem", page, (size_t)len);
			len = syscall(SYS_process_vm_readv, pid, &here, 1, &there, 1, 0);
			if (len > 0)
				show_secret("process_vm_readv", page, (size_t)len);
		}
	}
	if (maps)
		fclose(maps);
}

/* memory PID: into a process that is not ours */
static int attack_memory(int argc, char **argv)
{
	pid_t pid = argc == 1 ? atoi(argv[0]) : 0;
	struct rlimit limit;
	char what[64];
	cpu_set_t cpus;
	void *page = NULL;
	size_t len;

	if (pid <= 1)
		return 99;
	read_memory(pid);
	got_refused("getsid", getsid(pid), ESRCH);
	got_refused("getpgid", getpgid(pid), ESRCH);
	got_refused("getpriority", getpriority(PRIO_PROCESS, (id_t)pid), ESRCH);
	got_refused("affinity", sched_getaffinity(pid, sizeof(cpus), &cpus), ESRCH);
	got_refused("prlimit", prlimit(pid, RLIMIT_NOFILE, NULL, &limit), ESRCH);
	got_refused("robust-list", syscall(SYS_get_robust_list, pid, &page, &len), ESRCH);
	got("kcmp", syscall(SYS_kcmp, getpid(), pid, 0, 0, 0));
	got("move_pages", syscall(SYS_move_pages, pid, 1, &page, NULL, &(int){ 0 }, 0));
	long seized = ptrace(PTRACE_SEIZE, pid, NULL, NULL);
	got_refused("ptrace-seize", seized, ESRCH);
	if (seized == 0)
		(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	got("pidfd_open", pidfd);
	for (int fd = 0; fd < 16; fd++) {
		snprintf(what, sizeof(what), "pidfd_getfd-%d", fd);
		got(what, pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, fd, 0));
	}
	return 0;
}

/* init: what /proc tells of the first process to nobody but itself */
static int attack_init(int argc, char **argv)
{
	static const char *const files[] = { "environ", "maps", "smaps", "mem", "auxv", "fd", "fdinfo", "map_files", "root/.",
		"cwd/.", "exe", "stack", "syscall", "io", "personality", "pagemap", "ns/mnt", "ns/user", "ns/pid", "ns/net",
		"task/1/environ", "task/1/mem", "attr/../mem", "../1/fd" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(files); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/1/%s", files[i]);
		got(path, open(path, O_RDONLY | O_NONBLOCK));
	}
	return 0;
}

/* ---- all files ---- */

static unsigned files_read, files_pids;

static bool is_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

/* Tokens have the shape of 32 such digits; names of the host's processes begin in a way we know. */
static void show_tokens(const char *path, const char *bytes, size_t len)
{
	for (size_t at = 0, run = 0; at <= len; at++) {
		if (at < len && is_hex(bytes[at])) {
			run++;
			continue;
		}
		if (run == 32)
			printf("%s token-%.32s\n", path, bytes + at - run);
		run = 0;
	}
	const char *victim = memmem(bytes, len, "victim-", 7);
	if (victim)
		printf("%s %.*s\n", path, (int)strspn(victim, "victim-0123456789abcdef"), victim);
}

static void read_file(const char *path)
{
	static char bytes[256 * 1024 + 1];
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

	files_read++;
	if (len > 0) {
		bytes[len] = '\0';
		show_tokens(path, bytes, (size_t)len);
	}
	if (fd >= 0)
		close(fd);
}

/* Opened only: nothing is written. What covers a file may be: it is /dev/null. Times are no write for Landlock. */
static void write_file(const char *path)
{
	static const struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	struct stat st;
	char what[1100];
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		got_text(path, "null");
	else
		got(path, fd);
	if (fd >= 0)
		close(fd);
	snprintf(what, sizeof(what), "touch-%s", path);
	if (strncmp(path, "/proc/self/", 11) == 0)
		got(what, utimensat(AT_FDCWD, path, now, 0));
}

/* Descriptors are what they are without /proc; of many threads and processes one is like the other. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = { "fd", "map_files", "task", "thread-self", "cwd", "root" };

	for (size_t i = 0; i < COUNT(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void walk(const char *path, void (*fn)(const char *), int depth)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char below[1024];
		struct stat st;

		if (entry->d_name[0] == '.' || is_left_out(entry->d_name))
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (lstat(below, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			walk(below, fn, depth - 1);
		else if (S_ISREG(st.st_mode))
			fn(below);
	}
	if (dir)
		closedir(dir);
}

static void count_pids(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		files_pids += isdigit((unsigned char)entry->d_name[0]) != 0;
	if (dir)
		closedir(dir);
}

/* read PID: every file of /proc and /sys, for what is none of ours; PID: a process that should not be there */
static int attack_read(int argc, char **argv)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", argc == 1 ? atoi(argv[0]) : 1);
	walk(path, read_file, 1);
	if (gentle()) { /* where there may be many */
		walk("/proc", read_file, 0);
		walk("/proc/self", read_file, 1);
	} else {
		walk("/proc", read_file, 8);
		walk("/sys", read_file, 8);
	}
	count_pids();
	got_number("files", files_read);
	got_number("pids", files_pids);
	return 0;
}

/* write: every file of /proc and /sys; where it is no cell's, only our own and such as opening does nothing to */
static int attack_write(int argc, char **argv)
{
	(void)argc, (void)argv;
	walk("/proc/self", write_file, 2);
	walk(gentle() ? "/proc/sys/kernel" : "/proc", write_file, gentle() ? 0 : 8);
	if (!gentle())
		walk("/sys", write_file, 8);
	return hold();
}

/* ---- hiding ---- */

static void *stay_alone(void *unused)
{
	(void)unused;
	sleep_forever();
	return NULL;
}

/* Without the words by which we are found, unless nobody else would end us. */
static void wipe(void)
{
	if (!gentle() && environ[0] > program_invocation_name)
		memset(program_invocation_name, 0, (size_t)(environ[0] - program_invocation_name));
	(void)prctl(PR_SET_NAME, "kworker/0:0");
	(void)prctl(PR_SET_PDEATHSIG, 0);
	for (int number = 1; number < 65; number++)
		(void)signal(number, SIG_IGN);
	(void)setsid();
}

/* hide: an orphan, one under another reaper, one whose first thread is gone, one that is traced and stopped, one that is
 * stopped, one whose parent waits in vfork for ever */
static int attack_hide(int argc, char **argv)
{
	pthread_t thread;

	(void)argc, (void)argv;
	for (volatile int kind = 0; kind < 6; kind++) {
		if (fork() != 0)
			continue;
		if (kind == 1)
			(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		if (kind < 2 && fork() != 0 && kind == 0)
			_exit(0);
		if (kind == 5 && vfork() == 0)
			sleep_forever();
		wipe();
		if (kind == 2 && !gentle() && pthread_create(&thread, NULL, stay_alone, NULL) == 0)
			pthread_exit(NULL);
		if (kind == 3 && fork() == 0) {
			(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			raise(SIGSTOP);
		}
		if (kind == 4)
			raise(SIGSTOP);
		for (;;)
			pause();
	}
	usleep(50000); /* until they are what they want to be */
	got_number("hidden", 6);
	return hold();
}

const struct attack pry_attacks[] = {
	{ "signal", attack_signal }, { "memory", attack_memory }, { "init", attack_init }, { "read", attack_read },
	{ "write", attack_write },   { "hide", attack_hide },
	{ 0 },
};
