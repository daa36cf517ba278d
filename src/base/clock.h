/* Monotonic time in nanoseconds. */
#ifndef HOTCELL_BASE_CLOCK_H
#define HOTCELL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

static inline uint64_t clock_now(void)
{
	struct timespec ts;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif
