/* Seen by the readers of HTTP only: spans and sorts of bytes. */
#ifndef HOTCELL_NET_HTTP_BYTES_H
#define HOTCELL_NET_HTTP_BYTES_H

#include <string.h>

#include "net/http.h"

static inline unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static inline bool span_same(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (lower(a.at[i]) != lower(b.at[i]))
			return false;
	return true;
}

static inline struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

static inline struct span span_from(struct span span, size_t start)
{
	return (struct span){span.at + start, span.len - start};
}

/* Up to the first `c`, or all of it. */
static inline struct span span_until(struct span span, char c)
{
	const char *found = span.len ? memchr(span.at, c, span.len) : NULL;

	return (struct span){span.at, found ? (size_t)(found - span.at) : span.len};
}

static inline bool span_has(struct span span, char c)
{
	return span_until(span, c).len < span.len;
}

static inline bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static inline struct span span_trim(struct span span)
{
	while (span.len && is_blank(span.at[0]))
		span = span_from(span, 1);
	while (span.len && is_blank(span.at[span.len - 1]))
		span.len--;
	return span;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool is_alnum(char c)
{
	return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z');
}

static inline bool is_token(char c)
{
	return is_alnum(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool is_visible(char c)
{
	return c > 0x20 && c < 0x7f;
}

/* Text of a line: everything but control bytes. Bytes from 0x80 on are some old character set. */
static inline bool is_text(char c)
{
	unsigned char byte = (unsigned char)c;

	return c == '\t' || (byte >= 0x20 && byte != 0x7f);
}

static inline bool is_host(char c)
{
	return is_alnum(c) || (c && strchr("-._:[]", c));
}

static inline bool span_all(struct span span, bool (*is)(char))
{
	for (size_t i = 0; i < span.len; i++)
		if (!is(span.at[i]))
			return false;
	return true;
}

#endif
