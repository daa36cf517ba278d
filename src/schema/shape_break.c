#include "schema/shape_private.h"

struct parts {
	struct broken *list;
	size_t count;
};

static void add(struct parts *parts, bool is, enum part part, size_t argument)
{
	if (is && parts->count < PARTS_MAX)
		parts->list[parts->count++] = (struct broken){part, (uint32_t)argument};
}

static void add_each(struct parts *parts, size_t count, enum part part)
{
	for (size_t i = 0; i < count && i < PARTS_MAX; i++)
		add(parts, true, part, i);
}

static void number_parts(const struct number_rules *rules, struct parts *parts)
{
	add(parts, rules->has_min, PART_MIN, 0);
	add(parts, rules->has_max, PART_MAX, 0);
	add(parts, rules->has_above, PART_ABOVE, 0);
	add(parts, rules->has_below, PART_BELOW, 0);
	add(parts, rules->has_factor, PART_FACTOR, 0);
}

static void list_parts(const struct list_rules *rules, struct parts *parts)
{
	add(parts, rules->min > 0, PART_MIN_ITEMS, 0);
	add(parts, rules->max != NODE_NO_MAX, PART_MAX_ITEMS, 0);
	add(parts, rules->unique, PART_UNIQUE, 0);
	add_each(parts, rules->prefix.count, PART_PREFIX);
	add(parts, rules->items, PART_ITEMS, 0);
	add(parts, rules->contains && rules->min_contains > 0, PART_FEW_CONTAINED, 0);
	add(parts, rules->contains && rules->max_contains != NODE_NO_MAX, PART_MANY_CONTAINED, 0);
	add(parts, rules->unevaluated, PART_UNEVALUATED_ITEMS, 0);
}

static void map_parts(const struct map_rules *rules, struct parts *parts)
{
	add(parts, rules->min > 0, PART_MIN_MEMBERS, 0);
	add(parts, rules->max != NODE_NO_MAX, PART_MAX_MEMBERS, 0);
	add_each(parts, rules->required_count, PART_REQUIRED);
	add_each(parts, rules->property_count, PART_PROPERTY);
	add_each(parts, rules->pattern_count, PART_PATTERN_PROPERTY);
	add(parts, rules->additional, PART_ADDITIONAL, 0);
	add(parts, rules->names, PART_NAMES, 0);
	for (size_t i = 0; i < rules->dependency_count; i++)
		add(parts, true, rules->dependencies[i].node ? PART_DEPENDENT : PART_NEEDS, i);
	add(parts, rules->unevaluated, PART_UNEVALUATED_MEMBERS, 0);
}

static void logic_parts(const struct logic_rules *rules, struct parts *parts)
{
	add_each(parts, rules->all.count, PART_ALL_OF);
	add(parts, rules->any.count, PART_ANY_OF, 0);
	add(parts, rules->one.count, PART_ONE_OF, 0);
	for (size_t i = 0; i < rules->one.count && rules->one.count <= 8; i++) /* two of them hold */
		add(parts, rules->one.count > 1, PART_ONE_OF, i + 1);
	add(parts, rules->not, PART_NOT, 0);
	add(parts, rules->then_, PART_THEN, 0);
	add(parts, rules->else_, PART_ELSE, 0);
}

size_t node_parts(const struct node *node, struct broken *list)
{
	struct parts parts = {.list = list};

	if (node->never)
		add(&parts, true, PART_TYPE, 1); /* anything breaks it */
	add(&parts, node->types != TYPE_ANY, PART_TYPE, 0);
	add(&parts, node->const_, PART_CONST, 0);
	add(&parts, node->enum_, PART_ENUM, 0);
	if (node->number)
		number_parts(node->number, &parts);
	add(&parts, node->text && node->text->min > 0, PART_MIN_LENGTH, 0);
	add(&parts, node->text && node->text->max != NODE_NO_MAX, PART_MAX_LENGTH, 0);
	add(&parts, node->text && node->text->pattern, PART_PATTERN, 0);
	add(&parts, node->format && node->assert_format, PART_FORMAT, 0);
	for (size_t i = 0; i < ARRAY_LEN(node->refs); i++)
		add(&parts, node->refs[i].node, PART_REF, i);
	if (node->logic)
		logic_parts(node->logic, &parts);
	if (node->map)
		map_parts(node->map, &parts);
	if (node->list)
		list_parts(node->list, &parts);
	return parts.count;
}

size_t broken_literals(const struct node *node, struct broken broken, enum sign sign, literal *ret)
{
	const struct logic_rules *logic = node->logic;
	size_t count = 0;

	switch (broken.part) {
	case PART_REF:
		ret[count++] = literal_make(node->refs[broken.argument].node, PART_NODE, sign, 0);
		break;
	case PART_ALL_OF:
		ret[count++] = literal_make(logic->all.nodes[broken.argument], PART_NODE, sign, 0);
		break;
	case PART_ANY_OF:
		for (size_t i = 0; i < logic->any.count && count < PARTS_MAX; i++)
			ret[count++] = literal_make(logic->any.nodes[i], PART_NODE, BROKEN, 0);
		break;
	case PART_ONE_OF:
		if (broken.argument) {
			size_t first = broken.argument - 1;
			ret[count++] = literal_make(logic->one.nodes[first], PART_NODE, HOLDS, 0);
			ret[count++] = literal_make(logic->one.nodes[(first + 1) % logic->one.count], PART_NODE, HOLDS, 0);
			break;
		}
		for (size_t i = 0; i < logic->one.count && count < PARTS_MAX; i++)
			ret[count++] = literal_make(logic->one.nodes[i], PART_NODE, BROKEN, 0);
		break;
	case PART_NOT:
		ret[count++] = literal_make(logic->not, PART_NODE, HOLDS, 0);
		break;
	case PART_THEN:
		ret[count++] = literal_make(logic->if_, PART_NODE, HOLDS, 0);
		ret[count++] = literal_make(logic->then_, PART_NODE, sign, 0);
		break;
	case PART_ELSE:
		ret[count++] = literal_make(logic->if_, PART_NODE, BROKEN, 0);
		ret[count++] = literal_make(logic->else_, PART_NODE, sign, 0);
		break;
	case PART_DEPENDENT:
		ret[count++] = literal_make(node, PART_KEY, HOLDS, broken.argument);
		ret[count++] = literal_make(node->map->dependencies[broken.argument].node, PART_NODE, sign, 0);
		break;
	default:
		break;
	}
	return count;
}
