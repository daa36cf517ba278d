/* hotcell fuzz function: fuzz functions with the engines of their languages, in cells, and say what made them fail.
 *
 * What is found goes to the store of the project when it is confirmed, one file each: whatever ends us later takes nothing
 * with it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "base/out_file.h"
#include "view/coverage.h"
#include "cli/cmd/fuzz/function_export.h"
#include "cli/cmd/fuzz/function_list.h"
#include "cli/cmd/fuzz/function_schema.h"
#include "cli/function_setup.h"
#include "view/function_status.h"
#include "view/function.h"
#include "cli/fuzz_kept.h"
#include "cli/fuzz_setup.h"
#include "view/fuzz.h"
#include "cli/profile_options.h"
#include "cli/core/redraw.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"

#define FRAME_NS (100 * NS_PER_MS)
#define LINE_NS (5 * NS_PER_S)
#define STATS_NS NS_PER_S
#define DEFAULT_MS 60000
#define LINE_SHOWN 2400
#define TITLE "hotcell fuzz function"

struct function_fuzz {
	const struct function_cli *cli;
	struct function_setup setup;
	struct fuzz_kept kept;
	struct finding_store known; /* what was there: the store of `kept` changes while it runs */
	struct function_history history;
	bool live;
	int status_lock;
	uint64_t shown_ns, stats_ns, status_ns;
};

static void function_fuzz_done(struct function_fuzz *it)
{
	redraw_end();
	fd_close(&it->status_lock);
	fuzz_kept_done(&it->kept);
	store_done(&it->known);
	function_setup_done(&it->setup);
}

/* ---- while it runs ---- */

static struct function_look look_of(const struct function_fuzz *it)
{
	struct function_look look = {.targets = &it->setup.targets,
		.duration_ns = it->setup.options.duration_ns,
		.max_execs = it->setup.options.max_execs,
		.severities = it->kept.severities,
		.history = &it->history,
		.color = cli_color(STDERR_FILENO)};

	if (!tty_size(&look.rows, &look.columns) || look.columns < 20 || look.rows < 4) {
		look.columns = 80;
		look.rows = 24;
	}
	return look;
}

/* On the second, as long as we keep up. */
static bool is_due(uint64_t *last_ns, uint64_t every_ns, uint64_t now)
{
	if (*last_ns && now - *last_ns < every_ns)
		return false;
	*last_ns = *last_ns && now - *last_ns < 2 * every_ns ? *last_ns + every_ns : now;
	return true;
}

static void put_stats(const struct function_progress *progress, struct function_look look)
{
	own(json_done) struct json json = {0};

	look.history = NULL; /* each line is a sample of it */
	json_open(&json, '{');
	function_view_json(progress, &look, &json);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	(void)cli_print(&json.out); /* a reader that is gone is told of in the end */
}

static void on_progress(void *data, const struct function_progress *progress)
{
	struct function_fuzz *it = data;
	own(buf_done) struct buf text = {0}, status = {0};
	uint64_t now = clock_now();

	function_history_add(&it->history, progress);
	const struct function_look look = look_of(it);
	if (is_due(&it->status_ns, STATS_NS, now)) { /* first: who has read a line of statistics is told as much by `hotcell status` */
		function_status_write(progress, &look, (int)getpid(), &status);
		function_status_put(progress->folder_fd, &status, &it->status_lock);
	}
	if (it->cli->stats_json && (is_due(&it->stats_ns, STATS_NS, now) || progress->covered))
		put_stats(progress, look);
	if (it->cli->run.quiet || now - it->shown_ns < (it->live ? FRAME_NS : LINE_NS))
		return;
	it->shown_ns = now;
	if (it->live) {
		function_view_block(progress, &look, &text);
		(void)!redraw_frame(&text, look.columns); /* a terminal that is gone: the fuzzing goes on */
		return;
	}
	function_view_line(progress, &look, &text);
	cli_say("%s", buf_text(&text));
}

static bool on_stop(void *data)
{
	return ((const struct function_fuzz *)data)->setup.signal != 0;
}

static void tell_found(const struct function_fuzz *it, const struct finding *finding, const char *what)
{
	own(buf_done) struct buf line = {0};

	if (it->cli->run.quiet)
		return;
	fuzz_view_found(finding, what, &line);
	if (it->live)
		(void)!redraw_clear(look_of(it).columns);
	cli_say("%s", buf_text(&line));
}

static void on_found(void *data, const struct finding *finding, bool is_new)
{
	struct function_fuzz *it = data;
	struct finding kept = {0};
	struct err err = {0};

	(void)is_new; /* of this time; the store says what it had */
	if (fuzz_copy(finding, &kept, &err) < 0) {
		fuzz_kept_fail(&it->kept, &err);
		return;
	}
	kept.report = finding->report ? xstrdup(finding->report) : NULL; /* no part of a capsule */
	kept.core_from = finding->core_from ? xstrdup(finding->core_from) : NULL;
	function_setup_finish(&it->setup, &kept);
	bool fresh = fuzz_kept_add(&it->kept, &kept, fuzz_kept_count(&it->kept, &kept));
	tell_found(it, &kept, fresh ? "found" : "found again");
	finding_done(&kept);
}

static void on_retried(void *data, const struct finding *finding, bool still)
{
	struct function_fuzz *it = data;

	if (fuzz_kept_retried(&it->kept, finding, still)) /* what is still there is told as found again */
		tell_found(it, finding, "fixed");
}

/* ---- in the end ---- */

struct outcome {
	struct function_fuzz *it;
	const struct function_result *result;
	const struct finding *const *list;
	size_t count, over;
	int code;
};

static size_t problem_count(const struct function_result *result)
{
	size_t count = 0;

	for (size_t i = 0; i < result->target_count; i++)
		count += result->problems[i].count > 0;
	return count;
}

static void judge(struct outcome *outcome)
{
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, "", NULL, "");
	const struct function_result *result = outcome->result;

	outcome->over = findings_over(&findings, outcome->it->kept.gate, &outcome->it->kept.baseline);
	if (outcome->it->kept.failed.code)
		outcome->code = FUZZ_EXIT_BROKEN;
	else if (outcome->it->setup.signal)
		outcome->code = 128 + outcome->it->setup.signal;
	else if (outcome->over)
		outcome->code = FUZZ_EXIT_FINDINGS;
	else if (!result->fuzzed)
		outcome->code = result->missing || !problem_count(result) ? FUZZ_EXIT_NOTHING : FUZZ_EXIT_BROKEN;
	else
		outcome->code = problem_count(result) || result->lost ? FUZZ_EXIT_BROKEN : 0;
}

static void put_target(struct json *json, const struct function_target *target, const struct function_result *result, size_t index)
{
	const struct target_progress *total = &result->totals[index];

	json_open(json, '{');
	json_put_string(json, "name", target->name);
	json_put_string(json, "language", target->language);
	json_put_string(json, "function", target->function);
	json_put_bool(json, "harness", target->harness);
	json_put_uint(json, "execs", total->execs);
	json_put_uint(json, "coverage", total->coverage);
	json_put_uint(json, "features", total->features);
	json_put_uint(json, "corpus", total->corpus);
	json_put_uint(json, "crashes", total->crashes);
	json_put_uint(json, "execs_per_s", (uint64_t)total->rate);
	json_put_uint(json, "begun_ms", total->begun_ns / NS_PER_MS);
	json_put_uint(json, "first_exec_ms", total->first_exec_ns / NS_PER_MS);
	json_put_uint(json, "first_crash_ms", total->first_crash_ns / NS_PER_MS);
	json_put_uint(json, "fuzzed_ms", total->fuzzed_ns / NS_PER_MS);
	json_key(json, "covered");
	json_open(json, '{');
	coverage_put_sums(&result->covered[index], json);
	coverage_put_change(&result->changes[index], json);
	json_close(json, '}');
	json_key(json, "problems");
	strings_json(&result->problems[index], json);
	json_close(json, '}');
}

static uint64_t execs_of(const struct function_result *result)
{
	uint64_t execs = 0;

	for (size_t i = 0; i < result->target_count; i++)
		execs += result->totals[i].execs;
	return execs;
}

static int print_json(const struct outcome *outcome)
{
	const struct function_fuzz *it = outcome->it;
	own(json_done) struct json json = {.pretty = !it->cli->stats_json};
	own(freep) char *seed = xfmt("%" PRIu64, it->setup.options.seed);

	json_open(&json, '{');
	json_put_string(&json, "version", HOTCELL_VERSION);
	json_put_string(&json, "backend", it->setup.backend);
	json_put_uint(&json, "nice", it->setup.options.nice);
	json_put_string(&json, "seed", seed);
	json_put_uint(&json, "execs", execs_of(outcome->result));
	json_put_uint(&json, "wall_ms", outcome->result->ns / NS_PER_MS);
	json_key(&json, "targets");
	json_open(&json, '[');
	for (size_t i = 0; i < outcome->result->target_count; i++)
		put_target(&json, &it->setup.targets.list[i], outcome->result, i);
	json_close(&json, ']');
	json_key(&json, "coverage_over_time");
	function_history_json(&it->history, &json);
	coverage_put_json(outcome->result, &json);
	json_key(&json, "findings");
	json_open(&json, '[');
	for (size_t i = 0; i < outcome->count; i++)
		capsule_write(outcome->list[i], &json);
	json_close(&json, ']');
	json_key(&json, "new");
	strings_json(&it->kept.fresh, &json);
	json_key(&json, "fixed");
	strings_json(&outcome->result->fixed, &json);
	json_key(&json, "resolved_suppressed");
	strings_json(&outcome->result->gone, &json);
	json_key(&json, "limitations");
	strings_json(&outcome->result->gaps, &json);
	json_put_string(&json, "gate", it->cli->fail_on);
	json_put_uint(&json, "above_threshold", outcome->over);
	json_put_int(&json, "exit", outcome->code);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static void put_problems(const struct outcome *outcome, struct buf *out)
{
	const struct function_targets *targets = &outcome->it->setup.targets;

	for (size_t i = 0; i < outcome->result->target_count; i++) {
		for (size_t k = 0; k < outcome->result->problems[i].count; k++) {
			const char *text = outcome->result->problems[i].items[k];
			buf_str(out, "\nnot fuzzed: ");
			term_line(targets->list[i].name, strlen(targets->list[i].name), 120, out);
			struct term_filter filter = {0}; /* a build's log has lines, and perhaps colours */
			buf_str(out, ": ");
			term_filter(&filter, text, strlen(text), out);
			term_filter_end(&filter, out);
			buf_char(out, '\n');
		}
	}
	for (size_t i = 0; i < outcome->result->fixed.count; i++)
		buf_fmt(out, "%sfixed: %s\n", i ? "" : "\n", outcome->result->fixed.items[i]);
	for (size_t i = 0; i < outcome->result->gone.count; i++)
		buf_fmt(out, "resolved, and still suppressed: %s\n", outcome->result->gone.items[i]);
	for (size_t i = 0; i < outcome->result->gaps.count; i++) {
		buf_str(out, "limitation: ");
		term_line(outcome->result->gaps.items[i], strlen(outcome->result->gaps.items[i]), LINE_SHOWN, out);
		buf_char(out, '\n');
	}
}

static void put_verdict(const struct outcome *outcome, struct buf *out)
{
	char took[24];

	buf_char(out, '\n');
	if (!outcome->result->fuzzed && !outcome->count) {
		buf_str(out, "Nothing was really fuzzed.\n");
		return;
	}
	if (outcome->count) {
		buf_fmt(out, "%zu finding%s (", outcome->count, outcome->count == 1 ? "" : "s");
		fuzz_view_severities(outcome->it->kept.severities, out);
		buf_fmt(out, "), %zu new, %zu fixed, %zu at or above the gate '%s'", outcome->it->kept.fresh.count,
			outcome->result->fixed.count, outcome->over, outcome->it->cli->fail_on);
	} else {
		buf_str(out, "Nothing found");
		if (outcome->result->fixed.count)
			buf_fmt(out, ", %zu fixed", outcome->result->fixed.count);
	}
	buf_fmt(out, "; %" PRIu64 " executions in %s, seed %" PRIu64 ".%s\n", execs_of(outcome->result),
		duration_text(outcome->result->ns, took, sizeof(took)), outcome->it->setup.options.seed,
		outcome->result->stopped ? " It was interrupted." : "");
}

static int print_text(const struct outcome *outcome)
{
	own(freep) char *folder = fuzz_store_shown(outcome->it->setup.store_folder);
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, TITLE, NULL, folder); /* gaps are told below */
	own(buf_done) struct buf out = {0};

	function_view_targets(&outcome->it->setup.targets, outcome->result->totals, 0, &out);
	coverage_put_table(outcome->result, outcome->it->setup.here, &out);
	fuzz_put_findings(&findings, &out);
	put_problems(outcome, &out);
	put_verdict(outcome, &out);
	return fuzz_print(&out, outcome->it->cli->sarif, outcome->it->cli->coverage_file);
}

static int write_sarif(const struct outcome *outcome)
{
	own(freep) char *folder = fuzz_store_shown(outcome->it->setup.store_folder);
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, TITLE, &outcome->result->gaps, folder);

	return fuzz_write_sarif(&findings, outcome->it->cli->sarif);
}

static int write_coverage(const struct outcome *outcome)
{
	const char *path = outcome->it->cli->coverage_file;
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	coverage_put_lcov(outcome->result, &text);
	if (out_file_is_stdout(path))
		return cli_print(&text);
	return out_file_write(path, &text, true, &err) < 0 ? cli_fail(&err) : 0;
}

static int report(struct function_fuzz *it, const struct function_result *result)
{
	size_t count;
	own(freep) const struct finding **list = fuzz_kept_list(&it->kept, &count);
	struct outcome outcome = {.it = it, .result = result, .list = list, .count = count};
	struct err err = {0};

	judge(&outcome);
	int told = it->cli->run.json || it->cli->stats_json ? print_json(&outcome) : print_text(&outcome);
	if (it->cli->sarif && write_sarif(&outcome))
		told = FUZZ_EXIT_BROKEN;
	if (it->cli->coverage_file && write_coverage(&outcome))
		told = FUZZ_EXIT_BROKEN;
	fuzz_cells_settle(&it->setup.cells, it->setup.loop);
	if (fuzz_log_end(it->setup.audit.audit, it->setup.targets.list[0].name, execs_of(result), count, it->kept.fresh.count, result->fixed.count,
		    outcome.code, &it->setup.cells, &err) < 0)
		told = cli_fail(&err);
	return outcome.code ? outcome.code : told ? FUZZ_EXIT_BROKEN : 0;
}

/* ---- the whole ---- */

static int explore(struct function_fuzz *it)
{
	own(function_result_done) struct function_result result = {0};
	struct function_options *options = &it->setup.options;
	const char *term = getenv("TERM");
	struct err err = {0};

	it->live = !it->cli->run.quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	options->known = &it->known;
	options->found = on_found;
	options->retried = on_retried;
	options->progress = on_progress;
	options->stop = on_stop;
	options->data = it;
	it->shown_ns = it->live ? 0 : clock_now();
	if (it->live)
		redraw_begin(STDERR_FILENO);
	int rc = function_run(options, it->setup.loop, it->setup.pool, &result, &err);
	if (it->live)
		(void)!redraw_clear(look_of(it).columns);
	redraw_end();
	if (options->bare)
		strings_add(&result.gaps, "there was no sandbox: the target ran unprotected, and what it did to this machine is not known");
	return rc < 0 ? fuzz_setup_fail(&err) : report(it, &result);
}

static int run_function(void *data, const struct cli_args *args)
{
	own(profiled_done) struct profiled profiled = {0};
	struct function_cli *typed = data;
	struct err err = {0};

	if (profiled_build(&profiled, &verb_fuzz_function, &typed->run, args, &err) < 0)
		return cli_fail(&err);
	struct function_cli *cli = profiled.options ? profiled.options : typed;
	if (!cli->duration_ms && !cli->max_execs)
		cli->duration_ms = DEFAULT_MS;
	if (!cli->seed && getrandom(&cli->seed, sizeof(cli->seed), 0) == (ssize_t)sizeof(cli->seed))
		cli->seed = (cli->seed >> 33) + 1; /* as large as the engines take them */
	if (cli->schema && !cli->list)
		return function_schema_run(cli, args);
	own(function_fuzz_done) struct function_fuzz it = {.cli = cli, .status_lock = -1};
	if (function_setup_build(&it.setup, cli, args->words, args, &err) < 0)
		return fuzz_setup_fail(&err);
	if (cli->list)
		return function_list_run(&it.setup.targets, cli->run.json);
	if (cli->export_to)
		return function_export_run(&it.setup, cli->export_to);
	if (fuzz_kept_gate(&it.kept, cli->fail_on, cli->baseline, cli->sarif, &err) < 0 ||
		function_setup_open(&it.setup, &err) < 0 || fuzz_kept_open(&it.kept, it.setup.store_folder, &err) < 0 ||
		store_open(&it.known, it.setup.store_folder, &err) < 0)
		return fuzz_setup_fail(&err);
	const struct function_target *first = &it.setup.targets.list[0];
	own(freep) char *kind = xfmt("function-%s", first->language);
	if (fuzz_log_start(it.setup.audit.audit, first->name, kind, it.setup.targets.count, it.kept.store.count, &err) < 0)
		return fuzz_setup_fail(&err);
	if (!cli->run.quiet)
		function_list_say(&it.setup.targets);
	return explore(&it);
}

/* ---- the table ---- */

static void defaults(void *options)
{
	struct function_cli *cli = options;

	run_options_defaults(&cli->run);
	cli->workers = 1;
	cli->nice = NICE_NOT_GIVEN;
	cli->fail_on = "warning";
}

#define INTO(member) CLI_INTO(struct run_options, member)
#define OWN(member) CLI_INTO(struct function_cli, member)

/* clang-format off */
static const struct cli_option table[] = {
	{.name = "target", .value = "TARGET", .kind = CLI_LIST, OWN(targets), .hint = CLI_HINT_FILE,
	 .help = "a target, as the words are; repeatable"},
	{.name = "duration", .letter = 'd', .value = "DURATION", .kind = CLI_DURATION, OWN(duration_ms),
	 .fallback = "60s, or no limit with --max-execs",
	 .help = "time to explore, of all targets together"},
	{.name = "max-execs", .letter = 'n', .value = "N", .kind = CLI_COUNT, OWN(max_execs), .min = 1, .max = UINT64_MAX,
	 .help = "executions to explore with, about, of all targets together"},
	{.name = "max-findings", .value = "N", .kind = CLI_COUNT, OWN(max_findings), .min = 1, .max = 100000,
	 .help = "end when so many are found"},
	{.name = "input-timeout", .value = "DURATION", .kind = CLI_DURATION, OWN(input_ms), .fallback = "10s",
	 .help = "time that one input may take; more is a hang"},
	{.name = "workers", .value = "N", .kind = CLI_COUNT, OWN(workers), .min = 1, .max = 256, .fallback = "1",
	 .help = "engines at once, each in a cell of its own, with one corpus a target"},
	{.name = "nice", .value = "N", .kind = CLI_COUNT, OWN(nice), .min = 0, .max = 19,
	 .fallback = "5 if the engines may take every processor, else 0",
	 .help = "how far the engines step back where others want the processor"},
	{.name = "seed", .value = "N", .kind = CLI_COUNT, OWN(seed), .min = 1, .max = 2147483647, .fallback = "random, and told",
	 .help = "where the engines' choices come from"},
	{.name = "seed-corpus", .value = "DIR", .kind = CLI_TEXT, OWN(seed_corpus), .hint = CLI_HINT_FOLDER,
	 .help = "inputs to begin with, a file each"},
	{.name = "corpus-max", .value = "SIZE", .kind = CLI_SIZE, OWN(corpus_max),
	 .fallback = "1G, or a quarter of the memory",
	 .help = "what a target may write into its corpus and crashes while it is fuzzed, in memory"},
	{.name = "build-max", .value = "SIZE", .kind = CLI_SIZE, OWN(build_max),
	 .fallback = "2G, or half of the memory",
	 .help = "what building may write, in memory, and all builds of a run may leave on the disk"},
	{.name = "dict", .value = "FILE", .kind = CLI_TEXT, OWN(dict), .hint = CLI_HINT_FILE,
	 .help = "words to use in inputs, in AFL's syntax"},
	{.name = "schema", .letter = 's', .value = "FILE", .kind = CLI_TEXT, OWN(schema), .hint = CLI_HINT_FILE,
	 .help = "call it with JSON values that fit this schema, made by hotcell, and not with an engine's bytes"},
	{.name = "no-deepen", .kind = CLI_FLAG, OWN(no_deepen),
	 .help = "try no inputs that nest deeper than those that the engine found, and take no words from the source"},
	{.name = "sanitizer", .value = "NAME", .kind = CLI_TEXT, OWN(sanitizer), .hint = CLI_HINT_CHOICE,
	 .choices = "address undefined memory none", .fallback = "address and undefined",
	 .help = "what C and C++ are built with"},
	{.name = "cflag", .value = "FLAG", .kind = CLI_LIST, OWN(build_flags),
	 .help = "a word for the compiler and the linker of C and C++ (-DNAME, -Isrc, -lz), seen from the project's top; may be given again"},
	{.name = "fuzzer", .value = "NAME", .kind = CLI_TEXT, OWN(fuzzer), .hint = CLI_HINT_CHOICE,
	 .choices = "libfuzzer afl++", .fallback = "libfuzzer",
	 .help = "what explores C and C++"},
	{.name = "core", .kind = CLI_FLAG, OWN(core),
	 .help = "keep a core of each finding in C, C++, Rust and Go, and the program that it is of, beside its report"},
	{.name = "expect", .value = "NAME", .kind = CLI_LIST, OWN(expect),
	 .help = "an exception that is declared, and no finding, by its name or a base's; repeatable"},
	{.name = "venv", .value = "DIR", .kind = CLI_TEXT, OWN(venv), .hint = CLI_HINT_FOLDER,
	 .fallback = "$VIRTUAL_ENV, or none",
	 .help = "the Python environment that has Atheris and what the target imports"},
	{.name = "engine", .value = "LANGUAGE=DIR", .kind = CLI_LIST, OWN(engines),
	 .fallback = "LANGUAGE in ~/.local/share/hotcell/engines",
	 .help = "the folder that a language's engine is installed in; repeatable"},
	{.name = "root", .value = "DIR", .kind = CLI_TEXT, OWN(root), .hint = CLI_HINT_FOLDER,
	 .fallback = "the project's folder, not above its repository or the current folder",
	 .help = "the folder that the target's cells are shown, read-only; it holds the target"},
	{.name = "fail-on", .value = "LEVEL", .kind = CLI_TEXT, OWN(fail_on), .hint = CLI_HINT_CHOICE,
	 .choices = "error warning note any none", .fallback = "warning",
	 .help = "the least level of a finding that makes the exit code 1"},
	{.name = "baseline", .value = "FILE", .kind = CLI_TEXT, OWN(baseline), .hint = CLI_HINT_FILE,
	 .help = "findings that were there before and fail nothing: SARIF, or exported JSON"},
	{.name = "export-sarif", .value = "FILE", .kind = CLI_TEXT, OWN(sarif), .hint = CLI_HINT_FILE,
	 .help = "write a SARIF log of the findings"},
	{.name = "coverage", .kind = CLI_FLAG, OWN(coverage),
	 .help = "measure the lines that the corpus reaches however long it takes, and not only within seconds"},
	{.name = "no-coverage", .kind = CLI_FLAG, OWN(no_coverage),
	 .help = "do not measure it"},
	{.name = "coverage-file", .value = "FILE", .kind = CLI_TEXT, OWN(coverage_file), .hint = CLI_HINT_FILE,
	 .help = "write it as lcov, with the paths of this machine"},
	{.name = "stats-json", .kind = CLI_FLAG, OWN(stats_json),
	 .help = "print one JSON object a second, a line each, and that of --json as the last"},
	{.name = "export-harness", .value = "DIR", .kind = CLI_TEXT, OWN(export_to), .hint = CLI_HINT_FOLDER,
	 .help = "write the harness into DIR, print the commands that build and run it, and start nothing"},
	{.name = "list", .kind = CLI_FLAG, OWN(list),
	 .help = "print the targets that were found, as a table or with --json, and start nothing"},
	{.name = "state", .value = "DIR", .kind = CLI_TEXT, OWN(state), .hint = CLI_HINT_FOLDER,
	 .fallback = "the nearest .hotcell, here or above",
	 .help = "folder of findings, corpora and the audit log"},
	{.name = "json", .kind = CLI_FLAG, INTO(json),
	 .help = "print one JSON object at the end"},
	{.name = "audit", .value = "FILE", .kind = CLI_TEXT, INTO(audit), .hint = CLI_HINT_FILE,
	 .fallback = "that of the state folder",
	 .help = "append what was decided, beginning and end of all and of each cell to another audit log"},
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet),
	 .help = "say nothing while it runs"},
#include "cli/run_options.inc"
	{0},
};
/* clang-format on */

const struct cli_verb verb_fuzz_function = {
	.name = "fuzz function",
	.summary = "fuzz functions with the engines of their languages",
	.usage = "[options] FILE:FUNCTION|FILE|DIR...",
	.details =
		"Exit codes: 0 nothing at or above the gate was found; 1 something was; 2 the command line is wrong; 3 nothing was really\n"
		"fuzzed; 4 a target, the sandbox or hotcell failed; 130 interrupted.\n",
	.options = table,
	.options_size = sizeof(struct function_cli),
	.defaults = defaults,
	.words_max = -1,
	.word = "TARGET",
	.word_hint = CLI_HINT_FILE,
	.run = run_function,
};
