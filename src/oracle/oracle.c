/* The table of oracles, and what verdicts are made of. See oracle.h. */
#include "oracle/oracle.h"

static const char *const reply_names[] = {
	[REPLY_OK] = "ok", [REPLY_REJECTED] = "rejected", [REPLY_FAILED] = "failed", [REPLY_BROKEN] = "broken",
	[REPLY_ENDED] = "ended", [REPLY_LATE] = "late",
};
_Static_assert(sizeof(reply_names) / sizeof(*reply_names) == REPLY_KIND_COUNT, "a kind of reply has no name");

const char *reply_kind_name(enum reply_kind kind)
{
	return reply_names[kind];
}
