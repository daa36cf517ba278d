/* What became of each run, read from the ledger into the bytes view_grid draws: one a run or, where there are
 * more than GRID_CELLS, one for some neighbours, the worst of them.
 *
 * A run that has begun, has not failed and is not at work has succeeded: so only failures are read, once, and
 * what is not finished. A million successes cost nothing. */
#ifndef HOTCELL_VIEW_GRID_READ_H
#define HOTCELL_VIEW_GRID_READ_H

#include "campaign/status.h"

#define GRID_CELLS 4096

struct grid {
	uint8_t *ended; /* as if every run that began had ended */
	uint8_t *cells; /* with those that have not: to be drawn */
	size_t count;
	uint64_t runs;
	/* how far it has been read */
	uint64_t next, failures, seen_seq;
};

void grid_init(struct grid *grid, uint64_t runs);
void grid_done(struct grid *grid);
/* Up to `status`, which was read from the same ledger just before. */
MUST_CHECK int grid_read(struct grid *grid, struct ledger *ledger, const struct campaign_status *status,
	struct err *err);

/* Where a run's cell is. Pure. */
size_t grid_cell(const struct grid *grid, uint64_t number);

#endif
