/* The sums of many files: by this process, or where there is much to read by as many as there are processors. */
#ifndef HOTCELL_MANIFEST_HASH_H
#define HOTCELL_MANIFEST_HASH_H

#include "manifest/manifest.h"

struct hash_job {
	const char *path; /* raw, below the folder */
	struct manifest_entry *entry; /* gets its sum, or a trouble */
};

MUST_CHECK int hash_files(int dir, const struct hash_job *jobs, size_t count, struct err *err);

#endif
