/* hotcell logs: what a live cell printed last. */
#include <errno.h>
#include <string.h>

#include "base/term.h"
#include "cli/verbs.h"
#include "live/live.h"

struct logs_options {
	bool follow;
};

static void tail_freep(struct live_tail **tail)
{
	*tail = live_tail_free(*tail);
}

/* A terminal gets it made safe, anything else as it is. A reader that left is the end, no error. */
static int show(struct term_filter *filter, const struct buf *bytes, bool *ret_reader_left)
{
	own(buf_done) struct buf safe = {0};
	const struct buf *shown = bytes;
	if (isatty(STDOUT_FILENO)) {
		term_filter(filter, bytes->data, bytes->len, &safe);
		shown = &safe;
	}
	for (size_t done = 0; done < shown->len;) {
		ssize_t wrote = write(STDOUT_FILENO, shown->data + done, shown->len - done);
		if (wrote < 0 && errno == EPIPE)
			*ret_reader_left = true;
		if (wrote < 0 && errno != EINTR)
			return errno == EPIPE ? 0 : -1;
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

/* The next question is on its way before the answer is shown, so that nothing a cell prints at its
 * end is missed. */
static int follow(struct live_tail *tail, bool wait, struct err *err)
{
	struct term_filter filter = {0};
	own(buf_done) struct buf rest = {0};
	uint64_t offset = 0;
	bool reader_left = false;
	if (live_tail_ask(tail, 0, false, err) < 0)
		return -1;
	for (int more = 1; more > 0 && !reader_left;) {
		own(buf_done) struct buf bytes = {0};
		more = live_tail_get(tail, &offset, &bytes, err);
		if (!wait)
			more = more < 0 ? -1 : 0;
		if (more > 0 && live_tail_ask(tail, offset, true, err) < 0)
			more = err->code == EPIPE ? 0 : -1; /* it is over */
		if (more < 0)
			return -1;
		if (show(&filter, &bytes, &reader_left) < 0)
			return err_errno(err, errno, "write to stdout");
	}
	term_filter_end(&filter, &rest);
	return show(&(struct term_filter){0}, &rest, &reader_left);
}

static int run(void *data, const struct cli_args *args)
{
	const struct logs_options *options = data;
	own(live_list_done) struct live_list list;
	struct err err = {0};

	live_list(&list);
	const struct live_cell *cell = live_find(&list, args->words[0], &err);
	if (!cell)
		return cli_fail(&err);
	own(tail_freep) struct live_tail *tail = live_tail_open(cell, &err);
	if (!tail || follow(tail, options->follow, &err) < 0)
		return cli_fail(&err);
	return 0;
}

static const struct cli_option options_table[] = {
	{.name = "follow", .letter = 'f', .kind = CLI_FLAG, CLI_INTO(struct logs_options, follow),
		.help = "go on until the cell is over"},
	{0},
};

const struct cli_verb verb_logs = {
	.name = "logs",
	.summary = "print the latest output of a live cell",
	.usage = "[options] CELL",
	.details = "The latest 64 KB are kept. CELL is an id as 'hotcell ps' prints it, or the beginning of one.\n",
	.options = options_table,
	.options_size = sizeof(struct logs_options),
	.words_min = 1,
	.words_max = 1,
	.word = "CELL",
	.word_hint = CLI_HINT_CELL,
	.run = run,
};
