/* What a server can take a credential apart into, and say back without the rest: the word behind its
 * scheme, what Basic authentication encodes, the values of cookies. Pure. */
#ifndef HOTCELL_DOOR_POLICY_CREDENTIAL_H
#define HOTCELL_DOOR_POLICY_CREDENTIAL_H

#include "base/buf.h"
#include "door/policy/policy.h"

#define CREDENTIAL_PARTS_MAX 64

struct credential_parts {
	const char **items; /* not the credential itself */
	bool is_word[CREDENTIAL_PARTS_MAX]; /* an ordinary text may have it: a password that people chose */
	size_t count;
	char *memory; /* of all of them */
	size_t size;
};
void credential_parts_make(struct credential_parts *ret, const struct secret_door *door);
void credential_parts_done(struct credential_parts *parts); /* wiped */

#endif
