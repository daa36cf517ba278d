/* The command line: one table per verb gives its parsing, its --help, its shell completion and the
 * option list its manual is checked against.
 *
 * A verb is one file with one constant:
 *
 *	struct ps_options { bool json; };
 *	static const struct cli_option options[] = {
 *		{ .name = "json", .kind = CLI_FLAG, CLI_INTO(struct ps_options, json),
 *		  .help = "print a JSON array" },
 *		{ 0 }
 *	};
 *	const struct cli_verb verb_ps = { .name = "ps", .summary = "...", .options = options,
 *		.options_size = sizeof(struct ps_options), .run = run };
 *
 * and one row in cli_verbs[] (main.c). */
#ifndef HOTCELL_CLI_CORE_CLI_H
#define HOTCELL_CLI_CORE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Exit codes of every verb; `run` and `exec` else pass the program's own. */
enum {
	EXIT_USAGE = 2, /* the command line is wrong */
	EXIT_LESS = 4, /* doctor: this machine cannot give everything */
	EXIT_TIMEOUT = 124,
	EXIT_OURS = 125, /* we failed, not the program */
};

/* ---- the tables ---- */

enum cli_kind { /* what the option's value is, and what lies at `offset` */
	CLI_FLAG, /* bool; the only kind without a value */
	CLI_TEXT, /* const char *; must not be empty */
	CLI_LIST, /* struct cli_list; may be given many times */
	CLI_SIZE, /* uint64_t, bytes */
	CLI_DURATION, /* uint64_t, milliseconds */
	CLI_COUNT, /* uint64_t within [min, max] */
	CLI_CPUS, /* uint32_t, thousandths */
	CLI_OTHER, /* `set` decides */
};

enum cli_hint { /* what completion offers for the value or word */
	CLI_HINT_NONE,
	CLI_HINT_FILE,
	CLI_HINT_FOLDER,
	CLI_HINT_CHOICE, /* one of `choices` */
	CLI_HINT_ENV, /* the name of an environment variable */
	CLI_HINT_CELL, /* the id of a live cell */
	CLI_HINT_CAMPAIGN, /* the name of a campaign */
	CLI_HINT_COMMAND,
	CLI_HINT_VERB,
};

struct cli_list {
	const char **items; /* NULL-terminated once there is one; NULL before */
	size_t count;
};

/* Called with the verb's options struct: for CLI_OTHER, and for each item of a CLI_LIST that has one,
 * before the item is added. Errors have code ERR_USAGE. */
typedef int cli_set_fn(void *options, const char *value, struct err *err);

struct cli_option {
	const char *name; /* "memory": given as --memory; NULL ends a table */
	char letter; /* 'm': given as -m; 0: none */
	const char *value; /* "SIZE", how the value is called in the help; NULL for flags */
	const char *help; /* one line, lower case, no full stop */
	const char *fallback; /* "512M": the default as shown in the help; may be NULL */
	const char *bare; /* CLI_TEXT: the value where none follows: at the end, or before another option; NULL: one must */
	enum cli_kind kind;
	size_t offset; /* into the options struct */
	uint64_t min, max; /* CLI_COUNT */
	cli_set_fn *set; /* CLI_OTHER; CLI_LIST may have one */
	enum cli_hint hint;
	const char *choices; /* space-separated; a value outside is refused */
	bool not_in_file; /* of the command line alone: a campaign file may not have it */
	bool secret; /* what follows '=' in the value is wiped from our own argv */
};

#define CLI_INTO(type, member) .offset = offsetof(type, member)

/* What is left when the options are taken out. */
struct cli_args {
	char **words; /* NULL-terminated */
	int word_count;
	char **command; /* NULL-terminated; NULL when none was given */
	struct cli_list given; /* the options in their order, as --NAME=VALUE or --NAME */
};

struct cli_verb {
	const char *name; /* "ps", or two words: "campaign run" is one of the group "campaign" */
	const char *summary; /* one line for the list of verbs */
	const char *usage; /* after "hotcell NAME": "[options] -- COMMAND [ARGUMENT...]" */
	const char *details; /* further paragraphs for --help; may be NULL */
	const struct cli_option *options; /* may be NULL */
	size_t options_size; /* of the struct the table fills, zeroed first; may be 0 */
	void (*defaults)(void *options); /* may be NULL */
	int words_min, words_max; /* words before the command; words_max < 0: any number */
	const char *word; /* "CELL", how a word is called in errors */
	enum cli_hint word_hint;
	const char *word_choices;
	bool takes_command; /* after words_max words, or "--", a command follows: one is required */
	bool command_optional; /* with takes_command: there may be none */
	bool hidden; /* not in the help */
	int (*run)(void *options, const struct cli_args *args); /* returns the exit code */
};

extern const struct cli_verb *const cli_verbs[]; /* NULL-terminated, in the order of the help */
/* By its name, or its manual's: "campaign run" is also "campaign-run". NULL if there is none. */
const struct cli_verb *cli_verb_find(const char *name);
/* "run" when the verb is "campaign run" and the group "campaign", else NULL. */
const char *cli_verb_second(const struct cli_verb *verb, const char *group);
bool cli_verb_is_group(const char *word);

struct cli_names {
	char **items;
	size_t count;
};

/* What may be typed first (group NULL) or after a group's name, in the order of the help, each
 * once, hidden ones left out. */
void cli_verb_names(const char *group, struct cli_names *ret);
void cli_names_done(struct cli_names *names);

struct cli_pick {
	const struct cli_verb *verb; /* or NULL, and then */
	const char *group; /* the first word is that of a group, and no second word follows */
	int words; /* taken by the name: 1 or 2 */
};

/* Which verb the words, of which there is at least one, begin with. Errors have code ERR_USAGE. */
MUST_CHECK int cli_verb_pick(int count, char *const *words, struct cli_pick *ret, struct err *err);

/* ---- from words to calls ---- */

/* Fills `options` (of verb->options_size bytes, defaults already in) and `ret`; argv starts after
 * the verb's name. Strings point into argv, but for secrets, which are copied and then wiped there.
 * *ret_help: --help was given, and nothing else counts. Errors have code ERR_USAGE. The lists and
 * ret->words are the caller's to free with cli_parse_done. */
MUST_CHECK int cli_parse(const struct cli_verb *verb, int argc, char **argv, void *options,
	struct cli_args *ret, bool *ret_help, struct err *err);
void cli_parse_done(const struct cli_verb *verb, void *options, struct cli_args *args);
/* Whether the option takes the value: 0, or -1 and the sentence that cli_parse would give. */
MUST_CHECK int cli_option_check(const struct cli_verb *verb, const struct cli_option *option,
	const char *value, struct err *err);
const struct cli_option *cli_option_find(const struct cli_verb *verb, const char *name); /* or NULL */
/* The whole life of a verb: defaults, parse, --help or run. Returns the exit code. */
int cli_run(const struct cli_verb *verb, int argc, char **argv);
/* Runs the verb that the words, of which there is at least one, begin with. Returns the exit code. */
int cli_dispatch(int argc, char **argv);

/* The nearest of the names to a mistyped one, or NULL when none is near. `next` yields one name a
 * call. */
typedef const char *cli_name_fn(const void *data, size_t index); /* NULL at the end */
const char *cli_nearest(const char *typed, cli_name_fn *name, const void *data);

/* ---- texts from the tables ---- */

void cli_help_verb(const struct cli_verb *verb, struct buf *out);
void cli_help_group(const char *group, struct buf *out);
void cli_help_all(struct buf *out);
void cli_man_options(const struct cli_verb *verb, struct buf *out); /* as an mdoc list */
void cli_completion_bash(struct buf *out);
void cli_completion_zsh(struct buf *out);

/* ---- telling the user ---- */

struct cell;
/* While this cell (NULL: none any more) prints to our terminal, what we say there ends no sequence that it has begun. */
void cli_beside(const struct cell *cell);
const char *cli_apart(int fd); /* what is to be printed first; mostly "" */
/* "hotcell: text" and a newline on stderr. */
void cli_say(const char *format, ...) PRINTF_LIKE(1, 2);
/* Prints the error; returns EXIT_USAGE for ERR_USAGE, else EXIT_OURS. */
int cli_fail(const struct err *err);
/* Writes all of it to stdout; returns 0, or says why not and returns EXIT_OURS. */
int cli_print(const struct buf *text);
int cli_print_to(int fd, const struct buf *text); /* likewise; stdout or stderr */
/* Colour may be used on this descriptor: a terminal, NO_COLOR unset or empty, TERM not "dumb". */
bool cli_color(int fd);

#endif
