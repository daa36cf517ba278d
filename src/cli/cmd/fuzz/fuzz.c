/* hotcell fuzz mcp, hotcell fuzz tool: call a program's tools with what their schemas allow, in cells, and say what is wrong.
 *
 * What is found goes to the store of the project when it is confirmed, one file each: whatever ends us later takes nothing
 * with it. What the store has of this target is tried first, and what it does no more is marked as fixed. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/term.h"
#include "cli/fuzz_kept.h"
#include "cli/cmd/fuzz/out.h"
#include "view/fuzz.h"
#include "cli/profile_options.h"
#include "cli/core/redraw.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"

#define FRAME_NS (100 * NS_PER_MS)
#define LINE_NS (5 * NS_PER_S)
#define DEFAULT_MS 60000
#define TOOLS_NAMED 12

struct fuzz {
	const struct fuzz_cli *cli;
	const struct fuzz_more *more; /* may be NULL */
	struct fuzz_setup setup;
	struct fuzz_kept kept;
	struct finding_store known; /* what was there of this target */
	bool live;
	uint64_t shown_ns; /* when progress was told last */
};

static void fuzz_done(struct fuzz *it)
{
	it->setup.leaving = true;
	redraw_end();
	fuzz_kept_done(&it->kept);
	store_done(&it->known);
	fuzz_setup_done(&it->setup);
}

/* ---- while it runs ---- */

static struct fuzz_look look_of(const struct fuzz *it)
{
	struct fuzz_look look = {.name = target_name(it->setup.target),
		.duration_ns = it->setup.fuzz.duration_ns,
		.max_calls = it->setup.fuzz.max_calls,
		.severities = it->kept.severities};

	if (!tty_size(&look.rows, &look.columns) || look.columns < 20 || look.rows < 4) {
		look.columns = 80;
		look.rows = 24;
	}
	return look;
}

static void on_progress(void *data, const struct fuzz_progress *progress)
{
	struct fuzz *it = data;
	const struct fuzz_look look = look_of(it);
	own(buf_done) struct buf text = {0};
	uint64_t now = clock_now();

	if (it->cli->run.quiet || now - it->shown_ns < (it->live ? FRAME_NS : LINE_NS))
		return;
	it->shown_ns = now;
	if (it->live) {
		fuzz_view_block(progress, &look, &text);
		(void)!redraw_frame(&text, look.columns); /* a terminal that is gone: the fuzzing goes on */
		return;
	}
	fuzz_view_line(progress, &look, &text);
	cli_say("%s", buf_text(&text));
}

static void tell(struct fuzz *it, const struct finding *finding, const char *what)
{
	own(buf_done) struct buf line = {0};

	if (it->cli->run.quiet)
		return;
	fuzz_view_found(finding, what, &line);
	if (it->live)
		(void)!redraw_clear(look_of(it).columns);
	cli_say("%s", buf_text(&line));
}

static bool on_stop(void *data)
{
	const struct fuzz *it = data;

	return it->setup.signal != 0;
}

static void on_found(void *data, const struct finding *finding, bool is_new)
{
	struct fuzz *it = data;
	struct finding kept = {0};
	struct err err = {0};
	bool first = fuzz_kept_count(&it->kept, finding);

	(void)is_new; /* of this time; the store says what it had */
	if (fuzz_copy(finding, &kept, &err) < 0) {
		fuzz_kept_fail(&it->kept, &err);
		return;
	}
	fuzz_setup_finish(&it->setup, &kept);
	if (it->more)
		it->more->finish(it->more->data, &kept);
	bool fresh = fuzz_kept_add(&it->kept, &kept, first);
	if (first)
		tell(it, &kept, fresh ? "found" : "found again");
	finding_done(&kept);
}

static void on_retried(void *data, const struct finding *finding, bool still)
{
	struct fuzz *it = data;

	if (fuzz_kept_retried(&it->kept, finding, still)) /* what is still there is told as found again */
		tell(it, finding, "fixed");
}

/* ---- before it runs ---- */

static bool is_meant(const struct fuzz_cli *cli, const char *name)
{
	bool meant = cli->only.count == 0;

	for (size_t i = 0; i < cli->only.count; i++)
		meant = meant || fnmatch(cli->only.items[i], name, 0) == 0;
	for (size_t i = 0; i < cli->exclude.count; i++)
		meant = meant && fnmatch(cli->exclude.items[i], name, 0) != 0;
	return meant;
}

/* What names the function in a finding is not the command that serves it. */
static void as_served(const struct fuzz *it, struct finding *finding)
{
	const struct cell_spec *spec = target_spec(it->setup.target);

	strings_done(&finding->command);
	for (size_t i = 0; spec->argv && spec->argv[i]; i++)
		strings_add(&finding->command, spec->argv[i]);
}

/* Of this target, and of what is fuzzed of it: the rest would be said to be fixed. */
static int known_open(struct fuzz *it, struct err *err)
{
	const char *name = target_name(it->setup.target), *kind = it->setup.kind;
	size_t kept = 0;

	if (store_open(&it->known, it->setup.store_folder, err) < 0 || fuzz_kept_open(&it->kept, it->setup.store_folder, err) < 0)
		return -1;
	for (size_t i = 0; i < it->known.count; i++) {
		struct finding *finding = &it->known.items[i];
		if (strcmp(finding->target, name) != 0 || strcmp(finding->kind, kind) != 0 || finding->binary ||
			!is_meant(it->cli, finding->subject)) {
			finding_done(finding);
			continue;
		}
		free(finding->kind); /* as it is spoken to */
		finding->kind = xstrdup(target_mode_kind(it->setup.mode));
		if (it->more)
			as_served(it, finding);
		it->known.items[kept++] = *finding;
	}
	it->known.count = kept;
	return 0;
}

static const char *subject_name(const void *data, size_t index)
{
	const struct subjects *subjects = data;

	return index < subjects->count ? subjects->list[index].name : NULL;
}

static int no_such_tool(const struct subjects *subjects, const char *glob, struct err *err)
{
	own(buf_done) struct buf shown = {0}, near = {0}, all = {0};
	const char *nearest = cli_nearest(glob, subject_name, subjects);

	term_line(glob, strlen(glob), 80, &shown);
	if (nearest) {
		term_line(nearest, strlen(nearest), 80, &near);
		return err_set(err, ERR_USAGE, "--tool: it has no tool '%s'; did you mean '%s'?", buf_text(&shown), buf_text(&near));
	}
	for (size_t i = 0; i < subjects->count && i < TOOLS_NAMED; i++) {
		buf_str(&all, i ? ", " : "");
		term_line(subjects->list[i].name, strlen(subjects->list[i].name), 40, &all);
	}
	return err_set(err, ERR_USAGE, "--tool: it has no tool '%s'; it has %s%s", buf_text(&shown), buf_text(&all),
		subjects->count > TOOLS_NAMED ? ", ..." : "");
}

static int check_tools(const struct fuzz *it, struct err *err)
{
	const struct subjects *subjects = target_subjects(it->setup.target);

	for (size_t i = 0; i < it->cli->only.count; i++) {
		bool any = false;
		for (size_t k = 0; k < subjects->count && !any; k++)
			any = fnmatch(it->cli->only.items[i], subjects->list[k].name, 0) == 0;
		if (!any)
			return no_such_tool(subjects, it->cli->only.items[i], err);
	}
	return 0;
}

/* ---- the whole ---- */

static int report(struct fuzz *it, const struct fuzz_result *result)
{
	size_t count;
	own(freep) const struct finding **list = fuzz_kept_list(&it->kept, &count);
	struct fuzz_outcome outcome = {.setup = &it->setup, .result = result, .list = list, .count = count, .fresh = &it->kept.fresh,
		.baseline = &it->kept.baseline, .gate = it->kept.gate};
	struct err err = {0};

	fuzz_outcome_judge(&outcome);
	if (it->kept.failed.code && (outcome.code == 0 || outcome.code == FUZZ_EXIT_FINDINGS))
		outcome.code = FUZZ_EXIT_BROKEN;
	int told = fuzz_outcome_tell(&outcome);
	fuzz_cells_settle(&it->setup.cells, it->setup.loop);
	if (fuzz_log_end(it->setup.audit.audit, target_name(it->setup.target), result->totals.calls, count, it->kept.fresh.count,
		    result->fixed.count, outcome.code, &it->setup.cells, &err) < 0)
		told = cli_fail(&err);
	return outcome.code ? outcome.code : told ? FUZZ_EXIT_BROKEN : 0;
}

static int explore(struct fuzz *it)
{
	own(fuzz_result_done) struct fuzz_result result = {0};
	const char *term = getenv("TERM");
	struct err err = {0};

	it->live = !it->cli->run.quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	it->setup.fuzz.known = &it->known;
	it->setup.fuzz.baseline = &it->kept.baseline;
	it->setup.fuzz.found = on_found;
	it->setup.fuzz.retried = on_retried;
	it->setup.fuzz.progress = on_progress;
	it->setup.fuzz.stop = on_stop;
	it->setup.fuzz.data = it;
	it->shown_ns = it->live ? 0 : clock_now();
	if (it->live)
		redraw_begin(STDERR_FILENO);
	int rc = fuzz_run(&it->setup.fuzz, &result, &err);
	if (it->live)
		(void)!redraw_clear(look_of(it).columns);
	redraw_end();
	if (rc < 0)
		(void)cli_fail(&err);
	return report(it, &result);
}

int fuzz_all(const struct fuzz_cli *cli, enum target_mode mode, const struct cli_args *args, const struct fuzz_more *more)
{
	own(fuzz_done) struct fuzz it = {.cli = cli, .more = more};
	struct err err = {0};

	if (fuzz_setup_build(&it.setup, cli, mode, args, &err) < 0 || fuzz_kept_gate(&it.kept, cli->fail_on, cli->baseline, cli->sarif, &err) < 0 ||
		(more && more->ready(more->data, &it.setup, &err) < 0) || fuzz_setup_open(&it.setup, &err) < 0)
		return it.setup.signal ? 128 + it.setup.signal : fuzz_setup_fail(&err);
	if (check_tools(&it, &err) < 0 || known_open(&it, &err) < 0 ||
		fuzz_log_start(it.setup.audit.audit, target_name(it.setup.target), it.setup.kind,
			target_subjects(it.setup.target)->count, it.known.count, &err) < 0)
		return fuzz_setup_fail(&err);
	return explore(&it);
}

static int print_oracles(void)
{
	own(buf_done) struct buf out = {0};

	for (const struct oracle *oracle = oracles; oracle->name; oracle++) {
		const struct finding_rule *rule = finding_rule(oracle->name);
		buf_fmt(&out, "%-14s %-8s  %s\n", oracle->name, rule ? severity_name(rule->severity) : "", oracle->help);
	}
	buf_fmt(&out, "\nThe default is %s.\n", oracle_set_default);
	return cli_print(&out);
}

static void set_defaults(struct fuzz_cli *cli, const struct cli_args *typed)
{
	if (!cli->duration_ms && !cli->max_calls)
		cli->duration_ms = DEFAULT_MS;
	if (!fuzz_given(typed, "seed") && getrandom(&cli->seed, sizeof(cli->seed), 0) == (ssize_t)sizeof(cli->seed))
		cli->seed >>= 11; /* one that every reader of JSON keeps whole */
}

static int fuzz_verb(const struct cli_verb *verb, struct fuzz_cli *typed, const struct cli_args *args)
{
	own(profiled_done) struct profiled profiled = {0};
	enum target_mode mode = TARGET_MCP;
	struct err err = {0};

	if (strcmp(typed->oracles, "help") == 0)
		return print_oracles();
	if (!args->command) {
		(void)err_set(&err, ERR_USAGE, "'hotcell %s' needs the command that starts what is fuzzed, after '--'", verb->name);
		return cli_fail(&err);
	}
	if (profiled_build(&profiled, verb, &typed->run, args, &err) < 0)
		return cli_fail(&err);
	struct fuzz_cli *cli = profiled.options ? profiled.options : typed;
	if (verb == &verb_fuzz_mcp) {
		mode = cli->port ? TARGET_MCP_HTTP : TARGET_MCP;
	} else {
		own(freep) char *kind = xfmt("tool-%s", cli->mode);
		(void)target_mode_read(kind, &mode); /* the table's choices */
	}
	if (verb == &verb_fuzz_tool && !cli->schema) {
		(void)err_set(&err, ERR_USAGE, "'hotcell fuzz tool' needs --schema FILE, the JSON Schema of the tool's arguments");
		return cli_fail(&err);
	}
	set_defaults(cli, args);
	return fuzz_all(cli, mode, args, NULL);
}

static int run_mcp(void *data, const struct cli_args *args)
{
	return fuzz_verb(&verb_fuzz_mcp, data, args);
}

static int run_tool(void *data, const struct cli_args *args)
{
	return fuzz_verb(&verb_fuzz_tool, data, args);
}

/* ---- the tables ---- */

#define INTO(member) CLI_INTO(struct run_options, member)
#define FUZZ(member) CLI_INTO(struct fuzz_cli, member)
#define CODES                                                                                                                             \
	"Exit codes: 0 nothing at or above the gate was found; 1 something was; 2 the command line is wrong; 3 nothing was really\n"       \
	"fuzzed; 4 the target, the sandbox or hotcell failed; 130 interrupted.\n"

/* clang-format off */
static const struct cli_option mcp_table[] = {
	{.name = "http", .value = "PORT[/PATH]", .kind = CLI_OTHER, .set = fuzz_http_set, .fallback = "stdin and stdout",
	 .help = "it speaks streamable HTTP on this port of its cell, at /mcp or PATH"},
#include "cli/fuzz_options.inc"
#include "cli/run_options.inc"
	{0},
};

static const struct cli_option tool_table[] = {
	{.name = "schema", .letter = 's', .value = "FILE", .kind = CLI_TEXT, FUZZ(schema), .hint = CLI_HINT_FILE,
	 .help = "the JSON Schema of its arguments"},
	{.name = "output-schema", .letter = 'o', .value = "FILE", .kind = CLI_TEXT, FUZZ(output_schema), .hint = CLI_HINT_FILE,
	 .help = "the JSON Schema that its answers must fit"},
	{.name = "mode", .value = "MODE", .kind = CLI_TEXT, FUZZ(mode), .hint = CLI_HINT_CHOICE, .choices = "lines exec args",
	 .fallback = "lines",
	 .help = "lines: a call a line; exec: a process a call, on stdin; args: '{name}' in the command"},
#include "cli/fuzz_options.inc"
#include "cli/run_options.inc"
	{0},
};
/* clang-format on */

const struct cli_verb verb_fuzz_mcp = {
	.name = "fuzz mcp",
	.summary = "fuzz the tools of an MCP server by their schemas",
	.usage = "[options] -- COMMAND [ARGUMENT...]",
	.details = CODES,
	.options = mcp_table,
	.options_size = sizeof(struct fuzz_cli),
	.defaults = fuzz_options_defaults,
	.takes_command = true,
	.command_optional = true,
	.run = run_mcp,
};

const struct cli_verb verb_fuzz_tool = {
	.name = "fuzz tool",
	.summary = "fuzz a program that takes and gives JSON by its schema",
	.usage = "--schema FILE [options] -- COMMAND [ARGUMENT...]",
	.details = CODES,
	.options = tool_table,
	.options_size = sizeof(struct fuzz_cli),
	.defaults = fuzz_options_defaults,
	.takes_command = true,
	.command_optional = true,
	.run = run_tool,
};
