/* What corpora reach, as a table, as JSON and as lcov. Pure; names are a stranger's and are made safe. */
#ifndef HOTCELL_VIEW_COVERAGE_H
#define HOTCELL_VIEW_COVERAGE_H

#include "base/json.h"
#include "fuzz/function/function.h"

/* A row for each file, and their sum; nothing where nothing was measured. `here` is the folder that paths are shown from. */
void coverage_put_table(const struct function_result *result, const char *here, struct buf *out);
/* Members of an object that is open: "lines", "lines_hit", "functions", "functions_hit". */
void coverage_put_sums(const struct coverage_sums *sums, struct json *json);
/* "change": an object, or null where there was nothing to compare with. */
void coverage_put_change(const struct function_change *change, struct json *json);
/* "coverage": an object with the sums, the change of all targets, and the files. */
void coverage_put_json(const struct function_result *result, struct json *json);
/* As others read it, with the paths of this machine. */
void coverage_put_lcov(const struct function_result *result, struct buf *out);
/* Of all targets together. */
struct function_change coverage_change(const struct function_result *result);
/* "+12 lines reached, -0" */
void coverage_put_since(const struct function_change *change, struct buf *out);

#endif
