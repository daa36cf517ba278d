/* Attacks on the kernel's surface. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/fs.h"
#include "review/observe/look.h"

/* ---- keys ---- */

/* A key of that name may be nobody's. */
static void during_keys(struct review_try *try)
{
	own(buf_done) struct buf keys = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, "/proc/keys", 1 << 20, &keys, &err) == 0 && strstr(buf_text(&keys), try->mark + 1))
		try_escaped(try, "its key is among those of the host");
	look_release(try);
}

/* ---- foreign architectures ---- */

static void before_foreign(struct review_try *try)
{
#ifndef __x86_64__
	try_not_applicable(try, "the program is built for an architecture whose foreign ones need another program");
#else
	(void)try;
#endif
}

static void check_killed(void *data, const char *what, const char *result)
{
	if (strncmp(result, "exit-", 5) == 0)
		try_escaped(data, "'%.60s' did not end who called it", what);
}

static void judge_foreign(struct review_try *try)
{
	try_each_said(try, check_killed, try);
}

/* ---- Landlock ---- */

/* The kernel lays sixteen rulesets upon one another, and no more: who can lay sixteen had none. */
static void judge_layers(struct review_try *try)
{
	const char *layers = try_said(try, "layers");

	if (layers && strcmp(layers, "unknown") == 0)
		try_escaped(try, "this kernel has no Landlock");
	else if (layers && atoi(layers) >= 16)
		try_escaped(try, "no Landlock ruleset is upon it");
}

/* ---- the machine ---- */

static void judge_machine(struct review_try *try)
{
	struct utsname name;

	if (uname(&name) == 0 && strcmp(name.nodename, "owned") == 0)
		try_escaped(try, "the host was renamed");
	look_reached(try);
}

/* ---- two cells ---- */

/* A second attack beside the first: what it says counts for the row. */
static void during_neighbour(struct review_try *try)
{
	struct review_try other = *try;
	char program[96];
	const struct try_command command = {.program = program};

	(void)snprintf(program, sizeof(program), "neighbour find %s", try->mark + 1);
	other.out = other.err = (struct buf){0};
	other.result = (struct value){0};
	other.verdict = REVIEW_HELD;
	other.reason = NULL;
	other.tries = 0;
	other.mark[1] = 'R'; /* a mark of its own */
	if (try_run(&other, &command) == 0) {
		try_judge_said(&other);
		if (!try_outcome_is(&other, "exited") || other.status != 0)
			try_failed(&other, "the second cell failed: %.200s", buf_text(&other.err));
	}
	if (other.verdict == REVIEW_ESCAPED)
		try_escaped(try, "from another cell: %s", other.reason);
	else if (other.verdict != REVIEW_HELD || other.tries < 10)
		try_failed(try, "the second cell told of %u tries: %s", other.tries, other.reason ? other.reason : "");
	free(other.reason);
	buf_done(&other.out);
	buf_done(&other.err);
	value_done(&other.result);
	look_release(try);
}

/* What the second looks for must have been there, but a queue of messages: cells may have none (RLIMIT_MSGQUEUE). */
static void judge_neighbour(struct review_try *try)
{
	static const char *const left[][2] = {{"socket", "0"}, {"port", "0"}, {"shm", "left"}, {"sem", "left"},
		{"msg", "left"}};
	own(freep) char *file = xfmt("/tmp/%s", try->mark + 1);
	const char *made = try_said(try, file);

	for (size_t i = 0; i < ARRAY_LEN(left); i++) {
		const char *said = try_said(try, left[i][0]);
		if (!said || strcmp(said, left[i][1]) != 0)
			try_failed(try, "the first cell left no '%s'", left[i][0]);
	}
	if (!made || atoi(made) < 0)
		try_failed(try, "the first cell left no file");
}

/* ---- the catalogue ---- */

const struct review_attack review_kernel[] = {
	{
		.id = "kernel.namespaces",
		.technique = "make new namespaces: all 255 combinations by unshare, clone and clone3, also with upper halves set",
		.cve = "CVE-2022-0185, CVE-2024-1086",
		.safe = "refused, clone3 as unknown",
		.without = "seccomp seccomp-namespaces",
		.flags = "--timeout=20s",
		.program = "sweep namespaces",
		.tries = 1000,
		.during = look_gains,
		.judge = look_reached,
	},
	{
		.id = "kernel.setns",
		.technique = "enter namespaces by path and by pidfd, and climb from its own to their owners and parents",
		.safe = "refused",
		.without = "user-namespace",
		.program = "sweep setns",
		.tries = 100,
		.own_word = true,
	},
	{
		.id = "kernel.foreign",
		.technique = "forbidden calls by the numbers of other architectures: int 0x80 and the x32 bit",
		.safe = "who calls one is killed",
		.without = "seccomp seccomp-foreign",
		.program = "sweep foreign",
		.tries = 20,
		.before = before_foreign,
		.judge = judge_foreign,
		.own_word = true,
	},
	{
		.id = "kernel.foreign-verdict",
		.technique = "end by a call of another architecture",
		.safe = "the run is called denied",
		.wants = "seccomp",
		.program = "kernel foreign-here",
		.outcomes = "denied",
		.harsh = true,
		.before = before_foreign,
	},
	{
		.id = "kernel.io_uring",
		.technique = "io_uring: rings with all sorts of flags, and its calls without a ring; aio",
		.safe = "no such system call",
		.without = "seccomp seccomp-io-uring",
		.flags = "--timeout=20s",
		.program = "gain io_uring",
		.tries = 150,
		.during = look_gains,
		.judge = look_reached,
	},
	{
		.id = "kernel.unknown",
		.technique = "every system call number that no program uses yet",
		.safe = "no such system call, so that programs fall back to what they know",
		.without = "seccomp seccomp-unknown",
		.program = "sweep unknown",
		.tries = 3000,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "kernel.keys",
		.technique = "keys of every kind in every keyring, which no namespace divides",
		.safe = "refused",
		.without = "seccomp seccomp-keys",
		.flags = "--timeout=20s",
		.program = "gain keys {mark}",
		.tries = 16,
		.during = during_keys,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "kernel.bpf",
		.technique = "bpf maps and programs of every kind, perf events, userfaultfd, also in user mode only",
		.cve = "CVE-2021-3490, CVE-2023-2163",
		.safe = "refused",
		.without = "seccomp seccomp-bpf",
		.flags = "--timeout=20s",
		.program = "gain bpf",
		.tries = 80,
		.during = look_gains,
		.judge = look_reached,
	},
	{
		.id = "kernel.debug",
		.technique = "what debuggers do: process_vm_readv, kcmp, pidfd_getfd, process_madvise, move_pages",
		.safe = "refused, even upon itself",
		.without = "seccomp seccomp-ptrace",
		.flags = "--timeout=20s",
		.program = "gain debug",
		.tries = 14,
		.during = look_gains,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "kernel.mounts",
		.technique = "the calls that mount, asked in ways that tell who refuses: the filter or the kernel behind it",
		.cve = "CVE-2022-0185, CVE-2021-41133",
		.safe = "refused by the filter",
		.without = "seccomp seccomp-mounts",
		.program = "gain mounts",
		.tries = 12,
		.judge = look_reached,
		.own_word = true,
	},
	{
		.id = "kernel.sockets",
		.technique = "sockets of every family, kind and protocol but the plain ones, each argument also with its upper half set",
		.safe = "refused",
		.without = "seccomp seccomp-sockets",
		.flags = "--timeout=20s",
		.program = "sweep sockets",
		.tries = 400,
		.during = look_gains,
	},
	{
		.id = "kernel.netlink",
		.technique = "netlink of every kind, nf_tables by it, also out of namespaces of its own",
		.cve = "CVE-2024-1086, CVE-2022-1015",
		.safe = "refused",
		.without = "seccomp seccomp-sockets",
		.flags = "--timeout=20s",
		.program = "sweep netfilter",
		.tries = 20,
		.during = look_gains,
	},
	{
		.id = "kernel.host-sockets",
		.technique = "reach the host: its abstract unix sockets, its loopback in other spellings, its shared memory",
		.cve = "CVE-2020-15257",
		.safe = "nobody is there",
		.without = "net-namespace ipc-namespace",
		.program = "neighbour host {abstract} {port} {shm}",
		.tries = 13,
	},
	{
		.id = "kernel.neighbour",
		.technique = "reach another cell: abstract sockets, its loopback, shared memory, queues, keys, files of the same names",
		.cve = "CVE-2020-15257",
		.safe = "nobody is there",
		.without = "net-namespace ipc-namespace private-tmp",
		.flags = "--timeout=20s",
		.program = "neighbour leave {mark}",
		.tries = 10,
		.during = during_neighbour,
		.judge = judge_neighbour,
		.own_word = true,
	},
	{
		.id = "kernel.cgroup",
		.technique = "mount a cgroup file system, open release_agent, move to another cgroup",
		.cve = "CVE-2022-0492, CVE-2023-25809",
		.safe = "refused",
		.without = "seccomp seccomp-namespaces",
		.program = "sweep cgroup",
		.tries = 13,
		.own_word = true,
	},
	{
		.id = "kernel.landlock",
		.technique = "count the Landlock rulesets that can still be laid upon it: the kernel takes sixteen in all",
		.safe = "one is in force: signals and sockets are kept inside a second time",
		.without = "landlock",
		.program = "gain layers",
		.tries = 1,
		.judge = judge_layers,
		.own_word = true,
	},
	{
		.id = "kernel.priority",
		.technique = "real-time and deadline scheduling, negative nice values, real-time disk access",
		.safe = "refused",
		.by = "the kernel itself: only who has capabilities over the whole machine may",
		.flags = "--timeout=20s",
		.program = "gain priority",
		.tries = 15,
		.during = look_priority,
	},
	{
		.id = "kernel.machine",
		.technique = "change the machine: clocks, names, modules, kexec, reboot, swap, quotas, accounting, ports",
		.safe = "refused by the filter",
		.without = "seccomp",
		.program = "sweep machine",
		.tries = 10,
		.judge = judge_machine,
		.own_word = true,
	},
	{
		.id = "kernel.storm",
		.technique = "many processes that do nothing but ask for what is refused, so that the cell's init is busy for ever",
		.safe = "ended at its time",
		.wants = "wall-clock",
		.flags = "--timeout=700ms",
		.program = "kernel storm",
		.outcomes = "timeout",
		.harsh = true,
	},
	{0},
};
