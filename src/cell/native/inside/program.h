/* A program in a cell, from its job to its exec. */
#ifndef HOTCELL_CELL_NATIVE_INSIDE_PROGRAM_H
#define HOTCELL_CELL_NATIVE_INSIDE_PROGRAM_H

#include "cell/native/native.h"

#define PROGRAM_NOT_STARTED 125 /* the exit code that says so */

/* Starts the job as a child with these descriptors as 0, 1 and 2, in a session of its own. Waits until
 * it has become the program, so that an error is ours to tell. The caller must be sealed already: the
 * child takes over what its parent is, but for the limit on open files. Returns its pid, or -1.
 *
 * For a cell's first program only. Anything else in the cell has the child's user and could stop it before its exec, and us
 * with it. */
MUST_CHECK pid_t program_start(const struct job *job, const int stdio[3], uint64_t open_files, struct err *err);

/* The same where exec waits for the caller's answer as the filter's listener: the child shares nothing with us, and `wait`
 * answers until `became` can be read. That ends when the child has become the program, and so tells any later exec of the
 * same process from its first. */
typedef void program_wait_fn(void *data, pid_t pid, int became);
MUST_CHECK pid_t program_start_asking(const struct job *job, const int stdio[3], uint64_t open_files, program_wait_fn *wait,
	void *data, struct err *err);

/* For every other program. Waits for nothing: a child that cannot become its program says why on its stderr, and exits with
 * PROGRAM_NOT_STARTED. If ret_became is not NULL, it is as above, and the caller's to close. */
MUST_CHECK pid_t program_start_beside(const struct job *job, const int stdio[3], uint64_t open_files, int *ret_became,
	struct err *err);

/* Touches what starting one will need: each page of it that was our parent's is copied at the first touch. */
void program_rehearse(void);

/* The cell's own /dev/null; -1 with errno. `mark`: see struct call_set. */
int program_null(uint64_t mark);
/* A new terminal of the cell's own, of the job's size: both ends. */
MUST_CHECK int program_terminal(const struct job *job, uint64_t mark, int *ret_master, int *ret_slave, struct err *err);

/* What a job was given as 0, 1 and 2, and ret_own in place of the others: the cell's own /dev/null, where that is -1 and needed.
 * Nothing of the host's: who has its /dev/null can change its times, and watch who opens it. */
MUST_CHECK int program_stdio(const struct job *job, uint64_t mark, const int *given, size_t count, int *ret_own, int ret[3],
	struct err *err);

#endif
