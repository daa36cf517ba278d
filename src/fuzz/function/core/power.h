/* Which target a worker takes next, and for how long: time is divided by what it gives, new features a second, and not evenly.
 * Pure. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_POWER_H
#define HOTCELL_FUZZ_FUNCTION_CORE_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of the time that is divided evenly: what gives nothing now may do so later, and is never left alone for good. */
#define POWER_EVEN 0.15

struct power_target {
	bool out; /* it cannot be fuzzed */
	double yield; /* new features a second, lately */
	double spent_s; /* by all workers; those at work counted until now */
	unsigned running; /* workers on it now */
	bool begun;
};

/* Its place; `count`: there is none. One that was never begun comes first; then the one that is furthest behind its share. */
size_t power_next(const struct power_target *targets, size_t count);
/* Its share of all time, from 0 to 1. */
double power_share(const struct power_target *targets, size_t count, size_t index);
/* Seconds until it is asked again; `left` is what there is until the end, 0: there is none. 0 only where that is 0, too: it
 * may stay for ever. */
uint64_t power_slice(const struct power_target *targets, size_t count, unsigned workers, uint64_t left);
/* What it gives after a turn that took so long and brought so much: half of it is of the turns before. */
double power_yield(double before, uint64_t fresh, double seconds);

#endif
