/* Matching of regular expressions, by PCRE2, within limits. */
#ifndef HOTCELL_SCHEMA_PATTERN_H
#define HOTCELL_SCHEMA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "schema/ecma.h"

struct pattern;

enum pattern_verdict { PATTERN_NO, PATTERN_YES, PATTERN_GAVE_UP };

/* `text` is ECMA-262's. The pattern's tree is the arena's; the pattern itself is freed. NULL on failure. */
MUST_CHECK struct pattern *pattern_open(const char *text, size_t len, struct arena *arena, struct err *err);
struct pattern *pattern_free(struct pattern *pattern);
/* Anywhere in the bytes, which are UTF-8; what is not matches nothing. */
enum pattern_verdict pattern_match(const struct pattern *pattern, const char *bytes, size_t len);
struct ecma *pattern_tree(const struct pattern *pattern);
/* Finds `samples` of a set with properties, once; none if none are found. */
void pattern_sample(struct ecma *set, struct arena *arena);
size_t pattern_size(const struct pattern *pattern); /* bytes of its compiled form */
const char *pattern_text(const struct pattern *pattern); /* as it was written */

#endif
