/* Attacks on what takes a run's output back to the host. */
#include "review/attack.h"

const struct review_attack review_output[] = {
	{0},
};
