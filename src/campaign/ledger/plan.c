#include "campaign/ledger/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"

#define SEED_BITS 53

int plan_name_check(const char *name, struct err *err)
{
	size_t len = strlen(name);
	own(buf_done) struct buf shown = { 0 };
	bool good = len > 0 && len <= PLAN_MAX_NAME && name[0] != '.' && name[0] != '-';

	for (size_t i = 0; i < len && good; i++)
		good = isalnum((unsigned char)name[i]) != 0 || strchr("._-", name[i]) != NULL;
	if (good)
		return 0;
	term_line(name, len, 80, &shown);
	return err_set(err, ERR_USAGE,
		"a campaign cannot be named '%s': take letters, digits, '.', '_' and '-', at most %d of them, "
		"beginning with a letter, digit or '_'",
		buf_text(&shown), PLAN_MAX_NAME);
}

int plan_check(const struct campaign_plan *plan, struct err *err)
{
	if (plan->runs < 1 || plan->runs > PLAN_MAX_RUNS)
		return err_set(err, ERR_USAGE, "a campaign has 1 to %llu runs, not %llu", (unsigned long long)PLAN_MAX_RUNS,
			(unsigned long long)plan->runs);
	if (plan->workers < 1 || plan->workers > PLAN_MAX_WORKERS)
		return err_set(err, ERR_USAGE, "a campaign has 1 to %d workers, not %u", PLAN_MAX_WORKERS, plan->workers);
	if (plan->seed >> SEED_BITS != 0)
		return err_set(err, ERR_USAGE, "a campaign's seed is below 2^53");
	return 0;
}

/* splitmix64: every bit of the input stirs every bit of the output. */
static uint64_t mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t plan_seed(uint64_t campaign_seed, uint64_t number)
{
	return mix(mix(campaign_seed) ^ number) >> (64 - SEED_BITS);
}

unsigned plan_digits(uint64_t runs)
{
	unsigned digits = 1;

	for (; runs >= 10; runs /= 10)
		digits++;
	return digits < 3 ? 3 : digits;
}

char *plan_session_name(uint64_t runs, uint64_t number, char *ret, size_t len)
{
	(void)snprintf(ret, len, "%0*llu", (int)plan_digits(runs), (unsigned long long)number);
	return ret;
}
