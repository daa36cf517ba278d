/* Attacks that need a network outside of the cell. Seen only inside src/review. */
#ifndef HOTCELL_REVIEW_ROWS_DOORS_H
#define HOTCELL_REVIEW_ROWS_DOORS_H

#include "review/attack.h"

/* For a row's `alone`: runs its program in a network of ours, judges who was called and asked there, and calls the row's
 * `judge` with that network (net.h) in try->own. */
void doors_alone(struct review_try *try);
/* The same for campaigns: one whose budget is raised in the midst of it; one of which a run takes all it can get. */
void doors_alone_reload(struct review_try *try);
void doors_alone_neighbours(struct review_try *try);

struct net;
void doors_judge(struct review_try *try, struct net *net); /* who was called and asked */

#endif
