/* Regular expressions as ECMA-262 writes them (Unicode mode, with its web leniencies: a '{' that begins no count and a
 * backslash before a sign are themselves), read into a tree. The tree is written out again for PCRE2, so that what the
 * two dialects understand differently never matters, and values are made from it. */
#ifndef HOTCELL_SCHEMA_ECMA_H
#define HOTCELL_SCHEMA_ECMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum ecma_kind {
	ECMA_SET, /* one character */
	ECMA_SEQUENCE,
	ECMA_CHOICE,
	ECMA_REPEAT,
	ECMA_GROUP, /* capturing; children[0] */
	ECMA_BACK, /* what group `index` matched */
	ECMA_START,
	ECMA_END,
	ECMA_WORD, /* \b; negated: \B */
	ECMA_LOOK, /* (?= (?! (?<= (?<! */
};

struct ecma_range {
	uint32_t low, high;
};

/* \p{name}; the name is PCRE2's. */
struct ecma_property {
	const char *name;
	bool negated;
};

struct ecma {
	enum ecma_kind kind;
	bool negated; /* SET, WORD, LOOK */
	bool behind; /* LOOK */
	bool lazy; /* REPEAT */
	unsigned index; /* GROUP, BACK */
	uint32_t min, max; /* REPEAT; ECMA_FOREVER */
	uint32_t least, most; /* characters that it matches, as far as the tree tells; ECMA_FOREVER */
	struct ecma_range *ranges; /* SET: sorted, apart from each other */
	size_t range_count;
	struct ecma_property *properties; /* SET */
	size_t property_count;
	struct ecma_range *samples; /* SET with properties: some of its characters, found when first asked for */
	size_t sample_count;
	struct ecma **children;
	size_t count;
};

#define ECMA_FOREVER UINT32_MAX
/* Where the halves of surrogate pairs are in what is written for PCRE2, which knows none: the end of the last private
 * plane, which nobody uses. */
#define ECMA_HALVES 0x10f800u
#define ECMA_TEXT_MAX 16384u
#define ECMA_DEPTH_MAX 100u

/* NULL on failure; the sentence does not repeat the expression. The tree is the arena's. */
MUST_CHECK struct ecma *ecma_parse(const char *text, size_t len, struct arena *arena, struct err *err);
void ecma_write(const struct ecma *tree, struct buf *out); /* as PCRE2 reads it */

#endif
