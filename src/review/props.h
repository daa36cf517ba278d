/* What rows put into {dir} before an attack, and how they look at it afterwards. Seen only inside src/review. */
#ifndef HOTCELL_REVIEW_PROPS_H
#define HOTCELL_REVIEW_PROPS_H

#include "review/attack.h"

/* Names are below {dir}; "{...}" in a text or a target is put in. What cannot be made is try_failed. */
char *props_path(const struct review_try *try, const char *name); /* to be freed */
void props_folder(struct review_try *try, const char *name); /* and those it lies in */
void props_file(struct review_try *try, const char *name, const char *text, mode_t mode);
void props_link(struct review_try *try, const char *name, const char *target);
void props_program(struct review_try *try, const char *name, mode_t mode); /* a copy of the program that attacks */

/* For review_try.enter: a hotcell whose record of state folders is in {dir}, and not the user's. */
bool props_record(const struct review_try *try);

/* Escapes, if the file is not what props_file made. */
void props_same(struct review_try *try, const char *name, const char *text, mode_t mode);
/* Escapes, if the folder has not exactly so many entries. */
void props_count(struct review_try *try, const char *name, size_t count);
/* Escapes, if there is anything in what was taken back but plain files and folders of ours, with plain names, without the
 * token. Returns how many entries it has. */
size_t props_taken_back(struct review_try *try, const char *name);

/* Before: what a file or folder of the host is; `path` is freed. A file that is made and removed leaves its folder's time
 * changed. Uses the row's `own`, which props_kept, as its judge, frees: whatever is not as it was is an escape. */
void props_keep(struct review_try *try, char *path);
void props_kept(struct review_try *try);

#endif
