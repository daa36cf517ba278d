#include "schema/resource.h"

#include <string.h>

#include "base/json_read.h"
#include "base/term.h"
#include "schema/meta.h"
#include "schema/uri.h"

#define RESOURCES_MAX 20000u
#define SHOWN_MAX 120

static unsigned uri_bucket(const char *uri)
{
	unsigned hash = 5381;

	for (; *uri; uri++)
		hash = hash * 33 + (unsigned char)*uri;
	return hash % RESOURCE_BUCKETS;
}

static unsigned root_bucket(const struct value *root)
{
	return (unsigned)(((uintptr_t)root >> 4) * 2654435761u >> 7) % RESOURCE_BUCKETS;
}

struct resource *resource_of(const struct resources *resources, const struct value *root)
{
	struct resource *at = resources->by_root[root_bucket(root)];

	while (at && at->root != root)
		at = at->same_root;
	return at;
}

static struct resource *find_uri(const struct resources *resources, const char *uri)
{
	struct resource *at = resources->by_uri[uri_bucket(uri)];

	while (at && strcmp(at->uri, uri) != 0)
		at = at->same_uri;
	return at;
}

const struct anchor *resource_anchor(const struct resource *resource, const char *name)
{
	const struct anchor *at = resource->anchors;

	while (at && strcmp(at->name, name) != 0)
		at = at->next;
	return at;
}

static int fail_shown(struct err *err, int code, const char *before, const char *shown, const char *after)
{
	own(buf_done) struct buf line = {0};

	term_line(shown, strlen(shown), SHOWN_MAX, &line);
	return err_set(err, code, "%s'%s'%s", before, buf_text(&line), after);
}

/* ---- dialects ---- */

static const struct value *document_of(const struct resources *resources, const char *uri, enum schema_draft *ret)
{
	const struct schema_options *options = resources->options;

	for (size_t i = 0; options && i < options->document_count; i++) {
		if (strcmp(options->documents[i].uri, uri) == 0) {
			*ret = options->documents[i].draft;
			return options->documents[i].value;
		}
	}
	return NULL;
}

/* Which of its vocabularies a document that describes a dialect asks for. */
static int vocabularies_read(const struct value *vocabulary, struct dialect *dialect, struct err *err)
{
	dialect->vocabularies = VOCABULARY_CORE;
	for (size_t i = 0; i < vocabulary->count; i++) {
		unsigned known = meta_vocabulary(vocabulary->keys[i]);
		if (!known && vocabulary->items[i].truth)
			return fail_shown(err, ERR_USAGE, "its dialect needs the vocabulary ", vocabulary->keys[i], ", which is not known here");
		dialect->vocabularies |= known;
	}
	if (dialect->vocabularies & VOCABULARY_FORMAT_ASSERTION)
		dialect->assert_format = true;
	return 0;
}

/* What `$schema` says; `dialect` is what holds where it says nothing. */
static int dialect_read(const struct resources *resources, const struct value *schema, struct dialect *dialect, struct err *err)
{
	const struct value *says = value_get(schema, "$schema");
	enum schema_draft draft = SCHEMA_2020_12;

	if (!says || says->kind != VALUE_TEXT)
		return 0;
	dialect->vocabularies = VOCABULARY_ALL & ~(unsigned)VOCABULARY_FORMAT_ASSERTION;
	if (meta_draft(says->text, &dialect->draft))
		return 0;
	own(freep) char *uri = xstrdup(says->text);
	uri[strcspn(uri, "#")] = '\0';
	const struct value *meta = document_of(resources, uri, &draft);
	if (!meta || meta->kind != VALUE_MAP)
		return 0; /* an unknown dialect is read as if nothing were said */
	const struct value *own_schema = value_get(meta, "$schema"), *vocabulary = value_get(meta, "$vocabulary");
	if (own_schema && own_schema->kind == VALUE_TEXT)
		(void)meta_draft(own_schema->text, &dialect->draft);
	if (!vocabulary || shape_wrong(SHAPE_BOOLS_MAP, vocabulary) || dialect->draft == SCHEMA_07)
		return 0;
	return vocabularies_read(vocabulary, dialect, err);
}

/* ---- adding ---- */

struct walk {
	struct resources *resources;
	struct resource *resource;
	struct err *err;
};

static void uri_put(struct resources *resources, struct resource *resource)
{
	unsigned bucket = uri_bucket(resource->uri);

	if (find_uri(resources, resource->uri))
		return; /* the first keeps the name */
	resource->same_uri = resources->by_uri[bucket];
	resources->by_uri[bucket] = resource;
}

static struct resource *resource_new(struct walk *walk, const char *uri, const struct value *root, struct dialect dialect)
{
	struct resources *resources = walk->resources;
	unsigned bucket = root_bucket(root);

	if (++resources->count > RESOURCES_MAX) {
		(void)err_set(walk->err, ERR_LIMIT, "there are more than %u schemas with an $id", RESOURCES_MAX);
		return NULL;
	}
	struct resource *resource = arena_zeroed(&resources->schema->arena, 1, sizeof(*resource));
	*resource = (struct resource){.uri = uri, .root = root, .dialect = dialect, .same_root = resources->by_root[bucket]};
	resources->by_root[bucket] = resource;
	uri_put(resources, resource);
	return resource;
}

static void anchor_put(struct walk *walk, const char *name, const struct value *value, bool dynamic)
{
	struct anchor *anchor = arena_zeroed(&walk->resources->schema->arena, 1, sizeof(*anchor));

	*anchor = (struct anchor){.name = name, .value = value, .dynamic = dynamic, .next = walk->resource->anchors};
	walk->resource->anchors = anchor;
}

static void anchors_read(struct walk *walk, const struct value *schema)
{
	enum schema_draft draft = walk->resource->dialect.draft;
	const struct value *anchor = value_get(schema, "$anchor"), *dynamic = value_get(schema, "$dynamicAnchor");
	const struct value *recursive = value_get(schema, "$recursiveAnchor");

	if (anchor && anchor->kind == VALUE_TEXT && draft != SCHEMA_07)
		anchor_put(walk, anchor->text, schema, false);
	if (dynamic && dynamic->kind == VALUE_TEXT && draft == SCHEMA_2020_12)
		anchor_put(walk, dynamic->text, schema, true);
	if (recursive && draft == SCHEMA_2019_09 && schema == walk->resource->root)
		walk->resource->recursive = recursive->kind == VALUE_BOOL && recursive->truth;
}

/* The `$id` of a schema, if it has one that counts. */
static const struct value *id_of(const struct value *schema, enum schema_draft draft)
{
	const struct value *id = value_get(schema, "$id");

	if (!id || id->kind != VALUE_TEXT || (draft == SCHEMA_07 && value_get(schema, "$ref")))
		return NULL;
	return id;
}

static int walk_child(void *context, const struct value *schema)
{
	struct walk walk = *(struct walk *)context;
	struct resources *resources = walk.resources;

	if (schema->kind != VALUE_MAP)
		return 0;
	struct dialect dialect = walk.resource->dialect;
	const struct value *id = id_of(schema, dialect.draft);
	if (id && walk.resource->root != schema) {
		if (dialect.draft == SCHEMA_07 && id->text[0] == '#') {
			anchor_put(&walk, id->text + 1, schema, false);
		} else {
			struct uri uri = uri_resolve(walk.resource->uri, id->text, &resources->schema->arena);
			if (dialect_read(resources, schema, &dialect, walk.err) < 0)
				return -1;
			walk.resource = resource_new(&walk, uri.whole, schema, dialect);
			if (!walk.resource)
				return -1;
			if (uri.fragment && *uri.fragment && dialect.draft == SCHEMA_07)
				anchor_put(&walk, uri.fragment, schema, false);
		}
	}
	anchors_read(&walk, schema);
	return schema_children(schema, walk.resource->dialect.draft, walk_child, &walk);
}

struct resource *resources_add(struct resources *resources, const char *uri, const struct value *value,
	enum schema_draft draft, struct err *err)
{
	struct walk walk = {.resources = resources, .err = err};
	struct dialect dialect = {.draft = draft, .vocabularies = VOCABULARY_ALL & ~(unsigned)VOCABULARY_FORMAT_ASSERTION,
		.assert_format = resources->options && resources->options->assert_format};
	struct arena *arena = &resources->schema->arena;

	if (dialect_read(resources, value, &dialect, err) < 0)
		return NULL;
	const struct value *id = value->kind == VALUE_MAP ? id_of(value, dialect.draft) : NULL;
	struct uri own_uri = uri_resolve(uri, id ? id->text : "", arena);
	walk.resource = resource_new(&walk, own_uri.whole, value, dialect);
	if (!walk.resource)
		return NULL;
	if (own_uri.fragment && *own_uri.fragment && dialect.draft == SCHEMA_07)
		anchor_put(&walk, own_uri.fragment, value, false);
	if (strcmp(own_uri.whole, uri) != 0 && !find_uri(resources, uri)) { /* it is found by where it came from, too */
		struct resource *alias = arena_zeroed(arena, 1, sizeof(*alias));
		*alias = (struct resource){.uri = arena_text(arena, uri, strlen(uri)), .root = value};
		uri_put(resources, alias);
	}
	return walk_child(&walk, value) < 0 ? NULL : walk.resource;
}

/* ---- resolving ---- */

static struct resource *meta_add(struct resources *resources, const char *uri, struct err *err)
{
	own(buf_done) struct buf text = {0};
	struct schema *schema = resources->schema;
	enum schema_draft draft = SCHEMA_2020_12;

	if (schema->meta_count == ARRAY_LEN(schema->metas) || !meta_write(uri, &text)) {
		(void)fail_shown(err, ERR_USAGE, "there is no document ", uri, " at hand; references are never fetched");
		return NULL;
	}
	struct value *meta = &schema->metas[schema->meta_count];
	if (json_read(text.data, text.len, &schema_text_limits, NULL, meta, err) < 0)
		return NULL;
	schema->meta_count++;
	return resources_add(resources, uri, meta, draft, err);
}

static struct resource *resource_find(struct resources *resources, const char *uri, struct err *err)
{
	struct resource *found = find_uri(resources, uri);
	enum schema_draft draft;

	if (!found) {
		const struct value *document = document_of(resources, uri, &draft);
		return document ? resources_add(resources, uri, document, draft, err) : meta_add(resources, uri, err);
	}
	return resource_of(resources, found->root);
}

/* One step of a JSON pointer, unescaped, in `token`. */
static const struct value *pointer_step(const struct value *value, const char *token, size_t len)
{
	if (value->kind == VALUE_MAP) {
		size_t at = value_find(value, token, len);
		return at == SIZE_MAX ? NULL : &value->items[at];
	}
	size_t index = 0;
	if (value->kind != VALUE_LIST || !len || len > 9 || (len > 1 && token[0] == '0'))
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (token[i] < '0' || token[i] > '9')
			return NULL;
		index = index * 10 + (size_t)(token[i] - '0');
	}
	return index < value->count ? &value->items[index] : NULL;
}

static bool pointer_follow(const struct resources *resources, const char *pointer, size_t len, struct target *target)
{
	own(freep) char *token = xcalloc(len + 1, 1);
	const char *at = pointer, *end = pointer + len;

	while (at < end) {
		size_t size = 0;
		for (at++; at < end && *at != '/'; at++) {
			bool escaped = *at == '~' && at + 1 < end && (at[1] == '0' || at[1] == '1');
			token[size++] = !escaped ? *at : at[1] == '0' ? '~' : '/';
			at += escaped;
		}
		target->value = pointer_step(target->value, token, size);
		if (!target->value)
			return false;
		struct resource *inner = resource_of(resources, target->value);
		if (inner)
			target->resource = inner;
	}
	return true;
}

int resources_resolve(struct resources *resources, const struct resource *from, const char *reference,
	struct target *ret, struct err *err)
{
	struct uri uri = uri_resolve(from->uri, reference, &resources->schema->arena);

	*ret = (struct target){.resource = resource_find(resources, uri.whole, err)};
	if (!ret->resource)
		return -1;
	ret->value = ret->resource->root;
	if (!uri.fragment || !uri.fragment_len)
		return 0;
	if (uri.fragment[0] == '/') {
		if (!pointer_follow(resources, uri.fragment, uri.fragment_len, ret))
			return fail_shown(err, ERR_USAGE, "the reference ", reference, " leads nowhere");
		return 0;
	}
	ret->anchor = resource_anchor(ret->resource, uri.fragment);
	if (!ret->anchor)
		return fail_shown(err, ERR_USAGE, "the reference ", reference, " names an anchor that is not there");
	ret->value = ret->anchor->value;
	return 0;
}
