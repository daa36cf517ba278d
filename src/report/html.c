#include "report/html.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "base/utf8.h"
#include "base/weaken.h"

/* ---- bytes ---- */

static void put_char(struct buf *out, const char *at, int size)
{
	uint32_t code = utf8_code(at, size);

	if (weakened("page-escapes")) {
		buf_add(out, at, (size_t)size);
		return;
	}
	switch (code) {
	case '&': buf_str(out, "&amp;"); return;
	case '<': buf_str(out, "&lt;"); return;
	case '>': buf_str(out, "&gt;"); return;
	case '"': buf_str(out, "&quot;"); return;
	case '\'': buf_str(out, "&#39;"); return;
	default: break;
	}
	if (code < 0x20 || code == 0x7f)
		buf_fmt(out, "&#x%x;", code == 0x7f ? 0x2421 : 0x2400 + code); /* its picture */
	else if (code >= 0x80 && code < 0xa0)
		buf_fmt(out, "\\x%02x", code);
	else if (utf8_is_deceptive(code))
		buf_fmt(out, "[U+%04X]", code);
	else
		buf_add(out, at, (size_t)size);
}

static size_t put_next(struct buf *out, const char *at, size_t len)
{
	int size = utf8_char(at, len);

	if (size <= 0) {
		buf_str(out, "\xef\xbf\xbd");
		return 1;
	}
	put_char(out, at, size);
	return (size_t)size;
}

void html_bytes(struct buf *out, const char *bytes, size_t len)
{
	for (size_t at = 0; at < len;)
		at += put_next(out, bytes + at, len - at);
}

void html_text(struct buf *out, const char *text)
{
	if (text)
		html_bytes(out, text, strlen(text));
}

/* The length of a colour sequence at `at`; 0: none. */
static size_t colour_len(const char *at, size_t len)
{
	size_t end = 2;

	if (len < 3 || at[0] != '\033' || at[1] != '[')
		return 0;
	while (end < len && ((at[end] >= '0' && at[end] <= '9') || at[end] == ';'))
		end++;
	return end < len && at[end] == 'm' ? end + 1 : 0;
}

void html_log(struct buf *out, const char *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t colour = colour_len(bytes + at, len - at);
		if (colour > 0) {
			at += colour;
		} else if (bytes[at] == '\r' && at + 1 < len && bytes[at + 1] == '\n') {
			at++;
		} else if (bytes[at] == '\n' || bytes[at] == '\t') {
			buf_char(out, bytes[at++]);
		} else {
			at += put_next(out, bytes + at, len - at);
		}
	}
}

void html_shell(struct buf *out, const char *word, size_t len)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
	bool plain = len > 0;

	for (size_t i = 0; i < len; i++)
		plain = plain && word[i] && strchr(safe, word[i]);
	if (plain) {
		html_bytes(out, word, len);
		return;
	}
	buf_str(out, "&#39;");
	for (size_t i = 0; i < len;) {
		if (word[i] == '\'') {
			buf_str(out, "&#39;\\&#39;&#39;");
			i++;
		} else {
			i += put_next(out, word + i, len - i);
		}
	}
	buf_str(out, "&#39;");
}

/* Nothing of it is left that could mean something in a link: no scheme, no host, no query. */
void html_path(struct buf *out, const char *path)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~";

	for (size_t i = 0; path[i]; i++) {
		if (path[i] == '/' && i > 0 && path[i - 1] == '/')
			continue;
		if (path[i] == '/' || strchr(safe, path[i]))
			buf_char(out, path[i]);
		else
			buf_fmt(out, "%%%02X", (unsigned char)path[i]);
	}
}

/* ---- numbers ---- */

void html_count(struct buf *out, uint64_t count)
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);

	for (int i = 0; i < len; i++) {
		if (i > 0 && len > 4 && (len - i) % 3 == 0)
			buf_char(out, ',');
		buf_char(out, digits[i]);
	}
}

void html_size(struct buf *out, uint64_t bytes)
{
	char text[24];
	buf_str(out, size_text(bytes, text, sizeof(text)));
}

void html_duration(struct buf *out, uint64_t ns)
{
	char text[32];
	buf_str(out, duration_text(ns, text, sizeof(text)));
}

void html_date(struct buf *out, uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];

	if (ms == 0 || !gmtime_r(&seconds, &tm) ||
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		buf_str(out, "-");
	else
		buf_fmt(out, "%s UTC", text);
}

/* Cut towards the middle: all is 100% only when it is all, and none 0% only when it is none. */
void html_percent(struct buf *out, uint64_t part, uint64_t whole)
{
	double percent = whole > 0 ? (double)part * 100 / (double)whole : 0;

	if (part > 0 && percent < 0.1)
		buf_str(out, "&lt;0.1%");
	else if (part < whole && percent > 99.9)
		buf_str(out, "&gt;99.9%");
	else
		buf_fmt(out, percent == (double)(unsigned)percent ? "%.0f%%" : "%.1f%%", percent);
}

/* ---- pages ---- */

/* No script can run and nothing can be loaded, even if something slipped through the escaping. */
void html_begin(struct buf *out, const char *title)
{
	buf_str(out,
		"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
		"base-uri 'none'; form-action 'none'\">\n"
		"<meta name=referrer content=no-referrer>\n"
		"<meta name=viewport content=\"width=device-width, initial-scale=1\">\n<title>");
	html_text(out, title);
	buf_str(out, " - hotcell</title>\n<style>\n");
	buf_str(out, html_style);
	buf_str(out, "</style></head>\n<body>\n");
}
