#include "schema/keyword.h"

#include <string.h>

#include "schema/number.h"

#define D20 DRAFT_BIT(SCHEMA_2020_12)
#define D19 DRAFT_BIT(SCHEMA_2019_09)
#define D7 DRAFT_BIT(SCHEMA_07)
#define NEW (D20 | D19)
#define OLD (D19 | D7)
#define ALL (D20 | D19 | D7)

const struct keyword keywords[KEYWORD_COUNT] = {
	[KEYWORD_ID] = {"$id", SHAPE_ID, VOCABULARY_CORE, ALL},
	[KEYWORD_SCHEMA] = {"$schema", SHAPE_URI, VOCABULARY_CORE, ALL},
	[KEYWORD_REF] = {"$ref", SHAPE_URI, VOCABULARY_CORE, ALL},
	[KEYWORD_ANCHOR] = {"$anchor", SHAPE_ANCHOR, VOCABULARY_CORE, NEW},
	[KEYWORD_DYNAMIC_REF] = {"$dynamicRef", SHAPE_URI, VOCABULARY_CORE, D20},
	[KEYWORD_DYNAMIC_ANCHOR] = {"$dynamicAnchor", SHAPE_ANCHOR, VOCABULARY_CORE, D20},
	[KEYWORD_RECURSIVE_REF] = {"$recursiveRef", SHAPE_URI, VOCABULARY_CORE, D19},
	[KEYWORD_RECURSIVE_ANCHOR] = {"$recursiveAnchor", SHAPE_BOOL, VOCABULARY_CORE, D19},
	[KEYWORD_VOCABULARY] = {"$vocabulary", SHAPE_BOOLS_MAP, VOCABULARY_CORE, NEW},
	[KEYWORD_COMMENT] = {"$comment", SHAPE_TEXT, VOCABULARY_CORE, ALL},
	[KEYWORD_DEFS] = {"$defs", SHAPE_SCHEMA_MAP, VOCABULARY_CORE, NEW},
	[KEYWORD_DEFINITIONS] = {"definitions", SHAPE_SCHEMA_MAP, VOCABULARY_CORE, ALL},
	[KEYWORD_PREFIX_ITEMS] = {"prefixItems", SHAPE_SCHEMAS, VOCABULARY_APPLICATOR, D20},
	[KEYWORD_ITEMS] = {"items", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ADDITIONAL_ITEMS] = {"additionalItems", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, OLD},
	[KEYWORD_CONTAINS] = {"contains", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ADDITIONAL_PROPERTIES] = {"additionalProperties", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_PROPERTIES] = {"properties", SHAPE_SCHEMA_MAP, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_PATTERN_PROPERTIES] = {"patternProperties", SHAPE_SCHEMA_MAP, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_DEPENDENT_SCHEMAS] = {"dependentSchemas", SHAPE_SCHEMA_MAP, VOCABULARY_APPLICATOR, NEW},
	[KEYWORD_DEPENDENCIES] = {"dependencies", SHAPE_DEPENDENCIES, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_PROPERTY_NAMES] = {"propertyNames", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_IF] = {"if", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_THEN] = {"then", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ELSE] = {"else", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ALL_OF] = {"allOf", SHAPE_SCHEMAS, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ANY_OF] = {"anyOf", SHAPE_SCHEMAS, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_ONE_OF] = {"oneOf", SHAPE_SCHEMAS, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_NOT] = {"not", SHAPE_SCHEMA, VOCABULARY_APPLICATOR, ALL},
	[KEYWORD_UNEVALUATED_ITEMS] = {"unevaluatedItems", SHAPE_SCHEMA, VOCABULARY_UNEVALUATED, NEW},
	[KEYWORD_UNEVALUATED_PROPERTIES] = {"unevaluatedProperties", SHAPE_SCHEMA, VOCABULARY_UNEVALUATED, NEW},
	[KEYWORD_TYPE] = {"type", SHAPE_TYPES, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_CONST] = {"const", SHAPE_ANY, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_ENUM] = {"enum", SHAPE_LIST, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MULTIPLE_OF] = {"multipleOf", SHAPE_POSITIVE, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MAXIMUM] = {"maximum", SHAPE_NUMBER, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_EXCLUSIVE_MAXIMUM] = {"exclusiveMaximum", SHAPE_NUMBER, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MINIMUM] = {"minimum", SHAPE_NUMBER, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_EXCLUSIVE_MINIMUM] = {"exclusiveMinimum", SHAPE_NUMBER, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MAX_LENGTH] = {"maxLength", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MIN_LENGTH] = {"minLength", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_PATTERN] = {"pattern", SHAPE_TEXT, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MAX_ITEMS] = {"maxItems", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MIN_ITEMS] = {"minItems", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_UNIQUE_ITEMS] = {"uniqueItems", SHAPE_BOOL, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MAX_CONTAINS] = {"maxContains", SHAPE_LENGTH, VOCABULARY_VALIDATION, NEW},
	[KEYWORD_MIN_CONTAINS] = {"minContains", SHAPE_LENGTH, VOCABULARY_VALIDATION, NEW},
	[KEYWORD_MAX_PROPERTIES] = {"maxProperties", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_MIN_PROPERTIES] = {"minProperties", SHAPE_LENGTH, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_REQUIRED] = {"required", SHAPE_TEXTS, VOCABULARY_VALIDATION, ALL},
	[KEYWORD_DEPENDENT_REQUIRED] = {"dependentRequired", SHAPE_TEXTS_MAP, VOCABULARY_VALIDATION, NEW},
	[KEYWORD_TITLE] = {"title", SHAPE_TEXT, VOCABULARY_META_DATA, ALL},
	[KEYWORD_DESCRIPTION] = {"description", SHAPE_TEXT, VOCABULARY_META_DATA, ALL},
	[KEYWORD_DEFAULT] = {"default", SHAPE_ANY, VOCABULARY_META_DATA, ALL},
	[KEYWORD_DEPRECATED] = {"deprecated", SHAPE_BOOL, VOCABULARY_META_DATA, NEW},
	[KEYWORD_READ_ONLY] = {"readOnly", SHAPE_BOOL, VOCABULARY_META_DATA, ALL},
	[KEYWORD_WRITE_ONLY] = {"writeOnly", SHAPE_BOOL, VOCABULARY_META_DATA, ALL},
	[KEYWORD_EXAMPLES] = {"examples", SHAPE_LIST, VOCABULARY_META_DATA, ALL},
	[KEYWORD_FORMAT] = {"format", SHAPE_TEXT, VOCABULARY_FORMAT | VOCABULARY_FORMAT_ASSERTION, ALL},
	[KEYWORD_CONTENT_ENCODING] = {"contentEncoding", SHAPE_TEXT, VOCABULARY_CONTENT, ALL},
	[KEYWORD_CONTENT_MEDIA_TYPE] = {"contentMediaType", SHAPE_TEXT, VOCABULARY_CONTENT, ALL},
	[KEYWORD_CONTENT_SCHEMA] = {"contentSchema", SHAPE_SCHEMA, VOCABULARY_CONTENT, NEW},
};

enum keyword_id keyword_find(const char *name, size_t len, enum schema_draft draft)
{
	for (int i = 0; i < KEYWORD_COUNT; i++) {
		if (keywords[i].name[0] == (len ? name[0] : '\0') && strlen(keywords[i].name) == len &&
			memcmp(keywords[i].name, name, len) == 0)
			return keywords[i].drafts & DRAFT_BIT(draft) ? (enum keyword_id)i : KEYWORD_COUNT;
	}
	return KEYWORD_COUNT;
}

enum keyword_shape keyword_shape(enum keyword_id id, enum schema_draft draft)
{
	return id == KEYWORD_ITEMS && draft != SCHEMA_2020_12 ? SHAPE_SCHEMA_OR_SCHEMAS : keywords[id].shape;
}

/* ---- shapes ---- */

static bool is_schema(const struct value *value)
{
	return value->kind == VALUE_MAP || value->kind == VALUE_BOOL;
}

static bool is_text(const struct value *value)
{
	return value->kind == VALUE_TEXT;
}

static bool is_bool(const struct value *value)
{
	return value->kind == VALUE_BOOL;
}

static bool is_number(const struct value *value)
{
	struct number number;

	return value->kind == VALUE_NUMBER && number_parse(value->text, value->len, &number);
}

static bool is_positive(const struct value *value)
{
	struct number number;

	return value->kind == VALUE_NUMBER && number_parse(value->text, value->len, &number) && !number.negative &&
		number.count && number.count <= NUMBER_SMALL_DIGITS;
}

static bool is_length(const struct value *value)
{
	struct number number;

	return value->kind == VALUE_NUMBER && number_parse(value->text, value->len, &number) && !number.negative &&
		number_is_whole(&number);
}

static bool is_any(const struct value *value)
{
	(void)value;
	return true;
}

static bool is_list(const struct value *value)
{
	return value->kind == VALUE_LIST;
}

static bool all_are(const struct value *value, enum value_kind kind, bool (*is)(const struct value *))
{
	if (value->kind != kind)
		return false;
	for (size_t i = 0; i < value->count; i++) {
		if (!is(&value->items[i]))
			return false;
	}
	return true;
}

static bool is_texts(const struct value *value)
{
	return all_are(value, VALUE_LIST, is_text);
}

static bool is_texts_map(const struct value *value)
{
	return all_are(value, VALUE_MAP, is_texts);
}

static bool is_bools_map(const struct value *value)
{
	return all_are(value, VALUE_MAP, is_bool);
}

static bool is_types(const struct value *value)
{
	return is_text(value) || is_texts(value);
}

static bool is_schemas(const struct value *value)
{
	return all_are(value, VALUE_LIST, is_schema);
}

static bool is_schema_map(const struct value *value)
{
	return all_are(value, VALUE_MAP, is_schema);
}

static bool is_schema_or_schemas(const struct value *value)
{
	return is_schema(value) || is_schemas(value);
}

static bool is_dependency(const struct value *value)
{
	return is_schema(value) || is_texts(value);
}

static bool is_dependencies(const struct value *value)
{
	return all_are(value, VALUE_MAP, is_dependency);
}

const char *shape_wrong(enum keyword_shape shape, const struct value *value)
{
	static const struct {
		bool (*is)(const struct value *);
		const char *name;
	} shapes[SHAPE_COUNT] = {
		[SHAPE_ANY] = {is_any, "anything"},
		[SHAPE_URI] = {is_text, "a string with a URI"},
		[SHAPE_ID] = {is_text, "a string with a URI"},
		[SHAPE_ANCHOR] = {is_text, "a string with a name"},
		[SHAPE_TEXT] = {is_text, "a string"},
		[SHAPE_BOOL] = {is_bool, "true or false"},
		[SHAPE_NUMBER] = {is_number, "a number"},
		[SHAPE_POSITIVE] = {is_positive, "a number above 0, of at most 18 digits"},
		[SHAPE_LENGTH] = {is_length, "a whole number that is not negative"},
		[SHAPE_LIST] = {is_list, "an array"},
		[SHAPE_TEXTS] = {is_texts, "an array of strings"},
		[SHAPE_TEXTS_MAP] = {is_texts_map, "an object of arrays of strings"},
		[SHAPE_BOOLS_MAP] = {is_bools_map, "an object of true and false"},
		[SHAPE_TYPES] = {is_types, "the name of a type, or an array of them"},
		[SHAPE_SCHEMA] = {is_schema, "a schema: an object, true or false"},
		[SHAPE_SCHEMAS] = {is_schemas, "an array of schemas"},
		[SHAPE_SCHEMA_MAP] = {is_schema_map, "an object of schemas"},
		[SHAPE_SCHEMA_OR_SCHEMAS] = {is_schema_or_schemas, "a schema or an array of schemas"},
		[SHAPE_DEPENDENCIES] = {is_dependencies, "an object of schemas or arrays of strings"},
	};

	return shapes[shape].is(value) ? NULL : shapes[shape].name;
}

/* ---- schemas inside schemas ---- */

static int member_children(enum keyword_shape shape, const struct value *value,
	int (*each)(void *, const struct value *), void *context)
{
	bool single = shape == SHAPE_SCHEMA || shape == SHAPE_SCHEMA_OR_SCHEMAS;
	bool many = shape == SHAPE_SCHEMAS || shape == SHAPE_SCHEMA_OR_SCHEMAS;
	bool map = shape == SHAPE_SCHEMA_MAP || shape == SHAPE_DEPENDENCIES;
	int result = 0;

	if (single && is_schema(value))
		return each(context, value);
	if ((!many || value->kind != VALUE_LIST) && (!map || value->kind != VALUE_MAP))
		return 0;
	for (size_t i = 0; i < value->count && !result; i++) {
		if (is_schema(&value->items[i]))
			result = each(context, &value->items[i]);
	}
	return result;
}

int schema_children(const struct value *schema, enum schema_draft draft,
	int (*each)(void *context, const struct value *child), void *context)
{
	int result = 0;

	for (size_t i = 0; schema->kind == VALUE_MAP && i < schema->count && !result; i++) {
		enum keyword_id id = keyword_find(schema->keys[i], schema->key_lens[i], draft);
		if (id != KEYWORD_COUNT)
			result = member_children(keyword_shape(id, draft), &schema->items[i], each, context);
	}
	return result;
}
