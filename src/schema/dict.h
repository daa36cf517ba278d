/* Texts that break programs: one const table for each sort of attack, chosen by what a text seems to be for. */
#ifndef HOTCELL_SCHEMA_DICT_H
#define HOTCELL_SCHEMA_DICT_H

#include <stddef.h>

struct dict_entry {
	const char *text;
	size_t len; /* may hold NULs */
};

/* Bits, one a dictionary: those whose words occur in the name or description. 0: none. */
unsigned dict_hints(const char *text, size_t len);
extern const unsigned dict_all; /* all of them */
size_t dict_count(unsigned hints); /* entries of these dictionaries together */
struct dict_entry dict_get(unsigned hints, size_t index); /* below dict_count */

#endif
