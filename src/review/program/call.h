/* Calls at the proxy of its cell: requests made by hand, byte by byte. */
#ifndef HOSTILE_CALL_H
#define HOSTILE_CALL_H

#include "review/program/hostile.h"

#define PROXY_PORT 3128

struct text { /* bytes, NULs among them */
	char bytes[65536];
	size_t len;
};
void text_add(struct text *text, const void *bytes, size_t len);
void text_put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

int call(void); /* connected to the proxy, with a timeout; -1 */
/* Says it; the status of what is answered, 0 if that is nothing of HTTP, -1 and errno. What came is in `answer`. */
int ask(const struct text *request, struct text *answer);
/* "CONNECT TARGET", or "GET http://TARGET/path" for a `get`. */
void request_make(struct text *ret, bool get, const void *target, size_t len);
/* A tunnel to the target: connected, or -1 with its status in *ret. */
int tunnel(const char *target, int *ret_status);

/* Prints what was tried, in letters, and "ok" for 200, else what was answered. */
void told(const char *how, const void *what, size_t len, int status);
/* Asks for TARGET both ways, and tells. */
void ask_for(const void *target, size_t len);
void ask_for_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
