/* `hotcell fuzz function --export-harness DIR`: what would be run in cells, for running it elsewhere. */
#ifndef HOTCELL_CLI_CMD_FUZZ_FUNCTION_EXPORT_H
#define HOTCELL_CLI_CMD_FUZZ_FUNCTION_EXPORT_H

#include "cli/function_setup.h"

/* Returns the exit code. */
int function_export_run(const struct function_setup *setup, const char *folder);

#endif
