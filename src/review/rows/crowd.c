#include "review/rows/crowd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define CROWD 100
#define CROWD_LEAST 80 /* so many must have had a cell, or it was no crowd */
#define AMONG_LEAST 20 /* so many must be there still when the healthy one is done: half of the programs end early */
#define SLOWER (SANITIZED ? 7 : 1) /* a sanitized cell takes 62 ms of a processor to start and end, another 10 */
#define CLOCK_S (SANITIZED ? 40 : 4) /* of each hostile cell; a hundred sanitized ones take half a minute to start */
#define HEALTHY_NS (4 * SLOWER * NS_PER_S) /* by then a healthy cell must have done its work */
#define GONE_NS (15 * SLOWER * NS_PER_S) /* for all to have ended on their clocks */
#define ATTEMPTS 3 /* a machine may be busy with something else: only what never works is the crowd's doing */

static const char crowd_flags[] = "-q -t %ds -m 48M -p 30 -c 0.2 --disk 8M --tmp-size 8M --max-output 4M";
/* None that computes ends by itself before its clock. */
static const char *const crowd_programs[] = {
	"exhaust forkbomb", "exhaust memory 2000", "exhaust print 1", "exhaust fill filler", "exhaust inodes many",
	"exhaust burn 60000 8", "exhaust swarm 60000", "exhaust sysv 512", "exhaust churn 60000", "bypass hang",
};

struct crowd {
	pid_t pids[CROWD];
	size_t count, cells; /* those that are there still; those that ended and had been cells */
	size_t among; /* those that were there when the healthy one was done */
	bool worked; /* the healthy one did, in time */
};

static void crowd_start(struct review_try *try, struct crowd *crowd)
{
	own(freep) char *flags = xfmt(crowd_flags, CLOCK_S);

	while (crowd->count < CROWD) {
		const char *program = crowd_programs[crowd->count % ARRAY_LEN(crowd_programs)];
		pid_t pid = try_beside(try, &(struct try_command){.flags = flags, .program = program});
		if (pid < 0)
			return;
		crowd->pids[crowd->count++] = pid;
	}
}

/* Whether there was a cell, and the program in it began: hotcell's own codes for what was not are 125 to 127. */
static bool was_cell(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) < 125 || WEXITSTATUS(status) > 127) && WEXITSTATUS(status) != 2;
}

/* How many there are still; those that ended are reaped and counted. */
static size_t crowd_left(struct crowd *crowd)
{
	size_t left = 0;
	int status;

	for (size_t i = 0; i < crowd->count; i++) {
		if (waitpid(crowd->pids[i], &status, WNOHANG) == 0)
			crowd->pids[left++] = crowd->pids[i];
		else
			crowd->cells += was_cell(status);
	}
	return crowd->count = left;
}

static void crowd_end(struct review_try *try, struct crowd *crowd)
{
	uint64_t until = clock_now() + GONE_NS;

	while (crowd_left(crowd) > 0 && clock_now() < until)
		(void)usleep(20000);
	if (!crowd->count)
		return;
	try_escaped(try, "%zu hostile cells did not end on their clocks", crowd->count);
	for (size_t i = 0; i < crowd->count; i++) {
		(void)kill(crowd->pids[i], SIGKILL);
		(void)waitpid(crowd->pids[i], NULL, 0);
	}
}

static bool crowd_was_one(const struct crowd *crowd)
{
	return crowd->cells >= CROWD_LEAST && crowd->among >= AMONG_LEAST;
}

/* A healthy cell does its work while the crowd is there. */
static void crowd_try(struct review_try *try, struct crowd *ret)
{
	*ret = (struct crowd){0};
	crowd_start(try, ret);
	uint64_t begun = clock_now();
	bool ran = try_run(try, &(struct try_command){.flags = "-m 64M", .program = "exhaust pace 10"}) == 0;
	ret->worked = ran && clock_now() - begun < HEALTHY_NS && try_said(try, "healthy");
	ret->among = crowd_left(ret);
	crowd_end(try, ret);
}

void crowd_alone(struct review_try *try)
{
	struct crowd crowd = {0};

	for (int i = 0; i < ATTEMPTS && !(crowd.worked && crowd_was_one(&crowd)) && try->verdict == REVIEW_HELD; i++)
		crowd_try(try, &crowd);
	if (crowd.cells < CROWD_LEAST)
		try_failed(try, "only %zu of %d hostile cells came about", crowd.cells, CROWD);
	else if (!crowd.worked)
		try_escaped(try, "a healthy cell did not get to do its work among hostile ones");
	else if (crowd.among < AMONG_LEAST)
		try_failed(try, "only %zu hostile cells were there beside the healthy one", crowd.among);
	try_judge(try);
}
