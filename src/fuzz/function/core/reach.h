/* How far up from a file its project may reach. A project's folder is shown to the cells, and what marks it (a Makefile, a
 * package.json) may lie above a folder that somebody else wrote: so a marker alone never decides it. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_REACH_H
#define HOTCELL_FUZZ_FUNCTION_CORE_REACH_H

#include <stdbool.h>

struct reach {
	char *own; /* the file's folder */
	char *limit; /* none above it is shown */
	char *named; /* the folder that the user named, all of which may be; NULL: none */
	bool repository; /* the limit is a repository's top, or has a state folder: all between may be shown, too */
};
void reach_done(struct reach *reach);
/* Of a file, which is behind all links. The limit is the nearest folder above it that is a repository's top, has a state folder, or
 * is the current folder; where none comes before a folder that is more than one project, it is what was named, or the file's own.
 * Whoever stands in a folder means that folder, but not others on the way from there to the file. */
void reach_find(const char *file, const char *named, struct reach *ret);
bool reach_allows(const struct reach *reach, const char *folder);
bool reach_is_below(const char *folder, const char *path); /* at it, or below */

#endif
