#include "cli/cmd/fuzz/function_schema.h"

#include <string.h>

#include "base/clock.h"
#include "cli/fuzz_kept.h"
#include "cli/fuzz_setup.h"

#define TOLD_NS (5 * NS_PER_S)

struct schema_fuzz {
	struct function_setup function;
	struct function_serve *serve; /* NULL: not built yet */
	struct fuzz_cli cli;
	struct cli_args args; /* those that were typed, with a command */
	char *kind, *file;
	uint64_t told_ns; /* of its building, that it was told of */
};

static void schema_fuzz_done(struct schema_fuzz *it)
{
	it->serve = function_serve_free(it->serve);
	function_setup_done(&it->function);
	free(it->kind);
	free(it->file);
}

/* A sanitizer names its frames with a program of its own. */
static const char *symbolizers[] = {
	"llvm-symbolizer", "llvm-symbolizer-14", "llvm-symbolizer-16", "llvm-symbolizer-19", "addr2line", NULL};

static char program[] = "true";
static char *command[] = {program, NULL}; /* the real one is known when it is built */

static int setup_build(
	struct schema_fuzz *it, const struct function_cli *cli, const struct cli_args *args, struct err *err)
{
	if (cli->seed_corpus || cli->stats_json || cli->no_deepen || cli->coverage || cli->coverage_file)
		return err_set(err, ERR_USAGE,
			"--seed-corpus, --stats-json, --no-deepen and --coverage are of engines: leave them out with --schema");
	if (function_setup_build(&it->function, cli, args->words, args, err) < 0)
		return -1;
	run_audit_done(&it->function.audit); /* fuzz_setup has its own */
	if (it->function.targets.count != 1)
		return err_set(err, ERR_USAGE, "--schema is of one function, and %zu are named",
			it->function.targets.count);
	const struct function_target *target = &it->function.targets.list[0];
	fuzz_options_defaults(&it->cli);
	it->cli.run = cli->run;
	it->cli.run.limits.timeout_ms = 0;
	it->cli.schema = cli->schema;
	it->cli.dict = cli->dict;
	it->cli.duration_ms = cli->duration_ms;
	it->cli.max_calls = cli->max_execs;
	it->cli.seed = cli->seed;
	it->cli.workers = cli->workers;
	it->cli.sequence = 1; /* one function: none takes what another answers */
	it->cli.fail_on = cli->fail_on;
	it->cli.baseline = cli->baseline;
	it->cli.sarif = cli->sarif;
	it->cli.state = cli->state;
	it->cli.name = target->name;
	it->file = xfmt("%s/%s", target->root, target->file);
	it->cli.declared = it->file;
	it->cli.allow_spawn = (struct cli_list){symbolizers, ARRAY_LEN(symbolizers) - 1};
	it->args = *args;
	it->args.command = command;
	it->kind = xfmt("function-%s", target->language);
	return 0;
}

static bool on_stop(void *data)
{
	return ((const struct schema_fuzz *)data)->function.signal != 0;
}

/* What takes long before the first call. */
static void on_progress(void *data, const struct function_progress *progress)
{
	struct schema_fuzz *it = data;

	if (it->cli.run.quiet || !progress->doing || progress->ns < it->told_ns + TOLD_NS)
		return;
	it->told_ns = progress->ns;
	cli_say("%s %s, %llu s", progress->doing, it->cli.name, (unsigned long long)(progress->ns / NS_PER_S));
}

/* Builds it, in cells of a pool of its own, and puts what the cell needs in the place of the command. */
static int on_ready(void *data, struct fuzz_setup *setup, struct err *err)
{
	struct schema_fuzz *it = data;
	struct cell_spec *spec = &setup->built.spec;

	it->function.options.stop = on_stop;
	it->function.options.progress = on_progress;
	it->function.options.data = it;
	if (function_setup_open(&it->function, err) < 0)
		return -1;
	fuzz_cells_watch(&setup->cells, &setup->audit, it->function.pool); /* its own log is closed */
	cell_pool_warn(it->function.pool, NULL, NULL); /* the setup's pool does */
	it->serve = function_serve_open(&it->function.options, it->function.loop, it->function.pool, err);
	it->function.pool = cell_pool_free(it->function.pool);
	it->function.loop = loop_free(it->function.loop);
	setup->signal = it->function.signal;
	if (!it->serve)
		return -1;
	const struct cell_spec *built = function_serve_spec(it->serve);
	spec->argv = built->argv;
	spec->env = built->env;
	spec->cwd = built->cwd;
	spec->mounts = built->mounts;
	spec->mount_count = built->mount_count;
	spec->limits.memory = built->limits.memory;
	setup->kind = it->kind;
	setup->subject = it->function.targets.list[0].function;
	free(setup->sum);
	setup->sum = NULL; /* of the command; the function's is known to it */
	return 0;
}

static void on_finish(void *data, struct finding *finding)
{
	struct schema_fuzz *it = data;

	free(finding->kind);
	finding->kind = xstrdup(it->kind);
	free(finding->target_sha256);
	finding->target_sha256 = NULL; /* of what was built; the source's tells whether it changed */
	function_setup_finish(&it->function, finding);
}

int function_schema_run(const struct function_cli *cli, const struct cli_args *args)
{
	own(schema_fuzz_done) struct schema_fuzz it = {0};
	struct err err = {0};

	if (setup_build(&it, cli, args, &err) < 0)
		return fuzz_setup_fail(&err);
	const struct fuzz_more more = {.ready = on_ready, .finish = on_finish, .data = &it};
	return fuzz_all(&it.cli, TARGET_LINES, &it.args, &more);
}

static bool repro_stop(void *data)
{
	return ((const struct fuzz_setup *)data)->signal != 0;
}

int function_schema_repro(const struct function_cli *cli, const struct cli_args *args, struct function_retry *retry,
	struct repro *ret, struct err *err)
{
	own(schema_fuzz_done) struct schema_fuzz it = {0};
	own(fuzz_setup_done) struct fuzz_setup setup = {0};

	if (setup_build(&it, cli, args, err) < 0)
		return -1;
	it.cli.name = retry->finding->target;
	it.cli.seed = retry->finding->seed;
	it.cli.replays = retry->times;
	int rc = fuzz_setup_build(&setup, &it.cli, TARGET_LINES, &it.args, err) < 0 ||
			on_ready(&it, &setup, err) < 0 || fuzz_setup_open(&setup, err) < 0
		? -1
		: 0;
	setup.fuzz.stop = repro_stop;
	setup.fuzz.data = &setup;
	if (rc == 0)
		rc = fuzz_repro(&setup.fuzz, retry->finding, retry->times, ret, err);
	retry->signal = setup.signal;
	retry->changed = function_is_changed(&it.function, retry->finding);
	return rc < 0 ? -1
		      : fuzz_log_again(setup.audit.audit, "repro", retry->finding, repro_name(ret->verdict), err);
}
