/* Documents and the schemas in them that have names of their own: where a reference leads. */
#ifndef HOTCELL_SCHEMA_RESOURCE_H
#define HOTCELL_SCHEMA_RESOURCE_H

#include "base/arena.h"
#include "schema/keyword.h"
#include "schema/node.h"

/* How a resource is to be read. */
struct dialect {
	enum schema_draft draft;
	unsigned vocabularies;
	bool assert_format;
};

struct anchor {
	const char *name;
	const struct value *value;
	bool dynamic;
	struct anchor *next;
};

/* A schema with a URI of its own, and all in it up to the next such. */
struct resource {
	const char *uri; /* without fragment */
	const struct value *root;
	struct dialect dialect;
	struct anchor *anchors;
	bool recursive; /* $recursiveAnchor: true */
	struct resource *next; /* of all */
	struct resource *same_uri, *same_root; /* in a bucket */
};

#define RESOURCE_BUCKETS 1024

struct resources {
	struct schema *schema; /* whose arena is used, and which keeps what is built in */
	const struct schema_options *options;
	struct resource *by_uri[RESOURCE_BUCKETS], *by_root[RESOURCE_BUCKETS];
	size_t count;
};

/* What a reference names. `name` is set if it is an anchor's. */
struct target {
	struct resource *resource; /* the one the value belongs to */
	const struct value *value;
	const struct anchor *anchor;
};

/* A document, with all that is named in it. NULL on failure. */
MUST_CHECK struct resource *resources_add(struct resources *resources, const char *uri, const struct value *value,
	enum schema_draft draft, struct err *err);
/* NULL if the value is not the root of one. */
struct resource *resource_of(const struct resources *resources, const struct value *root);
/* `reference` as written in `from`. Documents that it names are added. */
MUST_CHECK int resources_resolve(struct resources *resources, const struct resource *from, const char *reference,
	struct target *ret, struct err *err);
const struct anchor *resource_anchor(const struct resource *resource, const char *name); /* NULL if it has none */

#endif
