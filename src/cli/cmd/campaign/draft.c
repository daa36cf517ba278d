#include "cli/cmd/campaign/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/size.h"
#include "base/term.h"
#include "campaign/ledger/ledger.h"
#include "campaign/session.h"
#include "project/state.h"
#include "cli/backend.h"
#include "run/hidden.h"
#include "cli/manifest_check.h"
#include "cli/cmd/campaign/run_text.h"

#define DEFAULT_OUTPUT "fuzz/runs"
#define STDIN_FILE "stdin"
#define STDIN_MAX (UINT64_C(1) << 30)
#define WORKER_PROCESSES 4 /* a slot's own, an init, the program, and one more */
#define WORKER_FILES 24
#define ADD_TRIES 20 /* others may begin campaigns here at the same time */

/* ---- what can be judged at once ---- */

/* Every run reads it from its beginning: no pipe will do. */
static int stdin_open(const char *from, struct err *err)
{
	own(fd_closep) int in = fs_open_named(AT_FDCWD, from, O_RDONLY | O_NONBLOCK, 0, err);
	struct stat st;

	if (in < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--stdin");
	}
	if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > STDIN_MAX)
		return err_set(err, ERR_USAGE, "--stdin: '%s' must be a file of at most 1 GB", from);
	return fd_take(&in);
}

static uint64_t read_limit(const char *path)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	return fs_read_small(AT_FDCWD, path, 64, &text, &err) < 0 ? UINT64_MAX : strtoull(buf_text(&text), NULL, 10);
}

static int check_workers(uint64_t workers, struct err *err)
{
	uint64_t may = read_limit("/proc/sys/kernel/pid_max"), threads = read_limit("/proc/sys/kernel/threads-max");
	struct rlimit limit;

	may = threads < may ? threads : may;
	if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur < may)
		may = limit.rlim_cur;
	if (workers * WORKER_PROCESSES > may)
		return err_set(err, ERR_USAGE,
			"--workers %llu needs at least %llu processes, but only %llu are allowed here: give fewer, or raise "
			"the limit ('ulimit -u', kernel.pid_max)",
			(unsigned long long)workers, (unsigned long long)(workers * WORKER_PROCESSES), (unsigned long long)may);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && workers * WORKER_FILES > limit.rlim_max)
		return err_set(err, ERR_USAGE,
			"--workers %llu needs about %llu open files, but only %llu are allowed here: give fewer, or raise "
			"the limit ('ulimit -Hn')",
			(unsigned long long)workers, (unsigned long long)(workers * WORKER_FILES),
			(unsigned long long)limit.rlim_max);
	return 0;
}

/* These three are the run's own. */
static int check_env(const struct cli_list *env, struct err *err)
{
	static const char *const ours[] = {"HOTCELL_RUN=", "HOTCELL_SEED=", "HOTCELL_CAMPAIGN="};

	for (size_t i = 0; i < env->count; i++)
		for (size_t j = 0; j < ARRAY_LEN(ours); j++)
			if (strncmp(env->items[i], ours[j], strlen(ours[j])) == 0)
				return err_set(err, ERR_USAGE, "--env: every run gets a %.*s of its own; --seed steers HOTCELL_SEED",
					(int)strcspn(ours[j], "="), ours[j]);
	return 0;
}

static int random_seed(uint64_t *ret, struct err *err)
{
	if (getrandom(ret, sizeof(*ret), 0) != (ssize_t)sizeof(*ret))
		return err_errno(err, errno, "get a random seed");
	*ret >>= 11; /* 53 bits */
	return 0;
}

static int place(struct campaign_record *record, const char *output, struct err *err)
{
	char cwd[PATH_MAX];

	if (!getcwd(cwd, sizeof(cwd)))
		return err_errno(err, errno, "find the current folder");
	record->cwd = xstrdup(cwd);
	if (!output)
		output = DEFAULT_OUTPUT;
	size_t len = strlen(output);
	while (len > 1 && output[len - 1] == '/')
		len--;
	record->output = output[0] == '/' ? xfmt("%.*s", (int)len, output)
					  : xfmt("%s/%.*s", strcmp(cwd, "/") == 0 ? "" : cwd, (int)len, output);
	if (strchr(record->output, '\n'))
		return err_set(err, ERR_USAGE, "--output: a folder's name cannot hold a newline");
	return 0;
}

/* What was typed may have a secret in it that is in the environment, too. It is kept, for resuming, and not shown. */
static void put_shown(struct campaign_record *record)
{
	struct buf shown = {0};

	redact_show(hidden_redactor(), REDACT_VALUES, record->words, record->words_len, &shown);
	if (shown.len > 0 && memcmp(shown.data, record->words, shown.len) != 0) {
		record->shown_len = shown.len;
		record->shown = buf_take(&shown);
	}
	buf_done(&shown);
}

int draft_build(struct campaign_record *ret, const struct campaign_words *words, struct err *err)
{
	const struct campaign_options *options = &words->options;
	own(run_spec_done) struct run_spec built = {0};
	own(policy_done) struct door_policy policy = {0};
	own(fd_closep) int replay = -1;
	const char *backend;
	struct alerts alerts;

	campaign_words_save(words, ret);
	if (options->seed == SEED_NOT_GIVEN && random_seed(&ret->plan.seed, err) < 0)
		return -1;
	if (options->name && plan_name_check(options->name, err) < 0)
		return -1;
	ret->name = xstrdup(options->name ? options->name : "");
	if (plan_check(&ret->plan, err) < 0 || check_workers(ret->plan.workers, err) < 0 ||
		draft_alerts(&alerts, options, err) < 0 || draft_spec(&built, words, &backend, err) < 0 ||
		draft_doors(&policy, &built, words, backend, err) < 0 || draft_replay(words, &replay, err) < 0 ||
		cell_spec_check(&built.spec, err) < 0)
		return -1;
	hidden_set(&(struct secrets){.env = built.spec.env, .names = options->run.secret_env.items});
	put_shown(ret);
	if (check_env(&options->run.env, err) < 0)
		return -1;
	if (options->run.stdin_file) {
		own(fd_closep) int in = stdin_open(options->run.stdin_file, err);
		if (in < 0)
			return -1;
	}
	return draft_manifests(options, NULL, err) < 0 ? -1 : place(ret, options->run.output, err);
}

int draft_manifests(const struct campaign_options *options, const char *state, struct err *err)
{
	struct err unmade = {0};

	if (manifest_check(&options->run.manifests, err) == 0)
		return 0;
	if (options->dry_run)
		return -1;
	own(freep) char *found = state ? xstrdup(state) : state_folder(options->state, true, &unmade);
	own(freep) char *audit = found ? state_audit(found) : NULL;
	if (audit)
		manifest_refused(audit, err);
	else
		(void)cli_fail(&unmade);
	return -1;
}

int draft_alerts(struct alerts *ret, const struct campaign_options *options, struct err *err)
{
	alerts_defaults(ret);
	for (size_t i = 0; i < options->alerts.count; i++)
		if (alerts_add(ret, options->alerts.items[i], err) < 0)
			return -1;
	return 0;
}

int draft_spec(struct run_spec *ret, const struct campaign_words *words, const char **ret_backend,
	struct err *err)
{
	struct run_options run = words->options.run;

	run.output = NULL; /* a campaign's is the folder of all sessions */
	run.stdin_file = NULL;
	if (backend_choose(&run, ret_backend, err) < 0)
		return -1;
	return run_spec_build(ret, &run, words->command, err);
}

int draft_doors(struct door_policy *ret, struct run_spec *built, const struct campaign_words *words, const char *backend,
	struct err *err)
{
	if (door_options_policy(ret, &words->options.run.doors, backend, err) < 0)
		return -1;
	run_spec_doors(built, ret);
	secrets_hide(&(struct secrets){.env = built->spec.env, .names = words->options.run.secret_env.items}, ret);
	return 0;
}

int draft_replay(const struct campaign_words *words, int *ret, struct err *err)
{
	const char *folder = words->options.run.doors.replay;

	*ret = folder ? sessions_folder(folder, false, err) : -1;
	if (!folder || *ret >= 0)
		return 0;
	err->code = ERR_USAGE;
	return err_wrap(err, "--network-replay");
}

/* ---- what no run shall see ---- */

/* A glob that matches nothing but this path. */
static char *glob_of(const char *path)
{
	struct buf glob = {0};

	for (; *path; path++) {
		if (strchr("*?[]\\", *path))
			buf_char(&glob, '\\');
		buf_char(&glob, *path);
	}
	return buf_take(&glob);
}

static void hide_path(struct run_spec *built, const char *path)
{
	size_t count = 0;

	while (built->hide[count])
		count++;
	for (size_t i = 0; i < built->spec.mount_count; i++) {
		own(freep) char *source = realpath(built->spec.mounts[i].source, NULL);
		size_t len = source ? strlen(source) : 0;
		if (!source || strncmp(path, source, len) != 0 || path[len] != '/')
			continue;
		built->texts = xrealloc(built->texts, built->text_count + 1, sizeof(*built->texts));
		built->texts[built->text_count++] = glob_of(path + len);
		built->hide = xrealloc(built->hide, count + 2, sizeof(*built->hide));
		built->hide[count++] = built->texts[built->text_count - 1];
		built->hide[count] = NULL;
	}
	built->spec.hide = built->hide;
}

static int hide_sessions(void *data, const struct campaign_record *campaign)
{
	own(freep) char *real = realpath(campaign->output, NULL);

	hide_path(data, real ? real : campaign->output);
	return 0;
}

int draft_hide(struct run_spec *built, const char *state, struct err *err)
{
	own(freep) char *path = state_ledger(state);
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_READ, err);

	if (!ledger)
		return -1;
	hide_path(built, state);
	return ledger_campaigns(ledger, hide_sessions, built, err) < 0 ? -1 : 0;
}

/* ---- into the ledger ---- */

static int copy_stdin(const char *state, const struct campaign_record *record, const char *from, struct err *err)
{
	own(fd_closep) int in = stdin_open(from, err);
	own(fd_closep) int folder = in < 0 ? -1 : state_campaign_open(state, record->name, true, err);
	own(fd_closep) int out = folder < 0 ? -1 : beneath_open(folder, STDIN_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600, err);

	if (out < 0)
		return -1;
	char chunk[65536];
	ssize_t got = -1;
	while ((got = read(in, chunk, sizeof(chunk))) > 0)
		if (write(out, chunk, (size_t)got) != got)
			break;
	return got != 0 ? err_errno(err, errno, "keep a copy of '%s' for campaign '%s'", from, record->name) : 0;
}

int draft_stdin(const char *state, const char *name, int *ret, struct err *err)
{
	own(fd_closep) int folder = state_campaign_open(state, name, false, err);

	*ret = folder < 0 ? -1 : beneath_open(folder, STDIN_FILE, O_RDONLY, 0, err);
	return *ret < 0 && err->code != ENOENT ? -1 : 0;
}

static int choose_name(struct ledger *ledger, struct campaign_record *record, struct err *err)
{
	if (record->name[0] != '\0')
		return 0; /* one that is taken is refused by the ledger */
	for (unsigned n = 1; n < 1000000; n++) {
		free(record->name);
		record->name = xfmt("c%u", n);
		if (ledger_name_free(ledger, record->name))
			return 0;
	}
	return err_set(err, ERR_USAGE, "give the campaign a --name");
}

/* The folder everybody expects, unless an earlier campaign has it. */
static void choose_output(struct campaign_record *record, bool given)
{
	if (given || sessions_free(record->output))
		return;
	char *other = xfmt("%s-%s", record->output, record->name);
	free(record->output);
	record->output = other;
}

void draft_foresee(struct campaign_record *record, const struct campaign_words *words)
{
	struct err err = {0};
	own(freep) char *state = state_is_none(words->options.state) ? NULL : state_folder(words->options.state, false, &err);
	own(freep) char *path = state ? state_ledger(state) : NULL;

	if (err.code)
		cli_say("the campaign could not be started here: %s", err.text);
	own(ledger_freep) struct ledger *ledger = path ? ledger_open(path, LEDGER_READ, &err) : NULL;

	if (ledger)
		(void)!choose_name(ledger, record, &err);
	if (record->name[0] != '\0')
		choose_output(record, words->options.run.output != NULL);
}

static int try_sessions(const struct campaign_record *record, struct err *err)
{
	own(fd_closep) int fd = -1;

	return sessions_open(record->output, record->uuid, &fd, err);
}

/* Into the ledger, and its folder taken; or neither. */
static int add_once(struct ledger *ledger, const char *state, struct campaign_record *record, struct err *err)
{
	struct err first;

	free(record->uuid);
	record->uuid = NULL;
	if (ledger_campaign_add(ledger, record, err) < 0)
		return -1;
	if (try_sessions(record, err) == 0)
		return 0;
	(void)!ledger_campaign_remove(ledger, record->id, &first);
	draft_forget(state, record);
	record->id = 0;
	return -1;
}

int draft_register(const char *state, struct campaign_record *record, const struct campaign_words *words,
	struct err *err)
{
	own(freep) char *path = state_ledger(state);
	own(freep) char *output = xstrdup(record->output);
	own(ledger_freep) struct ledger *ledger = ledger_open(path, LEDGER_CREATE, err);
	const char *from = words->options.run.stdin_file, *named = words->options.name;
	bool placed = words->options.run.output != NULL;
	int added = -1;

	record->state = CAMPAIGN_STOPPED;
	record->next = 1;
	for (int tries = 0; ledger && added < 0 && tries < ADD_TRIES; tries++) {
		if (tries > 0 && (err->code != ERR_USAGE || (named && placed)))
			return -1; /* what was not left to us cannot be chosen otherwise */
		if (!named)
			record->name[0] = '\0';
		free(record->output);
		record->output = xstrdup(output);
		if (choose_name(ledger, record, err) < 0)
			return -1;
		choose_output(record, placed);
		added = add_once(ledger, state, record, err);
	}
	if (added < 0)
		return -1;
	if (!from || copy_stdin(state, record, from, err) == 0)
		return 0;
	struct err first;
	(void)!ledger_campaign_remove(ledger, record->id, &first);
	draft_forget(state, record);
	record->id = 0;
	return -1;
}

void draft_forget(const char *state, const struct campaign_record *record)
{
	struct err err;

	(void)!state_campaign_remove(state, record->name, &err);
	if (record->uuid)
		sessions_disown(record->output, record->uuid);
}

/* ---- for people ---- */

char *draft_shown(const char *path)
{
	char cwd[PATH_MAX];
	struct buf shown = {0};

	if (getcwd(cwd, sizeof(cwd))) {
		size_t len = strlen(cwd);
		path += strncmp(path, cwd, len) == 0 && path[len] == '/' && path[len + 1] ? len + 1 : 0;
	}
	term_line(path, strlen(path), PATH_MAX, &shown);
	return buf_take(&shown);
}

static void add_text(struct buf *out, const char *text)
{
	term_line(text, strlen(text), 400, out);
}

static void add_words(struct buf *out, const char *label, const char *const *words)
{
	if (!words || !*words)
		return;
	buf_fmt(out, "         - %s:", label);
	for (; *words; words++) {
		own(freep) char *word = redact_copy(hidden_redactor(), REDACT_VALUES, *words);
		buf_char(out, ' ');
		run_text_quote(word, strlen(word), out);
	}
	buf_char(out, '\n');
}

static void add_size(struct buf *out, const char *label, uint64_t bytes)
{
	char size[24];

	buf_fmt(out, "%s%s", label, size_text(bytes, size, sizeof(size)));
}

static void describe_limits(const struct cell_limits *limits, bool tmp_exec, struct buf *out)
{
	add_size(out, "         - Memory: ", limits->memory);
	buf_fmt(out, ", CPUs: %g, processes: %llu, open files: %llu\n", (double)limits->cpus_milli / 1000,
		(unsigned long long)limits->processes, (unsigned long long)limits->open_files);
	add_size(out, "         - Disk: ", limits->disk);
	add_size(out, ", /tmp: ", limits->tmp);
	add_size(out, tmp_exec ? " (programs may run there), /dev/shm: " : ", /dev/shm: ", limits->shm);
	add_size(out, ", largest file: ", limits->file_size);
	add_size(out, ", output: ", limits->output);
	buf_fmt(out, "\n         - Timeout: %gs\n", (double)limits->timeout_ms / 1000);
}

static void describe_plan(const struct campaign_plan *plan, struct buf *out)
{
	buf_fmt(out, "         - Retries: %u", plan->retries);
	if (plan->rate > 0)
		buf_fmt(out, ", at most %llu starts a minute", (unsigned long long)plan->rate);
	if (plan->stop_after_failures > 0)
		buf_fmt(out, ", no more starts after %llu failures", (unsigned long long)plan->stop_after_failures);
	buf_char(out, '\n');
}

static void describe_doors(const struct door_policy *policy, struct buf *out)
{
	const struct {
		const char *label;
		const struct door_budget *budget;
	} budgets[] = {{"Budget", &policy->budget}, {"Budget of each run", &policy->run_budget}};

	if (policy_is_empty(policy))
		buf_str(out, "         - Network: none\n");
	door_options_explain(policy, "         - Door: ", "         - Door: ", out);
	for (size_t i = 0; i < ARRAY_LEN(budgets); i++) {
		if (!budget_is_set(budgets[i].budget))
			continue;
		buf_fmt(out, "         - %s: ", budgets[i].label);
		budget_text(budgets[i].budget, out);
		buf_char(out, '\n');
	}
}

/* The same for every run: written once. */
static void describe(const struct campaign_record *record, const struct cell_spec *spec, const struct door_policy *policy,
	const char *backend, const char *stdin_file, struct buf *out)
{
	add_words(out, "Command", spec->argv);
	buf_fmt(out, "         - Backend: %s, image %s, user %u:%u\n", backend, spec->image, spec->uid, spec->gid);
	if (spec->profile) {
		buf_str(out, "         - Profile: ");
		add_text(out, spec->profile);
		buf_char(out, '\n');
	}
	buf_fmt(out, "         - Folder: %s\n", spec->cwd ? spec->cwd : CELL_WORKSPACE);
	describe_doors(policy, out);
	for (size_t i = 0; i < spec->mount_count; i++) {
		buf_str(out, "         - Mount: ");
		add_text(out, spec->mounts[i].source);
		buf_str(out, " at ");
		add_text(out, spec->mounts[i].target);
		buf_fmt(out, ", %s\n", spec->mounts[i].writable ? "writable" : "read-only");
	}
	if (spec->mount_count > 0)
		add_words(out, "Hidden in mounts", spec->hide);
	add_words(out, "Forbidden", spec->forbid);
	add_words(out, "Required", spec->require);
	if (stdin_file) {
		buf_str(out, "         - Stdin: ");
		add_text(out, stdin_file);
		buf_char(out, '\n');
	}
	describe_limits(&spec->limits, spec->tmp_exec, out);
	describe_plan(&record->plan, out);
	buf_str(out, "         - Environment: HOTCELL_RUN HOTCELL_SEED HOTCELL_CAMPAIGN");
	for (const char *const *entry = spec->env; entry && *entry; entry++) {
		buf_char(out, ' ');
		term_line(*entry, strcspn(*entry, "="), 100, out); /* values may be secret */
	}
	buf_char(out, '\n');
}

static void json_words(struct json *json, const char *key, const char *const *words)
{
	json_key(json, key);
	json_open(json, '[');
	for (; words && *words; words++) {
		own(freep) char *word = redact_copy(hidden_redactor(), REDACT_VALUES, *words);
		json_string(json, word);
	}
	json_close(json, ']');
}

/* One text each, as people see it. */
static void json_doors(struct json *json, const struct door_policy *policy)
{
	own(buf_done) struct buf lines = {0};

	policy_explain(policy, &lines);
	json_key(json, "doors");
	json_open(json, '[');
	for (const char *at = buf_text(&lines); *at; at += strcspn(at, "\n") + 1)
		json_bytes(json, at, strcspn(at, "\n"));
	json_close(json, ']');
}

static void describe_json(const struct campaign_record *record, const struct cell_spec *spec,
	const struct door_policy *policy, const char *backend, uint64_t number, const char *session, struct json *json)
{
	json_open(json, '{');
	json_put_uint(json, "run", number);
	json_put_uint(json, "seed", plan_seed(record->plan.seed, number));
	json_put_string(json, "session", session);
	json_put_string(json, "backend", backend);
	json_put_string(json, "image", spec->image);
	json_put_string(json, "profile", spec->profile);
	json_put_string(json, "network", policy_is_empty(policy) ? "none" : "doors");
	json_doors(json, policy);
	json_put_uint(json, "memory", spec->limits.memory);
	json_put_real(json, "cpus", (double)spec->limits.cpus_milli / 1000, 3);
	json_put_uint(json, "processes", spec->limits.processes);
	json_put_uint(json, "open_files", spec->limits.open_files);
	json_put_uint(json, "disk", spec->limits.disk);
	json_put_uint(json, "tmp", spec->limits.tmp);
	json_put_uint(json, "shm", spec->limits.shm);
	json_put_uint(json, "file_size", spec->limits.file_size);
	json_put_uint(json, "output", spec->limits.output);
	json_put_uint(json, "timeout_ms", spec->limits.timeout_ms);
	json_put_uint(json, "retries", record->plan.retries);
	json_words(json, "command", spec->argv);
	json_words(json, "hide", spec->hide);
	json_words(json, "forbid", spec->forbid);
	json_words(json, "require", spec->require);
	json_key(json, "mounts");
	json_open(json, '[');
	for (size_t i = 0; i < spec->mount_count; i++) {
		json_open(json, '{');
		json_put_string(json, "source", spec->mounts[i].source);
		json_put_string(json, "target", spec->mounts[i].target);
		json_put_bool(json, "writable", spec->mounts[i].writable);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_key(json, "env");
	json_open(json, '[');
	json_string(json, "HOTCELL_RUN");
	json_string(json, "HOTCELL_SEED");
	json_string(json, "HOTCELL_CAMPAIGN");
	for (const char *const *entry = spec->env; entry && *entry; entry++)
		json_bytes(json, *entry, strcspn(*entry, "="));
	json_close(json, ']');
	json_close(json, '}');
	buf_char(&json->out, '\n');
}

int draft_print(const struct campaign_record *record, const struct cell_spec *spec, const struct door_policy *policy,
	const char *backend, const char *stdin_file, const char *shown, bool json)
{
	own(buf_done) struct buf common = {0}, head = {0};
	uint64_t runs = record->plan.runs;
	char name[24];
	int code = 0;

	describe(record, spec, policy, backend, stdin_file, &common);
	buf_fmt(&head, "Running %llu fuzz sessions with %u workers... (dry run: nothing is started)\n",
		(unsigned long long)runs, record->plan.workers);
	if (!json)
		code = cli_print(&head);
	for (uint64_t number = 1; number <= runs && code == 0; number++) {
		own(json_done) struct json line = {0};
		own(buf_done) struct buf out = {0};
		(void)plan_session_name(runs, number, name, sizeof(name));
		own(freep) char *session = xfmt("%s/%s", shown, name);
		if (json) {
			describe_json(record, spec, policy, backend, number, session, &line);
			code = cli_print(&line.out);
			continue;
		}
		buf_fmt(&out, "[%s] Starting...\n[%s] DRY-RUN: Would run a cell with:\n         - Session dir: %s\n", name, name,
			session);
		buf_fmt(&out, "         - Seed: %llu\n", (unsigned long long)plan_seed(record->plan.seed, number));
		buf_add(&out, common.data, common.len);
		buf_fmt(&out, "[%s] DRY-RUN: Complete\n", name);
		code = cli_print(&out);
	}
	return code;
}
