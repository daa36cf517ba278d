#include "cli/fuzz_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fs.h"
#include "base/out_file.h"
#include "cli/core/cli.h"

void fuzz_kept_done(struct fuzz_kept *kept)
{
	store_done(&kept->store);
	strings_done(&kept->seen);
	strings_done(&kept->fresh);
	strings_done(&kept->baseline);
	if (kept->elsewhere)
		fd_close(&kept->elsewhere_fd);
	free(kept->elsewhere);
}

int fuzz_kept_gate(struct fuzz_kept *kept, const char *fail_on, const char *baseline, const char *sarif, struct err *err)
{
	own(buf_done) struct buf text = {0};

	(void)finding_gate_read(fail_on, &kept->gate); /* the table's choices */
	if (baseline && fs_read_small(AT_FDCWD, baseline, BASELINE_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--baseline");
	}
	if (baseline && baseline_read(buf_text(&text), text.len, baseline, &kept->baseline, err) < 0)
		return err_wrap(err, "--baseline");
	if (!sarif || out_file_is_stdout(sarif) || out_file_check(sarif, true, err) == 0)
		return 0;
	err->code = ERR_USAGE;
	return err_wrap(err, "--export-sarif");
}

int fuzz_kept_open(struct fuzz_kept *kept, const char *folder, struct err *err)
{
	if (store_open(&kept->store, folder, err) < 0)
		return -1;
	for (size_t i = 0; i < kept->store.unread.count; i++)
		cli_say("%s", kept->store.unread.items[i]);
	return 0;
}

/* ---- one ---- */

bool fuzz_kept_count(struct fuzz_kept *kept, const struct finding *finding)
{
	if (strings_have(&kept->seen, finding->id))
		return false;
	strings_add(&kept->seen, finding->id);
	kept->severities[finding_severity(finding)]++;
	return true;
}

void fuzz_kept_fail(struct fuzz_kept *kept, const struct err *err)
{
	if (!kept->failed.code)
		(void)cli_fail(err);
	kept->failed = *err;
}

static int elsewhere_open(struct fuzz_kept *kept, struct err *err)
{
	const char *above = getenv("TMPDIR");
	own(freep) char *path = xfmt("%s/hotcell-findings-XXXXXX", above && *above == '/' ? above : "/tmp");

	if (kept->elsewhere)
		return 0;
	if (!mkdtemp(path))
		return err_errno(err, errno, "make the folder '%s'", path);
	kept->elsewhere_fd = beneath_root(path, err);
	if (kept->elsewhere_fd < 0)
		return -1;
	kept->elsewhere = ptr_take(&path);
	return 0;
}

/* A finding is never lost for want of a place: its capsule goes to a folder of its own, or is printed. */
static void keep_elsewhere(struct fuzz_kept *kept, const struct finding *finding, const struct err *why)
{
	own(json_done) struct json json = {.pretty = true};
	own(freep) char *name = xfmt("%s.json", finding->id);
	struct err err = {0};

	capsule_write(finding, &json);
	buf_char(&json.out, '\n');
	if (elsewhere_open(kept, &err) == 0 && beneath_write(kept->elsewhere_fd, name, &json.out, 0600, &err) == 0) {
		cli_say("finding %s could not be stored: %s; its capsule is '%s/%s'", finding->id, why->text, kept->elsewhere, name);
		return;
	}
	cli_say("finding %s could not be stored: %s; nor elsewhere: %s; this is its capsule:", finding->id, why->text, err.text);
	(void)!cli_print_to(STDERR_FILENO, &json.out);
}

bool fuzz_kept_add(struct fuzz_kept *kept, struct finding *finding, bool first)
{
	struct err err = {0};
	bool is_new = false;

	finding->last_seen = time(NULL);
	finding->first_seen = finding->first_seen ? finding->first_seen : finding->last_seen;
	finding->times = first ? 1 : 0;
	finding->state = FINDING_OPEN;
	if (store_add(&kept->store, finding, &is_new, &err) < 0) {
		keep_elsewhere(kept, finding, &err);
		kept->failed = err;
	}
	if (is_new)
		strings_add(&kept->fresh, finding->id);
	return is_new;
}

bool fuzz_kept_retried(struct fuzz_kept *kept, const struct finding *finding, bool still)
{
	struct finding *known = NULL;
	struct err err = {0};

	for (size_t i = 0; i < kept->store.count && !known; i++)
		known = strcmp(kept->store.items[i].id, finding->id) == 0 ? &kept->store.items[i] : NULL;
	bool fixed = !still && known && known->state != FINDING_FIXED && !finding_is_suppressed(known, time(NULL));
	if (still && fuzz_kept_count(kept, finding) && known) {
		known->times++;
		known->last_seen = time(NULL);
		known->state = known->state == FINDING_FIXED ? FINDING_OPEN : known->state;
	} else if (fixed) {
		known->state = FINDING_FIXED;
	}
	if (known && store_put(&kept->store, known, &err) < 0)
		fuzz_kept_fail(kept, &err);
	return fixed;
}

/* ---- all ---- */

static int by_severity(const void *a, const void *b)
{
	return finding_order(*(const struct finding *const *)a, *(const struct finding *const *)b);
}

const struct finding **fuzz_kept_list(const struct fuzz_kept *kept, size_t *ret_count)
{
	const struct finding **list = xcalloc(kept->seen.count + 1, sizeof(const struct finding *));

	*ret_count = 0;
	for (size_t i = 0; i < kept->seen.count; i++) {
		const struct finding *finding = store_find(&kept->store, kept->seen.items[i]);
		if (finding)
			list[(*ret_count)++] = finding;
	}
	if (*ret_count)
		qsort(list, *ret_count, sizeof(*list), by_severity);
	return list;
}

struct findings fuzz_findings(const struct finding *const *list, size_t count, const char *title, const struct strings *gaps,
	const char *folder)
{
	return (struct findings){.list = list,
		.count = count,
		.title = title,
		.version = HOTCELL_VERSION,
		.gaps = gaps,
		.capsule_folder = folder,
		.now = time(NULL)};
}

void fuzz_put_findings(const struct findings *findings, struct buf *out)
{
	if (!findings->count)
		return;
	buf_char(out, '\n');
	findings_write(findings, FINDINGS_TABLE, out);
	buf_str(out, "\nTo reproduce one:\n");
	for (size_t i = 0; i < findings->count; i++) {
		buf_str(out, "  ");
		finding_command(findings->list[i], findings->capsule_folder, out);
		buf_char(out, '\n');
	}
}

int fuzz_print(const struct buf *text, const char *file, const char *other)
{
	bool taken = (file && out_file_is_stdout(file)) || (other && out_file_is_stdout(other));

	return cli_print_to(taken ? STDERR_FILENO : STDOUT_FILENO, text);
}

int fuzz_write_sarif(const struct findings *findings, const char *path)
{
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	findings_write(findings, FINDINGS_SARIF, &text);
	if (out_file_is_stdout(path))
		return cli_print(&text);
	return out_file_write(path, &text, true, &err) < 0 ? cli_fail(&err) : 0;
}

/* ---- the audit log ---- */

/* Several may write at once. */
static int flush(struct audit *audit, struct err *err)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	int rc = -1;

	for (int tries = 0; tries < 100 && (rc = audit_flush(audit, err)) < 0 && err->code == EAGAIN; tries++)
		(void)nanosleep(&pause, NULL);
	return rc < 0 ? err_wrap(err, "the audit log") : 0;
}

int fuzz_log_start(struct audit *audit, const char *target, const char *kind, size_t tools, size_t known, struct err *err)
{
	struct json *json = audit_begin(audit, "fuzz-start");

	audit_text(audit, "target", target);
	json_put_string(json, "kind", kind);
	json_put_uint(json, "tools", tools);
	json_put_uint(json, "known", known);
	audit_end(audit);
	return flush(audit, err);
}

int fuzz_log_end(struct audit *audit, const char *target, uint64_t calls, size_t findings, size_t fresh, size_t fixed, int code,
	const struct fuzz_cells *cells, struct err *err)
{
	struct json *json = audit_begin(audit, "fuzz-end");

	audit_text(audit, "target", target);
	json_put_uint(json, "calls", calls);
	json_put_uint(json, "findings", findings);
	json_put_uint(json, "new", fresh);
	json_put_uint(json, "fixed", fixed);
	json_put_int(json, "exit", code);
	json_put_uint(json, "cells", cells->started);
	json_put_uint(json, "cells_left_out", cells->left_out);
	if (cells->left_out)
		json_put_uint(json, "left_out_refused", cells->left_out_refused);
	audit_end(audit);
	return flush(audit, err);
}

int fuzz_log_again(struct audit *audit, const char *event, const struct finding *finding, const char *verdict, struct err *err)
{
	struct json *json = audit_begin(audit, event);

	json_put_string(json, "finding", finding->id);
	audit_text(audit, "target", finding->target);
	json_put_string(json, "verdict", verdict);
	audit_end(audit);
	return flush(audit, err);
}
