/* hotcell status: how far a campaign is, and which functions are fuzzed, once or until it is over.
 *
 * Everything shown is in the campaign's own row and in the one its supervisor overwrites at each heartbeat, so the
 * answer costs the same for ten runs and for a million. Only --grid looks at runs. Function fuzzers are no campaigns: each
 * leaves its figures in a file (function_status.h). Where a campaign is named, they are left out. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/size.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "project/state.h"
#include "view/campaign.h"
#include "cli/cmd/campaign/args.h"
#include "view/function_status.h"
#include "view/grid_read.h"
#include "cli/core/redraw.h"
#include "base/signals.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"

#define DRAW_NS (250 * NS_PER_MS)
#define LINE_NS NS_PER_S
#define PAGE_ROWS 200 /* of what is no terminal */

struct status_options {
	bool watch, json, grid;
	const char *state;
};

struct watch {
	const struct status_options *options;
	struct campaign_place place;
	char *name; /* of the campaign; NULL: none, fuzzers alone */
	char *fuzzing; /* the state folder to look for fuzzers in; NULL: not asked for */
	struct grid grid;
	bool drawn; /* on a terminal, in place; else lines */
	struct loop *loop;
	struct loop_source *timer;
	struct buf key; /* what the last line was about */
	bool over;
	int code;
};

static void watch_done(struct watch *watch)
{
	redraw_end();
	watch->timer = loop_remove(watch->timer);
	watch->loop = loop_free(watch->loop);
	grid_done(&watch->grid);
	campaign_place_done(&watch->place);
	free(watch->name);
	free(watch->fuzzing);
	buf_done(&watch->key);
}

/* ---- reading ---- */

struct seen {
	struct campaign_status status; /* if there is a campaign */
	struct function_statuses fuzzers;
};

static void seen_done(struct seen *seen)
{
	status_done(&seen->status);
	function_statuses_done(&seen->fuzzers);
}

static int watch_read(struct watch *watch, struct seen *ret, struct err *err)
{
	struct campaign_status *status = &ret->status;

	if (watch->fuzzing)
		function_statuses_read(watch->fuzzing, &ret->fuzzers);
	if (!watch->name)
		return 0;
	if (status_read(watch->place.ledger, watch->place.state, watch->name, status, err) < 0)
		return -1;
	if (!watch->options->grid)
		return 0;
	if (!watch->grid.cells)
		grid_init(&watch->grid, status->campaign.plan.runs);
	return grid_read(&watch->grid, watch->place.ledger, status, err);
}

/* ---- showing ---- */

static unsigned screen_columns(void)
{
	unsigned rows, columns;
	return tty_size(&rows, &columns) ? columns : 80;
}

static void put_view(const struct watch *watch, const struct seen *seen, const char *message, struct buf *out)
{
	unsigned fuzzers = (unsigned)function_statuses_alive(&seen->fuzzers);
	struct view_look look = {
		.columns = 80,
		.rows = PAGE_ROWS,
		.color = cli_color(STDOUT_FILENO),
		.message = message,
		.grid = watch->grid.cells,
		.grid_count = watch->grid.count,
	};

	if (isatty(STDOUT_FILENO))
		(void)tty_size(&look.rows, &look.columns);
	unsigned rows = look.rows;
	if (watch->name) {
		look.rows = rows > 12 * fuzzers ? rows - 6 * fuzzers : rows / 2 + 1;
		view_status(&seen->status, &look, out);
		rows -= look.rows < rows ? look.rows : rows;
		if (seen->fuzzers.count)
			buf_char(out, '\n');
	}
	function_statuses_view(&seen->fuzzers, rows, look.columns, look.color, out);
}

/* A campaign's members come first, as they are without fuzzers. */
static void put_json(const struct watch *watch, const struct seen *seen, struct buf *out)
{
	own(json_done) struct json json = {0};

	json_open(&json, '{');
	if (watch->name)
		status_members(&seen->status, &json);
	if (watch->fuzzing) {
		json_key(&json, "fuzzing");
		function_statuses_json(&seen->fuzzers, &json);
	}
	json_close(&json, '}');
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}

/* "night: running, 12/100 complete, 1 failed, 3 at work, 1.2/s, 1m 10s left" */
static void put_line(const struct campaign_status *status, struct buf *out)
{
	const struct campaign_record *campaign = &status->campaign;
	char text[32];

	buf_fmt(out, "%s: %s, %" PRIu64 "/%" PRIu64 " complete, %" PRIu64 " failed", campaign->name,
		campaign_state_word(campaign, status->held), status->complete, campaign->plan.runs, status->failed);
	if (status->held)
		buf_fmt(out, ", %" PRIu64 " at work, %.1f/s", status->running, status->rate);
	if (status->held && status->eta_ms > 0)
		buf_fmt(out, ", %s left", duration_text(status->eta_ms * NS_PER_MS, text, sizeof(text)));
	if (network_used(&campaign->sums.network)) {
		buf_str(out, ", doors: ");
		network_text(&campaign->sums.network, out);
	}
	if (campaign->note && campaign->note[0] && campaign->state == CAMPAIGN_PAUSED) {
		buf_str(out, ", ");
		term_line(campaign->note, strlen(campaign->note), 200, out);
	}
	if (status->held && status->live.alerts && *status->live.alerts) {
		buf_str(out, ", alerts: ");
		term_line(status->live.alerts, strlen(status->live.alerts), 200, out);
	}
	buf_char(out, '\n');
}

/* Two answers with the same key are not worth a second line: only times differ. */
static void put_key(const struct campaign_status *status, struct buf *out)
{
	buf_fmt(out, "%d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", status->campaign.state, status->held,
		status->complete, status->failed, status->running, status->live.alerts ? status->live.alerts : "");
}

/* ---- watching ---- */

static void watch_end(struct watch *watch, int code)
{
	watch->over = true;
	watch->code = code;
}

/* A reader that left is the end, no error. */
static void emit(struct watch *watch, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(STDOUT_FILENO, text->data + done, text->len - done);
		if (wrote < 0 && errno != EINTR) {
			if (errno != EPIPE)
				cli_say("cannot write to stdout: %s", strerror(errno));
			watch_end(watch, errno == EPIPE ? 0 : EXIT_OURS);
			return;
		}
		done += wrote > 0 ? (size_t)wrote : 0;
	}
}

static void show_line(struct watch *watch, const struct seen *seen)
{
	own(buf_done) struct buf out = {0}, key = {0};

	if (watch->name)
		put_key(&seen->status, &key);
	for (size_t i = 0; i < seen->fuzzers.count; i++) /* these change each second */
		buf_fmt(&key, " %d %" PRIu64, seen->fuzzers.list[i].alive, seen->fuzzers.list[i].progress.ns / NS_PER_S);
	if (strcmp(buf_text(&key), buf_text(&watch->key)) == 0)
		return;
	watch->key.len = 0;
	buf_add(&watch->key, key.data, key.len);
	if (watch->options->json) {
		put_json(watch, seen, &out);
	} else {
		if (watch->name)
			put_line(&seen->status, &out);
		function_statuses_lines(&seen->fuzzers, &out);
	}
	emit(watch, &out);
}

static void show_frame(struct watch *watch, const struct seen *seen)
{
	own(buf_done) struct buf out = {0};

	put_view(watch, seen, seen->status.held ? "Ctrl-C ends this view; the campaign goes on" : NULL, &out);
	if (redraw_frame(&out, screen_columns()) < 0)
		watch_end(watch, EXIT_OURS);
}

static void show(struct watch *watch)
{
	own(seen_done) struct seen seen = {0};
	struct err err = {0};

	if (watch_read(watch, &seen, &err) < 0) {
		redraw_end();
		watch_end(watch, cli_fail(&err));
		return;
	}
	if (watch->drawn)
		show_frame(watch, &seen);
	else
		show_line(watch, &seen);
	if (!seen.status.held && !function_statuses_alive(&seen.fuzzers))
		watch->over = true;
}

static void on_timer(void *data)
{
	struct watch *watch = data;

	watch->timer = loop_remove(watch->timer);
	show(watch);
	watch->timer = loop_add_timer(
		watch->loop, clock_now() + (watch->drawn ? DRAW_NS : LINE_NS), on_timer, watch);
}

/* Ctrl-Z: the terminal is the shell's until we are called back. */
static void suspend(struct watch *watch)
{
	redraw_end();
	(void)raise(SIGSTOP);
	redraw_begin(STDOUT_FILENO);
	show(watch);
}

static void on_signal(void *data, int number)
{
	struct watch *watch = data;

	if (number == SIGTSTP) {
		suspend(watch);
	} else if (number == SIGWINCH) {
		show(watch);
	} else {
		if (watch->drawn && number != SIGHUP)
			show(watch); /* over the ^C of the terminal */
		watch_end(watch, 128 + number);
	}
}

static int take_signals(struct watch *watch, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0};

	return signals_take(watch->loop, ours, on_signal, watch, err);
}

static int watch_run(struct watch *watch)
{
	struct err err = {0};
	const char *term = getenv("TERM");

	watch->drawn = !watch->options->json && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
	watch->loop = loop_open(&err);
	if (!watch->loop || (watch->drawn && take_signals(watch, &err) < 0))
		return cli_fail(&err);
	if (watch->drawn)
		redraw_begin(STDOUT_FILENO);
	on_timer(watch);
	while (!watch->over) {
		if (loop_turn(watch->loop, -1) < 0 && errno != EINTR)
			return cli_fail(&(struct err){.code = errno, .text = "wait for the campaign"});
	}
	return watch->code;
}

/* ---- the verb ---- */

static int once(struct watch *watch)
{
	own(seen_done) struct seen seen = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (watch_read(watch, &seen, &err) < 0)
		return cli_fail(&err);
	if (watch->options->json)
		put_json(watch, &seen, &out);
	else
		put_view(watch, &seen, NULL, &out);
	return cli_print(&out);
}

/* Whether there is something to show without a campaign. */
static bool fuzzers_alone(struct watch *watch, struct err *err)
{
	own(function_statuses_done) struct function_statuses fuzzers = {0};

	watch->fuzzing = state_folder(watch->options->state, false, err);
	if (watch->fuzzing)
		function_statuses_read(watch->fuzzing, &fuzzers);
	return fuzzers.count > 0;
}

/* The campaign that is meant, in its open ledger. Where none is named, none need be there. */
static int choose(struct watch *watch, const char *named, struct err *err)
{
	bool alone = !named && fuzzers_alone(watch, err);
	own(freep) char *ledger = alone ? state_ledger(watch->fuzzing) : NULL;

	if (ledger && access(ledger, F_OK) < 0)
		return 0;
	if (campaign_place_open(&watch->place, watch->options->state, LEDGER_READ, err) == 0)
		watch->name = named ? xstrdup(named) : campaign_default(&watch->place, err);
	return watch->name || (alone && watch->place.ledger) ? 0 : -1;
}

static int run(void *data, const struct cli_args *args)
{
	own(watch_done) struct watch watch = {.options = data};
	struct err err = {0};

	if (args->word_count > 0 && plan_name_check(args->words[0], &err) < 0)
		return cli_fail(&err);
	if (choose(&watch, args->word_count > 0 ? args->words[0] : NULL, &err) < 0)
		return cli_fail(&err);
	return watch.options->watch ? watch_run(&watch) : once(&watch);
}

#define INTO(member) CLI_INTO(struct status_options, member)

static const struct cli_option options_table[] = {
	{.name = "watch", .letter = 'w', .kind = CLI_FLAG, INTO(watch),
		.help = "show it anew until the campaign is over: in place on a terminal, else a line at each change"},
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print a JSON object; with --watch, one a line"},
	{.name = "grid", .letter = 'g', .kind = CLI_FLAG, INTO(grid), .help = "show every session as a coloured cell, too"},
	CAMPAIGN_STATE_OPTION(struct status_options, state),
	{0},
};

const struct cli_verb verb_status = {
	.name = "status",
	.summary = "show how far a campaign is, and which functions are fuzzed",
	.usage = "[options] [NAME]",
	.details = "Without NAME, the newest campaign that is at work or, when none is, the newest; and each 'hotcell fuzz function' at work.\n",
	.options = options_table,
	.options_size = sizeof(struct status_options),
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
