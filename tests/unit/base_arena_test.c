#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/arena.h"

static void what_is_taken_is_aligned_and_apart(void **state)
{
	own(arena_done) struct arena arena = {0};
	char *taken[500];
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		taken[i] = arena_take(&arena, i + 1);
		assert_int_equal((uintptr_t)taken[i] % 16, 0);
		memset(taken[i], (int)i, i + 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		for (size_t j = 0; j <= i; j++)
			assert_int_equal((unsigned char)taken[i][j], i & 255);
	}
}

static void after_a_rewind_the_same_memory_is_taken_again(void **state)
{
	own(arena_done) struct arena arena = {0};
	struct arena_mark empty = arena_mark(&arena);
	char *first = arena_text(&arena, "a", 1);
	struct arena_mark mark = arena_mark(&arena);
	char *second = arena_take(&arena, 10);
	(void)state;

	(void)arena_take(&arena, 1000000);
	(void)arena_take(&arena, 1000000);
	arena_rewind(&arena, mark);
	assert_ptr_equal(arena_take(&arena, 10), second);
	assert_string_equal(first, "a");
	arena_rewind(&arena, empty);
	assert_ptr_equal(arena_take(&arena, 1), first);
	arena_reset(&arena);
	assert_ptr_equal(arena_zeroed(&arena, 0, 8), first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_is_aligned_and_apart),
		cmocka_unit_test(after_a_rewind_the_same_memory_is_taken_again),
	};
	return cmocka_run_group_tests_name("base arena", tests, NULL, NULL);
}
