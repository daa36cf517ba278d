#include "review/crowd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define CROWD_FOR_CPU 10
#define CROWD_MAX 100
#define CROWD_NS (4 * NS_PER_S) /* as in the flags: a healthy cell must have done its work by then */
#define GONE_NS (15 * NS_PER_S) /* for all to have ended on their clocks */
#define ATTEMPTS 3 /* a machine may be busy with something else: only what never works is the crowd's doing */

static const char crowd_flags[] = "-q -t 4s -m 48M -p 30 -c 0.2 --disk 8M --tmp-size 8M --max-output 4M";
static const char *const crowd_programs[] = {
	"exhaust forkbomb", "exhaust memory 2000", "exhaust print 1", "exhaust fill filler", "exhaust inodes many",
	"exhaust burn 5000 8", "exhaust swarm 5000", "exhaust sysv 512", "exhaust churn 5000", "bypass hang",
};

struct crowd {
	pid_t pids[CROWD_MAX];
	size_t count;
};

static void crowd_start(struct review_try *try, struct crowd *crowd)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t count = cpus > 0 && cpus * CROWD_FOR_CPU < CROWD_MAX ? (size_t)cpus * CROWD_FOR_CPU : CROWD_MAX;

	while (crowd->count < count) {
		const char *program = crowd_programs[crowd->count % ARRAY_LEN(crowd_programs)];
		pid_t pid = try_beside(try, &(struct try_command){.flags = crowd_flags, .program = program});
		if (pid < 0)
			return;
		crowd->pids[crowd->count++] = pid;
	}
}

/* How many there are still; their processes are reaped. */
static size_t crowd_left(struct crowd *crowd)
{
	size_t left = 0;

	for (size_t i = 0; i < crowd->count; i++)
		if (waitpid(crowd->pids[i], NULL, WNOHANG) == 0)
			crowd->pids[left++] = crowd->pids[i];
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

/* Whether a healthy cell did its work while the crowd was there. */
static bool healthy(struct review_try *try)
{
	uint64_t begun = clock_now();
	struct crowd crowd = {0};

	crowd_start(try, &crowd);
	bool ran = try_run(try, &(struct try_command){.flags = "-m 64M", .program = "exhaust pace 10"}) == 0;
	bool worked = ran && clock_now() - begun < CROWD_NS && try_said(try, "healthy");
	crowd_end(try, &crowd);
	return worked;
}

void crowd_alone(struct review_try *try)
{
	bool worked = false;

	for (int i = 0; i < ATTEMPTS && !worked && try->verdict == REVIEW_HELD; i++)
		worked = healthy(try);
	if (!worked)
		try_escaped(try, "a healthy cell did not get to do its work among hostile ones");
	try_judge(try);
}
