/* What a request to a language model's interface can cost at most, read from its body before it is sent. Pure.
 *
 * Tokens of the input: one for each byte of the body (no tokenizer makes more of a text; base64 counts like text), and
 * more for what is not in the bytes: images, tools of the provider's own, and files, pages and conversations that are
 * only named: for those the model's whole context. Tokens of the output: the limit that the request sets, in the member that
 * its interface heeds, times the answers that it wants; without one the most that the model is known to write, or
 * ASK_OUTPUT_DEFAULT. What asks no model in any known way may ask one all the same: a byte is a token, and
 * ASK_OUTPUT_UNKNOWN.
 *
 * What two readers could understand differently is refused: a member that counts given twice, in another case or
 * spelling, a limit that is no whole number, a body that is nearly JSON. So is what is paid for later (batches,
 * fine-tuning): nobody can bound it now. */
#ifndef HOTCELL_DOOR_POLICY_ASK_H
#define HOTCELL_DOOR_POLICY_ASK_H

#include "base/buf.h"
#include "net/http.h"
#include "door/policy/usage.h"

#define ASK_OUTPUT_DEFAULT 131072
#define ASK_OUTPUT_UNKNOWN 16384 /* most such requests ask no model: a budget must still let some pass */
#define ASK_CONTEXT_DEFAULT 1050000
#define ASK_IMAGE_TOKENS 50000 /* for each, whatever its bytes: the dearest known model at its highest resolution */

enum ask_change { /* to a body that streams its answer, so that its usage is told */
	ASK_AS_IT_IS,
	ASK_ADD, /* there are no stream_options */
	ASK_PUT, /* they say nothing of it */
	ASK_SET, /* they say no */
	ASK_REPLACE /* they are null */
};

struct ask {
	const char *fault; /* static: why it is refused; NULL: it is not */
	bool is_free; /* it costs nothing: counting tokens */
	bool is_known; /* it asks a model in a known way; else what tells no usage is charged a token for each byte, there and back */
	bool is_later; /* the answer comes before the work is done */
	bool is_kept; /* in a cache for longer than usual, which costs more */
	char model[sizeof(((struct usage *)0)->model)]; /* "": not said */
	uint64_t input, output; /* tokens, at most */
	enum ask_change edit;
	size_t edit_at, edit_len; /* the bytes of the body that change */
};

/* target: as it goes upstream, with the door's own path. body: all of it. */
void ask_read(struct ask *ret, struct span target, const char *body, size_t len);
void ask_edit(const struct ask *ask, const char *body, size_t len, struct buf *ret); /* the body that is sent */

#endif
