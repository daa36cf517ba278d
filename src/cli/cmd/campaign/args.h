/* What the verbs around campaigns have in common: the state folder and its ledger, which campaign or run
 * is meant, and wishes left for a supervisor that is at work. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_ARGS_H
#define HOTCELL_CLI_CMD_CAMPAIGN_ARGS_H

#include "campaign/ledger/ledger.h"
#include "campaign/status.h"
#include "cli/core/cli.h"

/* The row for --state in a verb's table. */
#define CAMPAIGN_STATE_OPTION(type, member)                                                        \
	{                                                                                          \
		.name = "state", .value = "DIR", .kind = CLI_TEXT, CLI_INTO(type, member),         \
		.hint = CLI_HINT_FOLDER,                                                           \
		.help = "folder of the ledger (default: the nearest .hotcell, here or above)"      \
	}

/* An open state folder. */
struct campaign_place {
	char *state; /* its path */
	struct ledger *ledger;
};
/* `given` is what --state says, or NULL. Nothing is made. */
MUST_CHECK int campaign_place_open(struct campaign_place *ret, const char *given, enum ledger_how how,
	struct err *err);
void campaign_place_done(struct campaign_place *place);
/* Whether campaign_place_open would fail only because no campaign was ever started here: a question for
 * all campaigns then has an answer, and it is none. */
bool campaign_place_is_new(const char *given);

/* "NAME" or, for one run of it, "NAME/7". Pure. */
struct campaign_target {
	char name[PLAN_MAX_NAME + 1];
	uint64_t run; /* 0: the campaign itself */
};
MUST_CHECK int campaign_target_parse(const char *word, struct campaign_target *ret, struct err *err);

/* The campaign a verb means when it is told none: the newest that is held, else the newest. NULL with
 * ERR_USAGE if there is none at all. The caller frees. */
MUST_CHECK char *campaign_default(const struct campaign_place *place, struct err *err);
/* The status of every campaign, newest first; status_done each and free. */
MUST_CHECK int campaign_statuses(const struct campaign_place *place, struct campaign_status **ret,
	size_t *ret_count, struct err *err);

/* As status_word. */
const char *campaign_state_word(const struct campaign_record *campaign, bool held);
uint64_t campaign_failures(const struct campaign_sums *sums); /* runs that ended, and not with success */
/* "2026-11-16 03:40:28" here; "-" for 0. Into at least 24 bytes; returns it. */
char *campaign_time(uint64_t ms, char *ret, size_t len);

/* Leaves a wish for the supervisor at work on a campaign and, with `wait`, waits up to ten seconds until
 * it has come true. Says what came of it; returns the exit code: 1 when nobody is at work on it. */
MUST_CHECK int campaign_wish(const char *given_state, const char *name, enum ledger_wish wish, bool wait);

#endif
