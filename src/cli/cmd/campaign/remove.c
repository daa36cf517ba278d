#include "cli/cmd/campaign/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "campaign/session.h"
#include "project/state.h"
#include "cli/cmd/campaign/files.h"

struct removing {
	const struct campaign_record *campaign;
	campaign_want_fn *want;
	void *data;
	uint64_t removed, kept;
};

static int remove_one(void *data, int sessions, const char *name, uint64_t number, struct err *err)
{
	struct removing *removing = data;

	if (removing->want && !removing->want(removing->data, sessions, name, number)) {
		removing->kept++;
		return 0;
	}
	if (session_remove(sessions, name, err) < 0)
		return err_wrap(err, "remove session '%s' of campaign '%s'", name, removing->campaign->name);
	removing->removed++;
	return 0;
}

int campaign_remove_files(const struct campaign_record *campaign, campaign_want_fn *want, void *data,
	uint64_t *ret_removed, uint64_t *ret_kept, struct err *err)
{
	struct removing removing = {.campaign = campaign, .want = want, .data = data};
	own(fd_closep) int sessions = -1;
	uint64_t before;

	*ret_removed = *ret_kept = 0;
	int found = campaign_files_open(campaign, &sessions, err);
	if (found <= 0)
		return found;
	do { /* a listing during which names go need not be complete */
		before = removing.removed;
		removing.kept = 0;
		if (campaign_files_each(sessions, campaign, remove_one, &removing, err) < 0)
			return -1;
	} while (removing.removed > before);
	*ret_removed = removing.removed;
	*ret_kept = removing.kept;
	return 0;
}

int campaign_remove_folder(const struct campaign_record *campaign, bool *ret_left, struct err *err)
{
	own(fd_closep) int sessions = -1;
	int found = campaign_files_open(campaign, &sessions, err);

	*ret_left = false;
	return found <= 0 ? found : campaign_files_finish(sessions, campaign, ret_left, err);
}

static int folder_remove(const struct campaign_place *place, const char *name, struct err *err)
{
	return state_campaign_remove(place->state, name, err) < 0 ? err_wrap(err, "remove the folder of campaign '%s'", name) : 0;
}

int campaign_remove_rows(const struct campaign_place *place, const struct campaign_record *campaign, struct err *err)
{
	if (ledger_campaign_remove(place->ledger, campaign->id, err) < 0)
		return -1;
	return folder_remove(place, campaign->name, err);
}

bool campaign_remove_is_half_done(const struct campaign_place *place, const char *name)
{
	own(campaign_record_done) struct campaign_record campaign = {0};
	struct err err = {0};

	/* Any other error than that there is none tells nothing. */
	return ledger_campaign_get(place->ledger, name, &campaign, &err) < 0 && err.code == ERR_USAGE &&
		state_campaign_is_there(place->state, name);
}

int campaign_remove_rest(const struct campaign_place *place, const char *name, struct err *err)
{
	own(fd_closep) int lock = state_lock(place->state, name, err);

	return lock < 0 ? -1 : folder_remove(place, name, err);
}
