/* For trust*.c only: a path as one line of text. */
#ifndef HOTCELL_PROJECT_TRUST_TEXT_H
#define HOTCELL_PROJECT_TRUST_TEXT_H

#include "base/buf.h"

void trust_path_text(const char *path, struct buf *out);
char *trust_path_read(const char *text); /* NULL: it is none */

#endif
