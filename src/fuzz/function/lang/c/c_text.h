/* The text of a C or C++ file: its functions, with the namespaces and types that they stand in. Pure; the text is a
 * stranger's, and need not be C. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_C_C_TEXT_H
#define HOTCELL_FUZZ_FUNCTION_LANG_C_C_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define C_NAME_MAX 200

struct c_span {
	const char *at;
	size_t len;
};

struct c_function {
	char name[C_NAME_MAX]; /* as code at the end of the file names it: "parse", "app::parse", "app::Type::parse" */
	struct c_span params; /* between its brackets */
	bool member; /* of a type, and needs an object, is not public, or is of a template: its name alone calls nothing */
};

/* Each function with a body: of the file, of its namespaces and of its types; none within others. */
typedef void c_function_fn(void *data, const struct c_function *function);
void c_functions(const char *text, size_t len, c_function_fn *fn, void *data);
/* Whether a name that was typed may be this one: "parse" and "app::parse" are for "app::v1::parse". */
bool c_name_fits(const char *name, const char *typed);
/* Whether it fits a member that its name alone does not call. */
bool c_is_member(const char *text, size_t len, const char *typed);
const char *c_last_part(const char *name); /* behind the last "::" */
bool c_span_is(struct c_span span, const char *word);

#endif
