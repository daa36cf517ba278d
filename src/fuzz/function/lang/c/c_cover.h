/* How coverage of C and C++ is measured: another build, for llvm-cov, and a driver of ours in libFuzzer's place. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_C_C_COVER_H
#define HOTCELL_FUZZ_FUNCTION_LANG_C_C_COVER_H

#include "fuzz/function/lang/language.h"

/* From the words of plan->build, which are those of C_BUILD. */
void c_cover_plan(struct function_plan *plan, const struct function_options *options);

#endif
