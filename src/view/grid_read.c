#include "view/grid_read.h"

#include <string.h>

#include "view/campaign.h"

void grid_init(struct grid *grid, uint64_t runs)
{
	size_t count = runs < GRID_CELLS ? (size_t)runs : GRID_CELLS;

	*grid = (struct grid){.count = count, .runs = runs, .next = 1};
	grid->ended = xcalloc(count + 1, 1);
	grid->cells = xcalloc(count + 1, 1);
	memset(grid->ended, RUN_NOT_BEGUN, count);
	memset(grid->cells, RUN_NOT_BEGUN, count);
}

void grid_done(struct grid *grid)
{
	free(grid->ended);
	free(grid->cells);
	*grid = (struct grid){0};
}

size_t grid_cell(const struct grid *grid, uint64_t number)
{
	size_t cell = number > 0 ? (size_t)((number - 1) * grid->count / grid->runs) : 0;
	return cell < grid->count ? cell : grid->count - 1;
}

/* The worse, the higher. */
static int badness(uint8_t state)
{
	switch (state) {
	case RUN_ERROR: return 4;
	case RUN_TIMEOUT: return 3;
	case RUN_RUNNING: return 2;
	case RUN_SUCCESS: return 1;
	default: return 0;
	}
}

static void cell_put(uint8_t *cell, uint8_t state)
{
	if (badness(state) > badness(*cell))
		*cell = state;
}

/* ---- reading ---- */

static void begun_add(struct grid *grid, uint64_t next)
{
	if (next <= grid->next)
		return;
	size_t last = grid_cell(grid, next - 1);
	for (size_t i = grid_cell(grid, grid->next); i <= last; i++)
		cell_put(&grid->ended[i], RUN_SUCCESS);
	grid->next = next;
}

static int failure_add(void *data, const struct run_record *run)
{
	struct grid *grid = data;

	cell_put(&grid->ended[grid_cell(grid, run->number)], (uint8_t)run->state);
	return 0;
}

static int failures_read(struct grid *grid, struct ledger *ledger, const struct campaign_record *campaign,
	struct err *err)
{
	const struct ledger_query query = {
		.states = 1u << RUN_ERROR | 1u << RUN_TIMEOUT,
		.after_seq = grid->seen_seq,
	};
	uint64_t failures = campaign->sums.state[RUN_ERROR] + campaign->sums.state[RUN_TIMEOUT];

	if (failures > grid->failures && ledger_runs(ledger, campaign->id, &query, failure_add, grid, err) < 0)
		return -1;
	grid->failures = failures;
	grid->seen_seq = campaign->last_seq;
	return 0;
}

struct unfinished {
	struct grid *grid;
	bool held;
};

/* What nobody is at work on any more has yet to be done. */
static int unfinished_add(void *data, const struct run_record *run)
{
	const struct unfinished *unfinished = data;
	struct grid *grid = unfinished->grid;
	uint8_t *cell = &grid->cells[grid_cell(grid, run->number)];

	if (grid->count == grid->runs)
		*cell = unfinished->held ? RUN_RUNNING : RUN_NOT_BEGUN;
	else if (unfinished->held)
		cell_put(cell, RUN_RUNNING);
	return 0;
}

int grid_read(struct grid *grid, struct ledger *ledger, const struct campaign_status *status, struct err *err)
{
	const struct ledger_query query = {.states = 1u << RUN_RUNNING | 1u << RUN_AGAIN};
	struct unfinished unfinished = {.grid = grid, .held = status->held};

	if (grid->count == 0)
		return 0;
	begun_add(grid, status->campaign.next);
	if (failures_read(grid, ledger, &status->campaign, err) < 0)
		return -1;
	memcpy(grid->cells, grid->ended, grid->count);
	return ledger_runs(ledger, status->campaign.id, &query, unfinished_add, &unfinished, err);
}
