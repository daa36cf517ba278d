/* What is shown to a fuzzed function's cells: homes, how far a project reaches, what lock files name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/beneath.h"
#include "base/fs.h"
#include "base/homes.h"
#include "base/own.h"
#include "fuzz/function/lang/lock.h"
#include "fuzz/function/core/reach.h"

#define TEST(name) cmocka_unit_test(name)
#define SUM "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- homes ---- */

static void a_home_is_read_from_the_accounts(void **state)
{
	static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n\n:::\nbroken\nalice:x:1000:1000:A, B:/home/alice:/bin/sh\n"
				     "nobody:x:65534:65534::nowhere:/x\nlast:x:7:7::/l";
	static const struct {
		uid_t uid;
		const char *home;
	} cases[] = {{0, "/root"}, {1000, "/home/alice"}, {7, "/l"}, {65534, NULL}, {1, NULL}, {100, NULL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *home = NULL;
		size_t len = 0;
		assert_int_equal(homes_find(passwd, cases[i].uid, &home, &len), cases[i].home != NULL);
		if (cases[i].home) {
			assert_int_equal(len, strlen(cases[i].home));
			assert_memory_equal(home, cases[i].home, len);
		}
	}
	const char *home;
	size_t len;
	assert_false(homes_find("", 0, &home, &len));
}

static void folders_of_many_are_known_without_a_home(void **state)
{
	static const char *const shared[] = {"/", "/tmp", "/home", "/home/alice", "/var/home/alice", "/root", "/usr/local", "/opt", "/var"};
	static const char *const like[] = {"/home/alice/.local", "/home/alice/.config", "/home/alice/.local/share", "/root/.local"};
	static const char *const none[] = {"/home/alice/work", "/srv/project", "/home/alice/work/.local", "/usr/local/go"};
	const char *home = getenv("HOME");
	own(freep) char *before = home ? xstrdup(home) : NULL;

	(void)state;
	assert_int_equal(unsetenv("HOME"), 0);
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		assert_true(folder_is_shared(shared[i]) && folder_is_homelike(shared[i]));
	for (size_t i = 0; i < ARRAY_LEN(like); i++)
		assert_true(!folder_is_shared(like[i]) && folder_is_homelike(like[i]));
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_false(folder_is_homelike(none[i]));
	assert_int_equal(before ? setenv("HOME", before, 1) : 0, 0);
}

static void a_folder_that_everybody_writes_to_is_no_project(void **state)
{
	char folder[] = "/tmp/hotcell-shared-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_false(folder_is_shared(folder));
	assert_int_equal(chmod(folder, 01777), 0);
	assert_true(folder_is_shared(folder));
	assert_int_equal(rmdir(folder), 0);
}

/* ---- how far ---- */

static void a_project_ends_at_its_repository_or_where_the_user_is(void **state)
{
	static const struct {
		const char *here, *named, *limit, *allowed, *refused;
	} cases[] = {
		{"work/evil/src", NULL, "work/evil/src", "work/evil/src", "work/evil"},
		{"work/evil", NULL, "work/evil", "work/evil", "work"},
		{"work", NULL, "work", "work", "work/evil"},
		{"other", NULL, "work/evil/src", "work/evil/src", "work/evil"},
		{"other", "work", "work", "work/evil", "."},
		{"work", "work/evil", "work", "work/evil", "."},
	};
	char top[] = "/tmp/hotcell-reach-XXXXXX";
	own(freep) char *before = getcwd(NULL, 0);
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(top));
	own(freep) char *file = xfmt("%s/work/evil/src/p.c", top), *source = xfmt("%s/work/evil/src", top), *other = xfmt("%s/other", top);
	own(fd_closep) int made = beneath_root_make(source, 0755, NULL, &err), beside = beneath_root_make(other, 0755, NULL, &err);
	assert_true(made >= 0 && beside >= 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(reach_done) struct reach reach = {0};
		own(freep) char *here = xfmt("%s/%s", top, cases[i].here), *limit = xfmt("%s/%s", top, cases[i].limit);
		own(freep) char *named = cases[i].named ? xfmt("%s/%s", top, cases[i].named) : NULL;
		own(freep) char *allowed = xfmt("%s/%s", top, cases[i].allowed), *refused = xfmt("%s/%s", top, cases[i].refused);
		assert_int_equal(chdir(here), 0);
		reach_find(file, named, &reach);
		assert_string_equal(reach.limit, limit);
		assert_true(reach_allows(&reach, allowed) && reach_allows(&reach, source));
		assert_false(reach_allows(&reach, refused) || reach_allows(&reach, top));
	}
	own(freep) char *git = xfmt("%s/work/evil/.git", top), *evil = xfmt("%s/work/evil", top), *work = xfmt("%s/work", top);
	own(reach_done) struct reach reach = {0};
	assert_int_equal(symlink("nowhere", git) + chdir(work), 0);
	reach_find(file, NULL, &reach);
	assert_true(reach.repository && reach_allows(&reach, evil));
	assert_string_equal(reach.limit, evil);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(fs_remove_tree(-100, top, &err), 0);
}

/* ---- lock files ---- */

static void put_entry(void *data, const struct lock_entry *entry)
{
	buf_fmt(data, "%s@%s%s ", entry->name, entry->version, entry->mod_only ? "+" : *entry->sum ? "" : "?");
}

static void go_sum_names_modules_and_nothing_else(void **state)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{"example.com/a v1.0.0 " SUM "\nexample.com/a v1.0.0/go.mod " SUM "\r\n", "example.com/a@v1.0.0 example.com/a@v1.0.0+ "},
		{"github.com/BurntSushi/toml v0.3.1 " SUM, "github.com/!burnt!sushi/toml@v0.3.1 "},
		{"a.b/c v2.0.0+incompatible " SUM "\n\na.b/c v0.0.0-20200101000000-abcdef " SUM, "a.b/c@v2.0.0+incompatible a.b/c@v0.0.0-20200101000000-abcdef "},
		{"../x v1.0.0 " SUM "\n/x v1.0.0 " SUM "\na/../b v1.0.0 " SUM "\na//b v1.0.0 " SUM "\na/.b v1.0.0 " SUM "\na/ v1.0.0 " SUM, ""},
		{"a v1/../../x " SUM "\na ../v1 " SUM "\na x1 " SUM "\na v1.0.0 h1:short=\na v1.0.0 h2" SUM "\na v1.0.0\na\n" SUM "\na v1 " SUM " more", ""},
		{"a!b v1.0.0 " SUM "\na@v2 v1.0.0 " SUM "\na\tb v1.0.0 " SUM "\n\xc3\xa4 v1.0.0 " SUM "\n// require", ""},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf names = {0};
		lock_read_go_sum(cases[i].text, strlen(cases[i].text), put_entry, &names);
		assert_string_equal(buf_text(&names), cases[i].names);
	}
}

#define REGISTRY "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n"

static void cargo_lock_names_crates_of_registries(void **state)
{
	static const struct {
		const char *text, *names;
	} cases[] = {
		{"version = 3\n[[package]]\nname = \"p\"\nversion = \"0.1.0\"\n[[package]]\nname = \"tiny-x\"\nversion = \"0.3.1+b\"\n" REGISTRY
		 "checksum = \"" DIGITS "\"\ndependencies = [\n \"y\",\n]\n",
			"tiny-x@0.3.1+b "},
		{"[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"sparse+https://x/\"\nchecksum = \"12\"\n", "a@1.0.0? "},
		{"[[package]]\nname = \"a/b\"\nversion = \"1.0.0\"\n" REGISTRY "[[package]]\nname = \"..\"\nversion = \"1.0.0\"\n" REGISTRY, ""},
		{"[[package]]\nname = \"a\"\nversion = \"../1\"\n" REGISTRY "[[package]]\nname = \"a\"\nversion = \"1/..\"\n" REGISTRY, ""},
		{"[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"git+https://x/\"\n", ""},
		{"# name = \"a\"\nname = \"\nname\n", ""}, {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf names = {0};
		lock_read_cargo(cases[i].text, strlen(cases[i].text), put_entry, &names);
		assert_string_equal(buf_text(&names), cases[i].names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_home_is_read_from_the_accounts),
		TEST(folders_of_many_are_known_without_a_home),
		TEST(a_folder_that_everybody_writes_to_is_no_project),
		TEST(a_project_ends_at_its_repository_or_where_the_user_is),
		TEST(go_sum_names_modules_and_nothing_else),
		TEST(cargo_lock_names_crates_of_registries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
