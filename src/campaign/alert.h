/* Alert rules: a number that is watched and the limit it must not pass. Pure.
 *
 *	creation_failure_rate > 10%	warning		cells that could not be made, of all that were tried
 *	memory_usage > 90%		critical	the fullest running cell, of its limit
 *	orphans > 5			warning		leftovers of dead supervisors on this machine */
#ifndef HOTCELL_CAMPAIGN_ALERT_H
#define HOTCELL_CAMPAIGN_ALERT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "campaign/status.h"

enum alert_metric {
	ALERT_CREATION_FAILURE_RATE, ALERT_MEMORY_USAGE, ALERT_ORPHANS, ALERT_FAILURE_RATE, ALERT_TIMEOUT_RATE,
	ALERT_OOM_KILLS, ALERT_CLEANUP_FAILURES, ALERT_METRIC_COUNT
};
extern const char *const alert_metric_names[ALERT_METRIC_COUNT];

struct alert_rule {
	char name[40];
	enum alert_metric metric;
	bool below; /* "<" instead of ">" */
	double limit; /* rates and usages in percent */
	bool critical;
	bool firing; /* kept by alert_check */
};

#define ALERT_MAX_RULES 32
struct alerts {
	struct alert_rule rules[ALERT_MAX_RULES];
	size_t count;
	uint64_t fired; /* how often any began to fire */
};
void alerts_defaults(struct alerts *alerts); /* the three above */
/* "NAME: METRIC > NUMBER[%] [warning|critical]"; a name that is there is replaced. Errors ERR_USAGE. */
MUST_CHECK int alerts_add(struct alerts *alerts, const char *text, struct err *err);
double alert_value(enum alert_metric metric, const struct campaign_status *status);
/* Calls fn for each rule that begins to fire or ceases to. Rates count from 10 cells on. */
typedef void alert_fn(void *data, const struct alert_rule *rule, double value);
void alerts_check(struct alerts *alerts, const struct campaign_status *status, alert_fn *fn, void *data);
void alerts_firing(const struct alerts *alerts, struct buf *ret); /* names, comma-separated */

#endif
