/* A program in a cell, from its job to its exec.
 *
 * The child shares our memory, as after vfork: nothing is copied, and what fails in it it writes where
 * we read it. We are suspended meanwhile, so only one of us runs. Where the filter asks us about exec that would be for
 * ever: the child is then a copy, and writes what fails into a pipe. It would be, too, where somebody else in the cell can
 * stop the child: that is a copy which we do not wait for, and which tells by itself what fails. */
#include "cell/native/inside/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/weaken.h"

struct child {
	const struct job *job;
	const int *stdio;
	uint64_t open_files;
	struct err err; /* code 0: none */
};

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void explain_exec(const char *name, int cause, bool exists, bool folder, struct err *err)
{
	if (cause == ENOENT && exists)
		(void)err_set(err, cause, "command '%s' is in the cell, but the interpreter or loader it names is not",
			name);
	else if (cause == ENOENT || cause == ENOTDIR)
		(void)err_set(err, cause, "command '%s' is not in the cell: add the folder it is in with --mount", name);
	else if (cause == EACCES && folder)
		(void)err_set(err, cause, "command '%s' is a folder in the cell", name);
	else if (cause == EACCES)
		(void)err_set(err, cause,
			"command '%s' may not be executed in the cell: not marked executable, on a noexec mount, or forbidden", name);
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
	bool exists = false, folder = false;
	char full[4096];

	if (strchr(name, '/') != NULL) {
		(void)execve(name, argv, env);
		cause = errno;
		explain_exec(name, cause, access(name, F_OK) == 0, is_folder(name), err);
		return;
	}
	for (const char *at = path == NULL ? "/usr/bin:/bin" : path; at != NULL;) {
		size_t len = strcspn(at, ":");
		if (snprintf(full, sizeof(full), "%.*s/%s", (int)len, at, name) < (int)sizeof(full)) {
			(void)execve(full, argv, env);
			if (errno != ENOENT && errno != ENOTDIR) {
				cause = errno;
				folder = is_folder(full);
			}
			exists = exists || access(full, F_OK) == 0;
		}
		at = at[len] == '\0' ? NULL : at + len + 1;
	}
	explain_exec(name, cause, exists, folder, err);
}

/* Ends by returning: that exits, and no sanitizer wonders at the stack it was on. */
static int child_main(void *data)
{
	struct child *child = data;
	const struct job *job = child->job;
	sigset_t none;

	if (!weakened("own-session"))
		(void)setsid();
	for (int i = 0; i < 3; i++)
		if (dup2(child->stdio[i], i) < 0) {
			(void)err_errno(&child->err, errno, "place descriptor %d", i);
			return 127;
		}
	if (job->tty && ioctl(0, TIOCSCTTY, 0) < 0) {
		(void)err_errno(&child->err, errno, "make the terminal the cell's own");
		return 127;
	}
	if (job->cwd != NULL && chdir(job->cwd) < 0) {
		(void)err_errno(&child->err, errno, "enter the working directory '%s' in the cell", job->cwd);
		return 127;
	}
	if (!weakened("file-limits") && seal_limit(RLIMIT_NOFILE, child->open_files, "open files", &child->err) < 0)
		return 127;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	exec_job(job, &child->err); /* every other descriptor is close-on-exec */
	return 127;
}

static _Alignas(4096) char stack[64 * 1024];

/* Its uppermost frames, exec_job's buffer among them. */
void program_rehearse(void)
{
	for (size_t at = 1; at <= 8192; at += 4096)
		((volatile char *)stack)[sizeof(stack) - at] = 0;
}

pid_t program_start(const struct job *job, const int stdio[3], uint64_t open_files, struct err *err)
{
	struct child child = { .job = job, .stdio = stdio, .open_files = open_files };
	pid_t pid = clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &child);

	if (pid < 0)
		return err_errno(err, errno, "start a process in the cell");
	if (child.err.code != 0) {
		(void)waitpid(pid, NULL, 0);
		*err = child.err;
		return -1;
	}
	return pid;
}

/* Without waiting for it. Why it could not become its program goes to `tell`; where that is -1, to its own stderr. */
static pid_t child_fork(struct child *child, int tell, struct err *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(err, errno, "start a process in the cell");
	if (pid > 0)
		return pid;
	(void)child_main(child);
	if (tell < 0)
		(void)dprintf(child->stdio[2], "hotcell: %s\n", child->err.text);
	else
		(void)!write(tell, &child->err, sizeof(child->err));
	_exit(PROGRAM_NOT_STARTED);
}

pid_t program_start_asking(const struct job *job, const int stdio[3], uint64_t open_files, program_wait_fn *wait, void *data,
	struct err *err)
{
	struct child child = { .job = job, .stdio = stdio, .open_files = open_files };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	own(fd_closep) int became = ends[0], tell = ends[1];
	pid_t pid = child_fork(&child, tell, err);
	if (pid < 0)
		return -1;
	fd_close(&tell);
	wait(data, pid, became);
	if (read(became, &child.err, sizeof(child.err)) != (ssize_t)sizeof(child.err))
		return pid;
	(void)waitpid(pid, NULL, 0);
	*err = child.err;
	return -1;
}

pid_t program_start_beside(const struct job *job, const int stdio[3], uint64_t open_files, int *ret_became, struct err *err)
{
	struct child child = { .job = job, .stdio = stdio, .open_files = open_files };
	int ends[2] = { -1, -1 };

	if (ret_became != NULL && pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	own(fd_closep) int became = ends[0], closed_by_exec = ends[1];
	pid_t pid = child_fork(&child, -1, err);
	if (pid > 0 && ret_became != NULL)
		*ret_became = fd_take(&became);
	return pid;
}

/* By the call itself, so that it can be marked as ours. */
static int open_marked(const char *path, uint64_t mark)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_NOCTTY | O_CLOEXEC, 0, 0, mark);
}

int program_null(uint64_t mark)
{
	return open_marked("/dev/null", mark);
}

int program_terminal(const struct job *job, uint64_t mark, int *ret_master, int *ret_slave, struct err *err)
{
	struct winsize size = { .ws_row = job->rows, .ws_col = job->columns };
	char name[32];
	int zero = 0, number = 0;
	own(fd_closep) int master = open_marked("/dev/ptmx", mark);

	if (master < 0 || ioctl(master, TIOCSPTLCK, &zero) < 0 || ioctl(master, TIOCGPTN, &number) < 0)
		return err_errno(err, errno, "open a terminal in the cell");
	(void)ioctl(master, TIOCSWINSZ, &size);
	(void)snprintf(name, sizeof(name), "/dev/pts/%d", number);
	*ret_slave = open_marked(name, mark);
	if (*ret_slave < 0)
		return err_errno(err, errno, "open the cell's %s", name);
	*ret_master = fd_take(&master);
	return 0;
}

int program_stdio(const struct job *job, uint64_t mark, const int *given, size_t count, int *ret_own, int ret[3],
	struct err *err)
{
	size_t used = 0;

	for (unsigned i = 0; i < 3; i++) {
		bool came = (job->given & 1u << i) != 0;
		if (came && used == count)
			return err_set(err, EPROTO, "the job's descriptors are missing");
		if (!came && *ret_own < 0)
			*ret_own = program_null(mark);
		ret[i] = came ? given[used++] : *ret_own;
		if (ret[i] < 0)
			return err_errno(err, errno, "open the cell's /dev/null");
	}
	return 0;
}
