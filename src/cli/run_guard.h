/* What no cell may be given, whatever is mounted: the record of state folders, and the recorded state folders themselves. Who writes
 * there decides what runs on this machine. */
#ifndef HOTCELL_CLI_RUN_GUARD_H
#define HOTCELL_CLI_RUN_GUARD_H

#include "cell/cell.h"
#include "cli/core/cli.h"

/* Adds globs for cell_spec.hide: of every mount the record, and of writable ones the state folders below them. ERR_USAGE: a mount is
 * of the record itself. */
MUST_CHECK int run_guard(const struct cell_mount *mounts, size_t count, struct cli_names *ret, struct err *err);

#endif
