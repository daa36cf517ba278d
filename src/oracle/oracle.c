/* The table of oracles, sets of them, and what verdicts are made of. See oracle.h.
 *
 * One surprise is told once. An oracle sees the verdicts of those before it in the table: what a program did that an
 * argument started is evidence of "command" and not a verdict of "file"; what is said in an answer that holds a canary
 * is a stranger's file, and its paths are no verdict of "trace". */
#include "oracle/oracle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/term.h"
#include "oracle/look.h"

#define VERDICTS_MAX 64 /* of one observation */
#define EVIDENCE_MAX 16 /* lines of one verdict */
#define MESSAGE_SHOWN 240 /* bytes */
#define EVIDENCE_SHOWN 400
#define QUOTE_BEFORE 40 /* bytes around what is quoted */
#define QUOTE_SHOWN 200

const struct oracle oracles[] = {
	{"canary", "a planted token of a file or place out of its reach is in its answer or on its stderr", false,
		judge_canary},
	{"command", "an argument reached a shell, chose a program, or became an option of one (--allow-spawn)", true,
		judge_command},
	{"file",
		"a file was written or removed outside of --allow-write: where the argument says, or outside of its scratch",
		true, judge_file},
	{"network", "it tried to reach the network, or where the argument says, without --allow-net", true,
		judge_network},
	{"secret", "a planted secret, a value of its environment or a key is in its answer", false, judge_secret},
	{"crash", "its process ended by a signal, or by itself in the middle of a call", false, judge_crash},
	{"hang", "no answer came in time", false, judge_hang},
	{"memory", "its memory grew with the calls, or went beyond its limit", false, judge_memory},
	{"exception", "it failed with an error that it does not declare", false, judge_exception},
	{"output-schema", "its structured answer does not fit the schema that it declares", false, judge_output_schema},
	{"protocol", "what it sent is not what the protocol allows", false, judge_protocol},
	{"trace", "a stack trace, a path of the machine or its environment is in its answer", false, judge_trace},
	{"spawn", "it started a program that was not declared (--allow-spawn)", true, judge_spawn},
	{"accepted", "input that breaks the declared schema was accepted", false, judge_accepted},
	{"refused", "input that fits the declared schema was refused", false, judge_refused},
	{"unstable", "the same input has another answer on another fresh session", false, judge_unstable},
	{0},
};
_Static_assert(sizeof(oracles) / sizeof(*oracles) - 1 <= sizeof(oracle_set) * 8, "a set has no bit for every oracle");

const char oracle_set_default[] = "all,-refused,-unstable";

static const char *const reply_names[] = {
	[REPLY_OK] = "ok", [REPLY_REJECTED] = "rejected", [REPLY_FAILED] = "failed", [REPLY_BROKEN] = "broken",
	[REPLY_ENDED] = "ended", [REPLY_LATE] = "late",
};
_Static_assert(sizeof(reply_names) / sizeof(*reply_names) == REPLY_KIND_COUNT, "a kind of reply has no name");

const char *reply_kind_name(enum reply_kind kind)
{
	return reply_names[kind];
}

/* ---- sets ---- */

static oracle_set bit_of(struct span name)
{
	for (size_t i = 0; oracles[i].name; i++)
		if (strlen(oracles[i].name) == name.len && memcmp(oracles[i].name, name.at, name.len) == 0)
			return (oracle_set)1 << i;
	return 0;
}

static int bad_word(struct span word, struct err *err)
{
	own(buf_done) struct buf shown = {0}, names = {0};

	term_line(word.at, word.len, 40, &shown);
	for (size_t i = 0; oracles[i].name; i++)
		buf_fmt(&names, "%s%s", i ? ", " : "", oracles[i].name);
	return err_set(err, ERR_USAGE, "there is no oracle '%s': there are %s, and all", buf_text(&shown), buf_text(&names));
}

static int none_left(const char *text, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(text, strlen(text), 80, &shown);
	return err_set(err, ERR_USAGE, "the oracles '%s' are none at all: nothing would be looked for", buf_text(&shown));
}

int oracle_set_read(const char *text, oracle_set *ret, struct err *err)
{
	oracle_set set = 0;

	for (const char *at = text;; at++) {
		struct span word = {at, strcspn(at, ",")};
		at += word.len;
		word = span_trim(word);
		bool less = word.len && *word.at == '-';
		struct span name = less ? (struct span){word.at + 1, word.len - 1} : word;
		bool all = name.len == 3 && memcmp(name.at, "all", 3) == 0;
		oracle_set bit = all ? ORACLES_ALL : bit_of(name);
		if (!bit)
			return bad_word(word, err);
		/* "-refused" alone is the default without it */
		if (less && set == 0 && word.at == text + strspn(text, " ") && oracle_set_read(oracle_set_default, &set, err) < 0)
			return -1;
		set = less ? set & ~bit : set | bit;
		if (!*at)
			break;
	}
	if (!(set & ORACLES_ALL >> (sizeof(set) * 8 - (ARRAY_LEN(oracles) - 1))))
		return none_left(text, err);
	*ret = set;
	return 0;
}

bool oracle_in(oracle_set set, const char *name)
{
	return (set & bit_of((struct span){name, strlen(name)})) != 0;
}

/* ---- verdicts ---- */

static void verdict_done(struct verdict *verdict)
{
	free(verdict->message);
	free(verdict->shape);
	free(verdict->file);
	strings_done(&verdict->evidence);
	strings_done(&verdict->frames);
}

void verdicts_done(struct verdicts *verdicts)
{
	for (size_t i = 0; i < verdicts->count; i++)
		verdict_done(&verdicts->list[i]);
	free(verdicts->list);
	*verdicts = (struct verdicts){0};
}

struct verdict *verdict_find(const struct verdicts *verdicts, const char *oracle)
{
	for (size_t i = 0; i < verdicts->count; i++)
		if (strcmp(verdicts->list[i].oracle, oracle) == 0)
			return &verdicts->list[i];
	return NULL;
}

static char *safe(const char *format, va_list args, size_t max)
{
	own(freep) char *text = NULL;
	struct buf line = {0};
	int len = vasprintf(&text, format, args);

	if (len < 0)
		abort(); /* as buf.h has it: no memory */
	term_line(text, (size_t)len, max, &line);
	return line.data ? buf_take(&line) : xstrdup("");
}

static struct verdict *add(struct verdicts *ret, const char *oracle, char *message)
{
	const struct finding_rule *rule = finding_rule(oracle);

	if (ret->count == VERDICTS_MAX || !rule) {
		free(message);
		return NULL;
	}
	if (!*message) { /* it began with a byte that ends a text */
		free(message);
		message = xstrdup(rule->title);
	}
	ret->list = xrealloc(ret->list, ret->count + 1, sizeof(*ret->list));
	ret->list[ret->count] = (struct verdict){.oracle = rule->oracle, .message = message};
	return &ret->list[ret->count++];
}

struct verdict *verdict_add(struct verdicts *ret, const char *oracle, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *message = safe(format, args, MESSAGE_SHOWN);
	va_end(args);
	return add(ret, oracle, message);
}

struct verdict *verdict_once(struct verdicts *ret, const char *oracle, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *message = safe(format, args, MESSAGE_SHOWN);
	va_end(args);
	for (size_t i = 0; i < ret->count; i++) {
		if (strcmp(ret->list[i].oracle, oracle) == 0 && strcmp(ret->list[i].message, message) == 0) {
			free(message);
			return &ret->list[i];
		}
	}
	return add(ret, oracle, message);
}

static void prove(struct verdict *verdict, const char *line)
{
	if (verdict->evidence.count >= EVIDENCE_MAX)
		return;
	for (size_t i = 0; i < verdict->evidence.count; i++)
		if (strcmp(verdict->evidence.items[i], line) == 0)
			return;
	strings_add(&verdict->evidence, line);
}

void verdict_prove(struct verdict *verdict, const char *format, ...)
{
	va_list args;

	if (!verdict)
		return;
	va_start(args, format);
	own(freep) char *line = safe(format, args, EVIDENCE_SHOWN);
	va_end(args);
	prove(verdict, line);
}

void verdict_quote(struct verdict *verdict, const char *label, const char *text, size_t len, size_t at, size_t size)
{
	own(buf_done) struct buf line = {0};

	if (!verdict)
		return;
	at = at < len ? at : len;
	size_t from = at > QUOTE_BEFORE ? at - QUOTE_BEFORE : 0;
	size_t rest = len - from, wanted = at - from + (size < QUOTE_SHOWN ? size : QUOTE_SHOWN) + QUOTE_BEFORE;
	while (from < at && ((unsigned char)text[from] & 0xc0) == 0x80) /* not in the middle of a character */
		from++, rest--, wanted--;
	buf_fmt(&line, "%s: %s", label, from > 0 ? "..." : "");
	term_line(text + from, rest < wanted ? rest : wanted, QUOTE_SHOWN, &line);
	if (wanted < rest)
		buf_str(&line, "...");
	prove(verdict, buf_text(&line));
}

/* ---- judging ---- */

static bool same_frames(const struct verdict *a, const struct verdict *b)
{
	if (!a->frames.count || a->frames.count != b->frames.count)
		return false;
	for (size_t i = 0; i < a->frames.count; i++)
		if (strcmp(a->frames.items[i], b->frames.items[i]) != 0)
			return false;
	return true;
}

/* Whether another verdict says the same, and more. */
static bool is_told_already(const struct verdicts *all, const struct verdict *verdict)
{
	const struct verdict *crash = verdict_find(all, "crash");

	return strcmp(verdict->oracle, "exception") == 0 && crash && same_frames(crash, verdict);
}

static int by_severity(const void *a, const void *b)
{
	const struct verdict *left = a, *right = b;
	enum severity first = finding_rule(left->oracle)->severity, second = finding_rule(right->oracle)->severity;

	if (first != second)
		return first > second ? -1 : 1;
	oracle_set one = bit_of((struct span){left->oracle, strlen(left->oracle)});
	oracle_set other = bit_of((struct span){right->oracle, strlen(right->oracle)});
	return one != other ? (one < other ? -1 : 1) : strcmp(left->message, right->message);
}

void oracle_judge(const struct observation *seen, oracle_set set, struct verdicts *ret)
{
	size_t kept = 0;

	*ret = (struct verdicts){0};
	for (size_t i = 0; oracles[i].name; i++)
		if (set & (oracle_set)1 << i)
			oracles[i].judge(seen, ret);
	for (size_t i = 0; i < ret->count; i++) {
		struct verdict *verdict = &ret->list[i];
		if (verdict->evidence.count == 0 || is_told_already(ret, verdict))
			verdict_done(verdict);
		else
			ret->list[kept++] = *verdict;
	}
	ret->count = kept;
	if (kept > 1)
		qsort(ret->list, kept, sizeof(*ret->list), by_severity);
}
