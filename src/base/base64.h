/* Base64 as RFC 4648 has it, section 4. Pure. */
#ifndef HOTCELL_BASE_BASE64_H
#define HOTCELL_BASE_BASE64_H

#include "base/buf.h"

void base64_write(const void *bytes, size_t len, struct buf *out); /* padded */
/* Adds what `text` stands for to *out. Strict: padded, without blanks, and written in the one way there is; false for
 * all else, and *out is as before. */
MUST_CHECK bool base64_read(const char *text, size_t len, struct buf *out);

#endif
