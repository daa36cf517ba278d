#include <time.h>

#include "project/state.h"
#include "campaign/status.h"

void status_done(struct campaign_status *status)
{
	campaign_record_done(&status->campaign);
	ledger_live_done(&status->live);
	*status = (struct campaign_status){0};
}

static uint64_t wall_clock_ms(void)
{
	struct timespec ts;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int status_read(struct ledger *ledger, const char *state_dir, const char *name,
	struct campaign_status *ret, struct err *err)
{
	own(status_done) struct campaign_status status = {0};

	/* Asked before and after: one that just begins or just ends is not taken for an interrupted
	 * one. */
	bool held = state_holder(state_dir, name) != 0;
	if (ledger_campaign_get(ledger, name, &status.campaign, err) < 0)
		return -1;
	if (ledger_live_get(ledger, status.campaign.id, &status.live, err) < 0)
		return -1;
	status.held = held || state_holder(state_dir, name) != 0;
	status.now_ms = wall_clock_ms();
	status_derive(&status);
	*ret = status;
	status = (struct campaign_status){0};
	return 0;
}
