/* The first message of a TLS client, as far as it says whom it wants. Pure. */
#ifndef HOTCELL_NET_HELLO_H
#define HOTCELL_NET_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/name.h"

#define HELLO_MAX 16384

enum hello {
	HELLO_MORE, /* not whole yet, and so far a TLS handshake */
	HELLO_OK, /* with exactly one name, canonical */
	HELLO_NOT_TLS,
	HELLO_NO_NAME,
	HELLO_TWO_NAMES, /* more than one name, or the extension twice */
	HELLO_HIDDEN, /* encrypted client hello: whom it wants is hidden */
	HELLO_BAD /* damaged, or longer than HELLO_MAX */
};
/* The message may be split over records and over calls (each with all bytes so far). */
enum hello hello_read(const uint8_t *bytes, size_t len, char ret_name[HOST_MAX + 1]);
const char *hello_reason(enum hello hello); /* for the record: "TLS without a server name", ... */

/* A server may ask for a second hello (HelloRetryRequest), which could name somebody else: until it is clear that none can
 * follow, what the client sends is watched. hello_watch_first takes the first hello, which must be HELLO_OK, and whatever came
 * with it; hello_watch what follows. After WATCH_OVER and WATCH_BAD there is nothing to watch any more. */
enum hello_watched {
	WATCH_ON, /* go on */
	WATCH_OVER, /* no hello can follow */
	WATCH_BAD, /* a second hello that is for another name, names none or is damaged; or no TLS any more */
};
struct hello_watch { /* zero is the beginning */
	struct buf held; /* a record that is not decided yet */
	size_t skip; /* bytes of a record that is */
	bool early; /* the first one announced data before any answer: a second one may follow them */
	bool changed; /* the client said that what follows may be encrypted */
};
enum hello_watched hello_watch_first(struct hello_watch *watch, const char *host, const uint8_t *bytes, size_t len);
enum hello_watched hello_watch(struct hello_watch *watch, const char *host, const uint8_t *bytes, size_t len);
void hello_watch_done(struct hello_watch *watch);

#endif
