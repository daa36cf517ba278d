/* Reaching a place outside: its name is resolved once, every address is judged, and the first good one that answers is
 * connected to. */
#ifndef HOTCELL_NET_DIAL_H
#define HOTCELL_NET_DIAL_H

#include "base/loop.h"
#include "net/resolve.h"

struct dial;

struct dial_place {
	const char *host; /* a name or an address; NULL: `path` */
	const char *path; /* a unix socket */
	uint16_t port;
	bool private_ok; /* addresses that are not public will do */
	bool private_only; /* and no others: what is sent there is in clear text */
	const char *proxy_host; /* through this HTTP proxy, which resolves the name itself; NULL: directly */
	uint16_t proxy_port;
};

enum dial_end {
	DIAL_OK,
	DIAL_REFUSED, /* it is at an address that is not allowed: 403 */
	DIAL_FAILED /* not found, not reached: 502 */
};
/* fd: connected, not blocking, and its source in the loop, both now the callee's; -1 and NULL: `why` (static). From the
 * loop, never from within dial_start. */
typedef void dial_fn(void *data, int fd, struct loop_source *source, enum dial_end end, const char *why);
struct dial *dial_start(struct loop *loop, struct resolver *resolver, const struct dial_place *place, dial_fn *fn, void *data);
struct dial *dial_cancel(struct dial *dial); /* before its end; NULL is fine; returns NULL */

#endif
