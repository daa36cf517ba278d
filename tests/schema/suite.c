/* Runs JSON-Schema-Test-Suite against src/schema:
 *
 *	suite SUITE DRAFT...		SUITE holds `tests` and `remotes`; DRAFT is draft2020-12, draft2019-09, draft7
 *
 *	suite --instances N SUITE DRAFT
 *
 * prints one line of JSON for each schema of the required files that some value fits (one of its tests is valid):
 * {"file", "index", "values": N of them, "error": where none could be made}. tests/schema/judge.py has another
 * validator judge them.
 *
 * Every file of the draft is run, and of its optional ones all but those listed below. One line a draft: "ok ..." or
 * "not ok ..." with the count; each test that is judged wrongly is named. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_read.h"
#include "schema/generate.h"
#include "schema/schema.h"

#define DOCUMENTS_MAX 2000
#define FILES_MAX 500

/* Not run, by name, with the reason. */
static const struct {
	const char *file; /* below the draft's folder */
	const char *description; /* of the case; NULL: all of the file */
	const char *why;
} left_out[] = {
	{"optional/format/idn-hostname.json", NULL, "needs the tables of IDNA 2008, which hotcell does not carry"},
	{"optional/content.json", NULL, "of draft 7 only: what a text contains is a remark here, as the later drafts have it"},
};

static const struct json_limits limits = {.bytes = (size_t)64 << 20, .values = 1 << 22, .depth = 500, .any_text = true};
static struct schema_document documents[DOCUMENTS_MAX];
static size_t document_count;

static char *file_read(const char *path, size_t *ret_len)
{
	struct buf text = {0};
	char part[65536];
	FILE *file = fopen(path, "re");
	size_t got;

	if (!file)
		return NULL;
	while ((got = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&text, part, got);
	(void)fclose(file);
	*ret_len = text.len;
	return buf_take(&text);
}

static struct value *json_load(const char *path)
{
	struct err err;
	size_t len;
	own(freep) char *text = file_read(path, &len);
	struct value *value = xcalloc(1, sizeof(*value));

	if (!text || json_read(text, len, &limits, path, value, &err) < 0) {
		(void)fprintf(stderr, "not ok %s: %s\n", path, text ? err.text : "cannot be read");
		exit(1);
	}
	return value;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All JSON files below `folder`, sorted; the caller keeps them. */
static void files_find(const char *folder, char **files, size_t *count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat info;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || *count == FILES_MAX)
			continue;
		char *path = xfmt("%s/%s", folder, entry->d_name);
		size_t len = strlen(path);
		if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
			files_find(path, files, count);
		else if (len > 5 && strcmp(path + len - 5, ".json") == 0)
			files[(*count)++] = path;
	}
	if (dir)
		(void)closedir(dir);
	qsort(files, *count, sizeof(*files), by_name);
}

static void remotes_load(const char *folder, enum schema_draft draft)
{
	char *files[FILES_MAX];
	size_t count = 0;

	files_find(folder, files, &count);
	document_count = 0;
	for (size_t i = 0; i < count; i++) {
		const char *name = files[i] + strlen(folder) + 1;
		enum schema_draft own_draft = strncmp(name, "draft2019-09/", 13) == 0 ? SCHEMA_2019_09
			: strncmp(name, "draft7/", 7) == 0			      ? SCHEMA_07
			: strncmp(name, "draft2020-12/", 13) == 0		      ? SCHEMA_2020_12
										      : draft;
		documents[document_count++] = (struct schema_document){
			.uri = xfmt("http://localhost:1234/%s", name), .value = json_load(files[i]), .draft = own_draft};
	}
}

static bool is_left_out(const char *file, const char *description)
{
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++) {
		if (strcmp(left_out[i].file, file) == 0 && (!left_out[i].description || strcmp(left_out[i].description, description) == 0))
			return true;
	}
	return false;
}

struct score {
	size_t passed, failed, left_out;
};

static void case_run(const char *file, const struct value *group, enum schema_draft draft, struct score *score)
{
	const struct value *tests = value_get(group, "tests");
	const char *description = value_get(group, "description")->text;
	struct schema_options options = {.documents = documents, .document_count = document_count, .draft = draft,
		.assert_format = strncmp(file, "optional/format/", 16) == 0};
	struct err err = {0};

	if (is_left_out(file, description)) {
		score->left_out += tests->count;
		return;
	}
	own(schema_freep) struct schema *schema = schema_open(value_get(group, "schema"), &options, &err);
	for (size_t i = 0; i < tests->count; i++) {
		const struct value *test = &tests->items[i];
		bool expected = value_get(test, "valid")->truth;
		own(schema_errors_done) struct schema_errors errors = {0};
		enum schema_verdict verdict = schema ? schema_check(schema, value_get(test, "data"), &errors, &err) : SCHEMA_GAVE_UP;
		enum schema_verdict quick = schema ? schema_check(schema, value_get(test, "data"), NULL, &err) : verdict;
		bool told = verdict != SCHEMA_INVALID || errors.count > 0;
		if (verdict == quick && told && verdict == (expected ? SCHEMA_VALID : SCHEMA_INVALID)) {
			score->passed++;
			continue;
		}
		score->failed++;
		printf("# %s: %s: %s: should be %s%s%s\n", file, description, value_get(test, "description")->text,
			expected ? "valid" : "invalid", verdict == SCHEMA_GAVE_UP ? ": " : "", verdict == SCHEMA_GAVE_UP ? err.text : "");
		for (size_t j = 0; j < errors.count; j++)
			printf("#    %s: %s (%s)\n", errors.list[j].where, errors.list[j].text, errors.list[j].rule);
	}
}

/* ---- instances ---- */

static bool is_satisfiable(const struct value *group)
{
	const struct value *tests = value_get(group, "tests");

	for (size_t i = 0; i < tests->count; i++) {
		if (value_get(&tests->items[i], "valid")->truth)
			return true;
	}
	return false;
}

static void instances_write(const char *file, size_t index, const struct value *group, enum schema_draft draft, long count)
{
	struct schema_options options = {.documents = documents, .document_count = document_count, .draft = draft};
	struct err err = {0};
	struct draw draw;
	struct made made;
	long done = 0;
	own(schema_freep) struct schema *schema = schema_open(value_get(group, "schema"), &options, &err);
	own(generator_freep) struct generator *generator = schema ? generator_open(schema, NULL, &err) : NULL;

	draw_init(&draw, 7);
	printf("{\"file\":\"%s\",\"index\":%zu,\"values\":[", file, index);
	for (; generator && done < count && generator_make(generator, &draw, &made, &err) == 0; done++)
		printf("%s%s", done ? "," : "", made.text);
	draw_done(&draw);
	own(json_done) struct json json = {0};
	json_string(&json, done < count ? err.text : "");
	printf("],\"error\":%s}\n", buf_text(&json.out));
}

static enum schema_draft draft_of(const char *name)
{
	return strcmp(name, "draft7") == 0 ? SCHEMA_07 : strcmp(name, "draft2019-09") == 0 ? SCHEMA_2019_09 : SCHEMA_2020_12;
}

static int instances_run(const char *suite, const char *name, long count)
{
	own(freep) char *remotes = xfmt("%s/remotes", suite), *folder = xfmt("%s/tests/%s", suite, name);
	char *files[FILES_MAX];
	size_t file_count = 0;

	remotes_load(remotes, draft_of(name));
	files_find(folder, files, &file_count);
	for (size_t i = 0; i < file_count; i++) {
		const char *file = files[i] + strlen(folder) + 1;
		if (strncmp(file, "optional/", 9) == 0)
			continue;
		const struct value *groups = json_load(files[i]);
		for (size_t j = 0; j < groups->count; j++) {
			if (is_satisfiable(&groups->items[j]))
				instances_write(file, j, &groups->items[j], draft_of(name), count);
		}
	}
	return 0;
}

/* ---- the whole ---- */

static bool draft_run(const char *suite, const char *name)
{
	enum schema_draft draft = draft_of(name);
	own(freep) char *remotes = xfmt("%s/remotes", suite), *folder = xfmt("%s/tests/%s", suite, name);
	struct score required = {0}, optional = {0};
	char *files[FILES_MAX];
	size_t count = 0;

	remotes_load(remotes, draft);
	files_find(folder, files, &count);
	for (size_t i = 0; i < count; i++) {
		const char *file = files[i] + strlen(folder) + 1;
		const struct value *groups = json_load(files[i]);
		for (size_t j = 0; j < groups->count; j++)
			case_run(file, &groups->items[j], draft, strncmp(file, "optional/", 9) == 0 ? &optional : &required);
	}
	bool ok = required.passed > 500 && !required.failed && !optional.failed;
	printf("%s %s: required %zu passed, %zu failed; optional %zu passed, %zu failed, %zu left out\n", ok ? "ok" : "not ok", name,
		required.passed, required.failed, optional.passed, optional.failed, optional.left_out);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = argc > 2;

	if (argc == 5 && strcmp(argv[1], "--instances") == 0)
		return instances_run(argv[3], argv[4], strtol(argv[2], NULL, 10));
	for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
		printf("# left out: %s%s%s: %s\n", left_out[i].file, left_out[i].description ? ": " : "",
			left_out[i].description ? left_out[i].description : "", left_out[i].why);
	for (int i = 2; i < argc; i++)
		ok &= draft_run(argv[1], argv[i]);
	return ok ? 0 : 1;
}
