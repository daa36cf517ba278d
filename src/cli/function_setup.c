#include "cli/function_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/homes.h"
#include "base/out_file.h"
#include "base/term.h"
#include "cli/backend.h"
#include "cli/fuzz_options.h"
#include "cli/fuzz_setup.h"
#include "run/hidden.h"
#include "cli/core/redraw.h"
#include "base/signals.h"
#include "run/environment.h"

#define NICE_CROWDED 5u
#define DICT_MAX ((size_t)4 << 20)

static const char *const sanitizers[] = {
	[SANITIZER_DEFAULT] = "default", [SANITIZER_ADDRESS] = "address", [SANITIZER_UNDEFINED] = "undefined",
	[SANITIZER_MEMORY] = "memory", [SANITIZER_NONE] = "none",
};

void function_setup_done(struct function_setup *it)
{
	it->pool = cell_pool_free(it->pool);
	it->loop = loop_free(it->loop);
	fuzz_cells_done(&it->cells);
	run_audit_done(&it->audit);
	run_spec_done(&it->built);
	function_targets_done(&it->targets);
	strings_done(&it->flags);
	strings_done(&it->names);
	strings_done(&it->typed);
	free(it->state);
	free(it->store_folder);
	for (size_t i = 0; i < it->engine_count; i++)
		free((char *)it->engines[i].folder);
	free(it->seed_corpus);
	free(it->here);
}

/* Who reads it reads one document. */
static int check_stdout(const struct function_cli *cli, struct err *err)
{
	const char *json = cli->run.json ? "--json" : cli->stats_json ? "--stats-json" : NULL;
	bool sarif = cli->sarif && out_file_is_stdout(cli->sarif);
	bool coverage = cli->coverage_file && out_file_is_stdout(cli->coverage_file);

	if (json && (sarif || coverage))
		return err_set(err, ERR_USAGE, "%s and '%s -' both write to stdout: give %s a file", json,
			sarif ? "--export-sarif" : "--coverage-file", sarif ? "--export-sarif" : "--coverage-file");
	if (sarif && coverage)
		return err_set(err, ERR_USAGE, "'--export-sarif -' and '--coverage-file -' both write to stdout: give one of them a file");
	return 0;
}

#define SPACE_LEAST ((uint64_t)16 << 20)

static int check_options(const struct function_cli *cli, struct err *err)
{
	const struct door_options *doors = &cli->run.doors;

	if (doors->allow.count + doors->services.count + doors->secrets.count > 0)
		return err_set(err, ERR_USAGE,
			"what is fuzzed gets no doors, by options or by a profile; leave out --allow, --service and --secret-door");
	if (cli->run.stdin_file)
		return err_set(err, ERR_USAGE, "--stdin: what is fuzzed has no stdin; leave the option out");
	if (cli->no_coverage && (cli->coverage || cli->coverage_file))
		return err_set(err, ERR_USAGE, "--no-coverage contradicts %s; leave one of them out",
			cli->coverage ? "--coverage" : "--coverage-file");
	for (const char *const *flag = cli->build_flags.items; flag && *flag; flag++)
		if (strncmp(*flag, "-o", 2) == 0)
			return err_set(err, ERR_USAGE, "--cflag=%s: what is built has a place already; leave it out", *flag);
	if (cli->core && cli->run.secret_env.count)
		return err_set(err, ERR_USAGE,
			"--core keeps the memory of the target, with the values of --secret-env in it; leave one of them out");
	if (cli->core && cli->schema)
		return err_set(err, ERR_USAGE, "--core: there are none with --schema; leave one of them out");
	if (cli->coverage_file && !out_file_is_stdout(cli->coverage_file) && out_file_check(cli->coverage_file, true, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--coverage-file");
	}
	if (check_stdout(cli, err) < 0)
		return -1;
	if ((cli->corpus_max && cli->corpus_max < SPACE_LEAST) || (cli->build_max && cli->build_max < SPACE_LEAST))
		return err_set(err, ERR_USAGE, "%s: less than 16 MB is too little", cli->corpus_max && cli->corpus_max < SPACE_LEAST
			? "--corpus-max" : "--build-max");
	if (strcmp(cli->run.image, "host") != 0)
		return err_set(err, ERR_USAGE, "functions are fuzzed with this machine's own engines; leave out --image");
	return 0;
}

/* Said once, and not by each command that fails. */
static int check_bare(const char *backend, const struct cell_spec *spec, struct err *err)
{
	bool held = spec->path_count > 0 || spec->no_exec || (spec->calls_deny && spec->calls_deny[0]) ||
		(spec->forbid && spec->forbid[0]);

	if (held && !cell_backend_can(backend, CELL_HOLDS_RULES))
		return err_set(err, ERR_USAGE,
			"without a sandbox nothing holds a target to a profile or to --forbid: leave them out, or --no-sandbox");
	return 0;
}

/* A folder that the user named, with all links followed: cells are shown what is behind them. */
static int take_folder(const char *option, const char *typed, char **ret, struct err *err)
{
	struct stat st;

	if (!typed)
		return 0;
	*ret = realpath(typed, NULL);
	if (!*ret || stat(*ret, &st) < 0 || !S_ISDIR(st.st_mode)) {
		(void)err_errno(err, *ret ? ENOTDIR : errno, "%s '%.160s'", option, typed);
		err->code = ERR_USAGE;
		return -1;
	}
	if (path_leads_out(typed))
		return err_set(err, ERR_USAGE, "%s '%.160s' is a link that leads out of this folder: name what it points to, '%.160s'", option, typed, *ret);
	if (access(*ret, R_OK | X_OK) < 0)
		return err_set(err, ERR_USAGE, "%s '%.160s' cannot be read", option, typed);
	return 0;
}

/* ---- engines ---- */

/* The first that is there for a language counts. A Python environment must be one; what else an engine must have, its probe tells. */
static int engine_add(struct function_setup *it, const char *option, const char *language, const char *typed, struct err *err)
{
	own(freep) char *folder = NULL;
	struct stat st;

	if (function_engine(it->engines, language) || it->engine_count == ENGINES_MAX)
		return 0;
	if (take_folder(option, typed, &folder, err) < 0)
		return -1;
	if (lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "%s '%.160s' was replaced: try again", option, typed);
	own(freep) char *python = strcmp(language, "python") == 0 ? xfmt("%s/bin/python3", folder) : NULL;
	if (python && faccessat(AT_FDCWD, python, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(err, ERR_USAGE, "%s '%.160s' is no virtual environment: it has no bin/python3", option, typed);
	if (strncmp(option, "--", 2) != 0 && folder_is_homelike(folder)) /* it was not named, only found */
		return err_set(err, ERR_USAGE, "%s '%.160s' is a home or a folder of many programs, and cells would be shown all of it; "
			"name it by --venv or --engine if it is meant", option, typed);
	it->engines[it->engine_count++] = (struct function_engine){function_language(language), ptr_take(&folder), st.st_dev, st.st_ino};
	return 0;
}

static int engine_named(struct function_setup *it, const char *typed, struct err *err)
{
	const char *equals = strchr(typed, '=');
	own(freep) char *name = xfmt("%.*s", equals ? (int)(equals - typed) : 0, typed);

	if (!function_language(name))
		return err_set(err, ERR_USAGE, "--engine '%.100s' is not LANGUAGE=DIR, such as python=.venv", typed);
	return engine_add(it, "--engine", name, equals + 1, err);
}

/* The folder of the user's own engines; NULL: there is none. What is relative would be the project's. */
static char *engines_of_user(void)
{
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

	if (data && *data)
		return *data == '/' ? xfmt("%s/hotcell/engines", data) : NULL;
	return home && *home == '/' ? xfmt("%s/.local/share/hotcell/engines", home) : NULL;
}

static int engine_below(struct function_setup *it, const char *folder, struct err *err)
{
	for (size_t i = 0; folder && function_language_names[i]; i++) {
		own(freep) char *path = xfmt("%s/%s", folder, function_language_names[i]);
		if (access(path, F_OK) == 0 && engine_add(it, "the engine in", function_language_names[i], path, err) < 0)
			return -1;
	}
	return 0;
}

static bool is_fuzzed(const struct function_setup *it, const char *language)
{
	for (size_t i = 0; i < it->targets.count; i++)
		if (strcmp(it->targets.list[i].language, language) == 0)
			return true;
	return false;
}

/* An engine is mounted, and runs: who can write to a project must not choose it by putting a folder or a link there. So what lies in
 * a project is used when it is named, and how that is done is said once. */
static void tell_engines(const struct function_setup *it)
{
	const char *venv = ".venv/bin/python3";

	if (it->cli->run.quiet)
		return;
	if (is_fuzzed(it, "python") && !function_engine(it->engines, "python") && faccessat(AT_FDCWD, venv, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		cli_say("found .venv but did not use it: pass --venv .venv to use it");
	for (size_t i = 0; function_language_names[i]; i++) {
		const char *language = function_language_names[i];
		own(freep) char *path = xfmt("%s/engines/%s", it->state, language);
		if (is_fuzzed(it, language) && !function_engine(it->engines, language) && access(path, F_OK) == 0)
			cli_say("found the engine '%.200s' but did not use it: pass --engine %s=DIR to use it", path, language);
	}
}

/* What is named; else what is active; else what was installed for the user. */
static int take_engines(struct function_setup *it, struct err *err)
{
	const char *active = getenv("VIRTUAL_ENV");
	own(freep) char *user = engines_of_user();

	if (it->cli->venv && engine_add(it, "--venv", "python", it->cli->venv, err) < 0)
		return -1;
	for (size_t i = 0; i < it->cli->engines.count; i++)
		if (engine_named(it, it->cli->engines.items[i], err) < 0)
			return -1;
	/* a relative one would be the project's */
	if (active && *active == '/' && engine_add(it, "$VIRTUAL_ENV", "python", active, err) < 0)
		return -1;
	if (engine_below(it, user, err) < 0)
		return -1;
	tell_engines(it);
	return 0;
}

/* A target is called by its path below the project, the folder that holds the state: two files of one name are two. */
static void name_targets(struct function_setup *it)
{
	const char *slash = strrchr(it->state, '/');
	size_t len = slash ? (size_t)(slash - it->state) : 0;

	for (size_t i = 0; i < it->targets.count; i++) {
		struct function_target *target = &it->targets.list[i];
		own(freep) char *path = xfmt("%s/%s", target->root, target->file);
		const char *base = strrchr(path, '/') + 1;
		size_t size = strlen(base);
		if (!len || strncmp(path, it->state, len) != 0 || path[len] != '/' || strncmp(target->name, base, size) != 0)
			continue;
		char *name = xfmt("%s%s", path + len + 1, target->name + size);
		free(target->name);
		target->name = name;
	}
}

void function_setup_rename(struct function_setup *it, const char *name)
{
	free(it->targets.list[0].name);
	it->targets.list[0].name = xstrdup(name);
}

/* What is named below this folder is of this project: a link in it would else choose another folder
 * of the user's that cells are shown. */
static int check_way(const char *typed, const struct function_target *target, struct err *err)
{
	own(freep) char *path = xfmt("%s/%s", target->root, target->file);
	own(buf_done) struct buf shown = {0}, whole = {0};

	if (*typed == '/' || path_goes_up(typed) || path_is_here(path, strlen(path)))
		return 0;
	term_line(typed, strlen(typed), 120, &shown);
	term_line(path, strlen(path), 200, &whole);
	return err_set(err, ERR_USAGE,
		"'%s' is behind a link that leads out of this folder: name what it points to, '%s'",
		buf_text(&shown), buf_text(&whole));
}

static int take_target(struct function_setup *it, const char *typed, struct err *err)
{
	size_t before = it->targets.count;

	if (function_targets_read(typed, &it->targets, err) < 0)
		return -1;
	for (size_t i = before; i < it->targets.count; i++) {
		strings_add(&it->typed, typed);
		if (check_way(typed, &it->targets.list[i], err) < 0)
			return -1;
	}
	return 0;
}

static int take_targets(struct function_setup *it, char *const *words, struct err *err)
{
	size_t count = 0;

	for (; words && words[count]; count++)
		if (take_target(it, words[count], err) < 0)
			return -1;
	for (size_t i = 0; i < it->cli->targets.count; i++, count++)
		if (take_target(it, it->cli->targets.items[i], err) < 0)
			return -1;
	if (!count)
		return err_set(err, ERR_USAGE, "'hotcell fuzz function' needs a target: FILE:FUNCTION, a harness's file, or a folder");
	return it->cli->root ? function_targets_root(&it->targets, it->cli->root, err) : 0;
}

/* Whoever stands in a folder expects that to be shown, and no other: each one that is not at or below it, once; and a project
 * that may begin above what is shown. */
static void tell_roots(const struct function_setup *it)
{
	for (size_t i = 0; !it->cli->run.quiet && i < it->targets.count; i++) {
		const struct function_target *target = &it->targets.list[i];
		own(buf_done) struct buf root = {0}, above = {0};
		size_t len = it->here ? strlen(it->here) : 0;
		bool here = len && strncmp(target->root, it->here, len) == 0 && (target->root[len] == '/' || target->root[len] == '\0');
		if (i && strcmp(target->root, it->targets.list[i - 1].root) == 0)
			continue;
		term_line(target->root, strlen(target->root), 200, &root);
		if (!here && !target->alone)
			cli_say("mounted the folder '%s' read-only: it is not below the current folder", buf_text(&root));
		if (!target->above)
			continue;
		term_line(target->above, strlen(target->above), 200, &above);
		cli_say("mounted only '%s': if the project begins at '%s', name it by --root", buf_text(&root), buf_text(&above));
	}
}

/* Where the engines may take every processor of the machine, whoever sits at it comes first. */
static unsigned nice_of(const struct function_cli *cli, const struct cell_limits *limits)
{
	cpu_set_t ours;
	unsigned count = sched_getaffinity(0, sizeof(ours), &ours) == 0 ? (unsigned)CPU_COUNT(&ours) : 1;

	if (cli->nice != NICE_NOT_GIVEN)
		return (unsigned)cli->nice;
	return cli->workers * limits->cpus_milli >= (uint64_t)count * 1000 ? NICE_CROWDED : 0;
}

static enum sanitizer sanitizer_of(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(sanitizers); i++)
		if (strcmp(sanitizers[i], name) == 0)
			return (enum sanitizer)i;
	return SANITIZER_DEFAULT;
}

/* Before anything is built. With a schema there is another reader, which takes other forms, too. */
static int check_dict(const struct function_cli *cli, struct err *err)
{
	own(buf_done) struct buf text = {0};

	if (!cli->dict || cli->schema)
		return 0;
	if (fs_read_small(AT_FDCWD, cli->dict, DICT_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--dict");
	}
	return dict_check(buf_text(&text), text.len, cli->dict, err) < 0 ? err_wrap(err, "--dict") : 0;
}

int function_setup_build(struct function_setup *ret, const struct function_cli *cli, char *const *words,
	const struct cli_args *args, struct err *err)
{
	static char program[] = "true";
	static char *const command[] = {program, NULL}; /* each job brings its own */

	*ret = (struct function_setup){.cli = cli, .here = getcwd(NULL, 0)};
	if (backend_choose(&cli->run, &ret->backend, err) < 0 || check_options(cli, err) < 0 ||
		take_targets(ret, words, err) < 0 || take_folder("--seed-corpus", cli->seed_corpus, &ret->seed_corpus, err) < 0 ||
		check_dict(cli, err) < 0 ||
		fuzz_manifests(cli->state, &cli->run, err) < 0 || run_spec_build(&ret->built, &cli->run, command, err) < 0 ||
		check_bare(ret->backend, &ret->built.spec, err) < 0 ||
		fuzz_state_open(cli->state, cli->run.audit, ret->backend, &ret->built.spec, &ret->state, &ret->store_folder, &ret->audit, err) < 0 ||
		take_engines(ret, err) < 0)
		return -1;
	name_targets(ret);
	tell_roots(ret);
	fuzz_flags(args, &ret->flags, &ret->names);
	ret->options = (struct function_options){
		.targets = &ret->targets,
		.spec = &ret->built.spec,
		.memory_fixed = fuzz_given(args, "memory") || cli->run.used,
		.state = ret->state,
		.duration_ns = cli->duration_ms * NS_PER_MS,
		.max_execs = cli->max_execs,
		.max_findings = (unsigned)cli->max_findings,
		.input_ms = cli->input_ms,
		.flags = &ret->flags,
		.workers = (unsigned)cli->workers,
		.seed = cli->seed,
		.seed_corpus = ret->seed_corpus,
		.corpus_max = cli->corpus_max,
		.build_max = cli->build_max,
		.dict = cli->dict,
		.sanitizer = sanitizer_of(cli->sanitizer),
		.afl = cli->fuzzer && strcmp(cli->fuzzer, "afl++") == 0,
		.expect = cli->expect.items,
		.build_flags = cli->build_flags.items,
		.no_deepen = cli->no_deepen,
		.core = cli->core,
		.serve = cli->schema != NULL,
		.engines = ret->engines,
		.coverage = cli->no_coverage || cli->schema ? COVER_NONE : cli->coverage ? COVER_WHOLE : COVER_BRIEF,
		.nice = nice_of(cli, &ret->built.spec.limits),
		.bare = !cell_backend_can(ret->backend, CELL_MOUNTS),
	};
	return 0;
}

static void on_signal(void *data, int number)
{
	struct function_setup *it = data;

	if (!it->signal) {
		it->signal = number;
		return; /* what there is is said, and kept */
	}
	redraw_end();
	cli_say("stopped at once; what was confirmed is kept");
	_exit(128 + number); /* what runs in cells dies with us */
}

int function_setup_open(struct function_setup *it, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, 0};

	hidden_set(&(struct secrets){.env = it->built.spec.env, .names = it->cli->run.secret_env.items});
	environment_forget();
	it->options.hidden = hidden_redactor();
	if (it->options.bare)
		backend_warn_none();
	it->loop = loop_open(err);
	if (!it->loop || signals_take(it->loop, ours, on_signal, it, err) < 0)
		return -1;
	it->pool = cell_pool_open(it->backend, it->loop, err);
	if (!it->pool)
		return -1;
	backend_say_warnings(it->pool);
	fuzz_cells_watch(&it->cells, &it->audit, it->pool);
	return 0;
}

static const struct function_target *target_of(const struct function_setup *it, const struct finding *finding, size_t *ret_index)
{
	for (size_t i = 0; i < it->targets.count; i++) {
		*ret_index = i;
		if (strcmp(it->targets.list[i].name, finding->target) == 0 && strcmp(it->targets.list[i].function, finding->subject) == 0)
			return &it->targets.list[i];
	}
	return NULL;
}

/* From here, where it lies here. */
static char *from_here(const struct function_setup *it, const char *path)
{
	size_t len = strlen(it->here ? it->here : "");

	return xstrdup(len > 1 && strncmp(path, it->here, len) == 0 && path[len] == '/' ? path + len + 1 : path);
}

void function_setup_finish(const struct function_setup *it, struct finding *finding)
{
	size_t index;
	const struct function_target *target = target_of(it, finding, &index);

	if (finding->file && *finding->file == '/') {
		char *shown = fuzz_file_shown(it->state, it->here, finding->file);
		free(finding->file);
		finding->file = shown;
	}
	strings_done(&finding->flags);
	strings_copy(&finding->flags, &it->flags, SIZE_MAX);
	if (it->options.bare) {
		if (!strings_have(&finding->flags, "--no-sandbox") && !strings_have(&finding->flags, "--backend=none"))
			strings_add(&finding->flags, "--no-sandbox"); /* the environment said so */
		strings_add(&finding->evidence, "found without a sandbox");
	}
	strings_done(&finding->environment);
	strings_copy(&finding->environment, &it->names, SIZE_MAX);
	if (it->cli->run.profile && !finding->profile)
		finding->profile = xstrdup(it->cli->run.profile);
	if (!target)
		return;
	own(freep) char *path = xfmt("%s/%s", target->root, target->file), *named = from_here(it, path);
	own(freep) char *word = target->harness ? xstrdup(named) : xfmt("%s:%s", named, target->function);
	char *const words[] = {path, NULL};
	strings_done(&finding->command);
	strings_add(&finding->command, word);
	if (!finding->target_sha256)
		finding->target_sha256 = fuzz_target_sum(words);
}
