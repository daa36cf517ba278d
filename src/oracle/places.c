/* Where it wrote, and what it connected to.
 *
 * Whatever the input names is a verdict, wherever it is, unless it was declared: that is what a traversal for writing,
 * and a forged request, look like. What the input does not name is one only outside of the cell's own scratch: programs
 * keep caches in their home, write temporary files, and compile what they load. */
#include <ctype.h>
#include <string.h>

#include "oracle/look.h"

/* ---- files ---- */

/* The scratch of a cell: it is the cell's own and gone with it. */
static const char *const scratch[] = {
	"/tmp", "/var/tmp", "/dev", "/proc/self", "/proc/thread-self", "/run/lock", CELL_WORKSPACE, NULL};
/* Folders that runtimes keep things in, wherever they are. */
static const char *const caches[] = {
	"/__pycache__/", "/.cache/", "/.npm/", "/.config/", "/.local/", "/node_modules/.cache/", NULL};

static bool is_scratch(const struct observation *seen, const char *path)
{
	for (size_t i = 0; scratch[i]; i++)
		if (path_below(path, scratch[i]))
			return true;
	if (strncmp(path, "/proc/", 6) == 0 && isdigit((unsigned char)path[6]))
		return true; /* in a cell, all of them are its own */
	own(buf_done) struct buf folder = {0};
	buf_fmt(&folder, "%s/", path);
	for (size_t i = 0; caches[i]; i++)
		if (strstr(buf_text(&folder), caches[i]))
			return true;
	for (size_t i = 0; seen->environment && seen->environment[i]; i++) {
		const char *home = seen->environment[i] + 5;
		if (strncmp(seen->environment[i], "HOME=/", 6) == 0 && home[1] && path_below(path, home) &&
			path[strlen(home)] == '/' && path[strlen(home) + 1] == '.')
			return true;
	}
	return false;
}

static bool may_write(const struct observation *seen, const char *path)
{
	const char *const *write = seen->allowed ? seen->allowed->write : NULL;

	for (size_t i = 0; write && write[i]; i++)
		if (path_below(path, write[i]))
			return true;
	return false;
}

/* The folder that says what kind of file it is. Any other is part of a name that the input may have made up: the same fault
 * would be another with each of them. */
static const char *folder_of(const char *path)
{
	static const char *const usual[] = {"/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc",
		"/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr", "/var", CELL_WORKSPACE};

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (path_below(path, usual[i]))
			return usual[i];
	return "/";
}

void judge_file(const struct observation *seen, struct verdicts *ret)
{
	own(injections_done) struct injections injected = {0};

	if (verdict_find(ret, "command"))
		injections_find(seen, &injected);
	for (size_t i = 0; i < seen->effect_count; i++) {
		const struct effect *effect = &seen->effects[i];
		own(buf_done) struct buf clean = {0};
		bool write = effect->kind == CELL_EFFECT_WRITE;
		if ((!write && effect->kind != CELL_EFFECT_REMOVE) || !effect->what)
			continue;
		path_clean(effect->what, effect->len, &clean);
		const char *path = buf_text(&clean);
		bool named = input_names(seen, path);
		if (may_write(seen, path) || (!named && is_scratch(seen, path)) || path_below(path, "/dev/null") ||
			injections_tell(&injected, seen, effect, ret))
			continue;
		const char *does = write ? "writes" : "removes";
		struct verdict *verdict = named ? verdict_once(ret, "file", "it %s what the argument names", does)
						: verdict_once(ret, "file", "it %s a file below %s", does, folder_of(path));
		verdict_prove(verdict, "%s: %s %s", effect->by && *effect->by ? effect->by : "it",
			cell_effect_name(effect->kind), path);
		if (named)
			verdict_quote(verdict, "the input", seen->input, seen->len, 0, 160);
	}
}

/* ---- network ---- */

/* Whoever may speak with these may do all that they can. */
static const char *const powerful[] = {"docker.sock", "containerd.sock", "podman.sock", "crio.sock", NULL};

static bool is_harmless_socket(const struct observation *seen, const char *path)
{
	for (size_t i = 0; powerful[i]; i++)
		if (strcmp(path_last(path), powerful[i]) == 0)
			return false;
	return !input_names(seen, path);
}

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]", 5) == 0 || strncmp(address, "0.0.0.0", 7) == 0 ||
		strncmp(address, "[::]", 4) == 0;
}

/* The host of an address, without its brackets. */
static struct span host_of(const char *address)
{
	const char *port = strrchr(address, ':');
	struct span host = {address, port ? (size_t)(port - address) : strlen(address)};

	if (host.len > 2 && *host.at == '[')
		host = (struct span){host.at + 1, host.len - 2};
	return host;
}

static bool input_says(const struct observation *seen, const char *address)
{
	static const char *const selves[] = {"localhost", "127.", "//0", "[::", "2130706433", "0x7f", "017700000001", NULL};

	if (input_holds(seen, host_of(address)))
		return true;
	for (size_t i = 0; is_loopback(address) && selves[i]; i++)
		if (input_holds(seen, (struct span){selves[i], strlen(selves[i])}))
			return true;
	return false;
}

static struct verdict *judge_address(const struct observation *seen, const char *address, struct verdicts *ret)
{
	const char *port = strrchr(address, ':');

	if (port && strcmp(port, ":0") == 0)
		return NULL; /* nothing is sent: this is how a library asks which way a packet would take */
	if (input_says(seen, address))
		return verdict_once(ret, "network", "it connects where the argument says");
	if (port && strcmp(port, ":53") == 0)
		return verdict_once(ret, "network", "it asked the resolver for a name");
	return verdict_once(ret, "network",
		is_loopback(address) ? "it connects to the loopback network" : "it connects to the network");
}

void judge_network(const struct observation *seen, struct verdicts *ret)
{
	own(injections_done) struct injections injected = {0};

	if (verdict_find(ret, "command"))
		injections_find(seen, &injected);
	for (size_t i = 0; i < seen->effect_count; i++) {
		const struct effect *effect = &seen->effects[i];
		if (effect->kind != CELL_EFFECT_CONNECT || !effect->what || (seen->allowed && seen->allowed->net))
			continue;
		bool local = strncmp(effect->what, "unix:", 5) == 0;
		if ((local && is_harmless_socket(seen, effect->what + 5)) || injections_tell(&injected, seen, effect, ret))
			continue;
		struct verdict *verdict = local
			? verdict_once(ret, "network", "it connects to the socket %s", path_last(effect->what + 5))
			: judge_address(seen, effect->what, ret);
		verdict_prove(verdict, "%s: connect %s", effect->by && *effect->by ? effect->by : "it", effect->what);
		if (seen->len && input_holds(seen, SPAN("://")))
			verdict_quote(verdict, "the input", seen->input, seen->len, 0, 160);
	}
}
