/* What a run left in its workspace, copied into the folder for output.
 *
 * Little is copied at once: that is the usual case, and it costs nothing more. Much is copied by a child of ours
 * while the loop goes on: a run may leave 100,000 files, and no other run shall wait for them. The child has the
 * two folders and a pipe, nothing else of ours; it says what came of it in bytes that are read as if the run had
 * written them, since the run chose all that the child ever looked at. It dies with us. Seen only inside src/cell. */
#ifndef HOTCELL_CELL_COLLECT_H
#define HOTCELL_CELL_COLLECT_H

#include "base/buf.h"
#include "cell/cell.h"

#define COLLECT_DEPTH 128
#define COLLECT_REPORT_MAX ((size_t)1 << 20) /* bytes of what the child says */

struct collect_child;

struct collect {
	int to; /* the folder for output; -1: none is wanted */
	char *made; /* its path, when we made it */
	char **reserved; /* what caps.reserved points to */
	struct fs_caps caps;
	struct collect_child *child; /* while it copies */
};

/* Opens the folder, held from before the start, so that nobody can put something else in its place meanwhile.
 * collect_done is due whatever happens. */
MUST_CHECK int collect_open(struct collect *collect, const struct cell_spec *spec, struct err *err);
void collect_unmake(struct collect *collect); /* nothing came: an empty folder that we made is not left behind */
void collect_done(struct collect *collect); /* a child still there is killed, and not waited for */

bool collect_is_small(int workspace); /* by what its file system holds */
/* Fills collected, collect, lost and err of the result. True when it is over; else `over` follows from the loop,
 * once, when the child is dead and reaped. Takes the workspace: it is the child that closes it last, since to let go
 * of 100,000 files takes a while too. It is gone when this is over. */
MUST_CHECK bool collect_begin(struct collect *collect, struct loop *loop, int workspace, struct cell_result *result,
	void (*over)(void *data), void *data);
void collect_cancel(struct collect *collect); /* kills the child; `over` follows, with nothing collected */

/* What the child says. Decoding takes all of it or nothing: -1 if it is not what collect_report_encode made.
 * `failed` has the code 0 where the copy did not fail. */
void collect_report_encode(const struct fs_copy_report *report, const struct err *failed, struct buf *ret);
MUST_CHECK int collect_report_decode(const char *data, size_t len, struct fs_copy_report *ret, struct err *ret_failed);

#endif
