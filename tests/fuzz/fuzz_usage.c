/* Whatever an answer holds: how it is split changes nothing of what is read, and what is read is in range. The first
 * byte chooses the content type, the second seeds the splits. And whatever a request holds: what is not refused has a
 * bound, and the body that is sent is read like the one that came, and is asked for its usage. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "door/policy/ask.h"
#include "door/policy/strip.h"
#include "door/policy/usage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct usage *usage)
{
	const uint64_t max = UINT64_C(1) << 53;

	assert(usage->input <= max && usage->output <= max && usage->cache_read <= max && usage->cache_write <= max);
	size_t len = strnlen(usage->model, sizeof(usage->model));
	assert(len < sizeof(usage->model));
	for (size_t i = 0; i < len; i++)
		assert(usage->model[i] > ' ' && usage->model[i] <= '~');
}

/* Each piece in memory of its own, so that a byte too far is seen. seed 0: all at once. */
static void read_split(const char *type, const uint8_t *data, size_t size, uint32_t seed, struct usage *ret)
{
	struct usage_reader *reader = usage_open(type, strlen(type));

	for (size_t i = 0; i < size;) {
		size_t piece = seed ? 1 + (seed >> 16) % (1 + (seed >> 8) % 16) : size;
		piece = piece < size - i ? piece : size - i;
		own(freep) char *copy = malloc(piece);
		memcpy(copy, data + i, piece);
		usage_take(reader, copy, piece);
		seed = seed ? (seed * 1664525u + 1013904223u) | 1 : 0;
		i += piece;
	}
	usage_get(reader, ret);
	usage_free(reader);
}

static void check_ask(const char *path, const uint8_t *data, size_t size)
{
	own(freep) char *copy = malloc(size + 1);
	own(buf_done) struct buf sent = {0};
	struct ask ask, again;

	memcpy(copy, data, size);
	ask_read(&ask, (struct span){path, strlen(path)}, copy, size);
	if (ask.fault)
		return;
	assert(ask.is_free || ask.input > 0);
	assert(!ask.is_known || ask.input > size / 2 || ask.input >= 16385);
	ask_edit(&ask, copy, size, &sent);
	ask_read(&again, (struct span){path, strlen(path)}, buf_text(&sent), sent.len);
	assert(!again.fault && again.edit == ASK_AS_IT_IS);
	assert(again.output == ask.output && again.is_known == ask.is_known && strcmp(again.model, ask.model) == 0);
	assert(ask.edit != ASK_AS_IT_IS || sent.len == size);
}

/* What is left of a stream does not depend on how it is split, and is no more than the stream. */
static void check_strip(const uint8_t *data, size_t size, size_t step)
{
	own(buf_done) struct buf whole = {0}, split = {0};
	struct strip one = {0}, other = {0};

	strip_take(&one, (const char *)data, size, &whole);
	strip_end(&one, &whole);
	for (size_t i = 0; i < size; i += step)
		strip_take(&other, (const char *)data + i, size - i < step ? size - i : step, &split);
	strip_end(&other, &split);
	strip_done(&one);
	strip_done(&other);
	assert(whole.len == split.len && whole.len <= size);
	assert(whole.len == 0 || memcmp(whole.data, split.data, whole.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = {"/v1/chat/completions", "/v1/messages", "/v1/models/m:generateContent", "/v1/responses", "/x"};
	static const char *const types[] = {"application/json", "text/event-stream", "text/plain"};
	struct usage whole, split;

	if (size < 2)
		return 0;
	const char *type = types[data[0] % ARRAY_LEN(types)];
	read_split(type, data + 2, size - 2, 0, &whole);
	read_split(type, data + 2, size - 2, data[1] * 2654435761u | 1, &split);
	check(&whole);
	assert(whole.seen == split.seen && whole.input == split.input && whole.output == split.output);
	assert(whole.cache_read == split.cache_read && whole.cache_write == split.cache_write);
	assert(strcmp(whole.model, split.model) == 0);
	check_ask(paths[data[0] / 3 % ARRAY_LEN(paths)], data + 2, size - 2);
	check_strip(data + 2, size - 2, 1 + data[1] % 9);
	assert(data[0] % ARRAY_LEN(types) != 2 || (!whole.seen && !whole.model[0]));
	return 0;
}
