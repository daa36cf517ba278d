/* What a hostile program printed, made safe to show. Pure.
 *
 * TERM_SAFE lets through text (UTF-8), newline, tab, carriage return, backspace and colour (SGR);
 * any other escape sequence or control byte is shown, not obeyed: ESC becomes the four characters
 * \x1b. Sequences may be split over calls: `state` carries over. */
#ifndef HOTCELL_BASE_TERM_H
#define HOTCELL_BASE_TERM_H

#include <stddef.h>

#include "base/buf.h"

struct term_filter {
	unsigned char pending[32]; /* an unfinished sequence or UTF-8 character */
	size_t pending_len;
};

/* Ends a sequence, wherever in it the terminal is, and shows nothing. */
#define TERM_CANCEL "\x18"

void term_filter(struct term_filter *filter, const char *bytes, size_t len, struct buf *out);
void term_filter_end(struct term_filter *filter, struct buf *out); /* flushes what is pending */

/* One line for people: every control byte (newline and tab too), what turns the direction of writing, and every byte that is not UTF-8
 * escaped as \n, \t, \xNN; at most `max` bytes of `out` text are added, then "...". */
void term_line(const char *bytes, size_t len, size_t max, struct buf *out);

#endif
