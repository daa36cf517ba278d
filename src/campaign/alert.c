#include "campaign/alert.h"

#include <string.h>

#include "base/term.h"

#define MIN_CELLS 10 /* one failure of three tries is no rate */
#define SPACE " \t"
#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
#define MAX_LIMIT 1e12

const char *const alert_metric_names[] = {
	[ALERT_CREATION_FAILURE_RATE] = "creation_failure_rate",
	[ALERT_MEMORY_USAGE] = "memory_usage",
	[ALERT_ORPHANS] = "orphans",
	[ALERT_FAILURE_RATE] = "failure_rate",
	[ALERT_TIMEOUT_RATE] = "timeout_rate",
	[ALERT_OOM_KILLS] = "oom_kills",
	[ALERT_CLEANUP_FAILURES] = "cleanup_failures",
};
_Static_assert(ARRAY_LEN(alert_metric_names) == ALERT_METRIC_COUNT, "a metric has no name");

/* Other spellings that are taken: what people who come from containers write. */
static const char *const other_names[ALERT_METRIC_COUNT] = {
	[ALERT_CREATION_FAILURE_RATE] = "container_creation_failure_rate",
	[ALERT_MEMORY_USAGE] = "container_memory_usage",
	[ALERT_ORPHANS] = "orphaned_containers",
};

static const struct alert_rule default_rules[] = {
	{.name = "high_container_failure_rate", .metric = ALERT_CREATION_FAILURE_RATE, .limit = 10},
	{.name = "resource_exhaustion", .metric = ALERT_MEMORY_USAGE, .limit = 90, .critical = true},
	{.name = "cleanup_failures", .metric = ALERT_ORPHANS, .limit = 5},
};

void alerts_defaults(struct alerts *alerts)
{
	*alerts = (struct alerts){.count = ARRAY_LEN(default_rules)};
	memcpy(alerts->rules, default_rules, sizeof(default_rules));
}

static bool is_percent(enum alert_metric metric)
{
	return metric == ALERT_CREATION_FAILURE_RATE || metric == ALERT_MEMORY_USAGE ||
		metric == ALERT_FAILURE_RATE || metric == ALERT_TIMEOUT_RATE;
}

/* ---- reading a rule ---- */

static int refuse(struct err *err, const char *text, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), 120, &shown);
	return err_set(err, ERR_USAGE, "alert '%s': %s", buf_text(&shown), why);
}

struct word {
	const char *text;
	size_t len;
};

/* What stands at *at up to one of `ends`, a space or the end; then past the spaces. */
static struct word take_word(const char **at, const char *ends)
{
	struct word word = {.text = *at};

	while (word.text[word.len] && !strchr(SPACE, word.text[word.len]) &&
		!strchr(ends, word.text[word.len]))
		word.len++;
	*at += word.len;
	*at += strspn(*at, SPACE);
	return word;
}

static bool word_is(struct word word, const char *text)
{
	return text && word.len == strlen(text) && memcmp(word.text, text, word.len) == 0;
}

static bool metric_find(struct word word, enum alert_metric *ret)
{
	for (int i = 0; i < ALERT_METRIC_COUNT; i++) {
		if (word_is(word, alert_metric_names[i]) || word_is(word, other_names[i])) {
			*ret = (enum alert_metric)i;
			return true;
		}
	}
	return false;
}

/* "10", "10%", "0.5%". Not strtod, which takes exponents, hexadecimal, "inf" and the locale's
 * comma. */
static bool limit_read(struct word word, double *ret, bool *ret_percent)
{
	uint64_t digits = 0, over = 1;
	bool fraction = false;

	*ret_percent = word.len > 0 && word.text[word.len - 1] == '%';
	word.len -= *ret_percent;
	if (word.len == 0 || word.len > 15 || word.text[0] == '.' || word.text[word.len - 1] == '.')
		return false;
	for (size_t i = 0; i < word.len; i++) {
		char c = word.text[i];
		if (c == '.' && !fraction) {
			fraction = true;
			continue;
		}
		if (c < '0' || c > '9')
			return false;
		digits = digits * 10 + (uint64_t)(c - '0');
		over *= fraction ? 10 : 1;
	}
	*ret = (double)digits / (double)over;
	return true;
}

static int name_read(const char *text, struct word word, struct alert_rule *rule, struct err *err)
{
	if (word.len == 0 || word.len >= sizeof(rule->name) ||
		strspn(word.text, NAME_CHARS) < word.len)
		return refuse(err, text,
			"it begins with a name of at most 39 letters, digits, '_', '-' and '.', then ':', as in "
			"'many_orphans: orphans > 5 warning'");
	memcpy(rule->name, word.text, word.len);
	return 0;
}

static int metric_unknown(const char *text, struct err *err)
{
	own(buf_done) struct buf why = {0};

	buf_str(&why, "after the name comes one of");
	for (int i = 0; i < ALERT_METRIC_COUNT; i++)
		buf_fmt(&why, "%s %s", i > 0 ? "," : "", alert_metric_names[i]);
	return refuse(err, text, buf_text(&why));
}

static int condition_read(
	const char *text, const char **at, struct alert_rule *rule, struct err *err)
{
	bool percent;

	if (!metric_find(take_word(at, "<>"), &rule->metric))
		return metric_unknown(text, err);
	if (**at != '<' && **at != '>')
		return refuse(err, text, "after what is watched comes '>' or '<' and a number");
	rule->below = *(*at)++ == '<';
	*at += strspn(*at, SPACE);
	if (!limit_read(take_word(at, ""), &rule->limit, &percent))
		return refuse(err, text,
			"after '>' or '<' comes a number such as 5 or, for rates and usages, 10%");
	if (is_percent(rule->metric) && rule->limit > 100)
		return refuse(err, text, "more than 100% cannot be reached");
	if (percent && !is_percent(rule->metric))
		return refuse(err, text, "this is a count: leave the '%' out");
	if (rule->limit > MAX_LIMIT)
		return refuse(err, text, "the number is too large");
	return 0;
}

static struct alert_rule *rule_for(struct alerts *alerts, const char *name)
{
	for (size_t i = 0; i < alerts->count; i++)
		if (strcmp(alerts->rules[i].name, name) == 0)
			return &alerts->rules[i];
	return alerts->count < ALERT_MAX_RULES ? &alerts->rules[alerts->count++] : NULL;
}

int alerts_add(struct alerts *alerts, const char *text, struct err *err)
{
	struct alert_rule rule = {0};
	const char *at = text + strspn(text, SPACE);

	if (name_read(text, take_word(&at, ":"), &rule, err) < 0)
		return -1;
	if (*at++ != ':')
		return refuse(err, text, "after the name comes ':' and what is watched");
	at += strspn(at, SPACE);
	if (condition_read(text, &at, &rule, err) < 0)
		return -1;
	struct word severity = take_word(&at, "");
	rule.critical = word_is(severity, "critical");
	if (*at || (severity.len > 0 && !rule.critical && !word_is(severity, "warning")))
		return refuse(err, text, "after the number comes nothing, 'warning' or 'critical'");
	struct alert_rule *place = rule_for(alerts, rule.name);
	if (!place)
		return err_set(err, ERR_USAGE, "more than %d alert rules; take some away",
			ALERT_MAX_RULES);
	*place = rule;
	return 0;
}

/* ---- watching ---- */

static double percent_of(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

static uint64_t fullest_cell(const struct campaign_status *status)
{
	uint64_t most = 0;

	for (size_t i = 0; status->held && i < status->live.worker_count; i++) {
		const struct ledger_worker *worker = &status->live.workers[i];
		if (worker->number != 0 && worker->memory > most)
			most = worker->memory;
	}
	return most;
}

double alert_value(enum alert_metric metric, const struct campaign_status *status)
{
	const struct campaign_sums *sums = &status->campaign.sums;

	switch (metric) {
	case ALERT_CREATION_FAILURE_RATE: return percent_of(sums->cell_failures, sums->cells);
	case ALERT_MEMORY_USAGE:
		return percent_of(fullest_cell(status), status->campaign.memory_limit);
	case ALERT_ORPHANS: return (double)sums->orphans;
	case ALERT_FAILURE_RATE: return percent_of(status->failed, status->complete);
	case ALERT_TIMEOUT_RATE: return percent_of(sums->state[RUN_TIMEOUT], status->complete);
	case ALERT_OOM_KILLS: return (double)sums->oom_kills;
	case ALERT_CLEANUP_FAILURES: return (double)sums->cleanup_failures;
	case ALERT_METRIC_COUNT: break;
	}
	return 0;
}

/* Whether there is enough to judge by: a rule with '<' must not fire before anything has happened. */
static bool can_judge(enum alert_metric metric, const struct campaign_status *status)
{
	const struct campaign_sums *sums = &status->campaign.sums;

	if (metric == ALERT_MEMORY_USAGE)
		return status->campaign.memory_limit > 0 && fullest_cell(status) > 0;
	if (metric == ALERT_CREATION_FAILURE_RATE)
		return sums->cells >= MIN_CELLS;
	return !is_percent(metric) || status->complete >= MIN_CELLS;
}

void alerts_check(
	struct alerts *alerts, const struct campaign_status *status, alert_fn *fn, void *data)
{
	for (size_t i = 0; i < alerts->count; i++) {
		struct alert_rule *rule = &alerts->rules[i];
		double value = alert_value(rule->metric, status);
		bool beyond = rule->below ? value < rule->limit : value > rule->limit;
		bool firing = beyond && can_judge(rule->metric, status);
		if (firing == rule->firing)
			continue;
		rule->firing = firing;
		alerts->fired += firing;
		if (fn)
			fn(data, rule, value);
	}
}

void alerts_firing(const struct alerts *alerts, struct buf *ret)
{
	const char *comma = "";

	for (size_t i = 0; i < alerts->count; i++) {
		if (!alerts->rules[i].firing)
			continue;
		buf_fmt(ret, "%s%s", comma, alerts->rules[i].name);
		comma = ",";
	}
}
