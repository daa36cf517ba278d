/* Writes HTML that needs nothing else: text from strangers, numbers, and the one style of all our pages. Pure. */
#ifndef HOTCELL_REPORT_HTML_H
#define HOTCELL_REPORT_HTML_H

#include <stdint.h>

#include "base/buf.h"

/* Whatever the bytes are, they become text: markup is escaped, controls and what turns the
 * direction of writing are shown as signs, and what is not UTF-8 as U+FFFD. */
void html_bytes(struct buf *out, const char *bytes, size_t len);
void html_text(struct buf *out, const char *text); /* NULL: nothing */
/* A log's: newlines and tabs stay, colours are left out. */
void html_log(struct buf *out, const char *bytes, size_t len);
void html_count(struct buf *out, uint64_t count);
void html_size(struct buf *out, uint64_t bytes);
void html_duration(struct buf *out, uint64_t ns);
void html_date(struct buf *out, uint64_t ms); /* UTC */
void html_percent(struct buf *out, uint64_t part, uint64_t whole);
void html_shell(struct buf *out, const char *word, size_t len); /* as a shell wants it typed */
void html_path(struct buf *out, const char *path); /* percent-encoded, for href */

/* Everything up to <body>; the policy in it lets nothing be loaded or run. The page ends with </body></html>. */
void html_begin(struct buf *out, const char *title);
extern const char html_style[];

#endif
