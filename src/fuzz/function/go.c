/* Go, by libFuzzer. Known by its name, so that it is refused by it. */
#include "fuzz/function/language.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

const struct language language_go = {.name = "go", .title = "Go", .suffixes = LIST(".go")};
