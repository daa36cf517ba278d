/* One campaign as one HTML page that needs nothing else: no script from elsewhere, no picture, no font. */
#ifndef HOTCELL_CAMPAIGN_REPORT_H
#define HOTCELL_CAMPAIGN_REPORT_H

#include "campaign/status.h"

/* Tails of logs are read from the session folders, bounded, and escaped like everything that a run made. */
MUST_CHECK int report_html(struct ledger *ledger, const struct campaign_status *status, struct buf *out,
	struct err *err);

#endif
