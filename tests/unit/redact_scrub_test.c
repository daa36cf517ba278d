#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/base64.h"
#include "redact/scrub.h"
#include "redact/sift.h"

#define SECRET "sk-ant/api03+\"x y\\z~&"

static struct scrub_words *words_of(const char *secret)
{
	struct scrub_words *words = scrub_words_make(&secret, 1);

	(void)scrub_words_level(words);
	return words;
}

static size_t pass_as(struct scrub *scrub, const struct scrub_words *words, const char *text, size_t len, size_t step,
	struct buf *out)
{
	for (size_t i = 0; i < len; i += step)
		scrub_take(scrub, words, text + i, len - i < step ? len - i : step, out);
	scrub_end(scrub, words, out);
	return scrub->found;
}

/* In pieces of `step` bytes. Returns how many were found. */
static size_t pass(const struct scrub_words *words, const char *text, size_t len, size_t step, struct buf *out)
{
	own(scrub_done) struct scrub scrub = {0};

	return pass_as(&scrub, words, text, len, step, out);
}

static size_t pass_even(const struct scrub_words *words, const char *text, size_t len, size_t step, struct buf *out)
{
	own(scrub_done) struct scrub scrub = {.even = true};

	return pass_as(&scrub, words, text, len, step, out);
}

static void check(const struct scrub_words *words, const char *text, size_t len, const char *expected, size_t found)
{
	for (size_t step = 1; step <= len + 1; step++) {
		own(buf_done) struct buf out = {0};
		size_t met = pass(words, text, len, step, &out);
		if (out.len != len || memcmp(out.data, expected, len) != 0 || met != found)
			fail_msg("in pieces of %zu, '%s' is '%s' (%zu)", step, text, buf_text(&out), met);
		out.len = 0;
		met = pass_even(words, text, len, step, &out);
		if (out.len != len || memcmp(out.data, expected, len) != 0 || met != found)
			fail_msg("evenly, in pieces of %zu, '%s' is '%s' (%zu)", step, text, buf_text(&out), met);
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
		"sk-ant/api03+\\\\\\\"x y\\\\\\\\z~&",
		"sk-ant\\\\\\/api03\\\\u002B\\\\u0022x y\\\\\\\\z~\\\\u0026",
		"115,107,45,97,110,116,47,97,112,105,48,51,43,34,120,32,121,92,122,126,38",
		"115, 107, 45, 97, 110, 116, 47, 97, 112, 105, 48, 51, 43, 34, 120, 32, 121, 92, 122, 126, 38",
		"115 107 45 97 110 116 47 97 112 105 48 51 43 34 120 32 121 92 122 126 38",
		"115,\n    107,\n    45,97,110,116,47,97,112,105,48,51,43,34,120,32,121,92,122,126,38",
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
		{"0x%02x,\n  ", 1}, {"%02X%02x ", 2}, {"%02x\r\n", 1}, {"&#%u;", 1},
		{"\\U%08x", 1}, {"\\u005cu%04x", 1}, {"\\u005Cx%02X", 1}, {"\\x5cu{%x}", 1}, {"&#%07u;", 1}};
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

/* ---- what is held back must not tell of the secret ---- */

static void what_is_held_back_by_the_even_rule_is_known_without_the_secret(void **state)
{
	static const struct {
		const char *text;
		size_t held;
	} rows[] = {
		{"data: {\"text\":\"hello\"}\n\n", 0}, {"data: hello\n\n", 0}, {"data: hello\r\n\r\n", 0}, {"data: 61\r\r", 0},
		{": ping\n\n", 0}, {"{\"done\":true}\n", 0}, {"[1]\n", 0}, {"one two ", 0}, {"a sentence. ", 0}, {"<p>text</p>\n", 0},
		{"", 0}, {"caf\xc3\xa9", 0}, {"caf\xc3\xa9s", 1}, {"one two", 3}, {"QWERTYU", 7}, {"XXXXXXX", 7}, {"a word\n", 5},
		{"hello\nword\n", 5}, {"word\n0123456789abcdef\n", 22}, {"word\n\nword\n", 5}, {"word\n  ", 7}, {"word \n", 0},
		{"word\\n ", 7}, {"x\\u{41}\n", 8}, {"x{41}\n", 0}, {"{\"x\":\\u{4", 9}, {"x 61 62 ", 6}, {"61, 62,", 7}, {"61\n\n", 0},
		{"0x61, 0x62, ", 10}, {"x ,,,,", 4}, {"100 % ", 2}, {"a & b\n", 2},
	};
	static const char *const secrets[] = {"QWERTYUIO", "abcdefghijklmnop", "~!@#$^(){}[]<>?"};

	(void)state;
	for (size_t j = 0; j < ARRAY_LEN(secrets); j++) {
		struct scrub_words *words = words_of(secrets[j]);
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			own(scrub_done) struct scrub scrub = {.even = true};
			own(buf_done) struct buf out = {0};
			scrub_take(&scrub, words, rows[i].text, strlen(rows[i].text), &out);
			if (scrub.held.len != rows[i].held || out.len != strlen(rows[i].text) - rows[i].held)
				fail_msg("of '%s' %zu are held", rows[i].text, scrub.held.len);
		}
		scrub_words_free(words);
	}
}

static void a_secret_with_other_letters_has_the_whole_window_held_back(void **state)
{
	static const char *const secrets[] = {"with a blank", "p\xc3\xa4ssw\xc3\xb6rter", SECRET};
	char text[6000];

	(void)state;
	memset(text, '\n', sizeof(text));
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		struct scrub_words *words = words_of(secrets[i]);
		for (size_t len = 0; len <= sizeof(text); len += 500) {
			own(scrub_done) struct scrub scrub = {.even = true};
			own(buf_done) struct buf out = {0};
			scrub_take(&scrub, words, text, len, &out);
			assert_int_equal(scrub.held.len, len < scrub_window(words) ? len : scrub_window(words));
		}
		assert_int_equal(scrub_window(words), 4096);
		scrub_words_free(words);
	}
}

static void the_window_tells_little_of_how_long_a_secret_is(void **state)
{
	static const struct {
		size_t len, window;
	} rows[] = {{8, 4096}, {40, 4096}, {164, 4096}, {300, 4096}, {500, 8192}, {8192, 131072}};
	char secret[8193];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		memset(secret, 'k', sizeof(secret));
		secret[rows[i].len] = '\0';
		struct scrub_words *words = words_of(secret);
		assert_int_equal(scrub_window(words), rows[i].window);
		assert_true(scrub_window(words) > scrub_longest(words));
		scrub_words_free(words);
	}
}

static uint32_t drawn; /* what was drawn last */

static uint32_t draw(uint32_t below)
{
	drawn = drawn * 1664525u + 1013904223u;
	return (drawn >> 8) % below;
}

static void add_spelled(struct buf *out, const char *secret, size_t len, unsigned way)
{
	static const char *const each[] = {"%%%02x", "%%25%02X", "\\u%04x", "\\x%02x", "&#%u;", "%02x", "%02X ", "0x%02x,\n", "\\u{%x}", "%u, ",
		"%u\n", "\\\\u%04X", "\\u005cu%04X"};
	own(buf_done) struct buf coded = {0};

	if (way < ARRAY_LEN(each)) {
		for (size_t i = 0; i < len; i++)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			buf_fmt(out, each[way], (unsigned)(unsigned char)secret[i]);
#pragma GCC diagnostic pop
		return;
	}
	if (way == ARRAY_LEN(each)) {
		buf_add(out, secret, len);
		return;
	}
	base64_write(secret, len, &coded);
	for (size_t i = 0; i < coded.len; i++) {
		buf_char(out, coded.data[i]);
		if (i == 3 || i == 20)
			buf_str(out, way % 2 ? "\r\n  " : "\\n \t");
	}
}

/* Noise, and beginnings of the secret in all clothes; now and then it is whole. */
static void text_make(struct buf *out, const char *secret)
{
	static const char noise[] = "\n\n\r \t{}\"%\\&;#:,-0xfnu\0\xc3\xa4Zz+/=";

	for (uint32_t parts = 2 + draw(12); parts > 0; parts--) {
		for (uint32_t i = draw(6); i > 0; i--)
			buf_char(out, noise[draw(sizeof(noise) - 1)]);
		add_spelled(out, secret, draw(4) ? draw((uint32_t)strlen(secret)) : strlen(secret), draw(16));
	}
}

/* How much had come out after each piece. */
static void moments_of(const struct scrub_words *words, bool even, const struct buf *text, uint32_t seed, struct buf *ret,
	struct buf *out)
{
	own(scrub_done) struct scrub scrub = {.even = even};

	drawn = seed;
	for (size_t i = 0; i < text->len;) {
		size_t piece = 1 + draw(draw(2) ? 3 : 60);
		piece = piece < text->len - i ? piece : text->len - i;
		scrub_take(&scrub, words, text->data + i, piece, out);
		buf_add(ret, &out->len, sizeof(out->len));
		i += piece;
	}
	scrub_end(&scrub, words, out);
}

static void the_pieces_that_come_out_are_the_same_for_all_secrets_of_a_kind(void **state)
{
	static const char *const secrets[][2] = {{"sk-ant-api03-XyZ123", "................."},
		{"aaaaaaaabaaaaaaaab", "0123456789abcdef"}, {"QWxhZGRpbjpvcGVu", "%41%42%43&amp;\\u0041"}, {"a blank in it", "b\xc3\xa4r in it"},
		{"DOM\\user:pa&ss%w", "5%of&\\more+less"}};

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		const char *const *pair = secrets[i % ARRAY_LEN(secrets)];
		own(buf_done) struct buf text = {0}, one = {0}, other = {0}, plain = {0}, out = {0}, others = {0}, expected = {0};
		drawn = i;
		text_make(&text, pair[0]);
		struct scrub_words *words = words_of(pair[0]), *instead = words_of(pair[1]);
		moments_of(words, true, &text, i, &one, &out);
		moments_of(instead, true, &text, i, &other, &others);
		moments_of(words, false, &text, i, &plain, &expected);
		if (one.len != other.len || memcmp(one.data, other.data, one.len) != 0)
			fail_msg("%u: '%s' tells '%s' from '%s'", i, buf_text(&text), pair[0], pair[1]);
		if (out.len != text.len || memcmp(out.data, expected.data, out.len) != 0)
			fail_msg("%u: '%s' is '%s', not '%s'", i, buf_text(&text), buf_text(&out), buf_text(&expected));
		scrub_words_free(words);
		scrub_words_free(instead);
	}
}

/* Some are found by sifting and some are not; all that there is becomes stars, as if they had been looked for one by one. */
static void secrets_of_all_kinds_are_found_together(void **state)
{
	static const char *const secrets[] = {"sk-ant-api03-XyZ123", "100%41&amp;\\x", "a blank in it", "api03-XyZ123%2F", "deadbeef",
		"5% of & \\more+less", "p\xc3\xa4ss w\xc3\xb6rd-99", "DOM\\user:pa&ss%w"};

	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		own(buf_done) struct buf text = {0}, moments = {0}, out = {0}, expected = {0}, whole = {0};
		struct scrub_words *words = scrub_words_make(secrets, ARRAY_LEN(secrets)), *plain = scrub_words_make(secrets, ARRAY_LEN(secrets));
		drawn = i;
		for (uint32_t parts = 1 + draw(4); parts > 0; parts--)
			text_make(&text, secrets[draw(ARRAY_LEN(secrets))]);
		buf_add(&whole, text.data, text.len);
		(void)scrub_words_level(words);
		moments_of(words, true, &text, i, &moments, &out);
		moments_of(plain, false, &text, i, &moments, &expected);
		(void)scrub_text(words, whole.data, whole.len);
		if (out.len != text.len || memcmp(out.data, expected.data, out.len) != 0 || memcmp(whole.data, expected.data, out.len) != 0)
			fail_msg("%u: '%s' is '%s', not '%s'", i, buf_text(&text), buf_text(&out), buf_text(&expected));
		scrub_words_free(words);
		scrub_words_free(plain);
	}
}

/* No letter that is right causes any work: there is nothing to compare before all of them are there. */
static void part_of_a_secret_is_not_even_looked_at(void **state)
{
	static const char secret[] = "sk-ant-api03-XyZ123-abcdefgh";
	struct sift_row rows[] = {{.bytes = secret, .len = sizeof(secret) - 1, .reach = 400},
		{.bytes = secret, .len = sizeof(secret) - 1, .reach = 400, .hex = true}};
	struct sift *sift = xcalloc(1, sizeof(*sift));

	(void)state;
	sift_init(sift, false, rows, ARRAY_LEN(rows));
	for (unsigned way = 0; way < 14; way++) {
		own(buf_done) struct buf text = {0}, marks = {0};
		for (size_t len = 0; len < strlen(secret); len++) {
			add_spelled(&text, secret, len, way);
			buf_str(&text, "\n\n");
			add_spelled(&text, secret + 13, len > 13 ? len - 13 : 0, way);
			buf_str(&text, ".");
		}
		assert_false(sift_find(sift, text.data, text.len, &marks, NULL));
		assert_int_equal(marks.len, 0);
		size_t from = text.len;
		add_spelled(&text, secret, strlen(secret), way);
		assert_true(sift_find(sift, text.data, text.len, &marks, NULL));
		assert_int_equal(marks.len, text.len);
		assert_int_equal(marks.data[from], 1);
	}
	free(sift);
}

/* However it is made: a cell chooses what a server says back, and one process serves all cells. */
static void the_work_for_a_text_is_bounded_by_its_length(void **state)
{
	static const char *const texts[] = {"200 ", "000,", "999:", "0 ", "32,", "300-", "10\n", "1000 ", "12345", "97, ",
		"61 ", "0x", "%25", "%00", "%", "\\", "\\u0100", "\\u005c", "\\U0000005c", "\\u{0000e4}", "\\u", "&#200;",
		"&#x00000e4;", "&", "\xc3\xa4", "\n"};
	static const char secret[] = "deadbeef";
	struct sift_row rows[] = {{.bytes = secret, .len = sizeof(secret) - 1, .reach = 300},
		{.bytes = secret, .len = sizeof(secret) - 1, .reach = 300, .hex = true}};
	struct sift *sift = xcalloc(1, sizeof(*sift));

	(void)state;
	sift_init(sift, false, rows, ARRAY_LEN(rows));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t steps[2];
		for (size_t j = 0; j < ARRAY_LEN(steps); j++) {
			own(buf_done) struct buf text = {0}, marks = {0};
			while (text.len < (size_t)16384 << 2 * j)
				buf_str(&text, texts[i]);
			assert_false(sift_find(sift, text.data, text.len, &marks, &steps[j]));
			assert_true(steps[j] >= text.len);
			if (steps[j] > text.len * 100)
				fail_msg("%zu bytes of '%s' take %zu steps", text.len, texts[i], steps[j]);
		}
		if (steps[1] > steps[0] * 5)
			fail_msg("four times as much of '%s' takes %zu steps, not %zu", texts[i], steps[1], steps[0]);
	}
	free(sift);
}

/* So for those with blanks, with letters that are not ASCII and with signs that begin escapes, too. */
static void the_work_is_the_same_for_nearly_all_secrets(void **state)
{
	static const struct {
		const char *secret;
		bool level;
	} rows[] = {{"sk-ant-api03-XyZ123", true}, {"a blank in it", true}, {"5% of & \\more+less", true}, {"p\xc3\xa4ss w\xc3\xb6rd-99", true},
		{"DOM\\user:pa&ss%w", true}, {"a+b+c+d+e", true}, {"100%41-and-more", false}, {"fish&amp;chips", false},
		{"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", false}, {"a b c d e f g", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct scrub_words *words = scrub_words_make(&rows[i].secret, 1);
		if (scrub_words_level(words) != rows[i].level)
			fail_msg("'%s' is %slevel", rows[i].secret, rows[i].level ? "not " : "");
		scrub_words_free(words);
	}
}

/* A stream without end is held in a bounded window, and what is whole is found at its edge as well. */
static void a_long_run_of_letters_flows_behind_the_window(void **state)
{
	static const char secret[] = "sk-ant-api03-XyZ123";
	struct scrub_words *words = words_of(secret);
	own(scrub_done) struct scrub scrub = {.even = true};
	own(buf_done) struct buf text = {0}, out = {0};

	(void)state;
	for (size_t i = 0; i < 3000; i++) {
		buf_add(&text, secret, i % 20);
		buf_str(&text, i % 97 == 0 ? secret : "sk-");
	}
	for (size_t i = 0; i < text.len; i += 777) {
		size_t now = i + 777 < text.len ? i + 777 : text.len;
		scrub_take(&scrub, words, text.data + i, now - i, &out);
		assert_int_equal(out.len, now < scrub_window(words) ? 0 : now - scrub_window(words));
	}
	scrub_end(&scrub, words, &out);
	assert_int_equal(out.len, text.len);
	size_t found = scrub_text(words, text.data, text.len);
	assert_true(found >= 3000 / 97);
	assert_int_equal(scrub.found, found);
	assert_memory_equal(out.data, text.data, out.len);
	scrub_words_free(words);
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
		cmocka_unit_test(what_is_held_back_by_the_even_rule_is_known_without_the_secret),
		cmocka_unit_test(a_secret_with_other_letters_has_the_whole_window_held_back),
		cmocka_unit_test(the_window_tells_little_of_how_long_a_secret_is),
		cmocka_unit_test(the_pieces_that_come_out_are_the_same_for_all_secrets_of_a_kind),
		cmocka_unit_test(secrets_of_all_kinds_are_found_together),
		cmocka_unit_test(part_of_a_secret_is_not_even_looked_at),
		cmocka_unit_test(the_work_for_a_text_is_bounded_by_its_length),
		cmocka_unit_test(the_work_is_the_same_for_nearly_all_secrets),
		cmocka_unit_test(a_long_run_of_letters_flows_behind_the_window),
	};
	return cmocka_run_group_tests_name("door scrub", tests, NULL, NULL);
}
