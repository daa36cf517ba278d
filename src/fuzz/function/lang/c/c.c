/* C and C++, by clang's libFuzzer. The harness includes the target's file, so that functions that nobody else sees can be
 * called, and makes arguments by the text of its declaration. Every buffer is one of its own, exactly as long as it is told
 * to be: a sanitizer sees the first byte beyond it. */
#include "fuzz/function/lang/c/c.h"
#include "fuzz/function/lang/c/c_cover.h"
#include "fuzz/function/lang/c/c_text.h"

#include <ctype.h>
#include <string.h>

#include "base/term.h"

extern const char c_watch[], c_watch_end[], c_build[], c_build_end[]; /* the files beside this one */

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HARNESS_NAME "LLVMFuzzerTestOneInput"
#define PARAMS_MAX 16

/* ---- names ---- */

struct naming {
	void (*name)(void *, const char *, size_t, bool);
	void *data;
};

static void give_name(void *data, const struct c_function *function)
{
	const struct naming *naming = data;
	const char *last = c_last_part(function->name);
	bool harness = strcmp(last, HARNESS_NAME) == 0;
	const char *name = harness ? last : function->name; /* libFuzzer calls it, in whatever namespace it is */

	if (!function->member && strcmp(last, "main") != 0)
		naming->name(naming->data, name, strlen(name), harness);
}

static void c_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	struct naming naming = {name, data};

	c_functions(text, len, give_name, &naming);
}

/* ---- parameters ---- */

enum param_kind { PARAM_BYTES, PARAM_TEXT, PARAM_STRING, PARAM_NUMBER, PARAM_BAD };

struct param {
	struct c_span text;
	enum param_kind kind;
	char type[64]; /* without its name and qualifiers: "unsigned char" */
	unsigned stars;
};

static const char *const numbers[] = {"char", "short", "int", "long", "unsigned", "signed", "float", "double", "size_t",
	"ssize_t", "bool", "_Bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t",
	"intptr_t", "uintptr_t", "ptrdiff_t", "off_t", "time_t", "wchar_t", "char16_t", "char32_t", NULL};
static const char *const left_out[] = {"const", "volatile", "restrict", "__restrict", "register", "struct", "static", NULL};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool in_list(struct c_span word, const char *const *list)
{
	for (; *list; list++)
		if (c_span_is(word, *list))
			return true;
	return false;
}

/* Words of the type that are those of numbers; the last other word is the parameter's name. */
static void param_read(struct param *param)
{
	const char *at = param->text.at, *end = at + param->text.len;
	size_t used = 0;
	bool named = false;

	param->type[0] = '\0';
	while (at < end) {
		if (!in_name(*at) && *at != ':') {
			param->stars += *at == '*' || *at == '[';
			param->kind = *at == '(' || *at == '<' || *at == '.' ? PARAM_BAD : param->kind;
			at++;
			continue;
		}
		struct c_span word = {at, 0};
		while (at < end && (in_name(*at) || *at == ':'))
			at++;
		word.len = (size_t)(at - word.at);
		if (in_list(word, left_out))
			continue;
		bool type = used == 0 || (!param->stars && in_list(word, numbers));
		if (!type && !named) {
			named = true;
			continue;
		}
		if (!type || used + word.len + 2 > sizeof(param->type)) {
			param->kind = PARAM_BAD;
			return;
		}
		if (used)
			param->type[used++] = ' ';
		memcpy(param->type + used, word.at, word.len);
		used += word.len;
		param->type[used] = '\0';
	}
}

static bool is_number(const struct param *param)
{
	struct c_span first = {param->type, strcspn(param->type, " ")};

	return param->kind != PARAM_BAD && param->stars == 0 && in_list(first, numbers);
}

static bool is_octets(const struct param *param)
{
	static const char *const types[] = {"uint8_t", "int8_t", "char", "unsigned char", "signed char", "void", NULL};

	return param->kind != PARAM_BAD && param->stars == 1 && in_list((struct c_span){param->type, strlen(param->type)}, types);
}

static bool is_string(const struct param *param)
{
	static const char *const types[] = {"std::string", "string", "std::string_view", "string_view", NULL};

	return param->kind != PARAM_BAD && param->stars == 0 && in_list((struct c_span){param->type, strlen(param->type)}, types);
}

/* What says how long it is: an integer that is called so, or that could be nothing else. */
static bool is_length(const struct param *param, bool bytes)
{
	static const char *const names[] = {"len", "length", "size", "n", "count", "sz", "nbytes", "num", NULL};
	const char *end = param->text.at + param->text.len, *at = end;

	if (!is_number(param) || strstr(param->type, "float") || strstr(param->type, "double") || strcmp(param->type, "bool") == 0)
		return false;
	if (bytes || strcmp(param->type, "size_t") == 0)
		return true;
	while (at > param->text.at && in_name(at[-1]))
		at--;
	struct c_span word = {at, (size_t)(end - at)};
	const char *under = memrchr(word.at, '_', word.len);
	struct c_span last = under ? (struct c_span){under + 1, (size_t)(end - under) - 1} : word;
	return in_list(word, names) || in_list(last, names);
}

static size_t params_split(struct c_span text, struct param *ret)
{
	const char *at = text.at, *end = at + text.len;
	size_t count = 0;
	unsigned depth = 0;

	for (const char *from = at;; at++) {
		if (at < end) {
			depth += *at == '(' || *at == '<';
			depth -= (*at == ')' || *at == '>') && depth;
		}
		if (at < end && (*at != ',' || depth))
			continue;
		const char *given = memchr(from, '=', (size_t)(at - from)); /* in C++, where nothing is */
		struct c_span one = {from, (size_t)((given ? given : at) - from)};
		while (one.len && isspace((unsigned char)*one.at))
			one.at++, one.len--;
		while (one.len && isspace((unsigned char)one.at[one.len - 1]))
			one.len--;
		if (count == PARAMS_MAX)
			return PARAMS_MAX + 1;
		if (one.len)
			ret[count++] = (struct param){.text = one, .kind = PARAM_NUMBER};
		from = at + 1;
		if (at >= end)
			break;
	}
	return count == 1 && c_span_is(ret[0].text, "void") ? 0 : count;
}

/* ---- the harness ---- */

/* The target comes first, as if it were built alone: what it defines before its own headers counts. So nothing here needs a
 * header of its own, or a name that the target may have given another meaning. C++ has no such switches that it does not set. */
static const char harness_head[] =
	"/* Made by hotcell: bytes become arguments. Numbers are taken from the end, texts from the beginning. */\n"
	"#include <stddef.h>\n" /* the compiler's own: it asks for nothing else */
	"#define main hotcell_main_of_the_target\n";
static const char harness_head_cxx[] = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include <string>\n";
static const char harness_tools[] =
	"#undef main\n"
	"struct hotcell_data { const unsigned char *hotcell_at; __SIZE_TYPE__ hotcell_left; };\n"
	"__attribute__((unused)) static void hotcell_number(struct hotcell_data *hotcell_data, void *hotcell_out, __SIZE_TYPE__ hotcell_size)\n"
	"{\n"
	"\tunsigned char hotcell_bytes[16] = {0};\n"
	"\t__SIZE_TYPE__ hotcell_taken = hotcell_size < hotcell_data->hotcell_left ? hotcell_size : hotcell_data->hotcell_left;\n"
	"\thotcell_data->hotcell_left -= hotcell_taken;\n"
	"\t__builtin_memcpy(hotcell_bytes, hotcell_data->hotcell_at + hotcell_data->hotcell_left, hotcell_taken);\n"
	"\t__builtin_memcpy(hotcell_out, hotcell_bytes, hotcell_size);\n"
	"}\n"
	"__attribute__((unused)) static __SIZE_TYPE__ hotcell_part(struct hotcell_data *hotcell_data, int hotcell_last)\n"
	"{\n"
	"\tunsigned char hotcell_share = 0;\n"
	"\tif (hotcell_last)\n\t\treturn hotcell_data->hotcell_left;\n"
	"\thotcell_number(hotcell_data, &hotcell_share, 1);\n"
	"\treturn hotcell_share < hotcell_data->hotcell_left ? hotcell_share : hotcell_data->hotcell_left;\n"
	"}\n"
	"__attribute__((unused)) static char *hotcell_bytes(struct hotcell_data *hotcell_data, __SIZE_TYPE__ hotcell_len, int hotcell_text)\n"
	"{\n"
	"\t__SIZE_TYPE__ hotcell_room = hotcell_len + (hotcell_text ? 1 : 0);\n"
	"\tchar *hotcell_bytes = (char *)__builtin_malloc(hotcell_room ? hotcell_room : 1);\n"
	"\tif (!hotcell_bytes)\n\t\treturn hotcell_bytes;\n"
	"\tif (hotcell_len)\n\t\t__builtin_memcpy(hotcell_bytes, hotcell_data->hotcell_at, hotcell_len);\n"
	"\tif (hotcell_text)\n\t\thotcell_bytes[hotcell_len] = 0;\n"
	"\thotcell_data->hotcell_at += hotcell_len;\n\thotcell_data->hotcell_left -= hotcell_len;\n"
	"\treturn hotcell_bytes;\n"
	"}\n";

/* Not taken for what returns nothing. */
static const char harness_tools_cxx[] =
	"struct hotcell_result {};\n"
	"template <class hotcell_type> void operator,(hotcell_type &&hotcell_value, hotcell_result)\n"
	"{\n"
	"\t__asm__ volatile(\"\" : : \"r\"(&reinterpret_cast<const volatile char &>(hotcell_value)) : \"memory\");\n"
	"}\n";

struct harness {
	const struct function_target *target;
	const char *const *expect; /* types of C++ that it may throw */
	struct buf make, parts, call, drop; /* numbers first: they come from the other end than parts */
	struct err *err;
	bool cxx, found, bad;
};

static int param_bad(struct harness *harness, const struct param *param, size_t place)
{
	own(buf_done) struct buf shown = {0};

	harness->bad = true;
	term_line(param->text.at, param->text.len, 80, &shown);
	return err_set(harness->err, ERR_USAGE,
		"%s: its parameter %zu, '%s', cannot be made from bytes; write a harness with " HARNESS_NAME,
		harness->target->name, place + 1, buf_text(&shown));
}

/* Of its own, and as long as it is told to be; a text has an end behind that. */
static void put_buffer(struct harness *harness, size_t place, bool last, bool text)
{
	buf_fmt(&harness->parts,
		"\t__SIZE_TYPE__ hotcell_n%1$zu = hotcell_part(&hotcell_data, %2$d);\n"
		"\tchar *hotcell_p%1$zu = hotcell_bytes(&hotcell_data, hotcell_n%1$zu, %3$d);\n"
		"\tif (!hotcell_p%1$zu)\n\t\treturn 0;\n",
		place, last, text);
	buf_fmt(&harness->drop, "\t__builtin_free(hotcell_p%zu);\n", place);
}

static bool is_text(const struct param *param)
{
	return strcmp(param->type, "char") == 0;
}

/* Bytes have their length behind them, or before them: (int len, const unsigned char *bytes). A text has its end. */
static bool is_length_before(const struct param *params, size_t count, size_t place)
{
	const struct param *bytes = &params[place + 1];

	return place + 1 < count && is_length(&params[place], true) && is_octets(bytes) && !is_text(bytes) &&
		!(place + 2 < count && is_length(&params[place + 2], true));
}

static int param_put(struct harness *harness, const struct param *params, size_t count, size_t place, bool last)
{
	const struct param *param = &params[place];

	if (is_length_before(params, count, place)) {
		put_buffer(harness, place, last, false);
		buf_fmt(&harness->call, "%s(%s)hotcell_n%zu", place ? ", " : "", param->type, place);
		buf_fmt(&harness->call, ", (%s *)hotcell_p%zu", params[place + 1].type, place);
		return 1;
	}
	if (is_octets(param)) {
		bool bytes = !is_text(param);
		bool pair = place + 1 < count && is_length(&params[place + 1], bytes);
		if (bytes && !pair)
			return param_bad(harness, param, place);
		put_buffer(harness, place, last, !pair);
		/* what is const is given as it is; C++ wants the very type of a pointer */
		buf_fmt(&harness->call, "%s(%s *)hotcell_p%zu", place ? ", " : "", param->type, place);
		if (pair)
			buf_fmt(&harness->call, ", (%s)hotcell_n%zu", params[place + 1].type, place);
		return pair;
	}
	if (harness->cxx && is_string(param)) {
		buf_fmt(&harness->parts,
			"\tsize_t hotcell_n%1$zu = hotcell_part(&hotcell_data, %2$d);\n"
			"\tstd::string hotcell_p%1$zu((const char *)hotcell_data.hotcell_at, hotcell_n%1$zu);\n"
			"\thotcell_data.hotcell_at += hotcell_n%1$zu;\n\thotcell_data.hotcell_left -= hotcell_n%1$zu;\n",
			place, last);
		buf_fmt(&harness->call, "%shotcell_p%zu", place ? ", " : "", place);
		return 0;
	}
	if (!is_number(param))
		return param_bad(harness, param, place);
	if (strcmp(param->type, "bool") == 0 || strcmp(param->type, "_Bool") == 0) /* any other byte is none */
		buf_fmt(&harness->make,
			"\tunsigned char hotcell_p%1$zu = 0;\n\thotcell_number(&hotcell_data, &hotcell_p%1$zu, 1);\n\thotcell_p%1$zu &= 1;\n",
			place);
	else
		buf_fmt(&harness->make,
			"\t%2$s hotcell_p%1$zu;\n\thotcell_number(&hotcell_data, &hotcell_p%1$zu, sizeof(hotcell_p%1$zu));\n", place,
			param->type);
	buf_fmt(&harness->call, "%shotcell_p%zu", place ? ", " : "", place);
	return 0;
}

static size_t last_buffer(const struct param *params, size_t count)
{
	size_t last = count;

	for (size_t i = 0; i < count; i++)
		if (is_octets(&params[i]) || is_string(&params[i]))
			last = i;
	return last;
}

static void harness_function(void *data, const struct c_function *function)
{
	struct harness *harness = data;
	struct param params[PARAMS_MAX];

	if (harness->found || function->member || strcmp(function->name, harness->target->function) != 0)
		return;
	harness->found = true;
	size_t count = params_split(function->params, params);
	if (count == 0 || count > PARAMS_MAX) {
		harness->bad = true;
		(void)err_set(harness->err, ERR_USAGE, "%s takes %s", harness->target->name,
			count ? "more parameters than can be made" : "nothing, so there is nothing to fuzz");
		return;
	}
	for (size_t i = 0; i < count; i++)
		param_read(&params[i]);
	size_t last = last_buffer(params, count);
	for (size_t i = 0; i < count; i++) {
		int more = param_put(harness, params, count, i, i == last || (i + 1 == last && is_length_before(params, count, i)));
		if (more < 0)
			return;
		i += (size_t)more;
	}
}

static char *harness_text(struct harness *harness, const char *text, size_t len)
{
	struct buf out = {0};
	const char *const *expect = harness->cxx && harness->expect && *harness->expect ? harness->expect : NULL;

	c_functions(text, len, harness_function, harness);
	if (harness->bad)
		return NULL;
	if (harness->cxx)
		buf_str(&out, harness_head_cxx);
	buf_str(&out, harness_head);
	buf_fmt(&out, "#include \"" FUNCTION_ROOT "/%s\"\n", harness->target->file);
	buf_str(&out, harness_tools);
	if (harness->cxx)
		buf_str(&out, harness_tools_cxx);
	buf_fmt(&out,
		"%sint " HARNESS_NAME
		"(const unsigned char *hotcell_input, __SIZE_TYPE__ hotcell_size)\n{\n"
		"\tstruct hotcell_data hotcell_data = {hotcell_input, hotcell_size};\n%s%s",
		harness->cxx ? "extern \"C\" " : "", buf_text(&harness->make), buf_text(&harness->parts));
	if (expect)
		buf_str(&out, "\ttry {\n");
	/* what it returns must be made: of a call whose result nobody has, the compiler leaves out what only reads */
	buf_fmt(&out,
		harness->cxx ? "\t%s(%s), hotcell_result();\n"
			     : "\t__typeof__(%1$s) *volatile hotcell_call = %1$s;\n\t(void)hotcell_call(%2$s);\n",
		harness->target->function, buf_text(&harness->call));
	if (expect)
		buf_str(&out, "\t}\n");
	for (; expect && *expect; expect++)
		buf_fmt(&out, "\tcatch (const %s &) {\n\t}\n", *expect);
	buf_fmt(&out, "%s\treturn 0;\n}\n", buf_text(&harness->drop));
	return buf_take(&out);
}

/* ---- the plan ---- */

static const char *const sanitizers[] = {
	[SANITIZER_DEFAULT] = "-fsanitize=fuzzer,address,undefined",
	[SANITIZER_ADDRESS] = "-fsanitize=fuzzer,address",
	[SANITIZER_UNDEFINED] = "-fsanitize=fuzzer,undefined",
	[SANITIZER_MEMORY] = "-fsanitize=fuzzer,memory",
	[SANITIZER_NONE] = "-fsanitize=fuzzer",
};

static const char *const served_by[] = {
	[SANITIZER_DEFAULT] = "-fsanitize=address,undefined",
	[SANITIZER_ADDRESS] = "-fsanitize=address",
	[SANITIZER_UNDEFINED] = "-fsanitize=undefined",
	[SANITIZER_MEMORY] = "-fsanitize=memory",
	[SANITIZER_NONE] = "-g",
};

/* Calls the harness with each line of stdin: a document is its bytes. */
static const char serve_text[] =
	"#include <fcntl.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
	"#ifdef __cplusplus\nextern \"C\"\n#endif\n"
	"int " HARNESS_NAME "(const uint8_t *bytes, size_t size);\n"
	"int main(void)\n{\n"
	"\tint answers = dup(1), null = open(\"/dev/null\", O_WRONLY);\n"
	"\tchar *line = NULL;\n\tsize_t room = 0;\n\tssize_t len;\n"
	"\tif (answers < 0 || null < 0 || dup2(null, 1) < 0)\n\t\treturn 3;\n"
	"\twhile ((len = getline(&line, &room, stdin)) > 0) {\n"
	"\t\tlen -= line[len - 1] == '\\n';\n"
	"\t\t(void)" HARNESS_NAME "((const uint8_t *)line, (size_t)len);\n"
	"\t\tif (write(answers, \"{}\\n\", 3) != 3)\n\t\t\treturn 3;\n"
	"\t}\n\treturn 0;\n}\n";

static void put_build(const struct function_target *target, const struct function_options *options, bool cxx, const char *source,
	struct function_plan *ret)
{
	const char *slash = strrchr(target->file, '/');
	own(freep) char *folder = xfmt("-I" FUNCTION_ROOT "/%.*s", slash ? (int)(slash - target->file) : 0, target->file);

	plan_file_add(ret, C_BUILD, xfmt("%.*s", (int)(c_build_end - c_build), c_build));
	strings_add_all(&ret->build,
		LIST("sh", FUNCTION_WORK "/" C_BUILD, target->alone ? "" : FUNCTION_ROOT, cxx ? "clang++" : "clang", "-g", "-O1",
			"-fno-omit-frame-pointer", "-Wno-everything", options->serve ? served_by[options->sanitizer] : sanitizers[options->sanitizer],
			"-fno-sanitize-recover=undefined", folder, "-I" FUNCTION_ROOT "/include", "-I" FUNCTION_ROOT, "-o",
			FUNCTION_WORK "/harness", source, "-lm", "-lpthread"));
	if (cxx) /* as others' compilers have it by themselves; that of clang 14 is older */
		strings_add(&ret->build, "-std=gnu++17");
	else /* it would return an int, whatever it returns: pointers lose their upper half */
		strings_add(&ret->build, "-Werror=implicit-function-declaration");
}

/* Not where coverage is measured, nor for AFL++, which divide processes themselves. */
static void put_watch(bool cxx, struct function_plan *ret)
{
	const char *name = cxx ? "watch_of_hotcell.cc" : "watch_of_hotcell.c";
	own(freep) char *path = xfmt(FUNCTION_WORK "/%s", name);

	plan_file_add(ret, name, xfmt("%.*s", (int)(c_watch_end - c_watch), c_watch));
	strings_add(&ret->build, "-Wl,--wrap=" HARNESS_NAME);
	strings_add(&ret->build, path);
}

static int plan_any(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	bool cxx, struct function_plan *ret, struct err *err)
{
	const char *name = cxx ? "harness_of_hotcell.cc" : "harness_of_hotcell.c";
	own(freep) char *source = target->harness ? xfmt(FUNCTION_ROOT "/%s", target->file) : xfmt(FUNCTION_WORK "/%s", name);

	if (!target->harness && strpbrk(target->file, "\"\n"))
		return err_set(err, ERR_USAGE, "%s: its file's name has a quotation mark or a newline in it, and cannot be included; rename it",
			target->name);
	if (!target->harness) {
		struct harness harness = {.target = target, .expect = options->expect, .err = err, .cxx = cxx};
		char *made = harness_text(&harness, text, len);
		buf_done(&harness.make);
		buf_done(&harness.parts);
		buf_done(&harness.call);
		buf_done(&harness.drop);
		if (!made)
			return -1;
		plan_file_add(ret, name, made);
	}
	put_build(target, options, cxx, source, ret);
	if (options->serve) {
		const char *more = cxx ? "serve_of_hotcell.cc" : "serve_of_hotcell.c";
		own(freep) char *path = xfmt(FUNCTION_WORK "/%s", more);
		plan_file_add(ret, more, xstrdup(serve_text));
		strings_add(&ret->build, path);
		strings_add(&ret->serve, FUNCTION_WORK "/harness");
	}
	strings_add(&ret->run, FUNCTION_WORK "/harness");
	strings_add(&ret->replay, FUNCTION_WORK "/harness");
	strings_add_all(&ret->environment,
		LIST("ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:allocator_may_return_null=1:symbolize=1",
			"UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:symbolize=1", "MSAN_OPTIONS=symbolize=1",
			"PATH=/usr/local/bin:/usr/bin:/bin:/usr/lib/llvm-19/bin:/usr/lib/llvm-16/bin:/usr/lib/llvm-14/bin"));
	c_cover_plan(ret, options);
	ret->memory = (uint64_t)2 << 30;
	ret->deepest = (size_t)512 << 10; /* a frame may take no more than some ten bytes of 8 MB */
	ret->build_proves = true;
	bool afl = options->afl && !options->serve;
	if (!afl && !options->serve)
		put_watch(cxx, ret);
	if (options->build_flags) /* last: one that lacks its own word must not take ours */
		strings_add_all(&ret->build, options->build_flags);
	if (afl)
		c_plan_afl(options, cxx, ret);
	return 0;
}

static int c_plan(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	struct function_plan *ret, struct err *err)
{
	return plan_any(target, options, text, len, false, ret, err);
}

static int cxx_plan(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	struct function_plan *ret, struct err *err)
{
	return plan_any(target, options, text, len, true, ret, err);
}

static const struct language_need needs[] = {
	{"clang", LIST("clang", "--version"), "apt-get install clang llvm"},
	{"clang's libFuzzer", LIST("sh", "-c",
		"echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' >/tmp/f.c && "
		"clang -w -fsanitize=fuzzer,address -o /tmp/f /tmp/f.c"),
		"apt-get install libclang-rt-14-dev libfuzzer-14-dev (with the number of your clang)"},
	{0},
};
#define ROOTS LIST("configure.ac", "CMakeLists.txt", "meson.build", "Makefile")

const struct language language_c = {
	.name = "c",
	.title = "C",
	.suffixes = LIST(".c"),
	.needs = needs,
	.roots = ROOTS,
	.nested = NESTED_CLOSE,
	.names = c_names,
	.is_harness_file = path_is_harness,
	.takes = TAKES_SANITIZER | TAKES_AFL | TAKES_BUILD_FLAGS,
	.plan = c_plan,
	.core = "faults",
};

const struct language language_cxx = {
	.name = "c++",
	.title = "C++",
	.suffixes = LIST(".cc", ".cpp", ".cxx"),
	.needs = needs,
	.roots = ROOTS,
	.nested = NESTED_CLOSE,
	.names = c_names,
	.name_fits = c_name_fits,
	.is_member = c_is_member,
	.is_harness_file = path_is_harness,
	.takes = TAKES_SANITIZER | TAKES_AFL | TAKES_BUILD_FLAGS | TAKES_EXPECT_MADE,
	.plan = cxx_plan,
	.core = "faults",
};
