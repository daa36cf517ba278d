/* The stream of choices that values are made from. A choice is a number below a bound; the smaller it is, the simpler
 * is what is made of it, and 0 is always allowed. What was chosen is recorded, so a value is made again from its
 * record, and a smaller record makes a simpler value. */
#ifndef HOTCELL_SCHEMA_DRAW_H
#define HOTCELL_SCHEMA_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The choices that made one part of a value. */
struct draw_span {
	size_t from, to;
	size_t counted; /* the number of the choice, from 1, that is one less without this part; 0: there is none */
};

#define DRAW_MAX ((size_t)1 << 18) /* choices of one value; then all are 0 */

struct draw {
	/* the record */
	uint64_t *choices;
	size_t count;
	struct draw_span *spans; /* inner ones behind outer ones */
	size_t span_count;
	size_t counted; /* of the span that is opened next */
	/* private */
	size_t room, span_room;
	uint64_t state[4];
	const uint64_t *replay;
	size_t replay_count;
	bool replaying;
};

void draw_init(struct draw *draw, uint64_t seed);
void draw_done(struct draw *draw);
void draw_restart(struct draw *draw); /* forgets the record; goes on with new choices */
/* The next value is made of these choices; one that is too large is the largest allowed, and after them all are 0.
 * They stay the caller's. NULL: choices are new again. */
void draw_replay(struct draw *draw, const uint64_t *choices, size_t count);
uint64_t draw_slow(struct draw *draw, uint64_t bound);
void draw_record(struct draw *draw, uint64_t choice); /* draw_force, where there is no room */

size_t draw_open(struct draw *draw); /* a span; returns its number */
void draw_close(struct draw *draw, size_t span);
/* Forgets what was recorded since: for a part that is made anew. */
void draw_rewind(struct draw *draw, size_t count, size_t span_count);

static inline uint64_t draw_random(struct draw *draw)
{
	uint64_t *s = draw->state, result = s[0] + s[3], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = s[3] << 45 | s[3] >> 19;
	return result;
}

/* Below `bound`, and not recorded: for what is recorded by what comes of it. Never while replaying. */
static inline uint64_t draw_raw(struct draw *draw, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)draw_random(draw) * bound >> 64);
}

/* Below `bound`, which is at least 1. */
static inline uint64_t draw_below(struct draw *draw, uint64_t bound)
{
	if (draw->replaying || draw->count == draw->room)
		return draw_slow(draw, bound);
	uint64_t choice = (uint64_t)((unsigned __int128)draw_random(draw) * bound >> 64);
	draw->choices[draw->count++] = choice;
	return choice;
}

/* Records a choice that is made already. */
static inline void draw_force(struct draw *draw, uint64_t choice)
{
	if (draw->count < draw->room)
		draw->choices[draw->count++] = choice;
	else
		draw_record(draw, choice);
}

/* True once in `odds`; false is simpler. */
static inline bool draw_rarely(struct draw *draw, uint64_t odds)
{
	return draw_below(draw, odds) == odds - 1;
}

#endif
