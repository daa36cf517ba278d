/* The system call filter, judged by a small interpreter of its own: what the built program says of
 * every number, architecture and argument that matters. The interpreter also checks what the
 * kernel's verifier would: loads inside seccomp_data, jumps forward and inside, no way past the
 * end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fscrypt.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cell/native/native.h"
#include "cell/native/inside/newer_calls.h"

#if defined(__x86_64__)
#define OURS AUDIT_ARCH_X86_64
#else
#define OURS AUDIT_ARCH_AARCH64
#endif

#define ALLOW SECCOMP_RET_ALLOW
#define KILL SECCOMP_RET_KILL_PROCESS
#define FAILS(error) (SECCOMP_RET_ERRNO | (error))
#define REFUSED 1u /* stands for: refused, whichever way this program refuses */

struct program {
	bool counted, pinned;
	struct sock_filter *code;
	size_t len;
};

/* All four, built once. */
static struct program programs[4];
static const struct program *const programs_end = programs + ARRAY_LEN(programs);

static int programs_build(void **state)
{
	struct err err;

	(void)state;
	for (int i = 0; i < 4; i++) {
		programs[i].counted = i & 1;
		programs[i].pinned = i & 2;
		unsigned want = (programs[i].counted ? FILTER_COUNTED : 0) |
				(programs[i].pinned ? FILTER_PINNED : 0);
		if (filter_build(want, &programs[i].code, &programs[i].len, &err) < 0)
			return -1;
	}
	return 0;
}

static int programs_free(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		free(programs[i].code);
	return 0;
}

/* ---- the interpreter ---- */

static uint32_t load_word(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	assert_true(offset % 4 == 0 && offset + 4 <= sizeof(*data));
	memcpy(&word, (const char *)data + offset, 4);
	return word;
}

static bool jump_taken(uint16_t op, uint32_t accumulator, uint32_t k)
{
	switch (op) {
	case BPF_JMP | BPF_JEQ | BPF_K: return accumulator == k;
	case BPF_JMP | BPF_JGE | BPF_K: return accumulator >= k;
	case BPF_JMP | BPF_JGT | BPF_K: return accumulator > k;
	case BPF_JMP | BPF_JSET | BPF_K: return (accumulator & k) != 0;
	default: fail_msg("operation %#x is not known", op); return false;
	}
}

static uint32_t run(
	const struct program *program, const struct seccomp_data *data, unsigned *ret_steps)
{
	uint32_t accumulator = 0;

	*ret_steps = 0;
	for (size_t at = 0; at < program->len; at++) {
		const struct sock_filter *insn = &program->code[at];
		++*ret_steps;
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS: accumulator = load_word(data, insn->k); break;
		case BPF_ALU | BPF_AND | BPF_K: accumulator &= insn->k; break;
		case BPF_RET | BPF_K: return insn->k;
		default: at += jump_taken(insn->code, accumulator, insn->k) ? insn->jt : insn->jf;
		}
	}
	fail_msg("the program ran past its end");
	return 0;
}

static uint32_t ask(const struct program *program, int nr, const uint64_t *args, size_t count)
{
	struct seccomp_data data = {.nr = nr, .arch = OURS, .instruction_pointer = 0x7f0000001000};
	unsigned steps;

	for (size_t i = 0; i < 6; i++) /* what is not given is an attacker's */
		data.args[i] = i < count ? args[i] : UINT64_C(0xdeadbeefcafebabe);
	return run(program, &data, &steps);
}

static uint32_t refusal(const struct program *program, int error)
{
	return program->counted ? SECCOMP_RET_USER_NOTIF : FAILS((uint32_t)error);
}

/* ---- the program as such ---- */

static void the_kernel_would_take_the_program(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++) {
		assert_in_range(program->len, 1, BPF_MAXINSNS);
		for (size_t at = 0; at < program->len; at++) {
			const struct sock_filter *insn = &program->code[at];
			if (BPF_CLASS(insn->code) == BPF_JMP)
				assert_true(at + 1 + insn->jt < program->len &&
					at + 1 + insn->jf < program->len);
			if (insn->code == (BPF_LD | BPF_W | BPF_ABS))
				assert_true(
					insn->k % 4 == 0 && insn->k < sizeof(struct seccomp_data));
		}
		assert_int_equal(BPF_CLASS(program->code[program->len - 1].code), BPF_RET);
	}
}

static void every_verdict_is_one_of_those_meant(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t at = 0; at < program->len; at++) {
			uint32_t value = program->code[at].k;
			if (program->code[at].code != (BPF_RET | BPF_K))
				continue;
			bool refuses = program->counted ? value == SECCOMP_RET_USER_NOTIF
							: value == FAILS(EPERM) ||
					value == FAILS(EAFNOSUPPORT) || value == FAILS(ENOSYS);
			assert_true(refuses || value == ALLOW || value == KILL ||
				value == FAILS(ENOSYS) || value == FAILS(0));
		}
}

/* A cell pays for the longest path at every call that the kernel does not cache. */
static void no_call_takes_long_to_judge(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (int nr = 0; nr < 1024; nr++) {
			struct seccomp_data data = {.nr = nr, .arch = OURS};
			unsigned steps;
			(void)run(program, &data, &steps);
			assert_in_range(steps, 1, 24);
		}
}

static void a_foreign_architecture_is_killed(void **state)
{
	static const uint32_t foreign[] = {0, 1, AUDIT_ARCH_I386, AUDIT_ARCH_ARM,
		AUDIT_ARCH_RISCV64, AUDIT_ARCH_S390X, OURS ^ __AUDIT_ARCH_64BIT,
		OURS ^ __AUDIT_ARCH_LE, OURS ^ 1, UINT32_MAX,
		OURS == AUDIT_ARCH_X86_64 ? AUDIT_ARCH_AARCH64 : AUDIT_ARCH_X86_64};

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
			for (int nr = 0; nr < 1024; nr++) {
				struct seccomp_data data = {.nr = nr, .arch = foreign[i]};
				unsigned steps;
				assert_int_equal(run(program, &data, &steps), KILL);
			}
}

#if defined(__x86_64__)
static void the_x32_calls_are_killed(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (int nr = 0; nr < 1024; nr++) {
			assert_int_equal(ask(program, nr | 0x40000000, NULL, 0), KILL);
			assert_int_equal(
				ask(program, (int)((uint32_t)nr | 0xc0000000u), NULL, 0), KILL);
			assert_int_equal(ask(program, -1 - nr, NULL, 0), KILL);
		}
}
#endif

/* ---- every number ---- */

static const int always_allowed[] = {
#define A(name) SYS_##name,
#include "cell/native/inside/filter_calls.inc"
#undef A
};

static bool is_always_allowed(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(always_allowed); i++)
		if (always_allowed[i] == nr)
			return true;
	return false;
}

static void a_listed_call_is_allowed_whatever_its_arguments(void **state)
{
	static const uint64_t values[] = {
		0, 1, 2, 0x5412, 0x7e020000, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 32};

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t i = 0; i < ARRAY_LEN(always_allowed); i++)
			for (size_t v = 0; v < ARRAY_LEN(values); v++) {
				const uint64_t args[6] = {values[v], values[v], values[v],
					values[v], values[v], values[v]};
				bool told = program->counted && filter_is_noticed(always_allowed[i]);
				assert_int_equal(ask(program, always_allowed[i], args, 6),
					told ? SECCOMP_RET_USER_NOTIF : ALLOW);
			}
}

/* An ipc namespace is used again only if nobody has put anything into it: all ways to do that. */
static void calls_that_leave_something_in_an_ipc_namespace_are_noticed(void **state)
{
	static const int calls[] = {SYS_shmget, SYS_semget, SYS_msgget, SYS_mq_open};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_true(filter_is_noticed(calls[i]));
		assert_int_equal(filter_index(calls[i]), -1);
	}
	for (int nr = 0, count = 0; nr < 1024; nr++) {
		count += filter_is_noticed(nr);
		assert_in_range(count, 0, ARRAY_LEN(calls));
	}
}

static void no_call_is_both_allowed_and_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(always_allowed); i++)
		if (filter_index(always_allowed[i]) >= 0)
			assert_int_not_equal(filter_when((unsigned)filter_index(always_allowed[i])), 0);
}

static void a_call_in_no_list_does_not_exist(void **state)
{
	unsigned unknown = 0;

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (int nr = 0; nr < 1024; nr++) {
			if (is_always_allowed(nr) || filter_index(nr) >= 0)
				continue;
			assert_int_equal(ask(program, nr, NULL, 0), FAILS(ENOSYS));
			unknown++;
		}
	assert_true(unknown > 4 * 512);
}

/* The listener gives the errno that the program without one gives itself. */
static void counted_and_plain_programs_refuse_the_same(void **state)
{
	(void)state;
	for (int nr = 0; nr < 1024; nr++)
		for (int pinned = 0; pinned < 4; pinned += 2) {
			uint32_t plain = ask(&programs[pinned], nr, NULL, 0),
				 counted = ask(&programs[pinned + 1], nr, NULL, 0);
			const char *name;
			if (counted != SECCOMP_RET_USER_NOTIF) {
				assert_int_equal(plain, counted);
				continue;
			}
			if (filter_is_noticed(nr)) {
				assert_int_equal(plain, ALLOW);
				continue;
			}
			assert_int_equal(plain, FAILS((uint32_t)filter_refusal(nr, &name)));
			assert_true(filter_index(nr) >= 0);
			assert_string_equal(name, filter_name((unsigned)filter_index(nr)));
		}
}

static void every_refused_call_has_a_name_of_its_own(void **state)
{
	unsigned count = 0;

	(void)state;
	for (; filter_name(count) != NULL; count++)
		for (unsigned before = 0; before < count; before++)
			assert_string_not_equal(filter_name(before), filter_name(count));
	assert_in_range(count, 40, FILTER_MAX_REFUSED);
	for (int nr = 0; nr < 1024; nr++)
		assert_true(filter_index(nr) < (int)count);
}

/* ---- single calls ---- */

struct expectation {
	int nr;
	uint32_t verdict; /* REFUSED: with `error` */
	int error;
};

static void these_calls_get_these_verdicts(void **state)
{
	/* clang-format off */
	static const struct expectation table[] = {
		{SYS_mount, REFUSED, EPERM}, {SYS_umount2, REFUSED, EPERM}, {SYS_pivot_root, REFUSED, EPERM},
		{SYS_chroot, REFUSED, EPERM}, {SYS_setns, REFUSED, EPERM}, {SYS_bpf, REFUSED, EPERM},
		{SYS_perf_event_open, REFUSED, EPERM}, {SYS_userfaultfd, REFUSED, EPERM}, {SYS_keyctl, REFUSED, EPERM},
		{SYS_add_key, REFUSED, EPERM}, {SYS_request_key, REFUSED, EPERM}, {SYS_reboot, REFUSED, EPERM},
		{SYS_init_module, REFUSED, EPERM}, {SYS_finit_module, REFUSED, EPERM}, {SYS_delete_module, REFUSED, EPERM},
		{SYS_kexec_load, REFUSED, EPERM}, {SYS_open_by_handle_at, REFUSED, EPERM}, {SYS_syslog, REFUSED, EPERM},
		{SYS_process_vm_readv, REFUSED, EPERM}, {SYS_process_vm_writev, REFUSED, EPERM}, {SYS_kcmp, REFUSED, EPERM},
		{SYS_swapon, REFUSED, EPERM}, {SYS_settimeofday, REFUSED, EPERM}, {SYS_clock_settime, REFUSED, EPERM},
		{SYS_move_mount, REFUSED, EPERM}, {SYS_open_tree, REFUSED, EPERM}, {SYS_fsopen, REFUSED, EPERM},
		{SYS_fanotify_init, REFUSED, EPERM}, {SYS_name_to_handle_at, REFUSED, EPERM}, {SYS_quotactl, REFUSED, EPERM},
		{SYS_fsmount, REFUSED, EPERM}, {SYS_mount_setattr, REFUSED, EPERM}, {SYS_pidfd_getfd, REFUSED, EPERM},
		{SYS_io_uring_setup, REFUSED, ENOSYS}, {SYS_io_uring_enter, REFUSED, ENOSYS},
		{SYS_io_uring_register, REFUSED, ENOSYS}, {SYS_io_setup, REFUSED, ENOSYS},
		{SYS_clone3, FAILS(ENOSYS), 0}, /* its flags are behind a pointer: libc falls back to clone */
		{SYS_memfd_secret, FAILS(ENOSYS), 0}, {SYS_nfsservctl, FAILS(ENOSYS), 0}, {511, FAILS(ENOSYS), 0},
		{512, FAILS(ENOSYS), 0}, {1023, FAILS(ENOSYS), 0}, {0x3fffffff, FAILS(ENOSYS), 0},
		{SYS_read, ALLOW, 0}, {SYS_write, ALLOW, 0}, {SYS_openat, ALLOW, 0}, {SYS_execve, ALLOW, 0},
		{SYS_exit_group, ALLOW, 0}, {SYS_futex, ALLOW, 0}, {SYS_mmap, ALLOW, 0}, {SYS_ptrace, ALLOW, 0},
		{SYS_seccomp, ALLOW, 0}, {SYS_prctl, ALLOW, 0}, {SYS_kill, ALLOW, 0},
	};
	/* clang-format on */

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t i = 0; i < ARRAY_LEN(table); i++) {
			uint32_t expected = table[i].verdict == REFUSED
				? refusal(program, table[i].error)
				: table[i].verdict;
			uint32_t seen = ask(program, table[i].nr, NULL, 0);
			if (seen != expected)
				fail_msg(
					"call %d: %#x instead of %#x", table[i].nr, seen, expected);
		}
}

/* By number, since headers may not name them. */
static void newer_calls_are_judged_alike_whatever_headers_this_was_built_with(void **state)
{
	static const int allowed[] = {452, 453, 462}; /* fchmodat2, map_shadow_stack, mseal */

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (int nr = 451; nr < 512; nr++) {
			bool known = false;
			for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
				known = known || allowed[i] == nr;
			assert_int_equal(ask(program, nr, NULL, 0), known ? ALLOW : FAILS(ENOSYS));
		}
#if defined(__x86_64__)
	for (const struct program *program = programs; program < programs_end; program++)
		for (int nr = 335; nr < 424; nr++) /* uretprobe, uprobe, and numbers of nobody */
			assert_int_equal(ask(program, nr, NULL, 0), FAILS(ENOSYS));
#endif
}

/* ---- arguments ---- */

struct argument_case {
	const char *what;
	int nr;
	bool refused;
	int error;
	uint64_t args[3];
};

#define HIGH (UINT64_C(1) << 32)
#define CLONE_THREAD_FLAGS                                                                         \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
		CLONE_SETTLS)

/* clang-format off */
static const struct argument_case cases[] = {
	{"a fork", SYS_clone, false, 0, {17}},
	{"a vfork", SYS_clone, false, 0, {CLONE_VM | CLONE_VFORK | 17}},
	{"a thread", SYS_clone, false, 0, {CLONE_THREAD_FLAGS}},
	{"a mount namespace", SYS_clone, true, EPERM, {CLONE_NEWNS | 17}},
	{"a cgroup namespace", SYS_clone, true, EPERM, {CLONE_NEWCGROUP | 17}},
	{"a uts namespace", SYS_clone, true, EPERM, {CLONE_NEWUTS | 17}},
	{"an ipc namespace", SYS_clone, true, EPERM, {CLONE_NEWIPC | 17}},
	{"a user namespace", SYS_clone, true, EPERM, {CLONE_NEWUSER | 17}},
	{"a pid namespace", SYS_clone, true, EPERM, {CLONE_NEWPID | 17}},
	{"a network namespace", SYS_clone, true, EPERM, {CLONE_NEWNET | 17}},
	{"a user namespace among a thread's flags", SYS_clone, true, EPERM, {CLONE_THREAD_FLAGS | CLONE_NEWUSER}},
	{"a user namespace below a set high half", SYS_clone, true, EPERM, {HIGH | CLONE_NEWUSER | 17}},
	{"a fork below a set high half", SYS_clone, false, 0, {HIGH | 17}},

	{"its own files", SYS_unshare, false, 0, {CLONE_FILES | CLONE_FS | CLONE_SYSVSEM}},
	{"nothing", SYS_unshare, false, 0, {0}},
	{"a user namespace by unshare", SYS_unshare, true, EPERM, {CLONE_NEWUSER}},
	{"a time namespace by unshare", SYS_unshare, true, EPERM, {0x80}},
	{"a user namespace by unshare, high half set", SYS_unshare, true, EPERM, {HIGH | CLONE_NEWUSER}},
	{"a user namespace beside its own files", SYS_unshare, true, EPERM, {CLONE_FILES | CLONE_NEWUSER}},

	{"typing into the terminal", SYS_ioctl, true, EPERM, {0, 0x5412}},
	{"typing into the terminal, high half set", SYS_ioctl, true, EPERM, {0, HIGH | 0x5412}},
	{"typing into the terminal, all of it set", SYS_ioctl, true, EPERM, {0, (UINT64_MAX << 32) | 0x5412}},
	{"pasting into the console", SYS_ioctl, true, EPERM, {0, 0x541c}},
	{"pasting into the console, high half set", SYS_ioctl, true, EPERM, {0, HIGH | 0x541c}},
	{"the size of the terminal", SYS_ioctl, false, 0, {0, 0x5413}},
	{"a request whose high half looks like TIOCSTI", SYS_ioctl, false, 0, {0, UINT64_C(0x5412) << 32}},
	{"locking an encrypted folder", SYS_ioctl, true, EPERM, {3, FS_IOC_REMOVE_ENCRYPTION_KEY}},
	{"a key for encrypted folders", SYS_ioctl, true, EPERM, {3, FS_IOC_ADD_ENCRYPTION_KEY}},
	{"a key for encrypted folders, high half set", SYS_ioctl, true, EPERM, {3, HIGH | FS_IOC_ADD_ENCRYPTION_KEY}},
	{"all of a Btrfs", SYS_ioctl, true, EPERM, {3, 0x9408}},
	{"all of a Btrfs, begun", SYS_ioctl, true, EPERM, {3, 0x80089418}},
	{"locking an encrypted folder, high half set", SYS_ioctl, true, EPERM, {3, HIGH | FS_IOC_REMOVE_ENCRYPTION_KEY}},
	{"asking how a folder is encrypted", SYS_ioctl, false, 0, {3, FS_IOC_GET_ENCRYPTION_POLICY_EX}},

	{"a read lease", SYS_fcntl, true, EPERM, {3, F_SETLEASE, F_RDLCK}},
	{"a write lease", SYS_fcntl, true, EPERM, {3, F_SETLEASE, F_WRLCK}},
	{"a lease, high half set", SYS_fcntl, true, EPERM, {3, HIGH | F_SETLEASE, F_WRLCK}},
	{"a lease, all of the high half set", SYS_fcntl, true, EPERM, {3, (UINT64_MAX << 32) | F_SETLEASE, F_RDLCK}},
	{"giving up a lease that nobody has", SYS_fcntl, true, EPERM, {3, F_SETLEASE, F_UNLCK}},
	{"asking for a lease", SYS_fcntl, false, 0, {3, F_GETLEASE}},
	{"a notice of changes", SYS_fcntl, true, EPERM, {3, F_NOTIFY, 0x80000001}},
	{"a notice, high half set", SYS_fcntl, true, EPERM, {3, HIGH | F_NOTIFY, 1}},
	{"a hint on an inode", SYS_fcntl, true, EPERM, {3, 1036}},
	{"a hint on a file", SYS_fcntl, true, EPERM, {3, 1038}},
	{"a delegation", SYS_fcntl, true, EPERM, {3, 1040}},
	{"asking for a delegation", SYS_fcntl, true, EPERM, {3, 1039}},
	{"a command of nobody", SYS_fcntl, true, EPERM, {3, UINT32_MAX}},
	{"a command whose high half looks like a lease", SYS_fcntl, false, 0, {3, UINT64_C(1024) << 32}},
	{"a copy of a descriptor", SYS_fcntl, false, 0, {3, F_DUPFD}},
	{"a copy that is closed at exec", SYS_fcntl, false, 0, {3, F_DUPFD_CLOEXEC}},
	{"flags of a descriptor", SYS_fcntl, false, 0, {3, F_SETFL}},
	{"a record lock", SYS_fcntl, false, 0, {3, F_SETLK}},
	{"a lock of an open file", SYS_fcntl, false, 0, {3, 37}},
	{"seals", SYS_fcntl, false, 0, {3, 1033}},
	{"the size of a pipe", SYS_fcntl, false, 0, {3, 1031}},

	{"a port used again", SYS_setsockopt, false, 0, {3, SOL_SOCKET, SO_REUSEADDR}},
	{"sending slowly", SYS_setsockopt, true, EPERM, {3, SOL_SOCKET, 47}},
	{"sending slowly, high halves set", SYS_setsockopt, true, EPERM, {3, HIGH | SOL_SOCKET, HIGH | 47}},
	{"dropping answers by a filter", SYS_setsockopt, true, EPERM, {3, SOL_SOCKET, SO_ATTACH_FILTER}},
	{"a program that picks a socket", SYS_setsockopt, true, EPERM, {3, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF}},
	{"a time stamp, whose number is one of TCP's", SYS_setsockopt, false, 0, {3, SOL_SOCKET, 37}},
	{"a time to send, whose number is one of IP's", SYS_setsockopt, false, 0, {3, SOL_SOCKET, 21}},
	{"dropping answers that come from afar", SYS_setsockopt, true, EPERM, {3, 0, 21}},
	{"dropping answers that come from afar over IPv6", SYS_setsockopt, true, EPERM, {3, 41, 73}},
	{"a multicast interface, whose number is a flow label's", SYS_setsockopt, false, 0, {3, 0, 32}},
	{"a flow label", SYS_setsockopt, true, EPERM, {3, 41, 32}},
	{"only IPv6", SYS_setsockopt, false, 0, {3, 41, 26}},
	{"no delay", SYS_setsockopt, false, 0, {3, 6, 1}},
	{"dropping answers that are not signed", SYS_setsockopt, true, EPERM, {3, 6, 14}},
	{"dropping answers that are not signed, by a prefix", SYS_setsockopt, true, EPERM, {3, 6, 32}},
	{"dropping answers that are not signed, in another way", SYS_setsockopt, true, EPERM, {3, 6, 38}},
	{"a delay", SYS_setsockopt, true, EPERM, {3, 6, 37}},
	{"sending where nobody is, by a route in IP's options", SYS_setsockopt, true, EPERM, {3, 0, 4}},
	{"sending where nobody is, by a route of IPv6", SYS_setsockopt, true, EPERM, {3, 41, 57}},
	{"sending where nobody is, by a route of IPv6 as it was", SYS_setsockopt, true, EPERM, {3, 41, 6}},
	{"sending where nobody is, by a device", SYS_setsockopt, true, EPERM, {3, SOL_SOCKET, SO_BINDTODEVICE}},
	{"sending where nobody is, by a device's number", SYS_setsockopt, true, EPERM, {3, SOL_SOCKET, 62}},
	{"keeping alive, whose number is an option's of IP", SYS_setsockopt, false, 0, {3, 6, 4}},
	{"keeping alive, whose number is an option's of IPv6", SYS_setsockopt, false, 0, {3, 6, 6}},
	{"waiting longer for an answer", SYS_setsockopt, true, EPERM, {3, 6, 44}},
	{"an option of another level", SYS_setsockopt, false, 0, {3, 17, 47}},

	{"Linux", SYS_personality, false, 0, {PER_LINUX}},
	{"32-bit Linux", SYS_personality, false, 0, {PER_LINUX32}},
	{"no address randomization", SYS_personality, false, 0, {ADDR_NO_RANDOMIZE}},
	{"asking for the personality", SYS_personality, false, 0, {UINT32_MAX}},
	{"executable data", SYS_personality, true, EPERM, {READ_IMPLIES_EXEC}},
	{"mapping page 0", SYS_personality, true, EPERM, {MMAP_PAGE_ZERO}},
	{"mapping page 0 beside an allowed one", SYS_personality, true, EPERM, {ADDR_NO_RANDOMIZE | MMAP_PAGE_ZERO}},

	{"its own limits", SYS_prlimit64, false, 0, {0}},
	{"a child's limits", SYS_prlimit64, false, 0, {7}},
	{"init's limits", SYS_prlimit64, true, EPERM, {1}},
	{"init's limits, high half set", SYS_prlimit64, true, EPERM, {HIGH | 1}},
	{"init's scheduler", SYS_sched_setscheduler, true, EPERM, {1}},
	{"init's scheduling parameters", SYS_sched_setparam, true, EPERM, {1}},
	{"init's scheduling attributes", SYS_sched_setattr, true, EPERM, {1}},
	{"its own scheduler", SYS_sched_setscheduler, false, 0, {0}},
	{"init's CPUs", SYS_sched_setaffinity, true, EPERM, {1}},
	{"init's priority", SYS_setpriority, true, EPERM, {PRIO_PROCESS, 1}},
	{"its user's priority, init's too", SYS_setpriority, true, EPERM, {PRIO_USER, 0}},
	{"its user's priority, high half set", SYS_setpriority, true, EPERM, {HIGH | PRIO_USER, 0}},
	{"its own priority", SYS_setpriority, false, 0, {PRIO_PROCESS, 0}},
	{"its user's io priority", SYS_ioprio_set, true, EPERM, {3, 0}},
	{"init's io priority", SYS_ioprio_set, true, EPERM, {1, 1}},
	{"its own io priority", SYS_ioprio_set, false, 0, {1, 0}},
};
/* clang-format on */

static void check_case(const struct program *program, const struct argument_case *one)
{
	uint32_t expected = one->refused ? refusal(program, one->error) : ALLOW;
	uint32_t seen = ask(program, one->nr, one->args, ARRAY_LEN(one->args));

	if (seen != expected)
		fail_msg("%s: %#x instead of %#x (counted %d, pinned %d)", one->what, seen,
			expected, program->counted, program->pinned);
}

static void arguments_decide_as_the_kernel_reads_them(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++)
			check_case(program, &cases[i]);
}

static void who_can_write_to_nothing_that_lasts_writes_out_nothing_of_the_hosts(void **state)
{
	static const struct cell_mount mounts[] = {{"/a", "/a", false}, {"/b", "/b", true}};
	static const int calls[] = {SYS_sync, SYS_syncfs, SYS_fsync, SYS_fdatasync, SYS_sync_file_range};
	struct program none = {0}, some = {0};
	struct err err;

	(void)state;
	assert_int_equal(filter_want_of(NULL, 0), filter_want_of(mounts, 1));
	assert_int_equal(filter_build(filter_want_of(mounts, 1), &none.code, &none.len, &err), 0);
	assert_int_equal(filter_build(filter_want_of(mounts, 2), &some.code, &some.len, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		assert_int_equal(ask(&none, calls[i], NULL, 0), FAILS(0));
		assert_int_equal(ask(&some, calls[i], NULL, 0), ALLOW);
	}
	free(none.code);
	free(some.code);
}

static void the_limit_of_cores_is_asked_but_not_set(void **state)
{
	static const struct {
		int nr;
		uint64_t args[4];
		bool sets;
	} calls[] = {
		{SYS_prlimit64, {0, RLIMIT_CORE, 0, 4096}, false},
		{SYS_prlimit64, {0, RLIMIT_CORE, 4096, 0}, true},
		{SYS_prlimit64, {7, HIGH | RLIMIT_CORE, 4096, 4096}, true},
		{SYS_prlimit64, {0, RLIMIT_CORE, HIGH, 0}, true},
		{SYS_prlimit64, {0, RLIMIT_NOFILE, 4096, 0}, false},
		{SYS_setrlimit, {RLIMIT_CORE, 4096}, true},
		{SYS_setrlimit, {HIGH | RLIMIT_CORE, 4096}, true},
		{SYS_setrlimit, {RLIMIT_FSIZE, 4096}, false},
	};

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (size_t i = 0; i < ARRAY_LEN(calls); i++)
			assert_int_equal(ask(program, calls[i].nr, calls[i].args, 4), calls[i].sets ? FAILS(0) : ALLOW);
}

static void changing_cpus_is_refused_only_where_a_cell_is_pinned(void **state)
{
	static const uint64_t self[] = {0};

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		assert_int_equal(ask(program, SYS_sched_setaffinity, self, 1),
			program->pinned ? refusal(program, EPERM) : ALLOW);
}

static void every_single_namespace_flag_is_refused(void **state)
{
	static const uint64_t namespaces = UINT64_C(0x7e020000);

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (int bit = 0; bit < 64; bit++) {
			const uint64_t flags = UINT64_C(1) << bit;
			bool refused = (flags & namespaces) != 0;
			assert_int_equal(ask(program, SYS_clone, &flags, 1),
				refused ? refusal(program, EPERM) : ALLOW);
		}
}

static bool family_is_allowed(uint64_t family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6;
}

static void only_local_and_internet_sockets_are_made_and_none_raw(void **state)
{
	static const uint64_t flags[] = {
		0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK, HIGH};

	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (uint64_t family = 0; family <= 64; family++)
			for (uint64_t type = 1; type <= 15; type++)
				for (size_t f = 0; f < ARRAY_LEN(flags); f++) {
					const uint64_t args[] = {family, type | flags[f], 0},
						       high[] = {HIGH | family, type | flags[f], 0};
					bool allowed = family_is_allowed(family) &&
						       (type == SOCK_STREAM || type == SOCK_DGRAM ||
							       type == SOCK_SEQPACKET);
					uint32_t expected =
						allowed ? ALLOW : refusal(program, EAFNOSUPPORT);
					assert_int_equal(
						ask(program, SYS_socket, args, 3), expected);
					assert_int_equal(
						ask(program, SYS_socket, high, 3), expected);
				}
}

static void only_the_usual_protocols_are_spoken(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (uint64_t protocol = 0; protocol < 300; protocol++) {
			const uint64_t args[] = {AF_INET, SOCK_STREAM, HIGH | protocol};
			bool usual = protocol == 0 || protocol == 1 || protocol == 6 || protocol == 17 ||
				     protocol == 58;
			assert_int_equal(ask(program, SYS_socket, args, 3),
				usual ? ALLOW : refusal(program, EAFNOSUPPORT));
		}
}

static void set_id_files_are_refused_where_a_mount_is_writable(void **state)
{
	static const struct {
		int nr;
		uint64_t args[4];
		bool allowed;
	} table[] = {
		{SYS_fchmod, {3, 0755}, true},
		{SYS_fchmod, {3, 04755}, false},
		{SYS_fchmod, {3, HIGH | 02755}, false},
		{SYS_fchmodat, {3, 0, 06755}, false},
		{SYS_fchmodat, {3, 0, 01777}, true},
		{452, {3, 0, 04755, 0}, false}, /* fchmodat2 */
		{452, {3, 0, HIGH | 02755, 0}, false},
		{452, {3, 0, 0755, 0}, true},
		{SYS_openat, {3, 0, O_RDONLY, 04755}, true}, /* makes nothing: the mode is garbage */
		{SYS_openat, {3, 0, O_WRONLY | O_CREAT, 0644}, true},
		{SYS_openat, {3, 0, O_WRONLY | O_CREAT, 04755}, false},
		{SYS_openat, {3, 0, O_RDWR | O_TMPFILE, 02755}, false},
		{SYS_openat2, {3, 0, 0, 0}, false},
		{SYS_mknodat, {3, 0, S_IFREG | 04755}, false},
#ifdef SYS_chmod
		{SYS_chmod, {0, 04755}, false},
		{SYS_chmod, {0, 0644}, true},
		{SYS_creat, {0, 02755}, false},
		{SYS_open, {0, O_WRONLY | O_CREAT, 04755}, false},
		{SYS_open, {0, O_RDONLY, 04755}, true},
#endif
	};
	struct program program = {.counted = true};
	struct err err;

	(void)state;
	assert_int_equal(
		filter_build(FILTER_COUNTED | FILTER_NO_SET_ID, &program.code, &program.len, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((ask(&program, table[i].nr, table[i].args, 4) == ALLOW) != table[i].allowed)
			fail_msg("row %zu: call %d", i, table[i].nr);
	free(program.code);
}

static void memory_that_no_process_maps_is_refused_where_only_init_watches(void **state)
{
	struct program program = {.counted = false};
	struct err err;

	(void)state;
	assert_int_equal(filter_build(FILTER_NO_HIDDEN_MEMORY, &program.code, &program.len, &err), 0);
	assert_int_equal(ask(&program, SYS_memfd_create, NULL, 0), FAILS(ENOSYS));
	assert_int_equal(ask(&programs[0], SYS_memfd_create, NULL, 0), ALLOW);
	free(program.code);
}

static void socket_pairs_are_local(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (uint64_t family = 0; family <= 64; family++) {
			const uint64_t args[] = {family, SOCK_STREAM, 0};
			assert_int_equal(ask(program, SYS_socketpair, args, 3),
				family == AF_UNIX ? ALLOW : refusal(program, EAFNOSUPPORT));
		}
}

static void files_fifos_and_sockets_are_made_but_no_devices(void **state)
{
	(void)state;
	for (const struct program *program = programs; program < programs_end; program++)
		for (uint64_t kind = 0; kind < 16; kind++)
			for (uint64_t bits = 0; bits < 4; bits++) {
				uint64_t mode =
					kind << 12 | 07777 * (bits & 1) | HIGH * (bits >> 1);
				const uint64_t at[] = {UINT64_C(0xffffff9c), 0x1000, mode},
					       plain[] = {0x1000, mode};
				bool allowed = (bits & 1) == 0 && /* those have set-id bits */
					(kind == 0 || kind << 12 == S_IFREG || kind << 12 == S_IFIFO ||
						kind << 12 == S_IFSOCK);
				assert_int_equal(ask(program, SYS_mknodat, at, 3),
					allowed ? ALLOW : refusal(program, EPERM));
#ifdef SYS_mknod
				assert_int_equal(ask(program, SYS_mknod, plain, 2),
					allowed ? ALLOW : refusal(program, EPERM));
#endif
				(void)plain;
			}
}

/* ---- what --explain says of it ---- */

static bool allowed_with_something(const struct program *program, int nr)
{
	static const uint64_t harmless[][3] = {{0, 0, 0}, {AF_UNIX, SOCK_STREAM, 0}, {17, 0, 0}};

	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (ask(program, nr, harmless[i], 3) == ALLOW)
			return true;
	return false;
}

static void what_is_refused_only_in_part_is_explained_so(void **state)
{
	static const char *const argv[] = {"true", NULL};
	own(buf_done) struct buf text = {0};
	struct cell_spec spec;

	(void)state;
	cell_spec_defaults(&spec);
	spec.argv = argv;
	native_explain(&spec, &text);
	for (int nr = 0; nr < 512; nr++) {
		if (filter_index(nr) < 0 || nr == SYS_sched_setaffinity ||
			filter_when((unsigned)filter_index(nr)) != 0)
			continue;
		const char *name = filter_name((unsigned)filter_index(nr));
		own(freep) char *partly = xfmt("%s (", name);
		assert_non_null(strstr(buf_text(&text), name));
		if ((strstr(buf_text(&text), partly) != NULL) !=
			allowed_with_something(&programs[0], nr))
			fail_msg("%s: --explain and the filter disagree", name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernel_would_take_the_program),
		cmocka_unit_test(every_verdict_is_one_of_those_meant),
		cmocka_unit_test(no_call_takes_long_to_judge),
		cmocka_unit_test(a_foreign_architecture_is_killed),
#if defined(__x86_64__)
		cmocka_unit_test(the_x32_calls_are_killed),
#endif
		cmocka_unit_test(a_listed_call_is_allowed_whatever_its_arguments),
		cmocka_unit_test(calls_that_leave_something_in_an_ipc_namespace_are_noticed),
		cmocka_unit_test(no_call_is_both_allowed_and_refused),
		cmocka_unit_test(a_call_in_no_list_does_not_exist),
		cmocka_unit_test(counted_and_plain_programs_refuse_the_same),
		cmocka_unit_test(every_refused_call_has_a_name_of_its_own),
		cmocka_unit_test(these_calls_get_these_verdicts),
		cmocka_unit_test(newer_calls_are_judged_alike_whatever_headers_this_was_built_with),
		cmocka_unit_test(arguments_decide_as_the_kernel_reads_them),
		cmocka_unit_test(the_limit_of_cores_is_asked_but_not_set),
		cmocka_unit_test(changing_cpus_is_refused_only_where_a_cell_is_pinned),
		cmocka_unit_test(every_single_namespace_flag_is_refused),
		cmocka_unit_test(only_local_and_internet_sockets_are_made_and_none_raw),
		cmocka_unit_test(only_the_usual_protocols_are_spoken),
		cmocka_unit_test(set_id_files_are_refused_where_a_mount_is_writable),
		cmocka_unit_test(memory_that_no_process_maps_is_refused_where_only_init_watches),
		cmocka_unit_test(socket_pairs_are_local),
		cmocka_unit_test(files_fifos_and_sockets_are_made_but_no_devices),
		cmocka_unit_test(who_can_write_to_nothing_that_lasts_writes_out_nothing_of_the_hosts),
		cmocka_unit_test(what_is_refused_only_in_part_is_explained_so),
	};

	return cmocka_run_group_tests(tests, programs_build, programs_free);
}
