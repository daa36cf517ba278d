/* The user's own terminal while a program in a cell has one of its own: raw, and always given back
 * as it was found. And such a terminal. */
#ifndef HOTCELL_CLI_CORE_TTY_H
#define HOTCELL_CLI_CORE_TTY_H

#include <stdbool.h>

#include "base/err.h"

/* Every key goes to the cell, Ctrl-C included. Restored by tty_restore and, whatever way the
 * program ends short of a kill, at exit. False, and nothing done, when stdin is no terminal. */
bool tty_raw(void);
void tty_restore(void); /* as often as you like */
bool tty_size(unsigned *ret_rows, unsigned *ret_columns); /* of the terminal on stdin or stdout */

/* A new terminal, both ends of it, alone in a file system that nobody else sees: whoever is given its slave has no file of
 * the host to change. */
MUST_CHECK int tty_make(int *ret_master, int *ret_slave, struct err *err);

#endif
