/* effects [OPTION...] -- COMMAND...: a cell whose program is spoken with over direct pipes, and what it sets out to do. It
 * judges nothing: the verdict is that of tests/system/test_effects.py.
 *
 *	--backend NAME  --mount SOURCE:TARGET  --deny CALL  --observe  --plain (no effects asked for)  --tty  --warm
 *	--path PATH	the cell may read and list below this only, and write nothing
 *	--turn		the loop turns while an answer is waited for; else nothing is taken in before it is there
 *
 * The command says a line when it is ready, and one for each line it is given. A line of ours that begins with "!" is a
 * command for `sh -c`, executed beside it; "?cancel" and "?sleep" are for us. Lines of output, as JSON, in order:
 *
 *	{"effect": KIND, "what": HEX, "words": [HEX...] or null, "by": HEX, "pid": N}
 *	{"answer": TEXT, "told": whether there are effects, "dropped": N, "kb": our memory}
 *	{"ended": OUTCOME, "code": N, "dropped": N, "refused": N, "observed": N, "error": TEXT} */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "cell/cell.h"

#define PATIENCE_NS (150 * NS_PER_S)

static struct {
	struct loop *loop;
	struct cell_pool *pool;
	struct cell *cell;
	struct cell_spec spec;
	struct cell_mount mounts[4];
	struct cell_path paths[8];
	const char *deny[8], *backend;
	bool turn, warm, ended, executed;
	int to, from;
} run = { .backend = "native", .to = -1, .from = -1 };

static void put_hex(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++)
		printf("%02x", (unsigned char)*text);
	putchar('"');
}

static void put_text(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\' || (unsigned char)*text >= 0x7f)
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	putchar('"');
}

static void on_effect(void *data, const struct cell_effect *effect)
{
	(void)data;
	printf("{\"effect\": \"%s\", \"pid\": %d, \"what\": ", cell_effect_name(effect->kind), effect->pid);
	put_hex(effect->what);
	printf(", \"by\": ");
	put_hex(effect->by);
	printf(", \"words\": %s", effect->words == NULL ? "null" : "[");
	for (size_t i = 0; effect->words != NULL && effect->words[i] != NULL; i++) {
		printf("%s", i > 0 ? ", " : "");
		put_hex(effect->words[i]);
	}
	printf("%s}\n", effect->words == NULL ? "" : "]");
}

static void on_done(void *data, struct cell *cell, const struct cell_result *result)
{
	size_t observed = 0;

	(void)data;
	for (size_t i = 0; i < CELL_MAX_CALLS; i++)
		observed += result->observed.calls[i];
	printf("{\"ended\": \"%s\", \"code\": %d, \"dropped\": %lu, \"refused\": %lu, \"observed\": %zu, \"error\": ",
		cell_outcome_name(result->outcome), result->exit_code, (unsigned long)cell_effects_dropped(cell),
		(unsigned long)result->refused_total, observed);
	put_text(result->err.text);
	printf("}\n");
	run.ended = true;
}

static void on_executed(void *data, int status, const struct err *err)
{
	(void)data;
	(void)status;
	(void)err;
	run.executed = true;
}

static void turn_until(const bool *what)
{
	uint64_t until = clock_now() + PATIENCE_NS;

	while (!*what && !run.ended && clock_now() < until)
		(void)loop_turn(run.loop, 100);
}

/* A line of the cell's, or NULL at its end. */
static const char *answer(void)
{
	static char text[65536];
	size_t len = 0;
	uint64_t until = clock_now() + PATIENCE_NS;

	while (len < sizeof(text) - 1 && clock_now() < until) {
		struct pollfd fd = { .fd = run.from, .events = POLLIN };
		if (run.turn)
			(void)loop_turn(run.loop, 1);
		if (poll(&fd, 1, run.turn ? 0 : 1000) == 0)
			continue;
		if (read(run.from, text + len, 1) != 1)
			return NULL;
		if (text[len] == '\n') {
			text[len] = '\0';
			return text;
		}
		len++;
	}
	return NULL;
}

static bool take_answer(void)
{
	const char *text = answer();
	struct rusage usage;

	if (text == NULL)
		return false;
	bool told = cell_effects(run.cell);
	(void)getrusage(RUSAGE_SELF, &usage);
	printf("{\"answer\": ");
	put_text(text);
	printf(", \"told\": %s, \"dropped\": %lu, \"kb\": %ld}\n", told ? "true" : "false",
		(unsigned long)cell_effects_dropped(run.cell), usage.ru_maxrss);
	return true;
}

static void execute(const char *command)
{
	const char *const argv[] = { "sh", "-c", command, NULL };
	const int fds[3] = { open("/dev/null", O_RDWR | O_CLOEXEC), open("/dev/null", O_RDWR | O_CLOEXEC), 2 };
	struct err err = { 0 };

	run.executed = false;
	if (cell_exec(run.cell, argv, cell_default_env, fds, false, on_executed, NULL, &err) < 0)
		printf("{\"refused\": \"exec\"}\n");
	else
		turn_until(&run.executed);
	(void)cell_effects(run.cell);
	printf("{\"executed\": %s}\n", run.executed ? "true" : "false");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void speak(void)
{
	char line[65536];
	static const bool never = false;

	if (!take_answer())
		return;
	while (fgets(line, sizeof(line), stdin) != NULL) {
		size_t len = strlen(line);
		if (line[0] == '!') {
			line[len - 1] = '\0';
			execute(line + 1);
		} else if (strcmp(line, "?cancel\n") == 0) {
			cell_cancel(run.cell);
			turn_until(&never);
			return;
		} else if (write(run.to, line, len) != (ssize_t)len || !take_answer()) {
			return;
		}
	}
}

static int start(void)
{
	int to[2], from[2];
	struct err err = { 0 };

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		return 1;
	struct cell_io io = { .in = to[0], .out = from[1], .err = 2, .direct = true, .effect = on_effect };
	if (run.spec.tty)
		io = (struct cell_io){ .in = -1, .out = -1, .err = -1, .effect = on_effect };
	run.cell = cell_start(run.pool, &run.spec, &io, on_done, NULL, &err);
	(void)close(to[0]);
	(void)close(from[1]);
	run.to = to[1];
	run.from = from[0];
	if (run.cell == NULL) {
		printf("{\"refused\": \"%s\"}\n", err.text);
		return 1;
	}
	/* the job goes out when the cell is made, which the loop sees to; a first word is waited for there */
	struct pollfd ready = { .fd = run.from, .events = POLLIN };
	while (!run.ended && poll(&ready, 1, 0) == 0)
		(void)loop_turn(run.loop, 10);
	if (!run.spec.tty)
		speak();
	fd_close(&run.to);
	turn_until(&run.ended);
	fd_close(&run.from);
	run.cell = cell_free(run.cell);
	return 0;
}

static void add_mount(char *text)
{
	char *colon = strchr(text, ':');

	if (colon == NULL || run.spec.mount_count == 4)
		exit(99);
	*colon = '\0';
	run.mounts[run.spec.mount_count++] = (struct cell_mount){ text, colon + 1, false };
	run.spec.mounts = run.mounts;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = { { "backend", 1, NULL, 'b' }, { "mount", 1, NULL, 'm' }, { "deny", 1, NULL, 'd' },
		{ "observe", 0, NULL, 'o' }, { "plain", 0, NULL, 'p' }, { "turn", 0, NULL, 't' }, { "tty", 0, NULL, 'y' },
		{ "warm", 0, NULL, 'w' }, { "path", 1, NULL, 'l' }, { NULL, 0, NULL, 0 } };
	size_t denied = 0;

	for (int c; (c = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
		switch (c) {
		case 'b': run.backend = optarg; break;
		case 'm': add_mount(optarg); break;
		case 'd': run.deny[denied++ % 7] = optarg; break;
		case 'o': run.spec.observe = true; break;
		case 'p': run.spec.effects = false; break;
		case 't': run.turn = true; break;
		case 'y': run.spec.tty = true; break;
		case 'w': run.warm = true; break;
		case 'l':
			run.paths[run.spec.path_count++ % 8] = (struct cell_path){ optarg,
				CELL_RIGHT(CELL_READ) | CELL_RIGHT(CELL_LIST) | CELL_RIGHT(CELL_EXECUTE) };
			break;
		default: exit(99);
		}
	}
	run.spec.argv = (const char *const *)argv + optind;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };

	(void)setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	cell_spec_defaults(&run.spec);
	run.spec.effects = true;
	run.spec.limits.timeout_ms = 300 * 1000;
	run.spec.env = cell_default_env;
	run.spec.calls_deny = run.deny;
	run.spec.paths = run.paths;
	read_options(argc, argv);
	run.loop = loop_open(&err);
	run.pool = run.loop == NULL ? NULL : cell_pool_open(run.backend, run.loop, &err);
	if (run.pool == NULL || (run.warm && cell_pool_warm(run.pool, &run.spec, 1, &err) < 0)) {
		printf("{\"refused\": \"%s\"}\n", err.text);
		return 1;
	}
	for (int i = 0; run.warm && i < 30; i++)
		(void)loop_turn(run.loop, 10);
	int failed = start();
	run.pool = cell_pool_free(run.pool);
	run.loop = loop_free(run.loop);
	return failed;
}
