/* Attacks on files and paths. */
#include "review/attack.h"

const struct review_attack review_files[] = {
	{
		.id = "files.absolute",
		.technique = "read a file of the host by its path",
		.safe = "it is not there",
		.without = "mount-namespace",
		.program = "paths read {canary} /etc/shadow /root/.ssh/id_rsa",
		.tries = 3,
	},
	{
		.id = "files.climb",
		.technique = "read a file of the host by chains of '..' and other ways up",
		.safe = "every way ends inside the cell",
		.without = "mount-namespace",
		.program = "paths climb {canary}",
		.tries = 10,
	},
	{0},
};
