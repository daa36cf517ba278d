/* Names as a manifest has them: JSON holds no bytes that are not UTF-8, and a reader's terminal wants no controls. */
#ifndef HOTCELL_MANIFEST_NAME_H
#define HOTCELL_MANIFEST_NAME_H

#include <stdbool.h>

#include "base/buf.h"

/* Any bytes to text: '%', control characters and what is not UTF-8 become %NN. */
void manifest_name_write(const char *bytes, struct buf *out);
/* Whether it is what manifest_name_write gives for some bytes. */
bool manifest_name_valid(const char *text);
/* The same of a relative path that stays inside: no empty component, no "." and no "..". */
bool manifest_path_valid(const char *text);

#endif
