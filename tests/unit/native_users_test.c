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

#define TEN "4294967296"

static void subordinate_numbers_are_read_strictly(void **state)
{
	static const struct {
		const char *text;
		uint32_t first, count;
	} cases[] = {
		{"", 0, 0},
		{"me:100000:65536\n", 100000, 65536},
		{"me:100000:65536", 100000, 65536},
		{"1000:100000:65536\n", 100000, 65536},
		{"you:100000:65536\nme:165536:65536\n", 165536, 65536},
		{"me:100000:10\nme:200000:1000\nme:300000:20\n", 200000, 1000}, /* the longest */
		{"me:100000:1000\nme:100500:1000\n", 100000, 1000}, /* overlapping: the first of equals */
		{"me:100000:1\n", 100000, 1},
		{"me:100000:0\n", 0, 0},
		{"me:4294967290:5\n", 4294967290u, 5}, /* the last number is nobody's */
		{"me:4294967290:6\n", 0, 0},
		{"me:4294967295:1\n", 0, 0},
		{"me:100000:4294967295\n", 0, 0},
		{"me:" TEN ":1\n", 0, 0},
		{"me:100000:" TEN "\n", 0, 0},
		{"me:99999999999:1\n", 0, 0},
		{"me:0:65536\n", 0, 0},
		{"me:1:999\nme:1001:64535\n", 0, 0}, /* accounts' */
		{"me:65535:10\n", 0, 0},
		{"me:65536:10\n", 65536, 10},
		{"me:-100000:10\n", 0, 0},
		{"me:+100000:10\n", 0, 0},
		{"me: 100000:10\n", 0, 0},
		{"me:100000:10 \n", 0, 0},
		{"me:100000:10:\n", 0, 0},
		{"me:100000:10:1\n", 0, 0},
		{"me:0x186a0:10\n", 0, 0},
		{"me:100000\n", 0, 0},
		{"me::10\n", 0, 0},
		{"me:100000:\n", 0, 0},
		{":100000:10\n", 0, 0},
		{"#me:100000:10\n", 0, 0},
		{" me:100000:10\n", 0, 0},
		{"mee:100000:10\nm:100000:10\n10000:100000:10\n", 0, 0},
		{"me:100000:10\r\n", 0, 0},
		{"\n\nme:100000:10\n\n", 100000, 10},
		{"rubbish\n::::\nme:100000:10\n", 100000, 10},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct users_ids ids = users_ids_find(cases[i].text, "me", 1000);
		if (ids.first != cases[i].first || ids.count != cases[i].count)
			fail_msg("'%s': %u numbers from %u on", cases[i].text, ids.count, ids.first);
	}
}

static void a_range_with_the_users_own_number_is_not_used(void **state)
{
	(void)state;
	assert_int_equal(users_ids_find("200005:200000:10\n", "me", 200005).count, 0);
	assert_int_equal(users_ids_find("me:200000:10\n", "me", 200000).count, 0);
	assert_int_equal(users_ids_find("me:200000:10\n", "me", 200009).count, 0);
	assert_int_equal(users_ids_find("me:200000:10\n", "me", 200010).count, 10);
	assert_int_equal(users_ids_find("me:200000:10\n", "me", 199999).count, 10);
}

static void a_line_of_any_length_is_only_left_out(void **state)
{
	own(buf_done) struct buf text = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_char(&text, 'x');
	buf_str(&text, ":100000:10\nme:100000:10\n");
	assert_int_equal(users_ids_find(buf_text(&text), "me", 1000).count, 10);
}

static void free_numbers_lie_behind_all_others(void **state)
{
	(void)state;
	assert_int_equal(users_ids_free(""), 100000);
	assert_int_equal(users_ids_free("a:100000:65536\nb:165536:65536\n"), 231072);
	assert_int_equal(users_ids_free("b:165536:65536\na:100000:65536\n"), 231072);
	assert_int_equal(users_ids_free("a:1:999\n"), 100000);
	assert_int_equal(users_ids_free("a:4294900000:60000\n"), 0);
}

static void the_first_account_with_a_number_has_its_name(void **state)
{
	static const char passwd[] = "root:x:0:0::/:/bin/sh\nbad\n:x:7:7\na:x:1000:1000:A:/:/bin/sh\nb:x:1000:1000:B:/:/bin/sh\nc:x:1:\n";
	char name[8];

	(void)state;
	assert_true(users_name(passwd, 1000, name, sizeof(name)));
	assert_string_equal(name, "a");
	assert_true(users_name(passwd, 1, name, sizeof(name)));
	assert_string_equal(name, "c");
	assert_false(users_name(passwd, 7, name, sizeof(name)));
	assert_false(users_name(passwd, 1001, name, sizeof(name)));
	assert_false(users_name(passwd, 0, name, 4)); /* no room for it */
	assert_false(users_name("", 0, name, sizeof(name)));
}

static void a_block_lies_in_its_range(void **state)
{
	static const uint32_t counts[] = {1, 2, 511, 512, 513, 1024, 8191, 8192, 65536, 1000000};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		for (uint32_t chance = 0; chance < 5000; chance += 7) {
			struct users_ids block = users_block((struct users_ids){100000, counts[i]}, chance);
			assert_in_range(block.count, 1, counts[i]);
			assert_in_range(block.first, 100000, 100000 + counts[i] - block.count);
			assert_true(counts[i] < 512 ? block.count == counts[i] : block.count == 512 || block.count == counts[i]);
		}
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
	assert_int_equal(fs_find_ids(dir, NULL, (const char *const[]){NULL}, &ids, 100, found_add, &found, &mounts, NULL, &err), 0);
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
		cmocka_unit_test(subordinate_numbers_are_read_strictly),
		cmocka_unit_test(a_range_with_the_users_own_number_is_not_used),
		cmocka_unit_test(a_line_of_any_length_is_only_left_out),
		cmocka_unit_test(free_numbers_lie_behind_all_others),
		cmocka_unit_test(the_first_account_with_a_number_has_its_name),
		cmocka_unit_test(a_block_lies_in_its_range),
		cmocka_unit_test(a_folder_of_sockets_below_a_mount_is_made_and_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
