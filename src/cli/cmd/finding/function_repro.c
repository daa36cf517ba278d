#include "cli/cmd/finding/function_repro.h"

#include <string.h>
#include <unistd.h>

#include "cli/cmd/fuzz/function_schema.h"
#include "cli/profile_options.h"
#include "cli/fuzz_kept.h"
#include "cli/fuzz_setup.h"
#include "cli/cmd/verbs.h"

bool finding_is_function(const struct finding *finding)
{
	return strncmp(finding->kind, "function-", 9) == 0;
}

/* "file.py:name" without the name */
static char *file_of(const struct finding *finding)
{
	const char *word = finding->command.count ? finding->command.items[0] : "", *colon = function_word_colon(word);

	return colon ? xfmt("%.*s", (int)(colon - word), word) : xstrdup(word);
}

bool function_is_here(const struct finding *finding)
{
	own(freep) char *file = file_of(finding);
	own(function_targets_done) struct function_targets targets = {0};
	const char *word = finding->command.count ? finding->command.items[0] : "";
	struct err err;

	if (!path_is_here(file, strlen(file)))
		return false;
	if (function_targets_read(word, &targets, &err) < 0)
		return true; /* which is said when it is read again, and then nothing runs */
	for (size_t i = 0; i < targets.count; i++) /* the whole project is mounted, and what marks it may lie above this folder */
		if (!targets.list[i].alone && !path_is_here(targets.list[i].root, strlen(targets.list[i].root)))
			return false;
	return true;
}

/* A name may have colons, a function of Rust has them: what is before one of them must be there. */
static bool is_there(const char *word)
{
	for (const char *colon = strchr(word, ':'); colon; colon = strchr(colon + 1, ':')) {
		own(freep) char *file = xfmt("%.*s", (int)(colon - word), word);
		if (*file && access(file, F_OK) == 0)
			return true;
	}
	return *word && access(word, F_OK) == 0;
}

bool function_is_missing(const struct finding *finding, char **ret, char **ret_folder)
{
	const char *word = finding->command.count ? finding->command.items[0] : "";
	size_t whole = strlen(finding->target), len = strlen(word);

	*ret_folder = NULL;
	if (!*word || is_there(word))
		return false;
	*ret = file_of(finding);
	/* a target is called by its path below the project, and was typed from where it was found */
	if (whole > len + 1 && finding->target[whole - len - 1] == '/' && strcmp(finding->target + whole - len, word) == 0)
		*ret_folder = xfmt("%.*s", (int)(whole - len - 1), finding->target);
	return true;
}

struct parsed {
	struct function_cli cli;
	struct cli_args args;
	struct strings words;
	struct profiled profiled;
	struct function_setup setup;
	struct function_retry *retry;
	struct err failed; /* its core could not be kept */
};

static void parsed_done(struct parsed *it)
{
	function_setup_done(&it->setup);
	profiled_done(&it->profiled);
	cli_parse_done(&verb_fuzz_function, &it->cli, &it->args);
	strings_done(&it->words);
}

static int parse(struct parsed *it, struct function_retry *retry, struct err *err)
{
	bool help;

	for (size_t i = 0; i < retry->flags->count; i++)
		strings_add(&it->words, retry->flags->items[i]);
	strings_add(&it->words, "--target");
	strings_add(&it->words, retry->finding->command.count ? retry->finding->command.items[0] : "");
	verb_fuzz_function.defaults(&it->cli);
	if (cli_parse(&verb_fuzz_function, (int)it->words.count, it->words.items, &it->cli, &it->args, &help, err) < 0)
		return err_wrap(err, "the capsule's options");
	it->retry = retry;
	if (profiled_build(&it->profiled, &verb_fuzz_function, &it->cli.run, &it->args, err) < 0)
		return -1;
	struct function_cli *cli = it->profiled.options ? it->profiled.options : &it->cli;
	cli->state = retry->state;
	cli->core = retry->core != NULL;
	return 0;
}

static bool on_stop(void *data)
{
	return ((const struct parsed *)data)->setup.signal != 0;
}

static void on_core(void *data, const struct finding *finding, bool is_new)
{
	struct parsed *it = data;

	(void)is_new;
	it->retry->cored = store_put(it->retry->core, finding, &it->failed) == 0;
}

bool function_is_changed(const struct function_setup *setup, const struct finding *finding)
{
	const struct function_target *target = &setup->targets.list[0];
	own(freep) char *path = xfmt("%s/%s", target->root, target->file);
	char *const words[] = {path, NULL};
	own(freep) char *sum = fuzz_target_sum(words);

	return finding->target_sha256 && (!sum || strcmp(sum, finding->target_sha256) != 0);
}

static void fill(const struct function_again *again, struct repro *ret)
{
	const struct strings *evidence = &again->last.evidence;
	struct err err;

	*ret = (struct repro){.seen = again->seen, .tried = again->tried};
	ret->verdict = again->seen ? REPRO_SAME : again->last.oracle ? REPRO_DIFFERENT : REPRO_FIXED;
	for (size_t i = 0; i < evidence->count; i++)
		strings_add(&ret->evidence, evidence->items[i]);
	if (ret->verdict == REPRO_DIFFERENT && fuzz_copy(&again->last, &ret->other, &err) < 0)
		ret->other = (struct finding){.oracle = xstrdup(again->last.oracle), .message = xstrdup(again->last.message)};
}

static const struct function_cli *cli_of(const struct parsed *it)
{
	return it->profiled.options ? it->profiled.options : &it->cli;
}

static int retry_open(struct parsed *it, struct function_retry *retry, struct err *err)
{
	if (function_setup_build(&it->setup, cli_of(it), NULL, &it->args, err) < 0 || function_setup_open(&it->setup, err) < 0)
		return -1;
	if (it->setup.targets.count != 1)
		return err_set(err, ERR_USAGE, "the capsule names no single function");
	function_setup_rename(&it->setup, retry->finding->target);
	retry->changed = function_is_changed(&it->setup, retry->finding);
	it->setup.options.coverage = COVER_NONE;
	it->setup.options.stop = on_stop;
	it->setup.options.found = on_core;
	it->setup.options.data = it;
	return 0;
}

int function_smaller(struct function_retry *retry, struct finding *finding, uint64_t ms, bool *ret_smaller, struct err *err)
{
	own(parsed_done) struct parsed it = {0};
	bool stopped = false;

	if (parse(&it, retry, err) < 0)
		return -1;
	if (cli_of(&it)->schema)
		return err_set(err, ERR_USAGE, "a value that fits a schema is made small when it is found, and not again");
	if (retry_open(&it, retry, err) < 0)
		return -1;
	int rc = function_minimise(&it.setup.options, finding, ms, it.setup.loop, it.setup.pool, ret_smaller, &stopped, err);
	retry->signal = it.setup.signal;
	if (rc < 0)
		return -1;
	if (stopped)
		return err_set(err, ERR_LOST, "stopped before it was made smaller");
	return fuzz_log_again(it.setup.audit.audit, "minimise", finding, *ret_smaller ? "smaller" : "same", err);
}

int function_repro(struct function_retry *retry, struct repro *ret, struct err *err)
{
	own(parsed_done) struct parsed it = {0};
	own(function_again_done) struct function_again again = {0};

	if (parse(&it, retry, err) < 0)
		return -1;
	if (cli_of(&it)->schema)
		return function_schema_repro(cli_of(&it), &it.args, retry, ret, err);
	if (retry_open(&it, retry, err) < 0)
		return -1;
	int rc = function_again(&it.setup.options, retry->finding, retry->times, it.setup.loop, it.setup.pool, &again, err);
	retry->signal = it.setup.signal;
	if (rc < 0)
		return -1;
	if (again.problems.count)
		return err_set(err, ERR_LOST, "%.380s", again.problems.items[0]);
	if (again.stopped)
		return err_set(err, ERR_LOST, "stopped before it was tried as often as asked for");
	if (it.failed.code) {
		*err = it.failed;
		return -1;
	}
	for (size_t i = 0; i < again.gaps.count; i++)
		cli_say("%s", again.gaps.items[i]);
	fill(&again, ret);
	return fuzz_log_again(it.setup.audit.audit, "repro", retry->finding, repro_name(ret->verdict), err);
}
