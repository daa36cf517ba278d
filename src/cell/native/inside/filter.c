/* The system call filter, as a binary decision tree over ranges of call numbers.
 *
 * Why not libseccomp: the kernel runs a new filter once for every call number when it is loaded
 * (to cache what is always allowed), and translates it twice. A linear filter of 290 instructions took
 * 1.35 ms to load on the machine this was measured on; this tree takes 0.05 ms, and it is loaded once per
 * cell. Each instruction costs 0.3 us: so none is there twice.
 *
 * Three rules: what is in the tables is known; what is known and dangerous is refused with a listener
 * that counts it; what is unknown does not exist (ENOSYS), so that programs fall back to what they
 * know. Arguments are compared in their low 32 bits, as the kernel takes them: the high half is the
 * attacker's (CVE-2019-10063). */
#include "cell/native/inside/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/weaken.h"

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
static const struct call allowed[] = {
#define A(name) CALL(name),
#include "cell/native/inside/filter_calls.inc"
#undef A
};

/* Allowed, but the listener is told: they leave something in the cell's ipc namespace, which is then not used
 * again. */
static const int noticed[] = { SYS_shmget, SYS_semget, SYS_msgget, SYS_mq_open };

/* Allowed or refused by their arguments: the code that decides is in filter_checks.c. */
static const struct check {
	struct call call;
	int error;
	check_fn *emit; /* NULL: always refused */
	unsigned when; /* enum filter_want: only then; 0: always */
} checks[] = {
	{ CALL(clone), EPERM, emit_clone },
	{ CALL(unshare), EPERM, emit_unshare },
	{ CALL(socket), EAFNOSUPPORT, emit_socket },
	{ CALL(socketpair), EAFNOSUPPORT, emit_socketpair },
	{ CALL(setsockopt), EPERM, emit_setsockopt },
	{ CALL(ioctl), EPERM, emit_ioctl },
	{ CALL(fcntl), EPERM, emit_fcntl },
	{ CALL(personality), EPERM, emit_personality },
#ifdef SYS_mknod
	{ CALL(mknod), EPERM, emit_mknod },
#endif
	{ CALL(mknodat), EPERM, emit_mknodat },
	/* init has the program's user: it must not be made slow, small or idle */
	{ CALL(prlimit64), EPERM, emit_prlimit },
#ifdef SYS_setrlimit
	{ CALL(setrlimit), EPERM, emit_setrlimit },
#endif
	{ CALL(sched_setscheduler), EPERM, emit_not_init },
	{ CALL(sched_setparam), EPERM, emit_not_init },
	{ CALL(sched_setattr), EPERM, emit_not_init },
	{ CALL(sched_setaffinity), EPERM, emit_not_init },
	{ CALL(setpriority), EPERM, emit_priority },
	{ CALL(ioprio_set), EPERM, emit_io_priority },
	/* a set-id file left in a folder of the host's would be its owner's */
	{ CALL(fchmod), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(fchmodat), EPERM, emit_mode2, FILTER_NO_SET_ID },
	{ CALL(fchmodat2), EPERM, emit_mode2, FILTER_NO_SET_ID },
	{ CALL(openat), EPERM, emit_openat, FILTER_NO_SET_ID },
	{ CALL(openat2), ENOSYS, NULL, FILTER_NO_SET_ID }, /* its mode is behind a pointer */
#ifdef SYS_chmod
	{ CALL(chmod), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(creat), EPERM, emit_mode1, FILTER_NO_SET_ID },
	{ CALL(open), EPERM, emit_open, FILTER_NO_SET_ID },
#endif
	/* all of the machine's disks, or all of one; and each fsync, of a file that is only read too,
	 * empties the cache of its disk */
	{ CALL(sync), 0, emit_done, FILTER_NOTHING_LASTS },
	{ CALL(syncfs), 0, emit_done, FILTER_NOTHING_LASTS },
	{ CALL(fsync), 0, emit_done, FILTER_NOTHING_LASTS },
	{ CALL(fdatasync), 0, emit_done, FILTER_NOTHING_LASTS },
	{ CALL(sync_file_range), 0, emit_done, FILTER_NOTHING_LASTS },
	/* where nobody counts a cell's memory but init, what init cannot see is refused */
	{ CALL(memfd_create), ENOSYS, NULL, FILTER_NO_HIDDEN_MEMORY },
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

int filter_number(unsigned index)
{
	const size_t eperm = ARRAY_LEN(refused_eperm), enosys = ARRAY_LEN(refused_enosys);

	if (index < eperm)
		return refused_eperm[index].nr;
	return index - eperm < enosys ? refused_enosys[index - eperm].nr : checks[index - eperm - enosys].call.nr;
}

bool filter_is_refused(unsigned index)
{
	return index < ARRAY_LEN(refused_eperm) + ARRAY_LEN(refused_enosys);
}

int filter_allowed(size_t index, const char **ret_name)
{
	if (index >= ARRAY_LEN(allowed))
		return -1;
	*ret_name = allowed[index].name;
	return allowed[index].nr;
}

bool filter_is_noticed(int nr)
{
	for (size_t i = 0; i < ARRAY_LEN(noticed); i++)
		if (noticed[i] == nr)
			return true;
	return false;
}

unsigned filter_want_of(const struct cell_mount *mounts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (mounts[i].writable && mounts[i].space == NULL) /* a space is memory, and without set-id */
			return FILTER_NO_SET_ID;
	return FILTER_NOTHING_LASTS;
}

/* ---- what to do with each number ---- */

enum action {
	DO_UNKNOWN, DO_ALLOW, DO_REFUSE_EPERM, DO_REFUSE_ENOSYS, DO_NOTICE, DO_CHECK /* + index in checks */
};

/* The first check that decides the same way. */
static size_t check_like(size_t index)
{
	size_t first = 0;

	while (checks[first].emit != checks[index].emit || checks[first].error != checks[index].error)
		first++;
	return first;
}

#ifdef HOTCELL_WEAKEN
/* What each part of the filter refuses. */
static const struct {
	const char *part;
	int nrs[20]; /* ends with -1 */
} parts[] = {
	{ "seccomp-namespaces", { SYS_unshare, SYS_clone, SYS_setns, -1 } },
	{ "seccomp-mounts", { SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick,
				    SYS_open_tree, SYS_move_mount, SYS_mount_setattr, -1 } },
	{ "seccomp-handles", { SYS_open_by_handle_at, SYS_name_to_handle_at, -1 } },
	{ "seccomp-setid", { SYS_fchmod, SYS_fchmodat, SYS_fchmodat2, SYS_openat, SYS_openat2, SYS_mknodat,
#ifdef SYS_chmod
				   SYS_chmod, SYS_creat, SYS_open, SYS_mknod,
#endif
				   -1 } },
	{ "seccomp-io-uring", { SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, -1 } },
	{ "seccomp-bpf", { SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, -1 } },
	{ "seccomp-keys", { SYS_add_key, SYS_request_key, SYS_keyctl, -1 } },
	{ "seccomp-sockets", { SYS_socket, SYS_socketpair, SYS_setsockopt, -1 } },
	{ "seccomp-tiocsti", { SYS_ioctl, -1 } },
	{ "seccomp-leases", { SYS_fcntl, SYS_sync, SYS_syncfs, SYS_fsync, SYS_fdatasync, SYS_sync_file_range, -1 } },
	{ "seccomp-ptrace", { SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise, -1 } },
};

static void weaken_actions(unsigned char action[MAX_NR])
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		for (const int *nr = parts[i].nrs; weakened(parts[i].part) && *nr >= 0; nr++)
			action[*nr] = DO_ALLOW;
}
#endif

static void actions_fill(unsigned char action[MAX_NR], unsigned want, const struct call_set *set)
{
	memset(action, DO_UNKNOWN, MAX_NR);
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		action[allowed[i].nr] = DO_ALLOW;
	for (size_t i = 0; i < ARRAY_LEN(refused_eperm); i++)
		action[refused_eperm[i].nr] = DO_REFUSE_EPERM;
	for (size_t i = 0; i < ARRAY_LEN(refused_enosys); i++)
		action[refused_enosys[i].nr] = DO_REFUSE_ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(noticed); i++)
		action[noticed[i]] = (want & FILTER_COUNTED) != 0 ? DO_NOTICE : DO_ALLOW;
	for (size_t i = 0; i < CHECK_COUNT; i++)
		if (checks[i].when == 0 || (checks[i].when & want) != 0)
			action[checks[i].call.nr] = (unsigned char)(DO_CHECK + check_like(i));
	if ((want & FILTER_PINNED) != 0)
		action[SYS_sched_setaffinity] = DO_REFUSE_EPERM;
	for (size_t nr = 0; nr < MAX_NR && set != NULL; nr++)
		if (set->opened[nr])
			action[nr] = DO_ALLOW;
#ifdef HOTCELL_WEAKEN
	weaken_actions(action);
#endif
}

/* ---- laying out ---- */

static const uint32_t verdicts[TO_END - TO_ALLOW] = {
	[TO_ALLOW - TO_ALLOW] = SECCOMP_RET_ALLOW,
	[TO_NOTIFY - TO_ALLOW] = SECCOMP_RET_USER_NOTIF,
	[TO_EPERM - TO_ALLOW] = SECCOMP_RET_ERRNO | EPERM,
	[TO_ENOSYS - TO_ALLOW] = SECCOMP_RET_ERRNO | ENOSYS,
	[TO_EAFNOSUPPORT - TO_ALLOW] = SECCOMP_RET_ERRNO | EAFNOSUPPORT,
	[TO_NOTHING - TO_ALLOW] = SECCOMP_RET_ERRNO | 0,
};

/* Numbers that lead to one action, but for a few single ones: each is compared with, which takes half of what
 * two more ranges would. */
#define MAX_EXCEPT 3
struct leaf {
	uint32_t first;
	unsigned char action;
	unsigned except_count;
	struct range except[MAX_EXCEPT];
};

/* Jumps go forward only, so the program is laid out backwards: verdicts last, then the checks, then the tree
 * with its root first. A node is emitted into `tree` from its end; distances are known because everything
 * behind it is. */
struct layout {
	struct sock_filter tree[512];
	size_t used; /* from the end of `tree` */
	size_t begins[DO_CHECK + CHECK_COUNT]; /* where each action's code is, behind the tree */
	bool full;
};

/* Emits one node; returns how far from the end of `tree` it is, counted so that code at offset v behind the tree
 * is at distance -v. */
static long emit_jump(struct layout *layout, uint16_t op, uint32_t k, long then, long otherwise)
{
	if (layout->used == ARRAY_LEN(layout->tree)) {
		layout->full = true;
		return 0;
	}
	long here = (long)++layout->used;
	long to_then = here - then - 1, to_otherwise = here - otherwise - 1;
	if (to_then > 255 || to_otherwise > 255)
		layout->full = true;
	layout->tree[ARRAY_LEN(layout->tree) - (size_t)here] = (struct sock_filter){ BPF_JMP | op | BPF_K,
		(uint8_t)to_then, (uint8_t)to_otherwise, k };
	return here;
}

static long emit_tree(struct layout *layout, const struct leaf *leaves, size_t count)
{
	if (count > 1) {
		size_t half = count / 2;
		long right = emit_tree(layout, leaves + half, count - half);
		long left = emit_tree(layout, leaves, half);
		return emit_jump(layout, BPF_JGE, leaves[half].first, right, left);
	}
	long at = -(long)layout->begins[leaves->action];
	for (unsigned i = leaves->except_count; i-- > 0;)
		at = emit_jump(layout, BPF_JEQ, leaves->except[i].first,
			-(long)layout->begins[leaves->except[i].action], at);
	return at;
}

static size_t ranges_fill(struct range ranges[MAX_NR + 1], unsigned want, const struct call_set *set)
{
	unsigned char action[MAX_NR];
	size_t count = 0;

	actions_fill(action, want, set);
	for (uint32_t nr = 0; nr < MAX_NR; nr++)
		if (nr == 0 || action[nr] != action[nr - 1])
			ranges[count++] = (struct range){ nr, action[nr] };
	if (ranges[count - 1].action != DO_UNKNOWN)
		ranges[count++] = (struct range){ MAX_NR, DO_UNKNOWN };
	return count;
}

static size_t leaves_fill(struct leaf leaves[MAX_NR + 1], unsigned want, const struct call_set *set)
{
	struct range ranges[MAX_NR + 1];
	size_t count = 0, range_count = ranges_fill(ranges, want, set);

	for (size_t i = 0; i < range_count; i++) {
		struct leaf *leaf = &leaves[count++];
		*leaf = (struct leaf){ .first = ranges[i].first, .action = ranges[i].action };
		while (i + 2 < range_count && leaf->except_count < MAX_EXCEPT &&
			ranges[i + 2].first - ranges[i + 1].first == 1 && ranges[i + 2].action == leaf->action) {
			leaf->except[leaf->except_count++] = ranges[i + 1];
			i += 2;
		}
	}
	return count;
}

static enum target target_of(const struct code *code, unsigned action)
{
	switch (action) {
	case DO_ALLOW: return TO_ALLOW;
	case DO_NOTICE: return TO_NOTIFY;
	case DO_REFUSE_ENOSYS: return refused(code, ENOSYS);
	case DO_REFUSE_EPERM: return refused(code, EPERM);
	default: return weakened("seccomp-unknown") ? refused(code, EPERM) : TO_ENOSYS; /* not known */
	}
}

static void emit_checks(struct layout *layout, struct code *code, const struct leaf *leaves, size_t count)
{
	bool used[DO_CHECK + CHECK_COUNT] = { false };

	for (size_t i = 0; i < count; i++) {
		used[leaves[i].action] = true;
		for (unsigned k = 0; k < leaves[i].except_count; k++)
			used[leaves[i].except[k].action] = true;
	}
	for (size_t i = 0; i < CHECK_COUNT; i++) {
		layout->begins[DO_CHECK + i] = code->len;
		if (used[DO_CHECK + i] && checks[i].emit != NULL)
			checks[i].emit(code, checks[i].error);
	}
}

/* Those that this program can come to; at[]: where each is. */
static void emit_verdicts(struct code *code, size_t at[TO_END - TO_ALLOW])
{
	for (unsigned target = TO_ALLOW; target < TO_END; target++) {
		bool refuses = target != TO_ALLOW && target != TO_ENOSYS && target != TO_NOTHING;
		at[target - TO_ALLOW] = code->len;
		if (!refuses || (target == TO_NOTIFY) == code->counted)
			emit(code, BPF_RET | BPF_K, 0, 0, verdicts[target - TO_ALLOW]);
	}
}

static void resolve(struct code *code, size_t insn, uint8_t *jump, const size_t at[TO_END - TO_ALLOW])
{
	if (*jump < TO_ALLOW)
		return;
	size_t distance = at[*jump - TO_ALLOW] - insn - 1;
	code->full = code->full || distance >= TO_ALLOW;
	*jump = (uint8_t)distance;
}

/* The checks that some leaf leads to, and then the verdicts; fills `begins`. */
static void emit_actions(struct layout *layout, struct code *code, const struct leaf *leaves, size_t count)
{
	size_t at[TO_END - TO_ALLOW];

	emit_checks(layout, code, leaves, count);
	size_t behind = code->len;
	emit_verdicts(code, at);
	for (unsigned action = 0; action < DO_CHECK + CHECK_COUNT; action++) {
		if (action < DO_CHECK)
			layout->begins[action] = at[target_of(code, action) - TO_ALLOW];
		else if (checks[action - DO_CHECK].emit == NULL)
			layout->begins[action] = at[refused(code, checks[action - DO_CHECK].error) - TO_ALLOW];
	}
	for (size_t i = 0; i < behind; i++) {
		resolve(code, i, &code->insn[i].jt, at);
		resolve(code, i, &code->insn[i].jf, at);
	}
}

/* ---- the whole ---- */

int filter_build(unsigned want, struct sock_filter **ret_code, size_t *ret_len, struct err *err)
{
	return filter_build_set(want, NULL, ret_code, ret_len, err);
}

int filter_build_set(unsigned want, const struct call_set *set, struct sock_filter **ret_code, size_t *ret_len,
	struct err *err)
{
	struct leaf leaves[MAX_NR + 1];
	size_t count = leaves_fill(leaves, want, set);
	own(freep) struct code *code = xcalloc(1, sizeof(*code));
	own(freep) struct code *actions = xcalloc(1, sizeof(*actions));
	own(freep) struct layout *layout = xcalloc(1, sizeof(*layout));

	actions->counted = (want & FILTER_COUNTED) != 0;
	emit_actions(layout, actions, leaves, count);
	(void)emit_tree(layout, leaves, count);

	const uint32_t foreign = weakened("seccomp-foreign") ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS;
	load(code, offsetof(struct seccomp_data, arch));
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OUR_ARCH);
	emit(code, BPF_RET | BPF_K, 0, 0, foreign);
	load(code, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
	emit(code, BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32_BIT);
	emit(code, BPF_RET | BPF_K, 0, 0, foreign);
#endif
	if (set != NULL)
		emit_denied(code, set, actions->counted);
	if (layout->full || actions->full || code->full || code->len + layout->used + actions->len > ARRAY_LEN(code->insn))
		return err_set(err, ERR_LIMIT, "the system call filter has grown too large");
	*ret_len = code->len + layout->used + actions->len;
	*ret_code = xcalloc(*ret_len, sizeof(**ret_code));
	memcpy(*ret_code, code->insn, code->len * sizeof(**ret_code));
	memcpy(*ret_code + code->len, layout->tree + ARRAY_LEN(layout->tree) - layout->used,
		layout->used * sizeof(**ret_code));
	memcpy(*ret_code + code->len + layout->used, actions->insn, actions->len * sizeof(**ret_code));
	return 0;
}

/* ---- judging without the kernel ---- */

uint32_t filter_judge(const struct sock_fprog *program, const struct seccomp_data *data)
{
	uint32_t value = 0;

	for (size_t at = 0; at < program->len; at++) {
		const struct sock_filter *insn = &program->filter[at];
		bool taken = false;
		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS: memcpy(&value, (const char *)data + insn->k, sizeof(value)); continue;
		case BPF_ALU | BPF_AND | BPF_K: value &= insn->k; continue;
		case BPF_JMP | BPF_JA: at += insn->k; continue;
		case BPF_RET | BPF_K: return insn->k;
		case BPF_JMP | BPF_JEQ | BPF_K: taken = value == insn->k; break;
		case BPF_JMP | BPF_JGE | BPF_K: taken = value >= insn->k; break;
		case BPF_JMP | BPF_JSET | BPF_K: taken = (value & insn->k) != 0; break;
		default: return SECCOMP_RET_KILL_PROCESS; /* nothing we emit */
		}
		at += taken ? insn->jt : insn->jf;
	}
	return SECCOMP_RET_KILL_PROCESS;
}
