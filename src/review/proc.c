/* Attacks on processes, descriptors, terminals and signals. */
#include "review/attack.h"

const struct review_attack review_proc[] = {
	{
		.id = "proc.environ",
		.technique = "read every process's arguments and environment, and our own",
		.safe = "nothing of the host's is there",
		.without = "clean-environment pid-namespace",
		.program = "procs env",
	},
	{0},
};
