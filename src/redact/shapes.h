/* What a secret looks like that nobody told us of. Pure. */
#ifndef HOTCELL_REDACT_SHAPES_H
#define HOTCELL_REDACT_SHAPES_H

#include "redact/redact.h"
#include "redact/scrub.h"

struct shape_hit {
	size_t from, len; /* in the window */
	const char *what; /* static */
	bool place; /* it tells where or who, and opens nothing */
	enum redact_class open; /* what it goes on with, if the window ends before it does */
};

/* What is at the beginning of the window, which is at most REDACT_AHEAD bytes and only shorter at the end of the text.
 * `before` is the byte in front of it; 0: none. With `known`, also what is merely random, and what is encoded and holds a
 * shape or a known value. */
bool shape_find(const char *at, size_t len, unsigned char before, const struct scrub_words *known, struct shape_hit *ret);
/* Whether it is worth looking, known values and what is encoded apart. */
bool shape_may_begin(unsigned char before, unsigned char byte);
bool shape_is_secret_name(const char *name, size_t len); /* of a variable */
/* What an option or a header of this name takes; NULL: no secret. */
const char *shape_option_kind(const char *name, size_t len);
bool shape_goes_on(enum redact_class class, unsigned char byte);
bool shape_is_word(unsigned char byte); /* a letter, a digit or '_' */

/* Whether the beginning of the window is something encoded in which there is a shape or a known value. *ret_len: how
 * long it is. */
bool decode_find(const char *at, size_t len, unsigned char before, const struct scrub_words *known, size_t *ret_len);

#endif
