/* Profiles as options name them: built-in, or a file; and the options of a verb with a profile's in front. */
#ifndef HOTCELL_CLI_PROFILE_OPTIONS_H
#define HOTCELL_CLI_PROFILE_OPTIONS_H

#include "cli/run_spec.h"
#include "profile/profile.h"

/* NAME, FILE.yaml or a path with a '/', and perhaps @sha256:SUM after it: then a profile with another sum is refused. Every
 * item is also judged by the option it stands for. Errors have code ERR_USAGE. */
MUST_CHECK int profile_load(struct profile *ret, const char *text, struct err *err);
/* ERR_USAGE if a file reaches this machine or what is the user's (campaign_reach.h) and `text`
 * names it without its sum. */
MUST_CHECK int profile_check_reach(
	const struct profile *profile, const char *text, struct err *err);
/* What --profile says, or else HOTCELL_PROFILE; NULL: none. */
const char *profile_chosen(const char *option);
/* One line to stderr if a file opens something that a cell without it has not. */
void profile_say_opens(const struct profile *profile);

/* The options of a verb that makes cells, parsed again with those of its profile in front, which then lose. */
struct profiled {
	void *options; /* begins with a struct run_options; NULL: there is no profile, and those typed count */
	struct cli_args args;
	/* private */
	const struct cli_verb *verb;
	struct profile profile;
	char **argv;
	int argc;
};
MUST_CHECK int profiled_build(struct profiled *ret, const struct cli_verb *verb, const struct run_options *typed,
	const struct cli_args *args, struct err *err);
/* The same with the profile of this text, and without what was typed that a profile has a say in. */
MUST_CHECK int profiled_text(struct profiled *ret, const struct cli_verb *verb, const struct buf *text,
	const struct cli_args *args, struct err *err);
void profiled_done(struct profiled *it);

#endif
