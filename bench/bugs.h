/* Planted bugs: arguments of a tool that have one. */
#ifndef HOTCELL_BENCH_BUGS_H
#define HOTCELL_BENCH_BUGS_H

#include "base/value.h"

struct bug {
	const char *name;
	bool (*has)(const struct value *args);
};
const struct bug *bug_find(const char *name); /* NULL: there is none */

#endif
