/* hotcell campaign schema, profile schema: what a campaign's file and a profile may hold, for editors and other programs. */
#include "base/json.h"
#include "cli/file_schema.h"
#include "cli/cmd/verbs.h"

static int print(struct json *json)
{
	buf_char(&json->out, '\n');
	return cli_print(&json->out);
}

static int campaign_run(void *options, const struct cli_args *args)
{
	own(json_done) struct json json = {.pretty = true};

	(void)options;
	(void)args;
	config_schema(&verb_campaign_run, &json);
	return print(&json);
}

static int profile_run(void *options, const struct cli_args *args)
{
	own(json_done) struct json json = {.pretty = true};

	(void)options;
	(void)args;
	profile_schema(&json);
	return print(&json);
}

const struct cli_verb verb_campaign_schema = {
	.name = "campaign schema",
	.summary = "print the JSON Schema of a campaign file, for editors",
	.details = "Above a campaign file, an editor finds it by:  # yaml-language-server: $schema=campaign.schema.json\n",
	.run = campaign_run,
};

const struct cli_verb verb_profile_schema = {
	.name = "profile schema",
	.summary = "print the JSON Schema of a security profile, for editors",
	.details = "Above a profile, an editor finds it by:  # yaml-language-server: $schema=profile.schema.json\n",
	.run = profile_run,
};
