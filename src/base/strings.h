/* Strings in a row, owned. Zero is empty. */
#ifndef HOTCELL_BASE_STRINGS_H
#define HOTCELL_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

struct json;

struct strings {
	char **items; /* NULL-terminated once there is one; NULL before */
	size_t count;
};
void strings_add(struct strings *strings, const char *text); /* a copy */
void strings_take(struct strings *strings, char *text); /* owns it */
void strings_add_all(struct strings *strings, const char *const *texts); /* NULL-terminated; may be NULL */
void strings_copy(struct strings *to, const struct strings *from, size_t max); /* adds the first `max`; `from` may be NULL */
bool strings_have(const struct strings *strings, const char *text);
void strings_json(const struct strings *strings, struct json *json); /* an array; NULL: an empty one */
void strings_done(struct strings *strings);

#endif
