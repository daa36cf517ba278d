/* What is written to the ledger and the audit log, and when.
 *
 * Ends wait in a list until they are committed together, a tenth of a second at most. Only then do their
 * markers appear. If the disk is full nothing is lost: the list stays, nothing new is started, and the same
 * is tried again every second. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "campaign/work.h"

#define FLUSH_NS (80 * NS_PER_MS)
#define QUIET_NS (20 * NS_PER_MS)

uint64_t batch_now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / NS_PER_MS;
}

static char *copy(const char *text)
{
	return text == NULL ? NULL : xstrdup(text);
}

void batch_add(struct campaign *campaign, const struct run_record *run, uint64_t seq)
{
	struct ended *ended = xcalloc(1, sizeof(*ended));

	ended->run = *run;
	ended->run.cause = copy(run->cause);
	ended->run.cell = NULL;
	ended->seq = seq;
	*campaign->ended_end = ended;
	campaign->ended_end = &ended->next;
}

void batch_note(struct campaign *campaign, const char *kind, uint64_t run, const char *format, ...)
{
	struct note *note = xcalloc(1, sizeof(*note));
	char text[400];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	redact_line(campaign->redactor, text);
	(void)snprintf(note->kind, sizeof(note->kind), "%s", kind);
	note->run = run;
	note->text = xstrdup(text);
	if (run == 0) /* of runs it has their ends */
		campaign_audit_note(campaign, kind, text);
	*campaign->notes_end = note;
	campaign->notes_end = &note->next;
}

static struct ended *ended_free(struct ended *ended)
{
	struct ended *next = ended->next;

	run_record_done(&ended->run);
	free(ended);
	return next;
}

static void drop_notes(struct campaign *campaign)
{
	while (campaign->notes != NULL) {
		struct note *note = campaign->notes;
		campaign->notes = note->next;
		free(note->text);
		free(note);
	}
	campaign->notes_end = &campaign->notes;
}

void batch_done(struct campaign *campaign)
{
	while (campaign->ended != NULL)
		campaign->ended = ended_free(campaign->ended);
	while (campaign->unmarked != NULL)
		campaign->unmarked = ended_free(campaign->unmarked);
	drop_notes(campaign);
}

bool batch_clean(const struct campaign *campaign)
{
	return campaign->ended == NULL && campaign->unmarked == NULL && campaign->notes == NULL && !campaign->dirty &&
		audit_clean(campaign->audit);
}

/* ---- one batch ---- */

static int write_all(struct campaign *campaign, struct err *err)
{
	struct ledger *ledger = campaign->ledger;
	struct campaign_record *record = &campaign->status.campaign;

	for (const struct ended *ended = campaign->ended; ended != NULL; ended = ended->next)
		if (ledger_run_end(ledger, record->id, &ended->run, ended->seq, err) < 0)
			return -1;
	/* ends first: one of these runs may have been begun again since */
	for (unsigned i = 0; i < record->plan.workers; i++) {
		struct worker *worker = &campaign->workers[i];
		if (worker->busy && !worker->over && !worker->recorded &&
			ledger_run_start(ledger, record->id, &worker->run, err) < 0)
			return -1;
	}
	for (const struct note *note = campaign->notes; note != NULL; note = note->next)
		if (ledger_event(ledger, record->id, note->kind, note->run, note->text, err) < 0)
			return -1;
	record->updated_ms = batch_now_ms();
	return ledger_campaign_put(ledger, record, err);
}

/* Those that are in the ledger now and final wait for their markers. */
static void move_committed(struct campaign *campaign)
{
	while (campaign->ended != NULL) {
		struct ended *ended = campaign->ended;
		campaign->ended = ended->next;
		ended->next = NULL;
		if (ended->seq == 0) {
			(void)ended_free(ended);
			continue;
		}
		*campaign->unmarked_end = ended;
		campaign->unmarked_end = &ended->next;
	}
	campaign->ended_end = &campaign->ended;
}

static void mark_all(struct campaign *campaign)
{
	struct campaign_record *record = &campaign->status.campaign;
	char name[24];
	struct err err;

	while (campaign->unmarked != NULL) {
		struct ended *ended = campaign->unmarked;
		(void)plan_session_name(record->plan.runs, ended->run.number, name, sizeof(name));
		if (session_mark_own(campaign->sessions, name, &ended->run, record->timeout_ms, campaign->redactor, &err) < 0) {
			if (is_passing(err.code)) {
				campaign_block(campaign, &err); /* tried again later, by whoever resumes if need be */
				return;
			}
			campaign_say(campaign, "%s", err.text); /* somebody removed or changed its folder: the ledger knows it */
		}
		if (!campaign->marks_missing)
			record->marked_seq = ended->seq;
		campaign->dirty = true; /* the row says so in the next batch; if there is none, marks are just looked for */
		campaign->unmarked = ended_free(ended);
	}
	campaign->unmarked_end = &campaign->unmarked;
}

bool batch_flush(struct campaign *campaign)
{
	struct err err;

	campaign->flush = loop_remove(campaign->flush);
	campaign->flushed_ns = clock_now();
	campaign_count_doors(campaign); /* each verdict is flushed soon, and what it may cost with it */
	/* the audit log first: nothing is in the ledger that is not there */
	if (audit_flush(campaign->audit, &err) < 0 || ledger_begin(campaign->ledger, &err) < 0 || write_all(campaign, &err) < 0 ||
		ledger_commit(campaign->ledger, &err) < 0) {
		campaign_block(campaign, &err);
		return false;
	}
	campaign->dirty = false;
	for (unsigned i = 0; i < campaign->status.campaign.plan.workers; i++)
		campaign->workers[i].recorded = campaign->workers[i].busy;
	drop_notes(campaign);
	move_committed(campaign);
	mark_all(campaign);
	return true;
}

static void on_flush(void *data)
{
	struct campaign *campaign = data;

	campaign->flush = loop_remove(campaign->flush);
	(void)batch_flush(campaign);
}

void batch_soon(struct campaign *campaign)
{
	uint64_t now = clock_now();

	campaign->dirty = true;
	if (campaign->blocked)
		return; /* tried again when the block is over */
	if (now - campaign->flushed_ns > QUIET_NS)
		(void)batch_flush(campaign);
	else if (campaign->flush == NULL)
		campaign->flush = loop_add_timer(campaign->loop, now + FLUSH_NS, on_flush, campaign);
}
