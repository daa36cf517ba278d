/* What a run of a campaign printed, from the logs in its folder. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_SESSION_LOGS_H
#define HOTCELL_CLI_CMD_CAMPAIGN_SESSION_LOGS_H

#include "base/term.h"
#include "cli/cmd/campaign/args.h"

struct session_logs {
	const char *state; /* --state, or NULL */
	bool out, err; /* which logs; neither means both */
	bool follow; /* go on until the run has its end in the ledger */
};

/* Prints them; a terminal gets them made safe. Returns the exit code. */
int session_logs_run(const struct session_logs *logs, const struct campaign_target *target);

/* Writes to stdout, through the filter if that is a terminal. A reader that left is *ret_left and no error. */
MUST_CHECK int session_logs_show(struct term_filter *filter, const char *bytes, size_t len, bool *ret_left);

#endif
