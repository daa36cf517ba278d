/* One run of a campaign, in words and as JSON. Pure: the ledger's rows in, text out; nothing in the text can
 * steer a terminal. */
#ifndef HOTCELL_CLI_CMD_CAMPAIGN_RUN_TEXT_H
#define HOTCELL_CLI_CMD_CAMPAIGN_RUN_TEXT_H

#include "base/json.h"
#include "campaign/ledger/record.h"
#include "cli/core/cli.h"

/* "  [007]     42.3 s  error    exit 3" and a newline. */
void run_text_line(const struct campaign_record *campaign, const struct run_record *run, struct buf *out);
/* Several lines: everything the ledger has of it, its folder, and how to do it again. */
void run_text_details(const struct campaign_record *campaign, const struct run_record *run, struct buf *out);
void run_text_json(const struct campaign_record *campaign, const struct run_record *run, struct json *json);

/* A command line for a shell that does this one run again, by itself, with its seed: of the campaign's words
 * what `from`'s table (the verb that made them) has in common with `to`'s. Both may be any verbs. */
void run_text_again(const struct campaign_record *campaign, const struct run_record *run,
	const struct cli_verb *from, const struct cli_verb *to, struct buf *out);
/* The word as a shell reads it back, quoted where it has to be; $'...' where a terminal could not show it. */
void run_text_quote(const char *word, size_t len, struct buf *out);

#endif
