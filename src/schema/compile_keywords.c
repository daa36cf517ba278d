#include <stdio.h>
#include <string.h>

#include "schema/compile_private.h"

#define PATTERNS_MAX 4096u
#define PATTERN_BYTES_MAX ((size_t)32 << 20)

/* ---- the parts of a node that are made when needed ---- */

static struct number_rules *number_rules(struct compiler *compiler, struct node *node)
{
	if (!node->number)
		node->number = arena_zeroed(&compiler->schema->arena, 1, sizeof(*node->number));
	return node->number;
}

static struct text_rules *text_rules(struct compiler *compiler, struct node *node)
{
	if (!node->text) {
		node->text = arena_zeroed(&compiler->schema->arena, 1, sizeof(*node->text));
		node->text->max = NODE_NO_MAX;
	}
	return node->text;
}

static struct list_rules *list_rules(struct compiler *compiler, struct node *node)
{
	if (!node->list) {
		node->list = arena_zeroed(&compiler->schema->arena, 1, sizeof(*node->list));
		*node->list = (struct list_rules){.max = NODE_NO_MAX, .max_contains = NODE_NO_MAX, .min_contains = 1};
	}
	return node->list;
}

static struct map_rules *map_rules(struct compiler *compiler, struct node *node)
{
	if (!node->map) {
		node->map = arena_zeroed(&compiler->schema->arena, 1, sizeof(*node->map));
		node->map->max = NODE_NO_MAX;
	}
	return node->map;
}

static struct logic_rules *logic_rules(struct compiler *compiler, struct node *node)
{
	if (!node->logic)
		node->logic = arena_zeroed(&compiler->schema->arena, 1, sizeof(*node->logic));
	return node->logic;
}

/* ---- schemas inside ---- */

static struct node *child(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value,
	struct node_key member)
{
	return compile_node(compiler, value, job->resource, job->env, job->node, KEY(keywords[id].name), member);
}

static int child_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value, struct node **slot)
{
	*slot = child(compiler, job, id, value, (struct node_key){0});
	return *slot ? 0 : -1;
}

static int list_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value, struct node_list *list)
{
	struct arena *arena = &compiler->schema->arena;

	list->nodes = arena_zeroed(arena, value->count, sizeof(*list->nodes));
	for (; list->count < value->count; list->count++) {
		char number[24];
		int len = snprintf(number, sizeof(number), "%zu", list->count);
		struct node_key member = {arena_text(arena, number, (size_t)len), (size_t)len};
		list->nodes[list->count] = child(compiler, job, id, &value->items[list->count], member);
		if (!list->nodes[list->count])
			return -1;
	}
	return 0;
}

static int property_compare(const void *a, const void *b)
{
	const struct node_property *left = a, *right = b;

	if (left->key.len != right->key.len)
		return left->key.len < right->key.len ? -1 : 1;
	return memcmp(left->key.text, right->key.text, left->key.len);
}

static int properties_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct map_rules *rules = map_rules(compiler, job->node);

	rules->properties = arena_zeroed(&compiler->schema->arena, value->count, sizeof(*rules->properties));
	for (size_t i = 0; i < value->count; i++) {
		struct node_key key = {value->keys[i], value->key_lens[i]};
		struct node *node = child(compiler, job, id, &value->items[i], key);
		if (!node)
			return -1;
		rules->properties[i] = (struct node_property){key, node};
	}
	rules->property_count = value->count;
	qsort(rules->properties, value->count, sizeof(*rules->properties), property_compare);
	return 0;
}

static const struct pattern *pattern_make(struct compiler *compiler, struct job *job, enum keyword_id id, struct node_key text)
{
	struct schema *schema = compiler->schema;

	if (schema->pattern_count >= PATTERNS_MAX || compiler->pattern_bytes > PATTERN_BYTES_MAX) {
		(void)compile_fail(compiler, job->node, keywords[id].name, "there are more or larger patterns than are taken");
		compiler->err->code = ERR_LIMIT;
		return NULL;
	}
	struct pattern *pattern = pattern_open(text.text, text.len, &schema->arena, compiler->err);
	if (!pattern) {
		(void)err_wrap(compiler->err, "it is no regular expression that can be matched here");
		(void)compile_fail_inner(compiler, job->node, keywords[id].name);
		return NULL;
	}
	if ((schema->pattern_count & (schema->pattern_count - 1)) == 0)
		schema->patterns = xrealloc(schema->patterns, schema->pattern_count ? schema->pattern_count * 2 : 1,
			sizeof(*schema->patterns));
	schema->patterns[schema->pattern_count++] = pattern;
	compiler->pattern_bytes += pattern_size(pattern);
	return pattern;
}

static int patterns_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct map_rules *rules = map_rules(compiler, job->node);

	rules->patterns = arena_zeroed(&compiler->schema->arena, value->count, sizeof(*rules->patterns));
	for (size_t i = 0; i < value->count; i++) {
		struct node_key key = {value->keys[i], value->key_lens[i]};
		const struct pattern *pattern = pattern_make(compiler, job, id, key);
		struct node *node = pattern ? child(compiler, job, id, &value->items[i], key) : NULL;
		if (!node)
			return -1;
		rules->patterns[i] = (struct node_pattern){pattern, node};
	}
	rules->pattern_count = value->count;
	return 0;
}

static struct node_key *keys_copy(struct compiler *compiler, const struct value *list)
{
	struct node_key *keys = arena_zeroed(&compiler->schema->arena, list->count, sizeof(*keys));

	for (size_t i = 0; i < list->count; i++)
		keys[i] = (struct node_key){list->items[i].text, list->items[i].len};
	return keys;
}

/* dependentSchemas, dependentRequired and dependencies: the members' kinds tell them apart. */
static int dependencies_add(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct map_rules *rules = map_rules(compiler, job->node);
	struct node_dependency *old = rules->dependencies;

	rules->dependencies = arena_zeroed(
		&compiler->schema->arena, rules->dependency_count + value->count, sizeof(*rules->dependencies));
	if (rules->dependency_count)
		memcpy(rules->dependencies, old, rules->dependency_count * sizeof(*old));
	for (size_t i = 0; i < value->count; i++) {
		struct node_dependency *made = &rules->dependencies[rules->dependency_count];
		*made = (struct node_dependency){.key = {value->keys[i], value->key_lens[i]}, .word = keywords[id].name};
		if (value->items[i].kind == VALUE_LIST) {
			made->needs = keys_copy(compiler, &value->items[i]);
			made->need_count = value->items[i].count;
		} else {
			made->node = child(compiler, job, id, &value->items[i], made->key);
			if (!made->node)
				return -1;
		}
		rules->dependency_count++;
	}
	return 0;
}

/* ---- assertions ---- */

static int types_set(struct compiler *compiler, struct job *job, const struct value *value)
{
	static const struct {
		const char *name;
		unsigned type;
	} names[] = {
		{"null", TYPE_NULL}, {"boolean", TYPE_BOOL}, {"integer", TYPE_WHOLE}, {"number", TYPE_NUMBER},
		{"string", TYPE_TEXT}, {"array", TYPE_LIST}, {"object", TYPE_MAP},
	};
	const struct value *list = value->kind == VALUE_LIST ? value->items : value;
	size_t count = value->kind == VALUE_LIST ? value->count : 1;

	job->node->types = 0;
	for (size_t i = 0; i < count; i++) {
		unsigned type = 0;
		for (size_t j = 0; j < ARRAY_LEN(names); j++)
			type |= strcmp(names[j].name, list[i].text) == 0 ? names[j].type : 0;
		if (!type)
			return compile_fail(compiler, job->node, "type",
				"it must be null, boolean, integer, number, string, array or object");
		job->node->types |= type;
	}
	return 0;
}

static void number_set(struct compiler *compiler, struct node *node, enum keyword_id id, const struct value *value)
{
	struct number_rules *rules = number_rules(compiler, node);
	struct number number;

	(void)number_parse(value->text, value->len, &number);
	if (id == KEYWORD_MINIMUM)
		rules->has_min = true, rules->min = number, rules->min_text = value->text;
	else if (id == KEYWORD_MAXIMUM)
		rules->has_max = true, rules->max = number, rules->max_text = value->text;
	else if (id == KEYWORD_EXCLUSIVE_MINIMUM)
		rules->has_above = true, rules->above = number, rules->above_text = value->text;
	else if (id == KEYWORD_EXCLUSIVE_MAXIMUM)
		rules->has_below = true, rules->below = number, rules->below_text = value->text;
	else
		rules->has_factor = true, rules->factor = number, rules->factor_text = value->text;
}

static void length_set(struct compiler *compiler, struct node *node, enum keyword_id id, const struct value *value)
{
	struct number number;
	int64_t small = 0;

	(void)number_parse(value->text, value->len, &number);
	uint64_t length = number_int(&number, &small) ? (uint64_t)small : NODE_NO_MAX - 1;
	switch (id) {
	case KEYWORD_MIN_LENGTH: text_rules(compiler, node)->min = length; break;
	case KEYWORD_MAX_LENGTH: text_rules(compiler, node)->max = length; break;
	case KEYWORD_MIN_ITEMS: list_rules(compiler, node)->min = length; break;
	case KEYWORD_MAX_ITEMS: list_rules(compiler, node)->max = length; break;
	case KEYWORD_MIN_CONTAINS: list_rules(compiler, node)->min_contains = length; break;
	case KEYWORD_MAX_CONTAINS: list_rules(compiler, node)->max_contains = length; break;
	case KEYWORD_MIN_PROPERTIES: map_rules(compiler, node)->min = length; break;
	default: map_rules(compiler, node)->max = length; break;
	}
}

static void describe(struct compiler *compiler, struct node *node, const struct value *value)
{
	own(buf_done) struct buf both = {0};

	if (node->description) {
		buf_fmt(&both, "%s %s", node->description, value->text);
		node->description = arena_text(&compiler->schema->arena, both.data, both.len);
	} else {
		node->description = value->text;
	}
}

/* `items` and its relatives, whose names and meanings changed. */
static int items_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct list_rules *rules = list_rules(compiler, job->node);

	if (id == KEYWORD_PREFIX_ITEMS || value->kind == VALUE_LIST) {
		rules->prefix_word = keywords[id].name;
		return list_set(compiler, job, id, value, &rules->prefix);
	}
	if (id == KEYWORD_ADDITIONAL_ITEMS) {
		const struct value *items = value_get(job->value, "items");
		if (!items || items->kind != VALUE_LIST)
			return 0; /* it says nothing then */
	}
	rules->items_word = keywords[id].name;
	return child_set(compiler, job, id, value, &rules->items);
}

static int reference_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct node_ref *slot = &job->node->refs[job->node->refs[0].node != NULL];

	*slot = (struct node_ref){keywords[id].name, compile_reference(compiler, job, value, id)};
	return slot->node ? 0 : compile_fail_inner(compiler, job->node, keywords[id].name);
}

static int text_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct node_key text = {value->text, value->len};

	text_rules(compiler, job->node)->pattern = pattern_make(compiler, job, id, text);
	return job->node->text->pattern ? 0 : -1;
}

static int logic_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct logic_rules *rules = logic_rules(compiler, job->node);

	switch (id) {
	case KEYWORD_ALL_OF: return list_set(compiler, job, id, value, &rules->all);
	case KEYWORD_ANY_OF: return list_set(compiler, job, id, value, &rules->any);
	case KEYWORD_ONE_OF: return list_set(compiler, job, id, value, &rules->one);
	case KEYWORD_IF: return child_set(compiler, job, id, value, &rules->if_);
	case KEYWORD_THEN: return child_set(compiler, job, id, value, &rules->then_);
	case KEYWORD_ELSE: return child_set(compiler, job, id, value, &rules->else_);
	default: return child_set(compiler, job, id, value, &rules->not);
	}
}

static int unevaluated_set(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct node **slot = id == KEYWORD_UNEVALUATED_ITEMS ? &list_rules(compiler, job->node)->unevaluated
							      : &map_rules(compiler, job->node)->unevaluated;

	job->node->unevaluated = true;
	return child_set(compiler, job, id, value, slot);
}

int compile_keyword(struct compiler *compiler, struct job *job, enum keyword_id id, const struct value *value)
{
	struct node *node = job->node;

	switch (id) {
	case KEYWORD_REF: case KEYWORD_DYNAMIC_REF: case KEYWORD_RECURSIVE_REF:
		return reference_set(compiler, job, id, value);
	case KEYWORD_PREFIX_ITEMS: case KEYWORD_ITEMS: case KEYWORD_ADDITIONAL_ITEMS:
		return items_set(compiler, job, id, value);
	case KEYWORD_CONTAINS:
		list_rules(compiler, node)->contains_evaluates = job->resource->dialect.draft == SCHEMA_2020_12;
		return child_set(compiler, job, id, value, &node->list->contains);
	case KEYWORD_PROPERTIES: return properties_set(compiler, job, id, value);
	case KEYWORD_PATTERN_PROPERTIES: return patterns_set(compiler, job, id, value);
	case KEYWORD_ADDITIONAL_PROPERTIES: return child_set(compiler, job, id, value, &map_rules(compiler, node)->additional);
	case KEYWORD_PROPERTY_NAMES: return child_set(compiler, job, id, value, &map_rules(compiler, node)->names);
	case KEYWORD_DEPENDENT_SCHEMAS: case KEYWORD_DEPENDENT_REQUIRED: case KEYWORD_DEPENDENCIES:
		return dependencies_add(compiler, job, id, value);
	case KEYWORD_IF: case KEYWORD_THEN: case KEYWORD_ELSE: case KEYWORD_ALL_OF: case KEYWORD_ANY_OF: case KEYWORD_ONE_OF:
	case KEYWORD_NOT:
		return logic_set(compiler, job, id, value);
	case KEYWORD_UNEVALUATED_ITEMS: case KEYWORD_UNEVALUATED_PROPERTIES:
		return unevaluated_set(compiler, job, id, value);
	case KEYWORD_TYPE: return types_set(compiler, job, value);
	case KEYWORD_CONST: node->const_ = value; break;
	case KEYWORD_ENUM: node->enum_ = value; break;
	case KEYWORD_MULTIPLE_OF: case KEYWORD_MAXIMUM: case KEYWORD_EXCLUSIVE_MAXIMUM: case KEYWORD_MINIMUM:
	case KEYWORD_EXCLUSIVE_MINIMUM:
		number_set(compiler, node, id, value);
		break;
	case KEYWORD_MAX_LENGTH: case KEYWORD_MIN_LENGTH: case KEYWORD_MAX_ITEMS: case KEYWORD_MIN_ITEMS:
	case KEYWORD_MAX_CONTAINS: case KEYWORD_MIN_CONTAINS: case KEYWORD_MAX_PROPERTIES: case KEYWORD_MIN_PROPERTIES:
		length_set(compiler, node, id, value);
		break;
	case KEYWORD_PATTERN: return text_set(compiler, job, id, value);
	case KEYWORD_UNIQUE_ITEMS: list_rules(compiler, node)->unique = value->truth; break;
	case KEYWORD_REQUIRED:
		map_rules(compiler, node)->required = keys_copy(compiler, value);
		node->map->required_count = value->count;
		break;
	case KEYWORD_TITLE: case KEYWORD_DESCRIPTION: describe(compiler, node, value); break;
	case KEYWORD_DEFAULT: node->fallback = value; break;
	case KEYWORD_EXAMPLES: node->examples = value; break;
	case KEYWORD_FORMAT:
		node->format = format_find(value->text, value->len);
		node->assert_format = job->resource->dialect.assert_format;
		break;
	default: break; /* remarks, and what resources were made from */
	}
	return 0;
}

int compile_finish(struct compiler *compiler, struct job *job)
{
	(void)compiler;
	if (job->node->logic && !job->node->logic->if_)
		job->node->logic->then_ = job->node->logic->else_ = NULL;
	return 0;
}
