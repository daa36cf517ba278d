/* Process 2 of a cell (and programs beside it), from its sealing to its exec. */
#ifndef HOTCELL_CELL_NATIVE_PROGRAM_H
#define HOTCELL_CELL_NATIVE_PROGRAM_H

#include "cell/native/native.h"

/* From here on the descriptors are its own, still all of init's. */
void program_part_from_init(void);
/* Closes all but the job's socket, waits for the job and becomes it. */
_Noreturn void program_wait(int job_socket);
/* Becomes the job in the memfd. Without a job socket (-1) it tells its stderr what fails. */
_Noreturn void program_run(int job_socket, int memfd, const int stdio[3]);

#endif
