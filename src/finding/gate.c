/* What a build is stopped for: findings that are open, severe enough, and were not there before. */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/own.h"
#include "finding/gate.h"

#define BASELINE_IDS 200000

static const char *const gates[] = {
	[GATE_NONE] = "none", [GATE_ERROR] = "error", [GATE_WARNING] = "warning", [GATE_NOTE] = "note", [GATE_ANY] = "any",
};

bool finding_gate_read(const char *text, enum finding_gate *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
		if (strcmp(gates[i], text) == 0) {
			*ret = (enum finding_gate)i;
			return true;
		}
	}
	return false;
}

/* ---- reading what was there before ---- */

struct reading {
	const char *name;
	struct strings *ids;
	struct err *err;
};

static int wrong(const struct reading *reading, const struct value *at, const char *what)
{
	return err_set(reading->err, ERR_USAGE, "%s:%u: %s", reading->name, at->line, what);
}

static int add_id(const struct reading *reading, const struct value *id, const struct value *at)
{
	if (!id || id->kind != VALUE_TEXT || strlen(id->text) != FINDING_ID_LEN ||
		strspn(id->text, "0123456789abcdef") != FINDING_ID_LEN)
		return wrong(reading, at, "a finding has no id of 16 hexadecimal digits");
	if (reading->ids->count >= BASELINE_IDS)
		return wrong(reading, at, "there are more findings than a baseline may have");
	strings_add(reading->ids, id->text);
	return 0;
}

static bool has_format(const struct value *value, const char *format)
{
	const struct value *said = value->kind == VALUE_MAP ? value_get(value, "format") : NULL;

	return said && said->kind == VALUE_TEXT && strcmp(said->text, format) == 0;
}

static int add_capsules(const struct reading *reading, const struct value *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct value *item = &list->items[i];
		if (!has_format(item, FINDING_FORMAT))
			return wrong(reading, item, "this is no finding of this version of hotcell");
		if (add_id(reading, value_get(item, "id"), item) < 0)
			return -1;
	}
	return 0;
}

/* Results of other tools may be in the same file: they have no fingerprint of ours. */
static int add_results(const struct reading *reading, const struct value *run)
{
	const struct value *results = run->kind == VALUE_MAP ? value_get(run, "results") : NULL;

	if (!results || results->kind != VALUE_LIST)
		return results && results->kind != VALUE_NULL ? wrong(reading, results, "'results' is not an array") : 0;
	for (size_t i = 0; i < results->count; i++) {
		const struct value *item = &results->items[i];
		const struct value *prints = item->kind == VALUE_MAP ? value_get(item, "partialFingerprints") : NULL;
		const struct value *id = prints && prints->kind == VALUE_MAP ? value_get(prints, SARIF_FINGERPRINT) : NULL;
		if (id && add_id(reading, id, item) < 0)
			return -1;
	}
	return 0;
}

static int add_runs(const struct reading *reading, const struct value *runs)
{
	if (runs->kind != VALUE_LIST)
		return wrong(reading, runs, "'runs' is not an array");
	for (size_t i = 0; i < runs->count; i++)
		if (add_results(reading, &runs->items[i]) < 0)
			return -1;
	return 0;
}

static int add_all(const struct reading *reading, const struct value *top)
{
	const struct value *runs = top->kind == VALUE_MAP ? value_get(top, "runs") : NULL;
	const struct value *list = top->kind == VALUE_MAP ? value_get(top, "findings") : NULL;

	if (runs)
		return add_runs(reading, runs);
	if (has_format(top, FINDINGS_FORMAT) && list && list->kind == VALUE_LIST)
		return add_capsules(reading, list);
	if (has_format(top, FINDING_FORMAT))
		return add_id(reading, value_get(top, "id"), top);
	if (top->kind == VALUE_LIST)
		return add_capsules(reading, top);
	return wrong(reading, top, "neither SARIF, nor what 'hotcell findings export --format json' writes, nor a finding");
}

int baseline_read(const char *text, size_t len, const char *name, struct strings *ret, struct err *err)
{
	static const struct json_limits limits = {.bytes = BASELINE_MAX, .values = 8000000, .depth = 64};
	const struct reading reading = {.name = name, .ids = ret, .err = err};
	own(value_done) struct value top = {0};

	*ret = (struct strings){0};
	if (json_read(text, len, &limits, name, &top, err) < 0)
		return -1;
	if (add_all(&reading, &top) == 0)
		return 0;
	strings_done(ret);
	return -1;
}

/* ---- judging ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_over(const struct finding *finding, enum finding_gate gate)
{
	static const enum severity lowest[] = {
		[GATE_ERROR] = SEVERITY_HIGH, [GATE_WARNING] = SEVERITY_MEDIUM, [GATE_NOTE] = SEVERITY_NOTE, [GATE_ANY] = SEVERITY_NOTE,
	};

	return gate != GATE_NONE && finding_severity(finding) >= lowest[gate];
}

size_t findings_over(const struct findings *findings, enum finding_gate gate, const struct strings *baseline)
{
	size_t known = baseline ? baseline->count : 0, over = 0;
	own(freep) const char **ids = xcalloc(known + 1, sizeof(*ids));

	for (size_t i = 0; i < known; i++)
		ids[i] = baseline->items[i];
	qsort(ids, known, sizeof(*ids), by_text);
	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->list[i];
		const char *id = finding->id;
		if (finding->state == FINDING_FIXED || finding_is_suppressed(finding, findings->now) || !is_over(finding, gate))
			continue;
		over += !bsearch(&id, ids, known, sizeof(*ids), by_text);
	}
	return over;
}
