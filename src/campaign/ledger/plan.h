/* What a campaign is, before anything of it has run. Pure.
 *
 * A run's seed depends on the campaign's seed and the run's number and on nothing else, so the same
 * campaign and number give the same seed for ever, whatever the order, the machine or the retries. */
#ifndef HOTCELL_CAMPAIGN_LEDGER_PLAN_H
#define HOTCELL_CAMPAIGN_LEDGER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define PLAN_MAX_RUNS UINT64_C(1000000000)
#define PLAN_MAX_WORKERS 4096
#define PLAN_MAX_NAME 64

struct campaign_plan {
	uint64_t runs;
	unsigned workers;
	unsigned retries; /* further tries of a run that did not succeed */
	uint64_t seed; /* below 2^53 */
	uint64_t rate; /* starts per minute at most; 0: as fast as workers are free */
	uint64_t stop_after_failures; /* starts no more after so many; 0: never */
};

/* Letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most PLAN_MAX_NAME. */
MUST_CHECK int plan_name_check(const char *name, struct err *err);
/* Numbers that make no sense together or at all; ERR_USAGE. */
MUST_CHECK int plan_check(const struct campaign_plan *plan, struct err *err);

/* Below 2^53, so that every language reads it exactly, JavaScript too. */
uint64_t plan_seed(uint64_t campaign_seed, uint64_t number);
unsigned plan_digits(uint64_t runs); /* of a session's number: as many as the last needs, at least 3 */
/* "007" */
char *plan_session_name(uint64_t runs, uint64_t number, char *ret, size_t len);

#endif
