/* What passed the doors of a run or of a campaign, for people and for machines. Pure. */
#ifndef HOTCELL_DOOR_POLICY_TOTALS_H
#define HOTCELL_DOOR_POLICY_TOTALS_H

#include "base/json.h"
#include "door/policy/budget.h"

#define NETWORK_LOG "network.jsonl" /* every verdict of a run */
#define NETWORK_EXCHANGES "exchanges.jsonl" /* what was said at its secret doors, if that is kept */

bool network_used(const struct door_totals *totals); /* anything at all came to a door */
/* Members of an object: each count by its name, and dollars. */
void network_json(const struct door_totals *totals, struct json *json);
/* "12 requests, 3 refused, 1.2 MB sent, 3 MB received, 1,200 tokens, $0.42 (2 estimated)" */
void network_text(const struct door_totals *totals, struct buf *ret);
char *network_dollars(uint64_t microdollars, char *ret, size_t len); /* "$0.42", "$0.0042"; into at least 32 bytes */

#endif
