#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "api/pick.h"
#include "api/private.h"

static struct pick whole(const char *text)
{
	return pick_whole(text, strlen(text));
}

static void members_are_picked_by_their_names_and_not_from_within_texts_or_deeper_maps(void **state)
{
	struct pick all = whole(" {\"a\":\"\\\"b\\\":1\",\"c\":{\"b\":2,\"d\":[{},{\"e\":[3]}]} , \"b\" : 4 }tail");

	(void)state;
	assert_int_equal(pick_uint(pick_get(all, "b"), 0), 4);
	assert_int_equal(pick_uint(pick_get(pick_get(all, "c"), "b"), 0), 2);
	assert_int_equal(pick_count(pick_get(pick_get(all, "c"), "d")), 2);
	assert_int_equal(pick_get(all, "e").len, 0);
	assert_int_equal(pick_get(pick_get(all, "b"), "b").len, 0);
	assert_int_equal(pick_count(all), 3);
	assert_int_equal(pick_count(whole("[]")) + pick_count(whole("{ }")), 0);
}

static void numbers_are_numbers_or_their_fallback(void **state)
{
	(void)state;
	assert_true(pick_uint(whole("18446744073709551615"), 7) == UINT64_MAX);
	assert_int_equal(pick_uint(whole("18446744073709551616"), 7), 7);
	assert_int_equal(pick_uint(whole("-1"), 7), 7);
	assert_int_equal(pick_uint(whole("null"), 7), 7);
	assert_int_equal(pick_uint(whole(""), 7), 7);
	assert_true(pick_real(whole("12.250"), 7) == 12.25);
	assert_true(pick_real(whole("3"), 7) == 3);
	assert_true(pick_real(whole("1.2.3"), 7) == 7);
	assert_true(pick_true(whole("true")) && !pick_true(whole("\"true\"")));
}

static void texts_lose_their_escapes(void **state)
{
	static const struct {
		const char *json, *text;
	} rows[] = {
		{"\"plain\"", "plain"},
		{"\"a\\n\\t\\\"\\\\\\/\"", "a\n\t\"\\/"},
		{"\"\\u00e9\\u20ac\"", "\xc3\xa9\xe2\x82\xac"},
		{"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
		{"\"\\ud83d!\"", "\xef\xbf\xbd!"},
		{"\"\\u12\"", "?12"},
		{"12", ""},
		{"\"open", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *text = pick_text(whole(rows[i].json));
		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

static void base64_gives_bytes_and_all_else_nothing(void **state)
{
	size_t len;
	unsigned char *bytes = pick_base64(whole("\"aG90AA==\""), &len);

	(void)state;
	assert_int_equal(len, 4);
	assert_memory_equal(bytes, "hot\0", 4);
	free(bytes);
	assert_null(pick_base64(whole("\"a!b\""), &len));
	assert_null(pick_base64(whole(""), &len));
	assert_int_equal(len, 0);
}

static struct hotcell_result *read_json(int kind, const char *text, struct hotcell_error *error)
{
	char *json = strdup(text);
	struct hotcell_result *result = result_read(kind, &json, strlen(text), error);

	assert_null(json);
	return result;
}

static void a_cell_s_result_tells_what_was_not_isolated(void **state)
{
	struct hotcell_error error;
	struct hotcell_result *result = read_json(HOTCELL_RUN,
		"{\"outcome\":\"oom\",\"exit_code\":null,\"signal\":9,\"wall_ms\":1.500,\"refused\":{\"total\":3,\"calls\":{\"mount\":3}},"
		"\"receipt\":{\"backend\":\"native\",\"full\":false,\"protections\":{\"landlock\":{\"state\":\"off\",\"note\":\"the kernel has none\"},"
		"\"seccomp\":{\"state\":\"on\",\"note\":\"\"},\"cpu-limit\":{\"state\":\"weaker\",\"note\":\"pinned\"}}},\"error\":null}\n",
		&error);
	const struct hotcell_cell *cell = hotcell_result_cell(result);

	(void)state;
	assert_non_null(cell);
	assert_null(hotcell_result_fuzz(result));
	assert_int_equal(cell->outcome, HOTCELL_OOM);
	assert_string_equal(cell->outcome_name, "oom");
	assert_int_equal(cell->exit_code, -1);
	assert_int_equal(cell->signal, 9);
	assert_int_equal(cell->refused, 3);
	assert_false(cell->full);
	assert_int_equal(cell->gap_count, 2);
	assert_string_equal(cell->gaps[0].protection, "landlock");
	assert_string_equal(cell->gaps[0].note, "the kernel has none");
	assert_string_equal(cell->gaps[1].state, "weaker");
	assert_null(cell->error);
	assert_int_equal(strncmp(cell->receipt, "{\"backend\"", 10), 0);
	hotcell_result_free(result);
}

static void findings_and_problems_are_read(void **state)
{
	struct hotcell_error error;
	struct hotcell_result *result = read_json(HOTCELL_FUZZ_FUNCTION,
		"{\"version\":\"0\",\"seed\":\"7\",\"execs\":12,\"wall_ms\":5,\"targets\":[{\"name\":\"a.py:f\",\"problems\":[\"it does\\nnot build\"]}],"
		"\"findings\":[{\"id\":\"aa\",\"oracle\":\"crash\",\"severity\":\"high\",\"message\":\"m\",\"file\":null,\"line\":3,\"input\":\"aG90\","
		"\"seen\":3,\"tried\":3},{\"id\":\"bb\",\"file\":\"x.py\",\"input\":\"\"}],\"new\":[\"bb\"],\"exit\":130}",
		&error);
	const struct hotcell_fuzz *fuzz = hotcell_result_fuzz(result);

	(void)state;
	assert_non_null(fuzz);
	assert_int_equal(fuzz->execs, 12);
	assert_true(fuzz->stopped);
	assert_string_equal(fuzz->seed, "7");
	assert_int_equal(fuzz->finding_count, 2);
	assert_int_equal(fuzz->findings[0].input_len, 3);
	assert_memory_equal(fuzz->findings[0].input, "hot", 3);
	assert_null(fuzz->findings[0].file);
	assert_false(fuzz->findings[0].is_new);
	assert_true(fuzz->findings[1].is_new);
	assert_int_equal(fuzz->findings[1].input_len, 0);
	assert_int_equal(fuzz->problem_count, 1);
	assert_string_equal(fuzz->problems[0], "a.py:f: it does\nnot build");
	hotcell_result_free(result);
}

static void what_is_no_result_is_an_error(void **state)
{
	static const char *const bad[] = {"", "{", "[]", "null", "{\"outcome\"", "{\"a\":1}", "\"outcome\""};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct hotcell_error error = {0};
		assert_null(read_json(HOTCELL_RUN, bad[i], &error));
		assert_int_equal(error.code, HOTCELL_E_FAILED);
		assert_null(read_json(HOTCELL_FUZZ_FUNCTION, bad[i], NULL));
	}
	hotcell_result_free(NULL);
	assert_null(hotcell_result_cell(NULL));
	assert_null(hotcell_result_fuzz(NULL));
	assert_string_equal(hotcell_result_json(NULL), "null");
	assert_string_equal(hotcell_result_said(NULL), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_picked_by_their_names_and_not_from_within_texts_or_deeper_maps),
		cmocka_unit_test(numbers_are_numbers_or_their_fallback),
		cmocka_unit_test(texts_lose_their_escapes),
		cmocka_unit_test(base64_gives_bytes_and_all_else_nothing),
		cmocka_unit_test(a_cell_s_result_tells_what_was_not_isolated),
		cmocka_unit_test(findings_and_problems_are_read),
		cmocka_unit_test(what_is_no_result_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
