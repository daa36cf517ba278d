/* How far a campaign is: everything a person watching wants to know, in one struct. A supervisor fills it
 * from memory, anybody else from the ledger; the terminal's view, `--json` and the metrics are made of it. */
#ifndef HOTCELL_CAMPAIGN_STATUS_H
#define HOTCELL_CAMPAIGN_STATUS_H

#include "base/json.h"
#include "campaign/ledger.h"

struct campaign_status {
	struct campaign_record campaign;
	struct ledger_live live;
	bool held; /* a supervisor is at work on it now */
	uint64_t now_ms;
	/* derived, by status_derive */
	uint64_t complete, failed, left, running;
	double rate; /* ends per second, over the last minute or as long as it has been going */
	uint64_t eta_ms; /* until the end at that rate; 0: not known */
};
void status_done(struct campaign_status *status);
/* Reads it; `held` is asked of the campaign's lock below `state_dir`. */
MUST_CHECK int status_read(struct ledger *ledger, const char *state_dir, const char *name,
	struct campaign_status *ret, struct err *err);
void status_derive(struct campaign_status *status); /* pure */
void status_json(const struct campaign_status *status, struct json *json); /* one object */

#endif
