/* What libFuzzer says on stderr, and with it every engine that is built on it. Pure and bounded: the target writes there, too,
 * and may say what it likes. */
#ifndef HOTCELL_FUZZ_FUNCTION_LANG_STATS_H
#define HOTCELL_FUZZ_FUNCTION_LANG_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATS_LINE_MAX 4096 /* of a line, the last ones: a target may write before an engine's words, and end no line */
#define STATS_NAME_MAX 80

struct stats {
	uint64_t execs, coverage, features, corpus, corpus_bytes, rate, memory_mb;
	uint64_t news; /* times that a new path was told */
	bool begun; /* its seeds are read: it fuzzes */
	bool done; /* it ended at its limit */
	char artifact[STATS_NAME_MAX]; /* the name of the last input that it wrote, without its folder; "": none */
};

struct stats_reader {
	struct stats now;
	char line[STATS_LINE_MAX];
	size_t len;
};

void stats_feed(struct stats_reader *reader, const char *bytes, size_t len);
/* One line, without its end. What libFuzzer says is found anywhere in it: the last of it counts. */
void stats_line(struct stats *stats, const char *line, size_t len);

/* A line of `go test -fuzz`, which has another form; false: it is none. */
bool go_stats_line(struct stats *stats, const char *line, size_t len);

/* How an engine ended, by its exit code. */
enum engine_end { ENGINE_DONE, ENGINE_CRASH, ENGINE_HANG, ENGINE_MEMORY, ENGINE_OTHER };
enum engine_end engine_end(int exit_code);

#endif
