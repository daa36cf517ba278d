#include "base/json_read.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/term.h"
#include "base/utf8.h"

#define SHOWN_MAX 60 /* bytes of the text repeated in an error */

struct reader {
	const char *at, *end;
	const char *name;
	const struct json_limits *limits;
	size_t values; /* made so far */
	unsigned line;
	struct err *err;
};

static int value_read(struct reader *reader, unsigned depth, struct value *ret);

/* ---- errors ---- */

static int fail(struct reader *reader, const char *format, ...) PRINTF_LIKE(2, 3);

static int fail(struct reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int failed = value_fail(reader->err, reader->name, reader->line, format, args);
	va_end(args);
	return failed;
}

/* `expected` is missing where the reader is. */
static int fail_here(struct reader *reader, const char *expected)
{
	own(buf_done) struct buf shown = {0};

	if (reader->at == reader->end)
		return fail(reader, "the text ends where %s should be", expected);
	int size = utf8_char(reader->at, (size_t)(reader->end - reader->at));
	term_line(reader->at, size > 0 ? (size_t)size : 1, SHOWN_MAX, &shown);
	return fail(reader, "'%s' stands where %s should be", buf_text(&shown), expected);
}

/* ---- words between values ---- */

static void blanks_skip(struct reader *reader)
{
	for (; reader->at < reader->end; reader->at++) {
		if (*reader->at == '\n')
			reader->line++;
		else if (*reader->at != ' ' && *reader->at != '\t' && *reader->at != '\r')
			return;
	}
}

/* Takes the byte if it is next, after blanks. */
static bool take(struct reader *reader, char c)
{
	blanks_skip(reader);
	if (reader->at == reader->end || *reader->at != c)
		return false;
	reader->at++;
	return true;
}

static int count_one(struct reader *reader)
{
	if (++reader->values > reader->limits->values)
		return fail(reader, "there are more than %zu values in it", reader->limits->values);
	return 0;
}

/* ---- strings ---- */

/* Four hexadecimal digits; -1 if they are not there. */
static long hex_read(struct reader *reader)
{
	long code = 0;

	if (reader->end - reader->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = reader->at[i];
		int digit = c >= '0' && c <= '9' ? c - '0'
			: c >= 'a' && c <= 'f'   ? c - 'a' + 10
			: c >= 'A' && c <= 'F'   ? c - 'A' + 10
						 : -1;
		if (digit < 0)
			return -1;
		code = code * 16 + digit;
	}
	reader->at += 4;
	return code;
}

/* What follows "\u". */
static int unicode_read(struct reader *reader, struct buf *out)
{
	long code = hex_read(reader);

	if (code < 0)
		return fail(reader, "\\u is not followed by four hexadecimal digits");
	if (code == 0 && !reader->limits->any_text)
		return fail(reader, "a string cannot hold the character \\u0000");
	if (code >= 0xd800 && code < 0xe000) {
		const char *behind = reader->at;
		long low = -1;
		if (code < 0xdc00 && reader->end - reader->at >= 2 && memcmp(reader->at, "\\u", 2) == 0) {
			reader->at += 2;
			low = hex_read(reader);
		}
		if (low >= 0xdc00 && low < 0xe000)
			code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		else if (reader->limits->any_text)
			reader->at = behind;
		else
			return fail(reader, "\\u%04lx is half a character", (unsigned long)code);
	}
	char bytes[4];
	buf_add(out, bytes, utf8_put((uint32_t)code, bytes));
	return 0;
}

/* What follows a backslash. */
static int escape_read(struct reader *reader, struct buf *out)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char c = reader->at < reader->end ? *reader->at : '\0';
	const char *found = c ? strchr(letters, c) : NULL;

	if (c == 'u') {
		reader->at++;
		return unicode_read(reader, out);
	}
	if (!found)
		return fail_here(reader, "the letter of an escape");
	reader->at++;
	buf_char(out, meant[found - letters]);
	return 0;
}

/* How many of the next bytes are whole characters that stand for themselves. */
static size_t plain_length(const struct reader *reader)
{
	const char *at = reader->at;

	while (at < reader->end && (unsigned char)*at >= ' ' && *at != '"' && *at != '\\') {
		int size = utf8_char(at, (size_t)(reader->end - at));
		if (size <= 0)
			break;
		at += size;
	}
	return (size_t)(at - reader->at);
}

/* Without its opening quote, which is taken. */
static int string_read(struct reader *reader, char **ret, size_t *ret_len)
{
	own(buf_done) struct buf out = {0};

	for (;;) {
		size_t plain = plain_length(reader);
		buf_add(&out, reader->at, plain);
		reader->at += plain;
		if (reader->at == reader->end)
			return fail(reader, "a quote is opened but not closed");
		char c = *reader->at;
		if ((unsigned char)c >= 0x80)
			return fail(reader, "a string is not UTF-8");
		if ((unsigned char)c < ' ')
			return fail(reader, "a string holds the control character 0x%02x; write it as \\u%04x",
				(unsigned)c, (unsigned)c);
		reader->at++;
		if (c == '"')
			break;
		if (escape_read(reader, &out) < 0)
			return -1;
	}
	*ret_len = out.len;
	*ret = buf_take(&out);
	return 0;
}

/* ---- numbers and words ---- */

static const char *digits_skip(const char *at, const char *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

/* Where the number at `at` ends; NULL if there is none. */
static const char *number_end(const char *at, const char *end)
{
	at += at < end && *at == '-';
	const char *whole = digits_skip(at, end);
	if (whole == at || (*at == '0' && whole - at > 1))
		return NULL;
	at = whole;
	if (at < end && *at == '.') {
		const char *fraction = digits_skip(at + 1, end);
		if (fraction == at + 1)
			return NULL;
		at = fraction;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		const char *exponent = digits_skip(at, end);
		return exponent == at ? NULL : exponent;
	}
	return at;
}

static void scalar_set(struct reader *reader, struct value *ret, enum value_kind kind, size_t len)
{
	ret->kind = kind;
	ret->len = len;
	ret->text = xcalloc(len + 1, 1);
	memcpy(ret->text, reader->at, len);
	reader->at += len;
}

static int bare_read(struct reader *reader, struct value *ret)
{
	static const struct {
		const char *word;
		enum value_kind kind;
		bool truth;
	} words[] = {
		{"null", VALUE_NULL, false}, {"true", VALUE_BOOL, true}, {"false", VALUE_BOOL, false},
	};
	size_t left = (size_t)(reader->end - reader->at);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t len = strlen(words[i].word);
		if (left < len || memcmp(reader->at, words[i].word, len) != 0)
			continue;
		ret->truth = words[i].truth;
		scalar_set(reader, ret, words[i].kind, len);
		return 0;
	}
	const char *end = number_end(reader->at, reader->end);
	if (!end)
		return fail_here(reader, "a value");
	scalar_set(reader, ret, VALUE_NUMBER, (size_t)(end - reader->at));
	return 0;
}

/* ---- lists and maps ---- */

static int list_read(struct reader *reader, unsigned depth, struct value *ret)
{
	ret->kind = VALUE_LIST;
	if (take(reader, ']'))
		return 0;
	do {
		if (value_read(reader, depth, value_add(ret, NULL, 0)) < 0)
			return -1;
	} while (take(reader, ','));
	return take(reader, ']') ? 0 : fail_here(reader, "a ',' or ']'");
}

struct key {
	const char *text;
	size_t len;
};

static int key_compare(const void *a, const void *b)
{
	const struct key *left = a, *right = b;
	int order = memcmp(left->text, right->text, left->len < right->len ? left->len : right->len);

	return order ? order : (left->len > right->len) - (left->len < right->len);
}

/* Sorted rather than each compared with each: a map may be as long as the limits allow. */
static int keys_check(struct reader *reader, const struct value *map)
{
	own(freep) struct key *sorted = xcalloc(map->count, sizeof(*sorted));

	for (size_t i = 0; i < map->count; i++)
		sorted[i] = (struct key){map->keys[i], map->key_lens[i]};
	qsort(sorted, map->count, sizeof(*sorted), key_compare);
	for (size_t i = 1; i < map->count; i++) {
		if (key_compare(&sorted[i - 1], &sorted[i]) != 0)
			continue;
		own(buf_done) struct buf shown = {0};
		term_line(sorted[i].text, sorted[i].len, SHOWN_MAX, &shown);
		return fail(reader, "the key '%s' is given twice in the map that ends here", buf_text(&shown));
	}
	return 0;
}

static int map_read(struct reader *reader, unsigned depth, struct value *ret)
{
	ret->kind = VALUE_MAP;
	if (take(reader, '}'))
		return 0;
	do {
		char *key = NULL;
		size_t key_len;
		if (!take(reader, '"'))
			return fail_here(reader, "a key in quotes");
		unsigned line = reader->line;
		if (count_one(reader) < 0 || string_read(reader, &key, &key_len) < 0)
			return -1;
		struct value *item = value_add(ret, key, line);
		ret->key_lens[ret->count - 1] = key_len;
		if (!take(reader, ':'))
			return fail_here(reader, "a ':'");
		if (value_read(reader, depth, item) < 0)
			return -1;
	} while (take(reader, ','));
	if (!take(reader, '}'))
		return fail_here(reader, "a ',' or '}'");
	return keys_check(reader, ret);
}

/* `depth` lists and maps are around it. */
static int value_read(struct reader *reader, unsigned depth, struct value *ret)
{
	blanks_skip(reader);
	ret->line = reader->line;
	if (count_one(reader) < 0)
		return -1;
	char c = reader->at < reader->end ? *reader->at : '\0';
	if (c != '"' && c != '[' && c != '{')
		return bare_read(reader, ret);
	if (c != '"' && depth >= reader->limits->depth)
		return fail(reader, "values are nested deeper than %u levels", reader->limits->depth);
	reader->at++;
	if (c == '[')
		return list_read(reader, depth + 1, ret);
	if (c == '{')
		return map_read(reader, depth + 1, ret);
	ret->kind = VALUE_TEXT;
	return string_read(reader, &ret->text, &ret->len);
}

static int text_read(struct reader *reader, struct value *ret)
{
	if ((size_t)(reader->end - reader->at) > reader->limits->bytes)
		return fail(reader, "it is longer than the %zu bytes that are read", reader->limits->bytes);
	if (value_read(reader, 0, ret) < 0)
		return -1;
	blanks_skip(reader);
	return reader->at == reader->end ? 0 : fail_here(reader, "the end");
}

int json_read(const char *text, size_t len, const struct json_limits *limits, const char *name,
	struct value *ret, struct err *err)
{
	struct reader reader = {.name = name, .limits = limits, .line = 1, .err = err};

	reader.at = len ? text : "";
	reader.end = reader.at + len;
	*ret = (struct value){0};
	if (text_read(&reader, ret) == 0)
		return 0;
	value_done(ret);
	return -1;
}
