/* A cell's root: the second look at what was mounted. As root or, in a user namespace, as anybody. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

#include "cell/native/root.h"

static int own_mounts(void **state)
{
	(void)state;
	return unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER));
}

/* Pieces as they may be collected: a mount for each set of attributes, meant to be read-only or not. */
static int look_at(const uint64_t *attributes, const bool *writable, size_t count, struct err *err)
{
	struct piece pieces[4] = {0};
	const struct builder b = {.pieces = pieces, .count = count};

	for (size_t i = 0; i < count; i++) {
		pieces[i] = (struct piece){.target = (char *)"usr", .tree = tree_open(AT_FDCWD, "/usr", attributes[i], err), .writable = writable[i]};
		assert_true(pieces[i].tree >= 0);
	}
	int result = root_look_again(&b, err);
	for (size_t i = 0; i < count; i++)
		fd_close(&pieces[i].tree);
	return result;
}

static void what_is_as_it_was_meant_is_taken(void **state)
{
	const uint64_t attributes[] = {RO, root_nothing_special(), RO};
	const bool writable[] = {false, true, true};
	struct err err = {0};

	(void)state;
	assert_int_equal(look_at(attributes, writable, ARRAY_LEN(writable), &err), 0);
}

static void what_can_be_written_to_by_mistake_is_refused_by_name(void **state)
{
	const uint64_t attributes[] = {RO, root_nothing_special()};
	const bool writable[] = {false, false};
	struct err err = {0};

	(void)state;
	assert_int_equal(look_at(attributes, writable, ARRAY_LEN(writable), &err), -1);
	assert_non_null(strstr(err.text, "'/usr' could be written to"));
}

static void links_and_small_files_are_no_mounts(void **state)
{
	struct piece pieces[] = {{.target = (char *)"bin", .link = (char *)"usr/bin", .tree = -1}};
	const struct builder b = {.pieces = pieces, .count = 1};
	struct err err = {0};

	(void)state;
	assert_int_equal(root_look_again(&b, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_it_was_meant_is_taken),
		cmocka_unit_test(what_can_be_written_to_by_mistake_is_refused_by_name),
		cmocka_unit_test(links_and_small_files_are_no_mounts),
	};

	return cmocka_run_group_tests(tests, own_mounts, NULL);
}
