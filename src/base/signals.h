/* Signals as the verbs take them. */
#ifndef HOTCELL_BASE_SIGNALS_H
#define HOTCELL_BASE_SIGNALS_H

#include "base/loop.h"

/* Takes those of the list (ended by 0) that are not ignored: nohup and the background jobs of a script ask so to
 * be left alone. */
MUST_CHECK int signals_take(struct loop *loop, const int *numbers, loop_signal_fn *fn, void *data, struct err *err);

#endif
