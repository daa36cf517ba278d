#include "fuzz/function/core/lcov.h"

#include <string.h>

void coverage_file_done(struct coverage_file *file)
{
	for (size_t i = 0; i < file->list_count; i++)
		free(file->list[i].name);
	free(file->list);
	free(file->hit);
	free(file->root);
	free(file->name);
	free(file->sha256);
	*file = (struct coverage_file){0};
}

void coverage_done(struct coverage *coverage)
{
	for (size_t i = 0; i < coverage->count; i++)
		coverage_file_done(&coverage->files[i]);
	free(coverage->files);
	*coverage = (struct coverage){0};
}

struct coverage_sums coverage_sums(const struct coverage_file *files, size_t count)
{
	struct coverage_sums sums = {.files = count};

	for (size_t i = 0; i < count; i++) {
		sums.lines += files[i].lines;
		sums.lines_hit += files[i].lines_hit;
		sums.functions += files[i].functions;
		sums.functions_hit += files[i].functions_hit;
	}
	return sums;
}

/* ---- names ---- */

/* What is shown as source is one: no settings, no keys, whatever the target says that it ran. */
static bool has_source_suffix(const char *name, size_t len)
{
	static const char *const suffixes[] = {".py", ".c", ".h", ".cc", ".cpp", ".cxx", ".c++", ".hh", ".hpp", ".hxx",
		".h++", ".inc", ".inl", ".ipp", ".y", ".l", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go",
		".rs", ".java", ".kt"};

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t end = strlen(suffixes[i]);
		if (len > end && name[len - end - 1] != '/' && memcmp(name + len - end, suffixes[i], end) == 0)
			return true;
	}
	return false;
}

bool coverage_is_source(const char *name, size_t len)
{
	if (!len || len > LCOV_NAME_MAX || !has_source_suffix(name, len))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f)
			return false;
	for (size_t at = 0; at <= len;) {
		const char *slash = at < len ? memchr(name + at, '/', len - at) : NULL;
		size_t step = (slash ? (size_t)(slash - name) : len) - at;
		bool dots = (step == 1 && name[at] == '.') || (step == 2 && name[at] == '.' && name[at + 1] == '.');
		if (step == 0 || dots)
			return false;
		at += step + 1;
	}
	return true;
}

/* ---- functions ---- */

static int by_name(const void *a, const void *b)
{
	const struct coverage_function *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : one->line < other->line ? 1 : one->line > other->line ? -1 : 0;
}

static void functions_join(struct coverage_file *file)
{
	size_t kept = 0;

	if (file->list_count)
		qsort(file->list, file->list_count, sizeof(*file->list), by_name);
	for (size_t i = 0; i < file->list_count; i++) {
		struct coverage_function *last = kept ? &file->list[kept - 1] : NULL;
		if (!last || strcmp(last->name, file->list[i].name) != 0) {
			file->list[kept++] = file->list[i];
			continue;
		}
		last->hit = last->hit || file->list[i].hit;
		free(file->list[i].name);
	}
	file->list_count = kept;
}

void coverage_file_count(struct coverage_file *file)
{
	unsigned hit = 0;

	functions_join(file);
	for (size_t i = 0; i < file->list_count; i++)
		hit += file->list[i].hit;
	if (file->list_count) {
		file->functions = (unsigned)file->list_count;
		file->functions_hit = hit;
	}
	file->lines = file->lines_hit = 0;
	for (size_t i = 1; i < file->hit_count; i++) {
		file->lines += file->hit[i] != LINE_NO_CODE;
		file->lines_hit += file->hit[i] == LINE_REACHED || file->hit[i] == LINE_FRESH;
	}
}

/* ---- reading ---- */

struct reader {
	const char *seen, *root;
	struct coverage *out;
	struct lcov_left *left;
	struct coverage_file *file; /* whose record it is in; NULL: none that is wanted */
	size_t lines, functions; /* of all */
};

/* The digits at *at, and what they are, cut at UINT32_MAX. False: there are none. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	const char *from = *at;

	for (*ret = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++)
		*ret = *ret > UINT32_MAX / 10 ? UINT32_MAX : *ret * 10 + (uint64_t)(**at - '0');
	return *at > from;
}

static void read_file(struct reader *reader, const char *at, const char *end)
{
	size_t seen = strlen(reader->seen);

	reader->file = NULL;
	if ((size_t)(end - at) <= seen + 1 || memcmp(at, reader->seen, seen) != 0 || at[seen] != '/' ||
		!coverage_is_source(at + seen + 1, (size_t)(end - at) - seen - 1)) {
		reader->left->outside++;
		return;
	}
	if (reader->out->count == LCOV_RECORDS_MAX) {
		reader->left->beyond++;
		return;
	}
	at += seen + 1;
	reader->out->files = xrealloc(reader->out->files, reader->out->count + 1, sizeof(*reader->out->files));
	reader->file = &reader->out->files[reader->out->count++];
	*reader->file = (struct coverage_file){.root = xstrdup(reader->root), .name = xfmt("%.*s", (int)(end - at), at)};
}

/* DA:LINE,COUNT[,SUM] */
static void read_line(struct reader *reader, const char *at, const char *end)
{
	struct coverage_file *file = reader->file;
	uint64_t line, count;
	bool negative;

	if (!take_number(&at, end, &line) || line == 0 || at == end || *at++ != ',')
		return;
	negative = at < end && *at == '-'; /* an overflow of some older tools */
	at += negative;
	if (!take_number(&at, end, &count))
		return;
	if (line > LCOV_LINE_MAX) {
		reader->left->beyond++;
		return;
	}
	if (line >= file->hit_count) {
		size_t more = (size_t)line + 64 - (size_t)line % 64 - file->hit_count;
		if (reader->lines + more > LCOV_LINES_ALL) {
			reader->left->beyond++;
			return;
		}
		reader->lines += more;
		file->hit = xrealloc(file->hit, file->hit_count + more, 1);
		memset(file->hit + file->hit_count, LINE_NO_CODE, more);
		file->hit_count += more;
	}
	if (count && !negative)
		file->hit[line] = LINE_REACHED;
	else if (file->hit[line] == LINE_NO_CODE)
		file->hit[line] = LINE_MISSED;
}

static void add_function(struct reader *reader, const char *name, const char *end, uint64_t line, bool hit)
{
	struct coverage_file *file = reader->file;
	size_t len = (size_t)(end - name);

	if (len == 0 || memchr(name, '\0', len))
		return;
	/* each is named twice: where it is, and whether it was called */
	if (len > LCOV_NAME_MAX || file->list_count == 2 * LCOV_FUNCTIONS_MAX || reader->functions == 2 * LCOV_FUNCTIONS_ALL) {
		reader->left->beyond++;
		return;
	}
	if ((file->list_count & (file->list_count - 1)) == 0) /* a power of two: it is full */
		file->list = xrealloc(file->list, file->list_count ? 2 * file->list_count : 1, sizeof(*file->list));
	file->list[file->list_count++] = (struct coverage_function){.name = xfmt("%.*s", (int)len, name),
		.line = line > LCOV_LINE_MAX ? 0 : (unsigned)line, .hit = hit};
	reader->functions++;
}

/* FN:LINE,NAME or FN:LINE,END,NAME */
static void read_function(struct reader *reader, const char *at, const char *end)
{
	uint64_t line, last;

	if (!take_number(&at, end, &line) || at == end || *at++ != ',')
		return;
	const char *name = at;
	if (take_number(&at, end, &last) && at < end && *at == ',')
		name = at + 1;
	add_function(reader, name, end, line, false);
}

/* FNDA:COUNT,NAME */
static void read_called(struct reader *reader, const char *at, const char *end)
{
	uint64_t count;

	if (take_number(&at, end, &count) && at < end && *at == ',')
		add_function(reader, at + 1, end, 0, count > 0);
}

/* FNF:COUNT, FNH:COUNT: all that some tools say of functions. */
static void read_found(struct reader *reader, const char *at, const char *end)
{
	uint64_t count;

	if (take_number(&at, end, &count))
		reader->file->functions = count > LCOV_FUNCTIONS_MAX ? LCOV_FUNCTIONS_MAX : (unsigned)count;
}

static void read_hit(struct reader *reader, const char *at, const char *end)
{
	uint64_t count;

	if (take_number(&at, end, &count))
		reader->file->functions_hit = count > LCOV_FUNCTIONS_MAX ? LCOV_FUNCTIONS_MAX : (unsigned)count;
}

static const struct {
	const char *tag;
	void (*read)(struct reader *reader, const char *at, const char *end);
} tags[] = {
	{"DA:", read_line}, {"FN:", read_function}, {"FNDA:", read_called}, {"FNF:", read_found}, {"FNH:", read_hit},
};

static void read_any(struct reader *reader, const char *at, const char *end)
{
	size_t len = (size_t)(end - at);

	if (len > 3 && memcmp(at, "SF:", 3) == 0) {
		read_file(reader, at + 3, end);
		return;
	}
	if (len >= 13 && memcmp(at, "end_of_record", 13) == 0) {
		reader->file = NULL;
		return;
	}
	for (size_t i = 0; reader->file && i < ARRAY_LEN(tags); i++) {
		size_t tag = strlen(tags[i].tag);
		if (len > tag && memcmp(at, tags[i].tag, tag) == 0) {
			tags[i].read(reader, at + tag, end);
			return;
		}
	}
}

/* ---- joining ---- */

static int by_path(const void *a, const void *b)
{
	const struct coverage_file *one = a, *other = b;
	int order = strcmp(one->root, other->root);

	return order ? order : strcmp(one->name, other->name);
}

/* Takes what `from` has; a line that one of them reached is reached. */
static void file_join(struct coverage_file *into, struct coverage_file *from)
{
	if (from->hit_count > into->hit_count) {
		into->hit = xrealloc(into->hit, from->hit_count, 1);
		memset(into->hit + into->hit_count, LINE_NO_CODE, from->hit_count - into->hit_count);
		into->hit_count = from->hit_count;
	}
	for (size_t i = 0; i < from->hit_count; i++)
		into->hit[i] = from->hit[i] > into->hit[i] ? from->hit[i] : into->hit[i];
	if (from->list_count) {
		into->list = xrealloc(into->list, into->list_count + from->list_count, sizeof(*into->list));
		memcpy(into->list + into->list_count, from->list, from->list_count * sizeof(*from->list));
		into->list_count += from->list_count;
		from->list_count = 0;
	}
	into->functions = from->functions > into->functions ? from->functions : into->functions;
	into->functions_hit = from->functions_hit > into->functions_hit ? from->functions_hit : into->functions_hit;
	if (!into->sha256)
		into->sha256 = ptr_take(&from->sha256);
	coverage_file_done(from);
}

static void coverage_join(struct coverage *coverage)
{
	size_t kept = 0;

	if (coverage->count)
		qsort(coverage->files, coverage->count, sizeof(*coverage->files), by_path);
	for (size_t i = 0; i < coverage->count; i++) {
		if (kept && by_path(&coverage->files[kept - 1], &coverage->files[i]) == 0)
			file_join(&coverage->files[kept - 1], &coverage->files[i]);
		else
			coverage->files[kept++] = coverage->files[i];
	}
	coverage->count = kept;
	for (size_t i = 0; i < kept; i++) {
		struct coverage_file *file = &coverage->files[i];
		coverage_file_count(file);
		if (file->functions_hit > file->functions)
			file->functions_hit = file->functions;
	}
}

void lcov_read(const char *text, size_t len, const char *seen, const char *root, struct coverage *ret,
	struct lcov_left *ret_left)
{
	struct reader reader = {.seen = seen, .root = root, .out = ret, .left = ret_left};
	const char *end = text + len;

	*ret = (struct coverage){0};
	*ret_left = (struct lcov_left){0};
	for (const char *at = text; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		if (stop > at && stop[-1] == '\r')
			stop--;
		read_any(&reader, at, stop);
		at = next;
	}
	coverage_join(ret);
}

static void file_copy(const struct coverage_file *from, struct coverage_file *ret)
{
	*ret = *from;
	ret->root = xstrdup(from->root);
	ret->name = xstrdup(from->name);
	ret->sha256 = from->sha256 ? xstrdup(from->sha256) : NULL;
	ret->hit = from->hit_count ? xrealloc(NULL, from->hit_count, 1) : NULL;
	if (from->hit_count)
		memcpy(ret->hit, from->hit, from->hit_count);
	ret->list = from->list_count ? xcalloc(from->list_count, sizeof(*ret->list)) : NULL;
	for (size_t i = 0; i < from->list_count; i++)
		ret->list[i] = (struct coverage_function){xstrdup(from->list[i].name), from->list[i].line, from->list[i].hit};
}

void coverage_merge(struct coverage *into, const struct coverage *from)
{
	if (!from->count)
		return;
	into->files = xrealloc(into->files, into->count + from->count, sizeof(*into->files));
	for (size_t i = 0; i < from->count; i++)
		file_copy(&from->files[i], &into->files[into->count + i]);
	into->count += from->count;
	coverage_join(into);
}
