/* The formats that are known, one row each. */
#ifndef HOTCELL_SCHEMA_FORMAT_H
#define HOTCELL_SCHEMA_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct format {
	const char *name;
	const char *article; /* "a date", "an e-mail address", for sentences */
	bool (*check)(const char *text, size_t len);
	const char *expression; /* makes texts of this format, most of the time; ECMA-262 */
};

const struct format *format_find(const char *name, size_t len); /* NULL if it is not known */

#endif
