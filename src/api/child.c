/* Starting hotcell from a process that may have many threads.
 *
 * Between a fork and an exec only very little is safe there: another thread may hold the lock of malloc, for good. So
 * the child begins as a second user of our memory, on a stack of its own, while this thread waits (CLONE_VM and
 * CLONE_VFORK, as posix_spawn does it), and makes system calls only. It differs from posix_spawn in what that cannot
 * do: a descriptor of the child that cannot be mistaken for another process, a program that is in memory only, and an
 * end that comes with ours.
 *
 * That end is a signal the kernel sends when the thread that made the child ends. The thread is in hotcell_job_run as
 * long as there is a child, so it ends only if the whole process does. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "api/private.h"

#define STACK_BYTES (64 << 10)
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char **environ;

int high_fd(int fd)
{
	if (fd < 0 || fd >= CHILD_FDS)
		return fd;
	int high = fcntl(fd, F_DUPFD_CLOEXEC, CHILD_FDS);
	int number = errno;
	(void)close(fd);
	errno = number;
	return high;
}

int memory_fd(const char *name, unsigned flags)
{
	return high_fd((int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | flags));
}

static const char no_folder[] = "go to its folder";

struct start {
	int image;
	char *const *argv, *const *envp;
	const char *folder;
	const int *fds;
	pid_t parent;
	int number; /* errno of what failed; 0: nothing did */
	const char *what;
};

static int fails(struct start *start, const char *what)
{
	start->number = errno;
	start->what = what;
	return 127;
}

/* The caller's handlers must not run here, where they would find its memory. */
static void default_signals(void)
{
	struct sigaction action;
	sigset_t none;

	for (int number = 1; number < NSIG; number++) {
		if (number == SIGKILL || number == SIGSTOP || sigaction(number, NULL, &action) < 0 ||
			action.sa_handler == SIG_DFL)
			continue;
		(void)sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_main(void *data)
{
	struct start *start = data;

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
		return fails(start, "tie it to this process");
	if (getppid() != start->parent) /* which was killed meanwhile */
		return 127;
	(void)setpgid(0, 0); /* Ctrl-C is the caller's to understand */
	if (start->folder && chdir(start->folder) < 0)
		return fails(start, no_folder);
	for (int fd = 0; fd < CHILD_FDS; fd++)
		if (dup2(start->fds[fd], fd) < 0)
			return fails(start, "give it its descriptors");
	if (syscall(SYS_close_range, CHILD_FDS, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
		return fails(start, "keep this process's descriptors from it");
	default_signals();
	(void)syscall(SYS_execveat, start->image, "", start->argv, start->envp, AT_EMPTY_PATH);
	return fails(start, "execute it from memory");
}

/* Variables that change what a cell is or may do: here the program says that. Whoever sets its variables must not. */
static bool is_left_out(const char *pair)
{
	static const char off[] = "FUZZING_DISABLE_SANDBOX=", ours[] = "HOTCELL_";

	return strncmp(pair, off, sizeof(off) - 1) == 0 || strncmp(pair, ours, sizeof(ours) - 1) == 0;
}

static char **environment(void)
{
	size_t count = 0, kept = 0;

	while (environ && environ[count])
		count++;
	char **copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count && environ[i]; i++)
		if (!is_left_out(environ[i]))
			copy[kept++] = environ[i];
	return copy;
}

int child_start(struct child *child, int image, const char *folder, const int fds[CHILD_FDS], struct hotcell_error *error)
{
	static char program[] = "hotcell", words[] = "--words-fd=5";
	static char *const argv[] = {program, words, NULL};
	own(freep) char **envp = environment();
	struct start start = {.image = image, .argv = argv, .envp = envp, .folder = folder, .fds = fds, .parent = getpid()};
	char *stack = envp ? mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)
			   : MAP_FAILED;
	sigset_t all, before;

	_Static_assert(CHILD_WORDS == 5, "the words above say so");
	*child = (struct child){.pidfd = -1};
	if (stack == MAP_FAILED)
		return api_fail(error, HOTCELL_E_SYSTEM, "there is no memory to start hotcell with");
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int pid = clone(child_main, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &start, &child->pidfd);
	int number = errno;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)munmap(stack, STACK_BYTES);
	if (pid < 0) {
		child->pidfd = -1;
		return api_errno(error, number, "start hotcell");
	}
	if (!start.what)
		return 0;
	child_wait(child);
	if (start.what == no_folder)
		return api_fail(
			error, HOTCELL_E_USAGE, "the folder '%.200s' cannot be used: %s", folder, strerror(start.number));
	return api_errno(error, start.number, "start hotcell: %s", start.what);
}

void child_signal(const struct child *child, int number)
{
	(void)syscall(SYS_pidfd_send_signal, child->pidfd, number, NULL, 0);
}

void child_wait(struct child *child)
{
	siginfo_t info = {0};
	int rc;

	do
		rc = waitid((idtype_t)P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
	while (rc < 0 && errno == EINTR);
	child->known = rc == 0;
	if (child->known)
		*(info.si_code == CLD_EXITED ? &child->status : &child->signal) = info.si_status;
	fd_close(&child->pidfd);
}
