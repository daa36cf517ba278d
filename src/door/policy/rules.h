/* The verdict: which names and ports a cell may reach. Pure, and the only place where it is decided.
 *
 * A rule is HOST[:PORT][,private] or *.HOST[:PORT][,private]; without a port it is 443. `*.example.com` is every name
 * below example.com, not example.com itself. `private` lets the name resolve to addresses that are not public.
 * @NAME is a preset: several rules. No rule allows nothing. A rule names no address: that is what services are for.
 *
 * Of several rules about a name and port the closest counts, in whatever order they were given: the name itself, then the
 * longest wildcard. A name with an xn-- label, which may look like another, is allowed only by a rule that is that name. */
#ifndef HOTCELL_DOOR_POLICY_RULES_H
#define HOTCELL_DOOR_POLICY_RULES_H

#include "base/buf.h"
#include "base/err.h"
#include "net/name.h"

#define RULES_MAX 1000

struct door_rule {
	char *host; /* canonical; without the "*." */
	bool below; /* the names below it, not itself */
	bool private_ok;
	uint16_t port;
};

struct door_rules {
	struct door_rule *items;
	size_t count;
};

void rules_done(struct door_rules *rules);
/* One that is there already changes nothing, but is private if either is. Errors are ERR_USAGE and quote the text, made
 * safe; nothing is added then. */
MUST_CHECK int rules_add(struct door_rules *rules, const char *text, struct err *err);
void rule_text(const struct door_rule *rule, struct buf *ret); /* as rules_add takes it */

struct rules_preset {
	const char *name; /* without the @ */
	const char *rules; /* separated by spaces */
};
extern const struct rules_preset rules_presets[]; /* up to name == NULL */

struct door_verdict {
	const struct door_rule *rule; /* that allows it; NULL: refused */
	unsigned status; /* what a proxy answers when refused: 400 for what is no name or port, 403 for an address and for
			  * what is not allowed; 0 when allowed */
	const char *reason; /* static: "not on the allowlist", "an address, not a name", ... "" when allowed */
	char host[HOST_MAX + 1]; /* canonical; "" for what is no name */
};
/* host: as it came over the wire, any bytes. port: 0 to 65535, or more for what was no port. */
struct door_verdict rules_judge(const struct door_rules *rules, const char *host, size_t len, unsigned port);

#endif
