#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

void strings_take(struct strings *strings, char *text)
{
	strings->items = xrealloc(strings->items, strings->count + 2, sizeof(*strings->items));
	strings->items[strings->count++] = text;
	strings->items[strings->count] = NULL;
}

void strings_add(struct strings *strings, const char *text)
{
	strings_take(strings, xstrdup(text));
}

void strings_add_all(struct strings *strings, const char *const *texts)
{
	for (; texts && *texts; texts++)
		strings_add(strings, *texts);
}

void strings_copy(struct strings *to, const struct strings *from, size_t max)
{
	for (size_t i = 0; from && i < from->count && i < max; i++)
		strings_add(to, from->items[i]);
}

bool strings_have(const struct strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->count; i++)
		if (strcmp(strings->items[i], text) == 0)
			return true;
	return false;
}

void strings_json(const struct strings *strings, struct json *json)
{
	json_open(json, '[');
	for (size_t i = 0; strings && i < strings->count; i++)
		json_string(json, strings->items[i]);
	json_close(json, ']');
}

void strings_done(struct strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct strings){0};
}
