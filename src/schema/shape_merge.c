#include <string.h>

#include "schema/dict.h"
#include "schema/make.h"
#include "schema/shape_private.h"

#define GIVEN_SORTED_MAX 200 /* it is quadratic */
#define WHOLE_MAX ((int64_t)9007199254740991) /* where no bound is given */
#define SCALED_MAX ((int64_t)1 << 61)
#define SCALE_LEAST (-17)
#define HINTED_MAX 16
#define KEYS_MAX 100000u

static enum sign broken_sign(const struct term *term)
{
	return term->holds ? BROKEN_ONCE : BROKEN;
}

static bool breaks(const struct term *term, enum part part)
{
	return term->breaks && term->broken.part == part;
}

/* ---- types, given values ---- */

static unsigned part_types(enum part part)
{
	if (part >= PART_MIN && part <= PART_FACTOR)
		return TYPE_NUMBER;
	if (part >= PART_MIN_LENGTH && part <= PART_FORMAT)
		return TYPE_TEXT;
	if ((part >= PART_MIN_ITEMS && part <= PART_MANY_CONTAINED) || part == PART_UNEVALUATED_ITEMS)
		return TYPE_LIST;
	if ((part >= PART_MIN_MEMBERS && part <= PART_NEEDS) || part == PART_UNEVALUATED_MEMBERS || part == PART_DEPENDENT)
		return TYPE_MAP;
	return TYPE_ANY;
}

static void types_merge(struct shape *shape)
{
	shape->types = TYPE_ANY;
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		if (breaks(term, PART_TYPE))
			shape->types &= term->broken.argument ? TYPE_ANY : ~term->node->types;
		else if (term->holds)
			shape->types &= term->node->types;
		if (term->breaks)
			shape->types &= part_types(term->broken.part);
	}
}

static bool given_keep(struct shapes *shapes, struct shape *shape, const struct value *value, const struct value **list, size_t *count)
{
	if (!(shape->types & value_type(value)) || !shape_fits(shapes, shape, value))
		return false;
	list[(*count)++] = value;
	return true;
}

/* Shorter texts and numbers are simpler; else as they were listed. */
static void given_sort(struct shape *shape)
{
	for (size_t i = 1; i < shape->given_count; i++) {
		const struct value *value = shape->given[i];
		size_t at = i;
		for (; at > 0 && shape->given[at - 1]->kind == value->kind && shape->given[at - 1]->len > value->len; at--)
			shape->given[at] = shape->given[at - 1];
		shape->given[at] = value;
	}
}

/* enum and const: the shortest list, less what does not fit the whole. */
static void given_merge(struct shapes *shapes, struct shape *shape)
{
	const struct value *items = NULL;
	size_t count = SIZE_MAX;

	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		if (!term->holds)
			continue;
		if (term->node->const_ && !breaks(term, PART_CONST))
			items = term->node->const_, count = 1;
		if (term->node->enum_ && !breaks(term, PART_ENUM) && term->node->enum_->count < count)
			items = term->node->enum_->items, count = term->node->enum_->count;
	}
	if (count == SIZE_MAX)
		return;
	shape->has_given = true;
	shape->given = arena_zeroed(&shapes->arena, count, sizeof(*shape->given));
	for (size_t i = 0; i < count; i++)
		(void)given_keep(shapes, shape, &items[i], shape->given, &shape->given_count);
	if (shape->given_count <= GIVEN_SORTED_MAX)
		given_sort(shape);
}

static void hinted_merge(struct shapes *shapes, struct shape *shape)
{
	const struct value *list[HINTED_MAX];

	for (size_t i = 0; i < shape->term_count; i++) {
		const struct node *node = shape->terms[i].node;
		if (node->fallback && shape->hinted_count < HINTED_MAX)
			(void)given_keep(shapes, shape, node->fallback, list, &shape->hinted_count);
		for (size_t j = 0; node->examples && j < node->examples->count && shape->hinted_count < HINTED_MAX; j++)
			(void)given_keep(shapes, shape, &node->examples->items[j], list, &shape->hinted_count);
		if (node->description)
			shape->hints |= dict_hints(node->description, strlen(node->description));
		if (node->format)
			shape->hints |= dict_hints(node->format->name, strlen(node->format->name));
	}
	shape->hinted = (const struct value **)(void *)arena_text(
		&shapes->arena, (const char *)list, shape->hinted_count * sizeof(*list));
}

/* ---- numbers ---- */

struct bound {
	const struct number *number;
	const char *text;
	bool outside;
};

static void bound_low(struct bound *low, const struct number *number, const char *text, bool outside)
{
	int order = low->number ? number_compare(number, low->number) : 1;

	if (order > 0 || (order == 0 && outside))
		*low = (struct bound){number, text, outside};
}

static void bound_high(struct bound *high, const struct number *number, const char *text, bool outside)
{
	int order = high->number ? number_compare(number, high->number) : -1;

	if (order < 0 || (order == 0 && outside))
		*high = (struct bound){number, text, outside};
}

static void bounds_merge(const struct shape *shape, struct bound *low, struct bound *high)
{
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		const struct number_rules *rules = term->node->number;
		if (!rules)
			continue;
		if (breaks(term, PART_MIN))
			bound_high(high, &rules->min, rules->min_text, true);
		else if (term->holds && rules->has_min)
			bound_low(low, &rules->min, rules->min_text, false);
		if (breaks(term, PART_ABOVE))
			bound_high(high, &rules->above, rules->above_text, false);
		else if (term->holds && rules->has_above)
			bound_low(low, &rules->above, rules->above_text, true);
		if (breaks(term, PART_MAX))
			bound_low(low, &rules->max, rules->max_text, true);
		else if (term->holds && rules->has_max)
			bound_high(high, &rules->max, rules->max_text, false);
		if (breaks(term, PART_BELOW))
			bound_low(low, &rules->below, rules->below_text, false);
		else if (term->holds && rules->has_below)
			bound_high(high, &rules->below, rules->below_text, true);
	}
}

/* number / 10^scale, rounded towards minus infinity; false if it is too large for that. */
static bool scaled(const struct number *number, int scale, int64_t *ret, bool *ret_exact)
{
	int64_t shift = number->exponent - scale;
	__int128 value = (__int128)number->small;

	*ret_exact = true;
	if (number->count > NUMBER_SMALL_DIGITS)
		return false;
	for (; shift > 0 && value; shift--) {
		value *= 10;
		if (value > SCALED_MAX)
			return false;
	}
	for (; shift < 0 && value; shift++) {
		*ret_exact &= value % 10 == 0;
		value /= 10;
	}
	if (value > SCALED_MAX)
		return false;
	*ret = number->negative ? -(int64_t)value - !*ret_exact : (int64_t)value;
	return true;
}

static int64_t divide_down(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && a < 0);
}

static int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b != 0 && a > 0);
}

/* The smallest number that all factors divide, at this scale; 0 if it is too large. */
static int64_t step_merge(const struct shape *shape, int scale)
{
	__int128 step = 1;
	bool exact;

	if (!(shape->types & TYPE_FRACTION)) {
		for (int i = scale; i < 0; i++)
			step *= 10;
	}
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		int64_t factor;
		if (!term->holds || !term->node->number || !term->node->number->has_factor || breaks(term, PART_FACTOR))
			continue;
		if (!scaled(&term->node->number->factor, scale, &factor, &exact) || !exact || !factor)
			return 0;
		__int128 a = step, b = factor;
		while (b) {
			__int128 rest = a % b;
			a = b;
			b = rest;
		}
		step = step / a * factor;
		if (step > SCALED_MAX)
			return 0;
	}
	return (int64_t)step;
}

/* Fills the plan for one scale. False if the bounds do not fit. */
static bool plan_scaled(const struct shape *shape, const struct bound *low, const struct bound *high, int scale, struct number_plan *plan)
{
	int64_t from = -WHOLE_MAX, to = WHOLE_MAX;
	bool exact;

	plan->scale = scale;
	plan->step = step_merge(shape, scale);
	if (!plan->step)
		return false;
	if (low->number) {
		if (!scaled(low->number, scale, &from, &exact))
			return false;
		from += low->outside || !exact;
		to = from > WHOLE_MAX - 1000 ? from + 1000 * plan->step : to;
	}
	if (high->number) {
		if (!scaled(high->number, scale, &to, &exact))
			return false;
		to -= high->outside && exact;
		if (!low->number)
			from = to < 1000 - WHOLE_MAX ? to - 1000 * plan->step : from;
	}
	plan->low = divide_up(from, plan->step);
	plan->high = divide_down(to, plan->step);
	return true;
}

static int least_exponent(const struct shape *shape, const struct bound *low, const struct bound *high)
{
	int64_t least = 0;

	if (low->number && low->number->exponent < least)
		least = low->number->exponent;
	if (high->number && high->number->exponent < least)
		least = high->number->exponent;
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct number_rules *rules = shape->terms[i].holds ? shape->terms[i].node->number : NULL;
		if (rules && rules->has_factor && rules->factor.exponent < least)
			least = rules->factor.exponent;
	}
	return least < SCALE_LEAST ? SCALE_LEAST : (int)least;
}

static void number_merge(struct shape *shape)
{
	struct number_plan *plan = &shape->number;
	struct bound low = {0}, high = {0};
	bool fits = false;

	bounds_merge(shape, &low, &high);
	plan->bounds[0] = low.text, plan->outside[0] = low.outside;
	plan->bounds[1] = high.text, plan->outside[1] = high.outside;
	plan->fractions = shape->types & TYPE_FRACTION;
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		if (term->holds && term->node->number && term->node->number->has_factor && !breaks(term, PART_FACTOR))
			plan->fractions = false;
	}
	int scale = shape->types & TYPE_FRACTION ? least_exponent(shape, &low, &high) : 0;
	if (!(shape->types & TYPE_FRACTION) && !step_merge(shape, 0))
		scale = least_exponent(shape, &low, &high); /* whole multiples of a fraction */
	for (; scale >= SCALE_LEAST; scale--) { /* finer until something lies between the bounds */
		fits = plan_scaled(shape, &low, &high, scale, plan);
		if (!fits || plan->low <= plan->high || !plan->fractions)
			break;
	}
	plan->odd = !fits;
	plan->possible = plan->odd ? low.text || high.text : plan->low <= plan->high;
	if (!plan->possible)
		shape->types &= ~(unsigned)TYPE_NUMBER;
}

/* ---- texts ---- */

static struct ecma *format_tree(struct shapes *shapes, const struct format *format)
{
	struct err err;

	for (size_t i = 0; i < shapes->format_pattern_count; i++) {
		if (strcmp(pattern_text(shapes->format_patterns[i]), format->expression) == 0)
			return pattern_tree(shapes->format_patterns[i]);
	}
	struct pattern *pattern = pattern_open(format->expression, strlen(format->expression), &shapes->arena, &err);
	if (!pattern)
		return NULL;
	shapes->format_patterns = xrealloc(
		shapes->format_patterns, shapes->format_pattern_count + 1, sizeof(*shapes->format_patterns));
	shapes->format_patterns[shapes->format_pattern_count++] = pattern;
	return pattern_tree(pattern);
}

static void text_limit(struct text_plan *plan, const struct term *term)
{
	const struct text_rules *rules = term->node->text;
	uint64_t min = 0, max = NODE_NO_MAX;

	if (term->holds) {
		min = rules->min;
		max = rules->max;
	}
	if (breaks(term, PART_MIN_LENGTH))
		min = 0, max = rules->min - 1;
	if (breaks(term, PART_MAX_LENGTH))
		min = rules->max + 1, max = NODE_NO_MAX;
	plan->min = min > plan->min ? min : plan->min;
	plan->max = max < plan->max ? max : plan->max;
	if (term->holds && rules->pattern && !breaks(term, PART_PATTERN)) {
		plan->checked = true;
		plan->checks++;
		if (!plan->tree)
			plan->tree = pattern_tree(rules->pattern);
	}
}

static void text_merge(struct shapes *shapes, struct shape *shape)
{
	struct text_plan *plan = &shape->text;

	plan->max = NODE_NO_MAX;
	plan->hints = shape->hints;
	for (size_t i = 0; i < shape->term_count; i++) {
		if (shape->terms[i].node->text)
			text_limit(plan, &shape->terms[i]);
	}
	for (size_t i = 0; i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		if (!term->holds || !term->node->format || breaks(term, PART_FORMAT))
			continue;
		plan->checked |= term->node->assert_format;
		plan->checks += term->node->assert_format * 2;
		if (!plan->tree)
			plan->tree = format_tree(shapes, term->node->format);
	}
	plan->exact = plan->tree && plan->checks <= 1 && ecma_is_exact(plan->tree);
	if (plan->min > plan->max)
		shape->types &= ~(unsigned)TYPE_TEXT;
}

bool shape_text_fits(const struct shape *shape, const char *text, size_t len)
{
	const struct text_plan *plan = &shape->text;

	if (plan->min || plan->max != NODE_NO_MAX) {
		size_t length = text_length(text, len);
		if (length < plan->min || length > plan->max)
			return false;
	}
	for (size_t i = 0; plan->checked && i < shape->term_count; i++) {
		const struct term *term = &shape->terms[i];
		const struct node *node = term->node;
		if (!term->holds)
			continue;
		if (node->text && node->text->pattern && !breaks(term, PART_PATTERN) &&
			pattern_match(node->text->pattern, text, len) != PATTERN_YES)
			return false;
		if (node->format && node->assert_format && !breaks(term, PART_FORMAT) && !node->format->check(text, len))
			return false;
	}
	return true;
}

/* ---- lists ---- */

static void item_literals(const struct term *term, size_t index, bool *covered, struct buf *out)
{
	const struct list_rules *rules = term->node->list;
	size_t prefix = rules->prefix.count;
	const struct node *node = index < prefix ? rules->prefix.nodes[index] : rules->items;
	bool broken = (breaks(term, PART_PREFIX) && term->broken.argument == index) || (breaks(term, PART_ITEMS) && index == prefix);

	if (node && (term->holds || broken)) {
		literal it = literal_make(node, PART_NODE, broken ? broken_sign(term) : HOLDS, 0);
		buf_add(out, &it, sizeof(it));
	}
	*covered |= node && term->holds;
}

static void contains_literals(const struct shape *shape, uint64_t contained, struct buf *out)
{
	for (size_t i = 0; i < shape->list.contain_count; i++) {
		const struct term *term = shape->list.contains[i];
		const struct list_rules *rules = term->node->list;
		bool in = i < 64 && (contained >> i & 1), few = breaks(term, PART_FEW_CONTAINED);
		if (!in && !few && !(shape->strict && rules->max_contains != NODE_NO_MAX))
			continue;
		literal it = literal_make(rules->contains, PART_NODE, in ? HOLDS : BROKEN, 0);
		buf_add(out, &it, sizeof(it));
	}
}

struct shape *shape_item(struct shapes *shapes, struct shape *shape, size_t index, uint64_t contained)
{
	struct list_plan *plan = &shape->list;
	size_t slot = index < plan->prefix ? index : plan->prefix;
	own(buf_done) struct buf goal = {0};
	bool covered = contained != 0;

	if (!contained && plan->items[slot])
		return plan->items[slot];
	for (size_t i = 0; i < shape->term_count; i++) {
		if (shape->terms[i].node->list)
			item_literals(&shape->terms[i], slot, &covered, &goal);
	}
	contains_literals(shape, contained, &goal);
	for (size_t i = 0; i < shape->term_count && !covered; i++) {
		const struct term *term = &shape->terms[i];
		if (!term->node->list || !term->node->list->unevaluated)
			continue;
		bool broken = breaks(term, PART_UNEVALUATED_ITEMS);
		literal it = literal_make(term->node->list->unevaluated, PART_NODE, broken ? broken_sign(term) : HOLDS, 0);
		if (broken || term->holds)
			buf_add(&goal, &it, sizeof(it));
	}
	struct shape *made = shape_get(shapes, (const literal *)(const void *)goal.data, goal.len / sizeof(literal), shape->strict);
	if (!contained)
		plan->items[slot] = made;
	return made;
}

static void list_limit(struct list_plan *plan, const struct term *term)
{
	const struct list_rules *rules = term->node->list;
	uint64_t min = 0, max = NODE_NO_MAX;

	if (term->holds)
		min = rules->min, max = rules->max;
	if (breaks(term, PART_MIN_ITEMS))
		min = 0, max = rules->min - 1;
	if (breaks(term, PART_MAX_ITEMS))
		min = rules->max + 1, max = NODE_NO_MAX;
	if (breaks(term, PART_PREFIX))
		min = min > term->broken.argument ? min : term->broken.argument + 1;
	if (breaks(term, PART_ITEMS) || breaks(term, PART_UNEVALUATED_ITEMS))
		min = min > rules->prefix.count ? min : rules->prefix.count + 1;
	if (breaks(term, PART_UNIQUE))
		min = min > 2 ? min : 2, plan->twice = true;
	else
		plan->unique |= term->holds && rules->unique;
	uint64_t contained = breaks(term, PART_MANY_CONTAINED) ? rules->max_contains + 1
		: term->holds && rules->contains && !breaks(term, PART_FEW_CONTAINED) ? rules->min_contains : 0;
	min = min > contained ? min : contained;
	size_t prefix = rules->prefix.count + (breaks(term, PART_ITEMS) || breaks(term, PART_UNEVALUATED_ITEMS));
	plan->prefix = prefix > plan->prefix ? prefix : plan->prefix;
	plan->min = min > plan->min ? min : plan->min;
	plan->max = max < plan->max ? max : plan->max;
	if (rules->contains && (term->holds || breaks(term, PART_FEW_CONTAINED) || breaks(term, PART_MANY_CONTAINED)))
		plan->contains[plan->contain_count++] = term;
}

/* The list ends before the first item that nothing fits. */
static void list_cut(struct shapes *shapes, struct shape *shape)
{
	struct list_plan *plan = &shape->list;

	for (size_t i = 0; i <= plan->prefix && i < plan->max; i++) {
		if (i > plan->min && i != plan->prefix)
			continue; /* found out when it is made */
		struct shape *item = plan->contain_count && i >= plan->prefix ? NULL : shape_item(shapes, shape, i, 0);
		if (item && item->dead) {
			plan->max = i;
			break;
		}
	}
}

static void list_merge(struct shapes *shapes, struct shape *shape)
{
	struct list_plan *plan = &shape->list;

	plan->max = NODE_NO_MAX;
	plan->contains = arena_zeroed(&shapes->arena, shape->term_count, sizeof(*plan->contains));
	for (size_t i = 0; i < shape->term_count; i++) {
		if (shape->terms[i].node->list)
			list_limit(plan, &shape->terms[i]);
	}
	plan->items = arena_zeroed(&shapes->arena, plan->prefix + 1, sizeof(*plan->items));
	if (plan->min <= plan->max)
		list_cut(shapes, shape);
	if (plan->min > plan->max)
		shape->types &= ~(unsigned)TYPE_LIST;
}

/* ---- maps ---- */

static void member_add(const struct node *node, bool broken, const struct term *term, struct buf *out)
{
	literal it = literal_make(node, PART_NODE, broken ? broken_sign(term) : HOLDS, 0);

	if (broken || term->holds)
		buf_add(out, &it, sizeof(it));
}

/* What a term says of the member; returns whether it evaluates it. */
static bool member_literals(const struct term *term, const char *key, size_t len, struct buf *out)
{
	const struct map_rules *rules = term->node->map;
	const struct node_property *property = map_rules_find(rules, key, len);
	bool known = property != NULL;

	if (property)
		member_add(property->node,
			breaks(term, PART_PROPERTY) && term->broken.argument == (size_t)(property - rules->properties), term, out);
	for (size_t i = 0; i < rules->pattern_count; i++) {
		if (pattern_match(rules->patterns[i].pattern, key, len) != PATTERN_YES)
			continue;
		known = true;
		member_add(rules->patterns[i].node, breaks(term, PART_PATTERN_PROPERTY) && term->broken.argument == i, term, out);
	}
	if (!known && rules->additional) {
		known = true;
		member_add(rules->additional, breaks(term, PART_ADDITIONAL), term, out);
	}
	return known && term->holds;
}

struct shape *shape_member(struct shapes *shapes, struct shape *shape, const char *key, size_t len)
{
	own(buf_done) struct buf goal = {0};
	bool covered = false;

	for (size_t i = 0; i < shape->term_count; i++) {
		if (shape->terms[i].node->map)
			covered |= member_literals(&shape->terms[i], key, len, &goal);
	}
	for (size_t i = 0; i < shape->term_count && !covered; i++) {
		const struct term *term = &shape->terms[i];
		if (term->node->map && term->node->map->unevaluated)
			member_add(term->node->map->unevaluated, breaks(term, PART_UNEVALUATED_MEMBERS), term, &goal);
	}
	return shape_get(shapes, (const literal *)(const void *)goal.data, goal.len / sizeof(literal), shape->strict);
}

struct gathering {
	struct buf keys; /* struct map_key */
};

static void gathering_done(struct gathering *gathering)
{
	buf_done(&gathering->keys);
}

static void key_add(struct gathering *gathering, struct node_key key, bool required, bool banned)
{
	struct map_key made = {.key = key, .required = required, .banned = banned};

	if (gathering->keys.len / sizeof(made) < KEYS_MAX)
		buf_add(&gathering->keys, &made, sizeof(made));
}

static void term_keys(const struct term *term, struct gathering *gathering)
{
	const struct map_rules *rules = term->node->map;

	for (size_t i = 0; term->holds && i < rules->property_count; i++)
		key_add(gathering, rules->properties[i].key, false, false);
	for (size_t i = 0; term->holds && i < rules->required_count; i++) {
		bool broken = breaks(term, PART_REQUIRED) && term->broken.argument == i;
		key_add(gathering, rules->required[i], !broken, false);
	}
	for (size_t i = 0; term->holds && i < rules->dependency_count; i++) {
		key_add(gathering, rules->dependencies[i].key, false, false);
		for (size_t j = 0; j < rules->dependencies[i].need_count; j++)
			key_add(gathering, rules->dependencies[i].needs[j], false, false);
	}
	if (breaks(term, PART_REQUIRED))
		key_add(gathering, rules->required[term->broken.argument], false, true);
	if (breaks(term, PART_PROPERTY))
		key_add(gathering, rules->properties[term->broken.argument].key, true, false);
	if (breaks(term, PART_NEEDS) && rules->dependencies[term->broken.argument].need_count) {
		key_add(gathering, rules->dependencies[term->broken.argument].key, true, false);
		key_add(gathering, rules->dependencies[term->broken.argument].needs[0], false, true);
	}
}

static int key_compare(const void *a, const void *b)
{
	const struct map_key *left = a, *right = b;

	if (left->key.len != right->key.len)
		return left->key.len < right->key.len ? -1 : 1;
	return memcmp(left->key.text, right->key.text, left->key.len);
}

/* Required ones first. */
static int key_order(const void *a, const void *b)
{
	const struct map_key *left = a, *right = b;

	if (left->required != right->required)
		return left->required ? -1 : 1;
	return key_compare(a, b);
}

static size_t keys_join(struct map_key *keys, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(keys, count, sizeof(*keys), key_compare);
	for (size_t i = 0; i < count; i++) {
		if (kept && key_compare(&keys[kept - 1], &keys[i]) == 0) {
			keys[kept - 1].required |= keys[i].required;
			keys[kept - 1].banned |= keys[i].banned;
		} else {
			keys[kept++] = keys[i];
		}
	}
	if (kept)
		qsort(keys, kept, sizeof(*keys), key_order);
	return kept;
}

static bool name_fits(struct shapes *shapes, const struct shape *shape, const struct node_key *key)
{
	struct value name = {.kind = VALUE_TEXT, .text = (char *)(uintptr_t)key->text, .len = key->len};

	return !shape->map.names || shape_fits(shapes, shape->map.names, &name);
}

static void keys_gather(struct shapes *shapes, struct shape *shape)
{
	struct map_plan *plan = &shape->map;
	own(gathering_done) struct gathering gathering = {0};

	for (size_t i = 0; i < shape->term_count; i++) {
		if (shape->terms[i].node->map)
			term_keys(&shape->terms[i], &gathering);
	}
	for (size_t i = 0; i < shape->opened_count; i++) {
		literal it = shape->opened[i];
		if (literal_part(it) != PART_KEY)
			continue;
		const struct node *node = literal_node(shapes, it);
		bool there = literal_sign(it) == HOLDS;
		key_add(&gathering, node->map->dependencies[literal_argument(it)].key, there, !there);
	}
	plan->count = gathering.keys.len / sizeof(*plan->keys);
	plan->keys = (struct map_key *)(void *)arena_text(&shapes->arena, buf_text(&gathering.keys), gathering.keys.len);
	plan->count = keys_join(plan->keys, plan->count);
}

/* What one term says of members that are not known by name. */
static void others_merge(struct shape *shape, const struct term *term, struct buf *patterns, struct buf *names)
{
	const struct map_rules *rules = term->node->map;
	struct map_plan *plan = &shape->map;

	for (size_t i = 0; i < rules->pattern_count; i++) {
		const struct node_pattern *pattern = &rules->patterns[i];
		bool broken = breaks(term, PART_PATTERN_PROPERTY) && term->broken.argument == i;
		plan->by_pattern = true;
		if (broken)
			plan->must = pattern;
		if (broken || (term->holds && !pattern->node->never))
			buf_add(patterns, &pattern, sizeof(pattern));
	}
	if (term->holds && rules->additional && rules->additional->never && !breaks(term, PART_ADDITIONAL))
		plan->extra = false;
	if (term->holds && rules->unevaluated && rules->unevaluated->never && !breaks(term, PART_UNEVALUATED_MEMBERS))
		plan->extra = false;
	plan->must_extra |= breaks(term, PART_ADDITIONAL) || breaks(term, PART_NAMES) || breaks(term, PART_UNEVALUATED_MEMBERS);
	if (rules->names && (term->holds || breaks(term, PART_NAMES))) {
		literal it = literal_make(rules->names, PART_NODE, breaks(term, PART_NAMES) ? broken_sign(term) : HOLDS, 0);
		buf_add(names, &it, sizeof(it));
	}
}

static void map_limit(struct map_plan *plan, const struct term *term)
{
	const struct map_rules *rules = term->node->map;
	uint64_t min = 0, max = NODE_NO_MAX;

	if (term->holds)
		min = rules->min, max = rules->max;
	if (breaks(term, PART_MIN_MEMBERS))
		min = 0, max = rules->min - 1;
	if (breaks(term, PART_MAX_MEMBERS))
		min = rules->max + 1, max = NODE_NO_MAX;
	plan->min = min > plan->min ? min : plan->min;
	plan->max = max < plan->max ? max : plan->max;
}

/* Required members must be possible; others are found out about when they are made. */
static bool keys_possible(struct shapes *shapes, struct shape *shape)
{
	struct map_plan *plan = &shape->map;
	size_t possible = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct map_key *key = &plan->keys[i];
		key->banned = key->banned || !name_fits(shapes, shape, &key->key);
		key->hints = dict_hints(key->key.text, key->key.len);
		plan->required += key->required;
		possible += !key->banned;
		if (!key->required)
			continue;
		key->shape = shape_member(shapes, shape, key->key.text, key->key.len);
		if (key->banned || !key->shape || key->shape->dead)
			return false;
	}
	bool others = plan->extra || plan->pattern_count;
	return plan->min <= plan->max && plan->required <= plan->max && (others || possible >= plan->min);
}

static void map_merge(struct shapes *shapes, struct shape *shape)
{
	struct map_plan *plan = &shape->map;
	own(buf_done) struct buf patterns = {0}, names = {0};
	static const literal no_names;

	plan->max = NODE_NO_MAX;
	plan->extra = true;
	for (size_t i = 0; i < shape->term_count; i++) {
		if (!shape->terms[i].node->map)
			continue;
		map_limit(plan, &shape->terms[i]);
		others_merge(shape, &shape->terms[i], &patterns, &names);
	}
	plan->pattern_count = patterns.len / sizeof(*plan->patterns);
	plan->patterns = (const struct node_pattern **)(void *)arena_text(&shapes->arena, buf_text(&patterns), patterns.len);
	if (names.len)
		plan->names = shape_get(shapes, names.len ? (const literal *)(const void *)names.data : &no_names,
			names.len / sizeof(literal), shape->strict);
	if (plan->names && plan->names->dead)
		plan->extra = false, plan->pattern_count = 0;
	keys_gather(shapes, shape);
	plan->possible = keys_possible(shapes, shape);
	if (!plan->possible)
		shape->types &= ~(unsigned)TYPE_MAP;
}

/* ---- the whole ---- */

static bool term_risky(const struct term *term)
{
	const struct node *node = term->node;

	return term->breaks || node->unevaluated || (node->logic && (node->logic->one.nodes || node->logic->not || node->logic->if_)) ||
		(node->list && node->list->contains) || (node->map && node->map->dependency_count);
}

void shape_merge(struct shapes *shapes, struct shape *shape)
{
	types_merge(shape);
	if (!shape->types) {
		shape->dead = true;
		return;
	}
	given_merge(shapes, shape);
	if (shape->has_given) {
		shape->dead = shape->given_count == 0;
		return;
	}
	hinted_merge(shapes, shape);
	if (shape->types & TYPE_NUMBER)
		number_merge(shape);
	if (shape->types & TYPE_TEXT)
		text_merge(shapes, shape);
	if (shape->types & TYPE_LIST)
		list_merge(shapes, shape);
	if (shape->types & TYPE_MAP)
		map_merge(shapes, shape);
	for (size_t i = 0; i < shape->term_count; i++)
		shape->risky |= term_risky(&shape->terms[i]);
	shape->dead = shape->types == 0;
}
