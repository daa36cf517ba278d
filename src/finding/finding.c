#include "finding/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* ---- words ---- */

static const struct {
	const char *name, *level, *score;
} severities[] = {
	[SEVERITY_NOTE] = {"note", "note", "0.5"},
	[SEVERITY_LOW] = {"low", "note", "3.0"},
	[SEVERITY_MEDIUM] = {"medium", "warning", "5.5"},
	[SEVERITY_HIGH] = {"high", "error", "8.0"},
	[SEVERITY_CRITICAL] = {"critical", "error", "9.5"},
};
_Static_assert(ARRAY_LEN(severities) == SEVERITY_COUNT, "a severity has no name");

const char *severity_name(enum severity severity)
{
	return severities[severity].name;
}

const char *severity_level(enum severity severity)
{
	return severities[severity].level;
}

const char *severity_score(enum severity severity)
{
	return severities[severity].score;
}

bool severity_read(const char *text, enum severity *ret)
{
	for (enum severity severity = 0; severity < SEVERITY_COUNT; severity++) {
		if (strcmp(severities[severity].name, text) == 0) {
			*ret = severity;
			return true;
		}
	}
	return false;
}

static const char *const states[] = {
	[FINDING_OPEN] = "open",
	[FINDING_FIXED] = "fixed",
	[FINDING_SUPPRESSED] = "suppressed",
};
_Static_assert(ARRAY_LEN(states) == FINDING_STATE_COUNT, "a state has no name");

const char *finding_state_name(enum finding_state state)
{
	return states[state];
}

/* ---- one ---- */

int finding_order(const struct finding *a, const struct finding *b)
{
	int first = (int)finding_severity(a), second = (int)finding_severity(b);

	return first != second ? second - first : strcmp(a->id, b->id);
}

void finding_done(struct finding *finding)
{
	char *const owned[] = {finding->oracle, finding->subject, finding->target, finding->message, finding->file,
		finding->input, finding->found, finding->kind, finding->target_sha256, finding->profile, finding->reason,
		finding->report, finding->core_from, finding->shape};
	struct strings *const lists[] = {&finding->frames, &finding->evidence, &finding->command, &finding->flags,
		&finding->environment};

	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		free(owned[i]);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		strings_done(lists[i]);
	*finding = (struct finding){0};
}

enum severity finding_severity(const struct finding *finding)
{
	return finding_weakness(finding).severity;
}

bool finding_is_suppressed(const struct finding *finding, int64_t now)
{
	return finding->state == FINDING_SUPPRESSED && (finding->until == 0 || now < finding->until);
}

bool finding_is_flaky(const struct finding *finding)
{
	return finding->seen > 0 && finding->seen < finding->tried;
}

struct interval rate_interval(unsigned seen, unsigned tried)
{
	const double z = 1.959964; /* of the normal distribution, 95 % between -z and z */

	if (tried == 0)
		return (struct interval){0, 1};
	double n = tried, rate = seen / n, about = 1 + z * z / n;
	double middle = rate + z * z / (2 * n);
	double around = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n));
	double low = (middle - around) / about, high = (middle + around) / about;
	return (struct interval){low < 0 ? 0 : low, high > 1 ? 1 : high};
}
