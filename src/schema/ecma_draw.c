/* Texts from expressions. Every node knows the least and the most characters it can give, so a wanted length is handed
 * down: each part gets what the others leave it. What cannot be steered (looking ahead, \b) is left to the check. */
#include <string.h>

#include "base/utf8.h"
#include "schema/make.h"
#include "schema/pattern.h"

#define GROUPS 256
#define REPEAT_EXTRA 6 /* more times than it must, where nothing else asks */
#define LENGTH_MAX 100000u

struct drawing {
	struct draw *draw;
	struct arena *arena;
	struct buf *out;
	size_t start;
	size_t chars; /* written since */
	struct {
		size_t from, to;
	} groups[GROUPS];
	unsigned left; /* nodes that may still be drawn */
};

static bool node_draw(struct drawing *drawing, struct ecma *node, uint32_t min, uint32_t max);

static bool code_draw(struct drawing *drawing, const struct ecma_range *ranges, size_t count)
{
	char bytes[4];
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += ranges[i].high - ranges[i].low + 1;
	/* a large set is mostly letters and digits to a reader: stay with its printable ASCII three times in four */
	uint64_t index;
	if (total > 1000 && draw_below(drawing->draw, 4) < 3) {
		for (size_t i = 0; i < count; i++) {
			uint32_t low = ranges[i].low < 'a' ? 'a' : ranges[i].low, high = ranges[i].high > 'z' ? 'z' : ranges[i].high;
			if (low > high)
				continue;
			buf_char(drawing->out, (char)(low + draw_below(drawing->draw, high - low + 1)));
			drawing->chars++;
			return true;
		}
	}
	index = draw_below(drawing->draw, total);
	for (size_t i = 0; i < count; i++) {
		uint64_t size = ranges[i].high - ranges[i].low + 1;
		if (index < size) {
			uint32_t code = ranges[i].low + (uint32_t)index;
			if (halves_meet(drawing->out, code))
				return false;
			drawing->chars++;
			if (code < 0x80)
				buf_char(drawing->out, (char)code);
			else
				buf_add(drawing->out, bytes, utf8_put(code, bytes));
			return true;
		}
		index -= size;
	}
	return false;
}

static bool set_draw(struct drawing *drawing, struct ecma *set)
{
	if (set->property_count) {
		pattern_sample(set, drawing->arena);
		if (!set->sample_count)
			return false;
		return code_draw(drawing, set->samples, set->sample_count);
	}
	if (!set->range_count)
		return false;
	return code_draw(drawing, set->ranges, set->range_count);
}

static uint32_t minus(uint32_t a, uint32_t b)
{
	return a == ECMA_FOREVER ? a : a > b ? a - b : 0;
}

/* Parts in a row: each gets at most what the least of the later ones leaves, and at least what their most lacks. */
static bool sequence_draw(struct drawing *drawing, struct ecma **children, size_t count, uint32_t min, uint32_t max)
{
	uint64_t least = 0, most = 0;
	size_t from = drawing->chars;

	for (size_t i = 0; i < count; i++) {
		least += children[i]->least;
		most += children[i]->most;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t done = (uint32_t)(drawing->chars - from);
		least -= children[i]->least;
		most -= children[i]->most;
		uint32_t high = max == ECMA_FOREVER ? max : minus(max, done + (uint32_t)least);
		uint32_t low = most >= min ? 0 : minus(min, done + (uint32_t)most);
		if (!node_draw(drawing, children[i], low, high))
			return false;
	}
	return true;
}

static bool choice_draw(struct drawing *drawing, struct ecma *node, uint32_t min, uint32_t max)
{
	size_t from = (size_t)draw_below(drawing->draw, node->count);

	for (size_t i = 0; i < node->count; i++) {
		struct ecma *child = node->children[(from + i) % node->count];
		if (child->least <= max && child->most >= min)
			return node_draw(drawing, child, min, max);
	}
	return node_draw(drawing, node->children[from], min, max);
}

static bool repeat_draw(struct drawing *drawing, struct ecma *node, uint32_t min, uint32_t max)
{
	struct ecma *child = node->children[0];
	uint64_t low = node->min, high = node->max;

	if (child->most && child->most != ECMA_FOREVER && low < (min + child->most - 1) / child->most)
		low = (min + child->most - 1) / child->most;
	if (child->most == ECMA_FOREVER && min > 0 && low == 0)
		low = 1;
	if (max != ECMA_FOREVER && child->least && high > max / child->least)
		high = max / child->least;
	if (high > low + REPEAT_EXTRA)
		high = low + REPEAT_EXTRA;
	if (low > LENGTH_MAX)
		return false;
	uint64_t times = high > low ? low + draw_below(drawing->draw, high - low + 1) : low;
	size_t from = drawing->chars;
	for (uint64_t i = 0; i < times; i++) {
		uint32_t done = (uint32_t)(drawing->chars - from);
		uint64_t later = times - i - 1;
		uint64_t least = later * child->least, most = child->most == ECMA_FOREVER ? ECMA_FOREVER : later * child->most;
		uint32_t most_here = max == ECMA_FOREVER ? max : minus(max, done + (uint32_t)least);
		uint32_t least_here = most >= min || (later && child->most == ECMA_FOREVER) ? 0 : minus(min, done + (uint32_t)most);
		if (!node_draw(drawing, child, least_here, most_here))
			return false;
	}
	return true;
}

static bool group_draw(struct drawing *drawing, struct ecma *node, uint32_t min, uint32_t max)
{
	size_t from = drawing->out->len;

	if (!node_draw(drawing, node->children[0], min, max))
		return false;
	drawing->groups[node->index % GROUPS].from = from;
	drawing->groups[node->index % GROUPS].to = drawing->out->len;
	return true;
}

static void back_draw(struct drawing *drawing, const struct ecma *node)
{
	size_t from = drawing->groups[node->index % GROUPS].from, to = drawing->groups[node->index % GROUPS].to;

	for (size_t i = from; i < to; i++)
		buf_char(drawing->out, drawing->out->data[i]);
	drawing->chars += text_length(drawing->out->data ? drawing->out->data + from : "", to - from);
}

static bool node_draw(struct drawing *drawing, struct ecma *node, uint32_t min, uint32_t max)
{
	if (drawing->left-- == 0 || drawing->out->len - drawing->start > (size_t)LENGTH_MAX * 4) {
		drawing->left = 0;
		return false;
	}
	switch (node->kind) {
	case ECMA_SET: return set_draw(drawing, node);
	case ECMA_SEQUENCE: return sequence_draw(drawing, node->children, node->count, min, max);
	case ECMA_CHOICE: return choice_draw(drawing, node, min, max);
	case ECMA_REPEAT: return repeat_draw(drawing, node, min, max);
	case ECMA_GROUP: return group_draw(drawing, node, min, max);
	case ECMA_BACK: back_draw(drawing, node); return true;
	case ECMA_LOOK: /* what must follow is written if nothing else does: "(?=x)" at the end */
	case ECMA_START: case ECMA_END: case ECMA_WORD: break;
	}
	return true;
}

/* Whether what matches begins (or ends) the text: then nothing may be put in front (behind). */
static bool is_anchored(const struct ecma *node, enum ecma_kind kind)
{
	bool front = kind == ECMA_START;

	switch (node->kind) {
	case ECMA_START: case ECMA_END: return node->kind == kind;
	case ECMA_SEQUENCE: return node->count && is_anchored(node->children[front ? 0 : node->count - 1], kind);
	case ECMA_GROUP: return is_anchored(node->children[0], kind);
	case ECMA_CHOICE:
		for (size_t i = 0; i < node->count; i++) {
			if (is_anchored(node->children[i], kind))
				return true;
		}
		return false;
	case ECMA_LOOK: case ECMA_WORD: case ECMA_BACK: return true; /* not looked into */
	case ECMA_SET: case ECMA_REPEAT: break;
	}
	return false;
}

/* Nothing that only a match can tell; anchors only where is_anchored looks. */
static bool is_exact(const struct ecma *node, bool front, bool back)
{
	if (node->kind == ECMA_LOOK || node->kind == ECMA_WORD || node->kind == ECMA_BACK || node->kind == ECMA_CHOICE)
		front = back = false;
	if (node->kind == ECMA_LOOK || node->kind == ECMA_WORD || node->kind == ECMA_BACK)
		return false;
	if (node->kind == ECMA_START || node->kind == ECMA_END)
		return node->kind == ECMA_START ? front : back;
	bool inner = node->kind == ECMA_SEQUENCE || node->kind == ECMA_GROUP;
	for (size_t i = 0; i < node->count; i++) {
		if (!is_exact(node->children[i], inner && front && i == 0, inner && back && i + 1 == node->count))
			return false;
	}
	return true;
}

bool ecma_is_exact(const struct ecma *tree)
{
	return is_exact(tree, true, true);
}

bool ecma_draw(struct ecma *tree, struct draw *draw, struct arena *arena, uint32_t min, uint32_t max, struct buf *out)
{
	struct drawing drawing = {.draw = draw, .arena = arena, .out = out, .start = out->len, .left = LENGTH_MAX * 2};
	bool front = !is_anchored(tree, ECMA_START), back = !is_anchored(tree, ECMA_END);
	uint32_t pad = 0;

	if (front && (max == ECMA_FOREVER || tree->least < max) && draw_rarely(draw, 4)) {
		buf_char(out, (char)('a' + draw_below(draw, 26)));
		drawing.chars = pad = 1;
	}
	uint32_t low = (front || back) && min > tree->most ? tree->most : minus(min, pad);
	if (!node_draw(&drawing, tree, low, minus(max, pad)))
		return false;
	for (; back && drawing.chars < min; drawing.chars++)
		buf_char(out, (char)('a' + draw_below(draw, 26)));
	if (!back && front && drawing.chars < min) { /* only in front is there room */
		own(buf_done) struct buf tail = {0};
		size_t lacks = min - drawing.chars;
		buf_add(&tail, out->data + drawing.start, out->len - drawing.start);
		out->len = drawing.start;
		for (size_t i = 0; i < lacks; i++)
			buf_char(out, (char)('a' + draw_below(draw, 26)));
		buf_add(out, tail.data, tail.len);
	}
	return true;
}
