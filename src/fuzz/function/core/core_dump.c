/* Cores of what is confirmed. The input is tried once more in a cell, traced by core_tool.c, which is built there and leaves a
 * core and its program. Both are a stranger's, whatever they say: plain files of some size, which only a debugger reads. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/term.h"
#include "fuzz/function/core/run.h"

#define TOOL FUNCTION_WORK "/core_of_hotcell"
#define SOURCE "core_of_hotcell.c" /* below FUNCTION_WORK */
#define BUILD_MS 60000u
#define TAKE_MS 60000u /* beside what a replay takes: a large one is written */
#define CORE_MAX ((off_t)5 << 28) /* the tool's own limit, and what else is in the file */
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

extern const char core_tool[], core_tool_end[]; /* the file beside this one */

/* By the tool's exit code; NULL: it is there. */
static const char *const ends[] = {
	NULL,
	"it could not be begun",
	"it did not fail this time",
	NULL, /* all but some large parts of its memory */
	"what failed is not the program that was built",
	"there was no room for it: on the disk, or by --file-size",
	"it could not be traced in its cell",
};
#define END_CUT 3

static const struct language_need compiler = {"clang, for --core,", LIST("clang", "--version"), "apt-get install clang"};

void core_prepare(struct fuzzing *it, size_t index)
{
	struct place *place = &it->places[index];
	own(strings_done) struct strings words = {0};
	own(buf_done) struct buf said = {0}, line = {0};
	struct err err = {0};

	if (!place->language->core) {
		fuzzing_gap(it, "%s: there are no cores of %s; the report of a finding has its trace", place->target->name,
			place->language->title);
		return;
	}
	if (!fuzzing_need(it, index, &compiler))
		return;
	if (place_write(place->fds[PLACE_WORK], SOURCE, core_tool, (size_t)(core_tool_end - core_tool), &err) < 0) {
		fuzzing_problem(it, index, "--core: %s", err.text);
		return;
	}
	strings_add_all(&words, LIST("clang", "-w", "-O1", "-o", TOOL, FUNCTION_WORK "/" SOURCE));
	if (fuzzing_do(it, index, &words, true, BUILD_MS, &said) || it->stopped)
		return;
	term_line(buf_text(&said), said.len, 300, &line);
	fuzzing_problem(it, index, "--core: what takes cores cannot be built: %s", buf_text(&line));
}

/* A file that the target may have left. Nobody but its owner is to read it: it has memory in it. */
static bool is_plain(int dir, const char *name)
{
	own(fd_closep) int fd = beneath_try(dir, name, O_RDONLY, 0);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 && st.st_size > 0 && st.st_size <= CORE_MAX &&
		fchmod(fd, 0600) == 0;
}

static bool put_input(struct place *place, const char *name, const struct finding *finding, struct err *err)
{
	own(buf_done) struct buf input = {0};

	(void)beneath_unlink(place->fds[PLACE_INPUT], name, 0);
	space_clear(place, PLACE_CORE);
	if (!base64_read(finding->input, strlen(finding->input), &input))
		return err_set(err, ERR_USAGE, "its input is none") == 0;
	return place_write(place->fds[PLACE_INPUT], name, buf_text(&input), input.len, err) == 0;
}

/* Why there is none; NULL: there is. */
static const char *trace(struct fuzzing *it, struct place *place, const char *name, bool *ret_cut, struct err *err)
{
	own(strings_done) struct strings words = {0}, more = {0};
	const struct job_spec spec = {.words = &words, .more = &more, .small = true, .core = true,
		.timeout_ms = TAKE_MS + 2 * engine_input_ms(it)};
	struct job job;

	strings_add_all(&words, LIST(TOOL, FUNCTION_WORK "/core", FUNCTION_WORK, place->language->core));
	strings_copy(&words, &place->plan.replay, SIZE_MAX);
	crash_words(it, place, name, &more);
	if (job_start(&job, it, place, &spec, err) < 0)
		return err->text;
	it->doing = "taking a core";
	bool ended = job_wait(&job) && job.outcome == CELL_EXITED && job.exit_code >= 0 && (size_t)job.exit_code < ARRAY_LEN(ends);
	it->doing = NULL;
	const char *why = ended ? ends[job.exit_code] : "its cell was ended before it was taken";
	*ret_cut = ended && job.exit_code == END_CUT;
	job_end(&job);
	if (!why && !space_take(it, place, PLACE_CORE, CORE_MAX * 2))
		why = "what was left is too large, or cannot be copied";
	if (!why && !(is_plain(place->fds[PLACE_CORE], STORE_CORE) && is_plain(place->fds[PLACE_CORE], STORE_PROGRAM)))
		why = "what was left is no plain file, or too large";
	return why;
}

void core_take(struct fuzzing *it, struct place *place, struct finding *finding)
{
	own(freep) char *name = xfmt("%s-core", finding->id);
	struct err err = {0};
	const char *why;
	bool cut = false;

	if (!it->options->core || !place->language->core || it->stopped)
		return;
	if (strcmp(finding->oracle, "memory") == 0)
		why = "what takes too much memory has none that could be kept";
	else if (!put_input(place, name, finding, &err))
		why = err.text;
	else
		why = trace(it, place, name, &cut, &err);
	if (it->stopped)
		return;
	if (why) {
		fuzzing_gap(it, "there is no core of %s: %s", finding->id, why);
		return;
	}
	if (cut)
		fuzzing_gap(it, "the core of %s is without some large parts of its memory: all of it is more than 1 GB", finding->id);
	finding->core = true;
	finding->core_from = xstrdup(place->folders[PLACE_CORE]);
}
