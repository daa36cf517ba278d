/* What the doors let through and what they refused, from the records of the runs. They are in folders that hostile runs
 * have filled: links are not followed, nothing is waited for, and lines, files and the whole are read up to a bound. */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/json_read.h"
#include "door/policy/totals.h"
#include "report/campaign_private.h"

#define FILE_MAX (1u << 20)
#define ALL_MAX (64u << 20)
#define LINE_MAX_BYTES 4096
#define TEXT_KEPT 200

/* ---- reading ---- */

static char *text_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);
	size_t len = value && value->kind == VALUE_TEXT ? strnlen(value->text, TEXT_KEPT) : 0;

	return xfmt("%.*s", (int)len, len > 0 ? value->text : "");
}

static uint64_t number_of(const struct value *map, const char *key)
{
	const struct value *value = value_get(map, key);

	return value && value->kind == VALUE_NUMBER && value->text[0] != '-' ? strtoull(value->text, NULL, 10) : 0;
}

static bool is_same(const struct report_place *a, const struct report_place *b)
{
	return a->port == b->port && strcmp(a->name, b->name) == 0 && strcmp(a->door, b->door) == 0 &&
		strcmp(a->reason, b->reason) == 0;
}

static void place_done(struct report_place *place)
{
	free(place->door);
	free(place->name);
	free(place->reason);
	*place = (struct report_place){0};
}

void report_places_done(struct report_places *places)
{
	for (size_t i = 0; i < places->count; i++)
		place_done(&places->items[i]);
	places->count = 0;
}

/* Takes the place. */
static void places_add(struct report_places *places, struct report_place *place)
{
	for (size_t i = 0; i < places->count; i++) {
		struct report_place *known = &places->items[i];
		if (!is_same(known, place))
			continue;
		known->count++;
		known->sent += place->sent;
		known->received += place->received;
		place_done(place);
		return;
	}
	if (places->count == REPORT_PLACES) {
		places->beyond++;
		place_done(place);
		return;
	}
	places->items[places->count++] = *place;
	*place = (struct report_place){0};
}

void report_network_line(const char *line, size_t len, uint64_t number, struct report_places *allowed,
	struct report_places *refused)
{
	static const struct json_limits limits = {.bytes = LINE_MAX_BYTES, .values = 100, .depth = 4};
	own(value_done) struct value root = {0};
	struct err err;

	if (json_read(line, len, &limits, NULL, &root, &err) < 0 || root.kind != VALUE_MAP)
		return;
	own(freep) char *verdict = text_of(&root, "verdict");
	bool let = strcmp(verdict, "allowed") == 0;
	if (!let && strcmp(verdict, "refused") != 0 && strcmp(verdict, "failed") != 0)
		return;
	struct report_place place = {.door = text_of(&root, "door"), .name = text_of(&root, "name"),
		.reason = let ? xstrdup("") : text_of(&root, "reason"), .port = (unsigned)number_of(&root, "port"), .count = 1,
		.sent = number_of(&root, "sent"), .received = number_of(&root, "received"), .example = number};
	places_add(let ? allowed : refused, &place);
}

static void read_lines(const struct buf *text, uint64_t number, struct report_places *allowed, struct report_places *refused)
{
	for (size_t at = 0; at < text->len;) {
		const char *line = text->data + at, *end = memchr(line, '\n', text->len - at);
		size_t len = end ? (size_t)(end - line) : text->len - at;
		report_network_line(line, len, number, allowed, refused);
		at += len + 1;
	}
}

/* The first bytes of a regular file. */
static void read_log(int dir, struct buf *ret)
{
	own(fd_closep) int fd = beneath_try(dir, NETWORK_LOG, O_RDONLY, 0);
	char chunk[16384];
	ssize_t got;

	if (fd < 0)
		return;
	while (ret->len < FILE_MAX && (got = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(ret, chunk, (size_t)got);
}

/* How many of the runs were looked at. */
static size_t read_logs(const struct report *report, struct report_places *allowed, struct report_places *refused)
{
	uint64_t all = 0;
	size_t i = 0;

	for (; i < report->networked_count && all < ALL_MAX && report->sessions >= 0; i++) {
		own(buf_done) struct buf text = {0};
		char session[24];
		(void)plan_session_name(report->status->campaign.plan.runs, report->networked[i], session, sizeof(session));
		own(fd_closep) int dir = beneath_try(report->sessions, session, O_RDONLY | O_DIRECTORY, 0);
		if (dir < 0)
			continue;
		read_log(dir, &text);
		all += text.len;
		read_lines(&text, report->networked[i], allowed, refused);
	}
	return i;
}

/* ---- telling ---- */

static int by_count(const void *left, const void *right)
{
	const struct report_place *a = left, *b = right;

	return a->count != b->count ? (a->count < b->count ? 1 : -1) : strcmp(a->name, b->name);
}

static void put_cell(struct buf *out, const char *class, const char *text)
{
	buf_fmt(out, "<td%s>", class);
	html_text(out, text);
	buf_str(out, "</td>");
}

static void put_place(struct buf *out, const struct report *report, const struct report_place *place, bool let)
{
	buf_str(out, "<tr>");
	put_cell(out, "", place->name);
	buf_fmt(out, "<td class=n>%u</td>", place->port);
	put_cell(out, "", place->door);
	if (!let)
		put_cell(out, "", place->reason);
	buf_str(out, "<td class=n>");
	html_count(out, place->count);
	if (let) {
		buf_str(out, "</td><td class=n>");
		html_size(out, place->sent);
		buf_str(out, "</td><td class=n>");
		html_size(out, place->received);
	}
	buf_str(out, "</td><td class=n>");
	html_session(out, report, place->example);
	buf_str(out, "</td></tr>\n");
}

static void put_places(struct buf *out, const struct report *report, struct report_places *places, bool let)
{
	size_t shown = places->count < REPORT_PLACES_SHOWN ? places->count : REPORT_PLACES_SHOWN;
	uint64_t rest = places->beyond;

	buf_fmt(out, "<p><b>%s</b></p>\n", let ? "Let through" : "Refused or not reached");
	if (places->count == 0) {
		buf_str(out, "<p>Nothing.</p>\n");
		return;
	}
	qsort(places->items, places->count, sizeof(*places->items), by_count);
	buf_fmt(out, "<table><tr><th>Name</th><th class=n>Port</th><th>Door</th>%s<th class=n>First</th></tr>\n",
		let ? "<th class=n>Connections</th><th class=n>Sent</th><th class=n>Received</th>"
		    : "<th>Why</th><th class=n>Times</th>");
	for (size_t i = 0; i < shown; i++)
		put_place(out, report, &places->items[i], let);
	buf_str(out, "</table>\n");
	for (size_t i = shown; i < places->count; i++)
		rest += places->items[i].count;
	if (rest > 0) {
		buf_str(out, "<p class=note>And ");
		html_count(out, rest);
		buf_str(out, " more, elsewhere.</p>\n");
	}
}

static void put_sums(struct buf *out, const struct campaign_record *campaign)
{
	own(buf_done) struct buf line = {0};
	uint64_t unpriced = campaign->sums.network.count[COUNT_UNPRICED];

	network_text(&campaign->sums.network, &line);
	buf_str(out, "<p>In all ");
	html_text(out, buf_text(&line));
	if (campaign->budget && campaign->budget[0]) {
		buf_str(out, "; the budget is ");
		html_text(out, campaign->budget);
	}
	buf_str(out, ".");
	if (unpriced > 0) {
		buf_char(out, ' ');
		html_count(out, unpriced);
		buf_str(out, unpriced == 1 ? " answer" : " answers");
		buf_str(out, " did not say what was used, were cut off, or came from a model without a price: what they cost is an estimate, on the safe side where a budget is set.");
	}
	buf_str(out, "</p>\n");
}

void report_network(const struct report *report, struct buf *out)
{
	const struct campaign_record *campaign = &report->status->campaign;

	if (!network_used(&campaign->sums.network) && report->networked_all == 0) {
		buf_str(out, "<p>Nothing came to a door.</p>\n");
		return;
	}
	struct report_places *both = xcalloc(2, sizeof(*both));
	size_t read = read_logs(report, &both[0], &both[1]);
	put_sums(out, campaign);
	put_places(out, report, &both[1], false);
	put_places(out, report, &both[0], true);
	if (read < report->networked_all) {
		buf_str(out, "<p class=note>These tables are of the first ");
		html_count(out, read);
		buf_str(out, " of ");
		html_count(out, report->networked_all);
		buf_str(out, " runs at whose doors something happened.</p>\n");
	}
	buf_str(out, "<p class=note>Every verdict is in the <code>" NETWORK_LOG "</code> of its session.</p>\n");
	report_places_done(&both[0]);
	report_places_done(&both[1]);
	free(both);
}
