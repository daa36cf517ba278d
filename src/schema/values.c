/* Values as JSON Schema compares and measures them. */
#include <string.h>

#include "schema/node.h"

unsigned value_type(const struct value *value)
{
	struct number number;

	switch (value->kind) {
	case VALUE_NULL: return TYPE_NULL;
	case VALUE_BOOL: return TYPE_BOOL;
	case VALUE_TEXT: return TYPE_TEXT;
	case VALUE_LIST: return TYPE_LIST;
	case VALUE_MAP: return TYPE_MAP;
	case VALUE_NUMBER: break;
	}
	/* YAML has whole numbers that JSON has not (0x1f) */
	return !number_parse(value->text, value->len, &number) || number_is_whole(&number) ? TYPE_WHOLE : TYPE_FRACTION;
}

size_t text_length(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static bool key_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
	return a_len == b_len && memcmp(a, b, a_len) == 0;
}

size_t value_find(const struct value *map, const char *key, size_t len)
{
	for (size_t i = 0; i < map->count; i++) {
		if (key_equal(map->keys[i], map->key_lens[i], key, len))
			return i;
	}
	return SIZE_MAX;
}

const struct node_property *map_rules_find(const struct map_rules *rules, const char *key, size_t len)
{
	size_t low = 0, high = rules->property_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct node_key *at = &rules->properties[middle].key;
		int order = at->len != len ? (at->len < len ? -1 : 1) : memcmp(at->text, key, len);
		if (order == 0)
			return &rules->properties[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static uint64_t bytes_hash(const char *bytes, size_t len, uint64_t hash)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
	return hash ^ hash >> 29;
}

uint64_t value_hash(const struct value *value)
{
	uint64_t hash = 0x9ae16a3b2f90404fu * ((unsigned)value->kind + 1);
	struct number number;

	switch (value->kind) {
	case VALUE_NULL: break;
	case VALUE_BOOL: hash += value->truth; break;
	case VALUE_NUMBER: hash += number_parse(value->text, value->len, &number) ? number_hash(&number) : 1; break;
	case VALUE_TEXT: hash = bytes_hash(value->text, value->len, hash); break;
	case VALUE_LIST:
		for (size_t i = 0; i < value->count; i++)
			hash = (hash ^ value_hash(&value->items[i])) * 0x100000001b3u;
		break;
	case VALUE_MAP: /* in whatever order */
		for (size_t i = 0; i < value->count; i++)
			hash += bytes_hash(value->keys[i], value->key_lens[i], 1469598103934665603u) *
				(value_hash(&value->items[i]) | 1);
		break;
	}
	return hash;
}

struct member {
	const char *key;
	size_t len;
	const struct value *value;
};

static int member_compare(const void *a, const void *b)
{
	const struct member *left = a, *right = b;

	if (left->len != right->len)
		return left->len < right->len ? -1 : 1;
	return memcmp(left->key, right->key, left->len);
}

static struct member *members_sorted(const struct value *map)
{
	struct member *members = xcalloc(map->count, sizeof(*members));

	for (size_t i = 0; i < map->count; i++)
		members[i] = (struct member){map->keys[i], map->key_lens[i], &map->items[i]};
	qsort(members, map->count, sizeof(*members), member_compare);
	return members;
}

static bool large_maps_equal(const struct value *a, const struct value *b)
{
	own(freep) struct member *left = members_sorted(a), *right = members_sorted(b);

	for (size_t i = 0; i < a->count; i++) {
		if (member_compare(&left[i], &right[i]) != 0 || !value_equal(left[i].value, right[i].value))
			return false;
	}
	return true;
}

static bool maps_equal(const struct value *a, const struct value *b)
{
	if (a->count > 32)
		return large_maps_equal(a, b);
	for (size_t i = 0; i < a->count; i++) {
		size_t at = key_equal(a->keys[i], a->key_lens[i], b->keys[i], b->key_lens[i])
			? i : value_find(b, a->keys[i], a->key_lens[i]);
		if (at == SIZE_MAX || !value_equal(&a->items[i], &b->items[at]))
			return false;
	}
	return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
	struct number left, right;

	if (a->kind != b->kind || (a->kind != VALUE_NUMBER && a->kind != VALUE_NULL && a->kind != VALUE_BOOL &&
			(a->count != b->count || a->len != b->len)))
		return false;
	switch (a->kind) {
	case VALUE_NULL: return true;
	case VALUE_BOOL: return a->truth == b->truth;
	case VALUE_TEXT: return memcmp(a->text, b->text, a->len) == 0;
	case VALUE_NUMBER:
		return number_parse(a->text, a->len, &left) && number_parse(b->text, b->len, &right) &&
			number_compare(&left, &right) == 0;
	case VALUE_MAP: return maps_equal(a, b);
	case VALUE_LIST: break;
	}
	for (size_t i = 0; i < a->count; i++) {
		if (!value_equal(&a->items[i], &b->items[i]))
			return false;
	}
	return true;
}

void types_write(unsigned types, struct buf *out)
{
	static const struct {
		unsigned type;
		const char *name;
	} names[] = {
		{TYPE_NULL, "null"}, {TYPE_BOOL, "true or false"}, {TYPE_NUMBER, "a number"}, {TYPE_WHOLE, "a whole number"},
		{TYPE_FRACTION, "a number with a fraction"}, {TYPE_TEXT, "a string"}, {TYPE_LIST, "an array"}, {TYPE_MAP, "an object"},
	};
	bool first = true;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((types & names[i].type) != names[i].type)
			continue;
		types &= ~names[i].type;
		buf_fmt(out, "%s%s", first ? "" : " or ", names[i].name);
		first = false;
	}
}
