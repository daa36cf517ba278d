/* JSON numbers, exactly: sign, decimal digits, decimal exponent. Nothing is rounded: 9007199254740993, 1e400 and
 * 0.1 are what they say, and 1.0 is 1. */
#ifndef HOTCELL_SCHEMA_NUMBER_H
#define HOTCELL_SCHEMA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrows the text it was parsed from. */
struct number {
	const char *digits; /* the first that is not 0; a '.' may stand among them */
	uint32_t count; /* of digits from there to the last that is not 0; 0: the number is zero */
	bool negative; /* never for zero */
	uint64_t small; /* the digits as a whole number if there are at most 18 of them */
	int64_t exponent; /* of the last digit: its value is digit * 10^exponent; saturates far out */
};

#define NUMBER_SMALL_DIGITS 18

/* Text as JSON writes it. False if it is not that. */
bool number_parse(const char *text, size_t len, struct number *ret);
int number_compare(const struct number *a, const struct number *b);
bool number_is_whole(const struct number *number);
/* `factor` is above zero and has at most NUMBER_SMALL_DIGITS digits. */
bool number_is_multiple(const struct number *number, const struct number *factor);
uint64_t number_hash(const struct number *number); /* equal numbers have equal hashes */
/* True if it is whole and fits; *ret is it. */
bool number_int(const struct number *number, int64_t *ret);

#endif
