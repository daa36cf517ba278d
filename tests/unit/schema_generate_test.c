#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json_read.h"
#include "schema/dict.h"
#include "schema/generate.h"
#include "schema/shrink.h"

static const char *const schemas[] = {
	"{}",
	"{\"type\":[\"string\",\"null\"],\"minLength\":3,\"maxLength\":5}",
	"{\"type\":\"string\",\"pattern\":\"^[a-f]{2,9}-(x|yz)+$\",\"maxLength\":8}",
	"{\"type\":\"string\",\"allOf\":[{\"pattern\":\"a\"},{\"pattern\":\"^.{4}$\"}]}",
	"{\"type\":\"string\",\"pattern\":\"^(?=.*[0-9])[a-z0-9]{3,}$\"}",
	"{\"type\":\"string\",\"pattern\":\"^\\\\p{Lu}\\\\p{Ll}+ (\\\\w)\\\\1$\"}",
	"{\"type\":\"integer\",\"minimum\":10,\"maximum\":20,\"multipleOf\":7}",
	"{\"type\":\"number\",\"exclusiveMinimum\":0.1,\"exclusiveMaximum\":0.2}",
	"{\"type\":\"number\",\"multipleOf\":0.25,\"minimum\":-1,\"maximum\":1}",
	"{\"type\":\"number\",\"minimum\":1e400}",
	"{\"type\":\"number\",\"not\":{\"type\":\"integer\"}}",
	"{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"uniqueItems\":true,\"minItems\":2}",
	"{\"type\":\"array\",\"contains\":{\"const\":7},\"minContains\":2,\"maxContains\":3,\"minItems\":5}",
	"{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"type\":\"string\"}],\"unevaluatedItems\":false,\"minItems\":2}",
	"{\"type\":\"object\",\"minProperties\":3,\"propertyNames\":{\"pattern\":\"^[a-z]{3}$\"}}",
	"{\"type\":\"object\",\"patternProperties\":{\"^x-\":{\"type\":\"integer\"}},\"additionalProperties\":false,\"minProperties\":1}",
	"{\"type\":\"object\",\"dependentRequired\":{\"a\":[\"b\"]},\"dependentSchemas\":{\"b\":{\"required\":[\"c\"]}},\"required\":[\"a\"]}",
	"{\"oneOf\":[{\"type\":\"integer\",\"minimum\":5},{\"type\":\"integer\",\"maximum\":8}]}",
	"{\"if\":{\"properties\":{\"k\":{\"const\":1}},\"required\":[\"k\"]},\"then\":{\"required\":[\"v\"]},\"else\":{\"required\":[\"w\"]},\"type\":\"object\"}",
	"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\",\"required\":[\"l\"],\"properties\":{\"l\":{\"anyOf\":[{\"$ref\":\"#/$defs/n\"},{\"type\":\"null\"}]}}}}}",
	"{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"integer\"}}},{\"properties\":{\"b\":{\"type\":\"string\"}}}],\"unevaluatedProperties\":false,\"type\":\"object\",\"minProperties\":1}",
	"{\"enum\":[1,\"a\",null,[1]],\"not\":{\"type\":\"null\"}}",
	"{\"type\":\"string\",\"format\":\"date-time\"}",
};

static struct schema *compiled(const char *text)
{
	struct err err = {0};
	struct schema *schema = schema_read(text, strlen(text), NULL, NULL, &err);

	if (!schema)
		print_error("%s: %s\n", text, err.text);
	assert_non_null(schema);
	return schema;
}

/* Read back from its text, so that what is written is what is checked. */
static enum schema_verdict verdict_of(const struct schema *schema, const struct made *made, size_t *ret_errors)
{
	static const struct json_limits limits = {.bytes = 1 << 24, .values = 1 << 20, .depth = 200, .any_text = true};
	own(value_done) struct value value = {0};
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err = {0};

	assert_int_equal(json_read(made->text, made->len, &limits, NULL, &value, &err), 0);
	enum schema_verdict verdict = schema_check(schema, &value, &errors, &err);
	*ret_errors = errors.count;
	return verdict;
}

static void every_value_fits_and_its_record_makes_it_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
		struct err err = {0};
		struct draw draw, again;
		struct made made;
		size_t errors;
		own(schema_freep) struct schema *schema = compiled(schemas[i]);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_non_null(generator);
		draw_init(&draw, 5);
		draw_init(&again, 6);
		for (int j = 0; j < 300; j++) {
			if (generator_make(generator, &draw, &made, &err) < 0)
				fail_msg("%s: %s", schemas[i], err.text);
			if (verdict_of(schema, &made, &errors) != SCHEMA_VALID)
				fail_msg("%s: %s does not fit", schemas[i], made.text);
			own(freep) char *text = xstrdup(made.text);
			draw_replay(&again, draw.choices, draw.count);
			if (generator_make(generator, &again, &made, &err) < 0 || strcmp(made.text, text) != 0)
				fail_msg("%s: %s was %s", schemas[i], made.text, text);
			assert_int_equal(again.count, draw.count);
		}
		draw_done(&draw);
		draw_done(&again);
	}
}

static void a_seed_always_makes_the_same_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(schemas); i++) {
		struct buf runs[2] = {{0}, {0}};
		for (int run = 0; run < 2; run++) {
			struct err err = {0};
			struct draw draw;
			struct made made;
			own(schema_freep) struct schema *schema = compiled(schemas[i]);
			own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
			assert_non_null(generator);
			draw_init(&draw, 99);
			for (int j = 0; j < 50; j++) {
				assert_int_equal(generator_make(generator, &draw, &made, &err), 0);
				buf_add(&runs[run], made.text, made.len);
			}
			draw_done(&draw);
		}
		assert_string_equal(buf_text(&runs[0]), buf_text(&runs[1]));
		buf_done(&runs[0]);
		buf_done(&runs[1]);
	}
}

static void a_malformed_value_has_exactly_one_violation(void **state)
{
	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(schemas) - 1; i++) {
		struct err err = {0};
		struct draw draw;
		struct made made;
		size_t errors;
		own(schema_freep) struct schema *schema = compiled(schemas[i]);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_non_null(generator);
		draw_init(&draw, 3);
		for (int j = 0; j < 30; j++) {
			if (generator_make_malformed(generator, &draw, &made, &err) < 0)
				fail_msg("%s: %s", schemas[i], err.text);
			if (verdict_of(schema, &made, &errors) != SCHEMA_INVALID || errors != 1)
				fail_msg("%s: %s has %zu errors", schemas[i], made.text, errors);
		}
		draw_done(&draw);
	}
}

static void what_nothing_finite_fits_is_said_to_be_so(void **state)
{
	static const char *const cases[] = {
		"false",
		"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"$ref\":\"#\"}}}",
		"{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"$ref\":\"#\"},false]}}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		own(schema_freep) struct schema *schema = compiled(cases[i]);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_null(generator);
		assert_int_equal(strncmp(err.text, "no finite value fits the schema: ", 33), 0);
	}
}

static void what_cannot_be_made_is_given_up_with_a_reason(void **state)
{
	static const char *const cases[][2] = {
		{"{\"type\":\"string\",\"minLength\":900000000}", "longer than any that is made"},
		{"{\"type\":\"array\",\"minItems\":900000000}", "more items than any that is made"},
		{"{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}", "contradicts itself"},
		{"{\"type\":\"string\",\"pattern\":\"^a$\",\"minLength\":3}", "contradicts itself"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		struct draw draw;
		struct made made;
		own(schema_freep) struct schema *schema = compiled(cases[i][0]);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_non_null(generator);
		draw_init(&draw, 1);
		assert_int_equal(generator_make(generator, &draw, &made, &err), -1);
		if (!strstr(err.text, cases[i][1]))
			fail_msg("'%s' does not say '%s'", err.text, cases[i][1]);
		draw_done(&draw);
	}
}

static void recursion_ends_and_reaches_depth(void **state)
{
	static const char tree[] = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"c\":{\"type\":\"array\","
				   "\"items\":{\"$ref\":\"#/$defs/t\"}}},\"additionalProperties\":false}}}";
	struct err err = {0};
	struct draw draw;
	struct made made;
	size_t deepest = 0;
	own(schema_freep) struct schema *schema = compiled(tree);
	own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
	(void)state;

	assert_non_null(generator);
	draw_init(&draw, 4);
	for (int i = 0; i < 2000; i++) {
		size_t depth = 0, most = 0;
		assert_int_equal(generator_make(generator, &draw, &made, &err), 0);
		for (size_t j = 0; j < made.len; j++) {
			depth += (made.text[j] == '{') - (made.text[j] == '}');
			most = depth > most ? depth : most;
		}
		deepest = most > deepest ? most : deepest;
	}
	assert_in_range(deepest, 20, 60);
	draw_done(&draw);
}

/* ---- shrinking ---- */

static bool has_traversal(void *context, const struct made *made)
{
	(void)context;
	return strstr(made->text, "../") != NULL;
}

static bool is_at_least_1001(void *context, const struct made *made)
{
	const struct value *number = value_get(made->value, "n");

	(void)context;
	return number && strlen(number->text) >= 4 && number->text[0] != '-' && strcmp(number->text, "1000") != 0 && !strchr(number->text, 'e');
}

static bool has_two_in_list(void *context, const struct made *made)
{
	const struct value *list = value_get(made->value, "l");
	size_t long_ones = 0;

	(void)context;
	for (size_t i = 0; list && i < list->count; i++)
		long_ones += list->items[i].len >= 3 && (unsigned char)list->items[i].text[1] < 128;
	return long_ones >= 2;
}

static bool is_split(void *context, const struct made *made)
{
	(void)context;
	return strstr(made->text, "\"q\\r") != NULL;
}

/* The sum of all numbers below. */
static long sum(const struct value *value)
{
	long total = value->kind == VALUE_NUMBER ? strtol(value->text, NULL, 10) : 0;

	for (size_t i = 0; i < value->count; i++)
		total += sum(&value->items[i]);
	return total;
}

static bool is_heavy(void *context, const struct made *made)
{
	(void)context;
	return sum(made->value) >= 7;
}

static bool has_longest_word(void *context, const struct made *made)
{
	(void)context;
	return strstr(made->text, "\"e\"") != NULL;
}

static void a_shrunk_value_is_the_simplest_that_still_does_it(void **state)
{
	static const struct {
		const char *schema;
		bool (*still)(void *, const struct made *);
		const char *expected;
	} cases[] = {
		{"{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},\"f\":{\"type\":\"boolean\"}},"
		 "\"required\":[\"path\"],\"additionalProperties\":false}", has_traversal, "{\"path\":\"../\"}"},
		{"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{\"type\":\"string\"}}}", is_at_least_1001, "{\"n\":1001}"},
		{"{\"type\":\"object\",\"properties\":{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}", has_two_in_list, "{\"l\":[\"aaa\",\"aaa\"]}"},
		/* of members that have no names of their own, the one that matters */
		{"{\"type\":\"object\",\"patternProperties\":{\"^[a-z]$\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"enum\":[\"q\\r\"]},"
		 "\"minItems\":1}]}},\"additionalProperties\":false}", is_split, "{\"a\":[\"q\\r\"]}"},
		/* of what is nested, the innermost */
		{"{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9},\"n\":{\"$ref\":\"#/$defs/n\"}},"
		 "\"additionalProperties\":false}}}", is_heavy, "{\"v\":7}"},
		/* of words, the shortest */
		{"{\"type\":\"object\",\"properties\":{\"e\":{\"enum\":[\"longest\",\"long\",\"x\"]}},\"additionalProperties\":false}", has_longest_word, "{\"e\":\"x\"}"},
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		struct draw draw;
		struct made made;
		own(schema_freep) struct schema *schema = compiled(cases[i].schema);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_non_null(generator);
		for (uint64_t seed = 0; seed < 20; seed++) {
			draw_init(&draw, seed);
			do
				assert_int_equal(generator_make(generator, &draw, &made, &err), 0);
			while (!cases[i].still(NULL, &made));
			struct shrink job = {.generator = generator, .still = cases[i].still};
			own(freep) uint64_t *choices = NULL;
			size_t count = 0;
			assert_int_equal(shrink(&job, draw.choices, draw.count, &choices, &count, &err), 0);
			draw_replay(&draw, choices, count);
			assert_int_equal(generator_make(generator, &draw, &made, &err), 0);
			assert_string_equal(made.text, cases[i].expected);
			draw_done(&draw);
		}
	}
}

static bool never(void *context, const struct made *made)
{
	(void)context;
	(void)made;
	return false;
}

static bool at_once(void *context)
{
	(void)context;
	return true;
}

static void shrinking_ends_when_it_is_told_to(void **state)
{
	struct err err = {0};
	struct draw draw;
	struct made made;
	own(schema_freep) struct schema *schema = compiled("{\"type\":\"string\",\"minLength\":50}");
	own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
	struct shrink job = {.generator = generator, .still = never, .over = at_once};
	own(freep) uint64_t *choices = NULL;
	size_t count = 0;

	(void)state;
	draw_init(&draw, 3);
	assert_int_equal(generator_make(generator, &draw, &made, &err), 0);
	assert_int_equal(shrink(&job, draw.choices, draw.count, &choices, &count, &err), 0);
	assert_int_equal(job.calls, 0);
	assert_int_equal(job.tries, 1);
	draw_done(&draw);
}

static void dictionaries_are_chosen_by_name_and_hold_whole_characters(void **state)
{
	(void)state;
	assert_true(dict_hints("file_path", 9) != 0);
	assert_true(dict_hints("SQL", 3) != 0);
	assert_int_equal(dict_hints("zzz", 3), 0);
	for (size_t i = 0; i < dict_count(dict_all); i++) {
		struct dict_entry entry = dict_get(dict_all, i);
		for (size_t j = 0; j < entry.len;) {
			unsigned char c = (unsigned char)entry.text[j];
			size_t size = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
			assert_true(c < 0x80 || c >= 0xc2);
			assert_true(j + size <= entry.len);
			for (size_t k = 1; k < size; k++)
				assert_int_equal((unsigned char)entry.text[j + k] & 0xc0, 0x80);
			j += size;
		}
	}
}

/* A few lines that ask for 4^20 texts, 1000^3 lists, 2^40 checks, gigabytes of one text, millions of comparisons. */
static void a_schema_that_asks_for_too_much_is_given_up(void **state)
{
	own(buf_done) struct buf tree = {0}, checks = {0}, text = {0};

	(void)state;
	buf_str(&tree, "{\"$ref\":\"#/$defs/a20\",\"$defs\":{\"a0\":{\"type\":\"string\"}");
	buf_str(&checks, "{\"$ref\":\"#/$defs/a40\",\"$defs\":{\"a0\":{\"type\":\"integer\"}");
	for (int i = 1; i <= 40; i++) {
		if (i <= 20)
			buf_fmt(&tree, ",\"a%d\":{\"type\":\"object\",\"required\":[\"a\",\"b\",\"c\",\"d\"],"
				"\"additionalProperties\":{\"$ref\":\"#/$defs/a%d\"}}", i, i - 1);
		buf_fmt(&checks, ",\"a%d\":{\"allOf\":[{\"$ref\":\"#/$defs/a%d\"},{\"$ref\":\"#/$defs/a%d\"}]}", i, i - 1, i - 1);
	}
	buf_str(&tree, "}}");
	buf_str(&checks, "}}");
	buf_str(&text, "{\"type\":\"array\",\"minItems\":20000,\"items\":{\"const\":\"");
	for (int i = 0; i < 1000000; i++)
		buf_char(&text, 'x');
	buf_str(&text, "\"}}");
	const char *const hungry[] = {buf_text(&tree), buf_text(&checks), buf_text(&text),
		"{\"type\":\"array\",\"minItems\":1000,\"items\":{\"type\":\"array\",\"minItems\":1000,\"items\":{\"type\":\"array\",\"minItems\":1000}}}",
		"{\"type\":\"array\",\"minItems\":20000,\"items\":{\"type\":\"string\",\"minLength\":200000}}",
		"{\"type\":\"array\",\"minItems\":20000,\"uniqueItems\":true,\"items\":{\"type\":\"array\",\"minItems\":3}}"};
	for (size_t i = 0; i < ARRAY_LEN(hungry); i++) {
		struct err err = {0};
		struct draw draw;
		struct made made;
		own(schema_freep) struct schema *schema = compiled(hungry[i]);
		own(generator_freep) struct generator *generator = generator_open(schema, NULL, &err);
		assert_non_null(generator);
		draw_init(&draw, 5);
		if (generator_make(generator, &draw, &made, &err) == 0)
			fail_msg("%.80s: made a value of %zu bytes", hungry[i], made.len);
		assert_int_equal(err.code, ERR_LIMIT);
		draw_done(&draw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_fits_and_its_record_makes_it_again),
		cmocka_unit_test(a_seed_always_makes_the_same_values),
		cmocka_unit_test(a_malformed_value_has_exactly_one_violation),
		cmocka_unit_test(what_nothing_finite_fits_is_said_to_be_so),
		cmocka_unit_test(what_cannot_be_made_is_given_up_with_a_reason),
		cmocka_unit_test(a_schema_that_asks_for_too_much_is_given_up),
		cmocka_unit_test(recursion_ends_and_reaches_depth),
		cmocka_unit_test(a_shrunk_value_is_the_simplest_that_still_does_it),
		cmocka_unit_test(shrinking_ends_when_it_is_told_to),
		cmocka_unit_test(dictionaries_are_chosen_by_name_and_hold_whole_characters),
	};
	return cmocka_run_group_tests_name("schema generate", tests, NULL, NULL);
}
