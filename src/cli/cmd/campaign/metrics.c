/* hotcell metrics: the numbers of campaigns as Prometheus text. */
#include "report/metrics.h"
#include "cli/cmd/campaign/args.h"
#include "base/out_file.h"
#include "cli/cmd/verbs.h"

struct metrics_options {
	const char *output, *state;
};

static int all_text(const struct campaign_place *place, struct buf *out, struct err *err)
{
	struct campaign_status *statuses = NULL;
	size_t count = 0;
	int rc = campaign_statuses(place, &statuses, &count, err);

	if (rc == 0)
		metrics_text(statuses, count, out);
	for (size_t i = 0; i < count; i++)
		status_done(&statuses[i]);
	free(statuses);
	return rc;
}

static int one_text(const struct campaign_place *place, const char *name, struct buf *out, struct err *err)
{
	own(status_done) struct campaign_status status = {0};

	if (plan_name_check(name, err) < 0 || status_read(place->ledger, place->state, name, &status, err) < 0)
		return -1;
	metrics_text(&status, 1, out);
	return 0;
}

/* A machine's collector asks before the first campaign, too: it gets an empty answer. */
static int text_of(const struct metrics_options *options, const char *name, struct buf *out, struct err *err)
{
	own(campaign_place_done) struct campaign_place place = {0};

	if (!name && campaign_place_is_new(options->state)) {
		metrics_text(NULL, 0, out);
		return 0;
	}
	if (campaign_place_open(&place, options->state, LEDGER_READ, err) < 0)
		return -1;
	return name ? one_text(&place, name, out, err) : all_text(&place, out, err);
}

static int run(void *data, const struct cli_args *args)
{
	const struct metrics_options *options = data;
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (text_of(options, args->word_count > 0 ? args->words[0] : NULL, &out, &err) < 0)
		return cli_fail(&err);
	if (!options->output || out_file_is_stdout(options->output))
		return cli_print(&out);
	return out_file_write(options->output, &out, true, &err) < 0 ? cli_fail(&err) : 0;
}

static const struct cli_option options_table[] = {
	{.name = "output", .letter = 'o', .value = "FILE", .kind = CLI_TEXT, CLI_INTO(struct metrics_options, output),
		.hint = CLI_HINT_FILE, .fallback = "stdout",
		.help = "where to write them, by a rename; as node_exporter's textfile collector wants it"},
	CAMPAIGN_STATE_OPTION(struct metrics_options, state),
	{0},
};

const struct cli_verb verb_metrics = {
	.name = "metrics",
	.summary = "print the numbers of campaigns for Prometheus",
	.usage = "[options] [NAME]",
	.details = "Without NAME, those of every campaign, each with its name as the label 'campaign'.\n",
	.options = options_table,
	.options_size = sizeof(struct metrics_options),
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
