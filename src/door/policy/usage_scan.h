/* Finds the figures of an answer in JSON that comes in pieces. Nothing of it is kept but the figures: the scanner
 * takes byte after byte and remembers only where it is. Seen by usage.c alone. */
#ifndef HOTCELL_DOOR_POLICY_USAGE_SCAN_H
#define HOTCELL_DOOR_POLICY_USAGE_SCAN_H

#include "door/policy/usage.h"

#define USAGE_DEPTH_MAX 256 /* what is nested deeper is no answer of an interface we know */

enum usage_figure {
	FIGURE_INPUT, FIGURE_OUTPUT,
	FIGURE_CACHE_READ, FIGURE_CACHE_WRITE, /* beside the input */
	FIGURE_CACHED, FIGURE_CACHE_WRITTEN, /* part of the input */
	FIGURE_CACHE_LONG, /* part of what is written beside the input */
	FIGURE_TOOL_INPUT, FIGURE_THOUGHTS, /* more of the input and of the output */
	FIGURES
};

struct usage_scan { /* usage_scan_begin before the first byte; later ones keep what was found */
	/* what was found */
	bool known[FIGURES], spoiled[FIGURES]; /* spoiled: told, but not as a number that can be */
	uint64_t figures[FIGURES];
	char model[sizeof(((struct usage *)0)->model)];
	uint64_t told; /* how often a figure was set */
	uint64_t rounds; /* items of "iterations", of the usage that has most */
	/* private */
	int state;
	uint8_t places[USAGE_DEPTH_MAX]; /* of each list and object that is open */
	size_t depth;
	size_t rounds_depth, rounds_now; /* of the list of iterations that is open; 0: none is */
	const struct usage_member *member; /* whose value is next or is being read; NULL: nobody asks */
	bool is_key; /* the string that is being read */
	char token[80]; /* the key, number, word or text that is being read, cut */
	size_t token_len; /* uncut */
	unsigned hex, hex_left;
};

void usage_scan_begin(struct usage_scan *scan); /* one JSON value comes */
void usage_scan_take(struct usage_scan *scan, const char *bytes, size_t len);

#endif
