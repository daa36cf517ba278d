/* Whatever was seen of a call: no verdict without evidence, and all of them one line of text each.
 *
 * The input is a list of texts with byte 0x1e between: flags, the call's arguments, the answer, stderr, the message,
 * another answer, the mark; then effects, each a letter for its kind and "by|what|word|word". */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "oracle/oracle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FLAGS, INPUT, ANSWER, SAID, MESSAGE, BEFORE, MARK, EFFECTS, PARTS = EFFECTS + 16 };

static void check_line(const char *line)
{
	size_t len = strlen(line);

	assert(len > 0 && len < 1024);
	for (size_t i = 0; i < len;) {
		int step = utf8_char(line + i, len - i);
		assert(step > 0 && !utf8_is_control(line + i, step));
		i += (size_t)step;
	}
}

static void check_verdicts(const struct verdicts *verdicts)
{
	assert(verdicts->count <= 64);
	for (size_t i = 0; i < verdicts->count; i++) {
		const struct verdict *verdict = &verdicts->list[i];
		check_line(verdict->message);
		assert(finding_rule(verdict->oracle) && verdict->evidence.count > 0);
		assert(i == 0 || finding_rule(verdict[-1].oracle)->severity >= finding_rule(verdict->oracle)->severity);
		for (size_t at = 0; at < verdict->evidence.count; at++)
			check_line(verdict->evidence.items[at]);
		for (size_t at = 0; at < verdict->frames.count; at++)
			check_line(verdict->frames.items[at]);
	}
}

/* Cuts at `c`; the pieces are good while the text is. */
static size_t split(char *text, size_t len, char c, char **ret, size_t *lens, size_t max)
{
	size_t count = 0;

	for (char *at = text; count < max; count++) {
		char *end = memchr(at, c, len - (size_t)(at - text));
		ret[count] = at;
		lens[count] = end ? (size_t)(end - at) : len - (size_t)(at - text);
		at[lens[count]] = '\0';
		if (!end)
			return count + 1;
		at = end + 1;
	}
	return count;
}

static void effect_of(char *text, size_t len, struct effect *ret)
{
	char *parts[8] = {0};
	size_t lens[8], count;

	if (len == 0)
		return;
	ret->kind = (enum cell_effect_kind)((unsigned char)text[0] % CELL_EFFECT_COUNT);
	count = split(text + 1, len - 1, '|', parts, lens, 8);
	ret->by = parts[0];
	ret->what = count > 1 ? parts[1] : parts[0];
	ret->len = count > 1 ? lens[1] : lens[0];
	for (size_t i = 2; i < count && ret->kind == CELL_EFFECT_EXEC; i++)
		strings_add(&ret->words, parts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct canary canaries[] = {
		{"canary1token", "/etc/passwd", false}, {"canary2token", "the variable KEY", true}};
	static const char *const environment[] = {"HOME=/home/u", "API_KEY=secretsecret", "MODE=dev", "PATH=/usr/bin", NULL};
	static const char *const write[] = {"/srv/out", NULL}, *const spawn[] = {"git", NULL};
	static const struct allowed allowed = {.write = write, .spawn = spawn};
	char *parts[PARTS] = {0}, *file = NULL;
	size_t lens[PARTS] = {0};
	struct effect effects[PARTS - EFFECTS] = {0};
	own(buf_done) struct buf text = {0};
	own(strings_done) struct strings frames = {0};
	unsigned line;

	buf_add(&text, data, size);
	buf_char(&text, '\0');
	size_t count = split(text.data, size, 0x1e, parts, lens, PARTS);
	unsigned flags = (lens[FLAGS] > 0 ? (unsigned char)parts[FLAGS][0] : 0u) |
		(lens[FLAGS] > 1 ? (unsigned char)parts[FLAGS][1] : 0u) << 8;
	for (size_t i = count; i < PARTS; i++)
		parts[i] = text.data + size;
	for (size_t i = EFFECTS; i < count; i++)
		effect_of(parts[i], lens[i], &effects[i - EFFECTS]);
	const struct cell_result result = {
		.outcome = (enum cell_outcome)((flags >> 4) % CELL_OUTCOME_COUNT), .signal = (int)(flags % 70)};
	const struct observation seen = {.subject = "tool",
		.input = parts[INPUT],
		.len = lens[INPUT],
		.malformed = flags & 8,
		.violation = parts[MESSAGE],
		.mark = parts[MARK],
		.reply = {.kind = (enum reply_kind)(flags % REPLY_KIND_COUNT),
			.text = parts[ANSWER],
			.len = lens[ANSWER],
			.message = parts[MESSAGE],
			.said = parts[SAID],
			.said_len = lens[SAID]},
		.effects = effects,
		.effect_count = count > EFFECTS ? count - EFFECTS : 0,
		.ended = flags & 512,
		.result = &result,
		.calls = 1,
		.canaries = canaries,
		.canary_count = ARRAY_LEN(canaries),
		.allowed = flags & 1024 ? &allowed : NULL,
		.environment = environment,
		.before = parts[BEFORE],
		.before_len = lens[BEFORE]};
	struct verdicts verdicts;
	oracle_judge(&seen, ORACLES_ALL, &verdicts);
	check_verdicts(&verdicts);
	verdicts_done(&verdicts);
	assert(text_trace(parts[ANSWER], lens[ANSWER], &frames, &file, &line) || (!frames.count && !file));
	free(file);
	for (size_t i = 0; i < ARRAY_LEN(effects); i++)
		strings_done(&effects[i].words);
	return 0;
}
