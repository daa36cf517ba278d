/* SHA-256 (FIPS 180-4), with the processor's own instructions where it has them. Pure.
 *
 * Our own, because libcrypto asks the processor what it is before main, at every start of a program that is linked with
 * it: in a virtual machine that alone costs more than a small file's sum. */
#ifndef HOTCELL_BASE_SHA256_H
#define HOTCELL_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32
#define SHA256_HEX (2 * SHA256_SIZE + 1) /* with the NUL */

struct sha256 {
	/* private */
	uint32_t state[8];
	uint64_t total; /* bytes so far */
	unsigned char block[64]; /* those that do not fill a block yet */
	bool plain; /* the processor's instructions are not used */
};

void sha256_init(struct sha256 *sum);
void sha256_init_plain(struct sha256 *sum); /* as on a processor without instructions for it */
void sha256_add(struct sha256 *sum, const void *bytes, size_t len);
void sha256_end(struct sha256 *sum, unsigned char ret[SHA256_SIZE]);

void sha256_hex(const unsigned char sum[SHA256_SIZE], char ret[SHA256_HEX]);
/* From 64 lower-case digits and nothing else. */
bool sha256_parse(const char *text, unsigned char ret[SHA256_SIZE]);
/* "NAME@sha256:SUM", which only the thing with that sum fits: cuts it after NAME and returns SUM, whatever it is. NULL: there
 * is none, and nothing is cut. */
#define SHA256_PIN "@sha256:"
char *sha256_pin_cut(char *text);

#endif
