/* Calls by name, and the filter with some of them taken away, added or observed: over every number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "cell/native/native.h"

#if defined(__x86_64__)
#define OURS AUDIT_ARCH_X86_64
#else
#define OURS AUDIT_ARCH_AARCH64
#endif
#define EPERM_VERDICT (SECCOMP_RET_ERRNO | EPERM)

struct built {
	struct call_set set;
	struct sock_fprog program;
};

static void build(struct built *ret, const struct template *t, unsigned want)
{
	size_t len = 0;
	struct err err;

	calls_set(t, &ret->set);
	assert_int_equal(filter_build_set(want, &ret->set, &ret->program.filter, &len, &err), 0);
	ret->program.len = (unsigned short)len;
}

static void built_done(struct built *built)
{
	free(built->program.filter);
}

static uint32_t ask(const struct built *built, int nr, uint64_t arg)
{
	struct seccomp_data data = {.nr = nr, .arch = OURS};

	for (size_t i = 0; i < 6; i++)
		data.args[i] = arg;
	return filter_judge(&built->program, &data);
}

static void every_call_has_one_name_one_number_and_a_reason(void **state)
{
	const struct cell_call *call;
	size_t count = 0, kinds[4] = {0};

	(void)state;
	for (; (call = cell_call_at(count)); count++) {
		assert_ptr_equal(cell_call_find(call->name), call);
		assert_true((call->kind == CELL_CALL_FREE) == !call->why);
		kinds[call->kind]++;
	}
	assert_in_range(count, 300, CELL_MAX_CALLS - 1);
	for (size_t i = 0; i < 4; i++)
		assert_true(kinds[i] > 0);
	assert_int_equal(kinds[CELL_CALL_CLOSED], 6);
	for (int nr = 0; nr < FILTER_MAX_NR; nr++)
		assert_true(calls_index(nr) < (int)count);
	assert_int_equal(calls_index(-1), -1);
	assert_int_equal(calls_index(FILTER_MAX_NR), -1);
	assert_null(cell_call_find("clone3"));
}

/* What would break a cell's promises, whatever a table says elsewhere. */
static void what_would_break_a_cell_can_never_be_allowed(void **state)
{
	static const char *const never[] = {"mount", "umount2", "pivot_root", "chroot", "setns", "bpf", "keyctl", "add_key",
		"kexec_load", "init_module", "io_uring_setup", "io_uring_enter", "userfaultfd", "perf_event_open",
		"open_by_handle_at", "reboot", "swapon", "syslog", "io_setup", "move_mount", "fsopen", "acct"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		assert_int_equal(cell_call_find(never[i])->kind, CELL_CALL_NEVER);
}

/* Init and the child it starts a program in make these under the filter: denied, they would wait for themselves. */
static void what_a_cells_own_processes_call_cannot_be_denied(void **state)
{
	static const char *const kept[] = {"clone", "close", "exit_group", "getrusage", "poll", "pread64", "read", "recvmsg",
		"sendmsg", "pipe2", "readlink", "signalfd4", "statfs", "wait4", "fcntl", "getdents64", "newfstatat", "openat", "ioctl", "kill", "statx",
		"setsid", "dup2", "chdir", "prlimit64", "rt_sigprocmask", "execve"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		if (cell_call_find(kept[i])) /* older forms are not everywhere */
			assert_int_equal(cell_call_find(kept[i])->kind, CELL_CALL_KEPT);
}

static void what_is_denied_is_refused_and_nothing_else_changes(void **state)
{
	static const char *const deny[] = {"ptrace", "socket", "read", "shmget", "mount", NULL};
	const struct template plain = {0}, t = {.calls_deny = deny};

	(void)state;
	for (unsigned want = 0; want < 16; want++) {
		own(built_done) struct built before = {0}, after = {0};
		build(&before, &plain, want);
		build(&after, &t, want);
		for (int nr = 0; nr < 1024; nr++) {
			bool denied = nr == SYS_ptrace || nr == SYS_socket || nr == SYS_shmget || nr == SYS_mount;
			uint32_t refused = (want & FILTER_COUNTED) != 0 ? SECCOMP_RET_USER_NOTIF : EPERM_VERDICT;
			for (uint64_t arg = 0; arg < 3; arg++)
				assert_int_equal(ask(&after, nr, arg), denied ? refused : ask(&before, nr, arg));
		}
	}
}

/* Every second number: as many ranges as there can be. */
static void any_set_of_denials_fits(void **state)
{
	(void)state;
	for (unsigned step = 1; step < 5; step++)
		for (unsigned want = 0; want < 16; want++) {
			struct call_set set = {0};
			struct sock_fprog program = {0};
			struct err err;
			size_t len = 0;
			for (unsigned nr = 0; nr < FILTER_MAX_NR; nr += step)
				set.denied[nr] = true;
			assert_int_equal(filter_build_set(want, &set, &program.filter, &len, &err), 0);
			assert_in_range(len, 1, BPF_MAXINSNS);
			program.len = (unsigned short)len;
			const struct built built = {.program = program};
			for (int nr = 0; nr < FILTER_MAX_NR; nr++)
				if (nr % step == 0)
					assert_int_equal(ask(&built, nr, 0),
						(want & FILTER_COUNTED) != 0 ? SECCOMP_RET_USER_NOTIF : EPERM_VERDICT);
			free(program.filter);
		}
}

static void only_the_short_list_can_be_opened(void **state)
{
	const char *all[CELL_MAX_CALLS + 1] = {NULL};
	const struct template plain = {0}, t = {.calls_allow = all};
	const struct cell_call *call;
	own(built_done) struct built before = {0}, after = {0};
	char opened[200];

	(void)state;
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		all[i] = call->name;
	build(&before, &plain, 0);
	build(&after, &t, 0);
	for (int nr = 0; nr < 1024; nr++) {
		int index = calls_index(nr);
		if (index >= 0 && cell_call_at((size_t)index)->kind == CELL_CALL_CLOSED) {
			assert_int_not_equal(ask(&before, nr, 0), SECCOMP_RET_ALLOW);
			assert_int_equal(ask(&after, nr, 0), SECCOMP_RET_ALLOW);
		} else {
			assert_int_equal(ask(&before, nr, 0), ask(&after, nr, 0));
		}
	}
	calls_opened(all, opened, sizeof(opened));
	assert_non_null(strstr(opened, "kcmp"));
	assert_null(strstr(opened, "mount"));
	calls_opened(NULL, opened, sizeof(opened));
	assert_string_equal(opened, "");
}

/* What may be let go on is asked about; what is refused otherwise stays so. */
static void observing_asks_about_what_could_be_denied(void **state)
{
	const struct template plain = {0}, t = {.observe = true};
	own(built_done) struct built before = {0}, after = {0};

	(void)state;
	build(&before, &plain, FILTER_COUNTED);
	build(&after, &t, FILTER_COUNTED);
	for (int nr = 0; nr < FILTER_MAX_NR; nr++) {
		int index = calls_index(nr);
		bool asked = index >= 0 && cell_call_at((size_t)index)->kind == CELL_CALL_FREE;
		assert_int_equal(after.set.observed[nr], asked);
		assert_int_equal(ask(&after, nr, 0), asked ? SECCOMP_RET_USER_NOTIF : ask(&before, nr, 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_has_one_name_one_number_and_a_reason),
		cmocka_unit_test(what_would_break_a_cell_can_never_be_allowed),
		cmocka_unit_test(what_a_cells_own_processes_call_cannot_be_denied),
		cmocka_unit_test(what_is_denied_is_refused_and_nothing_else_changes),
		cmocka_unit_test(any_set_of_denials_fits),
		cmocka_unit_test(only_the_short_list_can_be_opened),
		cmocka_unit_test(observing_asks_about_what_could_be_denied),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
