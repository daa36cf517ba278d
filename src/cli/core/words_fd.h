/* Words of a command line that come through a descriptor, where no other user sees them (`--words-fd=N`). */
#ifndef HOTCELL_CLI_CORE_WORDS_FD_H
#define HOTCELL_CLI_CORE_WORDS_FD_H

#include <stdbool.h>

#include "base/err.h"

#define WORDS_FD_MAX ((size_t)16 << 20)

bool words_fd_is_given(int argc, char *const *argv);
/* Reads and closes the descriptor that argv[1] names. The words stay as long as the process. */
MUST_CHECK int words_fd_read(char *const *argv, int *ret_argc, char ***ret_argv, struct err *err);

#endif
