/* The state folder, `.hotcell/` in the project: the ledger, and a folder for each campaign with its lock,
 * its stdin and, where it runs detached, its log. */
#ifndef HOTCELL_CAMPAIGN_STATE_H
#define HOTCELL_CAMPAIGN_STATE_H

#include <stdbool.h>

#include "base/err.h"

#define STATE_FOLDER ".hotcell"

/* The absolute path of the state folder: `given` (--state), else HOTCELL_STATE, else the nearest .hotcell
 * of ours here or above, else ./.hotcell. The caller frees. With `make` it is made (0700). ERR_USAGE if it is not
 * there and shall not be made, or is not a folder. */
MUST_CHECK char *state_folder(const char *given, bool make, struct err *err);
char *state_ledger(const char *state); /* the ledger's path; the caller frees */
char *state_audit(const char *state); /* the audit log's */
char *state_campaign(const char *state, const char *name); /* a campaign's own folder */

/* Held while the descriptor is open, whatever kills us. Another holder is ERR_USAGE: who it is. */
MUST_CHECK int state_lock(const char *state, const char *name, struct err *err);
/* The pid of the supervisor that holds it now; 0 if none does, -1 if it has not said who it is. */
int state_holder(const char *state, const char *name);

#endif
