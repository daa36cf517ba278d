/* How much may pass through doors. Pure. A budget is a list: '$20', 'tokens=1M', 'requests=1000', 'sent=10M',
 * 'received=1G', 'connections=100', separated by commas, each at most once and none of them zero. k and M are thousands
 * and millions of what is counted, and 1024-based for bytes. */
#ifndef HOTCELL_DOOR_POLICY_BUDGET_H
#define HOTCELL_DOOR_POLICY_BUDGET_H

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
	COUNT_UNPRICED, /* answers whose cost is estimated: not told, cut off, or of a model without a price */
	DOOR_COUNTS
};
extern const char *const door_count_names[DOOR_COUNTS]; /* "connections", "requests", ... as in JSON */

/* Shared with the process that serves the doors, which writes it: each count is read and written whole. To read all,
 * totals_add to nothing. */
struct door_totals {
	uint64_t count[DOOR_COUNTS];
};
void totals_add(struct door_totals *totals, const struct door_totals *more); /* saturates; either may be shared */

/* What was used and, as part of it, what is only reserved: the most that requests under way can cost. It is given back
 * when they are over and cost less; whoever dies in between has it counted as used. Shared like its totals. */
struct door_account {
	struct door_totals used, reserved;
};
void account_reserve(struct door_account *account, const struct door_totals *most);
/* What was reserved is over, and cost this. */
void account_settle(struct door_account *account, const struct door_totals *most, const struct door_totals *cost);
void account_settled(const struct door_account *account, struct door_totals *ret); /* used, without what is reserved */

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
/* The first of money and tokens of which less is left than `most`; BUDGET_KINDS: it fits. */
enum budget_kind budget_short(const struct door_budget *budget, const struct door_account *account,
	const struct door_totals *most);
/* "the budget of $20.00 leaves $0.02, and a request was refused that may cost $0.31 ($1.20 is reserved by requests under
 * way); a lower max_tokens may fit" */
void budget_short_sentence(const struct door_budget *budget, const struct door_account *account, enum budget_kind kind,
	const struct door_totals *most, struct buf *ret);
bool budget_is_low(const struct door_budget *budget, const struct door_account *account, enum budget_kind kind); /* a tenth or less is left */

#endif
