/* What a project's lock files name: go.sum and Cargo.lock. Pure; the texts are strangers'. Names come out only if they are such as
 * the language allows, without a step that leads elsewhere. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_LOCK_H
#define HOTCELL_FUZZ_FUNCTION_LANG_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#define LOCK_ENTRIES_MAX 20000u

struct lock_entry {
	const char *name, *version; /* as written; of Go as its cache writes them: a capital letter is '!' and the small one */
	const char *sum; /* Go: "h1:...="; Cargo: 64 digits, or "" */
	bool mod_only; /* Go: the sum is of the module's go.mod, which alone is needed */
};
typedef void lock_fn(void *data, const struct lock_entry *entry);

void lock_read_go_sum(const char *text, size_t len, lock_fn *fn, void *data);
void lock_read_cargo(const char *text, size_t len, lock_fn *fn, void *data); /* of registries alone */

#endif
