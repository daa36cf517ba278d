/* What `go test -fuzz` says: "fuzz: elapsed: 3s, execs: 325017 (108336/sec), new interesting: 11 (total: 202)". */
#include <ctype.h>
#include <string.h>

#include "fuzz/function/lang/stats.h"

/* The digits behind a word; too many are as many as there can be. */
static bool number_behind(const char *line, size_t len, const char *word, uint64_t *ret)
{
	const char *end = line + len, *at = memmem(line, len, word, strlen(word));
	uint64_t value = 0;

	if (!at || (at += strlen(word)) == end || !isdigit((unsigned char)*at))
		return false;
	for (; at < end && isdigit((unsigned char)*at); at++) {
		unsigned digit = (unsigned)(*at - '0');
		value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
	}
	*ret = value;
	return true;
}

bool go_stats_line(struct stats *stats, const char *line, size_t len)
{
	static const char head[] = "fuzz: elapsed: ";
	uint64_t value, rate;

	if (len < sizeof(head) || memcmp(line, head, sizeof(head) - 1) != 0)
		return false;
	if (!number_behind(line, len, ", execs: ", &value))
		return true; /* it reads its seeds */
	const char *bracket = memchr(line, '(', len);
	stats->begun = true;
	stats->execs = value > stats->execs ? value : stats->execs;
	if (bracket && number_behind(bracket, (size_t)(line + len - bracket), "(", &rate))
		stats->rate = rate;
	if (number_behind(line, len, "new interesting: ", &value))
		stats->news = value > stats->news ? value : stats->news;
	if (number_behind(line, len, "(total: ", &value)) /* it tells of nothing else that grows with what is reached */
		stats->corpus = stats->features = value;
	return true;
}
