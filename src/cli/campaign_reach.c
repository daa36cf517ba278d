#include "cli/campaign_reach.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cell/cell.h"
#include "cli/fuzz_options.h"

/* How an option is judged. One without a row may be anything, and is out. */
enum rule {
	RULE_CELL, /* never: it limits the cell, or says how the campaign goes about it */
	RULE_OUT, /* always */
	RULE_SAID,
	RULE_NONE_BACKEND, /* "none" */
	RULE_UID, /* another than the default: root's cells without a user namespace have that very
		     user's rights */
	RULE_MOUNT, /* SRC:DST[:MODE] */
	RULE_READ, /* a file or folder that is read */
	RULE_IMAGE, /* that, or "host" */
	RULE_MADE, /* a folder that is made */
	RULE_ALLOW, /* a name on the network; of a private address it is the user's own network */
	RULE_SECRET, /* a preset sends its variable to whom that is meant for; any other door sends
			any variable to anybody */
};

static const struct {
	const char *name;
	enum rule rule;
	bool access; /* what a cell gets, and not what runs in none */
} rules[] = {
	{"runs", RULE_CELL, false},
	{"workers", RULE_CELL, false},
	{"name", RULE_CELL, false},
	{"seed", RULE_CELL, false},
	{"retries", RULE_CELL, false},
	{"rate", RULE_CELL, false},
	{"stop-after-failures", RULE_CELL, false},
	{"run-budget", RULE_CELL, false},
	{"budget", RULE_CELL, false},
	{"on-budget", RULE_CELL, false},
	{"alert", RULE_CELL, false},
	{"timeout", RULE_CELL, false},
	{"memory", RULE_CELL, false},
	{"cpus", RULE_CELL, false},
	{"processes", RULE_CELL, false},
	{"tmp-size", RULE_CELL, false},
	{"disk", RULE_CELL, false},
	{"shm", RULE_CELL, false},
	{"file-size", RULE_CELL, false},
	{"open-files", RULE_CELL, false},
	{"max-output", RULE_CELL, false},
	{"max-collect", RULE_CELL, false},
	{"max-collect-files", RULE_CELL, false},
	{"hide", RULE_CELL, false},
	{"forbid", RULE_CELL, false},
	{"require", RULE_CELL, false},
	{"manifest", RULE_CELL, false}, /* its folder is compared, and shown to nobody */
	{"env", RULE_CELL, false},
	{"workdir", RULE_CELL, false},
	{"network-record", RULE_CELL, false},
	{"tmp-exec", RULE_OUT, false}, /* as in capsules */
	{"on-alert", RULE_OUT, false},
	{"no-sandbox", RULE_OUT, false},
	{"backend", RULE_NONE_BACKEND, false},
	{"output", RULE_MADE, false},
	{"no-default-hide", RULE_OUT, true},
	{"pass-env", RULE_OUT, true},
	{"uid", RULE_UID, true},
	{"service", RULE_OUT, true},
	{"secret-door", RULE_SECRET, true},
	{"upstream-proxy", RULE_OUT, true},
	{"mount", RULE_MOUNT, true},
	{"stdin", RULE_READ, true},
	{"network-replay", RULE_READ, true},
	{"prices", RULE_READ, true},
	{"image", RULE_IMAGE, true},
	{"allow", RULE_ALLOW, true},
	{"secret-env", RULE_SAID, true},
	{"resolver", RULE_SAID, true},
	{"profile", RULE_SAID, true},
};

static bool is_private(const char *value)
{
	const char *comma = strchr(value, ',');

	return comma && strcmp(comma, ",private") == 0;
}

/* At or below the current folder, behind all links, and not by itself hidden from cells: hooks of a
 * repository, keys, a state. Whoever stands in a home, or in a folder of many, is in no project. */
static bool is_of_project(const char *path, size_t len)
{
	own(freep) char *copy = xfmt("%.*s", (int)len, path), *real = realpath(copy, NULL),
			*here = getcwd(NULL, 0);

	return real && here && !folder_is_too_much(here) && path_is_here(path, len) &&
		!fs_is_hidden(cell_default_hide, NULL, real + 1);
}

/* Whether a new folder would be made below this one, reached through no link that leads out, and
 * not in what is hidden from cells. */
static bool is_made_here(const char *path)
{
	own(freep) char *part = xstrdup(path);

	if (strstr(path, "..") || fs_is_hidden(cell_default_hide, NULL, path + strspn(path, "/")))
		return false;
	while (!path_is_here(part, strlen(part))) {
		char *slash = strrchr(part, '/');
		if (access(part, F_OK) == 0 || slash == part)
			return false;
		if (!slash)
			return true;
		*slash = '\0';
	}
	return true;
}

static bool is_named(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, len) == 0 &&
		(word[2 + len] == '=' || word[2 + len] == '\0');
}

static bool is_out(enum rule rule, const char *value)
{
	switch (rule) {
	case RULE_OUT: return true;
	case RULE_CELL:
	case RULE_SAID: return false;
	case RULE_NONE_BACKEND: return strcmp(value, "none") == 0;
	case RULE_UID: return strcmp(value, "1000") != 0 && strcmp(value, "1000:1000") != 0;
	case RULE_MOUNT: return !is_of_project(value, strcspn(value, ":"));
	case RULE_READ: return !is_of_project(value, strlen(value));
	case RULE_IMAGE: return strcmp(value, "host") != 0 && !is_of_project(value, strlen(value));
	case RULE_MADE: return !is_made_here(value);
	case RULE_ALLOW: return is_private(value);
	case RULE_SECRET: return *value != '@';
	}
	return true;
}

enum campaign_reach campaign_reach(const char *word)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : "";

	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		if (!is_named(word, rules[i].name))
			continue;
		if (is_out(rules[i].rule, value))
			return REACH_OUT;
		return rules[i].rule == RULE_SAID || rules[i].rule == RULE_ALLOW ||
				rules[i].rule == RULE_SECRET
			? REACH_SAID
			: REACH_CELL;
	}
	return REACH_OUT;
}

bool campaign_reach_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].name, name) == 0)
			return true;
	return false;
}

bool campaign_is_access(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		if (is_named(word, rules[i].name))
			return rules[i].access && strcmp(word, "--image=host") != 0;
	return false;
}
