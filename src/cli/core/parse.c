/* From words to a filled options struct: the one parser of all verbs. It does no I/O. */
#include "cli/core/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "base/term.h"

#define SHOWN_MAX 60 /* bytes of the user's words repeated in an error */
#define NEAREST_LEN 40 /* longer names are not compared */

struct parser {
	const struct cli_verb *verb;
	int argc, next;
	char **argv;
	void *options;
	struct cli_args *args;
	struct err *err;
};

/* ---- names ---- */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;
	return least < c ? least : c;
}

/* Edits between two short names; a swap of neighbours counts as one, as typists make it. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t before[NEAREST_LEN + 1], last[NEAREST_LEN + 1], row[NEAREST_LEN + 1];

	for (size_t j = 0; j <= b_len; j++)
		before[j] = last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t change = last[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = min3(last[j] + 1, row[j - 1] + 1, change);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		memcpy(before, last, sizeof(before));
		memcpy(last, row, sizeof(last));
	}
	return last[b_len];
}

const char *cli_nearest(const char *typed, cli_name_fn *name, const void *data)
{
	const char *best = NULL, *candidate;
	size_t typed_len = strlen(typed), best_distance = typed_len / 3 + 1;

	if (typed_len < 2 || typed_len > NEAREST_LEN)
		return NULL;
	for (size_t i = 0; (candidate = name(data, i)); i++) {
		size_t len = strlen(candidate);
		if (len > NEAREST_LEN)
			continue;
		/* What was begun rightly is nearer than anything mistyped. */
		if (typed_len >= 3 && strncmp(candidate, typed, typed_len) == 0)
			return candidate;
		size_t edits = distance(typed, typed_len, candidate, len);
		if (edits <= best_distance && (!best || edits < best_distance)) {
			best = candidate;
			best_distance = edits;
		}
	}
	return best;
}

static const char *option_name(const void *data, size_t index)
{
	const struct cli_verb *verb = data;
	return verb->options ? verb->options[index].name : NULL;
}

static const struct cli_option *option_find(
	const struct cli_verb *verb, const char *name, size_t len, char letter)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		if (letter && option->letter == letter)
			return option;
		if (!letter && strlen(option->name) == len && strncmp(option->name, name, len) == 0)
			return option;
	}
	return NULL;
}

const struct cli_option *cli_option_find(const struct cli_verb *verb, const char *name)
{
	return option_find(verb, name, strlen(name), 0);
}

/* ---- values ---- */

static void list_add(struct cli_list *list, const char *item)
{
	list->items = xrealloc(list->items, list->count + 2, sizeof(*list->items));
	list->items[list->count++] = item;
	list->items[list->count] = NULL;
}

/* The copy stays in our memory; the kernel shows the original to everybody in /proc/PID/cmdline. */
static const char *secret_take(char *value)
{
	char *copy = xstrdup(value), *from = strchr(value, '=');
	if (from)
		memset(from + 1, '*', strlen(from + 1));
	return copy;
}

static int choice_check(const struct cli_option *option, const char *value, struct err *err)
{
	size_t len = strlen(value);
	for (const char *at = option->choices; *at;) {
		size_t word = strcspn(at, " ");
		if (word == len && strncmp(at, value, len) == 0)
			return 0;
		at += word + (at[word] == ' ');
	}
	own(buf_done) struct buf shown = {0};
	term_line(value, len, SHOWN_MAX, &shown);
	return err_set(err, ERR_USAGE, "--%s cannot be '%s': choose one of %s", option->name,
		buf_text(&shown), option->choices);
}

static int value_store(struct parser *parser, const struct cli_option *option, char *value)
{
	char *into = (char *)parser->options + option->offset;
	char what[64];

	(void)snprintf(what, sizeof(what), "--%s", option->name);
	if (option->choices && choice_check(option, value, parser->err) < 0)
		return -1;
	if (option->kind != CLI_FLAG && !*value)
		return err_set(parser->err, ERR_USAGE, "%s needs a %s, but what was given is empty",
			what, option->value);
	switch (option->kind) {
	case CLI_FLAG: *(bool *)into = true; return 0;
	case CLI_TEXT: *(const char **)into = value; return 0;
	case CLI_LIST:
		if (option->set && option->set(parser->options, value, parser->err) < 0)
			return -1;
		list_add((struct cli_list *)into, option->secret ? secret_take(value) : value);
		return 0;
	case CLI_SIZE: return size_parse(value, what, (uint64_t *)into, parser->err);
	case CLI_DURATION: return duration_parse(value, what, (uint64_t *)into, parser->err);
	case CLI_COUNT:
		return count_parse(
			value, what, option->min, option->max, (uint64_t *)into, parser->err);
	case CLI_CPUS: return cpus_parse(value, what, (uint32_t *)into, parser->err);
	case CLI_OTHER: return option->set(parser->options, value, parser->err);
	}
	return 0;
}

/* Notes what was given in its long form, secrets too: cli_parse_done wipes them. */
static int value_set(struct parser *parser, const struct cli_option *option, char *value)
{
	char *word = value ? xfmt("--%s=%s", option->name, value) : xfmt("--%s", option->name);

	list_add(&parser->args->given, word);
	return value_store(parser, option, value);
}

/* Takes the next word as the option's value. One that looks like an option is refused: it is far
 * more often a forgotten value than a value. */
static int value_next(struct parser *parser, const struct cli_option *option, char **ret)
{
	char *word = parser->next < parser->argc ? parser->argv[parser->next] : NULL;

	if (option->bare && (!word || strncmp(word, "--", 2) == 0)) {
		*ret = (char *)(uintptr_t)option->bare; /* of kind CLI_TEXT: only kept */
		return 0;
	}
	if (!word)
		return err_set(parser->err, ERR_USAGE, "--%s needs a %s after it", option->name,
			option->value);
	if (strncmp(word, "--", 2) == 0) {
		own(buf_done) struct buf shown = {0};
		term_line(word, strlen(word), SHOWN_MAX, &shown);
		return err_set(parser->err, ERR_USAGE,
			"--%s needs a %s, but '%s' follows; write --%s=%s if you mean that",
			option->name, option->value, buf_text(&shown), option->name,
			buf_text(&shown));
	}
	parser->next++;
	*ret = word;
	return 0;
}

/* ---- words ---- */

static int unknown_long(struct parser *parser, const char *name, size_t len)
{
	own(buf_done) struct buf typed = {0};
	own(buf_done) struct buf shown = {0};

	buf_add(&typed, name, len);
	term_line(name, len, SHOWN_MAX, &shown);
	const char *near = cli_nearest(buf_text(&typed), option_name, parser->verb);
	if (near)
		return err_set(parser->err, ERR_USAGE,
			"unknown option '--%s'; did you mean '--%s'?", buf_text(&shown), near);
	return err_set(parser->err, ERR_USAGE,
		"unknown option '--%s'; 'hotcell %s --help' lists them", buf_text(&shown),
		parser->verb->name);
}

static int parse_long(struct parser *parser, char *name, bool *ret_help)
{
	size_t len = strcspn(name, "=");
	char *value = name[len] == '=' ? name + len + 1 : NULL;
	const struct cli_option *option = option_find(parser->verb, name, len, 0);

	if (!option && strcmp(name, "help") == 0) {
		*ret_help = true;
		return 0;
	}
	if (!option)
		return unknown_long(parser, name, len);
	if (option->kind == CLI_FLAG && value)
		return err_set(parser->err, ERR_USAGE, "--%s takes no value; leave the '=' out",
			option->name);
	if (option->kind != CLI_FLAG && !value && value_next(parser, option, &value) < 0)
		return -1;
	return value_set(parser, option, value);
}

/* "-m1G", "-m 1G", "-m=1G", "-qv" */
static int parse_letters(struct parser *parser, char *letters, bool *ret_help)
{
	for (; *letters; letters++) {
		const struct cli_option *option = option_find(parser->verb, NULL, 0, *letters);
		char *value = NULL;

		if (!option && *letters == 'h') {
			*ret_help = true;
			return 0;
		}
		if (!option) {
			own(buf_done) struct buf shown = {0};
			term_line(letters, 1, SHOWN_MAX, &shown);
			return err_set(parser->err, ERR_USAGE,
				"unknown option '-%s'; 'hotcell %s --help' lists them",
				buf_text(&shown), parser->verb->name);
		}
		if (option->kind == CLI_FLAG) {
			if (value_set(parser, option, NULL) < 0)
				return -1;
			continue;
		}
		if (letters[1])
			value = letters[1] == '=' ? letters + 2 : letters + 1;
		else if (value_next(parser, option, &value) < 0)
			return -1;
		return value_set(parser, option, value);
	}
	return 0;
}

static void command_begin(struct parser *parser, int at)
{
	if (at < parser->argc)
		parser->args->command = parser->argv + at;
	parser->next = parser->argc;
}

static int word_take(struct parser *parser, char *word)
{
	const struct cli_verb *verb = parser->verb;
	struct cli_args *args = parser->args;

	if (verb->words_max < 0 || args->word_count < verb->words_max) {
		args->words[args->word_count++] = word;
		return 0;
	}
	if (verb->takes_command) {
		command_begin(parser, parser->next - 1);
		return 0;
	}
	own(buf_done) struct buf shown = {0};
	term_line(word, strlen(word), SHOWN_MAX, &shown);
	if (verb->words_max == 0)
		return err_set(parser->err, ERR_USAGE,
			"'hotcell %s' takes no arguments, but got '%s'", verb->name,
			buf_text(&shown));
	return err_set(parser->err, ERR_USAGE, "'hotcell %s' takes one %s, but '%s' is one more",
		verb->name, verb->word, buf_text(&shown));
}

/* After "--" nothing is an option. */
static int rest_take(struct parser *parser)
{
	if (parser->verb->takes_command) {
		if (parser->next == parser->argc && parser->verb->command_optional)
			return err_set(parser->err, ERR_USAGE,
				"no command follows '--'; give one, or leave the '--' out");
		command_begin(parser, parser->next);
		return 0;
	}
	while (parser->next < parser->argc) {
		if (word_take(parser, parser->argv[parser->next++]) < 0)
			return -1;
	}
	return 0;
}

static int complete_check(const struct parser *parser)
{
	const struct cli_verb *verb = parser->verb;

	if (parser->args->word_count < verb->words_min)
		return err_set(parser->err, ERR_USAGE, "no %s given: hotcell %s %s", verb->word,
			verb->name, verb->usage);
	if (verb->takes_command && !verb->command_optional && !parser->args->command)
		return err_set(parser->err, ERR_USAGE, "no command given: hotcell %s %s",
			verb->name, verb->usage);
	if (parser->args->command && !*parser->args->command[0])
		return err_set(parser->err, ERR_USAGE,
			"the command is empty: give the name or path of a program");
	return 0;
}

int cli_parse(const struct cli_verb *verb, int argc, char **argv, void *options,
	struct cli_args *ret, bool *ret_help, struct err *err)
{
	struct parser parser = {
		.verb = verb,
		.argc = argc,
		.argv = argv,
		.options = options,
		.args = ret,
		.err = err,
	};

	*ret = (struct cli_args){.words = xcalloc((size_t)argc + 1, sizeof(char *))};
	*ret_help = false;
	while (parser.next < argc && !*ret_help) {
		char *word = argv[parser.next++];
		int failed;

		if (strcmp(word, "--") == 0) {
			if (rest_take(&parser) < 0)
				return -1;
			break;
		}
		if (strncmp(word, "--", 2) == 0)
			failed = parse_long(&parser, word + 2, ret_help);
		else if (word[0] == '-' && word[1])
			failed = parse_letters(&parser, word + 1, ret_help);
		else
			failed = word_take(&parser, word);
		if (failed)
			return -1;
	}
	return *ret_help ? 0 : complete_check(&parser);
}

int cli_option_check(const struct cli_verb *verb, const struct cli_option *option,
	const char *value, struct err *err)
{
	own(freep) void *scratch = xcalloc(1, verb->options_size ? verb->options_size : 1);
	own(freep) char *copy = xstrdup(value); /* parsing wipes secrets */
	struct parser parser = {.verb = verb, .options = scratch, .err = err};
	struct cli_args none = {0};

	if (verb->defaults)
		verb->defaults(scratch);
	int failed = value_store(&parser, option, copy);
	cli_parse_done(verb, scratch, &none);
	return failed;
}

void cli_parse_done(const struct cli_verb *verb, void *options, struct cli_args *args)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++) {
		if (option->kind != CLI_LIST)
			continue;
		struct cli_list *list = (struct cli_list *)((char *)options + option->offset);
		for (size_t i = 0; option->secret && i < list->count; i++) {
			char *secret =
				(char *)(uintptr_t)list->items[i]; /* ours: secret_take made it */
			explicit_bzero(secret, strlen(secret));
			free(secret);
		}
		free(list->items);
		*list = (struct cli_list){0};
	}
	for (size_t i = 0; i < args->given.count; i++) {
		char *word = (char *)(uintptr_t)args->given.items[i]; /* ours: value_set made it */
		explicit_bzero(word, strlen(word));
		free(word);
	}
	free(args->given.items);
	free(args->words);
	*args = (struct cli_args){0};
}
