/* How far a campaign is: everything a person watching wants to know, in one struct. A supervisor fills it
 * from memory, anybody else from the ledger; the terminal's view, `--json` and the metrics are made of it. */
#ifndef HOTCELL_CAMPAIGN_STATUS_H
#define HOTCELL_CAMPAIGN_STATUS_H

#include "base/json.h"
#include "campaign/ledger/ledger.h"

struct campaign_status {
	struct campaign_record campaign;
	struct ledger_live live;
	bool held; /* a supervisor is at work on it now */
	uint64_t now_ms;
	/* derived, by status_derive */
	uint64_t complete, failed, left, running;
	double rate; /* ends per second, over the last minute or as long as it has been going */
	uint64_t eta_ms; /* until the end at that rate; 0: not known */
};
void status_done(struct campaign_status *status);
/* Reads it; `held` is asked of the campaign's lock below `state_dir`. */
MUST_CHECK int status_read(struct ledger *ledger, const char *state_dir, const char *name,
	struct campaign_status *ret, struct err *err);
void status_derive(struct campaign_status *status); /* pure */
/* A supervisor holds it, and its last heartbeat is seconds old: what `live` says is so. */
bool status_fresh(const struct campaign_status *status);
/* "running", ..., or "interrupted": it was running and its supervisor is gone. */
const char *status_word(const struct campaign_status *status);
uint64_t status_lived(const struct campaign_sums *sums); /* cells that were really made: those wall_ns is summed over */

/* One object. A unit is in the name: _ms, _ns and _us are durations or, with now_, created_ and so on,
 * milliseconds since 1970; _bytes; _milli are thousandths. What is not known is null. Names are never
 * renamed or taken away; others may be added.
 *
 *	name uuid state note held holder_pid output cwd command[] env_names[]
 *	now_ms created_ms updated_ms ended_ms active_ms next budget
 *	plan	{runs workers retries seed rate_per_minute stop_after_failures}
 *	limits	{memory_bytes timeout_ms}
 *	derived	{complete failed left running rate_per_s eta_ms}
 *	sums	{states{success error timeout} outcomes{exited signaled ...} cells cell_failures
 *		 cleanup_failures orphans retried cancelled weaker wall_ns mean_wall_ns user_us system_us
 *		 written_bytes peak_memory_sum_bytes peak_memory_max_bytes network{connections requests
 *		 refused failed sent received tokens_in tokens_out microdollars unpriced dollars}}
 *	live	{at_ms memory_bytes cpu_milli done_per_s[] workers[{worker run session since_ms
 *		 running_ms memory_bytes}]}, or null while no supervisor is at work; run is null when idle
 *	alerts	[names of the rules that are firing] */
void status_json(const struct campaign_status *status, struct json *json);
void status_members(const struct campaign_status *status, struct json *json); /* the same, into an open one */

#endif
