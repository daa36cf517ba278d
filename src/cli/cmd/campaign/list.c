/* hotcell campaign list: the campaigns of this project, newest first. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "project/state.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/verbs.h"

#define NAME_WIDTH 12

struct list_options {
	bool json;
	const char *state;
};

struct listing {
	const char *state;
	struct buf *out;
	int width; /* of the names */
};

static int widen(void *data, const struct campaign_record *campaign)
{
	struct listing *listing = data;
	int len = (int)strlen(campaign->name);

	listing->width = len > listing->width ? len : listing->width;
	return 0;
}

static int put_row(void *data, const struct campaign_record *campaign)
{
	struct listing *listing = data;
	bool held = state_holder(listing->state, campaign->name) != 0;
	char started[32], duration[32], runs[48];

	(void)snprintf(runs, sizeof(runs), "%" PRIu64 "/%" PRIu64, campaign_sums_complete(&campaign->sums),
		campaign->plan.runs);
	buf_fmt(listing->out, "%-*s  %-11s %15s %8" PRIu64 "  %-19s %10s\n", listing->width, campaign->name,
		campaign_state_word(campaign, held), runs, campaign_failures(&campaign->sums),
		campaign_time(campaign->created_ms, started, sizeof(started)),
		duration_text(campaign->active_ms * NS_PER_MS, duration, sizeof(duration)));
	return 0;
}

/* Without a place, of no campaigns. */
static int put_table(const struct campaign_place *place, struct buf *out, struct err *err)
{
	struct listing listing = {.state = place->state, .out = out, .width = NAME_WIDTH};

	if (place->ledger && ledger_campaigns(place->ledger, widen, &listing, err) < 0)
		return -1;
	buf_fmt(out, "%-*s  %-11s %15s %8s  %-19s %10s\n", listing.width, "NAME", "STATE", "COMPLETE", "FAILED",
		"STARTED", "TIME");
	return place->ledger ? ledger_campaigns(place->ledger, put_row, &listing, err) : 0;
}

static int put_json(const struct campaign_place *place, struct json *json, struct err *err)
{
	struct campaign_status *statuses = NULL;
	size_t count = 0;
	int rc = campaign_statuses(place, &statuses, &count, err);

	for (size_t i = 0; i < count; i++) {
		if (rc == 0)
			status_json(&statuses[i], json);
		status_done(&statuses[i]);
	}
	free(statuses);
	return rc;
}

static int run(void *data, const struct cli_args *args)
{
	const struct list_options *options = data;
	own(campaign_place_done) struct campaign_place place = {0};
	own(json_done) struct json json = {0};
	struct err err = {0};
	bool none = campaign_place_is_new(options->state);

	(void)args;
	if (!none && campaign_place_open(&place, options->state, LEDGER_READ, &err) < 0)
		return cli_fail(&err);
	if (!options->json) {
		own(buf_done) struct buf out = {0};
		return put_table(&place, &out, &err) < 0 ? cli_fail(&err) : cli_print(&out);
	}
	json_open(&json, '[');
	if (!none && put_json(&place, &json, &err) < 0)
		return cli_fail(&err);
	json_close(&json, ']');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static const struct cli_option options_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct list_options, json), .help = "print a JSON array"},
	CAMPAIGN_STATE_OPTION(struct list_options, state),
	{0},
};

const struct cli_verb verb_campaign_list = {
	.name = "campaign list",
	.summary = "list campaigns, the newest first",
	.usage = "[options]",
	.options = options_table,
	.options_size = sizeof(struct list_options),
	.run = run,
};
