/* Every keyword of the drafts that are known, one row each: what its value looks like, and where it belongs. The rows
 * serve the compiler, the search for schemas inside schemas, and the documents that describe the drafts (meta.h). */
#ifndef HOTCELL_SCHEMA_KEYWORD_H
#define HOTCELL_SCHEMA_KEYWORD_H

#include "base/value.h"
#include "schema/schema.h"

enum keyword_id {
	KEYWORD_ID, KEYWORD_SCHEMA, KEYWORD_REF, KEYWORD_ANCHOR, KEYWORD_DYNAMIC_REF, KEYWORD_DYNAMIC_ANCHOR,
	KEYWORD_RECURSIVE_REF, KEYWORD_RECURSIVE_ANCHOR, KEYWORD_VOCABULARY, KEYWORD_COMMENT, KEYWORD_DEFS, KEYWORD_DEFINITIONS,
	KEYWORD_PREFIX_ITEMS, KEYWORD_ITEMS, KEYWORD_ADDITIONAL_ITEMS, KEYWORD_CONTAINS, KEYWORD_ADDITIONAL_PROPERTIES,
	KEYWORD_PROPERTIES, KEYWORD_PATTERN_PROPERTIES, KEYWORD_DEPENDENT_SCHEMAS, KEYWORD_DEPENDENCIES, KEYWORD_PROPERTY_NAMES,
	KEYWORD_IF, KEYWORD_THEN, KEYWORD_ELSE, KEYWORD_ALL_OF, KEYWORD_ANY_OF, KEYWORD_ONE_OF, KEYWORD_NOT,
	KEYWORD_UNEVALUATED_ITEMS, KEYWORD_UNEVALUATED_PROPERTIES,
	KEYWORD_TYPE, KEYWORD_CONST, KEYWORD_ENUM, KEYWORD_MULTIPLE_OF, KEYWORD_MAXIMUM, KEYWORD_EXCLUSIVE_MAXIMUM,
	KEYWORD_MINIMUM, KEYWORD_EXCLUSIVE_MINIMUM, KEYWORD_MAX_LENGTH, KEYWORD_MIN_LENGTH, KEYWORD_PATTERN, KEYWORD_MAX_ITEMS,
	KEYWORD_MIN_ITEMS, KEYWORD_UNIQUE_ITEMS, KEYWORD_MAX_CONTAINS, KEYWORD_MIN_CONTAINS, KEYWORD_MAX_PROPERTIES,
	KEYWORD_MIN_PROPERTIES, KEYWORD_REQUIRED, KEYWORD_DEPENDENT_REQUIRED,
	KEYWORD_TITLE, KEYWORD_DESCRIPTION, KEYWORD_DEFAULT, KEYWORD_DEPRECATED, KEYWORD_READ_ONLY, KEYWORD_WRITE_ONLY,
	KEYWORD_EXAMPLES, KEYWORD_FORMAT, KEYWORD_CONTENT_ENCODING, KEYWORD_CONTENT_MEDIA_TYPE, KEYWORD_CONTENT_SCHEMA,
	KEYWORD_COUNT,
};

enum keyword_shape {
	SHAPE_ANY, SHAPE_URI, SHAPE_ID, SHAPE_ANCHOR, SHAPE_TEXT, SHAPE_BOOL, SHAPE_NUMBER, SHAPE_POSITIVE, SHAPE_LENGTH, SHAPE_LIST, SHAPE_TEXTS,
	SHAPE_TEXTS_MAP, SHAPE_BOOLS_MAP, SHAPE_TYPES, SHAPE_SCHEMA, SHAPE_SCHEMAS, SHAPE_SCHEMA_MAP,
	SHAPE_SCHEMA_OR_SCHEMAS, /* `items` before 2020-12 */
	SHAPE_DEPENDENCIES, /* a map of schemas or lists of texts */
	SHAPE_COUNT,
};

enum { /* vocabularies */
	VOCABULARY_CORE = 1,
	VOCABULARY_APPLICATOR = 2,
	VOCABULARY_UNEVALUATED = 4,
	VOCABULARY_VALIDATION = 8,
	VOCABULARY_META_DATA = 16,
	VOCABULARY_FORMAT = 32, /* 2019-09's, and 2020-12's format-annotation */
	VOCABULARY_FORMAT_ASSERTION = 64,
	VOCABULARY_CONTENT = 128,
	VOCABULARY_ALL = 255,
};

#define DRAFT_BIT(draft) (1u << (draft))

struct keyword {
	const char *name;
	enum keyword_shape shape;
	unsigned vocabulary;
	unsigned drafts; /* DRAFT_BITs */
};

extern const struct keyword keywords[KEYWORD_COUNT]; /* by id */

/* KEYWORD_COUNT if there is none of this name in the draft. */
enum keyword_id keyword_find(const char *name, size_t len, enum schema_draft draft);
enum keyword_shape keyword_shape(enum keyword_id id, enum schema_draft draft);
/* NULL if the value has the shape; else what it should be: "a schema". Schemas inside are not looked into. */
const char *shape_wrong(enum keyword_shape shape, const struct value *value);

/* Calls `each` for every schema directly inside one. 0, or the first that is not 0. */
int schema_children(const struct value *schema, enum schema_draft draft,
	int (*each)(void *context, const struct value *child), void *context);

#endif
