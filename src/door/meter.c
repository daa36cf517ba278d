#include "door/meter.h"

#define TOKENS_MAX UINT64_C(1000000000000) /* more than anything tells the truth about */

static void add(struct conn *conn, enum door_count what, uint64_t amount)
{
	struct door_totals more = { 0 };

	if (amount == 0)
		return;
	more.count[what] = amount;
	totals_add(conn->run->totals, &more);
	totals_add(&conn->run->doord->totals[0], &more);
}

static uint64_t bounded(uint64_t tokens)
{
	return tokens < TOKENS_MAX ? tokens : TOKENS_MAX;
}

/* Figures are running totals. One that falls takes nothing back. */
static void grow(struct conn *conn, enum door_count what, uint64_t *charged, uint64_t now)
{
	if (now <= *charged)
		return;
	add(conn, what, now - *charged);
	*charged = now;
}

static void charge(struct meter *meter, struct conn *conn, struct usage *ret)
{
	bool known;

	usage_get(meter->reader, ret);
	if (!ret->seen)
		return;
	ret->input = bounded(ret->input);
	ret->output = bounded(ret->output);
	ret->cache_read = bounded(ret->cache_read);
	ret->cache_write = bounded(ret->cache_write);
	grow(conn, COUNT_TOKENS_IN, &meter->tokens_in, ret->input + ret->cache_read + ret->cache_write);
	grow(conn, COUNT_TOKENS_OUT, &meter->tokens_out, ret->output);
	grow(conn, COUNT_MICRODOLLARS, &meter->microdollars, prices_cost(&conn->run->doord->policy.prices, ret, &known));
}

void meter_open(struct meter *meter, struct span content_type, bool asked)
{
	meter->asked = asked;
	meter->reader = usage_free(meter->reader);
	if (asked || usage_reads(content_type.at, content_type.len))
		meter->reader = usage_open(content_type.at, content_type.len);
}

void meter_take(struct meter *meter, struct conn *conn, const char *bytes, size_t len)
{
	struct usage usage;

	if (meter->reader == NULL)
		return;
	usage_take(meter->reader, bytes, len);
	charge(meter, conn, &usage);
}

void meter_close(struct meter *meter, struct conn *conn)
{
	struct usage usage;
	bool known = false;

	if (meter->reader == NULL)
		return;
	charge(meter, conn, &usage);
	if (usage.seen)
		(void)prices_cost(&conn->run->doord->policy.prices, &usage, &known);
	meter->unpriced = !known && (meter->asked || usage.seen);
	add(conn, COUNT_UNPRICED, meter->unpriced);
	meter->reader = usage_free(meter->reader);
}

void meter_describe(const struct meter *meter, struct json *json)
{
	if (meter->tokens_in + meter->tokens_out == 0)
		return;
	json_put_uint(json, "tokens_in", meter->tokens_in);
	json_put_uint(json, "tokens_out", meter->tokens_out);
	json_put_uint(json, "microdollars", meter->microdollars);
}
