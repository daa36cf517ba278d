/* Whatever is written, in whatever order the input says: the output is UTF-8 without control
 * bytes, its brackets balance, and outside strings only JSON's own characters occur. */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reader of JSON that accepts exactly one value; returns where it ends, or NULL. */
static const char *skip_value(const char *at, int depth);

static const char *skip_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (*at == '\\' && !strchr("\"\\bfnrtu", *++at))
			return NULL;
	}
	return at + 1;
}

static const char *skip_number(const char *at)
{
	at += *at == '-';
	size_t whole = strspn(at, "0123456789");
	if (!whole || (whole > 1 && *at == '0'))
		return NULL;
	at += whole;
	if (*at != '.')
		return at;
	size_t fraction = strspn(at + 1, "0123456789");
	return fraction ? at + 1 + fraction : NULL;
}

static const char *skip_members(const char *at, char close, int depth)
{
	if (*at == close)
		return at + 1;
	for (;; at++) {
		if (close == '}') {
			at = skip_string(at);
			if (!at || *at++ != ':')
				return NULL;
		}
		at = skip_value(at, depth + 1);
		if (!at || (*at != ',' && *at != close))
			return NULL;
		if (*at == close)
			return at + 1;
	}
}

static const char *skip_value(const char *at, int depth)
{
	static const char *const words[] = {"true", "false", "null"};

	if (*at == '{' || *at == '[')
		return skip_members(at + 1, *at == '{' ? '}' : ']', depth);
	if (*at == '"')
		return skip_string(at);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	return skip_number(at);
}

static void check_clean(const struct buf *out, bool pretty)
{
	for (size_t i = 0; i < out->len;) {
		int step = utf8_char(out->data + i, out->len - i);
		assert(step > 0);
		assert(!utf8_is_control(out->data + i, step) || (pretty && out->data[i] == '\n'));
		i += (size_t)step;
	}
}

static void put_value(struct json *json, const uint8_t *data, size_t size)
{
	double real = 0;

	memcpy(&real, data, size < sizeof(real) ? size : sizeof(real));
	switch (data[0] % 6) {
	case 0: json_real(json, real, data[0] % 20 - 1); break;
	case 1: json_int(json, (int64_t)data[0] - 100); break;
	case 2: json_uint(json, size); break;
	case 3: json_bool(json, data[0] & 1); break;
	case 4: json_null(json); break;
	default: json_bytes(json, (const char *)data, size);
	}
}

/* Each byte of the plan opens, closes or puts something; kinds[] remembers what is open. */
static void build(struct json *json, const uint8_t *data, size_t size)
{
	char kinds[64] = "[";
	int depth = 1;

	json_open(json, '[');
	for (size_t i = 0; i < size; i++) {
		uint8_t move = data[i] % 8;
		if (move == 0 && depth > 1) {
			json_close(json, kinds[--depth] == '{' ? '}' : ']');
			continue;
		}
		if (kinds[depth - 1] == '{') {
			char key[4] = {(char)data[i], (char)data[size - 1 - i], '"', 0};
			json_key(json, key);
		}
		if (move <= 2 && depth < 60) {
			kinds[depth++] = move == 1 ? '{' : '[';
			json_open(json, kinds[depth - 1]);
		} else {
			put_value(json, data + i, size - i < 12 ? size - i : 12);
		}
	}
	while (depth > 0)
		json_close(json, kinds[--depth] == '{' ? '}' : ']');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(json_done) struct json flat = {0};
	own(json_done) struct json pretty = {.pretty = true};

	if (size > 4096)
		return 0;
	build(&flat, data, size);
	check_clean(&flat.out, false);
	const char *end = skip_value(buf_text(&flat.out), 0);
	assert(end && end == buf_text(&flat.out) + flat.out.len);
	build(&pretty, data, size);
	check_clean(&pretty.out, true);
	return 0;
}
