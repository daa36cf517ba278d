/* hotcell's JSON as the structs of hotcell.h. Everything they point to is in `texts`, or in the result's own lists. */
#include <stdlib.h>
#include <string.h>

#include "api/pick.h"
#include "api/private.h"

static const struct {
	const char *name;
	int outcome;
} outcomes[] = {
	{"exited", HOTCELL_EXITED},
	{"signaled", HOTCELL_SIGNALED},
	{"timeout", HOTCELL_TIMEOUT},
	{"oom", HOTCELL_OOM},
	{"output-limit", HOTCELL_OUTPUT_LIMIT},
	{"disk-limit", HOTCELL_DISK_LIMIT},
	{"denied", HOTCELL_DENIED},
	{"setup-failed", HOTCELL_SETUP_FAILED},
	{"cancelled", HOTCELL_CANCELLED},
};

void hotcell_result_free(struct hotcell_result *result)
{
	if (!result)
		return;
	for (size_t i = 0; result->inputs && i < result->fuzz.finding_count; i++)
		free(result->inputs[i]);
	free(result->inputs);
	free(result->gaps);
	free(result->findings);
	words_free(&result->texts);
	words_free(&result->problems);
	free(result->json);
	free(result->said);
	free(result->out.data);
	free(result->err.data);
	free(result);
}

static void result_freep(struct hotcell_result **result)
{
	hotcell_result_free(*result);
}

/* Keeps a text that was just made. NULL: there was no memory, now or before: *ok says so in the end. */
static const char *keep(struct hotcell_result *result, char *text, bool *ok)
{
	if (words_take(&result->texts, text) == 0)
		return text;
	*ok = false;
	return NULL;
}

static const char *text_of(struct hotcell_result *result, struct pick map, const char *key, bool *ok)
{
	return keep(result, pick_text(pick_get(map, key)), ok);
}

/* NULL where it has none. */
static const char *perhaps(struct hotcell_result *result, struct pick map, const char *key, bool *ok)
{
	struct pick text = pick_get(map, key);

	return text.len && *text.at == '"' ? keep(result, pick_text(text), ok) : NULL;
}

/* ---- cells ---- */

static bool read_gaps(struct hotcell_result *result, struct pick protections)
{
	struct pick key, item;
	bool ok = true;

	result->gaps = calloc(pick_count(protections) + 1, sizeof(*result->gaps));
	if (!result->gaps)
		return false;
	result->cell.gaps = result->gaps;
	for (size_t place = 0; pick_next(protections, &place, &key, &item);) {
		if (pick_is(pick_get(item, "state"), "on"))
			continue;
		result->gaps[result->cell.gap_count++] = (struct hotcell_gap){
			.protection = keep(result, pick_text(key), &ok),
			.state = text_of(result, item, "state", &ok),
			.note = text_of(result, item, "note", &ok),
		};
	}
	return ok;
}

static bool read_cell(struct hotcell_result *result, struct pick all)
{
	struct hotcell_cell *cell = &result->cell;
	struct pick receipt = pick_get(all, "receipt"), outcome = pick_get(all, "outcome"), code = pick_get(all, "exit_code");
	bool ok = true;

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		if (pick_is(outcome, outcomes[i].name))
			cell->outcome = outcomes[i].outcome;
	cell->outcome_name = keep(result, pick_text(outcome), &ok);
	cell->exit_code = pick_uint(code, UINT64_MAX) <= 255 ? (int)pick_uint(code, 0) : -1;
	cell->signal = (int)(pick_uint(pick_get(all, "signal"), 0) & 127);
	cell->wall_ms = pick_real(pick_get(all, "wall_ms"), 0);
	cell->setup_ms = pick_real(pick_get(all, "setup_ms"), 0);
	cell->user_ms = pick_real(pick_get(all, "user_ms"), 0);
	cell->system_ms = pick_real(pick_get(all, "system_ms"), 0);
	cell->peak_memory = pick_uint(pick_get(all, "peak_memory"), 0);
	cell->refused = pick_uint(pick_get(pick_get(all, "refused"), "total"), 0);
	cell->full = pick_true(pick_get(receipt, "full"));
	cell->receipt = keep(result, pick_copy(receipt), &ok);
	cell->error = perhaps(result, all, "error", &ok);
	return read_gaps(result, pick_get(receipt, "protections")) && ok;
}

/* ---- fuzzing ---- */

static bool is_in(struct pick list, const char *word)
{
	struct pick key, item;

	for (size_t place = 0; pick_next(list, &place, &key, &item);)
		if (pick_is(item, word))
			return true;
	return false;
}

static bool read_finding(
	struct hotcell_result *result, struct pick from, struct pick fresh, struct hotcell_finding *into, unsigned char **input)
{
	bool ok = true;

	*into = (struct hotcell_finding){
		.id = text_of(result, from, "id", &ok),
		.oracle = text_of(result, from, "oracle", &ok),
		.severity = text_of(result, from, "severity", &ok),
		.target = text_of(result, from, "target", &ok),
		.subject = text_of(result, from, "subject", &ok),
		.message = text_of(result, from, "message", &ok),
		.file = perhaps(result, from, "file", &ok),
		.line = (unsigned)pick_uint(pick_get(from, "line"), 0),
		.seen = (unsigned)pick_uint(pick_get(from, "seen"), 0),
		.tried = (unsigned)pick_uint(pick_get(from, "tried"), 0),
		.json = keep(result, pick_copy(from), &ok),
	};
	*input = pick_base64(pick_get(from, "input"), &into->input_len);
	into->input = *input ? *input : (const unsigned char *)"";
	into->is_new = into->id && is_in(fresh, into->id);
	return ok;
}

static bool read_findings(struct hotcell_result *result, struct pick list, struct pick fresh)
{
	size_t count = pick_count(list);
	struct pick key, item;

	result->findings = calloc(count + 1, sizeof(*result->findings));
	result->inputs = calloc(count + 1, sizeof(*result->inputs));
	if (!result->findings || !result->inputs)
		return false;
	result->fuzz.findings = result->findings;
	for (size_t place = 0; pick_next(list, &place, &key, &item);) {
		size_t i = result->fuzz.finding_count++;
		if (!read_finding(result, item, fresh, &result->findings[i], &result->inputs[i]))
			return false;
	}
	return true;
}

static char *joined(const char *name, const char *text)
{
	size_t first = strlen(name), second = strlen(text);
	char *both = malloc(first + second + 3);

	if (!both)
		return NULL;
	memcpy(both, name, first);
	memcpy(both + first, ": ", 2);
	memcpy(both + first + 2, text, second + 1);
	return both;
}

static bool read_problems(struct hotcell_result *result, struct pick targets)
{
	struct pick key, target, problem;
	bool ok = true;

	for (size_t place = 0; pick_next(targets, &place, &key, &target);) {
		const char *name = text_of(result, target, "name", &ok);
		for (size_t at = 0; ok && pick_next(pick_get(target, "problems"), &at, &key, &problem);) {
			own(freep) char *text = pick_text(problem);
			ok = text && words_take(&result->problems, joined(name, text)) == 0;
		}
	}
	result->fuzz.problems = (const char *const *)result->problems.list;
	result->fuzz.problem_count = result->problems.count;
	return ok;
}

static bool read_fuzz(struct hotcell_result *result, struct pick all)
{
	bool ok = true;

	result->fuzz.execs = pick_uint(pick_get(all, "execs"), 0);
	result->fuzz.wall_ms = pick_uint(pick_get(all, "wall_ms"), 0);
	result->fuzz.seed = text_of(result, all, "seed", &ok);
	result->fuzz.stopped = pick_uint(pick_get(all, "exit"), 0) >= 128;
	return ok && read_findings(result, pick_get(all, "findings"), pick_get(all, "new")) &&
		read_problems(result, pick_get(all, "targets"));
}

/* ---- both ---- */

struct hotcell_result *result_read(int kind, char **json, size_t len, struct hotcell_error *error)
{
	own(result_freep) struct hotcell_result *result = calloc(1, sizeof(*result));
	struct pick all = pick_whole(*json, len);

	if (!result) {
		free(ptr_take(json));
		(void)api_fail(error, HOTCELL_E_SYSTEM, "there is no memory for the result");
		return NULL;
	}
	result->kind = kind;
	result->json = ptr_take(json);
	if (!pick_get(all, kind == HOTCELL_RUN ? "outcome" : "version").len) {
		(void)api_fail(error, HOTCELL_E_FAILED, "hotcell's result cannot be understood");
		return NULL;
	}
	if (!(kind == HOTCELL_RUN ? read_cell(result, all) : read_fuzz(result, all))) {
		(void)api_fail(error, HOTCELL_E_SYSTEM, "there is no memory for the result");
		return NULL;
	}
	return ptr_take(&result);
}

const char *hotcell_result_json(const struct hotcell_result *result)
{
	return result ? result->json : "null";
}

const char *hotcell_result_said(const struct hotcell_result *result)
{
	return result && result->said ? result->said : "";
}

const struct hotcell_cell *hotcell_result_cell(const struct hotcell_result *result)
{
	return result && result->kind == HOTCELL_RUN ? &result->cell : NULL;
}

const struct hotcell_fuzz *hotcell_result_fuzz(const struct hotcell_result *result)
{
	return result && result->kind == HOTCELL_FUZZ_FUNCTION ? &result->fuzz : NULL;
}
