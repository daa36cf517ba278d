#include "door/policy/totals.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/size.h"

bool network_used(const struct door_totals *totals)
{
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		if (totals->count[i] > 0)
			return true;
	return false;
}

void network_json(const struct door_totals *totals, struct json *json)
{
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		json_put_uint(json, door_count_names[i], totals->count[i]);
	json_put_real(json, "dollars", (double)totals->count[COUNT_MICRODOLLARS] / 1e6, 6);
}

/* Cents, but for what would be none at all. */
char *network_dollars(uint64_t microdollars, char *ret, size_t len)
{
	(void)snprintf(ret, len, microdollars > 0 && microdollars < 10000 ? "$%.4f" : "$%.2f", (double)microdollars / 1e6);
	return ret;
}

void network_text(const struct door_totals *totals, struct buf *ret)
{
	const uint64_t *count = totals->count;
	uint64_t tokens = count[COUNT_TOKENS_IN] + count[COUNT_TOKENS_OUT];
	char sent[24], received[24], dollars[32];

	buf_fmt(ret, "%" PRIu64 " request%s, %" PRIu64 " refused", count[COUNT_REQUESTS], count[COUNT_REQUESTS] == 1 ? "" : "s",
		count[COUNT_REFUSED]);
	if (count[COUNT_FAILED] > 0)
		buf_fmt(ret, ", %" PRIu64 " failed", count[COUNT_FAILED]);
	buf_fmt(ret, ", %s sent, %s received", size_text(count[COUNT_SENT], sent, sizeof(sent)),
		size_text(count[COUNT_RECEIVED], received, sizeof(received)));
	if (tokens > 0)
		buf_fmt(ret, ", %" PRIu64 " tokens", tokens);
	if (tokens > 0 || count[COUNT_MICRODOLLARS] > 0)
		buf_fmt(ret, ", %s", network_dollars(count[COUNT_MICRODOLLARS], dollars, sizeof(dollars)));
	if (count[COUNT_UNPRICED] > 0)
		buf_fmt(ret, " (%" PRIu64 " estimated)", count[COUNT_UNPRICED]);
}
