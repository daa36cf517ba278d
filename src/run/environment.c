/* Our own environment. The kernel shows the block a program was started with in /proc/PID/environ
 * for as long as it lives, and what a user keeps there (tokens, keys) must not outlive its use. */
#include "run/environment.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

extern char **environ;

/* What we read ourselves, in this process or in those we fork. */
static const char *const needed[] = {
	"PATH",
	"HOME",
	"GOMODCACHE",
	"GOPATH",
	"XDG_RUNTIME_DIR",
	"XDG_STATE_HOME",
	"RUSTUP_HOME",
	"RUSTUP_TOOLCHAIN",
	"CARGO_HOME",
	"TMPDIR",
	"TERM",
	"NO_COLOR",
	"FUZZING_DISABLE_SANDBOX",
	NULL,
};

void environment_hide(void)
{
	size_t count = 0;

	while (environ && environ[count])
		count++;
	char **copy = xcalloc(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		copy[i] = xstrdup(environ[i]);
		explicit_bzero(environ[i], strlen(environ[i]));
	}
	environ = copy; /* never freed: getenv hands out pointers into it */
}

static bool is_needed(const char *pair)
{
	if (strncmp(pair, "HOTCELL_", 8) == 0)
		return true;
	for (size_t i = 0; needed[i]; i++) {
		size_t len = strlen(needed[i]);
		if (strncmp(pair, needed[i], len) == 0 && pair[len] == '=')
			return true;
	}
	return false;
}

void environment_forget(void)
{
	char **keep = environ;

	for (char **pair = environ; pair && *pair; pair++) {
		if (is_needed(*pair)) {
			*keep++ = *pair;
			continue;
		}
		explicit_bzero(*pair, strlen(*pair));
		free(*pair);
	}
	if (keep)
		*keep = NULL;
}
