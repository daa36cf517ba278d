#include "api/pick.h"

#include <stdlib.h>
#include <string.h>

static const struct pick nothing = {0};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t after_blanks(const char *text, size_t at, size_t len)
{
	while (at < len && is_blank(text[at]))
		at++;
	return at;
}

/* Behind the text that begins here with its quote. */
static size_t after_text(const char *text, size_t at, size_t len)
{
	for (at++; at < len; at++) {
		if (text[at] == '\\')
			at++;
		else if (text[at] == '"')
			return at + 1;
	}
	return len;
}

/* Behind the value that begins here. Brackets are counted, not matched: it is not ours to judge. */
static size_t after_value(const char *text, size_t at, size_t len)
{
	size_t depth = 0;

	while (at < len) {
		char c = text[at];
		if (c == '"') {
			at = after_text(text, at, len);
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
			continue;
		} else if (c == '}' || c == ']') {
			if (!depth)
				return at;
			depth--;
			at++;
		} else if (!depth) { /* a number or a word */
			while (at < len && !is_blank(text[at]) && !strchr(",:]}", text[at]))
				at++;
		} else {
			at++;
			continue;
		}
		if (!depth)
			return at;
	}
	return len;
}

struct pick pick_whole(const char *text, size_t len)
{
	size_t at = text ? after_blanks(text, 0, len) : len;
	size_t end = text ? after_value(text, at, len) : len;

	return end > at ? (struct pick){text + at, end - at} : nothing;
}

bool pick_next(struct pick of, size_t *place, struct pick *ret_key, struct pick *ret_item)
{
	bool map = of.len > 0 && *of.at == '{';

	*ret_key = *ret_item = nothing;
	if (!of.len || (!map && *of.at != '['))
		return false;
	size_t at = after_blanks(of.at, *place ? *place : 1, of.len);
	if (*place && at < of.len && of.at[at] == ',')
		at = after_blanks(of.at, at + 1, of.len);
	if (map) {
		if (at >= of.len || of.at[at] != '"')
			return false;
		size_t end = after_text(of.at, at, of.len);
		*ret_key = (struct pick){of.at + at, end - at};
		at = after_blanks(of.at, end, of.len);
		if (at >= of.len || of.at[at] != ':')
			return false;
		at = after_blanks(of.at, at + 1, of.len);
	}
	size_t end = after_value(of.at, at, of.len);
	if (end <= at)
		return false;
	*ret_item = (struct pick){of.at + at, end - at};
	*place = end;
	return true;
}

size_t pick_count(struct pick of)
{
	struct pick key, item;
	size_t count = 0;

	for (size_t place = 0; pick_next(of, &place, &key, &item);)
		count++;
	return count;
}

bool pick_is(struct pick text, const char *word)
{
	size_t len = strlen(word);

	return text.len == len + 2 && *text.at == '"' && memcmp(text.at + 1, word, len) == 0;
}

struct pick pick_get(struct pick map, const char *key)
{
	struct pick name, item;

	for (size_t place = 0; pick_next(map, &place, &name, &item);)
		if (pick_is(name, key))
			return item;
	return nothing;
}

bool pick_true(struct pick value)
{
	return value.len == 4 && memcmp(value.at, "true", 4) == 0;
}

uint64_t pick_uint(struct pick number, uint64_t fallback)
{
	uint64_t value = 0;

	if (!number.len)
		return fallback;
	for (size_t i = 0; i < number.len; i++) {
		unsigned digit = (unsigned)(number.at[i] - '0');
		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return fallback;
		value = value * 10 + digit;
	}
	return value;
}

/* Digits with at most one point, as hotcell writes them: strtod would ask the caller's locale. */
double pick_real(struct pick number, double fallback)
{
	double value = 0, unit = 0;

	if (!number.len)
		return fallback;
	for (size_t i = 0; i < number.len; i++) {
		unsigned digit = (unsigned)(number.at[i] - '0');
		if (number.at[i] == '.' && unit == 0) {
			unit = 1;
			continue;
		}
		if (digit > 9)
			return fallback;
		value = value * 10 + digit;
		unit *= 10;
	}
	return unit > 1 ? value / unit : value;
}

/* ---- texts ---- */

static int hex(const char *at, size_t len)
{
	int value = 0;

	if (len < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef",
			   *digit = at[i] ? strchr(digits, at[i] | (at[i] > '9' ? 0x20 : 0)) : NULL;
		if (!digit)
			return -1;
		value = value * 16 + (int)(digit - digits);
	}
	return value;
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | (c >> 6));
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | (c >> 12));
		out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18));
	out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
	out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* "\uXXXX", perhaps two of them: what they stand for, never longer than they are; how much was read in *ret_read. */
static uint32_t escaped(const char *at, size_t len, size_t *ret_read)
{
	int high = hex(at, len);

	*ret_read = 4;
	if (high < 0) {
		*ret_read = 0;
		return '?';
	}
	if (high < 0xd800 || high > 0xdfff)
		return (uint32_t)high;
	int low = high < 0xdc00 && len >= 10 && at[4] == '\\' && at[5] == 'u' ? hex(at + 6, len - 6) : -1;
	if (low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*ret_read = 10;
	return 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
}

char *pick_text(struct pick text)
{
	static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
	bool is_text = text.len >= 2 && text.at[0] == '"' && text.at[text.len - 1] == '"';
	char *out = malloc(is_text ? text.len : 1); /* an escape is never shorter than what it stands for */
	size_t len = 0;

	if (!out)
		return NULL;
	for (size_t i = 1; is_text && i < text.len - 1; i++) {
		if (text.at[i] != '\\' || i + 1 >= text.len - 1) {
			out[len++] = text.at[i];
			continue;
		}
		char c = text.at[++i];
		const char *name = c ? strchr(names, c) : NULL;
		if (c == 'u') {
			size_t read;
			uint32_t code = escaped(text.at + i + 1, text.len - 1 - (i + 1), &read);
			len += put_utf8(code, out + len);
			i += read;
		} else {
			out[len++] = name ? bytes[name - names] : c;
		}
	}
	out[len] = '\0';
	return out;
}

unsigned char *pick_base64(struct pick text, size_t *ret_len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char *out = text.len >= 2 ? malloc(text.len) : NULL;
	uint32_t bits = 0;
	unsigned held = 0;
	size_t len = 0;

	*ret_len = 0;
	for (size_t i = 1; out && i + 1 < text.len && text.at[i] != '='; i++) {
		const char *digit = text.at[i] ? strchr(digits, text.at[i]) : NULL;
		if (!digit) {
			free(out);
			return NULL;
		}
		bits = bits << 6 | (uint32_t)(digit - digits);
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[len++] = (unsigned char)(bits >> held);
		}
	}
	*ret_len = len;
	return out;
}

char *pick_copy(struct pick value)
{
	struct pick from = value.len ? value : (struct pick){"null", 4};
	char *copy = malloc(from.len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, from.at, from.len);
	copy[from.len] = '\0';
	return copy;
}
