/* URIs as RFC 3986 resolves them, as far as schemas need it. */
#ifndef HOTCELL_SCHEMA_URI_H
#define HOTCELL_SCHEMA_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"

/* `reference` against `base`, both texts; the fragment apart, percent-decoded, NULL if there is none. */
struct uri {
	const char *whole; /* without the fragment */
	const char *fragment;
	size_t fragment_len;
};

struct uri uri_resolve(const char *base, const char *reference, struct arena *arena);

#endif
