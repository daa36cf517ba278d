/* Rust's text, as far as functions and what they take are in it. Pure; the text is a stranger's. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_TEXT_H
#define HOTCELL_FUZZ_FUNCTION_LANG_RUST_RUST_TEXT_H

#include "base/buf.h"
#include "base/err.h"

#define RUST_NAME_MAX 200

struct rust_function {
	char name[RUST_NAME_MAX]; /* in its file: "parse", "inner::parse", "Type::parse" */
	char local[RUST_NAME_MAX]; /* in its module: "parse", "Type::parse" */
	const char *params; /* between its brackets */
	size_t params_len;
	size_t after; /* the first place behind it where an item of its module may stand */
	bool generic, is_async;
};

/* Functions of the file, of its inline modules and of its types; none of tests, of traits, or within functions. */
typedef void rust_function_fn(void *data, const struct rust_function *function);
/* *ret_harness: there is a fuzz_target!. `after` is not known yet. */
void rust_functions(const char *text, size_t len, rust_function_fn *fn, void *data, bool *ret_harness);
/* The one of that name, the first; false: there is none. */
bool rust_find(const char *text, size_t len, const char *name, struct rust_function *ret);

/* The text with a module put into it, on a line that is there, that makes the function's arguments from bytes, or to serve
 * from a JSON document, and calls it. NULL: it cannot be called so, which `err` says of `shown`. */
char *rust_harness(const char *text, size_t len, const struct rust_function *function, const char *shown, bool serve,
	struct err *err);

#endif
