/* Whatever an answer holds: how it is split changes nothing of what is read, and what is read is in range. The first
 * byte chooses the content type, the second seeds the splits. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "door/usage.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
	assert(data[0] % ARRAY_LEN(types) != 2 || (!whole.seen && !whole.model[0]));
	return 0;
}
