/* What a verb's table says of itself: --help and the manual's option list. */
#include "cli/core/cli.h"

#include <string.h>

#define HELP_COLUMN 30
#define HELP_WIDTH 100
#define VERB_COLUMN 14

static void pad_to(struct buf *out, size_t line_start, size_t column)
{
	while (out->len - line_start < column)
		buf_char(out, ' ');
}

/* Words of `text` from HELP_COLUMN on, broken before HELP_WIDTH. */
static void wrapped(struct buf *out, size_t line_start, const char *text)
{
	pad_to(out, line_start, HELP_COLUMN);
	while (*text) {
		size_t word = strcspn(text, " ");
		if (out->len - line_start > HELP_COLUMN &&
			out->len - line_start + 1 + word > HELP_WIDTH) {
			buf_char(out, '\n');
			line_start = out->len;
			pad_to(out, line_start, HELP_COLUMN);
		} else if (out->len - line_start > HELP_COLUMN) {
			buf_char(out, ' ');
		}
		buf_add(out, text, word);
		text += word + (text[word] == ' ');
	}
	buf_char(out, '\n');
}

static void option_line(
	struct buf *out, char letter, const char *name, const char *value, const char *help)
{
	size_t start = out->len;

	if (letter)
		buf_fmt(out, "  -%c, --%s", letter, name);
	else
		buf_fmt(out, "      --%s", name);
	if (value)
		buf_fmt(out, " %s", value);
	if (out->len - start > HELP_COLUMN - 2) {
		buf_char(out, '\n');
		start = out->len;
	}
	wrapped(out, start, help);
}

void cli_help_verb(const struct cli_verb *verb, struct buf *out)
{
	buf_fmt(out, "Usage: hotcell %s%s%s\n\n%s\n\nOptions:\n", verb->name,
		verb->usage ? " " : "", verb->usage ? verb->usage : "", verb->summary);
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		own(buf_done) struct buf help = {0};
		buf_str(&help, option->help);
		if (option->fallback)
			buf_fmt(&help, " (default %s)", option->fallback);
		option_line(out, option->letter, option->name, option->value, buf_text(&help));
	}
	option_line(out, 'h', "help", NULL, "print this help");
	if (verb->details)
		buf_fmt(out, "\n%s", verb->details);
}

/* Those of a group, or all when it is NULL, their summaries in one column. */
static void verb_lines(struct buf *out, const char *group)
{
	size_t column = VERB_COLUMN;

	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		size_t needed = strlen((*verb)->name) + 4;
		if (!(*verb)->hidden && needed > column)
			column = needed;
	}
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		size_t start = out->len;
		if ((*verb)->hidden || (group && !cli_verb_second(*verb, group)))
			continue;
		buf_fmt(out, "  %s", (*verb)->name);
		pad_to(out, start, column);
		buf_fmt(out, "%s\n", (*verb)->summary);
	}
}

void cli_help_group(const char *group, struct buf *out)
{
	buf_fmt(out, "Usage: hotcell %s VERB [options] [arguments]\n\nVerbs:\n", group);
	verb_lines(out, group);
	buf_fmt(out,
		"\n'hotcell help %s VERB' tells more of one, and 'man hotcell-%s-VERB' all of it.\n",
		group, group);
}

void cli_help_all(struct buf *out)
{
	buf_str(out,
		"Usage: hotcell VERB [options] [arguments]\n\n"
		"Runs what nobody should run unprotected, each run sealed in a cell of its own.\n\nVerbs:\n");
	verb_lines(out, NULL);
	buf_str(out,
		"\n'hotcell help VERB' tells more of one, and 'man hotcell-VERB' all of it.\n"
		"Begin with: hotcell run -- sh -c 'id; ls -l /'\n");
}

void cli_man_options(const struct cli_verb *verb, struct buf *out)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		buf_str(out, ".It ");
		if (option->letter)
			buf_fmt(out, "Fl %c , ", option->letter);
		buf_fmt(out, "Fl -%s", option->name);
		if (option->value)
			buf_fmt(out, " Ar %s", option->value);
		buf_char(out, '\n');
	}
}
