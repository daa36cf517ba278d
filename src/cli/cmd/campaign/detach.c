#include "cli/cmd/campaign/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buf.h"
#include "base/fs.h"
#include "project/state.h"
#include "cli/core/cli.h"

/* What the child says of its beginning. */
struct word {
	int code; /* 0: it has begun */
	struct err err;
};

static int await(int from, pid_t child, const char *name, const char *log)
{
	struct word word;

	if (read(from, &word, sizeof(word)) != (ssize_t)sizeof(word)) {
		(void)waitpid(child, NULL, 0);
		cli_say("campaign '%s' did not begin; its log is '%s'", name, log);
		return EXIT_OURS;
	}
	if (word.code != 0)
		return cli_fail(&word.err);
	cli_say("campaign '%s' goes on in the background as process %d; 'hotcell status %s --watch' shows it, "
		"'hotcell campaign stop %s' ends it",
		name, (int)child, name, name);
	return 0;
}

static void become_child(int folder)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = beneath_try(folder, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)setsid();
	(void)signal(SIGHUP, SIG_IGN);
	(void)dup2(null, STDIN_FILENO);
	(void)dup2(out >= 0 ? out : null, STDOUT_FILENO);
	(void)dup2(out >= 0 ? out : null, STDERR_FILENO);
	fd_close(&null);
	fd_close(&out);
}

bool detach(const char *state, const char *name, int *ret_ready, int *ret_code)
{
	own(freep) char *shown = state_campaign(state, name);
	own(freep) char *log = xfmt("%s/log", shown);
	struct err err = {0};
	own(fd_closep) int folder = state_campaign_open(state, name, true, &err);
	struct stat st;
	int tell[2];

	*ret_ready = -1;
	if (folder >= 0 && beneath_stat(folder, "log", &st) == 0 && !S_ISREG(st.st_mode)) {
		(void)beneath_fail(folder, "log", EEXIST, "open", &err);
		fd_close(&folder);
	}
	if (folder < 0) {
		*ret_code = cli_fail(&err);
		return true;
	}
	if (pipe2(tell, O_CLOEXEC) < 0) {
		(void)err_errno(&err, errno, "make a pipe");
		*ret_code = cli_fail(&err);
		return true;
	}
	pid_t child = fork();
	if (child == 0) {
		(void)close(tell[0]);
		become_child(folder);
		*ret_ready = tell[1];
		return false;
	}
	(void)close(tell[1]);
	if (child < 0) {
		(void)err_errno(&err, errno, "go to the background");
		*ret_code = cli_fail(&err);
	} else {
		*ret_code = await(tell[0], child, name, log);
	}
	(void)close(tell[0]);
	return true;
}

static void tell(int ready, const struct word *word)
{
	(void)!write(ready, word, sizeof(*word));
	(void)close(ready);
}

void detach_ready(int ready)
{
	struct word word;

	memset(&word, 0, sizeof(word));
	if (ready >= 0)
		tell(ready, &word);
}

int detach_failed(int ready, const struct err *err)
{
	struct word word;

	if (ready < 0)
		return cli_fail(err);
	memset(&word, 0, sizeof(word));
	word.err = *err;
	word.code = err->code == ERR_USAGE ? EXIT_USAGE : EXIT_OURS;
	tell(ready, &word);
	return word.code;
}
