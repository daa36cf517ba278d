/* What may be asked of a cell, and the sentence for what may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/fs.h"
#include "cell/backend.h"

static char folder[] = "/tmp/hotcell-spec-XXXXXX";
static const char *const program[] = {"/bin/true", NULL};

static char *at(const char *name)
{
	static char path[4][128];
	static unsigned turn;
	char *ret = path[turn++ % 4];
	(void)snprintf(ret, sizeof(path[0]), "%s/%s", folder, name);
	return ret;
}

static struct cell_spec good(void)
{
	struct cell_spec spec;
	cell_spec_defaults(&spec);
	spec.argv = program;
	return spec;
}

static void accepts(const struct cell_spec *spec)
{
	struct err err = {0};
	if (cell_spec_check(spec, &err) < 0)
		fail_msg("refused: %s", err.text);
}

static void refuses(const struct cell_spec *spec, const char *part)
{
	struct err err = {0};
	assert_int_equal(cell_spec_check(spec, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	if (!strstr(err.text, part))
		fail_msg("'%s' does not say '%s'", err.text, part);
}

static void the_defaults_are_those_of_the_manual(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	accepts(&spec);
	assert_string_equal(spec.image, "host");
	assert_int_equal(spec.uid, 1000);
	assert_int_equal(spec.limits.memory, 512 << 20);
	assert_int_equal(spec.limits.cpus_milli, 1000);
	assert_int_equal(spec.limits.timeout_ms, 60000);
	assert_int_equal(spec.limits.processes, 100);
	assert_int_equal(spec.limits.tmp, 100 << 20);
	assert_int_equal(spec.limits.output, 64 << 20);
	assert_false(spec.tmp_exec);
}

static void names_that_carry_secrets_are_hidden_by_default(void **state)
{
	static const char *const secrets[] = {".git", ".env", ".env.local", "server.pem", "tls.key", "id_rsa",
		"id_rsa.pub", "id_ed25519", "id_ecdsa", ".ssh", ".aws", ".gnupg", ".netrc", ".npmrc", ".pypirc", ".docker",
		"credentials.json", ".kube", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history", ".psql_history",
		".mysql_history", ".sqlite_history", ".rediscli_history", ".lesshst", ".local/share/fish/fish_history", ".Rhistory",
		".config/gh/hosts.yml", ".config/glab-cli/config.yml", ".config/tea/config.yml", ".config/hub", ".git-credentials",
		".config/git/credentials", ".azure/x", ".config/gcloud/x", ".boto", ".s3cfg", ".oci/config", ".config/doctl/config.yaml",
		".fly/config.yml", ".wrangler/config/default.toml", ".local/share/com.vercel.cli/auth.json", ".config/netlify/config.json",
		".config/rclone/rclone.conf", ".terraformrc", "credentials.tfrc.json", "prod.tfstate", "terraform.tfstate.backup", "prod.tfvars",
		".pulumi/credentials.json", ".vault-token", ".claude/.credentials.json", ".claude.json", ".codex/auth.json",
		".gemini/oauth_creds.json", ".local/share/opencode/auth.json", ".config/github-copilot/apps.json", ".aider.conf.yml",
		".yarnrc.yml", ".config/pip/pip.conf", ".cargo/credentials.toml", ".cargo/credentials", ".gem/credentials", ".m2/settings.xml",
		".gradle/gradle.properties", ".nuget/NuGet/NuGet.Config", ".config/composer/auth.json", ".docker/config.json",
		".config/containers/auth.json", "key.p12", "store.jks", "pass.kdbx", ".password-store/x", ".config/sops/age/keys.txt",
		".mozilla/x", ".config/google-chrome/x", "prod.env", ".envrc", ".ENV", "Server.PEM", ".config/op/config", ".config/hotcell/x",
		".local/state/hotcell/x"};
	static const char *const plain[] = {"main.c", "README.md", "environment", "keys.c", "git", ".gitignore", ".env.example", ".env.sample",
		".env.template", "example.env", "auth.json", "locales/en/auth.json", "hosts.yml", ".cargo/config.toml", ".claude/settings.json",
		".codex/config.toml", ".m2/repository/x.jar", "gradle.properties", "pip.conf", "history.c", "config.json", ".config/gh/config.yml",
		"config.yml", "credentials", "settings.xml", ".gradle/caches/x", ".nuget/packages/x", ".cargo/registry/x", "CHANGELOG-history.md"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(secrets) + ARRAY_LEN(plain); i++) {
		bool secret = i < ARRAY_LEN(secrets);
		const char *path = secret ? secrets[i] : plain[i - ARRAY_LEN(secrets)], *slash = strchr(path, '/');
		own(freep) char *deep = xfmt("some/where/%s", path), *top = slash ? xfmt("/home/u/%.*s", (int)(slash - path), path) : NULL;
		if (fs_is_hidden(cell_default_hide, NULL, path) != secret || fs_is_hidden(cell_default_hide, NULL, deep) != secret)
			fail_msg("%s is %s", path, secret ? "not hidden" : "hidden");
		/* the first folder is mounted itself: then only what has a rule of its own vanishes */
		if (top && !secret && fs_is_hidden(cell_default_hide, top, slash + 1))
			fail_msg("%s is hidden in %s", slash + 1, top);
	}
}

static void secrets_in_a_mounted_folder_of_a_tool_are_hidden_at_its_top(void **state)
{
	static const char *const pairs[][2] = {{".claude", ".credentials.json"}, {".codex", "auth.json"}, {"gh", "hosts.yml"}, {".cargo", "credentials.toml"},
		{".aws", "credentials"}, {".kube", "config"}, {".docker", "config.json"}, {"gcloud", "credentials.db"}, {".m2", "settings.xml"},
		{".config", "hotcell"}, {".gemini", "oauth_creds.json"}, {"rclone", "rclone.conf"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		own(freep) char *top = xfmt("/home/u/%s", pairs[i][0]);
		if (!fs_is_hidden(cell_default_hide, top, pairs[i][1]))
			fail_msg("%s is seen in %s", pairs[i][1], top);
	}
}

static void what_is_hidden_can_only_become_more(void **state)
{
	static const char *const shown_again[] = {".env", "!.env", NULL}, *const ours[] = {"!.env.example", "a/b", "/c", "d/", NULL};
	(void)state;
	struct cell_spec spec = good();
	spec.hide = shown_again;
	refuses(&spec, "cannot be shown again");
	spec.hide = ours;
	accepts(&spec);
}

static void a_command_is_needed(void **state)
{
	static const char *const nothing[] = {NULL}, *const empty[] = {"", NULL};
	(void)state;
	struct cell_spec spec = good();
	spec.argv = NULL;
	refuses(&spec, "no command");
	spec.argv = nothing;
	refuses(&spec, "no command");
	spec.argv = empty;
	refuses(&spec, "empty");
}

static void limits_out_of_range_are_named(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	spec.limits.memory = 4096;
	refuses(&spec, "memory");
	spec = good();
	spec.limits.processes = 0;
	refuses(&spec, "processes");
	spec = good();
	spec.limits.cpus_milli = 0;
	refuses(&spec, "cpus");
	spec = good();
	spec.limits.nice = 20;
	refuses(&spec, "nice");
	spec = good();
	spec.limits.open_files = 1 << 30;
	refuses(&spec, "open files");
	spec = good();
	spec.limits.timeout_ms = 0;
	refuses(&spec, "timeout");
	spec = good();
	spec.uid = UINT32_MAX;
	refuses(&spec, "not a user");
}

static void mount_targets_stay_where_they_may(void **state)
{
	static const struct {
		const char *target, *says; /* NULL: fine */
	} cases[] = {
		{"/data", NULL}, {"/usr/share/data", NULL}, {"/tmpfile", NULL}, {"/data/..x/.y", NULL},
		{"", "needs"}, {"data", "absolute"}, {"/", "whole cell"}, {"/a/../b", "'..'"}, {"/..", "'..'"},
		{"/a/.", "'.'"}, {"/a/./b", "'.'"}, {"//a", "empty part"}, {"/a//b", "empty part"},
		{"/a/", "empty part"}, {"/proc", "own"}, {"/proc/1", "own"}, {"/dev", "own"}, {"/dev/shm", "own"},
		{"/dev/null", "own"}, {"/sys", "own"}, {"/tmp", "own"}, {"/tmp/x", "own"}, {"/workspace", "own"},
		{"/workspace/x", "own"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cell_mount mount = {.source = folder, .target = cases[i].target};
		struct cell_spec spec = good();
		spec.mounts = &mount;
		spec.mount_count = 1;
		if (cases[i].says)
			refuses(&spec, cases[i].says);
		else
			accepts(&spec);
	}
}

static void a_target_with_names_too_long_is_refused(void **state)
{
	char target[5000];
	(void)state;
	struct cell_mount mount = {.source = folder, .target = target};
	struct cell_spec spec = good();
	spec.mounts = &mount;
	spec.mount_count = 1;
	memset(target, 'a', sizeof(target));
	target[0] = '/';
	target[300] = '\0';
	refuses(&spec, "255");
	target[300] = 'a';
	target[sizeof(target) - 1] = '\0';
	refuses(&spec, "4095");
}

static void a_mount_of_a_space_names_a_folder_at_its_top(void **state)
{
	static const struct cell_space space = {.id = 1, .view = -1, .top = -1};
	static const struct {
		const char *source;
		bool good;
	} cases[] = {{"corpus", true}, {"..", false}, {".", false}, {"a/b", false}, {"/etc", false}, {"", false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cell_spec spec = {0};
		struct err err;
		static const char *const argv[] = {"true", NULL};
		cell_spec_defaults(&spec);
		struct cell_mount mount = {.source = cases[i].source, .target = "/data", .space = &space};
		spec.argv = argv;
		spec.mounts = &mount;
		spec.mount_count = 1;
		assert_int_equal(cell_spec_check(&spec, &err), cases[i].good ? 0 : -1);
	}
}

static void mount_sources_are_folders_or_files(void **state)
{
	static const struct {
		const char *name, *says;
	} cases[] = {
		{"file", NULL}, {"dir", NULL}, {"dir/", NULL}, {"missing", "No such file"}, {"link", "symbolic link"},
		{"link/", "symbolic link"}, {"link///", "symbolic link"}, {"fifo", "FIFO"}, {"socket", "socket"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cell_mount mount = {.source = at(cases[i].name), .target = "/data"};
		struct cell_spec spec = good();
		spec.mounts = &mount;
		spec.mount_count = 1;
		if (cases[i].says)
			refuses(&spec, cases[i].says);
		else
			accepts(&spec);
	}
	struct cell_mount odd[] = {{.source = "/dev/null", .target = "/a"}, {.source = "dir", .target = "/a"}};
	struct cell_spec spec = good();
	spec.mount_count = 1;
	spec.mounts = &odd[0];
	refuses(&spec, "character device");
	spec.mounts = &odd[1];
	refuses(&spec, "absolute");
}

static void two_mounts_have_two_targets(void **state)
{
	(void)state;
	struct cell_mount mounts[] = {{.source = folder, .target = "/a"}, {.source = folder, .target = "/b"},
		{.source = folder, .target = "/a"}};
	struct cell_spec spec = good();
	spec.mounts = mounts;
	spec.mount_count = 2;
	accepts(&spec);
	spec.mount_count = 3;
	refuses(&spec, "two mounts");
}

static void ten_thousand_mounts_are_too_many(void **state)
{
	(void)state;
	struct cell_mount *mounts = xcalloc(10000, sizeof(*mounts));
	struct cell_spec spec = good();
	spec.mounts = mounts;
	spec.mount_count = 10000;
	refuses(&spec, "256");
	free(mounts);
}

static void a_glob_that_could_hide_nothing_is_refused(void **state)
{
	static const char *const nowhere[] = {"./a", "a/./b", "../b", "/a/..", "a//b", "/", "//a", "."}, *const empty[] = {"", NULL};
	(void)state;
	struct cell_spec spec = good();
	for (size_t i = 0; i < ARRAY_LEN(nowhere); i++) {
		spec.hide = (const char *const[]){nowhere[i], NULL};
		refuses(&spec, "no path has");
	}
	spec.hide = empty;
	refuses(&spec, "empty");
	spec.hide = NULL;
	accepts(&spec);
}

static void environment_entries_have_names(void **state)
{
	static const struct {
		const char *entry, *says;
	} cases[] = {
		{"A=1", NULL}, {"_a9=", NULL}, {"A==x", NULL}, {"SECRETVALUE", "NAME=VALUE"}, {"=x", "NAME=VALUE"},
		{"9A=1", "digit"}, {"A B=1", "letters"}, {"A-B=SECRETVALUE", "letters"}, {"\n=1", "letters"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *env[] = {cases[i].entry, NULL};
		struct cell_spec spec = good();
		struct err err = {0};
		spec.env = env;
		if (!cases[i].says) {
			accepts(&spec);
			continue;
		}
		refuses(&spec, cases[i].says);
		assert_int_equal(cell_spec_check(&spec, &err), -1);
		assert_null(strstr(err.text, "SECRETVALUE"));
	}
}

static void strings_beyond_what_the_kernel_takes_are_refused(void **state)
{
	(void)state;
	char *big = xcalloc(1, (1 << 20) + 3);
	memset(big, 'x', (1 << 20) + 2);
	big[0] = 'A', big[1] = '=';
	const char *env[40] = {big, NULL}, *argv[] = {"/bin/true", big, NULL};
	struct cell_spec spec = good();
	spec.env = env;
	refuses(&spec, "131071");
	spec = good();
	spec.argv = argv;
	refuses(&spec, "argument 1 has");
	big[131071] = '\0'; /* the longest one that is taken */
	accepts(&spec);
	spec.env = env;
	for (int i = 0; i < 20; i++)
		env[i] = big;
	refuses(&spec, "together");
	free(big);
}

static void the_working_folder_is_absolute(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	spec.cwd = "/";
	accepts(&spec);
	spec.cwd = "/workspace/x";
	accepts(&spec);
	spec.cwd = "x";
	refuses(&spec, "absolute");
	spec.cwd = "/a/../b";
	refuses(&spec, "'..'");
}

static void an_image_is_a_folder(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	spec.image = at("dir");
	accepts(&spec);
	spec.image = at("file");
	refuses(&spec, "not a folder");
	spec.image = at("link");
	refuses(&spec, "symbolic link");
	spec.image = at("missing");
	refuses(&spec, "No such file");
	spec.image = "debian";
	refuses(&spec, "absolute");
	spec.image = NULL;
	refuses(&spec, "no image");
}

static void an_output_folder_is_new_or_empty(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	spec.output_dir = at("dir");
	accepts(&spec);
	spec.output_dir = at("missing");
	accepts(&spec);
	spec.output_dir = folder;
	refuses(&spec, "not empty");
	spec.output_dir = at("file");
	refuses(&spec, "a file");
	spec.output_dir = at("link");
	refuses(&spec, "symbolic link");
	spec.output_dir = "";
	refuses(&spec, "no name");
}

static void an_open_output_folder_may_hold_files_but_must_be_a_folder(void **state)
{
	(void)state;
	struct cell_spec spec = good();
	assert_false(cell_spec_collects(&spec));
	own(fd_closep) int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC), file = open(at("file"), O_PATH | O_CLOEXEC);
	spec.output_fd = dir;
	accepts(&spec);
	assert_true(cell_spec_collects(&spec));
	spec.output_fd = file;
	refuses(&spec, "a file");
	spec.output_fd = 1 << 20;
	refuses(&spec, "Bad file descriptor");
}

static void required_protections_are_known_and_checked(void **state)
{
	static const char *const full[] = {"full", NULL}, *const two[] = {"seccomp", "memory-limit", NULL},
				  *const wrong[] = {"secomp", NULL};
	(void)state;
	struct cell_spec spec = good();
	struct cell_receipt receipt = {0};
	struct err err = {0};
	spec.require = wrong;
	refuses(&spec, "'secomp'");
	assert_int_equal(cell_required(&(struct cell_spec){0}), 0);
	spec.require = two;
	accepts(&spec);
	assert_int_equal(cell_required(&spec), 1u << CELL_SECCOMP | 1u << CELL_MEMORY_LIMIT);
	receipt.grade[CELL_SECCOMP] = CELL_ON;
	receipt.grade[CELL_MEMORY_LIMIT] = CELL_WEAKER;
	strcpy(receipt.note[CELL_MEMORY_LIMIT], "watched");
	assert_int_equal(cell_require_check(cell_required(&spec), &receipt, &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
	assert_non_null(strstr(err.text, "memory-limit is required but weaker here (watched)"));
	receipt.grade[CELL_MEMORY_LIMIT] = CELL_ON;
	assert_int_equal(cell_require_check(cell_required(&spec), &receipt, &err), 0);
	spec.require = full;
	accepts(&spec);
	assert_int_equal(cell_require_check(cell_required(&spec), &receipt, &err), -1);
	memset(receipt.grade, CELL_ON, sizeof(receipt.grade));
	assert_int_equal(cell_require_check(cell_required(&spec), &receipt, &err), 0);
}

#define LOCAL(last) (UINT32_C(0x7f000000) + (last))

static void doors_are_on_the_cells_own_loopback(void **state)
{
	static const struct {
		struct cell_listener listener;
		const char *part; /* of the refusal; NULL: it is accepted */
	} table[] = {
		{{LOCAL(1), 3128}, NULL},
		{{LOCAL(1), 80}, NULL},
		{{LOCAL(0x101), 65535}, NULL},
		{{LOCAL(0xfffffe), 1}, NULL},
		{{LOCAL(1), 0}, "127.0.0.1 needs a port"},
		{{LOCAL(0), 80}, "nobody can connect"},
		{{LOCAL(0xffffff), 80}, "nobody can connect"},
		{{0, 80}, "a door at 0.0.0.0: a cell has no addresses but 127.x.x.x"},
		{{0x0a000001, 80}, "10.0.0.1"},
		{{0x7effffff, 80}, "126.255.255.255"},
		{{0x80000000, 80}, "128.0.0.0"},
		{{0xffffffff, 80}, "255.255.255.255"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct cell_spec spec = good();
		spec.listeners = &table[i].listener;
		spec.listener_count = 1;
		if (table[i].part)
			refuses(&spec, table[i].part);
		else
			accepts(&spec);
	}
}

static void doors_are_few_and_each_has_its_own_place(void **state)
{
	struct cell_listener many[CELL_MAX_LISTENERS + 1];
	struct cell_spec spec = good();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = (struct cell_listener){LOCAL(1 + i / 2), (uint16_t)(80 + i % 2)};
	spec.listeners = many;
	spec.listener_count = CELL_MAX_LISTENERS;
	accepts(&spec);
	spec.listener_count++;
	refuses(&spec, "15 doors are more than the 14");
	spec.listener_count = 3;
	many[2] = many[0];
	refuses(&spec, "the same address and port 80");
}

static void names_of_doors_are_printable_lines(void **state)
{
	static const char *const bad[] = {"127.0.0.1 a\r\n", "127.0.0.1 \x1b[2J\n", "127.0.0.1 caf\xc3\xa9\n", "\x7f"};
	static char large[CELL_MAX_HOSTS + 2];
	struct cell_spec spec = good();
	(void)state;
	spec.hosts = "127.0.0.1\tdb # ours\n127.0.1.1 api.internal";
	accepts(&spec);
	spec.hosts = "";
	accepts(&spec);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		spec.hosts = bad[i];
		refuses(&spec, "not printable");
	}
	memset(large, 'x', CELL_MAX_HOSTS);
	spec.hosts = large;
	accepts(&spec);
	large[CELL_MAX_HOSTS] = 'x';
	refuses(&spec, "65537 bytes of names for /etc/hosts are more than 65536");
}

static void no_mount_covers_the_names_of_doors(void **state)
{
	static const struct {
		const char *target;
		bool covers;
	} table[] = {{"/etc", true}, {"/etc/hosts", true}, {"/etc/hosts.d", false}, {"/etcetera", false}, {"/data", false}};
	struct cell_spec spec = good();
	(void)state;
	spec.mount_count = 1;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct cell_mount mount = {at("dir"), table[i].target, false};
		spec.mounts = &mount;
		spec.hosts = NULL;
		accepts(&spec);
		spec.hosts = "127.0.0.1 db\n";
		if (table[i].covers)
			refuses(&spec, "would cover /etc/hosts");
		else
			accepts(&spec);
	}
}

static int make_folder(void **state)
{
	(void)state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (!mkdtemp(folder) || mkdir(at("dir"), 0755) < 0 || symlink("dir", at("link")) < 0 ||
		mkfifo(at("fifo"), 0600) < 0)
		return -1;
	int fd = open(at("file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = bind(sock, (struct sockaddr *)&address, sizeof(address));
	fd_close(&fd);
	fd_close(&sock);
	return rc;
}

static int remove_folder(void **state)
{
	(void)state;
	struct err err;
	own(fd_closep) int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fs_remove_tree(tmp, folder + 5, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_those_of_the_manual),
		cmocka_unit_test(secrets_in_a_mounted_folder_of_a_tool_are_hidden_at_its_top),
		cmocka_unit_test(what_is_hidden_can_only_become_more),
		cmocka_unit_test(names_that_carry_secrets_are_hidden_by_default),
		cmocka_unit_test(a_command_is_needed),
		cmocka_unit_test(limits_out_of_range_are_named),
		cmocka_unit_test(mount_targets_stay_where_they_may),
		cmocka_unit_test(a_target_with_names_too_long_is_refused),
		cmocka_unit_test(a_mount_of_a_space_names_a_folder_at_its_top),
		cmocka_unit_test(mount_sources_are_folders_or_files),
		cmocka_unit_test(two_mounts_have_two_targets),
		cmocka_unit_test(ten_thousand_mounts_are_too_many),
		cmocka_unit_test(a_glob_that_could_hide_nothing_is_refused),
		cmocka_unit_test(environment_entries_have_names),
		cmocka_unit_test(strings_beyond_what_the_kernel_takes_are_refused),
		cmocka_unit_test(the_working_folder_is_absolute),
		cmocka_unit_test(an_image_is_a_folder),
		cmocka_unit_test(an_output_folder_is_new_or_empty),
		cmocka_unit_test(an_open_output_folder_may_hold_files_but_must_be_a_folder),
		cmocka_unit_test(required_protections_are_known_and_checked),
		cmocka_unit_test(doors_are_on_the_cells_own_loopback),
		cmocka_unit_test(doors_are_few_and_each_has_its_own_place),
		cmocka_unit_test(names_of_doors_are_printable_lines),
		cmocka_unit_test(no_mount_covers_the_names_of_doors),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
