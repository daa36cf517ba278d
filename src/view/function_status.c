#include "view/function_status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/size.h"
#include "base/term.h"

#define FILE_NAME "status.json"
#define FILE_NEW ".status.json.new"
#define FORMAT "hotcell-fuzzing-1"
#define FILE_MAX ((size_t)512 << 10)
#define RUNS_MAX 64u /* looked at */
#define ITEMS_MAX 256u /* workers, targets */
#define NAME_MAX_BYTES 400

void function_status_done(struct function_status *status)
{
	function_targets_done(&status->targets);
	free((void *)status->progress.workers);
	free((void *)status->progress.targets);
	free(status->folder);
	*status = (struct function_status){0};
}

struct function_look function_status_look(const struct function_status *status)
{
	return (struct function_look){.targets = &status->targets,
		.duration_ns = status->duration_ns,
		.max_execs = status->max_execs,
		.severities = status->severities,
		.history = &status->history};
}

/* ---- text ---- */

static void put_severities(const unsigned *severities, struct json *json)
{
	json_key(json, "severities");
	json_open(json, '{');
	for (int i = 0; i < SEVERITY_COUNT; i++)
		json_put_uint(json, severity_name((enum severity)i), severities[i]);
	json_close(json, '}');
}

static void put_status(
	const struct function_progress *progress, const struct function_look *look, int pid, struct json *json)
{
	json_put_int(json, "pid", pid);
	json_put_uint(json, "duration_ms", look->duration_ns / NS_PER_MS);
	json_put_uint(json, "max_execs", look->max_execs);
	put_severities(look->severities, json);
	function_view_json(progress, look, json);
}

void function_status_write(const struct function_progress *progress, const struct function_look *look, int pid, struct buf *out)
{
	own(json_done) struct json json = {0};

	json_open(&json, '{');
	json_put_string(&json, "format", FORMAT);
	put_status(progress, look, pid, &json);
	json_close(&json, '}');
	buf_add(out, buf_text(&json.out), json.out.len);
}

/* ---- from text ---- */

/* 0 for what is no number, or too great to be one of ours. */
static uint64_t number_of(const struct value *value)
{
	uint64_t number = 0;
	struct err err;

	if (!value || value->kind != VALUE_NUMBER || count_parse(value->text, "", 0, UINT64_MAX / 4, &number, &err) < 0)
		return 0;
	return number;
}

static uint64_t number(const struct value *map, const char *key)
{
	return number_of(value_get(map, key));
}

static uint64_t time_ns(const struct value *map, const char *key)
{
	uint64_t ms = number(map, key);

	return ms < UINT64_MAX / 4 / NS_PER_MS ? ms * NS_PER_MS : 0;
}

static const char *text(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : "";
}

static const struct value *list(const struct value *map, const char *key)
{
	static const struct value none = {.kind = VALUE_LIST};
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_LIST && value->count <= ITEMS_MAX ? value : &none;
}

/* One of our own words, which live as long as we do. */
static const char *doing_of(const char *word)
{
	static const char *const words[] = {"waiting", "starting", "fuzzing", "building", "looking for the engine", "replaying",
		"minimising", "measuring", NULL};

	for (size_t i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return words[i];
	return *word ? "busy" : NULL;
}

static void read_targets(const struct value *from, struct function_status *ret)
{
	struct target_progress *targets = xcalloc(from->count, sizeof(*targets));

	ret->targets.list = xcalloc(from->count, sizeof(*ret->targets.list));
	ret->targets.count = ret->progress.target_count = from->count;
	ret->progress.targets = targets;
	for (size_t i = 0; i < from->count; i++) {
		const struct value *each = &from->items[i];
		ret->targets.list[i].name = xfmt("%.*s", NAME_MAX_BYTES, text(each, "name"));
		targets[i] = (struct target_progress){.execs = number(each, "execs"),
			.rate = (double)number(each, "execs_per_s"),
			.coverage = number(each, "coverage"),
			.features = number(each, "features"),
			.corpus = number(each, "corpus"),
			.crashes = number(each, "crashes"),
			.since_new_ns = time_ns(each, "since_new_ms"),
			.first_exec_ns = time_ns(each, "first_exec_ms")};
	}
}

static size_t target_named(const struct function_targets *targets, const char *name)
{
	size_t i = 0;

	while (i < targets->count && strcmp(targets->list[i].name, name) != 0)
		i++;
	return i;
}

static void read_workers(const struct value *from, struct function_status *ret)
{
	struct worker_progress *workers = xcalloc(from->count, sizeof(*workers));

	ret->progress.workers = workers;
	ret->progress.worker_count = from->count;
	for (size_t i = 0; i < from->count; i++) {
		const struct value *each = &from->items[i];
		workers[i] = (struct worker_progress){.target = target_named(&ret->targets, text(each, "target")),
			.doing = doing_of(text(each, "doing")),
			.execs = number(each, "execs"),
			.rate = (double)number(each, "execs_per_s")};
	}
}

static void read_history(const struct value *from, struct function_history *ret)
{
	const struct value *samples = list(from, "coverage");

	ret->from_ns = time_ns(from, "from_ms");
	ret->step_ns = time_ns(from, "step_ms");
	for (size_t i = 0; i < samples->count && i < HISTORY_MAX; i++) {
		uint64_t value = number_of(&samples->items[i]);
		ret->coverage[ret->count++] = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
	}
}

static unsigned small(uint64_t count)
{
	return count < 1000000 ? (unsigned)count : 1000000;
}

int function_status_read(const char *bytes, size_t len, struct function_status *ret, struct err *err)
{
	const struct json_limits limits = {.bytes = FILE_MAX, .values = 20000, .depth = 8};
	own(value_done) struct value value = {0};

	*ret = (struct function_status){0};
	if (json_read(bytes, len, &limits, NULL, &value, err) < 0)
		return -1;
	if (value.kind != VALUE_MAP || strcmp(text(&value, "format"), FORMAT) != 0)
		return err_set(err, ERR_USAGE, "it is not of the format " FORMAT);
	uint64_t pid = number(&value, "pid");
	ret->pid = pid < INT32_MAX ? (int)pid : 0;
	ret->duration_ns = time_ns(&value, "duration_ms");
	ret->max_execs = number(&value, "max_execs");
	read_targets(list(&value, "targets"), ret);
	read_workers(list(&value, "workers"), ret);
	ret->progress.ns = time_ns(&value, "ms");
	ret->progress.left_ns = time_ns(&value, "left_ms");
	ret->progress.execs = number(&value, "execs");
	ret->progress.findings = small(number(&value, "findings"));
	ret->progress.waiting = small(number(&value, "unconfirmed"));
	ret->progress.doing = doing_of(text(&value, "doing"));
	const struct value *severities = value_get(&value, "severities"), *history = value_get(&value, "coverage_over_time");
	for (int i = 0; i < SEVERITY_COUNT && severities && severities->kind == VALUE_MAP; i++)
		ret->severities[i] = small(number(severities, severity_name((enum severity)i)));
	if (history && history->kind == VALUE_MAP)
		read_history(history, &ret->history);
	return 0;
}

/* ---- files ---- */

/* Locked before it has its name: nobody sees it without. */
void function_status_put(int folder, const struct buf *bytes, int *lock)
{
	struct err err;

	(void)beneath_unlink(folder, FILE_NEW, 0);
	own(fd_closep) int fd = beneath_try(folder, FILE_NEW, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || write(fd, bytes->data, bytes->len) != (ssize_t)bytes->len ||
		beneath_rename(folder, FILE_NEW, folder, FILE_NAME, &err) < 0)
		return; /* a full disk, say: it is told without it how things are */
	fd_close(lock);
	*lock = fd_take(&fd);
}

static bool status_load(int above, const char *name, struct function_status *ret)
{
	own(freep) char *path = xfmt("%s/" FILE_NAME, name);
	own(fd_closep) int fd = beneath_try(above, path, O_RDONLY, 0);
	own(buf_done) struct buf bytes = {0};
	struct err err;
	char part[16384];

	if (fd < 0)
		return false;
	for (ssize_t got; (got = read(fd, part, sizeof(part))) != 0;) {
		if (got < 0 || bytes.len + (size_t)got > FILE_MAX)
			return false;
		buf_add(&bytes, part, (size_t)got);
	}
	if (function_status_read(buf_text(&bytes), bytes.len, ret, &err) < 0 || ret->targets.count == 0) {
		function_status_done(ret);
		return false;
	}
	ret->alive = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	ret->folder = xfmt("fuzz/%s", name);
	return true;
}

static int by_age(const void *a, const void *b)
{
	const struct function_status *one = a, *other = b;

	if (one->alive != other->alive)
		return one->alive ? -1 : 1;
	return one->progress.ns > other->progress.ns ? -1 : one->progress.ns < other->progress.ns;
}

void function_statuses_read(const char *state, struct function_statuses *ret)
{
	struct err err;
	own(fd_closep) int root = beneath_root(state, &err);
	DIR *dir = root < 0 ? NULL : beneath_list(root, "fuzz");

	*ret = (struct function_statuses){0};
	if (!dir)
		return;
	for (struct dirent *entry; ret->count < RUNS_MAX && (entry = readdir(dir));) {
		struct function_status status;
		if (entry->d_name[0] == '.' || !status_load(dirfd(dir), entry->d_name, &status))
			continue;
		ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
		ret->list[ret->count++] = status;
	}
	(void)closedir(dir);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_age);
}

void function_statuses_done(struct function_statuses *statuses)
{
	for (size_t i = 0; i < statuses->count; i++)
		function_status_done(&statuses->list[i]);
	free(statuses->list);
	*statuses = (struct function_statuses){0};
}

size_t function_statuses_alive(const struct function_statuses *statuses)
{
	size_t count = 0;

	for (size_t i = 0; i < statuses->count; i++)
		count += statuses->list[i].alive;
	return count;
}

/* ---- shown ---- */

static void put_name(const struct function_status *status, struct buf *out)
{
	const char *name = status->targets.list[0].name;

	term_line(name, strlen(name), 120, out);
	if (status->targets.count > 1)
		buf_fmt(out, " and %zu more", status->targets.count - 1);
}

static void put_dead(const struct function_status *status, struct buf *out)
{
	buf_str(out, "killed: the fuzzing of ");
	put_name(status, out);
	buf_fmt(out, " (process %d) after %" PRIu64 "s and %" PRIu64 " execs; what it found is kept, its folder is .hotcell/", status->pid,
		status->progress.ns / NS_PER_S, status->progress.execs);
	term_line(status->folder, strlen(status->folder), 60, out);
	buf_char(out, '\n');
}

void function_statuses_view(const struct function_statuses *statuses, unsigned rows, unsigned columns, bool color, struct buf *out)
{
	size_t alive = function_statuses_alive(statuses);

	for (size_t i = 0; i < statuses->count; i++) {
		const struct function_status *status = &statuses->list[i];
		struct function_look look = function_status_look(status);
		char note[32];
		(void)snprintf(note, sizeof(note), "process %d", status->pid);
		look.note = note;
		look.rows = alive && rows / alive > 4 ? rows / (unsigned)alive : 5;
		look.columns = columns;
		look.color = color;
		if (status->alive)
			function_view_block(&status->progress, &look, out);
		else
			put_dead(status, out);
	}
}

void function_statuses_lines(const struct function_statuses *statuses, struct buf *out)
{
	for (size_t i = 0; i < statuses->count; i++) {
		const struct function_status *status = &statuses->list[i];
		const struct function_look look = function_status_look(status);
		if (!status->alive)
			continue;
		put_name(status, out);
		buf_str(out, ": ");
		function_view_line(&status->progress, &look, out);
		buf_char(out, '\n');
	}
}

void function_statuses_json(const struct function_statuses *statuses, struct json *json)
{
	json_open(json, '[');
	for (size_t i = 0; i < statuses->count; i++) {
		const struct function_status *status = &statuses->list[i];
		const struct function_look look = function_status_look(status);
		json_open(json, '{');
		json_put_bool(json, "alive", status->alive);
		json_put_string(json, "folder", status->folder);
		put_status(&status->progress, &look, status->pid, json);
		json_close(json, '}');
	}
	json_close(json, ']');
}
