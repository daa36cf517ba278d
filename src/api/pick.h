/* Picks what is wanted out of a JSON text, in place: nothing is built, so nothing can run out of memory but a text
 * that is copied. The text is hotcell's own, but names and words in it are a target's: whatever it is, nothing is read
 * behind its end, and nothing recurses. What is not as expected is not there.
 *
 * base/json_read.h reads whole trees, strictly, and ends the program when memory is out: not for a stranger's process. */
#ifndef HOTCELL_API_PICK_H
#define HOTCELL_API_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pick {
	const char *at; /* NULL: nothing */
	size_t len;
};

struct pick pick_whole(const char *text, size_t len); /* the value that the text begins with */
struct pick pick_get(struct pick map, const char *key); /* nothing if it is no map, or has it not */
/* The next item of a list, or member of a map with its key: begin with *place = 0; false at the end. */
bool pick_next(struct pick of, size_t *place, struct pick *ret_key, struct pick *ret_item);
size_t pick_count(struct pick of); /* items or members */

bool pick_is(struct pick text, const char *word); /* a text without escapes, and this one */
bool pick_true(struct pick value);
uint64_t pick_uint(struct pick number, uint64_t fallback);
double pick_real(struct pick number, double fallback);
/* A text, escapes resolved; "" if it is none. NULL: no memory. The caller frees. A NUL in it ends it. */
char *pick_text(struct pick text);
/* A text of base64. NULL with *ret_len = 0 if it is none, or there is no memory. The caller frees. */
unsigned char *pick_base64(struct pick text, size_t *ret_len);
char *pick_copy(struct pick value); /* as it is written; "null" for nothing. NULL: no memory */

#endif
