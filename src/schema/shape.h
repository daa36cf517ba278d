/* What a value has to be, with all choices between alternatives made: the schemas that must hold at one place, merged.
 *
 * A goal is a set of literals: nodes that must hold, nodes that must not, and choices already made between alternatives
 * (this branch of an anyOf, this property absent, this keyword broken). A goal with an alternative still open has
 * branches, each a goal with one literal more. One without is closed: it has types, bounds, patterns, and goals for what
 * is inside. Goals are made when first needed and kept, so making a value is a walk over what is there.
 *
 * Merging is best effort: where it cannot say exactly what fits (`risky`), what was made is checked at once and made anew
 * if it does not fit. */
#ifndef HOTCELL_SCHEMA_SHAPE_H
#define HOTCELL_SCHEMA_SHAPE_H

#include "schema/node.h"

typedef uint64_t literal; /* node, part, sign, argument: see literal_make */

enum part {
	PART_NODE, /* the whole: sign says whether it holds */
	PART_ANY, PART_ONE, PART_IF, PART_BREAK, PART_BREAK_ONLY, /* choices made: the argument says which */
	PART_KEY, /* the key of dependency ARGUMENT: there or, negative, not there */
	PART_DEPENDENCY, /* choice made: argument is its index * 2, + 1 if its key is there */
	/* what can be broken of a node; those with an argument once for each */
	PART_TYPE, PART_ENUM, PART_CONST, PART_MIN, PART_MAX, PART_ABOVE, PART_BELOW, PART_FACTOR, PART_MIN_LENGTH,
	PART_MAX_LENGTH, PART_PATTERN, PART_FORMAT, PART_MIN_ITEMS, PART_MAX_ITEMS, PART_UNIQUE, PART_PREFIX, PART_ITEMS,
	PART_FEW_CONTAINED, PART_MANY_CONTAINED, PART_MIN_MEMBERS, PART_MAX_MEMBERS, PART_REQUIRED, PART_PROPERTY,
	PART_PATTERN_PROPERTY, PART_ADDITIONAL, PART_NAMES, PART_NEEDS, PART_UNEVALUATED_ITEMS, PART_UNEVALUATED_MEMBERS,
	PART_REF, PART_ALL_OF, PART_ANY_OF, PART_ONE_OF, PART_NOT, PART_THEN, PART_ELSE, PART_DEPENDENT,
};

enum sign { HOLDS, BROKEN, BROKEN_ONCE /* exactly one violation */ };

struct broken {
	enum part part;
	uint32_t argument;
};

/* A node that takes part in a goal. */
struct term {
	const struct node *node;
	bool holds; /* but for what is broken */
	bool breaks;
	struct broken broken;
};

struct branch {
	literal added;
	struct shape *next; /* NULL: not made yet, unless dead */
	bool dead;
	unsigned height;
};

/* Numbers: k * step * 10^scale for k from low to high. */
struct number_plan {
	bool possible, fractions; /* other numbers in between fit, too */
	bool odd; /* bounds that do not fit here: only `bounds` are tried */
	int64_t low, high;
	int64_t step;
	int scale;
	const char *bounds[2]; /* as written; NULL: none */
	bool outside[2];
};

struct text_plan {
	uint64_t min, max;
	struct ecma *tree; /* NULL: any text */
	bool checked; /* has expressions or formats to be matched */
	unsigned checks; /* how many */
	bool exact; /* what is drawn from `tree` needs no more than the length */
	unsigned hints; /* dictionaries, see dict.h */
};

struct list_plan {
	uint64_t min, max;
	bool possible, unique, twice; /* twice: two equal ones must be there */
	size_t prefix; /* items before `rest` */
	struct shape **items; /* [prefix + 1], the last for all others; NULL until asked for */
	const struct term **contains; /* terms whose node has it */
	size_t contain_count;
};

struct map_key {
	struct node_key key;
	bool required, banned;
	struct shape *shape;
	unsigned hints;
};

struct map_plan {
	uint64_t min, max;
	bool possible;
	struct map_key *keys; /* known ones, required first */
	size_t count, required;
	bool extra; /* others may be there */
	const struct node_pattern **patterns; /* make others' names */
	size_t pattern_count;
	const struct node_pattern *must; /* a member whose name matches it has to be there */
	bool must_extra; /* a member that is not known has to be there */
	struct shape *names; /* what others' names must be; NULL: anything */
	bool by_pattern; /* a member's goal depends on what its name matches */
	struct shape *rest; /* of members without a name of their own, if not by_pattern */
};

struct shape {
	literal *goal;
	size_t goal_count;
	bool strict;
	uint64_t hash;
	struct shape *same_bucket;
	bool dead, building, risky;
	unsigned height; /* of the smallest value, at least */
	struct branch *branches; /* NULL: closed */
	size_t branch_count;
	struct term *terms;
	size_t term_count;
	literal *opened; /* all literals that the goal comes to */
	size_t opened_count;
	unsigned types;
	const struct value **given; /* from enum and const: one of these */
	size_t given_count;
	bool has_given;
	const struct value **hinted; /* examples and defaults that fit */
	size_t hinted_count;
	unsigned hints;
	struct number_plan number;
	struct text_plan text;
	struct list_plan list;
	struct map_plan map;
};

#define SHAPE_BUCKETS 4096
#define SHAPES_MAX 20000u
#define HEIGHT_NEVER UINT32_MAX

struct shapes {
	const struct schema *schema;
	struct arena arena, scratch;
	struct shape *buckets[SHAPE_BUCKETS];
	size_t count;
	unsigned *heights; /* of nodes, by id */
	unsigned depth; /* of shapes being built in each other */
	uint64_t left; /* work that may be spent on the value being made */
	struct pattern **format_patterns; /* made for formats */
	size_t format_pattern_count;
};

void shapes_init(struct shapes *shapes, const struct schema *schema);
void shapes_done(struct shapes *shapes);

literal literal_make(const struct node *node, enum part part, enum sign sign, uint32_t argument);
/* The goal of these literals, which may be in any order and stand twice. NULL: too many goals. */
struct shape *shape_get(struct shapes *shapes, const literal *literals, size_t count, bool strict);
struct shape *shape_branch(struct shapes *shapes, struct shape *shape, size_t branch); /* NULL: dead */
/* Whether the value is what the goal's literals say. */
bool shape_fits(struct shapes *shapes, const struct shape *shape, const struct value *value);
bool shape_text_fits(const struct shape *shape, const char *text, size_t len); /* lengths, expressions, formats */

/* The goal of an item or member. `contains` are indices of the plan's: literals for those are added, for the others of
 * a strict goal with a largest count that they do not hold. NULL: too many. */
struct shape *shape_item(struct shapes *shapes, struct shape *shape, size_t index, uint64_t contained);
struct shape *shape_member(struct shapes *shapes, struct shape *shape, const char *key, size_t len);

#endif
