/* What this machine can give a native cell: each thing made for real, not looked up. */
#include "cell/native/native.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int child_exits(void *nothing)
{
	(void)nothing;
	_exit(0);
}

bool native_user_ns_works(void)
{
	static int known = -1;
	_Alignas(16) char stack[8192];

	if (known < 0) {
		/* shares our memory while we wait: no page is copied */
		pid_t pid = pretend("no-userns") ? -1
						 : clone(child_exits, stack + sizeof(stack),
							   CLONE_NEWUSER | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		known = pid > 0 && waitpid(pid, NULL, 0) == pid;
	}
	return known != 0;
}

size_t native_probe(struct cell_probe *ret, size_t max)
{
	(void)ret;
	(void)max;
	return 0;
}
