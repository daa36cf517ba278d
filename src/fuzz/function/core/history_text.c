/* A history as JSON, and back. Lines are ranges, "1-4,7", so that a file of thousands is short. Pure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/sha256.h"
#include "fuzz/function/core/history.h"
#include "fuzz/function/core/lcov.h"
#include "fuzz/function/cover_history.h"

#define DETAIL_MAX (COVER_HISTORY_MAX / 4 * 3) /* bytes after which files have their sums alone */
#define LISTED_MAX 2000u /* functions of a file */

/* ---- lines ---- */

void lines_text(const struct coverage_file *file, enum line_cover kind, enum line_cover or_kind, struct buf *out)
{
	bool first = true;

	for (size_t i = 1; i < file->hit_count; i++) {
		size_t from = i;
		while (i < file->hit_count && (file->hit[i] == kind || file->hit[i] == or_kind))
			i++;
		if (i == from)
			continue;
		buf_fmt(out, i - 1 > from ? "%s%zu-%zu" : "%s%zu", first ? "" : ",", from, i - 1);
		first = false;
	}
}

static bool number(const char **at, size_t *ret)
{
	const char *from = *at;

	for (*ret = 0; **at >= '0' && **at <= '9' && *at - from < 7; (*at)++)
		*ret = *ret * 10 + (size_t)(**at - '0');
	return *at > from && *ret > 0 && *ret <= LCOV_LINE_MAX;
}

bool lines_read(struct coverage_file *file, const char *text, enum line_cover kind)
{
	size_t from, until = 0;

	for (const char *at = text; *at;) {
		if (!number(&at, &from) || from <= until) /* in order: a short text is little work */
			return false;
		until = from;
		if (*at == '-' && (at++, !number(&at, &until) || until < from))
			return false;
		if (until >= file->hit_count) {
			file->hit = xrealloc(file->hit, until + 1, 1);
			memset(file->hit + file->hit_count, LINE_NO_CODE, until + 1 - file->hit_count);
			file->hit_count = until + 1;
		}
		memset(file->hit + from, (int)kind, until - from + 1);
		if (*at == ',' && at[1])
			at++;
		else if (*at)
			return false;
	}
	return true;
}

static const struct {
	const char *name;
	enum line_cover kind;
} kinds[] = {{"missed", LINE_MISSED}, {"reached", LINE_REACHED}, {"fresh", LINE_FRESH}, {"lost", LINE_LOST}};

/* ---- writing ---- */

static const struct {
	const char *name;
	size_t offset;
} figures[] = {
	{"execs", offsetof(struct target_progress, execs)},
	{"coverage", offsetof(struct target_progress, coverage)},
	{"features", offsetof(struct target_progress, features)},
	{"corpus", offsetof(struct target_progress, corpus)},
	{"crashes", offsetof(struct target_progress, crashes)},
	{"first_exec_ns", offsetof(struct target_progress, first_exec_ns)},
	{"since_new_ns", offsetof(struct target_progress, since_new_ns)},
};

static void put_series(const struct cover_series *series, struct json *json)
{
	json_key(json, "series");
	json_open(json, '[');
	for (size_t i = 0; i < series->count; i++) {
		const struct series_point *point = &series->points[i];
		json_open(json, '[');
		json_uint(json, point->ms);
		json_uint(json, point->execs);
		json_uint(json, point->features);
		json_uint(json, point->corpus);
		json_close(json, ']');
	}
	json_close(json, ']');
}

static void put_file(const struct coverage_file *file, struct json *json)
{
	bool whole = json->out.len < DETAIL_MAX;

	json_open(json, '{');
	json_put_string(json, "name", file->name);
	if (file->sha256)
		json_put_string(json, "sha256", file->sha256);
	json_put_uint(json, "lines", file->lines);
	json_put_uint(json, "lines_hit", file->lines_hit);
	json_put_uint(json, "functions", file->functions);
	json_put_uint(json, "functions_hit", file->functions_hit);
	for (size_t i = 0; whole && i < ARRAY_LEN(kinds); i++) {
		own(buf_done) struct buf text = {0};
		lines_text(file, kinds[i].kind, kinds[i].kind, &text);
		if (text.len)
			json_put_string(json, kinds[i].name, buf_text(&text));
	}
	json_key(json, "list");
	json_open(json, '[');
	for (size_t i = 0; whole && i < file->list_count && i < LISTED_MAX; i++) {
		json_open(json, '[');
		json_string(json, file->list[i].name);
		json_uint(json, file->list[i].line);
		json_bool(json, file->list[i].hit);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

void cover_history_write(const struct cover_history *history, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "format", COVER_HISTORY_FORMAT);
	json_put_string(json, "name", history->name);
	json_put_string(json, "language", history->language);
	json_put_string(json, "root", history->root);
	json_put_string(json, "file", history->file);
	json_put_string(json, "function", history->function);
	json_put_uint(json, "ended_ms", history->ended_ms);
	json_put_uint(json, "took_ms", history->took_ms);
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		json_put_uint(json, figures[i].name, *(const uint64_t *)((const char *)&history->totals + figures[i].offset));
	json_put_uint(json, "execs_per_s", history->totals.rate > 0 ? (uint64_t)(history->totals.rate + 0.5) : 0);
	put_series(&history->series, json);
	json_put_uint(json, "covered_ms", history->covered_ms);
	if (history->change.known) {
		json_key(json, "change");
		json_open(json, '{');
		json_put_uint(json, "more", history->change.more);
		json_put_uint(json, "less", history->change.less);
		json_put_uint(json, "edited", history->change.edited);
		json_close(json, '}');
	}
	json_key(json, "files");
	json_open(json, '[');
	for (size_t i = 0; i < history->coverage.count; i++)
		put_file(&history->coverage.files[i], json);
	json_close(json, ']');
	json_close(json, '}');
}

/* ---- reading ---- */

/* A whole number as it was written; 0 where there is none, so that what a later version leaves out does no harm. */
static uint64_t uint_of(const struct value *value)
{
	uint64_t number = 0;

	if (!value || value->kind != VALUE_NUMBER || !value->len || value->len > 18 ||
		strspn(value->text, "0123456789") != value->len)
		return 0;
	for (const char *at = value->text; *at; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

static unsigned unsigned_of(const struct value *value)
{
	uint64_t number = uint_of(value);

	return number > UINT32_MAX ? UINT32_MAX : (unsigned)number;
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : NULL;
}

static int get_texts(struct cover_history *ret, const struct value *top, const char *name, struct err *err)
{
	const struct {
		const char *key;
		char **into;
	} texts[] = {{"name", &ret->name}, {"language", &ret->language}, {"root", &ret->root}, {"file", &ret->file},
		{"function", &ret->function}};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *text = text_of(top, texts[i].key);
		if (!text || !*text)
			return err_set(err, ERR_USAGE, "%s: '%s' is missing or no text", name, texts[i].key);
		*texts[i].into = xstrdup(text);
	}
	if (ret->root[0] != '/')
		return err_set(err, ERR_USAGE, "%s: 'root' is no absolute path", name);
	return 0;
}

static void get_series(struct cover_series *series, const struct value *list)
{
	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->count && series->count < COVER_SERIES_MAX; i++) {
		const struct value *point = &list->items[i];
		if (point->kind != VALUE_LIST || point->count != 4)
			continue;
		struct series_point one = {uint_of(&point->items[0]), uint_of(&point->items[1]), uint_of(&point->items[2]),
			uint_of(&point->items[3])};
		if (!series->count || one.ms >= series->points[series->count - 1].ms)
			series->points[series->count++] = one;
	}
}

static void get_list(struct coverage_file *file, const struct value *list)
{
	if (!list || list->kind != VALUE_LIST || !list->count)
		return;
	file->list = xcalloc(list->count, sizeof(*file->list));
	for (size_t i = 0; i < list->count && i < LISTED_MAX; i++) {
		const struct value *one = &list->items[i];
		if (one->kind != VALUE_LIST || one->count != 3 || one->items[0].kind != VALUE_TEXT || !one->items[0].len)
			continue;
		file->list[file->list_count++] = (struct coverage_function){xstrdup(one->items[0].text), unsigned_of(&one->items[1]),
			one->items[2].kind == VALUE_BOOL && one->items[2].truth};
	}
}

static bool get_file(struct coverage_file *ret, const char *root, const struct value *value, size_t *lines)
{
	const char *name = value->kind == VALUE_MAP ? text_of(value, "name") : NULL, *sum = text_of(value, "sha256");
	unsigned char ignored[SHA256_SIZE];

	*ret = (struct coverage_file){0};
	if (!name || !coverage_is_source(name, strlen(name)))
		return false;
	ret->root = xstrdup(root);
	ret->name = xstrdup(name);
	ret->sha256 = sum && sha256_parse(sum, ignored) ? xstrdup(sum) : NULL;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const char *text = text_of(value, kinds[i].name);
		if (text && !lines_read(ret, text, kinds[i].kind))
			return false;
	}
	*lines += ret->hit_count;
	get_list(ret, value_get(value, "list"));
	coverage_file_count(ret);
	if (!ret->hit_count) { /* the sums alone are kept of some */
		ret->lines = unsigned_of(value_get(value, "lines"));
		ret->lines_hit = unsigned_of(value_get(value, "lines_hit"));
	}
	ret->functions = unsigned_of(value_get(value, "functions"));
	ret->functions_hit = unsigned_of(value_get(value, "functions_hit"));
	return *lines <= LCOV_LINES_ALL && ret->lines_hit <= ret->lines && ret->functions_hit <= ret->functions;
}

static int get_files(struct cover_history *ret, const struct value *list, const char *name, struct err *err)
{
	size_t lines = 0;

	if (!list || list->kind != VALUE_LIST || list->count > LCOV_RECORDS_MAX)
		return err_set(err, ERR_USAGE, "%s: 'files' is missing or no list", name);
	ret->coverage.files = xcalloc(list->count + 1, sizeof(*ret->coverage.files));
	for (size_t i = 0; i < list->count; i++)
		if (!get_file(&ret->coverage.files[ret->coverage.count++], ret->root, &list->items[i], &lines))
			return err_set(err, ERR_USAGE, "%s: 'files' has an entry that is none", name);
	return 0;
}

static int fill(struct cover_history *ret, const struct value *top, const char *name, struct err *err)
{
	const char *format = top->kind == VALUE_MAP ? text_of(top, "format") : NULL;

	if (!format || strcmp(format, COVER_HISTORY_FORMAT) != 0)
		return err_set(err, ERR_USAGE, "%s: not the history of a function of this version of hotcell ('format' is not '"
			COVER_HISTORY_FORMAT "')", name);
	if (get_texts(ret, top, name, err) < 0 || get_files(ret, value_get(top, "files"), name, err) < 0)
		return -1;
	ret->ended_ms = uint_of(value_get(top, "ended_ms"));
	ret->took_ms = uint_of(value_get(top, "took_ms"));
	ret->covered_ms = uint_of(value_get(top, "covered_ms"));
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		*(uint64_t *)((char *)&ret->totals + figures[i].offset) = uint_of(value_get(top, figures[i].name));
	ret->totals.rate = (double)uint_of(value_get(top, "execs_per_s"));
	get_series(&ret->series, value_get(top, "series"));
	const struct value *change = value_get(top, "change");
	if (change && change->kind == VALUE_MAP)
		ret->change = (struct function_change){true, unsigned_of(value_get(change, "more")),
			unsigned_of(value_get(change, "less")), unsigned_of(value_get(change, "edited"))};
	return 0;
}

int cover_history_read(struct cover_history *ret, const char *text, size_t len, const char *name, struct err *err)
{
	static const struct json_limits limits = {.bytes = COVER_HISTORY_MAX, .values = 2000000, .depth = 8};
	own(value_done) struct value top = {0};

	*ret = (struct cover_history){0};
	if (json_read(text, len, &limits, name, &top, err) < 0)
		return -1;
	if (fill(ret, &top, name, err) == 0)
		return 0;
	cover_history_done(ret);
	return -1;
}
