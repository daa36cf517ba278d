#include "cli/manifest_check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fs.h"
#include "base/term.h"
#include "run/cell_audit.h"
#include "run/hidden.h"

int manifest_folder_open(const char *folder, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir >= 0)
		return dir;
	int code = errno;
	term_line(folder, strlen(folder), 200, &shown);
	(void)err_errno(err, code, "open the folder '%s'", buf_text(&shown));
	err->code = ERR_USAGE;
	return -1;
}

static int load(int dir, const char *folder, struct manifest *ret, struct err *err)
{
	own(buf_done) struct buf text = {0}, shown = {0};
	own(freep) char *name = xfmt("%s/%s", folder, MANIFEST_NAME);

	if (fs_read_small(dir, MANIFEST_NAME, MANIFEST_TEXT_MAX, &text, err) == 0)
		return manifest_read(ret, buf_text(&text), text.len, name, err);
	term_line(folder, strlen(folder), 100, &shown);
	if (err->code == ENOENT)
		return err_set(err, ERR_USAGE, "'%s' has no %s; 'hotcell manifest create' writes one", buf_text(&shown), MANIFEST_NAME);
	err->code = ERR_USAGE;
	return err_wrap(err, "the manifest of '%s'", buf_text(&shown));
}

int manifest_folder_read(const char *folder, struct manifest *ret_was, struct manifest *ret_is, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	own(fd_closep) int dir = manifest_folder_open(folder, err);

	*ret_was = *ret_is = (struct manifest){0};
	if (dir < 0 || load(dir, folder, ret_was, err) < 0)
		return -1;
	if (manifest_scan(ret_is, dir, ret_was, err) == 0)
		return 0;
	term_line(folder, strlen(folder), 200, &shown);
	return err_wrap(err, "the folder '%s'", buf_text(&shown));
}

int manifest_sum_check(const char *folder, const struct manifest *was, const char *sum, struct err *err)
{
	unsigned char bytes[SHA256_SIZE];
	char found[SHA256_HEX];
	own(buf_done) struct buf shown = {0};

	if (!sum)
		return 0;
	if (!sha256_parse(sum, bytes))
		return err_set(err, ERR_USAGE, "a manifest_sha256 is 64 hexadecimal digits in lower case");
	manifest_sum(was, found);
	if (strcmp(found, sum) == 0)
		return 0;
	term_line(folder, strlen(folder), 60, &shown);
	return err_set(err, ESTALE, "the %s of '%s' is not the one that was meant: its manifest_sha256 is %s", MANIFEST_NAME,
		buf_text(&shown), found);
}

/* ---- --manifest ---- */

struct first {
	bool found;
	struct buf text;
};

static void take_first(void *data, const struct manifest_difference *difference)
{
	struct first *first = data;
	own(buf_done) struct buf how = {0};
	const char *verb = difference->changes & MANIFEST_ADDED ? "was added"
		: difference->changes & MANIFEST_REMOVED	? "was removed"
								: "changed";

	if (first->found)
		return;
	first->found = true;
	buf_char(&first->text, '\'');
	term_line(difference->path, strlen(difference->path), 120, &first->text);
	manifest_difference_text(difference, &how);
	buf_fmt(&first->text, "' %s (", verb);
	term_line(buf_text(&how), how.len, 60, &first->text);
	buf_char(&first->text, ')');
}

static int check_one(const char *text, struct err *err)
{
	own(freep) char *folder = xstrdup(text);
	const char *sum = sha256_pin_cut(folder);
	own(manifest_done) struct manifest was = {0}, is = {0};
	own(buf_done) struct buf shown = {0}, more = {0};
	struct first first = {0};

	if (manifest_folder_read(folder, &was, &is, err) < 0 || manifest_sum_check(folder, &was, sum, err) < 0)
		return err_wrap(err, "--manifest");
	size_t count = manifest_compare(&was, &is, take_first, &first);
	if (count == 0)
		return 0;
	term_line(folder, strlen(folder), 60, &shown);
	if (count > 1)
		buf_fmt(&more, ", and %zu more", count - 1);
	(void)err_set(err, ESTALE, "--manifest: %s%s: '%s' is not what its %s says; 'hotcell manifest verify' lists all",
		buf_text(&first.text), buf_text(&more), buf_text(&shown), MANIFEST_NAME);
	buf_done(&first.text);
	return -1;
}

int manifest_check(const struct cli_list *folders, struct err *err)
{
	for (size_t i = 0; i < folders->count; i++)
		if (check_one(folders->items[i], err) < 0)
			return -1;
	return 0;
}

void manifest_refused(const char *audit, const struct err *why)
{
	struct err err = {0};

	if (cell_audit_refusal(audit, hidden_redactor(), "manifest", why->text, &err) < 0)
		(void)cli_fail(&err);
}
