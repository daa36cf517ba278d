#include "cli/grid.h"

#include <string.h>

#include "campaign/view.h"

#define FINAL_STATES (1u << RUN_SUCCESS | 1u << RUN_ERROR | 1u << RUN_TIMEOUT)

void grid_init(struct grid *grid, uint64_t runs)
{
	size_t count = runs < GRID_CELLS ? (size_t)runs : GRID_CELLS;

	*grid = (struct grid){.count = count, .runs = runs};
	grid->ended = xcalloc(count + 1, 1);
	grid->cells = xcalloc(count + 1, 1);
	memset(grid->ended, VIEW_NOT_BEGUN, count);
	memset(grid->cells, VIEW_NOT_BEGUN, count);
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

static int ended_add(void *data, const struct run_record *run)
{
	struct grid *grid = data;
	cell_put(&grid->ended[grid_cell(grid, run->number)], (uint8_t)run->state);
	return 0;
}

int grid_read(struct grid *grid, struct ledger *ledger, const struct campaign_status *status,
	struct err *err)
{
	const struct ledger_query query = {.states = FINAL_STATES, .after_seq = grid->seen_seq};

	if (grid->count == 0)
		return 0;
	if (status->campaign.last_seq > grid->seen_seq &&
		ledger_runs(ledger, status->campaign.id, &query, ended_add, grid, err) < 0)
		return -1;
	grid->seen_seq = status->campaign.last_seq;
	memcpy(grid->cells, grid->ended, grid->count);
	for (size_t i = 0; status->held && i < status->live.worker_count; i++) {
		uint64_t number = status->live.workers[i].number;
		if (number > 0)
			cell_put(&grid->cells[grid_cell(grid, number)], RUN_RUNNING);
	}
	return 0;
}
