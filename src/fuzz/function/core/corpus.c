/* Corpora as they are kept: what each is of, what is in it, two at once. */
#include "fuzz/function/corpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/json_read.h"
#include "base/sha256.h"
#include "base/term.h"

#define ABOUT "about.json"
#define CORPORA "corpus"
#define CORPORA_MAX 10000u
#define LOCK_TRIES 400
#define NUMBER_MAX (INT64_MAX / 2)

/* ---- what it is of ---- */

void corpus_about_done(struct corpus_about *about)
{
	free(about->language);
	free(about->file);
	free(about->function);
	*about = (struct corpus_about){0};
}

static void put_id(struct corpus_about *about)
{
	own(freep) char *what = xfmt("%s\n%s\n%s", about->language, about->file, about->function);
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, what, strlen(what));
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	(void)snprintf(about->id, sizeof(about->id), "%.*s", CORPUS_ID_LEN, hex);
}

/* The folder that holds the state folder, with all links followed, as targets have theirs. */
static char *project_of(const char *state)
{
	own(freep) char *above = xfmt("%s/..", state);

	return realpath(above, NULL);
}

void corpus_identify(const char *state, const struct function_target *target, struct corpus_about *ret)
{
	own(freep) char *project = project_of(state),
			*path = xfmt("%s/%s", strcmp(target->root, "/") == 0 ? "" : target->root, target->file);
	size_t len = project ? strlen(project) : 0;
	bool below = len > 1 && strncmp(path, project, len) == 0 && path[len] == '/';

	*ret = (struct corpus_about){.language = xstrdup(target->language),
		.file = xstrdup(below ? path + len + 1 : path),
		.function = xstrdup(target->function),
		.harness = target->harness};
	put_id(ret);
}

char *corpus_folder(const char *state, const char *id)
{
	return xfmt("%s/" CORPORA "/%s", state, id);
}

char *corpus_file(const char *state, const struct corpus_about *about)
{
	own(freep) char *project = project_of(state);

	if (*about->file == '/')
		return xstrdup(about->file);
	return project ? xfmt("%s/%s", project, about->file) : NULL;
}

void corpus_about_write(const struct corpus_about *about, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "format", CORPUS_FORMAT);
	json_put_string(json, "id", about->id);
	json_put_string(json, "language", about->language);
	json_put_string(json, "file", about->file);
	json_put_string(json, "function", about->function);
	json_put_bool(json, "harness", about->harness);
	json_put_int(json, "first", about->first);
	json_put_int(json, "last", about->last);
	json_put_uint(json, "runs", about->runs);
	json_put_uint(json, "count", about->count);
	json_put_uint(json, "bytes", about->bytes);
	json_close(json, '}');
}

static char *get_text(const struct value *top, const char *key)
{
	const struct value *value = value_get(top, key);

	return value && value->kind == VALUE_TEXT && *value->text && strlen(value->text) < PATH_MAX
		? xstrdup(value->text)
		: NULL;
}

static bool get_number(const struct value *top, const char *key, uint64_t *ret)
{
	const struct value *value = value_get(top, key);
	char *end = NULL;

	if (!value || value->kind != VALUE_NUMBER || !*value->text ||
		strspn(value->text, "0123456789") != strlen(value->text))
		return false;
	errno = 0;
	*ret = strtoull(value->text, &end, 10);
	return errno == 0 && !*end && *ret <= NUMBER_MAX;
}

static int fill(struct corpus_about *ret, const struct value *top, const char *name, struct err *err)
{
	const struct value *format = value_get(top, "format"), *harness = value_get(top, "harness"),
			   *id = value_get(top, "id");
	uint64_t first = 0, last = 0;

	if (top->kind != VALUE_MAP || !format || format->kind != VALUE_TEXT || strcmp(format->text, CORPUS_FORMAT) != 0)
		return err_set(err, ERR_USAGE,
			"%s: not that of a corpus of this version of hotcell ('format' is not '" CORPUS_FORMAT "')",
			name);
	ret->language = get_text(top, "language");
	ret->file = get_text(top, "file");
	ret->function = get_text(top, "function");
	if (!ret->language || !ret->file || !ret->function || !function_language(ret->language))
		return err_set(err, ERR_USAGE, "%s: does not say of which function it is", name);
	if (!get_number(top, "first", &first) || !get_number(top, "last", &last) ||
		!get_number(top, "runs", &ret->runs) || !get_number(top, "count", &ret->count) ||
		!get_number(top, "bytes", &ret->bytes))
		return err_set(err, ERR_USAGE, "%s: a number in it is none", name);
	ret->first = (int64_t)first;
	ret->last = (int64_t)last;
	ret->harness = harness && harness->kind == VALUE_BOOL && harness->truth;
	put_id(ret);
	if (!id || id->kind != VALUE_TEXT || strcmp(id->text, ret->id) != 0)
		return err_set(err, ERR_USAGE, "%s: 'id' is not the id of what is in it: it was changed by hand", name);
	return 0;
}

int corpus_about_read(const char *text, size_t len, const char *name, struct corpus_about *ret, struct err *err)
{
	static const struct json_limits limits = {.bytes = CORPUS_ABOUT_MAX, .values = 100, .depth = 4};
	own(value_done) struct value top = {0};

	*ret = (struct corpus_about){0};
	if (json_read(text, len, &limits, name, &top, err) < 0)
		return -1;
	if (fill(ret, &top, name, err) == 0)
		return 0;
	corpus_about_done(ret);
	return -1;
}

/* ---- what is in it ---- */

static bool is_input_name(const char *name)
{
	return strlen(name) == 64 && strspn(name, "0123456789abcdef") == 64;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

void corpus_names_add(struct corpus_names *names, const char *name)
{
	if (names->count == names->room) {
		names->room = names->room ? 2 * names->room : 64;
		names->list = xrealloc(names->list, names->room, sizeof(*names->list));
	}
	memcpy(names->list[names->count++], name, sizeof(*names->list));
}

void corpus_names_sort(struct corpus_names *names)
{
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), by_name);
}

void corpus_names_read(int fd, struct corpus_names *ret)
{
	DIR *dir = beneath_list(fd, ".");

	*ret = (struct corpus_names){0};
	for (struct dirent *entry; dir && (entry = readdir(dir)) && ret->count < 2 * CORPUS_FILES_MAX;)
		if (is_input_name(entry->d_name))
			corpus_names_add(ret, entry->d_name);
	if (dir)
		(void)closedir(dir);
	corpus_names_sort(ret);
}

void corpus_names_done(struct corpus_names *names)
{
	free(names->list);
	*names = (struct corpus_names){0};
}

bool corpus_names_have(const struct corpus_names *names, const char *name)
{
	return names->count && bsearch(name, names->list, names->count, sizeof(*names->list), by_name);
}

static void measure(int fd, struct corpus_about *about)
{
	own(corpus_names_done) struct corpus_names names = {0};
	struct stat st;

	about->count = about->bytes = 0;
	corpus_names_read(fd, &names);
	for (size_t i = 0; i < names.count; i++) {
		if (beneath_stat(fd, names.list[i], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		about->count++;
		about->bytes += (uint64_t)st.st_size;
	}
}

int corpus_open(const char *state, const char *id, int *ret, struct err *err)
{
	own(freep) char *path = xfmt(CORPORA "/%s", id);
	own(fd_closep) int root = beneath_root(state, err);

	*ret = root < 0 ? -1 : beneath_open(root, path, O_RDONLY | O_DIRECTORY, 0, err);
	if (*ret >= 0 || err->code == ENOENT)
		return 0;
	err->code = ERR_USAGE;
	return -1;
}

/* ---- all of them ---- */

void corpora_done(struct corpora *corpora)
{
	for (size_t i = 0; i < corpora->count; i++)
		corpus_about_done(&corpora->list[i]);
	free(corpora->list);
	strings_done(&corpora->unread);
	*corpora = (struct corpora){0};
}

static int about_load(int fd, const char *id, struct corpus_about *ret, struct err *err)
{
	own(buf_done) struct buf text = {0};

	if (beneath_read(fd, ABOUT, CORPUS_ABOUT_MAX, &text, err) < 0 ||
		corpus_about_read(buf_text(&text), text.len, ABOUT, ret, err) < 0)
		return -1;
	if (strcmp(ret->id, id) == 0)
		return 0;
	(void)err_set(err, ERR_USAGE, ABOUT ": is that of another corpus, %s", ret->id);
	corpus_about_done(ret);
	return -1;
}

static void corpora_add(struct corpora *ret, int above, const char *name)
{
	struct err err = {0};
	own(fd_closep) int fd = beneath_open(above, name, O_RDONLY | O_DIRECTORY, 0, &err);
	struct corpus_about about = {0};

	if (fd < 0 || about_load(fd, name, &about, &err) < 0) {
		own(buf_done) struct buf line = {0};
		term_line(name, strlen(name), 60, &line);
		buf_fmt(&line, ": %s", err.text);
		strings_add(&ret->unread, buf_text(&line));
		return;
	}
	measure(fd, &about);
	ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
	ret->list[ret->count++] = about;
}

static int by_target(const void *a, const void *b)
{
	const struct corpus_about *one = a, *other = b;
	int order = strcmp(one->file, other->file);

	return order ? order : strcmp(one->function, other->function);
}

int corpora_read(const char *state, struct corpora *ret, struct err *err)
{
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int fd = root < 0 ? -1 : beneath_open(root, CORPORA, O_RDONLY | O_DIRECTORY, 0, err);

	*ret = (struct corpora){0};
	if (fd < 0)
		return err->code == ENOENT ? 0 : -1;
	DIR *dir = beneath_list(fd, ".");
	if (!dir)
		return err_errno(err, errno, "list the corpora of '%s'", state);
	for (struct dirent *entry; (entry = readdir(dir)) && ret->count + ret->unread.count < CORPORA_MAX;)
		if (entry->d_name[0] != '.')
			corpora_add(ret, fd, entry->d_name);
	(void)closedir(dir);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_target);
	return 0;
}

const struct corpus_about *corpora_find(const struct corpora *corpora, const char *id)
{
	const struct corpus_about *found = NULL;
	size_t len = strlen(id);

	for (size_t i = 0; len && i < corpora->count; i++) {
		if (strncmp(corpora->list[i].id, id, len) != 0)
			continue;
		if (found)
			return NULL;
		found = &corpora->list[i];
	}
	return found;
}

/* ---- adding ---- */

static int lock(int fd, const char *folder, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 25000000};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(err, errno, "lock '%s'", folder);
		(void)nanosleep(&pause, NULL);
	}
	return err_set(err, ERR_LOST, "'%s' is held by another hotcell; try again when that is done", folder);
}

static int about_put(int fd, struct corpus_about *about, struct err *err)
{
	own(json_done) struct json json = {.pretty = true};

	corpus_about_write(about, &json);
	buf_char(&json.out, '\n');
	return beneath_write(fd, ABOUT, &json.out, 0644, err);
}

/* What the file says is only when, and by how many: what it is of is told, and what is in it is counted. */
static int about_update(int fd, const struct corpus_about *about, unsigned runs, struct err *err)
{
	own(corpus_about_done) struct corpus_about old = {0};
	struct corpus_about now = *about; /* borrows its texts */
	struct err none = {0};

	now.last = now.first = time(NULL);
	now.runs = runs;
	if (about_load(fd, about->id, &old, &none) == 0) {
		now.first = old.first;
		now.runs += old.runs;
	}
	measure(fd, &now);
	return about_put(fd, &now, err);
}

int corpus_keep(const char *state, const struct corpus_about *about, int from, unsigned depth,
	const struct corpus_names *instead, unsigned runs, struct corpus_taken *ret, struct err *err)
{
	own(freep) char *folder = corpus_folder(state, about->id), *path = xfmt(CORPORA "/%s", about->id);
	own(corpus_names_done) struct corpus_names names = {0};
	struct corpus_about now = {0};

	*ret = (struct corpus_taken){0};
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int to = root < 0 ? -1 : beneath_mkdirs(root, path, 0755, err);
	if (to < 0 || lock(to, folder, err) < 0)
		return -1;
	measure(to, &now);
	const struct corpus_caps caps = {.files = now.count < CORPUS_FILES_MAX ? CORPUS_FILES_MAX - now.count : 0,
		.bytes = now.bytes < CORPUS_BYTES_MAX ? CORPUS_BYTES_MAX - now.bytes : 0,
		.depth = depth,
		.names = &names};
	if (corpus_copy(from, to, &caps, ret, err) < 0)
		return -1;
	for (size_t i = 0; instead && i < instead->count; i++)
		if (!corpus_names_have(&names, instead->list[i]))
			(void)beneath_unlink(to, instead->list[i], 0);
	return about_update(to, about, runs, err);
}
