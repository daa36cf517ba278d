/* Lines of rules up to an empty one, then a host as a cell might send it. Whatever is written as a
 * rule is refused with a clean sentence or can be written again from what was understood; whatever
 * is asked for is allowed only if it is a name, and the name of a rule or below it. */
#include <arpa/inet.h>
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "door/policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	size_t len = strnlen(err->text, sizeof(err->text));

	assert(err->code == ERR_USAGE);
	assert(len > 0 && len < sizeof(err->text));
	for (size_t i = 0; i < len; i++)
		assert((unsigned char)err->text[i] >= 0x20 && err->text[i] != 0x7f);
}

static void check_canonical(const char *host)
{
	char again[HOST_MAX + 1];
	struct in_addr in;
	struct in6_addr in6;

	assert(strlen(host) > 0 && strlen(host) <= HOST_MAX);
	assert(host_canonical(host, strlen(host), again) == HOST_NAME);
	assert(strcmp(host, again) == 0);
	/* Somebody else's opinion of what is an address. */
	assert(inet_aton(host, &in) == 0 && inet_pton(AF_INET6, host, &in6) == 0);
}

static void check_rule(const struct door_rule *rule)
{
	struct door_rules again = {0};
	struct err err;
	struct buf text = {0};

	check_canonical(rule->host);
	assert(rule->port > 0);
	assert(!rule->below || (strchr(rule->host, '.') && !host_is_encoded(rule->host)));
	rule_text(rule, &text);
	if (rules_add(&again, buf_text(&text), &err) < 0)
		abort();
	assert(again.count == 1 && strcmp(again.items[0].host, rule->host) == 0);
	assert(again.items[0].below == rule->below && again.items[0].port == rule->port &&
		again.items[0].private_ok == rule->private_ok);
	rules_done(&again);
	buf_done(&text);
}

static void check_allowed(
	const struct door_rules *rules, const struct door_verdict *verdict, unsigned port)
{
	const struct door_rule *rule = verdict->rule;
	size_t len = strlen(verdict->host), tail = strlen(rule->host);
	char other[HOST_MAX + 2];

	assert(verdict->status == 0 && !*verdict->reason && rule->port == port);
	check_canonical(verdict->host);
	assert(len >= tail && strcmp(verdict->host + len - tail, rule->host) == 0);
	assert(rule->below ? len > tail + 1 && verdict->host[len - tail - 1] == '.' : len == tail);
	assert(!rule->below || !host_is_encoded(verdict->host));
	for (size_t i = 0; i < len; i++)
		other[i] = verdict->host[i] >= 'a' && verdict->host[i] <= 'z'
			? verdict->host[i] - 32
			: verdict->host[i];
	other[len] = '.';
	struct door_verdict again = rules_judge(rules, other, len + 1, port);
	assert(again.rule == rule && strcmp(again.host, verdict->host) == 0);
}

static void judge(const struct door_rules *rules, const char *host, size_t len, unsigned port)
{
	struct door_verdict verdict = rules_judge(rules, host, len, port);

	if (verdict.rule) {
		check_allowed(rules, &verdict, port);
		return;
	}
	assert((verdict.status == 400 || verdict.status == 403) && *verdict.reason);
	if (verdict.host[0])
		check_canonical(verdict.host);
	/* What a rule names as it stands is not refused. */
	for (size_t i = 0; i < rules->count; i++)
		assert(rules->items[i].below || rules->items[i].port != port ||
			strcmp(rules->items[i].host, verdict.host) != 0);
}

/* Returns where the host begins. */
static const uint8_t *add_rules(struct door_rules *rules, const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at != '\n') {
		const uint8_t *line = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line ? line : end) - at), before = rules->count;
		struct err err = {0};
		char *text = malloc(len + 1);
		memcpy(text, at, len);
		text[len] = '\0';
		if (rules_add(rules, text, &err) < 0) {
			check_refusal(&err);
			assert(rules->count == before);
		}
		free(text);
		at = line ? line + 1 : end;
	}
	return at < end ? at + 1 : end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned ports[] = {
		0, 22, 80, 443, 65535, 65536, 65536 + 443, 99999, 0xffffffff};
	struct door_rules rules = {0};
	const struct door_rules none = {0};
	const uint8_t *rest = add_rules(&rules, data, data + size);
	size_t len = (size_t)(data + size - rest);
	char *host = malloc(len > 0 ? len : 1); /* no NUL behind it */

	memcpy(host, rest, len);
	for (size_t i = 0; i < rules.count; i++) {
		check_rule(&rules.items[i]);
		judge(&rules, host, len, rules.items[i].port);
		judge(&rules, rules.items[i].host, strlen(rules.items[i].host),
			rules.items[i].port);
	}
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		judge(&rules, host, len, ports[i]);
		assert(!rules_judge(&none, host, len, ports[i]).rule);
	}
	assert(!rules_judge(&rules, host, len, 0).rule &&
		!rules_judge(&rules, host, len, 65536).rule);
	free(host);
	rules_done(&rules);
	return 0;
}
