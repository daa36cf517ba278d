/* Whatever is written as a rule: it is refused with a clean sentence and changes nothing, or it is
 * a rule that could be written again from what was understood. */
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/alert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	size_t len = strnlen(err->text, sizeof(err->text));

	assert(err->code == ERR_USAGE);
	assert(len > 0 && len < sizeof(err->text));
	for (size_t i = 0; i < len; i++)
		assert((unsigned char)err->text[i] >= 0x20 && err->text[i] != 0x7f);
}

static void check_rule(const struct alert_rule *rule)
{
	struct alerts again = {0};
	struct err err;
	char text[128];

	assert(memchr(rule->name, '\0', sizeof(rule->name)) && rule->name[0]);
	assert(!strpbrk(rule->name, ", :\t\n"));
	assert(rule->metric < ALERT_METRIC_COUNT && !rule->firing);
	assert(isfinite(rule->limit) && rule->limit >= 0 && rule->limit <= 1e12);
	(void)snprintf(text, sizeof(text), "%s: %s %c %.2f %s", rule->name,
		alert_metric_names[rule->metric], rule->below ? '<' : '>', rule->limit,
		rule->critical ? "critical" : "warning");
	if (alerts_add(&again, text, &err) < 0)
		abort();
	assert(again.count == 1 && strcmp(again.rules[0].name, rule->name) == 0);
	assert(again.rules[0].metric == rule->metric && again.rules[0].below == rule->below);
	assert(fabs(again.rules[0].limit - rule->limit) < 0.01 &&
		again.rules[0].critical == rule->critical);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct alerts alerts, before;
	struct err err = {0};
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	alerts_defaults(&alerts);
	before = alerts;
	if (alerts_add(&alerts, text, &err) < 0) {
		check_refusal(&err);
		assert(memcmp(&alerts, &before, sizeof(alerts)) == 0);
	} else {
		assert(alerts.count >= 3 && alerts.count <= 4);
		for (size_t i = 0; i < alerts.count; i++)
			check_rule(&alerts.rules[i]);
	}
	free(text);
	return 0;
}
