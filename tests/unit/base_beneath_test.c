/* Links, FIFOs, sockets and devices planted at every step of a path below a folder that is held, and a process that swaps them in
 * while we work. `out` is what must stay untouched. */
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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/out_file.h"

#define RACES 4000

struct world {
	char path[64];
	int top, dir, out;
	struct err err;
};

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	(void)snprintf(world->path, sizeof(world->path), "/tmp/hotcell-beneath-test-XXXXXX");
	if (!mkdtemp(world->path))
		return -1;
	world->top = open(world->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mkdirat(world->top, "dir", 0755) < 0 || mkdirat(world->top, "out", 0755) < 0 || mkdirat(world->top, "out/sub", 0755) < 0)
		return -1;
	world->dir = openat(world->top, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	world->out = openat(world->top, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int secret = openat(world->out, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (write(secret, "secret\n", 7) != 7)
		return -1;
	return close(secret);
}

static int tear_down(void **state)
{
	struct world *world = *state;
	struct err err = {0};

	fd_close(&world->top);
	fd_close(&world->dir);
	fd_close(&world->out);
	int rc = fs_remove_tree(AT_FDCWD, world->path, &err);
	free(world);
	return rc;
}

/* The names in a folder, but for "." and "..". */
static unsigned count(int dir, const char *path)
{
	DIR *list = beneath_list(dir, path);
	unsigned found = 0;

	assert_non_null(list);
	for (struct dirent *entry; (entry = readdir(list));)
		found += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	(void)closedir(list);
	return found;
}

static void assert_untouched(const struct world *world)
{
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	assert_int_equal(count(world->out, "."), 2);
	assert_int_equal(count(world->out, "sub"), 0);
	assert_int_equal(beneath_read(world->out, "file", 100, &text, &err), 0);
	assert_string_equal(buf_text(&text), "secret\n");
}

static void put(struct buf *ret, const char *text)
{
	ret->len = 0;
	buf_str(ret, text);
}

/* Every verb with this path; each must fail, or do nothing, and touch nothing outside. */
static void try_all(struct world *world, const char *path)
{
	own(buf_done) struct buf text = {0}, got = {0};
	struct stat st;
	struct err err = {0};
	own(freep) char *below = xfmt("%s/sub/new", path), *file = xfmt("%s/file", path);

	put(&text, "ours\n");
	const char *paths[] = {path, file, below};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		const char *at = paths[i];
		assert_int_equal(beneath_open(world->dir, at, O_RDONLY, 0, &err), -1);
		assert_int_equal(beneath_open(world->dir, at, O_RDONLY | O_DIRECTORY, 0, &err), -1);
		assert_int_equal(beneath_open(world->dir, at, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err), -1);
		assert_int_equal(beneath_open(world->dir, at, O_RDWR | O_CREAT, 0644, &err), -1);
		assert_int_equal(beneath_open(world->dir, at, O_WRONLY | O_APPEND, 0, &err), -1);
		assert_int_equal(beneath_mkdirs(world->dir, at, 0755, &err), -1);
		assert_int_equal(beneath_mkdir(world->dir, at, 0755, &err), -1);
		assert_int_equal(beneath_read(world->dir, at, 100, &got, &err), -1);
		assert_int_equal(beneath_write(world->dir, at, &text, 0644, &err), -1);
		assert_null(beneath_list(world->dir, at));
		assert_false(beneath_is_file(world->dir, at));
		assert_false(beneath_is_folder(world->dir, at));
		if (at != path) {
			assert_int_equal(beneath_stat(world->dir, at, &st), -1);
			assert_int_equal(beneath_unlink(world->dir, at, 0), -1);
			assert_int_equal(beneath_remove(world->dir, at, &err), -1);
			assert_int_equal(beneath_rename(world->dir, at, world->dir, "moved", &err), -1);
		}
		assert_int_equal(got.len, 0);
	}
	assert_untouched(world);
}

static void a_link_is_followed_in_no_step(void **state)
{
	struct world *world = *state;
	own(freep) char *whole = xfmt("%s/out", world->path), *file = xfmt("%s/out/file", world->path);
	const char *targets[] = {whole, "../out", file, "../out/file", "nowhere", "/proc/self/cwd", "/dev/null", "."};

	(void)mkdirat(world->dir, "a", 0755);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		if (strcmp(targets[i], "/proc/self/cwd") == 0 && chdir(world->path) < 0)
			fail();
		assert_int_equal(symlinkat(targets[i], world->dir, "link"), 0);
		assert_int_equal(symlinkat(targets[i], world->dir, "a/link"), 0);
		try_all(world, "link");
		try_all(world, "a/link");
		assert_int_equal(beneath_remove(world->dir, "link", &world->err), 0); /* itself, and not what it leads to */
		assert_int_equal(beneath_remove(world->dir, "a/link", &world->err), 0);
		assert_untouched(world);
	}
	assert_int_equal(chdir("/"), 0);
}

static void what_is_neither_file_nor_folder_is_refused_and_never_waited_for(void **state)
{
	struct world *world = *state;
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	own(fd_closep) int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(mkfifoat(world->dir, "fifo", 0644), 0);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/dir/socket", world->path);
	assert_int_equal(bind(sock, (struct sockaddr *)&name, sizeof(name)), 0);
	try_all(world, "fifo");
	try_all(world, "socket");
	assert_int_equal(beneath_open(world->dir, "fifo", O_RDONLY, 0, &world->err), -1);
	assert_non_null(strstr(world->err.text, "a FIFO"));
	if (mknodat(world->dir, "device", S_IFCHR | 0666, (1 << 8) | 3) == 0)
		try_all(world, "device");
}

static void no_path_leads_above_the_folder(void **state)
{
	struct world *world = *state;
	const char *paths[] = {"..", "../out", "../out/file", "a/../../out/file", "a/..", "/etc/passwd", "", "a/../..", "./../out"};
	own(buf_done) struct buf text = {0};

	put(&text, "ours\n");
	(void)mkdirat(world->dir, "a", 0755);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		assert_int_equal(beneath_open(world->dir, paths[i], O_RDONLY, 0, &world->err), -1);
		assert_int_equal(beneath_open(world->dir, paths[i], O_RDONLY | O_DIRECTORY, 0, &world->err), -1);
		assert_int_equal(beneath_mkdirs(world->dir, paths[i], 0755, &world->err), -1);
		assert_int_equal(beneath_write(world->dir, paths[i], &text, 0644, &world->err), -1);
		assert_int_equal(beneath_remove(world->dir, paths[i], &world->err), -1);
		assert_int_equal(beneath_rename(world->dir, "a", world->dir, paths[i], &world->err), -1);
		assert_int_equal(beneath_unlink(world->dir, paths[i], 0), -1);
	}
	assert_untouched(world);
}

static void files_and_folders_are_made_read_replaced_and_removed(void **state)
{
	struct world *world = *state;
	struct err *err = &world->err;
	own(buf_done) struct buf text = {0}, got = {0};
	char name[] = "a/run-XXXXXX";
	struct stat st;

	own(fd_closep) int deep = beneath_mkdirs(world->dir, "a//b/./c/", 0755, err);
	assert_true(deep >= 0 && beneath_is_folder(world->dir, "a/b/c"));
	put(&text, "one\n");
	assert_int_equal(beneath_write(world->dir, "a/b/file", &text, 0600, err), 0);
	put(&text, "two\n");
	assert_int_equal(beneath_write(world->dir, "a/b/file", &text, 0600, err), 0);
	assert_int_equal(beneath_read(world->dir, "a/b/file", 4, &got, err), 0);
	assert_string_equal(buf_text(&got), "two\n");
	assert_int_equal(beneath_read(world->dir, "a/b/file", 3, &got, err), -1);
	assert_int_equal(err->code, ERR_LIMIT);
	assert_int_equal(count(world->dir, "a/b"), 2); /* no draft stays */
	assert_int_equal(beneath_stat(world->dir, "a/b/file", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	own(fd_closep) int run = beneath_mkdtemp(world->dir, name, 0700, err);
	assert_true(run >= 0 && beneath_is_folder(world->dir, name) && !strstr(name, "X"));
	assert_int_equal(beneath_mkdir(world->dir, "a/b", 0755, err), -1);
	assert_int_equal(err->code, EEXIST);
	assert_int_equal(beneath_rename(world->dir, "a/b/file", world->dir, "moved", err), 0);
	assert_true(beneath_is_file(world->dir, "moved"));
	assert_int_equal(beneath_unlink(world->dir, "moved", 0), 0);
	assert_int_equal(beneath_remove(world->dir, "a", err), 0);
	assert_int_equal(beneath_remove(world->dir, "a/b", err), 0); /* what is missing is fine */
	assert_int_equal(count(world->dir, "."), 0);
}

static void the_folder_itself_may_be_no_link_however_it_is_written(void **state)
{
	struct world *world = *state;
	own(freep) char *way = xfmt("%s/way", world->path);
	const char *ends[] = {"", "/", "//", "/.", "/./", "/.//./"};

	assert_int_equal(symlinkat("out", world->top, "way"), 0);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		own(freep) char *path = xfmt("%s%s", way, ends[i]);
		assert_int_equal(beneath_root(path, &world->err), -1);
		assert_int_equal(world->err.code, ERR_USAGE);
		assert_int_equal(beneath_root_make(path, 0755, NULL, &world->err), -1);
	}
	own(freep) char *through = xfmt("%s/way/sub", world->path);
	own(fd_closep) int fd = beneath_root(through, &world->err); /* the way to it is the user's own */
	assert_true(fd >= 0);
	bool made = false;
	own(freep) char *fresh = xfmt("%s/x/y/z/", world->path);
	own(fd_closep) int deep = beneath_root_make(fresh, 0755, &made, &world->err);
	assert_true(deep >= 0 && made);
	own(fd_closep) int root = beneath_root("/", &world->err);
	own(fd_closep) int here = beneath_root(".", &world->err);
	assert_true(root >= 0 && here >= 0);
}

static void a_folder_that_is_held_is_the_same_whatever_takes_its_place(void **state)
{
	struct world *world = *state;
	own(freep) char *path = xfmt("%s/kept", world->path), *file = xfmt("%s/out/file", world->path);
	struct stat was, now;

	own(fd_closep) int fd = beneath_root_make(path, 0755, NULL, &world->err);
	assert_true(fd >= 0 && fstat(fd, &was) == 0);
	beneath_hold(path, fd);
	assert_int_equal(renameat(world->top, "kept", world->top, "away"), 0);
	assert_int_equal(renameat(world->top, "out", world->top, "kept"), 0);
	own(fd_closep) int again = beneath_root(path, &world->err);
	assert_true(again >= 0 && fstat(again, &now) == 0);
	assert_true(was.st_ino == now.st_ino && was.st_dev == now.st_dev);
	assert_int_equal(renameat(world->top, "kept", world->top, "out"), 0);
}

static void a_path_splits_into_its_folder_and_its_last_step(void **state)
{
	static const struct {
		const char *path, *folder, *last;
	} cases[] = {{"a", ".", "a"}, {"a/b", "a", "b"}, {"/a", "/", "a"}, {"/", "/", "/"}, {"a/b//", "a", "b"}, {"a/.", ".", "a"},
		{"//a//b", "//a", "b"}, {".", ".", "."}, {"./", ".", "."}, {"a/..", "a", ".."}, {"/.", "/", "/"}, {"", ".", "."}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *folder = NULL;
		own(freep) char *last = beneath_split(cases[i].path, &folder);
		assert_string_equal(last, cases[i].last);
		assert_string_equal(folder, cases[i].folder);
	}
}

/* Swaps the folder `a` with a link to the outside, as fast as it can, until it is killed. */
static pid_t swap_for_ever(const struct world *world)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (;;)
		(void)renameat2(world->dir, "a", world->dir, "link", RENAME_EXCHANGE);
}

static void nothing_appears_behind_a_link_that_is_swapped_in(void **state)
{
	struct world *world = *state;
	own(buf_done) struct buf text = {0}, got = {0};
	unsigned made = 0, refused = 0;
	struct err err;

	put(&text, "ours\n");
	(void)mkdirat(world->dir, "a", 0755);
	assert_int_equal(symlinkat("../out", world->dir, "link"), 0);
	pid_t pid = swap_for_ever(world);
	assert_true(pid > 0);
	for (int i = 0; i < RACES; i++) {
		own(fd_closep) int folder = beneath_mkdirs(world->dir, "a/sub/x", 0755, &err);
		own(fd_closep) int file = beneath_open(world->dir, "a/new", O_WRONLY | O_CREAT | O_TRUNC, 0644, &err);
		int wrote = beneath_write(world->dir, "a/file", &text, 0644, &err);
		(void)!beneath_read(world->dir, "a/file", 100, &got, &err);
		(void)beneath_unlink(world->dir, "a/file", 0);
		(void)!beneath_remove(world->dir, "a/sub", &err);
		made += folder >= 0;
		refused += folder < 0 || file < 0 || wrote < 0;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	assert_untouched(world);
	assert_null(got.len ? strstr(buf_text(&got), "secret") : NULL);
	assert_true(made > 0 && refused > 0);
}

/* A file that the user named: its folder may be reached by links, its last step may be none, however quickly it is swapped in. */
static void a_named_file_is_written_to_its_own_place(void **state)
{
	struct world *world = *state;
	own(freep) char *path = xfmt("%s/dir/file", world->path);
	own(buf_done) struct buf text = {0};
	struct err err;

	put(&text, "ours\n");
	assert_int_equal(symlinkat("../out/file", world->dir, "file"), 0);
	assert_int_equal(out_file_write(path, &text, true, &err), -1);
	assert_int_equal(out_file_check(path, true, &err), -1);
	assert_untouched(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_link_is_followed_in_no_step, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_neither_file_nor_folder_is_refused_and_never_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_path_leads_above_the_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_and_folders_are_made_read_replaced_and_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_folder_itself_may_be_no_link_however_it_is_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_folder_that_is_held_is_the_same_whatever_takes_its_place, set_up, tear_down),
		cmocka_unit_test(a_path_splits_into_its_folder_and_its_last_step),
		cmocka_unit_test_setup_teardown(nothing_appears_behind_a_link_that_is_swapped_in, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_named_file_is_written_to_its_own_place, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
