/* hotcell report: one campaign, and what was found and reached in the project, as one HTML page. */
#include <stdio.h>
#include <time.h>

#include "base/term.h"
#include "report/campaign.h"
#include "project/state.h"
#include "cli/cmd/campaign/args.h"
#include "base/out_file.h"
#include "cli/cmd/finding/place.h"
#include "report/functions.h"
#include "cli/cmd/verbs.h"
#include "report/findings.h"

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

/* What is known of the project besides campaigns. */
struct project {
	struct findings_place place;
	const struct finding **list;
	struct findings findings; /* that are not fixed */
	struct cover_histories functions;
};

static void project_done(struct project *project)
{
	free(project->list);
	findings_place_done(&project->place);
	cover_histories_done(&project->functions);
}

static int project_open(struct project *ret, const char *given, struct err *err)
{
	int64_t now = time(NULL);
	struct err none = {0};

	*ret = (struct project){0};
	if (findings_place_open(&ret->place, given, err) < 0)
		return -1;
	const struct finding_store *store = &ret->place.store;
	ret->list = xcalloc(store->count + 1, sizeof(*ret->list));
	ret->findings = (struct findings){.list = ret->list, .title = "hotcell findings", .version = HOTCELL_VERSION,
		.capsule_folder = ret->place.shown, .now = now};
	for (size_t i = 0; i < store->count; i++)
		if (store->items[i].state != FINDING_FIXED)
			ret->list[ret->findings.count++] = &store->items[i];
	findings_place_tell(&ret->place, now);
	own(freep) char *state = state_folder(given, false, &none); /* none at all is an empty one, as above */
	if (state && cover_histories_open(state, &ret->functions, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->functions.unread.count; i++)
		cli_say("left alone: %s", ret->functions.unread.items[i]);
	return 0;
}

static int run_alone(const struct report_options *options)
{
	own(project_done) struct project project = {0};
	own(buf_done) struct buf page = {0};
	struct err err = {0};

	if (project_open(&project, options->state, &err) < 0)
		return cli_fail(&err);
	if (!project.findings.count && !project.functions.count) {
		(void)err_set(&err, ERR_USAGE, "nothing was found here yet: name a campaign to report on; 'hotcell campaign list' has them");
		return cli_fail(&err);
	}
	if (project.functions.count)
		functions_html(&project.functions, &project.findings, &page);
	else
		findings_write(&project.findings, FINDINGS_HTML, &page);
	return write_page(options->output ? options->output : "findings-report.html", &page);
}

static int run(void *data, const struct cli_args *args)
{
	const struct report_options *options = data;
	own(campaign_place_done) struct campaign_place place = {0};
	own(status_done) struct campaign_status status = {0};
	own(project_done) struct project project = {0};
	own(buf_done) struct buf page = {0}, findings = {0}, functions = {0};
	struct err err = {0};

	if (args->word_count == 0)
		return run_alone(options);
	const char *name = args->words[0];
	own(freep) char *path = options->output ? xstrdup(options->output) : xfmt("%s-report.html", name);
	if (plan_name_check(name, &err) < 0 || campaign_place_open(&place, options->state, LEDGER_READ, &err) < 0 ||
		status_read(place.ledger, place.state, name, &status, &err) < 0 || project_open(&project, options->state, &err) < 0)
		return cli_fail(&err);
	if (project.findings.count)
		findings_html_section(&project.findings, &findings);
	functions_html_section(&project.functions, &project.findings, &functions);
	const struct report_more more = {findings.data, functions.data};
	if (report_html_at(place.ledger, &status, out_file_is_stdout(path) ? NULL : path, &more, &page, &err) < 0)
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
	.summary = "write a campaign's results, the findings and the fuzzed functions as one HTML page",
	.usage = "[options] [NAME]",
	.details = "Without NAME, of the findings and functions alone. The page needs nothing else: no network, no other file. What runs printed is escaped in it.\n",
	.options = options_table,
	.options_size = sizeof(struct report_options),
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
