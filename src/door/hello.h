/* The first message of a TLS client, as far as it says whom it wants. Pure. */
#ifndef HOTCELL_DOOR_HELLO_H
#define HOTCELL_DOOR_HELLO_H

#include <stddef.h>
#include <stdint.h>

#include "door/name.h"

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

#endif
