/* The session folders of a campaign, for verbs that read or remove them.
 *
 * Only a folder that says it is this campaign's (`.hotcell-campaign` with its uuid) is ever touched, and in it
 * only what is named like a session of it; links are never followed. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_FILES_H
#define HOTCELL_CLI_CMD_CAMPAIGN_FILES_H

#include "base/err.h"
#include "campaign/ledger/record.h"

/* 1: *ret_fd is the folder of its sessions; 0: there is none, or it is not this campaign's (any more);
 * -1: error. Makes nothing. */
MUST_CHECK int campaign_files_open(const struct campaign_record *campaign, int *ret_fd, struct err *err);

/* The number of the run whose session has this name; 0 if none of the campaign's has. Pure. */
uint64_t campaign_files_number(const struct campaign_record *campaign, const char *name);

/* Calls fn for each session folder, in no order; fn may remove it. Stops at a non-zero return, which is
 * returned. */
typedef int campaign_file_fn(void *data, int sessions, const char *name, uint64_t number, struct err *err);
MUST_CHECK int campaign_files_each(int sessions, const struct campaign_record *campaign, campaign_file_fn *fn,
	void *data, struct err *err);

/* Bytes a folder takes on the disk. Looks at no more than *budget entries, which it takes off; false, and less
 * than all is counted, when they did not suffice. */
bool campaign_files_size(int sessions, const char *name, uint64_t *budget, uint64_t *ret_bytes);

/* After the last session: the campaign's mark and, if nothing else is in it, the folder. *ret_left: something
 * else is. */
MUST_CHECK int campaign_files_finish(int sessions, const struct campaign_record *campaign, bool *ret_left,
	struct err *err);

#endif
