/* Reads JSON into values. The text is a stranger's: it is bounded in bytes, depth and values, and what two readers
 * could understand differently is refused: keys given twice, text that is not UTF-8 (half a surrogate pair included),
 * anything before or after the one value. A text never holds a NUL: \u0000 is refused.
 *
 * With `any_text` the two that JSON itself allows are taken: a NUL stands in the text, whose length is `len`, and half a
 * surrogate pair becomes the three bytes that UTF-8 would have for it (known as WTF-8).
 *
 * A number is kept as it is written: what it is good for is for its user to say. */
#ifndef HOTCELL_BASE_JSON_READ_H
#define HOTCELL_BASE_JSON_READ_H

#include <stddef.h>

#include "base/value.h"

struct json_limits {
	size_t bytes; /* of the text */
	size_t values; /* keys counted */
	unsigned depth; /* of lists and maps in each other; recursion */
	bool any_text; /* takes \u0000 and halves of surrogate pairs */
};

/* `name` is the file's, for errors: "NAME:LINE: sentence"; NULL: the sentence alone. Their code is ERR_USAGE. *ret is
 * the caller's to value_done; after a failure it is empty. */
MUST_CHECK int json_read(const char *text, size_t len, const struct json_limits *limits, const char *name,
	struct value *ret, struct err *err);

#endif
