/* The state folder, `.hotcell/` in the project: the ledger, and a folder for each campaign with its lock,
 * its stdin and, where it runs detached, its log. */
#ifndef HOTCELL_PROJECT_STATE_H
#define HOTCELL_PROJECT_STATE_H

#include <stdbool.h>

#include "base/err.h"

#define STATE_FOLDER ".hotcell"

/* The absolute path of the state folder, without links: `given` (--state), else HOTCELL_STATE, else the nearest .hotcell
 * of ours here or above, else ./.hotcell. The caller frees. It is believed only if it is one that this user's hotcell made or
 * that the user trusted (trust.h), whichever way it was found; one that is empty is
 * recorded, and so is, with `make`, one that is not there and is made (0700). ERR_USAGE if it is not there and shall not be made, is not a folder, or is not believed. */
MUST_CHECK char *state_folder(const char *given, bool make, struct err *err);
/* Nothing is there, neither to be believed nor to be refused: at the place that was named, or else here or above. */
bool state_is_none(const char *given);
char *state_ledger(const char *state); /* the ledger's path; the caller frees */
char *state_audit(const char *state); /* the audit log's */
char *state_campaign(const char *state, const char *name); /* a campaign's own folder, to be shown */
/* The same, opened beneath the state folder (base/beneath.h); made where it is missing and `make`. */
MUST_CHECK int state_campaign_open(const char *state, const char *name, bool make, struct err *err);

/* Removes it with all that is in it; a missing one is fine. */
MUST_CHECK int state_campaign_remove(const char *state, const char *name, struct err *err);
bool state_campaign_is_there(const char *state, const char *name);

/* Held while the descriptor is open, whatever kills us. Another holder is ERR_USAGE: who it is. */
MUST_CHECK int state_lock(const char *state, const char *name, struct err *err);
/* The pid of the supervisor that holds it now; 0 if none does, -1 if it has not said who it is. */
int state_holder(const char *state, const char *name);

#endif
