#include "manifest/name.h"

#include <string.h>

#include "base/utf8.h"

void manifest_name_write(const char *bytes, struct buf *out)
{
	size_t len = strlen(bytes);

	for (size_t i = 0; i < len;) {
		int size = utf8_char(bytes + i, len - i);
		size_t taken = size > 0 ? (size_t)size : 1;
		if (size > 0 && !utf8_is_control(bytes + i, size) && bytes[i] != '%') {
			buf_add(out, bytes + i, taken);
		} else {
			for (size_t k = 0; k < taken; k++)
				buf_fmt(out, "%%%02X", (unsigned char)bytes[i + k]);
		}
		i += taken;
	}
}

static int digit_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* False where a '%' is not followed by two digits, or by those of NUL. */
static bool name_read(const char *text, struct buf *out)
{
	for (; *text; text++) {
		if (*text != '%') {
			buf_char(out, *text);
			continue;
		}
		int high = digit_value(text[1]), low = high < 0 ? -1 : digit_value(text[2]);
		if (low < 0 || high * 16 + low == 0)
			return false;
		buf_char(out, (char)(high * 16 + low));
		text += 2;
	}
	return true;
}

bool manifest_name_valid(const char *text)
{
	own(buf_done) struct buf bytes = {0}, again = {0};

	if (!name_read(text, &bytes))
		return false;
	manifest_name_write(buf_text(&bytes), &again);
	return strcmp(buf_text(&again), text) == 0; /* one name has one spelling */
}

bool manifest_path_valid(const char *text)
{
	for (const char *at = text;; at++) {
		size_t len = strcspn(at, "/");
		if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && strncmp(at, "..", 2) == 0))
			return false;
		at += len;
		if (!*at)
			return manifest_name_valid(text);
	}
}
