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

#include "cli/cli.h"

static const struct cli_option options_table[] = {
	{.name = "program",
		.value = "FILE",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, program),
		.help = "the program to start, on the host"},
	{.name = "work",
		.value = "FILE",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, work),
		.help = "the program 'work', on the host"},
	{.name = "kind",
		.value = "NAME",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, kind),
		.help = "what 'work' does: syscalls, getpid or cpu"},
	{.name = "hotcell",
		.value = "FILE",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, hotcell),
		.help = "hotcell itself, for cold starts"},
	{.name = "bwrap",
		.value = "FILE",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, bwrap),
		.help = "bubblewrap, to compare with"},
	{.name = "folder",
		.value = "DIR",
		.kind = CLI_TEXT,
		CLI_INTO(struct bench_options, folder),
		.help = "a folder to mount"},
	{.name = "blocks",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, blocks),
		.min = 1,
		.max = 10000,
		.fallback = "10",
		.help = "turns that each contender has"},
	{.name = "count",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, count),
		.min = 0,
		.max = 1000000000,
		.fallback = "100",
		.help = "plain spawns a turn; rounds of 'work'"},
	{.name = "cells",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, cells),
		.min = 0,
		.max = 100000,
		.fallback = "100",
		.help = "cells a turn"},
	{.name = "others",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, others),
		.min = 0,
		.max = 100000,
		.fallback = "20",
		.help = "runs of other sandboxes a turn"},
	{.name = "warm",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, warm),
		.min = 0,
		.max = 1000,
		.fallback = "2",
		.help = "cells kept ready"},
	{.name = "workers",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, workers),
		.min = 1,
		.max = 1000,
		.fallback = "2",
		.help = "cells at once"},
	{.name = "rounds",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, rounds),
		.min = 1,
		.max = 1000,
		.fallback = "3",
		.help = "repetitions"},
	{.name = "most",
		.value = "N",
		.kind = CLI_COUNT,
		CLI_INTO(struct bench_options, most),
		.min = 1,
		.max = 1000,
		.fallback = "50",
		.help = "the highest number of ready or live cells"},
	{.name = "time",
		.value = "TIME",
		.kind = CLI_DURATION,
		CLI_INTO(struct bench_options, ms),
		.fallback = "2s",
		.help = "how long each contender runs"},
	{.name = "cpus",
		.value = "N",
		.kind = CLI_CPUS,
		CLI_INTO(struct bench_options, cpus),
		.help = "CPUs of the cell, where the default is not wanted"},
	{.name = "most-memory",
		.value = "SIZE",
		.kind = CLI_SIZE,
		CLI_INTO(struct bench_options, limit_bytes),
		.fallback = "4G",
		.help = "stop before live cells take more"},
	{0},
};

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

static int report(measure_fn *measure, const struct bench_options *options, char *const *command)
{
	own(json_done) struct json json = {0};
	struct err err = {0};

	json_open(&json, '{');
	if (measure(options, command, &json, &err) < 0)
		return cli_fail(&err);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

/* A measurement is one row: its name, what it needs, and the function that makes it. */
#define MEASUREMENTS(row)                                                                          \
	row(steady, "cells one after another, beside plain spawns and bwrap", NEEDS_PROGRAM) row(  \
		cold, "whole processes: hotcell run beside bwrap", NEEDS_HOTCELL) row(rate,        \
		"cells a second, several at once, beside plain spawns",                            \
		NEEDS_PROGRAM) row(idle, "memory of a ready cell", NEEDS_PROGRAM)                  \
		row(work, "work inside a cell beside the same outside", NEEDS_WORK | NEEDS_KIND)   \
			row(live, "a new cell's cost beside 1, 10, 100 and 1000 live ones",        \
				NEEDS_PROGRAM | NEEDS_WORK) row(mounts,                            \
				"a new cell's cost with 1, 10 and 50 mounts",                      \
				NEEDS_PROGRAM | NEEDS_FOLDER)                                      \
				row(command, "any command as a whole process", NEEDS_COMMAND)

enum {
	NEEDS_PROGRAM = 1,
	NEEDS_HOTCELL = 2,
	NEEDS_WORK = 4,
	NEEDS_KIND = 8,
	NEEDS_FOLDER = 16,
	NEEDS_COMMAND = 32,
};

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

#define VERB(name_, summary_, needs)                                                               \
	static int run_##name_(void *options, const struct cli_args *args)                         \
	{                                                                                          \
		int code = check_needs(options, needs);                                            \
		return code ? code : report(measure_##name_, options, args->command);              \
	}                                                                                          \
	static const struct cli_verb verb_##name_ = {                                              \
		.name = #name_,                                                                    \
		.summary = summary_,                                                               \
		.usage = (needs)&NEEDS_COMMAND ? "[options] -- COMMAND [ARGUMENT...]"              \
					       : "[options]",                                      \
		.options = options_table,                                                          \
		.options_size = sizeof(struct bench_options),                                      \
		.defaults = defaults,                                                              \
		.takes_command = ((needs)&NEEDS_COMMAND) != 0,                                     \
		.run = run_##name_,                                                                \
	};
MEASUREMENTS(VERB)

#define ADDRESS(name_, summary_, needs) &verb_##name_,
const struct cli_verb *const cli_verbs[] = {MEASUREMENTS(ADDRESS) NULL};

const struct cli_verb *cli_verb_find(const char *name)
{
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++)
		if (strcmp((*verb)->name, name) == 0)
			return *verb;
	return NULL;
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	const struct cli_verb *verb = argc < 2 ? NULL : cli_verb_find(argv[1]);
	if (!verb) {
		fputs("usage: cells MEASUREMENT [options]; 'cells MEASUREMENT --help' lists them\n\n",
			stderr);
		for (const struct cli_verb *const *each = cli_verbs; *each; each++)
			fprintf(stderr, "  %-10s %s\n", (*each)->name, (*each)->summary);
		return EXIT_USAGE;
	}
	return cli_run(verb, argc - 2, argv + 2);
}
