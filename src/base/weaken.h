/* Leaving out one protection, to see whether anybody notices. Only in a test build (-Dweaken=true), where HOTCELL_WEAKEN in
 * the environment names it; in every other build weakened() is false when compiled, and nothing of this is in the program. */
#ifndef HOTCELL_BASE_WEAKEN_H
#define HOTCELL_BASE_WEAKEN_H

#include <stdbool.h>
#include <stddef.h>

#ifdef HOTCELL_WEAKEN

/* `name` is one of the table's: anything else is a bug of ours. */
bool weakened(const char *name);
/* What can be left out; ends with NULL. */
extern const char *const weaken_names[];
bool weaken_known(const char *name);
/* The variable for a program that is executed with an environment of its own; NULL if nothing is left out. */
const char *weaken_variable(void);

#else

static inline bool weakened(const char *name)
{
	(void)name;
	return false;
}

#endif

#endif
