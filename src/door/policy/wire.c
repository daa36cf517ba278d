/* A policy on its way to the process that serves the doors. The reader believes nothing: each door passes the same checks
 * as one that somebody typed. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "door/policy/policy_private.h"

#define PRICES_MAX 10000
#define MODEL_MAX 80
#define PRICE_MAX 1e6

/* ---- writing ---- */

static void put_service(struct buf *ret, const struct door_service *service)
{
	wire_put_str(ret, service->name);
	wire_put_u32(ret, service->port);
	wire_put_str(ret, service->target.host);
	wire_put_str(ret, service->target.path);
	wire_put_u32(ret, service->target.port);
}

static void put_secret(struct buf *ret, const struct secret_door *door)
{
	const char *const texts[] = {door->name, door->host, door->path, door->header, door->prefix, door->env,
		door->base_env, door->key_env, door->base_path, door->ca, door->secret, door->ca_text};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		wire_put_str(ret, texts[i]);
	wire_put_u32(ret, door->port);
	wire_put_u32(ret, door->tls);
	wire_put_u32(ret, door->private_ok);
}

static void put_real(struct buf *ret, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wire_put_u64(ret, bits);
}

static void put_price(struct buf *ret, const struct price *price)
{
	wire_put_str(ret, price->model);
	put_real(ret, price->input);
	put_real(ret, price->output);
	put_real(ret, price->cache_read);
	put_real(ret, price->cache_write);
}

static void put_rule(struct buf *ret, const struct door_rule *rule)
{
	own(buf_done) struct buf text = {0};

	rule_text(rule, &text);
	wire_put_str(ret, buf_text(&text));
}

void policy_encode(const struct door_policy *policy, struct buf *ret)
{
	wire_put_u32(ret, policy->proxy);
	wire_put_u32(ret, policy->record);
	wire_put_u32(ret, policy->replay);
	wire_put_str(ret, policy->upstream_host);
	wire_put_u32(ret, policy->upstream_port);
	wire_put_str(ret, policy->resolver);
	for (size_t i = 0; i < BUDGET_KINDS; i++) {
		wire_put_u64(ret, policy->run_budget.limit[i]);
		wire_put_u64(ret, policy->budget.limit[i]);
	}
	wire_put_u32(ret, (uint32_t)policy->rules.count);
	for (size_t i = 0; i < policy->rules.count; i++)
		put_rule(ret, &policy->rules.items[i]);
	wire_put_u32(ret, (uint32_t)policy->service_count);
	for (size_t i = 0; i < policy->service_count; i++)
		put_service(ret, &policy->services[i]);
	wire_put_u32(ret, (uint32_t)policy->secret_count);
	for (size_t i = 0; i < policy->secret_count; i++)
		put_secret(ret, &policy->secrets[i]);
	wire_put_u32(ret, (uint32_t)policy->prices.count);
	for (size_t i = 0; i < policy->prices.count; i++)
		put_price(ret, &policy->prices.items[i]);
	wire_put_u32(ret, (uint32_t)policy->hidden_count);
	for (size_t i = 0; i < policy->hidden_count; i++)
		wire_put_str(ret, policy->hidden[i]);
}

/* ---- reading ---- */

static int damaged(struct err *err, const char *why)
{
	return err_set(err, EPROTO, "the doors' policy is damaged: %s", why);
}

/* A number up to `max`; more makes the reader bad, and gives 0. */
static uint32_t get_most(struct wire_reader *reader, uint32_t max)
{
	uint32_t value = wire_get_u32(reader);

	if (value > max)
		reader->bad = true;
	return reader->bad ? 0 : value;
}

static bool get_flag(struct wire_reader *reader)
{
	return get_most(reader, 1) != 0;
}

static uint16_t get_port(struct wire_reader *reader)
{
	return (uint16_t)get_most(reader, UINT16_MAX);
}

static char *get_text(struct wire_reader *reader)
{
	const char *text = wire_get_str(reader);
	return text && !reader->bad ? xstrdup(text) : NULL;
}

static double get_real(struct wire_reader *reader)
{
	uint64_t bits = wire_get_u64(reader);
	double value;

	memcpy(&value, &bits, sizeof(value));
	if (!isfinite(value) || signbit(value) || value > PRICE_MAX)
		reader->bad = true;
	return reader->bad ? 0 : value;
}

static int get_rules(struct door_policy *policy, struct wire_reader *reader, struct err *err)
{
	uint32_t count = get_most(reader, RULES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		const char *text = wire_get_str(reader);
		if (!text || text[0] == '@') /* presets are written out */
			return damaged(err, "a rule is missing");
		if (rules_add(&policy->rules, text, err) < 0)
			return damaged(err, "a rule is none");
	}
	return 0;
}

static int get_services(struct door_policy *policy, struct wire_reader *reader, struct err *err)
{
	uint32_t count = get_most(reader, DOORS_MAX);

	policy->services = xcalloc(count + 1, sizeof(*policy->services));
	for (uint32_t i = 0; i < count; i++) {
		struct door_service *service = &policy->services[policy->service_count++];
		service->name = get_text(reader);
		service->port = get_port(reader);
		service->target.host = get_text(reader);
		service->target.path = get_text(reader);
		service->target.port = get_port(reader);
		const char *why = service_fault(service);
		if (why)
			return damaged(err, why);
	}
	return 0;
}

static void get_secret(struct secret_door *door, struct wire_reader *reader)
{
	char **const texts[] = {&door->name, &door->host, &door->path, &door->header, &door->prefix, &door->env,
		&door->base_env, &door->key_env, &door->base_path, &door->ca, &door->secret, &door->ca_text};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		*texts[i] = get_text(reader);
	door->port = get_port(reader);
	door->tls = get_flag(reader);
	door->private_ok = get_flag(reader);
}

static int get_secrets(struct door_policy *policy, struct wire_reader *reader, struct err *err)
{
	uint32_t count = get_most(reader, DOORS_MAX);

	policy->secrets = xcalloc(count + 1, sizeof(*policy->secrets));
	for (uint32_t i = 0; i < count; i++) {
		struct secret_door *door = &policy->secrets[policy->secret_count++];
		get_secret(door, reader);
		const char *why = secret_fault(door);
		if (why)
			return damaged(err, why);
	}
	return 0;
}

static bool is_model(const char *text)
{
	size_t len = 0;

	for (; text && text[len]; len++)
		if (text[len] <= 0x20 || text[len] > 0x7e)
			return false;
	return len > 0 && len <= MODEL_MAX;
}

static int get_prices(struct prices *prices, struct wire_reader *reader, struct err *err)
{
	uint32_t count = get_most(reader, PRICES_MAX);

	for (uint32_t i = 0; i < count; i++) {
		prices->items = xrealloc(prices->items, prices->count + 1, sizeof(*prices->items));
		struct price *price = &prices->items[prices->count++];
		*price = (struct price){.model = get_text(reader)};
		price->input = get_real(reader);
		price->output = get_real(reader);
		price->cache_read = get_real(reader);
		price->cache_write = get_real(reader);
		if (reader->bad || !is_model(price->model))
			return damaged(err, "a price is none");
	}
	return 0;
}

static int get_hidden(struct door_policy *policy, struct wire_reader *reader, struct err *err)
{
	uint32_t count = get_most(reader, HIDDEN_MAX);

	for (uint32_t i = 0; i < count; i++) {
		const char *value = wire_get_str(reader);
		if (!value || reader->bad)
			return damaged(err, "what is to be hidden is missing");
		policy_hide(policy, value);
	}
	return 0;
}

static bool is_resolver(const char *text)
{
	own(freep) char *canonical = resolver_canonical(text);
	return canonical && strcmp(canonical, text) == 0;
}

static int get_policy(struct door_policy *policy, struct wire_reader *reader, struct err *err)
{
	policy->proxy = get_flag(reader);
	policy->record = get_flag(reader);
	policy->replay = get_flag(reader);
	policy->upstream_host = get_text(reader);
	policy->upstream_port = get_port(reader);
	policy->resolver = get_text(reader);
	for (size_t i = 0; i < BUDGET_KINDS; i++) {
		policy->run_budget.limit[i] = wire_get_u64(reader);
		policy->budget.limit[i] = wire_get_u64(reader);
	}
	const char *why = upstream_fault(policy->upstream_host, policy->upstream_port);
	if (why)
		return damaged(err, why);
	if (policy->resolver && !is_resolver(policy->resolver))
		return damaged(err, "a name server is none");
	if (get_rules(policy, reader, err) < 0 || get_services(policy, reader, err) < 0 ||
		get_secrets(policy, reader, err) < 0 || get_prices(&policy->prices, reader, err) < 0 ||
		get_hidden(policy, reader, err) < 0)
		return -1;
	if (reader->bad)
		return damaged(err, "it ends too early, or a number in it is too large");
	struct err unfit = {0};
	return policy_check(policy, &unfit) < 0 ? damaged(err, unfit.text) : 0;
}

int policy_decode(struct door_policy *ret, struct wire_reader *reader, struct err *err)
{
	*ret = (struct door_policy){0};
	if (get_policy(ret, reader, err) == 0)
		return 0;
	policy_done(ret);
	return -1;
}
