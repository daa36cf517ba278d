/* Some lines at the foot of a terminal, drawn over again in place: no alternate screen, so that the last
 * picture stays when we are gone.
 *
 * The cursor is hidden from redraw_begin to redraw_end and comes back however the program ends, short of a
 * kill -9: redraw_end is called at exit as well, and is safe in a signal handler. There is one terminal, so
 * there is one picture. */
#ifndef HOTCELL_CLI_CORE_REDRAW_H
#define HOTCELL_CLI_CORE_REDRAW_H

#include <stdbool.h>

#include "base/buf.h"

void redraw_begin(int fd); /* a terminal */
/* Over the last one. Each line of `text` ends with \n and fits into `columns`, and all of them into the
 * screen, as view_status makes them. -1 with errno when the terminal is gone. */
MUST_CHECK int redraw_frame(const struct buf *text, unsigned columns);
/* The picture goes; what is printed then comes in its place. The next frame is drawn below it. */
MUST_CHECK int redraw_clear(unsigned columns);
/* The picture stays and the cursor comes back. As often as you like. */
void redraw_end(void);

/* How many rows of a terminal the lines take that `columns` columns are left to, colours not counted. Pure. */
unsigned redraw_rows(const char *text, size_t len, unsigned columns);

#endif
