/* Attacks on checks: races, encodings, side channels. */
#include "review/attack.h"

const struct review_attack review_bypass[] = {
	{0},
};
