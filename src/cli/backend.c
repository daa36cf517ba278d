#include "cli/backend.h"

#include <string.h>

#include "cli/core/cli.h"

void backend_warn_none(void)
{
	bool color = cli_color(STDERR_FILENO);
	const char *on = color ? "\033[1;37;41m" : "", *off = color ? "\033[0m" : "";
	static const char *const lines[] = {
		"####################################################################",
		"##   WARNING: NO SANDBOX. This program runs UNPROTECTED, as you.  ##",
		"##   It can read, change and send away everything you can.        ##",
		"##   Leave out --no-sandbox, --backend none and the environment   ##",
		"##   variable FUZZING_DISABLE_SANDBOX to run it in a cell.        ##",
		"####################################################################",
	};
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		cli_say("%s%s%s", on, lines[i], off);
}

static bool is_yes(const char *text)
{
	return text &&
		(strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0 ||
			strcasecmp(text, "yes") == 0);
}

bool backend_is_off(void)
{
	return is_yes(getenv("FUZZING_DISABLE_SANDBOX"));
}

int backend_choose(const struct run_options *options, const char **ret, struct err *err)
{
	*ret = cell_backends[0];
	if (backend_is_off())
		*ret = "none";
	if (options->backend)
		*ret = options->backend;
	if (options->no_sandbox && options->backend && strcmp(options->backend, "none") != 0)
		return err_set(err, ERR_USAGE,
			"--no-sandbox and --backend %s contradict each other; give one of them",
			options->backend);
	if (options->no_sandbox)
		*ret = "none";
	return 0;
}

static void on_warning(void *data, const char *sentence)
{
	(void)data;
	cli_say("%s", sentence);
}

void backend_say_warnings(struct cell_pool *pool)
{
	cell_pool_warn(pool, on_warning, NULL);
}
