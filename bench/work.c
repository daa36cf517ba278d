/* Work that is timed by itself, from within: how much slower it is inside a cell is what the cell's
 * protections cost a program that is running. It is done once for each byte of stdin; each time prints nanoseconds.
 *
 *	work syscalls COUNT	rounds of: stat, open, read and close of a small file, a write to /dev/null, getpid
 *	work programs COUNT	rounds of: find, du and tar over the machine's headers, as they are
 *	work search COUNT	rounds of: grep through the machine's headers
 *	work starts COUNT	rounds of: a shell that starts 50 programs, one after another
 *	work getpid COUNT	the cheapest call alone: the filter's price and nothing to hide it
 *	work cpu COUNT		rounds of integer hashing, no calls
 *	work sleep 0		prints a line and sleeps until killed, unasked: a live cell
 *
 * A third argument "filtered" first loads a system call filter that allows everything: the floor below which no sandbox
 * with any filter at all can be; "guarded", Landlock's rules for writing files as well, as a cell has
 * them that is shown a folder. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* On every Debian and in every cell on the host image: the same files under the same names. */
#define STAT_PATH "/usr/bin/env"
#define READ_PATH "/usr/lib/os-release"

static uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int do_syscalls(unsigned long count)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	char text[4096];
	struct stat st;

	for (unsigned long i = 0; i < count; i++) {
		int fd = open(READ_PATH, O_RDONLY | O_CLOEXEC);
		ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text));
		if (got <= 0 || close(fd) < 0 || stat(STAT_PATH, &st) < 0 ||
			write(null, text, (size_t)got) < 0)
			return -1;
		(void)syscall(SYS_getpid);
	}
	return 0;
}

/* tar reads nothing where it writes to /dev/null: it writes to /dev/zero, which takes as much and keeps as little. */
#define PROGRAMS "find /usr/include -size +9M; du -s /usr/include; tar -cf /dev/zero /usr/include"
#define SEARCH "grep -r zzyzx /usr/include; :"
#define STARTS "i=0; while [ $i -lt 50 ]; do /usr/bin/env true; i=$((i + 1)); done"

static int do_script(const char *script, unsigned long count)
{
	const char *const argv[] = {"/bin/sh", "-c", script, NULL}, *const env[] = {"PATH=/usr/bin:/bin", NULL};
	posix_spawn_file_actions_t actions;
	int status = 0;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return -1;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	for (unsigned long i = 0; i < count && status == 0; i++) {
		if (posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, (char *const *)env) != 0 || waitpid(pid, &status, 0) != pid)
			status = -1;
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return status == 0 ? 0 : -1;
}

static int do_programs(unsigned long count)
{
	return do_script(PROGRAMS, count);
}

static int do_search(unsigned long count)
{
	return do_script(SEARCH, count);
}

static int do_starts(unsigned long count)
{
	return do_script(STARTS, count);
}

static int do_getpid(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		(void)syscall(SYS_getpid);
	return 0;
}

static int do_cpu(unsigned long count)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (unsigned long i = 0; i < count; i++) {
		hash = (hash ^ i) * UINT64_C(0x100000001b3);
		hash ^= hash >> 29;
	}
	return hash == 0; /* so that the loop cannot be left out */
}

static int do_sleep(void)
{
	(void)!write(STDOUT_FILENO, "live\n", 5);
	while (pause() < 0)
		; /* a signal that is handled is no reason to end */
	return 0;
}

static const struct {
	const char *name;
	int (*run)(unsigned long count);
} kinds[] = {{"syscalls", do_syscalls}, {"programs", do_programs}, {"search", do_search}, {"starts", do_starts}, {"getpid", do_getpid}, {"cpu", do_cpu}};

static int filter_everything_allowed(void)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog filter = {.len = 1, .filter = allow};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
		? -1
		: prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* Writing is ruled, reading is not. A kernel without Landlock has no price for it. */
static int rule_writing(void)
{
	static const char *const writable[] = {"/tmp", "/dev"};
	uint64_t access = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;
	int rules = (int)syscall(SYS_landlock_create_ruleset, &(struct landlock_ruleset_attr){.handled_access_fs = access},
		sizeof(uint64_t), 0);

	if (rules < 0)
		return 0;
	for (size_t i = 0; i < sizeof(writable) / sizeof(*writable); i++) {
		struct landlock_path_beneath_attr rule = {access, open(writable[i], O_PATH | O_CLOEXEC)};
		if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
			return -1;
	}
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : (int)syscall(SYS_landlock_restrict_self, rules, 0);
}

static int answer(int (*run)(unsigned long count), unsigned long count)
{
	char byte, text[32];

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		uint64_t start = now_ns();
		if (run(count) < 0)
			return -1;
		int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(now_ns() - start));
		if (write(STDOUT_FILENO, text, (size_t)len) != len)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *under = argc == 4 ? argv[3] : "";

	if ((strcmp(under, "guarded") == 0 && rule_writing() < 0) || (*under && filter_everything_allowed() < 0)) {
		perror(under);
		return 1;
	}
	if (argc >= 3 && strcmp(argv[1], "sleep") == 0)
		return do_sleep();
	for (size_t i = 0; argc >= 3 && i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		if (answer(kinds[i].run, strtoul(argv[2], NULL, 10)) < 0) {
			perror(argv[1]);
			return 1;
		}
		return 0;
	}
	fputs("usage: work syscalls|programs|search|starts|getpid|cpu|sleep COUNT [filtered|guarded]\n", stderr);
	return 2;
}
