#include "base/value.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/term.h"

#define NAME_SHOWN 160

void value_done(struct value *value)
{
	for (size_t i = 0; i < value->count; i++) {
		if (value->keys)
			free(value->keys[i]);
		value_done(&value->items[i]);
	}
	free(value->keys);
	free(value->key_lens);
	free(value->key_lines);
	free(value->items);
	free(value->text);
	*value = (struct value){0};
}

struct value *value_add(struct value *into, char *key, unsigned key_line)
{
	size_t at = into->count;

	if ((at & (at - 1)) == 0) { /* arrays double, so a long list costs no more than its length */
		size_t room = at ? at * 2 : 1;
		into->items = xrealloc(into->items, room, sizeof(*into->items));
		if (key) {
			into->keys = xrealloc(into->keys, room, sizeof(*into->keys));
			into->key_lens = xrealloc(into->key_lens, room, sizeof(*into->key_lens));
			into->key_lines = xrealloc(into->key_lines, room, sizeof(*into->key_lines));
		}
	}
	into->items[at] = (struct value){0};
	if (key) {
		into->keys[at] = key;
		into->key_lens[at] = strlen(key);
		into->key_lines[at] = key_line;
	}
	into->count++;
	return &into->items[at];
}

const char *value_kind_name(enum value_kind kind)
{
	static const char *const names[] = {
		[VALUE_NULL] = "nothing",
		[VALUE_BOOL] = "true or false",
		[VALUE_NUMBER] = "a number",
		[VALUE_TEXT] = "a string",
		[VALUE_LIST] = "an array",
		[VALUE_MAP] = "an object",
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

int value_fail(struct err *err, const char *name, size_t line, const char *format, va_list args)
{
	own(buf_done) struct buf shown = {0};
	char sentence[sizeof(err->text)];

	(void)vsnprintf(sentence, sizeof(sentence), format, args);
	if (!name)
		return err_set(err, ERR_USAGE, "%s", sentence);
	term_line(name, strlen(name), NAME_SHOWN, &shown);
	return err_set(err, ERR_USAGE, "%s:%zu: %s", buf_text(&shown), line, sentence);
}
