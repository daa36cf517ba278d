/* Attacks on what there is a limited amount of. */
#include "review/attack.h"

const struct review_attack review_exhaustion[] = {
	{0},
};
