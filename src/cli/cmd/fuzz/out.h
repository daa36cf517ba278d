/* What `hotcell fuzz` says in the end: tables, one JSON object, a SARIF log, its exit code. */
#ifndef HOTCELL_CLI_CMD_FUZZ_OUT_H
#define HOTCELL_CLI_CMD_FUZZ_OUT_H

#include "cli/fuzz_setup.h"

struct fuzz_outcome {
	const struct fuzz_setup *setup;
	const struct fuzz_result *result;
	const struct finding *const *list; /* what was seen this time, as the store has it; by severity */
	size_t count;
	const struct strings *fresh; /* ids that the store did not have */
	const struct strings *baseline;
	enum finding_gate gate;
	size_t over; /* findings that fail it */
	int code; /* exit */
};

/* Fills `over` and `code`. */
void fuzz_outcome_judge(struct fuzz_outcome *outcome);
/* To stdout, and the SARIF log to its file. Returns 0, or the exit code of our failure to write. */
int fuzz_outcome_tell(const struct fuzz_outcome *outcome);

#endif
