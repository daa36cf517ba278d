#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include <string.h>

#include "base/json.h"
#include "base/json_read.h"

static void nesting_and_commas_are_kept_right(void **state)
{
	own(json_done) struct json json = {0};

	(void)state;
	json_open(&json, '{');
	json_put_int(&json, "a", -1);
	json_put_uint(&json, "b", UINT64_MAX);
	json_key(&json, "list");
	json_open(&json, '[');
	json_int(&json, INT64_MIN);
	json_bool(&json, true);
	json_null(&json);
	json_open(&json, '{');
	json_close(&json, '}');
	json_open(&json, '[');
	json_close(&json, ']');
	json_close(&json, ']');
	json_put_string(&json, "s", "x");
	json_put_string(&json, "n", NULL);
	json_put_bool(&json, "f", false);
	json_close(&json, '}');
	assert_string_equal(buf_text(&json.out),
		"{\"a\":-1,\"b\":18446744073709551615,\"list\":[-9223372036854775808,true,null,{},[]],"
		"\"s\":\"x\",\"n\":null,\"f\":false}");
}

static void pretty_output_is_indented_by_two(void **state)
{
	own(json_done) struct json json = {.pretty = true};

	(void)state;
	json_open(&json, '{');
	json_put_int(&json, "a", 1);
	json_key(&json, "b");
	json_open(&json, '[');
	json_int(&json, 2);
	json_int(&json, 3);
	json_close(&json, ']');
	json_key(&json, "c");
	json_open(&json, '[');
	json_close(&json, ']');
	json_close(&json, '}');
	assert_string_equal(buf_text(&json.out),
		"{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ],\n  \"c\": []\n}");
}

static void any_bytes_become_a_valid_string(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *expected;
	} cases[] = {
		{"", 0, "\"\""},
		{"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
		{"\b\t\n\f\r", 5, "\"\\b\\t\\n\\f\\r\""},
		{"\0\x01\x1b\x7f", 4, "\"\\u0000\\u0001\\u001b\\u007f\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
			"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xc2\x9b", 2, "\"\\u009b\""}, /* C1 CSI */
		{"\xc2\xa0", 2, "\"\xc2\xa0\""},
		{"\xff", 1, "\"\xef\xbf\xbd\""},
		{"\xe2\x82", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* cut off */
		{"\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* overlong */
		{"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
		{"\xf4\x90\x80\x80", 4, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(json_done) struct json json = {0};
		json_bytes(&json, cases[i].bytes, cases[i].len);
		assert_string_equal(buf_text(&json.out), cases[i].expected);
	}
}

static void keys_are_escaped_like_values(void **state)
{
	own(json_done) struct json json = {0};

	(void)state;
	json_open(&json, '{');
	json_put_int(&json, "a\n\"", 1);
	json_close(&json, '}');
	assert_string_equal(buf_text(&json.out), "{\"a\\n\\\"\":1}");
}

static void reals_have_the_decimals_asked_for_and_are_always_numbers(void **state)
{
	static const struct {
		double value;
		int decimals;
		const char *expected;
	} cases[] = {
		{1.25, 1, "1.2"},
		{1.0, 3, "1.000"},
		{-0.5, 2, "-0.50"},
		{3.7, -4, "4"},
		{NAN, 1, "null"},
		{INFINITY, 1, "null"},
		{-INFINITY, 1, "null"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(json_done) struct json json = {0};
		json_real(&json, cases[i].value, cases[i].decimals);
		assert_string_equal(buf_text(&json.out), cases[i].expected);
	}
	own(json_done) struct json json = {0};
	json_open(&json, '{');
	json_put_real(&json, "ms", 12.345, 2);
	json_close(&json, '}');
	assert_string_equal(buf_text(&json.out), "{\"ms\":12.35}");
}

static void values_at_the_top_are_a_line_each(void **state)
{
	own(json_done) struct json json = {0};

	(void)state;
	json_int(&json, 1);
	json_open(&json, '[');
	json_close(&json, ']');
	json_int(&json, 2);
	assert_string_equal(buf_text(&json.out), "1\n[]\n2");
}

static void a_tree_that_was_read_is_written_as_it_was_or_sorted(void **state)
{
	static const char text[] = "{\"b\":[1.50,-0e3,\"\\u00e9\\n\",null,true,false,{}],\"a\":{\"z\":\"\",\"B\":[]}}";
	static const struct json_limits limits = {.bytes = 1000, .values = 100, .depth = 8};
	own(json_done) struct json json = {0}, sorted = {0};
	own(value_done) struct value value = {0};
	struct err err;

	(void)state;
	assert_int_equal(json_read(text, strlen(text), &limits, NULL, &value, &err), 0);
	json_value(&json, &value, false);
	assert_string_equal(buf_text(&json.out), "{\"b\":[1.50,-0e3,\"\xc3\xa9\\n\",null,true,false,{}],\"a\":{\"z\":\"\",\"B\":[]}}");
	json_value(&sorted, &value, true);
	assert_string_equal(buf_text(&sorted.out), "{\"a\":{\"B\":[],\"z\":\"\"},\"b\":[1.50,-0e3,\"\xc3\xa9\\n\",null,true,false,{}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting_and_commas_are_kept_right),
		cmocka_unit_test(pretty_output_is_indented_by_two),
		cmocka_unit_test(any_bytes_become_a_valid_string),
		cmocka_unit_test(keys_are_escaped_like_values),
		cmocka_unit_test(reals_have_the_decimals_asked_for_and_are_always_numbers),
		cmocka_unit_test(values_at_the_top_are_a_line_each),
		cmocka_unit_test(a_tree_that_was_read_is_written_as_it_was_or_sorted),
	};
	return cmocka_run_group_tests_name("base json", tests, NULL, NULL);
}
