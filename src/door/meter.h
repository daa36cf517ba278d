/* What the answers of a secret door cost. */
#ifndef HOTCELL_DOOR_METER_H
#define HOTCELL_DOOR_METER_H

#include "door/doord.h"

struct meter { /* zero is one that reads nothing */
	struct usage_reader *reader;
	uint64_t tokens_in, tokens_out, microdollars; /* of this answer, charged */
	bool asked; /* tokens were asked for: an answer that tells of none is odd */
	bool unpriced; /* and counted as such */
};

/* An answer has begun. `asked`: tokens were used for it. Others may tell of some as well: of what an earlier request
 * began, which was answered before they were known. */
void meter_open(struct meter *meter, struct span content_type, bool asked);
/* Charges what these bytes of its body tell at once: whoever hangs up in between has had what came before. */
void meter_take(struct meter *meter, struct conn *conn, const char *bytes, size_t len);
/* No more will come. What should have told and did not, or has no price, is counted as unpriced. */
void meter_close(struct meter *meter, struct conn *conn);
void meter_describe(const struct meter *meter, struct json *json);

#endif
