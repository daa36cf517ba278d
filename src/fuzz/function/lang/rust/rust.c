/* Rust, by clang's libFuzzer and rustc's own coverage of it. A function is called from a module that is put into its
 * file, so that one nobody else sees can be called; harnesses are those of cargo-fuzz, built with crates of ours that
 * stand for libfuzzer-sys and arbitrary, so that no network is needed. What is built, and how, is said by
 * rust_build.sh, in the cell. */
#include <inttypes.h>
#include <string.h>

#include "fuzz/function/lang/language.h"
#include "fuzz/function/lang/rust/rust_host.h"
#include "fuzz/function/lang/rust/rust_text.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MEMORY ((uint64_t)2 << 30)
#define BIN "/usr/local/bin:/usr/bin:/bin:/usr/lib/llvm-19/bin:/usr/lib/llvm-16/bin:/usr/lib/llvm-14/bin"

extern const char rust_harness_rs[], rust_harness_rs_end[], rust_arbitrary_rs[], rust_arbitrary_rs_end[],
	rust_document_rs[], rust_document_rs_end[], rust_derive_rs[], rust_derive_rs_end[], rust_build_sh[], rust_build_sh_end[]; /* the files beside this one */

/* ---- names ---- */

struct naming {
	void (*name)(void *, const char *, size_t, bool);
	void *data;
};

static void give_name(void *data, const struct rust_function *function)
{
	const struct naming *naming = data;

	if (strcmp(function->name, "main") != 0)
		naming->name(naming->data, function->name, strlen(function->name), false);
}

static void rust_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	struct naming naming = {name, data};
	bool harness;

	rust_functions(text, len, give_name, &naming, &harness);
	if (harness)
		name(data, "fuzz_target", 11, true);
}

static bool is_harness_file(const char *path)
{
	return strstr(path, "fuzz_targets/") || path_is_harness(path);
}

/* ---- the plan ---- */

static void put_word(struct buf *out, const char *name, const char *value)
{
	buf_fmt(out, "%s='", name);
	for (; *value; value++)
		buf_str(out, *value == '\'' ? "'\\''" : (const char[]){*value, 0});
	buf_str(out, "'\n");
}

static char *settings(
	const struct function_target *target, const struct function_options *options, const struct rust_place *place, bool made)
{
	struct buf out = {0};

	put_word(&out, "file", target->file);
	put_word(&out, "manifest", place->manifest);
	put_word(&out, "root", place->root);
	put_word(&out, "made", made ? "yes" : "no");
	put_word(&out, "sanitizer", options->sanitizer == SANITIZER_ADDRESS ? "address" : "none");
	return buf_take(&out);
}

static char *expected(const struct function_options *options)
{
	struct buf out = {0};

	for (const char *const *each = options->expect; each && *each; each++)
		buf_fmt(&out, "%s\n", *each);
	return out.len ? buf_take(&out) : xstrdup("");
}

static void put_file(struct function_plan *plan, const char *name, const char *from, const char *end)
{
	plan_file_add(plan, name, xfmt("%.*s", (int)(end - from), from));
}

static void put_commands(const struct function_options *options, bool serve, struct function_plan *ret)
{
	uint64_t memory = options->spec ? options->spec->limits.memory : 0;
	uint64_t input_ms = options->input_ms ? options->input_ms : FUNCTION_INPUT_MS;
	own(freep) char *limit = NULL, *timeout = xfmt("-timeout=%" PRIu64, (input_ms + 999) / 1000);

	memory = options->memory_fixed || memory > MEMORY ? memory : MEMORY;
	limit = xfmt("-rss_limit_mb=%" PRIu64, (memory >> 20) * 7 / 8);
	ret->memory = MEMORY;
	ret->goes_on = true;
	strings_add_all(&ret->build, LIST("sh", FUNCTION_WORK "/rust_build.sh", serve ? "serve" : "fuzz"));
	if (serve)
		strings_add(&ret->serve, FUNCTION_WORK "/harness");
	strings_add_all(&ret->run, LIST(FUNCTION_WORK "/harness"));
	strings_add_all(&ret->replay, LIST(FUNCTION_WORK "/harness", "replay", timeout, "-artifact_prefix=/tmp/", limit));
	strings_add_all(&ret->merge, LIST(FUNCTION_WORK "/harness"));
	strings_add_all(&ret->minimise, LIST(FUNCTION_WORK "/harness", "minimise"));
	strings_add_all(&ret->cover, LIST("sh", FUNCTION_WORK "/rust_build.sh", "cover"));
	strings_add_all(&ret->environment,
		LIST(ret->engine ? "PATH=" FUNCTION_ENGINE "/bin:" BIN : "PATH=" BIN, "RUSTC_BOOTSTRAP=1",
			"UBSAN_OPTIONS=exitcode=77:symbolize=1:handle_abort=0",
			"ASAN_OPTIONS=detect_leaks=0:exitcode=77:symbolize=1"));
}

static int rust_plan(const struct function_target *target, const struct function_options *options, const char *text,
	size_t len, struct function_plan *ret, struct err *err)
{
	struct rust_function function;
	bool serve = options->serve && !target->harness;

	if (options->sanitizer == SANITIZER_UNDEFINED || options->sanitizer == SANITIZER_MEMORY)
		return err_set(err, ERR_USAGE,
			"Rust is built with checks of its own, and with --sanitizer address or none; there is no other");
	if (!target->harness) {
		if (!rust_find(text, len, target->function, &function))
			return err_set(err, ERR_USAGE, "%s is not in its file any more", target->name);
		char *made = rust_harness(text, len, &function, target->name, serve, err);
		if (!made)
			return -1;
		plan_file_add(ret, "made.rs", made);
	}
	if (!ret->engine)
		ret->engine = rust_toolchain();
	own(rust_place_done) struct rust_place place = {0};
	own(freep) char *registry = rust_registry();
	rust_place_find(target, &place);
	parts_of_rust(target->root, place.manifest, registry, &ret->parts);
	plan_file_add(ret, "target.sh", settings(target, options, &place, !target->harness));
	plan_file_add(ret, "expect", expected(options));
	put_file(ret, "rust_build.sh", rust_build_sh, rust_build_sh_end);
	put_file(ret, "rust_harness.rs", rust_harness_rs, rust_harness_rs_end);
	put_file(ret, "rust_arbitrary.rs", rust_arbitrary_rs, rust_arbitrary_rs_end);
	put_file(ret, "rust_document.rs", rust_document_rs, rust_document_rs_end);
	put_file(ret, "rust_derive.rs", rust_derive_rs, rust_derive_rs_end);
	put_commands(options, serve, ret);
	return 0;
}

static const struct language_need needs[] = {
	{"Rust's compiler", LIST("rustc", "--version"), "apt-get install rustc cargo, or rustup"},
	{"clang", LIST("clang", "--version"), "apt-get install clang llvm"},
	{"clang's libFuzzer",
		LIST("sh", "-c",
			"echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' >/tmp/f.c && "
			"clang -w -fsanitize=fuzzer,undefined -o /tmp/f /tmp/f.c"),
		"apt-get install libclang-rt-14-dev libfuzzer-14-dev (with the number of your clang)"},
	{0},
};

const struct language language_rust = {
	.name = "rust",
	.title = "Rust",
	.suffixes = LIST(".rs"),
	.needs = needs,
	.roots = LIST("Cargo.toml"),
	.nested = NESTED_ANY,
	.own_root = true,
	.names = rust_names,
	.path_read = rust_crate_read,
	.is_harness_file = is_harness_file,
	.takes = TAKES_EXPECT | TAKES_SANITIZER,
	.plan = rust_plan,
	.core = "faults",
};
