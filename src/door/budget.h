/* How much may pass through doors. Pure. A budget is a list: '$20', 'tokens=1M', 'requests=1000', 'sent=10M',
 * 'received=1G', 'connections=100', separated by commas, each at most once and none of them zero. k and M are thousands
 * and millions of what is counted, and 1024-based for bytes. */
#ifndef HOTCELL_DOOR_BUDGET_H
#define HOTCELL_DOOR_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum door_count {
	COUNT_CONNECTIONS, /* that were let through */
	COUNT_REQUESTS, /* HTTP requests and tunnels that were let through */
	COUNT_REFUSED,
	COUNT_FAILED, /* let through, and then not reached */
	COUNT_SENT, COUNT_RECEIVED, /* bytes, as the cell sees it */
	COUNT_TOKENS_IN, COUNT_TOKENS_OUT, /* the cache's are among those in */
	COUNT_MICRODOLLARS,
	COUNT_UNPRICED, /* answers whose usage was not told, or whose model has no price */
	DOOR_COUNTS
};
extern const char *const door_count_names[DOOR_COUNTS]; /* "connections", "requests", ... as in JSON */

/* Shared with the process that serves the doors, which writes it: each count is read and written whole. To read all,
 * totals_add to nothing. */
struct door_totals {
	uint64_t count[DOOR_COUNTS];
};
void totals_add(struct door_totals *totals, const struct door_totals *more); /* saturates; either may be shared */

enum budget_kind {
	BUDGET_MICRODOLLARS, BUDGET_TOKENS, BUDGET_REQUESTS, BUDGET_SENT, BUDGET_RECEIVED, BUDGET_CONNECTIONS,
	BUDGET_KINDS
};
struct door_budget {
	uint64_t limit[BUDGET_KINDS]; /* 0: none */
};
/* Errors are ERR_USAGE and name `what`; *ret is then as it was. */
MUST_CHECK int budget_parse(struct door_budget *ret, const char *text, const char *what, struct err *err);
void budget_merge(struct door_budget *budget, const struct door_budget *newer); /* each limit that the newer one has is its */
bool budget_is_set(const struct door_budget *budget);
void budget_text(const struct door_budget *budget, struct buf *ret); /* as budget_parse takes it */
/* The first that is used up; BUDGET_KINDS: none. */
enum budget_kind budget_reached(const struct door_budget *budget, const struct door_totals *totals);
/* "the budget of $20.00 is used up ($20.13)" */
void budget_sentence(const struct door_budget *budget, const struct door_totals *totals, enum budget_kind kind,
	struct buf *ret);

#endif
