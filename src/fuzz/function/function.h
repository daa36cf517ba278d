/* Fuzzes functions with the real engines of their languages, which run inside warm cells: a cell is made once a worker, never
 * once an input, so an engine is as fast in it as outside.
 *
 * A target is a function ("file.py:parse"), a harness that is there already, or all that a folder holds. A language is one row
 * of a table that turns a target into a plan: files to write, and commands to build, run, replay and measure it. All commands
 * of a plan run in cells, the build too: it is the target's code that is built. */
#ifndef HOTCELL_FUZZ_FUNCTION_FUNCTION_H
#define HOTCELL_FUZZ_FUNCTION_FUNCTION_H

#include "base/loop.h"
#include "cell/cell.h"
#include "finding/store.h"
#include "redact/redact.h"

/* ---- what is fuzzed ---- */

struct function_target {
	const char *language; /* a row's name: "python", "javascript", "go", "rust", "c", "java"; static */
	char *root; /* the folder that the cells see, read-only: the project's, or the file's; absolute */
	uint64_t device, inode; /* of root: cells are shown the folder that was found, and no other
				   that is put at its path */
	char *file; /* below root */
	char *function; /* its name; a harness's own where it is one */
	bool harness; /* it takes bytes already: nothing is generated */
	bool alone; /* root holds too much (a home, /tmp): the cells see the file and nothing else of it */
	char *name; /* for people, and in findings: "parser.py:parse" */
	char *above; /* a folder above root that looks like the project's top, and is not shown unless it is named; NULL: none */
};
void function_target_done(struct function_target *target);

struct function_targets {
	struct function_target *list;
	size_t count;
};
void function_targets_done(struct function_targets *targets);

/* "file.py:function", "crate/path::function", a harness's file, or a folder, whose harnesses are found by their names and what
 * is in them. Errors are ERR_USAGE and say what is missing: the file, the function, a language that is known; the nearest name. */
MUST_CHECK int function_targets_read(const char *text, struct function_targets *ret, struct err *err);
/* All of them are of this folder, which the user named (--root), and which must hold them. */
MUST_CHECK int function_targets_root(struct function_targets *targets, const char *typed, struct err *err);
/* The colon of such a word that its function is behind; NULL: it names none. */
const char *function_word_colon(const char *word);

/* Where a language's engine is, if it is not the system's: a virtual environment, a folder with node_modules. Its cells see it. */
struct function_engine {
	const char *language, *folder;
	uint64_t device, inode; /* of the folder when it was chosen: cells are shown no other */
};
const char *function_engine(const struct function_engine *engines, const char *language); /* its folder; NULL: the system's */

extern const char *const function_language_names[]; /* NULL-terminated */
const char *function_language(const char *name); /* the same name, static; NULL: there is no such language */

enum sanitizer { SANITIZER_DEFAULT, SANITIZER_ADDRESS, SANITIZER_UNDEFINED, SANITIZER_MEMORY, SANITIZER_NONE };

enum function_cover { COVER_NONE, COVER_WHOLE, COVER_BRIEF }; /* not at all; within minutes; within some seconds */

struct function_progress;

#define FUNCTION_INPUT_MS 10000u /* that one input may take, if nobody says otherwise */

/* Both are memory while they are written to: at most a quarter and half of the machine's, if nobody says otherwise. */
#define FUNCTION_CORPUS_MAX ((uint64_t)1 << 30)
#define FUNCTION_BUILD_MAX ((uint64_t)2 << 30)

struct function_options {
	const struct function_targets *targets;
	const struct cell_spec *spec; /* of every cell, but for its command and the plan's mounts */
	bool memory_fixed; /* the spec's memory is the user's wish; else a language that needs more gets it */
	const char *state; /* the project's .hotcell: corpora are kept below it */
	uint64_t duration_ns, max_execs; /* of all targets together; 0: no limit */
	unsigned max_findings; /* ends it; 0: no limit */
	uint64_t input_ms; /* that one input may take; 0: FUNCTION_INPUT_MS */
	unsigned workers; /* at once, of all targets together */
	uint64_t seed; /* 0: the engine's */
	const char *seed_corpus; /* a folder; NULL: none */
	uint64_t corpus_max; /* bytes that a target's corpus and crashes may take while it is fuzzed; 0: FUNCTION_CORPUS_MAX */
	uint64_t build_max; /* bytes that builds may leave; 0: FUNCTION_BUILD_MAX */
	const char *dict; /* a file in AFL's and libFuzzer's form; NULL: none but ours */
	enum sanitizer sanitizer;
	const char *const *build_flags; /* words for the compiler of C and C++; NULL-terminated; NULL: none */
	bool afl; /* AFL++ explores C and C++, and not libFuzzer */
	const char *const *expect; /* names of errors that are declared, and no findings; NULL-terminated */
	const struct function_engine *engines; /* ends with a language of NULL; NULL: none */
	bool core; /* of what is confirmed, where its language has such; a finding says where it is until `found` returns */
	bool no_deepen; /* no inputs that nest deeper, and no words of the target's source */
	bool serve; /* it is called with documents, by function_serve: nothing of an engine is built */
	enum function_cover coverage; /* lines that the corpus reaches, measured at the end */
	unsigned nice; /* of all cells, 0 to 19 */
	bool bare; /* there are no cells, and nothing is mounted: the host's own folders are named */
	const struct redactor *hidden; /* values that are in nothing that is told; NULL: none */
	/* known before: tried first. What was found with other `flags` that decide what is wrong is never said to be fixed. */
	const struct finding_store *known;
	const struct strings *flags; /* as findings keep them; NULL: none */
	void (*retried)(void *data, const struct finding *finding, bool still); /* of `known`; may be NULL */
	void (*found)(void *data, const struct finding *finding, bool is_new);
	void (*progress)(void *data, const struct function_progress *progress);
	bool (*stop)(void *data);
	void *data;
};

uint64_t function_corpus_max(const struct function_options *options);
uint64_t function_build_max(const struct function_options *options);

struct worker_progress {
	size_t target; /* its place */
	const char *doing; /* "building", "starting", "fuzzing", "replaying", "minimising", "measuring" */
	uint64_t execs;
	double rate; /* execs a second, as the engine says */
};

struct target_progress {
	uint64_t execs, corpus, features, coverage, crashes; /* features and coverage as the engine counts them */
	double rate;
	uint64_t since_new_ns; /* since its last new path */
	uint64_t begun_ns; /* from the run's start to its own: engines are looked for, and all targets built */
	uint64_t first_exec_ns; /* from its start to the first execution; 0: not yet */
	uint64_t first_crash_ns; /* and to the first input that made it fail, whether confirmed or not; 0: none yet */
	uint64_t fuzzed_ns; /* that its engines have run, of those that have ended */
	double yield; /* new features a second, lately: what power is divided by */
};

struct coverage_sums {
	uint64_t files, lines, lines_hit, functions, functions_hit;
};

struct function_progress {
	uint64_t ns, execs;
	uint64_t left_ns; /* to explore; 0: none, or no limit */
	const char *doing; /* besides the workers: "building", "replaying", "minimising"; NULL: nothing */
	int folder_fd; /* of this run, which goes with it; open */
	size_t waiting; /* crashes that are not confirmed yet */
	const struct worker_progress *workers;
	size_t worker_count;
	const struct target_progress *targets; /* as in the options */
	size_t target_count;
	unsigned findings, fresh;
	const struct coverage_sums *covered; /* told once, when it is measured; else NULL */
};

struct coverage_function {
	char *name;
	unsigned line; /* that it begins at; 0: not known */
	bool hit;
};

/* What a line is; the last two in histories only, and only where there was a run to compare with. */
enum line_cover { LINE_NO_CODE, LINE_MISSED, LINE_REACHED, LINE_FRESH /* reached, and not the last time */, LINE_LOST };

struct coverage_file {
	char *root; /* on the host */
	char *name; /* below root */
	unsigned lines, lines_hit, functions, functions_hit;
	unsigned char *hit; /* by line from 1, hit[0] is nothing: enum line_cover; NULL: not known */
	size_t hit_count;
	struct coverage_function *list; /* by name; may be fewer than `functions` says */
	size_t list_count;
	char *sha256; /* of its text when it was measured; NULL: it could not be read */
};

struct coverage {
	struct coverage_file *files; /* by root and name */
	size_t count;
};
void coverage_done(struct coverage *coverage);
struct coverage_sums coverage_sums(const struct coverage_file *files, size_t count);

/* What is reached now and was not by the run before, and the other way round. */
struct function_change {
	bool known; /* there was one that was measured */
	unsigned more, less; /* lines */
	unsigned edited; /* files whose text is another: their lines are not compared */
};

struct function_result {
	struct finding *findings;
	size_t count;
	size_t target_count;
	struct target_progress *totals; /* a target each */
	struct strings *problems; /* likewise: why it was not fuzzed, the build's log; empty: it was */
	struct coverage_file *coverage; /* of all; empty: it was not measured, and the gaps say why */
	size_t coverage_count;
	struct coverage_sums *covered; /* a target each */
	struct function_change *changes; /* likewise */
	struct strings gaps;
	struct strings fixed; /* ids of `known` that do it no more */
	struct strings gone; /* the same of those that are suppressed, and stay so */
	uint64_t ns; /* that all of it took */
	bool fuzzed; /* something was really executed */
	bool lost; /* an input ended its process, and is not known, or the disk was full: a gap says so */
	bool missing; /* an engine is not there: the problem says which */
	bool stopped;
};

MUST_CHECK int function_run(const struct function_options *options, struct loop *loop, struct cell_pool *pool,
	struct function_result *ret, struct err *err);
void function_result_done(struct function_result *result);

/* The first target, built so that it is called with JSON documents, a line each, and answers with a line each: for fuzz.h, by a
 * schema. ERR_USAGE: it cannot be; ERR_MISSING: an engine is not there. */
struct function_serve;
MUST_CHECK struct function_serve *function_serve_open(
	const struct function_options *options, struct loop *loop, struct cell_pool *pool, struct err *err);
/* The options' spec with its command, mounts and environment. Lives with it; loop and pool need not. */
const struct cell_spec *function_serve_spec(const struct function_serve *serve);
struct function_serve *function_serve_free(struct function_serve *serve); /* removes what was built; NULL is fine; returns NULL */
void function_serve_freep(struct function_serve **serve);

/* The commands that fuzz the first target, for a shell or another program, with what they need in `folder`, which is open as `folder_fd`. */
struct function_commands {
	struct strings build, run; /* words; build may be empty */
	struct strings environment; /* K=V, beside what there is */
	char *cwd, *corpus, *crashes;
};
MUST_CHECK int function_export(
	const struct function_options *options, const char *folder, int folder_fd, struct function_commands *ret, struct err *err);
void function_commands_done(struct function_commands *commands);

/* A finding's input, given to the first target so many times, each in a fresh cell. With `core`, `found` is called with the
 * finding where its core was taken. */
struct function_again {
	unsigned seen, tried; /* how often it did the same */
	struct finding last; /* what it did, the last time that something was wrong; without an id: nothing was */
	struct strings problems; /* it could not be tried */
	struct strings gaps; /* of its core, where one was asked for */
	bool stopped;
};
MUST_CHECK int function_again(const struct function_options *options, const struct finding *finding, unsigned times, struct loop *loop,
	struct cell_pool *pool, struct function_again *ret, struct err *err);
void function_again_done(struct function_again *again);
/* Makes a finding's input smaller, for so long at most. *ret_smaller: `finding` was changed. Errors are ERR_MISSING where it does
 * it no more. */
MUST_CHECK int function_minimise(const struct function_options *options, struct finding *finding, uint64_t ms, struct loop *loop,
	struct cell_pool *pool, bool *ret_smaller, bool *ret_stopped, struct err *err);

#endif
