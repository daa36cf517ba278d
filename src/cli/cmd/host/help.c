/* hotcell help, hotcell version, and the hidden internal-man by which the manual is checked. */
#include <string.h>

#include "base/term.h"
#include "cli/cmd/verbs.h"

/* Fails, and says why, unless the words are the name of a verb or group and nothing else. */
static int verb_of(const struct cli_args *args, struct cli_pick *ret)
{
	own(buf_done) struct buf shown = {0};
	struct err err = {0};

	if (cli_verb_pick(args->word_count, args->words, ret, &err) < 0) {
		(void)cli_fail(&err);
		return -1;
	}
	if (ret->words == args->word_count)
		return 0;
	const char *more = args->words[ret->words];
	term_line(more, strlen(more), 60, &shown);
	cli_say("one VERB is taken, but '%s' is one more", buf_text(&shown));
	return -1;
}

static int help_run(void *options, const struct cli_args *args)
{
	own(buf_done) struct buf out = {0};
	struct cli_pick pick;

	(void)options;
	if (args->word_count == 0) {
		cli_help_all(&out);
		return cli_print(&out);
	}
	if (verb_of(args, &pick) < 0)
		return EXIT_USAGE;
	if (pick.verb)
		cli_help_verb(pick.verb, &out);
	else
		cli_help_group(pick.group, &out);
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
	struct cli_pick pick;

	(void)options;
	if (verb_of(args, &pick) < 0)
		return EXIT_USAGE;
	if (!pick.verb) {
		cli_say("'%s' is a group of verbs: name one of them", pick.group);
		return EXIT_USAGE;
	}
	cli_man_options(pick.verb, &out);
	return cli_print(&out);
}

const struct cli_verb verb_help = {
	.name = "help",
	.summary = "tell how hotcell, or one verb of it, is used",
	.usage = "[VERB]",
	.words_max = 2, /* a name may be two words */
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
	.words_max = 2, /* a name may be two words */
	.word = "VERB",
	.word_hint = CLI_HINT_VERB,
	.hidden = true,
	.run = internal_man_run,
};
