/* The system call filter, as a binary decision tree over ranges of call numbers.
 *
 * Why not libseccomp: the kernel runs a new filter once for every call number when it is loaded
 * (to cache what is always allowed). A linear filter of 290 instructions took 1.35 ms to load on
 * the machine this was measured on; this tree takes 0.1 ms, and it is loaded once per cell.
 *
 * Three rules: what is in the tables is known; what is known and dangerous is refused with a listener
 * that counts it; what is unknown does not exist (ENOSYS), so that programs fall back to what they
 * know. Arguments are compared in their low 32 bits, as the kernel takes them: the high half is the
 * attacker's (CVE-2019-10063). */
#include "cell/native/native.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define X32_BIT 0x40000000u

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "the system call filter knows x86_64 and aarch64"
#endif

#define CALL(name) { SYS_##name, #name }

struct call {
	int nr;
	const char *name;
};

/* Refused, counted, by the errno each gets. */
static const struct call refused_eperm[] = {
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(setns), CALL(swapon), CALL(swapoff),
	CALL(reboot), CALL(sethostname), CALL(setdomainname), CALL(init_module), CALL(delete_module),
	CALL(finit_module), CALL(kexec_load), CALL(acct), CALL(quotactl), CALL(settimeofday),
	CALL(clock_settime), CALL(adjtimex), CALL(clock_adjtime), CALL(syslog), CALL(vhangup),
	CALL(add_key), CALL(request_key), CALL(keyctl), CALL(perf_event_open), CALL(bpf),
	CALL(userfaultfd), CALL(open_by_handle_at), CALL(name_to_handle_at), CALL(fanotify_init),
	CALL(process_vm_readv), CALL(process_vm_writev), CALL(kcmp), CALL(move_pages), CALL(migrate_pages),
#ifdef SYS_lookup_dcookie
	CALL(lookup_dcookie),
#endif
#ifdef SYS_kexec_file_load
	CALL(kexec_file_load),
#endif
#ifdef SYS_iopl
	CALL(iopl), CALL(ioperm), CALL(modify_ldt),
#endif
#ifdef SYS_fsopen
	CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(open_tree), CALL(move_mount),
#endif
#ifdef SYS_mount_setattr
	CALL(mount_setattr),
#endif
#ifdef SYS_quotactl_fd
	CALL(quotactl_fd),
#endif
#ifdef SYS_pidfd_getfd
	CALL(pidfd_getfd),
#endif
#ifdef SYS_process_madvise
	CALL(process_madvise),
#endif
};

static const struct call refused_enosys[] = {
#ifdef SYS_io_uring_setup
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
#endif
};

/* Allowed whatever their arguments. */
static const int allowed[] = {
#define A(name) SYS_##name,
#include "cell/native/filter_calls.inc"
#undef A
};

/* Allowed or refused by their arguments. */
enum check {
	CHECK_CLONE, CHECK_UNSHARE, CHECK_SOCKET, CHECK_SOCKETPAIR, CHECK_IOCTL, CHECK_PERSONALITY, CHECK_PRLIMIT,
	CHECK_MKNOD, CHECK_MKNODAT, CHECK_AFFINITY, CHECK_COUNT
};

static const struct {
	struct call call;
	int error;
} checks[] = {
	[CHECK_CLONE] = { CALL(clone), EPERM },
	[CHECK_UNSHARE] = { CALL(unshare), EPERM },
	[CHECK_SOCKET] = { CALL(socket), EAFNOSUPPORT },
	[CHECK_SOCKETPAIR] = { CALL(socketpair), EAFNOSUPPORT },
	[CHECK_IOCTL] = { CALL(ioctl), EPERM },
	[CHECK_PERSONALITY] = { CALL(personality), EPERM },
	[CHECK_PRLIMIT] = { CALL(prlimit64), EPERM },
#ifdef SYS_mknod
	[CHECK_MKNOD] = { CALL(mknod), EPERM },
#else
	[CHECK_MKNOD] = { { -1, "mknod" }, EPERM },
#endif
	[CHECK_MKNODAT] = { CALL(mknodat), EPERM },
	[CHECK_AFFINITY] = { CALL(sched_setaffinity), EPERM },
};
_Static_assert(ARRAY_LEN(checks) == CHECK_COUNT, "a check has no row");

/* ---- names for the listener ---- */

int filter_index(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(refused_eperm); i++)
		if (refused_eperm[i].nr == nr)
			return (int)i;
	for (size_t i = 0; i < ARRAY_LEN(refused_enosys); i++)
		if (refused_enosys[i].nr == nr)
			return (int)(ARRAY_LEN(refused_eperm) + i);
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (checks[i].call.nr == nr)
			return (int)(ARRAY_LEN(refused_eperm) + ARRAY_LEN(refused_enosys) + i);
	return -1;
}
_Static_assert(ARRAY_LEN(refused_eperm) + ARRAY_LEN(refused_enosys) + CHECK_COUNT <= FILTER_MAX_REFUSED,
	"more refused calls than can be counted");

const char *filter_name(unsigned index)
{
	if (index < ARRAY_LEN(refused_eperm))
		return refused_eperm[index].name;
	index -= ARRAY_LEN(refused_eperm);
	if (index < ARRAY_LEN(refused_enosys))
		return refused_enosys[index].name;
	index -= ARRAY_LEN(refused_enosys);
	return index < CHECK_COUNT ? checks[index].call.name : NULL;
}

int filter_refusal(int nr, const char **ret_name)
{
	int index = filter_index(nr);

	*ret_name = index < 0 ? "unknown" : filter_name((unsigned)index);
	if (index < 0 || (size_t)index < ARRAY_LEN(refused_eperm))
		return EPERM;
	index -= (int)ARRAY_LEN(refused_eperm);
	if ((size_t)index < ARRAY_LEN(refused_enosys))
		return ENOSYS;
	return checks[index - (int)ARRAY_LEN(refused_enosys)].error;
}

/* ---- what to do with each number ---- */

enum action {
	DO_UNKNOWN, DO_ALLOW, DO_REFUSE_EPERM, DO_REFUSE_ENOSYS, DO_CHECK /* + enum check */
};
#define MAX_NR 512

static void actions_fill(unsigned char action[MAX_NR], bool pinned)
{
	memset(action, DO_UNKNOWN, MAX_NR);
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		action[allowed[i]] = DO_ALLOW;
	for (size_t i = 0; i < ARRAY_LEN(refused_eperm); i++)
		action[refused_eperm[i].nr] = DO_REFUSE_EPERM;
	for (size_t i = 0; i < ARRAY_LEN(refused_enosys); i++)
		action[refused_enosys[i].nr] = DO_REFUSE_ENOSYS;
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (checks[i].call.nr >= 0)
			action[checks[i].call.nr] = (unsigned char)(DO_CHECK + i);
	if (!pinned)
		action[SYS_sched_setaffinity] = DO_ALLOW;
}

/* ---- emitting ---- */

struct code {
	struct sock_filter insn[1024];
	size_t len;
	bool full, counted;
};

static void emit(struct code *code, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (code->len == ARRAY_LEN(code->insn)) {
		code->full = true;
		return;
	}
	code->insn[code->len++] = (struct sock_filter){ op, jt, jf, k };
}

static void load(struct code *code, size_t offset)
{
	emit(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void load_arg(struct code *code, unsigned index)
{
	/* the low half, on the little-endian machines we know */
	load(code, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static void ret(struct code *code, uint32_t value)
{
	emit(code, BPF_RET | BPF_K, 0, 0, value);
}

static void ret_refuse(struct code *code, int error)
{
	ret(code, code->counted ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | (uint32_t)error);
}

/* "if the accumulator equals k: skip the next instruction" in a chain that ends in a verdict */
static void allow_if_equal(struct code *code, uint32_t k)
{
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	ret(code, SECCOMP_RET_ALLOW);
}

static void refuse_if_set(struct code *code, uint32_t bits, int error)
{
	emit(code, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
	ret_refuse(code, error);
}

static void emit_mknod(struct code *code, unsigned mode_arg)
{
	load_arg(code, mode_arg);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, S_IFMT);
	allow_if_equal(code, 0);
	allow_if_equal(code, S_IFREG);
	allow_if_equal(code, S_IFIFO);
	allow_if_equal(code, S_IFSOCK);
	ret_refuse(code, EPERM);
}

static void emit_socket(struct code *code)
{
	load_arg(code, 1);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf);
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SOCK_RAW);
	ret_refuse(code, EAFNOSUPPORT);
	load_arg(code, 0);
	allow_if_equal(code, AF_UNIX);
	allow_if_equal(code, AF_INET);
	allow_if_equal(code, AF_INET6);
	ret_refuse(code, EAFNOSUPPORT);
}

static void emit_check(struct code *code, enum check check)
{
	static const uint32_t namespaces = 0x7e020000; /* CLONE_NEW* that clone knows */
	static const uint32_t shareable = 0x200 | 0x400 | 0x40000; /* FS, FILES, SYSVSEM */

	switch (check) {
	case CHECK_CLONE:
		load_arg(code, 0);
		refuse_if_set(code, namespaces, EPERM);
		ret(code, SECCOMP_RET_ALLOW);
		break;
	case CHECK_UNSHARE:
		load_arg(code, 0);
		refuse_if_set(code, ~shareable, EPERM);
		ret(code, SECCOMP_RET_ALLOW);
		break;
	case CHECK_SOCKET:
		emit_socket(code);
		break;
	case CHECK_SOCKETPAIR:
		load_arg(code, 0);
		allow_if_equal(code, AF_UNIX);
		ret_refuse(code, EAFNOSUPPORT);
		break;
	case CHECK_IOCTL: /* putting words into a terminal's mouth */
		load_arg(code, 1);
		emit(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 0x5412); /* TIOCSTI */
		emit(code, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0x541c); /* TIOCLINUX */
		ret_refuse(code, EPERM);
		ret(code, SECCOMP_RET_ALLOW);
		break;
	case CHECK_PERSONALITY:
		load_arg(code, 0);
		allow_if_equal(code, 0); /* PER_LINUX */
		allow_if_equal(code, 8); /* PER_LINUX32 */
		allow_if_equal(code, 0x0040000); /* ADDR_NO_RANDOMIZE: debuggers and fuzzers */
		allow_if_equal(code, 0xffffffff); /* only asks */
		ret_refuse(code, EPERM);
		break;
	case CHECK_PRLIMIT: /* of another process: init's limits are not the program's to change */
		load_arg(code, 0);
		allow_if_equal(code, 0);
		ret_refuse(code, EPERM);
		break;
	case CHECK_MKNOD:
		emit_mknod(code, 1);
		break;
	case CHECK_MKNODAT:
		emit_mknod(code, 2);
		break;
	case CHECK_AFFINITY:
		ret_refuse(code, EPERM);
		break;
	case CHECK_COUNT:
		break;
	}
}

static void emit_action(struct code *code, unsigned char action)
{
	switch (action) {
	case DO_UNKNOWN:
		ret(code, SECCOMP_RET_ERRNO | ENOSYS);
		break;
	case DO_ALLOW:
		ret(code, SECCOMP_RET_ALLOW);
		break;
	case DO_REFUSE_EPERM:
		ret_refuse(code, EPERM);
		break;
	case DO_REFUSE_ENOSYS:
		ret_refuse(code, ENOSYS);
		break;
	default:
		emit_check(code, (enum check)(action - DO_CHECK));
	}
}

struct range {
	uint32_t first;
	unsigned char action;
};

/* Jumps go forward only, so the program is laid out backwards: verdicts last, the root first. A node
 * is emitted into `tree` from its end; distances are known because everything behind it is. */
struct layout {
	struct sock_filter tree[512];
	size_t used; /* from the end of `tree` */
	size_t verdict[DO_CHECK + CHECK_COUNT]; /* where each action's code begins, behind the tree */
	bool full;
};

/* Emits the tree over the ranges; returns how far from the end of `tree` it begins, counted so that
 * a verdict at offset v behind the tree is at distance -v. */
static long emit_tree(struct layout *layout, const struct range *ranges, size_t count)
{
	if (count == 1)
		return -(long)layout->verdict[ranges[0].action];
	size_t half = count / 2;
	long right = emit_tree(layout, ranges + half, count - half);
	long left = emit_tree(layout, ranges, half);
	if (layout->used == ARRAY_LEN(layout->tree)) {
		layout->full = true;
		return 0;
	}
	long here = (long)++layout->used;
	long to_right = here - right - 1, to_left = here - left - 1;
	if (to_right > 255 || to_left > 255)
		layout->full = true;
	layout->tree[ARRAY_LEN(layout->tree) - (size_t)here] = (struct sock_filter){ BPF_JMP | BPF_JGE | BPF_K,
		(uint8_t)to_right, (uint8_t)to_left, ranges[half].first };
	return here;
}

static size_t ranges_fill(struct range ranges[MAX_NR + 1], bool pinned)
{
	unsigned char action[MAX_NR];
	size_t count = 0;

	actions_fill(action, pinned);
	for (uint32_t nr = 0; nr < MAX_NR; nr++)
		if (nr == 0 || action[nr] != action[nr - 1])
			ranges[count++] = (struct range){ nr, action[nr] };
	if (ranges[count - 1].action != DO_UNKNOWN)
		ranges[count++] = (struct range){ MAX_NR, DO_UNKNOWN };
	return count;
}

int filter_build(bool counted, bool pinned, struct sock_filter **ret_code, size_t *ret_len, struct err *err)
{
	struct range ranges[MAX_NR + 1];
	size_t count = ranges_fill(ranges, pinned);
	own(freep) struct code *code = xcalloc(1, sizeof(*code));
	own(freep) struct code *verdicts = xcalloc(1, sizeof(*verdicts));
	own(freep) struct layout *layout = xcalloc(1, sizeof(*layout));

	verdicts->counted = counted;
	for (unsigned char action = 0; action < DO_CHECK + CHECK_COUNT; action++) {
		layout->verdict[action] = verdicts->len;
		emit_action(verdicts, action);
	}
	(void)emit_tree(layout, ranges, count);

	load(code, offsetof(struct seccomp_data, arch));
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OUR_ARCH);
	ret(code, SECCOMP_RET_KILL_PROCESS);
	load(code, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	emit(code, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
	ret(code, SECCOMP_RET_KILL_PROCESS);
#endif
	if (layout->full || verdicts->full || code->len + layout->used + verdicts->len > ARRAY_LEN(code->insn))
		return err_set(err, ERR_LIMIT, "the system call filter has grown too large");
	*ret_len = code->len + layout->used + verdicts->len;
	*ret_code = xcalloc(*ret_len, sizeof(**ret_code));
	memcpy(*ret_code, code->insn, code->len * sizeof(**ret_code));
	memcpy(*ret_code + code->len, layout->tree + ARRAY_LEN(layout->tree) - layout->used,
		layout->used * sizeof(**ret_code));
	memcpy(*ret_code + code->len + layout->used, verdicts->insn, verdicts->len * sizeof(**ret_code));
	return 0;
}
