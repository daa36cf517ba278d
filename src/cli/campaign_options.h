/* The options of `campaign run` and `campaign resume`, and how they travel: from the command line and a
 * file into a campaign, and out of the ledger again.
 *
 * What is kept of a campaign is its command line, word by word, without the values of --env, which may be
 * secrets: only their names are kept, and whoever resumes gives them again. */
#ifndef HOTCELL_CLI_CAMPAIGN_OPTIONS_H
#define HOTCELL_CLI_CAMPAIGN_OPTIONS_H

#include "campaign/ledger/record.h"
#include "cli/run_spec.h"

#define SEED_NOT_GIVEN UINT64_MAX

struct campaign_options {
	struct run_options run; /* first: its rows are shared with `hotcell run` */
	uint64_t runs, workers, retries, rate, stop_after_failures, seed;
	const char *name, *state, *on_alert, *on_budget;
	struct cli_list alerts;
	bool resume, dry_run, detach, plain, trust;
};
void campaign_options_defaults(void *options);

/* A campaign's options as they are in effect, and what they point into. */
struct campaign_words {
	struct campaign_options options;
	char **command; /* NULL-terminated; NULL: none */
	/* private */
	char **argv;
	int argc;
	struct cli_args args;
	char **file_command;
	struct profile profile; /* of options.run.used */
	int profile_words; /* the first of argv, which are its */
};

/* The file's (NULL: none) and then the user's own: what is typed wins. What of a file reaches this
 * machine or what is the user's is taken with --trust only (campaign_reach.h); what else it opens
 * to the cells is said. */
MUST_CHECK int campaign_words_build(struct campaign_words *ret, const char *file, const struct cli_args *typed,
	struct err *err);
/* As the ledger has it, and then the user's own; --env from the file too, if one is named. */
MUST_CHECK int campaign_words_load(struct campaign_words *ret, const struct campaign_record *record,
	const char *file, const struct cli_args *typed, struct err *err);
/* As the ledger has it and nothing else: for those who look at what a resume would do. No profile is read, no --env asked for. */
MUST_CHECK int campaign_words_look(struct campaign_words *ret, const struct campaign_record *record, struct err *err);
/* What runs on this machine and in no cell: the nth, as an option; NULL: there are no more. The caller frees. */
char *campaign_words_outside(const struct campaign_words *words, size_t nth);
/* What of this machine its cells get: mounts, doors, variables, whatever folder they are seen from.
 * The nth, as above. */
char *campaign_words_access(const struct campaign_words *words, size_t nth);
/* Fills the record's words, env_names, plan and limits. */
void campaign_words_save(const struct campaign_words *words, struct campaign_record *record);
void campaign_words_done(struct campaign_words *words);

#endif
