#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fs.h"
#include "project/trust.h"

static char world[64];

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(world, sizeof(world), "/tmp/trust-test-XXXXXX");
	assert_non_null(mkdtemp(world));
	return setenv("XDG_STATE_HOME", world, 1);
}

static int tear_down(void **state)
{
	struct err err;
	int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fs_remove_tree(tmp, world + strlen("/tmp/"), &err), 0);
	return close(tmp);
}

static struct trust_entry entry_of(const char *name)
{
	own(freep) char *path = xfmt("%s/%s", world, name);
	struct trust_entry entry;
	struct err err;

	(void)mkdir(path, 0700);
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(trust_entry_of(fd, &entry, &err), 0);
	assert_string_equal(entry.path, path);
	return entry;
}

static bool is_recorded(const struct trust_entry *entry)
{
	own(trust_list_done) struct trust_list list = {0};
	struct err err;

	assert_int_equal(trust_read(&list, &err), 0);
	return trust_list_has(&list, entry);
}

static void a_folder_is_recorded_until_it_is_removed(void **state)
{
	own(trust_entry_done) struct trust_entry one = entry_of("one"), two = entry_of("t w%o\n\x80");
	bool removed = false;
	struct err err;

	(void)state;
	assert_false(is_recorded(&one));
	assert_int_equal(trust_add(&one, &err) + trust_add(&two, &err) + trust_add(&one, &err), 0);
	assert_true(is_recorded(&one) && is_recorded(&two));
	assert_int_equal(trust_remove(one.path, &removed, &err), 0);
	assert_true(removed && !is_recorded(&one) && is_recorded(&two));
	assert_int_equal(trust_remove(one.path, &removed, &err), 0);
	assert_false(removed);
}

static void another_folder_at_its_path_is_not_it(void **state)
{
	own(trust_entry_done) struct trust_entry one = entry_of("one");
	struct err err;

	(void)state;
	assert_int_equal(trust_add(&one, &err), 0);
	struct trust_entry other = one;
	other.inode++;
	assert_false(is_recorded(&other));
	other = one;
	other.born[strlen(other.born) - 1] ^= 1;
	assert_false(is_recorded(&other));
	own(freep) char *path = xfmt("%s/two", world);
	other = one;
	other.path = path;
	assert_false(is_recorded(&other));
}

static void a_record_says_the_same_when_it_is_read_again(void **state)
{
	static const struct trust_entry entries[] = {
		{.path = (char *)"/a b/%/\t\n\x1b\x7f\xff.hotcell", .inode = UINT64_MAX, .born = "1.000000002", .since = 3},
		{.path = (char *)"/", .inode = 0, .born = "-", .by_hand = true, .since = 0},
	};
	const struct trust_list list = {(struct trust_entry *)(uintptr_t)entries, 2};
	own(trust_list_done) struct trust_list again = {0};
	own(buf_done) struct buf text = {0};
	struct err err;

	(void)state;
	trust_list_text(&list, &text);
	assert_int_equal(trust_list_parse(&again, buf_text(&text), text.len, "it", &err), 0);
	assert_int_equal(again.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(trust_list_has(&again, &entries[i]));
		assert_int_equal(again.items[i].since, entries[i].since);
		assert_int_equal(again.items[i].by_hand, entries[i].by_hand);
	}
}

static void a_text_that_hotcell_does_not_write_is_refused(void **state)
{
	static const char *const texts[] = {"", "\n", "hotcell states 1", "hotcell states 2\n", "states\n", "hotcell states 1\n\n",
		"hotcell states 1\nmade 1 2 3.4 /a", "hotcell states 1\nmade 1 2 3.4\n", "hotcell states 1\nmade 1 2 3.4 a\n",
		"hotcell states 1\nfound 1 2 3.4 /a\n", "hotcell states 1\nmade x 2 3.4 /a\n", "hotcell states 1\nmade 1 -2 3.4 /a\n",
		"hotcell states 1\nmade 1 99999999999999999999999 3.4 /a\n", "hotcell states 1\nmade 1 2 3.4 /%\n", "hotcell states 1\nmade 1 2 3.4 /%0\n",
		"hotcell states 1\nmade 1 2 3.4 /%00\n", "hotcell states 1\nmade 1 2 3.4 /%zz\n",
		"hotcell states 1\nmade 1 2 0000000000000000000000000000000000000000000000000000 /a\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(trust_list_done) struct trust_list list = {0};
		struct err err = {0};
		if (trust_list_parse(&list, texts[i], strlen(texts[i]), "it", &err) == 0 || !err.code)
			fail_msg("taken: '%s'", texts[i]);
		assert_int_equal(list.count, 0);
	}
}

static void a_crowded_record_forgets_what_is_gone_and_then_the_oldest(void **state)
{
	own(trust_entry_done) struct trust_entry kept = entry_of("kept");
	own(trust_list_done) struct trust_list list = {0};
	struct err err;

	(void)state;
	assert_int_equal(trust_add(&kept, &err), 0);
	for (int i = 0; i < 600; i++) {
		struct trust_entry gone = kept;
		gone.path = xfmt("%s/gone-%d", world, i);
		assert_int_equal(trust_add(&gone, &err), 0);
		free(gone.path);
	}
	assert_int_equal(trust_read(&list, &err), 0);
	assert_true(list.count < 510 && trust_list_has(&list, &kept));
}

/* As another process would have it: locked by a descriptor that is not ours. */
static int writer_of(const char *line, size_t len)
{
	own(freep) char *folder = xfmt("%s/hotcell/writers", world), *path = xfmt("%s/1-1", folder);
	struct flock lock = {.l_type = F_WRLCK};
	struct err err;

	assert_int_equal(trust_prepare(&err), 0);
	(void)mkdir(folder, 0700);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, line, len), (ssize_t)len);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	return fd;
}

static bool has_writer(void)
{
	own(freep) char *path = xfmt("%s/hotcell/writers/1-1", world);

	return access(path, F_OK) == 0;
}

static void a_writer_is_found_in_either_format_until_it_ends(void **state)
{
	static const char *const lines[] = {"1 2 /home/u\n", "/home/u\n", "/home/v\n/home/u\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		int fd = writer_of(lines[i], strlen(lines[i]));
		own(freep) char *found = trust_writer_above("/home/u/p"), *none = trust_writer_above("/home/w");
		assert_non_null(found);
		assert_string_equal(found, "/home/u");
		assert_null(none);
		(void)close(fd);
		own(freep) char *ended = trust_writer_above("/home/u/p");
		assert_null(ended);
		assert_false(has_writer());
	}
}

static void a_writer_that_cannot_be_read_may_write_anywhere_and_is_kept(void **state)
{
	size_t size = ((size_t)1 << 20) + 1;
	own(freep) char *large = xcalloc(size, 1);
	struct rlimit before;

	(void)state;
	memset(large, '\n', size);
	int fd = writer_of(large, size);
	own(freep) char *too_large = trust_writer_above("/home/u");
	assert_non_null(too_large);
	(void)close(fd);
	fd = writer_of("1 2 /home/u\n", 12);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	int next = dup(fd);
	(void)close(next);
	for (unsigned left = 0; left < 2; left++) { /* none for the folder, and none for the file in it */
		struct rlimit few = {(rlim_t)next + left, before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
		own(freep) char *found = trust_writer_above("/home/u/p");
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		assert_non_null(found);
		assert_true(has_writer());
	}
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_folder_is_recorded_until_it_is_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_folder_at_its_path_is_not_it, set_up, tear_down),
		cmocka_unit_test(a_record_says_the_same_when_it_is_read_again),
		cmocka_unit_test(a_text_that_hotcell_does_not_write_is_refused),
		cmocka_unit_test_setup_teardown(a_crowded_record_forgets_what_is_gone_and_then_the_oldest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_writer_is_found_in_either_format_until_it_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_writer_that_cannot_be_read_may_write_anywhere_and_is_kept, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
