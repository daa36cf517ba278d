/* hotcell: the program.
 *
 * Theory of operation
 *
 *	user's shell
 *	  '- hotcell run            the supervisor: this process, one thread, one event loop
 *	       |- zygote            forked before anything else is done; makes cells on request
 *	       |    '- cell init    pid 1 of a cell  ->  the program and whatever it starts
 *	       '- control socket    in the user's runtime folder; speaks with the verbs below
 *	  '- hotcell ps|kill|logs|exec      short-lived; they ask the supervisors of live cells
 *
 * main() does only what must come first: it makes sure that descriptors 0 to 2 exist (a file of
 * ours must never become somebody's stdout), takes the environment out of the kernel's sight, and
 * hands the words to the verb's table. A verb is a constant in cmd_NAME.c.
 *
 * The supervisor runs with the rights of the user who called it and gains none. It holds the
 * cell's limits (clock, bytes of output) and the other ends of the cell's stdin, stdout and
 * stderr; the cell gets pipes or a terminal of its own, never the user's. Whatever kills the
 * supervisor, kill -9 included, kills the zygote and with it every cell: nothing is left that
 * would need tidying by hand. What makes a cell, and in which order its protections are put on,
 * is told in src/cell/native/maker/zygote.c and init.c.
 *
 * Everything a program in a cell printed, named or left behind is hostile until filtered: it
 * reaches the user's terminal only through base/term. Libraries below return errors; only this
 * folder prints. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/cmd/verbs.h"
#include "cli/core/words_fd.h"
#include "run/environment.h"

const struct cli_verb *const cli_verbs[] = {
	&verb_run,
	&verb_exec,
	&verb_ps,
	&verb_kill,
	&verb_logs,
	&verb_doors,
	&verb_campaign_run,
	&verb_campaign_init,
	&verb_campaign_schema,
	&verb_campaign_list,
	&verb_campaign_show,
	&verb_campaign_pause,
	&verb_campaign_resume,
	&verb_campaign_stop,
	&verb_campaign_rm,
	&verb_fuzz_mcp,
	&verb_fuzz_tool,
	&verb_fuzz_function,
	&verb_corpus_list,
	&verb_corpus_merge,
	&verb_corpus_minimise,
	&verb_corpus_export,
	&verb_corpus_import,
	&verb_repro,
	&verb_findings_list,
	&verb_findings_show,
	&verb_findings_export,
	&verb_findings_suppress,
	&verb_findings_repro,
	&verb_findings_minimise,
	&verb_status,
	&verb_report,
	&verb_metrics,
	&verb_audit_verify,
	&verb_audit_show,
	&verb_clean,
	&verb_trust,
	&verb_manifest_create,
	&verb_manifest_verify,
	&verb_profile_list,
	&verb_profile_show,
	&verb_profile_check,
	&verb_profile_learn,
	&verb_profile_schema,
	&verb_doctor,
	&verb_review,
	&verb_help,
	&verb_version,
	&verb_completion,
	&verb_internal_man,
#ifdef HOTCELL_WEAKEN
	&verb_self_check,
#endif
	NULL,
};

/* What people type before a verb, and the verb it stands for. */
static const struct {
	const char *word;
	const struct cli_verb *verb;
} aliases[] = {
	{"--help", &verb_help},
	{"-h", &verb_help},
	{"--version", &verb_version},
	{"-V", &verb_version},
};

static const struct cli_verb *alias_find(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcmp(aliases[i].word, word) == 0)
			return aliases[i].verb;
	}
	return NULL;
}

static int standard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	}
	return 0;
}

/* A core of ours would hold values of variables and credentials, in a folder that a cell may be shown. One byte, not
 * none: then the machine's own handler of cores is not asked either. What a cell leaves has limits of its own. */
static void no_core(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < 1 ? limit.rlim_max : 1;
	(void)setrlimit(RLIMIT_CORE, &limit);
}

int main(int argc, char **argv)
{
	no_core();
	if (standard_descriptors() < 0)
		return EXIT_OURS;
	environment_hide();
	(void)signal(SIGCHLD, SIG_DFL); /* whoever started us may ignore it, and then nobody could wait for a child */
	(void)signal(
		SIGPIPE, SIG_IGN); /* a reader that went away is an error of write, not our end */
	struct err err = {0};
	if (words_fd_is_given(argc, argv) && words_fd_read(argv, &argc, &argv, &err) < 0) {
		cli_say("%s", err.text);
		return EXIT_USAGE;
	}
	if (argc < 2) {
		cli_say("no verb given; 'hotcell help' lists them, 'hotcell run -- COMMAND' runs one");
		return EXIT_USAGE;
	}
	const struct cli_verb *verb = alias_find(argv[1]);
	if (verb)
		return cli_run(verb, argc - 2, argv + 2);
	return cli_dispatch(argc - 1, argv + 1);
}
