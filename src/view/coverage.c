#include "view/coverage.h"

#include <inttypes.h>
#include <string.h>

#include "base/term.h"

#define ROWS_MAX 30u
#define NAME_WIDTH 44
#define PLACE_WIDTH 18

struct function_change coverage_change(const struct function_result *result)
{
	struct function_change all = {0};

	for (size_t i = 0; i < result->target_count; i++) {
		const struct function_change *one = &result->changes[i];
		if (!one->known || !result->covered[i].files)
			continue;
		all.known = true;
		all.more += one->more;
		all.less += one->less;
		all.edited += one->edited;
	}
	return all;
}

void coverage_put_since(const struct function_change *change, struct buf *out)
{
	buf_fmt(out, "+%u line%s reached, -%u", change->more, change->more == 1 ? "" : "s", change->less);
	if (change->edited)
		buf_fmt(out, "; %u file%s edited since, and not compared", change->edited, change->edited == 1 ? "" : "s");
}

/* ---- a table ---- */

static void put_left(const char *text, struct buf *out)
{
	size_t before = out->len, len = strlen(text);

	if (len > NAME_WIDTH - 2) { /* the end of a path says more than its beginning */
		size_t cut = len - (NAME_WIDTH - 5);
		while (((unsigned char)text[cut] & 0xc0) == 0x80)
			cut++;
		buf_str(out, "...");
		text += cut;
	}
	term_line(text, strlen(text), NAME_WIDTH - 2, out);
	while (out->len - before < NAME_WIDTH)
		buf_char(out, ' ');
}

static void put_part(uint64_t part, uint64_t whole, int width, struct buf *out)
{
	own(freep) char *text = !whole ? xstrdup("-")
		: xfmt("%" PRIu64 "/%" PRIu64 "  %5.1f %%", part, whole, (double)part * 100 / (double)whole);

	buf_fmt(out, "%*s", width, text);
}

static void put_row(const char *name, const struct coverage_sums *sums, struct buf *out)
{
	put_left(name, out);
	put_part(sums->lines_hit, sums->lines, PLACE_WIDTH, out);
	put_part(sums->functions_hit, sums->functions, PLACE_WIDTH + 2, out);
	buf_char(out, '\n');
}

static char *path_from(const struct coverage_file *file, const char *here)
{
	own(freep) char *path = xfmt("%s/%s", file->root, file->name);
	size_t len = here ? strlen(here) : 0;

	return xstrdup(len > 1 && strncmp(path, here, len) == 0 && path[len] == '/' ? path + len + 1 : path);
}

void coverage_put_table(const struct function_result *result, const char *here, struct buf *out)
{
	struct coverage_sums all = coverage_sums(result->coverage, result->coverage_count);
	struct function_change change = coverage_change(result);
	size_t shown = result->coverage_count > ROWS_MAX ? ROWS_MAX - 1 : result->coverage_count;

	if (!all.files)
		return;
	buf_fmt(out, "\n%-*s%*s%*s\n", NAME_WIDTH, "coverage by the corpus", PLACE_WIDTH, "lines", PLACE_WIDTH + 2, "functions");
	for (size_t i = 0; i < shown; i++) {
		const struct coverage_sums one = coverage_sums(&result->coverage[i], 1);
		own(freep) char *path = path_from(&result->coverage[i], here);
		put_row(path, &one, out);
	}
	if (shown < result->coverage_count)
		buf_fmt(out, "and %zu files more\n", result->coverage_count - shown);
	if (result->coverage_count > 1)
		put_row("all", &all, out);
	if (change.known) {
		buf_str(out, "since the last run: ");
		coverage_put_since(&change, out);
		buf_char(out, '\n');
	}
}

/* ---- JSON ---- */

void coverage_put_sums(const struct coverage_sums *sums, struct json *json)
{
	json_put_uint(json, "lines", sums->lines);
	json_put_uint(json, "lines_hit", sums->lines_hit);
	json_put_uint(json, "functions", sums->functions);
	json_put_uint(json, "functions_hit", sums->functions_hit);
}

void coverage_put_change(const struct function_change *change, struct json *json)
{
	json_key(json, "change");
	if (!change->known) {
		json_null(json);
		return;
	}
	json_open(json, '{');
	json_put_uint(json, "more", change->more);
	json_put_uint(json, "less", change->less);
	json_put_uint(json, "edited", change->edited);
	json_close(json, '}');
}

/* Lists of numbers would be most of the output; ranges are what people read, too. */
static void put_missed(const struct coverage_file *file, struct json *json)
{
	json_key(json, "missed");
	json_open(json, '[');
	for (size_t i = 1; i < file->hit_count; i++) {
		size_t from = i;
		while (i < file->hit_count && file->hit[i] == LINE_MISSED)
			i++;
		if (i == from)
			continue;
		json_open(json, '[');
		json_uint(json, from);
		json_uint(json, i - 1);
		json_close(json, ']');
	}
	json_close(json, ']');
}

void coverage_put_json(const struct function_result *result, struct json *json)
{
	struct coverage_sums all = coverage_sums(result->coverage, result->coverage_count);
	struct function_change change = coverage_change(result);

	json_key(json, "coverage");
	json_open(json, '{');
	coverage_put_sums(&all, json);
	coverage_put_change(&change, json);
	json_key(json, "files");
	json_open(json, '[');
	for (size_t i = 0; i < result->coverage_count; i++) {
		const struct coverage_sums one = coverage_sums(&result->coverage[i], 1);
		own(freep) char *path = path_from(&result->coverage[i], NULL);
		json_open(json, '{');
		json_put_string(json, "file", path);
		coverage_put_sums(&one, json);
		put_missed(&result->coverage[i], json);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_close(json, '}');
}

/* ---- lcov ---- */

/* A line of it has an end and no other mark: what a target calls its functions must not make another. */
static void put_name(const char *name, struct buf *out)
{
	for (; *name; name++)
		buf_char(out, (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
	buf_char(out, '\n');
}

static void put_file(const struct coverage_file *file, struct buf *out)
{
	own(freep) char *path = path_from(file, NULL);

	buf_str(out, "TN:\nSF:");
	put_name(path, out);
	for (size_t i = 0; i < file->list_count; i++) {
		buf_fmt(out, "FN:%u,", file->list[i].line);
		put_name(file->list[i].name, out);
	}
	for (size_t i = 0; i < file->list_count; i++) {
		buf_fmt(out, "FNDA:%d,", file->list[i].hit);
		put_name(file->list[i].name, out);
	}
	buf_fmt(out, "FNF:%u\nFNH:%u\n", file->functions, file->functions_hit);
	for (size_t i = 1; i < file->hit_count; i++)
		if (file->hit[i] != LINE_NO_CODE)
			buf_fmt(out, "DA:%zu,%d\n", i, file->hit[i] == LINE_REACHED);
	buf_fmt(out, "LF:%u\nLH:%u\nend_of_record\n", file->lines, file->lines_hit);
}

void coverage_put_lcov(const struct function_result *result, struct buf *out)
{
	for (size_t i = 0; i < result->coverage_count; i++)
		put_file(&result->coverage[i], out);
}
