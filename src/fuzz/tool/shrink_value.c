/* A value made simpler from the value itself, where the choices it was made of are not known: a capsule's, or one
 * with something of an earlier answer in it. See explorer.h.
 *
 * Every change makes the text shorter, or as long and simpler, so it ends. A change that does not do is undone in
 * place. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

#define CHARACTERS_MAX 48 /* of a text of which each character is tried */
#define HOIST_DEPTH 3
#define REPEATS_MAX 512 /* bytes of a text in which repetitions are looked for */
#define REPEAT_MAX 12 /* bytes of what is repeated */

struct state {
	struct value_shrink *shrink;
	struct value value;
	struct buf best, next;
};

static void state_done(struct state *state)
{
	value_done(&state->value);
	buf_done(&state->best);
	buf_done(&state->next);
}

static bool is_spent(const struct state *state)
{
	const struct value_shrink *shrink = state->shrink;

	return shrink->calls >= shrink->max_calls || (shrink->over && shrink->over(shrink->context));
}

/* Whether the value as it is now still does it. */
static bool does(struct state *state)
{
	struct value_shrink *shrink = state->shrink;
	struct err err;

	if (is_spent(state))
		return false;
	state->next.len = 0;
	value_write(&state->value, &state->next);
	if (state->next.len == state->best.len && memcmp(state->next.data, state->best.data, state->best.len) == 0)
		return false;
	enum schema_verdict wanted = shrink->malformed ? SCHEMA_INVALID : SCHEMA_VALID;
	if (shrink->schema && schema_check(shrink->schema, &state->value, NULL, &err) != wanted)
		return false;
	shrink->calls++;
	if (!shrink->still(shrink->context, state->next.data, state->next.len))
		return false;
	state->best.len = 0;
	buf_add(&state->best, state->next.data, state->next.len);
	return true;
}

/* The node is replaced, for good or not at all. `by` is taken. */
static bool replace(struct state *state, struct value *node, struct value by)
{
	struct value was = *node;

	*node = by;
	if (does(state)) {
		value_done(&was);
		return true;
	}
	value_done(node);
	*node = was;
	return false;
}

static struct value scalar(enum value_kind kind, const char *text, size_t len)
{
	struct value made = {.kind = kind, .text = xcalloc(1, len + 1), .len = len};

	if (len)
		memcpy(made.text, text, len);
	return made;
}

/* ---- lists and maps ---- */

/* Moves `count` items from `at` to the end, or back. Together with `count` that is taking them away. */
static void rotate(void *items, size_t size, size_t total, size_t at, size_t count, bool back)
{
	size_t rest = total - at - count;
	char *from = (char *)items + at * size;
	own(freep) char *kept = xcalloc(count, size);

	if (back) {
		memcpy(kept, from + rest * size, count * size);
		memmove(from + count * size, from, rest * size);
		memcpy(from, kept, count * size);
	} else {
		memcpy(kept, from, count * size);
		memmove(from, from + count * size, rest * size);
		memcpy(from + rest * size, kept, count * size);
	}
}

static void rotate_all(struct value *node, size_t total, size_t at, size_t count, bool back)
{
	rotate(node->items, sizeof(*node->items), total, at, count, back);
	if (node->kind != VALUE_MAP)
		return;
	rotate(node->keys, sizeof(*node->keys), total, at, count, back);
	rotate(node->key_lens, sizeof(*node->key_lens), total, at, count, back);
	rotate(node->key_lines, sizeof(*node->key_lines), total, at, count, back);
}

static bool take_away(struct state *state, struct value *node, size_t at, size_t count)
{
	size_t total = node->count;

	rotate_all(node, total, at, count, false);
	node->count = total - count;
	if (!does(state)) {
		node->count = total;
		rotate_all(node, total, at, count, true);
		return false;
	}
	for (size_t i = node->count; i < total; i++) {
		value_done(&node->items[i]);
		if (node->kind == VALUE_MAP)
			free(node->keys[i]);
	}
	return true;
}

static bool shrink_items(struct state *state, struct value *node)
{
	bool any = false;

	for (size_t size = node->count; size > 0 && !is_spent(state); size /= 2) {
		for (size_t at = node->count; at >= size && !is_spent(state);) {
			at -= size;
			if (at + size <= node->count)
				any |= take_away(state, node, at, size);
			if (at < size)
				break;
		}
	}
	return any;
}

static bool has_key(const struct value *map, const char *key, size_t len)
{
	for (size_t i = 0; i < map->count; i++) {
		if (map->key_lens[i] == len && memcmp(map->keys[i], key, len) == 0)
			return true;
	}
	return false;
}

/* Names that nobody asks for: none, or one letter. */
static bool shrink_keys(struct state *state, struct value *node)
{
	static const char *const simple[] = {"", "a"};
	bool any = false;

	for (size_t i = 0; i < node->count; i++) {
		for (size_t j = 0; j < ARRAY_LEN(simple) && node->key_lens[i] > strlen(simple[j]) && !is_spent(state); j++) {
			char *was = node->keys[i];
			size_t was_len = node->key_lens[i];
			if (has_key(node, simple[j], strlen(simple[j])))
				continue;
			node->keys[i] = xstrdup(simple[j]);
			node->key_lens[i] = strlen(simple[j]);
			bool fits = does(state);
			free(fits ? was : node->keys[i]);
			any |= fits;
			if (fits)
				break;
			node->keys[i] = was;
			node->key_lens[i] = was_len;
		}
	}
	return any;
}

/* A part instead of the whole: in a recursive schema it may do as well. */
static bool hoist(struct state *state, struct value *node, struct value *from, unsigned depth)
{
	for (size_t i = 0; i < from->count && !is_spent(state); i++) {
		struct value *inner = &from->items[i], was = *node;
		if (inner->kind == was.kind) {
			struct value part = *inner;
			*node = part;
			if (does(state)) {
				*inner = (struct value){0}; /* the whole goes without it */
				value_done(&was);
				return true;
			}
			*node = was;
		}
		if (depth < HOIST_DEPTH && hoist(state, node, inner, depth + 1))
			return true;
	}
	return false;
}

/* ---- texts ---- */

static size_t char_size(const char *text, size_t left)
{
	unsigned char c = (unsigned char)*text;
	size_t size = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	return size < left ? size : left;
}

static size_t chars_end(const char *text, size_t len, size_t at, size_t count)
{
	while (count-- > 0 && at < len)
		at += char_size(text + at, len - at);
	return at;
}

/* [from, to) taken out of the text. */
static bool cut(struct state *state, struct value *node, size_t from, size_t to)
{
	struct value less = scalar(VALUE_TEXT, node->text, node->len - (to - from));

	memcpy(less.text + from, node->text + to, node->len - to);
	return replace(state, node, less);
}

static bool shorten(struct state *state, struct value *node)
{
	bool any = false;

	for (size_t size = node->len; size > 0 && !is_spent(state); size /= 2) {
		for (size_t at = 0; at < node->len && !is_spent(state);) {
			size_t end = chars_end(node->text, node->len, at, size);
			if (cut(state, node, at, end))
				any = true;
			else
				at = end;
		}
	}
	return any;
}

/* Something over and over, such as steps up: once, or half as often. No half of the text is that. */
static bool repeat_less(struct state *state, struct value *node)
{
	bool any = false;

	for (size_t at = 0; at < node->len && node->len <= REPEATS_MAX && !is_spent(state); at++) {
		for (size_t size = 2; size <= REPEAT_MAX && at + 2 * size <= node->len; size++) {
			size_t end = at + size;
			while (end + size <= node->len && memcmp(node->text + at, node->text + end, size) == 0)
				end += size;
			for (size_t more = (end - at) / size - 1; more > 0; more /= 2) {
				if (!cut(state, node, end - more * size, end))
					continue;
				any = true;
				end -= more * size;
				if (end - at < 2 * size)
					break;
			}
		}
	}
	return any;
}

static bool simplify_characters(struct state *state, struct value *node)
{
	static const char simple[] = {'0', 'a'};
	bool any = false;

	for (size_t at = 0; at < node->len && node->len <= CHARACTERS_MAX && !is_spent(state);
		at += char_size(node->text + at, node->len - at)) {
		size_t size = char_size(node->text + at, node->len - at);
		for (size_t i = 0; i < sizeof(simple) && node->text[at] != '0'; i++) {
			if (node->text[at] == simple[i])
				break;
			struct value next = scalar(VALUE_TEXT, node->text, node->len);
			next.text[at] = simple[i];
			memmove(next.text + at + 1, node->text + at + size, node->len - at - size);
			next.len -= size - 1;
			next.text[next.len] = '\0';
			if (!replace(state, node, next))
				continue;
			any = true;
			break;
		}
	}
	return any;
}

/* ---- numbers ---- */

static bool number_to(struct state *state, struct value *node, int64_t number)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRId64, number);

	return replace(state, node, scalar(VALUE_NUMBER, text, (size_t)len));
}

static bool lower(struct state *state, struct value *node)
{
	char *end;
	long long number = strtoll(node->text, &end, 10);
	bool any = false, fraction = *end;

	if (fraction && !number_to(state, node, number))
		return false;
	any = fraction;
	if (number < 0 && number > INT64_MIN && number_to(state, node, -number))
		any = true, number = -number;
	uint64_t high = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
	/* what is not above `least` does not do it, as far as was tried */
	for (uint64_t least = 0; high > least + 1 && !is_spent(state);) {
		uint64_t middle = least + (high - least) / 2;
		if (number_to(state, node, number < 0 ? -(int64_t)middle : (int64_t)middle))
			any = true, high = middle;
		else
			least = middle;
	}
	return any;
}

/* ---- the whole ---- */

static bool shrink_node(struct state *state, struct value *node);

static bool shrink_inner(struct state *state, struct value *node)
{
	bool any = hoist(state, node, node, 0);

	if (node->count)
		any |= shrink_items(state, node);
	if (node->kind == VALUE_MAP)
		any |= shrink_keys(state, node);
	for (size_t i = 0; i < node->count && !is_spent(state); i++)
		any |= shrink_node(state, &node->items[i]);
	return any;
}

static bool shrink_node(struct state *state, struct value *node)
{
	switch (node->kind) {
	case VALUE_LIST: case VALUE_MAP:
		return shrink_inner(state, node);
	case VALUE_TEXT: {
		bool any = node->len && replace(state, node, scalar(VALUE_TEXT, "", 0));
		any |= repeat_less(state, node);
		any |= shorten(state, node);
		return simplify_characters(state, node) || any;
	}
	case VALUE_NUMBER: {
		bool zero = node->len == 1 && node->text[0] == '0';
		return !zero && (number_to(state, node, 0) || number_to(state, node, 1) || lower(state, node));
	}
	case VALUE_BOOL:
		return node->truth && replace(state, node, (struct value){.kind = VALUE_BOOL, .text = xstrdup("false"), .len = 5});
	default:
		return false;
	}
}

int value_shrink(struct value_shrink *shrink, struct buf *text, struct err *err)
{
	own(state_done) struct state state = {.shrink = shrink};

	shrink->calls = 0;
	if (json_read(text->data, text->len, &schema_text_limits, NULL, &state.value, err) < 0)
		return -1;
	value_write(&state.value, &state.best);
	while (!is_spent(&state) && shrink_node(&state, &state.value))
		;
	/* the text is what was tried last and did it: not even its blanks differ */
	if (shrink->calls) {
		text->len = 0;
		buf_add(text, state.best.data, state.best.len);
	}
	return 0;
}
