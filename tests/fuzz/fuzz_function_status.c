/* What a fuzzer at work leaves for others is read as a stranger's. Whatever was taken can be shown: no control byte comes out,
 * no line is wider than the terminal; and what is written of it is taken again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "cli/core/cli.h"
#include "view/function_status.h"

const struct cli_verb *const cli_verbs[] = {NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		assert((unsigned char)text->data[i] >= ' ' || text->data[i] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(function_status_done) struct function_status status = {0}, again = {0};
	own(buf_done) struct buf bytes = {0}, shown = {0}, text = {0};
	struct err err = {0};

	buf_add(&bytes, data, size);
	if (function_status_read(buf_text(&bytes), bytes.len, &status, &err) < 0) {
		assert(err.code == ERR_USAGE && err.text[0]);
		return 0;
	}
	assert(status.history.count <= HISTORY_MAX && status.targets.count == status.progress.target_count);
	if (!status.targets.count)
		return 0;
	status.alive = size % 2 == 0;
	status.folder = xstrdup("fuzz/x");
	const struct function_statuses all = {&status, 1};
	function_statuses_view(&all, 24, (unsigned)(20 + size % 200), false, &shown);
	function_statuses_lines(&all, &shown);
	check_text(&shown);
	const struct function_look look = function_status_look(&status);
	function_status_write(&status.progress, &look, status.pid, &text);
	assert(function_status_read(buf_text(&text), text.len, &again, &err) == 0);
	assert(again.progress.execs == status.progress.execs && again.history.count == status.history.count);
	return 0;
}
