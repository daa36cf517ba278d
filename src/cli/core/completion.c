/* What completes our words in bash and zsh: the shells' completion, made from the verbs' tables. Everything
 * printed here comes from our own constants; nothing needs escaping but what the shells treat
 * specially in a description. */
#include <string.h>

#include "cli/core/cli.h"

/* Live cells' ids and campaigns' names, as both shells ask for them. */
#define CELL_IDS "hotcell ps 2>/dev/null | sed 1d | cut -d' ' -f1"
#define CAMPAIGN_NAMES "hotcell campaign list 2>/dev/null | sed 1d | cut -d' ' -f1"

static void names_put(struct buf *out, const char *group)
{
	own(cli_names_done) struct cli_names names = {0};

	cli_verb_names(group, &names);
	for (size_t i = 0; i < names.count; i++)
		buf_fmt(out, "%s%s", i == 0 ? "" : " ", names.items[i]);
}

/* Calls `put` for each group of verbs. */
static void groups_put(struct buf *out, void (*put)(struct buf *out, const char *group))
{
	own(cli_names_done) struct cli_names names = {0};

	cli_verb_names(NULL, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (cli_verb_is_group(names.items[i]))
			put(out, names.items[i]);
	}
}

/* ---- bash ---- */

static void bash_reply(struct buf *out, enum cli_hint hint, const char *choices)
{
	switch (hint) {
	case CLI_HINT_NONE: buf_str(out, "COMPREPLY=()"); return;
	case CLI_HINT_FILE: buf_str(out, "_hotcell_paths -f"); return;
	case CLI_HINT_FOLDER: buf_str(out, "_hotcell_paths -d"); return;
	case CLI_HINT_CHOICE: buf_fmt(out, "_hotcell_words \"%s\"", choices); return;
	case CLI_HINT_ENV: buf_str(out, "mapfile -t COMPREPLY < <(compgen -e -- \"$cur\")"); return;
	case CLI_HINT_CELL: buf_str(out, "_hotcell_words \"$(" CELL_IDS ")\""); return;
	case CLI_HINT_CAMPAIGN: buf_str(out, "_hotcell_words \"$(" CAMPAIGN_NAMES ")\""); return;
	case CLI_HINT_COMMAND: buf_str(out, "_hotcell_command"); return;
	case CLI_HINT_VERB: buf_str(out, "_hotcell_verbs"); return;
	}
}

static void bash_options(struct buf *out, const struct cli_verb *verb)
{
	buf_str(out, "\t\tcase $prev in\n");
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		if (option->kind == CLI_FLAG)
			continue;
		buf_fmt(out, "\t\t--%s", option->name);
		if (option->letter)
			buf_fmt(out, "|-%c", option->letter);
		buf_str(out, ") ");
		bash_reply(out, option->hint, option->choices);
		buf_str(out, "; return ;;\n");
	}
	buf_str(out, "\t\tesac\n\t\toptions=\"");
	for (const struct cli_option *option = verb->options; option && option->name; option++)
		buf_fmt(out, "--%s ", option->name);
	buf_str(out, "--help\"\n");
}

static void bash_verb(struct buf *out, const struct cli_verb *verb)
{
	buf_fmt(out, "\t\"%s\")\n", verb->name);
	bash_options(out, verb);
	buf_str(out, "\t\tif [[ $cur == -* ]]; then _hotcell_words \"$options\"; return; fi\n\t\t");
	if (verb->words_max != 0)
		bash_reply(out, verb->word_hint, verb->word_choices);
	else
		bash_reply(out, verb->takes_command ? CLI_HINT_COMMAND : CLI_HINT_NONE, NULL);
	buf_str(out, "\n\t\t;;\n");
}

static void bash_group_names(struct buf *out, const char *group)
{
	buf_fmt(out, "\t%s) _hotcell_words \"", group);
	names_put(out, group);
	buf_str(out, " --help\" ;;\n");
}

static void bash_group(struct buf *out, const char *group)
{
	buf_fmt(out,
		"\t%s)\n"
		"\t\tif ((COMP_CWORD == 2)); then _hotcell_verbs; return; fi\n"
		"\t\tverb+=\" ${COMP_WORDS[2]}\"\n"
		"\t\t;;\n",
		group);
}

void cli_completion_bash(struct buf *out)
{
	buf_str(out,
		"# bash completion for hotcell: source <(hotcell completion bash)\n"
		"_hotcell_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
		"_hotcell_paths() {\n"
		"\tcompopt -o filenames\n"
		"\tmapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
		"}\n"
		"_hotcell_command() {\n"
		"\tcompopt -o filenames\n"
		"\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
		"}\n"
		"_hotcell_verbs() {\n"
		"\tcase $prev in\n");
	groups_put(out, bash_group_names);
	buf_str(out, "\t*) _hotcell_words \"");
	names_put(out, NULL);
	buf_str(out,
		" --help --version\" ;;\n"
		"\tesac\n"
		"}\n"
		"_hotcell() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options i\n"
		"\tlocal verb=${COMP_WORDS[1]}\n"
		"\tCOMPREPLY=()\n"
		"\tif ((COMP_CWORD == 1)); then _hotcell_verbs; return; fi\n"
		"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
		"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
		"\t\t\tif ((i + 1 == COMP_CWORD)); then _hotcell_command; else _hotcell_paths -f; fi\n"
		"\t\t\treturn\n"
		"\t\tfi\n"
		"\tdone\n"
		"\tcase $verb in\n");
	groups_put(out, bash_group);
	buf_str(out, "\tesac\n\tcase $verb in\n");
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		if (!(*verb)->hidden)
			bash_verb(out, *verb);
	}
	buf_str(out, "\tesac\n}\ncomplete -F _hotcell hotcell\n");
}

/* ---- zsh ---- */

static const char *zsh_action(enum cli_hint hint)
{
	static const char *const actions[] = {
		[CLI_HINT_NONE] = " ",
		[CLI_HINT_FILE] = "_files",
		[CLI_HINT_FOLDER] = "_files -/",
		[CLI_HINT_CHOICE] = "",
		[CLI_HINT_ENV] = "_parameters -g \"*export*\"",
		[CLI_HINT_CELL] = "_hotcell_cells",
		[CLI_HINT_CAMPAIGN] = "_hotcell_campaigns",
		[CLI_HINT_COMMAND] = "_command_names -e",
		[CLI_HINT_VERB] = "_hotcell_verbs",
	};
	return actions[hint];
}

/* Inside '...' in an _arguments specification. */
static void zsh_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_str(out, "'\\''");
		else if (strchr("[]:\\", *text))
			buf_fmt(out, "\\%c", *text);
		else
			buf_char(out, *text);
	}
}

static void zsh_value(struct buf *out, const char *value, enum cli_hint hint, const char *choices)
{
	buf_char(out, ':');
	zsh_text(out, value);
	buf_char(out, ':');
	if (hint == CLI_HINT_CHOICE)
		buf_fmt(out, "(%s)", choices);
	else
		buf_str(out, zsh_action(hint));
}

static void zsh_option(struct buf *out, const struct cli_option *option)
{
	const char *star = option->kind == CLI_LIST ? "*" : "";
	const char *equals = option->kind == CLI_FLAG ? "" : "=";

	for (int form = option->letter ? 0 : 1; form < 2; form++) {
		buf_fmt(out, "\t\t\t'%s", star);
		if (option->letter && !*star)
			buf_fmt(out, "(-%c --%s)", option->letter, option->name);
		if (form == 0)
			buf_fmt(out, "-%c%s[", option->letter, *equals ? "+" : "");
		else
			buf_fmt(out, "--%s%s[", option->name, equals);
		zsh_text(out, option->help);
		buf_char(out, ']');
		if (option->kind != CLI_FLAG)
			zsh_value(out, option->value, option->hint, option->choices);
		buf_str(out, "' \\\n");
	}
}

static void zsh_words(struct buf *out, const struct cli_verb *verb)
{
	for (int i = 1; verb->words_max < 0 ? i == 1 : i <= verb->words_max; i++) {
		if (verb->words_max < 0)
			buf_str(out, "\t\t\t'*");
		else
			buf_fmt(out, "\t\t\t'%d", i);
		zsh_value(out, verb->word, verb->word_hint, verb->word_choices);
		buf_str(out, "' \\\n");
	}
}

static void zsh_verb(struct buf *out, const struct cli_verb *verb)
{
	buf_fmt(out, "\t'%s')\n\t\t_arguments -s -S \\\n", verb->name);
	for (const struct cli_option *option = verb->options; option && option->name; option++)
		zsh_option(out, option);
	zsh_words(out, verb);
	if (verb->takes_command)
		buf_fmt(out,
			"\t\t\t'%d:command:_command_names -e' \\\n\t\t\t'*::arguments:_normal' \\\n",
			verb->words_max + 1);
	buf_str(out, "\t\t\t'(- *)'{-h,--help}'[print the help]'\n\t\t;;\n");
}

/* A group's verbs, each with its summary. */
static void zsh_group_names(struct buf *out, const char *group)
{
	buf_fmt(out, "\t%s) verbs=(\n", group);
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		const char *second = cli_verb_second(*verb, group);
		if ((*verb)->hidden || !second)
			continue;
		buf_fmt(out, "\t\t'%s:", second);
		zsh_text(out, (*verb)->summary);
		buf_str(out, "'\n");
	}
	buf_str(out, "\t) ;;\n");
}

static void zsh_names(struct buf *out)
{
	own(cli_names_done) struct cli_names names = {0};

	buf_str(out, "_hotcell_verbs() {\n\tlocal -a verbs\n\tcase ${words[CURRENT-1]} in\n");
	groups_put(out, zsh_group_names);
	buf_str(out, "\t*) verbs=(\n");
	cli_verb_names(NULL, &names);
	for (size_t i = 0; i < names.count; i++) {
		const struct cli_verb *verb = cli_verb_find(names.items[i]);
		buf_fmt(out, "\t\t'%s:", names.items[i]);
		if (verb)
			zsh_text(out, verb->summary);
		else
			names_put(out, names.items[i]);
		buf_str(out, "'\n");
	}
	buf_str(out, "\t) ;;\n\tesac\n\t_describe verb verbs\n}\n");
}

static void zsh_group(struct buf *out, const char *group)
{
	buf_fmt(out,
		"\t%s)\n"
		"\t\tif ((CURRENT == 2)); then _hotcell_verbs; return; fi\n"
		"\t\tshift words\n\t\t((CURRENT--))\n"
		"\t\tverb+=\" ${words[1]}\"\n"
		"\t\t;;\n",
		group);
}

void cli_completion_zsh(struct buf *out)
{
	buf_str(out,
		"#compdef hotcell\n"
		"# zsh completion for hotcell: hotcell completion zsh >\"${fpath[1]}/_hotcell\"\n"
		"_hotcell_cells() { local -a cells; cells=(${(f)\"$(" CELL_IDS
		")\"}); _describe cell cells; }\n"
		"_hotcell_campaigns() { local -a names; names=(${(f)\"$(" CAMPAIGN_NAMES
		")\"}); _describe campaign names; }\n");
	zsh_names(out);
	buf_str(out,
		"_hotcell() {\n"
		"\tif ((CURRENT == 2)); then _hotcell_verbs; return; fi\n"
		"\tshift words\n\t((CURRENT--))\n"
		"\tlocal verb=${words[1]}\n"
		"\tcase $verb in\n");
	groups_put(out, zsh_group);
	buf_str(out, "\tesac\n\tcase $verb in\n");
	for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
		if (!(*verb)->hidden)
			zsh_verb(out, *verb);
	}
	buf_str(out,
		"\tesac\n}\n"
		"if [[ $funcstack[1] == _hotcell ]]; then _hotcell \"$@\"; else compdef _hotcell hotcell; fi\n");
}
