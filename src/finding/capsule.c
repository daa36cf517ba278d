/* A finding as JSON, and back. One table says what is in it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/own.h"
#include "finding/finding.h"

#define TEXTS_MAX 10000 /* of one list */

enum member_kind { MEMBER_TEXT, MEMBER_TEXTS, MEMBER_COUNT_32, MEMBER_COUNT_64, MEMBER_TIME, MEMBER_FLAG };

static const struct member {
	const char *name;
	enum member_kind kind;
	size_t offset;
	bool required;
} members[] = {
	{"oracle", MEMBER_TEXT, offsetof(struct finding, oracle), true},
	{"target", MEMBER_TEXT, offsetof(struct finding, target), true},
	{"subject", MEMBER_TEXT, offsetof(struct finding, subject), true},
	{"message", MEMBER_TEXT, offsetof(struct finding, message), true},
	{"shape", MEMBER_TEXT, offsetof(struct finding, shape), false},
	{"frames", MEMBER_TEXTS, offsetof(struct finding, frames), false},
	{"file", MEMBER_TEXT, offsetof(struct finding, file), false},
	{"line", MEMBER_COUNT_32, offsetof(struct finding, line), false},
	{"evidence", MEMBER_TEXTS, offsetof(struct finding, evidence), false},
	{"kind", MEMBER_TEXT, offsetof(struct finding, kind), true},
	{"input", MEMBER_TEXT, offsetof(struct finding, input), true},
	{"found", MEMBER_TEXT, offsetof(struct finding, found), false},
	{"binary", MEMBER_FLAG, offsetof(struct finding, binary), false},
	{"core", MEMBER_FLAG, offsetof(struct finding, core), false},
	{"unfinished", MEMBER_FLAG, offsetof(struct finding, unfinished), false},
	{"command", MEMBER_TEXTS, offsetof(struct finding, command), true},
	{"flags", MEMBER_TEXTS, offsetof(struct finding, flags), false},
	{"environment", MEMBER_TEXTS, offsetof(struct finding, environment), false},
	{"target_sha256", MEMBER_TEXT, offsetof(struct finding, target_sha256), false},
	{"profile", MEMBER_TEXT, offsetof(struct finding, profile), false},
	{"seed", MEMBER_COUNT_64, offsetof(struct finding, seed), false},
	{"seen", MEMBER_COUNT_32, offsetof(struct finding, seen), false},
	{"tried", MEMBER_COUNT_32, offsetof(struct finding, tried), false},
	{"reason", MEMBER_TEXT, offsetof(struct finding, reason), false},
	{"until", MEMBER_TIME, offsetof(struct finding, until), false},
	{"first_seen", MEMBER_TIME, offsetof(struct finding, first_seen), false},
	{"last_seen", MEMBER_TIME, offsetof(struct finding, last_seen), false},
	{"times", MEMBER_COUNT_64, offsetof(struct finding, times), false},
};

/* ---- writing ---- */

/* As a text: a reader that takes numbers for doubles would lose the end of it. */
static void put_count(struct json *json, uint64_t count)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	json_string(json, text);
}

static void put_member(const struct finding *finding, const struct member *member, struct json *json)
{
	const void *at = (const char *)finding + member->offset;

	json_key(json, member->name);
	switch (member->kind) {
	case MEMBER_TEXT: json_string(json, *(char *const *)at); break;
	case MEMBER_TEXTS: strings_json(at, json); break;
	case MEMBER_COUNT_32: json_uint(json, *(const unsigned *)at); break;
	case MEMBER_COUNT_64: put_count(json, *(const uint64_t *)at); break;
	case MEMBER_TIME: json_int(json, *(const int64_t *)at); break;
	case MEMBER_FLAG: json_bool(json, *(const bool *)at); break;
	}
}

void capsule_write(const struct finding *finding, struct json *json)
{
	struct finding_weakness weakness = finding_weakness(finding);

	json_open(json, '{');
	json_put_string(json, "format", FINDING_FORMAT);
	json_put_string(json, "id", finding->id);
	json_put_string(json, "state", finding_state_name(finding->state));
	json_put_string(json, "severity", severity_name(weakness.severity));
	json_put_string(json, "why", weakness.why);
	json_put_uint(json, "cwe", (uint64_t)weakness.cwe);
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		put_member(finding, &members[i], json);
	json_close(json, '}');
}

/* ---- reading ---- */

static int get_texts(struct strings *into, const struct value *value)
{
	if (value->kind != VALUE_LIST || value->count > TEXTS_MAX)
		return -1;
	for (size_t i = 0; i < value->count; i++) {
		if (value->items[i].kind != VALUE_TEXT)
			return -1;
		strings_add(into, value->items[i].text);
	}
	return 0;
}

static int get_number(const struct value *value, enum value_kind kind, int64_t *ret_signed, uint64_t *ret)
{
	char *end = NULL;

	if (value->kind != kind || !value->text || !*value->text || strspn(value->text, "-0123456789") != strlen(value->text))
		return -1;
	errno = 0;
	if (ret_signed)
		*ret_signed = strtoll(value->text, &end, 10);
	else
		*ret = *value->text == '-' ? (errno = ERANGE, 0) : strtoull(value->text, &end, 10);
	return errno || !end || *end ? -1 : 0;
}

static int get_member(struct finding *finding, const struct member *member, const struct value *value)
{
	void *at = (char *)finding + member->offset;
	uint64_t number = 0;

	switch (member->kind) {
	case MEMBER_TEXT:
		if (value->kind != VALUE_TEXT)
			return -1;
		*(char **)at = xstrdup(value->text);
		return 0;
	case MEMBER_TEXTS: return get_texts(at, value);
	case MEMBER_COUNT_32:
		if (get_number(value, VALUE_NUMBER, NULL, &number) < 0 || number > UINT32_MAX)
			return -1;
		*(unsigned *)at = (unsigned)number;
		return 0;
	case MEMBER_COUNT_64: return get_number(value, VALUE_TEXT, NULL, at);
	case MEMBER_TIME: return get_number(value, VALUE_NUMBER, at, NULL);
	case MEMBER_FLAG:
		*(bool *)at = value->truth;
		return value->kind == VALUE_BOOL ? 0 : -1;
	}
	return -1;
}

static int get_state(struct finding *finding, const struct value *top)
{
	const struct value *value = value_get(top, "state");

	for (enum finding_state state = 0; value && value->kind == VALUE_TEXT && state < FINDING_STATE_COUNT; state++) {
		if (strcmp(finding_state_name(state), value->text) == 0) {
			finding->state = state;
			return 0;
		}
	}
	return -1;
}

static int fill(struct finding *finding, const struct value *top, const char *name, struct err *err)
{
	const struct value *format = value_get(top, "format");

	if (top->kind != VALUE_MAP || !format || format->kind != VALUE_TEXT || strcmp(format->text, FINDING_FORMAT) != 0)
		return err_set(err, ERR_USAGE, "%s: not a capsule of this version of hotcell ('format' is not '" FINDING_FORMAT "')", name);
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const struct value *value = value_get(top, members[i].name);
		bool there = value && value->kind != VALUE_NULL;
		if (there ? get_member(finding, &members[i], value) < 0 : members[i].required)
			return err_set(err, ERR_USAGE, "%s: '%s' %s", name, members[i].name, there ? "is not what it should be" : "is missing");
	}
	if (get_state(finding, top) < 0)
		return err_set(err, ERR_USAGE, "%s: 'state' must be open, fixed or suppressed", name);
	if (!finding_rule(finding->oracle))
		return err_set(err, ERR_USAGE, "%s: 'oracle' is none that this version of hotcell has", name);
	finding_identify(finding);
	const struct value *id = value_get(top, "id");
	if (!id || id->kind != VALUE_TEXT || strcmp(id->text, finding->id) != 0)
		return err_set(err, ERR_USAGE, "%s: 'id' is not the id of what is in it: it was changed by hand", name);
	return 0;
}

int capsule_read(struct finding *ret, const char *text, size_t len, const char *name, struct err *err)
{
	static const struct json_limits limits = {.bytes = CAPSULE_MAX, .values = 200000, .depth = 16};
	own(value_done) struct value top = {0};

	*ret = (struct finding){0};
	if (json_read(text, len, &limits, name, &top, err) < 0)
		return -1;
	if (fill(ret, &top, name, err) == 0)
		return 0;
	finding_done(ret);
	return -1;
}
