/* hotcell campaign pause, hotcell campaign stop: wishes for the supervisor that is at work on a campaign. */
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/verbs.h"

struct wish_options {
	bool now, no_wait;
	const char *state;
};

static int pause_run(void *data, const struct cli_args *args)
{
	const struct wish_options *options = data;
	return campaign_wish(options->state, args->words[0], WISH_PAUSE, !options->no_wait);
}

static int stop_run(void *data, const struct cli_args *args)
{
	const struct wish_options *options = data;
	return campaign_wish(
		options->state, args->words[0], options->now ? WISH_CANCEL : WISH_STOP, !options->no_wait);
}

#define NO_WAIT_OPTION                                                                             \
	{                                                                                          \
		.name = "no-wait", .kind = CLI_FLAG, CLI_INTO(struct wish_options, no_wait),       \
		.help = "do not wait until it has taken effect"                                    \
	}

static const struct cli_option pause_options[] = {
	NO_WAIT_OPTION,
	CAMPAIGN_STATE_OPTION(struct wish_options, state),
	{0},
};

static const struct cli_option stop_options[] = {
	{.name = "now", .kind = CLI_FLAG, CLI_INTO(struct wish_options, now),
		.help = "end the runs that are at work, too; they are done again when it is resumed"},
	NO_WAIT_OPTION,
	CAMPAIGN_STATE_OPTION(struct wish_options, state),
	{0},
};

const struct cli_verb verb_campaign_pause = {
	.name = "campaign pause",
	.summary = "let a campaign start no further runs for now",
	.usage = "[options] NAME",
	.details = "Runs that are at work go on. 'hotcell campaign resume NAME' lets it start runs again.\n",
	.options = pause_options,
	.options_size = sizeof(struct wish_options),
	.words_min = 1,
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = pause_run,
};

const struct cli_verb verb_campaign_stop = {
	.name = "campaign stop",
	.summary = "end a campaign before all its runs are done",
	.usage = "[options] NAME",
	.details = "It starts no more, and ends when the runs that are at work have; --now ends them, too.\n"
		   "'hotcell campaign resume NAME' continues it, today or after a reboot.\n",
	.options = stop_options,
	.options_size = sizeof(struct wish_options),
	.words_min = 1,
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = stop_run,
};
