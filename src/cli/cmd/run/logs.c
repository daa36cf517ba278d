/* hotcell logs: what a live cell printed last, or all that a run of a campaign did. */
#include <errno.h>
#include <string.h>

#include "base/term.h"
#include "cli/cmd/campaign/session_logs.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"

struct logs_options {
	bool follow, out, err;
	const char *state;
};

static void tail_freep(struct live_tail **tail)
{
	*tail = live_tail_free(*tail);
}

/* The next question is on its way before the answer is shown, so that nothing a cell prints at its
 * end is missed. */
static int follow(struct live_tail *tail, bool wait, struct err *err)
{
	struct term_filter filter = {0};
	own(buf_done) struct buf rest = {0};
	uint64_t offset = 0;
	bool reader_left = false;
	if (live_tail_ask(tail, 0, false, err) < 0)
		return -1;
	for (int more = 1; more > 0 && !reader_left;) {
		own(buf_done) struct buf bytes = {0};
		more = live_tail_get(tail, &offset, &bytes, err);
		if (!wait)
			more = more < 0 ? -1 : 0;
		if (more > 0 && live_tail_ask(tail, offset, true, err) < 0)
			more = err->code == EPIPE ? 0 : -1; /* it is over */
		if (more < 0)
			return -1;
		if (session_logs_show(&filter, buf_text(&bytes), bytes.len, &reader_left) < 0)
			return err_errno(err, errno, "write to stdout");
	}
	term_filter_end(&filter, &rest);
	return session_logs_show(&(struct term_filter){0}, buf_text(&rest), rest.len, &reader_left);
}

static int run_of_campaign(const struct logs_options *options, const char *word)
{
	const struct session_logs logs = {
		.state = options->state,
		.out = options->out,
		.err = options->err,
		.follow = options->follow,
	};
	struct campaign_target target;
	struct err err = {0};

	return campaign_target_parse(word, &target, &err) < 0 ? cli_fail(&err) : session_logs_run(&logs, &target);
}

static int run(void *data, const struct cli_args *args)
{
	const struct logs_options *options = data;
	own(live_list_done) struct live_list list = {0};
	struct err err = {0};

	if (strchr(args->words[0], '/'))
		return run_of_campaign(options, args->words[0]);
	if (options->out || options->err || options->state) {
		(void)err_set(&err, ERR_USAGE,
			"--stdout, --stderr and --state are for a run of a campaign, as in 'hotcell logs NAME/7'");
		return cli_fail(&err);
	}
	live_list(&list);
	const struct live_cell *cell = live_find(&list, args->words[0], &err);
	if (!cell)
		return cli_fail(&err);
	own(tail_freep) struct live_tail *tail = live_tail_open(cell, &err);
	if (!tail || follow(tail, options->follow, &err) < 0)
		return cli_fail(&err);
	return 0;
}

#define INTO(member) CLI_INTO(struct logs_options, member)

static const struct cli_option options_table[] = {
	{.name = "follow", .letter = 'f', .kind = CLI_FLAG, INTO(follow), .help = "go on until the cell or run is over"},
	{.name = "stdout", .kind = CLI_FLAG, INTO(out), .help = "of a run of a campaign, only what it printed to stdout"},
	{.name = "stderr", .kind = CLI_FLAG, INTO(err), .help = "of a run of a campaign, only what it printed to stderr"},
	CAMPAIGN_STATE_OPTION(struct logs_options, state),
	{0},
};

const struct cli_verb verb_logs = {
	.name = "logs",
	.summary = "print the output of a live cell or of a campaign's run",
	.usage = "[options] CELL|NAME/RUN",
	.details = "CELL is an id as 'hotcell ps' prints it, or the beginning of one; its latest 64 KB are kept.\n"
		   "NAME/7 is the seventh run of a campaign, whether it is at work or over: first all of its\n"
		   "stdout, then all of its stderr; with -f as they come.\n",
	.options = options_table,
	.options_size = sizeof(struct logs_options),
	.words_min = 1,
	.words_max = 1,
	.word = "CELL",
	.word_hint = CLI_HINT_CELL,
	.run = run,
};
