/* Java, by Jazzer. What a method is called with is decided by java_harness.java, in the cell, where its parameters can be asked
 * for. Jazzer unpacks a library and a script into /tmp and runs them there, so programs may be run from it. */
#include "fuzz/function/lang/language.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HARNESS "harness_of_hotcell" /* no target's class is called so */
#define SERVE "serve_of_hotcell"
#define ENTRY "fuzzerTestOneInput"
#define MEMORY ((uint64_t)2 << 30)
#define HEAP_LEAST 64u /* MB */
#define VERSION "0.30.0"

extern const char java_harness[], java_harness_end[], java_serve[], java_serve_end[]; /* the files beside this one */

/* ---- names in a text ---- */

struct token {
	const char *at;
	size_t len;
	char kind; /* 'w': a word; '"': a text; 0: the end; else the character */
};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Behind a text, which ends with its line if nothing else ends it; blocks of text have three quotes. */
static const char *text_end(const char *at, const char *end)
{
	char quote = *at;

	if (end - at >= 3 && memcmp(at, "\"\"\"", 3) == 0) {
		const char *close = memmem(at + 3, (size_t)(end - at - 3), "\"\"\"", 3);
		return close ? close + 3 : end;
	}
	for (at++; at < end && *at != quote && *at != '\n';)
		at += *at == '\\' && end - at > 1 ? 2 : 1;
	return at < end ? at + 1 : end;
}

static const char *blank_end(const char *at, const char *end)
{
	while (at < end) {
		if (isspace((unsigned char)*at)) {
			at++;
		} else if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
			const char *stop = memchr(at, '\n', (size_t)(end - at));
			at = stop ? stop : end;
		} else if (end - at >= 2 && at[0] == '/' && at[1] == '*') {
			const char *stop = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
			at = stop ? stop + 2 : end;
		} else {
			break;
		}
	}
	return at;
}

static struct token token_next(const char **at, const char *end)
{
	struct token token = {.at = blank_end(*at, end)};
	const char *stop = token.at;

	if (stop == end) {
		*at = end;
		return token;
	}
	token.kind = in_name(*stop) ? 'w' : *stop == '\'' ? '"' : *stop;
	if (token.kind == 'w')
		while (stop < end && in_name(*stop))
			stop++;
	else
		stop = token.kind == '"' ? text_end(stop, end) : stop + 1;
	token.len = (size_t)(stop - token.at);
	*at = stop;
	return token;
}

static bool is_word(struct token token, const char *word)
{
	return token.kind == 'w' && token.len == strlen(word) && memcmp(token.at, word, token.len) == 0;
}

/* Behind a bracket that is open: whether a body follows. *at is moved behind the bracket that closes it. */
static bool body_follows(const char **at, const char *end)
{
	unsigned depth = 1;

	while (depth) {
		struct token token = token_next(at, end);
		if (!token.kind)
			return false;
		depth += token.kind == '(';
		depth -= token.kind == ')';
	}
	const char *ahead = *at;
	struct token next = token_next(&ahead, end);
	return next.kind == '{' || is_word(next, "throws");
}

struct declared {
	bool is_public, is_static, value; /* since it began; value: what follows is no declaration */
	struct token word; /* the last */
};

static void declared_word(struct declared *now, struct token token)
{
	now->is_public = now->is_public || is_word(token, "public");
	now->is_static = now->is_static || is_word(token, "static");
	now->word = token;
}

/* Public static methods of the public class, and the method of a harness in any. */
static void java_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	const char *at = text, *end = text + len;
	struct declared now = {0};
	bool public_class = false;
	size_t depth = 0;

	for (struct token token; (token = token_next(&at, end)).kind;) {
		if (token.kind == 'w') {
			declared_word(&now, token);
		} else if (token.kind == '{' || token.kind == '}' || token.kind == ';') {
			if (token.kind == '{' && depth == 0)
				public_class = now.is_public;
			depth += token.kind == '{';
			depth -= token.kind == '}' && depth;
			now = (struct declared){0};
		} else if (token.kind == '=') {
			now.value = true;
		} else if (token.kind == '(') {
			struct declared method = now;
			if (!body_follows(&at, end) || depth != 1 || !method.is_public || !method.is_static || method.value ||
				!method.word.len)
				continue;
			bool harness = is_word(method.word, ENTRY);
			if (harness || public_class)
				name(data, method.word.at, method.word.len, harness);
		}
	}
}

static bool is_harness_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash + 1 : path, "Fuzz") || path_is_harness(path);
}

/* "com.example", which the caller frees; empty: there is none. */
static char *package_of(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	struct buf name = {0};

	for (struct token token; (token = token_next(&at, end)).kind && token.kind != '{';) {
		if (!is_word(token, "package"))
			continue;
		while ((token = token_next(&at, end)).kind == 'w' || token.kind == '.')
			buf_add(&name, token.at, token.len);
		break;
	}
	return name.len ? buf_take(&name) : xstrdup("");
}

/* ---- the plan ---- */

/* Where its package begins: the folder of the file without the package's. */
static char *source_folder(const char *file, const char *package)
{
	const char *slash = strrchr(file, '/');
	own(freep) char *folder = xfmt("/%.*s", slash ? (int)(slash - file) : 0, file), *tail = xfmt("/%s", package);
	size_t len = strlen(folder), end = strlen(tail);

	for (char *c = tail; *c; c++)
		*c = *c == '.' ? '/' : *c;
	if (*package && len >= end && strcmp(folder + len - end, tail) == 0)
		folder[len - end] = '\0';
	return xfmt(FUNCTION_ROOT "%s", folder);
}

static char *class_of(const struct function_target *target, const char *package, struct err *err)
{
	const char *slash = strrchr(target->file, '/'), *name = slash ? slash + 1 : target->file;
	size_t len = strcspn(name, ".");

	for (size_t i = 0; i < len; i++)
		if (!in_name(name[i])) {
			(void)err_set(err, ERR_USAGE, "%s: a class is called as its file is, and that is no name of one", target->name);
			return NULL;
		}
	return xfmt("%s%s%.*s", package, *package ? "." : "", (int)len, name);
}

static char *java_config(const struct function_target *target, const struct function_options *options, const char *class)
{
	struct buf text = {0};

	buf_fmt(&text, "class=%s\nfunction=%s\n%sexpect=", class, target->function, target->harness ? "harness=1\n" : "");
	for (const char *const *each = options->expect; each && *each; each++) {
		size_t len = 0;
		while (in_name((*each)[len]) || (*each)[len] == '.')
			len++;
		if (!(*each)[len])
			buf_fmt(&text, "%s%s", each == options->expect ? "" : ",", *each);
	}
	buf_str(&text, "\n");
	return buf_take(&text);
}

/* Half of the cell's memory is the heap: Jazzer takes 300 MB beside it, and too much is then an error with an input. */
static char *heap_flag(const struct function_options *options)
{
	uint64_t memory = options->spec ? options->spec->limits.memory : 0, half;

	memory = options->memory_fixed || memory > MEMORY ? memory : MEMORY;
	half = memory >> 21;
	return xfmt("-Xmx%llum", (unsigned long long)(half > HEAP_LEAST ? half : HEAP_LEAST));
}

#define CLASSES FUNCTION_WORK "/classes"
/* What is built, Jazzer, and where projects have their libraries and classes. */
static const char class_path[] = CLASSES ":" FUNCTION_ENGINE "/*:" FUNCTION_ROOT "/lib/*:" FUNCTION_ROOT "/libs/*:" FUNCTION_ROOT
	"/target/classes:" FUNCTION_ROOT "/target/dependency/*:" FUNCTION_ROOT "/build/classes/java/main";

static const char build_script[] =
	"mkdir -p " CLASSES " && javac -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 -g -parameters -nowarn -proc:none -encoding UTF-8 "
	"-d " CLASSES " -cp \"$1\" -sourcepath \"$2\" " FUNCTION_WORK "/*_of_hotcell.java \"$3\" && "
	"exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp \"$1\" \"$4\" check";

/* One thread collects: there may be a core for each worker, and no more. The better compiler pays after a minute. */
#define SCRIPT "heap=$0; export CLASSPATH=\"$1\"; shift; "
#define JAVA "java \"$heap\" -ea -XX:+UseSerialGC -XX:-UsePerfData -XX:+EnableDynamicAgentLoading -Djdk.attach.allowAttachSelf=true "
#define QUICK "-XX:TieredStopAtLevel=1 "
#define JAZZER \
	"com.code_intelligence.jazzer.Jazzer --target_class=" HARNESS " --reproducer_path=/tmp '--instrumentation_excludes=" HARNESS "**' "
#define REST "\"$@\""
#define QUICK_NS (60 * NS_PER_S)

static const char run_script[] = SCRIPT "exec " JAVA "-Dhotcell.goes_on=1 " JAZZER REST;
static const char quick_script[] = SCRIPT "exec " JAVA QUICK "-Dhotcell.goes_on=1 " JAZZER REST;
static const char merge_script[] = SCRIPT "exec " JAVA QUICK JAZZER REST;
static const char smaller_script[] = SCRIPT "exec " JAVA QUICK HARNESS " minimise " REST;
/* To watch costs Jazzer seconds when it begins: what fails without that is not tried with it. */
static const char replay_script[] =
	SCRIPT JAVA QUICK "-Dhotcell.plain=1 " JAZZER "--hooks=false " REST " || exit $?; exec " JAVA QUICK JAZZER REST;
/* A small heap at first: one that is filled for the first time looks like one that grows with the calls. What the target prints
 * is for nobody, and documents are not for it to read. */
static const char serve_script[] = SCRIPT
	"exec " JAVA QUICK "-Xms32m --add-opens java.base/java.io=ALL-UNNAMED " SERVE " 3>&1 4<&0 >/dev/null </dev/null";

static void put_words(struct strings *words, const char *heap, const char *script)
{
	strings_add_all(words, LIST("sh", "-c", script, heap, class_path));
}

static const struct language_need needs[] = {
	{"a JDK", LIST("javac", "-version"), "apt-get install default-jdk-headless"},
	{0},
};

/* Beside it; not where a method is called with documents. */
static const struct language_need engine_needs[] = {
	{"Jazzer", LIST("sh", "-c", "ls " FUNCTION_ENGINE "/jazzer-[0-9]*.jar " FUNCTION_ENGINE "/jazzer-api-*.jar"),
		"for each in jazzer jazzer-api; do mvn -q dependency:copy -Dartifact=com.code-intelligence:$each:" VERSION
		" -DoutputDirectory=$HOME/.local/share/hotcell/engines/java; done, or --engine java=DIR"},
	{0},
};

static int java_plan(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	struct function_plan *ret, struct err *err)
{
	own(freep) char *package = package_of(text, len), *source = source_folder(target->file, package);
	own(freep) char *class = class_of(target, package, err), *heap = heap_flag(options);
	own(freep) char *sources = xfmt("%s:" FUNCTION_ROOT "/src/main/java:" FUNCTION_ROOT "/src:" FUNCTION_ROOT, source);
	own(freep) char *file = xfmt(FUNCTION_ROOT "/%s", target->file);
	bool quick = options->duration_ns && options->duration_ns <= QUICK_NS;

	bool serve = options->serve && !target->harness;

	if (!class)
		return -1;
	plan_file_add(ret, HARNESS ".java", xfmt("%.*s", (int)(java_harness_end - java_harness), java_harness));
	plan_file_add(ret, "target.properties", java_config(target, options, class));
	if (serve)
		plan_file_add(ret, SERVE ".java", xfmt("%.*s", (int)(java_serve_end - java_serve), java_serve));
	strings_add_all(&ret->build, LIST("sh", "-c", build_script, "sh", class_path, sources, file, serve ? SERVE : HARNESS));
	put_words(&ret->run, heap, quick ? quick_script : run_script);
	put_words(&ret->merge, heap, merge_script);
	put_words(&ret->replay, heap, replay_script);
	put_words(&ret->minimise, heap, smaller_script);
	if (serve)
		put_words(&ret->serve, heap, serve_script);
	else
		ret->needs = engine_needs;
	ret->memory = MEMORY;
	ret->goes_on = true;
	ret->replays_as_engine = true;
	ret->runs_from_tmp = true;
	return 0;
}

const struct language language_java = {
	.name = "java",
	.title = "Java",
	.suffixes = LIST(".java"),
	.needs = needs,
	.roots = LIST("pom.xml", "build.gradle", "build.gradle.kts"),
	.names = java_names,
	.is_harness_file = is_harness_file,
	.takes = TAKES_EXPECT,
	.plan = java_plan,
};
