#include "fuzz/function/lang/c/c_cover.h"

#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define DRIVER "cover_of_hotcell.c"
#define SCRIPT "cover_of_hotcell.sh"

/* Inputs one after another in a child, which writes its profile when it ends, is ended by a signal, or hangs; the next child
 * goes on behind the input that did it. Where it is, is in memory that both see. */
static const char driver[] =
	"#include <dirent.h>\n#include <signal.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <sys/mman.h>\n#include <sys/stat.h>\n#include <sys/wait.h>\n#include <time.h>\n#include <unistd.h>\n"
	"#undef main\n"
	"int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);\n"
	"__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);\n"
	"__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) { return size; }\n"
	"int __llvm_profile_write_file(void);\n"
	"void __llvm_profile_set_filename(const char *name);\n"
	"static volatile unsigned *at;\n"
	"static char name[64];\n"
	"static char **inputs;\n"
	"static unsigned count;\n"
	"static void ended(int number)\n"
	"{\n"
	"\t(void)number;\n"
	"\t__llvm_profile_write_file();\n"
	"\t_exit(1);\n"
	"}\n"
	"static void one(const char *path)\n"
	"{\n"
	"\tFILE *file = fopen(path, \"rb\");\n"
	"\tstruct stat st;\n"
	"\tif (!file)\n\t\treturn;\n"
	"\tif (fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= 1 << 20) {\n"
	"\t\tuint8_t *bytes = malloc((size_t)st.st_size + 1);\n"
	"\t\tsize_t got = bytes ? fread(bytes, 1, (size_t)st.st_size, file) : 0;\n"
	"\t\tuint8_t *exact = malloc(got ? got : 1);\n"
	"\t\tif (bytes && exact) {\n"
	"\t\t\tmemcpy(exact, bytes, got);\n"
	"\t\t\tLLVMFuzzerTestOneInput(exact, got);\n"
	"\t\t}\n"
	"\t\tfree(exact);\n\t\tfree(bytes);\n"
	"\t}\n"
	"\tfclose(file);\n"
	"}\n"
	"static void child(unsigned part, int argc, char **argv)\n"
	"{\n"
	"\tstatic const int all[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM, SIGTRAP, SIGTERM};\n"
	"\tstatic char other[1 << 16];\n"
	"\tstack_t stack = {.ss_sp = other, .ss_size = sizeof(other)};\n"
	"\tstruct sigaction action = {.sa_handler = ended, .sa_flags = SA_ONSTACK | SA_NODEFER};\n"
	"\tsnprintf(name, sizeof(name), \"" FUNCTION_WORK "/cover-%u.profraw\", part);\n"
	"\t__llvm_profile_set_filename(name);\n"
	"\tsigaltstack(&stack, NULL);\n"
	"\tfor (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)\n"
	"\t\tsigaction(all[i], &action, NULL);\n"
	"\tif (LLVMFuzzerInitialize)\n\t\tLLVMFuzzerInitialize(&argc, &argv);\n"
	"\twhile (*at < count) {\n"
	"\t\talarm(2);\n"
	"\t\tone(inputs[(*at)++]);\n"
	"\t}\n"
	"\t__llvm_profile_write_file();\n"
	"\t_exit(0);\n"
	"}\n"
	"int main(int argc, char **argv)\n"
	"{\n"
	"\ttime_t end = time(NULL) + atoi(argv[2]);\n"
	"\tDIR *dir = opendir(argv[1]);\n"
	"\tat = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n"
	"\tif (!dir || at == MAP_FAILED)\n\t\treturn 1;\n"
	"\tfor (struct dirent *each; (each = readdir(dir)) && count < 50000;) {\n"
	"\t\tif (each->d_name[0] == '.')\n\t\t\tcontinue;\n"
	"\t\tchar path[4096];\n"
	"\t\tsnprintf(path, sizeof(path), \"%s/%s\", argv[1], each->d_name);\n"
	"\t\tinputs = realloc(inputs, (count + 1) * sizeof(*inputs));\n"
	"\t\tinputs[count++] = strdup(path);\n"
	"\t}\n"
	"\tfor (unsigned part = 0; part == 0 || (*at < count && part < 200 && time(NULL) < end); part++) {\n"
	"\t\tunsigned before = *at;\n"
	"\t\tpid_t pid = fork();\n"
	"\t\tif (pid == 0)\n\t\t\tchild(part, argc, argv);\n"
	"\t\tint status;\n"
	"\t\twhile (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {\n"
	"\t\t\tif (time(NULL) > end)\n\t\t\t\tkill(pid, time(NULL) > end + 1 ? SIGKILL : SIGTERM);\n"
	"\t\t\tusleep(2000);\n"
	"\t\t}\n"
	"\t\tif (*at == before)\n\t\t\tbreak; /* not even begun */\n"
	"\t}\n"
	"\t_exit(0); /* this process has reached nothing */\n"
	"}\n";

/* The tools of the very clang that is used: profiles of another version cannot be read. */
static const char script_head[] =
	"set -e\n"
	"cd " FUNCTION_WORK "\n"
	"PATH=$(dirname \"$(readlink -f \"$(command -v clang)\")\"):$PATH\n"
	"command -v llvm-profdata >/dev/null && command -v llvm-cov >/dev/null || {\n"
	"\techo 'llvm-profdata and llvm-cov are not there; to install them: apt-get install llvm' >&2\n"
	"\texit 1\n"
	"}\n"
	"clang -O1 -w -c -o cover_driver.o " DRIVER "\n";
static const char script_tail[] =
	"llvm-profdata merge -sparse -o cover.profdata cover-*.profraw\n"
	"llvm-cov export -format=lcov -instr-profile=cover.profdata cover_harness \\\n"
	"\t-ignore-filename-regex='^" FUNCTION_WORK "/' >cover.info\n"
	/* names as people write them */
	"llvm-cxxfilt <cover.info >coverage.info 2>/dev/null || mv cover.info coverage.info\n";

static void put_quoted(struct buf *out, const char *word)
{
	buf_str(out, " '");
	for (; *word; word++) {
		if (*word == '\'')
			buf_str(out, "'\\''");
		else
			buf_char(out, *word);
	}
	buf_char(out, '\'');
}

void c_cover_plan(struct function_plan *plan, const struct function_options *options)
{
	struct buf script = {0};
	unsigned seconds = cover_seconds(options);

	buf_str(&script, script_head);
	buf_str(&script, "(cd " FUNCTION_ROOT " &&"); /* as in the other build */
	for (size_t i = 0; i < plan->build.count; i++) {
		const char *word = plan->build.items[i];
		if (strcmp(word, "-o") == 0)
			i++; /* and its name */
		else if (strncmp(word, "-fsanitize", 10) != 0 && strncmp(word, "-fno-sanitize", 13) != 0)
			put_quoted(&script, word);
	}
	buf_str(&script, " -fprofile-instr-generate -fcoverage-mapping " FUNCTION_WORK "/cover_driver.o -o " FUNCTION_WORK "/cover_harness");
	for (const char *const *flag = options->build_flags; flag && *flag; flag++)
		put_quoted(&script, *flag);
	buf_str(&script, ")\n");
	buf_fmt(&script, "./cover_harness \"$1\" %u\n", seconds / 2);
	buf_str(&script, script_tail);
	plan_file_add(plan, DRIVER, xstrdup(driver));
	plan_file_add(plan, SCRIPT, buf_take(&script));
	strings_add_all(&plan->cover, LIST("sh", FUNCTION_WORK "/" SCRIPT));
}
