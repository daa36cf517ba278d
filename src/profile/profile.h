/* Security profiles: what a cell may do, written down in YAML.
 *
 *	extends: strict			a built-in one; "default" if it is left out
 *	description: for the parser
 *	syscalls:
 *	  deny: [ptrace, socket]	refused with EPERM; [all]: all that can be, but those in `allow`
 *	  allow: [kcmp]			let through, also what `extends` denies; of those refused by default only a few
 *	paths:				if any, nothing else can be written; see struct cell_path
 *	  - path: /workspace/out
 *	    rights: [write, make-file]
 *	capabilities: {drop: [all]}	a cell has none: it says so, and nothing can be added
 *	limits: {memory: 1G, ...}	by the names of the options of `hotcell run`
 *	doors: {allow: [...], service: [...], secret-door: [...]}	each text as after the option of that name
 *	tmp-exec: true			programs may be run from /tmp
 *	workspace-exec: false		none may be run from /workspace or a writable mount
 *	hide: [...], forbid: [...], require: [...]	as after the options
 *
 * A profile cannot name mounts, variables of the environment, an image, a user or a backend: what of this machine goes
 * into a cell is said by who starts it. Of what `extends` says, limits, true and false, and paths are replaced; lists are
 * added to.
 *
 * Pure: text in, a struct, words and text out. Files are the caller's. */
#ifndef HOTCELL_PROFILE_PROFILE_H
#define HOTCELL_PROFILE_PROFILE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"
#include "cell/cell.h"

#define PROFILE_MAX_ITEMS 1024 /* of one list */
#define PROFILE_MAX_TEXT 4096 /* bytes of one item */

enum profile_list_kind { PROFILE_ALLOW, PROFILE_SERVICE, PROFILE_SECRET, PROFILE_HIDE, PROFILE_FORBID, PROFILE_REQUIRE,
	PROFILE_LISTS };
/* The option of `hotcell run` that takes an item, without its dashes; also the key. */
extern const char *const profile_list_names[PROFILE_LISTS];

struct profile_item {
	char *text;
	unsigned line; /* of the profile's own text; 0: of what it extends */
};

struct profile_items {
	struct profile_item *items;
	size_t count;
};

/* Limits by the order of profile_limits. */
enum profile_limit_kind { PROFILE_SIZE, PROFILE_COUNT, PROFILE_CPUS, PROFILE_DURATION };
struct profile_limit {
	const char *name; /* of the option, and the key */
	enum profile_limit_kind kind;
	size_t offset; /* in struct cell_limits */
	uint64_t max; /* PROFILE_COUNT */
};
#define PROFILE_LIMITS 12
extern const struct profile_limit profile_limits[PROFILE_LIMITS];

/* What a profile may have, for those that tell of it or check it. */
enum profile_shape {
	PROFILE_IS_BASE, /* one of profile_names */
	PROFILE_IS_TEXT,
	PROFILE_IS_FLAG,
	PROFILE_IS_LIST, /* texts as after the option of that name */
	PROFILE_IS_CALLS,
	PROFILE_IS_PATHS,
	PROFILE_IS_CAPABILITIES,
	PROFILE_IS_LIMITS,
	PROFILE_IS_DOORS,
};
struct profile_key {
	const char *name, *help;
	enum profile_shape shape;
};
const struct profile_key *profile_key_at(size_t index); /* NULL behind the last */
const char *profile_right_at(size_t index); /* "write", ..., then those that are several; NULL behind the last */
extern const char *const profile_capabilities[]; /* "all", "chown", ...; in any case, with CAP_ or not; NULL-terminated */

struct profile {
	char *name; /* as it was asked for */
	char sum[SHA256_HEX]; /* of its text */
	char *extends, *description; /* description may be NULL */
	bool builtin;
	/* by the index of cell_call_at */
	bool denied[CELL_MAX_CALLS], opened[CELL_MAX_CALLS], named[CELL_MAX_CALLS]; /* named: in its own `allow` */
	struct cell_path *paths; /* strings owned */
	size_t path_count;
	struct cell_limits limits;
	bool limit_set[PROFILE_LIMITS];
	bool tmp_exec, no_exec;
	bool drops; /* it says that capabilities are dropped */
	struct profile_items lists[PROFILE_LISTS];
	/* private: what profile_apply points at */
	const char **deny, **allow;
	char *label;
};
void profile_done(struct profile *profile);
void profile_paths_done(struct profile *profile); /* of its paths alone */

/* Of a text that a stranger may have written. `name` is for errors: "NAME:LINE: sentence", code ERR_USAGE. *ret is the
 * caller's to profile_done; after a failure it is empty. */
MUST_CHECK int profile_parse(struct profile *ret, const char *text, size_t len, const char *name, struct err *err);
/* A built-in one. ERR_USAGE lists them if there is none of that name. */
MUST_CHECK int profile_builtin(struct profile *ret, const char *name, struct err *err);
extern const char *const profile_names[]; /* "default", "strict", ...; NULL-terminated */
const char *profile_builtin_text(const char *name); /* as YAML; NULL: there is none */

/* ---- what it means for a cell ---- */

/* Words that would say the same on the command line of `hotcell run`, for all that has an option: "--memory=1073741824". A
 * NULL-terminated list of strings; free it with profile_words_free. */
char **profile_words(const struct profile *profile, size_t *ret_count);
void profile_words_free(char **words);
/* The rest. The profile must outlive the spec. */
void profile_apply(struct profile *profile, struct cell_spec *spec);

/* ---- for people ---- */

/* The effective profile, which says the same when it is parsed, whatever built-in ones become. */
void profile_yaml(const struct profile *profile, struct buf *ret);
void profile_json(const struct profile *profile, struct json *json); /* one object */
void profile_explain(const struct profile *profile, struct buf *ret); /* "NAME (extends X), sha256 ..."; one line */
/* What somebody should know before they use it, a line each; returns how many. */
size_t profile_warnings(const struct profile *profile, struct buf *ret);
/* What it opens that a cell without it has not: calls and doors, as "call kcmp, allow a.example"; false: nothing. */
bool profile_opens(const struct profile *profile, struct buf *ret);

/* ---- learning ---- */

/* What was seen of a run, besides its result. */
struct profile_seen {
	const struct cell_spec *spec; /* that it ran with */
	const struct cell_result *result;
	const char *const *allow; /* the rules of --allow that something went through; NULL-terminated */
	const char *const *others[2]; /* --service and --secret-door as they were given; NULL-terminated */
};
/* The smallest profile that lets it work, with headroom, in *ret; *ret_notes: what was not observed, a line each. */
void profile_propose(struct profile *ret, const struct profile_seen *seen, struct buf *ret_notes);
/* Calls that a run under the proposal was refused and that it could have had: they are let through from now on. Returns
 * how many. */
size_t profile_relent(struct profile *profile, const struct cell_result *result);
/* Gives it all limits and all writing that the spec had: what is denied are calls then. */
void profile_widen(struct profile *profile, const struct cell_spec *had);

#endif
