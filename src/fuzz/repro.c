/* A capsule tried again. See fuzz.h. */
#include "fuzz/fuzz.h"

static const char *const names[] = {
	[REPRO_SAME] = "reproduced", [REPRO_FIXED] = "fixed", [REPRO_DIFFERENT] = "different",
};
_Static_assert(sizeof(names) / sizeof(*names) == REPRO_COUNT, "a verdict has no name");

const char *repro_name(enum repro_verdict verdict)
{
	return names[verdict];
}
