/* Which verb the first words of a command line name, and what is said when they name none. */
#include <string.h>

#include "base/term.h"
#include "cli/core/cli.h"

#define SHOWN_MAX 60 /* bytes of the user's words repeated in an error */

/* ---- the tables' names ---- */

/* The length of the first word when there is a second one, else 0. */
static size_t group_len(const struct cli_verb *verb)
{
	const char *blank = strchr(verb->name, ' ');
	return blank ? (size_t)(blank - verb->name) : 0;
}

const char *cli_verb_second(const struct cli_verb *verb, const char *group)
{
	size_t len = group_len(verb);

	if (len == 0 || strlen(group) != len || strncmp(verb->name, group, len) != 0)
		return NULL;
	return verb->name + len + 1;
}

bool cli_verb_is_group(const char *word)
{
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		if (cli_verb_second(*verb, word))
			return true;
	}
	return false;
}

static bool names_have(const struct cli_names *names, const char *name, size_t len)
{
	for (size_t i = 0; i < names->count; i++) {
		if (strlen(names->items[i]) == len && strncmp(names->items[i], name, len) == 0)
			return true;
	}
	return false;
}

void cli_verb_names(const char *group, struct cli_names *ret)
{
	*ret = (struct cli_names){0};
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		const char *name = group ? cli_verb_second(*verb, group) : (*verb)->name;
		if ((*verb)->hidden || !name)
			continue;
		size_t len = strcspn(name, " ");
		if (names_have(ret, name, len))
			continue;
		ret->items = xrealloc(ret->items, ret->count + 1, sizeof(*ret->items));
		ret->items[ret->count++] = xfmt("%.*s", (int)len, name);
	}
}

void cli_names_done(struct cli_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct cli_names){0};
}

/* "campaign run", or "campaign-run" as its manual is called. */
static bool is_named(const struct cli_verb *verb, const char *typed)
{
	const char *name = verb->name;

	for (; *name && (*name == *typed || (*name == ' ' && *typed == '-')); name++)
		typed++;
	return !*name && !*typed;
}

const struct cli_verb *cli_verb_find(const char *name)
{
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		if (is_named(*verb, name))
			return *verb;
	}
	return NULL;
}

/* ---- from words to a verb ---- */

static const char *name_at(const void *data, size_t index)
{
	const struct cli_names *names = data;
	return index < names->count ? names->items[index] : NULL;
}

/* `typed` is the first word, or the second of `group`. */
static int unknown(const char *group, const char *typed, struct err *err)
{
	own(cli_names_done) struct cli_names names = {0};
	own(buf_done) struct buf shown = {0};
	const char *before = group ? group : "", *blank = group ? " " : "";

	cli_verb_names(group, &names);
	term_line(typed, strlen(typed), SHOWN_MAX, &shown);
	const char *near = cli_nearest(typed, name_at, &names);
	if (near)
		return err_set(err, ERR_USAGE, "unknown verb '%s%s%s'; did you mean '%s%s%s'?",
			before, blank, buf_text(&shown), before, blank, near);
	return err_set(err, ERR_USAGE, "unknown verb '%s%s%s'; 'hotcell help%s%s' lists them",
		before, blank, buf_text(&shown), blank, before);
}

int cli_verb_pick(int count, char *const *words, struct cli_pick *ret, struct err *err)
{
	*ret = (struct cli_pick){.verb = cli_verb_find(words[0]), .words = 1};
	if (ret->verb)
		return 0;
	if (!cli_verb_is_group(words[0]))
		return unknown(NULL, words[0], err);
	if (count < 2 || words[1][0] == '-') {
		ret->group = words[0];
		return 0;
	}
	own(freep) char *both = xfmt("%s %s", words[0], words[1]);
	ret->verb = cli_verb_find(both);
	ret->words = 2;
	return ret->verb ? 0 : unknown(words[0], words[1], err);
}

/* ---- the whole line ---- */

/* Only the first of the verb's two words is there. */
static int group_run(const char *group, const char *next)
{
	own(buf_done) struct buf out = {0};
	own(cli_names_done) struct cli_names names = {0};

	if (next && (strcmp(next, "--help") == 0 || strcmp(next, "-h") == 0)) {
		cli_help_group(group, &out);
		return cli_print(&out);
	}
	cli_verb_names(group, &names);
	for (size_t i = 0; i < names.count; i++) {
		const char *join = i + 1 < names.count ? ", " : " or ";
		buf_fmt(&out, "%s%s", i > 0 ? join : "", names.items[i]);
	}
	cli_say("'hotcell %s' needs one more word after it, %s; 'hotcell help %s' tells of each",
		group, buf_text(&out), group);
	return EXIT_USAGE;
}

int cli_dispatch(int argc, char **argv)
{
	struct err err = {0};
	struct cli_pick pick;

	if (cli_verb_pick(argc, argv, &pick, &err) < 0)
		return cli_fail(&err);
	if (!pick.verb)
		return group_run(pick.group, argc > 1 ? argv[1] : NULL);
	return cli_run(pick.verb, argc - pick.words, argv + pick.words);
}
