/* Fuzzing in words and tables: while it runs, and in the end. Pure; names of tools are a stranger's and are made safe. */
#ifndef HOTCELL_VIEW_FUZZ_H
#define HOTCELL_VIEW_FUZZ_H

#include "fuzz/fuzz.h"

struct fuzz_look {
	const char *name; /* of the target */
	uint64_t duration_ns, max_calls; /* 0: no limit */
	const unsigned *severities; /* findings of each, SEVERITY_COUNT of them */
	unsigned rows, columns; /* of the terminal; 0: not known */
};

/* A picture of at most `rows` lines, none wider than `columns`. */
void fuzz_view_block(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out);
/* One line, without its end. */
void fuzz_view_line(const struct fuzz_progress *progress, const struct fuzz_look *look, struct buf *out);
/* A row for each subject, under a head. `max` rows; 0: all. */
void fuzz_view_subjects(const struct fuzz_progress *progress, size_t max, unsigned columns, struct buf *out);
/* "1 critical, 2 medium"; "none" */
void fuzz_view_severities(const unsigned *severities, struct buf *out);
/* One finding as it is told when it is confirmed. */
void fuzz_view_found(const struct finding *finding, const char *what, struct buf *out);

#endif
