/* A cell's root: the second look at what was mounted, by the kernel's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cell/native/mountinfo.h"
#include "cell/native/maker/root.h"

/* Anything but -1 is a mount here: nothing is done with it. */
#define MOUNT 0
static struct piece pieces[] = {
	{.target = (char *)"usr", .tree = MOUNT},
	{.target = (char *)"bin", .link = (char *)"usr/bin", .tree = -1, .writable = true},
	{.target = (char *)"src", .tree = MOUNT},
	{.target = (char *)"src/out", .tree = MOUNT, .writable = true},
	{.target = (char *)"src/out/kept", .tree = MOUNT},
	{.target = (char *)"with space", .tree = MOUNT, .writable = true},
};
static const struct builder builder = {.pieces = pieces, .count = sizeof(pieces) / sizeof(*pieces)};

#define ROOT "21 20 0:30 /root / ro,nosuid - tmpfs hotcell rw,size=24576k\n"
#define AT(point, flags) "22 21 8:1 /x " point " " flags " - ext4 /dev/sda rw\n"

static const struct {
	const char *mountinfo, *refused; /* refused: NULL, or what the sentence has */
} cases[] = {
	{ROOT, NULL},
	{ROOT AT("/usr", "ro,nosuid"), NULL},
	{ROOT AT("/usr", "rw,nosuid"), "'/usr' could be written to"},
	{"21 20 0:30 /root / rw,nosuid - tmpfs hotcell rw\n", "'/' could be written to"},
	/* mounts below a mount, covers and overlays are where the kernel says they are */
	{ROOT AT("/usr", "ro") AT("/usr/share/deep", "rw"), "'/usr/share/deep' could be"},
	{ROOT AT("/src/out", "rw"), NULL},
	{ROOT AT("/src/out/below", "rw"), NULL},
	{ROOT AT("/src/out/below", "ro"), NULL},
	{ROOT AT("/src/outer", "rw"), "'/src/outer' could be"},
	{ROOT AT("/src/out/kept", "rw"), "'/src/out/kept' could be"},
	{ROOT AT("/bin", "rw"), "'/bin' could be"}, /* a link is no mount, whatever it says */
	{ROOT AT("/with\\040space/x", "rw"), NULL},
	{ROOT AT("/dev/null", "rw"), "'/dev/null' could be"},
	{ROOT AT("usr", "rw"), "'usr' could be"},
	{ROOT "22 21 0:9 / /usr/x ro - tmpfs  rw\n", NULL}, /* mounted from nothing */
	{ROOT "22 21 0:9 / /usr/x rw - tmpfs  rw\n", "'/usr/x' could be"},
	/* what is no list of mounts */
	{"", "is empty"},
	{"\n", "cannot be read"},
	{ROOT "22 21 8:1 /x /usr ro\n", "cannot be read"},
	{ROOT "what is this", "cannot be read"},
};

static void nothing_can_be_written_to_that_was_not_meant_to_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		int result = root_look_again(&builder, cases[i].mountinfo, &err);
		if (result != (cases[i].refused ? -1 : 0) || (cases[i].refused && !strstr(err.text, cases[i].refused)))
			fail_msg("case %zu, '%s': %s", i, cases[i].mountinfo, result < 0 ? err.text : "taken");
	}
}

static void a_line_is_read_by_its_places(void **state)
{
	char line[] = "36 35 98:0 /a\\040b /mnt\\134x rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
	struct mount_line mount;

	(void)state;
	assert_true(mount_line_read(line, &mount));
	assert_string_equal(mount.root, "/a b");
	assert_string_equal(mount.point, "/mnt\\x");
	assert_string_equal(mount.flags, "rw,noatime");
	assert_string_equal(mount.type, "ext3");
	assert_string_equal(mount.options, "rw,errors=continue");
}

static void put(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* In the place of the host's /proc. */
static void what_names_the_machine_is_covered_where_it_is(void **state)
{
	char path[] = "/tmp/native_root.XXXXXX";
	static const char *const folders[] = {"bus", "bus/input", "driver", "driver/nvidia", "fs", "fs/cifs", "spl"};
	mode_t mask = umask(022);
	int proc = mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	(void)state;
	assert_true(proc >= 0);
	assert_int_equal(root_covers(proc), 0);
	assert_int_equal(mkdirat(proc, "bus", 0755) | mkdirat(proc, "bus/input", 0755), 0);
	put(proc, "bus/input/devices", "N: Name=\"Power Button\"\nU: Uniq=\n\nN: Name=\"Keys\"\nU: Uniq=\n");
	assert_int_equal(root_covers(proc), 0);
	put(proc, "bus/input/devices", "N: Name=\"Power Button\"\nU: Uniq=\n\nN: Name=\"Mouse\"\nU: Uniq=00:11:22:33:44:55\n");
	uint32_t devices = root_covers(proc);
	assert_int_not_equal(devices, 0);
	for (size_t i = 2; i < ARRAY_LEN(folders); i++) {
		uint32_t before = root_covers(proc);
		bool covered = strcmp(folders[i], "driver") != 0 && strcmp(folders[i], "fs") != 0;
		assert_int_equal(mkdirat(proc, folders[i], 0755), 0);
		assert_int_equal(root_covers(proc) != before, covered);
	}
	assert_int_equal(fchmodat(proc, "bus/input/devices", 0400, 0), 0);
	assert_int_equal(root_covers(proc) & devices, 0);
	assert_int_equal(unlinkat(proc, "bus/input/devices", 0), 0);
	for (size_t i = ARRAY_LEN(folders); i-- > 0;)
		assert_int_equal(unlinkat(proc, folders[i], AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(path) | close(proc), 0);
	(void)umask(mask);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_names_the_machine_is_covered_where_it_is),
		cmocka_unit_test(nothing_can_be_written_to_that_was_not_meant_to_be),
		cmocka_unit_test(a_line_is_read_by_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
