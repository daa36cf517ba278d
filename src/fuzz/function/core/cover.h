/* Measuring what the corpora reach, when all else is done. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_COVER_H
#define HOTCELL_FUZZ_FUNCTION_CORE_COVER_H

#include "fuzz/function/core/run.h"

/* Of each target that was fuzzed, into its place and the result. Problems are gaps. After it, nothing may be judged by
 * what was built: the cell that measures can write there. */
void cover_all(struct fuzzing *it);

#endif
