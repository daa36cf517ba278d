#include "schema/draw.h"

#include "base/buf.h"

static uint64_t mix(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void draw_init(struct draw *draw, uint64_t seed)
{
	*draw = (struct draw){0};
	for (size_t i = 0; i < ARRAY_LEN(draw->state); i++)
		draw->state[i] = mix(&seed);
}

void draw_done(struct draw *draw)
{
	free(draw->choices);
	free(draw->spans);
	*draw = (struct draw){0};
}

void draw_restart(struct draw *draw)
{
	draw->count = draw->span_count = draw->counted = 0;
}

void draw_replay(struct draw *draw, const uint64_t *choices, size_t count)
{
	draw_restart(draw);
	draw->replay = choices;
	draw->replay_count = count;
	draw->replaying = choices != NULL;
}

static void record(struct draw *draw, uint64_t choice)
{
	if (draw->count == draw->room) {
		draw->room = draw->room ? draw->room * 2 : 1024;
		draw->choices = xrealloc(draw->choices, draw->room, sizeof(*draw->choices));
	}
	draw->choices[draw->count++] = choice;
}

uint64_t draw_slow(struct draw *draw, uint64_t bound)
{
	uint64_t choice = 0;

	if (draw->count >= DRAW_MAX)
		return 0; /* the simplest from here on, so that whatever is being made ends */
	if (!draw->replaying)
		choice = (uint64_t)((unsigned __int128)draw_random(draw) * bound >> 64);
	else if (draw->count < draw->replay_count)
		choice = draw->replay[draw->count];
	choice = choice < bound ? choice : bound - 1;
	record(draw, choice);
	return choice;
}

void draw_record(struct draw *draw, uint64_t choice)
{
	if (draw->count < DRAW_MAX)
		record(draw, choice);
}

size_t draw_open(struct draw *draw)
{
	if (draw->span_count == draw->span_room) {
		draw->span_room = draw->span_room ? draw->span_room * 2 : 256;
		draw->spans = xrealloc(draw->spans, draw->span_room, sizeof(*draw->spans));
	}
	draw->spans[draw->span_count] = (struct draw_span){draw->count, draw->count, draw->counted};
	draw->counted = 0;
	return draw->span_count++;
}

void draw_close(struct draw *draw, size_t span)
{
	draw->spans[span].to = draw->count;
}

void draw_rewind(struct draw *draw, size_t count, size_t span_count)
{
	draw->count = count;
	draw->span_count = span_count;
}
