/* hotcell help, hotcell version, and the hidden internal-man by which the manual is checked. */
#include <string.h>

#include "base/term.h"
#include "cli/verbs.h"

static int verb_of(const struct cli_args *args, const struct cli_verb **ret)
{
	*ret = cli_verb_find(args->words[0]);
	if (*ret)
		return 0;
	own(buf_done) struct buf shown = {0};
	term_line(args->words[0], strlen(args->words[0]), 60, &shown);
	cli_say("unknown verb '%s'; 'hotcell help' lists them", buf_text(&shown));
	return -1;
}

static int help_run(void *options, const struct cli_args *args)
{
	own(buf_done) struct buf out = {0};
	const struct cli_verb *verb;

	(void)options;
	if (args->word_count == 0) {
		cli_help_all(&out);
		return cli_print(&out);
	}
	if (verb_of(args, &verb) < 0)
		return EXIT_USAGE;
	cli_help_verb(verb, &out);
	return cli_print(&out);
}

static int version_run(void *options, const struct cli_args *args)
{
	own(buf_done) struct buf out = {0};

	(void)options;
	(void)args;
	buf_str(&out, "hotcell " HOTCELL_VERSION "\n");
	return cli_print(&out);
}

static int internal_man_run(void *options, const struct cli_args *args)
{
	own(buf_done) struct buf out = {0};
	const struct cli_verb *verb;

	(void)options;
	if (verb_of(args, &verb) < 0)
		return EXIT_USAGE;
	cli_man_options(verb, &out);
	return cli_print(&out);
}

const struct cli_verb verb_help = {
	.name = "help",
	.summary = "tell how hotcell, or one verb of it, is used",
	.usage = "[VERB]",
	.words_max = 1,
	.word = "VERB",
	.word_hint = CLI_HINT_VERB,
	.run = help_run,
};

const struct cli_verb verb_version = {
	.name = "version",
	.summary = "print the version",
	.run = version_run,
};

const struct cli_verb verb_internal_man = {
	.name = "internal-man",
	.summary = "print the option list of a verb as mdoc",
	.usage = "VERB",
	.words_min = 1,
	.words_max = 1,
	.word = "VERB",
	.word_hint = CLI_HINT_VERB,
	.hidden = true,
	.run = internal_man_run,
};
