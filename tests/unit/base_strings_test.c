#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/own.h"
#include "base/strings.h"

static void strings_are_copied_taken_and_found(void **state)
{
	own(strings_done) struct strings strings = {0};
	char text[] = "one";

	(void)state;
	assert_false(strings_have(&strings, "one"));
	strings_add(&strings, text);
	text[0] = 'x';
	strings_take(&strings, xstrdup("two"));
	strings_add_all(&strings, (const char *const[]){"three", "four", NULL});
	strings_add_all(&strings, NULL);
	assert_int_equal(strings.count, 4);
	assert_string_equal(strings.items[0], "one");
	assert_null(strings.items[4]);
	assert_true(strings_have(&strings, "two"));
	assert_false(strings_have(&strings, "tw"));
}

static void no_more_than_asked_for_is_copied(void **state)
{
	own(strings_done) struct strings from = {0}, to = {0};

	(void)state;
	strings_copy(&to, NULL, SIZE_MAX);
	strings_add_all(&from, (const char *const[]){"a", "b", "c", NULL});
	strings_copy(&to, &from, 2);
	assert_int_equal(to.count, 2);
	strings_copy(&to, &from, SIZE_MAX);
	assert_int_equal(to.count, 5);
	assert_string_equal(to.items[4], "c");
}

static void nothing_is_an_empty_array(void **state)
{
	own(strings_done) struct strings strings = {0};
	struct json none = {0}, one = {0};

	(void)state;
	strings_json(NULL, &none);
	assert_string_equal(buf_text(&none.out), "[]");
	strings_add(&strings, "a\"b");
	strings_json(&strings, &one);
	assert_string_equal(buf_text(&one.out), "[\"a\\\"b\"]");
	buf_done(&none.out);
	buf_done(&one.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_copied_taken_and_found),
		cmocka_unit_test(no_more_than_asked_for_is_copied),
		cmocka_unit_test(nothing_is_an_empty_array),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
