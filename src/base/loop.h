/* One thread, one loop: descriptors, timers and signals.
 *
 * Callbacks may add and remove any source, their own included. A source is freed by loop_remove
 * and never by itself; a timer fires once. */
#ifndef HOTCELL_BASE_LOOP_H
#define HOTCELL_BASE_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_source;

typedef void loop_fd_fn(void *data, int fd, uint32_t events); /* EPOLL* bits */
typedef void loop_timer_fn(void *data);
typedef void loop_signal_fn(void *data, int signal);

MUST_CHECK struct loop *loop_open(struct err *err);
struct loop *loop_free(struct loop *loop); /* frees its sources too; returns NULL */

/* The descriptor stays the caller's. Adding one that epoll refuses (a regular file) makes it
 * always ready. */
struct loop_source *loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *data);
void loop_set_events(struct loop_source *source, uint32_t events);
/* A descriptor's source for somebody else from now on. */
void loop_hand_over(struct loop_source *source, uint32_t events, loop_fd_fn *fn, void *data);
struct loop_source *loop_add_timer(struct loop *loop, uint64_t at_ns, loop_timer_fn *fn, void *data);
/* Blocks these signals in this thread for good and delivers them here. One call per loop. */
MUST_CHECK int loop_take_signals(struct loop *loop, const sigset_t *set, loop_signal_fn *fn, void *data,
	struct err *err);
struct loop_source *loop_remove(struct loop_source *source); /* NULL is fine; returns NULL */
/* The same for a descriptor that is closed right after, and that nobody else has: closing takes it out of epoll. */
struct loop_source *loop_drop(struct loop_source *source);

/* Waits once, at most timeout_ms (-1: until something happens), and runs what is due. */
int loop_turn(struct loop *loop, int timeout_ms);

#endif
