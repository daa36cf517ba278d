/* hotcell campaign init: a campaign file to begin with. Every key in it comes from the options of `campaign
 * run`, so there is none that is missing, renamed or has another default. */
#include <string.h>

#include "base/size.h"
#include "base/term.h"
#include "base/out_file.h"
#include "cli/cmd/verbs.h"

#define FILE_NAME "campaign.yaml"
#define COMMENT_WIDTH 100

struct init_options {
	bool force;
};

/* ---- one key ---- */

static void put_comment(struct buf *out, const char *text)
{
	size_t start = out->len;

	buf_char(out, '#');
	while (*text) {
		size_t word = strcspn(text, " ");
		if (out->len - start + 1 + word > COMMENT_WIDTH) {
			buf_str(out, "\n#");
			start = out->len - 1;
		}
		buf_char(out, ' ');
		buf_add(out, text, word);
		text += word + (text[word] == ' ');
	}
	buf_char(out, '\n');
}

/* Whether the default, as people are told it, can be written as it is. "random" cannot. */
static bool is_value(const struct cli_option *option)
{
	const char *text = option->fallback;
	struct err err = {0};
	uint64_t number;
	uint32_t cpus;

	if (!text)
		return false;
	switch (option->kind) {
	case CLI_SIZE: return size_parse(text, "", &number, &err) == 0;
	case CLI_DURATION: return duration_parse(text, "", &number, &err) == 0;
	case CLI_COUNT: return count_parse(text, "", option->min, option->max, &number, &err) == 0;
	case CLI_CPUS: return cpus_parse(text, "", &cpus, &err) == 0;
	default: return !strpbrk(text, " ,");
	}
}

/* The two everybody sets are set; all else is the default until it is uncommented. */
static bool is_set(const struct cli_option *option)
{
	return strcmp(option->name, "runs") == 0 || strcmp(option->name, "workers") == 0;
}

static void put_key(struct buf *out, const struct cli_option *option)
{
	own(buf_done) struct buf help = {0};
	const char *off = is_set(option) ? "" : "#";

	buf_str(&help, option->help);
	if (option->choices)
		buf_fmt(&help, "; one of: %s", option->choices);
	if (option->fallback && !is_value(option))
		buf_fmt(&help, " (default: %s)", option->fallback);
	buf_char(out, '\n');
	put_comment(out, buf_text(&help));
	if (option->kind == CLI_FLAG)
		buf_fmt(out, "%s%s: false\n", off, option->name);
	else if (option->kind == CLI_LIST)
		buf_fmt(out, "%s%s:\n%s  - %s\n", off, option->name, off, option->value);
	else
		buf_fmt(out, "%s%s: %s\n", off, option->name, is_value(option) ? option->fallback : option->value);
}

/* ---- the file ---- */

static void put_file(struct buf *out)
{
	buf_str(out,
		"# A campaign: one command, run many times, each time in a cell of its own.\n"
		"#\n"
		"#\thotcell campaign run " FILE_NAME "             begins it\n"
		"#\thotcell campaign run " FILE_NAME " --dry-run   shows what it would do\n"
		"#\thotcell campaign schema                        lets an editor complete and check it\n"
		"#\n"
		"# Each key is an option of 'hotcell campaign run', and an option on the command line wins over the\n"
		"# key. What is commented out has its default, or an example of what it takes.\n"
		"\n"
		"# What is run, word by word. It finds its number, its seed and the campaign's name in HOTCELL_RUN,\n"
		"# HOTCELL_SEED and HOTCELL_CAMPAIGN; what it leaves in /workspace is kept.\n"
		"command: [sh, -c, 'echo \"run $HOTCELL_RUN with seed $HOTCELL_SEED\"']\n");
	for (const struct cli_option *option = verb_campaign_run.options; option->name; option++)
		if (!option->not_in_file)
			put_key(out, option);
}

static int run(void *data, const struct cli_args *args)
{
	const struct init_options *options = data;
	const char *path = args->word_count > 0 ? args->words[0] : FILE_NAME;
	own(buf_done) struct buf text = {0}, line = {0};
	struct err err = {0};

	put_file(&text);
	if (out_file_is_stdout(path))
		return cli_print(&text);
	if (!*path || out_file_write(path, &text, options->force, &err) < 0)
		return *path ? cli_fail(&err) : cli_fail(&(struct err){.code = ERR_USAGE, .text = "the file's name is empty"});
	term_line(path, strlen(path), 400, &line);
	buf_char(&line, '\n');
	return cli_print(&line);
}

static const struct cli_option options_table[] = {
	{.name = "force", .letter = 'f', .kind = CLI_FLAG, CLI_INTO(struct init_options, force),
		.help = "overwrite a file that is there"},
	{0},
};

const struct cli_verb verb_campaign_init = {
	.name = "campaign init",
	.summary = "write a commented campaign file to begin with",
	.usage = "[options] [FILE]",
	.details = "FILE is " FILE_NAME " by default; - is stdout. Every key is in it, with its default.\n",
	.options = options_table,
	.options_size = sizeof(struct init_options),
	.words_max = 1,
	.word = "FILE",
	.word_hint = CLI_HINT_FILE,
	.run = run,
};
