#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json_read.h"
#include "base/own.h"
#include "base/utf8.h"
#include "oracle/oracle.h"

#define TEST(name) cmocka_unit_test(name)
#define NONE ""

/* ---- an observation, and what is said of it ---- */

static const char *const environment[] = {"PATH=/usr/bin:/bin", "HOME=/home/u", "MODE=production",
	"API_KEY=hunter2hunter2", "SESSION=a1b2c3d4e5f6a7b8c9d0e1f2", "LANG=C.UTF-8", NULL};
static const struct canary canaries[] = {
	{"hcK7w2Qp9ZtX4", "/etc/passwd", false},
	{"hcS3cr3tV9mB2", "the environment variable BACKUP_KEY", true},
};

static struct observation seen_with(const char *input, enum reply_kind kind, const char *text)
{
	return (struct observation){.subject = "tool", .input = input, .len = strlen(input), .canaries = canaries,
		.canary_count = ARRAY_LEN(canaries), .environment = environment, .calls = 3, .limit_ns = UINT64_C(5000000000),
		.reply = {.kind = kind, .text = text, .len = strlen(text), .message = kind == REPLY_OK ? "" : text}};
}

static void check_shape(const struct verdict *verdict)
{
	assert_true(verdict->evidence.count > 0);
	assert_true(verdict->message[0] && !strpbrk(verdict->message, "\n\r\t\x1b"));
	for (size_t i = 0; i < verdict->evidence.count; i++)
		assert_true(strlen(verdict->evidence.items[i]) < 500 && !strpbrk(verdict->evidence.items[i], "\n\r\x1b"));
}

/* "oracle: message", one a line, as they come. */
static char *told(const struct observation *seen, const char *set)
{
	own(buf_done) struct buf all = {0};
	struct verdicts verdicts;
	oracle_set bits;
	struct err err = {0};

	assert_int_equal(oracle_set_read(set, &bits, &err), 0);
	oracle_judge(seen, bits, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		check_shape(&verdicts.list[i]);
		buf_fmt(&all, "%s%s: %s", i ? "\n" : "", verdicts.list[i].oracle, verdicts.list[i].message);
	}
	verdicts_done(&verdicts);
	return xstrdup(buf_text(&all));
}

static void expect_in(const struct observation *seen, const char *set, const char *expected)
{
	own(freep) char *all = told(seen, set);

	if (strcmp(all, expected) != 0)
		fail_msg("of '%.*s' and '%.*s': '%s', not '%s'", (int)seen->len, seen->input, (int)seen->reply.len,
			seen->reply.text ? seen->reply.text : "", all, expected);
}

static void expect(const struct observation *seen, const char *expected)
{
	expect_in(seen, "all,-unstable,-refused", expected);
}

static char *evidence_of(const struct observation *seen)
{
	own(buf_done) struct buf all = {0};
	struct verdicts verdicts;

	oracle_judge(seen, ORACLES_ALL, &verdicts);
	assert_true(verdicts.count > 0);
	for (size_t i = 0; i < verdicts.list[0].evidence.count; i++)
		buf_fmt(&all, "%s\n", verdicts.list[0].evidence.items[i]);
	verdicts_done(&verdicts);
	return xstrdup(buf_text(&all));
}

/* ---- the table ---- */

static void every_oracle_has_a_rule_and_every_rule_an_oracle(void **state)
{
	size_t count = 0, rules = 0;

	(void)state;
	for (; oracles[count].name; count++) {
		assert_non_null(finding_rule(oracles[count].name));
		assert_non_null(oracles[count].judge);
		assert_true(oracles[count].help[0] && !strpbrk(oracles[count].help, "\n"));
	}
	for (; finding_rules[rules].oracle; rules++)
		assert_true(oracle_in(ORACLES_ALL, finding_rules[rules].oracle));
	assert_int_equal(count, rules);
	assert_false(oracle_in(ORACLES_ALL, "nothing"));
}

static void sets_are_read_by_name(void **state)
{
	static const struct {
		const char *text;
		bool canary, crash, refused;
	} cases[] = {
		{"all", true, true, true},
		{"canary", true, false, false},
		{"canary,crash", true, true, false},
		{"all,-refused", true, true, false},
		{" canary , refused ", true, false, true},
		{oracle_set_default, true, true, false},
		{"-crash", true, false, false},
	};
	static const char *const wrong[] = {"", "canaries", "all,", "-", "all,-x", ",canary", "Canary", "-all", "crash,-crash",
		"all,-canary,-command,-file,-network,-secret,-crash,-hang,-memory,-exception,-output-schema,-protocol,-trace,-spawn,"
		"-accepted,-refused,-unstable"};
	oracle_set set;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = {0};
		assert_int_equal(oracle_set_read(cases[i].text, &set, &err), 0);
		assert_int_equal(oracle_in(set, "canary"), cases[i].canary);
		assert_int_equal(oracle_in(set, "crash"), cases[i].crash);
		assert_int_equal(oracle_in(set, "refused"), cases[i].refused);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err err = {0};
		assert_int_equal(oracle_set_read(wrong[i], &set, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
}

/* docs/ORACLES.md repeats the table: "| `canary` | what it proves | critical | CWE-22 | how to declare |" */
static void the_table_in_the_documentation_is_this_one(void **state)
{
	static const char *const places[] = {"docs/ORACLES.md", "../docs/ORACLES.md", "../../docs/ORACLES.md"};
	own(buf_done) struct buf text = {0};
	char bytes[4096];
	FILE *file = NULL;
	size_t len, rows = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places) && !file; i++)
		file = fopen(places[i], "re");
	assert_non_null(file);
	while ((len = fread(bytes, 1, sizeof(bytes), file)) > 0)
		buf_add(&text, bytes, len);
	(void)fclose(file);
	for (const char *at = buf_text(&text); (at = strstr(at, "\n| `")); at++)
		rows++;
	for (size_t i = 0; oracles[i].name; i++, rows--) {
		own(buf_done) struct buf row = {0};
		const struct finding_rule *rule = finding_rule(oracles[i].name);
		buf_fmt(&row, "\n| `%s` | %s | %s | ", oracles[i].name, oracles[i].help, severity_name(rule->severity));
		if (rule->cwe)
			buf_fmt(&row, "CWE-%d | ", rule->cwe);
		else
			buf_str(&row, "- | ");
		if (!strstr(buf_text(&text), buf_text(&row)))
			fail_msg("docs/ORACLES.md has no row that begins '%s'", buf_text(&row) + 1);
	}
	assert_int_equal(rows, 0);
}

static void a_planted_key_is_told_once(void **state)
{
	struct observation seen = seen_with("{}", REPLY_OK, "-----BEGIN OPENSSH PRIVATE KEY----- hcK7w2Qp9ZtX4");
	struct observation own_key = seen_with("{}", REPLY_OK, "-----BEGIN OPENSSH PRIVATE KEY----- x");

	(void)state;
	expect(&seen, "canary: its answer holds what was planted out of its reach");
	expect(&own_key, "secret: its answer holds a private key");
}

static void the_worst_comes_first(void **state)
{
	struct observation seen = seen_with("{}", REPLY_OK, "x hcK7w2Qp9ZtX4 hcS3cr3tV9mB2");

	(void)state;
	seen.malformed = true;
	expect(&seen, "canary: its answer holds what was planted out of its reach\n"
		      "secret: its answer holds a secret that was planted in its environment\n"
		      "accepted: input that breaks its schema was accepted");
	expect_in(&seen, "accepted,secret",
		"secret: its answer holds a secret that was planted in its environment\n"
		"accepted: input that breaks its schema was accepted");
}

/* ---- what was read and told ---- */

static void a_canary_is_found_in_every_form(void **state)
{
	static const struct {
		const char *text;
		bool found;
	} cases[] = {
		{"root:hcK7w2Qp9ZtX4:0", true}, {"ROOT:HCK7W2QP9ZTX4:0", true}, {"6863 6863 68634b37773251703 no", false},
		{"68634b3777325170395a745834", true}, {"68634B3777325170395A745834", true}, {"4XtZ9pQ2w7Kch", true},
		{"cm9vdDpoY0s3dzJRcDladFg0OjA=", true}, /* base64 of "root:TOKEN:0" */
		{"eDpoY0s3dzJRcDladFg0", true}, /* of "x:TOKEN" */
		{"aGNLN3cyUXA5WnRYNA==", true}, /* of "TOKEN" */
		{"eGhjSzd3MlFwOVp0WDQ=", true}, /* of "xTOKEN" */
		{"hcK7w2Qp9ZtX", false}, {"no such file", false}, {"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with("{\"path\":\"../../etc/passwd\"}", REPLY_OK, cases[i].text);
		expect_in(&seen, "canary", cases[i].found ? "canary: its answer holds what was planted out of its reach" : NONE);
	}
	struct observation wide = seen_with("{}", REPLY_OK, "");
	wide.reply.text = "h\0c\0K\0""7\0w\0""2\0Q\0p\0""9\0Z\0t\0X\0""4";
	wide.reply.len = 25;
	expect_in(&wide, "canary", "canary: its answer holds what was planted out of its reach");
}

static void a_canary_that_the_input_brought_proves_nothing(void **state)
{
	struct observation seen = seen_with("{\"echo\":\"hcK7w2Qp9ZtX4\"}", REPLY_OK, "you said hcK7w2Qp9ZtX4");
	struct observation hex = seen_with("{\"echo\":\"68634b3777325170395a745834\"}", REPLY_OK, "that is hcK7w2Qp9ZtX4");

	(void)state;
	expect(&seen, NONE);
	expect(&hex, NONE);
}

static void a_canary_on_stderr_says_where_it_was(void **state)
{
	struct observation seen = seen_with("{}", REPLY_OK, "done");

	(void)state;
	seen.reply.said = "debug: hcK7w2Qp9ZtX4";
	seen.reply.said_len = strlen(seen.reply.said);
	expect(&seen, "canary: it read, and wrote to stderr, what was planted out of its reach");
	own(freep) char *evidence = evidence_of(&seen);
	assert_non_null(strstr(evidence, "the token hcK7w2Qp9ZtX4, planted in /etc/passwd and nowhere else, is on stderr"));
	assert_non_null(strstr(evidence, "on stderr: debug: hcK7w2Qp9ZtX4"));
}

static void secrets_and_keys_in_an_answer_are_told(void **state)
{
	static const struct {
		const char *input, *text, *verdict;
	} cases[] = {
		{"{}", "key=hunter2hunter2", "secret: its answer holds the value of the environment variable API_KEY"},
		{"{}", "aHVudGVyMmh1bnRlcjI=", "secret: its answer holds the value of the environment variable API_KEY"},
		{"{}", "id a1b2c3d4e5f6a7b8c9d0e1f2", "secret: its answer holds the value of the environment variable SESSION"},
		{"{}", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", "secret: its answer holds a private key"},
		{"{}", "AKIAIOSFODNN7EXAMPLE", "secret: its answer holds an access key of AWS"},
		{"{\"k\":\"hunter2hunter2\"}", "you said hunter2hunter2", NONE},
		{"{\"k\":\"AKIAIOSFODNN7EXAMPLE\"}", "AKIAIOSFODNN7EXAMPLE", NONE},
		{"{}", "mode is production in C.UTF-8 and /usr/bin:/bin", NONE},
		{"{}", "SAKIAIOSFODNN7EXAMPLE AKIAshort", NONE},
		{"{}", "-----BEGIN PUBLIC KEY-----", NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with(cases[i].input, REPLY_OK, cases[i].text);
		expect(&seen, cases[i].verdict);
	}
}

static void the_value_of_a_secret_is_in_no_evidence(void **state)
{
	struct observation seen = seen_with("{}", REPLY_OK, "key=hunter2hunter2");
	own(freep) char *evidence = evidence_of(&seen);

	(void)state;
	assert_null(strstr(evidence, "hunter2"));
}

/* ---- effects ---- */

struct did {
	enum cell_effect_kind kind;
	const char *what, *by;
	const char *words[4];
};

static void expect_effects(
	const char *input, const struct did *did, size_t count, const struct allowed *allowed, const char *verdicts)
{
	struct effect effects[4] = {0};
	struct observation seen = seen_with(input, REPLY_OK, "done");

	for (size_t i = 0; i < count; i++) {
		effects[i] = (struct effect){.kind = did[i].kind, .what = (char *)(uintptr_t)did[i].what, .len = strlen(did[i].what),
			.by = (char *)(uintptr_t)did[i].by};
		for (size_t word = 0; word < 4 && did[i].words[word]; word++)
			strings_add(&effects[i].words, did[i].words[word]);
	}
	seen.effects = effects;
	seen.effect_count = count;
	seen.allowed = allowed;
	seen.mark = "mrk83zq";
	expect(&seen, verdicts);
	for (size_t i = 0; i < count; i++)
		strings_done(&effects[i].words);
}

#define EXEC(path, by, ...) {CELL_EFFECT_EXEC, path, by, {__VA_ARGS__}}

static void programs_that_an_argument_starts_are_told_from_others(void **state)
{
	static const char *const git[] = {"git", NULL}, *const any[] = {"*", NULL}, *const shell[] = {"/bin/sh", NULL};
	static const struct {
		const char *input;
		struct did did;
		const char *const *spawn;
		const char *verdict;
	} cases[] = {
		{"{\"p\":\"; touch mrk83zq\"}", EXEC("/usr/bin/touch", "sh", "touch", "mrk83zq"), NULL,
			"command: the argument reached a shell"},
		{"{\"p\":\"> mrk83zq\"}", {CELL_EFFECT_WRITE, "/workspace/mrk83zq", "bash", {0}}, git,
			"command: the argument reached a shell"},
		{"{\"p\":\"--output=mrk83zq\"}", EXEC("/usr/bin/git", "python3", "git", "diff", "--output=mrk83zq"),
			git, "command: the argument became an option of git"},
		{"{\"p\":\"nmapper\"}", EXEC("/usr/bin/nmapper", "python3", "nmapper"), NULL,
			"command: the argument chose the program that was started"},
		/* it is only a program, whatever its text is */
		{"{\"p\":\"; touch mrk83zq\"}", EXEC("/bin/sh", "python3", "sh", "-c", "ls \"; touch mrk83zq\""), NULL,
			"spawn: a program was started: sh"},
		{"{\"p\":\"report.txt\"}", EXEC("/bin/sh", "python3", "sh", "-c", "wc report.txt"), NULL,
			"spawn: a program was started: sh"},
		{"{\"p\":\"nmapper-tool\"}", EXEC("/usr/bin/nmapper", "python3", "nmapper"), NULL, "spawn: a program was started: nmapper"},
		{"{\"p\":\"status\"}", EXEC("/bin/sh", "python3", "sh", "-c", "git status"), NULL, "spawn: a program was started: sh"},
		{"{\"p\":\"a\"}", EXEC("/usr/bin/wc", "python3", "wc", "-l", "a"), NULL,
			"spawn: a program was started: wc"},
		{"{\"p\":\"report.txt\"}", EXEC("/usr/bin/wc", "python3", "wc", "report.txt"), NULL,
			"spawn: a program was started: wc"},
		{"{\"p\":\"; touch mrk83zq\"}", EXEC("/bin/sh", "python3", "sh", "-c", "ls '; touch mrk83zq'"), NULL,
			"spawn: a program was started: sh"},
		{"{\"p\":\"x\"}", EXEC("/bin/sh", "python3", "sh", "-c", "uname -r"), NULL,
			"spawn: a program was started: sh"},
		/* it is its work */
		{"{\"p\":\"mrk83zq\"}", EXEC("/usr/bin/git", "python3", "git", "log", "mrk83zq"), git, NONE},
		{"{\"p\":\"--mrk83zq\"}", EXEC("/usr/bin/git", "python3", "git", "--", "--mrk83zq"), git, NONE},
		{"{\"p\":\"x\"}", EXEC("/usr/lib/git-core/git-remote-https", "git", "git-remote-https"), git, NONE},
		{"{\"p\":\"mrk83zq\"}", EXEC("/bin/sh", "python3", "sh", "-c", "ls mrk83zq"), any, NONE},
		{"{\"p\":\"mrk83zq\"}", EXEC("/bin/sh", "python3", "sh", "-c", "ls mrk83zq"), shell, NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct allowed allowed = {.spawn = cases[i].spawn};
		expect_effects(cases[i].input, &cases[i].did, 1, &allowed, cases[i].verdict);
	}
}

static void what_an_injected_program_does_is_told_with_it(void **state)
{
	static const struct did did[] = {
		EXEC("/bin/sh", "python3", "sh", "-c", "ls; curl mrk83zq > /etc/x"),
		EXEC("/usr/bin/curl", "sh", "curl", "mrk83zq"),
		{CELL_EFFECT_CONNECT, "192.0.2.1:80", "curl", {0}},
		{CELL_EFFECT_WRITE, "/etc/x", "sh", {0}},
	};

	(void)state;
	expect_effects("{\"p\":\"; curl mrk83zq > /etc/x\"}", did, 4, NULL, "command: the argument reached a shell");
}

static void what_a_shell_was_made_to_start_is_told_from_what_it_was_to_start(void **state)
{
	static const struct {
		const char *input, *text, *program, *verdict, *typed;
	} cases[] = {
		{"{\"p\":\"`dd`\"}", "echo `dd`", "/usr/bin/dd", "command: the argument reached a shell"},
		{"{\"p\":\"a; id\"}", "echo a; id", "/usr/bin/id", "command: the argument reached a shell"},
		{"{\"p\":\"\\n/bin/id\"}", "echo \n/bin/id", "/bin/id", "command: the argument reached a shell"},
		{"{\"p\":\"$(\\tid)\"}", "echo $(\tid)", "/bin/id", "command: the argument reached a shell"},
		{"{\"p\":\";/usr/xy\"}", "echo ;/usr/xy:", "/usr/xy:", "command: the argument reached a shell"},
		{"{\"p\":\"&\\u0002/\\u00e4:x\"}", "echo &\002/\xc3\xa4:x.", "/srv/\002/\xc3\xa4:x.", "command: the argument reached a shell"},
		{"{\"p\":\"\\nN/\\n\"}", "echo \nN/\n:", "/srv/N", "command: the argument reached a shell", "N/"},
		{"{\"p\":\"\\n/\"}", "echo \n/:", "/:", "command: the argument reached a shell", "/:"},
		{"{\"p\":\"|'/C x'!A\"}", "echo |'/C x'!A:", "/C x!A:", "command: the argument reached a shell", "/C x!A:"},
		{"{\"p\":\"; \\\"/a b\\\"\\\\c\"}", "echo ; \"/a b\"\\c:", "/a bc:", "command: the argument reached a shell", "/a bc:"},
		/* names that nobody wrote are not told apart; one that the target's own script starts has its name */
		{"{\"p\":\"|$0/X\\\\\"}", "echo |$0/X\\:", "/srv/sh/X:", "spawn: a program was started: by a name that a shell made\nspawn: a program was started: sh", "sh/X:"},
		{"{\"p\":\"|$00\"}", "echo |$00:", "/srv/sh0:", "spawn: a program was started: by a name that a shell made\nspawn: a program was started: sh", "sh0:"},
		{"{\"p\":\"x\"}", "./build.sh $PWD x", "/usr/bin/gcc", "spawn: a program was started: gcc\nspawn: a program was started: sh", "gcc"},
		/* the text starts it, whatever the input is */
		{"{\"p\":\"/C x\"}", "echo a | '/C x'", "/C x", "spawn: a program was started: C x\nspawn: a program was started: sh", "/C x"},
		{"{\"p\":\"id\"}", "echo a; id", "/usr/bin/id", "spawn: a program was started: id\nspawn: a program was started: sh"},
		{"{\"p\":\"; identify\"}", "echo '; identify'; id", "/usr/bin/id", "spawn: a program was started: id\nspawn: a program was started: sh"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct did did[] = {
			EXEC("/bin/sh", "python3", "sh", "-c", cases[i].text),
			EXEC(cases[i].program, "sh", cases[i].typed ? cases[i].typed : "id"),
		};
		expect_effects(cases[i].input, did, 2, NULL, cases[i].verdict);
	}
}

static void files_are_told_by_where_they_are_and_who_chose(void **state)
{
	static const char *const output[] = {"/srv/out/", NULL};
	static const struct {
		const char *input;
		struct did did;
		const char *verdict;
	} cases[] = {
		{"{\"p\":\"../../etc/cron.d/x\"}", {CELL_EFFECT_WRITE, "/etc/cron.d/x", "python3", {0}},
			"file: it writes what the argument names"},
		{"{\"p\":\"/tmp/evil.txt\"}", {CELL_EFFECT_WRITE, "/tmp/evil.txt", "python3", {0}},
			"file: it writes what the argument names"},
		{"{\"p\":\"notes.txt\"}", {CELL_EFFECT_REMOVE, "/workspace/notes.txt", "python3", {0}},
			"file: it removes what the argument names"},
		{"{\"p\":\"x\"}", {CELL_EFFECT_WRITE, "/etc/hosts", "python3", {0}}, "file: it writes a file below /etc"},
		{"{\"p\":\"x\"}", {CELL_EFFECT_WRITE, "/made-up/hosts", "python3", {0}}, "file: it writes a file below /"},
		{"{\"p\":\"x\"}", {CELL_EFFECT_WRITE, "/tmp/../etc/hosts", "python3", {0}}, "file: it writes a file below /etc"},
		{"{\"p\":\"\\/var\\/mrk83zq\"}", {CELL_EFFECT_WRITE, "/var/mrk83zq", "python3", {0}},
			"file: it writes what the argument names"},
		{"{\"p\":\"a\"}", {CELL_EFFECT_WRITE, "/tmp/tmpab12", "python3", {0}}, NONE},
		{"{\"p\":\"a\"}", {CELL_EFFECT_WRITE, "/dev/null", "python3", {0}}, NONE},
		{"{\"p\":\"a\"}", {CELL_EFFECT_WRITE, "/proc/self/oom_score_adj", "python3", {0}}, NONE},
		{"{\"p\":\"a\"}", {CELL_EFFECT_WRITE, "/opt/tool/__pycache__/tool.cpython-311.pyc.123", "python3", {0}}, NONE},
		{"{\"p\":\"a\"}", {CELL_EFFECT_WRITE, "/home/u/.toolrc", "python3", {0}}, NONE},
		{"{\"p\":\"a\"}", {CELL_EFFECT_REMOVE, "/workspace/cache.db-journal", "python3", {0}}, NONE},
		{"{\"p\":\"/srv/out/report.txt\"}", {CELL_EFFECT_WRITE, "/srv/out/report.txt", "python3", {0}}, NONE},
		{"{\"p\":\"/srv/outside.txt\"}", {CELL_EFFECT_WRITE, "/srv/outside.txt", "python3", {0}},
			"file: it writes what the argument names"},
	};
	struct allowed allowed = {.write = output};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_effects(cases[i].input, &cases[i].did, 1, &allowed, cases[i].verdict);
}

static void connections_are_told_by_where_they_go_and_who_chose(void **state)
{
	static const struct {
		const char *input, *what;
		bool net;
		const char *verdict;
	} cases[] = {
		{"{\"url\":\"http://169.254.169.254/latest\"}", "169.254.169.254:80", false,
			"network: it connects where the argument says"},
		{"{\"url\":\"http://localhost:9/\"}", "127.0.0.1:9", false,
			"network: it connects where the argument says"},
		{"{\"url\":\"http://[::1]:9/\"}", "[::1]:9", false, "network: it connects where the argument says"},
		{"{\"url\":\"http://a.example/\"}", "192.0.2.1:53", false, "network: it asked the resolver for a name"},
		{"{\"q\":\"x\"}", "192.0.2.7:443", false, "network: it connects to the network"},
		{"{\"q\":\"x\"}", "127.0.0.1:6379", false, "network: it connects to the loopback network"},
		{"{\"q\":\"x\"}", "unix:/var/run/docker.sock", false, "network: it connects to the socket docker.sock"},
		{"{\"q\":\"x\"}", "unix:/var/run/nscd/socket", false, NONE},
		{"{\"q\":\"x\"}", "unix:/dev/log", false, NONE},
		{"{\"q\":\"x\"}", "unix:@dbus", false, NONE},
		{"{\"q\":\"x\"}", "192.0.2.7:0", false, NONE},
		{"{\"url\":\"http://169.254.169.254/\"}", "169.254.169.254:80", true, NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct allowed allowed = {.net = cases[i].net};
		struct did did = {CELL_EFFECT_CONNECT, cases[i].what, "python3", {0}};
		expect_effects(cases[i].input, &did, 1, &allowed, cases[i].verdict);
	}
}

/* ---- its process ---- */

static void the_end_of_a_process_is_a_crash_where_it_was_its_own(void **state)
{
	static const struct {
		enum reply_kind reply;
		struct cell_result result;
		const char *verdict;
	} cases[] = {
		{REPLY_ENDED, {.outcome = CELL_SIGNALED, .signal = SIGSEGV}, "crash: it was ended by SIGSEGV"},
		{REPLY_OK, {.outcome = CELL_SIGNALED, .signal = SIGABRT}, "crash: it was ended by SIGABRT"},
		{REPLY_ENDED, {.outcome = CELL_EXITED, .exit_code = 3}, "crash: it ended by itself (exit 3) in the middle of a call"},
		{REPLY_ENDED, {.outcome = CELL_DENIED, .signal = SIGSYS}, "crash: the filter of system calls ended it"},
		{REPLY_ENDED, {.outcome = CELL_OOM, .peak_memory = 64 << 20}, "memory: it went beyond the memory of its cell"},
		{REPLY_OK, {.outcome = CELL_EXITED, .exit_code = 0}, NONE},
		{REPLY_REJECTED, {.outcome = CELL_EXITED, .exit_code = 1}, NONE},
		{REPLY_ENDED, {.outcome = CELL_SIGNALED, .signal = SIGKILL, .lost = true}, NONE},
		{REPLY_LATE, {.outcome = CELL_SIGNALED, .signal = SIGKILL}, "hang: it did not answer in time"},
		{REPLY_LATE, {.outcome = CELL_CANCELLED}, "hang: it did not answer in time"},
		{REPLY_OK, {.outcome = CELL_CANCELLED}, NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with("{}", cases[i].reply, "");
		seen.ended = true;
		seen.result = &cases[i].result;
		expect(&seen, cases[i].verdict);
	}
	struct observation gone = seen_with("{}", REPLY_ENDED, "");
	expect(&gone, "crash: it ended in the middle of a call");
}

static void a_crash_has_the_frames_of_its_stderr(void **state)
{
	const struct cell_result result = {.outcome = CELL_EXITED, .exit_code = 1};
	struct observation seen = seen_with("{}", REPLY_ENDED, "");
	struct verdicts verdicts;

	(void)state;
	seen.ended = true;
	seen.result = &result;
	seen.reply.said = "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in run\n    x()\nKeyError: 'a'\n";
	seen.reply.said_len = strlen(seen.reply.said);
	oracle_judge(&seen, ORACLES_ALL, &verdicts);
	assert_int_equal(verdicts.count, 1);
	assert_string_equal(verdicts.list[0].frames.items[0], "run (a.py)");
	assert_string_equal(verdicts.list[0].file, "/srv/a.py");
	assert_int_equal(verdicts.list[0].line, 3);
	verdicts_done(&verdicts);
}

static void growth_is_told_from_warm_up_and_garbage(void **state)
{
	enum { SAMPLES = 60 };
	static const struct {
		const char *name;
		uint64_t base, rise, period,
			plateau; /* MB; rises by `rise` a sample, falls back each `period`, stays after `plateau` */
		size_t count;
		bool grows;
	} cases[] = {
		{"a leak", 50, 5, 0, 0, SAMPLES, true},
		{"a slow leak", 10, 2, 0, 0, SAMPLES, true},
		{"a plateau", 50, 0, 0, 0, SAMPLES, false},
		{"a warm-up", 50, 20, 0, 10, SAMPLES, false},
		{"a long warm-up", 50, 20, 0, 30, SAMPLES, false},
		{"garbage, often", 50, 20, 7, 0, SAMPLES, false},
		{"garbage, seldom", 50, 10, 30, 0, SAMPLES, false},
		{"too few samples", 50, 50, 0, 0, 15, false},
		{"little growth", 500, 1, 0, 0, SAMPLES, false},
		{"none known", 50, 5, 0, 0, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t memory[SAMPLES];
		struct observation seen = seen_with("{}", REPLY_OK, cases[i].name);
		for (uint64_t at = 0; at < cases[i].count; at++) {
			uint64_t step = cases[i].period ? at % cases[i].period : at;
			step = cases[i].plateau && step > cases[i].plateau ? cases[i].plateau : step;
			memory[at] = (cases[i].base + cases[i].rise * step) << 20;
		}
		seen.memory = memory;
		seen.memory_count = cases[i].count;
		expect(&seen, cases[i].grows ? "memory: its memory grew with the calls" : NONE);
	}
}

/* ---- its answer ---- */

static void a_failure_is_told_by_the_exception_that_it_names(void **state)
{
	static const struct {
		enum reply_kind kind;
		const char *text, *verdict;
	} cases[] = {
		{REPLY_FAILED, "Error executing tool f: 'NoneType' object has no attribute 'x'",
			"exception: Error executing tool f: 'NoneType' object has no attribute 'x'"},
		{REPLY_FAILED, "{\"error\":\"TypeError: a is not a function\"}",
			"exception: TypeError: a is not a function"},
		{REPLY_FAILED,
			"Traceback (most recent call last):\n  File \"/home/u/a.py\", line 3, in run\n    x()\nKeyError: 'a'\n",
			"exception: KeyError: 'a'"},
		{REPLY_FAILED, "something odd", "exception: something odd"},
		{REPLY_REJECTED, "Invalid path: must be absolute", NONE},
		{REPLY_OK, "TypeError: is what the file says", NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with("{}", cases[i].kind, cases[i].text);
		expect(&seen, cases[i].verdict);
	}
}

static void inner_workings_in_an_answer_are_told(void **state)
{
	static const char trace[] =
		"Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in run\n    x()\nKeyError: 'a'\n";
	static const struct {
		const char *input;
		enum reply_kind kind;
		const char *text, *verdict;
	} cases[] = {
		{"{}", REPLY_OK, trace, "trace: a stack trace is in the answer"},
		{"{}", REPLY_REJECTED, trace, "trace: a stack trace is in the answer"},
		{"{\"p\":\"a.txt\"}", REPLY_REJECTED, "cannot open /home/user/app/data/a.txt",
			"trace: a path of the machine is in the answer: below /home"},
		{"{}", REPLY_REJECTED, "cannot load C:\\Program\\tool\\x.dll",
			"trace: a path of the machine is in the answer: below C:"},
		{"{}", REPLY_OK, "PATH=/usr/bin:/bin\nHOME=/home/u\nMODE=production\n",
			"trace: its environment is in the answer"},
		{"{\"p\":\"../../etc/passwd\"}", REPLY_REJECTED,
			"ENOENT: no such file or directory, open '/etc/passwd'", NONE},
		{"{\"p\":\"/home/user/x\"}", REPLY_REJECTED, "/home/user/x is not there", NONE},
		{"{}", REPLY_REJECTED, "not below /workspace/project/data", NONE},
		{"{}", REPLY_REJECTED, "see https://example.com/usr/share/doc", NONE},
		{"{}", REPLY_OK, "/usr/lib/python3/a.py\n/usr/share/doc", NONE},
		{"{}", REPLY_REJECTED, "meet at / or /etc", NONE},
		{"{}", REPLY_OK, "HOME=/home/u", NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with(cases[i].input, cases[i].kind, cases[i].text);
		expect(&seen, cases[i].verdict);
	}
	struct observation logged = seen_with("{}", REPLY_OK, "done"); /* stderr is no answer */
	logged.reply.said = trace;
	logged.reply.said_len = strlen(trace);
	expect(&logged, NONE);
}

static void an_answer_is_held_against_the_declared_schema(void **state)
{
	static const char text[] = "{\"type\":\"object\",\"required\":[\"n\"],\"properties\":{\"n\":{\"type\":\"integer\"}}}";
	static const struct {
		const char *output;
		bool fits;
	} cases[] = {{"{\"n\":1}", true}, {"{\"n\":\"x\"}", false}, {"{}", false}, {NULL, false}};
	struct err err = {0};
	own(schema_freep) struct schema *schema = schema_read(text, strlen(text), "schema", NULL, &err);

	(void)state;
	assert_non_null(schema);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(value_done) struct value output = {0};
		struct observation seen = seen_with("{}", REPLY_OK, cases[i].output ? cases[i].output : "text");
		if (cases[i].output) {
			assert_int_equal(json_read(cases[i].output, strlen(cases[i].output), &schema_text_limits,
						 "output", &output, &err),
				0);
			seen.reply.output = &output;
		}
		seen.output_schema = schema;
		own(freep) char *all = told(&seen, "all");
		if ((strncmp(all, "output-schema: ", 15) == 0) == cases[i].fits)
			fail_msg("%s: '%s'", cases[i].output ? cases[i].output : "nothing", all);
		seen.reply.kind = REPLY_REJECTED;
		expect(&seen, NONE);
	}
}

static void protocol_acceptance_and_refusal_are_told(void **state)
{
	static const struct {
		enum reply_kind kind;
		bool malformed;
		const char *set, *verdict;
	} cases[] = {
		{REPLY_BROKEN, false, "all", "protocol: said"},
		{REPLY_OK, true, "all", "accepted: input that breaks its schema was accepted: /a: expected a number"},
		{REPLY_REJECTED, false, "all", "refused: input that fits its schema was refused: said"},
		{REPLY_REJECTED, false, oracle_set_default, NONE},
		{REPLY_REJECTED, true, "all", NONE},
		{REPLY_OK, false, "all", NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with("{\"a\":\"x\"}", cases[i].kind, "said");
		seen.malformed = cases[i].malformed;
		seen.violation = "/a: expected a number";
		expect_in(&seen, cases[i].set, cases[i].verdict);
	}
}

static void times_and_identifiers_may_differ(void **state)
{
	static const struct {
		const char *now, *before;
		bool stable;
	} cases[] = {
		{"same", "same", true},
		{"at 2024-01-02T03:04:05.123Z", "at 2025-11-12T13:14:15Z", true},
		{"id 0f8fad5b-d9cb-469f-a165-70867728950e!", "id 7c9e6679-7425-40de-944b-e07fc1f90ae7!", true},
		{"object at 0x7f0012ab", "object at 0x7fff12cd11", true},
		{"took 12 ms", "took 3.5 ms", true},
		{"Mon Jan 12 10:11:12 2024", "Tue Feb 13 11:12:13 2024", true},
		{"since 1712345678901", "since 1799999999999", true},
		{"5 items", "6 items", false},
		{"yes", "no", false},
		{"a", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct observation seen = seen_with("{}", REPLY_OK, cases[i].now);
		seen.before = cases[i].before;
		seen.before_len = strlen(cases[i].before);
		expect_in(&seen, "unstable",
			cases[i].stable ? NONE
					: "unstable: the same input has another answer on another fresh session");
	}
}

/* ---- verdicts ---- */

static void quotes_are_bounded_and_safe(void **state)
{
	own(buf_done) struct buf text = {0};
	struct verdicts verdicts = {0};

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_str(&text, "\x1b[31m\n\xff\xc3\xa9");
	struct verdict *verdict = verdict_add(&verdicts, "crash", "a\nb\x1b%s", "c");
	assert_string_equal(verdict->message, "a\\nb\\x1bc");
	for (size_t at = 0; at < 100; at++)
		verdict_quote(verdict, "here", text.data, text.len, at, 5000);
	verdict_quote(verdict, "beyond", text.data, text.len, text.len + 7, 1);
	verdict_quote(NULL, "nowhere", "x", 1, 0, 1);
	assert_true(verdict->evidence.count > 1 && verdict->evidence.count <= 16);
	check_shape(verdict);
	verdicts_done(&verdicts);
}

static void a_message_is_the_same_next_time(void **state)
{
	static const struct canary other[] = {{"hcOTHERtoken77", "/etc/passwd", false}};
	struct observation first = seen_with("{\"path\":\"../../etc/passwd\"}", REPLY_OK, "root: hcK7w2Qp9ZtX4");
	struct observation second = seen_with("{\"path\":\"/etc//passwd\"}", REPLY_OK, "hcOTHERtoken77");

	(void)state;
	second.canaries = other;
	second.canary_count = 1;
	own(freep) char *one = told(&first, "all"), *two = told(&second, "all");
	assert_string_equal(one, two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_oracle_has_a_rule_and_every_rule_an_oracle),
		TEST(sets_are_read_by_name),
		TEST(the_table_in_the_documentation_is_this_one),
		TEST(a_planted_key_is_told_once),
		TEST(the_worst_comes_first),
		TEST(a_canary_is_found_in_every_form),
		TEST(a_canary_that_the_input_brought_proves_nothing),
		TEST(a_canary_on_stderr_says_where_it_was),
		TEST(secrets_and_keys_in_an_answer_are_told),
		TEST(the_value_of_a_secret_is_in_no_evidence),
		TEST(programs_that_an_argument_starts_are_told_from_others),
		TEST(what_an_injected_program_does_is_told_with_it),
		TEST(what_a_shell_was_made_to_start_is_told_from_what_it_was_to_start),
		TEST(files_are_told_by_where_they_are_and_who_chose),
		TEST(connections_are_told_by_where_they_go_and_who_chose),
		TEST(the_end_of_a_process_is_a_crash_where_it_was_its_own),
		TEST(a_crash_has_the_frames_of_its_stderr),
		TEST(growth_is_told_from_warm_up_and_garbage),
		TEST(a_failure_is_told_by_the_exception_that_it_names),
		TEST(inner_workings_in_an_answer_are_told),
		TEST(an_answer_is_held_against_the_declared_schema),
		TEST(protocol_acceptance_and_refusal_are_told),
		TEST(times_and_identifiers_may_differ),
		TEST(quotes_are_bounded_and_safe),
		TEST(a_message_is_the_same_next_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
