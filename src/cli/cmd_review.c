/* hotcell review: attack the cells of this machine, and say what was held. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/term.h"
#include "cli/verbs.h"
#include "review/review.h"

#define EXIT_ESCAPED 1
#define EXIT_UNKNOWN 4 /* something could not be tried */
#define REASON_SHOWN 400

struct review_cli {
	struct cli_list only;
	const char *backend, *image;
	bool json, list;
#ifdef HOTCELL_WEAKEN
	const char *weaken;
#endif
};

static const char *const colors[] = {
	[REVIEW_HELD] = "\033[32m",
	[REVIEW_ESCAPED] = "\033[1;31m",
	[REVIEW_DEGRADED] = "\033[33m",
	[REVIEW_NOT_APPLICABLE] = "\033[2m",
	[REVIEW_FAILED] = "\033[31m",
};

static void put_row(const struct review_row *row, bool color, struct buf *out)
{
	buf_fmt(out, "%s%-14s%s  %-28s  %s\n", color ? colors[row->verdict] : "", review_verdict_name(row->verdict),
		color ? "\033[0m" : "", row->attack->id, row->attack->technique);
	if (!*row->reason)
		return;
	buf_fmt(out, "%16s", "");
	term_line(row->reason, strlen(row->reason), REASON_SHOWN, out);
	buf_char(out, '\n');
}

static void put_text(const struct review *review, struct buf *out)
{
	bool color = cli_color(STDOUT_FILENO);

	for (size_t i = 0; i < review->count; i++)
		put_row(&review->rows[i], color, out);
	buf_fmt(out, "\n%zu attacks on the %s backend in %.1f s:", review->count, review->backend, (double)review->wall_ns / 1e9);
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		if (review->counts[i] || i == REVIEW_HELD || i == REVIEW_ESCAPED)
			buf_fmt(out, "%s %zu %s", i ? "," : "", review->counts[i], review_verdict_name(i));
	buf_char(out, '\n');
}

static void put_list(struct buf *out)
{
	for (const struct review_group *group = review_groups; group->name; group++) {
		buf_fmt(out, "%s: %s\n", group->name, group->title);
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			buf_fmt(out, "  %-28s  %s\n", attack->id, attack->technique);
	}
}

static void progress(void *data, size_t done, size_t count, const struct review_row *last)
{
	(void)data;
	(void)fprintf(stderr, "\r\033[K%zu/%zu %s", done, count, last && done < count ? last->attack->id : "");
	if (done == count)
		(void)fprintf(stderr, "\r\033[K");
	(void)fflush(stderr);
}

static int code_of(const struct review *review)
{
	return review->counts[REVIEW_ESCAPED] ? EXIT_ESCAPED : review->counts[REVIEW_FAILED] ? EXIT_UNKNOWN : 0;
}

static int print_list(void)
{
	own(buf_done) struct buf out = {0};

	put_list(&out);
	return cli_print(&out);
}

static int run(void *data, const struct cli_args *args)
{
	const struct review_cli *cli = data;
	own(review_done) struct review review = {0};
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {.pretty = true};
	struct err err = {0};
	struct review_options options = {
		.hotcell = "/proc/self/exe",
		.backend = cli->backend,
		.image = strcmp(cli->image, "host") == 0 ? NULL : cli->image,
		.only = cli->only.items,
		.progress = isatty(STDERR_FILENO) ? progress : NULL,
	};

	(void)args;
	if (cli->list)
		return print_list();
#ifdef HOTCELL_WEAKEN
	options.weaken = cli->weaken;
#endif
	if (review_run(&review, &options, &err) < 0)
		return cli_fail(&err);
	if (cli->json) {
		review_json(&review, &json);
		buf_add(&out, json.out.data, json.out.len);
		buf_char(&out, '\n');
	} else {
		put_text(&review, &out);
	}
	int failed = cli_print(&out);
	return failed ? failed : code_of(&review);
}

static void defaults(void *data)
{
	struct review_cli *cli = data;

	cli->backend = "native";
	cli->image = "host";
}

#define INTO(member) CLI_INTO(struct review_cli, member)
static const struct cli_option options_table[] = {
	{.name = "backend", .value = "NAME", .kind = CLI_TEXT, INTO(backend), .hint = CLI_HINT_CHOICE, .choices = "native none",
		.fallback = "native", .help = "what makes the cells that are attacked"},
	{.name = "image", .value = "DIR", .kind = CLI_TEXT, INTO(image), .hint = CLI_HINT_FOLDER, .fallback = "host",
		.help = "their root file system: a folder, or 'host'"},
	{.name = "only", .value = "GROUP|GLOB", .kind = CLI_LIST, INTO(only),
		.help = "only attacks of this group, or with such an id; repeatable"},
	{.name = "list", .kind = CLI_FLAG, INTO(list), .help = "list the attacks, and try none"},
#ifdef HOTCELL_WEAKEN
	{.name = "weaken", .value = "NAME", .kind = CLI_TEXT, INTO(weaken), .help = "leave out this protection"},
#endif
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print one JSON object"},
	{0},
};

const struct cli_verb verb_review = {
	.name = "review",
	.summary = "attack the cells of this machine, and say what was held",
	.usage = "[options]",
	.details = "Exit codes: 0 everything was held, or this machine lacks what would hold it; 1 something got through;\n"
		   "4 something could not be tried.",
	.options = options_table,
	.options_size = sizeof(struct review_cli),
	.defaults = defaults,
	.run = run,
};
