/* hotcell clean: old session folders, and the campaigns of which nothing else is left. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/size.h"
#include "project/state.h"
#include "cli/cmd/campaign/files.h"
#include "cli/cmd/campaign/remove.h"
#include "cli/cmd/verbs.h"

#define OLDER_THAN_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define SIZE_BUDGET 500000 /* files and folders looked at for their sizes, over the whole command */

struct clean_options {
	uint64_t older_than_ms;
	bool keep_failures, dry_run, json;
	const char *state;
};

static void defaults(void *options)
{
	((struct clean_options *)options)->older_than_ms = OLDER_THAN_MS;
}

/* What came, or would come, of one campaign. */
struct cleaned {
	char *name;
	uint64_t sessions, bytes;
	bool whole; /* bytes is all of it */
	bool gone; /* the campaign itself, too */
};

struct clean {
	const struct clean_options *options;
	struct campaign_place place;
	uint64_t before_ms, budget;
	const struct campaign_record *campaign; /* at hand */
	struct cleaned *at; /* of it */
	struct err *err; /* of a question asked in between; code 0: none */
	struct cleaned *rows;
	size_t count;
};

static void clean_done(struct clean *clean)
{
	for (size_t i = 0; i < clean->count; i++)
		free(clean->rows[i].name);
	free(clean->rows);
	campaign_place_done(&clean->place);
}

/* ---- what is old ---- */

static bool run_is_old(const struct clean *clean, const struct run_record *run)
{
	if (clean->options->keep_failures && run->state != RUN_SUCCESS)
		return false;
	if (run_state_final(run->state))
		return run->ended_ms < clean->before_ms;
	return run->started_ms < clean->before_ms; /* nobody is at work on it, and it is done again */
}

static bool want(void *data, int sessions, const char *name, uint64_t number)
{
	struct clean *clean = data;
	own(run_record_done) struct run_record run = {0};
	uint64_t bytes = 0;
	int found = ledger_run_get(clean->place.ledger, clean->campaign->id, number, &run, clean->err);

	if (found < 0)
		return false;
	/* Without a row it never began, as far as anybody knows. */
	if (found > 0 ? !run_is_old(clean, &run) : clean->campaign->updated_ms >= clean->before_ms)
		return false;
	clean->at->whole &= campaign_files_size(sessions, name, &clean->budget, &bytes);
	clean->at->bytes += bytes;
	clean->at->sessions++;
	return true;
}

struct counting {
	struct clean *clean;
	uint64_t kept;
};

static int count_one(void *data, int sessions, const char *name, uint64_t number, struct err *err)
{
	struct counting *counting = data;

	(void)err;
	counting->kept += !want(counting->clean, sessions, name, number);
	return 0;
}

/* As campaign_remove_files, but for the removing. */
static int count_files(struct clean *clean, uint64_t *ret_kept, struct err *err)
{
	struct counting counting = {.clean = clean};
	own(fd_closep) int sessions = -1;
	int found = campaign_files_open(clean->campaign, &sessions, err);

	*ret_kept = 0;
	if (found <= 0)
		return found;
	int rc = campaign_files_each(sessions, clean->campaign, count_one, &counting, err);
	*ret_kept = counting.kept;
	return rc;
}

/* ---- one campaign ---- */

/* Only one whose every run has its outcome: any other can still be resumed. */
static bool campaign_is_old(const struct clean *clean)
{
	return clean->campaign->state == CAMPAIGN_DONE && clean->campaign->ended_ms < clean->before_ms &&
		(!clean->options->keep_failures || campaign_failures(&clean->campaign->sums) == 0);
}

static int files_clean(struct clean *clean, uint64_t *ret_kept, struct err *err)
{
	uint64_t removed;
	struct err asked = {0};

	clean->err = &asked;
	int rc = clean->options->dry_run
		? count_files(clean, ret_kept, err)
		: campaign_remove_files(clean->campaign, want, clean, &removed, ret_kept, err);
	if (rc == 0 && asked.code)
		return err_set(err, asked.code, "%s", asked.text);
	return rc;
}

static struct cleaned *row_add(struct clean *clean, const char *name)
{
	clean->rows = xrealloc(clean->rows, clean->count + 1, sizeof(*clean->rows));
	clean->rows[clean->count] = (struct cleaned){.name = xstrdup(name), .whole = true};
	return &clean->rows[clean->count++];
}

static int campaign_clean(struct clean *clean, const char *name, struct err *err)
{
	own(campaign_record_done) struct campaign_record campaign = {0};
	own(fd_closep) int lock = -1;
	uint64_t kept;
	bool left;

	if (!clean->options->dry_run) {
		lock = state_lock(clean->place.state, name, err);
		if (lock < 0)
			return -1;
	}
	if (ledger_campaign_get(clean->place.ledger, name, &campaign, err) < 0)
		return -1;
	clean->campaign = &campaign;
	clean->at = row_add(clean, name);
	if (files_clean(clean, &kept, err) < 0)
		return -1;
	clean->at->gone = kept == 0 && campaign_is_old(clean);
	if (!clean->at->gone || clean->options->dry_run)
		return 0;
	return campaign_remove_folder(&campaign, &left, err) < 0 ? -1
								 : campaign_remove_rows(&clean->place, &campaign, err);
}

/* ---- telling ---- */

static const char *bytes_text(uint64_t bytes, bool whole, char *ret, size_t len)
{
	char size[32];

	(void)snprintf(ret, len, "%s%s", whole ? "" : "more than ", size_text(bytes, size, sizeof(size)));
	return ret;
}

static void put_text(const struct clean *clean, struct buf *out)
{
	const char *verb = clean->options->dry_run ? "would remove" : "removed";
	struct cleaned sum = {.whole = true};
	char text[48];

	for (size_t i = 0; i < clean->count; i++) {
		const struct cleaned *row = &clean->rows[i];
		sum.sessions += row->sessions;
		sum.bytes += row->bytes;
		sum.whole &= row->whole;
		if (row->sessions == 0 && !row->gone)
			continue;
		buf_fmt(out, "%s: %s %" PRIu64 " session folder%s, %s%s\n", row->name, verb, row->sessions,
			row->sessions == 1 ? "" : "s", bytes_text(row->bytes, row->whole, text, sizeof(text)),
			row->gone ? ", and the campaign" : "");
	}
	buf_fmt(out, "%s %" PRIu64 " session folder%s in all, %s\n", verb, sum.sessions, sum.sessions == 1 ? "" : "s",
		bytes_text(sum.bytes, sum.whole, text, sizeof(text)));
}

static void put_json(const struct clean *clean, struct buf *out)
{
	own(json_done) struct json json = {0};

	json_open(&json, '[');
	for (size_t i = 0; i < clean->count; i++) {
		const struct cleaned *row = &clean->rows[i];
		json_open(&json, '{');
		json_put_string(&json, "campaign", row->name);
		json_put_uint(&json, "sessions", row->sessions);
		json_put_uint(&json, "bytes", row->bytes);
		json_put_bool(&json, "bytes_exact", row->whole);
		json_put_bool(&json, "campaign_removed", row->gone);
		json_put_bool(&json, "dry_run", clean->options->dry_run);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}

static int tell(const struct clean *clean)
{
	own(buf_done) struct buf out = {0};

	if (clean->options->json)
		put_json(clean, &out);
	else
		put_text(clean, &out);
	return cli_print(&out);
}

/* ---- the verb ---- */

static int name_add(void *data, const struct campaign_record *campaign)
{
	struct cli_names *names = data;

	names->items = xrealloc(names->items, names->count + 1, sizeof(*names->items));
	names->items[names->count++] = xstrdup(campaign->name);
	return 0;
}

static int clean_all(struct clean *clean, struct err *err)
{
	own(cli_names_done) struct cli_names names = {0};

	if (ledger_campaigns(clean->place.ledger, name_add, &names, err) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++) {
		if (state_holder(clean->place.state, names.items[i]) == 0 &&
			campaign_clean(clean, names.items[i], err) < 0)
			return -1;
	}
	return 0;
}

/* All names before anything is removed. */
static int clean_named(struct clean *clean, const struct cli_args *args, struct err *err)
{
	for (int i = 0; i < args->word_count; i++) {
		own(campaign_record_done) struct campaign_record campaign = {0};
		int pid;
		if (plan_name_check(args->words[i], err) < 0 ||
			ledger_campaign_get(clean->place.ledger, args->words[i], &campaign, err) < 0)
			return -1;
		if ((pid = state_holder(clean->place.state, args->words[i])) != 0)
			return err_set(err, ERR_USAGE,
				"campaign '%s' is held by process %d and is not cleaned; 'hotcell campaign stop %s' ends it",
				args->words[i], pid, args->words[i]);
	}
	for (int i = 0; i < args->word_count; i++) {
		if (!ledger_name_free(clean->place.ledger, args->words[i]) &&
			campaign_clean(clean, args->words[i], err) < 0)
			return -1;
	}
	return 0;
}

static int run(void *data, const struct cli_args *args)
{
	own(clean_done) struct clean clean = {.options = data, .budget = SIZE_BUDGET};
	uint64_t now_ms = (uint64_t)time(NULL) * 1000;
	struct err err = {0};
	int rc = 0;

	clean.before_ms = now_ms > clean.options->older_than_ms ? now_ms - clean.options->older_than_ms : 0;
	if (args->word_count == 0 && campaign_place_is_new(clean.options->state))
		return tell(&clean);
	if (campaign_place_open(&clean.place, clean.options->state,
		    clean.options->dry_run ? LEDGER_READ : LEDGER_WRITE, &err) < 0)
		return cli_fail(&err);
	rc = args->word_count > 0 ? clean_named(&clean, args, &err) : clean_all(&clean, &err);
	if (rc < 0 && clean.count == 0)
		return cli_fail(&err);
	int told = tell(&clean); /* what was removed before it failed is gone, too */
	return rc < 0 ? cli_fail(&err) : told;
}

#define INTO(member) CLI_INTO(struct clean_options, member)

static const struct cli_option options_table[] = {
	{.name = "older-than", .value = "DURATION", .kind = CLI_DURATION, INTO(older_than_ms), .fallback = "30d",
		.help = "only sessions that ended longer ago than this"},
	{.name = "keep-failures", .kind = CLI_FLAG, INTO(keep_failures), .help = "only sessions that succeeded"},
	{.name = "dry-run", .letter = 'n', .kind = CLI_FLAG, INTO(dry_run),
		.help = "print what would be removed, and remove nothing"},
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print a JSON array, one object a campaign"},
	CAMPAIGN_STATE_OPTION(struct clean_options, state),
	{0},
};

const struct cli_verb verb_clean = {
	.name = "clean",
	.summary = "remove old session folders",
	.usage = "[options] [NAME...]",
	.details = "Without NAME, of all campaigns that nobody is at work on. A campaign all of whose runs were done\n"
		   "and of whose sessions none is left is removed from the ledger, too. 'hotcell campaign rm' removes\n"
		   "one whatever its age.\n",
	.options = options_table,
	.options_size = sizeof(struct clean_options),
	.defaults = defaults,
	.words_max = -1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
