/* Go, by libFuzzer where clang and cgo are there, and else by Go's own engine. The build decides that, in the cell: see
 * go_target.sh. Here a function's text is only looked at to find it, and to call it directly where all of its parameters are
 * of plain types: others are made by their types when it runs (go_data.go), which is slower. */
#include "fuzz/function/lang/language.h"

#include <inttypes.h>
#include <string.h>

#include "base/term.h"
#include "fuzz/function/lang/go/go_text.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MEMORY ((uint64_t)2 << 30)
#define STACK_MAX ((uint64_t)64 << 20) /* Go's own limit, 1 GB, is more than a cell has, and takes long to tell of */
#define SCRIPT "go_target.sh"

#define EMBEDDED(name) extern const char name[], name##_end[]
EMBEDDED(go_target);
EMBEDDED(go_harness);
EMBEDDED(go_data);
EMBEDDED(go_export);
EMBEDDED(go_tests);
EMBEDDED(go_run);
EMBEDDED(go_serve);
EMBEDDED(go_engine);
EMBEDDED(go_lcov);

static const struct {
	const char *name, *text, *end;
} files[] = {
	{SCRIPT, go_target, go_target_end},
	{"go_harness.go", go_harness, go_harness_end},
	{"go_data.go", go_data, go_data_end},
	{"go_export.go", go_export, go_export_end},
	{"go_tests.go", go_tests, go_tests_end},
	{"go_run.go", go_run, go_run_end},
	{"go_serve.go", go_serve, go_serve_end},
	{"go_engine.c", go_engine, go_engine_end},
	{"go_lcov.awk", go_lcov, go_lcov_end},
};

/* ---- names ---- */

struct naming {
	void (*name)(void *, const char *, size_t, bool);
	void *data;
};

static bool is_test(struct go_span name)
{
	static const char *const kinds[] = {"Test", "Benchmark", "Example"};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (name.len >= strlen(kinds[i]) && memcmp(name.at, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return false;
}

static bool give_name(void *data, const struct go_function *function)
{
	const struct naming *naming = data;

	if (!is_test(function->name))
		naming->name(naming->data, function->name.at, function->name.len, go_is_fuzz_test(function));
	return true;
}

static void go_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	struct naming naming = {name, data};

	go_functions(text, len, give_name, &naming);
}

static bool go_is_harness_file(const char *path)
{
	return path_has_suffix(path, "_test.go");
}

/* ---- the file that names the function ---- */

struct search {
	const char *name;
	struct go_function found;
	bool is_found;
};

static bool look_for(void *data, const struct go_function *function)
{
	struct search *search = data;

	if (function->name.len != strlen(search->name) || memcmp(function->name.at, search->name, function->name.len) != 0)
		return true;
	search->found = *function;
	search->is_found = true;
	return false;
}

static int param_bad(
	const struct function_target *target, const struct go_param *param, size_t place, bool serve, struct err *err)
{
	own(buf_done) struct buf name = {0}, type = {0};

	term_line(param->name.at, param->name.len, 60, &name);
	term_line(param->type.at, param->type.len, 80, &type);
	return err_set(err, ERR_USAGE,
		"%s: its parameter %zu%s%s, of type '%s', cannot be made from %s", target->name, place + 1, name.len ? ", " : "",
		buf_text(&name), buf_text(&type), serve ? "a document" : "bytes; write a fuzz test, FuzzXxx(f *testing.F)");
}

/* A call that makes its arguments: numbers first, from the end, then texts. Nothing is put where one is of no plain type. */
static int put_call(
	const struct function_target *target, const struct go_param *params, size_t count, struct buf *out, struct err *err)
{
	own(buf_done) struct buf texts = {0}, words = {0}, numbers = {0};
	size_t last = count;
	bool plain = true;

	for (size_t i = 0; i < count; i++) {
		last = go_is_text(params[i].type) ? i : last;
		if (go_is_hopeless(params[i].type))
			return param_bad(target, &params[i], i, false, err);
	}
	for (size_t i = 0; i < count; i++) {
		const char *made = go_plain(params[i].type, i == last);
		plain = plain && made;
		if (plain)
			buf_fmt(go_is_text(params[i].type) ? &texts : &numbers, "\t\thotcell%zu := %s\n", i, made);
		buf_fmt(&words, "%shotcell%zu", i ? ", " : "", i);
	}
	if (plain)
		buf_fmt(out, "func(hotcellData *hotcellHarness.Data) {\n%s%s\t\t%s(%s)\n\t}", buf_text(&numbers), buf_text(&texts),
			target->function, buf_text(&words));
	else
		buf_str(out, "nil");
	return 0;
}

static bool is_named(const struct go_param *param)
{
	return param->name.len && !(param->name.len == 1 && *param->name.at == '_');
}

/* A call with documents: by names, since reflection does not tell them. */
static int put_serve(
	const struct function_target *target, const struct go_param *params, size_t count, struct buf *out, struct err *err)
{
	buf_fmt(out, "Serve(\"%s\", %s", target->function, target->function);
	for (size_t i = 0; i < count; i++) {
		if (go_is_hopeless(params[i].type))
			return param_bad(target, &params[i], i, true, err);
		if (count > 1 && !is_named(&params[i]))
			return err_set(err, ERR_USAGE, "--schema: %s has a parameter %zu without a name, by which a document could give it",
				target->name, i + 1);
		if (is_named(&params[i]))
			buf_fmt(out, ", \"%.*s\"", (int)params[i].name.len, params[i].name.at);
		else
			buf_str(out, ", \"_\"");
	}
	buf_str(out, ")\n}\n");
	return 0;
}

static int put_function(
	const struct function_target *target, const struct go_param *params, size_t count, struct buf *out, struct err *err)
{
	buf_fmt(out, "Function(\"%s\", %s, ", target->function, target->function);
	if (put_call(target, params, count, out, err) < 0)
		return -1;
	buf_str(out, ")\n}\n");
	return 0;
}

static char *register_text(
	const struct function_target *target, bool serve, const char *text, size_t len, const char *folder, struct err *err)
{
	struct search search = {.name = target->function};
	struct go_span package = go_package(text, len);
	struct go_param params[GO_PARAMS_MAX];
	own(buf_done) struct buf out = {0};

	go_functions(text, len, look_for, &search);
	if (!search.is_found || !package.len) {
		(void)err_set(err, ERR_USAGE, "%s: its %s was not found", target->name, package.len ? "function" : "package clause");
		return NULL;
	}
	buf_fmt(&out, "package %.*s\n\nimport hotcellHarness \"HOTCELL_MODULE/harness_of_hotcell\"\n\nfunc init() {\n\thotcellHarness.",
		(int)package.len, package.at);
	if (target->harness) {
		buf_fmt(&out, "Fuzz(\"%s\", \"" FUNCTION_ROOT "/%s\", %s)\n}\n", target->function, folder, target->function);
		return buf_take(&out);
	}
	size_t count = go_params(search.found.params, params);
	if (search.found.generic || count == 0 || count > GO_PARAMS_MAX) {
		(void)err_set(err, ERR_USAGE, "%s %s", target->name,
			search.found.generic ? "has parameters of types; write a fuzz test, FuzzXxx(f *testing.F), that says which"
			: count              ? "takes more parameters than can be made"
					     : "takes nothing, so there is nothing to fuzz");
		return NULL;
	}
	if ((serve ? put_serve : put_function)(target, params, count, &out, err) < 0)
		return NULL;
	return buf_take(&out);
}

/* ---- the plan ---- */

static uint64_t go_memory(const struct function_options *options)
{
	uint64_t memory = options->spec ? options->spec->limits.memory : 0;

	return options->memory_fixed || memory > MEMORY ? memory : MEMORY;
}

/* What the script is told. The texts are in quotes: plan() saw that nothing in them ends these. */
static char *script_settings(const struct function_target *target, const struct function_options *options, const char *folder,
	struct go_span package)
{
	return xfmt("FILE='%s'\nDIR='%s'\nKIND=%s\nPACKAGE='%.*s'\nCOVER=%d\nMEMORY=%" PRIu64 "\n", target->file, folder,
		target->harness ? "fuzz" : "function", (int)package.len, package.at, options->coverage != COVER_NONE, go_memory(options) / 8 * 5);
}

static void put_environment(const struct function_options *options, struct function_plan *ret)
{
	uint64_t stack = go_memory(options) / 8;
	own(buf_done) struct buf expect = {0};
	own(freep) char *limit = xfmt("HOTCELL_STACK=%" PRIu64, stack < STACK_MAX ? stack : STACK_MAX);
	own(freep) char *seconds = xfmt("HOTCELL_SECONDS=%" PRIu64,
		((options->input_ms ? options->input_ms : FUNCTION_INPUT_MS) + 999) / 1000);

	buf_str(&expect, "HOTCELL_EXPECT=");
	for (const char *const *each = options->expect; each && *each; each++)
		buf_fmt(&expect, "%s\n", *each);
	strings_add_all(&ret->environment,
		LIST(buf_text(&expect), limit, seconds,
			"PATH=" FUNCTION_ENGINE "/bin:/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin:/usr/lib/go/bin:/usr/lib/llvm-19/bin:"
			"/usr/lib/llvm-16/bin:/usr/lib/llvm-14/bin"));
}

static int go_plan(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	struct function_plan *ret, struct err *err)
{
	const char *slash = strrchr(target->file, '/');
	own(freep) char *folder = xfmt("%.*s", slash ? (int)(slash - target->file) : 0, target->file);

	for (const char *at = target->file; *at; at++)
		if ((unsigned char)*at < ' ' || strchr("'\"\\`$|&", *at))
			return err_set(err, ERR_USAGE, "%s: its path has a character that Go or its build does not take", target->name);
	if (!target->harness && path_has_suffix(target->file, "_test.go"))
		return err_set(err, ERR_USAGE, "%s is in a test file, of which only FuzzXxx(f *testing.F) is fuzzed", target->name);
	bool serve = options->serve && !target->harness;
	char *made = register_text(target, serve, text, len, folder, err);
	if (!made)
		return -1;
	plan_file_add(ret, "register.go", made);
	plan_file_add(ret, "target.sh", script_settings(target, options, folder, go_package(text, len)));
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		plan_file_add(ret, files[i].name, xfmt("%.*s", (int)(files[i].end - files[i].text), files[i].text));
	strings_add_all(&ret->build, LIST("sh", FUNCTION_WORK "/" SCRIPT, serve ? "build_serve" : "build"));
	if (serve)
		strings_add_all(&ret->serve, LIST("sh", FUNCTION_WORK "/" SCRIPT, "serve"));
	strings_add_all(&ret->run, LIST("sh", FUNCTION_WORK "/" SCRIPT, "fuzz"));
	strings_add_all(&ret->replay, LIST("sh", FUNCTION_WORK "/" SCRIPT, "replay"));
	strings_add_all(&ret->minimise, LIST("sh", FUNCTION_WORK "/" SCRIPT, "minimise"));
	strings_add_all(&ret->merge, LIST("sh", FUNCTION_WORK "/" SCRIPT, "merge"));
	if (options->coverage != COVER_NONE)
		strings_add_all(&ret->cover, LIST("sh", FUNCTION_WORK "/" SCRIPT, "cover"));
	put_environment(options, ret);
	parts_of_go(target->root, &ret->parts);
	parts_seed(options->state, "go", &ret->parts);
	ret->cache = parts_cache("go", target->root);
	ret->memory = MEMORY;
	ret->goes_on = true;
	return 0;
}

static const struct language_need needs[] = {
	{"Go", LIST("go", "version"), "apt-get install golang-go, and for its faster engine clang and libclang-rt-14-dev (with the number of your clang)"},
	{0},
};

const struct language language_go = {
	.name = "go",
	.title = "Go",
	.suffixes = LIST(".go"),
	.needs = needs,
	.roots = LIST("go.mod"),
	.names = go_names,
	.is_harness_file = go_is_harness_file,
	.takes = TAKES_EXPECT,
	.plan = go_plan,
	.core = "aborts",
	.own_root = true,
	.many = true,
};
