#include "door/policy/usage.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "door/policy/usage_scan.h"

#define EVENTS_AFTER 2 /* the one that has the last figures: an end, and a mark that it was the end */

enum mode { READS_NOTHING, READS_JSON, READS_EVENTS };

/* Where in a line of an event stream. */
enum line {
	LINE_NAME, /* at its beginning, or inside the name of the field */
	LINE_COLON, /* after "data:", where one blank may be */
	LINE_DATA,
	LINE_SKIPPED /* another field, or a comment */
};

struct usage_reader {
	enum mode mode;
	enum line line;
	size_t name_len; /* bytes of "data" that were there */
	bool line_empty, after_cr;
	bool in_event; /* it has a line */
	size_t bom; /* bytes of a byte order mark that were there; more than 3: that is over */
	struct usage_scan scan;
	uint64_t told, since; /* figures when the last event ended, and events since one that had some */
};

/* ---- server-sent events ---- */

static void line_begin(struct usage_reader *reader)
{
	reader->line = LINE_NAME;
	reader->name_len = 0;
	reader->line_empty = true;
}

/* An empty line ends the event; other lines of data are joined by a newline. */
static void line_end(struct usage_reader *reader)
{
	if (reader->line_empty) {
		usage_scan_begin(&reader->scan);
		reader->since = reader->told != reader->scan.told ? 0 : reader->since + reader->in_event;
		reader->told = reader->scan.told;
		reader->in_event = false;
	} else if (reader->line == LINE_DATA || reader->line == LINE_COLON || reader->name_len == 4)
		usage_scan_take(&reader->scan, "\n", 1);
	line_begin(reader);
}

static void line_byte(struct usage_reader *reader, char c)
{
	static const char name[] = "data";

	reader->line_empty = false;
	reader->in_event = true;
	if (reader->line == LINE_NAME && reader->name_len < 4 && c == name[reader->name_len]) {
		reader->name_len++;
	} else if (reader->line == LINE_NAME) {
		reader->line = reader->name_len == 4 && c == ':' ? LINE_COLON : LINE_SKIPPED;
		reader->name_len = 0;
	} else {
		reader->line = LINE_DATA;
		usage_scan_take(&reader->scan, &c, c != ' '); /* the one blank after the colon is not of the data */
	}
}

/* Whether the byte is of a byte order mark at the very beginning. */
static bool bom_take(struct usage_reader *reader, char c)
{
	static const char bom[] = "\xef\xbb\xbf";

	if (reader->bom < 3 && c == bom[reader->bom]) {
		reader->bom++;
		return true;
	}
	if (reader->bom == 1 || reader->bom == 2)
		line_byte(reader, bom[0]); /* it was none */
	reader->bom = 4;
	return false;
}

static void events_take(struct usage_reader *reader, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		char c = bytes[i];
		if (reader->bom < 4 && bom_take(reader, c)) {
			i++;
			continue;
		}
		bool second = reader->after_cr && c == '\n';
		reader->after_cr = c == '\r';
		if (c == '\r' || c == '\n') {
			if (!second)
				line_end(reader);
			i++;
		} else if (reader->line == LINE_DATA || reader->line == LINE_SKIPPED) {
			size_t from = i;
			while (i < len && bytes[i] != '\r' && bytes[i] != '\n')
				i++;
			if (reader->line == LINE_DATA)
				usage_scan_take(&reader->scan, bytes + from, i - from);
		} else {
			line_byte(reader, c);
			i++;
		}
	}
}

/* ---- the whole ---- */

/* "application/json", "application/x+json" and "text/event-stream", whatever follows a semicolon. */
static enum mode mode_of(const char *type, size_t len)
{
	static const char json[] = "application/json", events[] = "text/event-stream", suffix[] = "+json";
	const char *end = len ? memchr(type, ';', len) : NULL;

	len = end ? (size_t)(end - type) : len;
	while (len && (*type == ' ' || *type == '\t'))
		type++, len--;
	while (len && (type[len - 1] == ' ' || type[len - 1] == '\t'))
		len--;
	if (len == strlen(events) && strncasecmp(type, events, len) == 0)
		return READS_EVENTS;
	if (len == strlen(json) && strncasecmp(type, json, len) == 0)
		return READS_JSON;
	if (len > strlen(suffix) && strncasecmp(type + len - strlen(suffix), suffix, strlen(suffix)) == 0)
		return READS_JSON;
	return READS_NOTHING;
}

bool usage_reads(const char *content_type, size_t len)
{
	return mode_of(content_type, len) != READS_NOTHING;
}

struct usage_reader *usage_open(const char *content_type, size_t len)
{
	struct usage_reader *reader = xcalloc(1, sizeof(*reader));

	reader->mode = mode_of(content_type, len);
	usage_scan_begin(&reader->scan);
	line_begin(reader);
	return reader;
}

struct usage_reader *usage_free(struct usage_reader *reader)
{
	free(reader);
	return NULL;
}

void usage_take(struct usage_reader *reader, const char *bytes, size_t len)
{
	if (reader->mode == READS_JSON)
		usage_scan_take(&reader->scan, bytes, len);
	else if (reader->mode == READS_EVENTS)
		events_take(reader, bytes, len);
}

/* Tokens of the input that are told again as the cache's: not more than there are. */
static uint64_t part_of(uint64_t *input, uint64_t part)
{
	part = part < *input ? part : *input;
	*input -= part;
	return part;
}

void usage_get(const struct usage_reader *reader, struct usage *ret)
{
	const uint64_t *figures = reader->scan.figures;
	const bool *known = reader->scan.known;

	*ret = (struct usage){.seen = known[FIGURE_INPUT] || known[FIGURE_OUTPUT]};
	for (size_t i = 0; i < FIGURES; i++)
		ret->seen = ret->seen && !reader->scan.spoiled[i];
	ret->input = known[FIGURE_INPUT] ? figures[FIGURE_INPUT] : 0;
	ret->output = known[FIGURE_OUTPUT] ? figures[FIGURE_OUTPUT] : 0;
	if (known[FIGURE_CACHED])
		ret->cache_read = part_of(&ret->input, figures[FIGURE_CACHED]);
	if (known[FIGURE_CACHE_WRITTEN])
		ret->cache_write = part_of(&ret->input, figures[FIGURE_CACHE_WRITTEN]);
	if (known[FIGURE_CACHE_READ])
		ret->cache_read = figures[FIGURE_CACHE_READ];
	if (known[FIGURE_CACHE_WRITE])
		ret->cache_write = figures[FIGURE_CACHE_WRITE];
	if (known[FIGURE_CACHE_LONG])
		ret->cache_long = figures[FIGURE_CACHE_LONG];
	if (ret->cache_long > ret->cache_write)
		ret->cache_long = ret->cache_write;
	if (known[FIGURE_TOOL_INPUT])
		ret->input += figures[FIGURE_TOOL_INPUT];
	if (known[FIGURE_THOUGHTS])
		ret->output += figures[FIGURE_THOUGHTS];
	ret->early = reader->since > EVENTS_AFTER || !known[FIGURE_OUTPUT];
	ret->partial = reader->scan.rounds > 1;
	memcpy(ret->model, reader->scan.model, sizeof(ret->model));
}
