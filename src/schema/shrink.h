/* Makes a value simpler that still does something: on the choices it was made from, so that whatever is tried fits the
 * schema as well. */
#ifndef HOTCELL_SCHEMA_SHRINK_H
#define HOTCELL_SCHEMA_SHRINK_H

#include "schema/generate.h"

struct shrink {
	struct generator *generator;
	bool malformed; /* made by generator_make_malformed */
	/* Whether the value still does it. `made` is good during the call. */
	bool (*still)(void *context, const struct made *made);
	bool (*over)(void *context); /* asked before each try; true: the best so far is good enough; may be NULL */
	void *context;
	unsigned max_calls; /* of `still`; 0: 5,000 */
	/* results */
	unsigned calls, tries; /* values looked at; values made */
};

/* The simplest value found, from the choices of one that does it: *ret_choices is the caller's to free. The value is
 * made again by draw_replay and generator_make. -1 if the choices make nothing. */
MUST_CHECK int shrink(struct shrink *shrink, const uint64_t *choices, size_t count, uint64_t **ret_choices, size_t *ret_count, struct err *err);

#endif
