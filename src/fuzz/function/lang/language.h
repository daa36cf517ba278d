/* A language: how its targets are found, built, run, replayed and measured. One file and one row each. Pure: texts in, a plan
 * out; what is on the disk is looked at by discover.c. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_LANGUAGE_H
#define HOTCELL_FUZZ_FUNCTION_LANG_LANGUAGE_H

#include "fuzz/function/function.h"
#include "fuzz/function/lang/parts.h"

#define FUNCTION_SOURCE_MAX ((size_t)4 << 20) /* bytes of a file that are looked at */

#define FUNCTION_ROOT "/target" /* where the cells see the target's folder, read-only */
#define FUNCTION_WORK "/fuzz" /* a folder of ours, writable: what is built, corpus/, crashes/ */
#define FUNCTION_LIBRARIES "/libraries" /* what a build needs of the host besides its tools */
#define FUNCTION_CACHE "/cache" /* what builds keep for the next one */
#define FUNCTION_PACKAGES "/packages" /* what was fetched for its language before, read-only */
#define FUNCTION_ENGINE "/engine" /* the engine's own folder, where it is not the system's, read-only */

/* What measuring coverage may take, of a target; a plan's own limits should end it a little sooner, with what it has. */
#define COVER_BRIEF_S 10u
#define COVER_WHOLE_S 120u
unsigned cover_seconds(const struct function_options *options);

struct plan_file {
	char *name; /* below FUNCTION_WORK */
	char *text;
};

/* A program that must be there, and the command that installs it. */
struct language_need {
	const char *what; /* "atheris" */
	const char *const *probe; /* a command that succeeds where it is; NULL-terminated; "@python": the plan's own */
	const char *install; /* "pip install atheris" */
};

#define SKIP_FLAG "--hotcell-skip-first" /* libFuzzer passes over what begins with -- */
#define PLAN_INPUT_MARK "== hotcell input "

enum stats_kind { STATS_LIBFUZZER, STATS_GO_TEST, STATS_AFL };

struct function_plan {
	struct plan_file *files;
	size_t file_count;
	struct strings build; /* words; empty: nothing is built */
	struct strings run; /* words; the engine's flags follow (libFuzzer's where stats says so) */
	struct strings run_skipping; /* words that understand SKIP_FLAG; empty: those of run do, or it goes on */
	struct strings replay; /* words; a file with the input follows */
	struct strings minimise; /* words; the file, the file to leave a smaller one in, and seconds follow; empty: libFuzzer's own way */
	struct strings merge; /* words that libFuzzer can start itself again by, to merge and to minimise; empty: replay or run */
	struct strings cover; /* words; the corpus' folder follows; leaves lcov in FUNCTION_WORK/coverage.info; empty: it cannot */
	struct strings environment; /* K=V */
	struct parts parts; /* of a cache of the host's, read-only; what builds or measures alone sees them */
	char *cache; /* a folder below the state's cache, which builds alone see, as FUNCTION_CACHE, and write; NULL: none */
	char *engine; /* on the host, seen as FUNCTION_ENGINE; set before the language plans, which may set another; NULL: none */
	const struct language_need *needs; /* beside its language's; ends likewise; NULL: none */
	bool build_proves; /* it takes all that running takes: what is missing is asked for only if it fails */
	enum stats_kind stats;
	uint64_t memory; /* that it needs at least; 0: the default */
	size_t deepest; /* bytes of an input that nests deep; 0: the default */
	struct strings serve; /* words; a document a line in, an answer a line out: for --schema; empty: it cannot */
	bool runs_from_tmp; /* it unpacks what it runs into /tmp */
	bool tells_on_stdout; /* what happened: stdout is read, too */
	bool goes_on; /* its harness keeps going after a crash, and writes each new one to crashes/ */
	bool replays_as_engine; /* replay takes libFuzzer's flags and ends as it does, though it goes on */
	bool replays_many; /* its replay takes several files, and says PLAN_INPUT_MARK and the name before what it says of each */
};
void function_plan_done(struct function_plan *plan);

/* Options that mean something to a language. */
enum {
	TAKES_EXPECT = 1 << 0,
	TAKES_EXPECT_MADE = 1 << 1, /* where the harness is ours */
	TAKES_SANITIZER = 1 << 2,
	TAKES_BUILD_FLAGS = 1 << 3,
	TAKES_AFL = 1 << 4,
};

/* Marked folders of one project in one another: there are none; those directly in one another; whatever is between them. */
enum nested { NESTED_NOT, NESTED_CLOSE, NESTED_ANY };

struct language {
	const char *name;
	const char *title; /* for people: "Python" */
	const char *const *suffixes; /* NULL-terminated */
	const struct language_need *needs; /* ends with a `what` of NULL */
	const char *const *roots; /* files that mark a project's top: "go.mod"; NULL-terminated */
	/* Names in a file's text that can be fuzzed: functions, and harnesses (*harness). Called with each; the text is a stranger's. */
	void (*names)(const char *text, size_t len, void (*name)(void *data, const char *name, size_t len, bool harness), void *data);
	/* Where a file's names are known only when it is run, for instance by words in it that take in others': "import *". A name that
	 * may be there is then left to the cell to find. NULL: `names` has them all. NULL-terminated. */
	const char *const *takes_in;
	const char *package; /* a file that makes its folder part of a package: "__init__.py"; NULL: there are none */
	/* Whether a function's whole name is meant by what was typed, and whether that names one that cannot be called: namespaces and
	 * types may be left out. NULL: names are typed whole. */
	bool (*name_fits)(const char *name, const char *typed);
	bool (*is_member)(const char *text, size_t len, const char *typed);
	/* Reads a target with two colons in a row: crate::module::function. NULL: there are none. */
	int (*path_read)(const char *text, char **ret_file, char **ret_function, struct err *err);
	bool (*is_harness_file)(const char *path); /* by its name: discovery looks in these first */
	enum nested nested;
	bool own_root; /* of what a folder holds, too, the project is the one that a root's file marks */
	bool many; /* a file may hold many harnesses, each named */
	unsigned takes; /* the others are told to be passed over */
	const char *core; /* what ends its processes: "faults", or "aborts" alone, where faults become something else; NULL: there are no cores */
	/* NULL: targets of it are known, and not fuzzed yet. */
	int (*plan)(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
		struct function_plan *ret, struct err *err);
};
extern const struct language *const function_languages[]; /* NULL-terminated */
extern const struct language language_python, language_c, language_cxx, language_javascript, language_go, language_rust,
	language_java;
const struct language *language_find(const char *name); /* NULL if there is none */
const struct language *language_of_file(const char *path); /* by its suffix; NULL: none is known */
bool path_has_suffix(const char *path, const char *suffix);
/* Whether a file's name is one of a harness: fuzz, fuzz_X, X_fuzz, fuzzer, X-fuzzer. */
bool path_is_harness(const char *path);
void plan_file_add(struct function_plan *plan, const char *name, char *text); /* takes the text */
/* What a harness of ours is told of its target, as an object that is left open for what is its language's. */
struct json;
void config_open(struct json *json, const struct function_target *target, const struct function_options *options);

#endif
