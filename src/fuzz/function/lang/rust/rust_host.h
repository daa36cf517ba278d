/* What is on this machine of Rust: the toolchain, crates that were fetched, and where in a project a function's file
 * is. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_HOST_H
#define HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_HOST_H

#include "fuzz/function/function.h"

/* The folder of the toolchain that the user's `rustc` is of, where a cell does not see it anyway; NULL: /usr's, or
 * none. */
char *rust_toolchain(void);
/* The folder that cargo keeps fetched crates in; NULL: there is none. */
char *rust_registry(void);

struct rust_place {
	char *manifest; /* the folder of its Cargo.toml below the target's root, "." for that itself; "-": it is of no
			   package */
	char *root; /* the first file of its crate, below the target's root; "lib": that of the library, wherever it is */
};
void rust_place_done(struct rust_place *place);
void rust_place_find(const struct function_target *target, struct rust_place *ret);

/* "path/to/crate::module::function", or "name::function" of the package here: its file, and its name in there. */
MUST_CHECK int rust_crate_read(const char *text, char **ret_file, char **ret_function, struct err *err);

#endif
