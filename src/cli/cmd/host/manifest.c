/* hotcell manifest create, hotcell manifest verify: what is in a folder, written down and looked up. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/size.h"
#include "base/term.h"
#include "cli/manifest_check.h"
#include "base/out_file.h"
#include "cli/cmd/verbs.h"

#define EXIT_DIFFERS 1
#define PATH_SHOWN 4096

static void put_text(struct buf *out, const char *text)
{
	term_line(text, strlen(text), PATH_SHOWN, out);
}

static void put_amount(const struct manifest *manifest, struct buf *out)
{
	char size[24], sum[SHA256_HEX];

	manifest_sum(manifest, sum);
	buf_fmt(out, "%zu %s, %s, manifest_sha256 %s\n", manifest->count, manifest->count == 1 ? "entry" : "entries",
		size_text(manifest_bytes(manifest), size, sizeof(size)), sum);
}

/* ---- create ---- */

struct create_options {
	bool force;
};

/* Before everything is read in vain; out_file_write decides. */
static int check_place(int dir, const char *path, bool force, struct err *err)
{
	own(buf_done) struct buf shown = {0};
	struct stat st;

	if (force || fstatat(dir, MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	term_line(path, strlen(path), 200, &shown);
	return err_set(err, ERR_USAGE, "'%s' is there already; --force overwrites it", buf_text(&shown));
}

/* A manifest says what is there: it cannot leave out what could not be read. */
static int check_troubles(const struct manifest *manifest, struct err *err)
{
	for (size_t i = 0; i < manifest->count; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];
		own(buf_done) struct buf shown = {0};
		if (!entry->trouble)
			continue;
		term_line(entry->path, strlen(entry->path), 200, &shown);
		if (entry->trouble == MANIFEST_CHANGING)
			return err_set(err, EBUSY, "'%s' changed while it was read: no manifest was written", buf_text(&shown));
		return err_errno(err, entry->trouble, "no manifest was written: read '%s'", buf_text(&shown));
	}
	return 0;
}

static int create(const char *folder, bool force, struct buf *out, struct err *err)
{
	own(manifest_done) struct manifest manifest = {0};
	own(buf_done) struct buf text = {0};
	own(freep) char *path = xfmt("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", MANIFEST_NAME);
	own(fd_closep) int dir = manifest_folder_open(folder, err);

	if (dir < 0 || check_place(dir, path, force, err) < 0 || manifest_scan(&manifest, dir, NULL, err) < 0 ||
		check_troubles(&manifest, err) < 0)
		return -1;
	manifest_write(&manifest, &text);
	if (text.len > MANIFEST_TEXT_MAX)
		return err_set(err, ERR_LIMIT, "the manifest would have more than %zu bytes", MANIFEST_TEXT_MAX);
	if (out_file_write(path, &text, force, err) < 0)
		return -1;
	put_text(out, path);
	buf_str(out, ": ");
	put_amount(&manifest, out);
	return 0;
}

static int folder_check(const char *folder, struct err *err)
{
	return *folder ? 0 : err_set(err, ERR_USAGE, "the folder's name is empty");
}

static int create_run(void *data, const struct cli_args *args)
{
	const struct create_options *options = data;
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (folder_check(args->words[0], &err) < 0 || create(args->words[0], options->force, &out, &err) < 0)
		return cli_fail(&err);
	return cli_print(&out);
}

/* ---- verify ---- */

struct verify_options {
	bool json;
	const char *sum; /* NULL: any */
};

enum verdict { VERDICT_ADDED, VERDICT_REMOVED, VERDICT_CHANGED, VERDICT_UNREADABLE, VERDICTS };
static const char *const verdict_names[VERDICTS] = {
	[VERDICT_ADDED] = "added",
	[VERDICT_REMOVED] = "removed",
	[VERDICT_CHANGED] = "changed",
	[VERDICT_UNREADABLE] = "unreadable",
};

struct listing {
	struct buf text;
	struct json json; /* the list of differences */
	size_t counts[VERDICTS];
};

static void listing_done(struct listing *listing)
{
	buf_done(&listing->text);
	json_done(&listing->json);
}

/* What is known to be changed is called so, even if the rest of it cannot be read. */
static enum verdict verdict_of(unsigned changes)
{
	return changes & MANIFEST_ADDED		 ? VERDICT_ADDED
		: changes & MANIFEST_REMOVED	 ? VERDICT_REMOVED
		: changes == MANIFEST_UNREADABLE ? VERDICT_UNREADABLE
						 : VERDICT_CHANGED;
}

static void put_difference(void *data, const struct manifest_difference *difference)
{
	struct listing *listing = data;
	enum verdict verdict = verdict_of(difference->changes);
	own(buf_done) struct buf how = {0};

	manifest_difference_text(difference, &how);
	listing->counts[verdict]++;
	buf_fmt(&listing->text, "%-10s  ", verdict_names[verdict]);
	put_text(&listing->text, difference->path);
	buf_str(&listing->text, ": ");
	put_text(&listing->text, buf_text(&how));
	buf_char(&listing->text, '\n');
	json_open(&listing->json, '{');
	json_put_string(&listing->json, "path", difference->path);
	json_put_string(&listing->json, "difference", verdict_names[verdict]);
	json_put_string(&listing->json, "text", buf_text(&how));
	json_close(&listing->json, '}');
}

static void put_json(struct listing *listing, const char *folder, const struct manifest *was, bool same)
{
	struct json *json = &listing->json;
	char sum[SHA256_HEX];

	manifest_sum(was, sum);
	json_close(json, ']');
	json_put_string(json, "folder", folder);
	json_put_string(json, "manifest_sha256", sum);
	json_put_bool(json, "same", same);
	json_put_uint(json, "entries", was->count);
	json_put_uint(json, "bytes", manifest_bytes(was));
	for (int i = 0; i < VERDICTS; i++)
		json_put_uint(json, verdict_names[i], listing->counts[i]);
	json_close(json, '}');
	buf_char(&json->out, '\n');
}

static void put_last(struct listing *listing, const char *folder, const struct manifest *was, bool same)
{
	struct buf *out = &listing->text;

	put_text(out, folder);
	buf_str(out, ": ");
	for (int i = 0; i < VERDICTS && !same; i++)
		if (listing->counts[i] > 0)
			buf_fmt(out, "%zu %s, ", listing->counts[i], verdict_names[i]);
	buf_str(out, same ? "as its manifest says, " : "of ");
	put_amount(was, out);
}

static int verify_run(void *data, const struct cli_args *args)
{
	const struct verify_options *options = data;
	const char *folder = args->words[0];
	own(manifest_done) struct manifest was = {0}, is = {0};
	own(listing_done) struct listing listing = {0};
	struct err err = {0};

	if (folder_check(folder, &err) < 0 || manifest_folder_read(folder, &was, &is, &err) < 0)
		return cli_fail(&err);
	json_open(&listing.json, '{');
	json_key(&listing.json, "differences");
	json_open(&listing.json, '[');
	bool same = manifest_compare(&was, &is, put_difference, &listing) == 0;
	bool meant = manifest_sum_check(folder, &was, options->sum, &err) == 0;
	put_json(&listing, folder, &was, same && meant);
	put_last(&listing, folder, &was, same);
	int code = cli_print(options->json ? &listing.json.out : &listing.text);
	if (!meant)
		(void)cli_fail(&err);
	return code ? code : same && meant ? 0 : EXIT_DIFFERS;
}

static int sum_set(void *data, const char *value, struct err *err)
{
	struct verify_options *options = data;
	unsigned char sum[SHA256_SIZE];

	options->sum = value;
	return sha256_parse(value, sum) ? 0 : err_set(err, ERR_USAGE, "--sha256 takes a manifest_sha256: 64 hexadecimal digits in lower case");
}

/* ---- the tables ---- */

static const struct cli_option create_table[] = {
	{.name = "force", .letter = 'f', .kind = CLI_FLAG, CLI_INTO(struct create_options, force),
		.help = "overwrite a manifest that is there"},
	{0},
};

static const struct cli_option verify_table[] = {
	{.name = "sha256", .value = "SHA256", .kind = CLI_OTHER, .set = sum_set,
		.help = "the manifest_sha256 that was printed earlier and kept elsewhere: the manifest must have it"},
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct verify_options, json), .help = "print a JSON object"},
	{0},
};

const struct cli_verb verb_manifest_create = {
	.name = "manifest create",
	.summary = "write down what is in a folder, with a sum of every file",
	.usage = "[options] DIR",
	.details = "Writes DIR/MANIFEST.json: paths, kinds, modes, sizes and SHA-256 sums, sorted; the same folder gives the same bytes.\n",
	.options = create_table,
	.options_size = sizeof(struct create_options),
	.words_min = 1,
	.words_max = 1,
	.word = "DIR",
	.word_hint = CLI_HINT_FOLDER,
	.run = create_run,
};

const struct cli_verb verb_manifest_verify = {
	.name = "manifest verify",
	.summary = "name what changed in a folder since its manifest was written",
	.usage = "[options] DIR",
	.details = "Exit code: 0 nothing changed; 1 something did, or the manifest is not the one of --sha256; 2 there is no manifest,\n"
		   "or it cannot be understood.\n",
	.options = verify_table,
	.options_size = sizeof(struct verify_options),
	.words_min = 1,
	.words_max = 1,
	.word = "DIR",
	.word_hint = CLI_HINT_FOLDER,
	.run = verify_run,
};
