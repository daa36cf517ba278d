/* hotcell report: one campaign as one HTML page. */
#include <stdio.h>

#include "base/term.h"
#include "campaign/report.h"
#include "cli/campaign_args.h"
#include "base/out_file.h"
#include "cli/verbs.h"

struct report_options {
	const char *output, *state;
};

static int write_page(const char *path, const struct buf *page)
{
	own(buf_done) struct buf line = {0};
	struct err err = {0};

	if (out_file_is_stdout(path))
		return cli_print(page);
	if (out_file_write(path, page, true, &err) < 0)
		return cli_fail(&err);
	buf_fmt(&line, "%s\n", path);
	return cli_print(&line);
}

static int run(void *data, const struct cli_args *args)
{
	const struct report_options *options = data;
	own(campaign_place_done) struct campaign_place place = {0};
	own(status_done) struct campaign_status status = {0};
	own(buf_done) struct buf page = {0};
	struct err err = {0};
	const char *name = args->words[0];
	own(freep) char *path = options->output ? xstrdup(options->output) : xfmt("%s-report.html", name);

	if (plan_name_check(name, &err) < 0 || campaign_place_open(&place, options->state, LEDGER_READ, &err) < 0 ||
		status_read(place.ledger, place.state, name, &status, &err) < 0 ||
		report_html_at(place.ledger, &status, out_file_is_stdout(path) ? NULL : path, &page, &err) < 0)
		return cli_fail(&err);
	return write_page(path, &page);
}

static const struct cli_option options_table[] = {
	{.name = "output", .letter = 'o', .value = "FILE", .kind = CLI_TEXT, CLI_INTO(struct report_options, output),
		.hint = CLI_HINT_FILE, .fallback = "NAME-report.html", .help = "where to write it; - is stdout"},
	CAMPAIGN_STATE_OPTION(struct report_options, state),
	{0},
};

const struct cli_verb verb_report = {
	.name = "report",
	.summary = "write a campaign's results as one HTML page",
	.usage = "[options] NAME",
	.details = "The page needs nothing else: no network, no other file. What runs printed is escaped in it.\n",
	.options = options_table,
	.options_size = sizeof(struct report_options),
	.words_min = 1,
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
