/* Corpora of functions: inputs that led somewhere new, kept in the state folder for the next run.
 *
 * A corpus is the folder corpus/ID of the state folder: a file an input, named by the SHA-256 of what is in it, and about.json,
 * which says what it is of. The id follows from the language, the file and the function. A file below the folder that holds the
 * state folder is named from there, so that a project that is moved, or cloned elsewhere with its state, keeps its corpora; any
 * other by its whole path.
 *
 * Two runs at once may add to one: files appear whole under names that only their content has, and what one run takes away is
 * only what it began with. Whatever lies in a folder is a stranger's: links, FIFOs, devices and what is too large are left out,
 * and told. */
#ifndef HOTCELL_FUZZ_FUNCTION_CORPUS_H
#define HOTCELL_FUZZ_FUNCTION_CORPUS_H

#include "fuzz/function/function.h"

#define CORPUS_ID_LEN 16
#define CORPUS_FORMAT "hotcell-corpus-1"
#define CORPUS_INPUT_MAX ((size_t)1 << 20) /* bytes of one input: engines take no more */
#define CORPUS_FILES_MAX 20000u
#define CORPUS_BYTES_MAX ((uint64_t)256 << 20)
#define CORPUS_ABOUT_MAX ((size_t)64 << 10)

struct corpus_about {
	char id[CORPUS_ID_LEN + 1];
	char *language, *file, *function;
	bool harness;
	int64_t first, last; /* when it was made, and added to, seconds since 1970 */
	uint64_t runs; /* that added to it, or tried to */
	uint64_t count, bytes; /* of what is in it; as the folder says where it was read from one */
};
void corpus_about_done(struct corpus_about *about);
/* What the corpus of a target is called; `state` is the state folder. */
void corpus_identify(const char *state, const struct function_target *target, struct corpus_about *ret);
void corpus_about_write(const struct corpus_about *about, struct json *json);
/* The text is a stranger's. Errors are ERR_USAGE. Pure. */
MUST_CHECK int corpus_about_read(const char *text, size_t len, const char *name, struct corpus_about *ret, struct err *err);
char *corpus_folder(const char *state, const char *id); /* the caller frees */
/* Where the file is now; NULL: what it says is no place for one. The caller frees. */
char *corpus_file(const char *state, const struct corpus_about *about);

/* ---- all of a project ---- */

struct corpora {
	struct corpus_about *list; /* by file, then function */
	size_t count;
	struct strings unread; /* "NAME: why" of folders that are no corpora */
};
MUST_CHECK int corpora_read(const char *state, struct corpora *ret, struct err *err);
void corpora_done(struct corpora *corpora);
/* By an id or its beginning. NULL: there is none, or more than one. */
const struct corpus_about *corpora_find(const struct corpora *corpora, const char *id);

/* ---- inputs from one folder to another ---- */

#define CORPUS_WHY_MAX 5u

struct corpus_taken {
	uint64_t files, bytes; /* that were not there before */
	uint64_t known; /* that were */
	uint64_t left_out; /* no inputs, or too large */
	bool full; /* there was more than there is room for */
	struct strings why; /* of the first that were left out: "'x' is a FIFO" */
};
void corpus_taken_done(struct corpus_taken *taken);
/* "2 of its files were left out: 'x' is a FIFO, ..."; false: nothing is to be said. */
bool corpus_taken_tell(const struct corpus_taken *taken, struct buf *out);

/* Names of inputs, sorted. */
struct corpus_names {
	char (*list)[65];
	size_t count, room;
};
void corpus_names_add(struct corpus_names *names, const char *name); /* at the end: to be sorted */
void corpus_names_sort(struct corpus_names *names);
void corpus_names_read(int dir, struct corpus_names *ret);
void corpus_names_done(struct corpus_names *names);
bool corpus_names_have(const struct corpus_names *names, const char *name);

struct corpus_caps {
	uint64_t files, bytes;
	unsigned depth; /* of folders that are looked into */
	bool named; /* only files that are named by their content: those of a corpus */
	struct corpus_names *names; /* filled with those that are in `to` now; may be NULL */
};
/* Copies what is in `from` to `to`, each under the name of its content. An error is one of `to`. */
MUST_CHECK int corpus_copy(int from, int to, const struct corpus_caps *caps, struct corpus_taken *ret, struct err *err);

/* Adds what is in the folder to the target's corpus, as far as there is room. With `instead`, those of its names that the folder
 * has not are taken away: the folder is what was made of them. `runs` is what it counts for. */
MUST_CHECK int corpus_keep(const char *state, const struct corpus_about *about, int from, unsigned depth, const struct corpus_names *instead,
	unsigned runs, struct corpus_taken *ret, struct err *err);
/* The corpus' folder in `ret`; -1 there if there is none. One that cannot be read, and what is no folder, are errors. */
MUST_CHECK int corpus_open(const char *state, const char *id, int *ret, struct err *err);

/* ---- with the engine ---- */

struct corpus_work {
	const int *from; /* folders whose inputs are merged into it: those that add coverage */
	size_t from_count; /* 0: it is minimised */
	uint64_t timeout_ms;
};

struct corpus_worked {
	uint64_t before, after, bytes_before, bytes_after; /* of the corpus */
	uint64_t looked_at; /* inputs of the folders */
	uint64_t left_out;
	struct strings why;
	struct strings problems; /* it could not be done */
	bool stopped;
};
/* Of the first target of the options. */
MUST_CHECK int corpus_work(const struct function_options *options, const struct corpus_work *work, struct loop *loop,
	struct cell_pool *pool, struct corpus_worked *ret, struct err *err);
void corpus_worked_done(struct corpus_worked *worked);

#endif
