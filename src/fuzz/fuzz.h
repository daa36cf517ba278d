/* Fuzzes a target by its schemas: makes calls, lets the oracles judge what was seen, and turns what is wrong into findings that
 * were seen again and made small.
 *
 * One thread, one loop. Several sessions explore at once; what one of them finds is replayed, told apart and made small on
 * sessions of its own, at once, before it is believed. */
#ifndef HOTCELL_FUZZ_FUZZ_H
#define HOTCELL_FUZZ_FUZZ_H

#include "finding/store.h"
#include "fuzz/tool/target.h"

/* ---- what is planted ---- */

/* Canaries, and what of a cell carries them: mounts of files that are made in a folder of ours, and environment variables. */
struct plant;

/* Makes the files. `spec` is what the cells will be like; what it mounts itself is not covered. */
MUST_CHECK struct plant *plant_open(const struct cell_spec *spec, uint64_t seed, struct err *err);
struct plant *plant_free(struct plant *plant); /* removes the files; NULL is fine; returns NULL */
void plant_freep(struct plant **plant);
const struct cell_spec *plant_spec(const struct plant *plant); /* the same with the canaries; lives with the plant */
const struct canary *plant_canaries(const struct plant *plant, size_t *ret_count);
/* Words for the generator that lead to the canaries and that leave the mark: paths in several spellings, commands. */
const char *const *plant_words(const struct plant *plant); /* NULL-terminated */
const char *plant_mark(const struct plant *plant); /* a text in each of the commands, and nowhere else */
const struct strings *plant_gaps(const struct plant *plant); /* what was not planted and why, a sentence each */
/* Tokens that a plant of that seed has, in a text, become those of this one. */
void plant_renew(const struct plant *plant, uint64_t seed, char *text, size_t len);

/* ---- fuzzing ---- */

struct fuzz_progress;

struct fuzz_options {
	struct target *target;
	const struct plant *plant; /* NULL: nothing is planted */
	const struct allowed *allowed;
	const char *const *environment; /* as in an observation */
	oracle_set oracles;
	const char *const *only, *const *exclude; /* globs of subjects' names; NULL-terminated; may be NULL */
	uint64_t seed;
	uint64_t max_calls; /* 0: no limit */
	uint64_t duration_ns; /* 0: no limit; one of the two is there */
	uint64_t call_ns; /* that a call may take */
	unsigned workers; /* sessions that explore; at least 1 */
	unsigned sequence; /* calls in a chain on one session, values of earlier answers used in later ones; 1: each alone; 0: chains now and then, where one takes what another answers */
	unsigned malformed; /* one call in so many breaks its schema; 0: none */
	unsigned replays; /* that a surprise gets; 0: 5 */
	unsigned max_shrink; /* calls to make one smaller; 0: 500 */
	unsigned max_findings; /* distinct ones, those of `known` that came again included, after which it ends; 0: 100 that are not known */
	const struct strings *baseline; /* ids that do not count for that, as suppressed ones do not; may be NULL */
	/* what findings say of how to do it again */
	const struct strings *flags, *environment_names;
	const char *profile, *declared; /* `declared`: the file that findings point to where no trace says better; may be NULL */
	/* known before: retried first */
	const struct finding_store *known; /* may be NULL */
	/* told as it goes; may be NULL */
	void (*found)(void *data, const struct finding *finding, bool is_new); /* after it was seen again and made small */
	void (*retried)(void *data, const struct finding *finding, bool still); /* of `known`; what is gone is told in the end */
	void (*progress)(void *data, const struct fuzz_progress *progress); /* a few times a second */
	bool (*stop)(void *data); /* asked often; true: end now, and say what there is */
	void *data;
};

struct subject_progress {
	const struct subject *subject;
	uint64_t calls, ok, rejected, failed, ended, late, broken;
	uint64_t kinds; /* of answers told apart: what exploring is led by */
	uint64_t findings;
};

struct fuzz_progress {
	uint64_t ns, calls, restarts, kept; /* kept: inputs that made it answer in a new way */
	uint64_t confirm_calls; /* to see again and to make small; not in `calls` */
	double rate; /* calls a second, of late */
	struct subject_progress *subjects;
	size_t subject_count;
	uint64_t unseen; /* effects that were too many to be looked at */
	unsigned findings, fresh, flaky, unconfirmed; /* unconfirmed: surprises that never came again */
	unsigned counted; /* findings that max_findings is about */
	const char *doing; /* "reproducing known findings", "exploring", "minimising", ... */
};

enum fuzz_end {
	FUZZ_DONE, /* its time or calls are used up */
	FUZZ_ENOUGH, /* max_findings */
	FUZZ_STOPPED, /* `stop` said so */
	FUZZ_NOTHING, /* no subject could be fuzzed, no call was answered, or all were rejected: `why`. There may be findings all the same */
	FUZZ_BROKEN, /* no cell could be had: err */
};

struct fuzz_result {
	enum fuzz_end end;
	char why[240]; /* FUZZ_NOTHING: a sentence */
	struct fuzz_progress totals; /* subjects are the result's */
	struct finding *findings; /* by severity */
	size_t count;
	struct strings fixed; /* ids of `known` that do it no more */
	struct strings gone; /* the same of those that are suppressed, and stay so */
	struct strings gaps; /* what was not fuzzed or not looked at, a sentence each: a subject without a schema, effects that this backend does not tell */
};

/* -1 only for FUZZ_BROKEN; the result is filled all the same. */
MUST_CHECK int fuzz_run(const struct fuzz_options *options, struct fuzz_result *ret, struct err *err);
void fuzz_result_done(struct fuzz_result *result);

/* ---- doing it again ---- */

enum repro_verdict {
	REPRO_SAME, /* the same finding came: "reproduced" */
	REPRO_FIXED, /* nothing is wrong */
	REPRO_DIFFERENT, /* something else is wrong: `other` */
	REPRO_COUNT
};
const char *repro_name(enum repro_verdict verdict); /* "reproduced", "fixed", "different" */

struct repro {
	enum repro_verdict verdict;
	unsigned seen, tried;
	struct finding other; /* for REPRO_DIFFERENT: what came instead */
	struct strings evidence; /* of this time */
};
/* Replays a finding's input `times` times, each on a new process. -1 where it cannot be tried. */
MUST_CHECK int fuzz_repro(const struct fuzz_options *options, const struct finding *finding, unsigned times, struct repro *ret, struct err *err);
void repro_done(struct repro *repro);
/* Makes a finding's input smaller, from the input itself: its choices are not kept. *ret_smaller: its input was changed. Whether it
 * is `unfinished` still is in the finding. */
MUST_CHECK int fuzz_minimise(const struct fuzz_options *options, struct finding *finding, bool *ret_smaller, struct err *err);

#endif
