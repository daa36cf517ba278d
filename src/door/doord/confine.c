/* Taking everything away from doord but what it needs: memory, time, and sockets it makes or is given. It opens no
 * file, starts no process and makes no memory executable. */
#include "door/doord/doord.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/sanitized.h"

#define USER_BASE 1900000000u /* numbers that no system gives to anybody */
#define USER_SPAN 100000000u

/* ---- the user ---- */

static int leave_root(struct err *err)
{
	uid_t id = USER_BASE + (uid_t)getpid() % USER_SPAN;

	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
		return err_errno(err, errno, "become nobody");
	return 0;
}

static void limit(void)
{
	struct rlimit files;
	const struct rlimit none = { 0, 0 };

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)setrlimit(RLIMIT_CORE, &none);
}

/* ---- files ---- */

/* Where the kernel has it. The filter refuses to open anything all the same. */
static void leave_files(void)
{
	const struct landlock_ruleset_attr attr = { .handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	own(fd_closep) int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr.handled_access_fs), 0);

	if (rules >= 0)
		(void)!syscall(SYS_landlock_restrict_self, rules, 0);
}

/* ---- system calls ---- */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "doord's system calls are not known on this machine"
#endif

static const int allowed[] = {
	SYS_epoll_pwait, SYS_epoll_ctl, SYS_recvfrom, SYS_sendto, SYS_accept4, SYS_connect, SYS_close, SYS_splice,
	SYS_recvmsg, SYS_sendmsg, SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_shutdown, SYS_getsockopt, SYS_setsockopt,
	SYS_getsockname, SYS_getpeername, SYS_fcntl, SYS_pipe2, SYS_clock_gettime, SYS_clock_nanosleep, SYS_nanosleep,
	SYS_gettimeofday, SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_futex, SYS_getrandom, SYS_getpid, SYS_gettid,
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_exit,
	SYS_exit_group, SYS_ppoll, SYS_fstat, SYS_lseek, SYS_pread64, SYS_restart_syscall, SYS_tgkill, SYS_epoll_create1,
#ifdef SYS_epoll_wait
	SYS_epoll_wait,
#endif
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_time
	SYS_time,
#endif
};

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define LOAD_ARG(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(offsetof(struct seccomp_data, args) + 8 * (n)))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), yes, no)
#define IF_BITS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (unsigned)(bits), yes, no)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define DENY BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static int filter_calls(struct err *err)
{
	const struct sock_filter begin[] = {
		LOAD(arch), IF(ARCH, 1, 0), KILL,
		LOAD(nr),
		/* sockets of these families alone */
		IF(SYS_socket, 0, 6), LOAD_ARG(0), IF(AF_INET, 3, 0), IF(AF_INET6, 2, 0), IF(AF_UNIX, 1, 0), DENY, ALLOW,
		/* memory that is never executed */
		IF(SYS_mmap, 1, 0), IF(SYS_mprotect, 0, 4), LOAD_ARG(2), IF_BITS(PROT_EXEC, 0, 1), DENY, ALLOW,
		/* two questions about descriptors */
		IF(SYS_ioctl, 0, 5), LOAD_ARG(1), IF(FIONBIO, 2, 0), IF(FIONREAD, 1, 0), DENY, ALLOW,
	};
	struct sock_filter code[ARRAY_LEN(begin) + 2 * ARRAY_LEN(allowed) + 1];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		code[len++] = begin[i];
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		code[len++] = (struct sock_filter)IF(allowed[i], 0, 1);
		code[len++] = (struct sock_filter)ALLOW;
	}
	code[len++] = (struct sock_filter)DENY;
	const struct sock_fprog program = { .len = (unsigned short)len, .filter = code };
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return err_errno(err, errno, "take system calls away");
	return 0;
}

int confine(struct err *err)
{
	pid_t parent = getppid();

	limit();
	if (leave_root(err) < 0)
		return -1;
	/* after the change of user, which undoes both */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return err_errno(err, errno, "keep others out");
	if (getppid() != parent)
		return err_set(err, ESRCH, "the supervisor is gone");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, errno, "renounce privileges");
	leave_files();
	return SANITIZED ? 0 : filter_calls(err); /* a sanitizer needs more at its end than we would ever allow */
}
