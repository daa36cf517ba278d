/* The text of a Go file: its package, its functions, their parameters. Pure; the text is a stranger's, and need not be Go. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_GO_GO_TEXT_H
#define HOTCELL_FUZZ_FUNCTION_LANG_GO_GO_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define GO_PARAMS_MAX 32

struct go_span {
	const char *at;
	size_t len;
};

struct go_function {
	struct go_span name, params; /* what is between the brackets */
	bool generic;
};

struct go_param {
	struct go_span name; /* empty: it has none */
	struct go_span type;
};

struct go_span go_package(const char *text, size_t len); /* empty: none is said */
/* Functions at the top of the file, but no methods, main, init and _. False from `fn`: no more. */
void go_functions(const char *text, size_t len, bool (*fn)(void *data, const struct go_function *function), void *data);
bool go_is_fuzz_test(const struct go_function *function); /* FuzzXxx(f *testing.F) */
/* Their number; more than GO_PARAMS_MAX: there are too many. */
size_t go_params(struct go_span text, struct go_param *ret);
/* How a value of a plain type is made in the harness; NULL: it is none. */
const char *go_plain(struct go_span type, bool last);
bool go_is_text(struct go_span type); /* string, []byte */
bool go_is_hopeless(struct go_span type); /* nothing can make one: a channel, a function */

#endif
