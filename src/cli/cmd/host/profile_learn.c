/* hotcell profile learn: a command is run under observation, and then again under the smallest profile that what was seen
 * allows for.
 *
 * The first cell is as the options say, and so no weaker than `hotcell run` with them; its filter asks the cell's init about
 * every call that could be denied, and init notes it and lets it go on if the ordinary filter would. Where no door was
 * asked for there is one that leads nowhere, so that names that are tried are seen. What the second run is refused that
 * the first had is added to the proposal, a few times; then it is verified, or said not to be. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/json_read.h"
#include "base/out_file.h"
#include "base/term.h"
#include "cli/backend.h"
#include "cli/manifest_check.h"
#include "cli/profile_options.h"
#include "cli/run_doors.h"
#include "base/signals.h"
#include "cli/cmd/verbs.h"
#include "view/cell_result.h"

#define NOWHERE "nothing.invalid" /* a name that can never be: RFC 6761 */
#define LOG_MAX (16u << 20)
#define TRIES 4
#define EXIT_DOUBTFUL 1 /* not verified, or of a command that failed */

struct learn_options {
	struct run_options run; /* first: its rows are shared with `hotcell run` */
	const char *output;
	bool force;
};

/* ---- one run ---- */

enum { OBSERVED = 1, NOWHERE_DOOR = 2 /* if it has no other */ };

struct attempt {
	struct run_options options;
	struct run_spec built;
	struct run_doors doors;
	struct run_audit audit;
	struct loop *loop;
	struct cell_pool *pool;
	struct cell *cell;
	const struct cell_result *result; /* NULL until it is over */
	int in, log; /* -1: none */
	char *log_path;
	const char *nowhere[2];
	bool done;
	int signal;
};
#define ATTEMPT_NONE { .doors = RUN_DOORS_NONE, .in = -1, .log = -1 }

static void attempt_done(struct attempt *it)
{
	cli_beside(NULL);
	it->cell = cell_free(it->cell);
	run_doors_done(&it->doors);
	run_audit_done(&it->audit);
	it->pool = cell_pool_free(it->pool);
	it->loop = loop_free(it->loop);
	run_spec_done(&it->built);
	fd_close(&it->in);
	fd_close(&it->log);
	free(it->log_path);
}

static void on_closed(void *data, const struct door_totals *totals)
{
	struct attempt *it = data;

	it->doors.totals = *totals;
	it->done = true;
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct attempt *it = data;

	it->cell = cell;
	it->result = result;
	it->done = !it->doors.run;
	if (it->doors.run)
		doors_run_close(it->doors.run, on_closed, it);
	it->doors.run = NULL;
}

static void on_listening(void *data, const int *fds, size_t count)
{
	struct attempt *it = data;

	if (it->doors.run)
		doors_run_listen(it->doors.run, fds, count);
}

static void on_signal(void *data, int number)
{
	struct attempt *it = data;

	it->signal = number;
	if (it->cell && !it->result)
		cell_cancel(it->cell);
}

static bool has_doors(const struct door_options *doors)
{
	return doors->allow.count + doors->services.count + doors->secrets.count > 0;
}

/* The door's record goes to memory of ours. */
static int log_make(struct attempt *it, struct err *err)
{
	it->log = memfd_create("network", MFD_CLOEXEC);
	if (it->log < 0)
		return err_errno(err, errno, "make room for the record of its doors");
	it->log_path = xfmt("/proc/self/fd/%d", it->log);
	it->options.doors.log = it->log_path;
	return 0;
}

static int prepare(struct attempt *it, const struct run_options *options, char *const *command, unsigned how,
	struct err *err)
{
	const char *backend;

	it->options = *options;
	it->nowhere[0] = NOWHERE;
	if ((how & NOWHERE_DOOR) != 0 && !has_doors(&it->options.doors))
		it->options.doors.allow = (struct cli_list){it->nowhere, 1};
	if (has_doors(&it->options.doors) && log_make(it, err) < 0)
		return -1;
	if (backend_choose(&it->options, &backend, err) < 0 || run_spec_build(&it->built, &it->options, command, err) < 0)
		return -1;
	if (!cell_backend_can(backend, CELL_OBSERVES))
		return err_set(err, ERR_USAGE, "--backend %s: its cells cannot be observed; --backend native can", backend);
	it->built.spec.observe = (how & OBSERVED) != 0;
	if (run_doors_build(&it->doors, &it->options, backend, &it->built, true, err) < 0 ||
		run_doors_files(&it->doors, &it->options, &it->built.spec, err) < 0)
		return -1;
	it->in = options->stdin_file ? open(options->stdin_file, O_RDONLY | O_NOCTTY | O_CLOEXEC) : -1;
	if (options->stdin_file && it->in < 0)
		return err_errno(err, errno, "--stdin: open '%s'", options->stdin_file);
	it->doors.audit = &it->audit;
	return run_audit_open(&it->audit, options->audit, backend, &it->built.spec, &it->doors.policy, err);
}

/* 0 when it is over, however it ended. */
static int attempt_run(struct attempt *it, const struct run_options *options, char *const *command, unsigned how,
	struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};
	const struct cell_io io = {.in = -1,
		.out = (how & OBSERVED) != 0 ? STDERR_FILENO : -1,
		.err = (how & OBSERVED) != 0 ? STDERR_FILENO : -1,
		.filter = isatty(STDERR_FILENO),
		.listening = on_listening};
	struct cell_io with = io;

	if (prepare(it, options, command, how, err) < 0)
		return -1;
	with.in = it->in;
	it->loop = loop_open(err);
	if (!it->loop || signals_take(it->loop, ours, on_signal, it, err) < 0)
		return -1;
	it->audit.loop = it->loop;
	it->pool = cell_pool_open("native", it->loop, err);
	if (!it->pool || run_doors_open(&it->doors, it->loop, err) < 0)
		return -1;
	if ((how & OBSERVED) != 0)
		backend_say_warnings(it->pool);
	it->cell = cell_start(it->pool, &it->built.spec, &with, on_done, it, err);
	if (!it->cell || run_audit_start(&it->audit, cell_id(it->cell), err) < 0)
		return -1;
	cli_beside(it->cell);
	while (!it->done)
		if (loop_turn(it->loop, -1) < 0 && errno != EINTR)
			return err_errno(err, errno, "wait for the cell");
	if (run_audit_end(&it->audit, it->result, run_doors_any(&it->doors) ? &it->doors.totals : NULL, err) < 0)
		return -1;
	if (it->result->outcome == CELL_SETUP_FAILED)
		return err_set(err, it->result->err.code, "%s", it->result->err.text);
	return 0;
}

/* ---- what its doors saw ---- */

struct tried {
	char **allow; /* NAME:PORT that were let through; NULL-terminated */
	size_t allow_count;
	struct buf refused; /* lines: names that were not */
	const char **others[2]; /* services and secret doors that were used, as they were given; NULL-terminated */
};

static void tried_done(struct tried *tried)
{
	for (size_t i = 0; i < tried->allow_count; i++)
		free(tried->allow[i]);
	free(tried->allow);
	buf_done(&tried->refused);
	free(tried->others[0]);
	free(tried->others[1]);
}

static void name_add(struct tried *tried, char *text)
{
	for (size_t i = 0; i < tried->allow_count; i++)
		if (strcmp(tried->allow[i], text) == 0) {
			free(text);
			return;
		}
	tried->allow = xrealloc(tried->allow, tried->allow_count + 2, sizeof(*tried->allow));
	tried->allow[tried->allow_count++] = text;
	tried->allow[tried->allow_count] = NULL;
}

static void other_add(const char **list, const char *text)
{
	for (; *list; list++)
		if (*list == text)
			return;
	*list = text;
}

static const char *text_of(const struct value *line, const char *key)
{
	const struct value *value = value_get(line, key);

	return value && value->text ? value->text : "";
}

static void take_proxy(struct tried *tried, const struct attempt *it, const struct value *line)
{
	const char *name = text_of(line, "name"), *port = text_of(line, "port");
	own(freep) char *place = xfmt("%s:%s", name, port);

	if (strcmp(text_of(line, "verdict"), "refused") == 0) {
		own(buf_done) struct buf safe = {0};
		term_line(place, strlen(place), 300, &safe);
		buf_char(&safe, '\n');
		if (!strstr(buf_text(&tried->refused), buf_text(&safe)))
			buf_str(&tried->refused, buf_text(&safe));
		return;
	}
	struct door_verdict verdict = rules_judge(&it->doors.policy.rules, name, strlen(name), (unsigned)strtoul(port, NULL, 10));
	if (verdict.rule)
		name_add(tried, xfmt("%s%s", place, verdict.rule->private_ok ? ",private" : ""));
}

static void take_line(struct tried *tried, const struct attempt *it, const struct value *line)
{
	const struct door_policy *policy = &it->doors.policy;
	const char *door = text_of(line, "door");

	if (strcmp(door, "proxy") == 0)
		take_proxy(tried, it, line);
	for (size_t i = 0; i < policy->service_count; i++)
		if (strcmp(policy->services[i].name, door) == 0)
			other_add(tried->others[0], it->options.doors.services.items[i]);
	for (size_t i = 0; i < policy->secret_count; i++)
		if (strcmp(policy->secrets[i].name, door) == 0)
			other_add(tried->others[1], it->options.doors.secrets.items[i]);
}

/* The record holds names that the cell chose. */
static void tried_read(struct tried *tried, const struct attempt *it)
{
	const struct json_limits limits = {.bytes = 65536, .values = 100, .depth = 4};
	own(buf_done) struct buf text = {0};
	struct stat st;

	tried->others[0] = xcalloc(it->options.doors.services.count + 1, sizeof(*tried->others[0]));
	tried->others[1] = xcalloc(it->options.doors.secrets.count + 1, sizeof(*tried->others[1]));
	if (it->log < 0 || fstat(it->log, &st) < 0 || st.st_size > (off_t)LOG_MAX)
		return;
	for (char part[65536];;) {
		ssize_t got = pread(it->log, part, sizeof(part), (off_t)text.len);
		if (got <= 0)
			break;
		buf_add(&text, part, (size_t)got);
	}
	for (const char *at = buf_text(&text); *at; at += strcspn(at, "\n") + 1) {
		own(value_done) struct value line = {0};
		struct err err;
		if (json_read(at, strcspn(at, "\n"), &limits, NULL, &line, &err) == 0)
			take_line(tried, it, &line);
		if (!at[strcspn(at, "\n")])
			break;
	}
}

/* ---- the proposal ---- */

struct proposal {
	struct profile profile;
	struct buf notes, yaml;
	bool verified, widened;
	struct buf why_not;
};

static void proposal_done(struct proposal *it)
{
	profile_done(&it->profile);
	buf_done(&it->notes);
	buf_done(&it->yaml);
	buf_done(&it->why_not);
}

static bool same_end(const struct cell_result *a, const struct cell_result *b)
{
	return a->outcome == b->outcome && a->exit_code == b->exit_code && a->signal == b->signal;
}

/* What could have been the cause is given back. False: nothing is left to be. */
static bool relent(struct proposal *it, const struct cell_result *result, const struct cell_spec *had)
{
	bool limited = result->outcome != CELL_EXITED && result->outcome != CELL_SIGNALED;

	if (profile_relent(&it->profile, result) > 0 && !limited)
		return true;
	if (it->widened)
		return false;
	it->widened = true;
	profile_widen(&it->profile, had);
	return true;
}

static void say_why_not(struct proposal *it, const struct cell_result *first, const struct cell_result *second,
	const struct cell_limits *limits)
{
	it->why_not.len = 0;
	if (same_end(first, second)) {
		buf_str(&it->why_not, "the command ended as before, but was refused something that it was not refused before");
		return;
	}
	buf_str(&it->why_not, "under the proposal the command did not end as before: ");
	if (second->outcome == CELL_EXITED)
		buf_fmt(&it->why_not, "it exited with %d, not with %d", second->exit_code, first->exit_code);
	else
		(void)verdict_line(second, limits, 0, &it->why_not);
}

/* Again under the text of the proposal, until it ends as it did. 0: done; -1: error; a signal's number: interrupted. */
static int verify(struct proposal *it, const struct attempt *first, unsigned how, const struct cli_args *args,
	struct err *err)
{
	bool untried = false;

	for (int tries = 0; tries < TRIES; tries++) {
		own(profiled_done) struct profiled profiled = {0};
		own(attempt_done) struct attempt attempt = ATTEMPT_NONE;
		it->yaml.len = 0;
		profile_yaml(&it->profile, &it->yaml);
		if (profiled_text(&profiled, &verb_profile_learn, &it->yaml, args, err) < 0 ||
			attempt_run(&attempt, profiled.options, args->command, how, err) < 0)
			return err_wrap(err, "run it again under the proposal");
		if (attempt.signal)
			return attempt.signal;
		bool same = same_end(first->result, attempt.result);
		/* what it can do without once, it may need another time */
		it->verified = same && profile_relent(&it->profile, attempt.result) == 0;
		if (!it->verified)
			say_why_not(it, first->result, attempt.result, &attempt.built.spec.limits);
		untried = !it->verified && (same || relent(it, attempt.result, &first->built.spec));
		if (!untried)
			break;
	}
	if (untried)
		buf_str(&it->why_not, "; what was refused last is given back in the proposal, and was not tried");
	it->yaml.len = 0;
	profile_yaml(&it->profile, &it->yaml);
	return 0;
}

static void put_comment(struct buf *out, const char *head, const struct buf *lines)
{
	for (const char *at = buf_text(lines); *at; at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != '\0'))
		buf_fmt(out, "# %s%.*s\n", head, (int)strcspn(at, "\n"), at);
}

static void write_text(const struct proposal *it, const struct tried *tried, const struct attempt *first, struct buf *out)
{
	const struct cell_result *result = first->result;
	own(buf_done) struct buf refused = {0};

	buf_str(out, "# A profile that 'hotcell profile learn' proposes.\n");
	if (it->verified)
		buf_fmt(out, "# verified: the command ran again under it and ended as before, with exit code %d\n",
			result->exit_code);
	else
		buf_fmt(out, "# NOT VERIFIED: %s\n", buf_text(&it->why_not));
	if (result->exit_code != 0)
		buf_fmt(out, "# THE COMMAND FAILED with exit code %d: what it would have done else was not seen\n", result->exit_code);
	put_comment(out, "not observed: ", &it->notes);
	put_comment(out, "tried to reach, and was refused both times: ", &tried->refused);
	for (size_t i = 0; i < CELL_REFUSED_KEPT && result->refused[i].what; i++)
		buf_fmt(&refused, "%s\n", result->refused[i].what);
	put_comment(out, "tried to call, and was refused as in every cell: ", &refused);
	buf_add(out, it->yaml.data, it->yaml.len);
}

/* ---- the verb ---- */

static int check_first(const struct attempt *first, struct err *err)
{
	const struct cell_result *result = first->result;
	own(buf_done) struct buf line = {0};

	if (result->outcome != CELL_EXITED) {
		(void)verdict_line(result, &first->built.spec.limits, first->signal, &line);
		return err_set(err, EINVAL,
			"there is nothing to learn from a command that does not work (%s): give it what it needs", buf_text(&line));
	}
	if (!result->observed.valid)
		return err_set(err, ERR_MISSING,
			"system calls cannot be observed here: this process is in a sandbox that has a seccomp listener already");
	return 0;
}

static void say_end(const struct proposal *it, int exit_code)
{
	if (exit_code != 0)
		cli_say("the command failed with exit code %d when it was observed: the proposal is of what it did until then; "
			"give it what it needs and learn again, unless this is how it shall end", exit_code);
	if (it->verified)
		cli_say("verified: the command ran again under the proposal and ended as before");
	else
		cli_say("NOT VERIFIED: %s", buf_text(&it->why_not));
}

static int learn(const struct learn_options *options, const struct cli_args *args)
{
	own(attempt_done) struct attempt first = ATTEMPT_NONE;
	own(proposal_done) struct proposal proposal = {0};
	own(tried_done) struct tried tried = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (manifest_check(&options->run.manifests, &err) < 0) {
		if (options->run.audit)
			manifest_refused(options->run.audit, &err);
		return cli_fail(&err);
	}
	if (attempt_run(&first, &options->run, args->command, OBSERVED | NOWHERE_DOOR, &err) < 0)
		return cli_fail(&err);
	if (first.signal)
		return 128 + first.signal;
	if (check_first(&first, &err) < 0)
		return cli_fail(&err);
	tried_read(&tried, &first);
	const struct profile_seen seen = {.spec = &first.built.spec,
		.result = first.result,
		.allow = (const char *const *)tried.allow,
		.others = {tried.others[0], tried.others[1]}};
	profile_propose(&proposal.profile, &seen, &proposal.notes);
	/* refused in the same way, if it was */
	int rc = verify(&proposal, &first, tried.refused.len > 0 ? NOWHERE_DOOR : 0, args, &err);
	if (rc != 0)
		return rc < 0 ? cli_fail(&err) : 128 + rc;
	write_text(&proposal, &tried, &first, &out);
	if (!options->run.quiet)
		say_end(&proposal, first.result->exit_code);
	int code = 0;
	if (!options->output || out_file_is_stdout(options->output))
		code = cli_print(&out);
	else if (out_file_write(options->output, &out, options->force, &err) < 0)
		code = cli_fail(&err);
	return code ? code : proposal.verified && first.result->exit_code == 0 ? 0 : EXIT_DOUBTFUL;
}

static int learn_run(void *data, const struct cli_args *args)
{
	own(profiled_done) struct profiled profiled = {0};
	struct err err = {0};

	if (profiled_build(&profiled, &verb_profile_learn, data, args, &err) < 0)
		return cli_fail(&err);
	return learn(profiled.options ? profiled.options : data, args);
}

/* ---- the table ---- */

#define INTO(member) CLI_INTO(struct run_options, member)

/* clang-format off */
static const struct cli_option learn_table[] = {
	{.name = "output", .letter = 'o', .value = "FILE", .kind = CLI_TEXT, CLI_INTO(struct learn_options, output),
	 .hint = CLI_HINT_FILE, .fallback = "stdout",
	 .help = "where the proposal goes"},
	{.name = "force", .letter = 'f', .kind = CLI_FLAG, CLI_INTO(struct learn_options, force),
	 .help = "overwrite a FILE that is there"},
	{.name = "timeout", .letter = 't', .value = "DURATION", .kind = CLI_DURATION,
	 INTO(limits.timeout_ms), .fallback = "60s",
	 .help = "time after which everything in it is ended"},
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet),
	 .help = "no verdict on stderr"},
	{.name = "audit", .value = "FILE", .kind = CLI_TEXT, INTO(audit), .hint = CLI_HINT_FILE,
	 .help = "append what was decided, beginning, verdicts of doors and end of each run to an audit log"},
#include "cli/run_options.inc"
	{0},
};
/* clang-format on */

const struct cli_verb verb_profile_learn = {
	.name = "profile learn",
	.summary = "run a command under observation and propose the smallest profile for it",
	.usage = "[options] -- COMMAND [ARGUMENT...]",
	.details =
		"The command runs twice at least: observed, and then under the proposal. Its own output goes to stderr, the first time.\n"
		"Exit code: 0 the proposal was verified; 1 it was not, or the command failed; 125 hotcell failed, or the command did\n"
		"not end by itself.\n",
	.options = learn_table,
	.options_size = sizeof(struct learn_options),
	.defaults = run_options_defaults,
	.takes_command = true,
	.run = learn_run,
};
