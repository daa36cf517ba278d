/* The documents that describe the drafts, made from the rows of keyword.h. */
#ifndef HOTCELL_SCHEMA_META_H
#define HOTCELL_SCHEMA_META_H

#include "base/buf.h"
#include "schema/schema.h"

/* The text of the document, or false if `uri` (without fragment) names none of them. */
bool meta_write(const char *uri, struct buf *out);
/* True if the URI is one of a draft's own. */
bool meta_draft(const char *uri, enum schema_draft *ret);
/* The VOCABULARY_ bit, or 0. */
unsigned meta_vocabulary(const char *uri);

#endif
