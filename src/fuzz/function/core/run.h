/* Fuzzing functions: what its parts share.
 *
 * A place is a target with its folders and its plan; a job is one command of a plan in a cell; a worker is a job that fuzzes.
 * What is built is shown read-only to everything but the build, so that a target cannot change what it is judged by; corpus and
 * crashes are written by the engine and read by us as a stranger's; inputs are ours. What cells can write to is a file system with
 * a size (space.c). */
#ifndef HOTCELL_FUZZ_FUNCTION_CORE_RUN_H
#define HOTCELL_FUZZ_FUNCTION_CORE_RUN_H

#include "fuzz/function/corpus.h"
#include "fuzz/function/lang/language.h"
#include "fuzz/function/lang/stats.h"

#define SAID_MAX ((size_t)64 << 10) /* bytes of stderr kept, the last ones */
#define INPUT_MAX ((size_t)1 << 20) /* of a crash */
#define PENDING_MAX 64u /* crashes that wait */
#define HANG_MARK "Timeout (" /* of a harness that has a clock of its own, which then exits with 1 */

enum place_folder { PLACE_WORK, PLACE_CORPUS, PLACE_CRASHES, PLACE_INPUT, PLACE_OUT, PLACE_MERGED, PLACE_CORE, PLACE_FOLDER_COUNT };

struct cover_series;

struct place {
	const struct function_target *target;
	const struct language *language;
	struct function_plan plan;
	char *folders[PLACE_FOLDER_COUNT]; /* on the host; absolute */
	int fds[PLACE_FOLDER_COUNT]; /* -1: none */
	char *cache; /* the plan's, on the host; NULL: none */
	int cache_fd; /* it, open: the build's cell is given no other; -1: none */
	struct cell_space *space; /* what cells write, but for what is built: place_in_space; NULL: it is on the host */
	struct parts_shown shown; /* the plan's parts */
	bool dict;
	bool out; /* it cannot be fuzzed, or no more: its problem is told */
	bool full; /* for it has written all that it may */
	bool kept; /* its corpus is in the state already */
	struct strings taken; /* names in crashes/ that were looked at */
	struct strings met; /* ids of what is confirmed, or was tried in vain */
	bool skips; /* the inputs that libFuzzer begins with make it fail, and are left out */
	unsigned short_runs; /* engines that ended without a word, one after another */
	uint64_t begun_ns, new_ns; /* its first start, its last new path */
	uint64_t done_execs, fuzzed_ns; /* of engines that have ended */
	uint64_t best_features, told_features; /* the second: those that its yield has */
	bool begun_features;
	char *sum; /* of its file when it was begun with; NULL: it cannot be told */
	struct corpus_about about; /* the corpus that it has in the state */
	struct corpus_names had; /* what that had at the beginning */
	unsigned running; /* workers on it */
	struct cover_series *series; /* NULL: none yet */
	struct coverage coverage; /* measured in the end */
	struct learned *learned; /* what of its corpus was deepened; NULL: nothing yet */
};

struct job {
	struct fuzzing *it;
	struct cell *cell;
	int fd;
	struct loop_source *source;
	struct stats_reader stats;
	struct buf said;
	bool done; /* it has ended: */
	enum cell_outcome outcome;
	int exit_code;
	char why[200]; /* it never ran */
};

struct worker {
	struct job job;
	bool busy;
	size_t place;
	uint64_t started_ns;
	uint64_t news; /* seen so far */
	uint64_t ready_ns, told_ns, told_execs; /* when it began to fuzz, when it told its count last, and that */
};

struct crash {
	size_t place;
	enum engine_end end;
	struct buf input, report;
};

struct fuzzing {
	const struct function_options *options;
	struct loop *loop;
	struct cell_pool *pool;
	struct function_result *result;
	struct place *places;
	size_t place_count;
	struct worker *workers;
	struct worker_progress *shown;
	unsigned worker_count;
	struct crash pending[PENDING_MAX];
	size_t pending_count;
	struct deepening *deepening; /* inputs that nest deeper; NULL: none were tried yet */
	struct cell_space *lent, *cache; /* what a build or a measurement writes to; what builds keep. NULL: nothing is built */
	const struct place *cached; /* whose project's builds keep it */
	int lent_work; /* the first one's PLACE_WORK */
	uint64_t built_bytes, built_files; /* that builds left so far */
	bool disk_told;
	char *folder; /* of this run, below the state */
	int folder_fd; /* locked as long as the run lives; all of the run's folders are opened beneath it */
	uint64_t started_ns, begun_ns, deadline_ns, looked_ns, sized_ns, told_ns;
	uint64_t starts; /* of engines */
	uint64_t shown_execs; /* told last: what is about right never goes back, until all is known */
	unsigned fresh;
	bool plain; /* one input is tried: nothing else is needed */
	const char *doing; /* besides the engines, and what workers without one show; NULL: they wait */
	const struct coverage_sums *covered; /* to be told; NULL: not yet */
	bool charted; /* the series have their last points */
	bool over; /* no more exploring */
	bool stopped; /* the user's wish: no more of anything */
};

/* ---- place.c: folders ---- */

/* A folder of a run, below the state's "fuzz", locked as long as *ret_fd is open. What runs that were killed left there is removed. */
MUST_CHECK int run_folder_open(const char *state, char **ret, int *ret_fd, struct err *err);
MUST_CHECK int run_folder_remove(const char *state, const char *folder, struct err *err);
MUST_CHECK int place_open(struct fuzzing *it, size_t index, struct err *err);
void place_done(struct place *place);
/* Whether its file is not what it was; told once. *ret_sum, where it is wanted: the file's now; the caller frees. */
bool place_is_changed(struct fuzzing *it, struct place *place, char **ret_sum);
bool place_drop(struct place *place, const struct buf *input); /* from the corpus; false: it was not there */
bool folder_is_full(int fd); /* of the host's: too much by name. What has none is not seen */
/* Folders that are there only to be mounted on, or what stands for them where there are no cells. */
MUST_CHECK int place_points(const struct fuzzing *it, const struct place *place, struct err *err);
MUST_CHECK int place_write(int dir, const char *name, const void *bytes, size_t len, struct err *err);
/* A file that a stranger left: regular, no link, at most `max` bytes; false: it is none such. */
bool place_read(int dir, const char *name, size_t max, struct buf *ret);

/* ---- space.c: what cells write to ---- */

/* Whether it is a folder in the place's space. */
bool place_in_space(const struct place *place, enum place_folder folder);
extern const char *const place_folder_names[PLACE_FOLDER_COUNT];
MUST_CHECK int place_space_open(struct fuzzing *it, struct place *place, struct err *err);
void place_space_close(struct place *place);
void place_weight_tell(struct fuzzing *it, const struct place *place); /* what it wrote is memory: a gap, if that is much */
void place_full_tell(struct fuzzing *it, size_t place); /* among its problems, if it is full */
void place_release(struct fuzzing *it, struct place *place); /* one that is full and has no engine any more: keeps and empties it */
/* For what builds or measures: its PLACE_WORK is lent to it, to be written to. */
MUST_CHECK int work_lend(struct fuzzing *it, struct place *place, struct err *err);
void work_full_tell(const struct fuzzing *it, struct buf *said); /* a sentence, if all that was lent is used up */
int work_folder(const struct fuzzing *it, const struct place *place); /* where it writes to now */
/* What it left takes the place of what was there, if `keep`, which is lent no more in any case. */
MUST_CHECK int work_return(struct fuzzing *it, struct place *place, bool keep, struct err *err);
void cache_return(struct fuzzing *it); /* when all is built */
void space_clear(struct place *place, enum place_folder folder); /* of both */
/* From the place's space to its folder on the host, of the same name. False: it was too much, or cannot be. */
bool space_take(struct fuzzing *it, struct place *place, enum place_folder folder, uint64_t bytes);
void disk_watch(struct fuzzing *it); /* ends the run before the state's disk is full, whoever fills it */

/* ---- bare.c: where there are no cells ---- */

/* A path inside a cell, and where that is outside. */
struct bare_root {
	const char *inside, *outside;
};
/* The text with each such path in it, whole or as the beginning of a longer one, as it is outside. Pure. The list ends with
 * an `inside` of NULL. */
void bare_put(const char *text, const struct bare_root *roots, struct buf *out);
/* A word or a file of a place's plan as it is to be used: unchanged for cells. The caller frees. */
char *place_text(const struct fuzzing *it, const struct place *place, const char *text);
/* Whether its folders can be named in commands and programs. Errors are ERR_USAGE. */
MUST_CHECK int place_check_bare(const struct fuzzing *it, const struct place *place, struct err *err);

/* ---- job.c: a command in a cell ---- */

struct job_spec {
	const struct strings *words;
	const struct strings *more; /* follow them; may be NULL */
	bool build; /* PLACE_WORK can be written */
	bool engine; /* with the corpus and the crashes */
	bool cover; /* PLACE_WORK can be written; with the corpus to read */
	bool small; /* with the inputs and a folder to leave one in */
	bool merge; /* with the corpus, and a folder for what is left of it */
	bool core; /* with a folder to leave a core in */
	uint64_t timeout_ms;
};
/* The cell of a command, as it will be made. */
struct job_cell {
	struct cell_spec spec; /* what it points to is the options', the place's, and this: */
	const char **argv, **env;
	struct cell_mount *mounts;
	char *source, *target;
	struct strings words, variables; /* what argv and env are of */
};
void job_cell_build(struct job_cell *ret, const struct fuzzing *it, const struct place *place, const struct job_spec *spec);
void job_cell_done(struct job_cell *cell);
MUST_CHECK int job_start(
	struct job *job, struct fuzzing *it, const struct place *place, const struct job_spec *spec, struct err *err);
void job_end(struct job *job); /* kills what runs */
/* Waits for it, while the workers go on. False: the user wants it to stop. */
bool job_wait(struct job *job);

/* ---- verdict.c: from an engine's words to a finding (pure) ---- */

/* Oracle, message, frames, place, evidence. False: nothing in it is wrong. */
MUST_CHECK bool verdict_read(
	const struct function_target *target, enum engine_end end, const char *report, size_t len, struct finding *ret);

/* ---- recursion.c: functions that call each other without end (pure) ---- */

bool message_is_recursion(const char *message);
/* The finding's frames and place, where it is one of those. */
void recursion_frames(const char *report, size_t len, struct finding *ret);

/* ---- deepen_run.c: deepened inputs, beside the engines ---- */

struct deepening;
struct learned;
struct learned *learned_free(struct learned *learned); /* NULL is fine; returns NULL */
void deepening_tick(struct fuzzing *it);
void deepening_stop(struct fuzzing *it);

/* ---- crash.c ---- */

void crash_done(struct crash *crash);
/* verdict_read without what the user gave as secrets. */
MUST_CHECK bool crash_judge(const struct fuzzing *it, const struct place *place, enum engine_end end, const char *report, size_t len,
	struct finding *ret);
void crash_add(struct fuzzing *it, size_t place, enum engine_end end, const struct buf *input, const char *report, size_t len);
/* Looks into the folder for what engines that go on have left. */
void crash_look(struct fuzzing *it, size_t place);
void crash_confirm(struct fuzzing *it); /* one that waits */
void crash_put(struct fuzzing *it, struct finding *finding); /* takes it: it is told */
/* As verdict_read, without what must not be told. */
MUST_CHECK bool crash_judge(const struct fuzzing *it, const struct place *place, enum engine_end end, const char *report, size_t len,
	struct finding *ret);
/* What follows the plan's words to try an input of PLACE_INPUT again. */
void crash_words(const struct fuzzing *it, const struct place *place, const char *name, struct strings *ret);
/* An input of PLACE_INPUT in a fresh cell. False: nothing was wrong with it, or it was not tried to its end. */
MUST_CHECK bool crash_replay(struct fuzzing *it, struct place *place, const char *name, struct finding *ret);

/* Makes the input small, for so long. *finding is of it, its `input` filled. True: it could be. */
bool crash_smaller(struct fuzzing *it, struct place *place, const char *name, const struct buf *input, uint64_t ms,
	struct finding *finding);

/* ---- core_dump.c: cores of what is confirmed ---- */

void core_prepare(struct fuzzing *it, size_t place); /* before anything is fuzzed; what is missing is among its problems */
/* Tries the finding's input once more, traced. Where it fails, *finding says where its core is; else a gap says why there is none. */
void core_take(struct fuzzing *it, struct place *place, struct finding *finding);

/* ---- known.c: what the store has of a target, first of all ---- */

void known_try(struct fuzzing *it);

/* ---- corpus_engine.c ---- */

/* What was found worth keeping goes to the state; bounded, and made small where it is worth it. */
void place_keep(struct fuzzing *it, struct place *place);

/* ---- worker.c ---- */

void workers_tick(struct fuzzing *it); /* ends, starts, takes in */
void workers_stop(struct fuzzing *it);
uint64_t engine_input_ms(const struct fuzzing *it); /* that one input may take */
double worker_rate(const struct fuzzing *it, const struct worker *worker); /* executions a second */
uint64_t worker_execs(const struct fuzzing *it, const struct worker *worker, uint64_t now); /* so far, about */
/* All flags of an engine that fuzzes; seconds 0: without end. */
void engine_flags(const struct fuzzing *it, const struct place *place, uint64_t seconds, struct strings *ret);
uint64_t engine_memory(const struct fuzzing *it, const struct place *place); /* of its cell, bytes */
void engine_limits(const struct fuzzing *it, const struct place *place, struct strings *ret); /* of one input */

/* ---- run.c ---- */

MUST_CHECK int fuzzing_open(struct fuzzing *it, struct err *err);
void fuzzing_done(struct fuzzing *it);
void fuzzing_prepare(struct fuzzing *it, size_t place); /* plans and builds it; what is wrong is among its problems */
void fuzzing_tick(struct fuzzing *it);
/* Whether it is there, tried in a cell; else it is among its problems, with what installs it. */
bool fuzzing_need(struct fuzzing *it, size_t place, const struct language_need *need);
/* A command in a cell of its own, to its end. True: it exits with 0. What it says is added. */
bool fuzzing_do(struct fuzzing *it, size_t place, const struct strings *words, bool build, uint64_t timeout_ms, struct buf *said);
void fuzzing_gap(struct fuzzing *it, const char *format, ...) PRINTF_LIKE(2, 3);
void fuzzing_problem(struct fuzzing *it, size_t place, const char *format, ...) PRINTF_LIKE(3, 4);

#endif
