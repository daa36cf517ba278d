/* Calls in a row, and how a finding's input says them. See README.md: "A finding's input". */
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "fuzz/tool/explorer.h"

static const struct json_limits input_limits = {
	.bytes = CAPSULE_MAX, .values = SCHEMA_VALUES_MAX, .depth = 200, .any_text = true};

void step_copy(struct step *to, const struct step *from)
{
	to->subject = from->subject;
	to->times = from->times;
	to->malformed = from->malformed;
	memcpy(to->violation, from->violation, sizeof(to->violation));
	to->input.len = 0;
	buf_add(&to->input, buf_text(&from->input), from->input.len);
}

void step_done(struct step *step)
{
	buf_done(&step->input);
}

static void violation_set(struct step *step, const struct schema_errors *errors)
{
	own(buf_done) struct buf text = {0};

	step->malformed = true;
	if (errors->count)
		schema_error_text(&errors->list[0], &text);
	size_t len = text.len < sizeof(step->violation) ? text.len : sizeof(step->violation) - 1;
	memcpy(step->violation, buf_text(&text), len);
	step->violation[len] = '\0';
}

void step_judge(struct step *step)
{
	own(value_done) struct value value = {0};
	own(schema_errors_done) struct schema_errors errors = {0};
	struct err err;

	step->malformed = false;
	step->violation[0] = '\0';
	if (step->subject->input &&
		json_read(buf_text(&step->input), step->input.len, &input_limits, NULL, &value, &err) == 0 &&
		schema_check(step->subject->input, &value, &errors, &err) == SCHEMA_INVALID)
		violation_set(step, &errors);
}

void steps_add(struct steps *steps, const struct step *step)
{
	steps->list = xrealloc(steps->list, steps->count + 1, sizeof(*steps->list));
	steps->list[steps->count] = (struct step){0};
	step_copy(&steps->list[steps->count++], step);
}

void steps_copy(struct steps *to, const struct steps *from)
{
	for (size_t i = 0; i < from->count; i++)
		steps_add(to, &from->list[i]);
}

void steps_cut(struct steps *steps, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		step_done(&steps->list[i]);
	memmove(&steps->list[from], &steps->list[to], (steps->count - to) * sizeof(*steps->list));
	steps->count -= to - from;
}

void steps_done(struct steps *steps)
{
	for (size_t i = 0; i < steps->count; i++)
		step_done(&steps->list[i]);
	free(steps->list);
	*steps = (struct steps){0};
}

static uint64_t times_of(const struct step *step)
{
	return step->times > 1 ? step->times : 1;
}

bool steps_repeat(const struct steps *steps)
{
	return steps_total(steps) > steps->count;
}

uint64_t steps_total(const struct steps *steps)
{
	uint64_t total = 0;

	for (size_t i = 0; i < steps->count; i++)
		total += times_of(&steps->list[i]);
	return total;
}

void steps_spread(struct steps *steps, uint64_t total)
{
	uint64_t each = (total + steps->count - 1) / steps->count;

	for (size_t i = 0; i < steps->count; i++)
		steps->list[i].times = (unsigned)(each < REPEATED_MAX ? each : REPEATED_MAX);
}

/* Put together by hand: a generated text may hold half a surrogate pair as an escape, which has to stay one. */
char *steps_text(const struct steps *steps)
{
	struct buf out = {0};

	if (steps->count == 1 && !steps_repeat(steps)) {
		buf_add(&out, buf_text(&steps->list[0].input), steps->list[0].input.len);
		return buf_take(&out);
	}
	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->list[i];
		own(json_done) struct json name = {0};
		json_string(&name, step->subject->name);
		buf_fmt(&out, "%s{\"subject\":%s,\"arguments\":", i ? "," : "[", buf_text(&name.out));
		buf_add(&out, buf_text(&step->input), step->input.len);
		if (step->times > 1)
			buf_fmt(&out, ",\"times\":%u", step->times);
		buf_char(&out, '}');
	}
	buf_char(&out, ']');
	return buf_take(&out);
}

static const struct subject *subject_find(const struct subjects *subjects, const char *name)
{
	for (size_t i = 0; i < subjects->count; i++) {
		if (strcmp(subjects->list[i].name, name) == 0)
			return &subjects->list[i];
	}
	return NULL;
}

/* 0: there is none that can be. */
static unsigned times_read(const struct value *times)
{
	bool number = times && times->kind == VALUE_NUMBER && times->text && strspn(times->text, "0123456789") == strlen(times->text);
	unsigned long count = number && strlen(times->text) < 8 ? strtoul(times->text, NULL, 10) : 0;

	return count <= REPEATED_MAX ? (unsigned)count : 0;
}

static bool is_chain(const struct value *value)
{
	if (value->kind != VALUE_LIST || value->count == 0 || value->count > STEPS_MAX)
		return false;
	for (size_t i = 0; i < value->count; i++) {
		const struct value *step = &value->items[i], *name = value_get(step, "subject");
		if (step->kind != VALUE_MAP || !name || name->kind != VALUE_TEXT || !value_get(step, "arguments"))
			return false;
		unsigned times = times_read(value_get(step, "times"));
		if (step->count != (times ? 3 : 2) || (value->count == 1 && times < 2))
			return false;
	}
	return true;
}

static int step_read(struct steps *steps, const struct subjects *subjects, const char *name,
	const struct value *arguments, unsigned times, struct err *err)
{
	own(step_done) struct step step = {.subject = subject_find(subjects, name), .times = times};

	if (!step.subject)
		return err_set(err, ERR_MISSING, "the target offers no '%s' any more", name);
	value_write(arguments, &step.input);
	step_judge(&step);
	steps_add(steps, &step);
	return 0;
}

int steps_read(
	struct steps *ret, const struct subjects *subjects, const char *subject, const char *input, struct err *err)
{
	own(value_done) struct value value = {0};

	*ret = (struct steps){0};
	if (!subject || !input)
		return err_set(err, ERR_USAGE, "the finding has no subject or no input");
	if (json_read(input, strlen(input), &input_limits, NULL, &value, err) < 0)
		return err_wrap(err, "read the finding's input");
	if (!is_chain(&value))
		return step_read(ret, subjects, subject, &value, 0, err);
	for (size_t i = 0; i < value.count; i++) {
		const struct value *step = &value.items[i];
		if (step_read(ret, subjects, value_get(step, "subject")->text, value_get(step, "arguments"),
			    times_read(value_get(step, "times")), err) == 0)
			continue;
		steps_done(ret);
		return -1;
	}
	return 0;
}
