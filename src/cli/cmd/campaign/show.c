/* hotcell campaign show: everything the ledger knows of a campaign, or of one run of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "view/campaign.h"
#include "cli/cmd/campaign/args.h"
#include "view/grid_read.h"
#include "cli/cmd/campaign/run_text.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"

#define SLOWEST_SHOWN 5
#define FAILURES_SHOWN 10
#define EVENTS_SHOWN 10
#define GRID_LINES 12
#define TEXT_SHOWN 1000

struct show_options {
	bool json;
	uint64_t events;
	const char *state;
};

static void defaults(void *options)
{
	((struct show_options *)options)->events = EVENTS_SHOWN;
}

struct show {
	const struct show_options *options;
	struct campaign_place place;
	struct campaign_status status;
	struct buf text;
	struct json json;
	uint64_t rows; /* of the list at hand */
};

static void show_done(struct show *show)
{
	status_done(&show->status);
	campaign_place_done(&show->place);
	buf_done(&show->text);
	json_done(&show->json);
}

/* ---- settings ---- */

static void put_safe(struct buf *out, const char *text)
{
	term_line(text, strlen(text), TEXT_SHOWN, out);
}

static void put_words(struct buf *out, const char *before, const char *words, size_t len)
{
	own(buf_done) struct buf line = {0};

	for (size_t at = 0; at < len;) {
		size_t word = strnlen(words + at, len - at);
		buf_char(&line, ' ');
		run_text_quote(words + at, word, &line);
		at += word + 1;
	}
	if (line.len == 0)
		return;
	buf_str(out, before);
	put_safe(out, buf_text(&line));
	buf_char(out, '\n');
}

static void put_plan(struct buf *out, const struct campaign_record *campaign)
{
	const struct campaign_plan *plan = &campaign->plan;
	char memory[32], timeout[32];

	buf_fmt(out, "  workers       %u\n  retries       %u\n  seed          %" PRIu64 "\n", plan->workers, plan->retries,
		plan->seed);
	if (plan->rate > 0)
		buf_fmt(out, "  rate          %" PRIu64 " starts a minute\n", plan->rate);
	else
		buf_str(out, "  rate          as fast as workers are free\n");
	if (plan->stop_after_failures > 0)
		buf_fmt(out, "  stops after   %" PRIu64 " failures\n", plan->stop_after_failures);
	buf_fmt(out, "  memory        %s a cell\n  timeout       %s a run\n",
		size_text(campaign->memory_limit, memory, sizeof(memory)),
		duration_text(campaign->timeout_ms * NS_PER_MS, timeout, sizeof(timeout)));
}

static void put_settings(struct buf *out, const struct campaign_record *campaign)
{
	char started[32], ended[32], active[32];

	buf_fmt(out, "  id            %s\n", campaign->uuid);
	put_plan(out, campaign);
	buf_str(out, "  sessions in   ");
	put_safe(out, campaign->output);
	buf_str(out, "\n  begun in      ");
	put_safe(out, campaign->cwd);
	size_t shown_len;
	const char *shown = campaign_record_shown(campaign, &shown_len);
	put_words(out, "\n  command       hotcell campaign run", shown, shown_len);
	put_words(out, "  needs again  ", campaign->env_names, campaign->env_names_len);
	buf_fmt(out, "  begun         %s\n  ended         %s\n  time at work  %s\n",
		campaign_time(campaign->created_ms, started, sizeof(started)),
		campaign_time(campaign->ended_ms, ended, sizeof(ended)),
		duration_text(campaign->active_ms * NS_PER_MS, active, sizeof(active)));
}

/* ---- sums ---- */

static void put_outcomes(struct buf *out, const struct campaign_sums *sums)
{
	const char *before = "  ended         ";

	for (int i = 0; i < CELL_OUTCOME_COUNT; i++) {
		if (sums->outcome[i] == 0)
			continue;
		buf_fmt(out, "%s%" PRIu64 " %s", before, sums->outcome[i], cell_outcome_name((enum cell_outcome)i));
		before = ", ";
	}
	if (*before == ',')
		buf_char(out, '\n');
}

static void put_sums(struct buf *out, const struct campaign_sums *sums)
{
	uint64_t cells = sums->cells > 0 ? sums->cells : 1;
	char mean[32], user[32], system[32], memory[32], most[32], written[32];

	buf_fmt(out, "\nCells\n  tried         %" PRIu64, sums->cells);
	if (sums->cell_failures > 0)
		buf_fmt(out, ", and %" PRIu64 " could not be made", sums->cell_failures);
	buf_fmt(out, "; %" PRIu64 " retried, %" PRIu64 " cancelled, %" PRIu64 " weaker than full\n", sums->retried,
		sums->cancelled, sums->weaker);
	put_outcomes(out, sums);
	buf_fmt(out, "  on average    %s, %s of memory at its peak; the largest %s\n",
		duration_text(sums->wall_ns / cells, mean, sizeof(mean)),
		size_text(sums->peak_sum / cells, memory, sizeof(memory)),
		size_text(sums->peak_max, most, sizeof(most)));
	buf_fmt(out, "  together      %s user, %s system, %s written\n",
		duration_text(sums->user_us * 1000, user, sizeof(user)),
		duration_text(sums->system_us * 1000, system, sizeof(system)),
		size_text(sums->written_bytes, written, sizeof(written)));
	if (sums->cleanup_failures > 0 || sums->orphans > 0)
		buf_fmt(out, "  left behind   %" PRIu64 " clean-ups failed, %" PRIu64 " orphans\n", sums->cleanup_failures,
			sums->orphans);
}

static void put_doors(struct buf *out, const struct door_totals *network)
{
	if (!network_used(network))
		return;
	buf_str(out, "\nDoors\n  passed        ");
	network_text(network, out);
	buf_char(out, '\n');
}

static int put_grid(struct show *show, struct err *err)
{
	own(grid_done) struct grid grid = {0};
	unsigned rows, columns = 0;

	grid_init(&grid, show->status.campaign.plan.runs);
	if (grid_read(&grid, show->place.ledger, &show->status, err) < 0)
		return -1;
	if (!isatty(STDOUT_FILENO) || !tty_size(&rows, &columns))
		columns = 80;
	buf_str(&show->text, "\nSessions\n");
	view_grid(grid.cells, grid.count, columns, GRID_LINES, cli_color(STDOUT_FILENO), &show->text);
	return 0;
}

/* ---- lists ---- */

static const struct list {
	const char *title, *key;
	struct ledger_query query;
} lists[] = {
	{"Slowest", "slowest",
		{.states = 1u << RUN_SUCCESS | 1u << RUN_ERROR | 1u << RUN_TIMEOUT, .order = LEDGER_SLOWEST,
			.limit = SLOWEST_SHOWN}},
	{"First failures", "failures",
		{.states = 1u << RUN_ERROR | 1u << RUN_TIMEOUT, .order = LEDGER_BY_NUMBER, .limit = FAILURES_SHOWN}},
};

static int put_run(void *data, const struct run_record *run)
{
	struct show *show = data;

	if (show->options->json)
		run_text_json(&show->status.campaign, run, &show->json);
	else
		run_text_line(&show->status.campaign, run, &show->text);
	show->rows++;
	return 0;
}

static int put_list(struct show *show, const struct list *list, struct err *err)
{
	size_t before = show->text.len;

	show->rows = 0;
	buf_fmt(&show->text, "\n%s\n", list->title);
	json_key(&show->json, list->key);
	json_open(&show->json, '[');
	if (ledger_runs(show->place.ledger, show->status.campaign.id, &list->query, put_run, show, err) < 0)
		return -1;
	json_close(&show->json, ']');
	if (show->rows == 0) /* no title without a list */
		show->text.len = before;
	return 0;
}

static int put_event(void *data, const struct ledger_event *event)
{
	struct show *show = data;
	char at[32];

	if (show->options->json) {
		json_open(&show->json, '{');
		json_put_uint(&show->json, "at_ms", event->at_ms);
		json_put_string(&show->json, "kind", event->kind);
		if (event->run > 0)
			json_put_uint(&show->json, "run", event->run);
		json_put_string(&show->json, "text", event->text);
		json_close(&show->json, '}');
		return 0;
	}
	buf_fmt(&show->text, "  %s  ", campaign_time(event->at_ms, at, sizeof(at)));
	put_safe(&show->text, event->kind);
	if (event->run > 0)
		buf_fmt(&show->text, " [%" PRIu64 "]", event->run);
	buf_str(&show->text, ": ");
	put_safe(&show->text, event->text ? event->text : "");
	buf_char(&show->text, '\n');
	return 0;
}

static int put_events(struct show *show, struct err *err)
{
	if (show->options->events == 0)
		return 0;
	buf_str(&show->text, "\nEvents\n");
	json_key(&show->json, "events");
	json_open(&show->json, '[');
	if (ledger_events(show->place.ledger, show->status.campaign.id, show->options->events, put_event, show, err) < 0)
		return -1;
	json_close(&show->json, ']');
	return 0;
}

/* ---- the whole ---- */

static void put_head(struct buf *out, const struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;

	buf_fmt(out, "%s: %s", campaign->name, status_word(status));
	if (campaign->note && *campaign->note) {
		buf_str(out, " (");
		put_safe(out, campaign->note);
		buf_char(out, ')');
	}
	buf_fmt(out, ", %" PRIu64 " of %" PRIu64 " runs complete, %" PRIu64 " failed", status->complete,
		campaign->plan.runs, status->failed);
	if (status->held)
		buf_fmt(out, ", %" PRIu64 " at work (process %d)", status->running, campaign->holder);
	buf_char(out, '\n');
}

static int show_campaign(struct show *show, struct err *err)
{
	json_open(&show->json, '{');
	json_key(&show->json, "campaign");
	status_json(&show->status, &show->json);
	put_head(&show->text, &show->status);
	put_settings(&show->text, &show->status.campaign);
	put_sums(&show->text, &show->status.campaign.sums);
	put_doors(&show->text, &show->status.campaign.sums.network);
	if (!show->options->json && put_grid(show, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (put_list(show, &lists[i], err) < 0)
			return -1;
	if (put_events(show, err) < 0)
		return -1;
	json_close(&show->json, '}');
	return 0;
}

static int show_run(struct show *show, uint64_t number, struct err *err)
{
	const struct campaign_record *campaign = &show->status.campaign;
	own(run_record_done) struct run_record run = {0};

	if (number > campaign->plan.runs)
		return err_set(err, ERR_USAGE, "campaign '%s' has %" PRIu64 " runs, and no run %" PRIu64, campaign->name,
			campaign->plan.runs, number);
	int found = ledger_run_get(show->place.ledger, campaign->id, number, &run, err);
	if (found == 0)
		return err_set(err, ERR_USAGE, "run %" PRIu64 " of campaign '%s' has not begun", number, campaign->name);
	if (found < 0)
		return -1;
	run_text_details(campaign, &run, &show->text);
	run_text_json(campaign, &run, &show->json);
	return 0;
}

static int run(void *data, const struct cli_args *args)
{
	own(show_done) struct show show = {.options = data};
	struct campaign_target target;
	struct err err = {0};

	if (campaign_target_parse(args->words[0], &target, &err) < 0 ||
		campaign_place_open(&show.place, show.options->state, LEDGER_READ, &err) < 0 ||
		status_read(show.place.ledger, show.place.state, target.name, &show.status, &err) < 0)
		return cli_fail(&err);
	int rc = target.run > 0 ? show_run(&show, target.run, &err) : show_campaign(&show, &err);
	if (rc < 0)
		return cli_fail(&err);
	buf_char(&show.json.out, '\n');
	return cli_print(show.options->json ? &show.json.out : &show.text);
}

#define INTO(member) CLI_INTO(struct show_options, member)

static const struct cli_option options_table[] = {
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print a JSON object"},
	{.name = "events", .value = "N", .kind = CLI_COUNT, INTO(events), .max = 1000000, .fallback = "10",
		.help = "how many of the latest events to show"},
	CAMPAIGN_STATE_OPTION(struct show_options, state),
	{0},
};

const struct cli_verb verb_campaign_show = {
	.name = "campaign show",
	.summary = "show all that is known of a campaign, or of one run",
	.usage = "[options] NAME[/RUN]",
	.details = "NAME/7 shows the seventh run: how it ended, its folder, and how to reproduce it by itself.\n",
	.options = options_table,
	.options_size = sizeof(struct show_options),
	.defaults = defaults,
	.words_min = 1,
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
