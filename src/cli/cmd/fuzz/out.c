#include "cli/cmd/fuzz/out.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "base/term.h"
#include "cli/fuzz_kept.h"
#include "view/fuzz.h"
#include "cli/core/tty.h"

#define LINE_SHOWN 400

static const char *const ends[] = {
	[FUZZ_DONE] = "done", [FUZZ_ENOUGH] = "enough", [FUZZ_STOPPED] = "stopped", [FUZZ_NOTHING] = "nothing", [FUZZ_BROKEN] = "broken",
};

void fuzz_outcome_judge(struct fuzz_outcome *outcome)
{
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, "", NULL, "");
	const struct fuzz_result *result = outcome->result;

	outcome->over = findings_over(&findings, outcome->gate, outcome->baseline);
	if (result->end == FUZZ_BROKEN)
		outcome->code = FUZZ_EXIT_BROKEN;
	else if (outcome->setup->signal)
		outcome->code = 128 + outcome->setup->signal;
	else if (outcome->over)
		outcome->code = FUZZ_EXIT_FINDINGS;
	else
		outcome->code = result->end == FUZZ_NOTHING ? FUZZ_EXIT_NOTHING : 0;
}

static const struct strings *remarks_of(const struct fuzz_outcome *outcome)
{
	return target_remarks(outcome->setup->target);
}

/* What was not fuzzed, or not as it could be: each once. */
static void limitations_of(const struct fuzz_outcome *outcome, struct strings *ret)
{
	const struct strings *const lists[] = {&outcome->setup->gaps, &outcome->result->gaps, remarks_of(outcome)};

	for (size_t at = 0; at < ARRAY_LEN(lists); at++)
		for (size_t i = 0; i < lists[at]->count; i++)
			if (!strings_have(ret, lists[at]->items[i]))
				strings_add(ret, lists[at]->items[i]);
}

/* ---- for machines ---- */

static void put_subject(const struct subject_progress *subject, struct json *json)
{
	json_open(json, '{');
	json_put_string(json, "name", subject->subject->name);
	json_put_uint(json, "calls", subject->calls);
	json_put_uint(json, "ok", subject->ok);
	json_put_uint(json, "rejected", subject->rejected);
	json_put_uint(json, "failed", subject->failed);
	json_put_uint(json, "ended", subject->ended);
	json_put_uint(json, "late", subject->late);
	json_put_uint(json, "broken", subject->broken);
	json_put_uint(json, "kinds", subject->kinds);
	json_put_uint(json, "findings", subject->findings);
	if (subject->subject->problem)
		json_put_string(json, "problem", subject->subject->problem);
	json_close(json, '}');
}

static void put_totals(const struct fuzz_outcome *outcome, struct json *json)
{
	const struct fuzz_progress *totals = &outcome->result->totals;

	json_put_uint(json, "calls", totals->calls);
	json_put_uint(json, "confirm_calls", totals->confirm_calls);
	json_put_uint(json, "restarts", totals->restarts);
	json_put_uint(json, "kept", totals->kept);
	json_put_uint(json, "unconfirmed", totals->unconfirmed);
	json_put_uint(json, "wall_ms", totals->ns / NS_PER_MS);
	json_key(json, "tools");
	json_open(json, '[');
	for (size_t i = 0; i < totals->subject_count; i++)
		put_subject(&totals->subjects[i], json);
	json_close(json, ']');
}

static void put_limitations(const struct fuzz_outcome *outcome, struct json *json)
{
	own(strings_done) struct strings limitations = {0};

	limitations_of(outcome, &limitations);
	json_key(json, "limitations");
	strings_json(&limitations, json);
}

static int print_json(const struct fuzz_outcome *outcome)
{
	const struct fuzz_setup *setup = outcome->setup;
	own(json_done) struct json json = {.pretty = true};
	own(freep) char *seed = xfmt("%" PRIu64, setup->fuzz.seed);

	json_open(&json, '{');
	json_put_string(&json, "version", HOTCELL_VERSION);
	json_put_string(&json, "target", target_name(setup->target));
	json_put_string(&json, "server_version", target_version(setup->target));
	json_put_string(&json, "kind", setup->kind);
	json_put_string(&json, "backend", setup->backend);
	json_put_string(&json, "seed", seed);
	json_put_string(&json, "end", ends[outcome->result->end]);
	if (*outcome->result->why)
		json_put_string(&json, "why", outcome->result->why);
	put_totals(outcome, &json);
	json_key(&json, "findings");
	json_open(&json, '[');
	for (size_t i = 0; i < outcome->count; i++)
		capsule_write(outcome->list[i], &json);
	json_close(&json, ']');
	json_key(&json, "new");
	strings_json(outcome->fresh, &json);
	json_key(&json, "fixed");
	strings_json(&outcome->result->fixed, &json);
	json_key(&json, "resolved_suppressed");
	strings_json(&outcome->result->gone, &json);
	put_limitations(outcome, &json);
	json_put_string(&json, "gate", setup->cli->fail_on);
	json_put_uint(&json, "above_threshold", outcome->over);
	json_put_int(&json, "exit", outcome->code);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return cli_print(&json.out);
}

/* ---- for people ---- */

static void put_lines(const char *before, const struct strings *texts, struct buf *out)
{
	for (size_t i = 0; texts && i < texts->count; i++) {
		buf_str(out, before);
		term_line(texts->items[i], strlen(texts->items[i]), LINE_SHOWN, out);
		buf_char(out, '\n');
	}
}

static void put_why(const char *before, const char *why, struct buf *out)
{
	buf_str(out, before);
	term_line(why, strlen(why), LINE_SHOWN, out);
	buf_str(out, ".\n");
}

static void put_verdict(const struct fuzz_outcome *outcome, struct buf *out)
{
	const struct fuzz_result *result = outcome->result;
	unsigned severities[SEVERITY_COUNT] = {0};
	char took[24];

	for (size_t i = 0; i < outcome->count; i++)
		severities[finding_severity(outcome->list[i])]++;
	buf_char(out, '\n');
	if (result->end == FUZZ_NOTHING && !outcome->count) {
		put_why("Nothing was really fuzzed: ", result->why, out);
		return;
	}
	if (outcome->count) {
		buf_fmt(out, "%zu finding%s (", outcome->count, outcome->count == 1 ? "" : "s");
		fuzz_view_severities(severities, out);
		buf_fmt(out, "), %zu new, %zu fixed, %zu at or above the gate '%s'", outcome->fresh->count, result->fixed.count, outcome->over,
			outcome->setup->cli->fail_on);
	} else {
		buf_str(out, "Nothing found");
		if (result->fixed.count)
			buf_fmt(out, ", %zu fixed", result->fixed.count);
	}
	buf_fmt(out, "; %" PRIu64 " calls in %s, seed %" PRIu64 ".%s\n", result->totals.calls,
		duration_text(result->totals.ns, took, sizeof(took)), outcome->setup->fuzz.seed,
		result->end == FUZZ_STOPPED ? " It was interrupted." : result->end == FUZZ_ENOUGH ? " It ended at --max-findings." : "");
	if (result->end == FUZZ_NOTHING)
		put_why("Apart from that nothing was really fuzzed: ", result->why, out);
}

static int print_text(const struct fuzz_outcome *outcome)
{
	own(freep) char *folder = fuzz_store_shown(outcome->setup->store_folder);
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, "hotcell fuzz", NULL, folder);
	own(strings_done) struct strings limitations = {0};
	own(buf_done) struct buf out = {0};

	limitations_of(outcome, &limitations);
	fuzz_view_subjects(&outcome->result->totals, 0, 0, &out);
	fuzz_put_findings(&findings, &out);
	if (outcome->result->fixed.count + outcome->result->gone.count)
		buf_char(&out, '\n');
	put_lines("fixed: ", &outcome->result->fixed, &out);
	put_lines("resolved, and still suppressed: ", &outcome->result->gone, &out);
	put_lines("limitation: ", &limitations, &out);
	put_verdict(outcome, &out);
	return fuzz_print(&out, outcome->setup->cli->sarif, NULL);
}

static int write_sarif(const struct fuzz_outcome *outcome)
{
	own(freep) char *folder = fuzz_store_shown(outcome->setup->store_folder);
	own(freep) char *title = xfmt("hotcell fuzz: %s", target_name(outcome->setup->target));
	own(strings_done) struct strings limitations = {0};

	limitations_of(outcome, &limitations);
	const struct findings findings = fuzz_findings(outcome->list, outcome->count, title, &limitations, folder);
	return fuzz_write_sarif(&findings, outcome->setup->cli->sarif);
}

int fuzz_outcome_tell(const struct fuzz_outcome *outcome)
{
	int printed = outcome->setup->cli->run.json ? print_json(outcome) : print_text(outcome);
	int written = outcome->setup->cli->sarif ? write_sarif(outcome) : 0;

	return printed ? printed : written;
}
