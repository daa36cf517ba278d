/* Which backend makes the cells, as the user said it. */
#ifndef HOTCELL_CLI_BACKEND_H
#define HOTCELL_CLI_BACKEND_H

#include "cli/run_spec.h"

/* Flag before environment before default. Errors have code ERR_USAGE. */
MUST_CHECK int backend_choose(const struct run_options *options, const char **ret, struct err *err);
bool backend_is_off(void); /* by the environment: FUZZING_DISABLE_SANDBOX */
void backend_warn_none(void); /* on stderr: there is no sandbox, and it cannot be missed */
void backend_say_warnings(struct cell_pool *pool); /* on stderr: what cell_pool_warn tells */

#endif
