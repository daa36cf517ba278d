/* The cells of fuzzing in the audit log: the beginning and the end of each, as `run` and campaigns write them.
 *
 * What is fuzzed may die with every call, and gets a new cell each time. So a run has at most FUZZ_CELLS_LINES of such lines;
 * cells beyond that are counted, and what they were refused is added up, for "fuzz-end". A cell that has its beginning in the
 * log gets its end, too. A beginning is written before its program runs; an end with the next beginning, or at the end of all,
 * where the last line is less than a second old. */
#ifndef HOTCELL_CLI_FUZZ_CELLS_H
#define HOTCELL_CLI_FUZZ_CELLS_H

#include "run/audit.h"

#define FUZZ_CELLS_LINES 10000

struct fuzz_cells { /* zero: none, and nothing is written */
	const struct run_audit *log;
	uint64_t started, ended; /* all */
	uint64_t left_out; /* of them, not written */
	uint64_t left_out_refused; /* calls that those were refused */
	/* private */
	uint64_t lines, flushed_ns;
	char (*live)[24]; /* ids of those that were written and have not ended */
	size_t live_count;
};

/* From here on, all cells of the pool. The log must outlive it; a line that cannot be written waits for the next. */
void fuzz_cells_watch(struct fuzz_cells *cells, const struct run_audit *log, struct cell_pool *pool);
/* Waits until what was cancelled has ended, a few seconds at most. */
void fuzz_cells_settle(struct fuzz_cells *cells, struct loop *loop);
void fuzz_cells_done(struct fuzz_cells *cells); /* writes what waits */

/* What watching calls. */
void fuzz_cells_begin(struct fuzz_cells *cells, const char *id);
void fuzz_cells_end(struct fuzz_cells *cells, const char *id, const struct cell_result *result);

#endif
