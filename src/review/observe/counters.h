/* A cell's cgroups as the host's kernel counts them, for rows that take more than there is. Seen only inside src/review.
 *
 * Found without a word of hotcell's: by what the kernel says of the attack's own process. A cell that has no cgroup of its
 * own (an ordinary user's, on a machine that gives none) has no counters: what hotcell and the program tell is all there
 * is then. But one whose receipt says that the limit is on must have one. */
#ifndef HOTCELL_REVIEW_OBSERVE_COUNTERS_H
#define HOTCELL_REVIEW_OBSERVE_COUNTERS_H

#include "review/attack.h"

/* For a row's `alone`: runs it, and once its program has said "ready" reads again and again until it is over, calling the
 * row's `during` each time. Some programs wait for SIGTERM with what they do. Then what is judged for every attack, and the
 * row's `judge`. It is an escape if a counter goes beyond what the row may have, if the kernel's limit is a larger one, or
 * if hotcell tells of less than was counted. */
void counters_alone(struct review_try *try);

#endif
