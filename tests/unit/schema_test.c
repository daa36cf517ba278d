#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/json_read.h"
#include "schema/number.h"
#include "schema/schema.h"

static struct schema *compiled(const char *text)
{
	struct err err = {0};
	struct schema *schema = schema_read(text, strlen(text), NULL, NULL, &err);

	if (!schema)
		print_error("%s: %s\n", text, err.text);
	assert_non_null(schema);
	return schema;
}

/* "" if the value fits, else "WHERE: sentence (RULE)" for each error. */
static const char *errors_of(const char *schema_text, const char *value_text, struct buf *out)
{
	own(schema_freep) struct schema *schema = compiled(schema_text);
	own(schema_errors_done) struct schema_errors errors = {0};
	own(value_done) struct value value = {0};
	struct err err = {0};

	buf_done(out);
	assert_int_equal(json_read(value_text, strlen(value_text), &schema_text_limits, NULL, &value, &err), 0);
	enum schema_verdict verdict = schema_check(schema, &value, &errors, &err);
	if (verdict == SCHEMA_GAVE_UP)
		buf_str(out, err.text);
	for (size_t i = 0; i < errors.count; i++) {
		buf_str(out, i ? "; " : "");
		schema_error_text(&errors.list[i], out);
		buf_fmt(out, " (%s)", errors.list[i].rule);
	}
	assert_int_equal(verdict == SCHEMA_VALID, out->len == 0);
	return buf_text(out);
}

static void errors_say_where_and_what_was_expected(void **state)
{
	static const char *const cases[][3] = {
		{"{\"type\":\"integer\"}", "\"a\"", "it must be a whole number, not a string (/type)"},
		{"{\"properties\":{\"a\":{\"minimum\":3}}}", "{\"a\":2}", "/a: it must be at least 3 (/properties/a/minimum)"},
		{"{\"required\":[\"a\",\"b\"]}", "{}", "there must be a 'a' in it (/required); there must be a 'b' in it (/required)"},
		{"{\"additionalProperties\":false}", "{\"x\\u001b\":1}", "there must be no 'x\\x1b' in it (/additionalProperties)"},
		{"{\"items\":{\"$ref\":\"#/$defs/t\"},\"$defs\":{\"t\":{\"maxLength\":1}}}", "[\"a\",\"bc\"]",
			"/1: it must have at most 1 characters (/items/$ref/maxLength)"},
		{"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"object\",\"required\":[\"k\"]}]}", "{}",
			"there must be a 'k' in it (/oneOf/1/required)"},
		{"{\"enum\":[\"a\",1]}", "2", "it must be one of: a, 1 (/enum)"},
		{"{\"properties\":{\"a/b~\":false}}", "{\"a/b~\":1}", "there must be no 'a/b~' in it (/properties/a~1b~0)"},
	};
	own(buf_done) struct buf out = {0};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(errors_of(cases[i][0], cases[i][1], &out), cases[i][2]);
}

static void numbers_are_exact(void **state)
{
	static const struct {
		const char *schema, *value;
		bool fits;
	} cases[] = {
		{"{\"const\":9007199254740993}", "9007199254740992", false},
		{"{\"const\":9007199254740993}", "9007199254740993.0", true},
		{"{\"const\":1}", "1.0", true},
		{"{\"const\":100}", "1e2", true},
		{"{\"maximum\":1e400}", "1e399", true},
		{"{\"maximum\":1e400}", "1.0000000000000000000000001e400", false},
		{"{\"multipleOf\":0.01}", "19.99", true},
		{"{\"multipleOf\":0.01}", "19.995", false},
		{"{\"multipleOf\":0.1}", "1e300", true},
		{"{\"multipleOf\":7}", "700000000000000000000000000000000000007", true},
		{"{\"multipleOf\":7}", "700000000000000000000000000000000000008", false},
		{"{\"type\":\"integer\"}", "1e400", true},
		{"{\"type\":\"integer\"}", "12345678901234567890.5", false},
		{"{\"uniqueItems\":true}", "[1,1.0]", false},
		{"{\"uniqueItems\":true}", "[0,1,2,3,4,5,6,7,8,9,1e1,10.5,10]", false},
		{"{\"exclusiveMinimum\":0}", "1e-999999999999999999999", true},
		{"{\"minimum\":-0.0}", "0", true},
	};
	own(buf_done) struct buf out = {0};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *errors = errors_of(cases[i].schema, cases[i].value, &out);
		if ((*errors == '\0') != cases[i].fits)
			fail_msg("%s of %s: '%s'", cases[i].value, cases[i].schema, errors);
	}
}

static void texts_may_hold_nul_and_half_a_surrogate_pair(void **state)
{
	own(buf_done) struct buf out = {0};
	(void)state;

	assert_string_equal(errors_of("{\"const\":\"a\\u0000b\"}", "\"a\\u0000b\"", &out), "");
	assert_string_not_equal(errors_of("{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\"", &out), "");
	assert_string_equal(errors_of("{\"minLength\":1,\"maxLength\":1,\"pattern\":\"^[\\\\ud800-\\\\udbff]$\"}", "\"\\ud834\"", &out), "");
	assert_string_not_equal(errors_of("{\"pattern\":\"^[a-z]+$\"}", "\"a\\ud834b\"", &out), "");
	assert_string_equal(errors_of("{\"maxLength\":1}", "\"\\ud834\\udd1e\"", &out), "");
	assert_string_equal(errors_of("{\"properties\":{\"\\u0000\":false}}", "{\"\":1}", &out), "");
}

static void a_schema_that_cannot_be_used_is_refused_with_its_place(void **state)
{
	static const char *const cases[][2] = {
		{"{\"properties\":{\"a\":{\"type\":\"text\"}}}", "#/properties/a/type: it must be null, boolean, integer, number, string, array or object"},
		{"{\"minLength\":-1}", "#/minLength: it must be a whole number that is not negative"},
		{"{\"allOf\":{}}", "#/allOf: it must be an array of schemas"},
		{"{\"items\":{\"pattern\":\"a(\"}}", "#/items/pattern: it is no regular expression that can be matched here: a '(' is not closed"},
		{"{\"$ref\":\"#/nowhere\"}", "#/$ref: the reference '#/nowhere' leads nowhere"},
		{"{\"$ref\":\"http://example.org/a\"}", "#/$ref: there is no document 'http://example.org/a' at hand; references are never fetched"},
		{"{\"$ref\":\"#\"}", "#: it refers to itself without going into the value, so no check of it would ever end"},
		{"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}}}",
			"#/$ref: it refers to itself without going into the value, so no check of it would ever end"},
		{"[1]", "#: it must be a schema: an object, true or false"},
		{"{\"multipleOf\":0}", "#/multipleOf: it must be a number above 0, of at most 18 digits"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(schema_freep) struct schema *schema = schema_read(cases[i][0], strlen(cases[i][0]), NULL, NULL, &err);
		assert_null(schema);
		assert_string_equal(err.text, cases[i][1]);
	}
}

static char *repeated(const char *before, const char *part, size_t count, const char *after)
{
	struct buf out = {0};

	buf_str(&out, before);
	for (size_t i = 0; i < count; i++)
		buf_str(&out, part);
	buf_str(&out, after);
	return buf_take(&out);
}

static void refused(const char *text, size_t len, const char *part)
{
	struct err err = {0};
	own(schema_freep) struct schema *schema = schema_read(text, len, NULL, NULL, &err);

	assert_null(schema);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static void what_is_too_large_or_too_deep_is_refused(void **state)
{
	own(freep) char *deep = repeated("", "{\"not\":", 5000, "true");
	own(freep) char *large = repeated("{\"enum\":[", "1,", 6000000, "1]}");
	own(freep) char *many = repeated("{\"anyOf\":[", "{},", 300000, "{}]}");
	own(freep) char *patterns = repeated("{\"allOf\":[", "{\"pattern\":\"(a{1,90}){1,6}\"},", 5000, "{}]}");
	own(freep) char *groups = repeated("{\"pattern\":\"", "(", 5000, "\"}");
	(void)state;

	refused(deep, strlen(deep), "nested deeper than 128 levels");
	refused(large, strlen(large), "longer than the 8388608 bytes");
	refused(many, strlen(many), "more than 200000 parts");
	refused(patterns, strlen(patterns), "more or larger patterns than are taken");
	refused(groups, strlen(groups), "more than 255 groups");
}

/* 2^40 ways to the same place. */
static void a_check_that_would_not_end_gives_up(void **state)
{
	own(buf_done) struct buf schema = {0}, out = {0};
	(void)state;

	buf_str(&schema, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (int i = 0; i < 40; i++)
		buf_fmt(&schema, "\"d%d\":{\"anyOf\":[{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},false]},{\"$ref\":\"#/$defs/d%d\"}]},", i, i + 1, i + 1);
	buf_str(&schema, "\"d40\":{\"type\":\"integer\"}}}");
	assert_string_equal(errors_of(buf_text(&schema), "\"a\"", &out),
		"the value cannot be checked: it takes more work than one check may");
	assert_string_equal(errors_of("{\"pattern\":\"^(a+)+$\"}", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", &out),
		"the value cannot be checked: a regular expression takes too long on it");
}

static void errors_are_bounded(void **state)
{
	own(freep) char *list = repeated("[", "1,", 1000, "1]");
	own(schema_freep) struct schema *schema = compiled("{\"items\":{\"type\":\"string\"}}");
	own(value_done) struct value value = {0};
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err = {0};
	(void)state;

	assert_int_equal(json_read(list, strlen(list), &schema_text_limits, NULL, &value, &err), 0);
	assert_int_equal(schema_check(schema, &value, &errors, &err), SCHEMA_INVALID);
	assert_int_equal(errors.count, SCHEMA_ERRORS_MAX);
}

static void formats_are_remarks_unless_asked_for(void **state)
{
	static const char text[] = "{\"format\":\"ipv4\"}";
	struct schema_options options = {.assert_format = true};
	own(buf_done) struct buf out = {0};
	own(value_done) struct value value = {0};
	struct err err = {0};
	(void)state;

	assert_string_equal(errors_of(text, "\"x\"", &out), "");
	own(schema_freep) struct schema *schema = schema_read(text, strlen(text), NULL, &options, &err);
	assert_non_null(schema);
	assert_int_equal(json_read("\"x\"", 3, &schema_text_limits, NULL, &value, &err), 0);
	assert_int_equal(schema_check(schema, &value, NULL, &err), SCHEMA_INVALID);
}

static void numbers_compare_digit_by_digit(void **state)
{
	static const char *const ascending[] = {"-1e400", "-10", "-9.5", "-1e-400", "0", "1e-400", "0.1", "0.10000000000000000000001", "1",
		"9007199254740992", "9007199254740993", "12345678901234567890123", "1e400"};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(ascending); i++) {
		for (size_t j = 0; j < ARRAY_LEN(ascending); j++) {
			struct number a, b;
			assert_true(number_parse(ascending[i], strlen(ascending[i]), &a));
			assert_true(number_parse(ascending[j], strlen(ascending[j]), &b));
			assert_int_equal(number_compare(&a, &b), (i > j) - (i < j));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_say_where_and_what_was_expected),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(numbers_compare_digit_by_digit),
		cmocka_unit_test(texts_may_hold_nul_and_half_a_surrogate_pair),
		cmocka_unit_test(a_schema_that_cannot_be_used_is_refused_with_its_place),
		cmocka_unit_test(what_is_too_large_or_too_deep_is_refused),
		cmocka_unit_test(a_check_that_would_not_end_gives_up),
		cmocka_unit_test(errors_are_bounded),
		cmocka_unit_test(formats_are_remarks_unless_asked_for),
	};
	return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
