/* A growing run of bytes. Always followed by a NUL that is not counted, so text can be used as
 * a C string. Out of memory ends the program: a supervisor that cannot allocate cannot account. */
#ifndef HOTCELL_BASE_BUF_H
#define HOTCELL_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/own.h"

struct buf {
	char *data; /* NULL while empty and never grown */
	size_t len, cap;
};

void buf_done(struct buf *buf);
void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_str(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_fmt(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);
const char *buf_text(const struct buf *buf); /* "" when empty */
char *buf_take(struct buf *buf); /* the caller frees */

/* strdup/calloc that end the program when memory is out. */
char *xstrdup(const char *text);
char *xfmt(const char *format, ...) PRINTF_LIKE(1, 2);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t count, size_t size);

#endif
