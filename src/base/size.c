/* Whole-number arithmetic throughout: a limit must not depend on how a double rounds. */
#include "base/size.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/term.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define TIB (KIB * GIB)
#define FINEST UINT64_C(1000000000) /* nine digits after the dot; more would mean nothing */

struct unit {
	const char *name;
	uint64_t scale;
};

static const struct unit size_units[] = {
	{"", 1},
	{"B", 1},
	{"K", KIB},
	{"KB", KIB},
	{"KiB", KIB},
	{"M", MIB},
	{"MB", MIB},
	{"MiB", MIB},
	{"G", GIB},
	{"GB", GIB},
	{"GiB", GIB},
	{"T", TIB},
	{"TB", TIB},
	{"TiB", TIB},
	{NULL, 0},
};

static const struct unit duration_units[] = {
	{"", 1000},
	{"ms", 1},
	{"s", 1000},
	{"m", 60 * 1000},
	{"h", 60 * 60 * 1000},
	{"d", 24 * 60 * 60 * 1000},
	{NULL, 0},
};

/* "12.5" as 125 over 10, and where it ended. */
struct number {
	uint64_t digits, over;
	const char *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, and if there is a dot, digits after it. False for anything else or too many of them. */
static bool number_read(const char *text, struct number *ret)
{
	*ret = (struct number){.over = 1, .end = text};
	bool fraction = false;

	for (const char *at = text;; at++) {
		if (*at == '.' && !fraction && at != text && is_digit(at[1])) {
			fraction = true;
			continue;
		}
		if (!is_digit(*at)) {
			ret->end = at;
			return at != text && *at != '.';
		}
		if (ret->digits > (UINT64_MAX - 9) / 10 || ret->over >= FINEST)
			return false;
		ret->digits = ret->digits * 10 + (uint64_t)(*at - '0');
		if (fraction)
			ret->over *= 10;
	}
}

static int refuse(struct err *err, const char *what, const char *text, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), 40, &shown);
	return err_set(err, ERR_USAGE, "%s: '%s' %s", what, buf_text(&shown), why);
}

static const struct unit *unit_find(const struct unit *units, const char *name, bool any_case)
{
	for (; units->name; units++)
		if (any_case ? !strcasecmp(units->name, name) : !strcmp(units->name, name))
			return units;
	return NULL;
}

/* Fractions of the smallest unit are refused, smaller remainders ("0.1G") are cut off. False: not a
 * quantity at all. Too much gives UINT64_MAX. */
static bool quantity_read(const char *text, const struct unit *units, bool any_case, uint64_t *ret)
{
	struct number number;

	if (!number_read(text, &number))
		return false;
	const struct unit *unit = unit_find(units, number.end, any_case);
	if (!unit || (unit->scale == 1 && number.over > 1))
		return false;
	unsigned __int128 value = (unsigned __int128)number.digits * unit->scale / number.over;
	*ret = value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
	return true;
}

int size_parse(const char *text, const char *what, uint64_t *ret_bytes, struct err *err)
{
	uint64_t bytes;

	if (!quantity_read(text, size_units, true, &bytes))
		return refuse(err, what, text, "is not a size; write for example 512M or 1.5G");
	if (bytes == 0)
		return refuse(err, what, text, "is no size at all; it must be at least one byte");
	if (bytes > SIZE_LARGEST)
		return refuse(err, what, text, "is too large; at most 1024T is taken");
	*ret_bytes = bytes;
	return 0;
}

int duration_parse(const char *text, const char *what, uint64_t *ret_ms, struct err *err)
{
	uint64_t ms;

	if (!quantity_read(text, duration_units, false, &ms))
		return refuse(err, what, text, "is not a duration; write for example 60s or 1.5m");
	if (ms == 0)
		return refuse(err, what, text, "is no time at all; it must be at least 1ms");
	if (ms > DURATION_LONGEST_MS)
		return refuse(err, what, text, "is too long; at most 365d is taken");
	*ret_ms = ms;
	return 0;
}

int count_parse(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
	struct err *err)
{
	uint64_t count = 0;
	char why[96];
	const char *at = text;

	for (; is_digit(*at); at++) {
		uint64_t digit = (uint64_t)(*at - '0');
		bool over = count > (UINT64_MAX - digit) / 10;
		count = over ? UINT64_MAX : count * 10 + digit;
	}
	if (at == text || *at)
		return refuse(err, what, text, "is not a whole number");
	if (count < min || count > max) {
		(void)snprintf(why, sizeof(why), "is out of range; from %llu to %llu is taken",
			(unsigned long long)min, (unsigned long long)max);
		return refuse(err, what, text, why);
	}
	*ret = count;
	return 0;
}

int cpus_parse(const char *text, const char *what, uint32_t *ret_milli, struct err *err)
{
	static const struct unit whole[] = {{"", 1000}, {NULL, 0}};
	uint64_t milli;

	if (!quantity_read(text, whole, false, &milli))
		return refuse(err, what, text, "is not a number of CPUs; write for example 0.5");
	if (milli < CPUS_LEAST_MILLI || milli > CPUS_MOST_MILLI)
		return refuse(err, what, text, "is out of range; from 0.01 to 4096 CPUs are taken");
	*ret_milli = (uint32_t)milli;
	return 0;
}

char *size_text(uint64_t bytes, char *ret, size_t len)
{
	static const char *const names[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
	unsigned shift = 0;
	unsigned __int128 tenths = (unsigned __int128)bytes * 10;

	/* Rounded first: 1023.97 MB is 1 GB, never 1024 MB. */
	while (tenths >= 10235 && shift + 1 < ARRAY_LEN(names)) {
		shift++;
		uint64_t unit = UINT64_C(1) << (10 * shift);
		tenths = ((unsigned __int128)bytes * 10 + unit / 2) / unit;
	}
	unsigned long long value = (unsigned long long)tenths;
	if (value % 10 && value < 1000)
		(void)snprintf(ret, len, "%llu.%llu %s", value / 10, value % 10, names[shift]);
	else
		(void)snprintf(ret, len, "%llu %s", (value + 5) / 10, names[shift]);
	return ret;
}

char *duration_text(uint64_t ns, char *ret, size_t len)
{
	unsigned long long tenths_ms = ns / 100000 + (ns % 100000 >= 50000);
	unsigned long long tenths_s = ns / (100 * NS_PER_MS) + (ns / NS_PER_MS % 100 >= 50);
	unsigned long long s = ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2);

	/* Each step starts where the one before would round up to it. */
	if (ns < 1000)
		(void)snprintf(ret, len, "%llu ns", (unsigned long long)ns);
	else if (ns < 999500)
		(void)snprintf(ret, len, "%llu us", (unsigned long long)(ns + 500) / 1000);
	else if (tenths_ms < 10000)
		(void)snprintf(ret, len, "%llu.%llu ms", tenths_ms / 10, tenths_ms % 10);
	else if (tenths_s < 600)
		(void)snprintf(ret, len, "%llu.%llu s", tenths_s / 10, tenths_s % 10);
	else if (s < 3600)
		(void)snprintf(ret, len, "%llum %llus", s / 60, s % 60);
	else if (s < 24 * 3600)
		(void)snprintf(ret, len, "%lluh %llum", s / 3600, s / 60 % 60);
	else
		(void)snprintf(ret, len, "%llud %lluh", s / 86400, s / 3600 % 24);
	return ret;
}
