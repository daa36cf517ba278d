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
#include <fcntl.h>
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
	CALL(io_setup), /* its quota is the whole machine's */
};

/* Allowed whatever their arguments. */
static const int allowed[] = {
#define A(name) SYS_##name,
#include "cell/native/filter_calls.inc"
#undef A
};

/* Allowed or refused by their arguments: the code that decides, below. */
struct code;
typedef void check_fn(struct code *code, int error);
static check_fn emit_clone, emit_unshare, emit_socket, emit_socketpair, emit_ioctl, emit_personality, emit_mknod,
	emit_mknodat, emit_not_init, emit_priority, emit_io_priority, emit_mode1, emit_mode2, emit_open, emit_openat,
	emit_never;

static const struct check {
	struct call call;
	int error;
	check_fn *emit;
	unsigned when; /* enum filter_want: only then; 0: always */
} checks[] = {
	{ CALL(clone), EPERM, emit_clone },
	{ CALL(unshare), EPERM, emit_unshare },
	{ CALL(socket), EAFNOSUPPORT, emit_socket },
	{ CALL(socketpair), EAFNOSUPPORT, emit_socketpair },
	{ CALL(ioctl), EPERM, emit_ioctl },
	{ CALL(personality), EPERM, emit_personality },
#ifdef SYS_mknod
	{ CALL(mknod), EPERM, emit_mknod },
#endif
	{ CALL(mknodat), EPERM, emit_mknodat },
	/* init has the program's user: it must not be made slow, small or idle */
	{ CALL(prlimit64), EPERM, emit_not_init },
	{ CALL(sched_setscheduler), EPERM, emit_not_init },
	{ CALL(sched_setparam), EPERM, emit_not_init },
	{ CALL(sched_setattr), EPERM, emit_not_init },
	{ CALL(sched_setaffinity), EPERM, emit_not_init },
	{ CALL(setpriority), EPERM, emit_priority },
	{ CALL(ioprio_set), EPERM, emit_io_priority },
	/* a set-id file left in a folder of the host's would be its owner's */
	{ CALL(fchmod), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(fchmodat), EPERM, emit_mode2, FILTER_NO_SET_ID },
	{ CALL(openat), EPERM, emit_openat, FILTER_NO_SET_ID },
	{ CALL(openat2), ENOSYS, emit_never, FILTER_NO_SET_ID }, /* its mode is behind a pointer */
#ifdef SYS_chmod
	{ CALL(chmod), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(creat), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(open), EPERM, emit_open, FILTER_NO_SET_ID },
#endif
	/* where nobody counts a cell's memory but init, what init cannot see is refused */
	{ CALL(memfd_create), ENOSYS, emit_never, FILTER_NO_HIDDEN_MEMORY },
};
#define CHECK_COUNT ARRAY_LEN(checks)

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

unsigned filter_when(unsigned index)
{
	size_t before = ARRAY_LEN(refused_eperm) + ARRAY_LEN(refused_enosys);

	return index < before || index - before >= CHECK_COUNT ? 0 : checks[index - before].when;
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
	DO_UNKNOWN, DO_ALLOW, DO_REFUSE_EPERM, DO_REFUSE_ENOSYS, DO_CHECK /* + index in checks */
};
#define MAX_NR 512

static void actions_fill(unsigned char action[MAX_NR], unsigned want)
{
	memset(action, DO_UNKNOWN, MAX_NR);
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		action[allowed[i]] = DO_ALLOW;
	for (size_t i = 0; i < ARRAY_LEN(refused_eperm); i++)
		action[refused_eperm[i].nr] = DO_REFUSE_EPERM;
	for (size_t i = 0; i < ARRAY_LEN(refused_enosys); i++)
		action[refused_enosys[i].nr] = DO_REFUSE_ENOSYS;
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (checks[i].when == 0 || (checks[i].when & want) != 0)
			action[checks[i].call.nr] = (unsigned char)(DO_CHECK + i);
	if ((want & FILTER_PINNED) != 0)
		action[SYS_sched_setaffinity] = DO_REFUSE_EPERM;
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

static void refuse_if_equal(struct code *code, uint32_t k, int error)
{
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, k);
	ret_refuse(code, error);
}

static void refuse_unless_among(struct code *code, const uint32_t *values, size_t count, int error)
{
	for (size_t i = 0; i < count; i++) /* over the rest of the list and the verdict behind it */
		emit(code, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), 0, values[i]);
	ret_refuse(code, error);
}

static void refuse_if_set(struct code *code, uint32_t bits, int error)
{
	emit(code, BPF_JMP | BPF_JSET | BPF_K, 0, 1, bits);
	ret_refuse(code, error);
}

static void emit_clone(struct code *code, int error)
{
	static const uint32_t namespaces = 0x7e020000; /* the CLONE_NEW* that clone knows */

	load_arg(code, 0);
	refuse_if_set(code, namespaces, error);
	ret(code, SECCOMP_RET_ALLOW);
}

static void emit_unshare(struct code *code, int error)
{
	static const uint32_t harmless = 0x200 | 0x400 | 0x40000; /* FS, FILES, SYSVSEM */

	load_arg(code, 0);
	refuse_if_set(code, ~harmless, error);
	ret(code, SECCOMP_RET_ALLOW);
}

static void emit_socket(struct code *code, int error)
{
	static const uint32_t types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	static const uint32_t protocols[] = { 0, 1, 6, 17, 58 }; /* the usual; ICMP, TCP, UDP, ICMPv6 */

	load_arg(code, 1);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf); /* the type without its flags */
	refuse_unless_among(code, types, ARRAY_LEN(types), error);
	load_arg(code, 2);
	refuse_unless_among(code, protocols, ARRAY_LEN(protocols), error);
	load_arg(code, 0);
	allow_if_equal(code, AF_UNIX);
	allow_if_equal(code, AF_INET);
	allow_if_equal(code, AF_INET6);
	ret_refuse(code, error);
}

static void emit_socketpair(struct code *code, int error)
{
	load_arg(code, 0);
	allow_if_equal(code, AF_UNIX);
	ret_refuse(code, error);
}

/* Putting words into a terminal's mouth. */
static void emit_ioctl(struct code *code, int error)
{
	load_arg(code, 1);
	refuse_if_equal(code, 0x5412, error); /* TIOCSTI */
	refuse_if_equal(code, 0x541c, error); /* TIOCLINUX */
	ret(code, SECCOMP_RET_ALLOW);
}

static void emit_personality(struct code *code, int error)
{
	load_arg(code, 0);
	allow_if_equal(code, 0); /* PER_LINUX */
	allow_if_equal(code, 8); /* PER_LINUX32 */
	allow_if_equal(code, 0x0040000); /* ADDR_NO_RANDOMIZE: debuggers and fuzzers */
	allow_if_equal(code, 0xffffffff); /* only asks */
	ret_refuse(code, error);
}

#define SET_ID (S_ISUID | S_ISGID)

static void emit_node(struct code *code, unsigned mode_arg, int error)
{
	load_arg(code, mode_arg);
	refuse_if_set(code, SET_ID, error);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, S_IFMT);
	allow_if_equal(code, 0);
	allow_if_equal(code, S_IFREG);
	allow_if_equal(code, S_IFIFO);
	allow_if_equal(code, S_IFSOCK);
	ret_refuse(code, error);
}

static void __attribute__((unused)) emit_mknod(struct code *code, int error)
{
	emit_node(code, 1, error);
}

static void emit_mknodat(struct code *code, int error)
{
	emit_node(code, 2, error);
}

static void emit_mode(struct code *code, unsigned mode_arg, int error)
{
	load_arg(code, mode_arg);
	refuse_if_set(code, SET_ID, error);
	ret(code, SECCOMP_RET_ALLOW);
}

static void emit_mode1(struct code *code, int error)
{
	emit_mode(code, 1, error);
}

static void emit_mode2(struct code *code, int error)
{
	emit_mode(code, 2, error);
}

/* The mode counts only where a file may be made; else the register holds anything. */
static void emit_creating(struct code *code, unsigned flags_arg, int error)
{
	load_arg(code, flags_arg);
	emit(code, BPF_JMP | BPF_JSET | BPF_K, 1, 0, O_CREAT | 020000000 /* O_TMPFILE's own bit */);
	ret(code, SECCOMP_RET_ALLOW);
	emit_mode(code, flags_arg + 1, error);
}

static void __attribute__((unused)) emit_open(struct code *code, int error)
{
	emit_creating(code, 1, error);
}

static void emit_openat(struct code *code, int error)
{
	emit_creating(code, 2, error);
}

static void emit_never(struct code *code, int error)
{
	ret_refuse(code, error);
}

/* The first argument is a process: any but init. */
static void emit_not_init(struct code *code, int error)
{
	load_arg(code, 0);
	refuse_if_equal(code, 1, error);
	ret(code, SECCOMP_RET_ALLOW);
}

/* Kinds of "who": 0 a process, 1 a group, 2 a user, which would include init. */
static void emit_who(struct code *code, uint32_t user, int error)
{
	load_arg(code, 0);
	refuse_if_equal(code, user, error);
	load_arg(code, 1);
	refuse_if_equal(code, 1, error);
	ret(code, SECCOMP_RET_ALLOW);
}

static void emit_priority(struct code *code, int error)
{
	emit_who(code, 2, error); /* PRIO_USER */
}

static void emit_io_priority(struct code *code, int error)
{
	emit_who(code, 3, error); /* IOPRIO_WHO_USER */
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
		checks[action - DO_CHECK].emit(code, checks[action - DO_CHECK].error);
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

static size_t ranges_fill(struct range ranges[MAX_NR + 1], unsigned want)
{
	unsigned char action[MAX_NR];
	size_t count = 0;

	actions_fill(action, want);
	for (uint32_t nr = 0; nr < MAX_NR; nr++)
		if (nr == 0 || action[nr] != action[nr - 1])
			ranges[count++] = (struct range){ nr, action[nr] };
	if (ranges[count - 1].action != DO_UNKNOWN)
		ranges[count++] = (struct range){ MAX_NR, DO_UNKNOWN };
	return count;
}

int filter_build(unsigned want, struct sock_filter **ret_code, size_t *ret_len, struct err *err)
{
	struct range ranges[MAX_NR + 1];
	size_t count = ranges_fill(ranges, want);
	own(freep) struct code *code = xcalloc(1, sizeof(*code));
	own(freep) struct code *verdicts = xcalloc(1, sizeof(*verdicts));
	own(freep) struct layout *layout = xcalloc(1, sizeof(*layout));

	verdicts->counted = (want & FILTER_COUNTED) != 0;
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
