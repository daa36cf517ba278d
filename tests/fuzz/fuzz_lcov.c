/* What is left of a measurement in a cell, and a history that somebody else wrote. What comes out of the first is below its root,
 * counts what it has, and is the same after it was written and read again. */
#include <assert.h>
#include <string.h>

#include "view/coverage.h"
#include "fuzz/function/cover_history.h"
#include "fuzz/function/core/lcov.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(const struct coverage_file *file)
{
	unsigned lines = 0, hit = 0;

	assert(!strstr(file->name, "..") || (!strstr(file->name, "/../") && strncmp(file->name, "../", 3) != 0));
	assert(coverage_is_source(file->name, strlen(file->name)));
	for (size_t i = 1; i < file->hit_count; i++) {
		lines += file->hit[i] != LINE_NO_CODE;
		hit += file->hit[i] == LINE_REACHED;
	}
	assert(file->lines == lines && file->lines_hit == hit);
	assert(file->functions_hit <= file->functions && file->list_count <= file->functions);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	own(coverage_done) struct coverage coverage = {0}, again = {0};
	own(cover_history_done) struct cover_history history = {0};
	own(buf_done) struct buf text = {0};
	struct lcov_left left;
	struct err err = {0};

	lcov_read((const char *)data, size, "/target", "/r", &coverage, &left);
	for (size_t i = 0; i < coverage.count; i++)
		check(&coverage.files[i]);
	const struct function_result result = {.coverage = coverage.files, .coverage_count = coverage.count};
	coverage_put_lcov(&result, &text);
	lcov_read(buf_text(&text), text.len, "/r", "/r", &again, &left);
	assert(again.count == coverage.count);
	for (size_t i = 0; i < again.count; i++)
		assert(again.files[i].lines == coverage.files[i].lines && again.files[i].lines_hit == coverage.files[i].lines_hit);
	(void)!cover_history_read(&history, (const char *)data, size, "x", &err);
	return 0;
}
