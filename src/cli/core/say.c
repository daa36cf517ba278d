/* What the program says, and the whole life of a verb. */
#include "cli/core/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "cell/cell.h"
#include "run/hidden.h"

#define LINE_MAX_SAID 400

static const struct cell *printing;
static bool was_cut;

void cli_beside(const struct cell *cell)
{
	was_cut = was_cut || (printing && cell_is_cut(printing));
	printing = cell;
}

const char *cli_apart(int fd)
{
	return (was_cut || (printing && cell_is_cut(printing))) && isatty(fd) ? TERM_CANCEL : "";
}

void cli_say(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return;
	redact_line(hidden_redactor(), text);
	(void)fprintf(stderr, "%shotcell: %s\n", cli_apart(STDERR_FILENO), text);
	explicit_bzero(text, (size_t)len);
	free(text);
}

int cli_fail(const struct err *err)
{
	own(buf_done) struct buf line = {0};

	term_line(err->text, strlen(err->text), LINE_MAX_SAID,
		&line); /* it may quote hostile names */
	cli_say("%s", buf_text(&line));
	return err->code == ERR_USAGE ? EXIT_USAGE : EXIT_OURS;
}

int cli_print_to(int fd, const struct buf *text)
{
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(fd, text->data + done, text->len - done);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0) {
			cli_say("cannot write to %s: %s", fd == STDOUT_FILENO ? "stdout" : "stderr", strerror(errno));
			return EXIT_OURS;
		}
		done += (size_t)wrote;
	}
	return 0;
}

int cli_print(const struct buf *text)
{
	return cli_print_to(STDOUT_FILENO, text);
}

bool cli_color(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(fd);
}

int cli_run(const struct cli_verb *verb, int argc, char **argv)
{
	own(freep) void *options = xcalloc(1, verb->options_size ? verb->options_size : 1);
	struct err err = {0};
	struct cli_args args;
	bool help;
	int code;

	if (verb->defaults)
		verb->defaults(options);
	hidden_words((const char *const *)argv, (size_t)argc);
	int parsed = cli_parse(verb, argc, argv, options, &args, &help, &err);
	if (parsed < 0) {
		code = cli_fail(&err);
	} else if (help) {
		own(buf_done) struct buf out = {0};
		cli_help_verb(verb, &out);
		code = cli_print(&out);
	} else {
		code = verb->run(options, &args);
	}
	cli_parse_done(verb, options, &args);
	hidden_nothing();
	return code;
}
