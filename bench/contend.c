/* Contenders in turns: the steady state, the cold start, and any command. */
#include "bench.h"

#include "base/clock.h"

int contend(struct contender *list, size_t count, unsigned blocks, unsigned skip, struct err *err)
{
	for (unsigned block = 0; block < blocks; block++) {
		for (size_t i = 0; i < count; i++) {
			struct contender *who = &list[i];
			if (who->per_block == 0)
				continue;
			for (unsigned run = 0; run < who->per_block + skip; run++) {
				uint64_t ns;
				if (who->once(who->data, &ns, err) < 0)
					return err_wrap(err, "%s", who->name);
				if (run >= skip)
					samples_add(&who->samples, ns);
			}
			if (who->rest)
				who->rest(who->data);
		}
	}
	return 0;
}

int contend_plain(void *argv, uint64_t *ret_ns, struct err *err)
{
	uint64_t start = clock_now();
	int failed = plain_run(argv, err);

	*ret_ns = clock_now() - start;
	return failed;
}

int contend_cell(void *cell, uint64_t *ret_ns, struct err *err)
{
	uint64_t start = clock_now();
	int failed = bench_cell_run(cell, err);

	*ret_ns = clock_now() - start;
	return failed;
}

/* The next one's turn must not be disturbed by cells that are made and removed behind our back. */
void contend_cell_rest(void *cell)
{
	bench_pool_rest(((struct bench_cell *)cell)->pool, 20);
}

static void put_all(struct contender *list, size_t count, struct json *json)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].samples.count > 0)
			samples_json(&list[i].samples, json, list[i].name);
		samples_done(&list[i].samples);
	}
}

/* One that cannot run here (bwrap where user namespaces are refused) does not take part, and the
 * JSON says why. */
static void try_out(struct contender *who, struct json *json)
{
	struct err err = {0};
	uint64_t ns;

	if (who->per_block > 0 && who->once(who->data, &ns, &err) < 0) {
		who->per_block = 0;
		json_put_string(json, "absent", err.text);
	}
}

/* ---- steady state: cells one after another without a pause, beside plain spawns and bwrap ---- */

int measure_steady(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	const char *const plain[] = {options->program, NULL},
			  *const inside[] = {BENCH_PROGRAM, NULL};
	const char *const bwrap[] = {
		options->bwrap, "--unshare-all", "--ro-bind", "/", "/", options->program, NULL};
	own(bench_pool_done) struct bench_pool pool = {0};
	own(bench_cell_done) struct bench_cell cell = {.pool = &pool};
	struct cell_mount mount;
	struct contender list[] = {
		{.name = "spawn",
			.per_block = (unsigned)options->count,
			.once = contend_plain,
			.data = (void *)plain},
		{.name = "cell",
			.per_block = (unsigned)options->cells,
			.once = contend_cell,
			.rest = contend_cell_rest,
			.data = &cell},
		{.name = "bwrap",
			.per_block = options->bwrap ? (unsigned)options->others : 0,
			.once = contend_plain,
			.data = (void *)bwrap},
	};

	(void)command;
	bench_spec(&cell.spec, &mount, options->program, inside);
	if (bench_pool_open(&pool, err) < 0 ||
		bench_pool_warm(&pool, &cell.spec, (unsigned)options->warm, err) < 0)
		return -1;
	try_out(&list[2], json);
	if (contend(list, ARRAY_LEN(list), (unsigned)options->blocks, 4, err) < 0)
		return -1;
	put_all(list, ARRAY_LEN(list), json);
	samples_json(&cell.setup, json, "cell_setup");
	samples_json(&cell.wall, json, "cell_wall");
	json_put_bool(json, "full", cell.full);
	json_put_string(json, "weaker", buf_text(&cell.weaker));
	return 0;
}

/* ---- cold: whole processes, from spawn to exit ---- */

int measure_cold(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	/* `true` of the system without a mount; a program of ours needs one */
	own(freep) char *mount =
		options->program ? xfmt("%s:" BENCH_PROGRAM, options->program) : NULL;
	const char *const mounted[] = {
		options->hotcell, "run", "-q", "--mount", mount, "--", BENCH_PROGRAM, NULL};
	const char *const of_system[] = {options->hotcell, "run", "-q", "--", "true", NULL};
	const char *const bwrap[] = {options->bwrap, "--unshare-all", "--ro-bind", "/", "/",
		options->program ? options->program : "true", NULL};
	struct contender list[] = {
		{.name = "hotcell",
			.per_block = (unsigned)options->cells,
			.once = contend_plain,
			.data = mount ? (void *)mounted : (void *)of_system},
		{.name = "bwrap",
			.per_block = options->bwrap ? (unsigned)options->others : 0,
			.once = contend_plain,
			.data = (void *)bwrap},
	};

	(void)command;
	try_out(&list[1], json);
	if (contend(list, ARRAY_LEN(list), (unsigned)options->blocks, 0, err) < 0)
		return -1;
	put_all(list, ARRAY_LEN(list), json);
	return 0;
}

/* ---- any command, as a whole process ---- */

int measure_command(const struct bench_options *options, char *const *command, struct json *json,
	struct err *err)
{
	struct contender list[] = {
		{.name = "command",
			.per_block = (unsigned)options->count,
			.once = contend_plain,
			.data = (void *)command},
	};

	if (contend(list, ARRAY_LEN(list), 1, 1, err) < 0)
		return -1;
	put_all(list, ARRAY_LEN(list), json);
	return 0;
}
