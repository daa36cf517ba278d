/* Process 2 of a cell: seals itself, waits for its job, becomes it.
 *
 * It shares init's descriptor table until it is sealed, so that the filter's listener, which the
 * kernel gives to whoever loads the filter, is init's as well; then it parts from it. */
#include "cell/native/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define JOB_FD 3

/* Tells why there will be no program: to the supervisor, or, for a program beside the main one, to
 * whoever reads its stderr. */
static _Noreturn void not_run(int job_socket, const struct err *err)
{
	struct buf message = { 0 };

	if (job_socket < 0) {
		(void)dprintf(STDERR_FILENO, "hotcell: %s\n", err->text);
		_exit(127);
	}
	wire_put_u32(&message, MSG_EXEC_FAILED);
	message_put_err(&message, err);
	(void)!wire_send(job_socket, message.data, message.len, NULL, 0);
	_exit(127);
}

static void explain_exec(const char *name, int cause, bool exists, struct err *err)
{
	if (cause == ENOENT && exists)
		(void)err_set(err, cause, "command '%s' is in the cell, but the interpreter or loader it names is not",
			name);
	else if (cause == ENOENT || cause == ENOTDIR)
		(void)err_set(err, cause, "command '%s' is not in the cell: add the folder it is in with --mount", name);
	else if (cause == EACCES)
		(void)err_set(err, cause,
			"command '%s' may not be executed in the cell: not marked executable, or on a noexec mount", name);
	else
		(void)err_errno(err, cause, "execute '%s' in the cell", name);
}

static const char *env_value(const char **env, const char *name)
{
	size_t len = strlen(name);

	for (; *env != NULL; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* Returns only when it failed. */
static void exec_job(const struct job *job, struct err *err)
{
	const char *name = job->argv[0], *path = env_value(job->env, "PATH");
	char *const *argv = (char *const *)(void *)job->argv, *const *env = (char *const *)(void *)job->env;
	int cause = ENOENT;
	bool exists = false;
	char full[4096];

	if (strchr(name, '/') != NULL) {
		(void)execve(name, argv, env);
		cause = errno;
		explain_exec(name, cause, access(name, F_OK) == 0, err);
		return;
	}
	for (const char *at = path == NULL ? "/usr/bin:/bin" : path; at != NULL;) {
		size_t len = strcspn(at, ":");
		if (snprintf(full, sizeof(full), "%.*s/%s", (int)len, at, name) < (int)sizeof(full)) {
			(void)execve(full, argv, env);
			if (errno != ENOENT && errno != ENOTDIR)
				cause = errno;
			exists = exists || access(full, F_OK) == 0;
		}
		at = at[len] == '\0' ? NULL : at + len + 1;
	}
	explain_exec(name, cause, exists, err);
}

static int tty_open(int job_socket, struct err *err)
{
	own(buf_done) struct buf message = { 0 };
	char name[32];
	int zero = 0, number = 0;
	own(fd_closep) int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0 || ioctl(master, TIOCGPTN, &number) < 0)
		return err_errno(err, errno, "open a terminal in the cell");
	(void)snprintf(name, sizeof(name), "/dev/pts/%d", number);
	own(fd_closep) int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_errno(err, errno, "open the cell's %s", name);
	wire_put_u32(&message, MSG_TTY);
	if (wire_send(job_socket, message.data, message.len, &master, 1) < 0)
		return err_errno(err, errno, "hand the terminal out");
	return fd_take(&slave);
}

static int stdio_place(int job_socket, const struct job *job, const int stdio[3], struct err *err)
{
	own(fd_closep) int slave = -1;

	if (job->tty && stdio[0] < 0) {
		slave = tty_open(job_socket, err);
		if (slave < 0)
			return -1;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(slave >= 0 ? slave : stdio[i], i) < 0)
			return err_errno(err, errno, "place descriptor %d", i);
	if (job->tty && ioctl(0, TIOCSCTTY, 0) < 0)
		return err_errno(err, errno, "make the terminal the cell's own");
	return 0;
}

void program_run(int job_socket, int memfd, const int stdio[3])
{
	struct job job;
	struct err err;
	sigset_t none;

	if (job_decode(&job, memfd, &err) < 0 || stdio_place(job_socket, &job, stdio, &err) < 0)
		not_run(job_socket, &err);
	if (job.cwd != NULL && chdir(job.cwd) < 0) {
		(void)err_errno(&err, errno, "enter the working directory '%s' in the cell", job.cwd);
		not_run(job_socket, &err);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* nothing of ours goes on but 0, 1 and 2 */
	exec_job(&job, &err);
	not_run(job_socket, &err);
}

void program_part_from_init(void)
{
	/* a range beyond every descriptor: only the unsharing is wanted */
	(void)close_range(1U << 30, ~0U, CLOSE_RANGE_UNSHARE);
}

void program_wait(int job_socket)
{
	(void)dup3(job_socket, JOB_FD, O_CLOEXEC);
	job_socket = JOB_FD;
	(void)close_range(JOB_FD + 1, ~0U, 0);

	char message[64];
	int fds[4] = { -1, -1, -1, -1 };
	size_t count = 0;
	ssize_t len = wire_recv(job_socket, message, sizeof(message), fds, 4, &count, 0);
	struct wire_reader reader = { .data = message, .len = len < 0 ? 0 : (size_t)len };

	if (len <= 0 || wire_get_u32(&reader) != MSG_JOB || count < 1)
		_exit(0); /* the supervisor does not need this cell */
	program_run(job_socket, fds[0], fds + 1);
}
