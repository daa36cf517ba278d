/* hotcell corpus list, merge, minimise, export, import: the inputs that `hotcell fuzz function` keeps of each target.
 *
 * A target is named as it is fuzzed, or by its id in the list: then its file need not be there, unless the engine is needed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/size.h"
#include "base/term.h"
#include "project/state.h"
#include "cli/cmd/campaign/args.h"
#include "cli/function_setup.h"
#include "cli/fuzz_setup.h"
#include "cli/cmd/verbs.h"
#include "fuzz/function/corpus.h"

#define WORK_MS 300000
#define IMPORT_DEPTH 8
#define FOLDERS_MAX 64
#define TARGET_WIDTH 40

struct corpus_options {
	const char *state;
	bool json;
};

/* ---- which ---- */

struct picked {
	char *state;
	struct corpus_about about;
	char *typed; /* as `fuzz function` takes it */
	bool outside; /* it is by its id, and lies elsewhere */
};

static void picked_done(struct picked *picked)
{
	free(picked->state);
	corpus_about_done(&picked->about);
	free(picked->typed);
}

static bool is_id(const char *word)
{
	size_t len = strlen(word);
	struct stat st;

	return len && len <= CORPUS_ID_LEN && strspn(word, "0123456789abcdef") == len && stat(word, &st) < 0;
}

static int no_corpus(const char *word, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(word, strlen(word), 120, &shown);
	return err_set(err, ERR_USAGE, "there is no corpus of '%s', or more than one; 'hotcell corpus list' has them", buf_text(&shown));
}

static bool is_below(const char *folder, const char *path)
{
	own(freep) char *above = realpath(folder, NULL);
	size_t len = above ? strlen(above) : 0;

	return len > 1 && strncmp(path, above, len) == 0 && path[len] == '/';
}

/* What a corpus says it is of stands in a file of the state: it leads to the project and to where the user is, and no further. */
static bool is_ours(const char *state, const char *path)
{
	own(freep) char *project = xfmt("%s/..", state), *whole = path ? realpath(path, NULL) : NULL;

	return !whole || is_below(project, whole) || is_below(".", whole); /* one that is not there is told of */
}

static int pick_id(struct picked *it, const char *word, struct err *err)
{
	own(corpora_done) struct corpora all = {0};

	if (corpora_read(it->state, &all, err) < 0)
		return -1;
	const struct corpus_about *found = corpora_find(&all, word);
	if (!found)
		return no_corpus(word, err);
	it->about = *found;
	it->about.language = xstrdup(found->language);
	it->about.file = xstrdup(found->file);
	it->about.function = xstrdup(found->function);
	own(freep) char *path = corpus_file(it->state, found);
	it->outside = !is_ours(it->state, path);
	it->typed = found->harness ? xstrdup(path ? path : found->file) : xfmt("%s:%s", path ? path : found->file, found->function);
	return 0;
}

static int pick(struct picked *it, const char *given, const char *word, bool make, struct err *err)
{
	own(function_targets_done) struct function_targets targets = {0};

	it->state = state_folder(given, make, err);
	if (!it->state)
		return -1;
	if (is_id(word))
		return pick_id(it, word, err);
	if (function_targets_read(word, &targets, err) < 0)
		return -1;
	if (targets.count != 1)
		return err_set(err, ERR_USAGE, "'%.120s' holds %zu harnesses, and a corpus is of one: name its file", word, targets.count);
	corpus_identify(it->state, &targets.list[0], &it->about);
	it->typed = xstrdup(word);
	return 0;
}

/* That it is there is what the user takes for granted. */
static int open_corpus(const struct picked *it, const char *word, int *ret, struct err *err)
{
	if (corpus_open(it->state, it->about.id, ret, err) < 0)
		return -1;
	return *ret < 0 ? no_corpus(word, err) : 0;
}

/* A folder that the user named. */
static int open_folder(const char *path, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	term_line(path, strlen(path), 160, &shown);
	(void)err_errno(err, errno, "open the folder '%s'", buf_text(&shown));
	err->code = ERR_USAGE;
	return -1;
}

/* ---- list ---- */

static void put_target(const struct corpus_about *about, struct buf *out)
{
	own(freep) char *name = about->harness ? xstrdup(about->file) : xfmt("%s:%s", about->file, about->function);

	term_line(name, strlen(name), 200, out);
}

static void age_text(int64_t then, char *ret, size_t size)
{
	int64_t seconds = time(NULL) - then;

	seconds = seconds < 0 ? 0 : seconds;
	if (seconds < 3600)
		(void)snprintf(ret, size, "%" PRId64 " min", seconds / 60);
	else if (seconds < 2 * 86400)
		(void)snprintf(ret, size, "%" PRId64 " h", seconds / 3600);
	else
		(void)snprintf(ret, size, "%" PRId64 " days", seconds / 86400);
}

static void list_text(const struct corpora *all, struct buf *out)
{
	uint64_t count = 0, bytes = 0;
	char size[16], age[32];

	if (!all->count) {
		buf_str(out, "no corpora: 'hotcell fuzz function' keeps one of each target\n");
		return;
	}
	buf_fmt(out, "%-16s  %-*s  %-10s  %8s  %10s  %5s  %s\n", "ID", TARGET_WIDTH, "TARGET", "LANGUAGE", "INPUTS", "SIZE", "RUNS", "LAST");
	for (size_t i = 0; i < all->count; i++) {
		const struct corpus_about *about = &all->list[i];
		own(buf_done) struct buf target = {0};
		put_target(about, &target);
		age_text(about->last, age, sizeof(age));
		buf_fmt(out, "%-16s  %-*s  %-10s  %8" PRIu64 "  %10s  %5" PRIu64 "  %s ago\n", about->id, TARGET_WIDTH, buf_text(&target),
			about->language, about->count, size_text(about->bytes, size, sizeof(size)), about->runs, age);
		count += about->count;
		bytes += about->bytes;
	}
	buf_fmt(out, "%zu %s, %" PRIu64 " inputs, %s\n", all->count, all->count == 1 ? "corpus" : "corpora", count,
		size_text(bytes, size, sizeof(size)));
}

static void list_json(const struct corpora *all, struct buf *out)
{
	own(json_done) struct json json = {.pretty = true};

	json_open(&json, '{');
	json_key(&json, "corpora");
	json_open(&json, '[');
	for (size_t i = 0; i < all->count; i++)
		corpus_about_write(&all->list[i], &json);
	json_close(&json, ']');
	json_close(&json, '}');
	buf_fmt(out, "%s\n", buf_text(&json.out));
}

static int list_run(void *data, const struct cli_args *args)
{
	const struct corpus_options *options = data;
	own(corpora_done) struct corpora all = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};
	own(freep) char *state = state_folder(options->state, false, &err);

	(void)args;
	if (!state && (err.code != ERR_USAGE || !campaign_place_is_new(options->state)))
		return cli_fail(&err);
	if (state && corpora_read(state, &all, &err) < 0)
		return cli_fail(&err);
	for (size_t i = 0; i < all.unread.count; i++)
		cli_say("left alone: %s", all.unread.items[i]);
	(options->json ? list_json : list_text)(&all, &out);
	return cli_print(&out);
}

/* ---- export, import ---- */

static int tell_taken(const struct picked *it, const struct corpus_taken *taken, const char *verb, bool json_wanted)
{
	own(json_done) struct json json = {.pretty = true};
	own(buf_done) struct buf out = {0}, more = {0};
	char size[16];

	if (corpus_taken_tell(taken, &more))
		cli_say("%s", buf_text(&more));
	if (!json_wanted) {
		buf_fmt(&out, "%s: %" PRIu64 " inputs, %s; %" PRIu64 " were there already\n", verb, taken->files,
			size_text(taken->bytes, size, sizeof(size)), taken->known);
		return cli_print(&out);
	}
	json_open(&json, '{');
	json_put_string(&json, "id", it->about.id);
	json_put_uint(&json, "files", taken->files);
	json_put_uint(&json, "bytes", taken->bytes);
	json_put_uint(&json, "known", taken->known);
	json_put_uint(&json, "left_out", taken->left_out);
	json_put_bool(&json, "full", taken->full);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static int export_run(void *data, const struct cli_args *args)
{
	const struct corpus_options *options = data;
	const struct corpus_caps caps = {.files = UINT64_MAX, .bytes = UINT64_MAX, .named = true};
	own(picked_done) struct picked it = {0};
	own(corpus_taken_done) struct corpus_taken taken = {0};
	struct err err = {0};

	if (pick(&it, options->state, args->words[0], false, &err) < 0)
		return cli_fail(&err);
	own(fd_closep) int from = -1;
	if (open_corpus(&it, args->words[0], &from, &err) < 0)
		return cli_fail(&err);
	own(fd_closep) int to = beneath_root_make(args->words[1], 0755, NULL, &err);
	if (to < 0) {
		err.code = ERR_USAGE;
		return cli_fail(&err);
	}
	if ( corpus_copy(from, to, &caps, &taken, &err) < 0)
		return cli_fail(&err);
	return tell_taken(&it, &taken, "exported", options->json);
}

static int import_run(void *data, const struct cli_args *args)
{
	const struct corpus_options *options = data;
	own(picked_done) struct picked it = {0};
	own(corpus_taken_done) struct corpus_taken taken = {0};
	struct err err = {0};
	own(fd_closep) int from = open_folder(args->words[1], &err);

	if (from < 0 || pick(&it, options->state, args->words[0], true, &err) < 0 ||
		corpus_keep(it.state, &it.about, from, IMPORT_DEPTH, NULL, 0, &taken, &err) < 0)
		return cli_fail(&err);
	return tell_taken(&it, &taken, "imported", options->json);
}

/* ---- with the engine ---- */

struct engine_run {
	struct picked picked;
	struct function_setup setup;
	int folders[FOLDERS_MAX];
	size_t folder_count;
};

static void engine_run_done(struct engine_run *it)
{
	for (size_t i = 0; i < it->folder_count; i++)
		fd_close(&it->folders[i]);
	function_setup_done(&it->setup);
	picked_done(&it->picked);
}

static bool on_stop(void *data)
{
	return ((const struct function_setup *)data)->signal != 0;
}

static int open_folders(struct engine_run *it, char *const *words, struct err *err)
{
	for (; words && *words; words++) {
		if (it->folder_count == FOLDERS_MAX)
			return err_set(err, ERR_USAGE, "more than %d folders at once", FOLDERS_MAX);
		int fd = open_folder(*words, err);
		if (fd < 0)
			return -1;
		it->folders[it->folder_count++] = fd;
	}
	return 0;
}

static int engine_open(struct engine_run *it, const struct function_cli *cli, const struct cli_args *args, bool make, struct err *err)
{
	if (open_folders(it, args->words + 1, err) < 0 || pick(&it->picked, cli->state, args->words[0], make, err) < 0)
		return -1;
	own(fd_closep) int there = -1;
	if (!make && open_corpus(&it->picked, args->words[0], &there, err) < 0)
		return -1;
	if (it->picked.outside)
		return err_set(err, ERR_USAGE, "the corpus '%.40s' is of a file outside of this project: name the target as FILE:FUNCTION instead",
			args->words[0]);
	char *const words[] = {it->picked.typed, NULL};
	if (function_setup_build(&it->setup, cli, words, args, err) < 0 || function_setup_open(&it->setup, err) < 0)
		return -1;
	it->setup.options.stop = on_stop;
	it->setup.options.data = &it->setup;
	return 0;
}

static int tell_worked(const struct engine_run *it, const struct corpus_worked *worked, bool json_wanted)
{
	own(json_done) struct json json = {.pretty = true};
	own(buf_done) struct buf out = {0};
	char before[16], after[16];

	for (size_t i = 0; i < worked->why.count; i++)
		cli_say("left out: %s", worked->why.items[i]);
	if (!json_wanted) {
		buf_fmt(&out, "from %" PRIu64 " inputs, %s, to %" PRIu64 ", %s", worked->before, size_text(worked->bytes_before, before, sizeof(before)),
			worked->after, size_text(worked->bytes_after, after, sizeof(after)));
		if (it->folder_count)
			buf_fmt(&out, "; %" PRIu64 " were looked at", worked->looked_at);
		buf_char(&out, '\n');
		return cli_print(&out);
	}
	json_open(&json, '{');
	json_put_string(&json, "id", it->picked.about.id);
	json_put_uint(&json, "before", worked->before);
	json_put_uint(&json, "after", worked->after);
	json_put_uint(&json, "bytes_before", worked->bytes_before);
	json_put_uint(&json, "bytes_after", worked->bytes_after);
	json_put_uint(&json, "looked_at", worked->looked_at);
	json_put_uint(&json, "left_out", worked->left_out);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static int work(const struct function_cli *cli, const struct cli_args *args, bool make)
{
	own(engine_run_done) struct engine_run it = {0};
	own(corpus_worked_done) struct corpus_worked worked = {0};
	struct err err = {0};

	if (engine_open(&it, cli, args, make, &err) < 0)
		return fuzz_setup_fail(&err);
	const struct corpus_work wanted = {.from = it.folders, .from_count = it.folder_count, .timeout_ms = cli->duration_ms};
	if (corpus_work(&it.setup.options, &wanted, it.setup.loop, it.setup.pool, &worked, &err) < 0)
		return fuzz_setup_fail(&err);
	if (it.setup.signal) {
		cli_say("stopped; the corpus is as it was");
		return 128 + it.setup.signal;
	}
	for (size_t i = 0; i < worked.problems.count; i++) {
		own(buf_done) struct buf line = {0};
		term_line(worked.problems.items[i], strlen(worked.problems.items[i]), 2400, &line);
		cli_say("the corpus is as it was: %s", buf_text(&line));
	}
	if (worked.problems.count)
		return FUZZ_EXIT_BROKEN;
	return tell_worked(&it, &worked, cli->run.json) ? FUZZ_EXIT_BROKEN : 0;
}

static int merge_run(void *data, const struct cli_args *args)
{
	return work(data, args, true);
}

static int minimise_run(void *data, const struct cli_args *args)
{
	return work(data, args, false);
}

/* ---- the tables ---- */

static void engine_defaults(void *options)
{
	struct function_cli *cli = options;

	verb_fuzz_function.defaults(cli);
	cli->duration_ms = WORK_MS;
}

#define OWN(member) CLI_INTO(struct function_cli, member)
#define STATE_OPTION(type)                                                                                                                 \
	{.name = "state", .value = "DIR", .kind = CLI_TEXT, CLI_INTO(type, state), .hint = CLI_HINT_FOLDER,                                 \
		.fallback = "the nearest .hotcell, here or above", .help = "the folder in whose 'corpus' they are"}
#define EXIT_CODES                                                                                                                         \
	"TARGET is FILE:FUNCTION or a harness's file, as 'hotcell fuzz function' takes it, or an id of 'hotcell corpus list'.\n"            \
	"Exit codes: 0; 2 the command line is wrong; 125 hotcell failed.\n"
#define ENGINE_CODES                                                                                                                       \
	"TARGET is FILE:FUNCTION or a harness's file, as 'hotcell fuzz function' takes it, or an id of 'hotcell corpus list'.\n"            \
	"Exit codes: 0; 2 the command line is wrong; 4 the target, its engine, the sandbox or hotcell failed; 130 interrupted.\n"

static const struct cli_option plain_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct corpus_options, json), .help = "print one JSON object"},
	STATE_OPTION(struct corpus_options),
	{0},
};

static const struct cli_option engine_table[] = {
	{.name = "duration", .letter = 'd', .value = "DURATION", .kind = CLI_DURATION, OWN(duration_ms), .fallback = "5m",
		.help = "time that the engine may take"},
	{.name = "input-timeout", .value = "DURATION", .kind = CLI_DURATION, OWN(input_ms), .fallback = "10s",
		.help = "time that one input may take; one that takes more is left out"},
	{.name = "sanitizer", .value = "NAME", .kind = CLI_TEXT, OWN(sanitizer), .hint = CLI_HINT_CHOICE,
		.choices = "address undefined memory none", .fallback = "address and undefined", .help = "what C and C++ are built with"},
	{.name = "cflag", .value = "FLAG", .kind = CLI_LIST, OWN(build_flags),
		.help = "a word for the compiler and the linker of C and C++ (-DNAME, -Isrc, -lz), seen from the project's top; may be given again"},
	{.name = "venv", .value = "DIR", .kind = CLI_TEXT, OWN(venv), .hint = CLI_HINT_FOLDER, .fallback = "$VIRTUAL_ENV, or none",
		.help = "the Python environment that has Atheris and what the target imports"},
	{.name = "engine", .value = "LANGUAGE=DIR", .kind = CLI_LIST, OWN(engines),
		.fallback = "LANGUAGE in ~/.local/share/hotcell/engines",
		.help = "the folder that a language's engine is installed in; repeatable"},
	{.name = "root", .value = "DIR", .kind = CLI_TEXT, OWN(root), .hint = CLI_HINT_FOLDER,
		.fallback = "the project's folder, not above its repository or the current folder",
		.help = "the folder that the target's cells are shown, read-only; it holds the target"},
	{.name = "memory", .letter = 'm', .value = "SIZE", .kind = CLI_SIZE, OWN(run.limits.memory), .fallback = "what its language needs",
		.help = "memory of the cell"},
	{.name = "json", .kind = CLI_FLAG, OWN(run.json), .help = "print one JSON object"},
	STATE_OPTION(struct function_cli),
	{0},
};

const struct cli_verb verb_corpus_list = {
	.name = "corpus list",
	.summary = "list the inputs that are kept of each target",
	.usage = "[options]",
	.options = plain_table,
	.options_size = sizeof(struct corpus_options),
	.run = list_run,
};

const struct cli_verb verb_corpus_merge = {
	.name = "corpus merge",
	.summary = "take from folders what adds coverage",
	.usage = "[options] TARGET DIR...",
	.details = ENGINE_CODES,
	.options = engine_table,
	.options_size = sizeof(struct function_cli),
	.defaults = engine_defaults,
	.words_min = 2,
	.words_max = -1,
	.word = "TARGET and a DIR",
	.word_hint = CLI_HINT_FILE,
	.run = merge_run,
};

const struct cli_verb verb_corpus_minimise = {
	.name = "corpus minimise",
	.summary = "keep the fewest and smallest inputs that reach the same",
	.usage = "[options] TARGET",
	.details = ENGINE_CODES,
	.options = engine_table,
	.options_size = sizeof(struct function_cli),
	.defaults = engine_defaults,
	.words_min = 1,
	.words_max = 1,
	.word = "TARGET",
	.word_hint = CLI_HINT_FILE,
	.run = minimise_run,
};

const struct cli_verb verb_corpus_export = {
	.name = "corpus export",
	.summary = "copy the inputs of a target into a folder",
	.usage = "[options] TARGET DIR",
	.details = EXIT_CODES,
	.options = plain_table,
	.options_size = sizeof(struct corpus_options),
	.words_min = 2,
	.words_max = 2,
	.word = "TARGET and DIR",
	.word_hint = CLI_HINT_FILE,
	.run = export_run,
};

const struct cli_verb verb_corpus_import = {
	.name = "corpus import",
	.summary = "add the inputs of a folder to those of a target",
	.usage = "[options] TARGET DIR",
	.details = EXIT_CODES,
	.options = plain_table,
	.options_size = sizeof(struct corpus_options),
	.words_min = 2,
	.words_max = 2,
	.word = "TARGET and DIR",
	.word_hint = CLI_HINT_FILE,
	.run = import_run,
};
