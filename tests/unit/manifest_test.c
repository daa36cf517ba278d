#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "manifest/manifest.h"
#include "manifest/name.h"

/* ---- a folder ---- */

struct folder {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct folder *folder = xcalloc(1, sizeof(*folder));

	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/manifest-test.XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	(void)umask(022);
	*state = folder;
	return 0;
}

static int teardown(void **state)
{
	struct folder *folder = *state;
	struct err err = {0};

	fd_close(&folder->fd);
	assert_int_equal(fs_remove_tree(AT_FDCWD, folder->path, &err), 0);
	free(folder);
	return 0;
}

static void put(const struct folder *folder, const char *name, const char *bytes)
{
	own(fd_closep) int fd = openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, strlen(bytes)), strlen(bytes));
}

static struct manifest scan(const struct folder *folder, const struct manifest *expected)
{
	struct manifest found = {0};
	struct err err = {0};

	if (manifest_scan(&found, folder->fd, expected, &err) < 0)
		fail_msg("%s", err.text);
	return found;
}

/* Every difference as "path: text" lines. */
static void add_line(void *data, const struct manifest_difference *difference)
{
	struct buf *out = data;

	buf_fmt(out, "%s%s: ", difference->changes & MANIFEST_ADDED ? "+" : difference->changes & MANIFEST_REMOVED ? "-" : "",
		difference->path);
	manifest_difference_text(difference, out);
	buf_char(out, '\n');
}

static void assert_differs(const struct manifest *was, const struct manifest *is, const char *expected)
{
	own(buf_done) struct buf lines = {0};

	(void)manifest_compare(was, is, add_line, &lines);
	assert_string_equal(buf_text(&lines), expected);
}

/* ---- scanning ---- */

static void every_kind_is_written_down_and_read_back_the_same(void **state)
{
	const struct folder *folder = *state;
	own(buf_done) struct buf text = {0}, again = {0};
	own(manifest_done) struct manifest read = {0};
	struct err err = {0};

	put(folder, "b", "abc");
	put(folder, "MANIFEST.json", "itself");
	assert_int_equal(mkdirat(folder->fd, "a", 0750), 0);
	put(folder, "a/MANIFEST.json", "");
	put(folder, "100%\n\x1b\xff" "\xc3\xa4", "");
	assert_int_equal(symlinkat("../\x1b%/etc", folder->fd, "l"), 0);
	assert_int_equal(mkfifoat(folder->fd, "p", 0600), 0);
	own(manifest_done) struct manifest found = scan(folder, NULL);
	manifest_write(&found, &text);
	assert_string_equal(buf_text(&text),
		"{\n\"format\":\"hotcell-manifest-1\",\n\"entries\":[\n"
		"{\"path\":\"100%25%0A%1B%FF\xc3\xa4\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":0,"
		"\"sha256\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"},\n"
		"{\"path\":\"a\",\"kind\":\"folder\",\"mode\":\"0750\"},\n"
		"{\"path\":\"a/MANIFEST.json\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":0,"
		"\"sha256\":\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"},\n"
		"{\"path\":\"b\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":3,"
		"\"sha256\":\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"},\n"
		"{\"path\":\"l\",\"kind\":\"link\",\"target\":\"../%1B%25/etc\"},\n"
		"{\"path\":\"p\",\"kind\":\"fifo\",\"mode\":\"0600\"}\n"
		"],\n\"manifest_sha256\":\"35a348412c4aa2c5ec7eb56aff2c4edece4a4957be0b71a9faaab20bfca402ac\"\n}\n");
	if (manifest_read(&read, text.data, text.len, "m", &err) < 0)
		fail_msg("%s", err.text);
	assert_differs(&found, &read, "");
	manifest_write(&read, &again);
	assert_string_equal(buf_text(&again), buf_text(&text));
}

static void every_kind_of_change_is_named(void **state)
{
	const struct folder *folder = *state;

	put(folder, "contents", "abc");
	put(folder, "kind", "abc");
	put(folder, "mode", "abc");
	put(folder, "removed", "abc");
	put(folder, "same", "abc");
	put(folder, "size", "abc");
	assert_int_equal(symlinkat("here", folder->fd, "target"), 0);
	own(manifest_done) struct manifest was = scan(folder, NULL);
	put(folder, "added", "abc");
	put(folder, "contents", "abd");
	assert_int_equal(unlinkat(folder->fd, "kind", 0), 0);
	assert_int_equal(mkdirat(folder->fd, "kind", 0755), 0);
	assert_int_equal(fchmodat(folder->fd, "mode", 04755, 0), 0);
	assert_int_equal(unlinkat(folder->fd, "removed", 0), 0);
	put(folder, "size", "abcd");
	assert_int_equal(unlinkat(folder->fd, "target", 0), 0);
	assert_int_equal(symlinkat("there", folder->fd, "target"), 0);
	own(manifest_done) struct manifest is = scan(folder, &was);
	assert_differs(&was, &is,
		"+added: a file\ncontents: contents\nkind: a file, now a folder\nmode: mode 0644 -> 4755\n-removed: a file\n"
		"size: size 3 -> 4\ntarget: target 'here' -> 'there'\n");
	assert_int_equal(manifest_compare(&was, &is, NULL, NULL), 7);
}

static void many_large_files_are_summed_by_several_processes_alike(void **state)
{
	const struct folder *folder = *state;
	struct manifest_entry *entry;
	char name[16];

	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "%02d", i);
		put(folder, name, name);
		own(fd_closep) int fd = openat(folder->fd, name, O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(fd, 1 << 20), 0);
	}
	own(manifest_done) struct manifest found = scan(folder, NULL);
	assert_int_equal(found.count, 40);
	assert_int_equal(manifest_bytes(&found), 40 << 20);
	static const char zeros[1 << 20];
	for (int i = 0; i < 40; i++) {
		struct sha256 sum;
		unsigned char bytes[SHA256_SIZE];
		entry = &found.entries[i];
		sha256_init(&sum);
		sha256_add(&sum, entry->path, 2);
		sha256_add(&sum, zeros, sizeof(zeros) - 2);
		sha256_end(&sum, bytes);
		assert_int_equal(entry->trouble, 0);
		assert_memory_equal(entry->sha256, bytes, sizeof(bytes));
	}
}

/* Eight exabytes would take a century. */
static void a_file_of_another_size_is_not_read(void **state)
{
	const struct folder *folder = *state;

	put(folder, "f", "abc");
	own(manifest_done) struct manifest was = scan(folder, NULL);
	for (int i = 0; i < 2; i++) {
		own(fd_closep) int fd = openat(folder->fd, i == 0 ? "f" : "new", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_int_equal(ftruncate(fd, INT64_C(1) << 43), 0);
	}
	own(manifest_done) struct manifest is = scan(folder, &was), none = {0};
	struct err err = {0};
	assert_differs(&was, &is, "f: size 3 -> 8796093022208\n+new: a file\n");
	assert_int_equal(manifest_scan(&none, folder->fd, NULL, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
}

static void too_deep_a_folder_is_an_error(void **state)
{
	const struct folder *folder = *state;
	own(manifest_done) struct manifest found = {0};
	own(fd_closep) int at = fcntl(folder->fd, F_DUPFD_CLOEXEC, 3);
	struct err err = {0};

	for (int i = 0; i < 201; i++) {
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		fd_close(&at);
		at = next;
	}
	assert_int_equal(manifest_scan(&found, folder->fd, NULL, &err), -1);
	assert_int_equal(err.code, ERR_LIMIT);
	assert_int_equal(found.count, 0);
}

/* ---- comparing ---- */

static void what_is_below_a_folder_that_cannot_be_read_is_not_called_removed(void **state)
{
	struct manifest_entry was_entries[] = {
		{.path = (char *)"a", .kind = MANIFEST_FOLDER},
		{.path = (char *)"a/b", .kind = MANIFEST_FILE},
		{.path = (char *)"a/c/d", .kind = MANIFEST_FILE},
		{.path = (char *)"ab", .kind = MANIFEST_FILE},
	};
	struct manifest_entry is_entries[] = {{.path = (char *)"a", .kind = MANIFEST_FOLDER, .trouble = 13}};
	const struct manifest was = {was_entries, ARRAY_LEN(was_entries)}, is = {is_entries, 1}, none = {0};

	(void)state;
	assert_differs(&was, &is, "a: Permission denied\n-ab: a file\n");
	assert_int_equal(manifest_compare(&was, &none, NULL, NULL), 4);
	assert_int_equal(manifest_compare(&none, &was, NULL, NULL), 4);
	is_entries[0].trouble = MANIFEST_CHANGING;
	assert_differs(&was, &is, "a: it changed while it was read\n-ab: a file\n");
}

/* ---- reading ---- */

#define HEAD "{\"format\":\"hotcell-manifest-1\",\"entries\":["
#define TAIL "],\"manifest_sha256\":\"x\"}"
#define ENTRY(path) HEAD "{\"path\":\"" path "\",\"kind\":\"folder\",\"mode\":\"0755\"}" TAIL
#define FOLDER(members) HEAD "{\"path\":\"a\"," members "}" TAIL

static void what_is_no_manifest_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{"", "m:1: "},
		{"[]", "must be an object of"},
		{"{}", "must be an object of"},
		{"{\"format\":\"x\",\"entries\":[],\"manifest_sha256\":\"x\"}", "'format' is not"},
		{"{\"format\":1,\"entries\":[],\"manifest_sha256\":\"x\"}", "'format' must be"},
		{"{\"format\":\"hotcell-manifest-1\",\"entries\":{},\"manifest_sha256\":\"x\"}", "must be an object of"},
		{HEAD TAIL, "has been edited"},
		{HEAD "1" TAIL, "an entry must be an object"},
		{ENTRY(""), "the path ''"},
		{ENTRY("/etc"), "the path '/etc'"},
		{ENTRY("."), "the path '.'"},
		{ENTRY("a/../b"), "the path 'a/../b'"},
		{ENTRY("../b"), "the path '../b'"},
		{ENTRY("a//b"), "the path 'a//b'"},
		{ENTRY("a/"), "the path 'a/'"},
		{ENTRY("a/./b"), "the path 'a/./b'"},
		{ENTRY("%2E%2E"), "the path '%2E%2E'"},
		{ENTRY("%2e"), "the path '%2e'"},
		{ENTRY("%00"), "the path '%00'"},
		{ENTRY("100%"), "the path '100%'"},
		{ENTRY("100%2"), "the path '100%2'"},
		{ENTRY("%C3%A4"), "the path '%C3%A4'"},
		{ENTRY("\\u001b[31m"), "the path '\\x1b[31m'"},
		{ENTRY("MANIFEST.json"), "is the manifest's own"},
		{HEAD "{\"path\":\"a\",\"kind\":\"folder\",\"mode\":\"0755\"},{\"path\":\"a\",\"kind\":\"folder\",\"mode\":\"0755\"}" TAIL,
			"is not after"},
		{FOLDER("\"kind\":\"house\",\"mode\":\"0755\""), "'kind' is none"},
		{FOLDER("\"kind\":\"folder\""), "'mode' must be here"},
		{FOLDER("\"kind\":\"folder\",\"mode\":\"755\""), "four octal digits"},
		{FOLDER("\"kind\":\"folder\",\"mode\":\"0999\""), "four octal digits"},
		{FOLDER("\"kind\":\"folder\",\"mode\":\"0755\",\"size\":1"), "members that"},
		{FOLDER("\"kind\":\"file\",\"mode\":\"0755\",\"size\":-1,\"sha256\":\"x\""), "whole number"},
		{FOLDER("\"kind\":\"file\",\"mode\":\"0755\",\"size\":1.5,\"sha256\":\"x\""), "whole number"},
		{FOLDER("\"kind\":\"file\",\"mode\":\"0755\",\"size\":99999999999999999999,\"sha256\":\"x\""), "whole number"},
		{FOLDER("\"kind\":\"file\",\"mode\":\"0755\",\"size\":1,\"sha256\":\"x\""), "64 lower-case"},
		{FOLDER("\"kind\":\"link\",\"target\":\"%zz\""), "'target'"},
		{FOLDER("\"kind\":\"char-device\",\"mode\":\"0644\",\"device\":\"1:\""), "MAJOR:MINOR"},
		{FOLDER("\"kind\":\"char-device\",\"mode\":\"0644\",\"device\":\" 1:2\""), "MAJOR:MINOR"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(manifest_done) struct manifest read = {0};
		struct err err = {0};
		if (manifest_read(&read, rows[i].text, strlen(rows[i].text), "m", &err) == 0)
			fail_msg("taken: %s", rows[i].text);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.text, rows[i].says))
			fail_msg("'%s' is said of %s", err.text, rows[i].text);
		assert_null(read.entries);
	}
}

static void an_edited_manifest_is_noticed_and_a_reformatted_one_is_not(void **state)
{
	const struct folder *folder = *state;
	own(buf_done) struct buf text = {0};
	own(manifest_done) struct manifest read = {0};
	struct err err = {0};

	put(folder, "a", "abc");
	own(manifest_done) struct manifest found = scan(folder, NULL);
	manifest_write(&found, &text);
	for (char *at = text.data; (at = strchr(at, '\n')); at++)
		*at = ' ';
	assert_int_equal(manifest_read(&read, text.data, text.len, "m", &err), 0);
	memcpy(strstr(text.data, "ba7816bf"), "ba7816be", 8);
	own(manifest_done) struct manifest edited = {0};
	assert_int_equal(manifest_read(&edited, text.data, text.len, "m", &err), -1);
	assert_non_null(strstr(err.text, "has been edited"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_kind_is_written_down_and_read_back_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(every_kind_of_change_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(many_large_files_are_summed_by_several_processes_alike, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_of_another_size_is_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(too_deep_a_folder_is_an_error, setup, teardown),
		cmocka_unit_test(what_is_below_a_folder_that_cannot_be_read_is_not_called_removed),
		cmocka_unit_test(what_is_no_manifest_is_refused_with_a_reason),
		cmocka_unit_test_setup_teardown(an_edited_manifest_is_noticed_and_a_reformatted_one_is_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
