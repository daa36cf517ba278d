#include "base/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(const void *bytes, size_t len, struct buf *out)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i += 3) {
		size_t size = len - i < 3 ? len - i : 3;
		uint32_t group = (uint32_t)at[i] << 16;
		char letters[4];
		if (size > 1)
			group |= (uint32_t)at[i + 1] << 8;
		if (size > 2)
			group |= at[i + 2];
		for (size_t j = 0; j < 4; j++)
			letters[j] = j <= size ? alphabet[group >> (18 - 6 * j) & 63] : '=';
		buf_add(out, letters, sizeof(letters));
	}
}

static int letter_value(char c)
{
	const char *found = c ? strchr(alphabet, c) : NULL;

	return found ? (int)(found - alphabet) : -1;
}

/* Four letters, of which the last `pad` are '='. */
static bool group_read(const char *letters, size_t pad, struct buf *out)
{
	uint32_t group = 0;
	char bytes[3];

	for (size_t j = 0; j < 4; j++) {
		int value = j < 4 - pad ? letter_value(letters[j]) : 0;
		if (value < 0)
			return false;
		group = group << 6 | (uint32_t)value;
	}
	for (size_t j = 0; j < 3; j++)
		bytes[j] = (char)(group >> (16 - 8 * j) & 255);
	if ((pad >= 1 && bytes[2]) || (pad == 2 && bytes[1]))
		return false; /* bits that would be lost: another text stands for the same */
	buf_add(out, bytes, 3 - pad);
	return true;
}

bool base64_read(const char *text, size_t len, struct buf *out)
{
	size_t before = out->len;
	size_t pad = len >= 4 && text[len - 1] == '=' ? 1 + (text[len - 2] == '=') : 0;
	bool good = len % 4 == 0;

	for (size_t i = 0; good && i < len; i += 4)
		good = group_read(text + i, i + 4 == len ? pad : 0, out);
	if (!good && out->data) {
		out->len = before;
		out->data[before] = '\0';
	}
	return good;
}
