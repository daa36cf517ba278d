/* A review as JSON, and the file it is kept in. */
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/sha256.h"
#include "review/review.h"

#define FORMAT "hotcell-review 1"

static void put_row(const struct review_row *row, struct json *json)
{
	own(buf_done) struct buf held_by = {0};

	review_held_by(row->attack, "", &held_by);
	json_open(json, '{');
	json_put_string(json, "id", row->attack->id);
	json_put_string(json, "group", row->group->name);
	json_put_string(json, "technique", row->attack->technique);
	json_put_string(json, "cve", row->attack->cve);
	json_put_string(json, "safe", row->attack->safe);
	json_put_string(json, "held_by", buf_text(&held_by));
	json_put_string(json, "judged_by", review_judged_by(row->attack));
	json_put_string(json, "verdict", review_verdict_name(row->verdict));
	json_put_string(json, "reason", row->reason);
	json_put_string(json, "lacking", row->lacking);
	json_put_uint(json, "tries", row->tries);
	json_put_uint(json, "wall_ms", row->wall_ns / NS_PER_MS);
	json_close(json, '}');
}

static void put_head(const struct review *review, struct json *json)
{
	json_put_string(json, "version", HOTCELL_VERSION);
	json_put_string(json, "time", review->time);
	json_put_string(json, "kernel", review->kernel);
	json_put_string(json, "machine", review->machine);
	json_put_string(json, "backend", review->backend);
	json_put_string(json, "image", review->image ? review->image : "host");
	json_put_string(json, "weakened", review->weakened);
	json_put_string(json, "user", review->root ? "root" : "ordinary");
	json_put_uint(json, "wall_ms", review->wall_ns / NS_PER_MS);
}

void review_json_members(const struct review *review, struct json *json)
{
	put_head(review, json);
	json_key(json, "counts");
	json_open(json, '{');
	for (int i = 0; i < REVIEW_VERDICT_COUNT; i++)
		json_put_uint(json, review_verdict_name(i), review->counts[i]);
	json_close(json, '}');
	json_key(json, "receipt");
	json_value(json, &review->receipt, false);
	json_key(json, "attacks");
	json_open(json, '[');
	for (size_t i = 0; i < review->count; i++)
		put_row(&review->rows[i], json);
	json_close(json, ']');
}

/* ---- kept ---- */

static const struct json_limits limits = {.bytes = (size_t)16 << 20, .values = 200000, .depth = 16};

/* Of what it says: compact, keys in order, so that a file may be laid out anew but not changed. Only whole numbers are in
 * it, so that other tools write them alike: jq -cjS .review FILE | sha256sum */
static void sum_of(const struct value *body, char ret[SHA256_HEX])
{
	own(json_done) struct json json = {0};
	unsigned char sum[SHA256_SIZE];
	struct sha256 sha;

	json_value(&json, body, true);
	sha256_init(&sha);
	sha256_add(&sha, json.out.data, json.out.len);
	sha256_end(&sha, sum);
	sha256_hex(sum, ret);
}

/* As a reader of the file will see it. */
static void body_of(const struct review *review, struct value *ret, char ret_sum[SHA256_HEX])
{
	own(json_done) struct json json = {0};
	struct err err;

	json_open(&json, '{');
	review_json_members(review, &json);
	json_close(&json, '}');
	ret_sum[0] = '\0';
	if (json_read(json.out.data, json.out.len, &limits, NULL, ret, &err) == 0) /* our own text */
		sum_of(ret, ret_sum);
}

void review_sum(const struct review *review, char ret[SHA256_HEX])
{
	own(value_done) struct value body = {0};

	body_of(review, &body, ret);
}

void review_save(const struct review *review, struct buf *out)
{
	own(json_done) struct json file = {.pretty = true};
	own(value_done) struct value body = {0};
	char sum[SHA256_HEX];

	body_of(review, &body, sum);
	json_open(&file, '{');
	json_put_string(&file, "format", FORMAT);
	json_put_string(&file, "sum", sum);
	json_key(&file, "review");
	json_value(&file, &body, false);
	json_close(&file, '}');
	buf_add(out, file.out.data, file.out.len);
	buf_char(out, '\n');
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : NULL;
}

/* What the comparison relies on; the sum says only that it was not changed since. */
static bool is_body(const struct value *body)
{
	const struct value *attacks = body ? value_get(body, "attacks") : NULL, *receipt = body ? value_get(body, "receipt") : NULL;

	if (!attacks || attacks->kind != VALUE_LIST || !receipt || receipt->kind != VALUE_MAP)
		return false;
	for (size_t i = 0; i < attacks->count; i++)
		if (!text_of(&attacks->items[i], "id") || !text_of(&attacks->items[i], "verdict"))
			return false;
	return true;
}

int review_load(const char *text, size_t len, const char *name, struct value *ret, struct err *err)
{
	own(value_done) struct value file = {0};
	char sum[SHA256_HEX];

	*ret = (struct value){0};
	if (json_read(text, len, &limits, NULL, &file, err) < 0) {
		err->code = ERR_USAGE;
		return err_wrap(err, "'%s' is no saved review ('hotcell review --save FILE' writes one)", name);
	}
	const char *format = text_of(&file, "format"), *said = text_of(&file, "sum");
	const struct value *body = value_get(&file, "review");
	if (!format || strcmp(format, FORMAT) != 0 || !said || !body)
		return err_set(err, ERR_USAGE, "'%s' is no saved review; 'hotcell review --save FILE' writes one", name);
	sum_of(body, sum);
	if (strcmp(sum, said) != 0)
		return err_set(err, ERR_USAGE, "'%s' was changed since it was saved: its sum is not that of what it says; nothing is compared with it",
			name);
	if (!is_body(body))
		return err_set(err, ERR_USAGE, "'%s' has no attacks or no receipt in it; save the review anew", name);
	*ret = *body;
	file.items[body - file.items] = (struct value){0};
	return 0;
}
