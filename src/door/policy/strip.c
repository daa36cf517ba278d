#include "door/policy/strip.h"

#include <string.h>

#include "base/own.h"
#include "door/policy/usage.h"

/* Its data, lines joined, without the field's name. */
static void data_of(const struct buf *event, struct buf *ret)
{
	const char *at = buf_text(event), *end = at + event->len;

	while (at < end) {
		size_t len = 0;
		while (at + len < end && at[len] != '\r' && at[len] != '\n')
			len++;
		if (len >= 5 && memcmp(at, "data:", 5) == 0)
			buf_add(ret, at + 5, len - 5);
		at += len;
		at += at < end;
	}
}

static size_t skip_blanks(const char *text, size_t at, size_t len)
{
	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

/* Whether the value of this member, a member of the whole, begins so. Texts are skipped, and what is deeper. */
static bool member_begins(const struct buf *data, const char *member, const char *begins)
{
	const char *text = buf_text(data);
	size_t depth = 0, len = data->len;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '{' || text[i] == '[')
			depth++;
		else if ((text[i] == '}' || text[i] == ']') && depth > 0)
			depth--;
		if (text[i] != '"')
			continue;
		size_t from = ++i;
		while (i < len && text[i] != '"')
			i += text[i] == '\\' ? 2 : 1;
		size_t next = skip_blanks(text, i + 1, len);
		if (depth != 1 || i - from != strlen(member) || memcmp(text + from, member, i - from) != 0 || next >= len ||
			text[next] != ':')
			continue;
		next = skip_blanks(text, next + 1, len);
		for (; *begins != '\0' && next < len && text[next] == *begins; begins++)
			next = skip_blanks(text, next + 1, len);
		return *begins == '\0';
	}
	return false;
}

static bool is_usage(const struct buf *event)
{
	own(buf_done) struct buf data = { 0 };

	data_of(event, &data);
	return member_begins(&data, "choices", "[]") && member_begins(&data, "usage", "{");
}

static void flush(struct strip *strip, struct buf *ret)
{
	buf_add(ret, strip->event.data, strip->event.len);
	strip->event.len = 0;
}

static void event_end(struct strip *strip, struct buf *ret)
{
	if (!strip->passes && is_usage(&strip->event))
		strip->event.len = 0;
	flush(strip, ret);
	strip->passes = false;
}

void strip_take(struct strip *strip, const char *bytes, size_t len, struct buf *ret)
{
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];
		bool second = strip->after_cr && c == '\n'; /* of one line's end */
		bool ends = (c == '\n' || c == '\r') && !second, empty = ends && strip->line_len == 0;
		strip->after_cr = c == '\r';
		strip->line_len = ends || second ? 0 : strip->line_len + 1;
		buf_char(&strip->event, c);
		if (empty) {
			event_end(strip, ret);
		} else if (strip->passes || strip->event.len >= STRIP_EVENT_MAX) {
			strip->passes = true;
			flush(strip, ret);
		}
	}
}

void strip_end(struct strip *strip, struct buf *ret)
{
	event_end(strip, ret);
}

void strip_done(struct strip *strip)
{
	buf_done(&strip->event);
}
