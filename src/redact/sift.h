/* Finds where a form of a secret may be, with as much work for every byte whether some of its letters are right or not: who
 * chooses the text and has a clock learns nothing but whether all of them are. Pure, but for random numbers of its own.
 *
 * The text is read once as it is, and once for each kind of escape that is in it, without blanks and without what is not
 * ASCII, of which there are several spellings. After each letter the last
 * eight choose a bit by a hash that nobody outside knows. Only where that says so they are compared with a form, all letters
 * of it whatever the first ones are, but for the few in front that may be read in two ways. */
#ifndef HOTCELL_REDACT_SIFT_H
#define HOTCELL_REDACT_SIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define SIFT_LETTERS 8 /* at the end of a form; of hexadecimal, bytes. Every form has as many */

struct sift_row { /* a form: letters that count; `hex`: what its digits stand for */
	const char *bytes;
	size_t len;
	size_t reach; /* bytes of text that it has at most */
	bool hex;
	uint64_t block; /* private: its last letters */
	uint32_t next; /* private: in its chain, 1 + its place; 0: none */
};

#define SIFT_CHAINS 4096

struct sift {
	const struct sift_row *rows;
	size_t count;
	bool brief; /* a form is so short that all of its letters may be read in two ways */
	bool loose; /* a form may have blanks in it, and a plus sign for one */
	uint64_t keys[3];
	uint32_t chains[SIFT_CHAINS];
	unsigned char bits[8192];
};
/* Whether a form has this letter as a row has it; others are left out of both. */
static inline bool sift_counts(bool loose, uint32_t code)
{
	if (code > ' ')
		return code < 0x80 && !(loose && code == '+');
	return code != '\0' && code != ' ' && code != '\t' && code != '\r' && code != '\n';
}

/* The rows are the caller's, and stay: they are as secret as what they are of. */
void sift_init(struct sift *sift, bool loose, struct sift_row *rows, size_t count);
/* Whether a form may be there. If so, *marks has a byte for each of the text: 1 where one may begin. *ret_steps, unless NULL:
 * how many letters were read, which is bounded by the length of the text. */
bool sift_find(const struct sift *sift, const char *text, size_t len, struct buf *marks, size_t *ret_steps);

#endif
