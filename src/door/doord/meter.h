/* What the answers of a secret door cost.
 *
 * Where a budget of money or tokens is set the most that a request can cost is reserved before it is sent, in the
 * accounts of its run and of all, and settled once when it is over:
 *
 *	it was never sent whole, or refused by the upstream	nothing
 *	answered, and what it used was told		that
 *	answered, and nothing was told			all that was reserved; what asked no model in any known way: its bytes
 *	cut off, by whomever				all that was reserved
 *	not handed on by a gateway			all of the input
 *
 * Without such a budget, what answers tell is counted. */
#ifndef HOTCELL_DOOR_DOORD_METER_H
#define HOTCELL_DOOR_DOORD_METER_H

#include "door/policy/ask.h"
#include "door/doord/doord.h"

struct meter { /* zero is one that reads nothing */
	struct usage_reader *reader;
	uint64_t tokens_in, tokens_out, microdollars; /* of this answer, told; when it is over, charged */
	bool asked; /* tokens were asked for: an answer that tells of none is odd */
	bool unpriced; /* and counted as such */
	bool early; /* what was told is not the last */
	bool partial; /* or not of all that was asked */
	/* reserved */
	bool reserved;
	struct door_totals most;
	bool is_known, is_later, is_kept;
	char model[sizeof(((struct usage *)0)->model)]; /* that was asked */
	bool sent; /* all of the request */
	unsigned status; /* 0: no answer */
	uint64_t received; /* bytes of the answer's body */
};

/* False: there is not so much left; the sentence is for the answer, and *ret_retry whether there may be when requests
 * under way are over. */
bool meter_reserve(struct meter *meter, struct conn *conn, const struct ask *ask, struct buf *ret_sentence, bool *ret_retry);
/* An answer has begun. `asked`: tokens were used for it. Others may tell of some as well: of what an earlier request
 * began, which was answered before they were known. */
void meter_open(struct meter *meter, struct span content_type, unsigned status, bool asked);
/* Charges what these bytes of its body tell at once: whoever hangs up in between has had what came before. */
void meter_take(struct meter *meter, struct conn *conn, const char *bytes, size_t len);
/* No more will come; whole: and it is all. What should have told and did not, or has no price, is counted as unpriced. */
void meter_close(struct meter *meter, struct conn *conn, bool whole);
void meter_describe(const struct meter *meter, struct json *json);

#endif
