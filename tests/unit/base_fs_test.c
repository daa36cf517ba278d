/* Hostile trees, made for real in a folder of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/beneath.h"
#include "base/fs.h"

static int folders_make(const char *path, struct err *err)
{
	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, err);

	return fd < 0 ? -1 : 0;
}

#define MIB (UINT64_C(1024) * 1024)

static const struct fs_caps roomy = {.bytes = 64 * MIB, .entries = 100000, .depth = 32};

struct world {
	char path[64];
	int top, from, to;
	struct fs_copy_report report;
	struct err err;
};

static int world_open(struct world *world)
{
	*world = (struct world){.path = "/tmp/hotcell-fs-test-XXXXXX"};
	if (!mkdtemp(world->path))
		return -1;
	world->top = open(world->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(world->top, "from", 0755) < 0 || mkdirat(world->top, "to", 0755) < 0)
		return -1;
	world->from = openat(world->top, "from", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	world->to = openat(world->top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return world->from < 0 || world->to < 0 ? -1 : 0;
}

static int world_done(struct world *world)
{
	struct err err = {0};

	fs_copy_report_done(&world->report);
	fd_close(&world->top);
	fd_close(&world->from);
	fd_close(&world->to);
	return fs_remove_tree(AT_FDCWD, world->path, &err);
}

static int set_up(void **state)
{
	*state = malloc(sizeof(struct world));
	return world_open(*state);
}

static int tear_down(void **state)
{
	int rc = world_done(*state);

	free(*state);
	return rc;
}

/* No asserts below: these also run in children, which cannot report to cmocka. */

static bool put_at(int dir, const char *name, const char *text, mode_t mode)
{
	own(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t len = (ssize_t)strlen(text);

	return fd >= 0 && write(fd, text, (size_t)len) == len && fchmod(fd, mode) == 0;
}

static bool put(struct world *world, const char *name, const char *text)
{
	return put_at(world->from, name, text, 0644);
}

static bool folder(struct world *world, const char *name)
{
	return mkdirat(world->from, name, 0755) == 0;
}

static bool reads(struct world *world, const char *name, const char *expected)
{
	own(buf_done) struct buf text = {0};

	return fs_read_small(world->to, name, 4096, &text, &world->err) == 0 &&
		!strcmp(buf_text(&text), expected);
}

static bool absent(struct world *world, const char *name)
{
	struct stat st;

	return fstatat(world->to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

static mode_t mode_of(struct world *world, const char *name)
{
	struct stat st;

	return fstatat(world->to, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static int copy_with(struct world *world, const struct fs_caps *caps)
{
	fs_copy_report_done(&world->report);
	return fs_copy_tree(world->from, world->to, caps, &world->report, &world->err);
}

static bool skipped_as(struct world *world, const char *name, const char *reason)
{
	for (size_t i = 0; i < FS_SKIPPED_KEPT && world->report.skipped[i].name; i++)
		if (!strcmp(world->report.skipped[i].name, name))
			return !strcmp(world->report.skipped[i].reason, reason);
	return false;
}

/* Folders d/d/d/..., `depth` of them, with a file at the bottom; deeper than any path reaches. */
static bool dig(int dir, unsigned depth)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 3);

	for (unsigned i = 0; i < depth && at >= 0; i++) {
		int next = mkdirat(at, "d", 0755) < 0 ? -1 : openat(at, "d", O_PATH | O_CLOEXEC);
		fd_close(&at);
		at = next;
	}
	bool done = at >= 0 && put_at(at, "bottom", "x", 0644);
	fd_close(&at);
	return done;
}

/* Runs `fn` in a child without root's power over permissions; its world is its own. */
static bool as_ordinary_user(bool (*fn)(struct world *world))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		struct world world;
		bool dropped = geteuid() != 0 ||
			(setresgid(65534, 65534, 65534) == 0 &&
				setresuid(65534, 65534, 65534) == 0);
		bool held = dropped && world_open(&world) == 0 && fn(&world);
		if (dropped && world_done(&world) < 0)
			held = false;
		_exit(held ? 0 : 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/* Copying */

static void files_and_folders_are_copied_with_plain_modes(void **state)
{
	struct world *world = *state;
	mode_t old = umask(022);

	assert_true(put(world, "a", "alpha") && folder(world, "d") && folder(world, "d/e"));
	assert_true(put(world, "d/b", "") && put(world, "d/e/c", "gamma"));
	assert_true(put_at(world->from, "setid", "s", 06755));
	assert_true(put_at(world->from, "open", "o", 0666));
	assert_int_equal(fchmodat(world->from, "d", 01777, 0), 0);
	assert_int_equal(copy_with(world, &roomy), 0);
	(void)umask(old);
	assert_true(reads(world, "a", "alpha") && reads(world, "d/b", "") &&
		reads(world, "d/e/c", "gamma"));
	assert_int_equal(mode_of(world, "a"), S_IFREG | 0644);
	assert_int_equal(mode_of(world, "setid"), S_IFREG | 0755);
	assert_int_equal(mode_of(world, "open"), S_IFREG | 0644);
	assert_int_equal(mode_of(world, "d"), S_IFDIR | 0755);
	assert_int_equal(world->report.files, 5);
	assert_int_equal(world->report.folders, 2);
	assert_int_equal(world->report.bytes, 12);
	assert_int_equal(world->report.skipped_count, 0);
	assert_false(world->report.capped);
	assert_null(world->report.cap);
}

static void links_fifos_devices_and_sockets_are_skipped_and_never_opened(void **state)
{
	struct world *world = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	own(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(put(world, "a", "alpha"));
	assert_int_equal(symlinkat("/etc/passwd", world->from, "link"), 0);
	assert_int_equal(symlinkat("/etc", world->from, "folder-link"), 0);
	assert_int_equal(symlinkat("..", world->from, "up"), 0);
	assert_int_equal(symlinkat("nowhere", world->from, "dangling"), 0);
	assert_int_equal(mkfifoat(world->from, "fifo", 0666), 0);
	/* 0:0 is the one device node that anybody may make. */
	assert_int_equal(mknodat(world->from, "device", S_IFCHR | 0666, makedev(0, 0)), 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/from/socket", world->path);
	assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_int_equal(world->report.files, 1);
	assert_int_equal(world->report.folders, 0);
	assert_int_equal(world->report.skipped_count, 7);
	assert_true(skipped_as(world, "link", "symbolic link") && absent(world, "link"));
	assert_true(
		skipped_as(world, "folder-link", "symbolic link") && absent(world, "folder-link"));
	assert_true(skipped_as(world, "up", "symbolic link"));
	assert_true(skipped_as(world, "dangling", "symbolic link"));
	assert_true(skipped_as(world, "fifo", "FIFO") && absent(world, "fifo"));
	assert_true(skipped_as(world, "device", "device") && absent(world, "device"));
	assert_true(skipped_as(world, "socket", "socket") && absent(world, "socket"));
}

static void a_hard_link_is_copied_as_a_file_of_its_own(void **state)
{
	struct world *world = *state;
	struct stat st;

	assert_true(put(world, "a", "alpha"));
	assert_int_equal(linkat(world->from, "a", world->from, "b", 0), 0);
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_true(reads(world, "a", "alpha") && reads(world, "b", "alpha"));
	assert_int_equal(fstatat(world->to, "a", &st, 0), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(world->report.bytes, 10);
}

static void holes_stay_holes_and_cost_nothing(void **state)
{
	static const struct {
		const char *name;
		off_t data_at, size;
	} files[] = {
		{"front", 0, 16 << 20},
		{"middle", 8 << 20, 16 << 20},
		{"back", (16 << 20) - 1, 16 << 20},
		{"only", -1, 16 << 20},
	};
	struct world *world = *state;
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		own(fd_closep) int fd =
			openat(world->from, files[i].name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(ftruncate(fd, files[i].size), 0);
		if (files[i].data_at >= 0)
			assert_int_equal(pwrite(fd, "!", 1, files[i].data_at), 1);
	}
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_int_equal(world->report.files, 4);
	assert_true(world->report.bytes < MIB);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char c = 0;
		own(fd_closep) int fd = openat(world->to, files[i].name, O_RDONLY | O_CLOEXEC);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size, files[i].size);
		assert_true(st.st_blocks * 512 < (off_t)MIB);
		if (files[i].data_at >= 0)
			assert_int_equal(pread(fd, &c, 1, files[i].data_at), 1);
		assert_int_equal(c, files[i].data_at >= 0 ? '!' : 0);
	}
}

static void a_sparse_file_of_four_tebibytes_is_skipped(void **state)
{
	struct world *world = *state;
	own(fd_closep) int fd = openat(world->from, "huge", O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	assert_int_equal(ftruncate(fd, (off_t)4 << 40), 0);
	assert_true(put(world, "small", "x"));
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_true(skipped_as(world, "huge", "sparse") && absent(world, "huge"));
	assert_true(reads(world, "small", "x"));
	assert_true(world->report.capped);
}

static void holes_count_in_sum(void **state)
{
	const struct fs_caps caps = {.bytes = 300000, .entries = 100, .depth = 3};
	struct world *world = *state;
	char name[16];

	for (int i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		own(fd_closep) int fd = openat(world->from, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(ftruncate(fd, 100000), 0);
	}
	assert_int_equal(copy_with(world, &caps), 0);
	assert_int_equal(world->report.files, 3);
	assert_int_equal(world->report.bytes, 0);
	assert_true(world->report.capped);
	assert_string_equal(world->report.skipped[0].reason, "sparse");
}

static bool put_zeros(struct world *world, const char *name, size_t size)
{
	own(fd_closep) int fd = openat(world->from, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	own(freep) char *zeros = calloc(1, size);

	return fd >= 0 && write(fd, zeros, size) == (ssize_t)size;
}

static void no_more_bytes_are_taken_than_the_cap_and_no_file_is_cut(void **state)
{
	const struct fs_caps caps = {.bytes = 300000, .entries = 100, .depth = 3};
	struct world *world = *state;
	char name[16];

	for (int i = 0; i < 10; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		assert_true(put_zeros(world, name, 70000));
	}
	assert_true(put_zeros(world, "dense", 400000));
	assert_int_equal(copy_with(world, &caps), 0);
	assert_int_equal(world->report.files, 4);
	assert_int_equal(world->report.bytes, 280000);
	assert_true(world->report.capped);
	assert_string_equal(world->report.cap, "bytes");
	assert_true(skipped_as(world, "dense", "too large") && absent(world, "dense"));
	for (int i = 0; i < 10; i++) {
		struct stat st;
		(void)snprintf(name, sizeof(name), "f%d", i);
		if (fstatat(world->to, name, &st, 0) == 0)
			assert_int_equal(st.st_size, 70000);
	}
}

static void no_more_entries_are_taken_than_the_cap_however_many_there_are(void **state)
{
	const struct fs_caps caps = {.bytes = MIB, .entries = 1000, .depth = 3};
	struct world *world = *state;
	char name[16];

	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mknodat(world->from, name, S_IFREG | 0644, 0), 0);
	}
	assert_int_equal(copy_with(world, &caps), 0);
	assert_int_equal(world->report.files, 1000);
	assert_true(world->report.capped);
	assert_string_equal(world->report.cap, "entries");
}

static void skipping_without_end_is_capped_too_and_only_the_first_are_named(void **state)
{
	const struct fs_caps caps = {.bytes = MIB, .entries = 100, .depth = 3};
	struct world *world = *state;
	char name[16];

	for (int i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(symlinkat("x", world->from, name), 0);
	}
	assert_int_equal(copy_with(world, &caps), 0);
	assert_int_equal(world->report.skipped_count, 101);
	assert_non_null(world->report.skipped[FS_SKIPPED_KEPT - 1].name);
	assert_string_equal(world->report.cap, "entries");
}

static void folders_deeper_than_the_cap_are_left(void **state)
{
	const struct fs_caps caps = {.bytes = MIB, .entries = 1000, .depth = 3};
	struct world *world = *state;

	assert_true(folder(world, "1") && folder(world, "1/2") && folder(world, "1/2/3"));
	assert_true(put(world, "1/2/file", "x") && put(world, "1/2/3/file", "x"));
	assert_int_equal(copy_with(world, &caps), 0);
	assert_true(reads(world, "1/2/file", "x") && absent(world, "1/2/3"));
	assert_true(skipped_as(world, "1/2/3", "too deep"));
	assert_true(world->report.capped);
	assert_string_equal(world->report.cap, "depth");
}

static void a_tree_deeper_than_descriptors_reach_is_capped_and_can_be_removed(void **state)
{
	const struct fs_caps caps = {.bytes = MIB, .entries = 100000, .depth = UINT32_MAX};
	struct world *world = *state;

	assert_true(dig(world->from, 2500));
	assert_int_equal(copy_with(world, &caps), 0);
	assert_true(world->report.folders > 100);
	assert_string_equal(world->report.cap, "depth");
	assert_int_equal(fs_remove_tree(world->from, "d", &world->err), 0);
	assert_int_equal(faccessat(world->from, "d", F_OK, 0), -1);
}

static void names_that_could_hurt_are_written_with_percent_signs(void **state)
{
	static const struct {
		const char *name, *written;
	} names[] = {
		{"a\nb", "a%0Ab"},
		{"\x1b[2J", "%1B[2J"},
		{"\xff\xfe", "%FF%FE"},
		{"\xe2\x82", "%E2%82"},
		{"\xc2\x9b"
		 "2J",
			"%C2%9B2J"},
		{"\x7f", "%7F"},
		{"\xc3\xa9 100% $(x)", "\xc3\xa9 100% $(x)"},
		{"-rf", "-rf"},
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(put(world, names[i].name, names[i].name));
	assert_true(folder(world, "d\n") && put(world, "d\n/x\r", "deep"));
	assert_int_equal(copy_with(world, &roomy), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(reads(world, names[i].written, names[i].name));
	assert_true(reads(world, "d%0A/x%0D", "deep"));
	assert_int_equal(world->report.renamed_count, 8);
}

static void a_name_too_long_to_be_written_safely_is_skipped(void **state)
{
	struct world *world = *state;
	char name[101];

	memset(name, '\n', 100);
	name[100] = '\0';
	assert_true(put(world, name, "x") && put(world, "other", "x"));
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_true(skipped_as(world, name, "name too long"));
	assert_true(reads(world, "other", "x"));
}

static void what_exists_is_never_overwritten_nor_entered(void **state)
{
	struct world *world = *state;

	assert_true(put_at(world->to, "kept", "old", 0644) && put(world, "kept", "new"));
	assert_true(put_at(world->to, "a%0A", "old", 0644) && put(world, "a\n", "new"));
	assert_int_equal(symlinkat("elsewhere", world->to, "link"), 0);
	assert_true(put(world, "link", "new"));
	assert_int_equal(symlinkat("..", world->to, "d"), 0);
	assert_true(folder(world, "d") && put(world, "d/x", "new"));
	assert_int_equal(copy_with(world, &roomy), 0);
	assert_true(reads(world, "kept", "old") && reads(world, "a%0A", "old"));
	assert_true(skipped_as(world, "kept", "exists") && skipped_as(world, "a\n", "exists"));
	assert_true(skipped_as(world, "link", "exists") && absent(world, "elsewhere"));
	assert_true(skipped_as(world, "d", "exists"));
	assert_int_equal(faccessat(world->top, "x", F_OK, 0), -1);
	assert_int_equal(world->report.files, 0);
}

static bool locked_copy(struct world *world)
{
	return folder(world, "none") && put(world, "none/x", "x") && folder(world, "list") &&
		put(world, "list/y", "y") && folder(world, "search") &&
		put(world, "search/z", "z") && put_at(world->from, "file", "f", 0) &&
		fchmodat(world->from, "none", 0, 0) == 0 &&
		fchmodat(world->from, "list", 0400, 0) == 0 &&
		fchmodat(world->from, "search", 0100, 0) == 0 && fchmod(world->from, 0) == 0 &&
		copy_with(world, &roomy) == 0 && reads(world, "none/x", "x") &&
		reads(world, "list/y", "y") && reads(world, "search/z", "z") &&
		reads(world, "file", "f") && world->report.skipped_count == 0;
}

static void reserved_names_are_left_at_the_top_and_only_there(void **state)
{
	static const char *const reserved[] = {"report.json", "a%01b", "state", NULL};
	struct fs_caps caps = roomy;
	struct world *world = *state;

	caps.reserved = reserved;
	assert_true(put(world, "report.json", "lies") && put(world, "Report.json", "fine") && put(world, "a\x01" "b", "x"));
	assert_true(folder(world, "state") && put(world, "state/x", "x"));
	assert_true(folder(world, "sub") && put(world, "sub/report.json", "deep"));
	assert_int_equal(copy_with(world, &caps), 0);
	assert_true(absent(world, "report.json") && absent(world, "state") && absent(world, "a%01b"));
	assert_true(reads(world, "Report.json", "fine") && reads(world, "sub/report.json", "deep"));
	assert_true(skipped_as(world, "report.json", "reserved name"));
	assert_true(skipped_as(world, "a\x01" "b", "reserved name"));
	assert_true(skipped_as(world, "state", "reserved name"));
	assert_int_equal(world->report.skipped_count, 3);
	assert_int_equal(world->report.files, 2);
	assert_int_equal(world->report.renamed_count, 0);
}

static void what_its_owner_locked_is_copied_by_its_owner(void **state)
{
	(void)state;
	assert_true(as_ordinary_user(locked_copy));
}

/* /proc/1 belongs to root, and parts of it are root's to read. */
static bool foreign_copy(struct world *world)
{
	const struct fs_caps caps = {.bytes = MIB, .entries = 200, .depth = 1};
	own(fd_closep) int proc = open("/proc/1", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0 || faccessat(proc, "environ", R_OK, 0) == 0)
		return true; /* where process 1 is ours there is nobody else */
	fs_copy_report_done(&world->report);
	return fs_copy_tree(proc, world->to, &caps, &world->report, &world->err) == 0 &&
		(skipped_as(world, "environ", "not readable") ||
			world->report.skipped_count > FS_SKIPPED_KEPT);
}

static void what_somebody_else_locked_is_skipped(void **state)
{
	(void)state;
	assert_true(as_ordinary_user(foreign_copy));
}

static bool full_copy(struct world *world)
{
	const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};

	(void)signal(SIGXFSZ, SIG_IGN);
	return put(world, "small", "s") && put_zeros(world, "big", 5000) &&
		setrlimit(RLIMIT_FSIZE, &limit) == 0 && copy_with(world, &roomy) < 0 &&
		world->err.code == EFBIG && strstr(world->err.text, "'big'") &&
		absent(world, "big");
}

static void a_destination_that_takes_no_more_is_an_error_and_leaves_no_half_file(void **state)
{
	(void)state;
	assert_true(as_ordinary_user(full_copy));
}

static pid_t start_meddler(struct world *world, void (*step)(struct world *world, unsigned turn))
{
	pid_t child = fork();

	if (child == 0)
		for (unsigned turn = 0;; turn++)
			step(world, turn);
	return child;
}

static void stop_meddler(pid_t child)
{
	int status;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status)); /* else it had given up */
}

static void empty_the_target(struct world *world)
{
	assert_int_equal(fs_remove_tree(world->top, "to", &world->err), 0);
	fd_close(&world->to);
	assert_int_equal(mkdirat(world->top, "to", 0755), 0);
	world->to = openat(world->top, "to", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void shrink_and_grow(struct world *world, unsigned turn)
{
	own(fd_closep) int fd = openat(world->from, "f", O_WRONLY | O_CLOEXEC);

	if (ftruncate(fd, turn % 2 ? 3000000 : turn % 7 * 1000) < 0 || pwrite(fd, "!", 1, 500) < 0)
		_exit(1);
}

static void a_file_that_shrinks_while_copied_is_copied_as_far_as_it_is(void **state)
{
	struct world *world = *state;

	assert_true(put_zeros(world, "f", 3000000));
	pid_t child = start_meddler(world, shrink_and_grow);
	for (int i = 0; i < 200; i++) {
		struct stat st;
		assert_int_equal(copy_with(world, &roomy), 0);
		assert_int_equal(world->report.files, 1);
		assert_int_equal(fstatat(world->to, "f", &st, 0), 0);
		assert_true(st.st_size <= 3000000);
		empty_the_target(world);
	}
	stop_meddler(child);
}

static void swap(struct world *world, unsigned turn)
{
	static const char *const others[] = {"../link", "../folder", "../link", "../fifo"};

	if (renameat2(world->from, "x", world->from, others[turn / 2 % 4], RENAME_EXCHANGE) < 0)
		_exit(1);
	for (volatile unsigned pause = turn * 7919 % 20000; pause; pause--)
		continue; /* between a look and an open, now and then */
}

static void a_name_swapped_for_a_link_meanwhile_lets_nothing_out(void **state)
{
	struct world *world = *state;

	assert_true(put(world, "x", "inside"));
	assert_true(put_at(world->top, "secret", "secret", 0644));
	assert_int_equal(symlinkat("../secret", world->top, "link"), 0);
	assert_int_equal(mkdirat(world->top, "folder", 0755), 0);
	assert_int_equal(mkfifoat(world->top, "fifo", 0644), 0);
	pid_t child = start_meddler(world, swap);
	for (int i = 0; i < 4000; i++) {
		assert_int_equal(copy_with(world, &roomy), 0);
		mode_t mode = mode_of(world, "x");
		assert_true(mode == 0 || S_ISDIR(mode) || S_ISREG(mode));
		if (S_ISREG(mode))
			assert_true(reads(world, "x", "inside"));
		assert_int_equal(fs_remove_tree(world->to, "x", &world->err), 0);
	}
	stop_meddler(child);
}

/* Finding */

struct found {
	char text[512]; /* " name/" for each, in the order of the names */
	char *names[32];
	size_t count;
	int answer;
};

static int note_found(void *data, const char *path, bool is_dir, struct err *err)
{
	struct found *found = data;

	if (found->answer < 0)
		return err_set(err, EINTR, "enough");
	found->names[found->count++] = xfmt("%s%s", path, is_dir ? "/" : "");
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int find(struct world *world, const char *const *globs, struct found *found)
{
	bool mounts;
	*found = (struct found){.answer = 0};
	int rc = fs_find(world->from, NULL, globs, 1000, note_found, found, &mounts, &world->err);

	qsort(found->names, found->count, sizeof(char *), by_name);
	for (size_t i = 0; i < found->count; i++) {
		strcat(strcat(found->text, " "), found->names[i]);
		free(found->names[i]);
	}
	return rc;
}

static void names_are_found_by_glob_and_matches_are_not_entered(void **state)
{
	static const struct {
		const char *globs[3];
		const char *expected;
	} cases[] = {
		{{".env"}, " .env d/.env"},
		{{".env*"}, " .env .env.local d/.env"},
		{{"*.pem", "id_*"}, " d/id_rsa d/x.pem x.pem"},
		{{"*env"}, " .env d/.env"}, /* a leading dot needs no naming */
		{{"d"}, " d/"},
		{{"d/"}, " d/"},
		{{"/x.pem"}, " x.pem"},
		{{"d/*.pem"}, " d/x.pem"},
		{{"*/.env"}, " d/.env"},
		{{"link"}, " d/ link"}, /* with what it leads to */
		{{"nothing"}, ""},
		{{NULL}, ""},
		{{"[xyz].pem"}, " d/x.pem x.pem"},
	};
	struct world *world = *state;
	struct found found;

	assert_true(
		put(world, ".env", "") && put(world, ".env.local", "") && put(world, "x.pem", ""));
	assert_true(folder(world, "d") && put(world, "d/.env", "") && put(world, "d/x.pem", ""));
	assert_true(put(world, "d/id_rsa", ""));
	assert_int_equal(symlinkat("d", world->from, "link"), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(find(world, cases[i].globs, &found), 0);
		assert_string_equal(found.text, cases[i].expected);
	}
}

static void what_links_lead_to_is_found_under_its_own_name(void **state)
{
	static const struct {
		const char *globs[3];
		const char *expected;
	} cases[] = {
		{{"top/b"}, " real/b"}, /* a link in the place of a folder */
		{{"top/in/b"}, " real/in/b/"},
		{{"top/in/x"}, " real/in/b/x real/in/x"}, /* which is a link itself */
		{{"top/b", "top/in/b"}, " real/b real/in/b/"},
		{{"deep/top/b"}, ""},
		{{"first/second/b"}, " real/b"}, /* links behind links */
		{{"first/second/in/b"}, " real/in/b/"},
		{{"first/second/third/b"}, " real/b"},
		{{"first/third/b"}, ""},
		{{"circle/circle/circle/y", "circle/z"}, " y z"}, /* and in circles */
		{{"name"}, " name real/in/b/x"}, /* through a link on the way */
		{{"name", "b"}, " name real/b real/in/b/"}, /* nothing twice, and nothing in what is found as a whole */
		{{"round"}, " real/round"},
		{{"out"}, " out"},
		{{"up"}, " real/b up"}, /* ".." goes up from where a link leads */
		{{"abs"}, " abs"},
		{{"self"}, " self"},
	};
	struct world *world = *state;
	struct found found;

	assert_true(folder(world, "real") && folder(world, "real/in") && folder(world, "real/in/b") && put(world, "real/b", ""));
	assert_true(put(world, "real/in/b/x", ""));
	assert_int_equal(symlinkat("b/x", world->from, "real/in/x"), 0);
	assert_int_equal(symlinkat("real", world->from, "top"), 0);
	assert_int_equal(symlinkat("top/in/b/x", world->from, "name"), 0);
	assert_int_equal(symlinkat("../real", world->from, "real/round"), 0);
	assert_int_equal(symlinkat("../..", world->from, "out"), 0);
	assert_int_equal(symlinkat("self", world->from, "self"), 0);
	assert_int_equal(symlinkat("real/in", world->from, "inner"), 0);
	assert_int_equal(symlinkat("./inner/..//b", world->from, "up"), 0);
	assert_int_equal(symlinkat("/real/b", world->from, "abs"), 0);
	assert_true(folder(world, "1") && folder(world, "2") && put(world, "y", "") && put(world, "z", ""));
	assert_int_equal(symlinkat("1", world->from, "first"), 0);
	assert_int_equal(symlinkat("../2/way", world->from, "1/second"), 0);
	assert_int_equal(symlinkat("../real", world->from, "2/way"), 0);
	assert_int_equal(symlinkat(".", world->from, "real/third"), 0);
	assert_int_equal(symlinkat(".", world->from, "circle"), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(find(world, cases[i].globs, &found), 0);
		assert_string_equal(found.text, cases[i].expected);
	}
}

static void links_by_the_hosts_path_are_followed_however_it_is_spelled(void **state)
{
	static const char *const globs[] = {"link", NULL}, *const spelled[] = {"/a/b/x", "//a//b//x", "/./a/././b/./x", "/a/b/d/../x", "/a/b/./d/.//../x"},
		*const others[] = {"/a/bb/x", "/a/x", "/a/b", "/a/b/", "/a/.b/x", "/"};
	struct world *world = *state;
	bool mounts;

	assert_true(put(world, "x", "") && folder(world, "d"));
	for (size_t i = 0; i < ARRAY_LEN(spelled) + ARRAY_LEN(others); i++) {
		bool other = i >= ARRAY_LEN(spelled);
		struct found found = {.answer = 0};
		assert_int_equal(symlinkat(other ? others[i - ARRAY_LEN(spelled)] : spelled[i], world->from, "link"), 0);
		assert_int_equal(fs_find(world->from, "/a/b", globs, 1000, note_found, &found, &mounts, &world->err), 0);
		assert_int_equal(found.count, other ? 1 : 2);
		for (size_t k = 0; k < found.count; k++)
			free(found.names[k]);
		assert_int_equal(unlinkat(world->from, "link", 0), 0);
	}
}

static void a_folder_behind_a_name_that_files_have_is_not_found(void **state)
{
	static const char *const globs[] = {".env", "*.pem", ".*history", ".docker", NULL};
	struct world *world = *state;
	struct found found = {.answer = 0};
	own(buf_done) struct buf links = {0};
	bool mounts;

	assert_true(folder(world, "venv") && put(world, "venv/x", "") && folder(world, "hist") && folder(world, "cert") &&
		folder(world, "docker"));
	assert_int_equal(symlinkat("venv", world->from, ".env"), 0);
	assert_int_equal(symlinkat("venv", world->from, ".bash_history"), 0);
	assert_int_equal(symlinkat("hist", world->from, ".history"), 0); /* an editor's is a folder */
	assert_int_equal(symlinkat("../cert", world->from, "docker/a.pem"), 0);
	assert_int_equal(find(world, globs, &found), 0);
	assert_string_equal(found.text, " .bash_history .env .history docker/a.pem hist/");
	assert_int_equal(symlinkat("docker", world->from, ".docker"), 0);
	found = (struct found){.answer = 0};
	assert_int_equal(fs_find_ids(world->from, NULL, globs, &(struct fs_ids){NULL, 0}, 1000, note_found, &found, &mounts, &links, &world->err), 0);
	for (size_t i = 0; i < found.count; i++)
		free(found.names[i]);
	assert_non_null(strstr(buf_text(&links), "'docker' is hidden: '.docker' leads to it\n"));
	assert_null(strstr(buf_text(&links), "venv"));
}

static void so_many_files_behind_a_link_end_the_search(void **state)
{
	static const char *const globs[] = {".lldb/*history", NULL};
	struct world *world = *state;
	struct found found = {.answer = 0};
	char name[32];
	bool mounts;

	assert_true(folder(world, "f"));
	assert_int_equal(symlinkat("f", world->from, ".lldb"), 0);
	for (int i = 0; i < 4097; i++) {
		(void)snprintf(name, sizeof(name), "f/%d-history", i);
		assert_true(put(world, name, ""));
	}
	assert_int_equal(fs_find(world->from, NULL, globs, 100000, note_found, &found, &mounts, &world->err), -1);
	assert_int_equal(world->err.code, ERR_LIMIT);
	assert_int_equal(found.count, 0);
}

static void ways_out_are_found_whatever_their_names(void **state)
{
	static const char *const globs[] = {NULL};
	struct world *world = *state;
	struct found found;

	assert_true(folder(world, "d") && put(world, "file", ""));
	assert_int_equal(mkfifoat(world->from, "d/fifo", 0666), 0);
	assert_int_equal(mknodat(world->from, "socket", S_IFSOCK | 0666, 0), 0);
	assert_int_equal(find(world, globs, &found), 0);
	assert_string_equal(found.text, " d/fifo socket");
}

static void a_search_stops_at_its_limits_with_an_error(void **state)
{
	bool mounts;
	static const char *const globs[] = {"x", NULL};
	struct world *world = *state;
	struct found found = {.answer = 0};

	assert_true(put(world, "1", "") && put(world, "2", "") && put(world, "3", ""));
	assert_int_equal(fs_find(world->from, NULL, globs, 3, note_found, &found, &mounts, &world->err), 0);
	assert_int_equal(fs_find(world->from, NULL, globs, 2, note_found, &found, &mounts, &world->err), -1);
	assert_int_equal(world->err.code, ERR_LIMIT);
	assert_true(dig(world->from, 300));
	assert_int_equal(fs_find(world->from, NULL, globs, 100000, note_found, &found, &mounts, &world->err), -1);
	assert_int_equal(world->err.code, ERR_LIMIT);
}

static void a_search_ends_when_the_callback_says_so(void **state)
{
	bool mounts;
	static const char *const globs[] = {"*", NULL};
	struct world *world = *state;
	struct found found = {.answer = -1};

	assert_true(put(world, "1", ""));
	assert_int_equal(fs_find(world->from, NULL, globs, 3, note_found, &found, &mounts, &world->err), -1);
	assert_string_equal(world->err.text, "enough");
}

static bool locked_search(struct world *world)
{
	static const char *const globs[] = {"secret", NULL};
	struct found found;
	struct stat st;

	return folder(world, "d") && put(world, "d/secret", "") &&
		fchmodat(world->from, "d", 0, 0) == 0 && find(world, globs, &found) == 0 &&
		strcmp(found.text, " d/") == 0 &&
		fstatat(world->from, "d", &st, 0) == 0 && (st.st_mode & 0777) == 0;
}

static void a_folder_of_ours_that_cannot_be_searched_is_found_as_a_whole_and_stays_locked(void **state)
{
	(void)state;
	assert_true(as_ordinary_user(locked_search));
}

static struct world *roots_world;

static bool foreign_search(struct world *world)
{
	static const char *const globs[] = {"secret", NULL};
	struct found found;

	(void)world;
	return find(roots_world, globs, &found) == 0 && strcmp(found.text, " listed/secret searched/") == 0;
}

/* Who knows a name reaches what is below it without listing anything. */
static void a_folder_of_others_that_can_only_be_searched_is_found_as_a_whole(void **state)
{
	static const struct {
		const char *name;
		mode_t mode;
	} folders[] = {{"searched", 0711}, {"locked", 0700}, {"listed", 0744}};
	struct world *world = *state;
	char name[32];

	if (geteuid() != 0)
		return; /* nobody else's folder can be made */
	roots_world = world;
	assert_int_equal(fchmod(world->from, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		(void)snprintf(name, sizeof(name), "%s/secret", folders[i].name);
		assert_true(folder(world, folders[i].name) && put(world, name, ""));
		assert_int_equal(fchmodat(world->from, folders[i].name, folders[i].mode, 0), 0);
	}
	assert_true(as_ordinary_user(foreign_search));
}

/* Removing */

static void a_tree_is_removed_without_following_links(void **state)
{
	struct world *world = *state;

	assert_true(put_at(world->to, "kept", "old", 0644));
	assert_true(folder(world, "d") && folder(world, "d/e") && put(world, "d/e/f", "x"));
	assert_int_equal(symlinkat("../../to", world->from, "d/link"), 0);
	assert_int_equal(symlinkat("../../to/kept", world->from, "d/e/link"), 0);
	assert_int_equal(mkfifoat(world->from, "d/fifo", 0), 0);
	assert_int_equal(fs_remove_tree(world->from, "d", &world->err), 0);
	assert_int_equal(faccessat(world->from, "d", F_OK, 0), -1);
	assert_true(reads(world, "kept", "old"));
}

static void removing_takes_a_file_a_link_or_nothing(void **state)
{
	struct world *world = *state;

	assert_true(put(world, "file", "x") && folder(world, "d"));
	assert_int_equal(symlinkat("d", world->from, "link"), 0);
	assert_int_equal(fs_remove_tree(world->from, "file", &world->err), 0);
	assert_int_equal(fs_remove_tree(world->from, "link", &world->err), 0);
	assert_int_equal(fs_remove_tree(world->from, "nothing", &world->err), 0);
	assert_int_equal(fs_remove_tree(world->from, "no/thing", &world->err), 0);
	assert_int_equal(faccessat(world->from, "d", F_OK, 0), 0);
	assert_int_equal(fs_remove_tree(world->top, "from//d/", &world->err), 0);
	assert_int_equal(faccessat(world->from, "d", F_OK, 0), -1);
}

static void a_deep_tree_whose_top_has_our_own_names_is_removed(void **state)
{
	struct world *world = *state;

	assert_true(folder(world, "t") && folder(world, "t/.too-deep-0"));
	assert_true(put(world, "t/.too-deep-0/x", "x") && put(world, "t/.too-deep-1", "x"));
	own(fd_closep) int top = openat(world->from, "t", O_PATH | O_CLOEXEC);
	assert_true(dig(top, 300));
	assert_int_equal(fs_remove_tree(world->from, "t", &world->err), 0);
	assert_int_equal(faccessat(world->from, "t", F_OK, 0), -1);
}

static bool locked_removal(struct world *world)
{
	return folder(world, "t") && folder(world, "t/a") && folder(world, "t/a/b") &&
		put(world, "t/a/b/c", "x") && fchmodat(world->from, "t/a/b", 0, 0) == 0 &&
		fchmodat(world->from, "t/a", 0500, 0) == 0 &&
		fchmodat(world->from, "t", 0, 0) == 0 &&
		fs_remove_tree(world->from, "t", &world->err) == 0;
}

static void a_locked_tree_of_ours_is_removed(void **state)
{
	(void)state;
	assert_true(as_ordinary_user(locked_removal));
}

/* Small things */

static void folders_are_made_with_all_above_them(void **state)
{
	struct world *world = *state;
	own(freep) char *deep = xfmt("%s/a/b//c/", world->path);
	own(freep) char *link = xfmt("%s/link", world->path);
	own(freep) char *through = xfmt("%s/link/x", world->path);
	own(freep) char *file = xfmt("%s/file", world->path);
	own(freep) char *below_file = xfmt("%s/file/x/y", world->path);

	assert_int_equal(folders_make(deep, &world->err), 0);
	assert_int_equal(folders_make(deep, &world->err), 0);
	assert_int_equal(faccessat(world->top, "a/b/c", X_OK, 0), 0);
	assert_int_equal(symlinkat("a", world->top, "link"), 0);
	assert_int_equal(folders_make(link, &world->err), -1);
	assert_int_equal(folders_make(through, &world->err), 0);
	assert_int_equal(faccessat(world->top, "a/x", X_OK, 0), 0);
	assert_true(put_at(world->top, "file", "", 0644));
	assert_int_equal(folders_make(file, &world->err), -1);
	assert_int_equal(world->err.code, ERR_USAGE);
	assert_int_equal(folders_make(below_file, &world->err), -1);
	assert_int_equal(world->err.code, ENOTDIR);
	assert_int_equal(folders_make("/", &world->err), 0);
}

static void a_named_file_is_opened_unless_it_is_a_link(void **state)
{
	struct world *world = *state;

	int fd = fs_open_named(world->top, "named", O_WRONLY | O_CREAT | O_TRUNC, 0644, &world->err);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "kept", 4), 4);
	assert_int_equal(close(fd), 0);
	assert_int_equal(symlinkat("named", world->top, "link"), 0);
	assert_int_equal(symlinkat("nowhere", world->top, "dangling"), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fs_open_named(world->top, i ? "dangling" : "link", O_WRONLY | O_CREAT | O_TRUNC, 0644, &world->err), -1);
		assert_int_equal(world->err.code, ERR_USAGE);
		assert_non_null(strstr(world->err.text, "symbolic link"));
	}
	struct stat st;
	assert_int_equal(fstatat(world->top, "named", &st, 0), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(fstatat(world->top, "nowhere", &st, 0), -1);
	fd = fs_open_named(AT_FDCWD, "/dev/fd/0", O_RDONLY, 0, &world->err); /* a link of the kernel's */
	assert_true(fd >= 0 || world->err.code != ERR_USAGE);
	fd_close(&fd);
}

static void a_small_file_is_read_whole_and_a_larger_one_refused(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf text = {0};

	assert_true(put_zeros(world, "f", 10000));
	assert_int_equal(fs_read_small(world->from, "f", 10000, &text, &world->err), 0);
	assert_int_equal(text.len, 10000);
	assert_int_equal(fs_read_small(world->from, "f", 9999, &text, &world->err), -1);
	assert_int_equal(world->err.code, ERR_LIMIT);
	assert_int_equal(fs_read_small(world->from, "none", 9, &text, &world->err), -1);
	assert_int_equal(world->err.code, ENOENT);
	buf_done(&text);
	assert_int_equal(
		fs_read_small(AT_FDCWD, "/proc/self/status", 100000, &text, &world->err), 0);
	assert_non_null(strstr(buf_text(&text), "Pid:"));
}

static void only_regular_files_are_read_and_no_link_is_followed(void **state)
{
	static const struct {
		const char *name;
		int code;
	} cases[] = {{"link", ELOOP}, {"fifo", EINVAL}, {"d", EISDIR}};
	struct world *world = *state;
	own(buf_done) struct buf text = {0};

	assert_true(put(world, "f", "x") && folder(world, "d"));
	assert_int_equal(symlinkat("f", world->from, "link"), 0);
	assert_int_equal(mkfifoat(world->from, "fifo", 0666), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(
			fs_read_small(world->from, cases[i].name, 9, &text, &world->err), -1);
		assert_int_equal(world->err.code, cases[i].code);
	}
}

static void a_value_is_written_into_a_file_that_exists(void **state)
{
	struct world *world = *state;

	assert_true(put_at(world->to, "f", "", 0644));
	assert_int_equal(fs_write_value(world->to, "f", "max", &world->err), 0);
	assert_true(reads(world, "f", "max"));
	assert_int_equal(fs_write_value(world->to, "none", "max", &world->err), -1);
	assert_int_equal(world->err.code, ENOENT);
	assert_true(absent(world, "none"));
	assert_int_equal(fs_write_value(AT_FDCWD, "/dev/full", "1", &world->err), -1);
	assert_int_equal(world->err.code, ENOSPC);
}

static void an_error_shows_a_hostile_name_escaped(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf text = {0};

	assert_int_equal(fs_read_small(world->from, "\x1b[2J\n", 9, &text, &world->err), -1);
	assert_string_equal(world->err.text, "read '\\x1b[2J\\n': No such file or directory");
}

static void links_come_along_where_that_is_asked_for_and_count(void **state)
{
	struct world *world = *state;
	const struct fs_caps caps = {.bytes = MIB, .entries = 2, .depth = 3, .links = true};
	char text[64] = "";

	assert_int_equal(symlinkat("/etc/passwd", world->from, "a"), 0);
	assert_int_equal(symlinkat("a", world->from, "b"), 0);
	assert_int_equal(copy_with(world, &caps), 0);
	assert_int_equal(world->report.files, 2);
	assert_true(S_ISLNK(mode_of(world, "a")) && S_ISLNK(mode_of(world, "b")));
	assert_int_equal(readlinkat(world->to, "a", text, sizeof(text) - 1), strlen("/etc/passwd"));
	assert_string_equal(text, "/etc/passwd");
	assert_int_equal(symlinkat("x", world->from, "c"), 0);
	assert_int_equal(fs_remove_tree(world->to, "a", &world->err), 0);
	assert_int_equal(fs_remove_tree(world->to, "b", &world->err), 0);
	assert_int_equal(copy_with(world, &caps), 0);
	assert_true(world->report.capped);
}

static void a_folder_that_is_there_is_added_to_and_nothing_in_it_is_changed(void **state)
{
	struct world *world = *state;
	const struct fs_caps caps = {.bytes = MIB, .entries = 100, .depth = 3, .merge = true};

	assert_true(folder(world, "d") && folder(world, "linked") && put(world, "d/old", "changed") && put(world, "d/new", "new") &&
		put(world, "linked/x", "through"));
	assert_int_equal(mkdirat(world->to, "d", 0755), 0);
	assert_true(put_at(world->to, "d/old", "old", 0644));
	assert_int_equal(symlinkat("d", world->to, "linked"), 0);
	assert_int_equal(copy_with(world, &caps), 0);
	assert_true(reads(world, "d/old", "old") && reads(world, "d/new", "new") && absent(world, "d/x"));
}

static void what_anybody_may_write_is_made_so(void **state)
{
	struct world *world = *state;
	const struct fs_caps caps = {.bytes = MIB, .entries = 100, .depth = 3, .anybody = true};
	mode_t mask = umask(0);

	assert_true(folder(world, "d") && put(world, "d/f", "") && put_at(world->from, "x", "", 0700));
	int rc = copy_with(world, &caps);
	(void)umask(mask);
	assert_int_equal(rc, 0);
	assert_int_equal(mode_of(world, "d") & 07777, 0777);
	assert_int_equal(mode_of(world, "d/f") & 07777, 0666);
	assert_int_equal(mode_of(world, "x") & 07777, 0777);
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_path_is_hidden_with_any_folder_on_its_way(void **state)
{
	static const char *const globs[] = {".env", "*.pem", "/top/only", NULL};
	static const struct {
		const char *path;
		bool hidden;
	} paths[] = {
		{".env", true}, {".env/a/b", true}, {"a/.ENV/b", true}, {"a/b.pem", true}, {"top/only", true}, {"top/only/x", true},
		{"a/top/only", false}, {"a/b/c", false}, {"env", false}, {"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(fs_is_hidden(globs, NULL, paths[i].path), paths[i].hidden);
}

static void a_folder_in_a_glob_may_lie_anywhere_and_be_the_top_itself(void **state)
{
	static const char *const globs[] = {".claude/.cred*", "a/b/c", "x/*.y", "*.env", ".env.*", "!.env.example", "!sample.env", "?/dot", "sample.env/", NULL};
	static const struct {
		const char *above, *path;
		bool hidden;
	} paths[] = {
		{NULL, ".claude/.credentials.json", true}, {NULL, "home/u/.claude/.credentials.json", true}, {NULL, ".credentials.json", false},
		{"/home/u/.claude", ".credentials.json", true}, {"/home/u/.claude/", ".CREDENTIALS.json", true}, {"/home/u", ".credentials.json", false},
		{"/home/u/not.claude", ".credentials.json", false}, {"/home/.claude", "u/.credentials.json", false},
		{NULL, "a/b/c", true}, {NULL, "a/b/c/d", true}, {NULL, "z/a/b/c", true}, {"/a", "b/c", true}, {"/a/b", "c", true}, {"/a/b/c", "c", false},
		{"/a/b/c", "d", false}, {NULL, "b/c", false}, {NULL, "x/1.y", true}, {NULL, "x/1/2.y", false}, {"/x", "1.y", true},
		{NULL, "prod.env", true}, {NULL, ".env", true}, {NULL, ".env.example", false}, {NULL, ".env.example/.env", true}, {NULL, ".env.local", true},
		{NULL, "sample.env", true}, {NULL, "a/dot", true}, {NULL, "ab/dot", false}, {"/", "dot", false}, {"", "dot", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (fs_is_hidden(globs, paths[i].above, paths[i].path) != paths[i].hidden)
			fail_msg("%s in %s", paths[i].path, paths[i].above ? paths[i].above : "nowhere");
}

static void what_a_link_with_such_a_name_leads_to_is_found_too(void **state)
{
	static const char *const globs[] = {".env", "hidden", NULL};
	static const char *const links[][2] = {{"conf/prod", ".env"}, {"../conf/../conf/./test", "d/.env"}, {"../one", "e/.env"}, {"d/two", "one"},
		{"conf", "f/.env"}, {"../../out", "g/.env"}, {"/conf/abs", "h/.env"}, {".env", "i/.env"}, {"../hidden/x", "j/.env"}, {"../conf/prod", "k/.env"},
		{"../way/late", "l/.env"}, {"conf", "way"}};
	struct world *world = *state;
	struct found found;

	for (const char *name = "defghijkl"; *name; name++)
		assert_true(folder(world, (char[]){*name, '\0'}));
	assert_true(folder(world, "conf") && put(world, "conf/prod", "") && put(world, "conf/test", "") && put(world, "conf/abs", "") &&
		put(world, "conf/late", "") && put(world, "d/two", "") && folder(world, "hidden") && put(world, "hidden/x", ""));
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		assert_int_equal(symlinkat(links[i][0], world->from, links[i][1]), 0);
	assert_int_equal(find(world, globs, &found), 0);
	assert_string_equal(found.text, " .env conf/late conf/prod conf/test d/.env d/two e/.env f/.env g/.env h/.env hidden/ i/.env j/.env k/.env l/.env");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(files_and_folders_are_copied_with_plain_modes),
		test(links_fifos_devices_and_sockets_are_skipped_and_never_opened),
		test(a_hard_link_is_copied_as_a_file_of_its_own),
		test(holes_stay_holes_and_cost_nothing),
		test(a_sparse_file_of_four_tebibytes_is_skipped),
		test(holes_count_in_sum),
		test(links_come_along_where_that_is_asked_for_and_count),
		test(a_folder_that_is_there_is_added_to_and_nothing_in_it_is_changed),
		test(what_anybody_may_write_is_made_so),
		cmocka_unit_test(a_folder_in_a_glob_may_lie_anywhere_and_be_the_top_itself), test(what_a_link_with_such_a_name_leads_to_is_found_too),
		test(a_path_is_hidden_with_any_folder_on_its_way),
		test(no_more_bytes_are_taken_than_the_cap_and_no_file_is_cut),
		test(no_more_entries_are_taken_than_the_cap_however_many_there_are),
		test(skipping_without_end_is_capped_too_and_only_the_first_are_named),
		test(folders_deeper_than_the_cap_are_left),
		test(a_tree_deeper_than_descriptors_reach_is_capped_and_can_be_removed),
		test(names_that_could_hurt_are_written_with_percent_signs),
		test(a_name_too_long_to_be_written_safely_is_skipped),
		test(what_exists_is_never_overwritten_nor_entered),
		test(reserved_names_are_left_at_the_top_and_only_there),
		test(what_its_owner_locked_is_copied_by_its_owner),
		test(what_somebody_else_locked_is_skipped),
		test(a_destination_that_takes_no_more_is_an_error_and_leaves_no_half_file),
		test(a_file_that_shrinks_while_copied_is_copied_as_far_as_it_is),
		test(a_name_swapped_for_a_link_meanwhile_lets_nothing_out),
		test(names_are_found_by_glob_and_matches_are_not_entered),
		test(what_links_lead_to_is_found_under_its_own_name),
		test(links_by_the_hosts_path_are_followed_however_it_is_spelled),
		test(a_folder_behind_a_name_that_files_have_is_not_found),
		test(so_many_files_behind_a_link_end_the_search),
		test(ways_out_are_found_whatever_their_names),
		test(a_search_stops_at_its_limits_with_an_error),
		test(a_search_ends_when_the_callback_says_so),
		test(a_folder_of_ours_that_cannot_be_searched_is_found_as_a_whole_and_stays_locked),
		test(a_folder_of_others_that_can_only_be_searched_is_found_as_a_whole),
		test(a_tree_is_removed_without_following_links),
		test(removing_takes_a_file_a_link_or_nothing),
		test(a_deep_tree_whose_top_has_our_own_names_is_removed),
		test(a_locked_tree_of_ours_is_removed),
		test(folders_are_made_with_all_above_them),
		test(a_named_file_is_opened_unless_it_is_a_link),
		test(a_small_file_is_read_whole_and_a_larger_one_refused),
		test(only_regular_files_are_read_and_no_link_is_followed),
		test(a_value_is_written_into_a_file_that_exists),
		test(an_error_shows_a_hostile_name_escaped),
	};
	return cmocka_run_group_tests_name("base fs", tests, NULL, NULL);
}
