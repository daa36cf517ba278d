/* For each cause of something missing, the advice that mends that cause and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cell/native/probe/probe.h"

static void fits(const char *text)
{
	size_t len = strnlen(text, FIX_MAX);

	assert_in_range(len, 1, FIX_MAX - 1);
	assert_null(strchr(text, '\n'));
}

/* The sysctls that may forbid user namespaces: how many, Debian's switch, Ubuntu's; and who asks. */
#define SYSCTLS(max, clone, apparmor)                                                              \
	.userns_max = (max), .userns_clone = (clone), .userns_apparmor = (apparmor)
#define FREE SYSCTLS(15000, -1, -1)
#define PLAIN .uid = 1000, FREE
#define ROOT .root = true, .sys_admin = true, FREE
#define ROOT_IN_NAME .root = true, FREE

/* ---- kernel features ---- */

/* clang-format off */
static const struct {
	const char *what;
	advice_fn *advice;
	struct machine machine;
	int cause;
	const char *has, *has_not;
} features[] = {
	{"Debian's switch", advice_user_ns, {.uid = 1000, SYSCTLS(15000, 0, -1)}, EPERM, "kernel.unprivileged_userns_clone=1", NULL},
	{"Ubuntu's switch", advice_user_ns, {.uid = 1000, SYSCTLS(15000, -1, 1)}, EPERM,
		"kernel.apparmor_restrict_unprivileged_userns=0", NULL},
	{"Ubuntu's switch does not concern root", advice_user_ns, {.root = true, SYSCTLS(15000, -1, 1), .container = true}, EPERM,
		"seccomp=unconfined", "apparmor_restrict"},
	{"none allowed", advice_user_ns, {.uid = 1000, SYSCTLS(0, -1, -1)}, ENOSPC, "user.max_user_namespaces=", NULL},
	{"none left", advice_user_ns, {PLAIN}, ENOSPC, "user.max_user_namespaces=", NULL},
	{"in a container", advice_user_ns, {PLAIN, .container = true, .filtered = true}, EPERM, "docker run --security-opt",
		"sysctl"},
	{"in another sandbox", advice_user_ns, {PLAIN, .filtered = true}, EPERM, "outside the sandbox", "docker"},
	{"not built in", advice_user_ns, {PLAIN}, EINVAL, "CONFIG_USER_NS=y", NULL},
	{"a policy we do not know", advice_user_ns, {PLAIN}, EACCES, "policy", NULL},
	{"root needs no sudo", advice_user_ns, {.root = true, SYSCTLS(0, -1, -1)}, ENOSPC, "| tee", "sudo"},
	{"a user needs it", advice_user_ns, {.uid = 1000, SYSCTLS(0, -1, -1)}, ENOSPC, "sudo tee", NULL},
	{"root in a container", advice_namespaces, {ROOT_IN_NAME, .container = true}, EPERM,
		"--cap-add SYS_ADMIN", NULL},
	{"root without its rights", advice_namespaces, {ROOT_IN_NAME}, EPERM, "CAP_SYS_ADMIN", "docker"},
	{"a user's namespaces are in a user namespace", advice_namespaces, {.uid = 1000, SYSCTLS(15000, -1, 1)}, EPERM,
		"apparmor_restrict", NULL},
	{"too many namespaces", advice_namespaces, {PLAIN}, ENOSPC, "max_*_namespaces", NULL},
	{"a masked /proc in a container", advice_proc, {ROOT, .container = true}, EPERM, "systempaths=unconfined", NULL},
	{"a masked /proc elsewhere", advice_proc, {PLAIN}, EPERM, "/proc/mounts", "docker"},
	{"no tmpfs", advice_scratch, {PLAIN}, ENODEV, "CONFIG_TMPFS=y", NULL},
	{"no overlay module", advice_overlay, {PLAIN}, ENODEV, "sudo modprobe overlay", NULL},
	{"an overlay that users may not mount", advice_overlay, {PLAIN}, EPERM, "5.11", NULL},
	{"no mapped mounts", advice_id_map, {ROOT}, EINVAL, "5.12", NULL},
	{"no user namespace to map through", advice_id_map, {ROOT}, ENOSPC, "user.max_user_namespaces", NULL},
	{"a filter that is listened to", advice_filter, {PLAIN}, EBUSY, "outside the sandbox", NULL},
	{"no filter", advice_filter, {PLAIN}, EINVAL, "CONFIG_SECCOMP_FILTER=y", NULL},
	{"Landlock not in the list", advice_landlock, {PLAIN, .lsm = "lockdown,yama"}, EOPNOTSUPP, "lsm=landlock,lockdown,yama",
		NULL},
	{"Landlock not in a list we cannot read", advice_landlock, {PLAIN}, EOPNOTSUPP, "lsm=landlock,", NULL},
	{"Landlock not built in", advice_landlock, {PLAIN}, ENOSYS, "CONFIG_SECURITY_LANDLOCK=y", "lsm="},
	{"Landlock refused by a container", advice_landlock, {PLAIN, .container = true}, EPERM, "seccomp=unconfined", NULL},
	{"an image without the command", advice_cell, {PLAIN}, ENOENT, "--image", NULL},
	{"anything else", advice_cell, {PLAIN}, EIO, "hotcell run -v", NULL},
};
/* clang-format on */

static void each_cause_gets_its_own_advice(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(features); i++) {
		const struct err cause = {.code = features[i].cause};
		char fix[FIX_MAX] = "";
		features[i].advice(&features[i].machine, &cause, fix);
		fits(fix);
		if (strstr(fix, features[i].has) == NULL ||
			(features[i].has_not != NULL && strstr(fix, features[i].has_not) != NULL))
			fail_msg("%s: '%s'", features[i].what, fix);
	}
}

static void whatever_the_cause_there_is_advice(void **state)
{
	static const struct machine machines[] = {{PLAIN}, {ROOT}, {PLAIN, .container = true},
		{ROOT, .container = true}, {PLAIN, .filtered = true}, {ROOT_IN_NAME}};
	static advice_fn *const all[] = {advice_user_ns, advice_namespaces, advice_proc,
		advice_scratch, advice_overlay, advice_id_map, advice_filter, advice_landlock,
		advice_cell};

	(void)state;
	for (size_t m = 0; m < ARRAY_LEN(machines); m++)
		for (size_t a = 0; a < ARRAY_LEN(all); a++)
			for (int code = 0; code < 134; code++) {
				const struct err cause = {.code = code};
				char fix[FIX_MAX] = "";
				all[a](&machines[m], &cause, fix);
				fits(fix);
			}
}

/* ---- cgroups ---- */

#define SCOPE "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"
#define ALL                                                                                        \
	{                                                                                          \
		true, true, true                                                                   \
	}
static char session[] = SCOPE, memory_folder[] = "/sys/fs/cgroup/memory/a",
	    root_folder[] = "/sys/fs/cgroup";

/* clang-format off */
static const struct {
	const char *what;
	struct machine machine;
	enum lack lack;
	const char *has, *has_not;
} cgroups[] = {
	{"nothing is lacking", {ROOT, .own.v2 = session, .v2_ours = true, .v2_has = ALL}, LACK_NOTHING, "hotcell run -v", NULL},
	{"switched off at boot", {ROOT, .own.v2 = session, .disabled = {true}}, LACK_DISABLED, "cgroup_enable=memory", NULL},
	{"not mounted at all", {PLAIN}, LACK_FILE_SYSTEM, "sudo mount -t cgroup2", NULL},
	{"v1 without this controller", {ROOT, .own.v1 = {NULL, memory_folder, NULL}}, LACK_MOUNT, "mount -t cgroup -o memory",
		"sudo"},
	{"read-only in a container", {ROOT, .own.v2 = root_folder, .read_only = true, .container = true}, LACK_WRITABLE,
		"docker run --privileged", NULL},
	{"read-only elsewhere", {ROOT, .own.v2 = root_folder, .read_only = true}, LACK_WRITABLE, "remount,rw", "docker"},
	{"v1, a user's", {PLAIN, .own.v1 = {memory_folder}}, LACK_V1_FOLDER,
		"d=/sys/fs/cgroup/memory/a/hotcell; sudo mkdir -p $d && sudo chown -R 1000 $d", NULL},
	{"v1, ours", {PLAIN, .own.v1 = {memory_folder}, .v1_ours = {true}}, LACK_NOTHING, "hotcell run -v", NULL},
	{"v2, a user with a manager", {PLAIN, .own.v2 = session, .systemd = true, .manager = true, .manager_has = ALL},
		LACK_V2_FOLDER, "systemd-run --user --scope -p Delegate=yes -- hotcell", "sudo"},
	{"v2, a manager without cpu", {PLAIN, .own.v2 = session, .systemd = true, .manager = true, .manager_has = {true}},
		LACK_V2_FOLDER, "Delegate=cpu memory pids", NULL},
	{"v2, a user without a manager", {PLAIN, .own.v2 = session, .systemd = true}, LACK_V2_FOLDER,
		"loginctl enable-linger 1000", NULL},
	{"v2, a user without systemd", {PLAIN, .own.v2 = root_folder}, LACK_V2_FOLDER, "su $SUDO_USER -c", "systemd-run"},
	{"v2, ours but not all of it", {PLAIN, .own.v2 = session, .v2_ours = true, .v2_has = {true}, .systemd = true,
		.manager = true, .manager_has = ALL}, LACK_V2_CONTROLLER, "systemd-run --user", NULL},
	{"v2, root among others", {ROOT, .own.v2 = session, .v2_ours = true, .v2_has = ALL, .v2_crowded = true,
		.systemd = true}, LACK_V2_ALONE, "systemd-run --scope -p Delegate=yes -- hotcell", "--user"},
	{"v2, root among others without systemd", {ROOT, .own.v2 = session, .v2_ours = true, .v2_has = ALL,
		.v2_crowded = true, .v2_top_free = true}, LACK_V2_ALONE, "hotcell/cgroup.procs", "xargs"},
	{"v2, root among others in a container", {ROOT, .own.v2 = root_folder, .v2_ours = true, .v2_has = ALL,
		.v2_crowded = true, .container = true}, LACK_V2_ALONE, "xargs -n1 <cgroup.procs >rest/cgroup.procs", NULL},
};
/* clang-format on */

static void each_lack_of_a_cgroup_is_told_apart_and_mended(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cgroups); i++) {
		char fix[FIX_MAX] = "", why[120] = "";
		if (machine_lack(&cgroups[i].machine, MEMORY) != cgroups[i].lack)
			fail_msg("%s: lack %d", cgroups[i].what,
				machine_lack(&cgroups[i].machine, MEMORY));
		advice_cgroup(&cgroups[i].machine, MEMORY, fix);
		lack_text(&cgroups[i].machine, MEMORY, why, sizeof(why));
		fits(fix);
		assert_true(why[0] != '\0');
		if (strstr(fix, cgroups[i].has) == NULL ||
			(cgroups[i].has_not != NULL && strstr(fix, cgroups[i].has_not) != NULL))
			fail_msg("%s: '%s'", cgroups[i].what, fix);
	}
}

/* Half a command is worse than none. */
static void a_command_that_does_not_fit_is_not_cut(void **state)
{
	char path[400] = "/sys/fs/cgroup/memory/", fix[FIX_MAX] = "";
	struct machine machine = {PLAIN, .own.v1 = {path}};

	(void)state;
	memset(path + strlen(path), 'x', sizeof(path) - strlen(path) - 1);
	advice_cgroup(&machine, MEMORY, fix);
	fits(fix);
	assert_null(strstr(fix, "xxx"));
}

/* ---- the real thing ---- */

static void this_machine_can_be_looked_at(void **state)
{
	own(machine_done) struct machine machine;

	(void)state;
	machine_look(&machine);
	assert_int_equal(machine.root, machine.uid == 0);
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		assert_in_range(machine_lack(&machine, (enum controller)c), 0, LACK_COUNT - 1);
}

static void a_probe_tells_what_it_saw_or_how_to_mend_it(void **state)
{
	struct cell_probe probes[32];
	size_t count = native_probe(probes, ARRAY_LEN(probes));

	(void)state;
	assert_in_range(count, 8, ARRAY_LEN(probes));
	for (size_t i = 0; i < count; i++) {
		assert_true(probes[i].name[0] != '\0' && probes[i].detail[0] != '\0');
		assert_int_equal(probes[i].grade == CELL_ON, probes[i].fix[0] == '\0');
	}
}

static void a_probe_writes_no_more_than_there_is_room_for(void **state)
{
	struct cell_probe probes[4] = {[3] = {.name = "untouched"}};

	(void)state;
	assert_int_equal(native_probe(probes, 3), 3);
	assert_string_equal(probes[3].name, "untouched");
	assert_int_equal(native_probe(probes, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cause_gets_its_own_advice),
		cmocka_unit_test(whatever_the_cause_there_is_advice),
		cmocka_unit_test(each_lack_of_a_cgroup_is_told_apart_and_mended),
		cmocka_unit_test(a_command_that_does_not_fit_is_not_cut),
		cmocka_unit_test(this_machine_can_be_looked_at),
		cmocka_unit_test(a_probe_tells_what_it_saw_or_how_to_mend_it),
		cmocka_unit_test(a_probe_writes_no_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
