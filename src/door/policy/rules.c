#include "door/policy/rules.h"

#include <string.h>

#include "base/size.h"
#include "base/term.h"
#include "base/weaken.h"

#define PORT_DEFAULT 443
#define PORT_MAX 65535

const struct rules_preset rules_presets[] = {
	{"anthropic", "api.anthropic.com:443 claude.ai:443 statsig.anthropic.com:443"},
	{"openai", "api.openai.com:443"},
	{"pypi", "pypi.org:443 files.pythonhosted.org:443"},
	{"npm", "registry.npmjs.org:443"},
	{"crates", "crates.io:443 static.crates.io:443 index.crates.io:443"},
	{"go", "proxy.golang.org:443 sum.golang.org:443"},
	{"debian", "deb.debian.org:80 deb.debian.org:443 security.debian.org:80"},
	{NULL, NULL},
};

void rules_done(struct door_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->items[i].host);
	free(rules->items);
	*rules = (struct door_rules){0};
}

/* ---- reading a rule ---- */

static int refuse(struct err *err, const char *text, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), 100, &shown);
	return err_set(err, ERR_USAGE, "--allow '%s': %s", buf_text(&shown), why);
}

/* Why what stands for a host is none. */
static const char *host_fault(const char *host)
{
	if (strstr(host, "://") || strchr(host, '/'))
		return "write the name and the port alone, as in example.com:443, without a scheme or a path";
	if (strchr(host, '@'))
		return "no user belongs into a rule; write the name and the port alone, as in example.com:443";
	if (strcmp(host, "*") == 0)
		return "no rule allows everything; name the hosts, as in example.com or *.example.com";
	if (strchr(host, '*'))
		return "a '*' stands for the first labels alone, as in *.example.com";
	return "it is no host name, which has letters, digits and hyphens between single dots; other "
	       "letters are written in their xn-- form";
}

static const char *wildcard_fault(const char *host)
{
	if (!strchr(host, '.'))
		return "a wildcard over fewer than two labels allows too much; write for example *.example.com";
	if (host_is_encoded(host))
		return "names with an xn-- label look like others and are allowed one by one, without a "
		       "wildcard";
	return NULL;
}

static bool is_literal(const char *host)
{
	char unused[HOST_MAX + 1];

	return host_canonical(host, strlen(host), unused) == HOST_LITERAL;
}

/* `host` is written to: what follows the name is cut off. The caller frees ret->host. */
static const char *rule_read(char *host, struct door_rule *ret)
{
	static const char literal[] = "an address is no name; a service reaches one: "
				      "--service NAME:PORT=ADDRESS:PORT";
	char canonical[HOST_MAX + 1];
	uint64_t port = PORT_DEFAULT;

	*ret = (struct door_rule){0};
	char *comma = strchr(host, ',');
	if (comma) {
		*comma = '\0';
		if (strcmp(comma + 1, "private") != 0)
			return "after the comma comes nothing but 'private'";
		ret->private_ok = true;
	}
	if (is_literal(host))
		return literal; /* before its last colon is taken for that of a port */
	char *colon = strstr(host, "://") ? NULL : strrchr(host, ':');
	if (colon) {
		*colon = '\0';
		if (count_parse(colon + 1, "", 1, PORT_MAX, &port, NULL) < 0)
			return "after the colon comes a port from 1 to 65535";
	}
	ret->port = (uint16_t)port;
	ret->below = strncmp(host, "*.", 2) == 0;
	host += ret->below ? 2 : 0;
	switch (host_canonical(host, strlen(host), canonical)) {
	case HOST_LITERAL: return literal;
	case HOST_BAD: return ret->below && !*host ? wildcard_fault(host) : host_fault(host);
	case HOST_NAME: break;
	}
	const char *fault = ret->below ? wildcard_fault(canonical) : NULL;
	if (!fault)
		ret->host = xstrdup(canonical);
	return fault;
}

/* The same name and port twice is one rule, private if either is. */
static struct door_rule *rule_find(const struct door_rules *rules, const struct door_rule *like)
{
	for (size_t i = 0; i < rules->count; i++) {
		struct door_rule *rule = &rules->items[i];
		if (rule->port == like->port && rule->below == like->below &&
			strcmp(rule->host, like->host) == 0)
			return rule;
	}
	return NULL;
}

static int rule_add(struct door_rules *rules, const char *text, size_t len, struct err *err)
{
	own(freep) char *quoted = xfmt("%.*s", (int)len, text);
	own(freep) char *work = xstrdup(quoted);
	struct door_rule rule;

	const char *fault = rule_read(work, &rule);
	if (fault)
		return refuse(err, quoted, fault);
	struct door_rule *known = rule_find(rules, &rule);
	if (known) {
		known->private_ok |= rule.private_ok;
		free(rule.host);
		return 0;
	}
	if (rules->count >= RULES_MAX) {
		free(rule.host);
		return err_set(err, ERR_USAGE,
			"more than %d rules of what is allowed; take some away", RULES_MAX);
	}
	rules->items = xrealloc(rules->items, rules->count + 1, sizeof(*rules->items));
	rules->items[rules->count++] = rule;
	return 0;
}

static int preset_add(struct door_rules *rules, const struct rules_preset *preset, struct err *err)
{
	size_t before = rules->count;

	for (const char *at = preset->rules; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		if (rule_add(rules, at, len, err) < 0) {
			while (rules->count > before)
				free(rules->items[--rules->count].host);
			return -1;
		}
		at += len;
	}
	return 0;
}

int rules_add(struct door_rules *rules, const char *text, struct err *err)
{
	own(buf_done) struct buf why = {0};

	if (text[0] != '@')
		return rule_add(rules, text, strlen(text), err);
	buf_str(&why, "there is no such preset; there are");
	for (const struct rules_preset *preset = rules_presets; preset->name; preset++) {
		if (strcmp(preset->name, text + 1) == 0)
			return preset_add(rules, preset, err);
		buf_fmt(&why, "%s @%s", preset == rules_presets ? "" : ",", preset->name);
	}
	return refuse(err, text, buf_text(&why));
}

void rule_text(const struct door_rule *rule, struct buf *ret)
{
	buf_fmt(ret, "%s%s:%u%s", rule->below ? "*." : "", rule->host, (unsigned)rule->port,
		rule->private_ok ? ",private" : "");
}

/* ---- the verdict ---- */

/* Whether the rule is about this name, whatever the port. Both are canonical. */
static bool rule_names(const struct door_rule *rule, const char *host, size_t len)
{
	size_t tail = strlen(rule->host);

	if (!rule->below)
		return strcmp(rule->host, host) == 0;
	/* A label and a dot before it at least: 'evilexample.com' is not below 'example.com'. */
	return len > tail + 1 && host[len - tail - 1] == '.' &&
		strcmp(host + len - tail, rule->host) == 0;
}

/* The one that says more counts: the name itself before what is above it, the longer before the
 * shorter, so that the order in which rules were given means nothing. */
static bool is_closer(const struct door_rule *rule, const struct door_rule *than)
{
	if (!than || rule->below != than->below)
		return !than || than->below;
	return strlen(rule->host) > strlen(than->host);
}

static struct door_verdict refused(struct door_verdict verdict, unsigned status, const char *reason)
{
	verdict.status = status;
	verdict.reason = reason;
	return verdict;
}

struct door_verdict rules_judge(
	const struct door_rules *rules, const char *host, size_t len, unsigned port)
{
	struct door_verdict verdict = {.reason = ""};
	bool named = false, named_exactly = false;

	switch (host_canonical(host, len, verdict.host)) {
	case HOST_BAD: return refused(verdict, 400, "not a host name");
	case HOST_LITERAL: return refused(verdict, 403, "an address, not a name");
	case HOST_NAME: break;
	}
	if (port == 0 || port > PORT_MAX)
		return refused(verdict, 400, "not a port");
	len = strlen(verdict.host);
	for (size_t i = 0; i < rules->count; i++) {
		const struct door_rule *rule = &rules->items[i];
		if (!rule_names(rule, verdict.host, len))
			continue;
		named = true;
		named_exactly |= !rule->below;
		if (rule->port == port && is_closer(rule, verdict.rule))
			verdict.rule = rule;
	}
	if (host_is_encoded(verdict.host) && !weakened("door-names") &&
		(!named_exactly || (verdict.rule && verdict.rule->below))) {
		verdict.rule = NULL;
		return refused(verdict, 400, "an encoded name (xn--) that no rule names");
	}
	if (!verdict.rule && rules->count > 0 && weakened("door-rules"))
		verdict.rule = &rules->items[0];
	if (!verdict.rule)
		return refused(verdict, 403,
			named ? "not on the allowlist with this port" : "not on the allowlist");
	return verdict;
}
