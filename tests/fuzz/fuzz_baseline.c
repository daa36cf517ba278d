/* A baseline is a stranger's. What is read of it are ids and nothing else; and a capsule, whatever it says, can be written in
 * every format, of which the ones that are baselines have its id again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "report/findings.h"
#include "view/findings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ids(const struct strings *ids)
{
	for (size_t i = 0; i < ids->count; i++)
		assert(strlen(ids->items[i]) == FINDING_ID_LEN && strspn(ids->items[i], "0123456789abcdef") == FINDING_ID_LEN);
}

static void write_all(const struct finding *finding)
{
	const struct finding *const list[] = {finding};
	const struct findings findings = {.list = list, .count = 1, .version = "0.1.0", .now = 1800000000};
	bool fixed = finding->state == FINDING_FIXED;

	for (enum finding_format format = 0; format < FINDING_FORMAT_COUNT; format++) {
		own(buf_done) struct buf out = {0};
		own(strings_done) struct strings ids = {0};
		struct err err = {0};
		findings_write(&findings, format, &out);
		assert(out.len > 0 && strlen(out.data) == out.len);
		if (format != FINDINGS_JSON && format != FINDINGS_SARIF)
			continue;
		assert(baseline_read(out.data, out.len, "again", &ids, &err) == 0);
		assert(ids.count == (format == FINDINGS_SARIF && fixed ? 0 : 1));
		assert(findings_over(&findings, GATE_ANY, &ids) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(finding_done) struct finding finding = {0};
	own(strings_done) struct strings ids = {0};
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	buf_add(&text, data, size);
	if (baseline_read(buf_text(&text), text.len, "input", &ids, &err) < 0)
		assert(err.code == ERR_USAGE && err.text[0] && ids.count == 0);
	check_ids(&ids);
	if (capsule_read(&finding, buf_text(&text), text.len, "input", &err) == 0) {
		own(buf_done) struct buf whole = {0};
		finding_write(&finding, ".hotcell/examples", 1800000000, &whole);
		write_all(&finding);
	}
	return 0;
}
