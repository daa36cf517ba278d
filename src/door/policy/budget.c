/* Whole-number arithmetic throughout, as in base/size.c: a limit must not depend on how a double
 * rounds. */
#include "door/policy/budget.h"

#include <string.h>

#include "base/size.h"
#include "base/term.h"

#define THOUSAND UINT64_C(1000)
#define MILLION UINT64_C(1000000)
#define CENT (MILLION / 100)
#define LIMIT_MAX (THOUSAND * THOUSAND * THOUSAND * MILLION) /* a thousand million dollars */

const char *const door_count_names[] = {
	[COUNT_CONNECTIONS] = "connections",
	[COUNT_REQUESTS] = "requests",
	[COUNT_REFUSED] = "refused",
	[COUNT_FAILED] = "failed",
	[COUNT_SENT] = "sent",
	[COUNT_RECEIVED] = "received",
	[COUNT_TOKENS_IN] = "tokens_in",
	[COUNT_TOKENS_OUT] = "tokens_out",
	[COUNT_MICRODOLLARS] = "microdollars",
	[COUNT_UNPRICED] = "unpriced",
};
_Static_assert(ARRAY_LEN(door_count_names) == DOOR_COUNTS, "a count has no name");

enum unit { UNIT_MONEY, UNIT_COUNT, UNIT_BYTES };

static const struct kind {
	const char *key; /* before the value */
	const char *noun; /* behind the limit in a sentence */
	enum unit unit;
} kinds[] = {
	[BUDGET_MICRODOLLARS] = {"$", "", UNIT_MONEY},
	[BUDGET_TOKENS] = {"tokens=", " tokens", UNIT_COUNT},
	[BUDGET_REQUESTS] = {"requests=", " requests", UNIT_COUNT},
	[BUDGET_SENT] = {"sent=", " sent", UNIT_BYTES},
	[BUDGET_RECEIVED] = {"received=", " received", UNIT_BYTES},
	[BUDGET_CONNECTIONS] = {"connections=", " connections", UNIT_COUNT},
};
_Static_assert(ARRAY_LEN(kinds) == BUDGET_KINDS, "a kind of budget has no row");

static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Totals may be shared with another process: no count is ever seen half written. */
static uint64_t count_of(const struct door_totals *totals, size_t which)
{
	return __atomic_load_n(&totals->count[which], __ATOMIC_RELAXED);
}

void totals_add(struct door_totals *totals, const struct door_totals *more)
{
	for (size_t i = 0; i < DOOR_COUNTS; i++)
		__atomic_store_n(&totals->count[i],
			add_capped(count_of(totals, i), count_of(more, i)), __ATOMIC_RELAXED);
}

static void count_take(struct door_totals *totals, const struct door_totals *less)
{
	for (size_t i = 0; i < DOOR_COUNTS; i++) {
		uint64_t have = count_of(totals, i), take = count_of(less, i);
		if (take > 0)
			__atomic_store_n(&totals->count[i], have > take ? have - take : 0, __ATOMIC_RELAXED);
	}
}

/* In an order in which whoever is killed in between leaves too much as used, never too little. */
void account_reserve(struct door_account *account, const struct door_totals *most)
{
	totals_add(&account->used, most);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	totals_add(&account->reserved, most);
}

void account_settle(struct door_account *account, const struct door_totals *most, const struct door_totals *cost)
{
	count_take(&account->reserved, most);
	totals_add(&account->used, cost);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	count_take(&account->used, most);
}

void account_settled(const struct door_account *account, struct door_totals *ret)
{
	*ret = (struct door_totals){0};
	totals_add(ret, &account->used);
	count_take(ret, &account->reserved);
}

/* ---- reading ---- */

static int refuse(struct err *err, const char *what, const char *text, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), 60, &shown);
	return err_set(err, ERR_USAGE, "%s: '%s' %s", what, buf_text(&shown), why);
}

/* "12", and with `places` of 2 also "12.5" and "12.50", times 10^places. False for anything else;
 * too much gives UINT64_MAX. */
static bool decimal_read(const char *text, size_t len, unsigned places, uint64_t *ret)
{
	uint64_t value = 0;
	bool fraction = false;

	if (len == 0 || text[0] == '.' || text[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (text[i] < '0' || text[i] > '9' || (fraction && places-- == 0))
			return false;
		value = value > (UINT64_MAX - 9) / 10 ? UINT64_MAX
						      : value * 10 + (uint64_t)(text[i] - '0');
	}
	for (; places > 0; places--)
		value = value > UINT64_MAX / 10 ? UINT64_MAX : value * 10;
	*ret = value;
	return true;
}

static bool money_read(const char *text, uint64_t *ret)
{
	return decimal_read(text, strlen(text), 6, ret);
}

/* "1000", "10k", "1.5M": thousands, not 1024s, because these count things. */
static bool count_read(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);
	char last = len > 0 ? text[len - 1] : '\0';

	if (last == 'k' || last == 'K')
		return decimal_read(text, len - 1, 3, ret);
	if (last == 'M')
		return decimal_read(text, len - 1, 6, ret);
	return decimal_read(text, len, 0, ret);
}

static int value_read(
	const char *item, const struct kind *kind, const char *what, uint64_t *ret, struct err *err)
{
	const char *value = item + strlen(kind->key);

	switch (kind->unit) {
	case UNIT_BYTES: return size_parse(value, what, ret, err);
	case UNIT_MONEY:
		if (!money_read(value, ret))
			return refuse(err, what, item,
				"is no sum of dollars; write for example $20 or $0.50");
		break;
	case UNIT_COUNT:
		if (!count_read(value, ret))
			return refuse(err, what, item,
				"has no whole number; write for example 500, 10k or 1.5M");
		break;
	}
	if (*ret == 0)
		return refuse(err, what, item, "leaves nothing; to let nothing out, open no door");
	if (*ret > LIMIT_MAX)
		return refuse(err, what, item, "is too large to be a limit");
	return 0;
}

static int item_read(
	struct door_budget *budget, const char *item, const char *what, struct err *err)
{
	for (size_t i = 0; i < BUDGET_KINDS; i++) {
		if (strncmp(item, kinds[i].key, strlen(kinds[i].key)) != 0)
			continue;
		if (budget->limit[i] > 0)
			return refuse(err, what, item, "is a second limit of the same kind");
		return value_read(item, &kinds[i], what, &budget->limit[i], err);
	}
	return refuse(err, what, item,
		"is no budget; write for example '$20' or 'tokens=1M,requests=1000', of $, tokens=, requests=, "
		"sent=, received= and connections=");
}

int budget_parse(struct door_budget *ret, const char *text, const char *what, struct err *err)
{
	own(freep) char *items = xstrdup(text);
	struct door_budget budget = {0};
	char *rest = items;

	while (rest) {
		const char *item = strsep(&rest, ",");
		if (item_read(&budget, item, what, err) < 0)
			return -1;
	}
	*ret = budget;
	return 0;
}

void budget_merge(struct door_budget *budget, const struct door_budget *newer)
{
	for (size_t i = 0; i < BUDGET_KINDS; i++)
		if (newer->limit[i] > 0)
			budget->limit[i] = newer->limit[i];
}

bool budget_is_set(const struct door_budget *budget)
{
	for (size_t i = 0; i < BUDGET_KINDS; i++)
		if (budget->limit[i] > 0)
			return true;
	return false;
}

/* ---- writing ---- */

/* "20.00", "0.50", "0.000125": cents, and more where there is more. */
static void money_text(uint64_t microdollars, struct buf *ret)
{
	uint64_t part = microdollars % MILLION;
	int places = 6;

	for (; places > 2 && part % 10 == 0; places--)
		part /= 10;
	buf_fmt(ret, "$%llu.%0*llu", (unsigned long long)(microdollars / MILLION), places,
		(unsigned long long)part);
}

struct suffix {
	uint64_t scale;
	const char *name;
};

/* Exactly, with the largest suffix that fits; the last is 1. */
static void scaled_text(uint64_t value, const struct suffix *suffixes, struct buf *ret)
{
	while (value % suffixes->scale != 0)
		suffixes++;
	buf_fmt(ret, "%llu%s", (unsigned long long)(value / suffixes->scale), suffixes->name);
}

static void limit_text(uint64_t limit, enum unit unit, struct buf *ret)
{
	static const struct suffix counts[] = {{MILLION, "M"}, {THOUSAND, "k"}, {1, ""}};
	static const struct suffix sizes[] = {{UINT64_C(1) << 30, "G"}, {UINT64_C(1) << 20, "M"},
		{UINT64_C(1) << 10, "k"}, {1, ""}};

	if (unit == UNIT_MONEY)
		money_text(limit, ret);
	else
		scaled_text(limit, unit == UNIT_COUNT ? counts : sizes, ret);
}

void budget_text(const struct door_budget *budget, struct buf *ret)
{
	const char *comma = "";

	for (size_t i = 0; i < BUDGET_KINDS; i++) {
		if (budget->limit[i] == 0)
			continue;
		buf_fmt(ret, "%s%s", comma, kinds[i].unit == UNIT_MONEY ? "" : kinds[i].key);
		limit_text(budget->limit[i], kinds[i].unit, ret);
		comma = ",";
	}
}

/* ---- counting ---- */

static uint64_t used(const struct door_totals *totals, enum budget_kind kind)
{
	switch (kind) {
	case BUDGET_MICRODOLLARS: return count_of(totals, COUNT_MICRODOLLARS);
	case BUDGET_TOKENS:
		return add_capped(
			count_of(totals, COUNT_TOKENS_IN), count_of(totals, COUNT_TOKENS_OUT));
	case BUDGET_REQUESTS: return count_of(totals, COUNT_REQUESTS);
	case BUDGET_SENT: return count_of(totals, COUNT_SENT);
	case BUDGET_RECEIVED: return count_of(totals, COUNT_RECEIVED);
	case BUDGET_CONNECTIONS: return count_of(totals, COUNT_CONNECTIONS);
	case BUDGET_KINDS: break;
	}
	return 0;
}

enum budget_kind budget_reached(const struct door_budget *budget, const struct door_totals *totals)
{
	for (int i = 0; i < BUDGET_KINDS; i++)
		if (budget->limit[i] > 0 && used(totals, (enum budget_kind)i) >= budget->limit[i])
			return (enum budget_kind)i;
	return BUDGET_KINDS;
}

static void amount_text(uint64_t amount, enum unit unit, bool in_cents, struct buf *ret)
{
	char size[16];

	switch (unit) {
	case UNIT_MONEY:
		/* To the nearest cent, which is never under a limit of whole cents that was
		 * reached. */
		money_text(in_cents ? add_capped(amount, CENT / 2) / CENT * CENT : amount, ret);
		break;
	case UNIT_COUNT: buf_fmt(ret, "%llu", (unsigned long long)amount); break;
	case UNIT_BYTES: buf_str(ret, size_text(amount, size, sizeof(size))); break;
	}
}

void budget_sentence(const struct door_budget *budget, const struct door_totals *totals,
	enum budget_kind kind, struct buf *ret)
{
	if (kind >= BUDGET_KINDS)
		return;
	uint64_t limit = budget->limit[kind];
	bool in_cents = limit % CENT == 0;

	buf_str(ret, "the budget of ");
	amount_text(limit, kinds[kind].unit, in_cents, ret);
	buf_fmt(ret, "%s is used up (", kinds[kind].noun);
	amount_text(used(totals, kind), kinds[kind].unit, in_cents, ret);
	buf_char(ret, ')');
}

/* ---- reserving ---- */

static const enum budget_kind reserved_kinds[] = {BUDGET_MICRODOLLARS, BUDGET_TOKENS};

enum budget_kind budget_short(const struct door_budget *budget, const struct door_account *account,
	const struct door_totals *most)
{
	for (size_t i = 0; i < ARRAY_LEN(reserved_kinds); i++) {
		enum budget_kind kind = reserved_kinds[i];
		if (budget->limit[kind] > 0 && add_capped(used(&account->used, kind), used(most, kind)) > budget->limit[kind])
			return kind;
	}
	return BUDGET_KINDS;
}

static uint64_t left_of(const struct door_budget *budget, const struct door_account *account, enum budget_kind kind)
{
	uint64_t gone = used(&account->used, kind);

	return gone < budget->limit[kind] ? budget->limit[kind] - gone : 0;
}

bool budget_is_low(const struct door_budget *budget, const struct door_account *account, enum budget_kind kind)
{
	struct door_totals settled;

	account_settled(account, &settled);
	uint64_t gone = used(&settled, kind);
	return gone >= budget->limit[kind] || budget->limit[kind] - gone <= budget->limit[kind] / 10;
}

void budget_short_sentence(const struct door_budget *budget, const struct door_account *account, enum budget_kind kind,
	const struct door_totals *most, struct buf *ret)
{
	if (kind >= BUDGET_KINDS)
		return;
	const struct kind *row = &kinds[kind];
	uint64_t under_way = used(&account->reserved, kind);

	buf_str(ret, "a request that may cost up to ");
	amount_text(used(most, kind), row->unit, false, ret);
	buf_str(ret, " was refused: of the budget of ");
	amount_text(budget->limit[kind], row->unit, budget->limit[kind] % CENT == 0, ret);
	buf_fmt(ret, "%s only ", row->noun);
	amount_text(left_of(budget, account, kind), row->unit, false, ret);
	buf_str(ret, " is left");
	if (under_way > 0) {
		buf_str(ret, " (");
		amount_text(under_way, row->unit, false, ret);
		buf_str(ret, " is reserved by requests under way)");
	}
	buf_str(ret, "; a lower max_tokens may fit");
}
