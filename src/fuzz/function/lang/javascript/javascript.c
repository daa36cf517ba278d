/* JavaScript, by Jazzer.js. What a function is called with is decided by the harness, in the cell, from its JSDoc and its text;
 * so is how Jazzer.js is made to run there. Here are only names, and words. */
#include "fuzz/function/lang/language.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MEMORY ((uint64_t)1 << 30)
#define NAMES_MAX 1000u
#define HARNESS FUNCTION_WORK "/harness_of_hotcell.cjs" /* no target's frames are called so */

/* The files beside this one, as the cells have them. */
extern const char javascript_harness[], javascript_harness_end[], javascript_engine[], javascript_engine_end[],
	javascript_values[], javascript_values_end[], javascript_types[], javascript_types_end[], javascript_cover[],
	javascript_cover_end[];
static const struct {
	const char *name, *from, *end;
} files[] = {
	{"harness_of_hotcell.cjs", javascript_harness, javascript_harness_end},
	{"harness_of_hotcell_engine.cjs", javascript_engine, javascript_engine_end},
	{"harness_of_hotcell_values.cjs", javascript_values, javascript_values_end},
	{"harness_of_hotcell_types.cjs", javascript_types, javascript_types_end},
	{"harness_of_hotcell_cover.cjs", javascript_cover, javascript_cover_end},
};

/* ---- names ---- */

struct names {
	void (*name)(void *data, const char *name, size_t len, bool harness);
	void *data;
	struct strings seen; /* a function is declared, and then exported */
	char *class; /* that the lines are in; NULL: none */
	bool exports; /* they are in "module.exports = {" */
	size_t indent; /* of its names; 0: not known yet */
	bool harness; /* told */
};

static void names_done(struct names *names)
{
	strings_done(&names->seen);
	free(names->class);
}

static size_t name_len(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && (isalnum((unsigned char)*at) || *at == '_' || *at == '$' || (unsigned char)*at >= 0x80))
		at++;
	return from < end && isdigit((unsigned char)*from) ? 0 : (size_t)(at - from);
}

static const char *skip_space(const char *at, const char *end)
{
	while (at < end && isspace((unsigned char)*at))
		at++;
	return at;
}

/* Behind a word and what parts it from the next; NULL: it is another. */
static const char *after(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(end - at) < len || memcmp(at, word, len) != 0)
		return NULL;
	if (isalnum((unsigned char)word[len - 1]) && name_len(at, end) > len)
		return NULL;
	return skip_space(at + len, end);
}

static void skip_word(const char **at, const char *end, const char *word)
{
	const char *next = after(*at, end, word);

	*at = next ? next : *at;
}

static void tell(struct names *names, const char *at, size_t len, bool exported)
{
	own(freep) char *name = xfmt("%.*s", (int)len, at);

	if (!len || names->seen.count >= NAMES_MAX)
		return;
	if (exported && strcmp(name, "fuzz") == 0) {
		if (!names->harness)
			names->name(names->data, at, len, true);
		names->harness = true;
	} else if (!strings_have(&names->seen, name)) {
		strings_add(&names->seen, name);
		names->name(names->data, at, len, false);
	}
}

/* "a, b: c, d as e, f() {": what others can ask for. Ends with a brace. */
static void tell_list(struct names *names, const char *at, const char *end)
{
	while (at < end && *at != '}') {
		at = skip_space(at, end);
		skip_word(&at, end, "async");
		size_t len = name_len(at, end);
		const char *as = after(at + len < end ? skip_space(at + len, end) : end, end, "as"), *name = as ? as : at;
		const char *mark = skip_space(at + len, end);
		if (len && (as || mark == end || *mark == ',' || *mark == '}' || *mark == ':' || *mark == '('))
			tell(names, name, as ? name_len(as, end) : len, true);
		const char *comma = at < end ? memchr(at, ',', (size_t)(end - at)) : NULL;
		at = comma ? comma + 1 : end;
	}
}

static bool is_function_text(const char *at, const char *end)
{
	if (after(at, end, "function") || after(at, end, "async"))
		return true;
	if (at < end && *at == '(')
		return !memchr(at, '=', (size_t)(end - at)) || memmem(at, (size_t)(end - at), "=>", 2);
	return after(skip_space(at + name_len(at, end), end), end, "=>") != NULL;
}

/* "module.exports = {", "module.exports = name", "exports.name = ...", "module.exports.name = ..." */
static bool tell_exports(struct names *names, const char *at, const char *end)
{
	const char *exports, *next;

	skip_word(&at, end, "module.");
	if (!(exports = after(at, end, "exports")))
		return false;
	if (exports < end && *exports == '.') {
		size_t len = name_len(exports + 1, end);
		if (after(skip_space(exports + 1 + len, end), end, "="))
			tell(names, exports + 1, len, true);
		return true;
	}
	if (!(next = after(exports, end, "=")))
		return false;
	if (next < end && *next == '{') {
		tell_list(names, next + 1, end);
		names->exports = !memchr(next, '}', (size_t)(end - next));
		names->indent = 0;
	} else if (is_function_text(next, end)) {
		tell(names, "default", 7, true);
	} else {
		tell(names, next, name_len(next, end), true);
	}
	return true;
}

/* "function name", "const name = (x) => ...", "class Name" */
static void tell_declared(struct names *names, const char *at, const char *end, bool exported, bool is_default)
{
	static const char *const variables[] = {"const", "let", "var"};
	const char *next;

	skip_word(&at, end, "async");
	if ((next = after(at, end, "function"))) {
		skip_word(&next, end, "*");
		size_t len = name_len(next, end);
		if (len || is_default)
			tell(names, len ? next : "default", len ? len : 7, exported);
		return;
	}
	if ((next = after(at, end, "class"))) {
		size_t len = name_len(next, end);
		free(names->class);
		names->class = len ? xfmt("%.*s", (int)len, next) : NULL;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		if (!(next = after(at, end, variables[i])))
			continue;
		size_t len = name_len(next, end);
		const char *value = after(skip_space(next + len, end), end, "=");
		if (value && is_function_text(value, end))
			tell(names, next, len, exported);
		return;
	}
	if (is_default && is_function_text(at, end))
		tell(names, "default", 7, true);
}

static void top_line(struct names *names, const char *at, const char *end)
{
	const char *next = after(at, end, "export");
	bool exported = next != NULL;

	names->exports = names->exports && *at != '}';
	if (*at == '}') {
		free(names->class);
		names->class = NULL;
	}
	if (!exported && tell_exports(names, at, end))
		return;
	at = exported ? next : at;
	if (exported && at < end && *at == '{') {
		tell_list(names, at + 1, end);
		names->exports = !memchr(at, '}', (size_t)(end - at));
		names->indent = 0;
		return;
	}
	const char *value = exported ? after(at, end, "default") : NULL;
	tell_declared(names, value ? value : at, end, exported, value != NULL);
}

/* Lines that are set in: static methods of a class, names in a list. */
static void inner_line(struct names *names, const char *at, const char *end, size_t indent)
{
	const char *next = after(at, end, "static");

	if (names->class && next) {
		skip_word(&next, end, "async");
		skip_word(&next, end, "*");
		size_t len = name_len(next, end);
		own(freep) char *whole = xfmt("%s.%.*s", names->class, (int)len, next);
		if (len && next + len < end && next[len] == '(')
			tell(names, whole, strlen(whole), false);
	} else if (names->exports && *at != '/' && *at != '*') {
		names->indent = names->indent ? names->indent : indent;
		if (indent == names->indent)
			tell_list(names, at, end);
	}
}

/* Lines are enough: what is found is asked for in the cell. */
static void javascript_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	own(names_done) struct names names = {.name = name, .data = data};
	const char *end = text + len, *next;

	for (const char *line = text; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		const char *at = skip_space(line, stop);
		if (at == stop)
			continue;
		if (at == line)
			top_line(&names, at, stop);
		else
			inner_line(&names, at, stop, (size_t)(at - line));
	}
}

/* ---- the plan ---- */

static bool is_harness_file(const char *path)
{
	return path_is_harness(path) || path_has_suffix(path, ".fuzz.js") || path_has_suffix(path, ".fuzz.mjs") ||
		path_has_suffix(path, ".fuzz.cjs") || path_has_suffix(path, ".fuzz.ts");
}

static uint64_t memory_of(const struct function_options *options)
{
	uint64_t memory = options->spec ? options->spec->limits.memory : 0;

	return options->memory_fixed || memory > MEMORY ? memory : MEMORY;
}

static char *config(const struct function_target *target, const struct function_options *options, bool engine)
{
	own(json_done) struct json json = {0};

	config_open(&json, target, options);
	json_put_string(&json, "engine", engine ? FUNCTION_ENGINE : "");
	json_put_uint(&json, "memory", memory_of(options) / 8 * 7);
	json_put_uint(&json, "timeout", ((options->input_ms ? options->input_ms : FUNCTION_INPUT_MS) + 999) / 1000);
	json_close(&json, '}');
	return buf_take(&json.out);
}

static int javascript_plan(const struct function_target *target, const struct function_options *options, const char *text,
	size_t len, struct function_plan *ret, struct err *err)
{
	/* Of the cell's memory, so that too much of it is an error with an input, and not the end of the cell: objects are V8's to
	 * tell of, buffers fail. A limit of the whole address space is more than Node bears. */
	own(freep) char *heap = xfmt("--max-old-space-size=%u", (unsigned)((memory_of(options) >> 20) / 8 * 5));
	own(freep) char *start = xfmt("ulimit -d %u; exec node \"$@\"", (unsigned)((memory_of(options) >> 10) / 16 * 15));
	const struct {
		struct strings *words;
		const char *mode;
	} modes[] = {{&ret->build, "build"}, {&ret->run, "fuzz"}, {&ret->replay, "replay"}, {&ret->minimise, "minimise"},
		{&ret->cover, "cover"}, {&ret->serve, "serve"}};

	(void)text, (void)len, (void)err;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		plan_file_add(ret, files[i].name, xfmt("%.*s", (int)(files[i].end - files[i].from), files[i].from));
	plan_file_add(ret, "target.json", config(target, options, ret->engine != NULL));
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		strings_add_all(modes[i].words, LIST("sh", "-c", start, "node", heap, HARNESS, modes[i].mode));
	strings_add_all(&ret->environment, LIST("NODE_NO_WARNINGS=1", "NODE_DISABLE_COLORS=1"));
	ret->memory = MEMORY;
	ret->goes_on = ret->replays_many = true;
	return 0;
}

static const struct language_need needs[] = {
	{"Node.js", LIST("node", "--version"), "apt-get install nodejs npm"},
	{"Jazzer.js", LIST("node", "-e", "require.resolve('@jazzer.js/core', {paths: ['" FUNCTION_ENGINE "', '" FUNCTION_ROOT "']})"),
		"npm install --prefix ~/.local/share/hotcell/engines/javascript @jazzer.js/core@4.0.0"},
	{0},
};

const struct language language_javascript = {
	.name = "javascript",
	.title = "JavaScript",
	.suffixes = LIST(".js", ".mjs", ".cjs", ".ts"),
	.needs = needs,
	.roots = LIST("package.json"),
	.names = javascript_names,
	.takes_in = LIST("export *", "exports = require(", "...require(", "Object.assign(exports", "Object.assign(module.exports"),
	.is_harness_file = is_harness_file,
	.takes = TAKES_EXPECT,
	.plan = javascript_plan,
};
