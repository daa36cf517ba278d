#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "fake_target.h"

#define TEST(name) cmocka_unit_test(name)
#define UNSTABLE_ONLY 0x10u
#define ALL_BUT_UNSTABLE 0x2fu

static struct fuzz_options options_for(struct target *target, uint64_t calls)
{
	return (struct fuzz_options){.target = target, .oracles = ALL_BUT_UNSTABLE, .seed = 7, .max_calls = calls, .call_ns = NS_PER_S,
		.workers = 1, .sequence = 1};
}

static void run(const struct fuzz_options *options, struct fuzz_result *ret)
{
	struct err err = {0};

	if (fuzz_run(options, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static const struct finding *find(const struct fuzz_result *result, const char *message)
{
	for (size_t i = 0; i < result->count; i++) {
		if (strcmp(result->findings[i].message, message) == 0)
			return &result->findings[i];
	}
	return NULL;
}

static bool has_gap(const struct fuzz_result *result, const char *part)
{
	for (size_t i = 0; i < result->gaps.count; i++) {
		if (strstr(result->gaps.items[i], part))
			return true;
	}
	return false;
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : "";
}

/* ---- planted bugs: found, and no larger than they have to be ---- */

static bool is_traversal(const char *path)
{
	char plain[512];
	size_t len = 0;

	for (; *path && len < sizeof(plain) - 1; path++) {
		unsigned byte;
		if (*path == '%' && isxdigit((unsigned char)path[1]) && isxdigit((unsigned char)path[2]) && sscanf(path + 1, "%2x", &byte) == 1) {
			plain[len++] = (char)byte;
			path += 2;
		} else {
			plain[len++] = *path;
		}
	}
	plain[len] = '\0';
	return strstr(plain, "../") != NULL;
}

/* A check for "../" before the text is decoded. */
static void percent_bug(const struct fake_call *call, struct reply *reply)
{
	const char *path = text_of(call->input, "path");

	if (strstr(path, "../"))
		reply->kind = REPLY_REJECTED;
	else if (is_traversal(path))
		fake_fail(call, reply, "outside");
}

static void number_bug(const struct fake_call *call, struct reply *reply)
{
	const struct value *number = value_get(call->input, "n");

	if (number && number->kind == VALUE_NUMBER && strcmp(number->text, "2147483648") == 0)
		fake_crash(call, reply);
}

/* Two conditions at once: a double quote, and a zero. */
static void two_bug(const struct fake_call *call, struct reply *reply)
{
	const struct value *limit = value_get(call->input, "offset");

	if (strchr(text_of(call->input, "path"), '"') && limit && strcmp(limit->text, "0") == 0)
		fake_fail(call, reply, "both");
}

static int depth_of(const struct value *node)
{
	const struct value *children = value_get(node, "children");
	int most = 0;

	for (size_t i = 0; children && i < children->count; i++) {
		int depth = depth_of(&children->items[i]);
		most = depth > most ? depth : most;
	}
	return most + 1;
}

static void depth_bug(const struct fake_call *call, struct reply *reply)
{
	if (depth_of(call->input) >= 10)
		fake_crash(call, reply);
}

static bool has_newline(const struct value *value)
{
	if (value->kind == VALUE_TEXT)
		return memchr(value->text, '\r', value->len) || memchr(value->text, '\n', value->len);
	for (size_t i = 0; i < value->count; i++) {
		if (has_newline(&value->items[i]))
			return true;
	}
	return false;
}

static void header_bug(const struct fake_call *call, struct reply *reply)
{
	const struct value *headers = value_get(call->input, "headers");

	for (size_t i = 0; headers && i < headers->count; i++) {
		if (headers->items[i].kind == VALUE_LIST && has_newline(&headers->items[i]))
			fake_fail(call, reply, "split");
	}
}

static void sql_bug(const struct fake_call *call, struct reply *reply)
{
	const struct value *operation = value_get(call->input, "operation"), *rows = operation ? value_get(operation, "rows") : NULL;

	for (size_t i = 0; rows && i < rows->count; i++) {
		for (size_t j = 0; j < rows->items[i].count; j++) {
			if (rows->items[i].items[j].kind == VALUE_TEXT && strchr(rows->items[i].items[j].text, '\''))
				fake_fail(call, reply, "syntax error");
		}
	}
}

#define TREE_3(inner) \
	"{\"name\":\"\",\"children\":[{\"name\":\"\",\"children\":[{\"name\":\"\",\"children\":[" inner "]}]}]}"
#define TREE_9(inner) TREE_3(TREE_3(TREE_3(inner)))

static void planted_bugs_are_found_and_made_small(void **state)
{
	static const struct {
		const char *file, *schema;
		void (*behave)(const struct fake_call *call, struct reply *reply);
		const char *smallest; /* no longer than this */
	} cases[] = {
		{"file-tool.json", NULL, percent_bug, "{\"path\":\"..%2f\"}"},
		{NULL, "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}", number_bug, "{\"n\":2147483648}"},
		{"file-tool.json", NULL, two_bug, "{\"path\":\"\\\"\",\"offset\":0}"},
		{"tree.json", NULL, depth_bug, TREE_9("{\"name\":\"\"}")},
		{"http-tool.json", NULL, header_bug, "{\"url\":\"http://0\",\"method\":\"GET\",\"headers\":{\"A\":[\"\\u000d\"]}}"},
		{"sql-tool.json", NULL, sql_bug, "{\"table\":\"a\",\"operation\":{\"kind\":\"insert\",\"rows\":[{\"\":\"'\"}]}}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(fake_done) struct target target = {.behave = cases[i].behave};
		own(fuzz_result_done) struct fuzz_result result = {0};
		if (cases[i].file)
			fake_subject_file(&target, "tool", cases[i].file, NULL);
		else
			fake_subject(&target, "tool", cases[i].schema, NULL);
		struct fuzz_options options = options_for(&target, 100000);
		options.max_findings = 1;
		options.max_shrink = 2000;
		run(&options, &result);
		if (result.count != 1)
			fail_msg("bug %zu was not found in %llu calls", i, (unsigned long long)result.totals.calls);
		print_message("bug %zu: %llu calls, %llu to confirm, %.1f ms: %s\n", i, (unsigned long long)result.totals.calls,
			(unsigned long long)result.totals.confirm_calls, (double)result.totals.ns / (double)NS_PER_MS, result.findings[0].input);
		if (strlen(result.findings[0].input) > strlen(cases[i].smallest))
			fail_msg("bug %zu is not small: %s", i, result.findings[0].input);
		assert_int_equal(result.end, FUZZ_ENOUGH);
		assert_int_equal(result.findings[0].seen, 5);
		assert_int_equal(result.findings[0].tried, 5);
		assert_int_equal(result.totals.fresh, 1);
	}
}

/* ---- what a finding says, and that it is one ---- */

static const char text_schema[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}";

static void long_bug(const struct fake_call *call, struct reply *reply)
{
	size_t len = 0;
	char message[80];

	for (const char *at = text_of(call->input, "a"); *at; at++)
		len += (*at & 0xc0) != 0x80; /* characters */
	if (len < 3)
		return;
	(void)snprintf(message, sizeof(message), "too long: %zu of 'them'", len);
	fake_fail(call, reply, message);
}

static void one_surprise_is_one_finding_with_all_it_takes_to_do_it_again(void **state)
{
	own(fake_done) struct target target = {.behave = long_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	own(strings_done) struct strings flags = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	strings_add(&flags, "--memory=64M");
	struct fuzz_options options = options_for(&target, 2000);
	options.flags = &flags;
	options.declared = "server.py";
	run(&options, &result);
	assert_int_equal(result.count, 1);
	const struct finding *finding = &result.findings[0];
	assert_string_equal(finding->oracle, "exception");
	assert_string_equal(finding->subject, "tool");
	assert_string_equal(finding->target, "fake");
	assert_string_equal(finding->kind, "tool-lines");
	assert_string_equal(finding->file, "server.py");
	assert_string_equal(finding->flags.items[0], "--memory=64M");
	assert_string_equal(finding->command.items[1], "--serve");
	assert_int_equal(strlen(finding->input), strlen("{\"a\":\"000\"}"));
	assert_non_null(finding->found);
	assert_int_equal(finding->evidence.count, 1);
	assert_int_equal(finding->seed, 7);
	assert_true(finding->first_seen > 0 && finding->times == 1);
	assert_int_equal(result.end, FUZZ_DONE);
	assert_int_equal(result.totals.calls, 2000);
	assert_int_equal(result.totals.subjects[0].findings, 1);
	struct err err;
	own(json_done) struct json json = {0};
	own(finding_done) struct finding again = {0};
	capsule_write(finding, &json);
	assert_int_equal(capsule_read(&again, json.out.data, json.out.len, "capsule", &err), 0);
	assert_string_equal(again.input, finding->input);
}

/* Messages that say what it was called with: as it is, quoted, cut off, in a word, in capitals. */
static void echo_bug(const struct fake_call *call, struct reply *reply)
{
	const char *text = text_of(call->input, "a");
	char message[200];
	size_t len = (size_t)snprintf(message, sizeof(message),
		call->session->target->echo == 0 ? "ValueError: bad value %s in list" :
		call->session->target->echo == 1 ? "ValueError: bad value %.20s" : "KeyError: 'item_%s'", text);

	for (size_t i = 0; call->session->target->echo == 1 && i < len && i < sizeof(message); i++)
		message[i] = (char)(i < 22 ? message[i] : toupper((unsigned char)message[i]));
	fake_fail(call, reply, message);
}

static void a_message_that_repeats_its_input_is_one_finding_with_one_id(void **state)
{
	(void)state;
	for (int echo = 0; echo < 3; echo++) {
		char first[FINDING_ID_LEN + 1] = "";
		for (uint64_t seed = 1; seed < 6; seed++) {
			own(fake_done) struct target target = {.behave = echo_bug, .echo = echo};
			own(fuzz_result_done) struct fuzz_result result = {0};
			fake_subject(&target, "tool", text_schema, NULL);
			struct fuzz_options options = options_for(&target, 500);
			options.seed = seed;
			run(&options, &result);
			assert_int_equal(result.count, 1);
			if (!first[0])
				memcpy(first, result.findings[0].id, sizeof(first));
			assert_string_equal(result.findings[0].id, first);
		}
	}
}

static void several_bugs(const struct fake_call *call, struct reply *reply)
{
	const char *text = text_of(call->input, "a");

	if (strchr(text, '\''))
		fake_fail(call, reply, "quote");
	else if (strlen(text) > 100)
		fake_crash(call, reply);
	else if (text[0] == '\0')
		fake_fail(call, reply, "empty");
}

static void several_surprises_are_several_findings_the_worst_first(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &result);
	assert_int_equal(result.count, 3);
	assert_string_equal(result.findings[0].oracle, "crash");
	assert_string_equal(find(&result, "quote")->input, "{\"a\":\"'\"}");
	assert_string_equal(find(&result, "empty")->input, "{\"a\":\"\"}");
}

/* ---- how sure ---- */

static unsigned flaky_turn;

static void flaky_bug(const struct fake_call *call, struct reply *reply)
{
	if (strchr(text_of(call->input, "a"), '/') && flaky_turn++ % 2)
		fake_fail(call, reply, "sometimes");
}

static void what_comes_sometimes_is_flaky(void **state)
{
	own(fake_done) struct target target = {.behave = flaky_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 200);
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_true(finding_is_flaky(&result.findings[0]));
	assert_int_equal(result.findings[0].tried, 5);
	assert_int_equal(result.totals.flaky, 1);
	struct interval interval = rate_interval(result.findings[0].seen, result.findings[0].tried);
	assert_true(interval.low > 0 && interval.high < 1);
	assert_int_equal(strlen(result.findings[0].input), strlen("{\"a\":\"/\"}"));
}

/* Each time where it is long, two times of three where it is short. */
static void short_is_flaky_bug(const struct fake_call *call, struct reply *reply)
{
	size_t len = strlen(text_of(call->input, "a"));

	if (len > 10 || (len > 2 && flaky_turn++ % 3))
		fake_fail(call, reply, "long");
}

static void how_sure_it_is_is_told_of_the_input_that_is_told(void **state)
{
	own(fake_done) struct target target = {.behave = short_is_flaky_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct repro repro;
	struct err err;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 200);
	run(&options, &result);
	assert_int_equal(result.count, 1);
	const struct finding *found = &result.findings[0];
	assert_int_equal(found->tried, 5);
	assert_int_equal(fuzz_repro(&options, found, 30, &repro, &err), 0);
	/* what comes each time, and is as small as that can be */
	if (!finding_is_flaky(found)) {
		assert_int_equal(repro.seen, 30);
		assert_true(strlen(found->input) <= strlen("{\"a\":\"\"}") + 14);
	}
	assert_int_equal(finding_is_flaky(found), repro.seen < repro.tried);
	repro_done(&repro);
}

static unsigned once_left;

static void once_bug(const struct fake_call *call, struct reply *reply)
{
	if (once_left && --once_left == 0)
		fake_fail(call, reply, "once");
}

static void what_never_comes_again_is_counted_and_told_but_no_finding(void **state)
{
	own(fake_done) struct target target = {.behave = once_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	once_left = 50;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 200);
	run(&options, &result);
	assert_int_equal(result.count, 0);
	assert_int_equal(result.totals.unconfirmed, 1);
	assert_true(has_gap(&result, "1 surprise never came again"));
	assert_int_equal(result.end, FUZZ_DONE);
}

static void unstable_bug(const struct fake_call *call, struct reply *reply)
{
	static unsigned turn;
	char text[32];

	(void)snprintf(text, sizeof(text), "%u", turn++);
	fake_say(call, reply, text);
}

static void the_same_call_is_made_twice_where_answers_are_compared(void **state)
{
	own(fake_done) struct target target = {.behave = unstable_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 200);
	run(&options, &result);
	assert_int_equal(result.count, 0);
	fuzz_result_done(&result);
	options.oracles = UNSTABLE_ONLY;
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_string_equal(result.findings[0].oracle, "unstable");
}

/* ---- state ---- */

static const char note_schema[] = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}},\"required\":[\"id\"]}";

/* Open, then close, then read: it fails. */
static void state_bug(const struct fake_call *call, struct reply *reply)
{
	int *at = call->session->state;

	if (strcmp(call->subject, "open") == 0)
		*at = 1;
	else if (strcmp(call->subject, "close") == 0)
		*at = *at == 1 ? 2 : *at;
	else if (*at == 2 && strcmp(call->subject, "read") == 0)
		fake_fail(call, reply, "used after close");
}

static void state_subjects(struct target *target)
{
	fake_subject(target, "open", text_schema, NULL);
	fake_subject(target, "close", text_schema, NULL);
	fake_subject(target, "read", text_schema, NULL);
	fake_subject(target, "list", text_schema, NULL);
}

static void a_bug_that_needs_calls_before_it_is_reduced_to_exactly_them(void **state)
{
	(void)state;
	for (unsigned sequence = 1; sequence <= 10; sequence += 9) {
		own(fake_done) struct target target = {.behave = state_bug};
		own(fuzz_result_done) struct fuzz_result result = {0};
		state_subjects(&target);
		struct fuzz_options options = options_for(&target, 3000);
		options.sequence = sequence;
		run(&options, &result);
		assert_int_equal(result.count, 1);
		assert_string_equal(result.findings[0].subject, "read");
		assert_string_equal(result.findings[0].input,
			"[{\"subject\":\"open\",\"arguments\":{\"a\":\"\"}},{\"subject\":\"close\",\"arguments\":{\"a\":\"\"}},"
			"{\"subject\":\"read\",\"arguments\":{\"a\":\"\"}}]");
		assert_int_equal(result.findings[0].seen, 5);
	}
}

/* What one tool told has to be given to the other. */
static void handle_bug(const struct fake_call *call, struct reply *reply)
{
	if (strcmp(call->subject, "create") == 0) {
		call->session->state[0] = 1;
		fake_say(call, reply, "{\"note\":{\"id\":\"n-4f7a9c\"}}");
	} else if (call->session->state[0] && strcmp(text_of(call->input, "id"), "n-4f7a9c") == 0) {
		fake_fail(call, reply, "no such column");
	} else {
		reply->kind = REPLY_REJECTED;
	}
}

static void what_an_answer_told_is_used_in_later_calls(void **state)
{
	own(fake_done) struct target target = {.behave = handle_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "create", text_schema, NULL);
	fake_subject(&target, "delete", note_schema, NULL);
	struct fuzz_options options = options_for(&target, 2000);
	options.sequence = 8;
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_string_equal(result.findings[0].input,
		"[{\"subject\":\"create\",\"arguments\":{\"a\":\"\"}},{\"subject\":\"delete\",\"arguments\":{\"id\":\"n-4f7a9c\"}}]");
}

static void tells_secret(const struct fake_call *call, struct reply *reply)
{
	if (strcmp(call->subject, "create") == 0)
		fake_say(call, reply, "{\"id\":\"planted-4f7a9c\"}");
	else if (strstr(text_of(call->input, "id"), "planted"))
		fake_fail(call, reply, "it was taken for a name");
}

static void what_was_planted_is_no_name_for_later_calls(void **state)
{
	own(fake_done) struct target target = {.behave = tells_secret};

	(void)state;
	fake_subject(&target, "create", text_schema, NULL);
	fake_subject(&target, "delete", note_schema, NULL);
	for (unsigned sequence = 0; sequence <= 8; sequence += 8) {
		own(fuzz_result_done) struct fuzz_result result = {0};
		struct fuzz_options options = options_for(&target, 1000);
		options.sequence = sequence;
		run(&options, &result);
		assert_int_equal(result.count, 1);
		assert_string_equal(result.findings[0].oracle, "secret");
	}
}

/* The number of a note counts what was made on its process; one that is deleted twice is not looked for. */
static void twice_bug(const struct fake_call *call, struct reply *reply)
{
	int *made = &call->session->state[0], *gone = &call->session->state[1];
	char id[40];

	(void)snprintf(id, sizeof(id), "note-%03d", *made);
	if (strcmp(call->subject, "create") == 0) {
		(void)snprintf(id, sizeof(id), "{\"id\":\"note-%03d\"}", ++*made);
		fake_say(call, reply, id);
	} else if (strcmp(call->subject, "delete") != 0 || !*made || strcmp(text_of(call->input, "id"), id) != 0) {
		reply->kind = strcmp(call->subject, "delete") == 0 ? REPLY_REJECTED : REPLY_OK;
	} else if (*gone == *made) {
		fake_fail(call, reply, "gone");
	} else {
		*gone = *made;
	}
}

static void chains_are_made_in_between_where_one_takes_what_another_answers(void **state)
{
	static const char *const others[] = {"list", "read", "write", "find", "sort"};

	(void)state;
	for (unsigned alone = 0; alone < 2; alone++) {
		own(fake_done) struct target target = {.behave = twice_bug};
		own(fuzz_result_done) struct fuzz_result result = {0};
		fake_subject(&target, "create", text_schema, NULL);
		fake_subject(&target, "delete", note_schema, NULL);
		for (size_t i = 0; i < ARRAY_LEN(others); i++)
			fake_subject(&target, others[i], text_schema, NULL);
		struct fuzz_options options = options_for(&target, 1500);
		options.sequence = alone;
		run(&options, &result);
		assert_int_equal(result.count, !alone);
		if (alone)
			continue;
		assert_string_equal(result.findings[0].input,
			"[{\"subject\":\"create\",\"arguments\":{\"a\":\"\"}},{\"subject\":\"delete\",\"arguments\":{\"id\":\"note-001\"}},"
			"{\"subject\":\"delete\",\"arguments\":{\"id\":\"note-001\"}}]");
		assert_true(result.totals.restarts < 100);
	}
}

/* ---- malformed ---- */

static void accepts_all(const struct fake_call *call, struct reply *reply)
{
	(void)call;
	(void)reply;
}

static void rejects_all(const struct fake_call *call, struct reply *reply)
{
	(void)call;
	reply->kind = REPLY_REJECTED;
	reply->message = "no";
}

static void what_breaks_its_schema_and_is_taken_is_found(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 100);
	run(&options, &result);
	assert_int_equal(result.count, 0);
	fuzz_result_done(&result);
	options.malformed = 5;
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_string_equal(result.findings[0].oracle, "accepted");
	assert_true(strlen(result.findings[0].input) <= strlen("{\"a\":0}"));
}

/* ---- known before ---- */

struct told {
	unsigned found, fresh, still, fixed, progress, asked, stop_at;
	char *first; /* id of the first that was told */
};

static void told_found(void *data, const struct finding *finding, bool is_new)
{
	struct told *told = data;

	(void)finding;
	told->found++;
	told->fresh += is_new;
}

static void told_retried(void *data, const struct finding *finding, bool still)
{
	struct told *told = data;

	told->still += still;
	told->fixed += !still;
	if (!told->first)
		told->first = xstrdup(finding->id);
}

static void told_progress(void *data, const struct fuzz_progress *progress)
{
	((struct told *)data)->progress += progress->doing != NULL;
}

static bool told_stop(void *data)
{
	struct told *told = data;

	return ++told->asked >= told->stop_at;
}

static void what_is_known_is_retried_first_and_what_does_it_no_more_is_fixed(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result before = {0}, after = {0};
	struct told told = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &before);
	assert_int_equal(before.count, 3);
	target.behave = long_bug; /* all three are gone but for... */
	struct finding_store known = {.items = before.findings, .count = before.count};
	options.known = &known;
	options.max_calls = 1;
	options.found = told_found;
	options.retried = told_retried;
	options.data = &told;
	run(&options, &after);
	assert_int_equal(told.fixed, 3);
	assert_int_equal(after.fixed.count, 3);
	fuzz_result_done(&after);
	target.behave = several_bugs;
	told = (struct told){.first = told.first};
	run(&options, &after);
	assert_int_equal(told.still, 3);
	assert_int_equal(told.found, 3);
	assert_int_equal(told.fresh, 0);
	assert_int_equal(after.fixed.count, 0);
	assert_int_equal(after.totals.fresh, 0);
	assert_int_equal(after.count, 3);
	free(told.first);
}

static void what_cannot_be_seen_is_not_said_to_be_fixed(void **state)
{
	static char schema_flag[] = "--output-schema=o.json", oracles_flag[] = "--oracles=all", token[] = "TOKEN";
	static char *items[] = {schema_flag, NULL}, *idle[] = {oracles_flag, NULL}, *names[] = {token, NULL};
	static const struct strings flags = {.items = items, .count = 1}, unlike = {.items = idle, .count = 1};
	static const struct strings variables = {.items = names, .count = 1};
	static const struct {
		oracle_set oracles;
		const struct strings *flags, *names;
		const char *profile;
		uint64_t duration_ns;
		void (*behave)(const struct fake_call *call, struct reply *reply);
		size_t fixed;
		const char *gap;
	} cases[] = {
		{ALL_BUT_UNSTABLE, NULL, NULL, NULL, 0, accepts_all, 3, NULL},
		{ALL_BUT_UNSTABLE, &unlike, NULL, NULL, 0, accepts_all, 3, NULL},
		{0x1u, NULL, NULL, NULL, 0, accepts_all, 1, "was not tried again: its oracle is not among those that look"},
		{ALL_BUT_UNSTABLE, &flags, NULL, NULL, 0, accepts_all, 0, "but with --output-schema=o.json"},
		{ALL_BUT_UNSTABLE, NULL, &variables, NULL, 0, accepts_all, 0, "but with the variable TOKEN"},
		{ALL_BUT_UNSTABLE, NULL, NULL, "strict", 0, accepts_all, 0, "but with another profile"},
		{ALL_BUT_UNSTABLE, NULL, NULL, NULL, 1, accepts_all, 0, "3 of what is known were not tried again"},
		{ALL_BUT_UNSTABLE, NULL, NULL, NULL, 0, rejects_all, 0, "nothing was really fuzzed: it is not said to be fixed"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(fake_done) struct target target = {.behave = several_bugs};
		own(fuzz_result_done) struct fuzz_result before = {0}, after = {0};
		struct told told = {0};
		fake_subject(&target, "tool", text_schema, NULL);
		struct fuzz_options options = options_for(&target, 5000);
		run(&options, &before);
		assert_int_equal(before.count, 3);
		struct finding_store known = {.items = before.findings, .count = before.count};
		target.behave = cases[i].behave;
		options.known = &known;
		options.max_calls = 20;
		options.oracles = cases[i].oracles;
		options.flags = cases[i].flags;
		options.environment_names = cases[i].names;
		options.profile = cases[i].profile;
		options.duration_ns = cases[i].duration_ns;
		options.retried = told_retried;
		options.data = &told;
		run(&options, &after);
		free(told.first);
		if (after.fixed.count != cases[i].fixed || told.fixed != cases[i].fixed)
			fail_msg("case %zu: %zu are said to be fixed, and %u told", i, after.fixed.count, told.fixed);
		if (cases[i].gap && !has_gap(&after, cases[i].gap))
			fail_msg("case %zu: nothing says '%s'", i, cases[i].gap);
	}
}

static void one_that_needs_effects_is_not_fixed_where_none_are_seen(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all, .blind = true};
	own(fuzz_result_done) struct fuzz_result result = {0};
	own(finding_done) struct finding finding = {.oracle = xstrdup("command"), .subject = xstrdup("tool"), .target = xstrdup("fake"),
		.message = xstrdup("a shell"), .kind = xstrdup("tool-lines"), .input = xstrdup("{\"a\":\"\"}")};
	struct finding_store known = {.items = &finding, .count = 1};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	strings_add(&finding.command, "fake");
	strings_add(&finding.command, "--serve");
	finding_identify(&finding);
	struct fuzz_options options = options_for(&target, 5);
	options.known = &known;
	run(&options, &result);
	assert_int_equal(result.fixed.count, 0);
	assert_true(has_gap(&result, "was not tried again: what its programs do is not seen"));
	fuzz_result_done(&result);
	target.blind = false;
	run(&options, &result);
	assert_int_equal(result.fixed.count, 1);
	fuzz_result_done(&result);
	strings_add(&finding.command, "--more");
	run(&options, &result);
	assert_int_equal(result.fixed.count, 0);
	assert_true(has_gap(&result, "but with another command"));
	fuzz_result_done(&result);
	target.blind = true;
	options.known = NULL;
	options.oracles = 0x20u;
	run(&options, &result);
	assert_int_equal(result.end, FUZZ_NOTHING);
	assert_non_null(strstr(result.why, "none of the oracles"));
}

static void only_long_quotes(const struct fake_call *call, struct reply *reply)
{
	const char *text = text_of(call->input, "a");

	if (strchr(text, '\'') && strlen(text) > 3)
		fake_fail(call, reply, "quote");
}

static void what_is_gone_from_its_input_and_comes_from_another_is_found_and_not_fixed(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result before = {0}, after = {0};
	struct told told = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &before);
	struct finding_store known = {.items = before.findings, .count = before.count};
	target.behave = only_long_quotes;
	options.known = &known;
	options.retried = told_retried;
	options.data = &told;
	run(&options, &after);
	free(told.first);
	const struct finding *quote = find(&after, "quote");
	assert_non_null(quote);
	assert_true(strlen(quote->input) > strlen("{\"a\":\"'\"}"));
	assert_int_equal(after.fixed.count, 2);
	assert_int_equal(told.fixed, 2);
	assert_false(strings_have(&after.fixed, quote->id));
}

static void one_that_is_suppressed_is_gone_and_not_fixed(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result before = {0}, after = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &before);
	struct finding_store known = {.items = before.findings, .count = before.count};
	known.items[0].state = known.items[1].state = FINDING_SUPPRESSED;
	known.items[1].until = 1; /* long ago: it counts */
	target.behave = accepts_all;
	options.known = &known;
	options.max_calls = 10;
	run(&options, &after);
	assert_int_equal(after.gone.count, 1);
	assert_string_equal(after.gone.items[0], known.items[0].id);
	assert_int_equal(after.fixed.count, 2);
}

static void what_is_known_and_came_again_counts_unless_nobody_wants_to_hear_of_it(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result before = {0}, after = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &before);
	struct finding_store known = {.items = before.findings, .count = before.count};
	options.known = &known;
	options.max_findings = 1;
	run(&options, &after);
	assert_int_equal(after.count, 1);
	assert_int_equal(after.totals.calls, 0);
	assert_int_equal(after.end, FUZZ_ENOUGH);
	fuzz_result_done(&after);
	/* one is suppressed, one is in the baseline, and there are not three others */
	own(strings_done) struct strings baseline = {0};
	strings_add(&baseline, known.items[1].id);
	known.items[0].state = FINDING_SUPPRESSED;
	options.baseline = &baseline;
	options.max_findings = 2;
	run(&options, &after);
	assert_int_equal(after.count, 3);
	assert_int_equal(after.totals.calls, 5000);
	assert_int_equal(after.end, FUZZ_DONE);
	fuzz_result_done(&after);
	/* nobody asked for an end: then only what is new counts */
	options.max_findings = 0;
	options.baseline = NULL;
	options.max_calls = 100;
	run(&options, &after);
	assert_int_equal(after.end, FUZZ_DONE);
}

static void a_capsule_is_reproduced_fixed_or_different(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result result = {0};
	own(repro_done) struct repro repro = {0};
	struct err err;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	run(&options, &result);
	const struct finding *quote = find(&result, "quote");
	assert_int_equal(fuzz_repro(&options, quote, 3, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_SAME);
	assert_int_equal(repro.seen, 3);
	assert_int_equal(repro.evidence.count, 1);
	repro_done(&repro);
	target.behave = accepts_all;
	assert_int_equal(fuzz_repro(&options, quote, 3, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_FIXED);
	assert_int_equal(repro.tried, 3);
	repro_done(&repro);
	target.behave = number_bug;
	target.behave = long_bug;
	struct finding longer = *quote;
	longer.input = (char *)(uintptr_t)"{\"a\":\"''''\"}";
	assert_int_equal(fuzz_repro(&options, &longer, 1, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_DIFFERENT);
	assert_true(strstr(repro.other.message, "too long") != NULL);
	longer.subject = (char *)(uintptr_t)"gone";
	repro_done(&repro);
	assert_int_equal(fuzz_repro(&options, &longer, 1, &repro, &err), -1);
	assert_int_equal(err.code, ERR_MISSING);
}

static void a_capsule_is_made_smaller_without_its_choices(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(finding_done) struct finding finding = {.oracle = xstrdup("exception"), .subject = xstrdup("tool"), .target = xstrdup("fake"),
		.message = xstrdup("quote"), .input = xstrdup("{\"a\": \"hello 'world' of many words\", \"b\": [1, 2, 3]}")};
	bool smaller;
	struct err err;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	finding_identify(&finding);
	struct fuzz_options options = options_for(&target, 1);
	assert_int_equal(fuzz_minimise(&options, &finding, &smaller, &err), 0);
	assert_true(smaller);
	assert_string_equal(finding.input, "{\"a\":\"'\"}");
	assert_non_null(finding.found);
	assert_int_equal(fuzz_minimise(&options, &finding, &smaller, &err), 0);
	assert_false(smaller);
	target.behave = accepts_all;
	assert_int_equal(fuzz_minimise(&options, &finding, &smaller, &err), -1);
}

/* ---- what only many calls do ---- */

static void leak_bug(const struct fake_call *call, struct reply *reply)
{
	if (++call->session->state[0] >= 200)
		fake_crash(call, reply);
}

static void a_bug_of_many_calls_is_found_with_how_many_it_takes(void **state)
{
	own(fake_done) struct target target = {.behave = leak_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct repro repro;
	struct err err;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 1000);
	run(&options, &result);
	assert_int_equal(result.count, 1);
	struct finding *found = &result.findings[0];
	assert_int_equal(found->seen, 5);
	assert_non_null(strstr(found->input, "[{\"subject\":\"tool\",\"arguments\":{\"a\":\"\"},\"times\":2"));
	assert_true(strings_have(&found->evidence, "the same call 226 times in a row"));
	assert_int_equal(fuzz_repro(&options, found, 2, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_SAME);
	assert_int_equal(repro.seen, 2);
	repro_done(&repro);
	/* fewer do not */
	free(found->input);
	found->input = xstrdup("[{\"subject\":\"tool\",\"arguments\":{\"a\":\"\"},\"times\":199}]");
	assert_int_equal(fuzz_repro(&options, found, 2, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_FIXED);
	repro_done(&repro);
}

static void other_leak_bug(const struct fake_call *call, struct reply *reply)
{
	if (strcmp(call->subject, "keep") == 0)
		call->session->state[0]++;
	else if (call->session->state[0] >= 150)
		fake_crash(call, reply);
}

static void what_the_calls_before_it_piled_up_is_found_with_them(void **state)
{
	own(fake_done) struct target target = {.behave = other_leak_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct repro repro;
	struct err err;

	(void)state;
	fake_subject(&target, "keep", text_schema, NULL);
	fake_subject(&target, "use", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 2000);
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_string_equal(result.findings[0].subject, "use");
	assert_non_null(strstr(result.findings[0].input, "{\"subject\":\"keep\",\"arguments\":{\"a\":\"\"},\"times\":"));
	assert_int_equal(fuzz_repro(&options, &result.findings[0], 2, &repro, &err), 0);
	assert_int_equal(repro.verdict, REPRO_SAME);
	repro_done(&repro);
}

/* ---- nothing was fuzzed ---- */

static void crashes_always(const struct fake_call *call, struct reply *reply)
{
	fake_crash(call, reply);
}

static void breaks_always(const struct fake_call *call, struct reply *reply)
{
	(void)call;
	reply->kind = REPLY_BROKEN;
	reply->message = "no JSON";
}

static void a_run_in_which_nothing_was_fuzzed_says_so(void **state)
{
	static const char *const none[] = {"x*", NULL};
	static const struct {
		void (*behave)(const struct fake_call *call, struct reply *reply);
		const char *schema;
		const char *const *only;
		const char *why;
	} cases[] = {
		{accepts_all, NULL, NULL, "offers nothing"},
		{accepts_all, text_schema, none, "no subject has such a name"},
		{accepts_all, "{\"type\":\"nonsense\"}", NULL, "could be fuzzed"},
		{rejects_all, text_schema, NULL, "every call was rejected"},
		{breaks_always, text_schema, NULL, "no call was answered"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		own(fake_done) struct target target = {.behave = cases[i].behave};
		own(fuzz_result_done) struct fuzz_result result = {0};
		if (cases[i].schema)
			fake_subject(&target, "tool", cases[i].schema, NULL);
		struct fuzz_options options = options_for(&target, 1000);
		options.only = cases[i].only;
		run(&options, &result);
		assert_int_equal(result.end, FUZZ_NOTHING);
		if (!strstr(result.why, cases[i].why))
			fail_msg("'%s' does not say '%s'", result.why, cases[i].why);
	}
}

static void a_target_that_ends_at_every_call_is_given_up_early_with_its_finding(void **state)
{
	own(fake_done) struct target target = {.behave = crashes_always};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 100000);
	run(&options, &result);
	assert_int_equal(result.end, FUZZ_NOTHING); /* a finding is no answer */
	assert_non_null(strstr(result.why, "no call was answered"));
	assert_int_equal(result.count, 1);
	assert_int_equal(result.totals.calls, 100);
	assert_true(has_gap(&result, "ended early"));
}

static void what_was_not_fuzzed_or_not_seen_is_told(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all, .blind = true};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "good", text_schema, NULL);
	fake_subject(&target, "bad", "{\"type\":\"nonsense\"}", NULL);
	strings_add(&target.remarks, "two tools are called x");
	struct fuzz_options options = options_for(&target, 10);
	run(&options, &result);
	assert_int_equal(result.end, FUZZ_DONE);
	assert_int_equal(result.totals.subject_count, 1);
	assert_true(has_gap(&result, "bad was not fuzzed"));
	assert_true(has_gap(&result, "two tools are called x"));
	assert_true(has_gap(&result, "blind: command"));
}

static void no_cell_is_an_error(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all, .no_cells = true};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct err err;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 10);
	assert_int_equal(fuzz_run(&options, &result, &err), -1);
	assert_int_equal(result.end, FUZZ_BROKEN);
	assert_int_equal(err.code, ERR_MISSING);
}

/* ---- when it ends ---- */

static void it_ends_when_it_is_told_to(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct told told = {.stop_at = 3};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 0);
	options.duration_ns = 60 * NS_PER_S;
	options.stop = told_stop;
	options.progress = told_progress;
	options.data = &told;
	run(&options, &result);
	assert_int_equal(result.end, FUZZ_STOPPED);
	assert_true(result.totals.calls > 0);
	assert_true(told.progress >= 1);
}

static void calls_and_findings_are_limited(void **state)
{
	own(fake_done) struct target target = {.behave = several_bugs};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 5000);
	options.max_findings = 2;
	options.workers = 3;
	run(&options, &result);
	assert_int_equal(result.end, FUZZ_ENOUGH);
	assert_int_equal(result.count, 2);
	fuzz_result_done(&result);
	target.behave = accepts_all;
	run(&options, &result);
	assert_int_equal(result.totals.calls, 5000);
}

static void a_smaller_input_is_looked_for_no_longer_than_allowed(void **state)
{
	own(fake_done) struct target target = {.behave = long_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 500);
	options.max_shrink = 3;
	options.replays = 2;
	run(&options, &result);
	assert_int_equal(result.count, 1);
	assert_true(result.totals.confirm_calls <= 2 + 3 + 1 + 3 + 1);
}

/* Each is slow, long, and wrong in a way of its own. */
static void slow_bug(const struct fake_call *call, struct reply *reply)
{
	struct timespec while_long = {.tv_nsec = 10 * 1000 * 1000};

	(void)nanosleep(&while_long, NULL);
	fake_fail(call, reply, call->subject);
}

static void many_faults_leave_time_to_explore(void **state)
{
	own(fake_done) struct target target = {.behave = slow_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	char names[20][8];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		(void)snprintf(names[i], sizeof(names[i]), "tool-%c", (char)('a' + i));
		fake_subject(&target, names[i], text_schema, NULL);
	}
	struct fuzz_options options = options_for(&target, 0);
	options.duration_ns = 4 * NS_PER_S; /* enough on a busy machine */
	run(&options, &result);
	for (size_t i = 0; i < result.totals.subject_count; i++)
		assert_true(result.totals.subjects[i].calls > 0);
	assert_true(result.totals.ns < options.duration_ns + 2 * NS_PER_S + NS_PER_S / 4);
}

/* Long texts are wrong, and it takes its time unless it was told not to. */
static void slow_long_bug(const struct fake_call *call, struct reply *reply)
{
	struct timespec while_long = {.tv_nsec = 20 * 1000 * 1000};

	if (!call->session->target->echo)
		(void)nanosleep(&while_long, NULL);
	if (strlen(text_of(call->input, "a")) >= 12)
		fake_fail(call, reply, "too long");
}

static void the_end_is_kept_and_what_is_not_small_by_then_says_so(void **state)
{
	own(fake_done) struct target target = {.behave = slow_long_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};
	struct err err = {0};
	bool smaller;

	(void)state;
	fake_subject(&target, "tool", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 0);
	options.duration_ns = NS_PER_S / 2;
	run(&options, &result);
	assert_true(result.totals.ns < options.duration_ns + 2 * NS_PER_S + NS_PER_S / 4);
	assert_int_equal(result.count, 1);
	assert_true(result.findings[0].seen >= 2);
	assert_true(result.findings[0].unfinished);
	assert_true(has_gap(&result, "1 finding was not made as small as can be"));
	target.echo = 1;
	options.duration_ns = 10 * NS_PER_S;
	assert_int_equal(fuzz_minimise(&options, &result.findings[0], &smaller, &err), 0);
	assert_true(smaller);
	assert_false(result.findings[0].unfinished);
}

static void late_bug(const struct fake_call *call, struct reply *reply)
{
	if (strcmp(call->subject, "slow") == 0)
		reply->kind = REPLY_LATE;
	else
		fake_fail(call, reply, "quick");
}

/* Found first, told last, and tried as often as there is room for: three calls of a tenth of a second in a third of a second. */
static void hangs_wait_for_the_end_and_are_tried_less_often(void **state)
{
	own(fake_done) struct target target = {.behave = late_bug};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject(&target, "slow", text_schema, NULL);
	fake_subject(&target, "quick", text_schema, NULL);
	struct fuzz_options options = options_for(&target, 0);
	options.duration_ns = NS_PER_S;
	options.call_ns = NS_PER_S / 10;
	run(&options, &result);
	assert_int_equal(result.count, 2);
	for (size_t i = 0; i < result.count; i++)
		assert_int_equal(result.findings[i].tried, strcmp(result.findings[i].oracle, "hang") == 0 ? 3 : 5);
}

/* ---- exploring ---- */

static void the_same_seed_makes_the_same_calls(void **state)
{
	own(fake_done) struct target one = {.behave = several_bugs, .logged = true}, other = {.behave = several_bugs, .logged = true};
	own(fuzz_result_done) struct fuzz_result first = {0}, second = {0};

	(void)state;
	state_subjects(&one);
	state_subjects(&other);
	struct fuzz_options options = options_for(&one, 2000);
	run(&options, &first);
	options.target = &other;
	run(&options, &second);
	assert_int_equal(one.log.count, other.log.count);
	for (size_t i = 0; i < one.log.count; i++)
		assert_string_equal(one.log.items[i], other.log.items[i]);
	own(fake_done) struct target third = {.behave = several_bugs, .logged = true};
	state_subjects(&third);
	fuzz_result_done(&second);
	options.target = &third;
	options.seed = 8;
	run(&options, &second);
	assert_string_not_equal(third.log.items[third.log.count - 1], one.log.items[one.log.count - 1]);
}

/* One answers in many ways, the others always alike. */
static void one_is_rich(const struct fake_call *call, struct reply *reply)
{
	if (strcmp(call->subject, "read") != 0)
		return;
	char message[64] = "";
	for (size_t i = 0, hash = strlen(call->text) * 31 + (unsigned char)call->text[6]; i < 8; i++)
		message[i] = (char)('a' + (hash >> i) % 20);
	reply->kind = REPLY_REJECTED;
	(void)snprintf(call->session->message, sizeof(call->session->message), "%s", message);
	reply->message = call->session->message;
}

static void calls_go_where_something_new_comes_of_them_and_nobody_is_starved(void **state)
{
	own(fake_done) struct target target = {.behave = one_is_rich};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	state_subjects(&target);
	struct fuzz_options options = options_for(&target, 4000);
	run(&options, &result);
	uint64_t rich = 0, least = UINT64_MAX;
	for (size_t i = 0; i < result.totals.subject_count; i++) {
		const struct subject_progress *one = &result.totals.subjects[i];
		if (strcmp(one->subject->name, "read") == 0)
			rich = one->calls;
		least = one->calls < least ? one->calls : least;
	}
	assert_true(rich > 1300);
	assert_true(least >= 100);
}

static void subjects_are_chosen_by_name(void **state)
{
	static const char *const only[] = {"*e*", NULL}, *const exclude[] = {"clo*", NULL};
	own(fake_done) struct target target = {.behave = accepts_all};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	state_subjects(&target);
	struct fuzz_options options = options_for(&target, 10);
	options.only = only;
	options.exclude = exclude;
	run(&options, &result);
	assert_int_equal(result.totals.subject_count, 2);
	assert_string_equal(result.totals.subjects[0].subject->name, "open");
	assert_string_equal(result.totals.subjects[1].subject->name, "read");
}

/* No assertion about time: what it says is for people who look for it. */
static void the_engine_itself_costs_little(void **state)
{
	own(fake_done) struct target target = {.behave = accepts_all, .unread = true};
	own(fuzz_result_done) struct fuzz_result result = {0};

	(void)state;
	fake_subject_file(&target, "tool", "file-tool.json", NULL);
	struct fuzz_options options = options_for(&target, 200000);
	run(&options, &result);
	assert_int_equal(result.totals.calls, 200000);
	print_message("%.0f calls a second\n", result.totals.rate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(planted_bugs_are_found_and_made_small),
		TEST(one_surprise_is_one_finding_with_all_it_takes_to_do_it_again),
		TEST(a_message_that_repeats_its_input_is_one_finding_with_one_id),
		TEST(several_surprises_are_several_findings_the_worst_first),
		TEST(what_comes_sometimes_is_flaky),
		TEST(how_sure_it_is_is_told_of_the_input_that_is_told),
		TEST(a_bug_of_many_calls_is_found_with_how_many_it_takes),
		TEST(what_the_calls_before_it_piled_up_is_found_with_them),
		TEST(what_never_comes_again_is_counted_and_told_but_no_finding),
		TEST(the_same_call_is_made_twice_where_answers_are_compared),
		TEST(a_bug_that_needs_calls_before_it_is_reduced_to_exactly_them),
		TEST(what_an_answer_told_is_used_in_later_calls),
		TEST(what_was_planted_is_no_name_for_later_calls),
		TEST(chains_are_made_in_between_where_one_takes_what_another_answers),
		TEST(what_breaks_its_schema_and_is_taken_is_found),
		TEST(what_is_known_is_retried_first_and_what_does_it_no_more_is_fixed),
		TEST(what_cannot_be_seen_is_not_said_to_be_fixed),
		TEST(one_that_needs_effects_is_not_fixed_where_none_are_seen),
		TEST(what_is_gone_from_its_input_and_comes_from_another_is_found_and_not_fixed),
		TEST(one_that_is_suppressed_is_gone_and_not_fixed),
		TEST(what_is_known_and_came_again_counts_unless_nobody_wants_to_hear_of_it),
		TEST(a_capsule_is_reproduced_fixed_or_different),
		TEST(a_capsule_is_made_smaller_without_its_choices),
		TEST(a_run_in_which_nothing_was_fuzzed_says_so),
		TEST(a_target_that_ends_at_every_call_is_given_up_early_with_its_finding),
		TEST(what_was_not_fuzzed_or_not_seen_is_told),
		TEST(no_cell_is_an_error),
		TEST(it_ends_when_it_is_told_to),
		TEST(calls_and_findings_are_limited),
		TEST(a_smaller_input_is_looked_for_no_longer_than_allowed),
		TEST(many_faults_leave_time_to_explore),
		TEST(the_end_is_kept_and_what_is_not_small_by_then_says_so),
		TEST(hangs_wait_for_the_end_and_are_tried_less_often),
		TEST(the_same_seed_makes_the_same_calls),
		TEST(calls_go_where_something_new_comes_of_them_and_nobody_is_starved),
		TEST(subjects_are_chosen_by_name),
		TEST(the_engine_itself_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
