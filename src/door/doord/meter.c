#include "door/doord/meter.h"

#include <string.h>

#define TOKENS_MAX UINT64_C(1000000000000) /* more than anything tells the truth about */

static uint64_t bounded(uint64_t tokens)
{
	return tokens < TOKENS_MAX ? tokens : TOKENS_MAX;
}

static const struct prices *prices_of(const struct conn *conn)
{
	return &conn->run->doord->policy.prices;
}

/* ---- reserving ---- */

static uint64_t dearest(const struct conn *conn, const struct usage *one, const struct usage *other)
{
	bool known;
	uint64_t a = prices_cost(prices_of(conn), one, &known), b = prices_cost(prices_of(conn), other, &known);

	return a > b ? a : b;
}

/* Whatever the cache does with it. */
static uint64_t cost_of(
	const struct conn *conn, const struct meter *meter, uint64_t input, uint64_t output)
{
	const char *model = meter->model;
	struct usage plain = { .input = input, .output = output }, read = { .cache_read = input, .output = output },
		     written = { .cache_write = input, .output = output };

	written.cache_long = meter->is_kept ? input : 0;
	memcpy(plain.model, model, sizeof(plain.model));
	memcpy(read.model, model, sizeof(read.model));
	memcpy(written.model, model, sizeof(written.model));
	uint64_t some = dearest(conn, &plain, &read), more = dearest(conn, &written, &written);
	return some > more ? some : more;
}

static struct door_totals totals_of(
	const struct conn *conn, const struct meter *meter, uint64_t input, uint64_t output)
{
	struct door_totals totals = { 0 };

	totals.count[COUNT_TOKENS_IN] = input;
	totals.count[COUNT_TOKENS_OUT] = output;
	totals.count[COUNT_MICRODOLLARS] = cost_of(conn, meter, input, output);
	return totals;
}

bool meter_reserve(struct meter *meter, struct conn *conn, const struct ask *ask, struct buf *ret_sentence, bool *ret_retry)
{
	*ret_retry = false;
	if (ask->is_free)
		return true;
	memcpy(meter->model, ask->model, sizeof(meter->model));
	meter->is_known = ask->is_known;
	meter->is_later = ask->is_later;
	meter->is_kept = ask->is_kept;
	meter->most = totals_of(conn, meter, bounded(ask->input), bounded(ask->output));
	if (!conn_reserve(conn, &meter->most, ret_sentence, ret_retry))
		return false;
	meter->reserved = true;
	return true;
}

/* ---- settling ---- */

static void add(struct conn *conn, const struct door_totals *more)
{
	totals_add(&conn->run->account->used, more);
	totals_add(&conn->run->doord->accounts[0].used, more);
}

static void add_one(struct conn *conn, enum door_count what, uint64_t amount)
{
	struct door_totals more = { 0 };

	more.count[what] = amount;
	if (amount > 0)
		add(conn, &more);
}

/* Figures are running totals. One that falls takes nothing back. What was reserved is counted already: only what goes
 * beyond it is added at once. */
static void grow(struct meter *meter, struct conn *conn, enum door_count what, uint64_t *told, uint64_t now)
{
	uint64_t counted = meter->most.count[what] > *told ? meter->most.count[what] : *told;

	if (now > counted) {
		add_one(conn, what, now - counted);
		if (meter->reserved) { /* it is settled with the rest */
			struct door_totals more = { 0 };
			more.count[what] = now - counted;
			totals_add(&conn->run->account->reserved, &more);
			totals_add(&conn->run->doord->accounts[0].reserved, &more);
			meter->most.count[what] = now;
		}
	}
	*told = now > *told ? now : *told;
}

/* An answer that calls its model by a name without a price is one of the model that was asked. */
static uint64_t price(const struct meter *meter, const struct conn *conn, struct usage *usage, bool *ret_known)
{
	uint64_t cost = prices_cost(prices_of(conn), usage, ret_known);

	if (*ret_known || meter->model[0] == '\0')
		return cost;
	memcpy(usage->model, meter->model, sizeof(usage->model));
	return prices_cost(prices_of(conn), usage, ret_known);
}

/* True: something was told. */
static bool charge(struct meter *meter, struct conn *conn, bool *ret_known)
{
	struct usage usage;

	*ret_known = false;
	usage_get(meter->reader, &usage);
	if (!usage.seen)
		return false;
	usage.input = bounded(usage.input);
	usage.output = bounded(usage.output);
	usage.cache_read = bounded(usage.cache_read);
	usage.cache_write = bounded(usage.cache_write);
	usage.cache_long = bounded(usage.cache_long);
	meter->early = usage.early;
	meter->partial = usage.partial;
	grow(meter, conn, COUNT_TOKENS_IN, &meter->tokens_in, usage.input + usage.cache_read + usage.cache_write);
	grow(meter, conn, COUNT_TOKENS_OUT, &meter->tokens_out, usage.output);
	grow(meter, conn, COUNT_MICRODOLLARS, &meter->microdollars, price(meter, conn, &usage, ret_known));
	return meter->tokens_in + meter->tokens_out > 0;
}

/* Gateways that gave up waiting: whoever works behind them went on, and is paid. */
static bool is_refusal(unsigned status)
{
	return status >= 300 && status != 502 && status != 504 && !(status >= 520 && status <= 527);
}

/* Gateways that could not hand the request on: nothing was answered. What they say is believed as far
 * as the output. */
static bool is_unreached(unsigned status)
{
	return status == 521 || status == 523 || status == 525 || status == 526;
}

/* What an answer without figures may have cost: all that was reserved, since what was thought and not shown is in no byte of it. What
 * asked no model in any known way, and was answered to the end: the bytes there and back. */
static struct door_totals estimate(const struct meter *meter, const struct conn *conn, bool whole)
{
	if (is_unreached(meter->status))
		return totals_of(conn, meter, meter->most.count[COUNT_TOKENS_IN], 0);
	if (meter->is_known || !whole)
		return meter->most;
	return totals_of(conn, meter, meter->most.count[COUNT_TOKENS_IN], bounded(meter->received + 1));
}

/* Only the output is not all told, unless the model was asked more than once. */
static void settle_early(struct meter *meter, const struct conn *conn, bool whole, struct door_totals *cost)
{
	struct door_totals guess = estimate(meter, conn, whole);

	for (size_t i = 0; i < DOOR_COUNTS; i++)
		if ((i != COUNT_TOKENS_IN || meter->partial) && guess.count[i] > cost->count[i])
			cost->count[i] = guess.count[i];
}

static void settle(struct meter *meter, struct conn *conn, bool whole, bool told, bool known)
{
	struct door_totals cost = { 0 };
	bool estimated = false;

	if (told) {
		cost.count[COUNT_TOKENS_IN] = meter->tokens_in;
		cost.count[COUNT_TOKENS_OUT] = meter->tokens_out;
		cost.count[COUNT_MICRODOLLARS] = meter->microdollars;
		estimated = !known || !whole || meter->early || meter->partial;
		if (!whole || meter->early || meter->partial)
			settle_early(meter, conn, whole, &cost);
	} else if ((meter->sent || meter->status / 100 == 2) && !is_refusal(meter->status)) {
		cost = estimate(meter, conn, whole);
		estimated = true;
	}
	meter->tokens_in = cost.count[COUNT_TOKENS_IN];
	meter->tokens_out = cost.count[COUNT_TOKENS_OUT];
	meter->microdollars = cost.count[COUNT_MICRODOLLARS];
	meter->unpriced = estimated;
	cost.count[COUNT_UNPRICED] = estimated;
	account_settle(conn->run->account, &meter->most, &cost);
	account_settle(&conn->run->doord->accounts[0], &meter->most, &cost);
	meter->reserved = false;
}

/* ---- an answer ---- */

void meter_open(struct meter *meter, struct span content_type, unsigned status, bool asked)
{
	meter->asked = asked;
	meter->status = status;
	meter->reader = usage_free(meter->reader);
	if (status / 100 == 2 && (asked || usage_reads(content_type.at, content_type.len)))
		meter->reader = usage_open(content_type.at, content_type.len);
}

void meter_take(struct meter *meter, struct conn *conn, const char *bytes, size_t len)
{
	bool known;

	meter->received += len;
	if (meter->reader == NULL)
		return;
	usage_take(meter->reader, bytes, len);
	(void)charge(meter, conn, &known);
}

void meter_close(struct meter *meter, struct conn *conn, bool whole)
{
	bool known = false, told = meter->reader != NULL && charge(meter, conn, &known);

	if (meter->reserved) {
		settle(meter, conn, whole, told, known);
	} else if (meter->reader != NULL) {
		meter->unpriced = !known && (meter->asked || told);
		add_one(conn, COUNT_UNPRICED, meter->unpriced);
	}
	meter->reader = usage_free(meter->reader);
}

void meter_describe(const struct meter *meter, struct json *json)
{
	if (meter->tokens_in + meter->tokens_out == 0)
		return;
	json_put_uint(json, "tokens_in", meter->tokens_in);
	json_put_uint(json, "tokens_out", meter->tokens_out);
	json_put_uint(json, "microdollars", meter->microdollars);
	if (meter->unpriced)
		json_put_bool(json, "estimated", true);
}
