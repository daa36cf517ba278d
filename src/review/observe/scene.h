/* What stands around every attack: canaries, a victim, sockets that must stay silent. Seen only inside src/review. */
#ifndef HOTCELL_REVIEW_OBSERVE_SCENE_H
#define HOTCELL_REVIEW_OBSERVE_SCENE_H

#include "review/attack.h"

/* Below TMPDIR, or /tmp. */
MUST_CHECK struct scene *scene_open(const struct review_options *options, struct err *err);
struct scene *scene_free(struct scene *scene); /* NULL is fine; returns NULL */
static inline void scene_freep(struct scene **scene)
{
	*scene = scene_free(*scene);
}

/* place.c: makes a folder for the review's files, which the caller frees, and locks it. */
MUST_CHECK char *place_make(const struct review_options *options, int *ret_lock, struct err *err);

const char *scene_folder(const struct scene *scene); /* only ours: results, the folders of tries */
const char *scene_program(const struct scene *scene); /* the folder that is mounted at /review */
/* `text` with what it names in braces put in; unknown names stay. */
void scene_expand(const struct scene *scene, const struct review_try *try, const char *text, struct buf *ret);
/* Whether everything is as it was; calls try_escaped where it is not, and puts it right for the next. */
void scene_look(struct scene *scene, struct review_try *try);
/* For a child of ours, at once: it ends with us, by this signal, and takes every other. */
void scene_child(const struct scene *scene, int death);
/* For a child about to become hotcell: the descriptors that it is given to leak. */
void scene_lend(const struct scene *scene);
#define SCENE_CANARY_FD 137
#define SCENE_ROOT_FD 138

/* Every line "what RESULT" that the program printed. */
typedef void try_said_fn(void *data, const char *what, const char *result);
void try_each_said(const struct review_try *try, try_said_fn *fn, void *data);
/* Counts what the program said it tried; what was "ok" and may not be is an escape. */
void try_judge_said(struct review_try *try);

/* What got through becomes `degraded` if the cell's receipt lacks, for each thing that was seen, something that would have
 * held it. The names of all that, or ""; the caller frees. Else the reason is what nothing explains. */
char *review_degrade(struct review_try *try);

/* try.c: one row from its beginning to its end. */
void try_attack(struct review_try *try);
void try_done(struct review_try *try);

#endif
