/* Whatever passes: how it is split changes nothing, stars keep the length and only they are new, memory is bounded, and
 * no known value is left in any spelling.
 *
 * The first byte chooses one of a few sets of values, whose tables are made once; the second one seeds the splits. What
 * follows makes the text: bytes from 0xc0 on write a value, or a piece of one, in one of its spellings; others stand for
 * themselves. So what is looked for occurs, whole, cut and overlapping, without being guessed. The spellings are made here
 * anew, by other means than those of the module. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "redact/redact.h"
#include "redact/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 512
#define VALUES_MAX 4
#define FORMS (1 + 6 + 2 + 2 + 1 + 18)

static const char *const sets[][VALUES_MAX] = {
	{"abcdefgh"},
	{"prefix-of", "prefix-of-another", "prefix-of-another-one"}, /* each begins the next */
	{"abcabcabc", "bcabcabca", "cabcabcab"}, /* overlapping themselves and each other */
	{"say \"no\"\nand \\go", "K\xc3\xb6nigin \xe2\x82\xac 9", "a/b+c&d=e?f%20"},
	{"aaaaaaaa", "aaaaaaaaaaaa"},
	{"sk-ant-api03-q7Xv2LmP9sT4wYb8", "password=hunter2-hunter2", "/home/somebody/else"},
	{"0123456789abcdef", "QUJDREVGR0g=", "%2F%2F%2F%2F"}, /* look like encodings themselves */
};
#define SETS (sizeof(sets) / sizeof(*sets))

struct set {
	struct redactor *redactor;
	struct buf forms[VALUES_MAX][FORMS];
	size_t count;
};

/* ---- spellings, anew ---- */

static void put_hex(struct buf *out, const char *value, const char *digits)
{
	for (; *value; value++) {
		buf_char(out, digits[(unsigned char)*value >> 4]);
		buf_char(out, digits[(unsigned char)*value & 15]);
	}
}

static void put_percent(struct buf *out, const char *value, const char *digits)
{
	for (; *value; value++) {
		const char one[] = {*value, '\0'};
		if ((*value >= '0' && *value <= '9') || (*value >= 'A' && *value <= 'Z') || (*value >= 'a' && *value <= 'z') || strchr("-._~", *value)) {
			buf_char(out, *value);
			continue;
		}
		buf_char(out, '%');
		put_hex(out, one, digits);
	}
}

static void put_json(struct buf *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			buf_char(out, '\\');
		if (*value == '\n')
			buf_str(out, "\\n");
		else
			buf_char(out, *value);
	}
}

/* With `before` bytes in front of it and one behind, less the letters that stand for those, too. */
static void put_base64(struct buf *out, const char *value, size_t before, bool url)
{
	own(buf_done) struct buf whole = {0}, letters = {0};

	buf_add(&whole, "xyz", before);
	buf_str(&whole, value);
	buf_char(&whole, '!');
	base64_write(whole.data, whole.len, &letters);
	size_t from = (before * 8 + 5) / 6, to = (before + strlen(value)) * 8 / 6;
	for (size_t i = from; i < to; i++)
		buf_char(out, url && letters.data[i] == '+' ? '-' : url && letters.data[i] == '/' ? '_' : letters.data[i]);
}

/* Every byte by itself, with something in front of it or behind. */
static void put_bytes(struct buf *out, const char *value, const char *before, const char *digits, const char *between)
{
	for (const char *at = value; *at; at++) {
		const char one[] = {*at, '\0'};
		buf_str(out, at > value ? between : "");
		buf_str(out, before);
		put_hex(out, one, digits);
	}
}

/* The units of UTF-16: as "\u" and digits, or as bytes. */
static void put_units(struct buf *out, const char *value, const char *format, bool little)
{
	for (size_t i = 0; value[i];) {
		int size = utf8_char(value + i, strlen(value + i));
		uint32_t code = utf8_code(value + i, size), units[2] = {code};
		if (code >= 0x10000) {
			units[0] = 0xd7c0 + (code >> 10);
			units[1] = 0xdc00 | (code & 0x3ff);
		}
		for (size_t j = 0; j < (code >= 0x10000 ? 2u : 1u); j++) {
			char pair[] = {(char)(units[j] >> (little ? 0 : 8)), (char)(units[j] >> (little ? 8 : 0))};
			if (!format)
				buf_add(out, pair, 2);
			else if (strcmp(format, "ascii") == 0 && units[j] < 0x80 && !strchr("\"\\\n", (int)units[j]))
				buf_char(out, (char)units[j]);
			else
				buf_fmt(out, strcmp(format, "upper") == 0 ? "\\u%04X" : "\\u%04x", units[j]);
		}
		i += (size_t)size;
	}
}

static void put_twice(struct buf *out, const char *value)
{
	own(buf_done) struct buf once = {0};

	put_percent(&once, value, "0123456789ABCDEF");
	put_percent(out, buf_text(&once), "0123456789ABCDEF");
}

/* In lines, of which the first is `first` letters long. */
static void put_lines(struct buf *out, const char *value, size_t first, size_t columns, const char *end)
{
	own(buf_done) struct buf letters = {0};

	put_base64(&letters, value, 0, false);
	for (size_t i = 0; i < letters.len; i++) {
		if (i >= first && (i - first) % columns == 0)
			buf_str(out, end);
		buf_char(out, letters.data[i]);
	}
}

static void put_upper(struct buf *out, const char *value)
{
	for (; *value; value++)
		buf_char(out, (char)(*value >= 'a' && *value <= 'z' ? *value - 'a' + 'A' : *value));
}

static void forms_make(struct buf forms[FORMS], const char *value)
{
	size_t at = 0;

	buf_str(&forms[at++], value);
	for (size_t before = 0; before < 3; before++) {
		put_base64(&forms[at++], value, before, false);
		put_base64(&forms[at++], value, before, true);
	}
	put_hex(&forms[at++], value, "0123456789abcdef");
	put_hex(&forms[at++], value, "0123456789ABCDEF");
	put_percent(&forms[at++], value, "0123456789abcdef");
	put_percent(&forms[at++], value, "0123456789ABCDEF");
	put_json(&forms[at++], value);
	put_bytes(&forms[at++], value, "%", "0123456789abcdef", "");
	put_bytes(&forms[at++], value, "%", "0123456789ABCDEF", "");
	put_bytes(&forms[at++], value, "%25", "0123456789ABCDEF", "");
	put_twice(&forms[at++], value);
	put_bytes(&forms[at++], value, "\\x", "0123456789abcdef", "");
	put_bytes(&forms[at++], value, "0x", "0123456789abcdef", ", ");
	put_bytes(&forms[at++], value, "", "0123456789abcdef", " ");
	put_bytes(&forms[at++], value, "", "0123456789ABCDEF", ":");
	put_units(&forms[at++], value, "lower", false);
	put_units(&forms[at++], value, "upper", false);
	put_units(&forms[at++], value, "ascii", false);
	put_units(&forms[at++], value, NULL, false);
	put_units(&forms[at++], value, NULL, true);
	put_upper(&forms[at++], value);
	put_lines(&forms[at++], value, 76, 76, "\n");
	put_lines(&forms[at++], value, 2, 64, "\n");
	put_lines(&forms[at++], value, 5, 76, "\r\n");
	put_lines(&forms[at++], value, 3, 64, "\\n");
	assert(at == FORMS);
}

static const struct set *set_of(uint8_t number)
{
	static struct set made[SETS]; /* for good: what is made once is why this is fast */
	struct set *set = &made[number % SETS];

	if (set->redactor)
		return set;
	while (set->count < VALUES_MAX && sets[number % SETS][set->count]) {
		forms_make(set->forms[set->count], sets[number % SETS][set->count]);
		set->count++;
	}
	set->redactor = redactor_make(&(struct redact_known){
		.values = sets[number % SETS], .count = set->count, .home = "/srv/people/alice", .user = "alice"});
	return set;
}

/* ---- the text ---- */

static void text_make(const struct set *set, const uint8_t *data, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		if (data[i] < 0xc0 || i + 1 >= size) {
			buf_char(out, (char)data[i]);
			continue;
		}
		const struct buf *form = &set->forms[data[i] % set->count][(data[i + 1] & 0x7f) % FORMS];
		bool cut = data[i + 1] & 0x80; /* at one end */
		size_t part = cut ? (data[i] >> 1 & 0x0f) * form->len / 16 : form->len;
		buf_add(out, form->data + (cut && data[i] & 0x20 ? form->len - part : 0), part);
		i++;
	}
}

static size_t pass(const struct redactor *redactor, enum redact_style style, const struct buf *text, uint32_t seed,
	struct buf *out)
{
	own(redact_done) struct redact redact = {.style = style};

	for (size_t i = 0; i < text->len;) {
		size_t piece = seed ? (seed >> 16) % (1 + (seed >> 8) % 256) : text->len; /* empty ones too */
		piece = piece < text->len - i ? piece : text->len - i;
		redact_take(&redact, redactor, text->data + i, piece, out);
		assert(redact.held.len <= (size_t)3 * REDACT_AHEAD);
		seed = seed ? (seed * 1664525u + 1013904223u) | 1 : 0;
		i += piece;
	}
	redact_end(&redact, redactor, out);
	assert(redact.held.len == 0);
	return redact.found;
}

static void check_gone(const struct set *set, const struct buf *out, const char *how)
{
	for (size_t i = 0; i < set->count; i++)
		for (size_t j = 0; j < FORMS; j++)
			if (out->len > 0 && memmem(out->data, out->len, set->forms[i][j].data, set->forms[i][j].len)) {
				(void)fprintf(stderr, "%s: value %zu is left in its form %zu: %s\n", how, i, j, buf_text(out));
				abort();
			}
}

static void check(const struct set *set, enum redact_style style, const struct buf *text, uint32_t seed, struct buf *out)
{
	own(buf_done) struct buf split = {0};
	size_t found = pass(set->redactor, style, text, 0, out);

	assert(found == pass(set->redactor, style, text, seed, &split));
	assert(out->len == split.len && (out->len == 0 || memcmp(out->data, split.data, out->len) == 0));
	check_gone(set, out, style == REDACT_STARS ? "stars" : "named");
}

/* The stream that flows, and the whole text at once. */
static void check_scrub(const struct set *set, const struct buf *text, uint32_t seed)
{
	own(scrub_done) struct scrub scrub = {0};
	own(buf_done) struct buf flowed = {0}, whole = {0};
	const struct scrub_words *words = redactor_words(set->redactor);

	for (size_t i = 0, piece; i < text->len; i += piece, seed = seed * 1664525u + 1013904223u) {
		piece = (seed >> 16) % 33;
		piece = piece < text->len - i ? piece : text->len - i;
		scrub_take(&scrub, words, text->data + i, piece, &flowed);
	}
	scrub_end(&scrub, words, &flowed);
	redact_show(set->redactor, REDACT_VALUES, text->data, text->len, &whole);
	assert(flowed.len == text->len && whole.len == text->len);
	assert(text->len == 0 || memcmp(flowed.data, whole.data, whole.len) == 0);
	check_gone(set, &whole, "scrubbed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(buf_done) struct buf text = {0}, named = {0}, stars = {0};

	if (size < 3 || size > INPUT_MAX)
		return 0;
	const struct set *set = set_of(data[0]);
	uint32_t seed = data[1] * 2654435761u | 1;
	text_make(set, data + 2, size - 2, &text);
	check_scrub(set, &text, seed);
	check(set, REDACT_NAMED, &text, seed, &named);
	check(set, REDACT_STARS, &text, seed, &stars);
	assert(stars.len == text.len);
	for (size_t i = 0; i < text.len; i++)
		assert(stars.data[i] == text.data[i] || stars.data[i] == '*');
	return 0;
}
