/* One campaign as one HTML page that needs nothing else: no script, no picture, no font, no network. */
#ifndef HOTCELL_REPORT_CAMPAIGN_H
#define HOTCELL_REPORT_CAMPAIGN_H

#include "campaign/status.h"

/* Tails of logs are read from the session folders, bounded, and escaped like everything that a run made.
 * However many runs there are, they are read one after the other and none is kept but those shown. */
MUST_CHECK int report_html(struct ledger *ledger, const struct campaign_status *status, struct buf *out,
	struct err *err);
/* Sections of HTML with these ids, safe as they are; NULL: there is none. */
struct report_more {
	const char *findings, *functions;
};
/* The same for a page that will be the file `page`: links to the sessions are relative to it, so page and
 * sessions can be moved together. Above they are absolute paths. `more` may be NULL. */
MUST_CHECK int report_html_at(struct ledger *ledger, const struct campaign_status *status, const char *page,
	const struct report_more *more, struct buf *out, struct err *err);

#endif
