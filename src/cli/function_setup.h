/* From the options of `hotcell fuzz function` to cells that can be made: for fuzzing, and for doing a finding again. */
#ifndef HOTCELL_CLI_FUNCTION_SETUP_H
#define HOTCELL_CLI_FUNCTION_SETUP_H

#include "cli/fuzz_cells.h"
#include "cli/fuzz_options.h"
#include "fuzz/function/function.h"

struct function_cli {
	struct run_options run; /* first: its rows are shared with `hotcell run` */
	struct cli_list targets, expect, engines, build_flags;
	uint64_t duration_ms, max_execs, max_findings, seed, workers, input_ms, nice, corpus_max, build_max;
	const char *seed_corpus, *dict, *sanitizer, *fuzzer, *venv, *fail_on, *baseline, *sarif, *state, *coverage_file, *schema, *export_to, *root;
	bool stats_json, coverage, no_coverage, no_deepen, list, core;
};

#define ENGINES_MAX 8 /* languages */
#define NICE_NOT_GIVEN UINT64_MAX

struct function_setup {
	const struct function_cli *cli;
	struct function_targets targets;
	struct function_options options;
	const char *backend;
	struct run_spec built;
	struct loop *loop;
	struct cell_pool *pool;
	struct run_audit audit;
	struct fuzz_cells cells; /* in it */
	char *state, *store_folder, *seed_corpus, *here;
	struct function_engine engines[ENGINES_MAX + 1];
	size_t engine_count;
	struct strings flags, names; /* as a finding keeps them */
	struct strings typed; /* the words of the targets: one each, as in `targets`, or the folder's */
	int signal; /* that told us to end; 0: none */
};

/* What can be judged without running anything; makes the state folder. */
MUST_CHECK int function_setup_build(struct function_setup *ret, const struct function_cli *cli, char *const *words, const struct cli_args *args,
	struct err *err);
MUST_CHECK int function_setup_open(struct function_setup *it, struct err *err);
void function_setup_done(struct function_setup *it);
/* Whether its target is another than the one that it was found in. */
bool function_is_changed(const struct function_setup *it, const struct finding *finding);
/* The only target is called so, as in a finding that is tried again, wherever that is. */
void function_setup_rename(struct function_setup *it, const char *name);
/* A finding as it goes to the store. */
void function_setup_finish(const struct function_setup *it, struct finding *finding);

#endif
