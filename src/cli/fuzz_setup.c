#include "cli/fuzz_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/out_file.h"
#include "base/term.h"
#include "run/secrets.h"
#include "project/state.h"
#include "cli/backend.h"
#include "run/hidden.h"
#include "cli/manifest_check.h"
#include "cli/core/redraw.h"
#include "base/signals.h"
#include "run/environment.h"

#define SCHEMA_MAX ((size_t)16 << 20)
#define DICT_MAX ((size_t)4 << 20)
#define MARGIN_MS UINT64_C(3600000) /* of a cell's life beyond the exploring: what was found is replayed and made small */
#define DAY_MS UINT64_C(86400000)
#define STORE_NAME "findings"
#define SHOWN_ELSE "/srv/project"

void fuzz_setup_done(struct fuzz_setup *it)
{
	it->target = target_free(it->target);
	if (it->leaving)
		cell_pool_leave(it->pool);
	else
		(void)cell_pool_free(it->pool);
	it->pool = NULL;
	it->plant = plant_free(it->plant);
	it->loop = loop_free(it->loop);
	fuzz_cells_done(&it->cells);
	run_audit_done(&it->audit);
	run_spec_done(&it->built);
	buf_done(&it->schema);
	buf_done(&it->output_schema);
	strings_done(&it->dict);
	strings_done(&it->gaps);
	strings_done(&it->flags);
	strings_done(&it->names);
	free(it->words);
	free(it->environment);
	if (it->mounts.count)
		free((void *)it->mounts.items[0]);
	free((void *)it->mounts.items);
	free(it->here);
	free(it->state);
	free(it->store_folder);
	free(it->sum);
}

int fuzz_setup_fail(const struct err *err)
{
	int code = cli_fail(err);

	return code == EXIT_USAGE ? code : err->code == ERR_MISSING ? FUZZ_EXIT_NOTHING : FUZZ_EXIT_BROKEN;
}

/* ---- what was typed ---- */

static int check_options(const struct fuzz_cli *cli, struct err *err)
{
	const struct door_options *doors = &cli->run.doors;

	if (doors->allow.count + doors->services.count + doors->secrets.count > 0)
		return err_set(err, ERR_USAGE,
			"what is fuzzed gets no doors, by options or by a profile: its calls are made up, and nothing outside should have "
			"them; leave out --allow, --service and --secret-door");
	if (cli->run.stdin_file)
		return err_set(err, ERR_USAGE, "--stdin: what is fuzzed is called on its stdin; leave the option out");
	if (cli->run.json && cli->sarif && out_file_is_stdout(cli->sarif))
		return err_set(err, ERR_USAGE, "--json and '--export-sarif -' both write to stdout: give --export-sarif a file");
	return 0;
}

static int read_file(const char *option, const char *path, size_t max, struct buf *ret, struct err *err)
{
	if (!path || fs_read_small(AT_FDCWD, path, max, ret, err) == 0)
		return 0;
	err->code = ERR_USAGE;
	return err_wrap(err, "%s", option);
}

static int read_files(struct fuzz_setup *it, struct err *err)
{
	const struct fuzz_cli *cli = it->cli;
	own(buf_done) struct buf words = {0};

	if (read_file("--schema", cli->schema, SCHEMA_MAX, &it->schema, err) < 0 ||
		read_file("--output-schema", cli->output_schema, SCHEMA_MAX, &it->output_schema, err) < 0 ||
		read_file("--dict", cli->dict, DICT_MAX, &words, err) < 0)
		return -1;
	if (cli->dict && dict_read(buf_text(&words), words.len, cli->dict, &it->dict, err) < 0)
		return err_wrap(err, "--dict");
	return 0;
}

/* Where a folder is shown: at its own path, which scripts of virtual environments and links rely on, or where a cell has something
 * of its own there, at a path that is always free. */
static const char *shown_at(const char *folder)
{
	static const char *const taken[] = {"/proc", "/dev", "/sys", "/tmp", CELL_WORKSPACE};

	for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
		size_t len = strlen(taken[i]);
		if (strncmp(folder, taken[i], len) == 0 && (folder[len] == '/' || folder[len] == '\0'))
			return SHOWN_ELSE;
	}
	return folder;
}

/* A script of this folder could not be found in a cell that shows nothing of it: so the folder is shown, read-only, where it
 * is, unless the user said what is to be shown. */
static void show_folder(struct fuzz_setup *it)
{
	const struct run_options *typed = &it->cli->run;
	const char *script = fuzz_script(it->command);

	it->here = getcwd(NULL, 0);
	it->run = *typed;
	if (!it->here || typed->mounts.count > 0 || typed->workdir || strcmp(typed->image, "host") != 0)
		return;
	bool mounts = cell_backend_can(it->backend, CELL_MOUNTS);
	if (!mounts)
		it->run.workdir = it->here;
	if (!script || !mounts)
		return;
	own(freep) char *whole = realpath(script, NULL);
	size_t len = strlen(it->here);
	if (!whole || strncmp(whole, it->here, len) != 0 || whole[len] != '/' || strchr(it->here, ':'))
		return;
	if (folder_is_too_much(it->here)) {
		if (!typed->quiet)
			cli_say("'%s' is in your home, which is not shown to it as a whole: go to the folder of the project, or say what it may see "
				"with --mount SRC:DST",
				script);
		return;
	}
	it->mounts.items = xcalloc(2, sizeof(*it->mounts.items));
	it->mounts.items[0] = xfmt("%s:%s", it->here, shown_at(it->here));
	it->mounts.count = 1;
	it->run.mounts = it->mounts;
	it->run.workdir = shown_at(it->here);
	if (!typed->quiet)
		cli_say("it is shown this folder, read-only%s; --mount says otherwise", it->run.workdir == it->here ? "" : ", as " SHOWN_ELSE);
}

static void set_limits(struct fuzz_setup *it)
{
	const struct fuzz_cli *cli = it->cli;
	uint64_t least = (cli->duration_ms ? cli->duration_ms : DAY_MS) + cli->start_ms + MARGIN_MS;

	if (it->run.limits.timeout_ms < least)
		it->run.limits.timeout_ms = least;
}

static const char **environment_given(const struct cell_spec *spec)
{
	size_t count = 0, kept = 0;

	while (spec->env[count])
		count++;
	const char **list = xcalloc(count + 1, sizeof(*list));
	for (size_t i = 0; i < count; i++)
		if (secrets_is_given(spec->env[i]))
			list[kept++] = spec->env[i];
	return list;
}

int fuzz_state_open(const char *state, const char *log, const char *backend, const struct cell_spec *spec, char **ret_state,
	char **ret_store, struct run_audit *ret_audit, struct err *err)
{
	const struct door_policy none = {0};

	*ret_state = state_folder(state, true, err);
	if (!*ret_state)
		return -1;
	*ret_store = xfmt("%s/" STORE_NAME, *ret_state);
	own(freep) char *path = log ? xstrdup(log) : state_audit(*ret_state);
	return run_audit_open(ret_audit, path, backend, spec, &none, err);
}

int fuzz_manifests(const char *state, const struct run_options *run, struct err *err)
{
	struct err unmade = {0};

	if (manifest_check(&run->manifests, err) == 0)
		return 0;
	own(freep) char *folder = run->audit ? NULL : state_folder(state, true, &unmade);
	own(freep) char *log = run->audit ? xstrdup(run->audit) : folder ? state_audit(folder) : NULL;
	if (log)
		manifest_refused(log, err);
	else
		(void)cli_fail(&unmade);
	return -1;
}

static void set_fuzz(struct fuzz_setup *it, const struct cli_args *args)
{
	const struct fuzz_cli *cli = it->cli;

	it->allowed = (struct allowed){.write = cli->allow_write.items, .spawn = cli->allow_spawn.items, .net = cli->allow_net};
	it->environment = environment_given(&it->built.spec);
	fuzz_flags(args, &it->flags, &it->names);
	it->fuzz = (struct fuzz_options){
		.allowed = &it->allowed,
		.environment = it->environment,
		.only = cli->only.items,
		.exclude = cli->exclude.items,
		.seed = cli->seed,
		.max_calls = cli->max_calls,
		.duration_ns = cli->duration_ms * NS_PER_MS,
		.call_ns = cli->call_ms * NS_PER_MS,
		.workers = (unsigned)cli->workers,
		.sequence = (unsigned)cli->sequence,
		.malformed = cli->malformed ? 4 : 0,
		.replays = (unsigned)cli->replays,
		.max_findings = (unsigned)cli->max_findings,
		.flags = &it->flags,
		.environment_names = &it->names,
		.profile = cli->run.profile,
		.declared = cli->declared ? cli->declared : cli->schema ? cli->schema : fuzz_script(it->command),
	};
	it->sum = cli->stranger && !fuzz_sum_is_open(it->command) ? NULL : fuzz_target_sum(it->command);
}

int fuzz_setup_build(struct fuzz_setup *ret, const struct fuzz_cli *cli, enum target_mode mode, const struct cli_args *args,
	struct err *err)
{
	oracle_set set;

	*ret = (struct fuzz_setup){.cli = cli, .mode = mode, .kind = target_mode_kind(mode), .command = args->command};
	if (check_options(cli, err) < 0 || oracle_set_read(cli->oracles, &set, err) < 0 || read_files(ret, err) < 0 ||
		backend_choose(&cli->run, &ret->backend, err) < 0 || fuzz_manifests(cli->state, &cli->run, err) < 0)
		return -1;
	show_folder(ret);
	set_limits(ret);
	if (run_spec_build(&ret->built, &ret->run, args->command, err) < 0)
		return -1;
	ret->built.spec.effects = true;
	if (fuzz_state_open(cli->state, cli->run.audit, ret->backend, &ret->built.spec, &ret->state, &ret->store_folder, &ret->audit, err) < 0)
		return -1;
	set_fuzz(ret, args);
	ret->fuzz.oracles = set;
	return 0;
}

/* ---- starting it ---- */

static void on_signal(void *data, int number)
{
	struct fuzz_setup *it = data;
	bool again = it->signal != 0;

	if (!again)
		it->signal = number;
	if (!again && it->target)
		return; /* what there is is said, and kept */
	redraw_end();
	cli_say(it->target ? "stopped at once; what was confirmed is kept" : "stopped before it could be called");
	it->plant = plant_free(it->plant);
	_exit(128 + number); /* what runs in cells dies with us */
}

static void merge_words(struct fuzz_setup *it)
{
	const char *const *planted = it->plant ? plant_words(it->plant) : NULL;
	size_t count = 0;

	for (const char *const *word = planted; word && *word; word++)
		count++;
	it->words = xcalloc(count + it->dict.count + 1, sizeof(*it->words));
	count = 0;
	for (const char *const *word = planted; word && *word; word++)
		it->words[count++] = *word;
	for (size_t i = 0; i < it->dict.count; i++)
		it->words[count++] = it->dict.items[i];
}

static int plant(struct fuzz_setup *it, struct err *err)
{
	if (!cell_backend_can(it->backend, CELL_MOUNTS)) {
		strings_add(&it->gaps, "nothing was planted and no effects were seen: there was no sandbox");
		return 0;
	}
	if (it->cli->no_canaries) {
		strings_add(&it->gaps, "nothing was planted: --no-canaries");
		return 0;
	}
	it->plant = plant_open(&it->built.spec, it->fuzz.seed, err);
	if (!it->plant)
		return err_wrap(err, "plant canaries");
	strings_copy(&it->gaps, plant_gaps(it->plant), SIZE_MAX);
	return 0;
}

int fuzz_setup_open(struct fuzz_setup *it, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};
	const struct fuzz_cli *cli = it->cli;

	hidden_set(&(struct secrets){.env = it->built.spec.env, .names = cli->run.secret_env.items});
	environment_forget();
	if (!cell_backend_can(it->backend, CELL_ISOLATES))
		backend_warn_none();
	it->loop = loop_open(err);
	if (!it->loop || signals_take(it->loop, ours, on_signal, it, err) < 0)
		return -1;
	it->pool = cell_pool_open(it->backend, it->loop, err);
	if (!it->pool || plant(it, err) < 0)
		return -1;
	backend_say_warnings(it->pool);
	fuzz_cells_watch(&it->cells, &it->audit, it->pool);
	merge_words(it);
	/* "python3" would be the name of many */
	const char *script = fuzz_script(it->command);
	const char *slash = script ? strrchr(script, '/') : NULL;
	it->options = (struct target_options){
		.mode = it->mode,
		.spec = it->plant ? plant_spec(it->plant) : &it->built.spec,
		.name = cli->name ? cli->name : slash ? slash + 1 : script,
		.schema_text = cli->schema ? buf_text(&it->schema) : NULL,
		.schema_len = it->schema.len,
		.schema_name = cli->schema,
		.output_schema_text = cli->output_schema ? buf_text(&it->output_schema) : NULL,
		.output_schema_len = it->output_schema.len,
		.output_schema_name = cli->output_schema,
		.subject = it->subject,
		.words = it->words,
		.port = cli->port,
		.path = cli->path,
		.start_ns = cli->start_ms * NS_PER_MS,
		.call_ns = cli->call_ms * NS_PER_MS,
	};
	it->target = target_open(&it->options, it->loop, it->pool, err);
	if (!it->target)
		return -1;
	it->fuzz.target = it->target;
	it->fuzz.plant = it->plant;
	return 0;
}

/* ---- findings ---- */

/* A path as the cell sees it, as the host has it, if a mount tells. */
static char *file_on_host(const struct fuzz_setup *it, const char *file)
{
	for (size_t i = 0; *file == '/' && i < it->built.spec.mount_count; i++) {
		const struct cell_mount *mount = &it->built.spec.mounts[i];
		size_t len = strlen(mount->target);
		if (strncmp(file, mount->target, len) == 0 && (file[len] == '/' || file[len] == '\0'))
			return xfmt("%s%s", mount->source, file + len);
	}
	return xstrdup(file);
}

/* What of a path is below the folder; NULL: it is not. */
static const char *below(const char *folder, size_t len, const char *path)
{
	return len > 0 && strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

char *fuzz_file_shown(const char *state, const char *here, const char *file)
{
	const char *slash = state ? strrchr(state, '/') : NULL;
	size_t root = slash && strcmp(slash + 1, STATE_FOLDER) == 0 ? (size_t)(slash - state) : 0;

	if (!here)
		return xstrdup(file);
	while (strncmp(file, "./", 2) == 0)
		file += 2;
	own(freep) char *whole = *file == '/' ? xstrdup(file) : xfmt("%s/%s", here, file);
	own(freep) char *real = strstr(whole, "/../") ? realpath(whole, NULL) : NULL;
	const char *path = real ? real : whole;
	bool inside = root && strncmp(state, here, root) == 0 && (here[root] == '/' || here[root] == '\0');
	const char *shown = inside ? below(state, root, path) : below(here, strlen(here), path);
	return xstrdup(shown ? shown : file);
}

static void hide_evidence(struct finding *finding)
{
	for (size_t i = 0; redactor_knows(hidden_redactor()) && i < finding->evidence.count; i++) {
		struct buf shown = {0};
		redact_show(hidden_redactor(), REDACT_VALUES, finding->evidence.items[i], strlen(finding->evidence.items[i]), &shown);
		free(finding->evidence.items[i]);
		finding->evidence.items[i] = shown.len ? buf_take(&shown) : xstrdup("");
	}
}

void fuzz_setup_finish(const struct fuzz_setup *it, struct finding *finding)
{
	if (finding->file) {
		own(freep) char *host = file_on_host(it, finding->file);
		free(finding->file);
		finding->file = fuzz_file_shown(it->state, it->here, host);
	}
	if (!finding->target_sha256 && it->sum)
		finding->target_sha256 = xstrdup(it->sum);
	hide_evidence(finding);
}

int fuzz_copy(const struct finding *finding, struct finding *ret, struct err *err)
{
	own(json_done) struct json json = {0};

	capsule_write(finding, &json);
	return capsule_read(ret, json.out.data, json.out.len, finding->id, err);
}

char *fuzz_store_shown(const char *folder)
{
	own(freep) char *here = getcwd(NULL, 0);
	size_t len = here ? strlen(here) : 0;

	return xstrdup(len > 1 && strncmp(folder, here, len) == 0 && folder[len] == '/' ? folder + len + 1 : folder);
}
