/* Between the files that make values of each type; see generate.h for the whole. */
#ifndef HOTCELL_SCHEMA_MAKE_H
#define HOTCELL_SCHEMA_MAKE_H

#include "schema/draw.h"
#include "schema/generate.h"
#include "schema/shape.h"

#define MADE_VALUES_MAX 3000u /* of one; then only what must be there is made */
#define MADE_ITEMS_MAX 20000u /* that a schema may ask for in one list or map */
#define MADE_CHARS_MAX 200000u /* that a schema may ask for in one text */
#define MADE_WORK_MAX UINT64_C(10000000) /* of one, all tries together: steps of checks, and what parts cost */
#define MADE_FAILURES_MAX 3000u /* parts that were made anew, in one try */

struct generator {
	const struct schema *schema;
	struct generator_options options;
	struct shapes shapes;
	struct arena arena; /* of the value being made */
	struct buf out, text;
	struct draw *draw;
	bool minimal; /* nothing but what must be there */
	bool can_be_deep;
	bool deep; /* narrow and nested as deep as may be */
	unsigned about; /* dictionaries for what the whole is about */
	unsigned first_mode; /* that has a fair chance */
	unsigned values, failures;
	const char *why; /* nothing could be made, if that is known */
	struct value made;
	size_t word_count;
};

/* Each gives a value of its type that fits the goal as far as its plan says; false if there is none. `depth` is that of
 * the value, `hints` dictionaries besides those of the goal. */
bool make_value(struct generator *generator, struct shape *shape, unsigned depth, unsigned hints, struct value *ret);
bool make_number(struct generator *generator, const struct shape *shape, struct value *ret);
bool make_text(struct generator *generator, const struct shape *shape, unsigned hints, struct value *ret);
bool make_list(struct generator *generator, struct shape *shape, unsigned depth, struct value *ret);
bool make_map(struct generator *generator, struct shape *shape, unsigned depth, struct value *ret);
bool make_is_minimal(const struct generator *generator, unsigned depth);
/* Takes this much of the work that one value may be. A schema is a stranger's: a few lines of it can ask for more values than
 * there is memory, or for more checks than there is time. False: there is none left, and nothing is tried any more. */
bool make_spend(struct generator *generator, uint64_t cost);

/* A text that the expression matches, of min to max characters as far as that can be steered, after what is in `out`. */
bool ecma_draw(struct ecma *tree, struct draw *draw, struct arena *arena, uint32_t min, uint32_t max, struct buf *out);
/* Halves of surrogate pairs that meet would be one character to whoever reads the JSON: whether the character would be
 * the second half behind a first. */
static inline bool halves_meet(const struct buf *text, uint32_t code)
{
	const unsigned char *end;

	if (code < 0xdc00 || code > 0xdfff || text->len < 3)
		return false;
	end = (const unsigned char *)text->data + text->len;
	return end[-3] == 0xed && end[-2] >= 0xa0 && end[-2] < 0xb0;
}

/* Whether what is drawn always matches, if it has the length. */
bool ecma_is_exact(const struct ecma *tree);

#endif
