/* Reads YAML into values. The text is a stranger's: it is bounded in bytes, depth and values, aliases
 * included (an anchor bomb is an error, not a wait); tags, a second document, keys that are no scalars,
 * keys given twice and line breaks other than LF and CRLF are refused.
 *
 * Plain scalars are true/false, null (also ~ and nothing; each also as True and TRUE), a number (decimal,
 * as JSON writes it, or 0x) or text; quoted ones are always text. "yes", "no", "on", "off" are text. A
 * text never holds a NUL. What an alias stands for is copied, with the alias' line. */
#ifndef HOTCELL_BASE_YAML_H
#define HOTCELL_BASE_YAML_H

#include <stddef.h>

#include "base/value.h"

#define YAML_MAX_BYTES ((size_t)1 << 20)
#define YAML_MAX_DEPTH 32
#define YAML_MAX_VALUES 20000

/* `name` is the file's, for errors: "NAME:LINE: sentence", code ERR_USAGE. An empty text is a null. *ret
 * is the caller's to value_done; after a failure it is empty. */
MUST_CHECK int yaml_parse(const char *text, size_t len, const char *name, struct value *ret, struct err *err);

#endif
