#include "fuzz/function/core/power.h"

#define SLICE_LEAST_S 5u /* an engine needs up to a second to begin */
#define SLICE_MOST_S 30u
#define PARTS 4u /* turns that a target has of an even share, so that the first ones can teach the later */
#define TURN_LEAST 0.1

static size_t power_left(const struct power_target *targets, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		left += !targets[i].out;
	return left;
}

double power_share(const struct power_target *targets, size_t count, size_t index)
{
	size_t left = power_left(targets, count);
	double sum = 0;

	if (!left || targets[index].out)
		return 0;
	for (size_t i = 0; i < count; i++)
		sum += targets[i].out ? 0 : targets[i].yield;
	double even = 1.0 / (double)left;
	return sum > 0 ? POWER_EVEN * even + (1 - POWER_EVEN) * targets[index].yield / sum : even;
}

/* How much of its share it had: the least is next. */
static double power_had(const struct power_target *targets, size_t count, size_t index)
{
	/* a worker that is there now will take its turn: two do not go for the same one at once where another waits */
	return (targets[index].spent_s + targets[index].running * (double)SLICE_LEAST_S) /
		power_share(targets, count, index);
}

size_t power_next(const struct power_target *targets, size_t count)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (targets[i].out)
			continue;
		if (best == count) {
			best = i;
		} else if (targets[i].begun != targets[best].begun) {
			best = targets[best].begun ? i : best;
		} else if (power_had(targets, count, i) < power_had(targets, count, best)) {
			best = i;
		}
	}
	return best;
}

uint64_t power_slice(const struct power_target *targets, size_t count, unsigned workers, uint64_t left)
{
	size_t places = power_left(targets, count);

	if (places <= 1)
		return left;
	if (!left)
		return SLICE_MOST_S;
	uint64_t even = left * workers / places, part = even / PARTS;
	part = part < SLICE_LEAST_S ? SLICE_LEAST_S : part > SLICE_MOST_S ? SLICE_MOST_S : part;
	part = part > even ? even : part; /* everyone has a turn, also where there is little time */
	return part > left ? left : part ? part : 1;
}

double power_yield(double before, uint64_t fresh, double seconds)
{
	return (before + (double)fresh / (seconds > TURN_LEAST ? seconds : TURN_LEAST)) / 2;
}
