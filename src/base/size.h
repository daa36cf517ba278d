/* Quantities as people write them. Pure; strict: the whole text must be a quantity in range.
 * `what` names the flag or field in the error ("--memory"). Errors have code ERR_USAGE. */
#ifndef HOTCELL_BASE_SIZE_H
#define HOTCELL_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What is taken as a number, and the texts that are: expressions of ECMA-262, for the schemas of our files. A text must be
 * within the range besides. */
#define SIZE_LARGEST (UINT64_C(1) << 50)
#define SIZE_PATTERN "^[0-9]+([bB]?|(\\.[0-9]{1,9})?[kKmMgGtT]([iI]?[bB])?)$"
#define DURATION_LONGEST_MS (UINT64_C(365) * 24 * 60 * 60 * 1000)
#define DURATION_PATTERN "^[0-9]+(ms|(\\.[0-9]{1,9})?[smhd]?)$"
#define COUNT_PATTERN "^[0-9]+$"
#define CPUS_LEAST_MILLI UINT64_C(10)
#define CPUS_MOST_MILLI (UINT64_C(4096) * 1000)
#define CPUS_PATTERN "^[0-9]+(\\.[0-9]{1,9})?$"

/* "512M", "1G", "64k", "100" (bytes); suffixes k m g t, any case, optional B or iB; 1024-based.
 * Fractions ("1.5G") are taken. Zero, negatives, exponents, unknown suffixes and > 1 PiB are refused. */
MUST_CHECK int size_parse(const char *text, const char *what, uint64_t *ret_bytes, struct err *err);

/* "60s", "1.5m", "2h", "1d", "250ms", "90" (seconds). Zero, negative and > 365 d are refused. */
MUST_CHECK int duration_parse(const char *text, const char *what, uint64_t *ret_ms, struct err *err);

/* A whole number within [min, max]. */
MUST_CHECK int count_parse(const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
	struct err *err);

/* A number of CPUs, in thousandths: "1" = 1000, "0.5" = 500. Range 0.01 to 4096. */
MUST_CHECK int cpus_parse(const char *text, const char *what, uint32_t *ret_milli, struct err *err);

/* "512 MB", "1.5 GB", "812 B" into a buffer of at least 16 bytes; returns it. 1024-based. */
char *size_text(uint64_t bytes, char *ret, size_t len);
/* "1.2 ms", "42.3 s", "3m 20s" from nanoseconds into at least 24 bytes; returns it. */
char *duration_text(uint64_t ns, char *ret, size_t len);

#endif
