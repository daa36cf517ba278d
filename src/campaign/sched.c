#include "campaign/sched.h"

#include <string.h>

#include "base/clock.h"

void sched_init(struct sched *sched, const struct campaign_plan *plan, uint64_t next, uint64_t failures)
{
	*sched = (struct sched){ .plan = *plan, .next = next, .failures = failures };
}

void sched_done(struct sched *sched)
{
	free(sched->again);
	*sched = (struct sched){ 0 };
}

static bool something_left(const struct sched *sched)
{
	return sched->again_count > 0 || sched->next <= sched->plan.runs;
}

static struct sched_next take(struct sched *sched, uint64_t now_ns)
{
	struct sched_next next = { .what = SCHED_START, .run = { .attempt = 1 } };

	if (sched->again_count > 0) {
		next.run = sched->again[0];
		sched->again_count--;
		memmove(sched->again, sched->again + 1, sched->again_count * sizeof(*sched->again));
	} else {
		next.run.number = sched->next++;
	}
	sched->running++;
	if (sched->plan.rate > 0) /* what was not used is not saved up: no burst after a pause */
		sched->due_ns = now_ns + 60 * NS_PER_S / sched->plan.rate;
	return next;
}

struct sched_next sched_next(struct sched *sched, uint64_t now_ns)
{
	bool more = something_left(sched) && !sched->draining;

	if (!more && sched->running == 0)
		return (struct sched_next){ .what = SCHED_DONE };
	if (!more || sched->paused || sched->running >= sched->plan.workers)
		return (struct sched_next){ .what = SCHED_WAIT };
	if (sched->plan.rate > 0 && now_ns < sched->due_ns)
		return (struct sched_next){ .what = SCHED_WAIT, .at_ns = sched->due_ns };
	return take(sched, now_ns);
}

void sched_add_again(struct sched *sched, const struct sched_run *run)
{
	sched->again = xrealloc(sched->again, sched->again_count + 1, sizeof(*sched->again));
	sched->again[sched->again_count++] = *run;
}

void sched_ended(struct sched *sched, const struct sched_run *again)
{
	sched->running--;
	if (again != NULL)
		sched_add_again(sched, again);
}

bool sched_failure(struct sched *sched)
{
	sched->failures++;
	if (sched->plan.stop_after_failures == 0 || sched->failures < sched->plan.stop_after_failures)
		return false;
	sched->draining = true;
	return true;
}
