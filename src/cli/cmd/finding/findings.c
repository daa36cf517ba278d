/* hotcell findings list, show, export, suppress: what was found, read, handed on and lived with. */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/out_file.h"
#include "base/size.h"
#include "base/term.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/finding/place.h"
#include "cli/cmd/verbs.h"
#include "report/findings.h"
#include "view/findings.h"

#define EXIT_FOUND 1 /* more than the gate lets pass */
#define FORMATS "table json csv sarif html md"
#define REASON_MAX 1000

struct list_options {
	const char *format, *oracle, *severity, *subject, *state;
	bool json, all;
};

struct export_options {
	const char *format, *out, *gate, *baseline, *state;
};

struct suppress_options {
	const char *reason, *state;
	int64_t until;
	bool undo;
};

struct show_options {
	const char *state;
	bool json;
};

/* ---- what they share ---- */

static enum finding_format format_of(const char *name)
{
	enum finding_format format = 0;

	while (format < FINDING_FORMAT_COUNT - 1 && strcmp(finding_format_name(format), name) != 0)
		format++;
	return format;
}

/* Some of a store's, in its order. */
struct choice {
	const struct finding **list;
	size_t count;
};

static void choice_done(struct choice *choice)
{
	free(choice->list);
}

static void choice_add(struct choice *choice, const struct finding *finding)
{
	choice->list = xrealloc(choice->list, choice->count + 1, sizeof(*choice->list));
	choice->list[choice->count++] = finding;
}

static struct findings as_findings(const struct choice *choice, const struct findings_place *place, int64_t now)
{
	return (struct findings){.list = choice->list, .count = choice->count, .title = "hotcell findings", .version = HOTCELL_VERSION,
		.capsule_folder = place->shown, .now = now};
}

/* ---- list ---- */

static bool is_wanted(const struct list_options *options, const struct finding *finding, int64_t now)
{
	enum severity least = SEVERITY_NOTE;

	if (!options->all && (finding->state == FINDING_FIXED || finding_is_suppressed(finding, now)))
		return false;
	if (options->oracle && strcmp(options->oracle, finding->oracle) != 0)
		return false;
	if (options->severity && severity_read(options->severity, &least) && finding_severity(finding) < least)
		return false;
	return !options->subject || fnmatch(options->subject, finding->subject, 0) == 0;
}

static int check_oracle(const char *oracle, struct err *err)
{
	own(buf_done) struct buf names = {0};

	if (!oracle || finding_rule(oracle))
		return 0;
	for (const struct finding_rule *rule = finding_rules; rule->oracle; rule++)
		buf_fmt(&names, "%s%s", names.len ? ", " : "", rule->oracle);
	return err_set(err, ERR_USAGE, "--oracle takes one of: %s", buf_text(&names));
}

static int list_run(void *data, const struct cli_args *args)
{
	const struct list_options *options = data;
	own(findings_place_done) struct findings_place place = {0};
	own(choice_done) struct choice choice = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};
	int64_t now = time(NULL);

	(void)args;
	if (options->json && options->format && strcmp(options->format, "json") != 0)
		(void)err_set(&err, ERR_USAGE, "--json and --format=%s cannot both be", options->format);
	if (err.code || check_oracle(options->oracle, &err) < 0 || findings_place_open(&place, options->state, &err) < 0)
		return cli_fail(&err);
	for (size_t i = 0; i < place.store.count; i++)
		if (is_wanted(options, &place.store.items[i], now))
			choice_add(&choice, &place.store.items[i]);
	struct findings findings = as_findings(&choice, &place, now);
	findings.color = cli_color(STDOUT_FILENO);
	findings_write(&findings, format_of(options->json ? "json" : options->format ? options->format : "table"), &out);
	findings_place_tell(&place, now);
	return cli_print(&out);
}

/* ---- show ---- */

static void put_file(const char *file, struct buf *out)
{
	buf_str(out, "capsule          ");
	term_line(file, strlen(file), 600, out);
	buf_str(out, "\nreproduce        'hotcell repro' with that file\n");
}

/* With a folder, it is in there; else it is a file by itself. */
static int print_one(const struct finding *finding, const char *folder, const char *file, bool as_json)
{
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {.pretty = true};

	if (!as_json) {
		finding_write(finding, folder, time(NULL), &out);
		if (file)
			put_file(file, &out);
		return cli_print(&out);
	}
	capsule_write(finding, &json);
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

static int show_run(void *data, const struct cli_args *args)
{
	const struct show_options *options = data;
	own(findings_place_done) struct findings_place place = {0};
	own(finding_done) struct finding read = {0};
	const char *word = args->words[0];
	struct err err = {0};

	if (finding_is_file(word)) {
		if (finding_file_read(word, &read, &err) < 0)
			return cli_fail(&err);
		return print_one(&read, NULL, word, options->json);
	}
	if (findings_place_open(&place, options->state, &err) < 0)
		return cli_fail(&err);
	const struct finding *finding = findings_place_find(&place, word, &err);
	return finding ? print_one(finding, place.shown, NULL, options->json) : cli_fail(&err);
}

/* ---- export ---- */

static int read_baseline(const char *path, struct strings *ret, struct err *err)
{
	own(buf_done) struct buf text = {0}, shown = {0};

	if (!path)
		return 0;
	term_line(path, strlen(path), 200, &shown);
	if (fs_read_small(AT_FDCWD, path, BASELINE_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "--baseline");
	}
	return baseline_read(buf_text(&text), text.len, buf_text(&shown), ret, err);
}

static int write_out(const char *path, const struct buf *text)
{
	own(buf_done) struct buf shown = {0};
	struct err err = {0};

	if (!path || out_file_is_stdout(path))
		return cli_print(text);
	if (out_file_write(path, text, true, &err) < 0)
		return cli_fail(&err);
	term_line(path, strlen(path), 600, &shown);
	cli_say("the findings are written: %s", buf_text(&shown));
	return 0;
}

static int judge(const struct findings *findings, const struct export_options *options, const struct strings *baseline)
{
	enum finding_gate gate = GATE_NONE;

	(void)finding_gate_read(options->gate, &gate);
	size_t over = findings_over(findings, gate, baseline);
	if (!over)
		return 0;
	cli_say("%zu finding%s at or above '%s'%s", over, over == 1 ? " is" : "s are", options->gate,
		options->baseline ? " and not in the baseline" : "");
	return EXIT_FOUND;
}

static int export_run(void *data, const struct cli_args *args)
{
	const struct export_options *options = data;
	own(findings_place_done) struct findings_place place = {0};
	own(strings_done) struct strings baseline = {0};
	own(choice_done) struct choice choice = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};
	int64_t now = time(NULL);

	(void)args;
	if (options->baseline && strcmp(options->gate, "none") == 0)
		(void)err_set(&err, ERR_USAGE, "--baseline needs --fail-on: it says what may be there without failing");
	if (err.code || read_baseline(options->baseline, &baseline, &err) < 0 || findings_place_open(&place, options->state, &err) < 0)
		return cli_fail(&err);
	for (size_t i = 0; i < place.store.count; i++)
		if (place.store.items[i].state != FINDING_FIXED)
			choice_add(&choice, &place.store.items[i]);
	struct findings findings = as_findings(&choice, &place, now);
	findings_write(&findings, format_of(options->format), &out);
	findings_place_tell(&place, now);
	int failed = write_out(options->out, &out);
	return failed ? failed : judge(&findings, options, &baseline);
}

static void export_defaults(void *data)
{
	struct export_options *options = data;

	options->format = "sarif";
	options->gate = "none";
}

/* ---- suppress ---- */

/* "2027-01-31", a day there is; from its first moment on, in UTC, it counts again. */
static bool read_day(const char *text, int64_t *ret)
{
	static const char shape[] = "0000-00-00";
	struct tm day = {0};

	if (strlen(text) != strlen(shape))
		return false;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i])
			return false;
	if (sscanf(text, "%d-%d-%d", &day.tm_year, &day.tm_mon, &day.tm_mday) != 3)
		return false;
	struct tm same = {.tm_year = day.tm_year - 1900, .tm_mon = day.tm_mon - 1, .tm_mday = day.tm_mday};
	*ret = timegm(&same);
	return same.tm_mon == day.tm_mon - 1 && same.tm_mday == day.tm_mday && same.tm_year == day.tm_year - 1900;
}

static int until_set(void *data, const char *value, struct err *err)
{
	struct suppress_options *options = data;
	own(buf_done) struct buf shown = {0};
	uint64_t ms;

	term_line(value, strlen(value), 60, &shown);
	if (!read_day(value, &options->until)) {
		if (duration_parse(value, "--until", &ms, err) < 0)
			return err_set(err, ERR_USAGE, "--until takes a day ('2027-01-31') or how long from now ('30d', at most 365d), not '%s'",
				buf_text(&shown));
		options->until = time(NULL) + (int64_t)(ms / 1000) + (ms % 1000 > 0);
	}
	if (options->until > time(NULL))
		return 0;
	return err_set(err, ERR_USAGE, "--until: '%s' is past", buf_text(&shown));
}

static int check_suppress(const struct suppress_options *options, struct err *err)
{
	if (options->undo && (options->reason || options->until))
		return err_set(err, ERR_USAGE, "--undo takes neither --reason nor --until");
	if (options->undo)
		return 0;
	if (!options->reason || strspn(options->reason, " \t\r\n") == strlen(options->reason))
		return err_set(err, ERR_USAGE, "--reason is missing: say why this finding may stay; --undo takes a suppression back");
	if (strlen(options->reason) > REASON_MAX)
		return err_set(err, ERR_USAGE, "--reason has more than %d bytes", REASON_MAX);
	return 0;
}

/* Of a copy: what is in the store stays what it is if it cannot be written. */
static int change(struct findings_place *place, const struct finding *finding, const struct suppress_options *options, struct err *err)
{
	struct finding changed = *finding; /* borrows all its texts */

	if (options->undo && finding->state != FINDING_SUPPRESSED)
		return err_set(err, ERR_USAGE, "finding %s is not suppressed", finding->id);
	changed.state = options->undo ? FINDING_OPEN : FINDING_SUPPRESSED;
	own(freep) char *reason = options->undo ? NULL : xstrdup(options->reason);
	changed.reason = reason;
	changed.until = options->undo ? 0 : options->until;
	return store_put(&place->store, &changed, err);
}

static int suppress_run(void *data, const struct cli_args *args)
{
	const struct suppress_options *options = data;
	own(findings_place_done) struct findings_place place = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (check_suppress(options, &err) < 0 || findings_place_open(&place, options->state, &err) < 0)
		return cli_fail(&err);
	const struct finding *finding = findings_place_find(&place, args->words[0], &err);
	if (!finding || change(&place, finding, options, &err) < 0)
		return cli_fail(&err);
	buf_fmt(&out, "%s is %s", finding->id, options->undo ? "open again" : "suppressed");
	if (!options->undo && options->until) {
		buf_str(&out, " until ");
		finding_date(options->until, &out);
	}
	buf_char(&out, '\n');
	return cli_print(&out);
}

/* ---- the tables ---- */

static const struct cli_option list_table[] = {
	{.name = "format", .value = "FORMAT", .kind = CLI_TEXT, CLI_INTO(struct list_options, format), .hint = CLI_HINT_CHOICE,
		.choices = FORMATS, .fallback = "table", .help = "table, json, csv, sarif, html or md"},
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct list_options, json), .help = "the same as --format json"},
	{.name = "oracle", .value = "NAME", .kind = CLI_TEXT, CLI_INTO(struct list_options, oracle), .help = "only what this oracle found"},
	{.name = "severity", .value = "SEVERITY", .kind = CLI_TEXT, CLI_INTO(struct list_options, severity), .hint = CLI_HINT_CHOICE,
		.choices = "note low medium high critical", .help = "only what is as severe as this, or more"},
	{.name = "subject", .value = "GLOB", .kind = CLI_TEXT, CLI_INTO(struct list_options, subject),
		.help = "only of tools and functions with such a name"},
	{.name = "all", .kind = CLI_FLAG, CLI_INTO(struct list_options, all), .help = "fixed and suppressed ones as well"},
	CAMPAIGN_STATE_OPTION(struct list_options, state),
	{0},
};

static const struct cli_option show_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct show_options, json), .help = "print its capsule"},
	CAMPAIGN_STATE_OPTION(struct show_options, state),
	{0},
};

static const struct cli_option export_table[] = {
	{.name = "format", .value = "FORMAT", .kind = CLI_TEXT, CLI_INTO(struct export_options, format), .hint = CLI_HINT_CHOICE,
		.choices = FORMATS, .fallback = "sarif", .help = "table, json, csv, sarif, html or md"},
	{.name = "out", .letter = 'o', .value = "FILE", .kind = CLI_TEXT, CLI_INTO(struct export_options, out), .hint = CLI_HINT_FILE,
		.fallback = "-", .help = "where to write them; - is stdout"},
	{.name = "fail-on", .value = "LEVEL", .kind = CLI_TEXT, CLI_INTO(struct export_options, gate), .hint = CLI_HINT_CHOICE,
		.choices = "error warning note any none", .fallback = "none", .help = "exit with 1 if there is one at this level or above"},
	{.name = "baseline", .value = "FILE", .kind = CLI_TEXT, CLI_INTO(struct export_options, baseline), .hint = CLI_HINT_FILE,
		.help = "an earlier export (SARIF or JSON): what is in it fails nothing"},
	CAMPAIGN_STATE_OPTION(struct export_options, state),
	{0},
};

static const struct cli_option suppress_table[] = {
	{.name = "reason", .value = "TEXT", .kind = CLI_TEXT, CLI_INTO(struct suppress_options, reason), .help = "why it may stay"},
	{.name = "until", .value = "WHEN", .kind = CLI_OTHER, .set = until_set,
		.help = "for how long: '2027-01-31' (UTC) or '30d' from now; for ever without it"},
	{.name = "undo", .kind = CLI_FLAG, CLI_INTO(struct suppress_options, undo), .help = "take it back: the finding counts again"},
	CAMPAIGN_STATE_OPTION(struct suppress_options, state),
	{0},
};

const struct cli_verb verb_findings_list = {
	.name = "findings list",
	.summary = "list what was found, the most severe first",
	.usage = "[options]",
	.options = list_table,
	.options_size = sizeof(struct list_options),
	.run = list_run,
};

const struct cli_verb verb_findings_show = {
	.name = "findings show",
	.summary = "print all that is known of a finding",
	.usage = "[options] ID|FILE",
	.details = "An id may be shortened while only one begins like that. A word with '/' or '.json' in it is a capsule's file.\n",
	.options = show_table,
	.options_size = sizeof(struct show_options),
	.words_min = 1,
	.words_max = 1,
	.word = "ID or FILE",
	.word_hint = CLI_HINT_FILE,
	.run = show_run,
};

const struct cli_verb verb_findings_export = {
	.name = "findings export",
	.summary = "write findings for another program or a page, and stop a build",
	.usage = "[options]",
	.details = "Fixed findings are left out; suppressed ones are in, and say so.\n"
		   "Exit code: 0; 1 if --fail-on is exceeded; 2 usage.\n",
	.options = export_table,
	.options_size = sizeof(struct export_options),
	.defaults = export_defaults,
	.run = export_run,
};

const struct cli_verb verb_findings_suppress = {
	.name = "findings suppress",
	.summary = "let a finding stay, for a reason and a time",
	.usage = "[options] ID",
	.options = suppress_table,
	.options_size = sizeof(struct suppress_options),
	.words_min = 1,
	.words_max = 1,
	.word = "ID",
	.run = suppress_run,
};
