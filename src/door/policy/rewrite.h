/* What a secret door changes in the messages that it carries. Pure. */
#ifndef HOTCELL_DOOR_POLICY_REWRITE_H
#define HOTCELL_DOOR_POLICY_REWRITE_H

#include "net/http.h"
#include "door/policy/policy.h"
#include "redact/scrub.h"

/* NULL, or why the door does not carry this request (static). A path cannot climb out of the door's own. */
const char *rewrite_refusal(const struct secret_door *door, const struct http_head *head);

/* The fields that go upstream, "Name: value\r\n" each: without those of the connection, without any credential that the
 * cell thinks it has, and without what would have the answer come encoded or in parts. */
void rewrite_request_fields(const struct secret_door *door, const struct http_head *head, struct buf *ret);
/* The whole head for the upstream, around these fields: with the credential. */
void rewrite_request(const struct secret_door *door, const struct http_head *head, const struct buf *fields, struct buf *ret);

/* Whether a body of this content type is in UTF-8 or ASCII, as far as it says. */
/* Whether some server takes one for the other: gateways that make variables of fields take _ for
 * -. */
bool rewrite_same_field(struct span name, const char *other);
bool rewrite_is_plain(struct span type);
/* NULL, or why the answer cannot be passed on (static): an encoding could hide the credential, or a part of an answer a part of it. */
const char *rewrite_answer_fault(const struct http_head *head);
/* The fields that go to the cell, scrubbed. A Location at the upstream becomes one at the door. */
void rewrite_answer_fields(const struct secret_door *door, const struct http_head *head, const struct scrub_words *words,
	struct buf *ret);

#endif
