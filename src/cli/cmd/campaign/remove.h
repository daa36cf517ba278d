/* Taking a campaign out of the world: its session folders, its rows, its folder in the state folder.
 *
 * Files go first and rows last, under the campaign's lock, so that after a crash at any point the same
 * command does the rest. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_REMOVE_H
#define HOTCELL_CLI_CMD_CAMPAIGN_REMOVE_H

#include "cli/cmd/campaign/args.h"

/* Removes those of its session folders that `want` (NULL: every one) picks, and says how many it did not. */
typedef bool campaign_want_fn(void *data, int sessions, const char *name, uint64_t number);
MUST_CHECK int campaign_remove_files(const struct campaign_record *campaign, campaign_want_fn *want, void *data,
	uint64_t *ret_removed, uint64_t *ret_kept, struct err *err);
/* The folder they were in, unless (*ret_left) something else is in it, too. Then the campaign cannot be resumed. */
MUST_CHECK int campaign_remove_folder(const struct campaign_record *campaign, bool *ret_left, struct err *err);
/* Its rows, then what is left of it in the state folder, the lock last. The caller holds the lock. */
MUST_CHECK int campaign_remove_rows(const struct campaign_place *place, const struct campaign_record *campaign,
	struct err *err);
/* Whether its rows are gone and its folder in the state folder is not: a command was killed in between. */
bool campaign_remove_is_half_done(const struct campaign_place *place, const char *name);
MUST_CHECK int campaign_remove_rest(const struct campaign_place *place, const char *name, struct err *err);

#endif
