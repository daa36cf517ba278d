/* From a campaign's options to a campaign in the ledger, everything judged before anything is made. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_DRAFT_H
#define HOTCELL_CLI_CMD_CAMPAIGN_DRAFT_H

#include "campaign/alert.h"
#include "cli/campaign_options.h"

/* Fills what is known without a ledger: plan, words, folders. Errors have code ERR_USAGE. */
MUST_CHECK int draft_build(struct campaign_record *ret, const struct campaign_words *words, struct err *err);
/* Puts it into the ledger of `state`, under its name or the next that is free, with its stdin beside it. */
MUST_CHECK int draft_register(const char *state, struct campaign_record *record, const struct campaign_words *words,
	struct err *err);
/* The name and folder it would get, for a dry run: nothing is made. */
void draft_foresee(struct campaign_record *record, const struct campaign_words *words);
/* Removes the campaign's folders if nothing of a run is in them. */
void draft_forget(const char *state, const struct campaign_record *record);

/* Warns if there is to be no sandbox. *ret_backend is static. */
MUST_CHECK int draft_spec(struct run_spec *ret, const struct campaign_words *words, const char **ret_backend,
	struct err *err);
/* What leads out of its cells, shown to them: policy and spec. No credential is read. */
MUST_CHECK int draft_doors(struct door_policy *ret, struct run_spec *built, const struct campaign_words *words,
	const char *backend, struct err *err);
/* The folder of --network-replay; -1: none is given. */
MUST_CHECK int draft_replay(const struct campaign_words *words, int *ret, struct err *err);
/* No run sees the ledger, or what other runs left, in a mount that has them: their folders are hidden. */
MUST_CHECK int draft_hide(struct run_spec *built, const char *state, struct err *err);
/* --manifest. What is refused for it is in the audit log of `state` (NULL: as the options say, made if need be). */
MUST_CHECK int draft_manifests(const struct campaign_options *options, const char *state, struct err *err);
MUST_CHECK int draft_alerts(struct alerts *ret, const struct campaign_options *options, struct err *err);
MUST_CHECK int draft_stdin(const char *state, const char *name, int *ret, struct err *err); /* -1: it has none */
char *draft_shown(const char *path); /* relative to here if it is below; the caller frees */

/* Every run as it would be made, on stdout. Returns the exit code. */
int draft_print(const struct campaign_record *record, const struct cell_spec *spec, const struct door_policy *policy,
	const char *backend, const char *stdin_file, const char *shown, bool json);

#endif
