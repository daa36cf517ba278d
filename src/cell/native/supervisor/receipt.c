#include "cell/native/supervisor/receipt.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void PRINTF_LIKE(4, 5) grade(struct cell_receipt *receipt, enum cell_protection protection,
	enum cell_grade value, const char *format, ...)
{
	va_list args;

	receipt->grade[protection] = (uint8_t)value;
	va_start(args, format);
	(void)vsnprintf(receipt->note[protection], sizeof(receipt->note[protection]), format, args);
	va_end(args);
}

/* To as many as there are, if more were asked for. */
static void grade_pinned(struct cell_receipt *receipt, uint32_t facts, unsigned cpus)
{
	cpu_set_t have;
	unsigned most = sched_getaffinity(0, sizeof(have), &have) == 0 ? (unsigned)CPU_COUNT(&have) : cpus;

	if (cpus > most)
		cpus = most;
	if ((facts & FACT_PINNED) != 0)
		grade(receipt, CELL_CPU_LIMIT, CELL_WEAKER, "pinned to %u CPU%s, no cgroup", cpus, cpus > 1 ? "s" : "");
	else
		grade(receipt, CELL_CPU_LIMIT, CELL_OFF, "no cgroup, and not pinned");
}

static void grade_limits(struct cell_receipt *receipt, const struct cgroup_host *cgroup, uint32_t facts,
	const struct cell_limits *limits)
{
	const char *kind = cgroup_kind(cgroup);

	if (cgroup_memory(cgroup))
		grade(receipt, CELL_MEMORY_LIMIT, CELL_ON, "%s", kind);
	else if ((facts & FACT_WATCHED) != 0 && (facts & FACT_PROC) != 0)
		grade(receipt, CELL_MEMORY_LIMIT, CELL_WEAKER, "watched by its init, no cgroup");
	else
		grade(receipt, CELL_MEMORY_LIMIT, CELL_OFF, "no cgroup and no /proc to watch");
	if (cgroup_cpu(cgroup))
		grade(receipt, CELL_CPU_LIMIT, CELL_ON, "%s", kind);
	else
		grade_pinned(receipt, facts, (limits->cpus_milli + 999) / 1000);
	if (cgroup_pids(cgroup))
		grade(receipt, CELL_PROCESS_LIMIT, CELL_ON, "%s", kind);
	else if ((facts & FACT_NPROC) != 0 && (facts & FACT_USER_NS) != 0)
		grade(receipt, CELL_PROCESS_LIMIT, CELL_WEAKER, "RLIMIT_NPROC of the cell's user namespace, no cgroup");
	else
		grade(receipt, CELL_PROCESS_LIMIT, CELL_WEAKER, "RLIMIT_NPROC of the cell's user outside, no cgroup");
}

static void grade_kernel(struct cell_receipt *receipt, uint32_t facts)
{
	if ((facts & FACT_USER_NS) != 0)
		grade(receipt, CELL_USER_NS, CELL_ON, "owns nothing");
	else
		grade(receipt, CELL_USER_NS, CELL_OFF, "the kernel makes none");
	if ((facts & FACT_CGROUP_NS) != 0)
		grade(receipt, CELL_CGROUP_NS, CELL_ON, "%s", "");
	else
		grade(receipt, CELL_CGROUP_NS, CELL_OFF, "the kernel makes none");
	if ((facts & FACT_PROC) != 0)
		grade(receipt, CELL_PRIVATE_PROC, CELL_ON, "read-only");
	else
		grade(receipt, CELL_PRIVATE_PROC, CELL_WEAKER, "no /proc at all: this host's is masked");
	if ((facts & FACT_SECCOMP_COUNTED) != 0)
		grade(receipt, CELL_SECCOMP, CELL_ON, "refusals counted");
	else if ((facts & FACT_SECCOMP) != 0)
		grade(receipt, CELL_SECCOMP, CELL_ON, "refusals not counted: another listener is there");
	if ((facts & FACT_LANDLOCK) != 0)
		grade(receipt, CELL_LANDLOCK, CELL_ON, "ABI %d: %s", landlock_abi(), landlock_keeps((facts & FACT_LANDLOCK_FILES) != 0));
	else
		grade(receipt, CELL_LANDLOCK, CELL_OFF, "the kernel has none");
	if ((facts & FACT_NO_CAPS) != 0)
		grade(receipt, CELL_NO_CAPS, CELL_ON, "%s", "");
}

void receipt_fill(struct cell_receipt *receipt, const struct cgroup_host *cgroup, uint32_t facts, enum hide_how hide,
	const struct cell_limits *limits, uint32_t uid)
{
	/* a cell does not start without these: its making fails instead */
	static const enum cell_protection always[] = { CELL_PID_NS, CELL_MOUNT_NS, CELL_NET_NS, CELL_IPC_NS,
		CELL_UTS_NS, CELL_READ_ONLY_ROOT, CELL_PRIVATE_TMP, CELL_HIDDEN_FILES, CELL_NON_ROOT,
		CELL_NO_NEW_PRIVS, CELL_DISK_LIMITED, CELL_FILE_LIMITS, CELL_CLEAN_FDS, CELL_CLEAN_ENV,
		CELL_OWN_SESSION, CELL_KILL_ALL };

	receipt->backend = "native";
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		receipt->grade[always[i]] = CELL_ON;
	if (hide == HIDE_MASKS)
		grade(receipt, CELL_HIDDEN_FILES, CELL_WEAKER, "covered: names stay, contents are gone");
	if (uid == 0)
		grade(receipt, CELL_NON_ROOT, CELL_WEAKER, "root inside, without its rights; nobody outside");
	grade(receipt, CELL_NET_NS, CELL_ON, "loopback only");
	grade_kernel(receipt, facts);
	grade_limits(receipt, cgroup, facts, limits);
}

#define SHARED "per-user limits shared: inotify, descriptors in flight, pipes, epoll"

void receipt_user(struct cell_receipt *receipt, enum receipt_whose whose)
{
	static const char *const notes[] = {
		[WHOSE_CELLS] = "per-user limits: own",
		[WHOSE_CELLS_OF_USER] = "per-user limits: own; "
					"capped share of yours: inotify, signals, message queues, locked memory",
		[WHOSE_USERS] = SHARED "; 'hotcell doctor' says how to have own ones",
		[WHOSE_USERS_MOUNTS] = SHARED "; the cell is you, since its mounts are yours",
	};
	_Static_assert(ARRAY_LEN(notes) == WHOSE_COUNT, "a case has no note");
	const bool own = whose == WHOSE_CELLS || whose == WHOSE_CELLS_OF_USER;

	if (receipt->grade[CELL_NON_ROOT] == CELL_ON)
		grade(receipt, CELL_NON_ROOT, CELL_ON, "%s", notes[whose]);
	else
		grade(receipt, CELL_NON_ROOT, CELL_WEAKER, "root inside, without its rights; per-user limits %s", own ? "own" : "shared");
}

void receipt_opened(struct cell_receipt *receipt, const char *opened)
{
	if (opened[0] != '\0' && receipt->grade[CELL_SECCOMP] == CELL_ON)
		grade(receipt, CELL_SECCOMP, CELL_WEAKER, "the profile allows %s", opened);
}

void receipt_doors(struct cell_receipt *receipt, size_t count)
{
	if (count > 0)
		grade(receipt, CELL_NET_NS, CELL_ON, "empty but for %zu door%s", count, count == 1 ? "" : "s");
}

uint32_t receipt_needs(uint32_t required)
{
	static const struct {
		enum cell_protection protection;
		enum fact fact;
	} table[] = { { CELL_USER_NS, FACT_USER_NS }, { CELL_CGROUP_NS, FACT_CGROUP_NS },
		{ CELL_PRIVATE_PROC, FACT_PROC }, { CELL_NO_CAPS, FACT_NO_CAPS }, { CELL_SECCOMP, FACT_SECCOMP },
		{ CELL_LANDLOCK, FACT_LANDLOCK } };
	uint32_t facts = 0;

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((required >> table[i].protection & 1) != 0)
			facts |= table[i].fact;
	return facts;
}
