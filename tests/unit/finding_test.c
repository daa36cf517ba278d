#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/own.h"
#include "base/json_read.h"
#include "base/out_file.h"
#include "finding/store.h"

#define TEST(name) cmocka_unit_test(name)
#define TEST_IN(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

static int make_folder(void **state)
{
	char *path = xstrdup("/tmp/finding-test.XXXXXX");

	*state = mkdtemp(path);
	return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct err err;
	int failed = fs_remove_tree(AT_FDCWD, *state, &err);

	free(*state);
	return failed;
}

static struct finding example(const char *message, const char *input)
{
	struct finding finding = {.oracle = xstrdup("canary"), .target = xstrdup("files"), .subject = xstrdup("read"),
		.message = xstrdup(message), .input = xstrdup(input), .kind = xstrdup("mcp"), .seed = UINT64_MAX, .seen = 5,
		.tried = 5, .first_seen = 1000, .last_seen = 2000, .times = 1};

	strings_add(&finding.command, "python3");
	strings_add(&finding.command, "server.py");
	strings_add(&finding.evidence, "the token of /etc/passwd is in the answer");
	strings_add(&finding.environment, "API_KEY");
	finding_identify(&finding);
	return finding;
}

/* ---- the same, or another ---- */

static void a_message_loses_what_varies(void **state)
{
	static const struct {
		const char *message, *normal;
	} cases[] = {
		{"KeyError: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "KeyError: ''"},
		{"he said 'no", "he said 'no"},
		{"", ""},
		{"file not found", "file not found"},
		{"KeyError: 'abc' in line 17", "KeyError: '' in line #"},
		{"at 0x7f3a12 of 4096 bytes", "at # of # bytes"},
		{"open \"/home/u/x.txt\": No such file", "open '': No such file"},
		{"/srv/app/v2/tool.py: bad", "tool.py: bad"},
		{"id 6ba7b810-9dad-11d1-80b4-00c04fd430c8 is unknown", "id # is unknown"},
		{"commit deadbeef01 gone", "commit # gone"},
		{"utf8 and sha256 stay, x1 too", "utf8 and sha256 stay, x1 too"},
		{"took 1.52 s", "took # s"},
		{"two  blanks\tand\na line ", "two blanks and a line"},
		{"don't touch an apostrophe", "don't touch an apostrophe"},
		{"an unended 'quote", "an unended 'quote"},
		{"escaped 'a\\'b' here", "escaped '' here"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf normal = {0};
		message_normalise(cases[i].message, &normal);
		assert_string_equal(buf_text(&normal), cases[i].normal);
	}
}

static void the_words_of_a_message_are_none_of_the_input(void **state)
{
	static const struct {
		const char *message, *input, *shape;
	} cases[] = {
		{"ValueError: bad value foo bar", "{\"text\":\"foo bar\"}", "ValueError bad value"},
		{"ValueError: bad value ", "{\"text\":\"\"}", "ValueError bad value"},
		{"ValueError: bad value e", "{\"text\":\"e\"}", "ValueError bad value"},
		{"ValueError: bad value 17", "{\"text\":\"17\"}", "ValueError bad value"},
		{"ValueError: bad value 17", "{}", "ValueError bad value"},
		/* as it is quoted, cut off with its line, in capitals, or shown on a terminal */
		{"KeyError: '0ibc8", "{\"text\":\"0ibc8\\nlater\"}", "KeyError"},
		{"KeyError: \"it's\\x00\\u200b", "{\"text\":\"it's\\u0000\\u200b\"}", "KeyError"},
		{"bad value a\\\"b\\tcde is wrong", "{\"text\":\"a\\\"b\\tcde\"}", "bad value wrong"},
		{"no such thing: FOO BÄR", "{\"text\":\"foo b\\u00e4r\"}", "such thing"},
		{"unknown tag ab[U+202E]cd here", "{\"text\":\"ab\\u202ecd\"}", "unknown tag here"},
		{"bad value ' OR the 1 is not good", "{\"text\":\"' OR the 1\"}", "bad value not good"},
		/* the first word of a longer text; a text that stands in a longer word */
		{"unknown command foo", "{\"text\":\"foo bar baz\"}", "unknown command"},
		{"command not found", "{\"text\":\"and fou\"}", "command not found"},
		/* values of any kind */
		{"bad point {'x': 1, 'y': [None, True]}", "{\"p\":{\"x\":1,\"y\":[null,true]}}", "bad point"},
		/* what kind of exception it is, and the names of its members, are the tool's */
		{"KeyError: KeyError", "{\"text\":\"KeyError\"}", "KeyError"},
		{"count must be positive", "{\"count\":-1}", "count must positive"},
		{"count must be positive", "not JSON", "count must positive"},
		{"undefined method `foo' for nil", "{}", "undefined method for nil"},
		{"its users' files can't be read", "{}", "its users files can read"},
	};
	own(value_done) struct value schema = {0};
	struct err err;
	static const char text[] = "{\"properties\":{\"count\":{},\"text\":{}}}";
	static const struct json_limits limits = {.bytes = 1000, .values = 100, .depth = 10};

	(void)state;
	assert_int_equal(json_read(text, strlen(text), &limits, NULL, &schema, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(buf_done) struct buf shape = {0};
		const struct message message = {cases[i].message, cases[i].input, strlen(cases[i].input), &schema};
		message_shape(&message, &shape);
		assert_string_equal(buf_text(&shape), cases[i].shape);
	}
}

static void two_messages_are_the_same_but_for_their_inputs(void **state)
{
	static const struct {
		const char *one, *one_text, *other, *other_text;
		bool same;
	} cases[] = {
		{"ValueError: bad value x in list", "x", "ValueError: bad value  in list", "", true},
		/* a word of it that the input has too */
		{"ValueError: bad value bad in list", "bad", "ValueError: bad value  in list", "", true},
		/* its end was cut off */
		{"ValueError: bad value aaaaaaaa...", "aaaaaaaaaaaaaaaa", "ValueError: bad value  in list", "", true},
		{"ValueError: bad value 'ab", "ab", "ValueError: bad value '' in list", "", true},
		{"ValueError: item_'... is unknown", "'", "ValueError: item_... is unknown", "", true},
		{"ValueError: item_x1234567'... is unknown", "x1234567'", "ValueError: item_... is unknown", "", true},
		{"ValueError: item_", "\\r\\n", "ValueError: item_ is unknown", "", true},
		{"open foo: file not found", "foo", "open foo: permission denied", "foo", false},
		{"open file: file not found", "file", "open permission: permission denied", "permission", false},
		{"ValueError: bad value", "", "TypeError: bad value", "", false},
		{"ValueError: bad value", "", "ValueError: bad value in list", "", false},
		{"TypeError: aaaaaaaa...", "aaaaaaaaaaaaa", "KeyError: aaaaaaaa...", "aaaaaaaaaaaaa", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(freep) char *first = xfmt("{\"text\":\"%s\"}", cases[i].one_text);
		own(freep) char *second = xfmt("{\"text\":\"%s\"}", cases[i].other_text);
		const struct message one = {cases[i].one, first, strlen(first), NULL};
		const struct message other = {cases[i].other, second, strlen(second), NULL};
		assert_int_equal(message_same(&one, &other), cases[i].same);
		assert_int_equal(message_same(&other, &one), cases[i].same);
	}
}

static void a_shape_makes_the_id_and_comes_back_from_a_capsule(void **state)
{
	own(finding_done) struct finding one = example("bad value foo", "{}"), other = example("bad value bar", "{}"), back = {0};
	own(json_done) struct json json = {0};
	struct err err;

	(void)state;
	assert_string_not_equal(one.id, other.id);
	one.shape = xstrdup("bad value");
	other.shape = xstrdup("bad value");
	finding_identify(&one);
	finding_identify(&other);
	assert_string_equal(one.id, other.id);
	capsule_write(&one, &json);
	assert_int_equal(capsule_read(&back, json.out.data, json.out.len, "it", &err), 0);
	assert_string_equal(back.shape, "bad value");
	assert_string_equal(back.message, "bad value foo");
}

static void a_long_message_is_bounded(void **state)
{
	own(freep) char *message = xcalloc(1, 100001);
	own(buf_done) struct buf normal = {0};

	(void)state;
	memset(message, 'a', 100000);
	message_normalise(message, &normal);
	assert_true(normal.len <= 512);
}

static void the_same_surprise_has_the_same_id(void **state)
{
	own(finding_done) struct finding one = example("read '/etc/passwd' at 12", "{}");
	own(finding_done) struct finding other = example("read '/etc/shadow' at 999", "{\"a\": 1}");
	own(finding_done) struct finding different = example("wrote '/etc/passwd' at 12", "{}");

	(void)state;
	assert_int_equal(strlen(one.id), FINDING_ID_LEN);
	assert_string_equal(one.id, other.id);
	assert_string_not_equal(one.id, different.id);
}

static void another_tool_is_another_finding(void **state)
{
	own(finding_done) struct finding one = example("m", "{}"), other = example("m", "{}");

	(void)state;
	free(other.subject);
	other.subject = xstrdup("write");
	finding_identify(&other);
	assert_string_not_equal(one.id, other.id);
	/* a part's end is no part of the next: "files" + "read" is not "file" + "sread" */
	free(other.target);
	free(other.subject);
	other.target = xstrdup("file");
	other.subject = xstrdup("sread");
	finding_identify(&other);
	assert_string_not_equal(one.id, other.id);
}

static void frames_count_more_than_the_message(void **state)
{
	own(finding_done) struct finding one = example("first message", "{}"), other = example("second message", "{}");

	(void)state;
	strings_add(&one.frames, "parse (parser.py)");
	strings_add(&other.frames, "parse (parser.py)");
	finding_identify(&one);
	finding_identify(&other);
	assert_string_equal(one.id, other.id);
	strings_done(&other.frames);
	strings_add(&other.frames, "scan (parser.py)");
	finding_identify(&other);
	assert_string_not_equal(one.id, other.id);
}

/* ---- how sure ---- */

static void a_rate_has_its_interval(void **state)
{
	struct interval all = rate_interval(10, 10), half = rate_interval(5, 10), none = rate_interval(0, 0);

	(void)state;
	assert_true(all.high > 0.9999 && all.low > 0.72 && all.low < 0.73);
	assert_true(half.low > 0.23 && half.low < 0.24 && half.high > 0.76 && half.high < 0.77);
	assert_true(none.low == 0 && none.high == 1);
}

static void only_what_is_seen_sometimes_is_flaky(void **state)
{
	(void)state;
	assert_false(finding_is_flaky(&(struct finding){.seen = 5, .tried = 5}));
	assert_true(finding_is_flaky(&(struct finding){.seen = 4, .tried = 5}));
	assert_false(finding_is_flaky(&(struct finding){.seen = 0, .tried = 5}));
}

static void a_suppression_ends(void **state)
{
	const struct finding finding = {.state = FINDING_SUPPRESSED, .until = 100};

	(void)state;
	assert_true(finding_is_suppressed(&finding, 99));
	assert_false(finding_is_suppressed(&finding, 100));
	assert_true(finding_is_suppressed(&(struct finding){.state = FINDING_SUPPRESSED}, INT64_MAX));
	assert_false(finding_is_suppressed(&(struct finding){.state = FINDING_OPEN, .until = 100}, 1));
}

static void what_a_sanitizer_says_decides_severity_and_weakness(void **state)
{
	static const struct {
		const char *kind, *oracle, *message, *evidence;
		enum severity severity;
		int cwe;
	} cases[] = {
		{"function-c", "crash", "AddressSanitizer: heap-buffer-overflow", "WRITE of size 4 at 0x1", SEVERITY_CRITICAL, 787},
		{"function-c", "crash", "AddressSanitizer: heap-buffer-overflow", "READ of size 1 at 0x1", SEVERITY_HIGH, 125},
		{"function-c", "crash", "AddressSanitizer: heap-use-after-free", "READ of size 1", SEVERITY_HIGH, 416},
		{"function-c++", "crash", "AddressSanitizer: attempting double-free", "", SEVERITY_CRITICAL, 415},
		{"function-c", "crash", "AddressSanitizer: stack-overflow", "", SEVERITY_HIGH, 674},
		{"function-c", "crash", "AddressSanitizer: SEGV", "Hint: address points to the zero page.", SEVERITY_MEDIUM, 476},
		{"function-c", "crash", "AddressSanitizer: SEGV", "caused by a WRITE memory access", SEVERITY_CRITICAL, 787},
		{"function-c", "crash", "MemorySanitizer: use-of-uninitialized-value", "", SEVERITY_MEDIUM, 457},
		{"function-c", "crash", "undefined behaviour: signed integer overflow: 1 + 2", "", SEVERITY_MEDIUM, 190},
		{"function-c", "crash", "undefined behaviour: division by zero", "", SEVERITY_MEDIUM, 369},
		{"function-c", "crash", "undefined behaviour: something new", "", SEVERITY_MEDIUM, 758},
		{"function-c", "crash", "a signal ended it", "    #3 0x1 in abort (/lib/libc.so.6)", SEVERITY_MEDIUM, 617},
		{"function-c", "crash", "something new", "", SEVERITY_HIGH, 248},
		{"function-go", "crash", "fatal error: stack overflow", "", SEVERITY_HIGH, 674},
		{"function-go", "exception", "panic: runtime error: index out of range [5] with length 3", "", SEVERITY_MEDIUM, 129},
		{"function-python", "exception", "RecursionError: maximum recursion depth exceeded", "", SEVERITY_MEDIUM, 674},
		{"function-python", "exception", "ValueError: x", "", SEVERITY_MEDIUM, 248},
		{"function-python", "hang", "one input took too long", "", SEVERITY_MEDIUM, 835},
		{"function-python", "memory", "one input took too much memory", "", SEVERITY_MEDIUM, 770},
		{"mcp", "exception", "ValueError: x", "", SEVERITY_MEDIUM, 755},
		{"mcp", "crash", "heap-buffer-overflow", "WRITE of size 4", SEVERITY_HIGH, 248},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		own(finding_done) struct finding finding = {.oracle = xstrdup(cases[i].oracle), .message = xstrdup(cases[i].message),
			.kind = xstrdup(cases[i].kind)};
		strings_add(&finding.evidence, "==1==");
		strings_add(&finding.evidence, cases[i].evidence);
		struct finding_weakness weakness = finding_weakness(&finding);
		assert_int_equal(weakness.cwe, cases[i].cwe);
		assert_int_equal(weakness.severity, cases[i].severity);
		assert_int_equal(finding_severity(&finding), cases[i].severity);
		assert_true(strlen(weakness.why) > 10);
	}
}

static void every_rule_is_whole(void **state)
{
	(void)state;
	for (const struct finding_rule *rule = finding_rules; rule->oracle; rule++) {
		assert_non_null(rule->title);
		assert_true(strlen(rule->help) > 20);
		assert_true(strlen(rule->why) > 10);
		assert_ptr_equal(finding_rule(rule->oracle), rule);
	}
	assert_null(finding_rule("nonsense"));
}

/* ---- capsules ---- */

static void write_and_read(const struct finding *finding, struct finding *ret)
{
	own(json_done) struct json json = {0};
	struct err err = {0};

	capsule_write(finding, &json);
	if (capsule_read(ret, json.out.data, json.out.len, "c", &err) < 0)
		fail_msg("%s", err.text);
}

static void a_capsule_keeps_everything(void **state)
{
	own(finding_done) struct finding finding = example("m \"\x01\xc3\xa9", "{\"path\": \"../../x\"}"), read = {0};

	(void)state;
	finding.state = FINDING_SUPPRESSED;
	finding.reason = xstrdup("known");
	finding.until = 1893456000;
	finding.file = xstrdup("server.py");
	finding.line = 12;
	write_and_read(&finding, &read);
	assert_string_equal(read.id, finding.id);
	assert_string_equal(read.message, finding.message);
	assert_string_equal(read.input, finding.input);
	assert_string_equal(read.reason, "known");
	assert_int_equal(read.state, FINDING_SUPPRESSED);
	assert_true(read.seed == UINT64_MAX && read.until == 1893456000 && read.times == 1 && read.line == 12);
	assert_int_equal(read.command.count, 2);
	assert_string_equal(read.command.items[1], "server.py");
	assert_string_equal(read.environment.items[0], "API_KEY");
	assert_null(read.found);
}

static void what_is_no_capsule_is_refused_with_a_sentence(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "c:1: "},
		{"[]", "not a capsule"},
		{"{}", "not a capsule"},
		{"{\"format\": \"hotcell-finding-2\"}", "not a capsule"},
		{"{\"format\": \"hotcell-finding-1\"}", "'oracle' is missing"},
		{"{\"format\": \"hotcell-finding-1\", \"oracle\": 1}", "'oracle' is not what it should be"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(finding_done) struct finding read = {0};
		struct err err = {0};
		assert_int_equal(capsule_read(&read, cases[i].text, strlen(cases[i].text), "c", &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

static void a_capsule_changed_by_hand_is_refused(void **state)
{
	own(finding_done) struct finding finding = example("read a file", "{}"), read = {0};
	own(json_done) struct json json = {0};
	struct err err = {0};

	(void)state;
	capsule_write(&finding, &json);
	char *word = strstr(json.out.data, "read a file");
	memcpy(word, "rode", 4);
	assert_int_equal(capsule_read(&read, json.out.data, json.out.len, "c", &err), -1);
	assert_non_null(strstr(err.text, "changed by hand"));
}

/* ---- the store ---- */

static void a_store_that_is_not_there_is_empty(void **state)
{
	own(freep) char *path = xfmt("%s/none", (char *)*state);
	own(store_done) struct finding_store store = {0};
	struct err err = {0};

	assert_int_equal(store_open(&store, path, &err), 0);
	assert_int_equal(store.count, 0);
	assert_null(store_find(&store, "ab"));
	assert_int_equal(access(path, F_OK), -1);
}

static void what_is_added_is_there_again(void **state)
{
	own(freep) char *path = xfmt("%s/findings", (char *)*state);
	own(store_done) struct finding_store store = {0}, again = {0};
	own(finding_done) struct finding finding = example("m", "{}");
	struct err err = {0};
	bool new = false;

	assert_int_equal(store_open(&store, path, &err), 0);
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	assert_true(new);
	assert_int_equal(store_open(&again, path, &err), 0);
	assert_int_equal(again.count, 1);
	assert_non_null(store_find(&again, finding.id));
	char beginning[5] = "";
	memcpy(beginning, finding.id, 4);
	assert_non_null(store_find(&again, beginning));
	assert_null(store_find(&again, ""));
}

static void file_is(const char *folder, const char *id, const char *name, const char *expected)
{
	own(freep) char *path = xfmt("%s/%s/%s", folder, id, name);
	own(buf_done) struct buf text = {0};
	struct err err = {0};

	assert_int_equal(fs_read_small(AT_FDCWD, path, 1000, &text, &err), 0);
	assert_string_equal(buf_text(&text), expected);
}

/* As a run leaves it, in a folder of its own. */
static void give_core(const char *folder, struct finding *finding)
{
	static const char *const names[] = {STORE_CORE, STORE_PROGRAM};
	struct err err = {0};

	finding->core = true;
	finding->core_from = xfmt("%s/left", folder);
	assert_int_equal(mkdir(finding->core_from, 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		own(freep) char *path = xfmt("%s/%s", finding->core_from, names[i]);
		own(buf_done) struct buf text = {0};
		buf_str(&text, names[i]);
		assert_int_equal(out_file_write(path, &text, true, &err), 0);
	}
}

static void a_finding_of_bytes_has_files_beside_its_capsule(void **state)
{
	own(store_done) struct finding_store store = {0};
	own(finding_done) struct finding finding = example("m", "YQ=="), text = example("other", "{}");
	own(freep) char *link = NULL;
	struct err err = {0};
	bool new;

	finding.binary = true;
	finding.found = xstrdup("YWJj");
	finding.report = xstrdup("all of it");
	assert_int_equal(store_open(&store, *state, &err), 0);
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	file_is(*state, finding.id, STORE_INPUT, "a");
	file_is(*state, finding.id, STORE_FOUND, "abc");
	file_is(*state, finding.id, STORE_REPORT, "all of it");
	give_core(*state, &finding);
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	assert_true(store.items[0].core && !store.items[0].core_from);
	file_is(*state, finding.id, STORE_CORE, "core");
	file_is(*state, finding.id, STORE_PROGRAM, "program");
	free(finding.core_from);
	finding.core_from = NULL;
	finding.core = false; /* found again, without one: the other stays */
	free(finding.report);
	finding.report = NULL; /* as it is read from a capsule */
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	file_is(*state, finding.id, STORE_REPORT, "all of it");
	assert_true(store.items[0].core);
	assert_int_equal(store_add(&store, &text, &new, &err), 0);
	link = xfmt("%s/%s", (char *)*state, text.id);
	assert_int_equal(access(link, F_OK), -1); /* what can be read in the capsule is there alone */
	assert_int_equal(symlink("/tmp", link), 0);
	text.binary = true;
	assert_int_equal(store_put(&store, &text, &err), -1); /* and nothing is followed out of the store */
}

static void the_same_again_is_joined(void **state)
{
	own(store_done) struct finding_store store = {0};
	own(finding_done) struct finding first = example("m", "{\"long\": true}"), second = example("m", "{}");
	own(finding_done) struct finding third = example("m", "{\"longer\": \"than all\"}");
	struct err err = {0};
	bool new = true;

	second.first_seen = 500;
	assert_int_equal(store_open(&store, *state, &err), 0);
	assert_int_equal(store_add(&store, &first, &new, &err), 0);
	assert_int_equal(store_add(&store, &second, &new, &err), 0);
	assert_false(new);
	assert_int_equal(store_add(&store, &third, &new, &err), 0);
	assert_int_equal(store.count, 1);
	assert_string_equal(store.items[0].input, third.input); /* the one that was seen last: a smaller one may do it no more */
	assert_int_equal(store.items[0].times, 3);
	assert_int_equal(store.items[0].first_seen, 500);
}

static void a_suppression_outlives_the_next_time_and_a_fix_does_not(void **state)
{
	own(store_done) struct finding_store store = {0};
	own(finding_done) struct finding finding = example("m", "{}");
	struct err err = {0};
	bool new;

	assert_int_equal(store_open(&store, *state, &err), 0);
	finding.state = FINDING_SUPPRESSED;
	finding.reason = xstrdup("known");
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	finding.state = FINDING_OPEN;
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	assert_int_equal(store.items[0].state, FINDING_SUPPRESSED);
	assert_string_equal(store.items[0].reason, "known");
	store.items[0].state = FINDING_FIXED;
	assert_int_equal(store_put(&store, &store.items[0], &err), 0);
	assert_int_equal(store_add(&store, &finding, &new, &err), 0);
	assert_int_equal(store.items[0].state, FINDING_OPEN);
}

static void a_suppression_by_another_process_holds_for_a_campaign_at_work(void **state)
{
	own(store_done) struct finding_store campaign = {0}, other = {0}, after = {0};
	own(finding_done) struct finding finding = example("m", "{}"), second = example("another", "{}");
	struct err err = {0};
	bool new;

	assert_int_equal(store_open(&campaign, *state, &err), 0);
	assert_int_equal(store_add(&campaign, &finding, &new, &err), 0);
	assert_int_equal(store_open(&other, *state, &err), 0);
	other.items[0].state = FINDING_SUPPRESSED;
	assert_int_equal(store_put(&other, &other.items[0], &err), 0);
	assert_int_equal(store_add(&other, &second, &new, &err), 0);
	assert_int_equal(store_add(&campaign, &finding, &new, &err), 0);
	assert_int_equal(campaign.items[0].state, FINDING_SUPPRESSED);
	assert_int_equal(store_add(&campaign, &second, &new, &err), 0);
	assert_false(new);
	assert_int_equal(campaign.count, 2);
	assert_int_equal(store_open(&after, *state, &err), 0);
	assert_int_equal(store_find(&after, finding.id)->state, FINDING_SUPPRESSED);
	assert_int_equal(store_find(&after, second.id)->times, 2);
}

static void what_is_no_capsule_in_the_folder_is_told_and_left_alone(void **state)
{
	own(freep) char *bad = xfmt("%s/0123456789abcdef.json", (char *)*state);
	own(freep) char *link = xfmt("%s/fedcba9876543210.json", (char *)*state);
	own(freep) char *other = xfmt("%s/README", (char *)*state);
	own(store_done) struct finding_store store = {0};
	struct err err = {0};

	(void)close(open(bad, O_CREAT | O_WRONLY, 0644));
	(void)close(open(other, O_CREAT | O_WRONLY, 0644));
	assert_int_equal(symlink("/etc/passwd", link), 0);
	assert_int_equal(store_open(&store, *state, &err), 0);
	assert_int_equal(store.count, 0);
	assert_int_equal(store.unread.count, 2);
	assert_int_equal(access(bad, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_message_loses_what_varies),
		TEST(the_words_of_a_message_are_none_of_the_input),
		TEST(two_messages_are_the_same_but_for_their_inputs),
		TEST(a_shape_makes_the_id_and_comes_back_from_a_capsule),
		TEST(a_long_message_is_bounded),
		TEST(the_same_surprise_has_the_same_id),
		TEST(another_tool_is_another_finding),
		TEST(frames_count_more_than_the_message),
		TEST(a_rate_has_its_interval),
		TEST(only_what_is_seen_sometimes_is_flaky),
		TEST(a_suppression_ends),
		TEST(every_rule_is_whole),
		TEST(what_a_sanitizer_says_decides_severity_and_weakness),
		TEST(a_capsule_keeps_everything),
		TEST(what_is_no_capsule_is_refused_with_a_sentence),
		TEST(a_capsule_changed_by_hand_is_refused),
		TEST_IN(a_store_that_is_not_there_is_empty),
		TEST_IN(what_is_added_is_there_again),
		TEST_IN(a_finding_of_bytes_has_files_beside_its_capsule),
		TEST_IN(the_same_again_is_joined),
		TEST_IN(a_suppression_outlives_the_next_time_and_a_fix_does_not),
		TEST_IN(a_suppression_by_another_process_holds_for_a_campaign_at_work),
		TEST_IN(what_is_no_capsule_in_the_folder_is_told_and_left_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
