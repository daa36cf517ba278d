/* Between c.c and c_afl.c. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_C_C_H
#define HOTCELL_FUZZ_FUNCTION_LANG_C_C_H

#include "fuzz/function/lang/language.h"

#define C_BUILD "build_of_hotcell.sh" /* in FUNCTION_WORK: c_build.sh, whose words a plan's build has */

/* Turns a plan for libFuzzer into one in which AFL++ explores. */
void c_plan_afl(const struct function_options *options, bool cxx, struct function_plan *ret);

#endif
