/* Lines and heads, for the writer and the reader. */
#ifndef HOTCELL_AUDIT_CHAIN_H
#define HOTCELL_AUDIT_CHAIN_H

#include "audit/audit.h"

#define CHAIN_LINE_MAX ((size_t)512 << 10) /* of a line that is read; those written are far shorter, but for torn ones */

struct chain_line {
	uint64_t seq;
	unsigned char prev[SHA256_SIZE];
	struct value value; /* the caller's to value_done */
};

/* Whether these bytes, without the newline, are a whole record. */
bool chain_read(const char *bytes, size_t len, struct chain_line *ret);
/* Of a log in which nothing is whole, and whose first line can only have been torn: whether it was a log. */
bool chain_begins(const char *bytes, size_t len);
void chain_sum(const char *bytes, size_t len, unsigned char ret[SHA256_SIZE]);
/* If it says that a writer left something half-written: those bytes, into *ret. */
bool chain_torn(const struct value *value, struct buf *ret);
void chain_head_of(const char *bytes, size_t len, uint64_t seq, struct audit_head *ret);
/* 0 with a head; 1: there is none, or nothing readable in it; -1: error. */
MUST_CHECK int chain_head_load(const char *path, struct audit_head *ret, struct err *err);
MUST_CHECK int chain_head_store(const char *path, const struct audit_head *head, struct err *err);

#endif
