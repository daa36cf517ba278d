/* Going on in the background: the caller's shell gets its prompt back when the campaign has really begun. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_DETACH_H
#define HOTCELL_CLI_CMD_CAMPAIGN_DETACH_H

#include <stdbool.h>

#include "base/err.h"

/* Forks. True in the parent, once the child has begun or failed: *ret_code is its exit code. False in the
 * child, whose output goes to the campaign's log; *ret_ready is for the calls below. */
bool detach(const char *state, const char *name, int *ret_ready, int *ret_code);
void detach_ready(int ready); /* the campaign has begun; -1 is fine */
/* It has not: says so, to the parent if there is one. Returns the exit code. */
int detach_failed(int ready, const struct err *err);

#endif
