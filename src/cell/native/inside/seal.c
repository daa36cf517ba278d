/* Taking everything away, in the order that works: limits, capabilities, no_new_privs, Landlock, and
 * the system call filter last, since the others need calls that it refuses. */
#include "cell/native/native.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/weaken.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

int seal_limit(int resource, uint64_t value, const char *what, struct err *err)
{
	struct rlimit now;
	rlim_t want = (rlim_t)value;

	if (getrlimit(resource, &now) == 0 && now.rlim_max < want)
		want = now.rlim_max; /* root too may lack CAP_SYS_RESOURCE: what is lower already stays */
	struct rlimit rlimit = { want, want };
	if (setrlimit(resource, &rlimit) < 0)
		return err_errno(err, errno, "limit %s", what);
	return 0;
}

int seal_limits(const struct template *t, struct err *err)
{
	if (weakened("file-limits"))
		return 0;
	/* not 0: where a handler of the machine takes cores, the kernel asks whether it is 1 */
	if ((!weakened("core-limit") && seal_limit(RLIMIT_CORE, 1, "core dumps", err) < 0) || seal_limit(RLIMIT_FSIZE, t->file_size, "file size", err) < 0 ||
		seal_limit(RLIMIT_MEMLOCK, 8 << 20, "locked memory", err) < 0 ||
		seal_limit(RLIMIT_MSGQUEUE, 819200, "message queues", err) < 0 ||
		seal_limit(RLIMIT_SIGPENDING, 4096, "pending signals and timers", err) < 0 ||
		seal_limit(RLIMIT_RTPRIO, 0, "real-time priority", err) < 0 ||
		seal_limit(RLIMIT_NICE, 0, "priority", err) < 0)
		return -1;
	return 0;
}

static int limit_all(const struct birth *birth, uint32_t *facts, struct err *err)
{
	const struct template *t = birth->t;

	if (!birth->limited && seal_limits(t, err) < 0)
		return -1;
	if (t->limit_tasks) {
		/* counted per user namespace, which is this cell's own; + 1: its init */
		if (seal_limit(RLIMIT_NPROC, t->processes + 1, "processes", err) < 0)
			return -1;
		*facts |= FACT_NPROC;
	}
	if (t->nice > 0) /* before the filter, which a profile may have refuse it; what fails is politeness only */
		(void)!nice((int)t->nice);
	if (t->pin_cpus > 0) {
		cpu_set_t have, set;
		CPU_ZERO(&set);
		if (sched_getaffinity(0, sizeof(have), &have) < 0)
			return err_errno(err, errno, "read the CPUs we may use");
		unsigned total = (unsigned)CPU_COUNT(&have), skip = birth->slot * t->pin_cpus % (total == 0 ? 1 : total);
		unsigned left = t->pin_cpus < total ? t->pin_cpus : total;
		for (int cpu = birth->first_cpu; left > 0; cpu = (cpu + 1) % CPU_SETSIZE) {
			if (!CPU_ISSET(cpu, &have))
				continue;
			if (skip > 0) {
				skip--;
				continue;
			}
			CPU_SET(cpu, &set);
			left--;
		}
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			return err_errno(err, errno, "pin the cell to its CPUs");
		*facts |= FACT_PINNED;
	}
	return 0;
}

void seal_bounding_set(void)
{
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		; /* ends with EINVAL beyond the last one */
}

/* Empties all sets that count. The bounding set is the yard's doing where there is no user namespace;
 * entering one fills it, and emptying it there again would take 41 calls for every cell (0.1 ms) to
 * bound what no_new_privs already rules out, over a namespace that owns nothing. */
static int drop_caps(struct err *err)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (weakened("no-capabilities"))
		return 0;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	(void)prctl(PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
			SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0);
	if (syscall(SYS_capset, &header, none) < 0)
		return err_errno(err, errno, "give up all capabilities");
	return 0;
}

static int load_filter(const struct birth *birth, int *ret_listener, uint32_t *facts, struct err *err)
{
	*facts |= weakened("seccomp") ? FACT_SECCOMP | FACT_SECCOMP_COUNTED : 0;
	if (weakened("seccomp"))
		return 0;
	/* while calls that are allowed wait for us, no signal may send one back to its beginning for ever, and none is told twice
	 * (Linux 5.19) */
	unsigned patience = birth->t->observe || birth->t->effects ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | patience,
		birth->filter);
	if (listener < 0 && errno == EINVAL && patience != 0)
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, birth->filter);

	*ret_listener = listener;
	/* caller and init take turns, so one CPU is best for both (Linux 6.6) */
	if (listener >= 0 && patience != 0)
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	if (listener >= 0) {
		*facts |= FACT_SECCOMP | FACT_SECCOMP_COUNTED;
		return 0;
	}
	/* inside another sandbox with a listener of its own, refusals cannot be counted, only made */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, birth->filter_plain) < 0)
		return err_errno(err, errno, "load the system call filter");
	*facts |= FACT_SECCOMP;
	return 0;
}

static int enter_landlock(const struct birth *birth, uint32_t *facts, struct err *err)
{
	if (!birth->t->landlock)
		return 0;
	/* a shared one is closed, as all are: what is added to it would hold for the slot's next cells */
	own(fd_closep) int ruleset = birth->ruleset >= 0 ? birth->ruleset : landlock_rules(birth->t, err);
	if (ruleset < 0 || (!weakened("landlock") && landlock_enter(ruleset, err) < 0))
		return -1;
	*facts |= FACT_LANDLOCK | (birth->t->rule_files ? FACT_LANDLOCK_FILES : 0);
	if (birth->t->path_count == 0)
		return 0;
	own(fd_closep) int paths = landlock_paths(birth->t, err);
	if (paths < 0 || landlock_enter(paths, err) < 0)
		return -1;
	return 0;
}

int seal_self(const struct birth *birth, int *ret_listener, uint32_t *facts, struct err *err)
{
	if (weakened("init-hidden"))
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (limit_all(birth, facts, err) < 0)
		return -1;
	if (weakened("no-new-privileges")) { /* what follows is then for who has capabilities */
		*facts |= FACT_NO_CAPS;
		return enter_landlock(birth, facts, err) < 0 || load_filter(birth, ret_listener, facts, err) < 0 ? -1 : drop_caps(err);
	}
	if (drop_caps(err) < 0)
		return -1;
	*facts |= FACT_NO_CAPS;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(err, errno, "set no_new_privs");
	if (enter_landlock(birth, facts, err) < 0)
		return -1;
	return load_filter(birth, ret_listener, facts, err);
}
