#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/base64.h"
#include "redact/scrub.h"

#define SECRET "sk-ant/api03+\"x y\\z~&"

static struct scrub_words *words_of(const char *secret)
{
	return scrub_words_make(&secret, 1);
}

/* In pieces of `step` bytes. Returns how many were found. */
static size_t pass(const struct scrub_words *words, const char *text, size_t len, size_t step, struct buf *out)
{
	own(scrub_done) struct scrub scrub = {0};

	for (size_t i = 0; i < len; i += step)
		scrub_take(&scrub, words, text + i, len - i < step ? len - i : step, out);
	scrub_end(&scrub, words, out);
	return scrub.found;
}

static void check(const struct scrub_words *words, const char *text, size_t len, const char *expected, size_t found)
{
	for (size_t step = 1; step <= len + 1; step++) {
		own(buf_done) struct buf out = {0};
		size_t met = pass(words, text, len, step, &out);
		if (out.len != len || memcmp(out.data, expected, len) != 0 || met != found)
			fail_msg("in pieces of %zu, '%s' is '%s' (%zu)", step, text, buf_text(&out), met);
	}
	own(buf_done) struct buf whole = {0};
	buf_add(&whole, text, len);
	assert_int_equal(scrub_text(words, whole.data, whole.len), found);
	assert_memory_equal(whole.data, expected, len);
}

static size_t count_stars(const struct buf *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++)
		count += text->data[i] == '*';
	return count;
}

static void secrets_become_stars_of_the_same_length(void **state)
{
	static const struct {
		const char *text, *expected;
		size_t found;
	} rows[] = {
		{"", "", 0},
		{"abcdefgh", "********", 1},
		{"xabcdefghy", "x********y", 1},
		{"abcdefgabcdefgh", "abcdefg********", 1},
		{"abcdefghabcdefgh", "****************", 2},
		{"abcdefg", "abcdefg", 0},
		{"abcdefgHabcdefgh", "abcdefgH********", 1},
		{"bcdefgh", "bcdefgh", 0},
		{"ABCDEFGH", "********", 1},
		{"AbCdEfGh", "AbCdEfGh", 0},
		{"=6162636465666768=", "=****************=", 1},
	};
	struct scrub_words *words = words_of("abcdefgh");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(words, rows[i].text, strlen(rows[i].text), rows[i].expected, rows[i].found);
	check(words, "a\0abcdefgh\0", 11, "a\0********\0", 1);
	scrub_words_free(words);
}

static void each_spelling_of_a_secret_is_found(void **state)
{
	static const char *const forms[] = {
		SECRET,
		"736b2d616e742f61706930332b22782079" "5c7a7e26",
		"736B2D616E742F61706930332B22782079" "5C7A7E26",
		"sk-ant%2Fapi03%2B%22x%20y%5Cz~%26",
		"sk-ant%2fapi03%2b%22x%20y%5cz~%26",
		"sk-ant%2Fapi03%2B%22x+y%5Cz%7E%26",
		"sk-ant/api03+\\\"x y\\\\z~&",
		"sk-ant\\/api03+\\\"x y\\\\z~&",
		"sk-ant/api03+\\\"x y\\\\z~\\u0026",
		"sk-ant/api03\\u002B\\u0022x y\\\\z~\\u0026",
		"sk-ant/api03+&quot;x y\\z~&amp;",
		"sk-ant/api03&#43;&#34;x y\\z~&amp;",
		"sk-ant%252Fapi03%252B%2522x%2520y%255Cz~%2526",
		"SK-ANT/API03+\"X Y\\Z~&",
		"sk-ant/api03+\\x22x\\ y\\134z~\\u{26}",
		"&#115;&#x6B;-ant/api03+&#34;x y\\z~&#X0026;",
	};
	struct scrub_words *words = words_of(SECRET);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		own(buf_done) struct buf text = {0}, expected = {0};
		buf_fmt(&text, "{\"key\":\"%s\"}", forms[i]);
		buf_str(&expected, "{\"key\":\"");
		for (size_t j = 0; j < strlen(forms[i]); j++)
			buf_char(&expected, '*');
		buf_str(&expected, "\"}");
		check(words, text.data, text.len, expected.data, 1);
	}
	scrub_words_free(words);
}

/* Every byte, or every character, in a way of its own. */
static void a_secret_that_is_escaped_throughout_is_found(void **state)
{
	static const char secret[] = "p\xc3\xa4ssw\xc3\xb6rd-\xf0\x9f\x94\x91-99";
	static const struct {
		const char *each;
		size_t every;
	} rows[] = {{"%%%02X", 1}, {"%%%02x", 1}, {"%%25%02X", 1}, {"\\x%02x", 1}, {"\\%03o", 1}, {"%02x ", 1}, {"%02X:", 1}, {"%02x, ", 1},
		{"0x%02x,\n  ", 1}, {"%02X%02x ", 2}, {"%02x\r\n", 1}, {"&#%u;", 1}};
	struct scrub_words *words = words_of(secret);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf text = {0};
		for (size_t j = 0; j < strlen(secret); j += rows[i].every) {
			unsigned char first = (unsigned char)secret[j], second = (unsigned char)secret[j + 1];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
			buf_fmt(&text, rows[i].each, first, second);
#pragma GCC diagnostic pop
		}
		for (size_t step = 1; step <= text.len; step += 3) {
			own(buf_done) struct buf out = {0};
			if (pass(words, text.data, text.len, step, &out) != 1 || count_stars(&out) < text.len - 8)
				fail_msg("row %zu, in pieces of %zu: '%s' is '%s'", i, step, text.data, buf_text(&out));
		}
	}
	static const char *const forms[] = {
		"p\\u00e4ssw\\u00f6rd-\\ud83d\\udd11-99", "p\\u00E4ssw\\u00F6rd-\\uD83D\\uDD11-99", "p\\xe4ssw\\xf6rd-\\U0001f511-99",
		"\\u0070\\u00e4\\u0073\\u0073\\u0077\\u00f6\\u0072\\u0064\\u002d\\ud83d\\udd11\\u002d\\u0039\\u0039",
		"p&#228;ssw&#xf6;rd-&#128273;-99", "p%C3%A4ssw%C3%B6rd-%F0%9F%94%91-99", "p%25C3%25A4ssw%25c3%25b6rd-%25F0%259F%2594%2591-99",
		"\\u{70}\\u{e4}ssw\\u{f6}rd-\\u{1f511}-99", "p\\303\\244ssw\\303\\266rd-\\360\\237\\224\\221-99",
	};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		own(buf_done) struct buf stars = {0};
		for (size_t j = 0; j < strlen(forms[i]); j++)
			buf_char(&stars, '*');
		check(words, forms[i], strlen(forms[i]), stars.data, 1);
	}
	check(words, "p\\u00e4ssw\\u00f6rd-\\ud83d\\udd12-99", 35, "p\\u00e4ssw\\u00f6rd-\\ud83d\\udd12-99", 0); /* another */
	scrub_words_free(words);
}

static void a_secret_in_base64_that_is_broken_into_lines_is_found(void **state)
{
	static const struct {
		size_t columns;
		const char *end;
	} rows[] = {{76, "\n"}, {64, "\n"}, {76, "\r\n"}, {60, "\n    "}, {64, "\\n"}, {64, "%0A"}};
	char secret[110] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(secret) - 1; i++)
		secret[i] = "abcdefghijklmnopqrstuvwxyz0123456789-_?>~"[i * 7 % 41];
	struct scrub_words *words = words_of(secret);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t before = 0; before < 80; before++) {
			own(buf_done) struct buf plain = {0}, letters = {0}, text = {0}, out = {0};
			for (size_t j = 0; j < before; j++)
				buf_char(&plain, '#');
			buf_str(&plain, secret);
			base64_write(plain.data, plain.len, &letters);
			for (size_t j = 0; j < letters.len; j++) {
				if (j > 0 && j % rows[i].columns == 0)
					buf_str(&text, rows[i].end);
				buf_char(&text, letters.data[j]);
			}
			if (pass(words, text.data, text.len, 1 + before % 9, &out) != 1 || count_stars(&out) < strlen(secret) * 8 / 6 - 1)
				fail_msg("row %zu, %zu before: %s", i, before, buf_text(&out));
		}
	}
	scrub_words_free(words);
}

static void a_secret_in_wide_characters_is_found(void **state)
{
	struct scrub_words *words = words_of("abcdefgh");

	(void)state;
	check(words, "\xff\xfe<\0a\0b\0c\0d\0e\0f\0g\0h\0>\0", 22, "\xff\xfe<*****************>\0", 1);
	check(words, "\xfe\xff\0<\0a\0b\0c\0d\0e\0f\0g\0h\0>", 22, "\xfe\xff\0<*****************>", 1);
	scrub_words_free(words);
	words = words_of("p\xc3\xa4ss-\xf0\x9f\x94\x91-9");
	check(words, "<\0p\0\xe4\0s\0s\0-\0\x3d\xd8\x11\xdd-\0""9\0>\0", 22, "<\0******************>\0", 1);
	check(words, "\0p\0\xe4\0s\0s\0-\xd8\x3d\xdd\x11\0-\0""9", 18, "******************", 1);
	scrub_words_free(words);
}

static void replace(struct buf *text, const char *letter, const char *with)
{
	own(buf_done) struct buf before = *text;

	*text = (struct buf){0};
	for (size_t i = 0; i < before.len; i++) {
		if (before.data[i] == *letter)
			buf_str(text, with);
		else
			buf_char(text, before.data[i]);
	}
}

/* Only letters that also hold bits of the neighbours may stay: at most one at each end, and what pads. */
static void a_secret_inside_something_encoded_is_found_wherever_it_is(void **state)
{
	static const char secret[] = "s\xc3\xbf\xc3\xbe?>?>~~key"; /* with both letters that differ in URLs */
	static const struct {
		const char *plus, *slash;
	} alphabets[] = {{"+", "/"}, {"-", "_"}, {"%2B", "%2F"}, {"%2b", "%2f"}, {"+", "\\/"}};
	struct scrub_words *words = words_of(secret);

	(void)state;
	for (size_t before = 0; before < 7; before++) {
		for (size_t i = 0; i < ARRAY_LEN(alphabets); i++) {
			own(buf_done) struct buf plain = {0}, text = {0};
			buf_add(&plain, "user:pw", before);
			buf_str(&plain, secret);
			buf_add(&plain, "trailer", before % 4);
			base64_write(plain.data, plain.len, &text);
			replace(&text, "+", alphabets[i].plus);
			replace(&text, "/", alphabets[i].slash);
			assert_int_equal(scrub_text(words, text.data, text.len), 1);
			if (count_stars(&text) < strlen(secret) * 8 / 6 - 1)
				fail_msg("%zu before: %s", before, text.data);
		}
	}
	scrub_words_free(words);
}

static void only_what_may_begin_a_secret_is_held_back(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} rows[] = {
		{"data: {\"text\":\"hello\"}\n\n", 0}, {"QWERTYU", 7}, {"xQWERTYU", 7}, {"QWERTYUIOQWE", 3}, {"QWERTYUx", 0},
		{"Q", 1}, {"QWE%5", 5}, {"QW%4", 4}, {"QWE%50", 0}, {"\\u00", 4}, {"100 % ", 0}, {"a & b\n", 0}, {"xyzQ", 1}, {"QWxQW", 2}, {"QQQQ", 1}, {"QWERTYUIO", 0},
	};
	struct scrub_words *words = words_of("QWERTYUIO");

	(void)state;
	assert_true(scrub_longest(words) >= 18 && scrub_longest(words) <= 256);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(scrub_done) struct scrub scrub = {0};
		own(buf_done) struct buf out = {0};
		scrub_take(&scrub, words, rows[i].text, strlen(rows[i].text), &out);
		if (scrub.held.len != rows[i].held || out.len != strlen(rows[i].text) - rows[i].held)
			fail_msg("of '%s' %zu are held", rows[i].text, scrub.held.len);
	}
	scrub_words_free(words);
}

static void secrets_that_overlap_are_covered_altogether(void **state)
{
	static const char *const secrets[] = {"abcdefghij", "ghijklmnop", "abcdefghijkl!!", "cdefghij"};
	struct scrub_words *words = scrub_words_make(secrets, ARRAY_LEN(secrets));

	(void)state;
	check(words, "<abcdefghijklmnop>", 18, "<****************>", 1);
	check(words, "<abcdefghijkl!!>", 16, "<**************>", 1);
	check(words, "<abcdefghijkl!->", 16, "<**********kl!->", 1);
	check(words, "<abcdefghij>", 12, "<**********>", 1);
	check(words, "<cdefghijklmno>", 15, "<********klmno>", 1);
	scrub_words_free(words);
	words = words_of("abababab");
	check(words, "xabababababababx", 16, "x**************x", 1);
	check(words, "xababababab", 11, "x**********", 1);
	check(words, "xabababa", 8, "xabababa", 0);
	scrub_words_free(words);
}

static void short_secrets_are_not_looked_for(void **state)
{
	static const char *const secrets[] = {"", "1234567", "key"};
	struct scrub_words *words = scrub_words_make(secrets, ARRAY_LEN(secrets));

	(void)state;
	assert_int_equal(scrub_longest(words), 0);
	check(words, "a key of 1234567", 16, "a key of 1234567", 0);
	scrub_words_free(words);
	words = scrub_words_make(NULL, 0);
	check(words, "anything", 8, "anything", 0);
	assert_null(scrub_words_free(words));
	assert_null(scrub_words_free(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_become_stars_of_the_same_length),
		cmocka_unit_test(each_spelling_of_a_secret_is_found),
		cmocka_unit_test(a_secret_that_is_escaped_throughout_is_found),
		cmocka_unit_test(a_secret_in_base64_that_is_broken_into_lines_is_found),
		cmocka_unit_test(a_secret_in_wide_characters_is_found),
		cmocka_unit_test(a_secret_inside_something_encoded_is_found_wherever_it_is),
		cmocka_unit_test(only_what_may_begin_a_secret_is_held_back),
		cmocka_unit_test(secrets_that_overlap_are_covered_altogether),
		cmocka_unit_test(short_secrets_are_not_looked_for),
	};
	return cmocka_run_group_tests_name("door scrub", tests, NULL, NULL);
}
