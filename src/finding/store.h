/* Findings of a project, in a folder: a capsule each, named by its id. Files are written whole or not at all; two
 * campaigns at once may both add to it. What is no capsule is left alone and told.
 *
 * A finding whose input is bytes has a folder of its id beside its capsule, with what a debugger or a person wants as files. */
#ifndef HOTCELL_FINDING_STORE_H
#define HOTCELL_FINDING_STORE_H

#include "finding/finding.h"

#define STORE_INPUT "input" /* the smallest input */
#define STORE_FOUND "found" /* as it was found, where that is another */
#define STORE_CORE "core" /* on request: the memory of the process that failed */
#define STORE_PROGRAM "program" /* what it was a process of */
#define STORE_REPORT "report.txt" /* what was said of it */

struct finding_store {
	char *folder;
	struct finding *items; /* by severity, then id */
	size_t count;
	struct strings unread; /* "NAME: why" of files that are no capsules */
};

/* A folder that is not there is an empty store. */
MUST_CHECK int store_open(struct finding_store *ret, const char *folder, struct err *err);
void store_done(struct finding_store *store);
const struct finding *store_find(const struct finding_store *store, const char *id); /* or its beginning, if only one has it */

/* Adds it, or joins it with what is known: its input takes the place of the old one, which may do it no more; times are
 * counted, a fixed one is open again, a suppression stays. What is known is what the folder has now, whoever wrote it. *ret_new: it was not there.
 * One that cannot be written is an error, and among the items nevertheless. */
MUST_CHECK int store_add(struct finding_store *store, const struct finding *finding, bool *ret_new, struct err *err);
/* Writes a changed one back. */
MUST_CHECK int store_put(struct finding_store *store, const struct finding *finding, struct err *err);

#endif
