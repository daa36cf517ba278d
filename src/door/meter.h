/* What the answers of a secret door cost. */
#ifndef HOTCELL_DOOR_METER_H
#define HOTCELL_DOOR_METER_H

#include "door/doord.h"

struct meter { /* zero is one that reads nothing */
	struct usage_reader *reader;
	uint64_t tokens_in, tokens_out, microdollars; /* of this answer, charged */
	bool unpriced; /* and counted as such */
};

/* An answer of which tokens are to be read has begun. */
void meter_open(struct meter *meter, struct span content_type);
/* Charges what these bytes of its body tell at once: whoever hangs up in between has had what came before. */
void meter_take(struct meter *meter, struct conn *conn, const char *bytes, size_t len);
/* No more will come. What told nothing, or has no price, is counted as unpriced. */
void meter_close(struct meter *meter, struct conn *conn);
void meter_describe(const struct meter *meter, struct json *json);

#endif
