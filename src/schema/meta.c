#include "schema/meta.h"

#include <string.h>

#include "base/json.h"
#include "schema/keyword.h"

static const struct {
	enum schema_draft draft;
	const char *folder; /* what all of its URIs begin with */
} drafts[] = {
	{SCHEMA_2020_12, "https://json-schema.org/draft/2020-12/"},
	{SCHEMA_2019_09, "https://json-schema.org/draft/2019-09/"},
	{SCHEMA_07, "http://json-schema.org/draft-07/"},
};

static const struct {
	const char *name;
	unsigned draft_bits, vocabulary;
	unsigned rows; /* the vocabularies of the rows it holds */
	bool optional;
} vocabularies[] = {
	{"core", 3, VOCABULARY_CORE, VOCABULARY_CORE, false},
	{"applicator", DRAFT_BIT(SCHEMA_2020_12), VOCABULARY_APPLICATOR, VOCABULARY_APPLICATOR, false},
	{"applicator", DRAFT_BIT(SCHEMA_2019_09), VOCABULARY_APPLICATOR | VOCABULARY_UNEVALUATED,
		VOCABULARY_APPLICATOR | VOCABULARY_UNEVALUATED, false},
	{"unevaluated", DRAFT_BIT(SCHEMA_2020_12), VOCABULARY_UNEVALUATED, VOCABULARY_UNEVALUATED, false},
	{"validation", 3, VOCABULARY_VALIDATION, VOCABULARY_VALIDATION, false},
	{"meta-data", 3, VOCABULARY_META_DATA, VOCABULARY_META_DATA, false},
	{"format-annotation", DRAFT_BIT(SCHEMA_2020_12), VOCABULARY_FORMAT, VOCABULARY_FORMAT, false},
	{"format-assertion", DRAFT_BIT(SCHEMA_2020_12), VOCABULARY_FORMAT_ASSERTION, VOCABULARY_FORMAT, true},
	{"format", DRAFT_BIT(SCHEMA_2019_09), VOCABULARY_FORMAT, VOCABULARY_FORMAT, false},
	{"content", 3, VOCABULARY_CONTENT, VOCABULARY_CONTENT, false},
};

bool meta_draft(const char *uri, enum schema_draft *ret)
{
	static const char *const older[] = {"http://json-schema.org/draft-06/schema", "http://json-schema.org/draft-04/schema"};
	size_t len = strcspn(uri, "#");

	for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
		size_t folder = strlen(drafts[i].folder);
		*ret = drafts[i].draft;
		if (len == folder + 6 && memcmp(uri, drafts[i].folder, folder) == 0 && memcmp(uri + folder, "schema", 6) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(older); i++) { /* what they have, 7 has too */
		*ret = SCHEMA_07;
		if (len == strlen(older[i]) && memcmp(uri, older[i], len) == 0)
			return true;
	}
	return false;
}

unsigned meta_vocabulary(const char *uri)
{
	for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
		size_t folder = strlen(drafts[i].folder);
		if (strncmp(uri, drafts[i].folder, folder) != 0 || strncmp(uri + folder, "vocab/", 6) != 0)
			continue;
		for (size_t j = 0; j < ARRAY_LEN(vocabularies); j++) {
			if ((vocabularies[j].draft_bits & DRAFT_BIT(drafts[i].draft)) &&
				strcmp(uri + folder + 6, vocabularies[j].name) == 0)
				return vocabularies[j].vocabulary;
		}
	}
	return 0;
}

/* ---- writing ---- */

static const char *self_of(enum schema_draft draft)
{
	return draft == SCHEMA_2020_12 ? "{\"$dynamicRef\":\"#meta\"}"
		: draft == SCHEMA_2019_09 ? "{\"$recursiveRef\":\"#\"}"
					  : "{\"$ref\":\"#\"}";
}

/* `%` stands for a schema, `@` for what an anchor is called, `&` for what an `$id` is. */
static const char *const shape_texts[SHAPE_COUNT] = {
	[SHAPE_ANY] = "true",
	[SHAPE_URI] = "{\"type\":\"string\",\"format\":\"uri-reference\"}",
	[SHAPE_ID] = "{\"type\":\"string\",\"format\":\"uri-reference\"&}",
	[SHAPE_ANCHOR] = "{\"type\":\"string\",\"pattern\":\"@\"}",
	[SHAPE_TEXT] = "{\"type\":\"string\"}",
	[SHAPE_BOOL] = "{\"type\":\"boolean\"}",
	[SHAPE_NUMBER] = "{\"type\":\"number\"}",
	[SHAPE_POSITIVE] = "{\"type\":\"number\",\"exclusiveMinimum\":0}",
	[SHAPE_LENGTH] = "{\"type\":\"integer\",\"minimum\":0}",
	[SHAPE_LIST] = "{\"type\":\"array\",\"items\":true}",
	[SHAPE_TEXTS] = "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true}",
	[SHAPE_TEXTS_MAP] = "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
			    "\"uniqueItems\":true}}",
	[SHAPE_BOOLS_MAP] = "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"boolean\"}}",
	[SHAPE_TYPES] = "{\"anyOf\":[{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\",\"object\",\"string\"]},"
			"{\"type\":\"array\",\"items\":{\"enum\":[\"array\",\"boolean\",\"integer\",\"null\",\"number\","
			"\"object\",\"string\"]},\"minItems\":1,\"uniqueItems\":true}]}",
	[SHAPE_SCHEMA] = "%",
	[SHAPE_SCHEMAS] = "{\"type\":\"array\",\"minItems\":1,\"items\":%}",
	[SHAPE_SCHEMA_MAP] = "{\"type\":\"object\",\"additionalProperties\":%}",
	[SHAPE_SCHEMA_OR_SCHEMAS] = "{\"anyOf\":[%,{\"type\":\"array\",\"minItems\":1,\"items\":%}]}",
	[SHAPE_DEPENDENCIES] = "{\"type\":\"object\",\"additionalProperties\":{\"anyOf\":[%,{\"type\":\"array\",\"items\":"
			       "{\"type\":\"string\"},\"uniqueItems\":true}]}}",
};

/* The rows of some vocabularies, as `properties`. */
static void rows_write(enum schema_draft draft, unsigned rows, struct buf *out)
{
	bool first = true;

	buf_str(out, ",\"type\":[\"object\",\"boolean\"],\"properties\":{");
	for (int i = 0; i < KEYWORD_COUNT; i++) {
		if (!(keywords[i].vocabulary & rows) || !(keywords[i].drafts & DRAFT_BIT(draft)))
			continue;
		buf_fmt(out, "%s\"%s\":", first ? "" : ",", keywords[i].name);
		first = false;
		for (const char *at = shape_texts[keyword_shape((enum keyword_id)i, draft)]; *at; at++) {
			if (*at == '%')
				buf_str(out, self_of(draft));
			else if (*at == '@')
				buf_str(out, draft == SCHEMA_2020_12 ? "^[A-Za-z_][-A-Za-z0-9._]*$" : "^[A-Za-z][-A-Za-z0-9.:_]*$");
			else if (*at == '&')
				buf_str(out, draft == SCHEMA_07 ? "" : ",\"pattern\":\"^[^#]*#?$\"");
			else
				buf_char(out, *at);
		}
	}
	buf_str(out, "}}");
}

static void head_write(size_t row, const char *name, struct buf *out)
{
	const char *folder = drafts[row].folder;

	buf_fmt(out, "{\"$id\":\"%s%s\",\"$schema\":\"%sschema\"", folder, name, folder);
	if (drafts[row].draft == SCHEMA_2020_12)
		buf_str(out, ",\"$dynamicAnchor\":\"meta\"");
	else if (drafts[row].draft == SCHEMA_2019_09)
		buf_str(out, ",\"$recursiveAnchor\":true");
}

/* A draft's schema: its vocabularies, and that all of them hold. */
static void whole_write(size_t row, struct buf *out)
{
	for (int pass = 0; pass < 2; pass++) {
		bool first = true;
		buf_str(out, pass ? "],\"$vocabulary\":{" : ",\"allOf\":[");
		for (size_t i = 0; i < ARRAY_LEN(vocabularies); i++) {
			if (!(vocabularies[i].draft_bits & DRAFT_BIT(drafts[row].draft)) || vocabularies[i].optional)
				continue;
			buf_str(out, first ? "" : ",");
			if (pass)
				buf_fmt(out, "\"%svocab/%s\":true", drafts[row].folder, vocabularies[i].name);
			else
				buf_fmt(out, "{\"$ref\":\"meta/%s\"}", vocabularies[i].name);
			first = false;
		}
	}
	buf_str(out, "},\"type\":[\"object\",\"boolean\"]}");
}

static bool vocabulary_write(size_t row, const char *name, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(vocabularies); i++) {
		if (!(vocabularies[i].draft_bits & DRAFT_BIT(drafts[row].draft)) || strcmp(name + 5, vocabularies[i].name) != 0)
			continue;
		head_write(row, name, out);
		rows_write(drafts[row].draft, vocabularies[i].rows, out);
		return true;
	}
	return false;
}

bool meta_write(const char *uri, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(drafts); i++) {
		size_t folder = strlen(drafts[i].folder);
		if (strncmp(uri, drafts[i].folder, folder) != 0)
			continue;
		const char *name = uri + folder;
		if (strncmp(name, "meta/", 5) == 0 && drafts[i].draft != SCHEMA_07)
			return vocabulary_write(i, name, out);
		if (strcmp(name, "schema") != 0)
			return false;
		head_write(i, name, out);
		if (drafts[i].draft == SCHEMA_07)
			rows_write(drafts[i].draft, VOCABULARY_ALL, out);
		else
			whole_write(i, out);
		return true;
	}
	return false;
}
