/* C and C++ by AFL++: the same harness, built twice. AFL++ explores with its own build, through a script that speaks for it as
 * libFuzzer does; libFuzzer's build tells what an input does, makes it smaller and is done again. */
#include <string.h>

#include "fuzz/function/lang/c/c.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SCRIPT "afl_run.sh"

extern const char afl_run[], afl_run_end[]; /* the file beside this one */

static const char *const sanitizers[] = {
	[SANITIZER_DEFAULT] = "AFL_USE_ASAN=1 AFL_USE_UBSAN=1",
	[SANITIZER_ADDRESS] = "AFL_USE_ASAN=1",
	[SANITIZER_UNDEFINED] = "AFL_USE_UBSAN=1",
	[SANITIZER_MEMORY] = "AFL_USE_MSAN=1",
	[SANITIZER_NONE] = "AFL_QUIET=1",
};

static const struct language_need needs[] = {
	{"AFL++", LIST("sh", "-c", "command -v afl-fuzz && command -v afl-clang-fast"), "apt-get install afl++"},
	{0},
};

/* The build's words for libFuzzer, by way of a shell, and the same for AFL++ behind them. */
void c_plan_afl(const struct function_options *options, bool cxx, struct function_plan *ret)
{
	static const char both[] = "project=$1 clang=$2 afl=$3 out=$4; shift 4; sh " FUNCTION_WORK "/" C_BUILD " \"$project\" \"$clang\" -o \"$out\" \"$@\" || exit; "
				   "for word; do shift; case $word in -fsanitize=*) word=-fsanitize=fuzzer ;; esac; set -- \"$@\" \"$word\"; done; "
				   "env AFL_LLVM_CMPLOG=1 AFL_QUIET=1 %s sh " FUNCTION_WORK "/" C_BUILD " \"$project\" \"$afl\" -o \"$out-afl\" \"$@\"";
	own(freep) char *script = xfmt(both, sanitizers[options->sanitizer]);
	struct strings words = ret->build;

	ret->build = (struct strings){0};
	strings_add_all(&ret->build, LIST("sh", "-c", script, "sh"));
	strings_add_all(&ret->build, LIST(words.items[2], words.items[3], cxx ? "afl-clang-fast++" : "afl-clang-fast", FUNCTION_WORK "/harness"));
	for (size_t i = 4; i < words.count; i++) {
		if (strcmp(words.items[i], "-o") == 0)
			i++;
		else
			strings_add(&ret->build, words.items[i]);
	}
	strings_done(&words);
	plan_file_add(ret, SCRIPT, xfmt("%.*s", (int)(afl_run_end - afl_run), afl_run));
	strings_done(&ret->run);
	strings_add_all(&ret->run, LIST("sh", FUNCTION_WORK "/" SCRIPT, FUNCTION_WORK "/harness-afl", FUNCTION_WORK "/harness"));
	ret->needs = needs;
	ret->goes_on = ret->replays_as_engine = true;
}
