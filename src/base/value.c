#include "base/value.h"

#include <string.h>

void value_done(struct value *value)
{
	for (size_t i = 0; i < value->count; i++) {
		if (value->keys)
			free(value->keys[i]);
		value_done(&value->items[i]);
	}
	free(value->keys);
	free(value->key_lines);
	free(value->items);
	free(value->text);
	*value = (struct value){0};
}

const char *value_kind_name(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_NULL] = "nothing",
		[VALUE_BOOL] = "true or false",
		[VALUE_NUMBER] = "a number",
		[VALUE_TEXT] = "text",
		[VALUE_LIST] = "a list",
		[VALUE_MAP] = "a map",
	};
	return names[kind];
}

const struct value *value_get(const struct value *map, const char *key)
{
	for (size_t i = 0; map->kind == VALUE_MAP && i < map->count; i++) {
		if (strcmp(map->keys[i], key) == 0)
			return &map->items[i];
	}
	return NULL;
}
