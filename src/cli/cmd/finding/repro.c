/* hotcell repro, hotcell findings repro, hotcell findings minimise: a finding tried again, from its capsule.
 *
 * A capsule is a stranger's file, and the project that holds it may be a stranger's, too. So its command is shown before it
 * runs, it runs in a cell, and of its options those that open the cell are not taken unless the user says --trust: mounts but
 * for read-only ones of what is at or below the current folder, variables of the environment, images, other backends,
 * profiles but for the built-in ones. If it needs such, nothing is run, and it is said what was needed. */
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/term.h"
#include "cli/backend.h"
#include "cli/cmd/finding/place.h"
#include "cli/cmd/finding/function_repro.h"
#include "cli/fuzz_kept.h"
#include "cli/fuzz_setup.h"
#include "cli/profile_options.h"
#include "cli/cmd/verbs.h"

#define TIMES 5
#define SMALLER_MS 60000
#define LINE_SHOWN 400

struct repro_cli {
	const char *state;
	uint64_t times, smaller_ms;
	bool json, trust, quiet, core;
};

/* ---- which ---- */

struct held {
	struct finding finding;
	struct findings_place place;
	bool stored; /* it is the place's, and no file's */
};

static void held_done(struct held *held)
{
	finding_done(&held->finding);
	findings_place_done(&held->place);
}

static int held_read(struct held *held, const char *word, bool may_file, const char *state, struct err *err)
{
	if (may_file && finding_is_file(word))
		return finding_file_read(word, &held->finding, err);
	if (findings_place_open(&held->place, state, err) < 0)
		return -1;
	const struct finding *found = findings_place_find(&held->place, word, err);
	held->stored = true;
	return found ? fuzz_copy(found, &held->finding, err) : -1;
}

/* ---- its options, as far as they are taken ---- */

struct again {
	struct repro_cli cli;
	struct held held;
	const struct cli_verb *verb; /* of `hotcell fuzz`, whose options the capsule has */
	enum target_mode mode;
	struct strings words; /* for its table */
	struct strings refused; /* flags that need trust */
	struct fuzz_cli *typed;
	struct cli_args args;
	struct profiled profiled;
	struct fuzz_setup setup;
	bool changed; /* the target is not the one that it was found in */
};

static void again_done(struct again *it)
{
	fuzz_setup_done(&it->setup);
	profiled_done(&it->profiled);
	if (it->typed)
		cli_parse_done(it->verb, it->typed, &it->args);
	free(it->typed);
	strings_done(&it->words);
	strings_done(&it->refused);
	held_done(&it->held);
}

static void take(struct again *it, const char *flag, bool safe)
{
	strings_add(safe || it->cli.trust ? &it->words : &it->refused, flag);
}

static int take_flags(struct again *it, struct err *err)
{
	const struct finding *finding = &it->held.finding;
	own(buf_done) struct buf shown = {0};

	for (size_t i = 0; i < finding->flags.count; i++) {
		if (flag_take(finding->flags.items[i]) == FLAG_NOT_KEPT) {
			term_line(finding->flags.items[i], strlen(finding->flags.items[i]), 120, &shown);
			return err_set(err, ERR_USAGE, "the capsule sets '%s', which no capsule may set, not even with --trust", buf_text(&shown));
		}
		take(it, finding->flags.items[i], flag_is_safe(finding->flags.items[i]));
	}
	for (size_t i = 0; i < finding->environment.count; i++) {
		own(freep) char *flag = xfmt("--pass-env=%s", finding->environment.items[i]);
		take(it, flag, false);
	}
	if (!it->cli.trust && backend_is_off()) /* its command would run here, and not in a cell */
		strings_add(&it->refused, "no sandbox, by FUZZING_DISABLE_SANDBOX");
	if (finding->profile) {
		own(freep) char *flag = xfmt("--profile=%s", finding->profile);
		take(it, flag, !strchr(finding->profile, '/') && !strstr(finding->profile, ".y"));
	}
	return 0;
}

static int parse_words(struct again *it, struct err *err)
{
	struct finding *finding = &it->held.finding;
	bool help;

	if (!target_mode_read(finding->kind, &it->mode))
		return err_set(err, ERR_USAGE, "findings of the kind '%.40s' cannot be tried again by this version of hotcell", finding->kind);
	it->verb = it->mode == TARGET_MCP || it->mode == TARGET_MCP_HTTP ? &verb_fuzz_mcp : &verb_fuzz_tool;
	if (take_flags(it, err) < 0)
		return -1;
	strings_add(&it->words, "--");
	for (size_t i = 0; i < finding->command.count; i++)
		strings_add(&it->words, finding->command.items[i]);
	it->typed = xcalloc(1, sizeof(*it->typed));
	fuzz_options_defaults(it->typed);
	if (cli_parse(it->verb, (int)it->words.count, it->words.items, it->typed, &it->args, &help, err) < 0)
		return err_wrap(err, "the capsule's options");
	if (!it->args.command)
		return err_set(err, ERR_USAGE, "the capsule has no command");
	it->typed->run.quiet = it->cli.quiet || it->cli.json;
	return profiled_build(&it->profiled, it->verb, &it->typed->run, &it->args, err);
}

/* ---- before it runs ---- */

static void put_words(const struct strings *texts, struct buf *out)
{
	for (size_t i = 0; i < texts->count; i++) {
		buf_str(out, i ? " " : "");
		term_line(texts->items[i], strlen(texts->items[i]), LINE_SHOWN, out);
	}
}

static void show_command(const struct again *it)
{
	own(buf_done) struct buf command = {0}, flags = {0};

	put_words(&it->held.finding.command, &command);
	put_words(&it->held.finding.flags, &flags);
	cli_say("it runs in a cell: %s%s%s", buf_text(&command), flags.len ? "   with " : "", buf_text(&flags));
}

/* Says what is not taken from a stranger, and what is not here: trust would not bring it. */
static int refuse(const struct again *it, const char *word)
{
	own(buf_done) struct buf shown = {0};
	size_t missing = 0;

	show_command(it);
	for (size_t i = 0; i < it->refused.count; i++) {
		own(buf_done) struct buf flag = {0};
		bool gone = flag_is_missing(it->refused.items[i]);
		missing += gone;
		term_line(it->refused.items[i], strlen(it->refused.items[i]), LINE_SHOWN, &flag);
		cli_say(gone ? "it needs %s, which is not there from here: be in the folder that it was found in"
			     : "it needs %s, which opens the cell, so a capsule alone may not choose it",
			buf_text(&flag));
	}
	if (missing) {
		cli_say("nothing was run");
		return EXIT_USAGE;
	}
	term_line(word, strlen(word), LINE_SHOWN, &shown);
	cli_say("nothing was run; if you trust the file and its command: hotcell repro --trust %s", buf_text(&shown));
	return EXIT_USAGE;
}

static bool is_loud(const struct again *it)
{
	return !it->cli.quiet && !it->cli.json;
}

static int again_open(struct again *it, struct err *err)
{
	struct fuzz_cli *cli = it->profiled.options ? it->profiled.options : it->typed;
	const struct finding *finding = &it->held.finding;

	cli->run.quiet = it->cli.quiet || it->cli.json;
	cli->state = it->cli.state;
	cli->stranger = !it->cli.trust;
	cli->seed = finding->seed;
	cli->replays = it->cli.times;
	cli->name = cli->name ? cli->name : finding->target;
	for (size_t i = 0; it->cli.trust && i < finding->environment.count; i++)
		if (!getenv(finding->environment.items[i]))
			cli_say("the variable '%.80s' that it was found with is not set here", finding->environment.items[i]);
	if (is_loud(it))
		show_command(it);
	if (fuzz_setup_build(&it->setup, cli, it->mode, &it->args, err) < 0)
		return -1;
	it->changed = finding->target_sha256 && (!it->setup.sum || strcmp(finding->target_sha256, it->setup.sum) != 0);
	if (it->changed && is_loud(it))
		cli_say("the target has changed since it was found");
	return fuzz_setup_open(&it->setup, err);
}

/* Everything up to a target that is open. Returns -1 to go on, or the exit code. */
static int prepare(struct again *it, const char *word)
{
	struct err err = {0};

	if (parse_words(it, &err) < 0)
		return fuzz_setup_fail(&err);
	if (it->refused.count)
		return refuse(it, word);
	if (again_open(it, &err) < 0) {
		int code = fuzz_setup_fail(&err);
		return code == EXIT_USAGE ? code : FUZZ_EXIT_BROKEN;
	}
	return -1;
}

/* ---- repro ---- */

static void put_evidence(struct json *json, const struct strings *texts)
{
	json_key(json, "evidence");
	json_open(json, '[');
	for (size_t i = 0; i < texts->count; i++)
		json_string(json, texts->items[i]);
	json_close(json, ']');
}

static int print_json(const struct again *it, const struct repro *repro)
{
	own(json_done) struct json json = {.pretty = true};

	json_open(&json, '{');
	json_put_string(&json, "id", it->held.finding.id);
	json_put_string(&json, "verdict", repro_name(repro->verdict));
	json_put_uint(&json, "seen", repro->seen);
	json_put_uint(&json, "tried", repro->tried);
	json_put_bool(&json, "changed", it->changed);
	json_put_bool(&json, "core", it->held.finding.core);
	put_evidence(&json, &repro->evidence);
	if (repro->verdict == REPRO_DIFFERENT) {
		json_key(&json, "other");
		capsule_write(&repro->other, &json);
	}
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static void put_line(struct buf *out, const char *before, const char *text)
{
	buf_str(out, before);
	term_line(text, strlen(text), LINE_SHOWN, out);
	buf_char(out, '\n');
}

static int print_text(const struct again *it, const struct repro *repro)
{
	const struct finding *finding = &it->held.finding;
	own(buf_done) struct buf out = {0};

	buf_fmt(&out, "%s: %s %s in ", repro_name(repro->verdict), finding->id, finding->oracle);
	put_line(&out, "", finding->subject);
	put_line(&out, "  ", finding->message);
	if (repro->verdict == REPRO_DIFFERENT) {
		buf_fmt(&out, "  instead: %s %s: ", repro->other.id, repro->other.oracle);
		put_line(&out, "", repro->other.message);
	}
	buf_fmt(&out, "  seen %u of %u times%s\n", repro->seen, repro->tried, it->changed ? "; the target has changed since" : "");
	if (repro->verdict == REPRO_FIXED && it->held.stored && finding_is_suppressed(finding, time(NULL)))
		buf_str(&out, "  it is suppressed, and stays so\n");
	if (it->cli.core && finding->core) {
		own(freep) char *core = xfmt("%s/%s/" STORE_CORE, it->held.place.shown, finding->id);
		put_line(&out, "  core: ", core);
	}
	put_line(&out, "  input: ", finding->input);
	for (size_t i = 0; i < repro->evidence.count; i++)
		put_line(&out, "  ", repro->evidence.items[i]);
	return cli_print(&out);
}

/* The store learns it, if the finding is of there: one that is gone is fixed, one that came back is open. */
static int keep(struct again *it, enum repro_verdict verdict, struct err *err)
{
	struct finding *finding = &it->held.finding;
	enum finding_state before = finding->state;

	if (!it->held.stored)
		return 0;
	if (verdict == REPRO_FIXED && !finding_is_suppressed(finding, time(NULL)))
		finding->state = FINDING_FIXED;
	if (verdict == REPRO_SAME && finding->state == FINDING_FIXED)
		finding->state = FINDING_OPEN;
	if (verdict == REPRO_SAME)
		finding->last_seen = time(NULL);
	return before == finding->state && verdict != REPRO_SAME ? 0 : store_put(&it->held.place.store, finding, err);
}

/* Trust would not bring what is not there. */
static int check_here(const struct finding *finding, struct err *err)
{
	own(freep) char *file = NULL, *folder = NULL;
	own(buf_done) struct buf shown = {0}, where = {0};

	if (!function_is_missing(finding, &file, &folder))
		return 0;
	term_line(file, strlen(file), 120, &shown);
	if (folder)
		term_line(folder, strlen(folder), 120, &where);
	return err_set(err, ERR_USAGE, "its target '%s' is not there from here: be in the folder that it was found in, or in a copy of it%s%s%s",
		buf_text(&shown), folder ? "; in the project that is '" : "", buf_text(&where), folder ? "'" : "");
}

/* Everything of a function's before it runs; it has cells and options of its own. Returns -1 to go on, or the exit code. */
static int prepare_function(struct again *it, const char *word)
{
	struct err err = {0};

	if (take_flags(it, &err) < 0 || check_here(&it->held.finding, &err) < 0)
		return fuzz_setup_fail(&err);
	if (!it->cli.trust && !function_is_here(&it->held.finding))
		strings_add(&it->refused, "a target, or the project that it is of, that is not at or below this folder");
	if (it->refused.count)
		return refuse(it, word);
	if (is_loud(it))
		show_command(it);
	return -1;
}

static int function_fail(const struct function_retry *retry, const struct err *err)
{
	int code = fuzz_setup_fail(err);

	return retry->signal ? 128 + retry->signal : code == EXIT_USAGE ? code : FUZZ_EXIT_BROKEN;
}

static int repro_function(struct again *it, const char *word)
{
	struct function_retry retry = {.finding = &it->held.finding, .flags = &it->words, .state = it->cli.state, .times = (unsigned)it->cli.times,
		.core = it->cli.core ? &it->held.place.store : NULL};
	own(repro_done) struct repro done = {0};
	struct err err = {0};
	int code = prepare_function(it, word);

	if (code >= 0)
		return code;
	if (function_repro(&retry, &done, &err) < 0)
		return function_fail(&retry, &err);
	it->changed = retry.changed;
	it->held.finding.core = it->held.finding.core || retry.cored;
	code = done.verdict == REPRO_FIXED ? 0 : FUZZ_EXIT_FINDINGS;
	int told = it->cli.json ? print_json(it, &done) : print_text(it, &done);
	if (keep(it, done.verdict, &err) < 0)
		told = cli_fail(&err);
	return code ? code : told ? FUZZ_EXIT_BROKEN : 0;
}

static int repro(const struct repro_cli *cli, const char *word, bool may_file)
{
	own(again_done) struct again it = {.cli = *cli};
	own(repro_done) struct repro done = {0};
	struct err err = {0};

	if (held_read(&it.held, word, may_file, cli->state, &err) < 0)
		return fuzz_setup_fail(&err);
	if (cli->core && !(it.held.stored && finding_is_function(&it.held.finding)))
		(void)err_set(&err, ERR_USAGE, "--core is kept beside the finding of a function in the project's store, and this is none");
	if (err.code)
		return fuzz_setup_fail(&err);
	if (finding_is_function(&it.held.finding))
		return repro_function(&it, word);
	int code = prepare(&it, word);
	if (code >= 0)
		return code;
	if (fuzz_repro(&it.setup.fuzz, &it.held.finding, (unsigned)cli->times, &done, &err) < 0) {
		code = fuzz_setup_fail(&err);
		return it.setup.signal ? 128 + it.setup.signal : code == EXIT_USAGE ? code : FUZZ_EXIT_BROKEN;
	}
	code = done.verdict == REPRO_FIXED ? 0 : FUZZ_EXIT_FINDINGS;
	int told = cli->json ? print_json(&it, &done) : print_text(&it, &done);
	if (keep(&it, done.verdict, &err) < 0 || fuzz_log_again(it.setup.audit.audit, "repro", &it.held.finding, repro_name(done.verdict), &err) < 0)
		told = cli_fail(&err);
	return code ? code : told ? FUZZ_EXIT_BROKEN : 0;
}

static int run_repro(void *data, const struct cli_args *args)
{
	return repro(data, args->words[0], true);
}

static int run_findings_repro(void *data, const struct cli_args *args)
{
	return repro(data, args->words[0], false);
}

/* ---- minimise ---- */

static int tell_smaller(const struct again *it, size_t before, bool smaller)
{
	const struct finding *finding = &it->held.finding;
	const char *unit = finding->binary ? "characters of base64" : "bytes";
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {.pretty = true};

	if (it->cli.json) {
		json_open(&json, '{');
		json_put_string(&json, "id", finding->id);
		json_put_bool(&json, "smaller", smaller);
		json_put_uint(&json, "before", before);
		json_put_uint(&json, "after", strlen(finding->input));
		json_put_string(&json, "input", finding->input);
		json_put_bool(&json, "unfinished", finding->unfinished);
		json_close(&json, '}');
		buf_char(&json.out, '\n');
		return cli_print(&json.out);
	}
	if (smaller)
		buf_fmt(&out, "smaller: %s, from %zu to %zu %s%s\n", finding->id, before, strlen(finding->input), unit,
			finding->unfinished ? "; with more --duration it may be smaller still" : "");
	else if (finding->unfinished)
		buf_fmt(&out, "no smaller in this time: %s, %zu %s; with more --duration it may be\n", finding->id, before, unit);
	else
		buf_fmt(&out, "as small as it can be made: %s, %zu %s\n", finding->id, before, unit);
	put_line(&out, "  input: ", finding->input);
	return cli_print(&out);
}

static int minimise_function(struct again *it, const char *word)
{
	struct function_retry retry = {.finding = &it->held.finding, .flags = &it->words, .state = it->cli.state};
	size_t before = strlen(it->held.finding.input);
	struct err err = {0};
	bool smaller = false;
	int code = prepare_function(it, word);

	if (code >= 0)
		return code;
	if (function_smaller(&retry, &it->held.finding, it->cli.smaller_ms, &smaller, &err) < 0 ||
		(smaller && store_put(&it->held.place.store, &it->held.finding, &err) < 0))
		return function_fail(&retry, &err);
	return tell_smaller(it, before, smaller) ? FUZZ_EXIT_BROKEN : 0;
}

static int run_minimise(void *data, const struct cli_args *args)
{
	own(again_done) struct again it = {.cli = *(const struct repro_cli *)data};
	struct err err = {0};
	bool smaller = false;

	if (held_read(&it.held, args->words[0], false, it.cli.state, &err) < 0)
		return fuzz_setup_fail(&err);
	if (finding_is_function(&it.held.finding))
		return minimise_function(&it, args->words[0]);
	int code = prepare(&it, args->words[0]);
	if (code >= 0)
		return code;
	size_t before = strlen(it.held.finding.input);
	bool unfinished = it.held.finding.unfinished;
	it.setup.fuzz.duration_ns = it.cli.smaller_ms * NS_PER_MS;
	if (fuzz_minimise(&it.setup.fuzz, &it.held.finding, &smaller, &err) < 0 ||
		((smaller || it.held.finding.unfinished != unfinished) && store_put(&it.held.place.store, &it.held.finding, &err) < 0)) {
		code = fuzz_setup_fail(&err);
		return it.setup.signal ? 128 + it.setup.signal : code == EXIT_USAGE ? code : FUZZ_EXIT_BROKEN;
	}
	int told = tell_smaller(&it, before, smaller);
	if (fuzz_log_again(it.setup.audit.audit, "minimise", &it.held.finding, smaller ? "smaller" : "same", &err) < 0)
		told = cli_fail(&err);
	return told ? FUZZ_EXIT_BROKEN : 0;
}

/* ---- the tables ---- */

static void defaults(void *options)
{
	((struct repro_cli *)options)->times = TIMES;
	((struct repro_cli *)options)->smaller_ms = SMALLER_MS;
}

#define INTO(member) CLI_INTO(struct repro_cli, member)
#define COMMON                                                                                                                             \
	{.name = "trust", .kind = CLI_FLAG, INTO(trust), .help = "take options from the capsule that open the cell"},                       \
	{.name = "state", .value = "DIR", .kind = CLI_TEXT, INTO(state), .hint = CLI_HINT_FOLDER,                                           \
		.fallback = "the nearest .hotcell, here or above", .help = "folder of findings and of the audit log"},                     \
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print one JSON object"},                                                   \
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet), .help = "do not say what is run"},                                 \
	{0}

static const struct cli_option repro_table[] = {
	{.name = "times", .letter = 'n', .value = "N", .kind = CLI_COUNT, INTO(times), .min = 1, .max = 10000, .fallback = "5",
		.help = "how often it is tried, each time on a fresh session"},
	{.name = "core", .kind = CLI_FLAG, INTO(core),
		.help = "keep a core of a function in C, C++, Rust or Go, and its program, beside the finding's report"},
	COMMON,
};
static const struct cli_option minimise_table[] = {
	{.name = "duration", .letter = 'd', .value = "DURATION", .kind = CLI_DURATION, INTO(smaller_ms), .fallback = "60s",
		.help = "time to try smaller inputs; those of tools mostly end sooner"},
	COMMON,
};

#define REPRO_CODES                                                                                                                        \
	"Exit codes: 0 it is fixed; 1 it is reproduced, or something different is wrong; 2 the command line or the capsule is wrong,\n"     \
	"or it needs --trust; 4 it cannot be tried; 130 interrupted.\n"

const struct cli_verb verb_repro = {
	.name = "repro",
	.summary = "try a finding again, from its capsule",
	.usage = "[options] CAPSULE|ID",
	.details = REPRO_CODES,
	.options = repro_table,
	.options_size = sizeof(struct repro_cli),
	.defaults = defaults,
	.words_min = 1,
	.words_max = 1,
	.word = "CAPSULE",
	.word_hint = CLI_HINT_FILE,
	.run = run_repro,
};

const struct cli_verb verb_findings_repro = {
	.name = "findings repro",
	.summary = "try a finding of this project again",
	.usage = "[options] ID",
	.details = REPRO_CODES,
	.options = repro_table,
	.options_size = sizeof(struct repro_cli),
	.defaults = defaults,
	.words_min = 1,
	.words_max = 1,
	.word = "ID",
	.run = run_findings_repro,
};

const struct cli_verb verb_findings_minimise = {
	.name = "findings minimise",
	.summary = "make the input of a finding smaller",
	.usage = "[options] ID",
	.details = "Exit codes: 0 it was made smaller, or cannot be; 2 the command line is wrong, or it needs --trust; 4 it cannot be\n"
		   "tried, or does it no more; 130 interrupted.\n",
	.options = minimise_table,
	.options_size = sizeof(struct repro_cli),
	.defaults = defaults,
	.words_min = 1,
	.words_max = 1,
	.word = "ID",
	.run = run_minimise,
};
