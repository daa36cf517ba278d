#include "schema/number.h"

#include <string.h>

#define EXPONENT_MAX ((int64_t)1 << 60)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What follows an 'e'. Saturates: nobody can tell 1e(10^18) from 1e(10^19) by writing them down. */
static bool exponent_parse(const char *at, const char *end, int64_t *ret)
{
	bool negative = at < end && *at == '-';
	int64_t value = 0;

	at += at < end && (*at == '-' || *at == '+');
	if (at == end)
		return false;
	for (; at < end; at++) {
		if (!is_digit(*at))
			return false;
		value = value > EXPONENT_MAX / 10 ? EXPONENT_MAX : value * 10 + (*at - '0');
	}
	*ret = negative ? -value : value;
	return true;
}

/* Finds the first and the last digit that is not 0, and counts those behind the last and behind the point. */
static const char *mantissa_parse(const char *at, const char *end, struct number *number)
{
	int64_t behind_point = 0;
	uint32_t zeros = 0;
	bool point = false, any = false;

	for (; at < end && (is_digit(*at) || (*at == '.' && !point && any)); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		any = true;
		behind_point += point;
		if (*at == '0') {
			zeros += number->count > 0;
			continue;
		}
		if (!number->count)
			number->digits = at;
		number->count += 1 + (number->count ? zeros : 0);
		zeros = 0;
	}
	number->exponent = (int64_t)zeros - behind_point;
	return any ? at : NULL;
}

static uint64_t small_of(const struct number *number)
{
	uint64_t small = 0;
	const char *at = number->digits;

	if (number->count > NUMBER_SMALL_DIGITS)
		return 0;
	for (uint32_t left = number->count; left; at++) {
		if (*at == '.')
			continue;
		small = small * 10 + (uint64_t)(*at - '0');
		left--;
	}
	return small;
}

bool number_parse(const char *text, size_t len, struct number *ret)
{
	const char *end = text + len, *at = text;
	int64_t exponent = 0;

	*ret = (struct number){0};
	if (len >= UINT32_MAX)
		return false;
	ret->negative = at < end && *at == '-';
	at = mantissa_parse(at + ret->negative, end, ret);
	if (!at || at[-1] == '.')
		return false;
	if (at < end && ((*at != 'e' && *at != 'E') || !exponent_parse(at + 1, end, &exponent)))
		return false;
	ret->exponent += exponent;
	if (ret->count == 0) {
		ret->negative = false;
		ret->exponent = 0;
	}
	ret->small = small_of(ret);
	return true;
}

static int digits_compare(const struct number *a, const struct number *b)
{
	const char *left = a->digits, *right = b->digits;

	for (uint32_t i = 0; i < a->count || i < b->count; i++) {
		left += i < a->count && *left == '.';
		right += i < b->count && *right == '.';
		char one = i < a->count ? *left++ : '0', two = i < b->count ? *right++ : '0';
		if (one != two)
			return one < two ? -1 : 1;
	}
	return 0;
}

static int magnitude_compare(const struct number *a, const struct number *b)
{
	int64_t top = a->exponent + a->count, other = b->exponent + b->count;

	if (!a->count || !b->count)
		return (a->count > 0) - (b->count > 0);
	if (top != other)
		return top < other ? -1 : 1;
	if (a->exponent == b->exponent && a->count <= NUMBER_SMALL_DIGITS)
		return (a->small > b->small) - (a->small < b->small);
	return digits_compare(a, b);
}

int number_compare(const struct number *a, const struct number *b)
{
	if (a->negative != b->negative)
		return a->negative ? -1 : 1;
	return a->negative ? -magnitude_compare(a, b) : magnitude_compare(a, b);
}

bool number_is_whole(const struct number *number)
{
	return number->exponent >= 0;
}

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t modulus)
{
	return (uint64_t)((unsigned __int128)a * b % modulus);
}

/* a*10^p is a multiple of b*10^q if b divides a*10^(p-q). For p < q it cannot: a does not end in 0. */
bool number_is_multiple(const struct number *number, const struct number *factor)
{
	uint64_t modulus = factor->small, rest = 0, power = 10 % modulus;

	if (number->count == 0)
		return true;
	if (number->exponent < factor->exponent)
		return false;
	const char *at = number->digits;
	for (uint32_t i = 0; i < number->count; at++) {
		if (*at == '.')
			continue;
		rest = (multiply(rest, 10, modulus) + (uint64_t)(*at - '0')) % modulus;
		i++;
	}
	for (uint64_t left = (uint64_t)(number->exponent - factor->exponent); left; left >>= 1) {
		if (left & 1)
			rest = multiply(rest, power, modulus);
		power = multiply(power, power, modulus);
	}
	return rest == 0;
}

uint64_t number_hash(const struct number *number)
{
	uint64_t hash = number->negative ? 7 : 3;
	const char *at = number->digits;

	for (uint32_t i = 0; i < number->count; at++) {
		if (*at == '.')
			continue;
		hash = hash * 31 + (uint64_t)*at;
		i++;
	}
	return (hash ^ (uint64_t)number->exponent) * 0x9e3779b97f4a7c15u;
}

bool number_int(const struct number *number, int64_t *ret)
{
	uint64_t value = number->small;

	if (number->exponent < 0 || number->count > NUMBER_SMALL_DIGITS || number->exponent > NUMBER_SMALL_DIGITS)
		return false;
	for (int64_t i = 0; i < number->exponent; i++) {
		if (value > (uint64_t)INT64_MAX / 10)
			return false;
		value *= 10;
	}
	*ret = number->negative ? -(int64_t)value : (int64_t)value;
	return true;
}
