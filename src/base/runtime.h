/* The folders in which supervisors have their control sockets. Whoever reaches one of those commands cells, so that no cell may
 * be shown such a folder, by whatever name. */
#ifndef HOTCELL_BASE_RUNTIME_H
#define HOTCELL_BASE_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"

#define RUNTIME_OWN 4
#define RUNTIME_MAX 64

/* The folders of our user, best first: NULL at the end, "" for one that is not to be used. The caller frees. */
char *runtime_folder(unsigned index);
/* Opens such a folder if it is ours alone: of our user, closed to others, no symbolic link. -1 with
 * ENOENT in err when it is not there and is not to be made. */
MUST_CHECK int runtime_folder_open(const char *path, bool make, struct err *err);
/* Removes what supervisors left there that are no more. */
void runtime_folder_sweep(int folder);

/* Those that a cell's mounts might show. */
struct runtime_hold {
	struct fs_id ids[RUNTIME_MAX]; /* ours, and for root everybody's */
	size_t count;
	uint64_t looked_ns;	       /* when, and for which sources; 0: never */
	struct buf looked_for;
	int kept[RUNTIME_OWN]; /* in which we have a file, so that nobody removes the folder and makes it anew; -1: not */
};
void runtime_hold_init(struct runtime_hold *hold);
/* Looks at them again, for the same sources at most once a second: what another user makes meanwhile is as new to the cells
 * that run already. Ours that lie below one of the sources (NULL-terminated) are made if they are not there, and stay. */
void runtime_hold_look(struct runtime_hold *hold, const char *const *sources);
void runtime_hold_done(struct runtime_hold *hold);

#endif
