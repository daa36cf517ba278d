/* What every hostile program shares. It tries one thing after another and prints for each a line
 * "what RESULT", where RESULT is "ok", a number, or the name of an errno. The programs only tell
 * what they were told; the verdict is the observer's on the host. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct attack {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the first argument after the name */
};

static inline void got_text(const char *what, const char *result)
{
	printf("%s %s\n", what, result);
	fflush(stdout);
}

static inline void got(const char *what, long rc)
{
	const char *name = rc < 0 ? strerrorname_np(errno) : "ok";
	got_text(what, name ? name : "E?");
}

/* For what must be refused in one way only: any other error comes from the kernel behind the filter, which was reached. */
static inline void got_refused(const char *what, long rc, int error)
{
	char text[64];

	if (rc >= 0 || errno == error) {
		got(what, rc);
		return;
	}
	snprintf(text, sizeof(text), "reached-%s", strerrorname_np(errno) ? strerrorname_np(errno) : "E?");
	got_text(what, text);
}

static inline void got_number(const char *what, long long number)
{
	printf("%s %lld\n", what, number);
	fflush(stdout);
}

/* How a child ended: "exit 3", "signal 31". */
static inline void got_child(const char *what, pid_t pid)
{
	int status = 0;
	char text[32];

	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		got(what, -1);
		return;
	}
	if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal-%d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "exit-%d", WEXITSTATUS(status));
	got_text(what, text);
}

static inline void ready(void)
{
	printf("ready\n");
	fflush(stdout);
}

/* For an observer's look: until the file is there, at most five seconds. */
static inline void wait_for(const char *file)
{
	ready();
	for (int i = 0; i < 500 && access(file, F_OK) < 0; i++)
		usleep(10000);
}

static inline void sleep_forever(void)
{
	for (;;)
		pause();
}

/* For who looks from the host: keeps all that was gained until told to end by SIGTERM. */
static inline int hold(void)
{
	sigset_t end;
	int number;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	ready();
	(void)sigwait(&end, &number);
	return 0;
}

/* The sections of the program: one a file. */
extern const struct attack bypass_attacks[], doors_attacks[], exhaust_attacks[], gain_attacks[],
	kernel_attacks[], knock_attacks[], leave_attacks[], neighbour_attacks[], pack_attacks[], paths_attacks[],
	procs_attacks[], pry_attacks[], reach_attacks[], share_attacks[], shown_attacks[], sweep_attacks[], traces_attacks[], tunnel_attacks[];

/* What can be read there: "what BYTES", and the text on a line of its own, each byte but a printable one a dot. paths.c */
void read_fd(const char *what, int fd);
void read_path(const char *path);
bool mounts_are_ours(void);

/* Whether this is no whole cell: what would do harm on a machine is then done in small, or not at all. */
static inline bool gentle(void)
{
	return getenv("ATTACK_GENTLE") != NULL;
}

#endif
