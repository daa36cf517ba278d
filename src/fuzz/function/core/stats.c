#include "fuzz/function/lang/stats.h"

#include <ctype.h>
#include <string.h>

struct words {
	const char *at, *end;
};

static bool next_word(struct words *words, const char **ret, size_t *len)
{
	while (words->at < words->end && isspace((unsigned char)*words->at))
		words->at++;
	*ret = words->at;
	while (words->at < words->end && !isspace((unsigned char)*words->at))
		words->at++;
	*len = (size_t)(words->at - *ret);
	return *len > 0;
}

static bool is_word(const char *word, size_t len, const char *other)
{
	return len == strlen(other) && memcmp(word, other, len) == 0;
}

/* Digits at the beginning; too many are as many as there can be. */
static uint64_t number(const char *word, size_t len, size_t *ret_used)
{
	uint64_t value = 0;
	size_t at = 0;

	for (; at < len && isdigit((unsigned char)word[at]); at++) {
		unsigned digit = (unsigned)(word[at] - '0');
		value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
	}
	if (ret_used)
		*ret_used = at;
	return value;
}

/* "12/345b", with Kb and Mb for larger ones */
static void read_corpus(struct stats *stats, const char *word, size_t len)
{
	size_t used, more;

	stats->corpus = number(word, len, &used);
	if (used >= len || word[used] != '/')
		return;
	uint64_t bytes = number(word + used + 1, len - used - 1, &more);
	char unit = used + 1 + more < len ? word[used + 1 + more] : 'b';
	unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
	stats->corpus_bytes = bytes > UINT64_MAX >> shift ? UINT64_MAX : bytes << shift;
}

static void read_pairs(struct stats *stats, struct words *words)
{
	const char *key, *value;
	size_t key_len, value_len;

	while (next_word(words, &key, &key_len)) {
		if (key[key_len - 1] != ':' || !next_word(words, &value, &value_len))
			continue;
		if (is_word(key, key_len, "cov:"))
			stats->coverage = number(value, value_len, NULL);
		else if (is_word(key, key_len, "ft:"))
			stats->features = number(value, value_len, NULL);
		else if (is_word(key, key_len, "corp:"))
			read_corpus(stats, value, value_len);
		else if (is_word(key, key_len, "exec/s:"))
			stats->rate = number(value, value_len, NULL);
		else if (is_word(key, key_len, "rss:"))
			stats->memory_mb = number(value, value_len, NULL);
		else if (is_word(key, key_len, "L:"))
			return; /* what follows tells how an input was made */
	}
}

/* "Test unit written to /fuzz/crashes/crash-0123"; only a name that can be nothing else is taken. */
static void read_artifact(struct stats *stats, const char *path, size_t len)
{
	size_t from = len, size;

	while (from > 0 && path[from - 1] != '/')
		from--;
	size = len - from;
	if (size == 0 || size >= sizeof(stats->artifact) || path[from] == '.')
		return;
	for (size_t i = from; i < len; i++)
		if (!isalnum((unsigned char)path[i]) && path[i] != '-' && path[i] != '_' && path[i] != '.')
			return;
	memcpy(stats->artifact, path + from, size);
	stats->artifact[size] = '\0';
}

static const char *const events[] = {"INITED", "NEW", "REDUCE", "RELOAD", "pulse", "DONE", "READ", "MERGE"};

static bool is_event(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (is_word(word, len, events[i]))
			return true;
	return false;
}

/* "#123\tNEW cov: 4 ..."; false: it is none. Behind words of the target only what libFuzzer writes itself is taken for one. */
static bool read_event(struct stats *stats, const char *text, size_t len, bool strict)
{
	size_t used, size;
	uint64_t execs = number(text + 1, len - 1, &used);
	struct words words = {text + 1 + used, text + len};
	const char *word;

	if (!used || (strict && (words.at == words.end || *words.at != '\t')) || !next_word(&words, &word, &size) ||
		!is_event(word, size))
		return false;
	stats->execs = execs > stats->execs ? execs : stats->execs;
	stats->begun = stats->begun || !is_word(word, size, "READ");
	stats->done = stats->done || is_word(word, size, "DONE");
	stats->news += is_word(word, size, "NEW");
	read_pairs(stats, &words);
	return true;
}

/* The last one of a line: what is before it is the target's. */
static bool find_event(struct stats *stats, const char *line, size_t len)
{
	for (size_t left = len; left;) {
		const char *at = memrchr(line, '#', left);
		if (!at)
			return false;
		if (read_event(stats, at, (size_t)(line + len - at), at != line))
			return true;
		left = (size_t)(at - line);
	}
	return false;
}

static const char *find_last(const char *line, size_t len, const char *words)
{
	size_t size = strlen(words);
	const char *found = NULL, *at = line;

	while (len && (at = memmem(at, (size_t)(line + len - at), words, size))) {
		at += size;
		found = at;
	}
	return found;
}

void stats_line(struct stats *stats, const char *line, size_t len)
{
	const char *at;
	size_t size;

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (go_stats_line(stats, line, len) || find_event(stats, line, len))
		return;
	if ((at = find_last(line, len, "Test unit written to "))) {
		read_artifact(stats, at, (size_t)(line + len - at));
	} else if ((at = find_last(line, len, "stat::number_of_executed_units:"))) {
		struct words words = {at, line + len};
		if (next_word(&words, &at, &size)) {
			uint64_t execs = number(at, size, NULL);
			stats->execs = execs > stats->execs ? execs : stats->execs;
		}
	}
}

/* Of a line that is longer than there is room for, its end stays. */
static void line_add(struct stats_reader *reader, const char *bytes, size_t len)
{
	const size_t room = sizeof(reader->line);

	if (len > room) {
		bytes += len - room;
		len = room;
	}
	if (reader->len + len > room) {
		size_t kept = room - len;
		memmove(reader->line, reader->line + reader->len - kept, kept);
		reader->len = kept;
	}
	memcpy(reader->line + reader->len, bytes, len);
	reader->len += len;
}

void stats_feed(struct stats_reader *reader, const char *bytes, size_t len)
{
	while (len) {
		const char *end = memchr(bytes, '\n', len);
		size_t part = end ? (size_t)(end - bytes) : len;
		line_add(reader, bytes, part);
		if (!end)
			return;
		stats_line(&reader->now, reader->line, reader->len);
		reader->len = 0;
		bytes = end + 1;
		len -= part + 1;
	}
}

enum engine_end engine_end(int exit_code)
{
	static const struct {
		int code;
		enum engine_end end;
	} codes[] = {{0, ENGINE_DONE}, {77, ENGINE_CRASH}, {1, ENGINE_CRASH}, {70, ENGINE_HANG}, {71, ENGINE_MEMORY}};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == exit_code)
			return codes[i].end;
	return ENGINE_OTHER;
}
