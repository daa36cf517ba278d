/* hotcell run: one program in one cell, with our stdin, stdout and stderr passed through.
 *
 * Order: parse; take what is needed from the environment and forget the rest; open every file the
 * user named, so that a mistyped path fails before anything runs; then the pool (which forks the
 * zygote), the doors and the cell. When the cell is over its doors are closed, and when their record
 * is whole the result is told. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the cell and, with it, us. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/backend.h"
#include "run/hidden.h"
#include "cli/manifest_check.h"
#include "cli/profile_options.h"
#include "run/audit.h"
#include "cli/run_doors.h"
#include "cli/run_spec.h"
#include "base/signals.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"
#include "view/cell_result.h"
#include "live/live.h"
#include "redact/scrub.h"
#include "run/environment.h"

#define LIVE_AFTER_NS (20 * NS_PER_MS)
#define TAIL_KEPT (64 << 10) /* what `hotcell logs` can show */

struct run {
	const struct run_options *options;
	const char *backend;
	struct loop *loop;
	struct cell_pool *pool;
	struct live *live;
	struct loop_source *live_timer;
	const struct cell_spec *spec;
	struct cell *cell;
	const struct cell_result *result; /* the cell is over; `done` when its doors are, too */
	struct run_doors doors;
	struct run_audit audit;
	struct scrub scrub[2]; /* its stdout and stderr, for `hotcell logs` or, with --redact, all who read them */
	int stdin_fd, stderr_fd, json_fd; /* -1: none */
	int signal; /* that made us cancel, or 0 */
	bool done;
	int code;
};

static void run_done(struct run *run)
{
	run->live_timer = loop_remove(run->live_timer);
	if (run->live && run->cell)
		live_remove(run->live, run->cell);
	cli_beside(NULL);
	run->cell = cell_free(run->cell);
	run->live = live_free(run->live);
	run_doors_done(&run->doors);
	run_audit_done(&run->audit);
	cell_pool_leave(run->pool);
	run->pool = NULL;
	run->loop = loop_free(run->loop);
	scrub_done(&run->scrub[0]);
	scrub_done(&run->scrub[1]);
	fd_close(&run->stdin_fd);
	fd_close(&run->stderr_fd);
	fd_close(&run->json_fd);
	tty_restore();
}

/* ---- reporting ---- */

static void say_buf(const struct buf *line)
{
	cli_say("%s", buf_text(line));
}

static void say_verdict(struct run *run, const struct cell_result *result)
{
	own(buf_done) struct buf line = {0}, weaker = {0}, collect = {0}, doors = {0}, details = {0};
	bool quiet = run->options->quiet, ran = result->outcome != CELL_SETUP_FAILED;

	/* That it never ran is our failure, not a verdict: never silent. */
	if ((!quiet || !ran) && verdict_line(result, &run->options->limits, run->signal, &line))
		say_buf(&line);
	if (ran && result->err.code)
		(void)cli_fail(&result->err);
	if (!quiet && verdict_collect(result, &run->options->limits, &collect))
		say_buf(&collect);
	if (!quiet && ran && run_doors_verdict(&run->doors, run->options->verbose, &doors))
		say_buf(&doors);
	if (!quiet && ran && cell_backend_can(run->backend, CELL_ISOLATES) &&
		verdict_weaker(&result->receipt, &weaker)) {
		buf_str(&weaker, "; 'hotcell doctor' shows the fix");
		say_buf(&weaker);
	}
	if (run->options->verbose) {
		verdict_details(result, &details);
		say_buf(&details);
	}
}

static int write_result(const struct run *run, const struct buf *text, struct err *err)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(run->json_fd, text->data + done, text->len - done);
		if (wrote < 0 && errno != EINTR)
			return err_errno(
				err, errno, "--json-file: write '%s'", run->options->json_file);
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

/* Returns 0, or the exit code of our failure to write. */
static int put_json(struct run *run, const struct cell_result *result)
{
	own(json_done) struct json json = {0};
	own(buf_done) struct buf out = {0};
	own(secrets_result_done) struct cell_result shown = {0};
	struct err err = {0};

	if (!run->options->json && run->json_fd < 0)
		return 0;
	json_open(&json, '{');
	secrets_result(hidden_redactor(), result, &shown);
	cell_result_members(&shown, &json);
	run_doors_json(&run->doors, &json);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	if (run->json_fd >= 0 && write_result(run, &json.out, &err) < 0)
		return cli_fail(&err);
	if (!run->options->json)
		return 0;
	buf_str(&out, cli_apart(STDOUT_FILENO));
	if (result->stdout_unfinished) /* our JSON is a line of its own */
		buf_char(&out, '\n');
	buf_add(&out, json.out.data, json.out.len);
	return cli_print(&out);
}

static void report(struct run *run, const struct cell_result *result)
{
	const struct door_totals *network = run_doors_any(&run->doors) ? &run->doors.totals : NULL;
	struct err err = {0};

	tty_restore();
	run->code = cell_result_exit_code(result);
	if (result->outcome == CELL_CANCELLED && run->signal)
		run->code = 128 + run->signal;
	say_verdict(run, result);
	int failed = put_json(run, result);
	if (failed)
		run->code = failed;
	if (run_audit_end(&run->audit, result, network, &err) < 0)
		run->code = cli_fail(&err);
}

/* What could not even be asked for is a result too, but for mistakes in the command line. */
static int run_refused(struct run *run, const struct err *err)
{
	struct cell_result result = {
		.outcome = CELL_SETUP_FAILED,
		.exit_code = -1,
		.receipt = {.backend = run->backend},
		.err = *err,
	};

	if (err->code == ERR_USAGE) {
		tty_restore();
		return cli_fail(err);
	}
	report(run, &result);
	return run->code;
}

/* ---- while it runs ---- */

static void on_closed(void *data, const struct door_totals *totals)
{
	struct run *run = data;

	run->doors.totals = *totals;
	report(run, run->result);
	run->done = true;
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct run *run = data;

	run->cell = cell;
	run->result = result;
	if (run->doors.run) {
		doors_run_close(run->doors.run, on_closed, run);
		run->doors.run = NULL;
		return;
	}
	report(run, result);
	run->done = true;
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct run *run = data;

	if (run->doors.run)
		doors_run_listen(run->doors.run, fds, count);
}

static void resize(struct run *run)
{
	unsigned rows, columns;

	if (run->cell && run->options->tty && tty_size(&rows, &columns))
		cell_resize(run->cell, rows, columns);
}

static void on_signal(void *data, int number)
{
	struct run *run = data;

	if (number == SIGWINCH) {
		resize(run);
		return;
	}
	if (!run->signal)
		run->signal = number;
	if (run->cell && !run->result)
		cell_cancel(run->cell);
}

static int take_signals(struct run *run, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, 0};

	return signals_take(run->loop, ours, on_signal, run, err);
}

static void list_doors(void *data, struct json *json)
{
	const struct run *run = data;

	run_doors_list(&run->doors, json);
}

static int on_exec_begins(void *data, const char *cell, int asker, const char *const *argv, struct err *err)
{
	struct run *run = data;

	(void)cell;
	return run_audit_exec(&run->audit, asker, argv, err);
}

static void on_exec_ended(void *data, const char *cell, int wait_status, const struct err *how)
{
	struct run *run = data;
	struct err err = {0};

	(void)cell;
	if (run_audit_exec_end(&run->audit, wait_status, how, &err) < 0)
		run->code = cli_fail(&err);
}

/* A cell that is gone in an instant is not worth a control socket. */
static void live_start(void *data)
{
	struct run *run = data;
	own(freep) char *command = hidden_command(run->spec->argv);
	const char *const shown[] = {command, NULL};
	struct err err = {0};

	run->live_timer = loop_remove(run->live_timer);
	if (run->result)
		return;
	run->live = live_open(run->loop, &err);
	if (run->live)
		live_set_execs(run->live, &(struct live_execs){.begins = on_exec_begins, .ended = on_exec_ended, .data = run});
	if (run->live && run->doors.doors)
		live_set_doors(run->live, list_doors, run);
	if (run->live)
		live_add(run->live, run->cell, shown);
	else if (run->options->verbose)
		cli_say("'hotcell ps' will not see this cell: %s", err.text);
}

static void on_printed(void *data, unsigned stream, const char *bytes, size_t len, struct buf *out)
{
	struct run *run = data;

	run->scrub[stream].even = run->doors.policy.secret_count > 0; /* of what the cell has itself it can learn nothing */
	if (len > 0)
		scrub_take(&run->scrub[stream], redactor_words(hidden_redactor()), bytes, len, out);
	else
		scrub_end(&run->scrub[stream], redactor_words(hidden_redactor()), out);
}

static int run_cell(struct run *run, struct cell_spec *spec)
{
	int err_fd = run->stderr_fd >= 0 ? run->stderr_fd : STDERR_FILENO;
	struct cell_io io = {
		.in = run->stdin_fd >= 0 ? run->stdin_fd : STDIN_FILENO,
		.out = STDOUT_FILENO,
		.err = err_fd,
		.filter = !run->options->raw && (isatty(STDOUT_FILENO) || isatty(err_fd)),
		.keep = TAIL_KEPT,
		.listening = on_listening,
		.change = redactor_knows(hidden_redactor()) ? on_printed : NULL,
		.pass_unchanged = !run->options->redact,
	};
	struct err err = {0};

	run->loop = loop_open(&err);
	if (!run->loop || take_signals(run, &err) < 0)
		return run_refused(run, &err);
	run->audit.loop = run->loop;
	run->doors.audit = &run->audit;
	run->pool = cell_pool_open(run->backend, run->loop, &err);
	if (!run->pool || run_doors_open(&run->doors, run->loop, &err) < 0)
		return run_refused(run, &err);
	if (!run->options->quiet) /* the result has it, too */
		backend_say_warnings(run->pool);
	if (spec->tty) {
		(void)tty_size(&spec->rows, &spec->columns);
		(void)tty_raw();
	}
	run->cell = cell_start(run->pool, spec, &io, on_done, run, &err);
	if (!run->cell)
		return run_refused(run, &err);
	cli_beside(run->cell);
	if (run_audit_start(&run->audit, cell_id(run->cell), &err) < 0) {
		(void)cli_fail(&err);
		cell_cancel(run->cell);
	}
	resize(run);
	run->spec = spec;
	run->live_timer = loop_add_timer(run->loop, clock_now() + LIVE_AFTER_NS, live_start, run);
	while (!run->done) {
		if (loop_turn(run->loop, -1) < 0 && errno != EINTR) {
			(void)err_errno(&err, errno, "wait for the cell");
			return run_refused(run, &err);
		}
	}
	return run->code;
}

/* ---- before it runs ---- */

static int files_open(struct run *run, struct err *err)
{
	const struct run_options *options = run->options;
	struct stat st;

	if (options->stdin_file && options->tty)
		return err_set(err, ERR_USAGE,
			"--stdin and --tty exclude each other: a terminal is its own input");
	if (options->stdin_file) {
		run->stdin_fd = fs_open_named(AT_FDCWD, options->stdin_file, O_RDONLY, 0, err);
		if (run->stdin_fd < 0)
			return err_wrap(err, "--stdin");
		if (fstat(run->stdin_fd, &st) < 0)
			return err_errno(err, errno, "--stdin: look at '%s'", options->stdin_file);
		if (S_ISDIR(st.st_mode))
			return err_set(err, EISDIR, "--stdin: '%s' is a folder; name a file",
				options->stdin_file);
	}
	if (options->stderr_file && options->tty)
		return err_set(err, ERR_USAGE, "--stderr and --tty exclude each other: a terminal has one output");
	if (options->stderr_file) {
		run->stderr_fd = fs_open_named(AT_FDCWD, options->stderr_file, O_WRONLY | O_CREAT | O_TRUNC, 0644, err);
		if (run->stderr_fd < 0)
			return err_wrap(err, "--stderr");
	}
	if (options->json_file) {
		run->json_fd = fs_open_named(AT_FDCWD, options->json_file, O_WRONLY | O_CREAT | O_TRUNC, 0644, err);
		if (run->json_fd < 0)
			return err_wrap(err, "--json-file");
	}
	return 0;
}

static int explain(const struct run *run, const struct cell_spec *spec)
{
	own(buf_done) struct buf page = {0}, out = {0};

	if (run->options->used) {
		buf_str(&out, "profile         ");
		profile_explain(run->options->used, &out);
		buf_char(&out, '\n');
	}
	cell_explain(run->backend, spec, &page);
	redact_show(hidden_redactor(), REDACT_VALUES, buf_text(&page), page.len, &out);
	door_options_explain(&run->doors.policy, "doors           ", "                ", &out);
	if (budget_is_set(&run->doors.policy.budget)) {
		buf_str(&out, "budget          ");
		budget_text(&run->doors.policy.budget, &out);
		buf_char(&out, '\n');
	}
	return cli_print(&out);
}

static int run_with(const struct run_options *options, const struct cli_args *args)
{
	own(run_done) struct run run = {.options = options, .doors = RUN_DOORS_NONE, .stdin_fd = -1, .stderr_fd = -1, .json_fd = -1};
	own(run_spec_done) struct run_spec built = {0};
	struct err err = {0};

	if (backend_choose(options, &run.backend, &err) < 0 ||
		run_spec_build(&built, options, args->command, &err) < 0)
		return cli_fail(&err);
	own(freep) char *project = NULL;
	if (!options->audit && !cell_backend_can(run.backend, CELL_ISOLATES)) {
		struct err why = {0};
		project = run_audit_project(&why);
		if (why.code)
			cli_say("no audit log is kept of this: %s", why.text);
	}
	const char *audit = options->audit ? options->audit : project;
	/* Before there is a credential in memory that a fork would copy. */
	if (!options->explain && manifest_check(&options->manifests, &err) < 0) {
		if (audit)
			manifest_refused(audit, &err);
		return run_refused(&run, &err);
	}
	if (run_doors_build(&run.doors, options, run.backend, &built, !options->explain, &err) < 0)
		return cli_fail(&err);
	hidden_set(&(struct secrets){.env = built.spec.env, .names = options->secret_env.items, .policy = &run.doors.policy});
	environment_forget();
	if (!cell_backend_can(run.backend, CELL_ISOLATES))
		backend_warn_none();
	if (options->explain)
		return explain(&run, &built.spec);
	if (files_open(&run, &err) < 0 || run_doors_files(&run.doors, options, &built.spec, &err) < 0 ||
		run_audit_open(&run.audit, audit, run.backend, &built.spec, &run.doors.policy, &err) < 0)
		return run_refused(&run, &err);
	return run_cell(&run, &built.spec);
}

static int run_verb(void *data, const struct cli_args *args)
{
	own(profiled_done) struct profiled profiled = {0};
	struct err err = {0};

	if (profiled_build(&profiled, &verb_run, data, args, &err) < 0)
		return cli_fail(&err);
	return run_with(profiled.options ? profiled.options : data, args);
}

/* ---- the table ---- */

#define INTO(member) CLI_INTO(struct run_options, member)

/* clang-format off */
static const struct cli_option options_table[] = {
#include "cli/run_options.inc"
	{.name = "timeout", .letter = 't', .value = "DURATION", .kind = CLI_DURATION,
	 INTO(limits.timeout_ms), .fallback = "60s",
	 .help = "time after which everything in it is ended"},
	{.name = "output", .value = "DIR", .kind = CLI_TEXT, INTO(output),
	 .hint = CLI_HINT_FOLDER,
	 .help = "copy what the run left in /workspace to DIR"},
	{.name = "network-log", .value = "FILE", .kind = CLI_TEXT, INTO(doors.log), .hint = CLI_HINT_FILE,
	 .fallback = "network.jsonl in the folder of --output",
	 .help = "where every verdict of its doors goes, a line of JSON each"},
	{.name = "stderr", .value = "FILE", .kind = CLI_TEXT, INTO(stderr_file), .hint = CLI_HINT_FILE,
	 .help = "write its stderr to FILE, apart from what hotcell says"},
	{.name = "tty", .letter = 'T', .kind = CLI_FLAG, INTO(tty),
	 .help = "give it a terminal of its own"},
	{.name = "raw", .kind = CLI_FLAG, INTO(raw),
	 .help = "let its escape sequences reach your terminal"},
	{.name = "redact", .kind = CLI_FLAG, INTO(redact),
	 .help = "take what is secret out of its stdout and stderr, as stars"},
	{.name = "explain", .kind = CLI_FLAG, INTO(explain),
	 .help = "print the cell as it would be made; start nothing"},
	{.name = "json", .kind = CLI_FLAG, INTO(json),
	 .help = "print the result as the last line of stdout, in JSON"},
	{.name = "json-file", .value = "FILE", .kind = CLI_TEXT, INTO(json_file),
	 .hint = CLI_HINT_FILE,
	 .help = "write the result to FILE, in JSON"},
	{.name = "audit", .value = "FILE", .kind = CLI_TEXT, INTO(audit), .hint = CLI_HINT_FILE,
	 .help = "append what was decided, its beginning, verdicts of its doors and its end to an audit log"},
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet),
	 .help = "no verdict on stderr"},
	{.name = "verbose", .letter = 'v', .kind = CLI_FLAG, INTO(verbose),
	 .help = "print costs and every protection on stderr"},
	{0},
};
/* clang-format on */

const struct cli_verb verb_run = {
	.name = "run",
	.summary = "run a program in a cell of its own",
	.usage = "[options] -- COMMAND [ARGUMENT...]",
	.details =
		"Sizes are bytes or 64k, 512M, 1.5G; durations are seconds or 250ms, 60s, 5m, 2h.\n"
		"The exit code is the program's; 128+N if signal N ended it; 124 timeout; 125 hotcell failed.\n",
	.options = options_table,
	.options_size = sizeof(struct run_options),
	.defaults = run_options_defaults,
	.takes_command = true,
	.run = run_verb,
};
