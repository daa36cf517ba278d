/* One character that is written by others: "%C3", "%25C3", "\u00e4", "\\u00e4", "&quot;". Pure. */
#ifndef HOTCELL_REDACT_ESCAPE_H
#define HOTCELL_REDACT_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum escape_kind {
	ESCAPE_NONE, /* nothing is an escape */
	ESCAPE_PERCENT,
	ESCAPE_PERCENT_TWICE,
	ESCAPE_BACKSLASH, /* as JSON, C, JavaScript, Python and shells have them; a surrogate pair is one */
	ESCAPE_BACKSLASH_TWICE, /* JSON in a string of JSON */
	ESCAPE_HTML,
	ESCAPE_KINDS
};

#define ESCAPE_CUT (-1) /* what is there could still become one */

/* How many bytes of `at` are an escape; 0: it is none; or ESCAPE_CUT. `left` is at least 1. *ret: the number of the
 * character, which under 256 may also be a byte: who wrote it knows. */
int escape_read(enum escape_kind kind, const char *at, size_t left, uint32_t *ret);
int escape_digit(char letter); /* the value of a hexadecimal digit, or -1 */

static inline bool escape_begins(unsigned char byte)
{
	return byte == '%' || byte == '\\' || byte == '&';
}

#endif
