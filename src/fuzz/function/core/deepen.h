/* Inputs that nest deeper than an engine would ever try, made from inputs that the target took. Pure.
 *
 * What is nested looks like the words of any grammar: head open^k middle close^k tail. Where to cut is guessed from
 * brackets and tags, learned from two inputs of which one holds the other, or is any short part that may be there
 * more than once (a sign before a number, an opening without an end). A guess that is wrong costs one execution. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_DEEPEN_H
#define HOTCELL_FUZZ_FUNCTION_CORE_DEEPEN_H

#include "base/buf.h"

#define DEEPEN_INPUT_MAX ((size_t)4096) /* a longer one is not looked at */

struct deep {
	char *bytes; /* the five parts, one after another */
	size_t head, open, middle, close, tail; /* lengths */
	unsigned rank; /* 0: most likely */
};
void deep_done(struct deep *deep);
/* How often open and close fit, so that all of it is at most `max` bytes; 0: not even once. */
size_t deep_most(const struct deep *deep, size_t max);
void deep_write(const struct deep *deep, size_t times, struct buf *ret);

struct deepen;
struct deepen *deepen_open(void);
struct deepen *deepen_free(struct deepen *it); /* NULL is fine; returns NULL */
/* An input that the target took. */
void deepen_learn(struct deepen *it, const char *bytes, size_t len);
/* The likeliest that was not given yet; the caller's. False: there is none. */
bool deepen_next(struct deepen *it, struct deep *ret);

/* Texts and characters in quotes, as a target's source has them: entries of a dictionary in AFL's and libFuzzer's
 * form, a line each. In any language that quotes with ", ' or `; bounded. */
void dict_mine(const char *text, size_t len, struct buf *ret);

#endif
