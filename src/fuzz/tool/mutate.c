/* Records of choices changed a little. Pure. See explorer.h.
 *
 * What comes out is only a proposal: the generator makes a value of it that fits the schema, or none. So nothing
 * here knows what a choice stands for. */
#include <string.h>

#include "fuzz/tool/explorer.h"

#define CHANGES_MAX 4

void record_set(struct record *record, const struct draw *draw)
{
	record->choices = xrealloc(record->choices, draw->count + 1, sizeof(*record->choices));
	record->spans = xrealloc(record->spans, draw->span_count + 1, sizeof(*record->spans));
	if (draw->count)
		memcpy(record->choices, draw->choices, draw->count * sizeof(*record->choices));
	if (draw->span_count)
		memcpy(record->spans, draw->spans, draw->span_count * sizeof(*record->spans));
	record->count = draw->count;
	record->span_count = draw->span_count;
}

void record_done(struct record *record)
{
	free(record->choices);
	free(record->spans);
	*record = (struct record){0};
}

static void put(struct buf *ret, const uint64_t *choices, size_t count)
{
	if (count)
		buf_add(ret, choices, count * sizeof(*choices));
}

/* Not the first, which is the way the whole is made. */
static struct draw_span span_choose(const struct record *record, struct draw *dice)
{
	if (record->span_count < 2)
		return (struct draw_span){0, record->count};
	return record->spans[1 + draw_raw(dice, record->span_count - 1)];
}

static uint64_t changed(uint64_t choice, struct draw *dice)
{
	switch (draw_raw(dice, 6)) {
	case 0:
		return 0;
	case 1:
		return choice + 1;
	case 2:
		return choice ? choice - 1 : 1;
	case 3:
		return draw_raw(dice, 16);
	case 4:
		return ((uint64_t)1 << draw_raw(dice, 64)) - draw_raw(dice, 2); /* one that is too large is the largest allowed */
	default:
		return choice ^ (uint64_t)1 << draw_raw(dice, 8);
	}
}

static void change_some(const struct record *record, struct draw *dice, struct buf *ret)
{
	put(ret, record->choices, record->count);
	uint64_t *choices = (uint64_t *)(void *)ret->data;
	for (uint64_t i = 1 + draw_raw(dice, CHANGES_MAX); i > 0 && record->count > 1; i--) {
		size_t at = 1 + (size_t)draw_raw(dice, record->count - 1);
		choices[at] = changed(choices[at], dice);
	}
}

/* A part gone, twice, or another instead. */
static void replace_span(
	const struct record *record, struct draw_span span, const uint64_t *by, size_t count, struct buf *ret)
{
	put(ret, record->choices, span.from);
	put(ret, by, count);
	put(ret, record->choices + span.to, record->count - span.to);
}

static void repeat_span(const struct record *record, struct draw *dice, struct buf *ret)
{
	struct draw_span span = span_choose(record, dice);

	put(ret, record->choices, span.to);
	put(ret, record->choices + span.from, record->count - span.from);
	/* the choice before a part of a list or map often says how many there are */
	if (span.from > 1)
		((uint64_t *)(void *)ret->data)[span.from - 1 - draw_raw(dice, span.from < 3 ? 1 : 2)]++;
}

void record_mutate(const struct record *record, const struct record *other, struct draw *dice, struct buf *ret)
{
	struct draw_span span = span_choose(record, dice), from = span_choose(other, dice);

	ret->len = 0;
	switch (draw_raw(dice, 8)) {
	case 0: case 1: case 2:
		change_some(record, dice, ret);
		break;
	case 3: case 4: case 5:
		replace_span(record, span, other->choices + from.from, from.to - from.from, ret);
		break;
	case 6:
		replace_span(record, span, NULL, 0, ret);
		break;
	default:
		repeat_span(record, dice, ret);
		break;
	}
}
