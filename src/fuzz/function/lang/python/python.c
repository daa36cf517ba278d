/* Python, by Atheris. What a function is called with is decided by python_harness.py, in the cell, where its signature and
 * its hints can be asked for: a parser of Python here would know less. */
#include "fuzz/function/lang/language.h"

#include <ctype.h>
#include <string.h>

#include "base/json.h"

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define MEMORY ((uint64_t)1 << 30)
#define MEMORY_LEAST ((uint64_t)512 << 20)
#define HARNESS "harness_of_hotcell.py" /* no target's module is called so */
#define EXPECT "harness_of_hotcell_expect.py"

extern const char python_harness[], python_harness_end[]; /* the file beside this one */

static size_t name_len(const char *at, const char *end)
{
	const char *from = at;

	while (at < end && (isalnum((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 0x80))
		at++;
	return (size_t)(at - from);
}

static const char *after(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(end - at) < len || memcmp(at, word, len) != 0)
		return NULL;
	for (at += len; at < end && (*at == ' ' || *at == '\t');)
		at++;
	return at;
}

/* "def name" or "async def name"; NULL: the line is none. */
static const char *def_name(const char *at, const char *end)
{
	const char *async = after(at, end, "async ");

	return after(async ? async : at, end, "def ");
}

/* Functions of the module itself, and static ones of its classes. Lines are enough: what is found is asked for in the cell. */
static void python_names(const char *text, size_t len, void (*name)(void *, const char *, size_t, bool), void *data)
{
	const char *end = text + len, *class_at = NULL, *next;
	bool uses_atheris = memmem(text, len, "atheris", 7) != NULL, is_static = false;
	size_t class_len = 0;

	for (const char *line = text; line < end; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line)), *at = line, *def;
		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		while (at < stop && (*at == ' ' || *at == '\t'))
			at++;
		size_t size = (def = def_name(at, stop)) ? name_len(def, stop) : 0;
		if (at == stop)
			continue;
		if (at == line && size) {
			name(data, def, size, uses_atheris && size == 12 && memcmp(def, "TestOneInput", 12) == 0);
			class_at = NULL;
		} else if (at == line) {
			const char *class = after(at, stop, "class ");
			class_at = class ? class : *at == '@' || *at == '#' ? class_at : NULL;
			class_len = class ? name_len(class, stop) : class_len;
		} else if (size && class_at && is_static) {
			own(freep) char *whole = xfmt("%.*s.%.*s", (int)class_len, class_at, (int)size, def);
			name(data, whole, strlen(whole), false);
		}
		is_static = after(at, stop, "@staticmethod") || after(at, stop, "@classmethod");
	}
}

/* What its process may take, so that it is told of it by a MemoryError, with its input, before the cell is ended: a little less
 * than the cell has. Less than half a gigabyte is what Python and Atheris may need by themselves. */
static uint64_t python_memory(const struct function_options *options)
{
	uint64_t memory = options->spec ? options->spec->limits.memory : 0;

	memory = options->memory_fixed || memory > MEMORY ? memory : MEMORY;
	return memory >= MEMORY_LEAST ? memory / 8 * 7 : 0;
}

static char *python_config(const struct function_target *target, const struct function_options *options)
{
	own(json_done) struct json json = {0};

	config_open(&json, target, options);
	json_put_uint(&json, "memory", python_memory(options));
	json_put_real(&json, "timeout", (double)(options->input_ms ? options->input_ms : FUNCTION_INPUT_MS) / 1000, 3);
	json_close(&json, '}');
	return buf_take(&json.out);
}

/* What an existing harness is given to Atheris for, with what is declared left out, and with the inputs that Atheris always begins
 * with where these are told to fail: python_harness.py calls functions only. */
static const char expect_script[] =
	"import json, os, sys\n"
	"import atheris\n"
	"path = sys.argv[1]\n"
	"with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'target.json'), encoding='utf-8') as source:\n"
	"    NAMES = json.load(source)['expect']\n"
	"SKIPS = '" SKIP_FLAG "' in sys.argv\n"
	"again = any(word.startswith(('-merge=', '-minimize_crash=')) for word in sys.argv)\n"
	"sys.argv[:2] = [sys.executable + ' ' + os.path.abspath(__file__) + ' ' + path if again else path]\n"
	"sys.path[0] = os.path.dirname(path)\n"
	"SETUP = atheris.Setup\n"
	"def setup(argv, one_input, **more):\n"
	"    def one(data):\n"
	"        if SKIPS and data in (b'', b'\\n'):\n"
	"            return\n"
	"        try:\n"
	"            one_input(data)\n"
	"        except BaseException as error:\n"
	"            names = [name for each in type(error).__mro__ for name in (each.__name__, each.__module__ + '.' + each.__qualname__)]\n"
	"            if not set(names) & set(NAMES):\n"
	"                raise\n"
	"    return SETUP(argv, one, **more)\n"
	"atheris.Setup = setup\n"
	"with open(path, 'rb') as source:\n"
	"    code = compile(source.read(), path, 'exec')\n"
	"exec(code, {'__name__': '__main__', '__file__': path, '__builtins__': __builtins__})\n";

/* To merge, libFuzzer starts itself again in a shell, by argv[0]: for a harness that is no program of its own, that has to be
 * the interpreter with it. */
static const char merge_script[] =
	"import os, sys\n"
	"path = sys.argv[1]\n"
	"sys.argv[:2] = [sys.executable + ' ' + path]\n"
	"sys.path[0] = os.path.dirname(path)\n"
	"__file__ = path\n"
	"with open(path, 'rb') as source:\n"
	"    code = compile(source.read(), path, 'exec')\n"
	"exec(code)\n";

static int python_plan(const struct function_target *target, const struct function_options *options, const char *text, size_t len,
	struct function_plan *ret, struct err *err)
{
	const char *python = ret->engine ? FUNCTION_ENGINE "/bin/python3" : "/usr/bin/python3";

	(void)text, (void)len, (void)err;
	strings_add_all(&ret->environment, LIST("PYTHONDONTWRITEBYTECODE=1", "PYTHONUNBUFFERED=1", "PYTHONHASHSEED=0"));
	ret->memory = MEMORY;
	ret->deepest = (size_t)32 << 10; /* its stack ends at a thousand calls */
	plan_file_add(ret, HARNESS, xfmt("%.*s", (int)(python_harness_end - python_harness), python_harness));
	plan_file_add(ret, "target.json", python_config(target, options));
	strings_add_all(&ret->cover, LIST(python, FUNCTION_WORK "/" HARNESS, "cover"));
	if (target->harness) {
		own(freep) char *file = xfmt(FUNCTION_ROOT "/%s", target->file);
		ret->tells_on_stdout = true; /* Atheris does so */
		plan_file_add(ret, EXPECT, xstrdup(expect_script));
		strings_add_all(&ret->run_skipping, LIST(python, FUNCTION_WORK "/" EXPECT, file));
		if (options->expect && options->expect[0]) {
			struct strings *const ways[] = {&ret->run, &ret->replay, &ret->merge};
			for (size_t i = 0; i < ARRAY_LEN(ways); i++)
				strings_add_all(ways[i], LIST(python, FUNCTION_WORK "/" EXPECT, file));
			return 0;
		}
		strings_add_all(&ret->run, LIST(python, file));
		strings_add_all(&ret->replay, LIST(python, file));
		strings_add_all(&ret->merge, LIST(python, "-c", merge_script, file));
		return 0;
	}
	strings_add_all(&ret->run, LIST(python, FUNCTION_WORK "/" HARNESS, "fuzz"));
	strings_add_all(&ret->replay, LIST(python, FUNCTION_WORK "/" HARNESS, "replay"));
	strings_add_all(&ret->serve, LIST(python, FUNCTION_WORK "/" HARNESS, "serve"));
	strings_add_all(&ret->minimise, LIST(python, FUNCTION_WORK "/" HARNESS, "minimise"));
	ret->goes_on = true;
	ret->replays_many = true;
	return 0;
}

static const struct language_need needs[] = {
	{"Python", LIST("@python", "--version"), "apt-get install python3"},
	{"Atheris", LIST("@python", "-c", "import atheris"),
		"python3 -m venv .venv && .venv/bin/pip install atheris==3.0.0, and then --venv .venv"},
	{0},
};

const struct language language_python = {
	.name = "python",
	.title = "Python",
	.suffixes = LIST(".py"),
	.needs = needs,
	.roots = LIST("pyproject.toml", "setup.py", "setup.cfg"),
	.names = python_names,
	.takes_in = LIST("import *", "__getattr__", "globals()", "setattr("),
	.package = "__init__.py",
	.is_harness_file = path_is_harness,
	.takes = TAKES_EXPECT,
	.plan = python_plan,
};
