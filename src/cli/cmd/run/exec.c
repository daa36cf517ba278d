/* hotcell exec: a further program inside a live cell, for looking around.
 *
 * The program gets pipes, or a terminal made here when stdin and stdout are one, never our own
 * descriptors: what is in a cell must not be able to reach the user's terminal. This process moves
 * the bytes, and what goes to a terminal only as one that shows: even of a harmless program others in
 * the cell can take the descriptors. The supervisor starts the program and tells how it ended. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "base/term.h"
#include "cli/core/tty.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"

#define CHUNK 32768
#define DRAIN_MAX 64 /* chunks; more than pipes hold, so that a child left behind does not keep us */

/* From the program to our stdout or stderr. */
struct outflow {
	int from, to;
	bool safe; /* `to` is a terminal that only shows */
	bool reader_left;
	struct loop_source *source;
	struct term_filter filter;
};

/* From our stdin to the program. */
struct inflow {
	int to;
	struct loop_source *from_source, *to_source;
	char data[CHUNK];
	size_t pos, len;
};

struct exec {
	struct loop *loop;
	bool tty, raw;
	int inside[3]; /* the program's ends, until they are sent */
	int master; /* of the terminal, for its size */
	struct outflow out, err;
	struct inflow in;
	int answer_fd;
	struct loop_source *answer_source;
	bool done;
	int code;
};

/* ---- output ---- */

static void put_all(struct outflow *flow, const char *bytes, size_t len)
{
	for (size_t done = 0; done < len && !flow->reader_left;) {
		ssize_t wrote = write(flow->to, bytes + done, len - done);
		if (wrote < 0 && errno != EINTR && errno != EAGAIN)
			flow->reader_left = true; /* the program's output is read on, so that it goes on */
		done += wrote > 0 ? (size_t)wrote : 0;
	}
}

static void outflow_show(struct outflow *flow, const char *bytes, size_t len)
{
	own(buf_done) struct buf safe = {0};
	if (!flow->safe) {
		put_all(flow, bytes, len);
		return;
	}
	term_filter(&flow->filter, bytes, len, &safe);
	put_all(flow, safe.data, safe.len);
}

static void outflow_close(struct outflow *flow)
{
	own(buf_done) struct buf rest = {0};
	flow->source = loop_remove(flow->source);
	if (flow->from >= 0 && flow->safe) {
		term_filter_end(&flow->filter, &rest);
		put_all(flow, rest.data, rest.len);
	}
	fd_close(&flow->from);
}

/* True if something came. */
static bool outflow_read(struct outflow *flow)
{
	char chunk[CHUNK];
	ssize_t got = flow->from >= 0 ? read(flow->from, chunk, sizeof(chunk)) : -1;
	if (got > 0)
		outflow_show(flow, chunk, (size_t)got);
	else if (flow->from >= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR)))
		outflow_close(flow); /* a terminal ends with EIO */
	return got > 0;
}

static void on_output(void *data, int fd, uint32_t events)
{
	(void)fd, (void)events;
	(void)outflow_read(data);
}

/* ---- input ---- */

static void on_input(void *data, int fd, uint32_t events);

static void inflow_close(struct inflow *flow)
{
	flow->from_source = loop_remove(flow->from_source);
	flow->to_source = loop_remove(flow->to_source);
	fd_close(&flow->to);
}

static void on_room(void *data, int fd, uint32_t events)
{
	struct exec *exec = data;
	struct inflow *flow = &exec->in;
	(void)events;
	ssize_t put = write(fd, flow->data + flow->pos, flow->len - flow->pos);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (put < 0) { /* the program reads no more */
		inflow_close(flow);
		return;
	}
	flow->pos += (size_t)put;
	if (flow->pos < flow->len)
		return;
	flow->to_source = loop_remove(flow->to_source);
	flow->from_source = loop_add_fd(exec->loop, STDIN_FILENO, EPOLLIN, on_input, exec);
}

static void on_input(void *data, int fd, uint32_t events)
{
	struct exec *exec = data;
	struct inflow *flow = &exec->in;
	(void)events;
	ssize_t got = read(fd, flow->data, sizeof(flow->data));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		inflow_close(flow);
		return;
	}
	flow->pos = 0;
	flow->len = (size_t)got;
	flow->from_source = loop_remove(flow->from_source);
	flow->to_source = loop_add_fd(exec->loop, flow->to, EPOLLOUT, on_room, exec);
}

/* ---- its ends ---- */

static int make_pipe(int ours, int *ret_ours, int *ret_inside, struct err *err)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(err, errno, "make a pipe");
	*ret_ours = ends[ours];
	*ret_inside = ends[!ours];
	(void)fcntl(*ret_ours, F_SETFL, (ours ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
	return 0;
}

static int make_pipes(struct exec *exec, struct err *err)
{
	if (make_pipe(1, &exec->in.to, &exec->inside[0], err) < 0 ||
		make_pipe(0, &exec->out.from, &exec->inside[1], err) < 0 ||
		make_pipe(0, &exec->err.from, &exec->inside[2], err) < 0)
		return -1;
	return 0;
}

static int make_terminal(struct exec *exec, struct err *err)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};
	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
	if (tty_make(&exec->master, &exec->inside[0], err) < 0)
		return -1;
	(void)ioctl(exec->master, TIOCSWINSZ, &size);
	(void)fcntl(exec->master, F_SETFL, O_RDWR | O_NONBLOCK);
	exec->inside[1] = fcntl(exec->inside[0], F_DUPFD_CLOEXEC, 3);
	exec->inside[2] = fcntl(exec->inside[0], F_DUPFD_CLOEXEC, 3);
	exec->out.from = fcntl(exec->master, F_DUPFD_CLOEXEC, 3); /* one number is watched once */
	exec->in.to = fcntl(exec->master, F_DUPFD_CLOEXEC, 3);
	if (exec->inside[1] < 0 || exec->inside[2] < 0 || exec->out.from < 0 || exec->in.to < 0)
		return err_errno(err, errno, "copy a descriptor");
	return 0;
}

static void exec_done(struct exec *exec)
{
	inflow_close(&exec->in);
	outflow_close(&exec->out);
	outflow_close(&exec->err);
	exec->answer_source = loop_remove(exec->answer_source);
	fd_close(&exec->answer_fd);
	fd_close(&exec->master);
	for (int i = 0; i < 3; i++)
		fd_close(&exec->inside[i]);
	exec->loop = loop_free(exec->loop);
	tty_restore();
}

/* ---- its life ---- */

/* What it printed is all there by now; a child it left behind is not waited for. */
static void on_answer(void *data, int fd, uint32_t events)
{
	struct exec *exec = data;
	struct err err = {0};
	int status = 0;
	(void)events;
	int rc = live_exec_result(fd, &status, &err);
	for (int i = 0; i < DRAIN_MAX && (outflow_read(&exec->out) || outflow_read(&exec->err)); i++)
		;
	exec->done = true;
	tty_restore();
	if (rc < 0)
		exec->code = cli_fail(&err);
	else
		exec->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_signal(void *data, int number)
{
	struct exec *exec = data;
	struct winsize size;
	if (number != SIGWINCH) {
		exec->done = true;
		exec->code = 128 + number;
	} else if (exec->tty && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0) {
		(void)ioctl(exec->master, TIOCSWINSZ, &size);
	}
}

static int take_signals(struct exec *exec, struct err *err)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
	sigset_t set;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		(void)sigaddset(&set, ours[i]);
	return loop_take_signals(exec->loop, &set, on_signal, exec, err);
}

/* A program that knows its terminal to be dumb prints nothing that we would have to show as text. */
static int start(struct exec *exec, const struct live_cell *cell, char **command, struct err *err)
{
	const char *term = getenv("TERM");
	own(freep) char *term_entry = xfmt("TERM=%s", exec->raw && term ? term : "dumb");
	const char *env[8] = {0};
	size_t count = 0;
	for (; cell_default_env[count] && count < ARRAY_LEN(env) - 2; count++)
		env[count] = cell_default_env[count];
	if (exec->tty)
		env[count] = term_entry;
	exec->answer_fd = live_exec(cell, (const char *const *)command, env, exec->inside, exec->tty, err);
	for (int i = 0; i < 3; i++)
		fd_close(&exec->inside[i]);
	return exec->answer_fd < 0 ? -1 : 0;
}

static int watch(struct exec *exec, struct err *err)
{
	exec->answer_source = loop_add_fd(exec->loop, exec->answer_fd, EPOLLIN, on_answer, exec);
	exec->out.source = loop_add_fd(exec->loop, exec->out.from, EPOLLIN, on_output, &exec->out);
	if (exec->err.from >= 0)
		exec->err.source = loop_add_fd(exec->loop, exec->err.from, EPOLLIN, on_output, &exec->err);
	exec->in.from_source = loop_add_fd(exec->loop, STDIN_FILENO, EPOLLIN, on_input, exec);
	if (!exec->answer_source || !exec->out.source || (exec->err.from >= 0 && !exec->err.source))
		return err_errno(err, errno, "wait for the program");
	return 0;
}

static int exec_run(struct exec *exec, const struct live_cell *cell, char **command)
{
	struct err err = {0};
	exec->loop = loop_open(&err);
	if (!exec->loop || (exec->tty ? make_terminal(exec, &err) : make_pipes(exec, &err)) < 0 ||
		take_signals(exec, &err) < 0 || start(exec, cell, command, &err) < 0 || watch(exec, &err) < 0)
		return cli_fail(&err);
	if (exec->tty)
		(void)tty_raw();
	while (!exec->done)
		if (loop_turn(exec->loop, -1) < 0)
			return EXIT_OURS;
	return exec->code;
}

struct exec_options {
	bool raw;
};

static int run(void *data, const struct cli_args *args)
{
	const struct exec_options *options = data;
	bool safe = !options->raw;
	own(live_list_done) struct live_list list;
	struct err err = {0};

	live_list(&list);
	const struct live_cell *cell = live_find(&list, args->words[0], &err);
	if (!cell)
		return cli_fail(&err);
	own(exec_done) struct exec exec = {
		.tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO),
		.raw = options->raw,
		.inside = {-1, -1, -1},
		.master = -1,
		.answer_fd = -1,
		.out = {.from = -1, .to = STDOUT_FILENO, .safe = safe && isatty(STDOUT_FILENO)},
		.err = {.from = -1, .to = STDERR_FILENO, .safe = safe && isatty(STDERR_FILENO)},
		.in = {.to = -1},
	};
	return exec_run(&exec, cell, args->command);
}

static const struct cli_option options_table[] = {
	{.name = "raw", .kind = CLI_FLAG, CLI_INTO(struct exec_options, raw),
		.help = "let its escape sequences reach your terminal"},
	{0},
};

const struct cli_verb verb_exec = {
	.name = "exec",
	.summary = "run a further program inside a live cell",
	.usage = "[--raw] CELL -- COMMAND [ARGUMENT...]",
	.details = "CELL is an id as 'hotcell ps' prints it, or the beginning of one. The program is in all\n"
		   "namespaces and limits of the cell. With a terminal on stdin and stdout it gets one of its own.\n"
		   "What reaches your terminal is text and colour alone, and TERM is dumb, unless --raw is given.\n"
		   "The exit code is the program's, 128+N if signal N ended it, 125 if hotcell failed.\n",
	.options = options_table,
	.options_size = sizeof(struct exec_options),
	.words_min = 1,
	.words_max = 1,
	.word = "CELL",
	.word_hint = CLI_HINT_CELL,
	.takes_command = true,
	.run = run,
};
