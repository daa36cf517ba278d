#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define BLOCK_SIZE ((size_t)64 * 1024)

struct arena_block {
	struct arena_block *before, *after;
	size_t size;
	_Alignas(16) char bytes[];
};

static void block_use(struct arena *arena, struct arena_block *block, char *at)
{
	arena->block = block;
	arena->at = at;
	arena->end = block ? block->bytes + block->size : NULL;
}

void *arena_take_slow(struct arena *arena, size_t size)
{
	struct arena_block *after = arena->block ? arena->block->after : NULL;

	if (!after || after->size < size) { /* a spare one that is too small stays spare, behind the new one */
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		struct arena_block *block = xrealloc(NULL, 1, sizeof(*block) + room);
		*block = (struct arena_block){.before = arena->block, .after = after, .size = room};
		if (arena->block)
			arena->block->after = block;
		if (after)
			after->before = block;
		after = block;
	}
	block_use(arena, after, after->bytes + size);
	return after->bytes;
}

void arena_done(struct arena *arena)
{
	struct arena_block *block = arena->block;

	while (block && block->after)
		block = block->after;
	while (block) {
		struct arena_block *before = block->before;
		free(block);
		block = before;
	}
	*arena = (struct arena){0};
}

struct arena_mark arena_mark(const struct arena *arena)
{
	return (struct arena_mark){arena->block, arena->at};
}

void arena_rewind(struct arena *arena, struct arena_mark mark)
{
	if (!mark.block)
		arena_reset(arena); /* it was empty then */
	else
		block_use(arena, mark.block, mark.at);
}

void arena_reset(struct arena *arena)
{
	struct arena_block *block = arena->block;

	while (block && block->before)
		block = block->before;
	block_use(arena, block, block ? block->bytes : NULL);
}

void *arena_zeroed(struct arena *arena, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 4 / size)
		abort(); /* counts from outside are bounded long before */
	size_t total = count && size ? count * size : 1;
	return memset(arena_take(arena, total), 0, total);
}

char *arena_text(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_take(arena, len + 1);

	if (len)
		memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}
