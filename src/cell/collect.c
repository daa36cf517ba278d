/* The folder for output, and the copying into it: at once, or by a child. Theory of operation of that child:
 *
 *	supervisor ----- cloned ----> hotcell-collect	the same rights and memory; of its descriptors only the
 *	     <------ report, pipe ------'		workspace, the folder for output and the pipe
 *
 * It is one fork of a single thread and never executes anything. It leaves the session, since Ctrl-C is the
 * supervisor's to answer, copies, writes its report and exits. The report counts when it has come whole. If the
 * child ends without it, somebody has killed it: the run is lost, and what was copied says nothing. */
#include "cell/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include "base/beneath.h"

#define SMALL_ENTRIES 64
#define SMALL_BYTES ((uint64_t)1 << 20)
#define CHUNK 65536

struct collect_child {
	struct collect *collect;
	struct cell_result *result;
	void (*over)(void *data);
	void *data;
	pid_t pid;
	int pid_fd, report_fd;
	struct loop_source *pid_source, *report_source;
	struct buf report;
	bool cancelled;
};

/* ---- the folder ---- */

static int open_path(struct collect *collect, const char *path, struct err *err)
{
	bool made = false;
	collect->to = beneath_root_make(path, 0755, &made, err);
	if (collect->to < 0)
		return err_wrap(err, "make the output folder");
	if (made)
		collect->made = xstrdup(path);
	return 0;
}

int collect_open(struct collect *collect, const struct cell_spec *spec, struct err *err)
{
	size_t count = 0;
	*collect = (struct collect){.to = -1,
		.caps = {.bytes = spec->limits.collect, .entries = spec->limits.collect_files, .depth = COLLECT_DEPTH}};
	if (spec->output_dir && open_path(collect, spec->output_dir, err) < 0)
		return -1;
	if (!spec->output_dir && spec->output_fd >= 0) {
		collect->to = fcntl(spec->output_fd, F_DUPFD_CLOEXEC, 3);
		if (collect->to < 0)
			return err_errno(err, errno, "keep the output folder");
	}
	if (collect->to < 0 || !spec->output_reserved)
		return 0;
	while (spec->output_reserved[count])
		count++;
	collect->reserved = xcalloc(count + 1, sizeof(*collect->reserved));
	for (size_t i = 0; i < count; i++)
		collect->reserved[i] = xstrdup(spec->output_reserved[i]);
	collect->caps.reserved = (const char *const *)collect->reserved;
	return 0;
}

void collect_unmake(struct collect *collect)
{
	fd_close(&collect->to);
	if (collect->made)
		(void)rmdir(collect->made);
}

/* ---- the child ---- */

/* Nothing is printed; but what a library might print must not land in a file that is opened next. */
static void forget_descriptors(const int fds[3])
{
#if defined(__SANITIZE_ADDRESS__)
	fs_close_others(fds, 3, 3); /* its reports are for people */
#else
	int null;
	fs_close_others(fds, 3, 0);
	while ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && null < STDERR_FILENO)
		;
	if (null > STDERR_FILENO)
		(void)close(null);
#endif
}

static void reset_signals(void)
{
	sigset_t none;
	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void child_main(const struct collect *collect, int workspace, int report_fd, pid_t parent)
{
	const int fds[3] = {workspace, collect->to, report_fd};
	struct fs_copy_report report = {0};
	struct err failed = {0};
	struct buf bytes = {0};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	(void)prctl(PR_SET_NAME, "hotcell-collect", 0, 0, 0);
	forget_descriptors(fds);
	reset_signals();
	(void)setsid();
	if (fs_copy_tree(workspace, collect->to, &collect->caps, &report, &failed) == 0)
		failed = (struct err){0};
	collect_report_encode(&report, &failed, &bytes);
	for (size_t done = 0; done < bytes.len;) {
		ssize_t wrote = write(report_fd, bytes.data + done, bytes.len - done);
		if (wrote < 0 && errno != EINTR)
			_exit(1);
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	_exit(0);
}

/* ---- hearing it ---- */

static struct collect_child *child_free(struct collect_child *child)
{
	child->collect->child = NULL;
	child->pid_source = loop_remove(child->pid_source);
	child->report_source = loop_remove(child->report_source);
	fd_close(&child->pid_fd);
	fd_close(&child->report_fd);
	buf_done(&child->report);
	free(child);
	return NULL;
}

/* By its descriptor: the number could be another's if whoever started us has us ignore the end of children. */
static void child_kill(const struct collect_child *child)
{
	(void)syscall(SYS_pidfd_send_signal, child->pid_fd, SIGKILL, NULL, 0);
}

static void child_reap(struct collect_child *child, int flags)
{
	while (waitpid(child->pid, NULL, flags) < 0 && errno == EINTR)
		;
}

/* False at the end of what it says, and when it says too much. */
static bool child_read(struct collect_child *child)
{
	char chunk[CHUNK];
	ssize_t got = read(child->report_fd, chunk, sizeof(chunk));
	if (got < 0)
		return errno == EINTR;
	if (got == 0 || (size_t)got > COLLECT_REPORT_MAX - child->report.len)
		return false;
	buf_add(&child->report, chunk, (size_t)got);
	return true;
}

static void on_report(void *data, int fd, uint32_t events)
{
	struct collect_child *child = data;
	(void)fd, (void)events;
	errno = 0;
	if (child_read(child) || errno == EAGAIN)
		return;
	child->report_source = loop_remove(child->report_source);
	child_kill(child); /* it has nothing more to do */
}

static void result_lost(struct cell_result *result)
{
	result->lost = true;
	(void)err_set(&result->err, ERR_LOST, "collect output: the process that copied it was killed from outside: what is "
					      "in the output folder is a part");
}

static void on_gone(void *data, int fd, uint32_t events)
{
	struct collect_child *child = data;
	struct collect *collect = child->collect;
	struct cell_result *result = child->result;
	void (*over)(void *) = child->over;
	void *over_data = child->data;
	struct err failed;
	(void)fd, (void)events;
	child_reap(child, 0);
	while (child_read(child)) /* its last words */
		;
	bool cancelled = child->cancelled;
	bool whole = !cancelled &&
		collect_report_decode(child->report.data, child->report.len, &result->collect, &failed) == 0;
	(void)child_free(child);
	result->collected = whole;
	if (whole && failed.code) {
		result->err = failed;
		(void)err_wrap(&result->err, "collect output");
	}
	if (!whole && !cancelled)
		result_lost(result);
	if (!whole)
		collect_unmake(collect);
	over(over_data);
}

void collect_cancel(struct collect *collect)
{
	if (!collect->child)
		return;
	collect->child->cancelled = true;
	child_kill(collect->child);
}

void collect_done(struct collect *collect)
{
	if (collect->child) {
		child_kill(collect->child);
		child_reap(collect->child, WNOHANG);
		(void)child_free(collect->child);
	}
	fd_close(&collect->to);
	free(collect->made);
	for (size_t i = 0; collect->reserved && collect->reserved[i]; i++)
		free(collect->reserved[i]);
	free(collect->reserved);
	*collect = (struct collect){.to = -1};
}

/* ---- beginning ---- */

/* One that is not alone in its file system, as without a sandbox, is large. */
bool collect_is_small(int workspace)
{
	struct statfs fs;
	if (fstatfs(workspace, &fs) < 0 || fs.f_blocks == 0 || fs.f_files == 0 || fs.f_bsize <= 0)
		return false;
	uint64_t blocks = (uint64_t)(fs.f_blocks - fs.f_bfree), entries = (uint64_t)(fs.f_files - fs.f_ffree);
	return entries <= SMALL_ENTRIES && blocks <= SMALL_BYTES / (uint64_t)fs.f_bsize;
}

static int child_clone(struct collect_child *child, int workspace, int report_fd)
{
	struct clone_args args = {.flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&child->pid_fd, .exit_signal = SIGCHLD};
	pid_t self = getpid();
	child->pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child->pid == 0)
		child_main(child->collect, workspace, report_fd, self);
	return child->pid < 0 ? -1 : 0;
}

/* -1 when there is no child; what was made is the caller's to free. */
static int child_start(struct collect_child *child, struct loop *loop, int workspace)
{
	int report[2];
	if (pipe2(report, O_CLOEXEC) < 0)
		return -1;
	child->report_fd = report[0];
	own(fd_closep) int theirs = report[1];
	(void)fcntl(child->report_fd, F_SETFL, O_NONBLOCK);
	child->report_source = loop_add_fd(loop, child->report_fd, EPOLLIN, on_report, child);
	if (!child->report_source || child_clone(child, workspace, theirs) < 0)
		return -1;
	child->pid_source = loop_add_fd(loop, child->pid_fd, EPOLLIN, on_gone, child);
	return 0;
}

static void copy_here(struct collect *collect, int workspace, struct cell_result *result)
{
	if (fs_copy_tree(workspace, collect->to, &collect->caps, &result->collect, &result->err) < 0)
		(void)err_wrap(&result->err, "collect output");
	result->collected = true;
}

bool collect_begin(struct collect *collect, struct loop *loop, int workspace, struct cell_result *result,
	void (*over)(void *data), void *data)
{
	own(fd_closep) int from = workspace;
	if (collect_is_small(from)) {
		copy_here(collect, from, result);
		return true;
	}
	struct collect_child *child = xcalloc(1, sizeof(*child));
	*child = (struct collect_child){.collect = collect, .result = result, .over = over, .data = data, .pid_fd = -1,
		.report_fd = -1};
	collect->child = child;
	if (child_start(child, loop, from) < 0) { /* no process to be had: better late than never */
		(void)child_free(child);
		copy_here(collect, from, result);
		return true;
	}
	if (child->pid_source)
		return false;
	(void)err_errno(&result->err, errno, "collect output: watch the process that copies it");
	child_kill(child);
	child_reap(child, 0);
	(void)child_free(child);
	return true;
}
