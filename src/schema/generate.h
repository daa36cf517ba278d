/* Makes values that fit a schema, from a stream of choices.
 *
 * A value is checked in the compiled form it was made from before it is given: it fits, or there is an error that says
 * why none could be made; never one that does not fit. The same choices give the same value: so a seed does, and so does
 * a record, shortened or lowered (shrink.h).
 *
 * Values are simple where the choices are small. Else they come from a pool: bounds of numbers and lengths and what is
 * next to them, numbers near the limits of machines, Unicode that is often handled wrongly, long texts, deep nesting,
 * and the dictionaries of dict.h, chosen by a property's name, description and format. An entry is used only where it
 * fits the schema. */
#ifndef HOTCELL_SCHEMA_GENERATE_H
#define HOTCELL_SCHEMA_GENERATE_H

#include "schema/draw.h"
#include "schema/schema.h"

struct generator;

struct generator_options {
	unsigned depth; /* from which on only what must be there is made; 0: 6, and now and then 100 */
	const char *about; /* what the values are for, a tool's name and description: chooses dictionaries; may be NULL */
	const char *const *words; /* a dictionary of the caller's, used for texts everywhere; ends with NULL; may be NULL */
	bool plain; /* no dictionaries and no trouble: only what a schema says */
};

/* One value. Good until the generator makes another. */
struct made {
	const struct value *value;
	const char *text; /* as JSON, ASCII only, followed by a NUL; halves of surrogate pairs as escapes */
	size_t len;
};

/* `options` may be NULL. The schema stays the caller's, and in place. NULL, code ERR_USAGE, if no finite value fits. */
MUST_CHECK struct generator *generator_open(const struct schema *schema, const struct generator_options *options, struct err *err);
struct generator *generator_free(struct generator *generator); /* NULL is fine; returns NULL */
void generator_freep(struct generator **generator);

/* The record in `draw` is replaced by that of this value. While `draw` replays, there is one try, and -1 if its choices
 * make nothing that fits. */
MUST_CHECK int generator_make(struct generator *generator, struct draw *draw, struct made *ret, struct err *err);
/* The same for a value with exactly one violation: schema_check gives one error for it. */
MUST_CHECK int generator_make_malformed(struct generator *generator, struct draw *draw, struct made *ret, struct err *err);

/* Choices of a character where another kind begins: punctuation, control characters, all beyond ASCII. */
extern const uint64_t generator_kinds[3];

/* A value as JSON, as in `made`. */
void value_write(const struct value *value, struct buf *out);

#endif
