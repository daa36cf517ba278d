/* The user's own terminal while a cell with a terminal of its own runs: raw, and always given back
 * as it was found. */
#ifndef HOTCELL_CLI_TTY_H
#define HOTCELL_CLI_TTY_H

#include <stdbool.h>

/* Every key goes to the cell, Ctrl-C included. Restored by tty_restore and, whatever way the
 * program ends short of a kill, at exit. False, and nothing done, when stdin is no terminal. */
bool tty_raw(void);
void tty_restore(void); /* as often as you like */
bool tty_size(unsigned *ret_rows, unsigned *ret_columns); /* of the terminal on stdin or stdout */

#endif
