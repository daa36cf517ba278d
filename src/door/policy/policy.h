/* What a campaign, or a single run, lets out of its cells. Made from options, sent to the process that serves the
 * doors, never changed. */
#ifndef HOTCELL_DOOR_POLICY_POLICY_H
#define HOTCELL_DOOR_POLICY_POLICY_H

#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "door/policy/budget.h"
#include "door/policy/rules.h"
#include "door/policy/usage.h"

#define DOORS_MAX 14 /* listeners of a cell: descriptors that go in one message */
#define DOOR_NAME_MAX 63
#define SECRET_MIN 8 /* bytes of a credential: a shorter one cannot be told from ordinary text, see scrub.h */
#define SECRET_MAX 8192
#define PROXY_PORT 3128
#define DOOR_PLACEHOLDER "placeholder-credential-is-added-outside-the-cell" /* what a cell has instead of one */

/* Where a service or an upstream is: an address, a name that is resolved outside, or a unix socket. */
struct door_target {
	char *host; /* a name, an address as inet_pton takes it, or NULL for a socket */
	char *path; /* of a unix socket */
	uint16_t port;
};

struct door_service { /* NAME:PORT=TARGET */
	char *name; /* canonical host name inside */
	uint16_t port;
	struct door_target target;
};

/* NAME=URL,header=H,env=VAR[,prefix=TEXT][,base-env=VAR][,base-path=PATH][,key-env=VAR][,ca=FILE][,private] */
struct secret_door {
	char *name; /* inside: http://NAME.door/ */
	bool tls;
	char *host; /* upstream, canonical; or an address */
	uint16_t port;
	char *path; /* prefix of every path: "" or "/v1" */
	char *header, *prefix; /* "x-api-key", ""; "authorization", "Bearer " */
	char *env; /* our variable that holds the credential */
	char *base_env, *key_env; /* the cell's: where it finds the URL and a placeholder; "" = none */
	char *base_path; /* what the URL in base_env ends with: "" or "/v1" */
	char *ca; /* a file of certificates to trust instead of the machine's; NULL */
	bool private_ok; /* the name may be at an address that is not public; always for an address and for localhost */
	char *secret; /* the credential itself; never written anywhere, wiped; NULL until loaded, and for a replay */
	bool secret_apart; /* it is in memory of its own that no fork hands on: what becomes a cell never had it */
	char *ca_text; /* contents of `ca`, or of the machine's bundle; NULL likewise, and without tls */
};

struct door_policy {
	struct door_rules rules;
	bool proxy; /* there is a proxy door: an --allow was given */
	struct door_service *services;
	size_t service_count;
	struct secret_door *secrets;
	size_t secret_count;
	struct door_budget run_budget, budget; /* of each run, of all together */
	struct prices prices;
	char *upstream_host; /* a proxy of the user's own; NULL: none */
	uint16_t upstream_port;
	char *resolver; /* the only name server to ask, ADDRESS:PORT or [ADDRESS]:PORT; NULL: the machine's */
	bool record; /* keep the exchanges of secret doors */
	bool replay; /* answer from them; nothing goes out through secret doors */
	char **hidden; /* what the records of doors must not hold, besides credentials; wiped */
	size_t hidden_count;
};
#define HIDDEN_MAX 4096

void policy_done(struct door_policy *policy); /* wipes secrets */
bool policy_is_empty(const struct door_policy *policy); /* no door at all */

/* From options; errors are ERR_USAGE, and repeat nothing that could be a credential. No name is 'localhost'. */
MUST_CHECK int policy_add_service(struct door_policy *policy, const char *text, struct err *err);
/* The text may be @anthropic or @openai. */
MUST_CHECK int policy_add_secret(struct door_policy *policy, const char *text, struct err *err);
MUST_CHECK int policy_set_upstream(struct door_policy *policy, const char *url, struct err *err);
MUST_CHECK int policy_set_resolver(struct door_policy *policy, const char *text, struct err *err);
void policy_hide(struct door_policy *policy, const char *value); /* copies */
/* Everything that needs all of it: number of doors, names that differ, budgets without anything to count them. */
MUST_CHECK int policy_check(const struct door_policy *policy, struct err *err);
/* Reads credentials from our environment and certificates from files. ERR_USAGE names the variable that is missing. A
 * replay needs neither, and nothing is read for it. */
MUST_CHECK int policy_load(struct door_policy *policy, struct err *err);

/* ---- what the cell sees ---- */

/* The doors in order: the proxy, services, secret doors. Each has an address of its own in the cell's loopback network:
 * 127.0.0.1 for the proxy, 127.0.1.N for the others, N from 1. */
struct door_listener {
	uint32_t address; /* host byte order */
	uint16_t port;
	const char *name; /* "proxy", the service's name, the secret door's name */
};
size_t policy_listeners(const struct door_policy *policy, struct door_listener ret[DOORS_MAX]);
void policy_hosts(const struct door_policy *policy, struct buf *ret); /* lines of /etc/hosts */
/* NAME=VALUE for each variable that points at the doors: proxies in both cases, base URLs and placeholders. One that
 * the user set (`env`, NULL-terminated, as "K=V") is left alone. Adds to *ret, a NULL-terminated list of strings the
 * caller frees. */
void policy_env(const struct door_policy *policy, const char *const *env, char ***ret, size_t *ret_count);
void policy_explain(const struct door_policy *policy, struct buf *ret); /* a line for each door, for people */

/* ---- to the process that serves them ---- */

void policy_encode(const struct door_policy *policy, struct buf *ret); /* with credentials: the caller wipes it */
/* As strict as the options are; errors are EPROTO. *ret is the caller's to policy_done, and empty after a failure. */
MUST_CHECK int policy_decode(struct door_policy *ret, struct wire_reader *reader, struct err *err);

#endif
