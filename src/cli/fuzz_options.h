/* The options of `hotcell fuzz`: what they are, the files they name, and which of them a finding keeps so that it can be
 * done again. */
#ifndef HOTCELL_CLI_FUZZ_OPTIONS_H
#define HOTCELL_CLI_FUZZ_OPTIONS_H

#include "cli/run_spec.h"
#include "finding/finding.h"
#include "report/findings.h"
#include "fuzz/tool/target.h"
#include "oracle/oracle.h"

struct fuzz_cli {
	struct run_options run; /* first: its rows are shared with `hotcell run` */
	struct cli_list only, exclude, allow_write, allow_spawn;
	uint64_t max_calls, duration_ms, call_ms, start_ms, seed, workers, sequence, replays, max_findings;
	const char *schema, *output_schema, *mode; /* fuzz tool */
	uint16_t port; /* fuzz mcp --http; 0: not given */
	const char *path;
	const char *dict, *oracles, *fail_on, *baseline, *sarif, *state, *name, *declared;
	bool malformed, allow_net, no_canaries;
	bool stranger; /* the command is a capsule's that is not trusted: no file is read because it is named there */
};

void fuzz_options_defaults(void *options);
int fuzz_http_set(void *options, const char *value, struct err *err);
int fuzz_path_check(void *options, const char *value, struct err *err); /* each --allow-write */
bool fuzz_given(const struct cli_args *args, const char *name); /* whether the option was typed */

/* ---- files ---- */

/* Words of a dictionary: one a line; or as AFL has them, name="value" with \xNN, \\ and \". Lines that begin with '#' and empty
 * ones say nothing. Errors are ERR_USAGE: "NAME:LINE: sentence". Pure. */
MUST_CHECK int dict_read(const char *text, size_t len, const char *name, struct strings *ret, struct err *err);
/* Whether libFuzzer and AFL++ take it: "value" or name="value" on each line that says something. Errors likewise. Pure. */
MUST_CHECK int dict_check(const char *text, size_t len, const char *name, struct err *err);
#define DICT_WORDS_MAX 10000u

/* The first word of a command that names a regular file here; NULL: none. */
const char *fuzz_script(char *const *command);
/* Its SHA-256, or of the program that would be run; NULL where it cannot be told. The caller frees. */
char *fuzz_target_sum(char *const *command);
/* Whether that file is one that a cell would be shown without being asked: at or below the current folder, or of the system's own. */
bool fuzz_sum_is_open(char *const *command);

/* ---- what a finding keeps ---- */

/* Whether an option of a capsule is taken when it is done again. */
enum flag_take {
	FLAG_NOT_KEPT, /* says nothing of the target: not in a capsule, and refused in one */
	FLAG_TAKEN,
	FLAG_SIZE, /* up to what a machine of today can spare; more needs trust */
	FLAG_COUNT, /* of processes and files, likewise */
	FLAG_TIME, /* up to ten minutes, likewise: a stranger's replay ends while somebody waits for it */
	FLAG_FILE_HERE, /* a file at or below the current folder; else it needs trust */
	FLAG_MOUNT, /* read-only, of what is at or below the current folder; else it needs trust */
	FLAG_TRUSTED, /* it opens the cell */
};
/* Of "--NAME=VALUE", by its name alone. Pure. */
enum flag_take flag_take(const char *flag);
/* Whether it may be taken from a stranger. */
bool flag_is_safe(const char *flag);
/* Whether the path's first `len` bytes lead, through all links, to the current folder or below it. */
bool path_is_here(const char *path, size_t len);
/* Whether it names a file or folder that is not there, from here. */
bool flag_is_missing(const char *flag);
/* The options that were typed as a capsule keeps them: paths below the current folder from there. Names of variables go to
 * `names`, their values nowhere. */
void fuzz_flags(const struct cli_args *args, struct strings *flags, struct strings *names);

/* Whether this folder is too much to be shown without being asked for: the root, a home, or above one. */
/* Whether a name in this folder is, or lies behind, a link to elsewhere: who wrote the folder chose where. */
bool path_leads_out(const char *path);
bool path_goes_up(const char *path); /* by a ".." */
bool folder_is_too_much(const char *folder);

#endif
