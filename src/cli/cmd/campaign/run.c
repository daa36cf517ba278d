/* hotcell campaign run, hotcell campaign resume: the supervisor of a campaign.
 *
 * Order: everything that can be judged is judged before anything is made; then the campaign is put into the
 * ledger, and from there on it is resumable, whatever happens. The first Ctrl-C drains, the second cancels
 * what runs, the third leaves at once; each time what is not done stays to be done. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "project/state.h"
#include "cli/backend.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/campaign/detach.h"
#include "cli/campaign_options.h"
#include "cli/cmd/campaign/draft.h"
#include "cli/cmd/campaign/screen.h"
#include "run/hidden.h"
#include "cli/manifest_check.h"
#include "base/signals.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"
#include "run/environment.h"

#define EXIT_FAILURES 1 /* not every run succeeded */
#define EXIT_NOTHING 3 /* not one run really ran */
#define EXIT_ALERT 4 /* the cells themselves were in trouble */
#define EXIT_BUDGET 5 /* its budget is used up */
#define EXIT_INTERRUPTED 130

struct supervisor {
	const struct campaign_options *options;
	const char *shown; /* the sessions' folder, for people */
	const char *on_alert; /* as typed, or as the file or the ledger has it */
	char *command; /* of its cells, as others may see it */
	struct loop *loop;
	struct live *live;
	struct screen *screen;
	struct campaign *campaign;
	int stdin_fd, replay;
	unsigned interrupts;
	bool leave;
};

static void supervisor_done(struct supervisor *it)
{
	it->campaign = campaign_free(it->campaign);
	it->screen = screen_free(it->screen);
	it->live = live_free(it->live);
	it->loop = loop_free(it->loop);
	free(it->command);
	fd_close(&it->stdin_fd);
	fd_close(&it->replay);
}

/* ---- what happens ---- */

static void on_started(void *data, const char *session, const struct run_record *run, struct cell *cell)
{
	struct supervisor *it = data;
	const char *const shown[] = {it->command, NULL};

	(void)run;
	if (it->live)
		live_add(it->live, cell, shown);
	screen_started(it->screen, session);
}

static void on_ended(void *data, const char *session, const struct run_record *run, struct cell *cell)
{
	struct supervisor *it = data;

	if (it->live && cell)
		live_remove(it->live, cell);
	screen_ended(it->screen, session, run);
}

static void on_said(void *data, const char *text)
{
	struct supervisor *it = data;

	screen_said(it->screen, text);
}

/* The user's own program, on this machine, not in a cell: it is told what happened by its environment. */
static void call_hook(const struct supervisor *it, const struct alert_rule *rule, double value)
{
	pid_t pid = fork();

	if (pid > 0)
		(void)waitpid(pid, NULL, 0); /* it has left the work to a child of its own, which is nobody's to reap */
	if (pid != 0)
		return;
	if (fork() != 0)
		_exit(0);
	char number[40];
	(void)snprintf(number, sizeof(number), "%g", value);
	sigset_t none;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)setenv("HOTCELL_CAMPAIGN", campaign_record(it->campaign)->name, 1);
	(void)setenv("HOTCELL_ALERT", rule->name, 1);
	(void)setenv("HOTCELL_ALERT_METRIC", alert_metric_names[rule->metric], 1);
	(void)setenv("HOTCELL_ALERT_VALUE", number, 1);
	(void)setenv("HOTCELL_ALERT_SEVERITY", rule->critical ? "critical" : "warning", 1);
	(void)close_range(3, ~0U, 0);
	int null = open("/dev/null", O_RDWR);
	(void)dup2(null, STDIN_FILENO);
	/* our own stdout is the view's, and on a terminal stderr too */
	(void)dup2(isatty(STDERR_FILENO) ? null : STDERR_FILENO, STDOUT_FILENO);
	(void)dup2(STDOUT_FILENO, STDERR_FILENO);
	(void)execl("/bin/sh", "sh", "-c", it->on_alert, (char *)NULL);
	_exit(127);
}

static void on_alert(void *data, const struct alert_rule *rule, double value)
{
	struct supervisor *it = data;
	own(buf_done) struct buf text = {0};

	buf_fmt(&text, "%s: %s: %s is %g", rule->firing ? (rule->critical ? "ALERT (critical)" : "alert") : "alert over",
		rule->name, alert_metric_names[rule->metric], value);
	screen_said(it->screen, buf_text(&text));
	if (rule->firing && it->on_alert)
		call_hook(it, rule, value);
}

static void on_doors_asked(void *data, struct json *json)
{
	const struct supervisor *it = data;

	campaign_doors(it->campaign, json);
}

static int on_exec_begins(void *data, const char *cell, int asker, const char *const *argv, struct err *err)
{
	const struct supervisor *it = data;

	return campaign_exec_begins(it->campaign, cell, asker, argv, err);
}

static void on_exec_ended(void *data, const char *cell, int wait_status, const struct err *err)
{
	const struct supervisor *it = data;

	if (it->campaign)
		campaign_exec_ended(it->campaign, cell, wait_status, err);
}

static void say_draining(struct supervisor *it)
{
	const struct campaign_status *status = campaign_status(it->campaign);
	const struct ledger_live *live = &status->live;
	own(buf_done) struct buf text = {0};
	char name[24];
	unsigned named = 0;

	buf_fmt(&text, "draining: waiting for %llu run%s; Ctrl-C again cancels them", (unsigned long long)status->running,
		status->running == 1 ? "" : "s");
	for (size_t i = 0; i < live->worker_count && named < 6; i++) {
		if (live->workers[i].number == 0)
			continue;
		buf_fmt(&text, "%s[%s] %.0fs", named++ == 0 ? ": " : ", ",
			plan_session_name(status->campaign.plan.runs, live->workers[i].number, name, sizeof(name)),
			(double)(status->now_ms - live->workers[i].since_ms) / 1000);
	}
	screen_said(it->screen, buf_text(&text));
}

static void on_signal(void *data, int number)
{
	struct supervisor *it = data;

	if (number == SIGWINCH) {
		screen_resized(it->screen);
		return;
	}
	if (number == SIGTSTP) {
		screen_suspend(it->screen);
		return;
	}
	it->interrupts += number == SIGINT ? 1 : 2; /* who sends others does not wait for runs */
	if (it->interrupts == 1) {
		campaign_drain(it->campaign);
		say_draining(it);
	} else if (it->interrupts <= 3 && !it->leave) {
		screen_said(it->screen, "cancelling what runs; it stays to be done");
		campaign_cancel(it->campaign);
		it->leave = it->interrupts == 3 && number == SIGINT;
	} else {
		it->leave = true;
	}
}

static int take_signals(struct supervisor *it, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, 0};

	return signals_take(it->loop, ours, on_signal, it, err);
}

/* ---- the supervisor ---- */

static int exit_code(const struct supervisor *it)
{
	const struct campaign_record *record = campaign_record(it->campaign);
	const struct campaign_sums *sums = &record->sums;

	if (it->interrupts == 0 && campaign_stopped_by_budget(it->campaign))
		return EXIT_BUDGET;
	if (it->interrupts > 0 || record->state == CAMPAIGN_STOPPED)
		return EXIT_INTERRUPTED;
	if (sums->cells > 0 && sums->outcome[CELL_SETUP_FAILED] == sums->cells)
		return EXIT_NOTHING;
	if (campaign_alerts(it->campaign) > 0)
		return EXIT_ALERT;
	return sums->state[RUN_ERROR] + sums->state[RUN_TIMEOUT] > 0 || record->state == CAMPAIGN_FAILED ? EXIT_FAILURES : 0;
}

static void print_begin(const struct supervisor *it)
{
	const struct campaign_record *record = campaign_record(it->campaign);
	uint64_t complete = campaign_sums_complete(&record->sums);
	own(buf_done) struct buf out = {0};

	if (complete > 0)
		buf_fmt(&out, "Resuming campaign '%s': %llu of %llu sessions are complete\n", record->name,
			(unsigned long long)complete, (unsigned long long)record->plan.runs);
	buf_fmt(&out, "Running %llu fuzz sessions with %u workers...\n",
		(unsigned long long)(record->plan.runs - complete), record->plan.workers);
	(void)!cli_print(&out);
}

static int supervise(struct supervisor *it, const struct campaign_setup *setup, int ready)
{
	const struct campaign_events events = {
		.started = on_started, .ended = on_ended, .alert = on_alert, .said = on_said, .data = it};
	struct err err = {0}, not_live;

	it->loop = loop_open(&err);
	if (!it->loop || take_signals(it, &err) < 0)
		return detach_failed(ready, &err);
	it->screen = screen_open(it->loop, !it->options->plain, it->options->run.quiet);
	it->campaign = campaign_open(it->loop, setup, &events, &err);
	if (!it->campaign)
		return detach_failed(ready, &err);
	it->live = live_open(it->loop, &not_live); /* without it ps and exec do not see these cells */
	if (it->live)
		live_set_execs(it->live, &(struct live_execs){.begins = on_exec_begins, .ended = on_exec_ended, .data = it});
	if (it->live && campaign_has_doors(it->campaign))
		live_set_doors(it->live, on_doors_asked, it);
	detach_ready(ready);
	if (!it->options->run.quiet)
		print_begin(it);
	screen_watch(it->screen, it->campaign);
	while (!campaign_over(it->campaign) && !it->leave)
		if (loop_turn(it->loop, -1) < 0 && errno != EINTR)
			break;
	screen_end(it->screen, it->shown);
	return exit_code(it);
}

/* Credentials are read last, in the process that needs them: memory that holds them is not handed on by a fork. */
static int take_credentials(const struct run_spec *built, struct door_policy *policy, const struct campaign_record *record,
	struct err *err)
{
	if (policy_load(policy, err) < 0)
		return record->next > 1 ? err_wrap(err, "campaign '%s' (credentials are not kept: give them again)", record->name) : -1;
	return run_spec_check_secrets(built, policy, err);
}

/* Who looks at it, or left it alone, can raise its budget while it waits; a script would wait for ever. */
static bool stops_on_budget(const struct campaign_options *options, bool detached)
{
	if (options->on_budget)
		return strcmp(options->on_budget, "stop") == 0;
	return !detached && !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO);
}

/* From the options in effect to the work. */
static int work(const char *state, const struct campaign_record *record, const struct campaign_words *words,
	const struct campaign_options *typed, unsigned workers)
{
	own(policy_done) struct door_policy policy = {0};
	own(supervisor_done) struct supervisor it = {
		.options = typed, .on_alert = words->options.on_alert, .stdin_fd = -1, .replay = -1};
	own(run_spec_done) struct run_spec built = {0};
	struct campaign_setup setup = {.state = state, .name = record->name, .workers = workers, .stdin_fd = -1};
	struct err err = {0};
	int ready = -1, code;

	if (draft_spec(&built, words, &setup.backend, &err) < 0 || draft_hide(&built, state, &err) < 0 ||
		draft_doors(&policy, &built, words, setup.backend, &err) < 0 || draft_replay(words, &it.replay, &err) < 0 ||
		draft_alerts(&setup.alerts, &words->options, &err) < 0 ||
		draft_stdin(state, record->name, &it.stdin_fd, &err) < 0)
		return cli_fail(&err);
	setup.spec = &built.spec;
	setup.stdin_fd = it.stdin_fd;
	setup.policy = policy_is_empty(&policy) ? NULL : &policy;
	setup.replay = it.replay;
	setup.stop_on_budget = stops_on_budget(&words->options, typed->detach);
	own(freep) char *shown = draft_shown(record->output);
	it.shown = shown;
	if (!cell_backend_can(setup.backend, CELL_ISOLATES)) /* whoever resumes it may not have begun it */
		backend_warn_none();
	if (typed->detach && detach(state, record->name, &ready, &code))
		return code;
	int taken = take_credentials(&built, &policy, record, &err);
	hidden_set(&(struct secrets){.env = built.spec.env, .names = words->options.run.secret_env.items, .policy = &policy});
	setup.redactor = hidden_redactor();
	it.command = hidden_command(built.spec.argv);
	environment_forget();
	return taken < 0 ? detach_failed(ready, &err) : supervise(&it, &setup, ready);
}

/* ---- run ---- */

static int dry_run(const struct campaign_record *record, const struct campaign_words *words)
{
	own(run_spec_done) struct run_spec built = {0};
	own(policy_done) struct door_policy policy = {0};
	own(freep) char *shown = draft_shown(record->output);
	const char *backend;
	struct err err = {0};

	if (draft_spec(&built, words, &backend, &err) < 0 || draft_doors(&policy, &built, words, backend, &err) < 0)
		return cli_fail(&err);
	if (!cell_backend_can(backend, CELL_ISOLATES))
		backend_warn_none();
	return draft_print(record, &built.spec, &policy, backend, words->options.run.stdin_file, shown, words->options.run.json);
}

/* Undone if the campaign cannot even begin: then there is nothing to resume. */
static void withdraw(const char *state, const struct campaign_record *record)
{
	own(freep) char *path = state_ledger(state);
	struct campaign_record now = {0};
	struct err err;
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_WRITE, &err);

	if (ledger && ledger_campaign_get(ledger, record->name, &now, &err) == 0 && now.next <= 1 &&
		state_holder(state, record->name) == 0) {
		(void)!ledger_campaign_remove(ledger, now.id, &err);
		draft_forget(state, record);
	}
	campaign_record_done(&now);
}

static int run_new(const struct campaign_words *words, const struct campaign_options *typed)
{
	struct campaign_record record = {0};
	struct err err = {0};
	int code;

	if (draft_build(&record, words, &err) < 0) {
		code = cli_fail(&err);
	} else if (typed->dry_run) {
		draft_foresee(&record, words);
		code = dry_run(&record, words);
	} else {
		own(freep) char *state = state_folder(words->options.state, true, &err);
		code = !state || draft_register(state, &record, words, &err) < 0 ? cli_fail(&err)
									       : work(state, &record, words, typed, 0);
		if (state && record.id > 0 && (code == EXIT_OURS || code == EXIT_USAGE))
			withdraw(state, &record);
	}
	campaign_record_done(&record);
	return code;
}

static int resume(const char *name, const char *file, const struct campaign_options *typed, const struct cli_args *args);

static int run_verb(void *data, const struct cli_args *args)
{
	const struct campaign_options *typed = data;
	own(campaign_words_done) struct campaign_words words = {0};
	const char *file = args->word_count > 0 ? args->words[0] : NULL;
	struct err err = {0};

	if (typed->resume && (args->command || typed->dry_run)) {
		(void)err_set(&err, ERR_USAGE, "--resume goes on with what the ledger has: it takes no %s",
			args->command ? "command" : "--dry-run");
		return cli_fail(&err);
	}
	if (typed->run.json && !typed->dry_run) {
		(void)err_set(&err, ERR_USAGE, "--json is for --dry-run: 'hotcell status NAME --json' tells how far a campaign is");
		return cli_fail(&err);
	}
	if (typed->resume)
		return resume(typed->name, file, typed, args);
	if (campaign_words_build(&words, file, args, &err) < 0)
		return cli_fail(&err);
	return run_new(&words, typed);
}

/* ---- resume ---- */

/* The newest that is not done. */
static int take_open(void *data, const struct campaign_record *campaign)
{
	char **name = data;

	if (campaign->state == CAMPAIGN_DONE)
		return 0;
	*name = xstrdup(campaign->name);
	return 1;
}

static int find_open(struct ledger *ledger, char **ret, struct err *err)
{
	*ret = NULL;
	if (ledger_campaigns(ledger, take_open, ret, err) < 0)
		return -1;
	if (*ret == NULL)
		return err_set(err, ERR_USAGE, "no campaign here is left to be resumed; 'hotcell campaign list' lists them");
	return 0;
}

/* Reads the campaign. 1: it is to be resumed by us; 0: it is only paused, and is to be told; -1: error. */
static int resume_prepare(const char *state, const char *name, struct campaign_record *ret, struct err *err)
{
	own(freep) char *path = state_ledger(state), *found = NULL;
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_WRITE, err);

	if (!ledger || (!name && find_open(ledger, &found, err) < 0))
		return -1;
	if (ledger_campaign_get(ledger, name ? name : found, ret, err) < 0)
		return -1;
	if (state_holder(state, ret->name) != 0 && ret->state == CAMPAIGN_PAUSED)
		return 0;
	if (state_holder(state, ret->name) != 0)
		return err_set(err, ERR_USAGE,
			"campaign '%s' is at work already, in process %d: 'hotcell status %s --watch' shows it", ret->name,
			ret->holder, ret->name);
	if (ret->state == CAMPAIGN_DONE)
		return err_set(err, ERR_USAGE, "campaign '%s' is done: all %llu runs are complete; 'hotcell report %s' shows them",
			ret->name, (unsigned long long)ret->plan.runs, ret->name);
	if (ret->cwd[0] != '/' ||
		ret->output[0] != '/') /* another place each time, and never what was shown */
		return err_set(err, EINVAL,
			"the ledger has no whole paths for campaign '%s': it is damaged",
			ret->name);
	if (chdir(ret->cwd) < 0)
		return err_errno(err, errno, "enter '%s', where campaign '%s' was started", ret->cwd, ret->name);
	return 1;
}

/* What is given anew replaces what was given before by its name; the other limits stay. One whose budget is used up would
 * only be told so again by its doors. */
static int merge_budget(struct campaign_record *record, const char *given, struct err *err)
{
	struct door_budget budget = {0}, newer = {0};
	own(buf_done) struct buf text = {0}, sentence = {0};

	if (record->budget[0] && budget_parse(&budget, record->budget, "the budget", err) < 0)
		return -1;
	if (given && budget_parse(&newer, given, "--budget", err) < 0)
		return -1;
	budget_merge(&budget, &newer);
	enum budget_kind kind = budget_reached(&budget, &record->sums.network);
	budget_sentence(&budget, &record->sums.network, kind, &sentence);
	if (kind != BUDGET_KINDS)
		return err_set(err, ERR_USAGE, "campaign '%s' cannot go on: %s; give it a larger --budget", record->name,
			buf_text(&sentence));
	budget_text(&budget, &text);
	free(record->budget);
	record->budget = xstrdup(buf_text(&text));
	return 0;
}

static int keep_budget(const char *state, const struct campaign_record *record, struct err *err)
{
	own(freep) char *path = state_ledger(state);
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_WRITE, err);

	return ledger ? ledger_campaign_budget(ledger, record->id, record->budget, err) : -1;
}

static int resume(const char *name, const char *file, const struct campaign_options *typed, const struct cli_args *args)
{
	own(campaign_words_done) struct campaign_words words = {0};
	struct campaign_record record = {0};
	struct err err = {0};
	own(freep) char *absolute = file ? realpath(file, NULL) : NULL; /* before the folder is changed */
	own(freep) char *state = state_folder(typed->state, false, &err);
	int todo = state ? resume_prepare(state, name, &record, &err) : -1, code = 0;

	const char *raised = typed->run.doors.budget;
	if (todo >= 0 && merge_budget(&record, raised, &err) < 0)
		todo = -1;
	if (todo > 0 && campaign_words_load(&words, &record, absolute ? absolute : file, args, &err) < 0)
		todo = -1;
	if (todo > 0 && draft_manifests(&words.options, state, &err) < 0)
		todo = -1;
	if (todo >= 0 && raised && keep_budget(state, &record, &err) < 0)
		todo = -1;
	if (todo < 0)
		code = cli_fail(&err);
	else if (todo == 0)
		code = campaign_wish(state, record.name, WISH_GO, true);
	else
		code = work(state, &record, &words, typed, (unsigned)words.options.workers);
	campaign_record_done(&record);
	return code;
}

static int resume_verb(void *data, const struct cli_args *args)
{
	return resume(args->word_count > 0 ? args->words[0] : NULL, args->word_count > 1 ? args->words[1] : NULL, data, args);
}

/* ---- the tables ---- */

/* Judged where they are read, so that an error in a file names its line. */
static int name_set(void *options, const char *value, struct err *err)
{
	struct campaign_options *campaign = options;

	campaign->name = value;
	return plan_name_check(value, err);
}

static int alert_set(void *options, const char *value, struct err *err)
{
	struct alerts alerts = {0};

	(void)options;
	return alerts_add(&alerts, value, err);
}

#define INTO(member) CLI_INTO(struct run_options, member)
#define ALSO_INTO(member) CLI_INTO(struct campaign_options, member)

/* clang-format off */
#define WORK_OPTIONS \
	{.name = "state", .value = "DIR", .kind = CLI_TEXT, ALSO_INTO(state), .hint = CLI_HINT_FOLDER, .not_in_file = true, \
	 .fallback = "$HOTCELL_STATE, or the nearest .hotcell", .help = "folder of the ledger"}, \
	{.name = "detach", .letter = 'd', .kind = CLI_FLAG, ALSO_INTO(detach), .not_in_file = true, \
	 .help = "go on in the background"}, \
	{.name = "on-alert", .value = "COMMAND", .kind = CLI_TEXT, ALSO_INTO(on_alert), \
	 .help = "shell command run on this machine when an alert begins"}, \
	{.name = "on-budget", .value = "WHAT", .kind = CLI_TEXT, ALSO_INTO(on_budget), .hint = CLI_HINT_CHOICE, \
	 .choices = "pause stop", .fallback = "pause on a terminal or with --detach, else stop", \
	 .help = "when --budget is used up: wait until it is raised, or end"}, \
	{.name = "plain", .kind = CLI_FLAG, ALSO_INTO(plain), .not_in_file = true, \
	 .help = "plain lines, no live view"}, \
	{.name = "quiet", .letter = 'q', .kind = CLI_FLAG, INTO(quiet), .not_in_file = true, \
	 .help = "only the summary at the end"}

static const struct cli_option run_table[] = {
	{.name = "runs", .letter = 'n', .value = "N", .kind = CLI_COUNT, ALSO_INTO(runs), .min = 1, .max = PLAN_MAX_RUNS,
	 .fallback = "100", .help = "runs in all"},
	{.name = "workers", .letter = 'j', .value = "N", .kind = CLI_COUNT, ALSO_INTO(workers), .min = 1,
	 .max = PLAN_MAX_WORKERS, .fallback = "3", .help = "runs at once"},
	{.name = "name", .value = "NAME", .kind = CLI_OTHER, .set = name_set, .fallback = "c1, c2, ...",
	 .help = "what the campaign is called"},
	{.name = "seed", .value = "N", .kind = CLI_COUNT, ALSO_INTO(seed), .min = 0, .max = (UINT64_C(1) << 53) - 1,
	 .fallback = "random", .help = "from which each run's HOTCELL_SEED is derived"},
	{.name = "retries", .value = "N", .kind = CLI_COUNT, ALSO_INTO(retries), .min = 0, .max = 1000, .fallback = "0",
	 .help = "further tries of a run that did not succeed"},
	{.name = "rate", .value = "N", .kind = CLI_COUNT, ALSO_INTO(rate), .min = 1, .max = 60000000,
	 .fallback = "no limit", .help = "starts per minute at most"},
	{.name = "stop-after-failures", .value = "N", .kind = CLI_COUNT, ALSO_INTO(stop_after_failures), .min = 1,
	 .max = PLAN_MAX_RUNS, .help = "start no more after so many failed runs"},
	{.name = "run-budget", .value = "LIST", .kind = CLI_OTHER, .set = door_run_budget_set,
	 .help = "what may pass the doors of each run, as --budget says it for all of them"},
	{.name = "timeout", .letter = 't', .value = "DURATION", .kind = CLI_DURATION, INTO(limits.timeout_ms),
	 .fallback = "15m", .help = "time after which a run is ended"},
	{.name = "output", .value = "DIR", .kind = CLI_TEXT, INTO(output), .hint = CLI_HINT_FOLDER, .fallback = "fuzz/runs",
	 .help = "folder of the sessions, one folder each"},
	{.name = "alert", .value = "RULE", .kind = CLI_LIST, ALSO_INTO(alerts), .set = alert_set,
	 .help = "'NAME: METRIC > NUMBER[%] [warning|critical]', besides the usual three; repeatable"},
	WORK_OPTIONS,
	{.name = "resume", .kind = CLI_FLAG, ALSO_INTO(resume), .not_in_file = true,
	 .help = "go on with the campaign of that --name, or the newest that is not done"},
	{.name = "trust", .kind = CLI_FLAG, ALSO_INTO(trust), .not_in_file = true,
	 .help = "take from FILE also what reaches outside the sandbox: commands, mounts, variables, services"},
	{.name = "dry-run", .kind = CLI_FLAG, ALSO_INTO(dry_run), .not_in_file = true,
	 .help = "print each run's plan; start nothing"},
	{.name = "json", .kind = CLI_FLAG, INTO(json), .not_in_file = true,
	 .help = "with --dry-run: one JSON object a run"},
#include "cli/run_options.inc"
	{0},
};

static const struct cli_option resume_table[] = {
	{.name = "workers", .letter = 'j', .value = "N", .kind = CLI_COUNT, ALSO_INTO(workers), .min = 1,
	 .max = PLAN_MAX_WORKERS, .fallback = "as before", .help = "runs at once"},
	{.name = "env", .value = "NAME=VALUE", .kind = CLI_LIST, INTO(env), .secret = true,
	 .help = "give a value again that the ledger does not keep; repeatable"},
	{.name = "budget", .value = "LIST", .kind = CLI_OTHER, .set = door_budget_set, .fallback = "as before",
	 .help = "what may pass its doors in all, from its beginning on"},
	WORK_OPTIONS,
	{0},
};
/* clang-format on */

const struct cli_verb verb_campaign_run = {
	.name = "campaign run",
	.summary = "run a program many times, each in a cell of its own",
	.usage = "[FILE.yaml] [options] [-- COMMAND [ARGUMENT...]]",
	.details =
		"Each run gets HOTCELL_RUN, HOTCELL_SEED and HOTCELL_CAMPAIGN, and leaves a folder fuzz/runs/NNN with\n"
		"stdout.log, stderr.log, result.json, what it wrote to /workspace, and SUCCESS, ERROR or TIMEOUT.\n"
		"Exit code: 0 all succeeded; 1 some did not; 3 none really ran; 4 an alert; 5 budget used up; 130 interrupted.\n",
	.options = run_table,
	.options_size = sizeof(struct campaign_options),
	.defaults = campaign_options_defaults,
	.words_max = 1,
	.word = "FILE",
	.word_hint = CLI_HINT_FILE,
	.takes_command = true,
	.command_optional = true,
	.run = run_verb,
};

const struct cli_verb verb_campaign_resume = {
	.name = "campaign resume",
	.summary = "go on with a campaign that was paused, stopped, or killed",
	.usage = "[NAME] [FILE.yaml] [options]",
	.details = "Without NAME, the newest that is not done. FILE gives the values of its 'env:' again.\n",
	.options = resume_table,
	.options_size = sizeof(struct campaign_options),
	.defaults = campaign_options_defaults,
	.words_max = 2,
	.word = "NAME",
	.run = resume_verb,
};
