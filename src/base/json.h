/* Writes JSON. Emits only: commas and nesting are kept right by the writer, and any bytes may be
 * given as a string: control bytes are escaped and what is not UTF-8 becomes U+FFFD. */
#ifndef HOTCELL_BASE_JSON_H
#define HOTCELL_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct json {
	struct buf out;
	bool pretty; /* two-space indent; set before the first call */
	/* private */
	int depth;
	bool comma, after_key;
};

void json_done(struct json *json);
void json_open(struct json *json, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket); /* '}' or ']' */
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *text); /* NULL writes null */
void json_bytes(struct json *json, const char *bytes, size_t len);
void json_int(struct json *json, int64_t value);
void json_uint(struct json *json, uint64_t value);
void json_real(struct json *json, double value, int decimals);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* A tree that json_read made, its numbers as they were written. Sorted: maps in the order of their keys' bytes, so that what
 * says the same is the same text. */
struct value;
void json_value(struct json *json, const struct value *value, bool sorted);

/* key + value in one call */
void json_put_string(struct json *json, const char *key, const char *text);
void json_put_int(struct json *json, const char *key, int64_t value);
void json_put_uint(struct json *json, const char *key, uint64_t value);
void json_put_real(struct json *json, const char *key, double value, int decimals);
void json_put_bool(struct json *json, const char *key, bool value);

#endif
