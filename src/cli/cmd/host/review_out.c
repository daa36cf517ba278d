#include "cli/cmd/host/review_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/fs.h"
#include "base/term.h"
#include "project/state.h"
#include "cell/cell.h"
#include "cli/core/cli.h"
#include "base/out_file.h"
#include "report/review.h"

#define SAVED_MAX ((size_t)16 << 20)
#define LINE_SHOWN 600
#define PROBES_MAX 64

static void put_line(struct buf *out, const char *before, const char *text)
{
	buf_str(out, before);
	term_line(text, strlen(text), LINE_SHOWN, out);
	buf_char(out, '\n');
}

/* ---- files ---- */

static int write_file(const char *path, const struct buf *text, const char *what)
{
	own(buf_done) struct buf shown = {0};
	struct err err = {0};

	if (out_file_is_stdout(path))
		return cli_print(text);
	if (out_file_write(path, text, true, &err) < 0)
		return cli_fail(&err);
	term_line(path, strlen(path), LINE_SHOWN, &shown);
	cli_say("%s: %s", what, buf_text(&shown));
	return 0;
}

static bool is_stdout(const char *path)
{
	return path && out_file_is_stdout(path);
}

bool review_files_on_stdout(const struct review_files *files)
{
	return is_stdout(files->save) || is_stdout(files->html) || is_stdout(files->sarif);
}

int review_files_check(const struct review_files *files, bool json, struct err *err)
{
	const struct {
		const char *option, *path;
	} wanted[] = {{"--json", json ? "-" : NULL}, {"--save -", files->save}, {"--html -", files->html}, {"--sarif -", files->sarif}};
	const char *taken = NULL;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (is_stdout(wanted[i].path) && taken)
			return err_set(err, ERR_USAGE, "%s and %s both want stdout, which can hold one document: give one of them a file",
				taken, wanted[i].option);
		if (is_stdout(wanted[i].path))
			taken = wanted[i].option;
		else if (wanted[i].path && out_file_check(wanted[i].path, true, err) < 0)
			return -1;
	}
	return 0;
}

/* A path as in a repository: from this folder, or a name alone. */
static const char *place_of(const char *save)
{
	own(freep) char *here = getcwd(NULL, 0);
	size_t len = here ? strlen(here) : 0;

	if (!save || out_file_is_stdout(save))
		return "review.json";
	if (save[0] != '/')
		return save;
	if (len > 1 && strncmp(save, here, len) == 0 && save[len] == '/')
		return save + len + 1;
	return strrchr(save, '/') + 1;
}

static int write_sarif(const struct review *review, const struct review_files *files)
{
	own(json_done) struct json json = {.pretty = true};

	review_sarif(review, place_of(files->save), &json);
	buf_char(&json.out, '\n');
	return write_file(files->sarif, &json.out, "the SARIF log is written");
}

int review_write(const struct review *review, const struct review_files *files)
{
	own(buf_done) struct buf text = {0}, page = {0};
	int saved = 0, shown = 0, told = 0;

	if (files->save) {
		review_save(review, &text);
		saved = write_file(files->save, &text, "the review is saved");
	}
	if (files->html) {
		review_html(review, &page);
		shown = write_file(files->html, &page, "the page is written");
	}
	if (files->sarif)
		told = write_sarif(review, files);
	return saved ? saved : shown ? shown : told;
}

int review_read(const char *path, struct value *ret, struct err *err)
{
	own(buf_done) struct buf text = {0}, shown = {0};

	term_line(path, strlen(path), 200, &shown);
	if (fs_read_small(AT_FDCWD, path, SAVED_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--compare");
	}
	return review_load(buf_text(&text), text.len, buf_text(&shown), ret, err);
}

/* ---- since then ---- */

void review_put_changes(const struct review_changes *changes, const char *path, struct buf *out)
{
	own(buf_done) struct buf shown = {0};

	term_line(path, strlen(path), 200, &shown);
	if (*changes->note)
		put_line(out, "\nThe two reviews are not of the same: ", changes->note);
	buf_fmt(out, "\nSince '%s', %zu attacks compared: %zu worse, %zu better\n", buf_text(&shown), changes->compared, changes->worse,
		changes->count - changes->worse);
	for (size_t i = 0; i < changes->count; i++)
		put_line(out, changes->items[i].worse ? "  worse   " : "  better  ", changes->items[i].text);
}

static void put_list(const struct review_changes *changes, const char *key, bool worse, struct json *json)
{
	json_key(json, key);
	json_open(json, '[');
	for (size_t i = 0; i < changes->count; i++)
		if (changes->items[i].worse == worse)
			json_string(json, changes->items[i].text);
	json_close(json, ']');
}

void review_put_changes_json(const struct review_changes *changes, const char *path, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "file", path);
	json_put_uint(json, "compared", changes->compared);
	json_put_string(json, "note", changes->note);
	put_list(changes, "worse", true, json);
	put_list(changes, "better", false, json);
	json_close(json, '}');
}

/* ---- how to get what is lacking ---- */

/* Which of the things doctor tries makes a protection. */
static const struct {
	const char *protection, *probe;
} makers[] = {
	{"user-namespace", "user namespaces"},
	{"pid-namespace", "pid, mount, ipc and uts namespaces"},
	{"mount-namespace", "pid, mount, ipc and uts namespaces"},
	{"ipc-namespace", "pid, mount, ipc and uts namespaces"},
	{"uts-namespace", "pid, mount, ipc and uts namespaces"},
	{"net-namespace", "network namespace"},
	{"cgroup-namespace", "cgroup namespace"},
	{"private-proc", "private /proc"},
	{"private-tmp", "scratch space with a limit"},
	{"disk-limit", "scratch space with a limit"},
	{"hidden-files", "hidden files (overlay)"},
	{"seccomp", "system call filter"},
	{"landlock", "Landlock"},
	{"memory-limit", "memory limit"},
	{"cpu-limit", "CPU limit"},
	{"process-limit", "process limit"},
};

static const char *fix_of(const char *protection, const struct cell_probe *probes, size_t count)
{
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (strcmp(makers[i].protection, protection) != 0)
			continue;
		for (size_t at = 0; at < count; at++)
			if (strcmp(probes[at].name, makers[i].probe) == 0 && probes[at].grade != CELL_ON && *probes[at].fix)
				return probes[at].fix;
	}
	return "'hotcell doctor' tells more";
}

/* How many attacks got through for want of it. */
static size_t wanted_by(const struct review *review, const char *protection)
{
	size_t count = 0;

	for (size_t i = 0; i < review->count; i++)
		count += review_names(review->rows[i].lacking, protection);
	return count;
}

void review_put_fixes(const struct review *review, struct buf *out)
{
	own(freep) struct cell_probe *probes = NULL;
	size_t count = 0;

	if (!review->counts[REVIEW_DEGRADED])
		return;
	probes = xcalloc(PROBES_MAX, sizeof(*probes));
	count = cell_probe(review->backend, probes, PROBES_MAX);
	buf_str(out, "\nDegraded for want of\n");
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		size_t attacks = wanted_by(review, cell_protection_name(i));
		if (!attacks)
			continue;
		buf_fmt(out, "  %s (%zu attack%s): ", cell_protection_name(i), attacks, attacks == 1 ? "" : "s");
		put_line(out, "fix: ", fix_of(cell_protection_name(i), probes, count));
	}
}

/* ---- the audit log ---- */

static void put_event(const struct review *review, struct audit *audit)
{
	struct json *json = audit_begin(audit, "review");
	char sum[SHA256_HEX];

	review_sum(review, sum);
	json_put_string(json, "sum", sum);
	json_put_string(json, "backend", review->backend);
	json_put_string(json, "kernel", review->kernel);
	json_put_string(json, "user", review->root ? "root" : "ordinary");
	audit_text(audit, "image", review->image ? review->image : "host");
	audit_text(audit, "weakened", review->weakened);
	json_put_uint(json, "attacks", review->count);
	json_key(json, "counts");
	json_open(json, '{');
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		json_put_uint(json, review_verdict_name(i), review->counts[i]);
	json_close(json, '}');
	json_key(json, "escaped");
	json_open(json, '[');
	for (size_t i = 0; i < review->count; i++)
		if (review->rows[i].verdict == REVIEW_ESCAPED)
			json_string(json, review->rows[i].attack->id);
	json_close(json, ']');
	audit_end(audit);
}

int review_log_open(const char *state, struct review_log *ret, struct err *err)
{
	const struct redact_known known = {.home = getenv("HOME")};
	bool named = state || getenv("HOTCELL_STATE");

	*ret = (struct review_log){0};
	if (!named && state_is_none(NULL)) /* no campaign was ever run here: no log is kept either */
		return 0;
	own(freep) char *folder = state_folder(state, state != NULL, err);
	if (!folder && (named || err->code != ERR_USAGE))
		return -1;
	if (!folder) {
		cli_say("no audit log is kept of this: %s", err->text);
		return 0;
	}
	own(freep) char *path = state_audit(folder);
	ret->redactor = redactor_make(&known);
	ret->audit = audit_open(path, ret->redactor, err);
	return ret->audit ? 0 : err_wrap(err, "the audit log");
}

int review_log_put(const struct review_log *log, const struct review *review, struct err *err)
{
	if (!log->audit)
		return 0;
	put_event(review, log->audit);
	return audit_flush(log->audit, err) < 0 ? err_wrap(err, "the audit log") : 0;
}

void review_log_done(struct review_log *log)
{
	log->audit = audit_free(log->audit);
	redactor_freep(&log->redactor);
}
