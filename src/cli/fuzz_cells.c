#include "cli/fuzz_cells.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "run/cell_audit.h"

#define SETTLE_NS (5 * NS_PER_S) /* a cell dies within one second */
#define TURN_MS 50
#define END_WAITS_NS NS_PER_S

/* What cannot be written now still waits: "fuzz-end" says so if it never can be. */
static void flush(struct fuzz_cells *cells, uint64_t now)
{
	struct err err = {0};

	(void)!audit_flush(cells->log->audit, &err);
	cells->flushed_ns = now;
}

void fuzz_cells_begin(struct fuzz_cells *cells, const char *id)
{
	struct audit *audit = cells->log->audit;

	cells->started++;
	if (cells->lines + 2 > FUZZ_CELLS_LINES) {
		cells->left_out++;
		return;
	}
	cells->lines += 2;
	cells->live = xrealloc(cells->live, cells->live_count + 1, sizeof(*cells->live));
	(void)snprintf(cells->live[cells->live_count++], sizeof(*cells->live), "%s", id);
	json_put_string(audit_begin(audit, "cell-start"), "cell", id);
	if (cells->log->profile)
		audit_text(audit, "profile", cells->log->profile);
	audit_end(audit);
	flush(cells, clock_now());
}

static bool live_take(struct fuzz_cells *cells, const char *id)
{
	for (size_t i = 0; i < cells->live_count; i++) {
		if (strcmp(cells->live[i], id) != 0)
			continue;
		cells->live_count--;
		memmove(cells->live[i], cells->live[cells->live_count], sizeof(*cells->live));
		return true;
	}
	return false;
}

void fuzz_cells_end(struct fuzz_cells *cells, const char *id, const struct cell_result *result)
{
	struct audit *audit = cells->log->audit;

	cells->ended++;
	if (!live_take(cells, id)) {
		cells->left_out_refused += result->refused_total;
		return;
	}
	struct json *json = audit_begin(audit, "cell-end");
	json_put_string(json, "cell", id);
	cell_audit_result(audit, json, result, NULL);
	audit_end(audit);
	cell_audit_required(audit, cells->log->spec, result);
	uint64_t now = clock_now(); /* mostly another one begins at once, and its line takes this one along */
	if (now - cells->flushed_ns > END_WAITS_NS)
		flush(cells, now);
}

static void on_cell(void *data, const struct cell *cell, const struct cell_result *result)
{
	if (result)
		fuzz_cells_end(data, cell_id(cell), result);
	else
		fuzz_cells_begin(data, cell_id(cell));
}

void fuzz_cells_watch(struct fuzz_cells *cells, const struct run_audit *log, struct cell_pool *pool)
{
	if (!log->audit)
		return;
	cells->log = log;
	cell_pool_watch(pool, on_cell, cells);
}

void fuzz_cells_settle(struct fuzz_cells *cells, struct loop *loop)
{
	uint64_t until = clock_now() + SETTLE_NS;

	while (cells->ended < cells->started && clock_now() < until && loop_turn(loop, TURN_MS) == 0)
		;
}

void fuzz_cells_done(struct fuzz_cells *cells)
{
	if (cells->log && cells->log->audit)
		flush(cells, clock_now());
	free(cells->live);
	*cells = (struct fuzz_cells){0};
}
