/* How much of the end of a text may be the beginning of a secret, whichever secret that is. Pure.
 *
 * Whoever sends a text through a scrub and sees which bytes are held back learns which bytes begin the secret, one after the
 * other. So this rule knows no secret: it knows only in which bytes a secret of visible ASCII letters can be written, in
 * all the spellings of scrub.h. What it lets go can be of no form that goes on; what it holds need not be of one. */
#ifndef HOTCELL_REDACT_HOLD_H
#define HOTCELL_REDACT_HOLD_H

#include <stdbool.h>
#include <stddef.h>

/* Between two letters of one form; scrub.c reads by the same numbers. A blank line ends every form. */
#define BREAK_EVERY 16 /* letters that a line of base64 has at least */
#define BREAK_MAX 24 /* bytes between two lines: their end, maybe escaped, and what the next one is indented by */
#define BETWEEN " \t:-,\r\n" /* what may stand between bytes in hexadecimal */
#define BETWEEN_MAX 6 /* of them, "0x" apart */

bool hold_rules(const char *secret); /* whether this rule is for it: it consists of visible ASCII letters */
size_t hold_tail(const char *bytes, size_t len); /* bytes at the end that wait for what comes next */

#endif
