/* Attacks on doors that one process serves for several runs, and on a policy that changes while they are open. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "review/rows/doors.h"
#include "review/observe/net.h"

#define CAMPAIGN_NS (25 * NS_PER_S)
#define BUDGET 3 /* requests, as in the row */

/* Its exit code; -1: it did not end in time. */
static int campaign_wait(pid_t pid, uint64_t until)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_now() > until) {
			(void)kill(pid, SIGTERM);
			(void)waitpid(pid, &status, 0);
			return -1;
		}
		(void)usleep(20000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Says yes to a larger budget when the first is used up: its doors get another policy then. */
static bool raise_budget(struct review_try *try, const struct net *net, uint64_t until)
{
	own(freep) char *state = xfmt("%s/state", try->dir);
	const char *const argv[] = {
		try->options->hotcell, "campaign", "resume", "doors", "--state", state, "--budget", "requests=100000", NULL};

	while (net_calls(net) < BUDGET && clock_now() < until)
		(void)usleep(20000);
	while (clock_now() < until) { /* until it has paused, it is told that it is at work already */
		own(buf_done) struct buf said = {0};
		int code = try_host(try, argv, &said);
		if (code <= 0)
			return code == 0;
		(void)usleep(100000);
	}
	return false;
}

static void campaign(struct review_try *try, bool raises)
{
	const struct try_command command = {
		.verb = "campaign run", .flags = try->attack->flags, .program = try->attack->program};
	uint64_t until = clock_now() + CAMPAIGN_NS;

	if (try->outside) {
		try_not_applicable(try, "without a sandbox there are no doors");
		return;
	}
	own(net_freep) struct net *net = net_open(try);
	pid_t pid = net ? try_beside(try, &command) : -1;
	if (pid < 0)
		return;
	bool raised = !raises || raise_budget(try, net, until);
	int code = campaign_wait(pid, until);
	if (!raised || code != 0)
		try_failed(try, raised ? "the campaign ended with %d" : "its budget could not be raised, and it ended with %d", code);
	try->tries = (unsigned)net_calls(net);
	doors_judge(try, net);
	if (try->attack->judge)
		try->attack->judge(try);
	try->own = NULL;
	try->enter = NULL;
}

void doors_alone_reload(struct review_try *try)
{
	campaign(try, true);
}

void doors_alone_neighbours(struct review_try *try)
{
	campaign(try, false);
}
