#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_read.h"

static const struct json_limits limits = {.bytes = 200, .values = 20, .depth = 5};

/* One line for a tree: text in quotes, numbers as #1, ~ for null, + and - for true and false. */
static void show(const struct value *value, struct buf *out)
{
	bool is_map = value->kind == VALUE_MAP;

	switch (value->kind) {
	case VALUE_NULL: buf_char(out, '~'); return;
	case VALUE_BOOL: buf_char(out, value->truth ? '+' : '-'); return;
	case VALUE_NUMBER: buf_fmt(out, "#%s", value->text); return;
	case VALUE_TEXT: buf_fmt(out, "'%s'", value->text); return;
	case VALUE_LIST:
	case VALUE_MAP: break;
	}
	buf_char(out, is_map ? '{' : '[');
	for (size_t i = 0; i < value->count; i++) {
		buf_str(out, i ? " " : "");
		if (is_map)
			buf_fmt(out, "%s:", value->keys[i]);
		show(&value->items[i], out);
	}
	buf_char(out, is_map ? '}' : ']');
}

static void check(const char *text, size_t len, const char *expected)
{
	own(value_done) struct value value = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (json_read(text, len, &limits, "f", &value, &err) < 0)
		fail_msg("'%s' is refused: %s", text, err.text);
	show(&value, &out);
	if (strcmp(buf_text(&out), expected) != 0)
		fail_msg("'%s' is %s", text, buf_text(&out));
}

static void refused(const char *text, size_t len, const char *says)
{
	struct value value = {.count = 3};
	struct err err = {0};

	if (json_read(text, len, &limits, "f", &value, &err) == 0)
		fail_msg("'%.200s' is taken", text);
	assert_int_equal(err.code, ERR_USAGE);
	if (strcmp(err.text, says) != 0)
		fail_msg("'%.200s' says: %s", text, err.text);
	assert_int_equal(value.kind, VALUE_NULL);
	assert_int_equal(value.count, 0);
	assert_null(value.items);
	assert_null(value.keys);
}

static void trees_are_read_as_they_are_written(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"null", "~"},
		{" true ", "+"},
		{"\t\r\nfalse", "-"},
		{"0", "#0"},
		{"-0", "#-0"},
		{"-12.50e+3", "#-12.50e+3"},
		{"1E9", "#1E9"},
		{"123456789012345678901234567890", "#123456789012345678901234567890"},
		{"\"\"", "''"},
		{"[]", "[]"},
		{"[ ]", "[]"},
		{"{}", "{}"},
		{"{ }", "{}"},
		{"[1,[2,[3]],{\"a\":{\"b\":[]}}]", "[#1 [#2 [#3]] {a:{b:[]}}]"},
		{"{\"b\" : 1 , \"a\" : \"x\" , \"\" : null}", "{b:#1 a:'x' :~}"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "'\"\\/\b\f\n\r\t'"},
		{"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "'A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80'"},
		{"\"\\uffff\\ud7ff\\ue000\"", "'\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80'"},
		{"\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"", "'\xc3\xa9\xf0\x9f\x98\x80\x7f'"},
		{"[[[[[]]]]]", "[[[[[]]]]]"},
		{"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]",
			"[#0 #1 #2 #3 #4 #5 #6 #7 #8 #9 #10 #11 #12 #13 #14 #15 #16 #17 #18]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].text, strlen(rows[i].text), rows[i].expected);
	check("12", 1, "#1"); /* the length counts, not a NUL */
}

static void what_is_no_json_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "f:1: the text ends where a value should be"},
		{"\n\n", "f:3: the text ends where a value should be"},
		{"\xef\xbb\xbf{}", "f:1: '[U+FEFF]' stands where a value should be"},
		{"{} {}", "f:1: '{' stands where the end should be"},
		{"nul", "f:1: 'n' stands where a value should be"},
		{"nulll", "f:1: 'l' stands where the end should be"},
		{"True", "f:1: 'T' stands where a value should be"},
		{"NaN", "f:1: 'N' stands where a value should be"},
		{"01", "f:1: '0' stands where a value should be"},
		{"+1", "f:1: '+' stands where a value should be"},
		{"-", "f:1: '-' stands where a value should be"},
		{".5", "f:1: '.' stands where a value should be"},
		{"1.", "f:1: '1' stands where a value should be"},
		{"1.e3", "f:1: '1' stands where a value should be"},
		{"1e", "f:1: '1' stands where a value should be"},
		{"1e+", "f:1: '1' stands where a value should be"},
		{"0x10", "f:1: 'x' stands where the end should be"},
		{"[1", "f:1: the text ends where a ',' or ']' should be"},
		{"[1,]", "f:1: ']' stands where a value should be"},
		{"[1}", "f:1: '}' stands where a ',' or ']' should be"},
		{"[,1]", "f:1: ',' stands where a value should be"},
		{"[1 2]", "f:1: '2' stands where a ',' or ']' should be"},
		{"{\"a\"}", "f:1: '}' stands where a ':' should be"},
		{"{\"a\":}", "f:1: '}' stands where a value should be"},
		{"{\"a\":1,}", "f:1: '}' stands where a key in quotes should be"},
		{"{\"a\":1", "f:1: the text ends where a ',' or '}' should be"},
		{"{a:1}", "f:1: 'a' stands where a key in quotes should be"},
		{"{1:1}", "f:1: '1' stands where a key in quotes should be"},
		{"{'a':1}", "f:1: ''' stands where a key in quotes should be"},
		{"[1, // one\n2]", "f:1: '/' stands where a value should be"},
		{"{\"a\":1,\n\"b\":2,\n\"a\":3}", "f:3: the key 'a' is given twice in the map that ends here"},
		{"{\"a\":1,\"\\u0061\":2}", "f:1: the key 'a' is given twice in the map that ends here"},
		{"\"abc", "f:1: a quote is opened but not closed"},
		{"\"abc\\", "f:1: the text ends where the letter of an escape should be"},
		{"\"\\x\"", "f:1: 'x' stands where the letter of an escape should be"},
		{"\"a\nb\"", "f:1: a string holds the control character 0x0a; write it as \\u000a"},
		{"\"a\tb\"", "f:1: a string holds the control character 0x09; write it as \\u0009"},
		{"\"\\u00\"", "f:1: \\u is not followed by four hexadecimal digits"},
		{"\"\\u00g0\"", "f:1: \\u is not followed by four hexadecimal digits"},
		{"\"\\u12", "f:1: \\u is not followed by four hexadecimal digits"},
		{"\"\\u0000\"", "f:1: a string cannot hold the character \\u0000"},
		{"{\"a\\u0000b\":1}", "f:1: a string cannot hold the character \\u0000"},
		{"\"\\ud83d\"", "f:1: \\ud83d is half a character"},
		{"\"\\ud83dx\"", "f:1: \\ud83d is half a character"},
		{"\"\\ud83d\\u0041\"", "f:1: \\ud83d is half a character"},
		{"\"\\ude00\\ud83d\"", "f:1: \\ude00 is half a character"},
		{"\"\xff\"", "f:1: a string is not UTF-8"},
		{"\"\xed\xa0\xbd\"", "f:1: a string is not UTF-8"},
		{"\"\xc0\xaf\"", "f:1: a string is not UTF-8"},
		{"\"\xc3", "f:1: a string is not UTF-8"},
		{"\xff", "f:1: '\\xff' stands where a value should be"},
		{"\x1b[31m", "f:1: '\\x1b' stands where a value should be"},
		{"[[[[[[]]]]]]", "f:1: values are nested deeper than 5 levels"},
		{"[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19]", "f:1: there are more than 20 values in it"},
		{"{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1,\"j\":1}",
			"f:1: there are more than 20 values in it"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refused(rows[i].text, strlen(rows[i].text), rows[i].says);
	refused("\"a\0b\"", 5, "f:1: a string holds the control character 0x00; write it as \\u0000");
	refused("1\0", 2, "f:1: '\\x00' stands where the end should be");
}

static void a_text_longer_than_its_limit_is_not_read(void **state)
{
	char text[201];

	(void)state;
	memset(text, ' ', sizeof(text));
	text[0] = '1';
	check(text, 200, "#1");
	refused(text, 201, "f:1: it is longer than the 200 bytes that are read");
}

static void values_know_their_lines(void **state)
{
	static const char text[] = "\n{\"a\": 1,\n\"b\":\n[1,\n2]}\n";
	own(value_done) struct value value = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(json_read(text, strlen(text), &limits, "f", &value, &err), 0);
	assert_int_equal(value.line, 2);
	assert_int_equal(value.key_lines[1], 3);
	assert_int_equal(value_get(&value, "b")->line, 4);
	assert_int_equal(value_get(&value, "b")->items[1].line, 5);
}

static void without_a_name_an_error_is_the_sentence_alone(void **state)
{
	struct value value;
	struct err err = {0};

	(void)state;
	assert_int_equal(json_read("x", 1, &limits, NULL, &value, &err), -1);
	assert_string_equal(err.text, "'x' stands where a value should be");
	assert_int_equal(json_read(NULL, 0, &limits, NULL, &value, &err), -1);
	assert_string_equal(err.text, "the text ends where a value should be");
}

static void what_the_writer_wrote_is_read_back(void **state)
{
	static const char bytes[] = "\x01\x1f\x7f\xc2\x9b\"\\/\n\xf0\x9f\x98\x80 end";
	own(json_done) struct json json = {0};
	own(value_done) struct value value = {0};
	struct err err = {0};

	(void)state;
	json_open(&json, '{');
	json_put_string(&json, bytes, bytes);
	json_close(&json, '}');
	assert_int_equal(json_read(json.out.data, json.out.len, &limits, "f", &value, &err), 0);
	assert_string_equal(value.keys[0], bytes);
	assert_string_equal(value.items[0].text, bytes);
}

static void what_json_allows_is_taken_if_asked_for(void **state)
{
	static const struct json_limits any = {.bytes = 200, .values = 20, .depth = 5, .any_text = true};
	static const char text[] = "{\"a\\u0000\":\"\\ud800x\",\"a\":\"\\ud83d\\ude00\"}";
	own(value_done) struct value value = {0};
	struct err err = {0};
	(void)state;

	assert_int_equal(json_read(text, strlen(text), &any, "f", &value, &err), 0);
	assert_int_equal(value.key_lens[0], 2);
	assert_memory_equal(value.keys[0], "a\0", 2);
	assert_int_equal(value.items[0].len, 4);
	assert_memory_equal(value.items[0].text, "\xed\xa0\x80x", 4);
	assert_memory_equal(value.items[1].text, "\xf0\x9f\x98\x80", 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_read_as_they_are_written),
		cmocka_unit_test(what_is_no_json_is_refused_with_its_line),
		cmocka_unit_test(a_text_longer_than_its_limit_is_not_read),
		cmocka_unit_test(values_know_their_lines),
		cmocka_unit_test(without_a_name_an_error_is_the_sentence_alone),
		cmocka_unit_test(what_the_writer_wrote_is_read_back),
		cmocka_unit_test(what_json_allows_is_taken_if_asked_for),
	};
	return cmocka_run_group_tests_name("base json_read", tests, NULL, NULL);
}
