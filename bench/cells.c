/* cells: measures cells beside plain spawns and other sandboxes. `bench/run` calls it and makes the
 *table; by hand it is one measurement a call, as one JSON object on stdout:
 *
 *	cells steady --program build/bench/true-static --bwrap bwrap
 *
 * Theory of operation. One process is the supervisor of its cells (it uses cell/cell.h as any
 *program may) and the parent of the plain programs it compares them with. Contenders take turns in
 *short blocks, so that what else the machine does hits all of them alike; a cell's time is from
 *cell_start to its result with the cell freed, a program's from posix_spawn (vfork and exec) to
 *waitpid. Nothing here asserts a time. */
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/cli.h"

/* clang-format off */
#define FILE_OPTION(field, help_) \
	{.name = #field, .value = "PATH", .kind = CLI_TEXT, CLI_INTO(struct bench_options, field), \
		.help = help_}
#define COUNT_OPTION(field, most_, fallback_, help_) \
	{.name = #field, .value = "N", .kind = CLI_COUNT, CLI_INTO(struct bench_options, field), \
		.max = most_, .fallback = fallback_, .help = help_}

static const struct cli_option options_table[] = {
	FILE_OPTION(program, "the program to start, on the host"),
	FILE_OPTION(work, "the program 'work', on the host"),
	FILE_OPTION(hotcell, "hotcell itself, for cold starts"),
	FILE_OPTION(bwrap, "bubblewrap, to compare with"),
	FILE_OPTION(folder, "a folder to mount"),
	{.name = "kind", .value = "NAME", .kind = CLI_TEXT, CLI_INTO(struct bench_options, kind),
		.choices = "syscalls programs search starts getpid cpu", .hint = CLI_HINT_CHOICE, .help = "what 'work' does"},
	COUNT_OPTION(blocks, 10000, "10", "turns that each contender has"),
	COUNT_OPTION(count, 1000000000, "100", "plain spawns a turn; rounds of 'work'"),
	COUNT_OPTION(cells, 100000, "100", "cells a turn"),
	COUNT_OPTION(others, 100000, "20", "runs of other sandboxes a turn"),
	COUNT_OPTION(warm, 1000, "2", "cells kept ready"),
	COUNT_OPTION(workers, 1000, "2", "cells at once"),
	COUNT_OPTION(rounds, 1000, "3", "repetitions"),
	COUNT_OPTION(most, 1000, "50", "the highest number of ready or live cells"),
	{.name = "time", .value = "TIME", .kind = CLI_DURATION, CLI_INTO(struct bench_options, ms),
		.fallback = "2s", .help = "how long each contender runs"},
	{.name = "cpus", .value = "N", .kind = CLI_CPUS, CLI_INTO(struct bench_options, cpus),
		.help = "CPUs of the cell, where the default is not wanted"},
	{.name = "most-memory", .value = "SIZE", .kind = CLI_SIZE,
		CLI_INTO(struct bench_options, limit_bytes), .fallback = "4G",
		.help = "stop before live cells take more"},
	{0},
};
/* clang-format on */

static void defaults(void *data)
{
	*(struct bench_options *)data = (struct bench_options){
		.blocks = 10,
		.count = 100,
		.cells = 100,
		.others = 20,
		.warm = 2,
		.workers = 2,
		.rounds = 3,
		.most = 50,
		.ms = 2000,
		.limit_bytes = UINT64_C(4) << 30,
	};
}

enum {
	NEEDS_PROGRAM = 1,
	NEEDS_HOTCELL = 2,
	NEEDS_WORK = 4,
	NEEDS_KIND = 8,
	NEEDS_FOLDER = 16,
	NEEDS_COMMAND = 32,
};

/* A new measurement is one function and one row. */
static const struct measurement {
	const char *name, *summary;
	unsigned needs;
	measure_fn *measure;
} measurements[] = {
	{"steady", "cells one after another, beside plain spawns and bwrap", NEEDS_PROGRAM,
		measure_steady},
	{"cold", "whole processes: hotcell run beside bwrap", NEEDS_HOTCELL, measure_cold},
	{"rate", "cells a second, several at once, beside plain spawns", NEEDS_PROGRAM,
		measure_rate},
	{"flood", "cells, several at once, until SIGTERM", NEEDS_PROGRAM, measure_flood},
	{"idle", "memory of a ready cell", NEEDS_PROGRAM, measure_idle},
	{"work", "work inside a cell beside the same outside", NEEDS_WORK | NEEDS_KIND,
		measure_work},
	{"live", "a new cell's cost beside 1, 10, 100 and 1000 live ones",
		NEEDS_PROGRAM | NEEDS_WORK, measure_live},
	{"mounts", "a new cell's cost with 1, 10 and 50 mounts", NEEDS_PROGRAM | NEEDS_FOLDER,
		measure_mounts},
	{"command", "any command as a whole process", NEEDS_COMMAND, measure_command},
};
static const struct measurement *chosen;

static int check_needs(const struct bench_options *options, unsigned needs)
{
	const struct {
		unsigned bit;
		const char *value, *name;
	} given[] = {
		{NEEDS_PROGRAM, options->program, "--program"},
		{NEEDS_HOTCELL, options->hotcell, "--hotcell"},
		{NEEDS_WORK, options->work, "--work"},
		{NEEDS_KIND, options->kind, "--kind"},
		{NEEDS_FOLDER, options->folder, "--folder"},
	};

	for (size_t i = 0; i < ARRAY_LEN(given); i++) {
		if ((needs & given[i].bit) && !given[i].value) {
			cli_say("%s is missing", given[i].name);
			return EXIT_USAGE;
		}
	}
	return 0;
}

static int run(void *options, const struct cli_args *args)
{
	own(json_done) struct json json = {0};
	struct err err = {0};
	int code = check_needs(options, chosen->needs);

	if (code)
		return code;
	json_open(&json, '{');
	if (chosen->measure(options, args->command, &json, &err) < 0)
		return cli_fail(&err);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

/* The command line's tables, used for one verb at a time; its list of verbs is hotcell's affair. */
const struct cli_verb *const cli_verbs[] = {NULL};

static int usage(void)
{
	fputs("usage: cells MEASUREMENT [options]; 'cells MEASUREMENT --help' lists them\n\n", stderr);
	for (size_t i = 0; i < ARRAY_LEN(measurements); i++)
		fprintf(stderr, "  %-10s %s\n", measurements[i].name, measurements[i].summary);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(measurements); i++)
		if (strcmp(measurements[i].name, argv[1]) == 0)
			chosen = &measurements[i];
	if (!chosen)
		return usage();
	bool takes_command = (chosen->needs & NEEDS_COMMAND) != 0;
	const struct cli_verb verb = {
		.name = chosen->name,
		.summary = chosen->summary,
		.usage = takes_command ? "[options] -- COMMAND [ARGUMENT...]" : "[options]",
		.options = options_table,
		.options_size = sizeof(struct bench_options),
		.defaults = defaults,
		.takes_command = takes_command,
		.run = run,
	};
	return cli_run(&verb, argc - 2, argv + 2);
}
