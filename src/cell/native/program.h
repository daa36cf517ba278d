/* A program in a cell, from its job to its exec. */
#ifndef HOTCELL_CELL_NATIVE_PROGRAM_H
#define HOTCELL_CELL_NATIVE_PROGRAM_H

#include "cell/native/native.h"

/* Starts the job as a child with these descriptors as 0, 1 and 2, in a session of its own. Waits until
 * it has become the program, so that an error is ours to tell. The caller must be sealed already: the
 * child takes over what its parent is, but for the limit on open files. Returns its pid, or -1. */
MUST_CHECK pid_t program_start(const struct job *job, const int stdio[3], uint64_t open_files, struct err *err);

/* A new terminal of the cell's own, of the job's size: both ends. */
MUST_CHECK int program_terminal(const struct job *job, int *ret_master, int *ret_slave, struct err *err);

#endif
