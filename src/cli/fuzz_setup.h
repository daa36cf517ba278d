/* From the options of `hotcell fuzz` to a target that is open in its cells: for fuzzing it, and for doing a finding again.
 *
 * Order: everything that the user named is read and judged; then the environment is forgotten; then the pool, which forks;
 * what is planted; the target. */
#ifndef HOTCELL_CLI_FUZZ_SETUP_H
#define HOTCELL_CLI_FUZZ_SETUP_H

#include "cli/fuzz_cells.h"
#include "cli/fuzz_options.h"
#include "fuzz/fuzz.h"

/* Exit codes of `fuzz`, `repro` and `findings minimise`. */
enum { FUZZ_EXIT_FINDINGS = 1, FUZZ_EXIT_NOTHING = 3, FUZZ_EXIT_BROKEN = 4 };

struct fuzz_setup {
	const struct fuzz_cli *cli;
	enum target_mode mode;
	const char *kind; /* of its findings */
	const char *subject; /* of a tool: its name; NULL: the target's */
	char *const *command;
	const char *backend;
	struct run_spec built;
	struct loop *loop;
	struct cell_pool *pool;
	bool leaving; /* this process ends with it: what is left of dead cells goes by itself */
	struct plant *plant; /* NULL: nothing is planted */
	struct target *target;
	struct run_audit audit;
	struct fuzz_cells cells; /* in it */
	char *state, *store_folder;
	char *sum; /* of the target's file; NULL: not known */
	struct fuzz_options fuzz; /* all but the limits and what is told */
	int signal; /* that told us to end; 0: none */
	struct strings gaps; /* that follow from the options */
	/* private */
	struct target_options options;
	struct run_options run; /* as typed, with the folder that is shown */
	struct cli_list mounts;
	char *here;
	struct buf schema, output_schema;
	struct strings dict;
	const char **words, **environment;
	struct allowed allowed;
	struct strings flags, names;
};

/* What can be judged without running anything; makes the state folder. `args` are those that were typed. */
MUST_CHECK int fuzz_setup_build(struct fuzz_setup *ret, const struct fuzz_cli *cli, enum target_mode mode, const struct cli_args *args,
	struct err *err);
/* Starts it. ERR_MISSING: it offers nothing. */
MUST_CHECK int fuzz_setup_open(struct fuzz_setup *it, struct err *err);
void fuzz_setup_done(struct fuzz_setup *it);

/* Where what is fuzzed is more than a command: what is done between the two, and with a finding before it goes to the store. */
struct fuzz_more {
	int (*ready)(void *data, struct fuzz_setup *setup, struct err *err);
	void (*finish)(void *data, struct finding *finding);
	void *data;
};
/* All of it: builds, opens, fuzzes, reports. `more` may be NULL. Returns the exit code. */
int fuzz_all(const struct fuzz_cli *cli, enum target_mode mode, const struct cli_args *args, const struct fuzz_more *more);

/* What an error of the two makes the program end with; says it. */
int fuzz_setup_fail(const struct err *err);
/* Finishes a finding as it goes to the store: its file in the user's tree, its target's sum, its evidence without what the user
 * gave as a secret. */
void fuzz_setup_finish(const struct fuzz_setup *it, struct finding *finding);
/* By way of its capsule. */
MUST_CHECK int fuzz_copy(const struct finding *finding, struct finding *ret, struct err *err);
/* A file of the host, from the folder that holds the state folder where both it and `here`, the current folder, are in it: so
 * whoever exports finds it, wherever it was found. Else as it is. The caller frees. */
char *fuzz_file_shown(const char *state, const char *here, const char *file);
/* Where the store is, as a command names it: from here if it lies here. The caller frees. */
char *fuzz_store_shown(const char *folder);
/* The state folder, which is made; where findings are in it; its audit log, or the one that is named. */
MUST_CHECK int fuzz_state_open(const char *state, const char *log, const char *backend, const struct cell_spec *spec, char **ret_state,
	char **ret_store, struct run_audit *ret_audit, struct err *err);

/* --manifest. What is refused for it is in the same log. */
MUST_CHECK int fuzz_manifests(const char *state, const struct run_options *run, struct err *err);

#endif
