#include "redact/escape.h"

#include <string.h>

#include "base/buf.h"

#define ONCE_MAX 12 /* letters of an escape: "\ud83d\udd11" */
#define NUMBER_MAX 7 /* digits of a character's number in HTML, zeros in front of it included */

int escape_digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	int value = (letter | 0x20) - 'a';
	return value >= 0 && value < 6 ? value + 10 : -1;
}

/* `count` digits behind the first `skip` bytes. */
static int read_digits(const char *at, size_t left, size_t skip, size_t count, unsigned bits, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = skip; i < skip + count; i++) {
		if (i >= left)
			return ESCAPE_CUT;
		int digit = escape_digit(at[i]);
		if (digit < 0 || digit >= 1 << bits)
			return 0;
		*ret = *ret << bits | (uint32_t)digit;
	}
	return (int)(skip + count);
}

static int begins(const char *at, size_t left, const char *text)
{
	size_t len = strlen(text), size = len < left ? len : left;

	return memcmp(at, text, size) != 0 ? 0 : size < len ? ESCAPE_CUT : (int)len;
}

/* ---- backslashes ---- */

/* "\u{1f511}" */
static int read_braces(const char *at, size_t left, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 3; i < 3 + NUMBER_MAX; i++) {
		if (i >= left)
			return ESCAPE_CUT;
		if (at[i] == '}')
			return i > 3 ? (int)i + 1 : 0;
		if (escape_digit(at[i]) < 0)
			return 0;
		*ret = *ret << 4 | (uint32_t)escape_digit(at[i]);
	}
	return 0;
}

static int read_unicode(const char *at, size_t left, uint32_t *ret)
{
	uint32_t low;

	if (left > 2 && at[2] == '{')
		return read_braces(at, left, ret);
	int size = read_digits(at, left, 2, 4, 4, ret);
	if (size <= 0 || *ret < 0xd800 || *ret > 0xdbff)
		return size;
	int next = begins(at + size, left - (size_t)size, "\\u");
	if (next > 0)
		next = read_digits(at + size, left - (size_t)size, 2, 4, 4, &low);
	if (next <= 0)
		return next;
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*ret = 0x10000 + ((*ret & 0x3ff) << 10 | (low & 0x3ff));
	return size + next;
}

static int read_backslash(const char *at, size_t left, uint32_t *ret)
{
	static const char letters[] = "abefnrtv", codes[] = "\a\b\x1b\f\n\r\t\v";
	int size = 0;

	if (at[0] != '\\')
		return 0;
	if (left < 2)
		return ESCAPE_CUT;
	if (at[1] == 'u')
		size = read_unicode(at, left, ret);
	else if (at[1] == 'x')
		size = read_digits(at, left, 2, 2, 4, ret);
	else if (at[1] == 'U')
		size = read_digits(at, left, 2, 8, 4, ret);
	else if (at[1] >= '0' && at[1] <= '3')
		size = read_digits(at, left, 1, 3, 3, ret);
	if (size != 0)
		return size;
	const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
	*ret = letter ? (unsigned char)codes[letter - letters] : (unsigned char)at[1];
	return 2;
}

/* What is a backslash, and what it escapes, after one reading. */
static int read_backslash_twice(const char *at, size_t left, uint32_t *ret)
{
	char once[ONCE_MAX];
	size_t ends[ONCE_MAX], from = 0;

	for (size_t len = 0; len < ONCE_MAX; len++) {
		if (from == left)
			return len > 0 ? ESCAPE_CUT : 0;
		uint32_t code = (unsigned char)at[from];
		int size = at[from] == '\\' ? read_backslash(at + from, left - from, &code) : 1;
		if (size <= 0 || code >= 0x80 || (len == 0 && code != '\\'))
			return size < 0 ? ESCAPE_CUT : 0;
		from += (size_t)size;
		once[len] = (char)code;
		ends[len] = from;
		int used = len > 0 ? read_backslash(once, len + 1, ret) : ESCAPE_CUT;
		if (used != ESCAPE_CUT)
			return used > 0 ? (int)ends[used - 1] : 0;
	}
	return 0;
}

/* ---- HTML ---- */

static int read_number(const char *at, size_t left, uint32_t *ret)
{
	if (left < 3)
		return ESCAPE_CUT;
	bool hex = at[2] == 'x' || at[2] == 'X';
	size_t from = hex ? 3 : 2;
	*ret = 0;
	for (size_t i = from; i <= from + NUMBER_MAX; i++) {
		if (i >= left)
			return ESCAPE_CUT;
		if (at[i] == ';')
			return i > from ? (int)i + 1 : 0;
		int digit = escape_digit(at[i]);
		if (digit < 0 || (digit > 9 && !hex))
			return 0;
		*ret = *ret * (hex ? 16 : 10) + (uint32_t)digit;
	}
	return 0;
}

static int read_html(const char *at, size_t left, uint32_t *ret)
{
	static const struct {
		const char *text;
		char code;
	} names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
	int size;

	if (at[0] != '&')
		return 0;
	if (left > 1 && at[1] == '#')
		return read_number(at, left, ret);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		*ret = (unsigned char)names[i].code;
		size = begins(at, left, names[i].text);
		if (size != 0)
			return size;
	}
	return 0;
}

int escape_read(enum escape_kind kind, const char *at, size_t left, uint32_t *ret)
{
	int size;

	switch (kind) {
	case ESCAPE_PERCENT: return at[0] == '%' ? read_digits(at, left, 1, 2, 4, ret) : 0;
	case ESCAPE_PERCENT_TWICE:
		size = begins(at, left, "%25");
		return size > 0 ? read_digits(at, left, 3, 2, 4, ret) : size;
	case ESCAPE_BACKSLASH: return read_backslash(at, left, ret);
	case ESCAPE_BACKSLASH_TWICE: return read_backslash_twice(at, left, ret);
	case ESCAPE_HTML: return read_html(at, left, ret);
	case ESCAPE_NONE:
	case ESCAPE_KINDS: break;
	}
	return 0;
}
