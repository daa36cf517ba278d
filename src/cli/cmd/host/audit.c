/* hotcell audit verify, hotcell audit show: the audit log, checked and read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "base/size.h"
#include "base/term.h"
#include "project/state.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/verbs.h"

#define EXIT_FOUND 1 /* the log is not what was written */
#define PROBLEMS_SHOWN 20
#define PROBLEMS_LISTED 10000 /* in JSON: a hostile log has as many as it likes */
#define VALUE_SHOWN 300

struct audit_options {
	const char *state;
	bool json;
	struct audit_head head; /* --head; seq 0: not given */
	char since[32]; /* as the log writes times; "": all */
};

/* The word, or the log of the campaigns here; the caller frees. */
static char *log_path(const struct audit_options *options, const struct cli_args *args, struct err *err)
{
	if (args->word_count > 0)
		return xstrdup(args->words[0]);
	own(freep) char *state = state_folder(options->state, false, err);
	return state ? state_audit(state) : NULL;
}

/* A log that is not there is a mistake in the command line. */
static int fail(const struct cli_args *args, const char *verb, const struct err *err)
{
	struct err whole = *err;

	if (args->word_count == 0)
		(void)err_set(&whole, err->code, "%s; 'hotcell %s FILE' reads any log", err->text, verb);
	(void)cli_fail(&whole);
	return EXIT_USAGE;
}

/* ---- verify ---- */

struct check {
	bool json;
	struct json out;
	uint64_t found;
};

static void check_done(struct check *check)
{
	json_done(&check->out);
}

static void on_problem(void *data, uint64_t line, const char *text)
{
	struct check *check = data;

	if (check->found++ >= (check->json ? PROBLEMS_LISTED : PROBLEMS_SHOWN))
		return;
	if (!check->json) {
		own(freep) char *which = line ? xfmt("line %llu", (unsigned long long)line) : xstrdup("the log");
		cli_say("%s %s", which, text);
		return;
	}
	json_open(&check->out, '{');
	json_put_uint(&check->out, "line", line);
	json_put_string(&check->out, "text", text);
	json_close(&check->out, '}');
}

static int print_json(struct check *check, const struct audit_report *report, const char *head)
{
	struct json *json = &check->out;

	json_close(json, ']');
	json_put_uint(json, "problem_count", report->problems);
	json_put_uint(json, "problems_left_out", check->found > PROBLEMS_LISTED ? check->found - PROBLEMS_LISTED : 0);
	json_put_uint(json, "lines", report->lines);
	json_put_uint(json, "torn", report->torn);
	json_put_uint(json, "torn_end", report->torn_end);
	json_put_uint(json, "behind_head", report->unheaded);
	json_put_string(json, "head", report->head.seq ? head : NULL);
	json_close(json, '}');
	buf_char(&json->out, '\n');
	return cli_print(&json->out);
}

static int print_text(const struct check *check, const struct audit_report *report, const char *head)
{
	own(buf_done) struct buf out = {0};

	if (check->found > PROBLEMS_SHOWN)
		cli_say("and %llu problems more, which --json lists", (unsigned long long)(check->found - PROBLEMS_SHOWN));
	if (report->torn)
		buf_fmt(&out, "torn     %llu: a writer was killed while it wrote; what it left is kept and accounted for\n",
			(unsigned long long)report->torn);
	if (report->torn_end)
		buf_fmt(&out, "torn     the last %zu bytes: a writer was killed while it wrote, and nobody has written since\n",
			report->torn_end);
	if (report->unheaded)
		buf_fmt(&out, "behind   %llu lines are behind the head: their writer was killed, or writes now\n",
			(unsigned long long)report->unheaded);
	buf_fmt(&out, "lines    %llu\n", (unsigned long long)report->lines);
	if (report->head.seq)
		buf_fmt(&out, "head     %s\n", head);
	buf_str(&out, report->problems ? "verdict  NOT what was written\n" : "verdict  whole\n");
	return cli_print(&out);
}

static int verify(void *data, const struct cli_args *args)
{
	const struct audit_options *options = data;
	own(check_done) struct check check = {.json = options->json};
	struct audit_report report;
	char head[AUDIT_HEAD_TEXT];
	struct err err = {0};
	own(freep) char *path = log_path(options, args, &err);

	if (!path)
		return fail(args, verb_audit_verify.name, &err);
	json_open(&check.out, '{');
	json_put_string(&check.out, "file", path);
	json_key(&check.out, "problems");
	json_open(&check.out, '[');
	if (audit_verify(path, options->head.seq ? &options->head : NULL, on_problem, &check, &report, &err) < 0)
		return fail(args, verb_audit_verify.name, &err);
	audit_head_text(&report.head, head);
	int failed = options->json ? print_json(&check, &report, head) : print_text(&check, &report, head);
	return failed ? failed : report.problems ? EXIT_FOUND : 0;
}

static int head_set(void *data, const char *value, struct err *err)
{
	struct audit_options *options = data;

	if (audit_head_parse(value, &options->head))
		return 0;
	return err_set(err, ERR_USAGE, "--head takes what 'hotcell audit verify' printed: a number, ':' and 64 digits");
}

/* ---- show ---- */

struct show {
	const struct audit_options *options;
	struct buf out;
	uint64_t odd; /* lines that are no records */
};

static void show_done(struct show *show)
{
	buf_done(&show->out);
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : "";
}

static void put_value(const struct value *value, struct buf *out)
{
	if (value->text) {
		term_line(value->text, strlen(value->text), VALUE_SHOWN, out);
		return;
	}
	for (size_t i = 0; i < value->count; i++) {
		if (i > 0)
			buf_char(out, ',');
		if (value->keys) {
			term_line(value->keys[i], strlen(value->keys[i]), VALUE_SHOWN, out);
			buf_char(out, ':');
		}
		if (value->items[i].text)
			term_line(value->items[i].text, strlen(value->items[i].text), VALUE_SHOWN, out);
		else
			buf_str(out, "...");
	}
}

static void put_line(const struct value *value, struct buf *out)
{
	static const char *const first[] = {"time", "event"}, *const left[] = {"seq", "prev", "time", "event"};

	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		const char *text = text_of(value, first[i]);
		size_t from = out->len;
		term_line(text, strlen(text), VALUE_SHOWN, out);
		buf_fmt(out, "%*s", out->len - from < 18 ? (int)(20 - (out->len - from)) : 2, "");
	}
	for (size_t i = 0; i < value->count; i++) {
		bool skip = false;
		for (size_t j = 0; j < ARRAY_LEN(left); j++)
			skip = skip || strcmp(left[j], value->keys[i]) == 0;
		if (skip)
			continue;
		term_line(value->keys[i], strlen(value->keys[i]), VALUE_SHOWN, out);
		buf_char(out, '=');
		put_value(&value->items[i], out);
		buf_char(out, ' ');
	}
	out->data[out->len - 1] = '\n';
}

static int on_line(void *data, uint64_t line, const struct value *value, const char *text, size_t len)
{
	struct show *show = data;

	(void)line;
	if (!value) {
		show->odd++;
		return 0;
	}
	if (strcmp(text_of(value, "time"), show->options->since) < 0)
		return 0;
	if (show->options->json) {
		buf_add(&show->out, text, len);
		buf_char(&show->out, '\n');
	} else {
		put_line(value, &show->out);
	}
	if (show->out.len < 65536)
		return 0;
	int failed = cli_print(&show->out);
	show->out.len = 0;
	return failed;
}

static int show(void *data, const struct cli_args *args)
{
	const struct audit_options *options = data;
	own(show_done) struct show it = {.options = options};
	struct err err = {0};
	own(freep) char *path = log_path(options, args, &err);
	int rc = path ? audit_each(path, on_line, &it, &err) : -1;

	if (rc < 0)
		return fail(args, verb_audit_show.name, &err);
	if (rc == 0 && it.out.len > 0)
		rc = cli_print(&it.out);
	if (it.odd > 0)
		cli_say("%llu lines are no records; 'hotcell audit verify' says more", (unsigned long long)it.odd);
	return rc;
}

/* "2026-11-16", "2026-11-16 07:50", "2026-11-16T07:50:58Z", "2026-11-16T07:50:58.123Z": each is a beginning of what the log
 * has. Returns its length, without the Z; 0 if it is none. */
static size_t time_shape(const char *text)
{
	static const char shape[] = "0000-00-00T00:00:00.000";
	size_t len = strlen(text);

	if (len > 16 && text[len - 1] == 'Z')
		len--;
	for (size_t i = 0; i < len; i++) {
		bool fits = i < sizeof(shape) - 1 && (shape[i] == '0' ? text[i] >= '0' && text[i] <= '9' :
			text[i] == shape[i] || (shape[i] == 'T' && text[i] == ' '));
		if (!fits)
			return 0;
	}
	return len == 10 || len == 16 || len == 19 || len > 20 ? len : 0;
}

/* Whether there is such a day, and such a time of it. */
static bool time_is(const char *text)
{
	struct tm asked = {.tm_mday = 1};

	(void)sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &asked.tm_year, &asked.tm_mon, &asked.tm_mday, &asked.tm_hour, &asked.tm_min,
		&asked.tm_sec);
	asked.tm_year -= 1900;
	asked.tm_mon--;
	struct tm real = asked;
	(void)timegm(&real);
	return real.tm_year == asked.tm_year && real.tm_mon == asked.tm_mon && real.tm_mday == asked.tm_mday &&
		real.tm_hour == asked.tm_hour && real.tm_min == asked.tm_min && real.tm_sec == asked.tm_sec;
}

static int since_set(void *data, const char *value, struct err *err)
{
	struct audit_options *options = data;
	uint64_t ms;
	struct tm parts;

	size_t len = time_shape(value);
	if (len > 0 && !time_is(value))
		return err_set(err, ERR_USAGE, "--since '%s': there is no such day or time", value);
	if (len > 0) {
		(void)snprintf(options->since, sizeof(options->since), "%.*s", (int)len, value);
		if (len > 10)
			options->since[10] = 'T';
		return 0;
	}
	if (duration_parse(value, "--since", &ms, err) < 0)
		return err_set(err, ERR_USAGE, "--since takes a time in UTC ('2026-11-16 07:50'), or how long ago ('2h'), not '%s'", value);
	time_t then = time(NULL) - (time_t)(ms / 1000);
	(void)gmtime_r(&then, &parts);
	(void)strftime(options->since, sizeof(options->since), "%Y-%m-%dT%H:%M:%S", &parts);
	return 0;
}

/* ---- the tables ---- */

static const struct cli_option verify_table[] = {
	{.name = "head", .value = "HEAD", .kind = CLI_OTHER, .set = head_set,
		.help = "a head that was printed earlier and kept elsewhere: it must be in the log"},
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct audit_options, json), .help = "print what was found as one JSON object"},
	CAMPAIGN_STATE_OPTION(struct audit_options, state),
	{0},
};

static const struct cli_option show_table[] = {
	{.name = "since", .value = "TIME", .kind = CLI_OTHER, .set = since_set,
		.help = "only what happened since then: '2026-11-16 07:50' (UTC), or '2h' ago"},
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct audit_options, json), .help = "print the lines as they are"},
	CAMPAIGN_STATE_OPTION(struct audit_options, state),
	{0},
};

const struct cli_verb verb_audit_verify = {
	.name = "audit verify",
	.summary = "find what was changed in an audit log",
	.usage = "[options] [FILE]",
	.details = "Without FILE, the log of the campaigns here. Exit code: 0 whole; 1 not; 2 it cannot be read, or is no audit log.\n",
	.options = verify_table,
	.options_size = sizeof(struct audit_options),
	.words_max = 1,
	.word = "FILE",
	.word_hint = CLI_HINT_FILE,
	.run = verify,
};

const struct cli_verb verb_audit_show = {
	.name = "audit show",
	.summary = "print an audit log",
	.usage = "[options] [FILE]",
	.details = "Without FILE, the log of the campaigns here. It is not checked: 'hotcell audit verify' does that.\n",
	.options = show_table,
	.options_size = sizeof(struct audit_options),
	.words_max = 1,
	.word = "FILE",
	.word_hint = CLI_HINT_FILE,
	.run = show,
};
