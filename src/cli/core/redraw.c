#include "cli/core/redraw.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"

#define HIDE "\033[?25l"
#define SHOW "\033[?25h"

/* There is one terminal, and atexit takes no argument. */
static int screen = -1;
static struct buf last; /* what is drawn now, as it was given */

static int put(const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t wrote = write(screen, bytes, len);
		if (wrote < 0 && errno != EINTR)
			return -1;
		bytes += wrote > 0 ? wrote : 0;
		len -= wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

void redraw_end(void)
{
	if (screen >= 0)
		(void)!write(screen, SHOW, sizeof(SHOW) - 1);
	screen = -1;
}

void redraw_begin(int fd)
{
	static bool registered;

	if (!registered)
		registered = atexit(redraw_end) == 0;
	screen = fd;
	last.len = 0;
	(void)put(HIDE, sizeof(HIDE) - 1);
}

/* The length of a colour sequence at `text`, else 0. */
static size_t color_len(const char *text, size_t len)
{
	size_t at = 2;

	if (len < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (at < len && strchr("0123456789;", text[at]))
		at++;
	return at < len && text[at] == 'm' ? at + 1 : 0;
}

unsigned redraw_rows(const char *text, size_t len, unsigned columns)
{
	unsigned rows = 0, width = 0;

	for (size_t at = 0; at < len;) {
		size_t skip = color_len(text + at, len - at);
		int size = utf8_char(text + at, len - at);
		if (text[at] == '\n') {
			rows += width > columns && columns > 0 ? (width + columns - 1) / columns : 1;
			width = 0;
		} else if (skip == 0) {
			width++;
		}
		at += skip > 0 ? skip : size > 0 ? (size_t)size : 1;
	}
	return rows;
}

/* To the first column of the picture's first row. Terminals break lines anew when they become narrower, so
 * the rows are counted as of now, not as of when they were drawn. */
static void home(struct buf *out, unsigned columns)
{
	unsigned rows = redraw_rows(buf_text(&last), last.len, columns);

	buf_char(out, '\r');
	if (rows > 0)
		buf_fmt(out, "\033[%uA", rows);
}

/* One write a frame: a half-drawn one would flicker. A line is wiped before it is drawn: after one that fills
 * the row, the cursor still stands on its last character. */
int redraw_frame(const struct buf *text, unsigned columns)
{
	own(buf_done) struct buf out = {0};
	const char *at = buf_text(text), *end = at + text->len;

	home(&out, columns);
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line ? line : end) - at);
		buf_str(&out, "\033[2K");
		buf_add(&out, at, len);
		buf_char(&out, '\n');
		at += len + (line != NULL);
	}
	buf_str(&out, "\033[J");
	last.len = 0;
	buf_add(&last, buf_text(text), text->len);
	return put(out.data, out.len);
}

int redraw_clear(unsigned columns)
{
	own(buf_done) struct buf out = {0};

	home(&out, columns);
	buf_str(&out, "\033[J");
	last.len = 0;
	return put(out.data, out.len);
}
