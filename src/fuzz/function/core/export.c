/* What would be run in cells, for whoever wants to run it elsewhere: a plan's files in a folder, and its commands with the
 * host's paths. Nothing of the target is run here. */
#include "base/clock.h"
#include "fuzz/function/core/run.h"

static void put_words(const struct fuzzing *it, const struct place *place, const struct strings *from, struct strings *ret)
{
	for (size_t i = 0; i < from->count; i++) {
		own(freep) char *text = place_text(it, place, from->items[i]);
		strings_add(ret, text);
	}
}

void function_commands_done(struct function_commands *commands)
{
	strings_done(&commands->build);
	strings_done(&commands->run);
	strings_done(&commands->environment);
	free(commands->cwd);
	free(commands->corpus);
	free(commands->crashes);
	*commands = (struct function_commands){0};
}

int function_export(
	const struct function_options *options, const char *folder, int folder_fd, struct function_commands *ret, struct err *err)
{
	const struct function_target *target = &options->targets->list[0];
	struct function_options bare = *options;
	struct place place = {.target = target, .language = language_find(target->language), .cache_fd = -1};
	own(function_result_done) struct function_result result = {0}; /* its remarks are for nobody */
	struct fuzzing it = {.options = &bare,
		.result = &result,
		.places = &place,
		.place_count = 1,
		.folder = (char *)folder,
		.folder_fd = folder_fd,
		.deadline_ns = UINT64_MAX};
	own(strings_done) struct strings flags = {0};

	*ret = (struct function_commands){0};
	bare.bare = true;
	for (int i = 0; i < PLACE_FOLDER_COUNT; i++)
		place.fds[i] = -1;
	int rc = place_open(&it, 0, err);
	if (rc == 0) {
		it.worker_count = 1; /* of which a share of --max-execs is told */
		it.workers = xcalloc(1, sizeof(*it.workers));
		engine_flags(&it, &place, options->duration_ns / NS_PER_S, &flags);
		free(it.workers);
		put_words(&it, &place, &place.plan.build, &ret->build);
		put_words(&it, &place, &place.plan.run, &ret->run);
		put_words(&it, &place, &flags, &ret->run);
		put_words(&it, &place, &place.plan.environment, &ret->environment);
		ret->cwd = xstrdup(target->root);
		ret->corpus = xstrdup(place.folders[PLACE_CORPUS]);
		ret->crashes = xstrdup(place.folders[PLACE_CRASHES]);
	}
	place_done(&place);
	return rc;
}
