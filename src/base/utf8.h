/* UTF-8, strictly: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef HOTCELL_BASE_UTF8_H
#define HOTCELL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	UTF8_BAD = 0,
	UTF8_CUT = -1, /* what is there could still become a character */
};

/* The length of the character at `bytes` (1 to 4), UTF8_BAD or UTF8_CUT. `len` is at least 1. */
static inline int utf8_char(const char *bytes, size_t len)
{
	const unsigned char *at = (const unsigned char *)bytes;
	int size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

	if (at[0] > 0xf4)
		return UTF8_BAD;
	for (int i = 1; i < size; i++) {
		unsigned char low = 0x80, high = 0xbf;
		if ((size_t)i >= len)
			return UTF8_CUT;
		if (i == 1 && at[0] == 0xe0)
			low = 0xa0; /* overlong below */
		if (i == 1 && at[0] == 0xed)
			high = 0x9f; /* surrogates above */
		if (i == 1 && at[0] == 0xf0)
			low = 0x90;
		if (i == 1 && at[0] == 0xf4)
			high = 0x8f;
		if (at[i] < low || at[i] > high)
			return UTF8_BAD;
	}
	return size;
}

/* Writes the character, 1 to 4 bytes, and returns how many. A surrogate is written as if it were a character: the
 * caller says whether there may be any. */
static inline size_t utf8_put(uint32_t code, char *out)
{
	static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = size - 1; i > 0; i--, code >>= 6)
		out[i] = (char)(0x80 | (code & 0x3f));
	out[0] = (char)(leads[size] | code);
	return size;
}

/* The number of this whole character. */
static inline uint32_t utf8_code(const char *at, int size)
{
	const unsigned char *bytes = (const unsigned char *)at;
	uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0x7fu >> size);

	for (int i = 1; i < size; i++)
		code = code << 6 | (bytes[i] & 0x3f);
	return code;
}

/* What has no shape of its own but changes how its neighbours look: directions, joiners, tags. */
static inline bool utf8_is_deceptive(uint32_t code)
{
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
		(code >= 0x2060 && code <= 0x206f) || code == 0x061c || code == 0xfeff ||
		(code >= 0xe0000 && code <= 0xe007f);
}

/* Whether this whole character is a control: C0, DEL, or C1 (U+009B is CSI to many terminals). */
static inline bool utf8_is_control(const char *bytes, int size)
{
	const unsigned char *at = (const unsigned char *)bytes;

	if (size == 1)
		return at[0] < 0x20 || at[0] == 0x7f;
	return size == 2 && at[0] == 0xc2 && at[1] < 0xa0;
}

#endif
