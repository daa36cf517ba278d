/* hotcell self-check, in test builds: leaves out each protection in turn, and requires that the review notices.
 *
 * This is the mutation test of the sandbox: a protection that no attack misses is not tested, and a row that names one
 * without which it is held all the same is not honest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/weaken.h"
#include "cell/cell.h"
#include "cli/cmd/verbs.h"
#include "review/review.h"

struct self_check_cli {
	struct cli_list only;
	bool strict;
};

/* The ids of the attacks that name it; the caller frees the list. */
static size_t attacks_of(const char *name, const char ***ret)
{
	const char **ids = xcalloc(1, sizeof(*ids));
	size_t count = 0;

	for (const struct review_group *group = review_groups; group->name; group++) {
		for (const struct review_attack *attack = group->attacks; attack->id; attack++) {
			if (!review_names(attack->without, name))
				continue;
			ids = xrealloc(ids, count + 2, sizeof(*ids));
			ids[count++] = attack->id;
			ids[count] = NULL;
		}
	}
	*ret = ids;
	return count;
}

static void put_ids(struct buf *out, const struct review *review, bool noticed, const char *before)
{
	size_t count = 0;

	for (size_t i = 0; i < review->count; i++) {
		const struct review_row *row = &review->rows[i];
		if ((row->verdict == REVIEW_ESCAPED) != noticed)
			continue;
		buf_fmt(out, "%s%s", count++ ? ", " : before, row->attack->id);
		if (!noticed && row->verdict != REVIEW_HELD)
			buf_fmt(out, " (%s: %.120s)", review_verdict_name(row->verdict), row->reason);
	}
}

/* One line; true if it is as it should be. */
static bool check(const char *name, bool strict, struct buf *out)
{
	own(review_done) struct review review = {0};
	own(freep) const char **ids = NULL;
	struct review_options options = {.hotcell = "/proc/self/exe", .backend = "native", .weaken = name};
	struct err err = {0};

	if (attacks_of(name, &ids) == 0) {
		buf_fmt(out, "not ok %s: no attack is said to notice that it is missing\n", name);
		return false;
	}
	options.only = ids;
	if (review_run(&review, &options, &err) < 0) {
		buf_fmt(out, "not ok %s: %s\n", name, err.text);
		return false;
	}
	size_t escaped = review.counts[REVIEW_ESCAPED];
	bool good = escaped > 0 && (!strict || escaped + review.counts[REVIEW_NOT_APPLICABLE] == review.count);
	buf_fmt(out, "%sok %s: ", good ? "" : "not ", name);
	if (escaped == 0)
		buf_str(out, "no attack notices that it is missing");
	put_ids(out, &review, true, "noticed by ");
	put_ids(out, &review, false, escaped ? "; not by " : ": not ");
	buf_char(out, '\n');
	return good;
}

static bool is_wanted(const struct self_check_cli *cli, const char *name)
{
	for (size_t i = 0; i < cli->only.count; i++)
		if (strcmp(cli->only.items[i], name) == 0)
			return true;
	return cli->only.count == 0;
}

static bool check_row(const struct review_attack *attack, struct buf *out)
{
	own(freep) char *copy = xstrdup(attack->without ? attack->without : "");
	char *rest = copy;
	bool good = true;

	if ((attack->without || attack->wants) == (attack->by != NULL)) {
		buf_fmt(out, "not ok %s must say either what holds it or why that cannot be left out\n", attack->id);
		good = false;
	}
	if (attack->harsh && attack->without) {
		buf_fmt(out, "not ok %s names what it is never tried without: it is harsh\n", attack->id);
		good = false;
	}
	for (char *name; (name = strsep(&rest, " "));) {
		if (!*name || weaken_known(name))
			continue;
		buf_fmt(out, "not ok %s names '%s', which nothing is called\n", attack->id, name);
		good = false;
	}
	return good;
}

/* Every protection of a receipt can be left out, and a row names none that does not exist or that it cannot show. */
static bool check_names(struct buf *out)
{
	bool good = true;

	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		if (weaken_known(cell_protection_name(i)))
			continue;
		buf_fmt(out, "not ok %s cannot be left out\n", cell_protection_name(i));
		good = false;
	}
	for (const struct review_group *group = review_groups; group->name; group++)
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			good = check_row(attack, out) && good;
	if (good)
		buf_str(out, "ok every protection of a receipt can be left out, and rows name no others\n");
	return good;
}

static int run(void *data, const struct cli_args *args)
{
	const struct self_check_cli *cli = data;
	own(buf_done) struct buf out = {0};
	bool good = check_names(&out);

	(void)args;
	for (const char *const *name = weaken_names; *name; name++) {
		if (!is_wanted(cli, *name))
			continue;
		good = check(*name, cli->strict, &out) && good;
		if (cli_print(&out) != 0) /* one by one: it takes minutes */
			return EXIT_OURS;
		(void)fflush(stdout);
		out.len = 0;
	}
	return good ? 0 : 1;
}

static const struct cli_option options_table[] = {
	{.name = "only", .value = "NAME", .kind = CLI_LIST, CLI_INTO(struct self_check_cli, only),
		.help = "leave out only this one; repeatable"},
	{.name = "strict", .kind = CLI_FLAG, CLI_INTO(struct self_check_cli, strict),
		.help = "every attack that names it must notice"},
	{0},
};

const struct cli_verb verb_self_check = {
	.name = "self-check",
	.summary = "leave out each protection in turn, and see whether the review notices",
	.usage = "[options]",
	.options = options_table,
	.options_size = sizeof(struct self_check_cli),
	.hidden = true,
	.run = run,
};
