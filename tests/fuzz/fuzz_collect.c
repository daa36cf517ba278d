/* Whatever a process that copied a run's files may say of it: it is refused whole, or all of it is within bounds, with
 * reasons from our own lists, and says the same when it is written and read again. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cell/collect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct fs_copy_report *report, const struct err *failed)
{
	assert(strnlen(failed->text, sizeof(failed->text)) < sizeof(failed->text));
	assert((failed->code == 0) == (failed->text[0] == '\0'));
	assert(report->capped == (report->cap != NULL));
	for (size_t i = 0; i < FS_SKIPPED_KEPT; i++) {
		assert((report->skipped[i].name != NULL) == (i < report->skipped_count));
		assert((report->skipped[i].reason != NULL) == (i < report->skipped_count));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(fs_copy_report_done) struct fs_copy_report report, again;
	own(buf_done) struct buf first = {0};
	own(buf_done) struct buf second = {0};
	own(freep) char *bytes = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	struct err failed, failed_again;

	memcpy(bytes, data, size);
	again = (struct fs_copy_report){0};
	if (collect_report_decode(bytes, size, &report, &failed) < 0) {
		assert(report.skipped[0].name == NULL && report.files == 0);
		return 0;
	}
	check(&report, &failed);
	collect_report_encode(&report, &failed, &first);
	assert(collect_report_decode(first.data, first.len, &again, &failed_again) == 0);
	collect_report_encode(&again, &failed_again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	return 0;
}
