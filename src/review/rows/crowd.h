/* Many hostile cells at once, and a healthy one among them. Seen only inside src/review. */
#ifndef HOTCELL_REVIEW_ROWS_CROWD_H
#define HOTCELL_REVIEW_ROWS_CROWD_H

#include "review/attack.h"

void crowd_alone(struct review_try *try); /* for a row's `alone` */

#endif
