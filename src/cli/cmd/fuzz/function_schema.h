/* `hotcell fuzz function --schema`: the function is a tool that takes what fits the schema, and is fuzzed as tools
 * are. */
#ifndef HOTCELL_CLI_CMD_FUZZ_FUNCTION_SCHEMA_H
#define HOTCELL_CLI_CMD_FUZZ_FUNCTION_SCHEMA_H

#include "cli/cmd/finding/function_repro.h"
#include "cli/function_setup.h"

/* The whole verb. Returns the exit code. */
int function_schema_run(const struct function_cli *cli, const struct cli_args *args);
/* A finding of it again. `cli` and `args` are those of its capsule. */
MUST_CHECK int function_schema_repro(const struct function_cli *cli, const struct cli_args *args,
	struct function_retry *retry, struct repro *ret, struct err *err);

#endif
