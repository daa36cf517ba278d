#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"

static void an_empty_buffer_reads_as_empty_text(void **state)
{
	struct buf buf = {0};

	(void)state;
	assert_string_equal(buf_text(&buf), "");
	own(freep) char *taken = buf_take(&buf);
	assert_string_equal(taken, "");
	buf_done(&buf);
}

static void what_is_added_is_always_followed_by_a_nul(void **state)
{
	own(buf_done) struct buf buf = {0};

	(void)state;
	for (size_t i = 0; i < 5000; i++) {
		buf_char(&buf, 'a');
		assert_int_equal(buf.len, i + 1);
		assert_true(buf.cap > buf.len);
		assert_int_equal(buf.data[buf.len], 0);
	}
	buf_add(&buf, NULL, 0);
	assert_int_equal(buf.len, 5000);
}

static void bytes_with_nuls_are_kept(void **state)
{
	own(buf_done) struct buf buf = {0};

	(void)state;
	buf_add(&buf, "a\0b", 3);
	buf_str(&buf, "c");
	assert_int_equal(buf.len, 4);
	assert_memory_equal(buf.data, "a\0bc", 5);
}

static void formatted_text_of_any_length_fits(void **state)
{
	static const int widths[] = {1, 254, 255, 256, 257, 100000};
	own(buf_done) struct buf buf = {0};
	size_t expected = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
		buf_fmt(&buf, "%*d", widths[i], 7);
		expected += (size_t)widths[i];
		assert_int_equal(buf.len, expected);
		assert_int_equal(strlen(buf.data), expected);
		assert_int_equal(buf.data[expected - 1], '7');
	}
}

static void taking_leaves_the_buffer_empty_and_usable(void **state)
{
	own(buf_done) struct buf buf = {0};

	(void)state;
	buf_str(&buf, "one");
	own(freep) char *taken = buf_take(&buf);
	assert_string_equal(taken, "one");
	assert_null(buf.data);
	buf_str(&buf, "two");
	assert_string_equal(buf_text(&buf), "two");
}

static void the_allocators_give_what_was_asked_for(void **state)
{
	own(freep) char *copy = xstrdup("text");
	own(freep) char *made = xfmt("%s-%d", "a", 12);
	own(freep) unsigned char *zeroed = xcalloc(0, 0);
	own(freep) int *numbers = xcalloc(3, sizeof(*numbers));

	(void)state;
	assert_string_equal(copy, "text");
	assert_string_equal(made, "a-12");
	assert_non_null(zeroed);
	numbers[2] = 9;
	numbers = xrealloc(numbers, 100, sizeof(*numbers));
	assert_int_equal(numbers[0], 0);
	assert_int_equal(numbers[2], 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_buffer_reads_as_empty_text),
		cmocka_unit_test(what_is_added_is_always_followed_by_a_nul),
		cmocka_unit_test(bytes_with_nuls_are_kept),
		cmocka_unit_test(formatted_text_of_any_length_fits),
		cmocka_unit_test(taking_leaves_the_buffer_empty_and_usable),
		cmocka_unit_test(the_allocators_give_what_was_asked_for),
	};
	return cmocka_run_group_tests_name("base buf", tests, NULL, NULL);
}
