/* A tree of values as read from YAML or JSON: JSON's kinds, each knowing the line it was on. */
#ifndef HOTCELL_BASE_VALUE_H
#define HOTCELL_BASE_VALUE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum value_kind { VALUE_NULL, VALUE_BOOL, VALUE_NUMBER, VALUE_TEXT, VALUE_LIST, VALUE_MAP };

struct value {
	enum value_kind kind;
	unsigned line; /* from 1 */
	char *text; /* a scalar as it was written, quotes and escapes resolved; NULL for lists and maps */
	size_t len; /* of the text, which may hold a NUL if its reader was told to take it */
	bool truth; /* VALUE_BOOL */
	size_t count; /* of a list's or map's items */
	char **keys; /* a map's, in the order of the file; key i belongs to items[i] */
	size_t *key_lens;
	unsigned *key_lines;
	struct value *items;
};

void value_done(struct value *value); /* leaves it empty: a null without text */
/* Puts a null at the end of a list or map and returns it, good until the next is put there. `key` is a map's, which
 * owns it from now on; NULL for a list. */
struct value *value_add(struct value *into, char *key, unsigned key_line);
/* What is wrong in a file with lines: "NAME:LINE: sentence", or with NULL for a name the sentence alone. The name is made
 * safe to show. The code is ERR_USAGE; returns -1. */
int value_fail(struct err *err, const char *name, size_t line, const char *format, va_list args);
const char *value_kind_name(enum value_kind kind); /* "a list", "a number", ... for errors */
const struct value *value_get(const struct value *map, const char *key); /* NULL if it is not there */

#endif
