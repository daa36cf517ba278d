/* The options about doors, and the policy that they make together. */
#ifndef HOTCELL_CLI_DOOR_OPTIONS_H
#define HOTCELL_CLI_DOOR_OPTIONS_H

#include "cli/core/cli.h"
#include "door/policy/policy.h"

struct door_options {
	struct cli_list allow, services, secrets;
	const char *budget, *run_budget, *upstream, *resolver, *prices; /* NULL: not given */
	const char *replay; /* a folder */
	const char *log; /* of a single run */
	bool record;
};

/* The set functions of their rows: each text is judged where it is read, so that an error in a file names its line. */
cli_set_fn door_allow_check, door_service_check, door_secret_check;
cli_set_fn door_budget_set, door_run_budget_set, door_upstream_set, door_resolver_set;

/* Reads --prices, and nothing else: no credential. Errors have code ERR_USAGE: doors that a backend has not, what
 * contradicts itself, and options that need a door where there is none. *ret is the caller's to policy_done. */
MUST_CHECK int door_options_policy(struct door_policy *ret, const struct door_options *options, const char *backend,
	struct err *err);

/* A line for each door, the first beginning with `first`, the others with `next`. */
void door_options_explain(const struct door_policy *policy, const char *first, const char *next, struct buf *ret);

#endif
