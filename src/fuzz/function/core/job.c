/* One command of a plan in a cell, its stderr read through a pipe of its own. Whatever it writes there is read as fast as it
 * comes and mostly thrown away, so that it neither blocks nor grows us. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/term.h"
#include "fuzz/function/core/run.h"

#define READ_SIZE ((size_t)64 << 10)
#define DRAIN_MAX ((size_t)4 << 20) /* read of a dead one */
#define TURN_MS 50
#define MOUNTS_MAX 8
#define OUTPUT_MAX ((uint64_t)1 << 40) /* stdout goes nowhere */

static size_t job_read(struct job *job, bool *ret_end)
{
	char bytes[READ_SIZE];
	ssize_t got = read(job->fd, bytes, sizeof(bytes));

	*ret_end = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	if (got <= 0)
		return 0;
	stats_feed(&job->stats, bytes, (size_t)got);
	buf_add(&job->said, bytes, (size_t)got);
	if (job->said.len > 2 * SAID_MAX) {
		memmove(job->said.data, job->said.data + job->said.len - SAID_MAX, SAID_MAX);
		job->said.len = SAID_MAX;
	}
	return (size_t)got;
}

static void job_close(struct job *job)
{
	job->source = loop_remove(job->source);
	fd_close(&job->fd);
}

static void on_said(void *data, int fd, uint32_t events)
{
	struct job *job = data;
	bool end;

	(void)fd, (void)events;
	(void)job_read(job, &end);
	if (end)
		job_close(job);
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	struct job *job = data;
	bool end = false;

	(void)cell;
	for (size_t read = 0, got = 1; job->fd >= 0 && !end && got && read < DRAIN_MAX; read += got)
		got = job_read(job, &end);
	job_close(job);
	job->done = true;
	job->outcome = result->outcome;
	job->exit_code = result->outcome == CELL_SIGNALED ? -1 : result->exit_code;
	if (result->outcome == CELL_SETUP_FAILED)
		(void)snprintf(job->why, sizeof(job->why), "%.190s", result->err.text);
}

/* ---- starting ---- */

struct words {
	const char **list;
	size_t count;
	struct strings own; /* those that are not somebody else's */
};

static void words_add(struct words *words, const char *word)
{
	words->list = xrealloc(words->list, words->count + 2, sizeof(*words->list));
	words->list[words->count++] = word;
	words->list[words->count] = NULL;
}

static void words_add_texts(
	const struct fuzzing *it, const struct place *place, struct words *words, const struct strings *texts)
{
	for (size_t i = 0; texts && i < texts->count; i++) {
		own(freep) char *text = place_text(it, place, texts->items[i]);
		strings_add(&words->own, text);
		words_add(words, words->own.items[words->own.count - 1]);
	}
}

/* The plan's stand before the user's of the same name, which win. */
static void environment_add(
	const struct fuzzing *it, const struct place *place, struct words *words, const char *const *base)
{
	const struct strings *plan = &place->plan.environment;

	words_add_texts(it, place, words, plan);
	for (; base && *base; base++) {
		size_t name = strcspn(*base, "=") + 1, i = 0;
		while (i < plan->count && strncmp(plan->items[i], *base, name) != 0)
			i++;
		if (i == plan->count)
			words_add(words, *base);
	}
}

/* A folder of the place's: in its space; or on the host, and no other that may be at its path by then. */
static struct cell_mount folder_mount(const struct place *place, enum place_folder folder, const char *target, bool writable)
{
	struct cell_mount mount = {place->folders[folder], target, writable};

	if (place_in_space(place, folder))
		return (struct cell_mount){place_folder_names[folder], target, writable, place->space};
	cell_mount_pin(&mount, place->fds[folder]);
	return mount;
}

static void mounts_add_folders(const struct fuzzing *it, const struct place *place, const struct job_spec *spec, struct cell_mount *list,
	size_t *count)
{
	if (spec->build || spec->cover)
		list[(*count)++] = (struct cell_mount){place_folder_names[PLACE_WORK], FUNCTION_WORK, true, it->lent};
	else
		list[(*count)++] = folder_mount(place, PLACE_WORK, FUNCTION_WORK, false);
	if (spec->engine) {
		list[(*count)++] = folder_mount(place, PLACE_CORPUS, FUNCTION_WORK "/corpus", true);
		list[(*count)++] = folder_mount(place, PLACE_CRASHES, FUNCTION_WORK "/crashes", true);
	}
	if (spec->cover || spec->merge)
		list[(*count)++] = folder_mount(place, PLACE_CORPUS, FUNCTION_WORK "/corpus", false);
	if (spec->small) {
		list[(*count)++] = folder_mount(place, PLACE_INPUT, FUNCTION_WORK "/input", false);
		list[(*count)++] = folder_mount(place, PLACE_OUT, FUNCTION_WORK "/out", true);
	}
	if (spec->core)
		list[(*count)++] = (struct cell_mount){place_folder_names[PLACE_CORE], FUNCTION_WORK "/core", true, place->space};
	if (spec->merge)
		list[(*count)++] = folder_mount(place, PLACE_MERGED, FUNCTION_WORK "/merged", true);
}

/* The folder that was chosen, if it is one of those. */
static struct cell_mount engine_mount(const struct fuzzing *it, const struct place *place)
{
	struct cell_mount mount = {place->plan.engine, FUNCTION_ENGINE, false};

	for (const struct function_engine *engine = it->options->engines; engine && engine->language; engine++)
		if (strcmp(engine->folder, place->plan.engine) == 0) {
			mount.device = engine->device;
			mount.inode = engine->inode;
		}
	return mount;
}

static size_t mounts_add(const struct fuzzing *it, const struct place *place, const struct job_spec *spec, struct cell_mount *list,
	char **ret_source, char **ret_target)
{
	const struct function_target *target = place->target;
	size_t count = 0;

	*ret_source = target->alone ? xfmt("%s/%s", target->root, target->file) : xstrdup(target->root);
	*ret_target = target->alone ? xfmt(FUNCTION_ROOT "/%s", target->file) : xstrdup(FUNCTION_ROOT);
	list[count] = (struct cell_mount){.source = *ret_source, .target = *ret_target};
	if (!target->alone) { /* a file is looked at for each cell: editors put another in its place
				 whenever they save */
		list[count].device = target->device;
		list[count].inode = target->inode;
	}
	count++;
	mounts_add_folders(it, place, spec, list, &count);
	if (spec->words == &place->plan.build && place->cache)
		list[count++] = (struct cell_mount){"cache", FUNCTION_CACHE, true, it->cache};
	if (place->plan.engine)
		list[count++] = engine_mount(it, place);
	return count;
}

void job_cell_build(struct job_cell *ret, const struct fuzzing *it, const struct place *place, const struct job_spec *spec)
{
	struct cell_mount own_mounts[MOUNTS_MAX];
	struct words argv = {0}, env = {0};
	bool bare = it->options->bare;

	*ret = (struct job_cell){.spec = *it->options->spec};
	size_t count = bare ? 0 : mounts_add(it, place, spec, own_mounts, &ret->source, &ret->target);
	size_t parts = !bare && (spec->build || spec->cover) ? place->shown.count : 0;
	ret->mounts = xcalloc(count + parts + ret->spec.mount_count + 1, sizeof(*ret->mounts));
	if (count)
		memcpy(ret->mounts, own_mounts, count * sizeof(*ret->mounts));
	if (parts)
		memcpy(ret->mounts + count, place->shown.mounts, parts * sizeof(*ret->mounts));
	count += parts;
	if (ret->spec.mount_count)
		memcpy(ret->mounts + count, ret->spec.mounts, ret->spec.mount_count * sizeof(*ret->mounts));
	words_add_texts(it, place, &argv, spec->words);
	words_add_texts(it, place, &argv, spec->more);
	environment_add(it, place, &env, ret->spec.env);
	ret->argv = argv.list;
	ret->env = env.list;
	ret->words = argv.own;
	ret->variables = env.own;
	ret->spec.argv = argv.list;
	ret->spec.env = env.list;
	ret->spec.cwd = bare ? place->target->root : FUNCTION_ROOT;
	ret->spec.mounts = ret->mounts;
	ret->spec.mount_count += count;
	ret->spec.limits.timeout_ms = spec->timeout_ms;
	ret->spec.limits.output = OUTPUT_MAX;
	ret->spec.limits.memory = engine_memory(it, place);
	if ((spec->build || spec->cover) && !bare && !it->options->memory_fixed)
		ret->spec.limits.memory += function_build_max(it->options); /* what it writes is memory, too */
	else if (spec->engine && !bare && !it->options->memory_fixed)
		ret->spec.limits.memory += function_corpus_max(it->options);
	ret->spec.limits.nice = it->options->nice;
	ret->spec.tmp_exec = ret->spec.tmp_exec || place->plan.runs_from_tmp;
}

void job_cell_done(struct job_cell *cell)
{
	free(cell->argv);
	free(cell->env);
	strings_done(&cell->words);
	strings_done(&cell->variables);
	free(cell->mounts);
	free(cell->source);
	free(cell->target);
	*cell = (struct job_cell){0};
}

static int cell_begin(struct job *job, const struct place *place, const struct job_spec *spec, int err_fd, struct err *err)
{
	const struct cell_io io = {.in = -1, .out = place->plan.tells_on_stdout ? err_fd : -1, .err = err_fd, .direct = true};
	own(job_cell_done) struct job_cell cell = {0};

	job_cell_build(&cell, job->it, place, spec);
	job->cell = cell_start(job->it->pool, &cell.spec, &io, on_done, job, err);
	return job->cell ? 0 : -1;
}

int job_start(struct job *job, struct fuzzing *it, const struct place *place, const struct job_spec *spec, struct err *err)
{
	int fds[2];

	*job = (struct job){.it = it, .fd = -1};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe to the engine");
	own(fd_closep) int theirs = fds[1];
	job->fd = fds[0];
	if (fcntl(job->fd, F_SETFL, O_NONBLOCK) < 0 || cell_begin(job, place, spec, theirs, err) < 0) {
		job_end(job);
		return -1;
	}
	job->source = loop_add_fd(it->loop, job->fd, EPOLLIN, on_said, job);
	return 0;
}

void job_end(struct job *job)
{
	job->cell = cell_free(job->cell);
	job_close(job);
	buf_done(&job->said);
}

bool job_wait(struct job *job)
{
	while (!job->done && !job->it->stopped) {
		(void)loop_turn(job->it->loop, TURN_MS);
		fuzzing_tick(job->it);
	}
	return job->done;
}
