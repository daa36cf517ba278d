#include "cli/fuzz_options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/homes.h"
#include "base/sha256.h"
#include "base/size.h"
#include "base/term.h"

#define CALL_MS 5000
#define START_MS 30000
#define SAFE_SIZE ((uint64_t)4 << 30)
#define SAFE_COUNT 4096
#define SAFE_MS ((uint64_t)10 * 60 * 1000)
#define SUM_MAX ((off_t)1 << 30) /* a file that is mostly hole would be read for days */

void fuzz_options_defaults(void *options)
{
	struct fuzz_cli *fuzz = options;

	run_options_defaults(&fuzz->run);
	fuzz->run.limits.timeout_ms = 0;
	fuzz->call_ms = CALL_MS;
	fuzz->start_ms = START_MS;
	fuzz->workers = 1;
	fuzz->replays = 5;
	fuzz->mode = "lines";
	fuzz->oracles = oracle_set_default;
	fuzz->fail_on = "warning";
}

/* PORT[/path] */
int fuzz_http_set(void *options, const char *value, struct err *err)
{
	struct fuzz_cli *fuzz = options;
	const char *slash = strchr(value, '/');
	own(freep) char *port = xstrdup(value);
	uint64_t number;

	if (slash)
		port[slash - value] = '\0';
	if (count_parse(port, "the port of --http", 1, 65535, &number, err) < 0)
		return -1;
	for (const char *at = slash; at && *at; at++)
		if (*at <= ' ' || *at == 0x7f)
			return err_set(err, ERR_USAGE, "--http takes PORT or PORT/path, and a path has no blanks or control characters");
	fuzz->port = (uint16_t)number;
	fuzz->path = slash ? slash : "/mcp";
	return 0;
}

int fuzz_path_check(void *options, const char *value, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	(void)options;
	if (*value == '/')
		return 0;
	term_line(value, strlen(value), 120, &shown);
	return err_set(err, ERR_USAGE, "--allow-write takes a path as the cell sees it, which begins with '/'; '%s' does not",
		buf_text(&shown));
}

static size_t name_len(const char *flag)
{
	return strcspn(flag + 2, "=");
}

static bool is_named(const char *flag, const char *name)
{
	return strlen(name) == name_len(flag) && strncmp(flag + 2, name, name_len(flag)) == 0;
}

bool fuzz_given(const struct cli_args *args, const char *name)
{
	for (size_t i = 0; i < args->given.count; i++)
		if (is_named(args->given.items[i], name))
			return true;
	return false;
}

/* ---- dictionaries ---- */

static int hex_of(char c)
{
	const char *at = c ? strchr("0123456789abcdef", c | 0x20) : NULL;

	return at ? (int)(at - "0123456789abcdef") : -1;
}

/* What is between the quotes. NULL: it is not as AFL has it, and `why` says in what. */
static char *afl_value(const char *at, const char *end, const char **why)
{
	own(buf_done) struct buf out = {0};

	for (; at < end; at++) {
		if (*at != '\\') {
			buf_char(&out, *at);
			continue;
		}
		if (end - at >= 2 && (at[1] == '\\' || at[1] == '"')) {
			buf_char(&out, *++at);
			continue;
		}
		int high = end - at >= 4 && at[1] == 'x' ? hex_of(at[2]) : -1, low = high >= 0 ? hex_of(at[3]) : -1;
		if (low < 0) {
			*why = "after a backslash comes x and two hexadecimal digits, a backslash or a quote";
			return NULL;
		}
		if (high == 0 && low == 0) {
			*why = "a word cannot hold \\x00";
			return NULL;
		}
		buf_char(&out, (char)(high * 16 + low));
		at += 3;
	}
	return out.len ? buf_take(&out) : xstrdup("");
}

static bool is_afl(const char *line, size_t len, const char **ret_value)
{
	size_t at = 0;

	while (at < len && (line[at] == '_' || line[at] == '-' || line[at] == '@' || (line[at] >= '0' && line[at] <= '9') ||
				   ((line[at] | 0x20) >= 'a' && (line[at] | 0x20) <= 'z')))
		at++;
	if (at < len && line[at] == '=')
		at++;
	else if (at > 0)
		return false;
	if (len < at + 2 || line[at] != '"' || line[len - 1] != '"')
		return false;
	*ret_value = line + at + 1;
	return true;
}

static int dict_fail(struct err *err, const char *name, size_t line, const char *why)
{
	own(buf_done) struct buf shown = {0};

	term_line(name, strlen(name), 160, &shown);
	return err_set(err, ERR_USAGE, "%s:%zu: %s", buf_text(&shown), line, why);
}

static int dict_line(const char *line, size_t len, const char *name, size_t number, struct strings *ret, struct err *err)
{
	const char *value, *why = NULL;
	own(buf_done) struct buf plain = {0};
	own(freep) char *word = NULL;

	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (len == 0 || *line == '#')
		return 0;
	if (memchr(line, '\0', len))
		return dict_fail(err, name, number, "a word cannot hold a NUL byte");
	if (is_afl(line, len, &value)) {
		word = afl_value(value, line + len - 1, &why);
		if (!word)
			return dict_fail(err, name, number, why);
	} else {
		buf_add(&plain, line, len);
	}
	if (ret->count >= DICT_WORDS_MAX)
		return dict_fail(err, name, number, "these are more than the 10000 words that are taken");
	strings_add(ret, word ? word : buf_text(&plain));
	return 0;
}

int dict_read(const char *text, size_t len, const char *name, struct strings *ret, struct err *err)
{
	size_t number = 1;

	for (size_t at = 0; at < len; number++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at : len - at;
		if (dict_line(text + at, line, name, number, ret, err) < 0)
			return -1;
		at += line + 1;
	}
	return 0;
}

/* What is wrong with the text between quotes; NULL: nothing. */
static const char *entry_fault(const char *at, const char *end)
{
	if (at == end)
		return "an empty word says nothing";
	for (; at < end; at++) {
		if (!isprint((unsigned char)*at) && *at != '\t')
			return "a byte that is no plain character is written as \\xNN";
		if (*at != '\\')
			continue;
		if (end - at > 1 && (at[1] == '\\' || at[1] == '"'))
			at++;
		else if (end - at > 3 && at[1] == 'x' && isxdigit((unsigned char)at[2]) && isxdigit((unsigned char)at[3]))
			at += 3;
		else
			return "after a backslash, x and two digits, a backslash or a quote is expected";
	}
	return NULL;
}

static const char *line_fault(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	while (at < end && isspace((unsigned char)end[-1]))
		end--;
	if (at == end || *at == '#')
		return NULL;
	const char *quote = memchr(at, '"', (size_t)(end - at));
	if (!quote || quote == end - 1 || end[-1] != '"')
		return "a word in quotes is expected: name=\"value\"";
	return entry_fault(quote + 1, end - 1);
}

int dict_check(const char *text, size_t len, const char *name, struct err *err)
{
	size_t number = 1;

	for (size_t at = 0; at < len; number++) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at : len - at;
		const char *fault = line_fault(text + at, text + at + line);
		if (fault)
			return err_set(err, ERR_USAGE, "%s:%zu: %s", name, number, fault);
		at += line + 1;
	}
	return 0;
}

/* ---- the target's file ---- */

const char *fuzz_script(char *const *command)
{
	struct stat st;

	for (char *const *word = command; word && *word; word++)
		if (**word != '-' && (word != command || strchr(*word, '/')) && stat(*word, &st) == 0 && S_ISREG(st.st_mode))
			return *word;
	return NULL;
}

static char *in_path(const char *name)
{
	const char *path = "/usr/local/bin:/usr/bin:/bin"; /* where a cell looks */

	while (*path) {
		size_t len = strcspn(path, ":");
		own(freep) char *file = xfmt("%.*s/%s", (int)len, path, name);
		if (access(file, X_OK) == 0)
			return ptr_take(&file);
		path += len + (path[len] == ':');
	}
	return NULL;
}

char *fuzz_target_sum(char *const *command)
{
	const char *script = fuzz_script(command);
	own(freep) char *path = script ? xstrdup(script) : command && *command && !strchr(*command, '/') ? in_path(*command) : NULL;
	own(fd_closep) int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX], part[65536];
	struct sha256 state;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > SUM_MAX)
		return NULL;
	sha256_init(&state);
	off_t sum_of = 0;
	for (ssize_t got; (got = read(fd, part, sizeof(part))) != 0;) {
		sum_of += got;
		if (got < 0 || sum_of > SUM_MAX)
			return NULL;
		sha256_add(&state, part, (size_t)got);
	}
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	return xstrdup(hex);
}

/* ---- what a finding keeps ---- */

static const struct {
	const char *name;
	enum flag_take take;
} takes[] = {
	{"memory", FLAG_SIZE}, {"cpus", FLAG_TAKEN}, {"processes", FLAG_COUNT}, {"tmp-size", FLAG_SIZE}, {"disk", FLAG_SIZE},
	{"shm", FLAG_SIZE}, {"file-size", FLAG_SIZE}, {"open-files", FLAG_COUNT}, {"max-output", FLAG_SIZE},
	{"hide", FLAG_TAKEN}, {"forbid", FLAG_TAKEN}, {"workdir", FLAG_TAKEN}, {"require", FLAG_TAKEN},
	{"mode", FLAG_TAKEN}, {"http", FLAG_TAKEN}, {"call-timeout", FLAG_TIME}, {"start-timeout", FLAG_TIME},
	{"allow-write", FLAG_TAKEN}, {"allow-spawn", FLAG_TAKEN}, {"allow-net", FLAG_TAKEN}, {"no-canaries", FLAG_TAKEN},
	{"oracles", FLAG_TAKEN}, {"name", FLAG_TAKEN}, {"source-file", FLAG_TAKEN}, {"expect", FLAG_TAKEN}, {"sanitizer", FLAG_TAKEN}, {"cflag", FLAG_TAKEN},
	{"fuzzer", FLAG_TAKEN},
	{"input-timeout", FLAG_TIME},
	{"schema", FLAG_FILE_HERE}, {"output-schema", FLAG_FILE_HERE}, {"venv", FLAG_FILE_HERE}, {"root", FLAG_FILE_HERE}, {"engine", FLAG_TRUSTED},
	{"mount", FLAG_MOUNT},
	{"uid", FLAG_TRUSTED}, /* root's cells without a user namespace have that very user's rights */
	{"tmp-exec", FLAG_TRUSTED}, {"no-default-hide", FLAG_TRUSTED}, {"image", FLAG_TRUSTED}, {"backend", FLAG_TRUSTED},
	{"no-sandbox", FLAG_TRUSTED},
};

enum flag_take flag_take(const char *flag)
{
	for (size_t i = 0; strncmp(flag, "--", 2) == 0 && i < ARRAY_LEN(takes); i++)
		if (is_named(flag, takes[i].name))
			return takes[i].take;
	return FLAG_NOT_KEPT;
}

static bool is_above(const char *folder, const char *path)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* A home may be behind a link, and `folder` is what is behind all of them. */
static bool holds_home(const char *folder, const char *home)
{
	own(freep) char *whole = realpath(home, NULL);

	return is_above(folder, home) || (whole && is_above(folder, whole));
}

bool folder_is_too_much(const char *folder)
{
	const char *home = getenv("HOME");

	return folder_is_shared(folder) || (home && holds_home(folder, home));
}

/* What is behind all links; NULL: nothing is there. */
static char *real(const char *path, size_t len)
{
	own(freep) char *copy = xfmt("%.*s", (int)len, path);

	return realpath(copy, NULL);
}

/* From the current folder; NULL: it is not at or below it. */
static char *from_here(const char *path, size_t len)
{
	own(freep) char *here = getcwd(NULL, 0), *there = real(path, len);
	size_t size = here ? strlen(here) : 0;

	if (!here || !there || strncmp(here, there, size) != 0 || (there[size] != '/' && there[size] != '\0'))
		return NULL;
	return xstrdup(there[size] ? there + size + 1 : ".");
}

bool path_is_here(const char *path, size_t len)
{
	own(freep) char *inside = from_here(path, len);

	return inside != NULL;
}

bool path_goes_up(const char *path)
{
	for (size_t len; *path; path += len + (path[len] == '/')) {
		len = strcspn(path, "/");
		if (len == 2 && strncmp(path, "..", 2) == 0)
			return true;
	}
	return false;
}

bool path_leads_out(const char *path)
{
	return *path != '/' && !path_goes_up(path) && access(path, F_OK) == 0 &&
		!path_is_here(path, strlen(path));
}

bool fuzz_sum_is_open(char *const *command)
{
	const char *script = fuzz_script(command);
	own(freep) char *whole = script ? realpath(script, NULL) : NULL;

	return !script || path_is_here(script, strlen(script)) || (whole && is_above("/usr", whole));
}

/* What is not read here is refused by the option's own parser. */
static bool limit_is_safe(enum flag_take take, const char *value)
{
	uint64_t number;
	struct err err;

	if (take == FLAG_TIME)
		return duration_parse(value, "", &number, &err) == 0 && number <= SAFE_MS;
	if (take == FLAG_SIZE)
		return size_parse(value, "", &number, &err) == 0 && number <= SAFE_SIZE;
	return count_parse(value, "", 1, SAFE_COUNT, &number, &err) == 0;
}

bool flag_is_safe(const char *flag)
{
	enum flag_take take = flag_take(flag);

	if (take == FLAG_NOT_KEPT || take == FLAG_TAKEN || take == FLAG_TRUSTED)
		return take == FLAG_TAKEN;
	const char *value = flag[2 + name_len(flag)] == '=' ? flag + 2 + name_len(flag) + 1 : "";
	if (take == FLAG_SIZE || take == FLAG_COUNT || take == FLAG_TIME)
		return limit_is_safe(take, value);
	size_t len = take == FLAG_MOUNT ? strcspn(value, ":") : strlen(value);
	own(freep) char *inside = from_here(value, len), *whole = real(value, len);
	if (!inside || !whole || take == FLAG_FILE_HERE)
		return inside != NULL;
	const char *mode = value[len] ? strchr(value + len + 1, ':') : NULL;
	return (!mode || strcmp(mode, ":ro") == 0) && !folder_is_too_much(whole);
}

bool flag_is_missing(const char *flag)
{
	enum flag_take take = flag_take(flag);

	if ((take != FLAG_FILE_HERE && take != FLAG_MOUNT) || flag[2 + name_len(flag)] != '=')
		return false;
	const char *value = flag + 2 + name_len(flag) + 1;
	own(freep) char *path = xfmt("%.*s", (int)(take == FLAG_MOUNT ? strcspn(value, ":") : strlen(value)), value);
	return access(path, F_OK) < 0 && errno == ENOENT;
}

/* The same flag with its path from here, where it is one that lies here. */
static char *flag_kept(const char *flag)
{
	size_t name = 2 + name_len(flag);
	const char *value = flag[name] == '=' ? flag + name + 1 : NULL;
	enum flag_take take = flag_take(flag);

	if (!value || (take != FLAG_FILE_HERE && take != FLAG_MOUNT))
		return xstrdup(flag);
	size_t len = take == FLAG_MOUNT ? strcspn(value, ":") : strlen(value);
	own(freep) char *inside = from_here(value, len);
	return inside ? xfmt("%.*s=%s%s", (int)name, flag, inside, value + len) : xstrdup(flag);
}

void fuzz_flags(const struct cli_args *args, struct strings *flags, struct strings *names)
{
	for (size_t i = 0; i < args->given.count; i++) {
		const char *flag = args->given.items[i];
		const char *value = flag + 2 + name_len(flag) + (flag[2 + name_len(flag)] == '=');
		if (is_named(flag, "env") || is_named(flag, "pass-env")) {
			own(freep) char *name = xfmt("%.*s", (int)strcspn(value, "="), value);
			strings_add(names, name);
		} else if (flag_take(flag) != FLAG_NOT_KEPT) {
			own(freep) char *kept = flag_kept(flag);
			strings_add(flags, kept);
		}
	}
}
