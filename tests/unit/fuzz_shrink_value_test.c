#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

#define TEST(name) cmocka_unit_test(name)

static bool has_part(void *context, const char *text, size_t len)
{
	return memmem(text, len, context, strlen(context)) != NULL;
}

static bool is_long(void *context, const char *text, size_t len)
{
	(void)text;
	return len >= (size_t)(uintptr_t)context;
}

static bool number_of(const char *text, size_t len, long long *ret)
{
	own(value_done) struct value value = {0};
	struct err err;

	if (json_read(text, len, &schema_text_limits, NULL, &value, &err) < 0 || value.kind != VALUE_NUMBER)
		return false;
	*ret = strtoll(value.text, NULL, 10);
	return true;
}

static bool is_above(void *context, const char *text, size_t len)
{
	long long number;

	return number_of(text, len, &number) && number > (long long)(intptr_t)context;
}

static bool is_below(void *context, const char *text, size_t len)
{
	long long number;

	return number_of(text, len, &number) && number < (long long)(intptr_t)context;
}

/* Steps up, each whole, and then a name. */
static bool is_climb(void *context, const char *text, size_t len)
{
	static const char step[] = "%2e%2e%2f";
	const char *at = text + 1, *end = text + len - 1;

	(void)context;
	if (len < 2 || strncmp(at, step, strlen(step)) != 0)
		return false;
	while (strncmp(at, step, strlen(step)) == 0)
		at += strlen(step);
	return end - at == 3 && memcmp(at, "etc", 3) == 0;
}

static struct schema *schema_of(const char *text)
{
	struct err err;
	struct schema *schema = text ? schema_read(text, strlen(text), NULL, NULL, &err) : NULL;

	assert_true(schema || !text);
	return schema;
}

static void values_become_as_simple_as_they_can_be(void **state)
{
	static const struct {
		const char *schema, *text;
		bool (*still)(void *context, const char *text, size_t len);
		const void *context;
		const char *simplest;
		bool malformed;
	} cases[] = {
		{NULL, "{\"a\": [1, 2, \"x'y\"], \"b\": {\"c\": true}}", has_part, "'", "{\"\":[\"'\"]}", false},
		{NULL, "\"hello w\\u00f6rld, hello!\"", has_part, "\\u00f6", "\"\\u00f6\"", false},
		{NULL, "\"a\\ud800b\"", has_part, "\\ud800", "\"\\ud800\"", false},
		{NULL, "123456", is_above, (void *)1000, "1001", false},
		{NULL, "-123456", is_below, (void *)-1000, "-1001", false},
		{NULL, "12.5", is_above, (void *)3, "4", false},
		{NULL, "true", has_part, "", "false", false},
		{NULL, "[[[[1]]], 2]", has_part, "", "[]", false},
		{NULL, "\"abcdefghij\"", is_long, (void *)7, "\"00000\"", false},
		{"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"minLength\":2}},\"required\":[\"a\"]}", "{\"a\":\"xyz'\",\"b\":1}", has_part, "'",
			"{\"a\":\"0'\"}", false},
		{NULL, "\"%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc\"", is_climb, NULL, "\"%2e%2e%2fetc\"", false},
		{"{\"enum\":[\"long one\",\"x\"]}", "\"long one\"", has_part, "one", "\"long one\"", false},
		{"{\"type\":\"integer\",\"minimum\":5}", "77", has_part, "", "5", false},
		{"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"additionalProperties\":false}", "{\"a\":[1,2,3],\"b\":\"xx\"}", has_part, "",
			"{\"\":[]}", true},
		{"{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"},\"c\":{\"$ref\":\"#/$defs/t\"}},"
		 "\"additionalProperties\":false}}}",
			"{\"c\":{\"n\":\"a\",\"c\":{\"c\":{\"n\":\"it's\"}}}}", has_part, "'", "{\"n\":\"'\"}", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(schema_freep) struct schema *schema = schema_of(cases[i].schema);
		own(buf_done) struct buf text = {0};
		struct value_shrink shrink = {.schema = schema, .malformed = cases[i].malformed, .still = cases[i].still,
			.context = (void *)(uintptr_t)cases[i].context, .max_calls = 500};
		struct err err;
		buf_str(&text, cases[i].text);
		assert_int_equal(value_shrink(&shrink, &text, &err), 0);
		assert_string_equal(buf_text(&text), cases[i].simplest);
		assert_true(shrink.calls < 200);
	}
}

static void it_asks_no_more_often_than_it_may(void **state)
{
	own(buf_done) struct buf text = {0};
	struct value_shrink shrink = {.still = has_part, .context = (void *)(uintptr_t)"z", .max_calls = 3};
	struct err err;

	(void)state;
	buf_str(&text, "{\"a\":\"qwertyuiopz\",\"b\":2,\"c\":3}");
	assert_int_equal(value_shrink(&shrink, &text, &err), 0);
	assert_int_equal(shrink.calls, 3);
	assert_non_null(strchr(buf_text(&text), 'z'));
}

static unsigned asked;

static bool is_enough(void *context)
{
	(void)context;
	return ++asked > 10;
}

static void it_ends_when_it_is_told_to_also_where_nothing_is_asked(void **state)
{
	own(buf_done) struct buf text = {0};
	/* nothing smaller fits, so nothing is asked about it: there are 3,000 ways to try */
	own(schema_freep) struct schema *schema = schema_of("{\"type\":\"string\",\"minLength\":3000}");
	struct value_shrink shrink = {.schema = schema, .still = has_part, .over = is_enough, .context = (void *)(uintptr_t)"", .max_calls = 500};
	struct err err;

	(void)state;
	buf_str(&text, "\"");
	for (int i = 0; i < 3000; i++)
		buf_char(&text, 'x');
	buf_str(&text, "\"");
	asked = 0;
	assert_int_equal(value_shrink(&shrink, &text, &err), 0);
	assert_true(asked < 30);
}

static void what_is_no_json_is_an_error(void **state)
{
	own(buf_done) struct buf text = {0};
	struct value_shrink shrink = {.still = has_part, .context = (void *)(uintptr_t)"", .max_calls = 3};
	struct err err;

	(void)state;
	buf_str(&text, "{\"a\":");
	assert_int_equal(value_shrink(&shrink, &text, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(values_become_as_simple_as_they_can_be),
		TEST(it_asks_no_more_often_than_it_may),
		TEST(it_ends_when_it_is_told_to_also_where_nothing_is_asked),
		TEST(what_is_no_json_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
