/* Takes out of a text what must not be kept: values that are known, what looks like a key or a password, strings too
 * random to be words, and whose home it was. Pure; the same text always gives the same result, however it is split.
 *
 * Known values are found in every spelling scrub.h knows. Keys are known by their shape, as they are and inside base64,
 * hex, percent-encoding and JSON escapes. What stays: hashes and identifiers in hexadecimal, UUIDs, numbers, paths,
 * words. So a key that is bare hexadecimal is only found if it is known or has a name in front of it ("token=").
 *
 * Memory is bounded: at most REDACT_AHEAD bytes, or the longest spelling of a known value, are held back. */
#ifndef HOTCELL_REDACT_REDACT_H
#define HOTCELL_REDACT_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define REDACT_AHEAD 4096

/* What is known beforehand. Never changed after it was made. Values are in memory that no fork hands on. */
struct redactor;
struct scrub_words;
struct redact_known {
	const char *const *values; /* those under SCRUB_MIN bytes are left out: they occur by chance */
	size_t count;
	const char *home; /* an absolute path, found as a known value is; NULL: none */
	const char *user; /* a name, found as a word of its own; NULL: none. Names of two letters and "root" are words */
};
struct redactor *redactor_make(const struct redact_known *known);
struct redactor *redactor_free(struct redactor *redactor); /* wiped; NULL is fine; returns NULL */
void redactor_level(struct redactor *redactor); /* as scrub_words_level: for what a cell prints that must not learn a value */
void redactor_freep(struct redactor **redactor);

/* Whether a variable of this name, or with this value, holds a secret: "DB_PASSWORD", or anything that is a key. */
bool redact_is_secret(const char *name, size_t name_len, const char *value);
/* The password in "SCHEME://USER:PASSWORD@HOST", which a program may print by itself; `decoded`: without percent signs. The
 * caller wipes and frees it. NULL: there is none. */
char *redact_url_password(const char *value, bool decoded);

/* ---- a text that is about to be shown or stored ---- */

enum redact_depth {
	REDACT_VALUES, /* our own words: known values become stars. Paths and names stay, they are what it is there to tell */
	REDACT_ALL, /* what a program printed or was told: shapes, random strings and homes go, too */
};
/* Adds it to *out. `redactor` may be NULL: nothing is known. */
void redact_show(const struct redactor *redactor, enum redact_depth depth, const char *text, size_t len, struct buf *out);
char *redact_copy(const struct redactor *redactor, enum redact_depth depth, const char *text); /* the caller frees */
void redact_line(const struct redactor *redactor, char *text); /* REDACT_VALUES, in place; also of a value that was cut off */
/* A command, added to *out with blanks between its words: REDACT_ALL, and what follows an option, a name or a header that
 * takes a secret ("--token X", "-u NAME:X", "NAME=X", "Header: X"). */
void redact_command(const struct redactor *redactor, const char *const *words, struct buf *out);
bool redactor_knows(const struct redactor *redactor); /* any value at all; NULL does not */
/* What is known of, for a stream that must flow: see scrub.h. Never NULL. */
const struct scrub_words *redactor_words(const struct redactor *redactor);

/* ---- the parts ---- */

enum redact_style {
	REDACT_NAMED, /* "[redacted:password]" */
	REDACT_STARS, /* as many stars as there were bytes */
};

enum redact_class { REDACT_CLOSED, REDACT_WORD, REDACT_RUN, REDACT_VALUE, REDACT_SINGLE, REDACT_DOUBLE, REDACT_PEM };

struct redact { /* zero is the beginning */
	enum redact_style style; /* set before the first call */
	size_t found;
	/* private */
	struct buf held;
	unsigned char before; /* the byte that came last; 0: none, or one that went */
	size_t cover; /* the next bytes that are known to go */
	size_t wait, pending; /* bytes until something that goes, and its length */
	const char *what; /* the pending one's name */
	enum redact_class open, pending_open; /* how it goes on where it was not seen to end */
	size_t pem_left;
};
void redact_take(struct redact *redact, const struct redactor *redactor, const char *bytes, size_t len, struct buf *out);
void redact_end(struct redact *redact, const struct redactor *redactor, struct buf *out);
void redact_done(struct redact *redact);
/* A whole text, added to *out. Returns how much was found. */
size_t redact_text(const struct redactor *redactor, enum redact_style style, const char *bytes, size_t len, struct buf *out);

#endif
