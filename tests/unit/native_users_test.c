/* Who cells are outside, what they may take of a user's limits, and where control sockets are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/runtime.h"
#include "cell/native/native.h"

static void blocks_of_users_are_locked_and_far_from_everybodys(void **state)
{
	uint32_t first[64];
	int locks[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		first[i] = users_take(&locks[i]);
		assert_true(locks[i] >= 0);
		assert_in_range(first[i], 1910000000u, 2147352575u - USERS_SPAN);
		for (size_t k = 0; k < i; k++)
			assert_true(first[k] + USERS_SPAN <= first[i] || first[i] + USERS_SPAN <= first[k]);
	}
	for (size_t i = 0; i < ARRAY_LEN(locks); i++)
		fd_close(&locks[i]);
}

static void a_shared_user_keeps_half_of_the_open_files(void **state)
{
	static const struct {
		uint64_t wanted, soft, hard, get;
		bool own;
	} cases[] = {{1024, 1024, 1024, 1024, true}, {1024, 1024, 1024, 512, false}, {1024, 1024, 524288, 512, false},
		{1024, 4096, 4096, 512, false}, {64, 1024, 1024, 64, false}, {8192, 1024, 524288, 8192, false},
		{8192, 1024, 4096, 2048, false}, {1024, 100, 100, 64, false}, {32, 100, 100, 32, false},
		{1024, UINT64_MAX, UINT64_MAX, 512, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(users_open_files(cases[i].wanted, cases[i].own, cases[i].soft, cases[i].hard), cases[i].get);
}

static void only_a_file_that_everybody_may_use_is_public(void **state)
{
	(void)state;
	assert_true(root_is_public(&(struct stat){.st_mode = S_IFREG | 0755}, false));
	assert_true(root_is_public(&(struct stat){.st_mode = S_IFREG | 0644}, false));
	assert_false(root_is_public(&(struct stat){.st_mode = S_IFREG | 0644}, true));
	assert_false(root_is_public(&(struct stat){.st_mode = S_IFREG | 0750}, false));
	assert_false(root_is_public(&(struct stat){.st_mode = S_IFREG | 0744}, false));
	assert_false(root_is_public(&(struct stat){.st_mode = S_IFREG | 0600}, false));
	assert_false(root_is_public(&(struct stat){.st_mode = S_IFDIR | 0755}, false));
}

static int found_add(void *data, const char *path, bool is_dir, struct err *err)
{
	struct buf *found = data;

	(void)err;
	assert_true(is_dir);
	buf_fmt(found, "%s;", path);
	return 0;
}

/* The folder is made where a mount would show it, is found by what it is, and stays while it is held. */
static void a_folder_of_sockets_below_a_mount_is_made_and_kept(void **state)
{
	char top[] = "/tmp/hotcell-test-runtime-XXXXXX";
	struct runtime_hold hold;
	struct err err;
	bool mounts;

	(void)state;
	assert_non_null(mkdtemp(top));
	own(freep) char *session = xfmt("%s/session", top), *folder = xfmt("%s/session/hotcell", top), *moved = xfmt("%s/x", top);
	assert_int_equal(mkdir(session, 0700), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", session, 1), 0);
	runtime_hold_init(&hold);
	runtime_hold_look(&hold, (const char *const[]){"/usr", NULL});
	assert_int_equal(access(folder, F_OK), -1);
	runtime_hold_look(&hold, (const char *const[]){"/usr", top, NULL});
	assert_int_equal(access(folder, F_OK), 0);
	assert_int_equal(rmdir(folder), -1);
	assert_int_equal(rename(folder, moved), 0);
	own(fd_closep) int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own(buf_done) struct buf found = {0};
	const struct fs_ids ids = {hold.ids, hold.count};
	assert_int_equal(fs_find_ids(dir, NULL, (const char *const[]){NULL}, &ids, 100, found_add, &found, &mounts, &err), 0);
	assert_string_equal(buf_text(&found), "x;");
	assert_int_equal(rename(moved, folder), 0);
	runtime_hold_done(&hold);
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(rmdir(session), 0);
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_users_are_locked_and_far_from_everybodys),
		cmocka_unit_test(a_shared_user_keeps_half_of_the_open_files),
		cmocka_unit_test(only_a_file_that_everybody_may_use_is_public),
		cmocka_unit_test(a_folder_of_sockets_below_a_mount_is_made_and_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
