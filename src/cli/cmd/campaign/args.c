#include "cli/cmd/campaign/args.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "project/state.h"

#define WISH_WAIT_NS (10 * NS_PER_S)
#define WISH_STEP_NS (50 * NS_PER_MS)

/* ---- the place ---- */

int campaign_place_open(struct campaign_place *ret, const char *given, enum ledger_how how, struct err *err)
{
	own(campaign_place_done) struct campaign_place place = {.state = state_folder(given, false, err)};

	if (!place.state)
		return -1;
	own(freep) char *path = state_ledger(place.state);
	place.ledger = ledger_open(path, how, err);
	if (!place.ledger)
		return -1;
	*ret = place;
	place = (struct campaign_place){0};
	return 0;
}

void campaign_place_done(struct campaign_place *place)
{
	place->ledger = ledger_free(place->ledger);
	free(place->state);
	place->state = NULL;
}

bool campaign_place_is_new(const char *given)
{
	const char *variable = getenv("HOTCELL_STATE");
	struct err err = {0};
	struct stat st;

	if (given || (variable && *variable))
		return false;
	if (state_is_none(NULL))
		return true;
	own(freep) char *state = state_folder(NULL, false, &err);
	own(freep) char *path = state ? state_ledger(state) : NULL;
	return path && lstat(path, &st) < 0;
}

/* ---- words ---- */

int campaign_target_parse(const char *word, struct campaign_target *ret, struct err *err)
{
	const char *slash = strchr(word, '/');
	size_t len = slash ? (size_t)(slash - word) : strlen(word);
	own(freep) char *name = xfmt("%.*s", (int)(len > 4096 ? 4096 : len), word);

	*ret = (struct campaign_target){0};
	if (plan_name_check(name, err) < 0)
		return -1;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	return slash ? count_parse(slash + 1, "the run's number", 1, PLAN_MAX_RUNS, &ret->run, err) : 0;
}

/* ---- which campaigns ---- */

struct newest {
	const char *state;
	char *any, *held;
};

static int newest_add(void *data, const struct campaign_record *campaign)
{
	struct newest *newest = data;

	if (!newest->any)
		newest->any = xstrdup(campaign->name);
	if (state_holder(newest->state, campaign->name) == 0)
		return 0;
	newest->held = xstrdup(campaign->name);
	return 1;
}

char *campaign_default(const struct campaign_place *place, struct err *err)
{
	struct newest newest = {.state = place->state};
	int rc = ledger_campaigns(place->ledger, newest_add, &newest, err);
	own(freep) char *any = newest.any;

	if (rc >= 0 && newest.held)
		return newest.held;
	free(newest.held);
	if (rc >= 0 && !any)
		(void)err_set(err, ERR_USAGE,
			"there is no campaign in '%s' yet; 'hotcell campaign run' starts one", place->state);
	return rc < 0 ? NULL : ptr_take(&any);
}

static int name_add(void *data, const struct campaign_record *campaign)
{
	struct cli_names *names = data;

	names->items = xrealloc(names->items, names->count + 1, sizeof(*names->items));
	names->items[names->count++] = xstrdup(campaign->name);
	return 0;
}

int campaign_statuses(const struct campaign_place *place, struct campaign_status **ret, size_t *ret_count,
	struct err *err)
{
	own(cli_names_done) struct cli_names names = {0};
	struct err gone = {0};

	*ret_count = 0;
	*ret = NULL;
	if (ledger_campaigns(place->ledger, name_add, &names, err) < 0)
		return -1;
	*ret = xcalloc(names.count + 1, sizeof(**ret));
	for (size_t i = 0; i < names.count; i++) {
		/* One may have been removed since. */
		if (status_read(place->ledger, place->state, names.items[i], &(*ret)[*ret_count], &gone) == 0)
			(*ret_count)++;
		else if (gone.code != ERR_USAGE)
			return err_set(err, gone.code, "%s", gone.text);
	}
	return 0;
}

const char *campaign_state_word(const struct campaign_record *campaign, bool held)
{
	const struct campaign_status status = {.campaign = *campaign, .held = held};
	return status_word(&status);
}

uint64_t campaign_failures(const struct campaign_sums *sums)
{
	return sums->state[RUN_ERROR] + sums->state[RUN_TIMEOUT];
}

char *campaign_time(uint64_t ms, char *ret, size_t len)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (ms == 0 || !localtime_r(&seconds, &tm) || strftime(ret, len, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(ret, len, "-");
	return ret;
}

/* ---- wishes ---- */

static bool is_over(const struct campaign_status *status)
{
	return !status->held || (status->campaign.state != CAMPAIGN_RUNNING && status->campaign.state != CAMPAIGN_PAUSED);
}

static bool is_true(enum ledger_wish wish, const struct campaign_status *status)
{
	switch (wish) {
	case WISH_PAUSE: return status->campaign.state == CAMPAIGN_PAUSED;
	case WISH_GO: return status->campaign.state == CAMPAIGN_RUNNING;
	case WISH_STOP:
	case WISH_CANCEL: return !status->held;
	default: return true;
	}
}

/* What can be done with one that nobody is at work on. */
static int say_not_running(const struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;

	if (campaign->state == CAMPAIGN_DONE)
		cli_say("campaign '%s' is not running; it is done", campaign->name);
	else
		cli_say("campaign '%s' is not running; it is %s with %" PRIu64 " of %" PRIu64
			" runs complete, and 'hotcell campaign resume %s' continues it",
			campaign->name, campaign_state_word(campaign, false), status->complete, campaign->plan.runs,
			campaign->name);
	return 1;
}

static int say_come_true(enum ledger_wish wish, const struct campaign_status *status)
{
	const struct campaign_record *campaign = &status->campaign;
	own(buf_done) struct buf out = {0};

	buf_fmt(&out, "campaign '%s' is %s: %" PRIu64 " of %" PRIu64 " runs complete", campaign->name,
		campaign_state_word(campaign, status->held), status->complete, campaign->plan.runs);
	if (wish == WISH_PAUSE && status->running > 0)
		buf_fmt(&out, ", %" PRIu64 " still running", status->running);
	if (wish != WISH_GO && campaign->state != CAMPAIGN_DONE)
		buf_fmt(&out, "; 'hotcell campaign resume %s' continues it", campaign->name);
	buf_char(&out, '\n');
	return cli_print(&out);
}

/* A drain lasts as long as the longest run that is at work: that it was heard is what can be awaited. */
static int say_not_yet(enum ledger_wish wish, const struct campaign_status *status, uint64_t asked_ms)
{
	const char *name = status->campaign.name;
	own(buf_done) struct buf out = {0};

	if (wish == WISH_GO && status->campaign.state == CAMPAIGN_PAUSED && status->campaign.note[0]) {
		cli_say("campaign '%s' went on, and is paused again: %s", name, status->campaign.note);
		return 1;
	}
	if (status->live.at_ms <= asked_ms || wish != WISH_STOP) {
		cli_say("campaign '%s' was asked, but its supervisor (process %d) has not done it within 10 s", name,
			status->campaign.holder);
		return 1;
	}
	buf_fmt(&out,
		"campaign '%s' starts no more runs and stops when the %" PRIu64
		" at work have ended; 'hotcell campaign stop --now %s' ends them\n",
		name, status->running, name);
	return cli_print(&out);
}

static int wish_await(const struct campaign_place *place, const char *name, enum ledger_wish wish)
{
	uint64_t until = clock_now() + WISH_WAIT_NS, asked_ms = 0;
	struct timespec step = {.tv_nsec = WISH_STEP_NS};
	struct err err = {0};

	for (;;) {
		own(status_done) struct campaign_status status = {0};
		if (status_read(place->ledger, place->state, name, &status, &err) < 0)
			return cli_fail(&err);
		if (asked_ms == 0)
			asked_ms = status.now_ms;
		if (is_true(wish, &status) || is_over(&status))
			return say_come_true(wish, &status);
		if (clock_now() > until)
			return say_not_yet(wish, &status, asked_ms);
		(void)nanosleep(&step, NULL);
	}
}

int campaign_wish(const char *given_state, const char *name, enum ledger_wish wish, bool wait)
{
	own(campaign_place_done) struct campaign_place place = {0};
	own(status_done) struct campaign_status status = {0};
	struct err err = {0};

	if (plan_name_check(name, &err) < 0 ||
		campaign_place_open(&place, given_state, LEDGER_WRITE, &err) < 0 ||
		status_read(place.ledger, place.state, name, &status, &err) < 0)
		return cli_fail(&err);
	if (!status.held)
		return say_not_running(&status);
	if (ledger_wish_put(place.ledger, status.campaign.id, wish, &err) < 0)
		return cli_fail(&err);
	return wait ? wish_await(&place, name, wish) : 0;
}
