#include "cli/function_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/size.h"
#include "base/term.h"
#include "cli/function_coverage.h"
#include "cli/fuzz_view.h"

#define NAME_WIDTH 32

/* 1234567 as 1.2M: columns stay columns at a million a second. */
static void put_short(uint64_t count, struct buf *out)
{
	if (count < 100000)
		buf_fmt(out, "%9" PRIu64, count);
	else if (count < 10000000)
		buf_fmt(out, "%8.1fk", (double)count / 1e3);
	else
		buf_fmt(out, "%8.1fM", (double)count / 1e6);
}

static double rate_of(const struct function_progress *progress)
{
	double rate = 0;

	for (size_t i = 0; i < progress->target_count; i++)
		rate += progress->targets[i].rate;
	return rate;
}

static void put_sums(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	uint64_t corpus = 0, features = 0;

	for (size_t i = 0; i < progress->target_count; i++) {
		corpus += progress->targets[i].corpus;
		features += progress->targets[i].features;
	}
	buf_fmt(out, "%" PRIu64 "s", progress->ns / NS_PER_S);
	if (look->duration_ns)
		buf_fmt(out, " of %" PRIu64 "s", look->duration_ns / NS_PER_S);
	buf_fmt(out, ": %" PRIu64 " execs, %.0f/s, corpus %" PRIu64 ", features %" PRIu64 "; findings: ", progress->execs,
		rate_of(progress), corpus, features);
	fuzz_view_severities(look->severities, out);
}

void function_view_line(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	put_sums(progress, look, out);
}

static void put_name(const char *name, struct buf *out)
{
	size_t before = out->len;

	term_line(name, strlen(name), NAME_WIDTH - 3, out);
	while (out->len - before < NAME_WIDTH)
		buf_char(out, ' ');
}

void function_view_targets(
	const struct function_targets *targets, const struct target_progress *totals, size_t max, struct buf *out)
{
	size_t shown = max && max < targets->count ? max - 1 : targets->count;

	put_name("target", out);
	buf_fmt(out, "%9s%9s%9s%9s%9s%11s%9s\n", "execs", "execs/s", "coverage", "features", "corpus", "first exec", "crashes");
	for (size_t i = 0; i < shown; i++) {
		const struct target_progress *total = &totals[i];
		char took[24] = "-";
		put_name(targets->list[i].name, out);
		put_short(total->execs, out);
		put_short((uint64_t)total->rate, out);
		put_short(total->coverage, out);
		put_short(total->features, out);
		put_short(total->corpus, out);
		buf_fmt(out, "%11s", total->first_exec_ns ? duration_text(total->first_exec_ns, took, sizeof(took)) : took);
		put_short(total->crashes, out);
		buf_char(out, '\n');
	}
	if (shown < targets->count)
		buf_fmt(out, "and %zu more\n", targets->count - shown);
}

void function_view_block(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	own(buf_done) struct buf text = {0};
	size_t room = look->rows > 6 ? look->rows - 4 : 2;

	put_sums(progress, look, &text);
	buf_char(&text, '\n');
	function_view_targets(look->targets, progress->targets, room, &text);
	for (const char *at = buf_text(&text); *at;) { /* one that is wrapped would take two rows */
		size_t len = strcspn(at, "\n"), cut = look->columns > 1 && len > look->columns - 1 ? look->columns - 1 : len;
		while (cut < len && cut > 0 && ((unsigned char)at[cut] & 0xc0) == 0x80)
			cut--;
		buf_add(out, at, cut);
		buf_char(out, '\n');
		at += len + (at[len] == '\n');
	}
}

static void put_number(struct json *json, const char *key, double number)
{
	json_put_uint(json, key, number > 0 ? (uint64_t)(number + 0.5) : 0);
}

void function_view_json(const struct function_progress *progress, const struct function_look *look, struct buf *out)
{
	own(json_done) struct json json = {0};

	json_open(&json, '{');
	json_put_uint(&json, "ms", progress->ns / NS_PER_MS);
	json_put_uint(&json, "execs", progress->execs);
	put_number(&json, "execs_per_s", rate_of(progress));
	json_put_uint(&json, "findings", progress->findings);
	if (progress->covered) {
		json_key(&json, "covered");
		json_open(&json, '{');
		coverage_put_sums(progress->covered, &json);
		json_close(&json, '}');
	}
	json_key(&json, "workers");
	json_open(&json, '[');
	for (size_t i = 0; i < progress->worker_count; i++) {
		const struct worker_progress *worker = &progress->workers[i];
		json_open(&json, '{');
		json_put_string(&json, "target", look->targets->list[worker->target].name);
		json_put_string(&json, "doing", worker->doing ? worker->doing : "waiting");
		json_put_uint(&json, "execs", worker->execs);
		put_number(&json, "execs_per_s", worker->rate);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_key(&json, "targets");
	json_open(&json, '[');
	for (size_t i = 0; i < progress->target_count; i++) {
		const struct target_progress *target = &progress->targets[i];
		json_open(&json, '{');
		json_put_string(&json, "name", look->targets->list[i].name);
		json_put_uint(&json, "execs", target->execs);
		put_number(&json, "execs_per_s", target->rate);
		json_put_uint(&json, "coverage", target->coverage);
		json_put_uint(&json, "features", target->features);
		json_put_uint(&json, "corpus", target->corpus);
		json_put_uint(&json, "crashes", target->crashes);
		json_put_uint(&json, "since_new_ms", target->since_new_ns / NS_PER_MS);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(out, buf_text(&json.out), json.out.len);
}
