/* What an answer of a language model's interface says it used. Reads bodies as they stream by, keeps little. Pure.
 *
 * Understood: JSON bodies and server-sent events of Anthropic (message_start, message_delta), OpenAI chat completions
 * and responses, Gemini (usageMetadata; a stream of its is a list, too), and whatever has an object "usage" with input_tokens/prompt_tokens and output_tokens/
 * completion_tokens. In a stream later figures replace earlier ones (they are running totals). It counts at the top of
 * an answer or event and directly inside "message" and "response" there, nowhere else: what a model writes is not
 * taken for what the interface says. How the bytes are split changes nothing. */
#ifndef HOTCELL_DOOR_POLICY_USAGE_H
#define HOTCELL_DOOR_POLICY_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage {
	bool seen; /* there was a usage object, and every figure in it was a whole number up to 2^53 */
	uint64_t input, output; /* tokens; input without those of the cache; 0 for what was not told */
	uint64_t cache_read, cache_write;
	uint64_t cache_long; /* of those written: kept for an hour, at twice the input's price */
	bool early; /* of a stream: more came after the figures than what ends one, so they are not the last */
	bool partial; /* the figures are of one of several "iterations" */
	char model[80]; /* "" if not said; printable ASCII only */
};

struct usage_reader;
/* content_type: of the answer. Anything but JSON and event streams reads nothing. */
struct usage_reader *usage_open(const char *content_type, size_t len);
bool usage_reads(const char *content_type, size_t len); /* whether it would read anything */
struct usage_reader *usage_free(struct usage_reader *reader); /* NULL is fine; returns NULL */
void usage_take(struct usage_reader *reader, const char *bytes, size_t len);
void usage_get(const struct usage_reader *reader, struct usage *ret); /* as far as it was read */

/* ---- prices ---- */

struct price {
	char *model; /* a glob: "claude-opus-4*" */
	double input, output, cache_read, cache_write; /* dollars for a million tokens */
};
struct prices {
	struct price *items;
	size_t count;
};
void prices_defaults(struct prices *ret); /* the built-in table */
/* Lines of "GLOB INPUT OUTPUT [CACHE_READ CACHE_WRITE]"; '#' begins a comment; without the last two, tokens of the
 * cache cost as much as others. They come before those already there; the first that matches counts. Errors are
 * ERR_USAGE, "FILE:LINE: sentence", and change nothing. */
struct err;
int prices_read(struct prices *prices, const char *text, size_t len, const char *file, struct err *err);
void prices_done(struct prices *prices);
/* In millionths of a dollar, rounded up. *ret_known: whether a row matched; an unknown model is charged as the dearest. */
uint64_t prices_cost(const struct prices *prices, const struct usage *usage, bool *ret_known);

#endif
