/* Reads lcov, as it is left by what measured a target's coverage: a stranger's text. Pure and bounded; what is not
 * understood or not wanted is counted and left out, so that a reader of half a file has half of the truth and no
 * error. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_LCOV_H
#define HOTCELL_FUZZ_FUNCTION_CORE_LCOV_H

#include "fuzz/function/function.h"

#define LCOV_MAX ((size_t)32 << 20) /* bytes of a file */
#define LCOV_RECORDS_MAX 4000u /* files that it tells of */
#define LCOV_LINE_MAX 500000u /* the highest number of a line */
#define LCOV_LINES_ALL ((size_t)8 << 20) /* of all files together */
#define LCOV_FUNCTIONS_MAX 10000u /* of a file */
#define LCOV_FUNCTIONS_ALL 200000u
#define LCOV_NAME_MAX 512u

struct lcov_left {
	uint64_t outside; /* files that are not below the root, or no sources */
	uint64_t beyond; /* files, lines or functions over the limits */
};

/* Paths begin with `seen`, which is `root` on the host. */
void lcov_read(const char *text, size_t len, const char *seen, const char *root, struct coverage *ret,
	struct lcov_left *ret_left);
/* Adds what others reached; both are as lcov_read makes them. */
void coverage_merge(struct coverage *into, const struct coverage *from);
/* Sorts the list, joins what has the same name, and counts. */
void coverage_file_count(struct coverage_file *file);
void coverage_file_done(struct coverage_file *file);
/* Whether a file below a root can be a source: plain steps, and a suffix of a language. */
bool coverage_is_source(const char *name, size_t len);

#endif
