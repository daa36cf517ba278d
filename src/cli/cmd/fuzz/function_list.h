/* `hotcell fuzz function --list`: the targets that were found. */
#ifndef HOTCELL_CLI_CMD_FUZZ_FUNCTION_LIST_H
#define HOTCELL_CLI_CMD_FUZZ_FUNCTION_LIST_H

#include "cli/function_setup.h"

/* On stdout, as a table or as JSON. Returns the exit code. */
int function_list_run(const struct function_targets *targets, bool json);
/* A line each on stderr, where there is more than one. */
void function_list_say(const struct function_targets *targets);
/* Pure. */
void function_list_table(const struct function_targets *targets, struct buf *out);
void function_list_json(const struct function_targets *targets, struct json *json);

#endif
