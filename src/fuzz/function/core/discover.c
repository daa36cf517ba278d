/* From what the user named to targets. Files are strangers': read with a limit, and never followed out of the folder. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/homes.h"
#include "base/term.h"
#include "fuzz/function/lang/language.h"
#include "fuzz/function/core/reach.h"

#define ENTRIES_MAX 200000u /* of a folder */
#define TARGETS_MAX 1000u
#define NAMED_MAX 8u /* functions that an error names */
#define NEAR 2u /* typing errors that are forgiven */
#define NAME_MAX_LEN 200u

void function_target_done(struct function_target *target)
{
	free(target->root);
	free(target->file);
	free(target->function);
	free(target->name);
	free(target->above);
	*target = (struct function_target){0};
}

void function_targets_done(struct function_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++)
		function_target_done(&targets->list[i]);
	free(targets->list);
	*targets = (struct function_targets){0};
}

/* ---- where it is ---- */

static bool has_file(const char *folder, const char *name)
{
	own(freep) char *path = xfmt("%s/%s", folder, name);
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool has_root(const struct language *language, const char *folder)
{
	for (size_t i = 0; language->roots[i]; i++)
		if (has_file(folder, language->roots[i]))
			return true;
	return false;
}

/* The nearest folder above that is marked; NULL: there is none. */
static char *marked_above(const struct language *language, const char *folder)
{
	own(freep) char *at = xstrdup(folder);

	for (; *at && !folder_is_shared(at); *strrchr(at, '/') = '\0')
		if (has_root(language, at))
			return ptr_take(&at);
	return NULL;
}

/* The folder of a file, or of its package. */
static char *package_of(const struct language *language, const char *file, const struct reach *reach)
{
	own(freep) char *top = xstrdup(file);

	*strrchr(top, '/') = '\0';
	while (language->package && *top && strcmp(top, reach->limit) != 0 && has_file(top, language->package))
		*strrchr(top, '/') = '\0';
	return *top && reach_allows(reach, top) ? ptr_take(&top) : xstrdup(reach->own);
}

/* The project's top, if a file marks one above; else the folder of the file, or of its package. Where folders of one project are
 * marked, too, the outermost: in Rust of all, and else of those that lie directly in one another. Never one that may not be
 * shown (reach.h); *ret_above is a folder above that looks like the top all the same, NULL if none does. */
static char *root_of(const struct language *language, const char *file, const char *named, char **ret_above)
{
	own(reach_done) struct reach reach = {0};
	own(freep) char *top = NULL, *at = NULL, *found = NULL;

	reach_find(file, named, &reach);
	top = package_of(language, file, &reach);
	at = xstrdup(strcmp(top, "/") == 0 ? "" : top);
	for (; *at && reach_is_below(reach.limit, at) && !folder_is_shared(at); *strrchr(at, '/') = '\0') {
		if (reach_allows(&reach, at) && has_root(language, at)) {
			free(found);
			found = xstrdup(at);
		}
		if (found && (language->nested == NESTED_NOT || (language->nested == NESTED_CLOSE && strcmp(found, at) != 0)))
			break;
	}
	*ret_above = found ? NULL : marked_above(language, top);
	return found ? ptr_take(&found) : ptr_take(&top);
}

/* ---- names ---- */

struct names {
	struct strings functions, harnesses;
};

static void names_done(struct names *names)
{
	strings_done(&names->functions);
	strings_done(&names->harnesses);
}

static void add_name(void *data, const char *name, size_t len, bool harness)
{
	struct names *names = data;
	struct strings *list = harness ? &names->harnesses : &names->functions;

	if (len > NAME_MAX_LEN || list->count >= TARGETS_MAX)
		return;
	own(freep) char *copy = xfmt("%.*s", (int)len, name);
	strings_add(list, copy);
}

/* Letters to be changed, put in or left out to make one of the other. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_LEN + 1];
	size_t len = strlen(b);

	if (len > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (size_t i = 0; i <= len; i++)
		row[i] = (unsigned)i;
	for (; *a; a++) {
		unsigned corner = row[0]++;
		for (size_t i = 1; i <= len; i++) {
			unsigned change = corner + (tolower((unsigned char)*a) != tolower((unsigned char)b[i - 1]));
			corner = row[i];
			row[i] = row[i] < row[i - 1] ? row[i] + 1 : row[i - 1] + 1;
			row[i] = change < row[i] ? change : row[i];
		}
	}
	return row[len];
}

static void shown(const char *text, struct buf *out)
{
	term_line(text, strlen(text), 120, out);
}

/* Of a name of few letters, few may be wrong: else all that is short is near. */
static unsigned wrong_max(const char *typed)
{
	size_t len = strlen(typed);

	return len / 2 > NEAR ? NEAR : len ? (unsigned)(len - 1) / 2 : 0;
}

static void put_names(const struct strings *names, struct buf *out)
{
	for (size_t i = 0; i < names->count && i < NAMED_MAX; i++) {
		buf_str(out, i ? ", " : "");
		shown(names->items[i], out);
	}
}

static int no_function(const char *file, const char *function, const struct names *names, struct err *err)
{
	own(buf_done) struct buf path = {0}, typed = {0}, all = {0};
	const char *near = NULL;
	unsigned best = wrong_max(function) + 1;

	shown(file, &path);
	shown(function, &typed);
	for (size_t i = 0; i < names->functions.count; i++) {
		unsigned now = distance(function, names->functions.items[i]);
		if (now < best) {
			best = now;
			near = names->functions.items[i];
		}
	}
	put_names(&names->functions, &all);
	if (near) {
		all.len = 0;
		shown(near, &all);
		return err_set(err, ERR_USAGE, "'%s' has no function '%s'; did you mean '%s'?", buf_text(&path), buf_text(&typed),
			buf_text(&all));
	}
	if (!all.len)
		return err_set(err, ERR_USAGE, "'%s' has no function '%s', and none that can be called from outside",
			buf_text(&path), buf_text(&typed));
	return err_set(err, ERR_USAGE, "'%s' has no function '%s'; it has %s%s", buf_text(&path), buf_text(&typed), buf_text(&all),
		names->functions.count > NAMED_MAX ? ", ..." : "");
}

/* ---- names that only running tells ---- */

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool has_word(const struct buf *text, const char *word, size_t len)
{
	const char *from = buf_text(text), *end = from + text->len, *at = from;

	for (; (at = memmem(at, (size_t)(end - at), word, len)); at++)
		if ((at == from || !in_name(at[-1])) && (at + len == end || !in_name(at[len])))
			return true;
	return false;
}

/* Whether it may be there although `names` did not see it: by all the words of its name, or from elsewhere. */
static bool may_have(const struct language *language, const struct buf *text, const char *function)
{
	bool words = true;

	if (!language->takes_in)
		return false;
	for (const char *at = function;; at++) {
		size_t len = 0;
		while (in_name(at[len]))
			len++;
		if (!len || (at[len] && at[len] != '.'))
			return false;
		words = words && has_word(text, at, len);
		at += len;
		if (!*at)
			break;
	}
	for (size_t i = 0; language->takes_in[i] && !words; i++)
		words = memmem(buf_text(text), text->len, language->takes_in[i], strlen(language->takes_in[i])) != NULL;
	return words;
}

/* ---- names that are not typed whole ---- */

static int no_such_name(const struct language *language, const char *file, const char *typed, const struct buf *text, const struct names *names, struct err *err)
{
	own(buf_done) struct buf path = {0}, name = {0};

	if (!language->is_member(buf_text(text), text->len, typed))
		return no_function(file, typed, names, err);
	shown(file, &path);
	shown(typed, &name);
	return err_set(err, ERR_USAGE,
		"'%s': '%s' needs an object, is not public, or is of a template; write a harness, LLVMFuzzerTestOneInput, that calls it",
		buf_text(&path), buf_text(&name));
}

/* The whole name of the only function that was meant, in *ret: namespaces and types may be left out. */
static int name_resolve(const struct language *language, const char *file, const char *typed, const struct buf *text,
	const struct names *names, char **ret, struct err *err)
{
	own(strings_done) struct strings found = {0};
	own(buf_done) struct buf path = {0}, name = {0}, all = {0};

	*ret = NULL;
	if (strings_have(&names->functions, typed) || strings_have(&names->harnesses, typed)) {
		*ret = xstrdup(typed);
		return 0;
	}
	for (size_t i = 0; i < names->functions.count; i++)
		if (language->name_fits(names->functions.items[i], typed) && !strings_have(&found, names->functions.items[i]))
			strings_add(&found, names->functions.items[i]);
	if (!found.count)
		return no_such_name(language, file, typed, text, names, err);
	if (found.count == 1) {
		*ret = xstrdup(found.items[0]);
		return 0;
	}
	shown(file, &path);
	shown(typed, &name);
	put_names(&found, &all);
	return err_set(err, ERR_USAGE, "'%s': '%s' may be %s%s: name one", buf_text(&path), buf_text(&name), buf_text(&all),
		found.count > NAMED_MAX ? ", ..." : "");
}

/* ---- targets ---- */

/* Where a target is. */
struct spot {
	char *root, *above;
};

static void spot_done(struct spot *spot)
{
	free(spot->root);
	free(spot->above);
}

static void target_pin(struct function_target *target)
{
	struct stat st;

	if (stat(target->root, &st) < 0)
		return;
	target->device = (uint64_t)st.st_dev;
	target->inode = (uint64_t)st.st_ino;
}

static void target_add(struct function_targets *ret, const struct language *language, const struct spot *spot, const char *path,
	const char *function, bool harness)
{
	const char *root = spot->root;
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	const char *slash = strrchr(path, '/');

	if (ret->count >= TARGETS_MAX)
		return;
	ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
	ret->list[ret->count++] = (struct function_target){
		.language = language->name,
		.root = xstrdup(root),
		.file = xstrdup(path + len + 1),
		.function = xstrdup(function),
		.harness = harness,
		.alone = folder_is_shared(root),
		.above = spot->above ? xstrdup(spot->above) : NULL,
		.name = harness && !language->many ? xstrdup(slash + 1) : xfmt("%s:%s", slash + 1, function),
	};
	target_pin(&ret->list[ret->count - 1]);
}

/* The only one of a file, or all. */
static void harnesses_add(struct function_targets *ret, const struct language *language, const struct spot *spot, const char *path,
	const struct names *names)
{
	for (size_t i = 0; i < (language->many ? names->harnesses.count : 1); i++)
		target_add(ret, language, spot, path, names->harnesses.items[i], true);
}

static int not_yet(const struct language *language, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s targets are not fuzzed yet; Python, JavaScript, Go, Rust, C, C++ and Java are", language->title);
}

static int read_names(
	const struct language *language, int dir, const char *path, struct names *ret, struct buf *ret_text, struct err *err)
{
	if (fs_read_small(dir, path, FUNCTION_SOURCE_MAX, ret_text, err) < 0) {
		err->code = ERR_USAGE;
		return -1;
	}
	language->names(buf_text(ret_text), ret_text->len, add_name, ret);
	return 0;
}

static int no_language(const char *path, struct err *err)
{
	own(buf_done) struct buf name = {0};

	shown(path, &name);
	return err_set(err, ERR_USAGE, "'%s' is in no language that can be fuzzed: .py, .js, .go, .rs, .java, .c, .cc, .cpp and .cxx files can",
		buf_text(&name));
}

static const char *kind_of(mode_t mode)
{
	return S_ISFIFO(mode) ? "a FIFO" : S_ISSOCK(mode) ? "a socket" : S_ISDIR(mode) ? "a folder" : "a device";
}

/* `named`: the folder that was named, if it is not the file. */
static int read_one(const char *typed, const char *function, const char *named, struct function_targets *ret, struct err *err)
{
	const struct language *language = language_of_file(typed);
	own(freep) char *path = realpath(typed, NULL), *whole = NULL;
	own(names_done) struct names names = {0};
	own(buf_done) struct buf name = {0}, text = {0};
	struct stat st;

	shown(typed, &name);
	if (!path) {
		(void)err_errno(err, errno, "'%s'", buf_text(&name));
		err->code = ERR_USAGE;
		return -1;
	}
	if (!language)
		return no_language(typed, err);
	if (!language->plan)
		return not_yet(language, err);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "'%s' is %s, and no file", buf_text(&name), kind_of(st.st_mode));
	if (read_names(language, AT_FDCWD, path, &names, &text, err) < 0)
		return -1;
	if (function && language->name_fits) {
		if (name_resolve(language, typed, function, &text, &names, &whole, err) < 0)
			return -1;
		function = whole;
	}
	bool harness = function ? strings_have(&names.harnesses, function) : names.harnesses.count > 0;
	if (function && !harness && !strings_have(&names.functions, function) && !may_have(language, &text, function))
		return no_function(typed, function, &names, err);
	if (!function && !harness) {
		own(buf_done) struct buf first = {0};
		shown(names.functions.count ? names.functions.items[0] : "NAME", &first);
		return err_set(err, ERR_USAGE, "'%s' holds no harness; name a function of it, as %s:%s", buf_text(&name), buf_text(&name),
			buf_text(&first));
	}
	own(spot_done) struct spot spot = {0};
	spot.root = root_of(language, path, named, &spot.above);
	if (!harness || (function && language->many))
		target_add(ret, language, &spot, path, function, harness);
	else
		harnesses_add(ret, language, &spot, path, &names);
	return 0;
}

/* ---- folders ---- */

struct folder {
	const char *root;
	struct function_targets *ret;
};

/* What others made, or a build: not this project's harnesses. */
static bool is_elsewhere(const char *path)
{
	static const char *const folders[] = {"node_modules", "bower_components", "site-packages", "dist-packages", "__pypackages__", ".git",
		".hotcell", ".venv", "venv", ".tox", ".nox", "vendor", "third_party", "build", NULL};

	for (const char *slash; (slash = strchr(path, '/')); path = slash + 1)
		for (size_t i = 0; folders[i]; i++)
			if (strlen(folders[i]) == (size_t)(slash - path) && strncmp(path, folders[i], (size_t)(slash - path)) == 0)
				return true;
	return false;
}

static int look_at(void *data, int dir, const char *name, const char *path, struct err *err)
{
	struct folder *folder = data;
	const struct language *language = language_of_file(path);
	own(names_done) struct names names = {0};
	own(buf_done) struct buf text = {0};

	(void)err;
	own(freep) char *whole = xfmt("%s/%s", folder->root, path);
	if (!language || !language->plan || !language->is_harness_file(whole) || is_elsewhere(path))
		return 0;
	struct err unread = {0};
	if (read_names(language, dir, name, &names, &text, &unread) < 0 || !names.harnesses.count)
		return 0; /* what cannot be read is no harness of ours */
	own(spot_done) struct spot spot = {0};
	spot.root = root_of(language, whole, folder->root, &spot.above);
	/* what is named may be a part of the project, or more of it than what marks it says */
	if (!language->own_root && !(language->nested == NESTED_CLOSE && strlen(spot.root) < strlen(folder->root))) {
		free(spot.root);
		spot.root = xstrdup(folder->root);
	}
	harnesses_add(folder->ret, language, &spot, whole, &names);
	return 0;
}

static int by_file(const void *a, const void *b)
{
	const struct function_target *one = a, *other = b;
	int by = strcmp(one->file, other->file);

	return by ? by : strcmp(one->function, other->function);
}

static int read_folder(const char *typed, struct function_targets *ret, struct err *err)
{
	own(freep) char *root = realpath(typed, NULL);
	own(fd_closep) int dir = open(typed, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own(buf_done) struct buf name = {0};
	size_t before = ret->count;

	shown(typed, &name);
	if (dir < 0 || !root) {
		(void)err_errno(err, errno, "'%s'", buf_text(&name));
		err->code = ERR_USAGE;
		return -1;
	}
	if (folder_is_shared(root))
		return err_set(err, ERR_USAGE, "'%s' is a home or a shared folder: name the folder of one project", buf_text(&name));
	static const char *const skipped[] = {".git", ".hotcell", "build", "node_modules", "vendor", NULL};
	struct folder folder = {root, ret};
	if (fs_each_file(dir, skipped, ENTRIES_MAX, look_at, NULL, &folder, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "'%s'", buf_text(&name));
	}
	if (ret->count == before)
		return err_set(err, ERR_USAGE,
			"'%s' holds no harness: files such as fuzz_NAME.py with TestOneInput, or fuzz_NAME.c with LLVMFuzzerTestOneInput; a function is "
			"named as FILE:FUNCTION",
			buf_text(&name));
	qsort(ret->list + before, ret->count - before, sizeof(*ret->list), by_file);
	return 0;
}

const char *function_word_colon(const char *word)
{
	static const char *const suffixes[] = {".rs:", ".cc:", ".cpp:", ".cxx:", NULL}; /* more of them follow in the function's */
	const char *slash = strrchr(word, '/'), *name = slash ? slash : word;

	for (size_t i = 0; suffixes[i]; i++) {
		const char *at = strstr(name, suffixes[i]);
		if (at)
			return at + strlen(suffixes[i]) - 1;
	}
	return strrchr(name, ':');
}

/* By the only language whose targets have two colons in a row. */
static int path_read(const char *text, char **ret_file, char **ret_function, struct err *err)
{
	for (size_t i = 0; function_languages[i]; i++)
		if (function_languages[i]->path_read)
			return function_languages[i]->path_read(text, ret_file, ret_function, err);
	return err_set(err, ERR_USAGE, "no language names its functions with '::'");
}

int function_targets_read(const char *text, struct function_targets *ret, struct err *err)
{
	struct stat st;

	if (stat(text, &st) == 0)
		return S_ISDIR(st.st_mode) ? read_folder(text, ret, err) : read_one(text, NULL, NULL, ret, err);
	const char *colon = function_word_colon(text);
	if (!colon || colon == text)
		return read_one(text, NULL, NULL, ret, err);
	own(freep) char *file = NULL, *function = NULL;
	if (colon[-1] == ':') {
		own(freep) char *crate = xfmt("%.*s", (int)(strstr(text, "::") - text), text), *folder = realpath(crate, NULL);
		return path_read(text, &file, &function, err) < 0 ? -1 : read_one(file, function, folder, ret, err);
	}
	file = xfmt("%.*s", (int)(colon - text), text);
	return read_one(file, colon + 1, NULL, ret, err);
}

int function_targets_root(struct function_targets *targets, const char *typed, struct err *err)
{
	own(freep) char *root = realpath(typed, NULL);
	own(buf_done) struct buf name = {0};
	struct stat st;

	shown(typed, &name);
	if (!root || stat(root, &st) < 0 || !S_ISDIR(st.st_mode)) {
		(void)err_errno(err, root ? ENOTDIR : errno, "--root '%s'", buf_text(&name));
		err->code = ERR_USAGE;
		return -1;
	}
	if (folder_is_shared(root))
		return err_set(err, ERR_USAGE, "--root '%s' is a home or a shared folder: name the folder of one project", buf_text(&name));
	for (size_t i = 0; i < targets->count; i++) {
		struct function_target *target = &targets->list[i];
		own(freep) char *path = xfmt("%s/%s", target->root, target->file);
		if (!reach_is_below(root, path))
			return err_set(err, ERR_USAGE, "--root '%s' does not hold the target %.100s: name a folder above it", buf_text(&name),
				target->name);
		free(target->root);
		free(target->file);
		free(target->above);
		target->root = xstrdup(root);
		target->file = xstrdup(path + strlen(root) + 1);
		target->above = NULL;
		target->alone = false;
		target_pin(target);
	}
	return 0;
}
