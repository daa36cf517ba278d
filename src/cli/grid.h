/* What became of each run, read from the ledger into the bytes view_grid draws: one a run or, where there are
 * more than GRID_CELLS, one for some neighbours, the worst of them.
 *
 * The first reading goes over every run that has ended; each further one only over those that ended since. */
#ifndef HOTCELL_CLI_GRID_H
#define HOTCELL_CLI_GRID_H

#include "campaign/status.h"

#define GRID_CELLS 4096

struct grid {
	uint8_t *ended; /* by final states alone */
	uint8_t *cells; /* with those that run now */
	size_t count;
	uint64_t runs, seen_seq;
};

void grid_init(struct grid *grid, uint64_t runs);
void grid_done(struct grid *grid);
/* Up to `status`, which was read from the same ledger just before. */
MUST_CHECK int grid_read(struct grid *grid, struct ledger *ledger,
	const struct campaign_status *status, struct err *err);

/* Where a run's cell is. Pure. */
size_t grid_cell(const struct grid *grid, uint64_t number);

#endif
