/* One walk serves two uses: with an errors' list every violation is gathered, without one the first ends it. What a
 * schema has evaluated of a list or map is kept as one bit an item, and only where an `unevaluated...` asks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "schema/node.h"

#define STEPS_MAX 20000000u /* of work in one check */
#define DEPTH_MAX 2000u
#define SHOWN_MAX 60
#define WHERE_MAX 400

/* The way to a place in the value or in the schema. */
struct at {
	const struct at *up;
	const char *key; /* NULL: `index` */
	size_t len, index;
};

struct check {
	struct schema_errors *errors; /* NULL: not wanted */
	struct arena *scratch;
	uint64_t left; /* steps */
	unsigned depth;
	unsigned quiet; /* inside of alternatives, whose errors are not the value's */
	const char *gave_up;
};

/* What of the value is evaluated; `bits` is NULL where nobody asks. */
struct seen {
	uint64_t *bits;
	size_t words;
};

static bool check_node(struct check *check, const struct node *node, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where);

/* ---- errors ---- */

static void at_write(const struct at *at, struct buf *out)
{
	if (!at)
		return;
	at_write(at->up, out);
	if (out->len > WHERE_MAX)
		return;
	buf_char(out, '/');
	if (!at->key) {
		buf_fmt(out, "%zu", at->index);
		return;
	}
	for (size_t i = 0; i < at->len && out->len <= WHERE_MAX; i++) {
		if (at->key[i] == '~' || at->key[i] == '/')
			buf_str(out, at->key[i] == '~' ? "~0" : "~1");
		else
			buf_char(out, at->key[i]);
	}
}

static char *at_text(const struct at *at)
{
	own(buf_done) struct buf raw = {0};
	struct buf shown = {0};

	at_write(at, &raw);
	term_line(buf_text(&raw), raw.len, WHERE_MAX, &shown);
	return buf_take(&shown);
}

static bool wants_errors(const struct check *check)
{
	return check->errors && !check->quiet && check->errors->count < SCHEMA_ERRORS_MAX && !check->gave_up;
}

static bool fail(struct check *check, const struct value *value, const struct at *rule, const struct at *where,
	const char *word, const char *format, ...) PRINTF_LIKE(6, 7);

/* Returns false. */
static bool fail(struct check *check, const struct value *value, const struct at *rule, const struct at *where,
	const char *word, const char *format, ...)
{
	struct schema_errors *errors = check->errors;
	char sentence[320];
	va_list args;

	if (!wants_errors(check))
		return false;
	va_start(args, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	struct at last = {.up = rule, .key = word, .len = word ? strlen(word) : 0};
	if (!errors->list)
		errors->list = xcalloc(SCHEMA_ERRORS_MAX, sizeof(*errors->list));
	errors->list[errors->count++] = (struct schema_error){
		.where = at_text(where), .rule = at_text(word ? &last : rule), .text = xstrdup(sentence), .line = value->line};
	return false;
}

static const char *shown(const char *text, size_t len, struct buf *out)
{
	buf_done(out);
	term_line(text, len, SHOWN_MAX, out);
	return buf_text(out);
}

/* Whether to go on after a part said `ok`: with errors wanted, all parts are looked at. */
static bool goes_on(const struct check *check, bool ok)
{
	return !check->gave_up && (ok || wants_errors(check));
}

static bool give_up(struct check *check, const char *why)
{
	if (!check->gave_up)
		check->gave_up = why;
	return false;
}

static bool spend(struct check *check, size_t steps)
{
	if (steps > check->left) {
		check->left = 0;
		return give_up(check, "it takes more work than one check may");
	}
	check->left -= steps;
	return true;
}

/* ---- evaluated items ---- */

static struct seen seen_new(struct check *check, const struct value *value)
{
	struct seen seen = {.words = (value->count + 63) / 64};

	if (seen.words)
		seen.bits = arena_zeroed(check->scratch, seen.words, sizeof(*seen.bits));
	return seen;
}

static void seen_mark(struct seen seen, size_t index)
{
	if (seen.bits)
		seen.bits[index / 64] |= (uint64_t)1 << index % 64;
}

static bool seen_has(struct seen seen, size_t index)
{
	return seen.bits && (seen.bits[index / 64] >> index % 64 & 1);
}

static void seen_mark_from(struct seen seen, size_t from, size_t count)
{
	for (size_t i = from; seen.bits && i < count; i++)
		seen_mark(seen, i);
}

/* An alternative: what it evaluated counts only if the value fits it. */
static bool check_branch(struct check *check, const struct node *node, const struct value *value, struct seen seen)
{
	uint64_t *before = NULL;

	if (seen.bits) {
		before = arena_take(check->scratch, seen.words * sizeof(*before));
		memcpy(before, seen.bits, seen.words * sizeof(*before));
	}
	check->quiet++;
	bool ok = check_node(check, node, value, seen, NULL, NULL);
	check->quiet--;
	if (!ok && before)
		memcpy(seen.bits, before, seen.words * sizeof(*before));
	return ok;
}

/* ---- numbers and texts ---- */

static bool check_number(struct check *check, const struct number_rules *rules, const struct value *value,
	const struct at *rule, const struct at *where)
{
	struct number number;
	bool ok = true;

	if (!number_parse(value->text, value->len, &number))
		return fail(check, value, rule, where, NULL, "it must be written as a decimal number");
	if (rules->has_min && number_compare(&number, &rules->min) < 0)
		ok = fail(check, value, rule, where, "minimum", "it must be at least %.40s", rules->min_text);
	if (rules->has_max && number_compare(&number, &rules->max) > 0)
		ok = fail(check, value, rule, where, "maximum", "it must be at most %.40s", rules->max_text);
	if (rules->has_above && number_compare(&number, &rules->above) <= 0)
		ok = fail(check, value, rule, where, "exclusiveMinimum", "it must be above %.40s", rules->above_text);
	if (rules->has_below && number_compare(&number, &rules->below) >= 0)
		ok = fail(check, value, rule, where, "exclusiveMaximum", "it must be below %.40s", rules->below_text);
	if (rules->has_factor && !number_is_multiple(&number, &rules->factor))
		ok = fail(check, value, rule, where, "multipleOf", "it must be a multiple of %.40s", rules->factor_text);
	return ok;
}

static bool matches(struct check *check, const struct pattern *pattern, const char *text, size_t len)
{
	enum pattern_verdict verdict = pattern_match(pattern, text, len);

	if (!spend(check, 1 + len / 16))
		return false;
	if (verdict == PATTERN_GAVE_UP)
		return give_up(check, "a regular expression takes too long on it");
	return verdict == PATTERN_YES;
}

static bool check_text(struct check *check, const struct text_rules *rules, const struct value *value,
	const struct at *rule, const struct at *where)
{
	bool ok = true;

	if (rules->min || rules->max != NODE_NO_MAX) {
		size_t length = text_length(value->text, value->len);
		if (length < rules->min)
			ok = fail(check, value, rule, where, "minLength", "it must have at least %ju characters", (uintmax_t)rules->min);
		if (length > rules->max)
			ok = fail(check, value, rule, where, "maxLength", "it must have at most %ju characters", (uintmax_t)rules->max);
	}
	if (rules->pattern && goes_on(check, ok) && !matches(check, rules->pattern, value->text, value->len)) {
		own(buf_done) struct buf line = {0};
		const char *text = pattern_text(rules->pattern);
		ok = check->gave_up ? false
				    : fail(check, value, rule, where, "pattern", "it must match the expression '%s'",
						shown(text, strlen(text), &line));
	}
	return ok;
}

/* ---- types and given values ---- */

static bool check_enum(struct check *check, const struct node *node, const struct value *value, const struct at *rule,
	const struct at *where)
{
	bool ok = true;

	if (node->const_ && !value_equal(node->const_, value))
		ok = fail(check, value, rule, where, "const", "it must be the one value that is given");
	if (!node->enum_ || !spend(check, node->enum_->count))
		return ok && !check->gave_up;
	for (size_t i = 0; i < node->enum_->count; i++) {
		if (value_equal(&node->enum_->items[i], value))
			return ok;
	}
	if (!wants_errors(check))
		return false;
	own(buf_done) struct buf list = {0}, line = {0};
	for (size_t i = 0; i < node->enum_->count && list.len < 160; i++) {
		const struct value *item = &node->enum_->items[i];
		buf_fmt(&list, "%s%s", i ? ", " : "",
			item->text ? shown(item->text, item->len, &line) : value_kind_name(item->kind));
	}
	return fail(check, value, rule, where, "enum", "it must be one of: %s", buf_text(&list));
}

static bool check_type(struct check *check, const struct node *node, const struct value *value, const struct at *rule,
	const struct at *where)
{
	if (node->types == TYPE_ANY || (node->types & value_type(value)))
		return true;
	if (!wants_errors(check))
		return false;
	own(buf_done) struct buf types = {0}, has = {0};
	types_write(node->types, &types);
	types_write(value_type(value), &has);
	return fail(check, value, rule, where, "type", "it must be %s, not %s", buf_text(&types), buf_text(&has));
}

/* ---- lists ---- */

struct hashed {
	uint64_t hash;
	const struct value *value;
};

static int hashed_compare(const void *a, const void *b)
{
	const struct hashed *left = a, *right = b;

	return (left->hash > right->hash) - (left->hash < right->hash);
}

static bool is_unique(struct check *check, const struct value *list)
{
	struct hashed *sorted = arena_take(check->scratch, (list->count + 1) * sizeof(*sorted));

	for (size_t i = 0; list->count <= 8 && i < list->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (value_equal(&list->items[i], &list->items[j]))
				return false;
		}
	}
	if (list->count <= 8)
		return true;
	for (size_t i = 0; i < list->count; i++)
		sorted[i] = (struct hashed){value_hash(&list->items[i]), &list->items[i]};
	qsort(sorted, list->count, sizeof(*sorted), hashed_compare);
	for (size_t i = 1; i < list->count; i++) {
		for (size_t j = i; j-- > 0 && sorted[j].hash == sorted[i].hash;) {
			if (!spend(check, 1) || value_equal(sorted[i].value, sorted[j].value))
				return false;
		}
	}
	return true;
}

static bool check_contains(struct check *check, const struct list_rules *rules, const struct value *list,
	struct seen seen, const struct at *rule, const struct at *where)
{
	uint64_t found = 0;
	bool marks = seen.bits && rules->contains_evaluates;

	for (size_t i = 0; i < list->count && !check->gave_up; i++) {
		if (!check_branch(check, rules->contains, &list->items[i], (struct seen){0}))
			continue;
		found++;
		if (marks)
			seen_mark(seen, i);
		else if (found >= rules->min_contains && rules->max_contains == NODE_NO_MAX)
			return true;
	}
	if (check->gave_up)
		return false;
	if (found < rules->min_contains)
		return fail(check, list, rule, where, "contains", "at least %ju of its items must fit what it is to contain; %ju do",
			(uintmax_t)rules->min_contains, (uintmax_t)found);
	if (found > rules->max_contains)
		return fail(check, list, rule, where, "maxContains", "at most %ju of its items may fit what it is to contain; %ju do",
			(uintmax_t)rules->max_contains, (uintmax_t)found);
	return true;
}

static bool check_item(struct check *check, const struct node *node, const struct value *list, size_t index,
	const struct at *rule, const struct at *where)
{
	struct at here = {.up = where, .index = index};

	return check_node(check, node, &list->items[index], (struct seen){0}, rule, &here);
}

static bool check_items(struct check *check, const struct list_rules *rules, const struct value *list, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = true;
	size_t i = 0;

	for (; i < rules->prefix.count && i < list->count && goes_on(check, ok); i++) {
		struct at word = {.up = rule, .key = rules->prefix_word, .len = strlen(rules->prefix_word)};
		struct at step = {.up = &word, .index = i};
		ok &= check_item(check, rules->prefix.nodes[i], list, i, &step, where);
		seen_mark(seen, i);
	}
	if (!rules->items)
		return ok;
	for (; i < list->count && goes_on(check, ok); i++) {
		struct at step = {.up = rule, .key = rules->items_word, .len = strlen(rules->items_word)};
		ok &= check_item(check, rules->items, list, i, &step, where);
		seen_mark(seen, i);
	}
	return ok;
}

static bool check_list(struct check *check, const struct list_rules *rules, const struct value *list, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = true;

	if (list->count < rules->min)
		ok = fail(check, list, rule, where, "minItems", "it must have at least %ju items, not %zu", (uintmax_t)rules->min,
			list->count);
	if (list->count > rules->max)
		ok = fail(check, list, rule, where, "maxItems", "it must have at most %ju items, not %zu", (uintmax_t)rules->max,
			list->count);
	if (goes_on(check, ok) && (rules->items || rules->prefix.count))
		ok &= check_items(check, rules, list, seen, rule, where);
	if (goes_on(check, ok) && rules->contains)
		ok &= check_contains(check, rules, list, seen, rule, where);
	if (goes_on(check, ok) && rules->unique && !is_unique(check, list))
		ok = fail(check, list, rule, where, "uniqueItems", "no two of its items may be equal");
	return ok;
}

static bool check_unevaluated_items(struct check *check, const struct node *node, const struct value *list,
	struct seen seen, const struct at *rule, const struct at *where)
{
	struct at step = {.up = rule, .key = "unevaluatedItems", .len = 16};
	bool ok = true;

	for (size_t i = 0; i < list->count && goes_on(check, ok); i++) {
		if (!seen_has(seen, i))
			ok &= check_item(check, node, list, i, &step, where);
	}
	seen_mark_from(seen, 0, list->count);
	return ok;
}

/* ---- maps ---- */

static bool check_member(struct check *check, const struct node *node, const struct value *map, size_t index,
	const struct at *rule, const struct at *where)
{
	struct at here = {.up = where, .key = map->keys[index], .len = map->key_lens[index]};

	if (node->never && wants_errors(check)) {
		own(buf_done) struct buf line = {0};
		return fail(check, &map->items[index], rule, where, NULL, "there must be no '%s' in it",
			shown(map->keys[index], map->key_lens[index], &line));
	}
	return check_node(check, node, &map->items[index], (struct seen){0}, rule, &here);
}

static bool check_property(struct check *check, const struct map_rules *rules, const struct value *map, size_t index,
	struct seen seen, const struct at *rule, const struct at *where)
{
	const char *key = map->keys[index];
	size_t len = map->key_lens[index];
	const struct node_property *property = map_rules_find(rules, key, len);
	bool known = property != NULL, ok = true;

	if (!spend(check, 1))
		return false;
	if (property) {
		struct at word = {.up = rule, .key = "properties", .len = 10};
		struct at step = {.up = &word, .key = key, .len = len};
		ok &= check_member(check, property->node, map, index, &step, where);
	}
	for (size_t i = 0; i < rules->pattern_count && goes_on(check, ok); i++) {
		const struct node_pattern *pattern = &rules->patterns[i];
		if (!matches(check, pattern->pattern, key, len))
			continue;
		struct at word = {.up = rule, .key = "patternProperties", .len = 17};
		const char *text = pattern_text(pattern->pattern);
		struct at step = {.up = &word, .key = text, .len = strlen(text)};
		known = true;
		ok &= check_member(check, pattern->node, map, index, &step, where);
	}
	if (!known && rules->additional && goes_on(check, ok)) {
		struct at step = {.up = rule, .key = "additionalProperties", .len = 20};
		known = true;
		ok &= check_member(check, rules->additional, map, index, &step, where);
	}
	if (known)
		seen_mark(seen, index);
	return ok && !check->gave_up;
}

static bool check_names(struct check *check, const struct map_rules *rules, const struct value *map,
	const struct at *rule, const struct at *where)
{
	struct at step = {.up = rule, .key = "propertyNames", .len = 13};
	bool ok = true;

	for (size_t i = 0; i < map->count && goes_on(check, ok); i++) {
		struct value name = {.kind = VALUE_TEXT, .text = map->keys[i], .len = map->key_lens[i],
			.line = map->key_lines ? map->key_lines[i] : 0};
		struct at here = {.up = where, .key = map->keys[i], .len = map->key_lens[i]};
		ok &= check_node(check, rules->names, &name, (struct seen){0}, &step, &here);
	}
	return ok;
}

static bool check_needed(struct check *check, const struct node_key *keys, size_t count, const struct value *map,
	const struct at *rule, const struct at *where, const char *word)
{
	bool ok = true;

	for (size_t i = 0; i < count && goes_on(check, ok); i++) {
		if (!spend(check, 1 + map->count / 16))
			return false;
		if (value_find(map, keys[i].text, keys[i].len) != SIZE_MAX)
			continue;
		own(buf_done) struct buf line = {0};
		ok = !wants_errors(check) ? false
					  : fail(check, map, rule, where, word, "there must be a '%s' in it",
						  shown(keys[i].text, keys[i].len, &line));
	}
	return ok;
}

static bool check_dependencies(struct check *check, const struct map_rules *rules, const struct value *map,
	struct seen seen, const struct at *rule, const struct at *where)
{
	bool ok = true;

	for (size_t i = 0; i < rules->dependency_count && goes_on(check, ok); i++) {
		const struct node_dependency *dependency = &rules->dependencies[i];
		if (!spend(check, 1 + map->count / 16))
			return false;
		if (value_find(map, dependency->key.text, dependency->key.len) == SIZE_MAX)
			continue;
		struct at word = {.up = rule, .key = dependency->word, .len = strlen(dependency->word)};
		struct at step = {.up = &word, .key = dependency->key.text, .len = dependency->key.len};
		if (dependency->node)
			ok &= check_node(check, dependency->node, map, seen, &step, where);
		else
			ok &= check_needed(check, dependency->needs, dependency->need_count, map, &step, where, NULL);
	}
	return ok;
}

static bool check_map(struct check *check, const struct map_rules *rules, const struct value *map, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = true;

	if (map->count < rules->min)
		ok = fail(check, map, rule, where, "minProperties", "it must have at least %ju members, not %zu",
			(uintmax_t)rules->min, map->count);
	if (map->count > rules->max)
		ok = fail(check, map, rule, where, "maxProperties", "it must have at most %ju members, not %zu",
			(uintmax_t)rules->max, map->count);
	if (goes_on(check, ok))
		ok &= check_needed(check, rules->required, rules->required_count, map, rule, where, "required");
	if (rules->property_count || rules->pattern_count || rules->additional) {
		for (size_t i = 0; i < map->count && goes_on(check, ok); i++)
			ok &= check_property(check, rules, map, i, seen, rule, where);
	}
	if (goes_on(check, ok) && rules->names)
		ok &= check_names(check, rules, map, rule, where);
	if (goes_on(check, ok) && rules->dependency_count)
		ok &= check_dependencies(check, rules, map, seen, rule, where);
	return ok;
}

static bool check_unevaluated_members(struct check *check, const struct node *node, const struct value *map,
	struct seen seen, const struct at *rule, const struct at *where)
{
	struct at step = {.up = rule, .key = "unevaluatedProperties", .len = 21};
	bool ok = true;

	for (size_t i = 0; i < map->count && goes_on(check, ok); i++) {
		if (!seen_has(seen, i))
			ok &= check_member(check, node, map, i, &step, where);
	}
	seen_mark_from(seen, 0, map->count);
	return ok;
}

/* ---- logic ---- */

static bool check_all(struct check *check, const struct node_list *list, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	struct at word = {.up = rule, .key = "allOf", .len = 5};
	bool ok = true;

	for (size_t i = 0; i < list->count && goes_on(check, ok); i++) {
		struct at step = {.up = &word, .index = i};
		ok &= check_node(check, list->nodes[i], value, seen, &step, where);
	}
	return ok;
}

/* If all alternatives but one are ruled out by type, what is wrong with that one says more than "none fits". */
static bool explain_one(struct check *check, const struct node_list *list, const struct value *value,
	const struct at *rule, const struct at *where, const char *word)
{
	size_t only = SIZE_MAX;

	if (!wants_errors(check))
		return false;
	for (size_t i = 0; i < list->count; i++) {
		const struct node *node = list->nodes[i]->refs[0].node ? list->nodes[i]->refs[0].node : list->nodes[i];
		if (!(node->types & value_type(value)))
			continue;
		if (only != SIZE_MAX)
			return fail(check, value, rule, where, word, "it fits none of the %zu alternatives", list->count);
		only = i;
	}
	if (only == SIZE_MAX)
		return fail(check, value, rule, where, word, "it fits none of the %zu alternatives", list->count);
	struct at name = {.up = rule, .key = word, .len = strlen(word)};
	struct at step = {.up = &name, .index = only};
	return check_node(check, list->nodes[only], value, (struct seen){0}, &step, where);
}

static bool check_any(struct check *check, const struct node_list *list, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = false;

	for (size_t i = 0; i < list->count && (!ok || seen.bits) && !check->gave_up; i++)
		ok |= check_branch(check, list->nodes[i], value, seen);
	return !check->gave_up && (ok || explain_one(check, list, value, rule, where, "anyOf"));
}

static bool check_one(struct check *check, const struct node_list *list, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; i < list->count && !check->gave_up; i++) {
		if (!check_branch(check, list->nodes[i], value, seen))
			continue;
		if (first != SIZE_MAX)
			return fail(check, value, rule, where, "oneOf", "it fits alternatives %zu and %zu (from 0); only one may fit",
				first, i);
		first = i;
	}
	return !check->gave_up && (first != SIZE_MAX || explain_one(check, list, value, rule, where, "oneOf"));
}

static bool check_if(struct check *check, const struct logic_rules *logic, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool holds = check_branch(check, logic->if_, value, seen);
	const struct node *next = holds ? logic->then_ : logic->else_;
	struct at step = {.up = rule, .key = holds ? "then" : "else", .len = 4};

	return !check->gave_up && (!next || check_node(check, next, value, seen, &step, where));
}

static bool check_logic(struct check *check, const struct logic_rules *logic, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = check_all(check, &logic->all, value, seen, rule, where);

	if (logic->any.nodes && goes_on(check, ok))
		ok &= check_any(check, &logic->any, value, seen, rule, where);
	if (logic->one.nodes && goes_on(check, ok))
		ok &= check_one(check, &logic->one, value, seen, rule, where);
	if (logic->not && goes_on(check, ok) && check_branch(check, logic->not, value, (struct seen){0}))
		ok = fail(check, value, rule, where, "not", "it fits what it must not fit");
	if (logic->if_ && goes_on(check, ok))
		ok &= check_if(check, logic, value, seen, rule, where);
	return ok && !check->gave_up;
}

/* ---- nodes ---- */

static bool check_own(struct check *check, const struct node *node, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool ok = check_type(check, node, value, rule, where);

	if ((node->enum_ || node->const_) && goes_on(check, ok))
		ok &= check_enum(check, node, value, rule, where);
	if (node->number && value->kind == VALUE_NUMBER && goes_on(check, ok))
		ok &= check_number(check, node->number, value, rule, where);
	if (node->text && value->kind == VALUE_TEXT && goes_on(check, ok))
		ok &= check_text(check, node->text, value, rule, where);
	if (node->format && node->assert_format && value->kind == VALUE_TEXT && goes_on(check, ok) &&
		!node->format->check(value->text, value->len))
		ok = fail(check, value, rule, where, "format", "it must be %s", node->format->article);
	for (size_t i = 0; i < ARRAY_LEN(node->refs) && node->refs[i].node && goes_on(check, ok); i++) {
		struct at step = {.up = rule, .key = node->refs[i].word, .len = strlen(node->refs[i].word)};
		ok &= check_node(check, node->refs[i].node, value, seen, &step, where);
	}
	if (node->list && value->kind == VALUE_LIST && goes_on(check, ok))
		ok &= check_list(check, node->list, value, seen, rule, where);
	if (node->map && value->kind == VALUE_MAP && goes_on(check, ok))
		ok &= check_map(check, node->map, value, seen, rule, where);
	if (node->logic && goes_on(check, ok))
		ok &= check_logic(check, node->logic, value, seen, rule, where);
	return ok;
}

/* With `unevaluated...`: what the node itself evaluates is kept apart from what its neighbours do. */
static bool check_apart(struct check *check, const struct node *node, const struct value *value, struct seen outer,
	const struct at *rule, const struct at *where)
{
	struct seen seen = seen_new(check, value);
	bool ok = check_own(check, node, value, seen, rule, where);

	if (value->kind == VALUE_LIST && node->list && node->list->unevaluated && goes_on(check, ok))
		ok &= check_unevaluated_items(check, node->list->unevaluated, value, seen, rule, where);
	if (value->kind == VALUE_MAP && node->map && node->map->unevaluated && goes_on(check, ok))
		ok &= check_unevaluated_members(check, node->map->unevaluated, value, seen, rule, where);
	for (size_t i = 0; outer.bits && i < seen.words; i++)
		outer.bits[i] |= seen.bits[i];
	return ok;
}

static bool check_node(struct check *check, const struct node *node, const struct value *value, struct seen seen,
	const struct at *rule, const struct at *where)
{
	bool inner = value->kind == VALUE_LIST || value->kind == VALUE_MAP;

	if (!spend(check, 1))
		return false;
	if (node->never)
		return fail(check, value, rule, where, NULL, "nothing is allowed here");
	if (check->depth >= DEPTH_MAX)
		return give_up(check, "it is nested too deep for this schema");
	check->depth++;
	struct arena_mark mark = arena_mark(check->scratch);
	bool ok = node->unevaluated && inner ? check_apart(check, node, value, seen, rule, where)
					     : check_own(check, node, value, seen, rule, where);
	arena_rewind(check->scratch, mark);
	check->depth--;
	return ok && !check->gave_up;
}

enum schema_verdict node_check(const struct node *node, const struct value *value, struct arena *scratch, uint64_t *left)
{
	struct check check = {.scratch = scratch, .left = *left < STEPS_MAX ? *left : STEPS_MAX};
	uint64_t before = check.left;
	bool ok = check_node(&check, node, value, (struct seen){0}, NULL, NULL);

	*left -= before - check.left;
	return check.gave_up ? SCHEMA_GAVE_UP : ok ? SCHEMA_VALID : SCHEMA_INVALID;
}

enum schema_verdict schema_check(
	const struct schema *schema, const struct value *value, struct schema_errors *ret, struct err *err)
{
	own(arena_done) struct arena scratch = {0};
	struct check check = {.scratch = &scratch, .left = STEPS_MAX, .errors = ret};

	if (ret)
		*ret = (struct schema_errors){0};
	bool ok = check_node(&check, schema->root, value, (struct seen){0}, NULL, NULL);
	if (ret)
		ret->steps = STEPS_MAX - check.left;
	if (!check.gave_up)
		return ok ? SCHEMA_VALID : SCHEMA_INVALID;
	if (ret) {
		schema_errors_done(ret);
		ret->steps = STEPS_MAX;
	}
	(void)err_set(err, ERR_LIMIT, "the value cannot be checked: %s", check.gave_up);
	return SCHEMA_GAVE_UP;
}

void schema_errors_done(struct schema_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++) {
		free(errors->list[i].where);
		free(errors->list[i].rule);
		free(errors->list[i].text);
	}
	free(errors->list);
	*errors = (struct schema_errors){0};
}

void schema_error_text(const struct schema_error *error, struct buf *out)
{
	buf_fmt(out, "%s%s%s", error->where, *error->where ? ": " : "", error->text);
}
