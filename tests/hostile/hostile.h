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

static inline void sleep_forever(void)
{
	for (;;)
		pause();
}

/* A cell is named "cell". Anywhere else these programs would do what they try. */
static inline bool in_a_cell(void)
{
	char name[65] = "";

	return gethostname(name, sizeof(name) - 1) == 0 && strcmp(name, "cell") == 0;
}

static inline int hostile_main(const struct attack *attacks, size_t count, int argc, char **argv)
{
	if (!in_a_cell()) {
		fprintf(stderr, "refusing to attack anything but a cell\n");
		return 99;
	}
	for (size_t i = 0; argc > 1 && i < count; i++)
		if (strcmp(attacks[i].name, argv[1]) == 0)
			return attacks[i].run(argc - 2, argv + 2);
	fprintf(stderr, "no such attack; there are:");
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, " %s", attacks[i].name);
	fprintf(stderr, "\n");
	return 99;
}

#endif
