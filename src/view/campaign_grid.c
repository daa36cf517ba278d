#include "view/campaign.h"

void view_sparkline(const uint32_t *values, size_t count, struct buf *out)
{
	uint32_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	for (size_t i = 0; i < count; i++) {
		/* What is not nothing does not look like nothing. */
		unsigned level =
			values[i] == 0 ? 0 : 1 + (unsigned)((uint64_t)values[i] * 6 / most);
		buf_add(out, (const char[]){'\xe2', '\x96', (char)(0x81 + level)}, 3);
	}
}

struct grid_look {
	char letter;
	unsigned char badness; /* the highest wins where several share a cell */
	const char *style, *sign;
};

static const struct grid_look grid_looks[] = {
	[RUN_RUNNING] = {'r', 2, "34", "■"},
	[RUN_AGAIN] = {'a', 3, "35", "■"},
	[RUN_SUCCESS] = {'s', 1, "32", "■"},
	[RUN_ERROR] = {'x', 5, "31", "■"},
	[RUN_TIMEOUT] = {'t', 4, "33", "■"},
	[RUN_STATE_COUNT] = {'.', 0, "90", "·"},
};
_Static_assert(ARRAY_LEN(grid_looks) == RUN_STATE_COUNT + 1, "a state has no look");

static const struct grid_look *worst_of(const uint8_t *grid, size_t count)
{
	const struct grid_look *worst = &grid_looks[RUN_STATE_COUNT];

	for (size_t i = 0; i < count; i++) {
		uint8_t state = grid[i] < RUN_STATE_COUNT ? grid[i] : RUN_STATE_COUNT;
		if (grid_looks[state].badness > worst->badness)
			worst = &grid_looks[state];
	}
	return worst;
}

/* Colour changes only where it does: a full grid is thousands of cells, ten times a second. */
static void put_grid_cell(
	const struct grid_look *look, const struct grid_look *before, bool color, struct buf *out)
{
	if (!color) {
		buf_char(out, look->letter);
		return;
	}
	if (look != before)
		buf_fmt(out, "\033[%sm", look->style);
	buf_str(out, look->sign);
}

void view_grid(const uint8_t *grid, size_t count, unsigned columns, unsigned max_lines, bool color,
	struct buf *out)
{
	size_t cells = (size_t)columns * max_lines;
	const struct grid_look *before = NULL;

	if (count == 0 || cells == 0)
		return;
	size_t each = (count + cells - 1) / cells;
	for (size_t at = 0, column = 0; at < count; at += each) {
		size_t share = count - at < each ? count - at : each;
		const struct grid_look *look = worst_of(grid + at, share);
		put_grid_cell(look, before, color, out);
		before = look;
		if (++column == columns || at + share >= count) {
			buf_str(out, color ? "\033[0m\n" : "\n");
			before = NULL;
			column = 0;
		}
	}
}
