/* Whatever the text: it is refused with a sentence that names a line of it, or gives a tree within
 * the limits, all of whose lines are lines of the text and whose keys differ. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	size_t values;
	unsigned lines; /* of the text */
};

static void check_map(const struct value *map, const struct seen *seen)
{
	for (size_t i = 0; i < map->count; i++) {
		assert(map->key_lines[i] >= 1 && map->key_lines[i] <= seen->lines);
		for (size_t j = 0; j < i; j++)
			assert(strcmp(map->keys[i], map->keys[j]) != 0);
	}
}

static void check(const struct value *value, unsigned depth, struct seen *seen)
{
	bool inner = value->kind == VALUE_LIST || value->kind == VALUE_MAP;

	assert(++seen->values <= YAML_MAX_VALUES);
	assert(depth + inner <= YAML_MAX_DEPTH);
	assert(value->line >= 1 && value->line <= seen->lines);
	assert(inner == !value->text && (inner || value->count == 0));
	assert((value->kind == VALUE_MAP && value->count > 0) == !!value->keys);
	if (value->kind == VALUE_MAP)
		check_map(value, seen);
	for (size_t i = 0; i < value->count; i++)
		check(&value->items[i], depth + 1, seen);
}

static unsigned count_lines(const uint8_t *data, size_t size)
{
	unsigned lines = 1;

	for (size_t i = 0; i + 1 < size; i++)
		lines += data[i] == '\n';
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = {.lines = count_lines(data, size)};
	own(value_done) struct value value = {0};
	struct err err = {0};

	if (yaml_parse((const char *)data, size, "f", &value, &err) == 0) {
		check(&value, 0, &seen);
		return 0;
	}
	assert(err.code == ERR_USAGE && strncmp(err.text, "f:", 2) == 0);
	char *end;
	unsigned long line = strtoul(err.text + 2, &end, 10);
	assert(line >= 1 && line <= seen.lines && strncmp(end, ": ", 2) == 0 && end[2]);
	return 0;
}
