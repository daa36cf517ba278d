/* Nodes are made when something refers to them and filled from a queue, so neither a deep schema nor a long chain of
 * references is recursion. A node is known by its schema and the dynamic scope it was reached in. Of that scope only one
 * thing matters: which resource each dynamic anchor means. It is given by an `env`, and there are few of those. */
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/term.h"
#include "schema/compile_private.h"

#define ENVS_MAX 2000u
#define STEPS_SHOWN 24
#define STEP_SHOWN 40

const struct json_limits schema_text_limits = {
	.bytes = SCHEMA_TEXT_MAX, .values = SCHEMA_VALUES_MAX, .depth = SCHEMA_DEPTH_MAX, .any_text = true};

/* ---- dynamic scope ---- */

static struct resource *env_get(const struct env *env, const char *name)
{
	for (; env; env = env->outer) {
		if (strcmp(env->name, name) == 0)
			return env->resource;
	}
	return NULL;
}

/* `env` with one more name; the same one for the same question, so that envs can be compared by address. */
static const struct env *env_with(struct compiler *compiler, const struct env *env, const char *name, struct resource *resource)
{
	for (const struct env *at = compiler->envs; at; at = at->next) {
		if (at->outer == env && at->resource == resource && strcmp(at->name, name) == 0)
			return at;
	}
	if (++compiler->env_count > ENVS_MAX) {
		(void)err_set(compiler->err, ERR_LIMIT, "its dynamic references have more than %u meanings", ENVS_MAX);
		return NULL;
	}
	struct env *made = arena_zeroed(&compiler->schema->arena, 1, sizeof(*made));
	*made = (struct env){.outer = env, .name = name, .resource = resource, .next = compiler->envs};
	compiler->envs = made;
	return made;
}

/* The scope inside `resource`. Names that are known outside keep their meaning: the outermost counts. NULL if there are
 * too many; the outermost scope of all is never NULL. */
static const struct env *env_enter(struct compiler *compiler, const struct env *env, struct resource *resource)
{
	if (resource->recursive && !env_get(env, ""))
		env = env_with(compiler, env, "", resource);
	for (const struct anchor *at = resource->anchors; at && env; at = at->next) {
		if (at->dynamic && !env_get(env, at->name))
			env = env_with(compiler, env, at->name, resource);
	}
	return env;
}

/* ---- nodes ---- */

static void place_write(const struct node *node, unsigned left, struct buf *out)
{
	if (!node->parent)
		return;
	if (left == 0) {
		buf_str(out, "/...");
		return;
	}
	place_write(node->parent, left - 1, out);
	buf_char(out, '/');
	term_line(node->step.text, node->step.len, STEP_SHOWN, out);
	if (node->member.text) {
		buf_char(out, '/');
		term_line(node->member.text, node->member.len, STEP_SHOWN, out);
	}
}

int compile_fail(struct compiler *compiler, const struct node *node, const char *word, const char *sentence)
{
	own(buf_done) struct buf place = {0};

	place_write(node, STEPS_SHOWN, &place);
	return err_set(compiler->err, ERR_USAGE, "#%s%s%s: %s", buf_text(&place), word ? "/" : "", word ? word : "", sentence);
}

int compile_fail_inner(struct compiler *compiler, const struct node *node, const char *word)
{
	struct err inner = *compiler->err;
	int code = inner.code;

	(void)compile_fail(compiler, node, word, inner.text);
	compiler->err->code = code;
	return -1;
}

static struct job *job_find(struct compiler *compiler, const struct value *value, const struct env *env, unsigned *ret_bucket)
{
	uintptr_t hash = ((uintptr_t)value >> 4) * 31 + ((uintptr_t)env >> 4);

	*ret_bucket = (unsigned)(hash * 2654435761u >> 9) % NODE_BUCKETS;
	struct job *at = compiler->buckets[*ret_bucket];
	while (at && (at->value != value || at->env != env))
		at = at->same_bucket;
	return at;
}

struct node *compile_node(struct compiler *compiler, const struct value *value, struct resource *resource,
	const struct env *env, const struct node *parent, struct node_key step, struct node_key member)
{
	struct schema *schema = compiler->schema;
	struct resource *own_resource = resource_of(&compiler->resources, value);
	unsigned bucket;

	if (own_resource && own_resource != resource) {
		resource = own_resource;
		env = env_enter(compiler, env, resource);
		if (!env)
			return NULL;
	}
	struct job *job = job_find(compiler, value, env, &bucket);
	if (job)
		return job->node;
	if (schema->node_count >= SCHEMA_NODES_MAX) {
		(void)err_set(compiler->err, ERR_LIMIT, "it has more than %zu parts", SCHEMA_NODES_MAX);
		return NULL;
	}
	job = arena_zeroed(&schema->arena, 1, sizeof(*job));
	struct node *node = arena_zeroed(&schema->arena, 1, sizeof(*node));
	*node = (struct node){.id = (uint32_t)schema->node_count, .types = TYPE_ANY, .parent = parent, .step = step, .member = member};
	*job = (struct job){.value = value, .env = env, .resource = resource, .node = node, .same_bucket = compiler->buckets[bucket]};
	compiler->buckets[bucket] = job;
	*compiler->last = job;
	compiler->last = &job->next;
	if ((schema->node_count & (schema->node_count - 1)) == 0)
		schema->nodes = xrealloc(schema->nodes, schema->node_count ? schema->node_count * 2 : 1, sizeof(*schema->nodes));
	schema->nodes[schema->node_count++] = node;
	return node;
}

struct node *compile_reference(struct compiler *compiler, struct job *job, const struct value *value, enum keyword_id id)
{
	struct target target;
	const char *word = keywords[id].name;

	if (resources_resolve(&compiler->resources, job->resource, value->text, &target, compiler->err) < 0)
		return NULL;
	struct resource *meant = NULL;
	if (id == KEYWORD_DYNAMIC_REF && target.anchor && target.anchor->dynamic)
		meant = env_get(env_enter(compiler, job->env, target.resource), target.anchor->name);
	if (id == KEYWORD_RECURSIVE_REF && target.resource->recursive && target.value == target.resource->root)
		meant = env_get(env_enter(compiler, job->env, target.resource), "");
	if (meant) {
		target.resource = meant;
		target.value = id == KEYWORD_DYNAMIC_REF ? resource_anchor(meant, target.anchor->name)->value : meant->root;
	}
	if (target.value->kind != VALUE_MAP && target.value->kind != VALUE_BOOL) {
		(void)err_set(compiler->err, ERR_USAGE, "the reference leads to what is no schema");
		return NULL;
	}
	const struct env *env = env_enter(compiler, job->env, target.resource);
	return env ? compile_node(compiler, target.value, target.resource, env, job->node, KEY(word), (struct node_key){0}) : NULL;
}

static int job_do(struct compiler *compiler, struct job *job)
{
	const struct value *value = job->value;
	const struct dialect *dialect = &job->resource->dialect;
	bool only_ref = dialect->draft == SCHEMA_07 && value->kind == VALUE_MAP && value_get(value, "$ref");

	if (value->kind == VALUE_BOOL) {
		job->node->never = !value->truth;
		return 0;
	}
	if (value->kind != VALUE_MAP)
		return compile_fail(compiler, job->node, NULL, "it must be a schema: an object, true or false");
	for (size_t i = 0; i < value->count; i++) {
		enum keyword_id id = keyword_find(value->keys[i], value->key_lens[i], dialect->draft);
		if (id == KEYWORD_COUNT || (only_ref && id != KEYWORD_REF) ||
			!(keywords[id].vocabulary & (dialect->vocabularies | VOCABULARY_CORE)))
			continue;
		const char *wrong = shape_wrong(keyword_shape(id, dialect->draft), &value->items[i]);
		if (wrong) {
			char sentence[100];
			(void)snprintf(sentence, sizeof(sentence), "it must be %s", wrong);
			return compile_fail(compiler, job->node, keywords[id].name, sentence);
		}
		if (compile_keyword(compiler, job, id, &value->items[i]) < 0)
			return -1;
	}
	return compile_finish(compiler, job);
}

/* ---- loops ---- */

struct visit {
	struct node *node;
	size_t next;
};

/* The index-th place for a node that looks at the same value as this one; NULL where the place is empty. False when
 * there are no more. */
static bool same_value_edge(const struct node *node, size_t index, struct node **ret)
{
	static const struct logic_rules no_logic;
	const struct logic_rules *logic = node->logic ? node->logic : &no_logic;
	const struct node_list *lists[] = {&logic->all, &logic->any, &logic->one};
	struct node *const single[] = {node->refs[0].node, node->refs[1].node, logic->not, logic->if_, logic->then_, logic->else_};

	if (index < ARRAY_LEN(single)) {
		*ret = single[index];
		return true;
	}
	index -= ARRAY_LEN(single);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (index < lists[i]->count) {
			*ret = lists[i]->nodes[index];
			return true;
		}
		index -= lists[i]->count;
	}
	if (!node->map || index >= node->map->dependency_count)
		return false;
	*ret = node->map->dependencies[index].node;
	return true;
}

/* A node that comes back to itself without going into the value would be checked forever. */
static bool loop_from(struct compiler *compiler, struct node *root)
{
	own(buf_done) struct buf stack = {0};
	struct visit first = {root, 0};
	unsigned char *state = compiler->loop_state; /* 0 new, 1 on the stack, 2 done */

	if (state[root->id])
		return false;
	buf_add(&stack, &first, sizeof(first));
	state[root->id] = 1;
	while (stack.len) {
		struct visit *top = (struct visit *)(void *)(stack.data + stack.len - sizeof(*top));
		struct node *next;
		if (!same_value_edge(top->node, top->next++, &next)) {
			state[top->node->id] = 2;
			stack.len -= sizeof(*top);
		} else if (next && state[next->id] == 1) {
			(void)compile_fail(compiler, next, NULL,
				"it refers to itself without going into the value, so no check of it would ever end");
			return true;
		} else if (next && !state[next->id]) {
			struct visit visit = {next, 0};
			state[next->id] = 1;
			buf_add(&stack, &visit, sizeof(visit));
		}
	}
	return false;
}

static int loops_refuse(struct compiler *compiler)
{
	own(freep) unsigned char *state = xcalloc(compiler->schema->node_count, 1);

	compiler->loop_state = state;
	for (size_t i = 0; i < compiler->schema->node_count; i++) {
		if (loop_from(compiler, compiler->schema->nodes[i]))
			return -1;
	}
	return 0;
}

/* ---- the whole ---- */

static int compile(struct compiler *compiler, const struct value *value)
{
	const struct schema_options *options = compiler->resources.options;
	struct resource *root = resources_add(&compiler->resources, options && options->uri ? options->uri : "", value,
		options ? options->draft : SCHEMA_2020_12, compiler->err);
	const struct env *env = root ? env_with(compiler, NULL, "\n", NULL) : NULL; /* never empty, and names nothing */

	if (!env)
		return err_wrap(compiler->err, "#");
	env = env_enter(compiler, env, root);
	compiler->schema->root = env ? compile_node(compiler, value, root, env, NULL, (struct node_key){0}, (struct node_key){0}) : NULL;
	if (!compiler->schema->root)
		return -1;
	for (struct job *job = compiler->jobs; job; job = job->next) {
		if (job_do(compiler, job) < 0)
			return -1;
	}
	return loops_refuse(compiler);
}

struct schema *schema_open(const struct value *value, const struct schema_options *options, struct err *err)
{
	own(schema_freep) struct schema *schema = xcalloc(1, sizeof(*schema));
	own(freep) struct compiler *compiler = xcalloc(1, sizeof(*compiler));

	compiler->schema = schema;
	compiler->err = err;
	compiler->last = &compiler->jobs;
	compiler->resources.schema = schema;
	compiler->resources.options = options;
	return compile(compiler, value) < 0 ? NULL : ptr_take(&schema);
}

struct schema *schema_read(const char *text, size_t len, const char *name, const struct schema_options *options, struct err *err)
{
	own(value_done) struct value value = {0};

	if (json_read(text, len, &schema_text_limits, name, &value, err) < 0)
		return NULL;
	own(freep) struct value *kept = xcalloc(1, sizeof(*kept));
	*kept = value;
	struct schema *schema = schema_open(kept, options, err);
	if (!schema)
		return NULL;
	schema->owned = ptr_take(&kept);
	value = (struct value){0};
	return schema;
}

struct schema *schema_free(struct schema *schema)
{
	if (!schema)
		return NULL;
	for (size_t i = 0; i < schema->pattern_count; i++)
		pattern_free(schema->patterns[i]);
	for (size_t i = 0; i < schema->meta_count; i++)
		value_done(&schema->metas[i]);
	if (schema->owned)
		value_done(schema->owned);
	free(schema->owned);
	free(schema->patterns);
	free(schema->nodes);
	arena_done(&schema->arena);
	free(schema);
	return NULL;
}

void schema_freep(struct schema **schema)
{
	*schema = schema_free(*schema);
}
