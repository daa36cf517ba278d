#include "base/term.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define ESC 0x1b

static void add_escaped(struct buf *out, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < len; i++)
		buf_fmt(out, "\\x%02x", at[i]);
}

static bool is_plain(unsigned char c)
{
	return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' || c == '\r' || c == '\b';
}

/* What is pending will not become a sequence: show its first byte, or all of a broken character.
 * After an ESC only plain text can be pending. */
static void filter_show(struct term_filter *filter, struct buf *out)
{
	size_t shown = filter->pending[0] == ESC ? 1 : filter->pending_len;

	add_escaped(out, filter->pending, shown);
	buf_add(out, filter->pending + shown, filter->pending_len - shown);
	filter->pending_len = 0;
}

/* Whether `c` may follow the pending part of ESC [ 1 ; 3 1 m. Private prefixes such as the > of
 * ESC [ > 4 m are not colours: they change how a terminal reports keys. */
static bool sgr_takes(const struct term_filter *filter, unsigned char c)
{
	if (filter->pending_len == 1)
		return c == '[';
	return (c >= '0' && c <= '9') || c == ';' || c == ':' || c == 'm';
}

/* One more byte of a pending colour sequence; false: it was none, and `c` is still to be read. */
static bool filter_sgr(struct term_filter *filter, unsigned char c, struct buf *out)
{
	if (filter->pending_len >= sizeof(filter->pending) || !sgr_takes(filter, c)) {
		filter_show(filter, out);
		return false;
	}
	filter->pending[filter->pending_len++] = c;
	if (c == 'm') {
		buf_add(out, filter->pending, filter->pending_len);
		filter->pending_len = 0;
	}
	return true;
}

/* The same for a character of several bytes. */
static bool filter_utf8(struct term_filter *filter, unsigned char c, struct buf *out)
{
	const char *pending = (const char *)filter->pending;

	filter->pending[filter->pending_len] = c;
	int size = utf8_char(pending, filter->pending_len + 1);
	if (size == UTF8_BAD) {
		filter_show(filter, out);
		return false;
	}
	filter->pending_len++;
	if (size == UTF8_CUT)
		return true;
	if (utf8_is_control(pending, size))
		add_escaped(out, pending, (size_t)size);
	else
		buf_add(out, pending, (size_t)size);
	filter->pending_len = 0;
	return true;
}

static void filter_byte(struct term_filter *filter, unsigned char c, struct buf *out)
{
	if (filter->pending_len) {
		bool colour = filter->pending[0] == ESC;
		bool taken = colour ? filter_sgr(filter, c, out) : filter_utf8(filter, c, out);
		if (taken)
			return;
	}
	if (is_plain(c)) {
		buf_char(out, (char)c);
	} else if (c == ESC || utf8_char((const char *)&c, 1) == UTF8_CUT) {
		filter->pending[0] = c;
		filter->pending_len = 1;
	} else {
		add_escaped(out, &c, 1);
	}
}

void term_filter(struct term_filter *filter, const char *bytes, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len;) {
		size_t run = i;
		while (!filter->pending_len && run < len && is_plain((unsigned char)bytes[run]))
			run++;
		if (run > i)
			buf_add(out, bytes + i, run - i);
		else
			filter_byte(filter, (unsigned char)bytes[run++], out);
		i = run;
	}
}

void term_filter_end(struct term_filter *filter, struct buf *out)
{
	if (filter->pending_len)
		filter_show(filter, out);
}

/* Writes how the character at `bytes` is shown; returns how many bytes of it were read. */
static size_t line_unit(const char *bytes, size_t len, char shown[20])
{
	int size = utf8_char(bytes, len);
	size_t read = size > 0 ? (size_t)size : 1;

	if (size > 1 && utf8_is_deceptive(utf8_code(bytes, size))) {
		(void)snprintf(shown, 20, "[U+%04X]", (unsigned)utf8_code(bytes, size));
	} else if (size > 0 && !utf8_is_control(bytes, size)) {
		memcpy(shown, bytes, read);
		shown[read] = '\0';
	} else if (*bytes == '\n' || *bytes == '\t') {
		strcpy(shown, *bytes == '\n' ? "\\n" : "\\t");
	} else {
		for (size_t i = 0; i < read; i++)
			(void)snprintf(shown + i * 4, 5, "\\x%02x", (unsigned char)bytes[i]);
	}
	return read;
}

void term_line(const char *bytes, size_t len, size_t max, struct buf *out)
{
	size_t added = 0;
	char shown[20];

	for (size_t i = 0; i < len;) {
		i += line_unit(bytes + i, len - i, shown);
		added += strlen(shown);
		if (added > max) {
			buf_str(out, "...");
			return;
		}
		buf_str(out, shown);
	}
}
