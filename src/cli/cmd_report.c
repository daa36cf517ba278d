/* hotcell report: one campaign, and what was found in the project, as one HTML page. */
#include <stdio.h>
#include <time.h>

#include "base/term.h"
#include "campaign/report.h"
#include "cli/campaign_args.h"
#include "base/out_file.h"
#include "cli/findings_place.h"
#include "cli/verbs.h"
#include "finding/report.h"

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

/* What was found and is not fixed, as a section or as a page of its own; nothing if there is nothing. */
static int put_findings(const char *state, bool alone, struct buf *out, struct err *err)
{
	own(findings_place_done) struct findings_place place = {0};
	int64_t now = time(NULL);

	if (findings_place_open(&place, state, err) < 0)
		return -1;
	own(freep) const struct finding **list = xcalloc(place.store.count + 1, sizeof(*list));
	struct findings findings = {.list = list, .title = "hotcell findings", .version = HOTCELL_VERSION, .capsule_folder = place.shown,
		.now = now};
	for (size_t i = 0; i < place.store.count; i++)
		if (place.store.items[i].state != FINDING_FIXED)
			list[findings.count++] = &place.store.items[i];
	findings_place_tell(&place, now);
	if (findings.count == 0)
		return 0;
	if (alone)
		findings_write(&findings, FINDINGS_HTML, out);
	else
		findings_html_section(&findings, out);
	return 0;
}

static int run_alone(const struct report_options *options)
{
	own(buf_done) struct buf page = {0};
	struct err err = {0};

	if (put_findings(options->state, true, &page, &err) < 0)
		return cli_fail(&err);
	if (page.len == 0) {
		(void)err_set(&err, ERR_USAGE, "nothing was found here yet: name a campaign to report on; 'hotcell campaign list' has them");
		return cli_fail(&err);
	}
	return write_page(options->output ? options->output : "findings-report.html", &page);
}

static int run(void *data, const struct cli_args *args)
{
	const struct report_options *options = data;
	own(campaign_place_done) struct campaign_place place = {0};
	own(status_done) struct campaign_status status = {0};
	own(buf_done) struct buf page = {0}, findings = {0};
	struct err err = {0};

	if (args->word_count == 0)
		return run_alone(options);
	const char *name = args->words[0];
	own(freep) char *path = options->output ? xstrdup(options->output) : xfmt("%s-report.html", name);
	if (plan_name_check(name, &err) < 0 || campaign_place_open(&place, options->state, LEDGER_READ, &err) < 0 ||
		status_read(place.ledger, place.state, name, &status, &err) < 0 ||
		put_findings(options->state, false, &findings, &err) < 0 ||
		report_html_at(place.ledger, &status, out_file_is_stdout(path) ? NULL : path, findings.data, &page, &err) < 0)
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
	.summary = "write a campaign's results and the findings as one HTML page",
	.usage = "[options] [NAME]",
	.details = "Without NAME, of the findings alone. The page needs nothing else: no network, no other file. What runs printed is escaped in it.\n",
	.options = options_table,
	.options_size = sizeof(struct report_options),
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
