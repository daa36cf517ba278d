#include <string.h>

#include "schema/dict.h"
#include "schema/make.h"

#define LONG_LIST 100
#define NAME_TRIES 8

/* ---- lists ---- */

/* 0 or 1; 1 nearly always. Recorded as what it is, so that it is replayed as any other. */
static size_t deep_choice(struct generator *generator)
{
	size_t choice = draw_raw(generator->draw, 16) > 0;

	draw_force(generator->draw, choice);
	return choice;
}

/* How many items; *ret_counted is the number of the choice that says it, or 0. */
static bool list_length(struct generator *generator, const struct list_plan *plan, bool minimal, size_t *ret, size_t *ret_counted)
{
	uint64_t high = plan->min > plan->prefix ? plan->min : plan->prefix;

	if (plan->min > MADE_ITEMS_MAX) {
		generator->why = "an array has to have more items than any that is made";
		return false;
	}
	*ret = (size_t)plan->min;
	*ret_counted = 0;
	if (minimal || plan->max == plan->min)
		return true;
	if (generator->deep && !generator->draw->replaying) {
		draw_force(generator->draw, 0);
		*ret += deep_choice(generator);
		return true;
	}
	high += draw_rarely(generator->draw, 64) ? LONG_LIST : 3;
	high = high > plan->max ? plan->max : high;
	*ret += (size_t)draw_below(generator->draw, high - plan->min + 1);
	*ret_counted = *ret > plan->min ? generator->draw->count : 0;
	return true;
}

/* By one bit an item and `contains` which of them are to be what the list must contain. */
static uint64_t *contained_choose(struct generator *generator, const struct list_plan *plan, size_t count)
{
	uint64_t *contained = arena_zeroed(&generator->arena, count, sizeof(*contained));

	for (size_t i = 0; i < plan->contain_count && i < 64; i++) {
		const struct term *term = plan->contains[i];
		const struct list_rules *rules = term->node->list;
		uint64_t wanted = rules->min_contains;
		if (term->breaks && term->broken.part == PART_FEW_CONTAINED)
			wanted = 0;
		if (term->breaks && term->broken.part == PART_MANY_CONTAINED)
			wanted = rules->max_contains + 1;
		if (wanted > count)
			continue;
		size_t from = (size_t)draw_below(generator->draw, count - wanted + 1);
		for (size_t j = from; j < from + wanted; j++)
			contained[j] |= (uint64_t)1 << i;
	}
	return contained;
}

static bool is_new(const struct value *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (value_equal(&items[i], &items[count]))
			return false;
	}
	return true;
}

static bool item_make(struct generator *generator, struct shape *shape, struct shape *item, unsigned depth,
	struct value *items, size_t at, size_t counted)
{
	struct draw *draw = generator->draw;

	for (int i = 0; i < (draw->replaying ? 1 : 16); i++) {
		size_t count = draw->count, spans = draw->span_count;
		unsigned values = generator->values;
		draw->counted = counted;
		if (!make_value(generator, item, depth + 1, shape->hints, &items[at]))
			return false;
		if (!shape->list.unique)
			return true;
		if (!make_spend(generator, at / 16))
			return false;
		if (is_new(items, at))
			return true;
		if (draw->replaying)
			return false;
		draw_rewind(draw, count, spans);
		generator->values = values;
	}
	return false;
}

bool make_list(struct generator *generator, struct shape *shape, unsigned depth, struct value *ret)
{
	const struct list_plan *plan = &shape->list;
	uint64_t *contained = NULL;
	size_t count, counted, at = 0;

	if (!list_length(generator, plan, make_is_minimal(generator, depth), &count, &counted) || !make_spend(generator, count))
		return false;
	struct value *items = arena_take(&generator->arena, (count + 1) * sizeof(*items));
	if (plan->contain_count)
		contained = contained_choose(generator, plan, count);
	for (; at < count; at++) {
		if (plan->twice && at == 1) {
			items[at] = items[0];
			continue;
		}
		struct shape *item = shape_item(&generator->shapes, shape, at, contained ? contained[at] : 0);
		if (!item || item->dead)
			break;
		if (!item_make(generator, shape, item, depth, items, at, counted))
			return false;
	}
	if (at < plan->min)
		return false;
	*ret = (struct value){.kind = VALUE_LIST, .count = at, .items = items};
	return true;
}

/* ---- maps ---- */

struct members {
	struct value *value;
	size_t room;
};

static bool has_member(const struct value *map, const char *key, size_t len)
{
	return value_find(map, key, len) != SIZE_MAX;
}

static bool member_make(struct generator *generator, struct shape *shape, const char *key, size_t len, unsigned hints,
	unsigned depth, struct members *members)
{
	struct value *map = members->value;

	if (map->count == members->room || !make_spend(generator, len / 4) || !make_value(generator, shape, depth + 1, hints, &map->items[map->count]))
		return false;
	map->keys[map->count] = (char *)(uintptr_t)key;
	map->key_lens[map->count++] = len;
	return true;
}

/* A known member: whether it is there, and the number of the choice that says so, or 0. */
struct chosen {
	bool is;
	size_t counted;
};

static size_t keys_choose(struct generator *generator, const struct map_plan *plan, bool minimal, struct chosen *chosen)
{
	bool deep = generator->deep && !generator->draw->replaying;
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const struct map_key *key = &plan->keys[i];
		bool free = !key->banned && !key->required && !minimal;
		bool is = !key->banned && (key->required || (free && (deep ? deep_choice(generator) : draw_below(generator->draw, 2))));
		chosen[i] = (struct chosen){is, free && is ? generator->draw->count : 0};
		count += is;
	}
	for (size_t i = plan->count; i-- > 0 && count > plan->max;) {
		if (chosen[i].is && !plan->keys[i].required)
			chosen[i].is = false, count--;
	}
	for (size_t i = 0; i < plan->count && count < plan->min; i++) {
		if (!chosen[i].is && !plan->keys[i].banned)
			chosen[i].is = true, count++;
	}
	return count;
}

static size_t key_index(const struct map_plan *plan, const struct node_key *key)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->keys[i].key.len == key->len && memcmp(plan->keys[i].key.text, key->text, key->len) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* Members that others need, until none is missing. */
static void needs_choose(const struct shape *shape, struct chosen *chosen)
{
	const struct map_plan *plan = &shape->map;
	bool changed = true;

	for (int rounds = 0; changed && rounds < 50; rounds++) {
		changed = false;
		for (size_t i = 0; i < shape->term_count; i++) {
			const struct map_rules *rules = shape->terms[i].holds ? shape->terms[i].node->map : NULL;
			for (size_t j = 0; rules && j < rules->dependency_count; j++) {
				size_t from = key_index(plan, &rules->dependencies[j].key);
				if (from == SIZE_MAX || !chosen[from].is)
					continue;
				for (size_t k = 0; k < rules->dependencies[j].need_count; k++) {
					size_t to = key_index(plan, &rules->dependencies[j].needs[k]);
					if (to != SIZE_MAX && !chosen[to].is && !plan->keys[to].banned)
						chosen[to].is = true, changed = true;
				}
			}
		}
	}
}

/* A name for a member that the schema does not know. */
/* False if the choices give none; *ret_failed if that is for good. */
static bool name_make(struct generator *generator, struct shape *shape, const struct node_pattern *pattern, struct value *ret,
	bool *ret_failed)
{
	static const char *const names[] = {"a", "b", "c", "x", "id", "key", "value", "data", "", "__proto__", "constructor", "toString",
		"length", "$ref", "a.b", "0", "-1", "é", "\u202e"};
	struct map_plan *plan = &shape->map;

	if (!pattern && plan->pattern_count && (!plan->extra || draw_below(generator->draw, 2)))
		pattern = plan->patterns[draw_below(generator->draw, plan->pattern_count)];
	if (pattern) {
		generator->text.len = 0;
		if (!ecma_draw(pattern_tree(pattern->pattern), generator->draw, &generator->shapes.arena, 0, 24, &generator->text))
			return false;
		*ret = (struct value){.kind = VALUE_TEXT, .len = generator->text.len,
			.text = arena_text(&generator->arena, buf_text(&generator->text), generator->text.len)};
		return pattern_match(pattern->pattern, ret->text, ret->len) == PATTERN_YES;
	}
	if (plan->names) {
		*ret_failed = !make_value(generator, plan->names, 0, 0, ret);
		return !*ret_failed && ret->kind == VALUE_TEXT;
	}
	if (draw_below(generator->draw, 4) < 3) {
		const char *name = names[draw_below(generator->draw, generator->options.plain ? 8 : ARRAY_LEN(names))];
		*ret = (struct value){.kind = VALUE_TEXT, .text = (char *)(uintptr_t)name, .len = strlen(name)};
		return true;
	}
	char name[3] = {(char)('a' + draw_below(generator->draw, 26)), (char)('a' + draw_below(generator->draw, 26)), '\0'};
	*ret = (struct value){.kind = VALUE_TEXT, .text = arena_text(&generator->arena, name, 2), .len = 2};
	return true;
}

/* *ret_made says whether a name was found; false if its value could not be made. */
static bool other_make(struct generator *generator, struct shape *shape, const struct node_pattern *pattern, unsigned depth,
	struct members *members, bool *ret_made)
{
	struct map_plan *plan = &shape->map;
	struct draw *draw = generator->draw;
	size_t span = draw_open(draw), count = draw->count, spans = draw->span_count;
	bool failed = false;
	struct value name;

	*ret_made = false;
	for (int i = 0; i < (draw->replaying ? 1 : NAME_TRIES) && !failed; i++) {
		if (!draw->replaying)
			draw_rewind(draw, count, spans);
		if (!name_make(generator, shape, pattern, &name, &failed))
			continue;
		struct node_key key = {name.text, name.len};
		if (has_member(members->value, key.text, key.len) || key_index(plan, &key) != SIZE_MAX)
			continue;
		if (plan->names && !shape_fits(&generator->shapes, plan->names, &name))
			continue;
		struct shape *inner = plan->rest ? plan->rest : shape_member(&generator->shapes, shape, key.text, key.len);
		if (!plan->by_pattern)
			plan->rest = inner;
		if (!inner || inner->dead)
			continue;
		*ret_made = true;
		bool made = member_make(generator, inner, key.text, key.len, 0, depth, members);
		draw_close(draw, span);
		return made;
	}
	draw_close(draw, span);
	return !failed;
}

static bool known_make(struct generator *generator, struct shape *shape, const struct chosen *chosen, unsigned depth,
	struct members *members)
{
	struct map_plan *plan = &shape->map;

	for (size_t i = 0; i < plan->count; i++) {
		struct map_key *key = &plan->keys[i];
		if (!chosen[i].is)
			continue;
		if (!key->shape)
			key->shape = shape_member(&generator->shapes, shape, key->key.text, key->key.len);
		if (!key->shape || key->shape->dead || (!key->required && key->shape->height == HEIGHT_NEVER))
			key->banned = true;
		generator->draw->counted = key->banned ? 0 : chosen[i].counted;
		bool made = !key->banned && member_make(generator, key->shape, key->key.text, key->key.len, key->hints, depth, members);
		if (!made && (key->required || !key->banned))
			return false;
	}
	return true;
}

bool make_map(struct generator *generator, struct shape *shape, unsigned depth, struct value *ret)
{
	struct map_plan *plan = &shape->map;
	bool minimal = make_is_minimal(generator, depth), made;
	struct arena *arena = &generator->arena;

	if (plan->min > MADE_ITEMS_MAX) {
		generator->why = "an object has to have more members than any that is made";
		return false;
	}
	if (!make_spend(generator, plan->count + plan->min))
		return false;
	struct chosen *chosen = arena_take(arena, (plan->count + 1) * sizeof(*chosen));
	(void)keys_choose(generator, plan, minimal, chosen);
	if (shape->risky)
		needs_choose(shape, chosen);
	/* a map whose members have no names of their own is for others */
	size_t others = (plan->extra || plan->pattern_count) && !minimal && draw_rarely(generator->draw, plan->count ? 8 : 2)
		? 1 + (size_t)draw_below(generator->draw, 2) : 0;
	struct members members = {.value = ret, .room = plan->count + others + (size_t)plan->min + 2};
	*ret = (struct value){.kind = VALUE_MAP, .keys = arena_take(arena, members.room * sizeof(*ret->keys)),
		.key_lens = arena_take(arena, members.room * sizeof(*ret->key_lens)), .items = arena_take(arena, members.room * sizeof(*ret->items))};
	if (!known_make(generator, shape, chosen, depth, &members))
		return false;
	if (plan->must && (!other_make(generator, shape, plan->must, depth, &members, &made) || !made))
		return false;
	if (plan->must_extra && (!other_make(generator, shape, NULL, depth, &members, &made) || !made))
		return false;
	while ((ret->count < plan->min || others) && ret->count < plan->max) {
		if (!other_make(generator, shape, NULL, depth, &members, &made) || (!made && ret->count < plan->min))
			return false;
		others -= others > 0;
	}
	return ret->count >= plan->min && ret->count <= plan->max;
}
