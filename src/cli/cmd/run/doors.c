/* hotcell doors: the doors of campaigns and runs that are going, and what has passed them so far.
 *
 * Each supervisor is asked through its control socket and answers with one JSON object:
 *
 *	campaign (null: a single run) budget (that it is used up; else null)
 *	network	{served doors[{name kind target}] totals{...} runs[{run ...}]} */
#include <inttypes.h>
#include <string.h>

#include "base/json_read.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "campaign/ledger/plan.h"
#include "cli/cmd/verbs.h"
#include "live/live.h"

#define SHOWN_MAX 200

struct doors_options {
	bool json;
};

static const struct json_limits limits = {.bytes = 8 << 20, .values = 1000000, .depth = 8};

/* ---- reading ---- */

static const struct value *member(const struct value *map, const char *key)
{
	return map ? value_get(map, key) : NULL;
}

static const char *text_of(const struct value *map, const char *key)
{
	const struct value *value = member(map, key);

	return value && value->kind == VALUE_TEXT ? value->text : NULL;
}

static void totals_of(const struct value *map, struct door_totals *ret)
{
	*ret = (struct door_totals){0};
	for (size_t i = 0; i < DOOR_COUNTS; i++) {
		const struct value *value = member(map, door_count_names[i]);
		ret->count[i] = value && value->kind == VALUE_NUMBER ? strtoull(value->text, NULL, 10) : 0;
	}
}

/* ---- telling ---- */

static void put_shown(struct buf *out, const char *text)
{
	term_line(text ? text : "?", text ? strlen(text) : 1, SHOWN_MAX, out);
}

static void put_door(const struct value *door, struct buf *out)
{
	own(buf_done) struct buf kind = {0}, name = {0};

	put_shown(&kind, text_of(door, "kind"));
	put_shown(&name, text_of(door, "name"));
	buf_fmt(out, "  %-8s %-32s ", buf_text(&kind), buf_text(&name));
	put_shown(out, text_of(door, "target"));
	buf_char(out, '\n');
}

static void put_reserved(const struct value *totals, struct buf *out)
{
	const struct value *tokens = member(totals, "reserved_tokens"), *money = member(totals, "reserved_microdollars");
	uint64_t reserved = tokens && tokens->kind == VALUE_NUMBER ? strtoull(tokens->text, NULL, 10) : 0;
	char dollars[32];

	if (reserved == 0)
		return;
	buf_fmt(out, ", of which %llu tokens, %s are reserved by requests under way", (unsigned long long)reserved,
		network_dollars(money && money->kind == VALUE_NUMBER ? strtoull(money->text, NULL, 10) : 0, dollars, sizeof(dollars)));
}

static void put_text(const struct value *root, int supervisor, struct buf *out)
{
	const struct value *network = member(root, "network"), *doors = member(network, "doors");
	const struct value *served = member(network, "served");
	const char *campaign = text_of(root, "campaign"), *budget = text_of(root, "budget");
	struct door_totals totals;

	buf_str(out, campaign ? "campaign " : "run");
	if (campaign)
		put_shown(out, campaign);
	buf_fmt(out, " (process %d): ", supervisor);
	totals_of(member(network, "totals"), &totals);
	network_text(&totals, out);
	put_reserved(member(network, "totals"), out);
	if (served && served->kind == VALUE_BOOL && !served->truth)
		buf_str(out, "; closed for the moment");
	if (budget) {
		buf_str(out, "; ");
		put_shown(out, budget);
	}
	buf_char(out, '\n');
	for (size_t i = 0; doors && doors->kind == VALUE_LIST && i < doors->count; i++)
		put_door(&doors->items[i], out);
}

/* As it came, with the pid before it. */
static void put_json(const struct live_doors *one, struct buf *out)
{
	const char *brace = memchr(one->json, '{', one->len);
	size_t len = brace ? one->len - (size_t)(brace + 1 - one->json) : 0;

	buf_fmt(out, "%s{\"supervisor\":%d,", out->len > 1 ? "," : "", one->supervisor);
	buf_add(out, brace + 1, len);
}

static bool is_meant(const struct value *root, const char *name)
{
	const char *campaign = text_of(root, "campaign");

	return !name || (campaign && strcmp(campaign, name) == 0);
}

static size_t put_all(const struct live_doors_list *list, const char *name, bool json, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < list->count; i++) {
		own(value_done) struct value root = {0};
		struct err err;
		if (json_read(list->items[i].json, list->items[i].len, &limits, NULL, &root, &err) < 0 ||
			root.kind != VALUE_MAP || root.count == 0 || !is_meant(&root, name))
			continue;
		shown++;
		if (json)
			put_json(&list->items[i], out);
		else
			put_text(&root, list->items[i].supervisor, out);
	}
	return shown;
}

static int run(void *data, const struct cli_args *args)
{
	const struct doors_options *options = data;
	const char *name = args->word_count > 0 ? args->words[0] : NULL;
	own(live_doors_list_done) struct live_doors_list list = {0};
	own(buf_done) struct buf out = {0};
	struct err err = {0};

	if (name && plan_name_check(name, &err) < 0)
		return cli_fail(&err);
	live_doors_list(&list);
	if (list.silent > 0)
		cli_say("%u other hotcell process%s did not answer", list.silent, list.silent == 1 ? "" : "es");
	if (options->json)
		buf_char(&out, '[');
	size_t shown = put_all(&list, name, options->json, &out);
	if (options->json)
		buf_str(&out, "]\n");
	else if (shown == 0 && !name)
		buf_str(&out, "no doors are open\n");
	if (shown == 0 && name) {
		(void)err_set(&err, ERR_USAGE, "no campaign '%s' with doors is at work; 'hotcell status %s' tells what passed them", name,
			name);
		return cli_fail(&err);
	}
	return cli_print(&out);
}

static const struct cli_option options_table[] = {
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct doors_options, json), .help = "print a JSON array"},
	{0},
};

const struct cli_verb verb_doors = {
	.name = "doors",
	.summary = "list open doors and what has passed them",
	.usage = "[options] [NAME]",
	.details = "Those of campaigns and runs that are going now; with NAME, of that campaign alone.\n",
	.options = options_table,
	.options_size = sizeof(struct doors_options),
	.words_max = 1,
	.word = "NAME",
	.word_hint = CLI_HINT_CAMPAIGN,
	.run = run,
};
