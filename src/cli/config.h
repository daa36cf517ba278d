/* A file of options: its keys are the long names of a verb's options.
 *
 *	runs: 100			--runs=100
 *	memory: 2g			--memory=2g
 *	quiet: true			--quiet (false: nothing)
 *	hide: [.netrc, "*.pem"]		--hide=.netrc --hide=*.pem
 *	env: {MODE: fast}		--env=MODE=fast; a list of NAME=VALUE is taken too
 *	alerts:				--alert=crowd: orphans > 5 critical; a list of text is taken too
 *	  - {name: crowd, condition: orphans > 5, severity: critical}
 *	command: [./fuzz, --fast]	what else comes after "--"; one text is run by /bin/sh -c
 *
 * Paths are as on the command line: relative to the folder hotcell was started in. Each value is
 * checked by its option's own parser, so an error names the line: "FILE:LINE: ...", code ERR_USAGE.
 * Options with `not_in_file` are refused. An empty file is a file without keys. What is taken is checked once more, by
 * the schema that is made of the same tables (file_schema.h). */
#ifndef HOTCELL_CLI_CONFIG_H
#define HOTCELL_CLI_CONFIG_H

#include "base/value.h"
#include "cli/core/cli.h"

struct config_words {
	char **words; /* for cli_parse, before the user's own, which then win; lists add up */
	size_t count;
	char **command; /* NULL-terminated; NULL if the file has none */
};

/* ---- what a file may have ---- */

enum config_shape {
	CONFIG_OPTION, /* as the option's kind says; a list also as one text */
	CONFIG_PAIRS, /* NAME=VALUE, a list of them, or a map */
	CONFIG_ALERTS, /* texts, or maps of config_alert_keys */
	CONFIG_COMMAND,
};
struct config_key {
	const char *name;
	const struct cli_option *option; /* NULL: of CONFIG_COMMAND */
	enum config_shape shape;
};
/* Each key once; false behind the last. */
bool config_key_at(const struct cli_verb *verb, size_t index, struct config_key *ret);
#define CONFIG_ALERT_KEYS 3
#define CONFIG_ALERT_REQUIRED 2 /* the first */
extern const char *const config_alert_keys[CONFIG_ALERT_KEYS];

/* ---- reading one ---- */

/* Of a tree that was read from `file`. After a failure *ret is empty. */
MUST_CHECK int config_words(const struct cli_verb *verb, const struct value *root, const char *file,
	struct config_words *ret, struct err *err);
/* Opens, reads and converts. Symbolic links are followed: the path is the user's own. What is no
 * regular file, or larger than YAML_MAX_BYTES, is refused. */
MUST_CHECK int config_read(const struct cli_verb *verb, const char *path, struct config_words *ret,
	struct err *err);
/* The text of such a file alone; `what` it should be, for the error. */
MUST_CHECK int config_text(const char *path, const char *what, struct buf *ret, struct err *err);
void config_words_done(struct config_words *words); /* wipes: some were secrets */

#endif
