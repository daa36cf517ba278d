/* A function that is called with documents: its cell, made ready for the engine that fuzzes tools. */
#include <string.h>

#include "base/clock.h"
#include "fuzz/function/core/run.h"

struct function_serve {
	struct fuzzing it;
	struct function_result result;
	struct job_cell cell;
};

struct function_serve *function_serve_free(struct function_serve *serve)
{
	if (!serve)
		return NULL;
	job_cell_done(&serve->cell);
	fuzzing_done(&serve->it);
	function_result_done(&serve->result);
	free(serve);
	return NULL;
}

void function_serve_freep(struct function_serve **serve)
{
	*serve = function_serve_free(*serve);
}

static int prepare(struct function_serve *serve, struct err *err)
{
	struct fuzzing *it = &serve->it;

	if (fuzzing_open(it, err) < 0)
		return -1;
	fuzzing_prepare(it, 0);
	if (it->stopped)
		return err_set(err, ERR_LOST, "stopped before it could be called");
	if (serve->result.problems[0].count)
		return err_set(err, serve->result.missing ? ERR_MISSING : ERR_LOST, "%s: %.380s",
			it->places[0].target->name, serve->result.problems[0].items[0]);
	if (!it->places[0].plan.serve.count)
		return err_set(err, ERR_USAGE,
			it->places[0].target->harness
				? "--schema: %s takes bytes, and no values: leave the schema out, or name a function"
				: "--schema: %s cannot be called with values: leave it out",
			it->places[0].target->name);
	return 0;
}

struct function_serve *function_serve_open(
	const struct function_options *options, struct loop *loop, struct cell_pool *pool, struct err *err)
{
	own(function_serve_freep) struct function_serve *serve = xcalloc(1, sizeof(*serve));

	serve->it = (struct fuzzing){.options = options,
		.loop = loop,
		.pool = pool,
		.result = &serve->result,
		.plain = true,
		.started_ns = clock_now()};
	if (prepare(serve, err) < 0)
		return NULL;
	const struct job_spec spec = {
		.words = &serve->it.places[0].plan.serve, .timeout_ms = options->spec->limits.timeout_ms};
	place_space_close(&serve->it.places[0]); /* it is shown nothing of that */
	job_cell_build(&serve->cell, &serve->it, &serve->it.places[0], &spec);
	serve->it.pool = NULL; /* the caller's may end before us */
	serve->it.loop = NULL;
	return ptr_take(&serve);
}

const struct cell_spec *function_serve_spec(const struct function_serve *serve)
{
	return &serve->cell.spec;
}
