#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/own.h"
#include "cell/native/supervisor/cgroup_paths.h"

/* ---- where our own cgroups are ---- */

struct place_case {
	const char *what, *cgroup, *mountinfo;
	const char *memory, *cpu, *pids, *v2; /* expected; NULL: none */
};

#define V1(name, options, point)                                                                   \
	"30 25 0:26 / " point " rw,relatime shared:9 - cgroup " name " rw," options "\n"
#define V2(root, point) "31 25 0:27 " root " " point " rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"

/* clang-format off */
static const struct place_case places[] = {
	{"v2 alone, in a session", "0::/user.slice/user-1000.slice/session-3.scope\n", V2("/", "/sys/fs/cgroup"), NULL, NULL,
		NULL, "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope"},
	{"v2 alone, at the root", "0::/\n", V2("/", "/sys/fs/cgroup"), NULL, NULL, NULL, "/sys/fs/cgroup"},
	{"v1, each on its own", "4:memory:/a/b\n3:cpu:/\n2:pids:/c\n",
		V1("cgroup", "memory", "/cg/memory") V1("cgroup", "cpu", "/cg/cpu") V1("cgroup", "pids", "/cg/pids"),
		"/cg/memory/a/b", "/cg/cpu", "/cg/pids/c", NULL},
	{"v1, cpu together with cpuacct", "4:cpu,cpuacct:/x\n", V1("cgroup", "cpu,cpuacct", "/cg/cpu,cpuacct"), NULL,
		"/cg/cpu,cpuacct/x", NULL, NULL},
	{"cpuacct and cpuset are not cpu", "4:cpuacct:/x\n5:cpuset:/x\n",
		V1("cgroup", "cpuacct", "/cg/cpuacct") V1("cgroup", "cpuset", "/cg/cpuset"), NULL, NULL, NULL, NULL},
	{"hybrid: v1 controllers beside an empty v2", "4:memory:/m\n1:name=systemd:/s\n0::/s\n",
		V1("cgroup", "memory", "/cg/memory") V1("cgroup", "xattr,name=systemd", "/cg/systemd") V2("/", "/cg/unified"),
		"/cg/memory/m", NULL, NULL, "/cg/unified/s"},
	{"a container that sees only its own part", "0::/docker/abc/inner\n", V2("/docker/abc", "/sys/fs/cgroup"), NULL, NULL,
		NULL, "/sys/fs/cgroup/inner"},
	{"a container's very root", "0::/docker/abc\n", V2("/docker/abc", "/sys/fs/cgroup"), NULL, NULL, NULL, "/sys/fs/cgroup"},
	{"a mount that shows another part", "0::/docker/abcdef\n", V2("/docker/abc", "/sys/fs/cgroup"), NULL, NULL, NULL, NULL},
	{"a mount from outside our namespace", "0::/\n", V2("/../..", "/sys/fs/cgroup"), NULL, NULL, NULL, NULL},
	{"the first of two mounts that shows us", "0::/b/c\n", V2("/a", "/first") V2("/b", "/second"), NULL, NULL, NULL,
		"/second/c"},
	{"a mount point with a space and a backslash", "0::/x\n", V2("/", "/my\\040cg\\134roup"), NULL, NULL, NULL,
		"/my cg\\roup/x"},
	{"a path with colons", "0::/a:b:c\n", V2("/", "/cg"), NULL, NULL, NULL, "/cg/a:b:c"},
	{"named but not mounted", "4:memory:/m\n0::/\n", "", NULL, NULL, NULL, NULL},
	{"mounted but not named", "", V2("/", "/cg") V1("cgroup", "memory", "/cg/memory"), NULL, NULL, NULL, NULL},
	{"no optional fields and many", "0::/\n", "1 2 0:3 / /cg rw shared:1 master:2 propagate_from:3 - cgroup2 none rw\n", NULL,
		NULL, NULL, "/cg"},
	{"a source named like the type", "0::/\n", "1 2 0:3 / /mnt rw - ext4 cgroup2 rw\n" V2("/", "/cg"), NULL, NULL, NULL,
		"/cg"},
	{"lines that are none", "\n:\n::\n4:memory\n4:memory:\n4:memory:relative\n", "\n-\n - \n1 2 3\n1 2 0:3 / /cg rw -\n"
		"1 2 0:3 / /cg rw - cgroup2\n1 2 0:3 / /cg rw - cgroup2 none\n", NULL, NULL, NULL, NULL},
};
/* clang-format on */

static void check_path(const char *what, const char *seen, const char *expected)
{
	if (expected == NULL ? seen != NULL : seen == NULL || strcmp(seen, expected) != 0)
		fail_msg("%s: '%s' instead of '%s'", what, seen == NULL ? "none" : seen,
			expected == NULL ? "none" : expected);
}

static void our_own_cgroups_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		own(cgroup_paths_done) struct cgroup_paths found;
		cgroup_paths_find(&found, places[i].cgroup, places[i].mountinfo);
		check_path(places[i].what, found.v1[MEMORY], places[i].memory);
		check_path(places[i].what, found.v1[CPU], places[i].cpu);
		check_path(places[i].what, found.v1[PIDS], places[i].pids);
		check_path(places[i].what, found.v2, places[i].v2);
	}
}

static void text_cut_anywhere_does_no_harm(void **state)
{
	const struct place_case *hybrid = &places[5];

	(void)state;
	for (size_t a = 0; a <= strlen(hybrid->cgroup); a++)
		for (size_t b = 0; b <= strlen(hybrid->mountinfo); b++) {
			own(freep) char *cgroup = strndup(hybrid->cgroup, a),
					*mountinfo = strndup(hybrid->mountinfo, b);
			own(cgroup_paths_done) struct cgroup_paths found;
			cgroup_paths_find(&found, cgroup, mountinfo);
		}
}

static void this_very_process_can_be_looked_up(void **state)
{
	own(cgroup_paths_done) struct cgroup_paths found;

	(void)state;
	cgroup_paths_read(&found);
	for (int c = 0; c < CONTROLLER_COUNT; c++)
		assert_true(found.v1[c] == NULL || found.v1[c][0] == '/');
}

/* ---- small parsers ---- */

static void a_list_has_whole_words(void **state)
{
	static const struct {
		const char *list, *word;
		bool has;
	} table[] = {
		{"cpu", "cpu", true},
		{"cpu,cpuacct", "cpu", true},
		{"cpuacct,cpu", "cpu", true},
		{"cpuset cpu io memory pids\n", "cpu", true},
		{"cpuset cpu io memory pids\n", "pids", true},
		{"cpuacct", "cpu", false},
		{"acpu", "cpu", false},
		{"", "cpu", false},
		{"\n", "cpu", false},
		{"rw,relatime,cpu", "cpu", true},
		{"cpu-extra", "cpu", false},
		{",,cpu,,", "cpu", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(cgroup_list_has(table[i].list, table[i].word), table[i].has);
}

static void a_number_is_read_from_its_own_line(void **state)
{
	static const char v2[] = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n";
	static const char v1[] = "oom_kill_disable 7\nunder_oom 0\noom_kill 8\n";

	(void)state;
	assert_int_equal(cgroup_number(v2, "oom_kill"), 5);
	assert_int_equal(cgroup_number(v2, "oom"), 4);
	assert_int_equal(cgroup_number(v2, "low"), 1);
	assert_int_equal(cgroup_number(v1, "oom_kill"), 8);
	assert_int_equal(cgroup_number(v1, "kill"), 0);
	assert_int_equal(cgroup_number(v1, "none"), 0);
	assert_int_equal(cgroup_number("18446744073709551615\n", NULL), UINT64_MAX);
	assert_int_equal(cgroup_number("524288\n", NULL), 524288);
	assert_int_equal(cgroup_number("max\n", NULL), 0);
	assert_int_equal(cgroup_number("", NULL), 0);
	assert_int_equal(cgroup_number("", "oom_kill"), 0);
	assert_int_equal(cgroup_number("oom_kill", "oom_kill"), 0);
	assert_int_equal(cgroup_number("oom_kill \n", "oom_kill"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_cgroups_are_found),
		cmocka_unit_test(text_cut_anywhere_does_no_harm),
		cmocka_unit_test(this_very_process_can_be_looked_up),
		cmocka_unit_test(a_list_has_whole_words),
		cmocka_unit_test(a_number_is_read_from_its_own_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
