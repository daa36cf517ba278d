/* What a run is given that must not be seen: in what is written about it, and in what is said.
 *
 * Secret are the values of variables whose names say so ("API_TOKEN"), whose values are keys by their shape, or that the
 * user named with --secret-env; the password of a URL among these by itself, too; and the credentials of secret doors. */
#ifndef HOTCELL_RUN_SECRETS_H
#define HOTCELL_RUN_SECRETS_H

#include "cell/cell.h"
#include "door/policy/policy.h"
#include "redact/redact.h"

struct secrets {
	const char *const *env; /* NAME=VALUE, NULL-terminated; may be NULL */
	const char *const *names; /* of variables that are secret whatever they are called, NULL-terminated; may be NULL */
	const struct door_policy *policy; /* with credentials, if it is loaded; may be NULL */
};
bool secrets_is_given(const char *pair); /* not one that every cell has */
bool secrets_has(const struct secrets *secrets, const char *pair); /* whether this variable is one */
/* Knows them, and our own home. `all`: the values of all variables that were given, secret or not, as the audit log wants
 * it. Never NULL. */
struct redactor *secrets_redactor(const struct secrets *secrets, bool all);

void secrets_hide(const struct secrets *secrets, struct door_policy *policy); /* those of the environment, from its records */

/* A result as it may be written: its texts are redacted. *ret borrows from the result, but for what secrets_result_done
 * frees. */
void secrets_result(const struct redactor *redactor, const struct cell_result *result, struct cell_result *ret);
void secrets_result_done(struct cell_result *result);

#endif
