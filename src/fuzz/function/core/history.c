/* Histories of functions: comparing, and the files they are kept in. What is in a file: history_text.c. */
#include "fuzz/function/core/history.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "fuzz/function/core/lcov.h"
#include "fuzz/function/cover_history.h"

#define FOLDER "functions"
#define SUFFIX ".json"
#define STEP_FIRST_MS 250u

void cover_history_done(struct cover_history *history)
{
	free(history->name);
	free(history->language);
	free(history->root);
	free(history->file);
	free(history->function);
	coverage_done(&history->coverage);
	*history = (struct cover_history){0};
}

static void sum_hex(const void *bytes, size_t len, char ret[SHA256_HEX])
{
	unsigned char sum[SHA256_SIZE];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, bytes, len);
	sha256_end(&state, sum);
	sha256_hex(sum, ret);
}

/* ---- over time ---- */

void cover_series_add(struct cover_series *series, const struct series_point *point, bool last)
{
	size_t kept = 0;

	series->step_ms = series->step_ms ? series->step_ms : STEP_FIRST_MS;
	if (series->count) {
		const struct series_point *before = &series->points[series->count - 1];
		if (point->ms < before->ms || (!last && point->ms - before->ms < series->step_ms))
			return;
		if (last && point->ms == before->ms) {
			series->points[series->count - 1] = *point;
			return;
		}
	}
	if (series->count == COVER_SERIES_MAX) {
		for (size_t i = 0; i < series->count; i += 2)
			series->points[kept++] = series->points[i];
		series->count = kept;
		series->step_ms *= 2;
	}
	series->points[series->count++] = *point;
}

/* ---- since the last time ---- */

static const struct coverage_file *file_find(const struct coverage *coverage, const char *name)
{
	for (size_t i = 0; i < coverage->count; i++)
		if (strcmp(coverage->files[i].name, name) == 0)
			return &coverage->files[i];
	return NULL;
}

static bool reached(const struct coverage_file *file, size_t line)
{
	return file && line < file->hit_count && (file->hit[line] == LINE_REACHED || file->hit[line] == LINE_FRESH);
}

static void file_compare(const struct coverage_file *before, struct coverage_file *now, struct function_change *change)
{
	for (size_t i = 1; i < now->hit_count; i++) {
		if (now->hit[i] == LINE_REACHED && !reached(before, i)) {
			now->hit[i] = LINE_FRESH;
			change->more++;
		} else if (now->hit[i] == LINE_MISSED && reached(before, i)) {
			now->hit[i] = LINE_LOST;
			change->less++;
		}
	}
}

void cover_history_compare(const struct cover_history *before, struct cover_history *now)
{
	now->change = (struct function_change){.known = before->covered_ms != 0};
	if (!now->change.known)
		return;
	for (size_t i = 0; i < now->coverage.count; i++) {
		struct coverage_file *file = &now->coverage.files[i];
		const struct coverage_file *old = file_find(&before->coverage, file->name);
		if (old && !(old->sha256 && file->sha256 && strcmp(old->sha256, file->sha256) == 0))
			now->change.edited++;
		else
			file_compare(old, file, &now->change);
	}
	for (size_t i = 0; i < before->coverage.count; i++)
		if (!file_find(&now->coverage, before->coverage.files[i].name))
			now->change.less += before->coverage.files[i].lines_hit;
}

/* ---- sources ---- */

bool cover_source_read(const char *root, const char *name, struct buf *ret, char ret_sha256[65])
{
	own(fd_closep) int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct err err;

	if (top < 0 || !coverage_is_source(name, strlen(name)) || beneath_read(top, name, FUNCTION_SOURCE_MAX, ret, &err) < 0)
		return false;
	sum_hex(buf_text(ret), ret->len, ret_sha256);
	return true;
}

/* ---- files ---- */

static bool is_id(const char *text, size_t len)
{
	return len == COVER_ID_LEN && strspn(text, "0123456789abcdef") >= COVER_ID_LEN;
}

static int load_at(int dir, const char *name, struct cover_history *ret, struct err *err)
{
	own(buf_done) struct buf text = {0};

	*ret = (struct cover_history){0};
	if (beneath_read(dir, name, COVER_HISTORY_MAX, &text, err) < 0 ||
		cover_history_read(ret, buf_text(&text), text.len, name, err) < 0)
		return -1;
	memcpy(ret->id, name, COVER_ID_LEN);
	return 0;
}

int cover_history_load(const char *state, const char *id, struct cover_history *ret, struct err *err)
{
	own(freep) char *name = xfmt("%s" SUFFIX, id);
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int dir = root < 0 ? -1 : beneath_open(root, FOLDER, O_RDONLY | O_DIRECTORY, 0, err);

	*ret = (struct cover_history){0};
	return dir < 0 ? -1 : load_at(dir, name, ret, err);
}

int cover_history_save(const char *state, const struct cover_history *history, struct err *err)
{
	own(freep) char *name = xfmt("%s" SUFFIX, history->id);
	own(json_done) struct json json = {0};

	cover_history_write(history, &json);
	buf_char(&json.out, '\n');
	if (json.out.len > COVER_HISTORY_MAX)
		return err_set(err, ERR_LIMIT, "it would take more than %zu MB", COVER_HISTORY_MAX >> 20);
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int folder = root < 0 ? -1 : beneath_mkdirs(root, FOLDER, 0755, err);
	return folder < 0 ? -1 : beneath_write(folder, name, &json.out, 0644, err);
}

static int by_name(const void *a, const void *b)
{
	const struct cover_history *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : strcmp(one->id, other->id);
}

int cover_histories_open(const char *state, struct cover_histories *ret, struct err *err)
{
	own(fd_closep) int root = beneath_root(state, err);
	own(fd_closep) int fd = root < 0 ? -1 : beneath_open(root, FOLDER, O_RDONLY | O_DIRECTORY, 0, err);

	*ret = (struct cover_histories){0};
	if (fd < 0)
		return err->code == ENOENT ? 0 : err_wrap(err, "open the folder of functions");
	DIR *dir = beneath_list(fd, ".");
	if (!dir)
		return err_errno(err, errno, "list the functions of '%s'", state);
	for (const struct dirent *entry; (entry = readdir(dir)) && ret->count + ret->unread.count < COVER_HISTORIES_MAX;) {
		const char *dot = strchr(entry->d_name, '.');
		struct cover_history one;
		struct err why = {0};
		if (!dot || strcmp(dot, SUFFIX) != 0 || !is_id(entry->d_name, (size_t)(dot - entry->d_name)))
			continue;
		if (load_at(fd, entry->d_name, &one, &why) < 0) {
			strings_add(&ret->unread, why.text);
			continue;
		}
		ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
		ret->list[ret->count++] = one;
	}
	(void)closedir(dir);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_name);
	return 0;
}

void cover_histories_done(struct cover_histories *histories)
{
	for (size_t i = 0; i < histories->count; i++)
		cover_history_done(&histories->list[i]);
	free(histories->list);
	strings_done(&histories->unread);
	*histories = (struct cover_histories){0};
}

/* ---- of a run ---- */

void history_point(struct fuzzing *it, uint64_t now)
{
	bool last = it->over;

	if (it->charted)
		return;
	it->charted = last;
	for (size_t i = 0; i < it->place_count; i++) {
		struct place *place = &it->places[i];
		const struct target_progress *total = &it->result->totals[i];
		const struct series_point point = {.ms = place->begun_ns ? (now - place->begun_ns) / NS_PER_MS : 0,
			.execs = total->execs, .features = total->features, .corpus = total->corpus};
		if (!place->begun_ns)
			continue;
		if (!place->series)
			place->series = xcalloc(1, sizeof(*place->series));
		cover_series_add(place->series, &point, last);
	}
}

static void keep_one(struct fuzzing *it, size_t index)
{
	struct place *place = &it->places[index];
	const struct function_target *target = place->target;
	own(cover_history_done) struct cover_history before = {0}, now = {0};
	struct timespec clock;
	struct err err = {0};

	now = (struct cover_history){.name = xstrdup(target->name), .language = xstrdup(target->language),
		.root = xstrdup(target->root), .file = xstrdup(target->file), .function = xstrdup(target->function),
		.took_ms = (clock_now() - it->started_ns) / NS_PER_MS, .totals = it->result->totals[index]};
	memcpy(now.id, place->about.id, sizeof(now.id));
	(void)clock_gettime(CLOCK_REALTIME, &clock);
	now.ended_ms = (uint64_t)clock.tv_sec * 1000 + (uint64_t)clock.tv_nsec / NS_PER_MS;
	if (place->series)
		now.series = *place->series;
	if (cover_history_load(it->options->state, now.id, &before, &err) < 0 && err.code != ENOENT)
		fuzzing_gap(it, "what was known of %s is not used: %s", target->name, err.text);
	if (place->coverage.count) {
		now.covered_ms = now.ended_ms;
		coverage_merge(&now.coverage, &place->coverage);
		cover_history_compare(&before, &now);
	} else { /* what was measured before is still what is known */
		now.covered_ms = before.covered_ms;
		now.coverage = before.coverage;
		before.coverage = (struct coverage){0};
	}
	it->result->changes[index] = now.change;
	if (cover_history_save(it->options->state, &now, &err) < 0)
		fuzzing_gap(it, "the history of %s was not kept: %s", target->name, err.text);
}

void history_keep(struct fuzzing *it)
{
	for (size_t i = 0; i < it->place_count; i++)
		if (it->places[i].begun_ns)
			keep_one(it, i);
}
