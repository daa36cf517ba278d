/* Between the run and its histories. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_HISTORY_H
#define HOTCELL_FUZZ_FUNCTION_CORE_HISTORY_H

#include "fuzz/function/core/run.h"

/* "1-4,7": the lines that are one of these two kinds. */
void lines_text(const struct coverage_file *file, enum line_cover kind, enum line_cover or_kind, struct buf *out);
/* Marks the lines that the text names. False: it is none such, or names lines beyond what we take. */
bool lines_read(struct coverage_file *file, const char *text, enum line_cover kind);

/* A point of each target's series; the last one when exploring is over. */
void history_point(struct fuzzing *it, uint64_t now);
/* What is known of each target that was fuzzed goes to the state, and what changed to the result. */
void history_keep(struct fuzzing *it);

#endif
