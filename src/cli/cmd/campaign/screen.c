#include "cli/cmd/campaign/screen.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "view/campaign.h"
#include "cli/core/cli.h"
#include "cli/core/redraw.h"
#include "cli/core/tty.h"

#define FRAME_NS (100 * NS_PER_MS)
#define PROGRESS_EVERY 10

struct screen {
	struct loop *loop;
	struct loop_source *timer;
	struct campaign *campaign;
	bool live, quiet, color;
	char *message;
};

/* ---- lines ---- */

static void put(const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(STDOUT_FILENO, text->data + done, text->len - done);
		if (wrote <= 0)
			return; /* nobody looks any more: the campaign goes on */
		done += (size_t)wrote;
	}
}

static void put_line(struct buf *line)
{
	buf_char(line, '\n');
	put(line);
}

/* ---- the picture ---- */

static void draw(struct screen *screen)
{
	own(buf_done) struct buf picture = {0};
	struct view_look look = {.color = screen->color, .message = screen->message};

	if (!screen->campaign)
		return;
	(void)tty_size(&look.rows, &look.columns);
	look.grid = campaign_grid(screen->campaign, &look.grid_count);
	view_status(campaign_status(screen->campaign), &look, &picture);
	(void)!redraw_frame(&picture, look.columns); /* a terminal that is gone: the campaign goes on */
}

static void on_frame(void *data)
{
	struct screen *screen = data;

	screen->timer = loop_remove(screen->timer);
	draw(screen);
	screen->timer = loop_add_timer(screen->loop, clock_now() + FRAME_NS, on_frame, screen);
}

void screen_resized(struct screen *screen)
{
	if (screen->live)
		draw(screen);
}

void screen_suspend(struct screen *screen)
{
	redraw_end();
	(void)raise(SIGSTOP);
	if (screen->live)
		redraw_begin(STDOUT_FILENO);
}

/* ---- life ---- */

struct screen *screen_open(struct loop *loop, bool live, bool quiet)
{
	struct screen *screen = xcalloc(1, sizeof(*screen));
	const char *term = getenv("TERM");

	screen->loop = loop;
	screen->live = live && !quiet && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
	screen->quiet = quiet;
	screen->color = cli_color(STDOUT_FILENO);
	return screen;
}

void screen_watch(struct screen *screen, struct campaign *campaign)
{
	screen->campaign = campaign;
	if (!screen->live)
		return;
	redraw_begin(STDOUT_FILENO);
	on_frame(screen);
}

struct screen *screen_free(struct screen *screen)
{
	if (!screen)
		return NULL;
	screen->timer = loop_remove(screen->timer);
	redraw_end();
	free(screen->message);
	free(screen);
	return NULL;
}

/* ---- what happens ---- */

void screen_started(struct screen *screen, const char *session)
{
	own(buf_done) struct buf line = {0};

	if (screen->live || screen->quiet)
		return;
	view_started(session, &line);
	put_line(&line);
}

void screen_ended(struct screen *screen, const char *session, const struct run_record *run)
{
	own(buf_done) struct buf line = {0};

	if (screen->live || screen->quiet || !screen->campaign)
		return;
	const struct campaign_record *record = campaign_record(screen->campaign);
	uint64_t complete = campaign_sums_complete(&record->sums);
	view_ended(session, run, record->timeout_ms, &line);
	buf_char(&line, '\n');
	if (run_state_final(run->state) && complete % PROGRESS_EVERY == 0) {
		view_progress(complete, record->plan.runs, &line);
		buf_char(&line, '\n');
	}
	put(&line);
}

void screen_said(struct screen *screen, const char *text)
{
	own(buf_done) struct buf line = {0};

	term_line(text, strlen(text), 600, &line);
	free(screen->message);
	screen->message = xstrdup(buf_text(&line));
	if (screen->live)
		draw(screen);
	else
		cli_say("%s", buf_text(&line));
}

static void add_network(const struct door_totals *totals, struct buf *out)
{
	if (!network_used(totals))
		return;
	buf_str(out, "\ndoors: ");
	network_text(totals, out);
}

static void add_summary(const struct campaign_status *status, struct buf *out)
{
	const struct campaign_sums *sums = &status->campaign.sums;

	buf_fmt(out, "%llu succeeded", (unsigned long long)sums->state[RUN_SUCCESS]);
	if (sums->state[RUN_ERROR] > 0)
		buf_fmt(out, ", %llu failed", (unsigned long long)sums->state[RUN_ERROR]);
	if (sums->state[RUN_TIMEOUT] > 0)
		buf_fmt(out, ", %llu timed out", (unsigned long long)sums->state[RUN_TIMEOUT]);
	if (sums->retried > 0)
		buf_fmt(out, "; %llu retried", (unsigned long long)sums->retried);
	if (sums->weaker > 0)
		buf_fmt(out, "; %llu of %llu cells were weaker than full ('hotcell doctor' says why)",
			(unsigned long long)sums->weaker, (unsigned long long)sums->cells);
	add_network(&sums->network, out);
}

void screen_end(struct screen *screen, const char *shown)
{
	own(buf_done) struct buf out = {0};
	const struct campaign_status *status = campaign_status(screen->campaign);
	const struct campaign_record *record = &status->campaign;
	unsigned long long runs = (unsigned long long)record->plan.runs;

	if (screen->live)
		draw(screen);
	redraw_end();
	screen->timer = loop_remove(screen->timer);
	if (!screen->quiet)
		buf_char(&out, '\n');
	if (record->state == CAMPAIGN_DONE) {
		buf_fmt(&out, "✓ All %llu sessions complete! Results in %s/\n", runs, shown);
	} else {
		buf_fmt(&out, "%llu of %llu sessions complete: %s. Results so far in %s/\n",
			(unsigned long long)status->complete, runs,
			record->note && record->note[0] ? record->note : "stopped", shown);
		buf_fmt(&out, "'hotcell campaign resume %s' goes on with the rest\n", record->name);
	}
	add_summary(status, &out);
	buf_char(&out, '\n');
	put(&out);
}
