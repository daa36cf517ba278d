/* Looks for shapes and known values inside what is encoded, one level deep: a run of base64 letters in each of its four alignments, of
 * hexadecimal digits in both, and words with percent signs or backslashes in them. Each run is looked at once, where it
 * begins. */
#include <string.h>

#include "base/utf8.h"
#include "redact/escape.h"
#include "redact/shapes.h"

#define ENCODED_MIN 7 /* "/root" in base64 */
#define READABLE_MIN 5 /* bytes of text in a row without which there is nothing to be found */

static int sextet_of(char letter)
{
	if (letter >= 'a' && letter <= 'z')
		return letter - 'a' + 26;
	if (letter >= 'A' && letter <= 'Z')
		return letter - 'A';
	if (letter >= '0' && letter <= '9')
		return letter - '0' + 52;
	return letter == '+' || letter == '-' ? 62 : letter == '/' || letter == '_' ? 63 : -1;
}

static bool has_secret(const char *text, size_t len, const struct scrub_words *known)
{
	struct shape_hit hit;
	unsigned char before = 0;

	for (size_t i = 0; i < len; before = (unsigned char)text[i++])
		if (scrub_look(known, text + i, len - i) ||
			(shape_may_begin(before, (unsigned char)text[i]) && shape_find(text + i, len - i, before, NULL, &hit)))
			return true;
	return false;
}

static bool in_base64(const char *at, size_t len, const struct scrub_words *known)
{
	char text[REDACT_AHEAD];

	for (size_t skip = 0; skip < 4 && skip < len; skip++) {
		size_t made = 0, text_from = 0;
		bool readable = false;
		unsigned bits = 0, value = 0;
		for (size_t i = skip; i < len && sextet_of(at[i]) >= 0; i++) {
			value = (value << 6 | (unsigned)sextet_of(at[i])) & 0xffff;
			bits += 6;
			if (bits < 8)
				continue;
			bits -= 8;
			text[made++] = (char)(value >> bits);
			if ((unsigned char)text[made - 1] - ' ' >= 0x7f - ' ')
				text_from = made;
			readable = readable || made - text_from >= READABLE_MIN;
		}
		if (readable && has_secret(text, made, known))
			return true;
	}
	return false;
}

static bool in_hex(const char *at, size_t len, const struct scrub_words *known)
{
	char text[REDACT_AHEAD / 2];

	for (size_t i = 0; i < len; i++)
		if (escape_digit(at[i]) < 0)
			return false;
	for (size_t skip = 0; skip < 2; skip++) {
		size_t made = 0;
		for (size_t i = skip; i + 1 < len; i += 2)
			text[made++] = (char)(escape_digit(at[i]) << 4 | escape_digit(at[i + 1]));
		if (has_secret(text, made, known))
			return true;
	}
	return false;
}

/* One letter, escaped or not, as the bytes it stands for; returns how many bytes it took. */
static size_t unescape(const char *at, size_t left, char *ret, size_t *made)
{
	uint32_t code = 0;
	int size = escape_read(at[0] == '%' ? ESCAPE_PERCENT : ESCAPE_BACKSLASH, at, left, &code);

	if (size <= 0 || code > 0x10ffff)
		ret[(*made)++] = at[0];
	else if (size <= 4 && code < 256) /* a byte, where a character would be written longer */
		ret[(*made)++] = (char)code;
	else
		*made += utf8_put(code, ret + *made);
	return size > 0 ? (size_t)size : 1;
}

static bool is_text(unsigned char byte)
{
	return shape_goes_on(REDACT_VALUE, byte) || byte == '&' || byte == '\\';
}

static bool in_escapes(const char *at, size_t len, const struct scrub_words *known)
{
	char text[REDACT_AHEAD];
	size_t made = 0;

	for (size_t i = 0; i < len;)
		i += unescape(at + i, len - i, text, &made);
	return made < len && has_secret(text, made, known);
}

bool decode_find(const char *at, size_t len, unsigned char before, const struct scrub_words *known, size_t *ret_len)
{
	size_t size = 0;
	bool escaped = false;

	if (is_text((unsigned char)at[0]) && (!before || !is_text(before))) {
		for (; size < len && is_text((unsigned char)at[size]); size++)
			escaped = escaped || at[size] == '%' || at[size] == '\\';
		*ret_len = size;
		if (escaped && in_escapes(at, size, known))
			return true;
	}
	if (sextet_of(at[0]) < 0 || (before && sextet_of((char)before) >= 0))
		return false;
	bool word = true; /* as most runs are: text that is encoded has a capital or a digit */
	for (size = 0; size < len && sextet_of(at[size]) >= 0; size++)
		word = word && !(at[size] >= '0' && at[size] <= 'Z');
	*ret_len = size;
	if (size < ENCODED_MIN || word || (!in_base64(at, size, known) && !in_hex(at, size, known)))
		return false;
	while (*ret_len < len && at[*ret_len] == '=')
		++*ret_len;
	return true;
}
