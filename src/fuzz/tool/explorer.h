/* Between the files of fuzzing by schema: what one run knows (explorer.c), how calls are made (explore.c), when an
 * answer is of a new kind (novelty.c), what of an answer is used again (chain.c), and how a surprise becomes a
 * finding (confirm.c). */
#ifndef HOTCELL_FUZZ_TOOL_EXPLORER_H
#define HOTCELL_FUZZ_TOOL_EXPLORER_H

#include "fuzz/fuzz.h"
#include "schema/shrink.h"

/* ---- novelty.c (pure) ---- */

/* A bounded set of signatures. */
struct novelty {
	uint64_t *seen; /* 0: free */
	size_t room, count;
};
#define NOVELTY_MAX ((size_t)1 << 16)
void novelty_done(struct novelty *novelty);
bool novelty_add(struct novelty *novelty, uint64_t signature); /* true: it was not there, and there was room */
/* Adds the places in its code that a target says it reached: a list behind "hotcell/coverage" in its answer or on stderr, of
 * numbers or texts. True: one is new. */
bool novelty_coverage(struct novelty *novelty, const struct reply *reply);
/* What kind of answer it is, as a number: its kind and code, the shape of its error, the members of its output and
 * their kinds, bands of size and of time, kinds of effects. What only repeats the input does not count. */
uint64_t novelty_signature(const struct reply *reply, const struct effect *effects, size_t effect_count,
	const char *input, size_t len, struct buf *scratch);

/* ---- chain.c (pure) ---- */

#define CHAIN_TEXTS 64
#define CHAIN_TEXT_MAX 200
#define CHAIN_KEY_MAX 32

/* Something that an answer told: an id, a name, a path. */
struct chain_text {
	char key[CHAIN_KEY_MAX]; /* of the member it was; "" where it was none */
	char text[CHAIN_TEXT_MAX + 1];
	size_t len;
	bool number;
};

struct chain {
	struct chain_text list[CHAIN_TEXTS]; /* the newest take the place of the oldest */
	size_t count, next;
};
void chain_forget(struct chain *chain);
void chain_harvest(struct chain *chain, const struct reply *reply);
/* One for a member of this name; `dice` is any number. NULL: there is none. */
const struct chain_text *chain_pick(
	const struct chain *chain, const char *key, size_t key_len, bool number, uint64_t dice);
/* Whether the schema, as it came, has a member for something of the chain that `input`, if given, did not say itself. */
bool chain_fits(const struct chain *chain, const struct value *schema, const struct buf *input);
/* The value with one of its texts or numbers replaced by one of the chain, as JSON, if the result fits the schema.
 * The value is as it was afterwards. */
bool chain_use(const struct chain *chain, const struct schema *schema, struct value *value, struct draw *dice,
	struct buf *ret);

/* ---- mutate.c (pure) ---- */

/* The choices that made a value, kept to make others of them. */
struct record {
	uint64_t *choices;
	size_t count;
	struct draw_span *spans;
	size_t span_count;
};
#define RECORD_MAX 4096 /* choices; more is not kept */
void record_set(struct record *record, const struct draw *draw);
void record_done(struct record *record);
/* Choices that are like the record's but for something; parts of `other` may come in. */
void record_mutate(const struct record *record, const struct record *other, struct draw *dice, struct buf *ret);

/* ---- shrink_value.c (pure but for what it asks) ---- */

/* Makes a value simpler from the value itself: members and items go, texts get shorter, numbers smaller. What is
 * tried fits the schema, or still does not where `malformed`. */
struct value_shrink {
	const struct schema *schema; /* NULL: anything fits */
	bool malformed;
	bool (*still)(void *context, const char *text, size_t len);
	bool (*over)(void *context); /* as in schema/shrink.h */
	void *context;
	unsigned max_calls; /* of `still` */
	unsigned calls; /* result */
};
/* The JSON text in `text` is replaced by the simplest that was found. -1: it is no JSON that can be read. */
MUST_CHECK int value_shrink(struct value_shrink *shrink, struct buf *text, struct err *err);

/* ---- steps.c: calls in a row, and how a finding's input says them ---- */

struct step {
	const struct subject *subject;
	struct buf input; /* JSON */
	unsigned times; /* that it is called in a row; 0: once */
	bool malformed;
	char violation[160]; /* where malformed */
};

struct steps {
	struct step *list;
	size_t count;
};
#define STEPS_MAX 1000u /* that a capsule may have */
#define REPEATED_MAX 100000u /* times of one of them */
void step_copy(struct step *to, const struct step *from); /* into one that may hold something */
void step_done(struct step *step);
void step_judge(struct step *step); /* fills malformed and violation from its subject's schema */
void steps_add(struct steps *steps, const struct step *step);
void steps_copy(struct steps *to, const struct steps *from); /* into none */
void steps_cut(struct steps *steps, size_t from, size_t to);
void steps_done(struct steps *steps);
bool steps_repeat(const struct steps *steps); /* one is called more than once in a row */
uint64_t steps_total(const struct steps *steps); /* calls */
void steps_spread(struct steps *steps, uint64_t total); /* as many calls, or a few more: each as often as the others */
char *steps_text(const struct steps *steps); /* a finding's input */
/* Errors are ERR_USAGE, or ERR_MISSING where the target has no such subject. */
MUST_CHECK int steps_read(
	struct steps *ret, const struct subjects *subjects, const char *subject, const char *input, struct err *err);

/* ---- explorer.c ---- */

/* One subject that is fuzzed. */
struct quarry {
	const struct subject *subject;
	size_t place; /* in progress.subjects */
	struct draw draw, dice; /* values; what is done with kept ones */
	uint64_t made;
	struct novelty novelty;
	struct record *kept;
	size_t kept_count;
	double lately; /* new kinds of answers a call, later ones counting more */
	bool no_malformed; /* nothing breaks its schema */
	bool none_made; /* told that no value was found for it */
	unsigned heard; /* answers that were looked at for that: */
	bool gives; /* what it answers has a name that another, or it itself, takes something by */
};
#define KEPT_MAX 256u /* inputs of one subject */

#define HISTORY_MAX 32u /* calls of a session that are remembered */

/* A session that explores. */
struct worker {
	struct session *session;
	bool busy;
	struct quarry *quarry;
	struct step now;
	uint64_t *choices; /* that make `now`, if `chosen` */
	size_t choice_count, choice_room;
	bool chosen;
	struct step past[HISTORY_MAX]; /* on this process: a ring */
	uint64_t past_count;
	unsigned chained; /* calls of the chain so far */
	unsigned bout; /* calls that are left of a chain among calls that are each for themselves; 0: none */
	struct chain chain;
};

/* Something that was wrong with a call, not yet believed. */
struct surprise {
	char id[FINDING_ID_LEN + 1];
	const char *oracle; /* static */
	char *message; /* where the target wrote it, and there are no frames; NULL: the id says it all */
	struct steps steps; /* the call, and those before it on its process */
	uint64_t *choices; /* of the last; NULL: it was not made of choices */
	size_t choice_count;
	bool late; /* it took all the time there is */
	uint64_t lived; /* calls of its process, this one included */
	const char *keep; /* a text that stays in it while it is made smaller: the mark, where that is the proof; NULL: none */
};
#define PENDING_MAX 64u

struct met {
	char id[FINDING_ID_LEN + 1];
	unsigned tries; /* to see it again */
	bool found;
	const struct finding *gone; /* it is known, and did not come again from what is kept of it; NULL: that is not so */
};
#define MET_TRIES 2u
#define MET_MAX 4096u

struct explorer {
	const struct fuzz_options *options;
	struct fuzz_result *result;
	struct err *err;
	enum target_mode mode;
	uint64_t started, ends; /* of exploring; 0: no end */
	uint64_t last; /* of everything: what was found by the end is seen again until then, and made smaller for half of that */
	uint64_t grace_ns; /* for making one finding smaller, if so much is left */
	uint64_t begun, answered; /* calls; answered in any way that can be used */
	struct draw dice;
	struct chain heard; /* of one answer */
	unsigned bouts; /* chains so far, where most calls are each for themselves */
	uint64_t bout_next; /* call with which the next one begins */
	struct quarry *quarries;
	size_t quarry_count;
	struct worker *workers;
	/* what is believed, and what is not yet */
	struct met *met;
	size_t met_count;
	struct surprise pending[PENDING_MAX];
	size_t pending_count;
	uint64_t surprises_lost; /* more at once than are remembered */
	/* seeing it again */
	struct session *again;
	unsigned again_calls; /* of its process */
	uint64_t again_lived; /* as the session counts them */
	uint64_t again_until; /* when making this one smaller ends */
	uint64_t again_ends; /* when this try at it does */
	bool again_cut; /* it ended before it was done */
	unsigned cut; /* surprises that were not seen again, but might have been: it ended before */
	uint64_t again_ns; /* spent on it so far */
	bool again_late; /* the last trial took all its time */
	char *sha256;
	bool sha256_known;
	/* progress */
	uint64_t told_ns, told_calls, shown_ns, asked_ns;
	struct buf scratch;
	bool stopped, broken; /* broken: *err says why */
	bool past; /* it is later than `last` */
};

void explorer_init(
	struct explorer *explorer, const struct fuzz_options *options, struct fuzz_result *result, struct err *err);
void explorer_done(struct explorer *explorer);
/* Tells how it goes, if it is time, and asks whether to stop. True: end now. */
bool explorer_tick(struct explorer *explorer, const char *doing);
bool explorer_is_over(const struct explorer *explorer); /* stopped, broken or past: no call is made any more */
void explorer_judge(struct explorer *explorer, const struct step *step, const struct exchange *seen, const char *before,
	size_t before_len, struct verdicts *ret);
bool explorer_is_enough(const struct explorer *explorer);
/* The session for seeing again. -1: explorer->broken. */
int explorer_open_again(struct explorer *explorer);
/* Why an oracle cannot see anything in this run; NULL: it can. */
const char *explorer_blind(const struct explorer *explorer, const char *oracle);
struct met *explorer_met(struct explorer *explorer, const char *id); /* NULL: never */
struct met *explorer_meet(struct explorer *explorer, const char *id); /* made where it is new; NULL: there are too many */
void verdict_identify(const struct explorer *explorer, const struct subject *subject, const struct verdict *verdict,
	char ret[FINDING_ID_LEN + 1]);
/* Whether that is its id, or would be without a shape, as of a capsule that has none. */
bool verdict_is(const struct explorer *explorer, const struct subject *subject, const struct verdict *verdict, const char *id);
void gap_add(struct fuzz_result *result, const char *format, ...) PRINTF_LIKE(2, 3);

/* ---- explore.c ---- */

struct quarry *quarry_choose(struct explorer *explorer);
/* Begins a call of the worker's. -1: explorer->broken. */
int explorer_begin(struct explorer *explorer, struct worker *worker);
/* What came of it. Surprises are put into explorer->pending. */
void worker_take(struct explorer *explorer, struct worker *worker, const struct exchange *seen);
void quarry_done(struct quarry *quarry);
void worker_done(struct worker *worker);

/* ---- confirm.c ---- */

/* Sees the pending surprises again, the worst first, makes them small, and makes findings of them: as many as there is
 * time for. A target with many faults would else be looked at no further than the first of them. */
void confirm_pending(struct explorer *explorer);
/* The call that was wrong, and what is known of it. */
struct witness {
	const struct step *step;
	const struct step *past; /* calls before it on its process: a ring of HISTORY_MAX, or fewer in order */
	uint64_t past_count;
	const uint64_t *choices; /* that made it; NULL: not known */
	size_t choice_count;
	bool late;
	uint64_t lived; /* as in a surprise */
};
void surprise_add(struct explorer *explorer, const struct verdict *verdict, const struct witness *witness);
void surprise_done(struct surprise *surprise);
/* Makes the steps on the session for seeing again, the last one judged. `fresh`: on a process that nobody called
 * before. -1: no cell can be had, or it was told to stop. */
int trial(struct explorer *explorer, const struct steps *steps, bool fresh, bool twice, struct verdicts *ret);
/* Once: whether the surprise came. *ret, if given, is what proves it. What else is wrong is a surprise of its own. */
bool trial_once(struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, bool fresh,
	struct verdict *ret);
struct tally {
	unsigned seen, tried;
};
void confirm_time(struct explorer *explorer); /* Says how long one is made smaller, from now on. */
/* Until it was tried so often, what the tally has already included; *ret is the last proof. The first two are on processes that
 * nobody called before; so are the others, unless it came each time: then they are on what is there. */
void trial_count(struct explorer *explorer, const struct steps *steps, const struct surprise *surprise, unsigned times,
	struct tally *tally, struct verdict *ret);
/* Makes the steps smaller, for as long as the smaller ones come as surely. The tally is then of what the steps are, and has
 * as many tries as are wanted of it. */
void confirm_reduce(struct explorer *explorer, struct steps *steps, const struct surprise *surprise, unsigned times,
	struct tally *tally, struct verdict *proof);
/* smaller.c: makes the steps smaller, the only one by the surprise's choices where it has any. *proof is of the smallest; true if
 * that came on a process that nobody had called before. */
struct shrinking {
	bool flaky; /* each is tried a few times, until it comes */
	bool sure; /* each has to come a few times */
	bool fresh; /* each on a process of its own */
};
bool confirm_shrink(struct explorer *explorer, struct steps *steps, const struct surprise *surprise, struct shrinking how,
	struct verdict *proof);
/* describe.c: what a finding says. Seen, tried and found are the caller's to fill. */
void finding_make(struct explorer *explorer, const struct steps *steps, const struct verdict *verdict, struct finding *ret);
void verdict_drop(struct verdict *verdict);
void finding_put(struct explorer *explorer, struct finding *finding, bool is_new); /* takes it */

/* ---- known.c ---- */

/* Tries what is known of this target. */
void confirm_known(struct explorer *explorer);
/* In the end: what of it is gone. */
void known_tell(struct explorer *explorer);

#endif
