/* System calls by name: which of them a spec may take away, and which it may add.
 *
 * Denying is a kernel-checked subset of what a cell has anyway. It has one danger: init is under its own filter, and so is
 * the child it starts a program in, until exec. A call that those two need and that is refused with a listener would
 * wait for its own answer. These calls are `kept`, with those that no program's start can do without.
 *
 * Allowing gives an attacker more of the kernel, so what may be added is a short list of calls whose reach ends at
 * processes of the cell (init, not being dumpable, is out of their reach). Everything else that is refused can never be
 * allowed: it would break what a receipt says. */
#include "cell/native/inside/effects.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ALL_THAT_IS_MOUNTED "it could undo the cell's walls, which are mounts and namespaces"
#define MACHINE "it changes or tells of the machine, not the cell"
#define KEYS "keyrings are in no namespace: keys of this machine would be in reach"
#define KERNEL "too much of the kernel is behind it, and past the filter"
#define MEMORY "its memory or quota is the whole machine's"

static const struct {
	const char *name, *why;
} never[] = {
	{ "mount", ALL_THAT_IS_MOUNTED }, { "umount2", ALL_THAT_IS_MOUNTED }, { "pivot_root", ALL_THAT_IS_MOUNTED },
	{ "chroot", ALL_THAT_IS_MOUNTED }, { "setns", ALL_THAT_IS_MOUNTED }, { "fsopen", ALL_THAT_IS_MOUNTED },
	{ "fsconfig", ALL_THAT_IS_MOUNTED }, { "fsmount", ALL_THAT_IS_MOUNTED }, { "fspick", ALL_THAT_IS_MOUNTED },
	{ "open_tree", ALL_THAT_IS_MOUNTED }, { "move_mount", ALL_THAT_IS_MOUNTED },
	{ "mount_setattr", ALL_THAT_IS_MOUNTED },
	{ "add_key", KEYS }, { "request_key", KEYS }, { "keyctl", KEYS },
	{ "bpf", KERNEL }, { "perf_event_open", KERNEL }, { "userfaultfd", KERNEL }, { "modify_ldt", KERNEL },
	{ "io_uring_setup", KERNEL }, { "io_uring_enter", KERNEL }, { "io_uring_register", KERNEL },
	{ "io_setup", MEMORY }, { "move_pages", MEMORY }, { "migrate_pages", MEMORY },
	{ "open_by_handle_at", "it opens files that are not mounted in the cell" },
	{ "fanotify_init", "it tells what others do with the files that are mounted" },
};

/* Their reach is what ptrace reaches, which is allowed in a cell by default: its own processes, and not init. */
static const struct {
	const char *name, *why;
} closed[] = {
	{ "process_vm_readv", "reads the memory of the cell's other processes" },
	{ "process_vm_writev", "writes the memory of the cell's other processes" },
	{ "pidfd_getfd", "takes descriptors of the cell's other processes" },
	{ "process_madvise", "gives advice about the memory of the cell's other processes" },
	{ "kcmp", "compares what two of the cell's processes hold" },
	{ "name_to_handle_at", "tells the handle of a file, which nothing in the cell can open" },
};

#define INIT "the cell's own first process needs it"
#define START "no program would start without it"
static const struct {
	const char *name, *why;
} kept[] = {
	{ "clone", INIT "; limit 'processes' instead" }, { "close", INIT }, { "exit_group", INIT }, { "exit", INIT },
	{ "getrusage", INIT }, { "poll", INIT }, { "ppoll", INIT }, { "read", INIT }, { "write", INIT },
	{ "pread64", INIT }, { "recvmsg", INIT "; deny 'socket' instead" }, { "sendmsg", INIT "; deny 'socket' instead" },
	{ "pipe2", INIT }, { "signalfd4", INIT }, { "statfs", INIT }, { "fstatfs", INIT }, { "wait4", INIT }, { "waitid", INIT },
	{ "kill", INIT }, { "ioctl", INIT }, { "fcntl", INIT }, { "getdents64", INIT }, { "openat", INIT }, { "lseek", INIT },
	{ "setsid", INIT }, { "dup2", INIT }, { "dup3", INIT }, { "chdir", INIT }, { "prlimit64", INIT },
	{ "setrlimit", INIT }, { "getrlimit", INIT }, { "rt_sigprocmask", INIT }, { "clock_gettime", INIT },
	{ "gettimeofday", INIT }, { "getpid", INIT }, { "gettid", INIT }, { "mmap", INIT }, { "munmap", INIT },
	{ "mremap", INIT }, { "brk", INIT }, { "madvise", INIT }, { "futex", INIT }, { "sched_yield", INIT },
	{ "restart_syscall", INIT }, { "rt_sigreturn", INIT }, { "execve", START }, { "mprotect", START }, { "open", START },
	{ "access", START }, { "faccessat", START }, { "faccessat2", START }, { "fstat", START }, { "stat", START },
	{ "lstat", START }, { "newfstatat", START }, { "statx", START }, { "readlink", START }, { "readlinkat", START },
	{ "arch_prctl", START }, { "set_tid_address", START }, { "set_robust_list", START }, { "rseq", START },
	{ "getrandom", START }, { "rt_sigaction", START }, { "sigaltstack", START },
};

struct known {
	struct cell_call call; /* its kind and why: when somebody asks */
	int nr;
	bool refused, judged;
};

static struct {
	struct known rows[CELL_MAX_CALLS];
	short by_number[FILTER_MAX_NR]; /* index + 1 */
	size_t count;
} calls;

#define WHY(table, name_) \
	for (size_t i = 0; i < ARRAY_LEN(table); i++) \
		if (strcmp(table[i].name, name_) == 0) \
			return table[i].why;

static const char *why_never(const char *name)
{
	WHY(never, name)
	return MACHINE;
}

static const char *why_closed(const char *name)
{
	WHY(closed, name)
	return NULL;
}

static const char *why_kept(const char *name)
{
	WHY(kept, name)
	return NULL;
}

static const struct cell_call *judged(struct known *known)
{
	struct cell_call *call = &known->call;

	if (known->judged)
		return call;
	known->judged = true;
	call->why = known->refused ? why_closed(call->name) : why_kept(call->name);
	if (call->why != NULL)
		call->kind = known->refused ? CELL_CALL_CLOSED : CELL_CALL_KEPT;
	else if (known->refused)
		*call = (struct cell_call){ call->name, CELL_CALL_NEVER, why_never(call->name) };
	return call;
}

static void add(const char *name, int nr, bool refused)
{
	if (calls.count == CELL_MAX_CALLS - 1 || calls.by_number[nr] != 0)
		return;
	calls.rows[calls.count] = (struct known){ .call = { .name = name, .kind = CELL_CALL_FREE }, .nr = nr, .refused = refused };
	calls.by_number[nr] = (short)++calls.count;
}

/* Once in each process that asks, cells' own ones too: so it compares no names. There are no threads. */
static void fill(void)
{
	const char *name;

	if (calls.count > 0)
		return;
	for (unsigned i = 0; (name = filter_name(i)) != NULL; i++)
		add(name, filter_number(i), filter_is_refused(i));
	for (size_t i = 0; filter_allowed(i, &name) >= 0; i++)
		add(name, filter_allowed(i, &name), false);
}

const struct cell_call *cell_call_at(size_t index)
{
	fill();
	return index < calls.count ? judged(&calls.rows[index]) : NULL;
}

static const struct known *find(const char *name)
{
	fill();
	for (size_t i = 0; i < calls.count; i++)
		if (strcmp(calls.rows[i].call.name, name) == 0) {
			(void)judged(&calls.rows[i]);
			return &calls.rows[i];
		}
	return NULL;
}

const struct cell_call *cell_call_find(const char *name)
{
	const struct known *known = find(name);

	return known == NULL ? NULL : &known->call;
}

int calls_index(int nr)
{
	fill();
	return nr < 0 || nr >= FILTER_MAX_NR ? -1 : calls.by_number[nr] - 1;
}

/* What of a call's effect can be seen in its registers: all that is asked about costs its caller two switches. */
static enum effect_test effect_test(const struct effect_call *call)
{
	if (call->nr == SYS_sendmsg)
		return EFFECT_UNMARKED; /* init sends with it */
	if (call->nr == SYS_openat)
		return EFFECT_OPEN2_UNMARKED; /* and opens terminals and /dev/null */
	if (call->form == FORM_OPEN)
		return EFFECT_OPEN1;
	return call->form == FORM_SENDTO ? EFFECT_ADDRESSED : EFFECT_ALWAYS;
}

static void set_effects(struct call_set *ret)
{
	for (size_t i = 0; i < calls.count; i++) {
		const struct effect_call *call = calls.rows[i].refused ? NULL : effect_call_find(calls.rows[i].nr);
		if (call != NULL)
			ret->effects[call->nr] = (unsigned char)effect_test(call);
	}
}

void calls_set(const struct template *t, struct call_set *ret)
{
	*ret = (struct call_set){ 0 };
	fill();
	if (t->effects)
		set_effects(ret);
	for (size_t i = 0; i < calls.count && t->observe; i++)
		ret->observed[calls.rows[i].nr] = judged(&calls.rows[i])->kind == CELL_CALL_FREE;
	for (size_t i = 0; t->calls_deny != NULL && t->calls_deny[i] != NULL; i++) {
		const struct known *known = find(t->calls_deny[i]);
		if (known != NULL && known->call.kind != CELL_CALL_KEPT)
			ret->denied[known->nr] = true;
	}
	for (size_t i = 0; t->calls_allow != NULL && t->calls_allow[i] != NULL; i++) {
		const struct known *known = find(t->calls_allow[i]);
		if (known != NULL && known->call.kind == CELL_CALL_CLOSED)
			ret->opened[known->nr] = true;
	}
}

void calls_opened(const char *const *allow, char *ret, size_t size)
{
	own(buf_done) struct buf names = { 0 };

	for (; allow != NULL && *allow != NULL; allow++) {
		const struct known *known = find(*allow);
		if (known != NULL && known->call.kind == CELL_CALL_CLOSED)
			buf_fmt(&names, "%s%s", names.len > 0 ? ", " : "", *allow);
	}
	(void)snprintf(ret, size, "%s", buf_text(&names));
}
