/* hotcell kill: ends live cells, and waits until they are gone. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"

#define GONE_NS (3 * NS_PER_S)
#define STEP_NS (20 * NS_PER_MS)

struct kill_options {
	bool all;
};

/* What `chosen` has are cells of `list`. */
struct choice {
	const struct live_cell **cells;
	size_t count;
};

static void choice_add(struct choice *chosen, const struct live_cell *cell)
{
	for (size_t i = 0; i < chosen->count; i++)
		if (chosen->cells[i] == cell)
			return;
	chosen->cells[chosen->count++] = cell;
}

/* All names before any is ended: a mistyped one ends nothing. */
static int choose(const struct live_list *list, const struct kill_options *options, const struct cli_args *args,
	struct choice *ret, struct err *err)
{
	ret->cells = xcalloc(list->count + 1, sizeof(*ret->cells));
	if (options->all && args->word_count > 0)
		return err_set(err, ERR_USAGE, "name cells or give --all, not both");
	if (!options->all && args->word_count == 0)
		return err_set(err, ERR_USAGE, "no cell named; 'hotcell ps' lists them, --all ends all");
	for (size_t i = 0; options->all && i < list->count; i++)
		choice_add(ret, &list->cells[i]);
	for (int i = 0; i < args->word_count; i++) {
		const struct live_cell *cell = live_find(list, args->words[i], err);
		if (!cell)
			return -1;
		choice_add(ret, cell);
	}
	return 0;
}

static size_t count_left(const struct choice *chosen)
{
	own(live_list_done) struct live_list now;
	size_t left = 0;
	live_list(&now);
	for (size_t i = 0; i < chosen->count; i++)
		for (size_t j = 0; j < now.count; j++)
			left += strcmp(chosen->cells[i]->id, now.cells[j].id) == 0;
	return left;
}

static int wait_until_gone(const struct choice *chosen)
{
	uint64_t until = clock_now() + GONE_NS;
	struct timespec step = {.tv_nsec = STEP_NS};
	size_t left;
	while ((left = count_left(chosen)) > 0 && clock_now() < until)
		(void)nanosleep(&step, NULL);
	if (left == 0)
		return 0;
	cli_say("%zu of %zu cells still there", left, chosen->count);
	return EXIT_OURS;
}

static void choice_done(struct choice *chosen)
{
	free(chosen->cells);
}

static int run(void *data, const struct cli_args *args)
{
	own(live_list_done) struct live_list list;
	own(choice_done) struct choice chosen = {0};
	struct err err = {0};

	live_list(&list);
	if (choose(&list, data, args, &chosen, &err) < 0)
		return cli_fail(&err);
	for (size_t i = 0; i < chosen.count; i++) {
		/* One that is over by now is as dead as asked for. */
		if (live_kill(chosen.cells[i], &err) < 0 && err.code != ESRCH)
			return cli_fail(&err);
	}
	return wait_until_gone(&chosen);
}

static const struct cli_option options_table[] = {
	{.name = "all", .kind = CLI_FLAG, CLI_INTO(struct kill_options, all), .help = "every live cell of this user"},
	{0},
};

const struct cli_verb verb_kill = {
	.name = "kill",
	.summary = "end live cells and everything in them",
	.usage = "[--all] [CELL...]",
	.details = "CELL is an id as 'hotcell ps' prints it, or the beginning of one.\n",
	.options = options_table,
	.options_size = sizeof(struct kill_options),
	.words_max = -1,
	.word = "CELL",
	.word_hint = CLI_HINT_CELL,
	.run = run,
};
