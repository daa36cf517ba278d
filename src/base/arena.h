/* Memory that is given back all at once: one arena for one lifetime. What is taken is aligned for anything and is good
 * until the arena is reset, rewound to before it, or done. Out of memory ends the program, as in buf.h. */
#ifndef HOTCELL_BASE_ARENA_H
#define HOTCELL_BASE_ARENA_H

#include <stddef.h>

#include "base/own.h"

struct arena_block;

struct arena {
	struct arena_block *block; /* the one in use; older ones behind it, spare ones ahead */
	char *at, *end;
};

struct arena_mark {
	struct arena_block *block;
	char *at;
};

void *arena_take_slow(struct arena *arena, size_t size);
void arena_done(struct arena *arena);
void arena_reset(struct arena *arena); /* keeps the memory for what is taken next */
/* What was taken since `mark` is given back; the memory is kept. */
struct arena_mark arena_mark(const struct arena *arena);
void arena_rewind(struct arena *arena, struct arena_mark mark);
void *arena_zeroed(struct arena *arena, size_t count, size_t size);
char *arena_text(struct arena *arena, const char *text, size_t len); /* a copy, followed by a NUL */

/* Not cleared. `size` is below half of the address space. */
static inline void *arena_take(struct arena *arena, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if (size > (size_t)(arena->end - arena->at))
		return arena_take_slow(arena, size);
	void *taken = arena->at;
	arena->at += size;
	return taken;
}

#endif
