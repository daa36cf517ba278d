/* JSON Schema: 2020-12, and drafts 2019-09 and 7 where `$schema` names them. A schema is compiled once; the compiled
 * form checks values (below), makes values (generate.h) and keeps nothing of the text it came from.
 *
 * The schema is a stranger's. Text, depth, values, compiled nodes, expressions and the work of one check are bounded;
 * what goes beyond is refused with a sentence, code ERR_LIMIT. Nothing is ever fetched: documents that a `$ref` may name
 * are given by the caller. The documents that describe the drafts themselves are built in.
 *
 * `format` is a remark unless the options or the schema's own dialect say otherwise, and then only for formats known
 * here. A `pattern` is an expression of ECMA-262 in its Unicode mode; what PCRE2 cannot match is refused by name.
 * Matching has limits: an expression that would take too long on a value makes the check give up, never hang. */
#ifndef HOTCELL_SCHEMA_SCHEMA_H
#define HOTCELL_SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"

struct schema;

enum schema_draft { SCHEMA_2020_12, SCHEMA_2019_09, SCHEMA_07 };

/* A document that `$ref` may name. The URI is absolute, without a fragment. */
struct schema_document {
	const char *uri;
	const struct value *value; /* stays the caller's, and in place while the schema lives */
	enum schema_draft draft; /* what it is written in if it does not say */
};

struct schema_options {
	const char *uri; /* the schema's own, which relative references are resolved against; NULL: none */
	const struct schema_document *documents;
	size_t document_count;
	bool assert_format;
	enum schema_draft draft; /* of a schema without `$schema` */
};

/* `value` stays the caller's, and in place while the schema lives. `options` may be NULL. Errors say where in the
 * schema: "#/properties/a: sentence". NULL on failure. */
MUST_CHECK struct schema *schema_open(const struct value *value, const struct schema_options *options, struct err *err);
/* The same from text, which is read with the limits below; the schema keeps what it needs. `name` as in json_read. */
MUST_CHECK struct schema *schema_read(const char *text, size_t len, const char *name,
	const struct schema_options *options, struct err *err);
struct schema *schema_free(struct schema *schema); /* NULL is fine; returns NULL */
void schema_freep(struct schema **schema);

#define SCHEMA_TEXT_MAX ((size_t)8 << 20) /* bytes of a schema's text */
#define SCHEMA_DEPTH_MAX 128u /* lists and maps in each other, in a schema */
#define SCHEMA_VALUES_MAX ((size_t)1 << 20) /* in a schema */
#define SCHEMA_NODES_MAX ((size_t)200000) /* compiled */
/* For json_read, of schemas and of values to be checked. */
extern const struct json_limits schema_text_limits;

/* One way in which a value does not fit. */
struct schema_error {
	char *where; /* in the value, a JSON pointer: "" is the whole of it, "/a/0" an item of its list `a` */
	char *rule; /* in the schema, likewise, with the references that were followed: "/properties/a/type" */
	char *text; /* what was expected there, a sentence without its full stop; escaped, one line */
	unsigned line; /* of the value, from 1; 0 where it is not known */
};

#define SCHEMA_ERRORS_MAX 64u

struct schema_errors {
	struct schema_error *list;
	size_t count; /* at most SCHEMA_ERRORS_MAX; the rest is not looked for */
	uint64_t steps; /* of work that it took */
};

void schema_errors_done(struct schema_errors *errors);

enum schema_verdict {
	SCHEMA_VALID,
	SCHEMA_INVALID,
	SCHEMA_GAVE_UP = -1, /* the limits of one check were reached: *err says which */
};

/* Whether the value fits. `ret` may be NULL; it is the caller's to done and is filled when the verdict is
 * SCHEMA_INVALID: at least one error, in the order of the schema. */
enum schema_verdict schema_check(
	const struct schema *schema, const struct value *value, struct schema_errors *ret, struct err *err);

/* "WHERE: sentence", or the sentence alone for the whole value. */
void schema_error_text(const struct schema_error *error, struct buf *out);

#endif
