/* Whatever the text: it is refused with a sentence that names a line of it, or gives a tree within the limits that
 * says the same when it is written and read again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/json_read.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct json_limits limits = {.bytes = 4096, .values = 100, .depth = 8};

static void check_text(const char *text)
{
	for (size_t i = 0, len = strlen(text); i < len;) {
		int step = utf8_char(text + i, len - i);
		assert(step > 0);
		i += (size_t)step;
	}
}

static size_t check(const struct value *value, unsigned depth, unsigned lines)
{
	bool inner = value->kind == VALUE_LIST || value->kind == VALUE_MAP;
	size_t values = 1;

	assert(depth + inner <= limits.depth && value->line >= 1 && value->line <= lines);
	assert(inner == !value->text && (inner || value->count == 0));
	assert((value->kind == VALUE_MAP && value->count > 0) == !!value->keys);
	if (value->text)
		check_text(value->text);
	for (size_t i = 0; i < value->count; i++) {
		if (value->keys) {
			check_text(value->keys[i]);
			values++;
			for (size_t j = 0; j < i; j++)
				assert(strcmp(value->keys[i], value->keys[j]) != 0);
		}
		values += check(&value->items[i], depth + 1, lines);
	}
	return values;
}

/* Numbers as text: the writer has no way to write them as they were. */
static void write_again(const struct value *value, struct json *json)
{
	if (value->kind == VALUE_BOOL)
		json_bool(json, value->truth);
	else if (value->kind == VALUE_NULL)
		json_null(json);
	else if (value->text)
		json_string(json, value->text);
	else
		json_open(json, value->kind == VALUE_MAP ? '{' : '[');
	for (size_t i = 0; i < value->count; i++) {
		if (value->keys)
			json_key(json, value->keys[i]);
		write_again(&value->items[i], json);
	}
	if (!value->text)
		json_close(json, value->kind == VALUE_MAP ? '}' : ']');
}

static void check_written(const struct value *value)
{
	static const struct json_limits wider = {.bytes = 1 << 20, .values = 100, .depth = 8};
	own(json_done) struct json first = {0}, second = {0};
	own(value_done) struct value again = {0};
	struct err err = {0};

	write_again(value, &first);
	assert(json_read(first.out.data, first.out.len, &wider, "f", &again, &err) == 0);
	write_again(&again, &second);
	assert(first.out.len == second.out.len && memcmp(first.out.data, second.out.data, first.out.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(value_done) struct value value = {0};
	own(freep) char *text = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	struct err err = {0};
	unsigned lines = 1;

	memcpy(text, data, size);
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (json_read(text, size, &limits, "f", &value, &err) == 0) {
		assert(size <= limits.bytes && check(&value, 0, lines) <= limits.values);
		check_written(&value);
		return 0;
	}
	assert(err.code == ERR_USAGE && strncmp(err.text, "f:", 2) == 0);
	check_text(err.text);
	char *end;
	unsigned long line = strtoul(err.text + 2, &end, 10);
	assert(line >= 1 && line <= lines && strncmp(end, ": ", 2) == 0 && end[2]);
	return 0;
}
