/* hotcell campaign rm: campaigns and their session folders, gone for good. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "project/state.h"
#include "cli/cmd/campaign/remove.h"
#include "cli/cmd/verbs.h"

struct rm_options {
	bool keep_files, yes;
	const char *state;
};

/* All names before any is removed: a mistyped one removes nothing. */
static int check(const struct campaign_place *place, const struct cli_args *args, struct err *err)
{
	for (int i = 0; i < args->word_count; i++) {
		own(campaign_record_done) struct campaign_record campaign = {0};
		const char *name = args->words[i];
		if (plan_name_check(name, err) < 0)
			return -1;
		int pid = state_holder(place->state, name);
		if (pid != 0)
			return err_set(err, ERR_USAGE,
				"campaign '%s' is held by process %d and cannot be removed; 'hotcell campaign stop %s' ends it",
				name, pid, name);
		if (campaign_remove_is_half_done(place, name))
			continue;
		if (ledger_campaign_get(place->ledger, name, &campaign, err) < 0)
			return -1;
	}
	return 0;
}

/* 1: yes; 0: no; -1: nobody can be asked. */
static int ask(const struct campaign_place *place, const struct rm_options *options, const struct cli_args *args,
	struct err *err)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return err_set(err, ERR_USAGE, "nothing was removed: there is no terminal to ask on; --yes removes without asking");
	for (int i = 0; i < args->word_count; i++) {
		own(campaign_record_done) struct campaign_record campaign = {0};
		struct err gone = {0};
		if (ledger_campaign_get(place->ledger, args->words[i], &campaign, &gone) < 0)
			continue;
		own(buf_done) struct buf folder = {0};
		term_line(campaign.output, strlen(campaign.output), 200, &folder);
		(void)fprintf(stderr, "%s: %" PRIu64 " of %" PRIu64 " runs complete, sessions in %s%s\n", campaign.name,
			campaign_sums_complete(&campaign.sums), campaign.plan.runs, buf_text(&folder),
			options->keep_files ? " (kept)" : "");
	}
	(void)fprintf(stderr, "Remove for good? [y/N] ");
	(void)fflush(stderr);
	if (!fgets(answer, sizeof(answer), stdin))
		return 0;
	return answer[0] == 'y' || answer[0] == 'Y';
}

static int remove_campaign(const struct campaign_place *place, const struct rm_options *options, const char *name,
	struct err *err)
{
	own(campaign_record_done) struct campaign_record campaign = {0};
	own(fd_closep) int lock = state_lock(place->state, name, err);
	own(buf_done) struct buf out = {0};
	uint64_t removed = 0, kept = 0;
	bool left = false;

	if (lock < 0 || ledger_campaign_get(place->ledger, name, &campaign, err) < 0)
		return -1;
	if (!options->keep_files &&
		(campaign_remove_files(&campaign, NULL, NULL, &removed, &kept, err) < 0 ||
			campaign_remove_folder(&campaign, &left, err) < 0))
		return -1;
	if (campaign_remove_rows(place, &campaign, err) < 0)
		return -1;
	if (left)
		cli_say("'%s' is left: something else than sessions is in it", campaign.output);
	buf_fmt(&out, "%s: removed", name);
	if (options->keep_files)
		buf_str(&out, ", its sessions kept");
	else
		buf_fmt(&out, ", with %" PRIu64 " session folder%s", removed, removed == 1 ? "" : "s");
	buf_char(&out, '\n');
	(void)cli_print(&out);
	return 0;
}

static int run(void *data, const struct cli_args *args)
{
	const struct rm_options *options = data;
	own(campaign_place_done) struct campaign_place place = {0};
	struct err err = {0};

	if (campaign_place_open(&place, options->state, LEDGER_WRITE, &err) < 0 || check(&place, args, &err) < 0)
		return cli_fail(&err);
	int yes = options->yes ? 1 : ask(&place, options, args, &err);
	if (yes < 0)
		return cli_fail(&err);
	if (yes == 0) {
		cli_say("nothing was removed");
		return 1;
	}
	for (int i = 0; i < args->word_count; i++) {
		const char *name = args->words[i];
		int rc = 0;
		if (campaign_remove_is_half_done(&place, name))
			rc = campaign_remove_rest(&place, name, &err);
		else if (!ledger_name_free(place.ledger, name)) /* it is free if it was named twice */
			rc = remove_campaign(&place, options, name, &err);
		if (rc < 0)
			return cli_fail(&err);
	}
	return 0;
}

static const struct cli_option options_table[] = {
	{.name = "keep-files", .kind = CLI_FLAG, CLI_INTO(struct rm_options, keep_files),
		.help = "leave the session folders where they are"},
	{.name = "yes", .letter = 'y', .kind = CLI_FLAG, CLI_INTO(struct rm_options, yes), .help = "do not ask"},
	CAMPAIGN_STATE_OPTION(struct rm_options, state),
	{0},
};

const struct cli_verb verb_campaign_rm = {
	.name = "campaign rm",
	.summary = "remove campaigns and their session folders",
	.usage = "[options] NAME...",
	.details = "Asks first. One that a supervisor is at work on is not removed.\n",
	.options = options_table,
	.options_size = sizeof(struct rm_options),
	.words_min = 1,
	.words_max = -1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
