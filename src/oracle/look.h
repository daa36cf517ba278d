/* What the oracles have in common: pieces of texts, what of it the input chose, paths. Private to this folder. Pure. */
#ifndef HOTCELL_ORACLE_LOOK_H
#define HOTCELL_ORACLE_LOOK_H

#include "oracle/oracle.h"

struct span {
	const char *at;
	size_t len;
};
#define SPAN(text) ((struct span){(text), sizeof(text) - 1})

bool span_begins(struct span span, const char *with);
/* Where it is, or NULL. An empty one is nowhere. */
const char *span_find(struct span in, const char *what, size_t len);
bool span_has(struct span in, const char *word);
struct span span_trim(struct span span); /* blanks, and backslashes that belong to a line's escaped end */

/* The next line of what is left. A text may be a JSON document that holds lines: its \n ends one too. False: no
 * more. */
bool line_next(struct span *left, struct span *line);
/* Strings of JSON as they are meant: \n, \", \u0041 and so on; all else stays. */
void text_unescape(struct span text, struct buf *ret);

/* Whether the call's arguments hold these bytes, escaped or not. */
bool input_holds(const struct observation *seen, struct span bytes);
/* Whether the arguments say where this path leads: it, or the end of it, is in them. */
bool input_names(const struct observation *seen, const char *path);
/* All it said in answer: its text, or its message where it gave none. */
struct span reply_answer(const struct reply *reply);

/* A path without ".", ".." and doubled slashes. */
void path_clean(const char *path, size_t len, struct buf *ret);
bool path_below(const char *path, const char *folder); /* or the same */
const char *path_last(const char *path); /* its last part */

/* The line of a text that names the exception: "KeyError: 'x'". Empty: there is none. */
struct span exception_line(const char *text, size_t len);

/* The verdict of this oracle with this message, which is made if there is none yet. NULL: there are too many. */
struct verdict *verdict_once(struct verdicts *ret, const char *oracle, const char *format, ...) PRINTF_LIKE(3, 4);
struct verdict *verdict_find(const struct verdicts *verdicts, const char *oracle); /* the first; NULL */

/* How each effect came about: one byte an effect, 0 where no argument made it so. */
struct injections {
	unsigned char *kinds;
};
void injections_find(const struct observation *seen, struct injections *ret);
void injections_done(struct injections *injections);
/* What a program did that an argument started is told with it: adds the effect to the evidence of the "command"
 * verdict. False: there is none, or another program did it. */
bool injections_tell(const struct injections *injected, const struct observation *seen, const struct effect *effect,
	struct verdicts *ret);

void judge_canary(const struct observation *seen, struct verdicts *ret);
void judge_secret(const struct observation *seen, struct verdicts *ret);
void judge_command(const struct observation *seen, struct verdicts *ret);
void judge_spawn(const struct observation *seen, struct verdicts *ret);
void judge_file(const struct observation *seen, struct verdicts *ret);
void judge_network(const struct observation *seen, struct verdicts *ret);
void judge_crash(const struct observation *seen, struct verdicts *ret);
void judge_hang(const struct observation *seen, struct verdicts *ret);
void judge_memory(const struct observation *seen, struct verdicts *ret);
void judge_exception(const struct observation *seen, struct verdicts *ret);
void judge_trace(const struct observation *seen, struct verdicts *ret);
void judge_output_schema(const struct observation *seen, struct verdicts *ret);
void judge_protocol(const struct observation *seen, struct verdicts *ret);
void judge_accepted(const struct observation *seen, struct verdicts *ret);
void judge_refused(const struct observation *seen, struct verdicts *ret);
void judge_unstable(const struct observation *seen, struct verdicts *ret);

#endif
