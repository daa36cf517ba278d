/* A cell's stdin, stdout and stderr: bytes moved between the cell's ends and the caller's, on the loop.
 *
 * Nothing here ever blocks on the cell or on the caller. Buffers are bounded: while a sink takes
 * nothing the stream is not read, so that the program waits as it would on any full pipe. Output is
 * counted and ends at a limit. Where whoever read it has gone, the program's own pipe is closed: it gets
 * SIGPIPE as it would without a cell. What cannot be written for another cause is drained and counted on. (Not named stdio.h, which would hide the C library's.) */
#ifndef HOTCELL_CELL_PUMP_H
#define HOTCELL_CELL_PUMP_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/term.h"
#include "cell/cell.h"

/* Where output goes. The descriptor is ours: blocking on it must not be possible, and the caller's
 * flags are not ours to change. */
struct pump_sink {
	int given; /* the caller's, or -1 */
	int fd; /* ours; -1 until the first byte */
	uint8_t kind;
	bool terminal;
	bool gone; /* nothing more can be written */
	bool went_away; /* since nobody reads it any more */
	struct buf pending;
	size_t pending_pos;
	struct loop_source *source; /* while pending */
};

struct pump_stream {
	struct pump *pump;
	int fd; /* our end of the pipe, or the terminal's master; -1 when at its end */
	struct loop_source *source;
	struct pump_sink sink;
	struct term_filter filter;
	uint64_t bytes;
	char last; /* byte of them */
};

struct pump_input {
	int from; /* the caller's; -1 when at its end */
	int to; /* our end; -1 when closed */
	struct loop_source *from_source, *to_source;
	char *data;
	size_t pos, len;
	char last; /* last byte passed on: an end of file is typed differently inside a line */
};

struct pump_events {
	void (*over)(void *data); /* the limit was passed; once */
	void (*flushed)(void *data); /* after pump_ended returned false: all is written; once */
	void *data;
};

struct pump {
	struct loop *loop;
	struct pump_events events;
	struct pump_stream out[2];
	struct pump_input in;
	struct loop_source *delay;
	bool tty, filter, ended, over, pass_unchanged;
	void (*change)(void *data, unsigned stream, const char *bytes, size_t len, struct buf *out); /* NULL: none */
	void *change_data;
	unsigned rows, columns;
	uint64_t limit, dropped;
	char *ring; /* the latest output */
	size_t ring_size;
	uint64_t total; /* bytes ever put into the ring */
	bool cut; /* a terminal did not take all, and nothing after it */
	struct err err; /* the first failure of a sink that is not its going away */
};

/* Makes the pipes. ret_cell gets the cell's ends, the caller's to close; all -1 with tty, and
 * stdin's where there is none. pump_done is due also after failure. */
MUST_CHECK int pump_open(struct pump *pump, struct loop *loop, const struct cell_io *io, void *io_data, bool tty,
	uint64_t limit, const struct pump_events *events, int ret_cell[3], struct err *err);
/* The program runs, since at_ns. tty_master becomes the pump's. */
void pump_started(struct pump *pump, uint64_t at_ns, int tty_master);
/* All writers are dead: takes what is left. True if everything is written on; else `flushed` follows. */
bool pump_ended(struct pump *pump);
void pump_close(struct pump *pump); /* gives up what is not written yet; counts and tail stay */
void pump_done(struct pump *pump);
bool pump_is_cut(const struct pump *pump); /* see cell_is_cut */
void pump_tail(const struct pump *pump, struct buf *ret);
void pump_resize(struct pump *pump, unsigned rows, unsigned columns);

#endif
