/* What became of its process: it ended, it does not answer, it grows. */
#include <signal.h>
#include <string.h>

#include "oracle/look.h"

#define SAMPLES_MIN 20
#define THIRD_MAX 256 /* samples of a third that are looked at */
#define GROWTH_MIN ((uint64_t)32 << 20) /* bytes from the first third of the samples to the last */
#define MEGABYTE ((uint64_t)1 << 20)

/* ---- crash ---- */

static void prove_end(struct verdict *verdict, const struct observation *seen)
{
	const struct reply *reply = &seen->reply;
	struct span named = reply->said ? exception_line(reply->said, reply->said_len) : (struct span){0};

	if (!verdict)
		return;
	verdict_prove(verdict, "the reply to call %llu: %s", (unsigned long long)seen->calls, reply_kind_name(reply->kind));
	if (named.len)
		verdict_prove(verdict, "on stderr: %.*s", (int)named.len, named.at);
	else if (reply->said_len > 0)
		verdict_quote(verdict, "on stderr", reply->said, reply->said_len,
			reply->said_len > 160 ? reply->said_len - 160 : 0, 160);
	(void)text_trace(reply->said, reply->said_len, &verdict->frames, &verdict->file, &verdict->line);
}

static struct verdict *crash_of(const struct observation *seen, struct verdicts *ret)
{
	const struct cell_result *result = seen->result;
	bool early = seen->reply.kind == REPLY_ENDED;
	const char *name;

	switch (result->outcome) {
	case CELL_SIGNALED:
		name = sigabbrev_np(result->signal);
		struct verdict *verdict = name ? verdict_add(ret, "crash", "it was ended by SIG%s", name)
					       : verdict_add(ret, "crash", "it was ended by signal %d", result->signal);
		verdict_prove(verdict, "its cell says: signal %d", result->signal);
		return verdict;
	case CELL_DENIED:
		verdict = verdict_add(ret, "crash", "the filter of system calls ended it");
		verdict_prove(verdict, "its cell says: %s, signal %d", cell_outcome_name(result->outcome), result->signal);
		return verdict;
	case CELL_DISK_LIMIT:
		verdict = early ? verdict_add(ret, "crash", "it ended with its scratch space full") : NULL;
		verdict_prove(verdict, "its cell says: %s", cell_outcome_name(result->outcome));
		return verdict;
	case CELL_EXITED:
		verdict = early ? verdict_add(ret, "crash", "it ended by itself (exit %d) in the middle of a call",
					  result->exit_code)
				: NULL;
		verdict_prove(verdict, "its cell says: exit %d", result->exit_code);
		return verdict;
	default: return NULL; /* we ended it, or "memory" tells it */
	}
}

void judge_crash(const struct observation *seen, struct verdicts *ret)
{
	const struct cell_result *result = seen->ended ? seen->result : NULL;

	/* what did not answer was ended by us; what was lost says nothing about the program */
	if (seen->reply.kind == REPLY_LATE || (result && result->lost))
		return;
	if (result)
		prove_end(crash_of(seen, ret), seen);
	else if (seen->reply.kind == REPLY_ENDED)
		prove_end(verdict_add(ret, "crash", "it ended in the middle of a call"), seen);
}

/* ---- hang ---- */

void judge_hang(const struct observation *seen, struct verdicts *ret)
{
	if (seen->reply.kind != REPLY_LATE)
		return;
	struct verdict *verdict = verdict_add(ret, "hang", "it did not answer in time");
	verdict_prove(verdict, "no answer within %llu ms; a call may take %llu ms",
		(unsigned long long)(seen->reply.ns / 1000000), (unsigned long long)(seen->limit_ns / 1000000));
	if (seen->reply.said_len > 0)
		verdict_quote(verdict, "on stderr", seen->reply.said, seen->reply.said_len,
			seen->reply.said_len > 160 ? seen->reply.said_len - 160 : 0, 160);
}

/* ---- memory ---- */

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static void third_of(const uint64_t *from, size_t count, uint64_t *low, uint64_t *middle)
{
	uint64_t sorted[THIRD_MAX];
	size_t step = count / THIRD_MAX + 1, kept = 0;

	for (size_t i = 0; i < count; i += step)
		sorted[kept++] = from[i];
	qsort(sorted, kept, sizeof(*sorted), by_size);
	*low = sorted[0];
	*middle = sorted[kept / 2];
}

/* Steady growth: the lowest of the last third is far above the middle of the first, so what rises and falls again as
 * its garbage is collected is none; and there is growth in the second half too, so that what warmed up and stays is
 * none. */
static bool grows(const uint64_t *memory, size_t count, uint64_t ret[3])
{
	uint64_t low[3];
	size_t third = count / 3;

	if (count < SAMPLES_MIN)
		return false;
	for (size_t i = 0; i < 3; i++)
		third_of(memory + (i == 2 ? count - third : i * third), third, &low[i], &ret[i]);
	return low[2] > ret[0] + GROWTH_MIN && low[2] / 3 > ret[0] / 2 && low[2] > low[1] && ret[1] > ret[0] &&
		ret[2] - ret[0] > GROWTH_MIN && ret[2] > ret[1] && ret[2] - ret[1] > (ret[2] - ret[0]) / 5;
}

void judge_memory(const struct observation *seen, struct verdicts *ret)
{
	const struct cell_result *result = seen->ended ? seen->result : NULL;
	uint64_t middle[3];

	if (result && !result->lost && result->outcome == CELL_OOM) {
		struct verdict *verdict = verdict_add(ret, "memory", "it went beyond the memory of its cell");
		verdict_prove(verdict, "its cell says: %s, at most %llu MB, in call %llu", cell_outcome_name(result->outcome),
			(unsigned long long)(result->peak_memory / MEGABYTE), (unsigned long long)seen->calls);
	} else if (seen->memory && grows(seen->memory, seen->memory_count, middle)) {
		struct verdict *verdict = verdict_add(ret, "memory", "its memory grew with the calls");
		verdict_prove(verdict, "over %llu calls, the middle of each third of %zu samples: %llu MB, %llu MB, %llu MB",
			(unsigned long long)seen->calls, seen->memory_count, (unsigned long long)(middle[0] / MEGABYTE),
			(unsigned long long)(middle[1] / MEGABYTE), (unsigned long long)(middle[2] / MEGABYTE));
	}
}
