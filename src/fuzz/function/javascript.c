/* JavaScript, by Jazzer.js. Known by its name, so that it is refused by it. */
#include "fuzz/function/language.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct language language_javascript = {.name = "javascript", .title = "JavaScript", .suffixes = LIST(".js", ".mjs", ".cjs", ".ts")};
