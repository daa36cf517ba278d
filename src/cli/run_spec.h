/* From the options of `hotcell run` to a cell_spec. */
#ifndef HOTCELL_CLI_RUN_SPEC_H
#define HOTCELL_CLI_RUN_SPEC_H

#include "cell/cell.h"
#include "cli/core/cli.h"
#include "cli/door_options.h"
#include "profile/profile.h"

struct run_options {
	struct cell_limits limits;
	uint32_t uid, gid;
	bool tmp_exec, no_default_hide, tty, raw, no_sandbox, explain, json, quiet, verbose, redact;
	const char *backend; /* NULL: not given */
	const char *profile; /* likewise */
	struct profile *used; /* the profile in effect, read; NULL: none */
	const char *image, *workdir, *output, *stdin_file, *stderr_file, *json_file, *audit;
	struct cli_list mounts, hide, forbid, env, pass_env, secret_env, require, manifests;
	struct door_options doors;
};

/* A spec and what its pointers point to. */
struct run_spec {
	struct cell_spec spec;
	struct cell_mount *mounts;
	const char **env, **hide, **require;
	struct cell_listener listeners[DOORS_MAX];
	char **texts; /* owned strings */
	size_t text_count;
};

void run_options_defaults(void *options);
/* The set function of --uid. */
int run_uid_set(void *options, const char *value, struct err *err);

/* Reads the current folder (relative paths) and the environment (--pass-env, TERM): call it before
 * environment_forget. Names of --pass-env that are not set are said, not refused. The command and the
 * lists of `options` must outlive it. Errors have code ERR_USAGE. */
MUST_CHECK int run_spec_build(struct run_spec *ret, const struct run_options *options,
	char *const *command, struct err *err);
/* What the cell needs to see of its doors: listeners, names, variables. The policy need not outlive it. */
void run_spec_doors(struct run_spec *run, const struct door_policy *policy);
/* A credential that the policy has been loaded with must not be in what is given to the cell. ERR_USAGE names the door. */
MUST_CHECK int run_spec_check_secrets(const struct run_spec *run, const struct door_policy *policy, struct err *err);
void run_spec_done(struct run_spec *run);

#endif
