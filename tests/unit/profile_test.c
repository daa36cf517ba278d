/* Profiles: what is understood, what is refused and with which sentence, and what comes out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "profile/profile.h"

static size_t index_of(const char *name)
{
	const struct cell_call *call;

	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (strcmp(call->name, name) == 0)
			return i;
	fail_msg("no call %s", name);
	return 0;
}

static void parse(struct profile *ret, const char *text)
{
	struct err err = {0};

	if (profile_parse(ret, text, strlen(text), "p.yaml", &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- what is taken ---- */

static void an_empty_profile_is_the_default_one(void **state)
{
	own(profile_done) struct profile profile = {0};
	struct cell_spec spec;
	size_t count;

	(void)state;
	parse(&profile, "");
	assert_string_equal(profile.extends, "default");
	char **words = profile_words(&profile, &count);
	assert_int_equal(count, 0);
	profile_words_free(words);
	cell_spec_defaults(&spec);
	profile_apply(&profile, &spec);
	assert_null(spec.calls_deny);
	assert_null(spec.calls_allow);
	assert_int_equal(spec.path_count, 0);
	assert_false(spec.no_exec);
	assert_non_null(strstr(spec.profile, "p.yaml@sha256:e3b0c44298fc1c14"));
}

static void every_key_is_taken(void **state)
{
	own(profile_done) struct profile profile = {0};
	static const char text[] = "description: all of it\n"
				   "syscalls: {deny: [ptrace, socket], allow: kcmp}\n"
				   "paths:\n"
				   "  - {path: /workspace/out, rights: [write, make-file]}\n"
				   "  - {path: /, rights: read}\n"
				   "capabilities: {drop: [CAP_NET_RAW, sys_admin]}\n"
				   "limits: {memory: 1G, cpus: 0.5, processes: 7, timeout: 2m}\n"
				   "doors: {allow: [a.example], service: ['db:5432=127.0.0.1:5432'], secret-door: '@openai'}\n"
				   "tmp-exec: true\n"
				   "workspace-exec: false\n"
				   "hide: ['*.sql']\n"
				   "forbid: [ssh]\n"
				   "require: [landlock]\n";
	static const char *const expected[] = {"--memory=1073741824", "--cpus=0.500", "--processes=7", "--timeout=120000ms",
		"--tmp-exec", "--allow=a.example", "--service=db:5432=127.0.0.1:5432", "--secret-door=@openai", "--hide=*.sql",
		"--forbid=ssh", "--require=landlock"};
	size_t count;

	(void)state;
	parse(&profile, text);
	assert_string_equal(profile.description, "all of it");
	assert_true(profile.denied[index_of("ptrace")] && profile.denied[index_of("socket")]);
	assert_true(profile.opened[index_of("kcmp")] && profile.drops && profile.no_exec);
	assert_int_equal(profile.path_count, 2);
	assert_int_equal(profile.paths[0].rights, CELL_RIGHT(CELL_WRITE) | CELL_RIGHT(CELL_MAKE_FILE));
	char **words = profile_words(&profile, &count);
	assert_int_equal(count, ARRAY_LEN(expected));
	for (size_t i = 0; i < count; i++)
		assert_string_equal(words[i], expected[i]);
	profile_words_free(words);
	assert_int_equal(profile.lists[PROFILE_ALLOW].items[0].line, 8);
}

/* ---- what it extends ---- */

static void limits_and_flags_replace_lists_add_up_and_paths_are_its_own(void **state)
{
	own(profile_done) struct profile base = {0}, profile = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(profile_builtin(&base, "strict", &err), 0);
	parse(&profile, "extends: strict\nlimits: {memory: 256M}\nworkspace-exec: true\nsyscalls: {allow: [socket]}\n");
	assert_int_equal(profile.limits.memory, 256 << 20);
	assert_int_equal(profile.limits.processes, base.limits.processes);
	assert_true(base.no_exec && !profile.no_exec);
	assert_true(base.denied[index_of("socket")] && !profile.denied[index_of("socket")]);
	assert_true(profile.denied[index_of("ptrace")]);
	assert_true(base.builtin && !profile.builtin);
	assert_string_not_equal(base.sum, profile.sum);
}

static void to_deny_all_leaves_what_is_allowed_and_what_every_program_needs(void **state)
{
	own(profile_done) struct profile profile = {0};
	const struct cell_call *call;
	struct cell_spec spec;

	(void)state;
	parse(&profile, "syscalls: {allow: [dup, kcmp], deny: [all]}\n");
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		assert_int_equal(profile.denied[i], call->kind == CELL_CALL_FREE && strcmp(call->name, "dup") != 0);
	cell_spec_defaults(&spec);
	spec.argv = (const char *const[]){"true", NULL};
	profile_apply(&profile, &spec);
	struct err err = {0};
	if (cell_spec_check(&spec, &err) < 0)
		fail_msg("%s", err.text);
}

static void every_built_in_one_is_a_profile_of_its_own(void **state)
{
	(void)state;
	for (const char *const *name = profile_names; *name; name++) {
		own(profile_done) struct profile profile = {0};
		struct err err = {0};
		if (profile_builtin(&profile, *name, &err) < 0)
			fail_msg("%s", err.text);
		own(buf_done) struct buf opens = {0};
		assert_non_null(profile.description);
		assert_false(profile_opens(&profile, &opens));
	}
	own(profile_done) struct profile none = {0};
	struct err err = {0};
	assert_int_equal(profile_builtin(&none, "stric\033[2J", &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_null(strchr(err.text, '\033'));
}

static void strict_has_no_way_to_a_socket_and_nothing_writable_to_run(void **state)
{
	static const char *const gone[] = {"socket", "socketpair", "ptrace", "memfd_create", "execveat", "seccomp"};
	own(profile_done) struct profile profile = {0};
	struct err err = {0};

	(void)state;
	assert_int_equal(profile_builtin(&profile, "strict", &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		assert_true(profile.denied[index_of(gone[i])]);
	assert_true(profile.no_exec && !profile.tmp_exec);
}

/* ---- what is refused ---- */

static void what_is_wrong_is_named_with_its_line_and_what_was_expected(void **state)
{
	static const struct {
		const char *text, *sentence;
	} table[] = {
		{"[1, 2]", "p.yaml:1: a profile must be an object"},
		{"extends: nobody", "p.yaml:1: 'extends' must be default, strict, build or browser"},
		{"extends: [strict]", "p.yaml:1: 'extends' must be default"},
		{"\nlimit: 3", "p.yaml:2: unknown key 'limit'; expected extends, description, syscalls"},
		{"mounts: []", "'mounts' cannot be in a profile: what of this machine"},
		{"backend: none", "'backend' cannot be in a profile"},
		{"no-default-hide: true", "'no-default-hide' cannot be in a profile"},
		{"pass-env: [TOKEN]", "'pass-env' cannot be in a profile"},
		{"uid: 0", "'uid' cannot be in a profile"},
		{"syscalls: [ptrace]", "'syscalls' must be an object"},
		{"syscalls: {add: [x]}", "unknown key 'syscalls.add'; expected 'allow' or 'deny'"},
		{"syscalls:\n  deny:\n    - ptrace\n    - ptracer", "p.yaml:4: syscalls.deny: 'ptracer' is no system call"},
		{"syscalls: {deny: [execve]}", "'execve' cannot be denied: no program would start"},
		{"syscalls: {deny: [clone]}", "'clone' cannot be denied: the cell's own first process needs it; limit 'processes'"},
		{"syscalls: {allow: [mount]}", "'mount' can never be allowed in a cell: it could undo the cell's walls"},
		{"syscalls: {allow: [bpf]}", "'bpf' can never be allowed"},
		{"syscalls: {allow: [io_uring_setup]}", "'io_uring_setup' can never be allowed"},
		{"syscalls: {allow: [keyctl]}", "'keyctl' can never be allowed in a cell: keyrings are in no namespace"},
		{"syscalls: {allow: [kexec_load]}", "'kexec_load' can never be allowed"},
		{"syscalls: {allow: [all]}", "'all' is no system call"},
		{"syscalls: {allow: [dup], deny: [dup]}", "'dup' is both in syscalls.deny and in syscalls.allow"},
		{"syscalls: {deny: [{a: 1}]}", "'syscalls.deny' must be an array of strings, not an object"},
		{"paths: /tmp", "'paths' must be an array of objects"},
		{"paths: []", "'paths' is empty, and would rule nothing"},
		{"paths: [/tmp]", "'paths' must be an array of objects"},
		{"paths: [{path: /tmp}]", "an item of 'paths' has no 'rights'"},
		{"paths: [{rights: [read]}]", "an item of 'paths' has no 'path'"},
		{"paths: [{path: tmp, rights: [read]}]", "must be an absolute path"},
		{"paths: [{path: /a/../b, rights: [read]}]", "must be an absolute path"},
		{"paths: [{path: /a/, rights: [read]}]", "must be an absolute path"},
		{"paths: [{path: //a, rights: [read]}]", "must be an absolute path"},
		{"paths: [{path: /a, rights: []}]", "'paths.rights' is empty"},
		{"paths: [{path: /a, rights: [fly]}]", "'fly' is no right; expected read, list, execute"},
		{"paths: [{path: /a, rights: [read]}, {path: /a, rights: [list]}]", "this path is given twice"},
		{"capabilities: {add: [CAP_NET_RAW]}", "'capabilities.add': a cell has no capabilities and can be given none"},
		{"capabilities: {drop: [CAP_FLY]}", "'CAP_FLY' is no capability"},
		{"capabilities: none", "'capabilities' must be an object with 'drop'"},
		{"limits: {ram: 1G}", "unknown key 'limits.ram'; expected memory, cpus"},
		{"limits: {memory: lots}", "p.yaml:1: limits.memory"},
		{"limits: {memory: true}", "'limits.memory' must be a number, a size"},
		{"limits: {processes: 0}", "limits.processes"},
		{"doors: {mail: [x]}", "unknown key 'doors.mail'; expected 'allow', 'service' or 'secret-door'"},
		{"doors: [x]", "'doors' must be an object"},
		{"tmp-exec: maybe", "'tmp-exec' must be true or false"},
		{"hide: ['']", "an item of 'hide' is empty"},
		{"tmp-exec: true\ntmp-exec: false", "p.yaml:2: the key 'tmp-exec' is given twice"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct profile profile;
		struct err err = {0};
		assert_int_equal(profile_parse(&profile, table[i].text, strlen(table[i].text), "p.yaml", &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		if (!strstr(err.text, table[i].sentence))
			fail_msg("'%s' is not in: %s", table[i].sentence, err.text);
		assert_null(profile.name);
	}
}

static void a_name_in_the_text_cannot_speak_to_the_terminal(void **state)
{
	static const char *const texts[] = {"\"\\e[31m\": 1", "syscalls: {deny: [\"\\e[31m\"]}", "extends: \"\\e]0;x\"",
		"paths: [{path: /a, rights: [\"\\e[1m\"]}]", "capabilities: {\"\\e[1m\": 1}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct profile profile;
		struct err err = {0};
		assert_int_equal(profile_parse(&profile, texts[i], strlen(texts[i]), "p\033.yaml", &err), -1);
		assert_null(strchr(err.text, '\033'));
	}
}

static void a_text_that_is_too_much_is_refused(void **state)
{
	own(buf_done) struct buf many = {0}, paths = {0}, deep = {0}, bomb = {0};
	struct err err = {0};
	struct profile profile;

	(void)state;
	buf_str(&many, "hide: [");
	for (int i = 0; i < PROFILE_MAX_ITEMS + 1; i++)
		buf_fmt(&many, "n%d, ", i);
	buf_str(&many, "]");
	buf_str(&paths, "paths:\n");
	for (int i = 0; i < CELL_MAX_PATHS + 1; i++)
		buf_fmt(&paths, "- {path: /p%d, rights: [read]}\n", i);
	for (int i = 0; i < 100000; i++)
		buf_char(&deep, '[');
	buf_str(&bomb, "a: &a [x, x, x, x, x, x, x, x, x]\n");
	for (char c = 'b'; c < 'k'; c++)
		buf_fmt(&bomb, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c - 1, c - 1, c - 1, c - 1, c - 1,
			c - 1, c - 1, c - 1, c - 1);
	const struct buf *const all[] = {&many, &paths, &deep, &bomb};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_int_equal(profile_parse(&profile, all[i]->data, all[i]->len, "p", &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

/* ---- what comes out ---- */

static void same(const struct profile *a, const struct profile *b)
{
	assert_memory_equal(a->denied, b->denied, sizeof(a->denied));
	assert_memory_equal(a->opened, b->opened, sizeof(a->opened));
	assert_memory_equal(a->limit_set, b->limit_set, sizeof(a->limit_set));
	size_t count, count_again;
	char **words = profile_words(a, &count), **words_again = profile_words(b, &count_again);
	assert_int_equal(count, count_again);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(words[i], words_again[i]);
	profile_words_free(words);
	profile_words_free(words_again);
	assert_int_equal(a->path_count, b->path_count);
	for (size_t i = 0; i < a->path_count; i++) {
		assert_string_equal(a->paths[i].path, b->paths[i].path);
		assert_int_equal(a->paths[i].rights, b->paths[i].rights);
	}
	assert_true(a->tmp_exec == b->tmp_exec && a->no_exec == b->no_exec);
	for (size_t i = 0; i < PROFILE_LISTS; i++) {
		assert_int_equal(a->lists[i].count, b->lists[i].count);
		for (size_t k = 0; k < a->lists[i].count; k++)
			assert_string_equal(a->lists[i].items[k].text, b->lists[i].items[k].text);
	}
}

static void what_is_shown_is_the_same_profile(void **state)
{
	static const char *const texts[] = {"", "extends: strict", "extends: build", "extends: browser",
		"syscalls: {deny: [all], allow: [dup, kcmp]}\nlimits: {cpus: 1.5, timeout: 1500ms}\n",
		"hide: [\"a\\\"b\\\\\", \"\\u202e\\u009b\\U0001F600\\x01\", 'ä']\npaths: [{path: '/a b', rights: [modify, ioctl]}]\n"
		"doors: {allow: [x.example]}\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		own(profile_done) struct profile profile = {0}, again = {0};
		own(buf_done) struct buf yaml = {0};
		parse(&profile, texts[i]);
		profile_yaml(&profile, &yaml);
		for (size_t k = 0; k < yaml.len; k++)
			assert_true(yaml.data[k] == '\n' || (yaml.data[k] >= ' ' && yaml.data[k] <= '~'));
		parse(&again, buf_text(&yaml));
		same(&profile, &again);
	}
}

static void warnings_say_what_is_opened(void **state)
{
	own(profile_done) struct profile profile = {0}, harmless = {0};
	own(buf_done) struct buf lines = {0}, none = {0}, opens = {0};
	static const char *const said[] = {"allows kcmp", "allows ptrace", "/usr mean nothing", "most programs will not start",
		"lets it out of its network: a.example", "raises memory to 8G from 512M", "run from /tmp"};

	(void)state;
	parse(&profile, "extends: strict\nsyscalls: {allow: [kcmp, ptrace]}\npaths: [{path: /usr, rights: [write]}, {path: /etc, "
			"rights: [read]}]\ndoors: {allow: [a.example]}\nlimits: {memory: 8G}\ntmp-exec: true\n");
	assert_int_equal(profile_warnings(&profile, &lines), ARRAY_LEN(said));
	for (size_t i = 0; i < ARRAY_LEN(said); i++)
		if (!strstr(buf_text(&lines), said[i]))
			fail_msg("'%s' is not in: %s", said[i], buf_text(&lines));
	assert_true(profile_opens(&profile, &opens));
	assert_string_equal(buf_text(&opens), "call kcmp, allow a.example");
	parse(&harmless, "extends: strict\n");
	assert_int_equal(profile_warnings(&harmless, &none), 0);
}

/* ---- learning ---- */

static void a_proposal_denies_what_was_not_seen_and_never_gives_more_than_there_was(void **state)
{
	own(profile_done) struct profile profile = {0}, again = {0};
	own(buf_done) struct buf notes = {0}, yaml = {0};
	struct cell_spec spec;
	static struct cell_result result;
	const struct profile_seen seen = {.spec = &spec, .result = &result};
	const struct cell_call *call;

	(void)state;
	cell_spec_defaults(&spec);
	result = (struct cell_result){.wall_ns = 1000000, .processes = 3, .peak_memory = UINT64_C(2) << 30, .stdout_bytes = 10};
	result.observed.valid = result.observed.wrote_tmp = true;
	result.observed.calls[index_of("dup")] = result.observed.calls[index_of("mkdirat")] = true;
	profile_propose(&profile, &seen, &notes);
	for (size_t i = 0; (call = cell_call_at(i)); i++)
		if (call->kind == CELL_CALL_FREE)
			assert_int_equal(profile.denied[i], !result.observed.calls[i]);
	assert_int_equal(profile.path_count, 1);
	assert_string_equal(profile.paths[0].path, "/tmp");
	assert_int_equal(profile.paths[0].rights, CELL_RIGHT(CELL_WRITE) | CELL_RIGHT(CELL_TRUNCATE) |
			CELL_RIGHT(CELL_MAKE_FILE) | CELL_RIGHT(CELL_MAKE_DIR));
	assert_int_equal(profile.limits.memory, spec.limits.memory);
	assert_true(profile.limits.processes < spec.limits.processes);
	profile_yaml(&profile, &yaml);
	parse(&again, buf_text(&yaml));
	same(&profile, &again);
	result.refused[0] = (struct cell_refused){"eventfd2", 1};
	result.refused[1] = (struct cell_refused){"mount", 1};
	assert_int_equal(profile_relent(&profile, &result), 1);
	assert_false(profile.denied[index_of("eventfd2")]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_profile_is_the_default_one),
		cmocka_unit_test(every_key_is_taken),
		cmocka_unit_test(limits_and_flags_replace_lists_add_up_and_paths_are_its_own),
		cmocka_unit_test(to_deny_all_leaves_what_is_allowed_and_what_every_program_needs),
		cmocka_unit_test(every_built_in_one_is_a_profile_of_its_own),
		cmocka_unit_test(strict_has_no_way_to_a_socket_and_nothing_writable_to_run),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line_and_what_was_expected),
		cmocka_unit_test(a_name_in_the_text_cannot_speak_to_the_terminal),
		cmocka_unit_test(a_text_that_is_too_much_is_refused),
		cmocka_unit_test(what_is_shown_is_the_same_profile),
		cmocka_unit_test(warnings_say_what_is_opened),
		cmocka_unit_test(a_proposal_denies_what_was_not_seen_and_never_gives_more_than_there_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
