#include "schema/shape.h"

#include <string.h>

#include "schema/shape_private.h"

#define BUILD_DEPTH_MAX 200u
#define GOAL_MAX 4000u /* literals */

literal literal_make(const struct node *node, enum part part, enum sign sign, uint32_t argument)
{
	return (uint64_t)node->id << 40 | (uint64_t)part << 34 | (uint64_t)sign << 32 | argument;
}

const struct node *literal_node(const struct shapes *shapes, literal it)
{
	return shapes->schema->nodes[it >> 40];
}

enum part literal_part(literal it)
{
	return (enum part)(it >> 34 & 63);
}

enum sign literal_sign(literal it)
{
	return (enum sign)(it >> 32 & 3);
}

uint32_t literal_argument(literal it)
{
	return (uint32_t)it;
}

/* ---- opening goals out ---- */

struct opening {
	struct shapes *shapes;
	struct shape *shape;
	struct buf queue; /* literals still to be looked at */
	size_t next;
	struct buf terms;
	struct buf branches; /* of the first alternative that is open */
	bool open, dead;
};

static void opening_done(struct opening *opening)
{
	buf_done(&opening->queue);
	buf_done(&opening->terms);
	buf_done(&opening->branches);
}

static void push(struct opening *opening, literal it)
{
	const literal *queue = (const literal *)(const void *)opening->queue.data;
	size_t count = opening->queue.len / sizeof(it);

	if (count > GOAL_MAX) {
		opening->dead = true;
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (queue[i] == it)
			return;
	}
	buf_add(&opening->queue, &it, sizeof(it));
}

/* The argument of the choice that was made of this part of the node; false if none was. */
static bool chosen(const struct opening *opening, const struct node *node, enum part part, uint32_t *ret)
{
	literal mask = literal_make(node, part, HOLDS, 0);

	for (size_t i = 0; i < opening->shape->goal_count; i++) {
		if (opening->shape->goal[i] >> 34 == mask >> 34) {
			*ret = literal_argument(opening->shape->goal[i]);
			return true;
		}
	}
	return false;
}

static void branch_add(struct opening *opening, literal added, unsigned height)
{
	struct branch branch = {.added = added, .height = height};

	buf_add(&opening->branches, &branch, sizeof(branch));
}

static unsigned height_of(const struct opening *opening, const struct node *node)
{
	return node ? opening->shapes->heights[node->id] : 0;
}

/* anyOf or oneOf. */
static void open_choice(struct opening *opening, const struct node *node, const struct node_list *list, enum part part)
{
	uint32_t which;

	if (!list->nodes)
		return;
	if (!chosen(opening, node, part, &which)) {
		for (size_t i = 0; !opening->open && i < list->count; i++)
			branch_add(opening, literal_make(node, part, HOLDS, (uint32_t)i), height_of(opening, list->nodes[i]));
		opening->open = true;
		return;
	}
	push(opening, literal_make(list->nodes[which], PART_NODE, HOLDS, 0));
	for (size_t i = 0; part == PART_ONE && opening->shape->strict && i < list->count; i++) {
		if (i != which)
			push(opening, literal_make(list->nodes[i], PART_NODE, BROKEN, 0));
	}
}

static void open_if(struct opening *opening, const struct node *node, const struct logic_rules *logic)
{
	uint32_t which;

	if (!logic->if_ || (!logic->then_ && !logic->else_ && !node->unevaluated))
		return;
	if (!chosen(opening, node, PART_IF, &which)) {
		for (uint32_t i = 0; !opening->open && i < 2; i++)
			branch_add(opening, literal_make(node, PART_IF, HOLDS, i), height_of(opening, i ? logic->else_ : logic->then_));
		opening->open = true;
		return;
	}
	push(opening, literal_make(logic->if_, PART_NODE, which ? BROKEN : HOLDS, 0));
	if (which ? logic->else_ : logic->then_)
		push(opening, literal_make(which ? logic->else_ : logic->then_, PART_NODE, HOLDS, 0));
}

/* A schema that holds if a key is there: with the key, or without it. */
static void open_dependencies(struct opening *opening, const struct node *node, struct broken but)
{
	const struct map_rules *map = node->map;

	for (size_t i = 0; i < map->dependency_count; i++) {
		bool made = false, there = false;
		if (!map->dependencies[i].node || (but.part == PART_DEPENDENT && but.argument == i))
			continue;
		for (size_t j = 0; j < opening->shape->goal_count && !made; j++) {
			literal it = opening->shape->goal[j];
			made = literal_node(opening->shapes, it) == node && literal_part(it) == PART_DEPENDENCY &&
				literal_argument(it) / 2 == i;
			there = literal_argument(it) & 1;
		}
		if (!made) {
			for (uint32_t j = 0; !opening->open && j < 2; j++)
				branch_add(opening, literal_make(node, PART_DEPENDENCY, HOLDS, (uint32_t)i * 2 + j),
					j ? height_of(opening, map->dependencies[i].node) : 0);
			opening->open = true;
			return;
		}
		push(opening, literal_make(node, PART_KEY, there ? HOLDS : BROKEN, (uint32_t)i));
		if (there)
			push(opening, literal_make(map->dependencies[i].node, PART_NODE, HOLDS, 0));
	}
}

/* All of a node that looks at the same value, but for the part that is broken. */
static void open_holding(struct opening *opening, const struct node *node, struct broken but)
{
	static const struct logic_rules no_logic;
	const struct logic_rules *logic = node->logic ? node->logic : &no_logic;

	if (node->never && but.part != PART_TYPE)
		opening->dead = true;
	for (size_t i = 0; i < ARRAY_LEN(node->refs); i++) {
		if (node->refs[i].node && !(but.part == PART_REF && but.argument == i))
			push(opening, literal_make(node->refs[i].node, PART_NODE, HOLDS, 0));
	}
	for (size_t i = 0; i < logic->all.count; i++) {
		if (!(but.part == PART_ALL_OF && but.argument == i))
			push(opening, literal_make(logic->all.nodes[i], PART_NODE, HOLDS, 0));
	}
	if (logic->not && but.part != PART_NOT)
		push(opening, literal_make(logic->not, PART_NODE, BROKEN, 0));
	if (but.part != PART_ANY_OF)
		open_choice(opening, node, &logic->any, PART_ANY);
	if (but.part != PART_ONE_OF)
		open_choice(opening, node, &logic->one, PART_ONE);
	if (but.part != PART_THEN && but.part != PART_ELSE)
		open_if(opening, node, logic);
	if (node->map)
		open_dependencies(opening, node, but);
}

static void open_broken(struct opening *opening, const struct node *node, enum sign sign)
{
	enum part choice = sign == BROKEN ? PART_BREAK : PART_BREAK_ONLY;
	struct broken parts[PARTS_MAX];
	literal literals[PARTS_MAX + 2];
	size_t count = node_parts(node, parts);
	uint32_t which;

	if (!count) {
		opening->dead = true; /* what holds for everything cannot be broken */
		return;
	}
	if (!chosen(opening, node, choice, &which)) {
		for (size_t i = 0; !opening->open && i < count; i++)
			branch_add(opening, literal_make(node, choice, HOLDS, (uint32_t)i), 0);
		opening->open = true;
		return;
	}
	struct term term = {.node = node, .breaks = true, .broken = parts[which], .holds = sign == BROKEN_ONCE};
	count = broken_literals(node, parts[which], sign, literals);
	for (size_t i = 0; i < count; i++)
		push(opening, literals[i]);
	if (term.holds)
		open_holding(opening, node, parts[which]);
	buf_add(&opening->terms, &term, sizeof(term));
}

static void open_literal(struct opening *opening, literal it)
{
	const struct node *node = literal_node(opening->shapes, it);

	if (literal_part(it) != PART_NODE)
		return;
	if (literal_sign(it) != HOLDS) {
		open_broken(opening, node, literal_sign(it));
		return;
	}
	struct term term = {.node = node, .holds = true};
	buf_add(&opening->terms, &term, sizeof(term));
	open_holding(opening, node, (struct broken){PART_NODE, 0});
}

/* ---- goals ---- */

struct shape *shape_branch(struct shapes *shapes, struct shape *shape, size_t index)
{
	struct branch *branch = &shape->branches[index];

	if (branch->dead)
		return NULL;
	if (!branch->next) {
		own(freep) literal *longer = xcalloc(shape->goal_count + 1, sizeof(*longer));
		memcpy(longer, shape->goal, shape->goal_count * sizeof(*longer));
		longer[shape->goal_count] = branch->added;
		branch->next = shape_get(shapes, longer, shape->goal_count + 1, shape->strict);
		branch->dead = !branch->next || branch->next->dead;
	}
	return branch->dead ? NULL : branch->next;
}

/* A goal is dead if all of its branches are. Looking stops at the first that is not. */
static void branches_set(struct shapes *shapes, struct shape *shape, const struct opening *opening)
{
	shape->branch_count = opening->branches.len / sizeof(*shape->branches);
	shape->branches = (struct branch *)(void *)arena_text(&shapes->arena, buf_text(&opening->branches), opening->branches.len);
	for (size_t i = 0; i < shape->branch_count; i++) {
		if (shape->branches[i].height == HEIGHT_NEVER)
			shape->branches[i].dead = true;
	}
	for (size_t i = 0; i < shape->branch_count; i++) {
		if (shape_branch(shapes, shape, i))
			return;
	}
	shape->dead = true;
}

/* Keys that have to be there or not are terms' business too; they are found again in the goal's open literals. */
static void shape_build(struct shapes *shapes, struct shape *shape)
{
	own(opening_done) struct opening opening = {.shapes = shapes, .shape = shape};

	for (size_t i = 0; i < shape->goal_count; i++)
		push(&opening, shape->goal[i]);
	for (; !opening.dead && opening.next < opening.queue.len / sizeof(literal); opening.next++)
		open_literal(&opening, ((const literal *)(const void *)opening.queue.data)[opening.next]);
	if (opening.dead) {
		shape->dead = true;
		return;
	}
	shape->term_count = opening.terms.len / sizeof(struct term);
	shape->terms = (struct term *)(void *)arena_text(&shapes->arena, buf_text(&opening.terms), opening.terms.len);
	shape->opened = (literal *)(void *)arena_text(&shapes->arena, buf_text(&opening.queue), opening.queue.len);
	shape->opened_count = opening.queue.len / sizeof(literal);
	for (size_t i = 0; i < shape->term_count; i++) {
		unsigned height = shape->terms[i].holds ? shapes->heights[shape->terms[i].node->id] : 0;
		shape->height = height > shape->height ? height : shape->height;
	}
	if (opening.open)
		branches_set(shapes, shape, &opening);
	else
		shape_merge(shapes, shape);
}

static int literal_compare(const void *a, const void *b)
{
	literal left = *(const literal *)a, right = *(const literal *)b;

	return (left > right) - (left < right);
}

static size_t goal_sort(literal *goal, size_t count)
{
	size_t kept = 0;

	qsort(goal, count, sizeof(*goal), literal_compare);
	for (size_t i = 0; i < count; i++) {
		if (!kept || goal[kept - 1] != goal[i])
			goal[kept++] = goal[i];
	}
	return kept;
}

struct shape *shape_get(struct shapes *shapes, const literal *literals, size_t count, bool strict)
{
	own(freep) literal *goal = xcalloc(count + 1, sizeof(*goal));
	uint64_t hash = strict;

	if (count)
		memcpy(goal, literals, count * sizeof(*goal));
	count = goal_sort(goal, count);
	for (size_t i = 0; i < count; i++)
		hash = (hash ^ goal[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 31;
	for (struct shape *at = shapes->buckets[hash % SHAPE_BUCKETS]; at; at = at->same_bucket) {
		if (at->hash == hash && at->goal_count == count && at->strict == strict &&
			memcmp(at->goal, goal, count * sizeof(*goal)) == 0)
			return at;
	}
	if (shapes->count >= SHAPES_MAX || shapes->depth >= BUILD_DEPTH_MAX)
		return NULL;
	struct shape *shape = arena_zeroed(&shapes->arena, 1, sizeof(*shape));
	shape->goal = (literal *)(void *)arena_text(&shapes->arena, (const char *)goal, count * sizeof(*goal));
	shape->goal_count = count;
	shape->strict = strict;
	shape->hash = hash;
	shape->same_bucket = shapes->buckets[hash % SHAPE_BUCKETS];
	shapes->buckets[hash % SHAPE_BUCKETS] = shape;
	shapes->count++;
	shapes->depth++;
	shape->building = true;
	shape_build(shapes, shape);
	shape->building = false;
	shapes->depth--;
	return shape;
}

bool shape_fits(struct shapes *shapes, const struct shape *shape, const struct value *value)
{
	for (size_t i = 0; i < shape->goal_count; i++) {
		literal it = shape->goal[i];
		if (literal_part(it) != PART_NODE)
			continue;
		enum schema_verdict verdict = node_check(literal_node(shapes, it), value, &shapes->scratch, &shapes->left);
		if (verdict != (literal_sign(it) == HOLDS ? SCHEMA_VALID : SCHEMA_INVALID))
			return false;
	}
	return true;
}

/* ---- heights ---- */

static unsigned above(unsigned height)
{
	return height == HEIGHT_NEVER ? height : height + 1;
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static unsigned list_height(const struct shapes *shapes, const struct list_rules *rules)
{
	unsigned height = 0;

	for (size_t i = 0; i < rules->prefix.count && i < rules->min; i++)
		height = larger(height, shapes->heights[rules->prefix.nodes[i]->id]);
	if (rules->items && rules->min > rules->prefix.count)
		height = larger(height, shapes->heights[rules->items->id]);
	if (rules->contains && rules->min_contains)
		height = larger(height, shapes->heights[rules->contains->id]);
	return above(height);
}

static unsigned map_height(const struct shapes *shapes, const struct map_rules *rules)
{
	unsigned height = 0;

	for (size_t i = 0; i < rules->required_count; i++) {
		const struct node_property *property = map_rules_find(rules, rules->required[i].text, rules->required[i].len);
		if (property)
			height = larger(height, shapes->heights[property->node->id]);
	}
	return above(height);
}

static unsigned lowest(const struct shapes *shapes, const struct node_list *list)
{
	unsigned height = list->nodes ? HEIGHT_NEVER : 0;

	for (size_t i = 0; i < list->count; i++)
		height = shapes->heights[list->nodes[i]->id] < height ? shapes->heights[list->nodes[i]->id] : height;
	return height;
}

/* A lower bound of how deep a value that fits must be. */
static unsigned node_height(const struct shapes *shapes, const struct node *node)
{
	unsigned height = HEIGHT_NEVER, inner;

	if (node->never)
		return HEIGHT_NEVER;
	if (node->types & ~(unsigned)(TYPE_LIST | TYPE_MAP))
		height = 0;
	if (node->types & TYPE_LIST && (inner = node->list ? list_height(shapes, node->list) : 1) < height)
		height = inner;
	if (node->types & TYPE_MAP && (inner = node->map ? map_height(shapes, node->map) : 1) < height)
		height = inner;
	for (size_t i = 0; i < ARRAY_LEN(node->refs) && node->refs[i].node; i++)
		height = larger(height, shapes->heights[node->refs[i].node->id]);
	if (node->logic) {
		for (size_t i = 0; i < node->logic->all.count; i++)
			height = larger(height, shapes->heights[node->logic->all.nodes[i]->id]);
		height = larger(height, lowest(shapes, &node->logic->any));
		height = larger(height, lowest(shapes, &node->logic->one));
	}
	return height;
}

/* From "never" down until nothing changes. Nodes are numbered as they are met, so going backwards needs few rounds;
 * whatever is still "never" after too many is taken to be finite after all. */
void heights_find(struct shapes *shapes)
{
	size_t count = shapes->schema->node_count;
	bool changed = true;
	int rounds = 0;

	shapes->heights = xcalloc(count, sizeof(*shapes->heights));
	for (size_t i = 0; i < count; i++)
		shapes->heights[i] = HEIGHT_NEVER;
	for (; changed && rounds < 200; rounds++) {
		changed = false;
		for (size_t i = count; i-- > 0;) {
			unsigned height = node_height(shapes, shapes->schema->nodes[i]);
			changed |= height != shapes->heights[i];
			shapes->heights[i] = height;
		}
	}
	for (size_t i = 0; changed && i < count; i++) {
		if (shapes->heights[i] == HEIGHT_NEVER && !shapes->schema->nodes[i]->never)
			shapes->heights[i] = HEIGHT_NEVER - 1;
	}
}

void shapes_init(struct shapes *shapes, const struct schema *schema)
{
	*shapes = (struct shapes){.schema = schema};
	heights_find(shapes);
}

void shapes_done(struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->format_pattern_count; i++)
		pattern_free(shapes->format_patterns[i]);
	free(shapes->format_patterns);
	free(shapes->heights);
	arena_done(&shapes->arena);
	arena_done(&shapes->scratch);
	*shapes = (struct shapes){0};
}
