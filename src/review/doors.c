/* Attacks on doors. */
#include "review/attack.h"

const struct review_attack review_doors[] = {
	{0},
};
