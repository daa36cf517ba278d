#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/term.h"

struct row {
	const char *bytes;
	const char *expected;
};

/* What hostile programs print, and what may reach the terminal. */
static const struct row rows[] = {
	{"plain text\n", "plain text\n"}, {"tab\tcr\rbs\b", "tab\tcr\rbs\b"},
	{"a \\x1b written out", "a \\x1b written out"},
	{"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"}, {"\x1b[m", "\x1b[m"},
	{"\x1b[38;2;1;2;3m\x1b[4:3m", "\x1b[38;2;1;2;3m\x1b[4:3m"}, {"\x1b[2J", "\\x1b[2J"},
	{"\x1b[1;31H", "\\x1b[1;31H"},
	{"\x1b[>4;1m", "\\x1b[>4;1m"}, /* how keys are reported, not a colour */
	{"\x1b[?25l", "\\x1b[?25l"}, {"\x1b[6n", "\\x1b[6n"}, /* would make the terminal type */
	{"\x1b]0;title\x07", "\\x1b]0;title\\x07"},
	{"\x1b]52;c;aGk=\x1b\\", "\\x1b]52;c;aGk=\\x1b\\"}, /* the clipboard */
	{"\x1bP+q\x1b\\", "\\x1bP+q\\x1b\\"},
	{"\x1b"
	 "c",
		"\\x1b"
		"c"},
	{"\x1b\x1b[1m", "\\x1b\x1b[1m"}, {"\x1b[1\x1b[2m", "\\x1b[1\x1b[2m"},
	{"\x1b[1\n", "\\x1b[1\n"}, {"\x1b[3\xc3\xa9", "\\x1b[3\xc3\xa9"},
	{"\x07\x7f\x01\x0c\x0e", "\\x07\\x7f\\x01\\x0c\\x0e"},
	{"\x9b"
	 "2J",
		"\\x9b2J"}, /* CSI as one byte */
	{"\xc2\x9b"
	 "2J",
		"\\xc2\\x9b2J"}, /* CSI as UTF-8 */
	{"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		"\xc2\xa0\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"\xe2\x82"
	 "A",
		"\\xe2\\x82"
		"A"},
	{"\xe2\xe2\x82\xac", "\\xe2\xe2\x82\xac"}, {"\xe2\x1b[1m", "\\xe2\x1b[1m"},
	{"\xc0\x9b\xed\xa0\x80\xff", "\\xc0\\x9b\\xed\\xa0\\x80\\xff"}, {"cut \x1b", "cut \\x1b"},
	{"cut \x1b[3", "cut \\x1b[3"}, {"cut \xe2\x82", "cut \\xe2\\x82"},
	{"\x1b[1111111111111111111111111111111111111111m",
		"\\x1b[1111111111111111111111111111111111111111m"}, /* longer than any colour */
	{"\x1b[11111111111111111111111111111m",
		"\x1b[11111111111111111111111111111m"}, /* 32 bytes */
	{"\x1b[111111111111111111111111111111m", "\\x1b[111111111111111111111111111111m"}, /* 33 */
};

static void only_text_and_colour_reach_a_terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf out = {0};
		struct term_filter filter = {0};
		term_filter(&filter, rows[i].bytes, strlen(rows[i].bytes), &out);
		term_filter_end(&filter, &out);
		assert_string_equal(buf_text(&out), rows[i].expected);
		assert_int_equal(filter.pending_len, 0);
	}
}

static void where_the_bytes_are_split_makes_no_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].bytes);
		for (size_t step = 1; step < len; step++) {
			own(buf_done) struct buf out = {0};
			struct term_filter filter = {0};
			for (size_t at = 0; at < len; at += step)
				term_filter(&filter, rows[i].bytes + at,
					len - at < step ? len - at : step, &out);
			term_filter_end(&filter, &out);
			assert_string_equal(buf_text(&out), rows[i].expected);
		}
	}
}

static void a_nul_byte_is_shown(void **state)
{
	own(buf_done) struct buf out = {0};
	struct term_filter filter = {0};

	(void)state;
	term_filter(&filter, "a\0b", 3, &out);
	assert_string_equal(buf_text(&out), "a\\x00b");
}

static void a_line_escapes_all_controls_and_stops_at_its_length(void **state)
{
	static const struct {
		const char *bytes;
		size_t max;
		const char *expected;
	} cases[] = {
		{"", 10, ""},
		{"plain", 5, "plain"},
		{"plain", 4, "plai..."},
		{"plain", 0, "..."},
		{"a\nb\tc\rd", 99, "a\\nb\\tc\\x0dd"},
		{"\x1b[31m", 99, "\\x1b[31m"},
		{"\xff\xc2\x9b\xc3\xa9", 99, "\\xff\\xc2\\x9b\xc3\xa9"},
		{"\xe2\x82", 99, "\\xe2\\x82"},
		{"a\xe2\x82\xac", 3, "a..."}, /* a character is never cut */
		{"a\xe2\x82\xac", 4, "a\xe2\x82\xac"},
		{"a\x1b", 4, "a..."},
		{"exe.\xe2\x80\xaetxt", 99, "exe.[U+202E]txt"}, /* what turns the direction of writing */
		{"\xd8\x9c\xf3\xa0\x81\x81", 99, "[U+061C][U+E0041]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf out = {0};
		term_line(cases[i].bytes, strlen(cases[i].bytes), cases[i].max, &out);
		assert_string_equal(buf_text(&out), cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_text_and_colour_reach_a_terminal),
		cmocka_unit_test(where_the_bytes_are_split_makes_no_difference),
		cmocka_unit_test(a_nul_byte_is_shown),
		cmocka_unit_test(a_line_escapes_all_controls_and_stops_at_its_length),
	};
	return cmocka_run_group_tests_name("base term", tests, NULL, NULL);
}
