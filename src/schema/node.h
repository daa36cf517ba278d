/* The compiled form: a graph of nodes, one for each schema as reached in one dynamic scope. References, dynamic ones
 * too, are edges, so whoever walks the graph needs to know nothing of URIs, anchors, drafts or vocabularies. */
#ifndef HOTCELL_SCHEMA_NODE_H
#define HOTCELL_SCHEMA_NODE_H

#include "base/arena.h"
#include "base/value.h"
#include "schema/format.h"
#include "schema/number.h"
#include "schema/pattern.h"
#include "schema/schema.h"

/* JSON's types as bits. A number is TYPE_WHOLE if it has no fraction, else TYPE_FRACTION. */
enum {
	TYPE_NULL = 1,
	TYPE_BOOL = 2,
	TYPE_WHOLE = 4,
	TYPE_FRACTION = 8,
	TYPE_TEXT = 16,
	TYPE_LIST = 32,
	TYPE_MAP = 64,
	TYPE_NUMBER = TYPE_WHOLE | TYPE_FRACTION,
	TYPE_ANY = 127,
};

#define NODE_NO_MAX UINT64_MAX

struct node;

struct node_list { /* of schemas */
	struct node **nodes;
	size_t count;
};

struct node_key {
	const char *text;
	size_t len;
};

struct node_property {
	struct node_key key;
	struct node *node;
};

struct node_pattern {
	const struct pattern *pattern;
	struct node *node;
};

struct node_dependency {
	struct node_key key;
	struct node_key *needs;
	size_t need_count;
	struct node *node; /* NULL: `needs` only */
	const char *word;
};

struct number_rules {
	bool has_min, has_max, has_above, has_below, has_factor;
	struct number min, max, above, below, factor;
	const char *min_text, *max_text, *above_text, *below_text, *factor_text;
};

struct text_rules {
	uint64_t min, max; /* characters */
	const struct pattern *pattern;
};

struct list_rules {
	uint64_t min, max, min_contains, max_contains;
	bool unique, contains_evaluates;
	struct node_list prefix;
	const char *prefix_word, *items_word; /* the keywords' names in this draft */
	struct node *items, *contains, *unevaluated;
};

struct map_rules {
	uint64_t min, max;
	struct node_key *required;
	size_t required_count;
	struct node_property *properties; /* sorted by key */
	size_t property_count;
	struct node_pattern *patterns;
	size_t pattern_count;
	struct node_dependency *dependencies;
	size_t dependency_count;
	struct node *additional, *names, *unevaluated;
};

struct logic_rules {
	struct node_list all, any, one;
	struct node *not, *if_, *then_, *else_;
};

struct node_ref {
	const char *word; /* "$ref", "$dynamicRef", "$recursiveRef" */
	struct node *node;
};

struct node {
	uint32_t id;
	unsigned types; /* TYPE_ANY if the schema does not say */
	bool never; /* the schema `false` */
	bool unevaluated; /* has unevaluatedItems or unevaluatedProperties */
	struct node_ref refs[2];
	const struct value *enum_, *const_; /* NULL: none; `enum_` is a list */
	const struct format *format; /* NULL: none, or unknown */
	bool assert_format;
	struct number_rules *number;
	struct text_rules *text;
	struct list_rules *list;
	struct map_rules *map;
	struct logic_rules *logic;
	const char *description; /* title, description: NULL if there is none */
	const struct value *examples, *fallback; /* `examples` (a list) and `default` */
	/* where it was first met */
	const struct node *parent;
	struct node_key step; /* the keyword; then the member of it, if it has members */
	struct node_key member;
};

struct schema {
	struct arena arena;
	struct value *owned; /* the document, if it was read here */
	struct value metas[16];
	size_t meta_count;
	struct node *root;
	struct node **nodes; /* by id */
	size_t node_count;
	struct pattern **patterns;
	size_t pattern_count;
};

unsigned value_type(const struct value *value); /* one TYPE_ bit */
bool value_equal(const struct value *a, const struct value *b); /* as JSON Schema has it: 1.0 is 1, keys in any order */
uint64_t value_hash(const struct value *value);
size_t value_find(const struct value *map, const char *key, size_t len); /* SIZE_MAX if it is not there */
size_t text_length(const char *text, size_t len); /* in characters */
/* NULL if there is none. */
const struct node_property *map_rules_find(const struct map_rules *rules, const char *key, size_t len);
/* "one of the types ..." for sentences. */
void types_write(unsigned types, struct buf *out);

/* Whether the value fits the node, without errors. It takes at most *left steps of work, and leaves what it did not take. */
enum schema_verdict node_check(const struct node *node, const struct value *value, struct arena *scratch, uint64_t *left);

#endif
