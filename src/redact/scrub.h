/* Takes secrets out of a stream. What is replaced becomes as many stars, so that framing stays right. Pure.
 *
 * Each secret is looked for as it is; as base64 (in all three alignments, standard and URL alphabet), also broken into
 * lines; as hex in either case, also with something between the bytes; as a list of decimal numbers; in small letters (as
 * names of hosts are written) and in capitals; in UTF-16; as mails quote it; as term_line shows it; and with any of its
 * letters percent-encoded or escaped as JSON does, once or twice, or escaped as C, shells and HTML do, also what is base64.
 * How a stream is split changes nothing.
 *
 * Bytes that may begin a secret are held back until it is clear. Which ones tells of the secret, byte by byte, whoever can
 * choose what is in the stream and sees when it comes out: where that is so, `even` holds back by a rule that knows no
 * secret (hold.h). Then two streams of the same bytes come out in the same pieces whatever the secrets are, but for stars
 * where one was whole. A stream of events has a blank line after each, and passes at once. */
#ifndef HOTCELL_REDACT_SCRUB_H
#define HOTCELL_REDACT_SCRUB_H

#include <stddef.h>

#include "base/buf.h"

#define SCRUB_MIN 8 /* bytes of a secret: a shorter one occurs by chance, and is left out */

/* The forms of all secrets. They are in memory of their own that no fork hands on: in a child there are none. */
struct scrub_words;
struct scrub_words *scrub_words_make(const char *const *secrets, size_t count);
struct scrub_words *scrub_words_free(struct scrub_words *words); /* wiped; returns NULL */
/* From now on looking for a secret takes as long whether some of its letters are there or not, in whole texts and in streams
 * that are `even`. Not so, and false, if one of them has less than eight visible ASCII letters, or what itself looks like an
 * escape of percent signs or HTML ("%41", "&amp;"): what is escaped of such a one can be read in two ways. */
bool scrub_words_level(struct scrub_words *words);
size_t scrub_longest(const struct scrub_words *words);
/* The bytes that `even` holds back at most: always the same for secrets of up to 300 bytes, then twice that, and so on. If one
 * of them has blanks in it, or letters that are not ASCII, that many are always held back. */
size_t scrub_window(const struct scrub_words *words);

struct scrub { /* zero is the beginning */
	bool even; /* what is held back does not depend on the secrets; set before the first call */
	struct buf held;
	size_t covered; /* of the held bytes: the first ones that are known to be of a secret */
	size_t found; /* occurrences; those that overlap count once */
};
void scrub_take(struct scrub *scrub, const struct scrub_words *words, const char *bytes, size_t len, struct buf *out);
void scrub_end(struct scrub *scrub, const struct scrub_words *words, struct buf *out); /* what was held comes out */
void scrub_done(struct scrub *scrub);
/* The same for a whole text, in place. Returns how many were found. */
size_t scrub_text(const struct scrub_words *words, char *bytes, size_t len);
/* Of a text whose end was cut off, and in which whole forms are gone: what is there of one at the end goes, too. */
void scrub_cut(const struct scrub_words *words, char *bytes, size_t len);
/* The length of the longest form that is whole at the beginning of `bytes`; 0: none is. */
size_t scrub_look(const struct scrub_words *words, const char *bytes, size_t len);

#endif
