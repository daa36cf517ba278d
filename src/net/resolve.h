/* Names to addresses, by /etc/hosts and the machine's name servers, without blocking. Everything it needs from the file
 * system is read when it is opened. */
#ifndef HOTCELL_NET_RESOLVE_H
#define HOTCELL_NET_RESOLVE_H

#include <netinet/in.h>

#include "base/loop.h"

#define RESOLVE_MAX 16 /* addresses of one name */

struct resolver;
struct lookup;

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* server: "IP[:PORT]" of the only name server to ask; NULL: those of the machine. */
MUST_CHECK struct resolver *resolver_open(struct loop *loop, const char *server, struct err *err);
struct resolver *resolver_free(struct resolver *resolver);

/* Addresses with the port set, in the order to try them; count 0: `why` (static) says why there is none. */
typedef void lookup_fn(void *data, const union address *found, size_t count, const char *why);
/* From the loop, never from within. An address literal is its own answer. */
struct lookup *lookup_start(struct resolver *resolver, const char *host, uint16_t port, lookup_fn *fn, void *data);
struct lookup *lookup_cancel(struct lookup *lookup); /* before its answer; NULL is fine; returns NULL */

#endif
