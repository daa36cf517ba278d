#include "campaign/ledger/record.h"

#include <stdlib.h>

const char *const run_state_names[RUN_STATE_COUNT] = {
	[RUN_RUNNING] = "running",
	[RUN_AGAIN] = "again",
	[RUN_SUCCESS] = "success",
	[RUN_ERROR] = "error",
	[RUN_TIMEOUT] = "timeout",
};
_Static_assert(RUN_STATE_COUNT == 5, "a run's state has no name");

const char *const campaign_state_names[CAMPAIGN_STATE_COUNT] = {
	[CAMPAIGN_RUNNING] = "running",
	[CAMPAIGN_PAUSED] = "paused",
	[CAMPAIGN_STOPPED] = "stopped",
	[CAMPAIGN_DONE] = "done",
	[CAMPAIGN_FAILED] = "failed",
};
_Static_assert(CAMPAIGN_STATE_COUNT == 5, "a campaign's state has no name");

static const char *const markers[RUN_STATE_COUNT] = {
	[RUN_SUCCESS] = "SUCCESS",
	[RUN_ERROR] = "ERROR",
	[RUN_TIMEOUT] = "TIMEOUT",
};

const char *run_state_marker(enum run_state state)
{
	return (unsigned)state < RUN_STATE_COUNT ? markers[state] : NULL;
}

bool run_state_final(enum run_state state)
{
	return run_state_marker(state) != NULL;
}

void run_record_done(struct run_record *run)
{
	free(run->cause);
	free(run->cell);
	*run = (struct run_record){0};
}

void campaign_record_done(struct campaign_record *campaign)
{
	free(campaign->name);
	free(campaign->uuid);
	free(campaign->output);
	free(campaign->cwd);
	free(campaign->words);
	free(campaign->shown);
	free(campaign->env_names);
	free(campaign->budget);
	free(campaign->note);
	*campaign = (struct campaign_record){0};
}

const char *campaign_record_shown(const struct campaign_record *campaign, size_t *ret_len)
{
	*ret_len = campaign->shown_len > 0 ? campaign->shown_len : campaign->words_len;
	return campaign->shown_len > 0 ? campaign->shown : campaign->words;
}
