/* A finding of a function, tried again. */
#ifndef HOTCELL_CLI_CMD_FINDING_FUNCTION_REPRO_H
#define HOTCELL_CLI_CMD_FINDING_FUNCTION_REPRO_H

#include "finding/store.h"
#include "fuzz/fuzz.h"

bool finding_is_function(const struct finding *finding);
/* Whether its target lies at or below the current folder: others are not taken from a stranger's file. */
bool function_is_here(const struct finding *finding);

/* Whether it is not there from the current folder. *ret: its file as it was typed; *ret_folder: the one below the project that it was
 * typed in, NULL: not known. The caller frees both. */
bool function_is_missing(const struct finding *finding, char **ret, char **ret_folder);

struct function_retry {
	const struct finding *finding;
	const struct strings *flags; /* of the capsule that are taken */
	const char *state;
	unsigned times;
	struct finding_store *core; /* it is to have one in there; NULL: none is taken */
	bool cored; /* filled: it has */
	bool changed; /* filled: the target is not the one that it was found in */
	int signal; /* filled: what told us to end */
};
/* What `hotcell findings minimise` does with one: `finding` of the retry is changed where *ret_smaller. */
MUST_CHECK int function_smaller(struct function_retry *retry, struct finding *finding, uint64_t ms, bool *ret_smaller, struct err *err);
MUST_CHECK int function_repro(struct function_retry *retry, struct repro *ret, struct err *err);

#endif
