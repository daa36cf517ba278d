#include "base/signals.h"

int signals_take(struct loop *loop, const int *numbers, loop_signal_fn *fn, void *data, struct err *err)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (; *numbers != 0; numbers++) {
		struct sigaction now;
		if (sigaction(*numbers, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			continue;
		(void)sigaddset(&set, *numbers);
	}
	return loop_take_signals(loop, &set, fn, data, err);
}
