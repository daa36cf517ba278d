/* The live view and the plain lines: status in, text out. Pure: what it prints is fit for a terminal
 * (every name in it is checked or escaped), and no line is wider than `columns`. */
#ifndef HOTCELL_VIEW_CAMPAIGN_H
#define HOTCELL_VIEW_CAMPAIGN_H

#include "campaign/status.h"

struct view_look {
	unsigned columns, rows; /* of the terminal; 0: 80 x 24 */
	bool color;
	const char *message; /* a line at the foot: "draining: ..."; may be NULL */
	/* One byte a run, or one for several neighbours, the worst of them: enum run_state, or RUN_NOT_BEGUN.
	 * NULL: no grid. */
	const uint8_t *grid;
	size_t grid_count;
};
/* Some lines, each ended by \n; at most rows - 1 of them. */
void view_status(const struct campaign_status *status, const struct view_look *look, struct buf *out);
/* The grid of all sessions as coloured cells, many runs to one cell where there are too many. */
void view_grid(const uint8_t *grid, size_t count, unsigned columns, unsigned max_lines, bool color,
	struct buf *out);
void view_sparkline(const uint32_t *values, size_t count, struct buf *out); /* U+2581..U+2588 */

/* The plain lines, without newline: "[001] Starting...", "[001] ✓ Done (42.3s)",
 * "[001] ✗ Failed: Timeout after 900s", "Progress: 10/100 complete". */
void view_started(const char *session, struct buf *out);
void view_ended(const char *session, const struct run_record *run, uint64_t timeout_ms, struct buf *out);
void view_progress(uint64_t complete, uint64_t runs, struct buf *out);

#endif
