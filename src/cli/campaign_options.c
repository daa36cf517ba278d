#include "cli/campaign_options.h"

#include <errno.h>
#include <string.h>

#include "base/term.h"
#include "cli/campaign_reach.h"
#include "cli/config.h"
#include "cli/fuzz_options.h"
#include "run/hidden.h"
#include "cli/profile_options.h"
#include "cli/cmd/verbs.h"

#define TIMEOUT_MS (15 * 60 * 1000)

void campaign_options_defaults(void *options)
{
	struct campaign_options *campaign = options;

	run_options_defaults(&campaign->run);
	campaign->run.limits.timeout_ms = TIMEOUT_MS;
	campaign->runs = 100;
	campaign->workers = 3;
	campaign->seed = SEED_NOT_GIVEN;
}

/* ---- words ---- */

static void word_add(struct campaign_words *words, const char *word)
{
	words->argv = xrealloc(words->argv, (size_t)words->argc + 2, sizeof(*words->argv));
	words->argv[words->argc++] = xstrdup(word);
	words->argv[words->argc] = NULL;
}

static void words_add(struct campaign_words *words, const struct cli_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		word_add(words, list->items[i]);
}

static const struct cli_option *option_of(const char *word)
{
	size_t len = strcspn(word + 2, "=");

	for (const struct cli_option *option = verb_campaign_run.options; option->name; option++)
		if (strlen(option->name) == len && strncmp(option->name, word + 2, len) == 0)
			return option;
	return NULL;
}

static int parse_words(struct campaign_words *words, struct err *err)
{
	bool help;

	hidden_words((const char *const *)words->argv, (size_t)words->argc);
	campaign_options_defaults(&words->options);
	if (cli_parse(&verb_campaign_run, words->argc, words->argv, &words->options, &words->args, &help, err) < 0)
		return -1;
	if (words->args.command)
		words->command = words->args.command;
	return 0;
}

/* Its words go in front of all others, which then win. */
static void put_profile_words(struct campaign_words *words)
{
	size_t count;
	char **first = profile_words(&words->profile, &count);
	char **all = xcalloc(count + (size_t)words->argc + 1, sizeof(*all));

	memcpy(all, first, count * sizeof(*all));
	memcpy(all + count, words->argv, (size_t)words->argc * sizeof(*all));
	free(first);
	free(words->argv);
	words->argv = all;
	words->argc += (int)count;
	words->profile_words = (int)count;
}

/* Values of --env are masked in argv as they are parsed; who parses again needs them as they were. */
static void unmask(struct campaign_words *words, char *const *copies)
{
	for (int i = 0; i < words->argc; i++)
		memcpy(words->argv[i], copies[i], strlen(copies[i]));
}

static void copies_free(char **copies, int count)
{
	for (int i = 0; i < count; i++) {
		explicit_bzero(copies[i], strlen(copies[i]));
		free(copies[i]);
	}
	free(copies);
}

static int parse(struct campaign_words *words, struct err *err)
{
	char **copies = xcalloc((size_t)words->argc + 1, sizeof(*copies));
	int count = words->argc, failed;

	for (int i = 0; i < count; i++)
		copies[i] = xstrdup(words->argv[i]);
	failed = parse_words(words, err);
	const char *text = failed ? NULL : words->options.run.profile;
	if (text &&
		(profile_load(&words->profile, text, err) < 0 ||
			(!words->options.trust &&
				profile_check_reach(&words->profile, text, err) < 0))) {
		failed = -1;
	} else if (text) {
		cli_parse_done(&verb_campaign_run, &words->options, &words->args);
		unmask(words, copies);
		put_profile_words(words);
		failed = parse_words(words, err);
		words->options.run.used = &words->profile;
	}
	copies_free(copies, count);
	return failed;
}

/* ---- what a file may say ---- */

/* A file may have come with a clone, and to name it is not to have read it: that it runs a program
 * in cells is what everybody expects, that it reaches what is the user's, or writes outside of this
 * folder, is not. */
static int refuse_reach(const char *file, const char *word, struct err *err)
{
	own(buf_done) struct buf shown = {0}, what = {0};

	term_line(file, strlen(file), 120, &shown);
	term_line(word + 2, strlen(word + 2), 120, &what);
	return err_set(err, ERR_USAGE,
		"'%s' sets '%s', which reaches outside the sandbox or opens it: check the file, then add --trust, or pass the option yourself",
		buf_text(&shown), buf_text(&what));
}

static bool is_typed(const struct cli_args *typed, const char *word)
{
	for (size_t i = 0; i < typed->given.count; i++)
		if (strncmp(typed->given.items[i], word, strlen(word)) == 0)
			return true;
	return false;
}

/* In *opened: what is taken, and to be said. */
static int check_file(const struct config_words *config, const char *file,
	const struct cli_args *typed, struct buf *opened, struct err *err)
{
	bool trusted = is_typed(typed, "--trust");

	for (size_t i = 0; i < config->count; i++) {
		const char *word = config->words[i];
		enum campaign_reach reach = campaign_reach(word);
		if (!trusted && reach == REACH_OUT)
			return refuse_reach(file, word, err);
		if (reach == REACH_SAID || (reach == REACH_OUT && campaign_is_access(word))) {
			buf_str(opened, opened->len ? ", " : "");
			term_line(word + 2, strcspn(word + 2, ","), 120,
				opened); /* after it a door may have a credential */
		}
	}
	return 0;
}

/* With --quiet, too: nobody has read the file yet. */
static void say_opened(const char *file, const struct buf *opened)
{
	own(buf_done) struct buf shown = {0};

	if (!opened->len)
		return;
	term_line(file, strlen(file), 120, &shown);
	cli_say("'%s' gives its cells access to: %s", buf_text(&shown), buf_text(opened));
}

/* A profile that the file names, and nobody else, is part of the file. */
static int check_profile(const struct campaign_words *words, const char *file,
	const struct cli_args *typed, struct err *err)
{
	if (!file || !words->options.run.used || is_typed(typed, "--trust") ||
		profile_chosen(NULL) || is_typed(typed, "--profile="))
		return 0;
	for (int i = 0; !words->options.run.used->builtin && i < words->profile_words; i++)
		if (campaign_reach(words->argv[i]) == REACH_OUT)
			return refuse_reach(words->options.run.used->name, words->argv[i], err);
	return 0;
}

int campaign_words_build(struct campaign_words *ret, const char *file, const struct cli_args *typed, struct err *err)
{
	own(buf_done) struct buf opened = {0};

	*ret = (struct campaign_words){0};
	if (file) {
		struct config_words config = {0};
		if (config_read(&verb_campaign_run, file, &config, err) < 0)
			return -1;
		if (check_file(&config, file, typed, &opened, err) < 0) {
			config_words_done(&config);
			return -1;
		}
		for (size_t i = 0; i < config.count; i++)
			word_add(ret, config.words[i]);
		ret->file_command = ptr_take(&config.command);
		config_words_done(&config);
	}
	if (getenv("HOTCELL_PROFILE") && *getenv("HOTCELL_PROFILE")) {
		own(freep) char *word = xfmt("--profile=%s", getenv("HOTCELL_PROFILE"));
		word_add(ret, word);
	}
	words_add(ret, &typed->given);
	if (parse(ret, err) < 0 || check_profile(ret, file, typed, err) < 0)
		return -1;
	say_opened(file, &opened);
	if (ret->options.run.used && (file || !ret->options.run.quiet))
		profile_say_opens(ret->options.run.used);
	ret->command = typed->command ? typed->command : ret->file_command;
	if (!ret->command)
		return err_set(err, ERR_USAGE,
			"no command given: name one after '--', or with 'command:' in a campaign file");
	return 0;
}

/* ---- to the ledger and back ---- */

static void bytes_add(char **bytes, size_t *len, const char *text)
{
	size_t more = strlen(text) + 1;

	*bytes = xrealloc(*bytes, *len + more, 1);
	memcpy(*bytes + *len, text, more);
	*len += more;
}

void campaign_words_save(const struct campaign_words *words, struct campaign_record *record)
{
	const struct campaign_options *options = &words->options;

	for (int i = words->profile_words; i < words->argc; i++) {
		const struct cli_option *option = option_of(words->argv[i]);
		if (!option || option->not_in_file || strcmp(option->name, "profile") == 0)
			continue;
		if (!option->secret) {
			bytes_add(&record->words, &record->words_len, words->argv[i]);
			continue;
		}
	}
	if (options->run.used) { /* the very same one, or it is not resumed */
		own(freep) char *word = xfmt("--profile=%s@sha256:%s", options->run.used->name, options->run.used->sum);
		bytes_add(&record->words, &record->words_len, word);
	}
	for (size_t i = 0; i < options->run.env.count; i++) {
		own(freep) char *name = xstrdup(options->run.env.items[i]);
		name[strcspn(name, "=")] = '\0';
		bytes_add(&record->env_names, &record->env_names_len, name);
	}
	bytes_add(&record->words, &record->words_len, "--");
	for (char **word = words->command; *word; word++)
		bytes_add(&record->words, &record->words_len, *word);
	record->plan = (struct campaign_plan){.runs = options->runs,
		.workers = (unsigned)options->workers,
		.retries = (unsigned)options->retries,
		.seed = options->seed,
		.rate = options->rate,
		.stop_after_failures = options->stop_after_failures};
	record->budget = xstrdup(options->run.doors.budget ? options->run.doors.budget : "");
	record->memory_limit = options->run.limits.memory;
	record->timeout_ms = options->run.limits.timeout_ms;
}

/* Only what the ledger does not keep is taken from the file. */
static int add_env_of_file(struct campaign_words *words, const char *file, struct err *err)
{
	struct config_words config = {0};

	if (config_read(&verb_campaign_run, file, &config, err) < 0)
		return -1;
	for (size_t i = 0; i < config.count; i++)
		if (strncmp(config.words[i], "--env=", strlen("--env=")) == 0)
			word_add(words, config.words[i]);
	config_words_done(&config);
	return 0;
}

static int check_env(const struct campaign_words *words, const struct campaign_record *record, struct err *err)
{
	const struct cli_list *env = &words->options.run.env;

	for (size_t at = 0; at < record->env_names_len; at += strlen(record->env_names + at) + 1) {
		const char *name = record->env_names + at;
		size_t len = strlen(name);
		bool found = false;
		for (size_t i = 0; i < env->count && !found; i++)
			found = strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=';
		if (!found)
			return err_set(err, ERR_USAGE,
				"campaign '%s' was started with --env %s=...; values are not kept, as they may be "
				"secret: give it again, or the file it came from",
				record->name, name);
	}
	return 0;
}

int campaign_words_look(struct campaign_words *ret, const struct campaign_record *record, struct err *err)
{
	*ret = (struct campaign_words){0};
	for (size_t at = 0; at < record->words_len; at += strlen(record->words + at) + 1)
		word_add(ret, record->words + at);
	return parse_words(ret, err) < 0 ? err_wrap(err, "the ledger's command line of campaign '%s'", record->name) : 0;
}

char *campaign_words_outside(const struct campaign_words *words, size_t nth)
{
	const struct campaign_options *options = &words->options;
	bool bare = options->run.no_sandbox || (options->run.backend && !cell_backend_can(options->run.backend, CELL_ISOLATES));

	if (bare && nth == 0)
		return xstrdup("every run: it has no sandbox");
	return options->on_alert && nth == (bare ? 1 : 0) ? xfmt("--on-alert=%s", options->on_alert) : NULL;
}

char *campaign_words_access(const struct campaign_words *words, size_t nth)
{
	const struct cli_list *given = &words->args.given;

	for (size_t i = 0; i < given->count; i++)
		if (campaign_is_access(given->items[i]) && nth-- == 0)
			return xstrdup(given->items[i]);
	return NULL;
}

int campaign_words_load(struct campaign_words *ret, const struct campaign_record *record, const char *file,
	const struct cli_args *typed, struct err *err)
{
	size_t at = 0;

	*ret = (struct campaign_words){0};
	for (; at < record->words_len && strcmp(record->words + at, "--") != 0; at += strlen(record->words + at) + 1)
		word_add(ret, record->words + at);
	if (file && add_env_of_file(ret, file, err) < 0)
		return -1;
	words_add(ret, &typed->given);
	if (record->budget && record->budget[0]) { /* it may have been raised since, and is whole: what is typed is part of it */
		own(freep) char *budget = xfmt("--budget=%s", record->budget);
		word_add(ret, budget);
	}
	for (; at < record->words_len; at += strlen(record->words + at) + 1)
		word_add(ret, record->words + at);
	if (parse(ret, err) < 0)
		return err_wrap(err, "the ledger's command line of campaign '%s'", record->name);
	if (!ret->command)
		return err_set(err, EINVAL, "the ledger has no command for campaign '%s': it is damaged", record->name);
	ret->options.seed = record->plan.seed;
	return check_env(ret, record, err);
}

void campaign_words_done(struct campaign_words *words)
{
	if (words->args.words)
		cli_parse_done(&verb_campaign_run, &words->options, &words->args);
	for (int i = 0; i < words->argc; i++) {
		explicit_bzero(words->argv[i], strlen(words->argv[i]));
		free(words->argv[i]);
	}
	free(words->argv);
	for (char **word = words->file_command; word && *word; word++)
		free(*word);
	free(words->file_command);
	profile_done(&words->profile);
	*words = (struct campaign_words){0};
}
