#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "base/value.h"

void json_done(struct json *json)
{
	buf_done(&json->out);
	*json = (struct json){0};
}

static void json_indent(struct json *json)
{
	if (!json->pretty)
		return;
	buf_char(&json->out, '\n');
	for (int i = 0; i < json->depth; i++)
		buf_str(&json->out, "  ");
}

/* What stands before a value or a key. Values at the top are a line each. */
static void json_begin(struct json *json)
{
	if (json->after_key) {
		json->after_key = false;
		return;
	}
	if (json->depth == 0) {
		if (json->comma)
			buf_char(&json->out, '\n');
		return;
	}
	if (json->comma)
		buf_char(&json->out, ',');
	json_indent(json);
}

void json_open(struct json *json, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	json_begin(json);
	buf_char(&json->out, bracket);
	json->depth++;
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	assert((bracket == '}' || bracket == ']') && json->depth > 0 && !json->after_key);
	json->depth--;
	if (json->comma)
		json_indent(json);
	buf_char(&json->out, bracket);
	json->comma = true;
}

/* One character, or a byte that is none. C1 controls too: the text may reach a terminal. */
static void json_char(struct buf *out, const char *at, int size)
{
	static const char letters[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r',
	};
	unsigned char first = (unsigned char)at[0];

	if (size <= 0) {
		buf_str(out, "\xef\xbf\xbd");
	} else if (first == '"' || first == '\\') {
		buf_char(out, '\\');
		buf_char(out, at[0]);
	} else if (!utf8_is_control(at, size)) {
		buf_add(out, at, (size_t)size);
	} else if (first < sizeof(letters) && letters[first]) {
		buf_char(out, '\\');
		buf_char(out, letters[first]);
	} else {
		buf_fmt(out, "\\u%04x", size == 1 ? first : (unsigned char)at[1]);
	}
}

/* How many of the first bytes stand for themselves: nearly always all of them. */
static size_t plain_length(const char *bytes, size_t len)
{
	size_t i = 0;

	while (i < len && bytes[i] >= ' ' && bytes[i] <= '~' && bytes[i] != '"' && bytes[i] != '\\')
		i++;
	return i;
}

static void json_quote(struct json *json, const char *bytes, size_t len)
{
	struct buf *out = &json->out;

	buf_char(out, '"');
	for (size_t i = 0; i < len;) {
		size_t plain = plain_length(bytes + i, len - i);
		buf_add(out, bytes + i, plain);
		i += plain;
		if (i == len)
			break;
		int size = utf8_char(bytes + i, len - i);
		json_char(out, bytes + i, size);
		i += size > 0 ? (size_t)size : 1;
	}
	buf_char(out, '"');
}

void json_key(struct json *json, const char *key)
{
	assert(!json->after_key && json->depth > 0);
	json_begin(json);
	json_quote(json, key, strlen(key));
	buf_str(&json->out, json->pretty ? ": " : ":");
	json->after_key = true;
}

void json_bytes(struct json *json, const char *bytes, size_t len)
{
	json_begin(json);
	json_quote(json, bytes, len);
	json->comma = true;
}

static void json_word(struct json *json, const char *word)
{
	json_begin(json);
	buf_str(&json->out, word);
	json->comma = true;
}

void json_string(struct json *json, const char *text)
{
	if (text)
		json_bytes(json, text, strlen(text));
	else
		json_null(json);
}

void json_int(struct json *json, int64_t value)
{
	json_word(json, "");
	buf_fmt(&json->out, "%lld", (long long)value);
}

void json_uint(struct json *json, uint64_t value)
{
	json_word(json, "");
	buf_fmt(&json->out, "%llu", (unsigned long long)value);
}

void json_real(struct json *json, double value, int decimals)
{
	if (!isfinite(value)) { /* JSON has no word for them */
		json_null(json);
		return;
	}
	decimals = decimals < 0 ? 0 : decimals > 17 ? 17 : decimals;
	json_word(json, "");
	buf_fmt(&json->out, "%.*f", decimals, value);
}

void json_bool(struct json *json, bool value)
{
	json_word(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
	json_word(json, "null");
}

void json_put_string(struct json *json, const char *key, const char *text)
{
	json_key(json, key);
	json_string(json, text);
}

void json_put_int(struct json *json, const char *key, int64_t value)
{
	json_key(json, key);
	json_int(json, value);
}

void json_put_uint(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

void json_put_real(struct json *json, const char *key, double value, int decimals)
{
	json_key(json, key);
	json_real(json, value, decimals);
}

void json_put_bool(struct json *json, const char *key, bool value)
{
	json_key(json, key);
	json_bool(json, value);
}

/* ---- trees ---- */

static int key_order(const void *one, const void *other, void *keys)
{
	char *const *names = keys;
	return strcmp(names[*(const size_t *)one], names[*(const size_t *)other]);
}

static void map_members(struct json *json, const struct value *map, bool sorted)
{
	own(freep) size_t *order = xcalloc(map->count ? map->count : 1, sizeof(*order));

	for (size_t i = 0; i < map->count; i++)
		order[i] = i;
	if (sorted)
		qsort_r(order, map->count, sizeof(*order), key_order, map->keys);
	for (size_t i = 0; i < map->count; i++) {
		json_key(json, map->keys[order[i]]);
		json_value(json, &map->items[order[i]], sorted);
	}
}

void json_value(struct json *json, const struct value *value, bool sorted)
{
	switch (value->kind) {
	case VALUE_NULL: json_null(json); return;
	case VALUE_BOOL: json_bool(json, value->truth); return;
	case VALUE_NUMBER: json_word(json, value->text); return;
	case VALUE_TEXT: json_string(json, value->text); return;
	case VALUE_LIST:
		json_open(json, '[');
		for (size_t i = 0; i < value->count; i++)
			json_value(json, &value->items[i], sorted);
		json_close(json, ']');
		return;
	case VALUE_MAP:
		json_open(json, '{');
		map_members(json, value, sorted);
		json_close(json, '}');
		return;
	}
}
