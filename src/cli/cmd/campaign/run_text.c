#include "cli/cmd/campaign/run_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "cli/cmd/campaign/args.h"
#include "cli/cmd/verbs.h"

#define CAUSE_SHOWN 200
#define PATH_SHOWN 1000

static const char *session_of(const struct campaign_record *campaign, const struct run_record *run, char *ret, size_t len)
{
	return plan_session_name(campaign->plan.runs, run->number, ret, len);
}

static void put_safe(struct buf *out, const char *text, size_t max)
{
	term_line(text, strlen(text), max, out);
}

void run_text_line(const struct campaign_record *campaign, const struct run_record *run, struct buf *out)
{
	char session[24], wall[32];

	buf_fmt(out, "  [%s] %10s  %-8s", session_of(campaign, run, session, sizeof(session)),
		duration_text(run->wall_ns, wall, sizeof(wall)), run_state_names[run->state]);
	if (run->cause && *run->cause) {
		buf_char(out, ' ');
		put_safe(out, run->cause, CAUSE_SHOWN);
	}
	buf_char(out, '\n');
}

/* ---- the same run again ---- */

static bool is_plain(const char *word, size_t len)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%^";

	for (size_t i = 0; i < len; i++)
		if (!word[i] || !strchr(plain, word[i]))
			return false;
	return len > 0;
}

/* Whether a terminal can show it as it is: text without control characters. */
static bool is_shown(const char *word, size_t len)
{
	own(buf_done) struct buf shown = {0};

	term_line(word, len, SIZE_MAX, &shown);
	return shown.len == len;
}

/* $'...' */
static void put_escaped(const char *word, size_t len, struct buf *out)
{
	buf_str(out, "$'");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)word[i];
		if (c == '\n')
			buf_str(out, "\\n");
		else if (c < ' ' || c >= 0x7f)
			buf_fmt(out, "\\%03o", c);
		else if (c == '\'' || c == '\\')
			buf_fmt(out, "\\%c", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '\'');
}

void run_text_quote(const char *word, size_t len, struct buf *out)
{
	if (is_plain(word, len)) {
		buf_add(out, word, len);
		return;
	}
	if (!is_shown(word, len)) {
		put_escaped(word, len, out);
		return;
	}
	buf_char(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\'')
			buf_str(out, "'\\''");
		else
			buf_char(out, word[i]);
	}
	buf_char(out, '\'');
}

/* The words of a record, one after the other. */
struct words {
	const char *at, *end;
};

static struct words words_of(const char *words, size_t len)
{
	const char *at = words ? words : "";
	return (struct words){.at = at, .end = at + (words ? len : 0)};
}

static const char *words_next(struct words *words, size_t *ret_len)
{
	const char *word = words->at;

	if (word >= words->end)
		return NULL;
	*ret_len = strnlen(word, (size_t)(words->end - word));
	words->at = word + *ret_len + 1;
	return word;
}

static void put_word(struct buf *out, const char *word, size_t len)
{
	buf_char(out, ' ');
	run_text_quote(word, len, out);
}

static const struct cli_option *option_named(const struct cli_verb *verb, const char *name, size_t len)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++)
		if (strlen(option->name) == len && strncmp(option->name, name, len) == 0)
			return option;
	return NULL;
}

static const struct cli_option *option_lettered(const struct cli_verb *verb, char letter)
{
	for (const struct cli_option *option = verb->options; option && option->name; option++)
		if (option->letter == letter)
			return option;
	return NULL;
}

/* Same name, other meaning: of a campaign, where sessions go, what all of them may use, and how it is told of. */
static bool is_own(const char *name)
{
	static const char *const own_names[] = {
		"output", "json", "json-file", "quiet", "verbose", "explain", "budget", "network-record", "network-replay"};

	for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
		if (strcmp(name, own_names[i]) == 0)
			return true;
	return false;
}

/* One option, in whichever way it was written; its value may be the next word. */
static void put_option(struct buf *out, const char *word, size_t len, struct words *rest, const struct cli_verb *from,
	const struct cli_verb *to)
{
	bool is_long = len > 2 && word[1] == '-';
	const char *equals = is_long ? memchr(word, '=', len) : NULL;
	const struct cli_option *option = is_long
		? option_named(from, word + 2, (size_t)((equals ? equals : word + len) - word) - 2)
		: option_lettered(from, word[1]);
	bool apart = option && option->kind != CLI_FLAG && !equals && (is_long || len == 2);
	size_t value_len = 0;
	const char *value = apart ? words_next(rest, &value_len) : NULL;

	if (!option || is_own(option->name) || !option_named(to, option->name, strlen(option->name)))
		return;
	put_word(out, word, len);
	if (value)
		put_word(out, value, value_len);
}

static void put_options(struct buf *out, struct words *words, const struct cli_verb *from, const struct cli_verb *to)
{
	const char *word;
	size_t len;

	while ((word = words_next(words, &len))) {
		if (len == 2 && memcmp(word, "--", 2) == 0)
			return;
		if (len > 1 && word[0] == '-')
			put_option(out, word, len, words, from, to);
	}
}

/* A campaign answers from a folder of sessions, a run from one of them. */
static void put_replay(struct buf *out, struct words words, const char *session)
{
	static const char name[] = "--network-replay=";
	const char *word;
	size_t len;

	while ((word = words_next(&words, &len)) && !(len == 2 && memcmp(word, "--", 2) == 0)) {
		if (strncmp(word, name, sizeof(name) - 1) != 0)
			continue;
		own(freep) char *mine = xfmt("%.*s/%s", (int)len, word, session);
		put_word(out, mine, strlen(mine));
	}
}

void run_text_again(const struct campaign_record *campaign, const struct run_record *run, const struct cli_verb *from,
	const struct cli_verb *to, struct buf *out)
{
	size_t shown_len;
	const char *shown = campaign_record_shown(campaign, &shown_len);
	struct words words = words_of(shown, shown_len);
	struct words names = words_of(campaign->env_names, campaign->env_names_len);
	char session[24];
	const char *word;
	size_t len;

	buf_str(out, "cd");
	put_word(out, campaign->cwd, strlen(campaign->cwd));
	buf_fmt(out,
		" && hotcell %s --env HOTCELL_CAMPAIGN=%s --env HOTCELL_RUN=%" PRIu64 " --env HOTCELL_SEED=%" PRIu64,
		to->name, campaign->name, run->number, run->seed);
	if (campaign->timeout_ms > 0) /* a campaign's default is another than a single run's */
		buf_fmt(out, " --timeout=%" PRIu64 "ms", campaign->timeout_ms);
	while ((word = words_next(&names, &len))) {
		buf_str(out, " --pass-env");
		put_word(out, word, len);
	}
	put_replay(out, words, session_of(campaign, run, session, sizeof(session)));
	put_options(out, &words, from, to);
	buf_str(out, " --");
	while ((word = words_next(&words, &len)))
		put_word(out, word, len);
}

/* ---- all of it ---- */

static void put_end(const struct run_record *run, struct buf *out)
{
	buf_fmt(out, "%s", run_state_names[run->state]);
	if (run_state_final(run->state))
		buf_fmt(out, " (%s)", cell_outcome_name(run->outcome));
	if (run->cause && *run->cause) {
		buf_str(out, ": ");
		put_safe(out, run->cause, CAUSE_SHOWN);
	}
	buf_char(out, '\n');
}

static void put_times(const struct run_record *run, struct buf *out)
{
	char started[32], ended[32], wall[32], setup[32], user[32], system[32];

	buf_fmt(out, "  started       %s\n  ended         %s\n", campaign_time(run->started_ms, started, sizeof(started)),
		campaign_time(run->ended_ms, ended, sizeof(ended)));
	if (run->ended_ms == 0)
		return;
	buf_fmt(out, "  time          %s, and %s to make the cell\n", duration_text(run->wall_ns, wall, sizeof(wall)),
		duration_text(run->setup_ns, setup, sizeof(setup)));
	buf_fmt(out, "  processor     %s user, %s system\n", duration_text(run->user_us * 1000, user, sizeof(user)),
		duration_text(run->system_us * 1000, system, sizeof(system)));
}

static void put_costs(const struct run_record *run, struct buf *out)
{
	char memory[32], written[32], printed[32], complained[32];

	if (run->ended_ms == 0)
		return;
	buf_fmt(out, "  memory        %s at most\n  written       %s\n",
		size_text(run->peak_memory, memory, sizeof(memory)),
		size_text(run->written_bytes, written, sizeof(written)));
	buf_fmt(out, "  printed       %s on stdout, %s on stderr\n",
		size_text(run->stdout_bytes, printed, sizeof(printed)),
		size_text(run->stderr_bytes, complained, sizeof(complained)));
	if (run->refused > 0)
		buf_fmt(out, "  refused       %" PRIu64 " system calls\n", run->refused);
	if (network_used(&run->network)) {
		buf_str(out, "  doors         ");
		network_text(&run->network, out);
		buf_char(out, '\n');
	}
}

void run_text_details(const struct campaign_record *campaign, const struct run_record *run, struct buf *out)
{
	own(buf_done) struct buf again = {0};
	char session[24];

	buf_fmt(out, "%s/%s: ", campaign->name, session_of(campaign, run, session, sizeof(session)));
	put_end(run, out);
	buf_fmt(out, "  attempt       %u\n  worker        %u\n  seed          %" PRIu64 "\n", run->attempt, run->worker,
		run->seed);
	put_times(run, out);
	put_costs(run, out);
	buf_str(out, "  folder        ");
	put_safe(out, campaign->output, PATH_SHOWN);
	buf_fmt(out, "/%s\n  logs          hotcell logs %s/%" PRIu64 "\n", session, campaign->name, run->number);
	run_text_again(campaign, run, &verb_campaign_run, &verb_run, &again);
	buf_str(out, "  again         ");
	put_safe(out, buf_text(&again), SIZE_MAX); /* cut short it would do something else */
	buf_char(out, '\n');
}

void run_text_json(const struct campaign_record *campaign, const struct run_record *run, struct json *json)
{
	char session[24];
	own(buf_done) struct buf again = {0};
	own(freep) char *folder =
		xfmt("%s/%s", campaign->output, session_of(campaign, run, session, sizeof(session)));

	json_open(json, '{');
	json_put_string(json, "campaign", campaign->name);
	json_put_uint(json, "run", run->number);
	json_put_string(json, "session", session);
	json_put_string(json, "folder", folder);
	json_put_uint(json, "attempt", run->attempt);
	json_put_string(json, "state", run_state_names[run->state]);
	json_put_string(json, "outcome", run_state_final(run->state) ? cell_outcome_name(run->outcome) : NULL);
	json_put_string(json, "cause", run->cause);
	json_put_int(json, "exit_code", run->exit_code);
	json_put_int(json, "signal", run->signal);
	json_put_uint(json, "worker", run->worker);
	json_put_uint(json, "seed", run->seed);
	json_put_uint(json, "started_ms", run->started_ms);
	json_key(json, "ended_ms");
	if (run->ended_ms > 0)
		json_uint(json, run->ended_ms);
	else
		json_null(json);
	json_put_uint(json, "wall_ns", run->wall_ns);
	json_put_uint(json, "setup_ns", run->setup_ns);
	json_put_uint(json, "user_us", run->user_us);
	json_put_uint(json, "system_us", run->system_us);
	json_put_uint(json, "peak_memory_bytes", run->peak_memory);
	json_put_uint(json, "written_bytes", run->written_bytes);
	json_put_uint(json, "stdout_bytes", run->stdout_bytes);
	json_put_uint(json, "stderr_bytes", run->stderr_bytes);
	json_put_uint(json, "refused", run->refused);
	json_key(json, "network");
	json_open(json, '{');
	network_json(&run->network, json);
	json_close(json, '}');
	run_text_again(campaign, run, &verb_campaign_run, &verb_run, &again);
	json_put_string(json, "again", buf_text(&again));
	json_close(json, '}');
}
