/* Folders and their MANIFEST.json, as the user names them. */
#ifndef HOTCELL_CLI_MANIFEST_CHECK_H
#define HOTCELL_CLI_MANIFEST_CHECK_H

#include "cli/core/cli.h"
#include "manifest/manifest.h"

/* An open folder, or -1 with ERR_USAGE. */
MUST_CHECK int manifest_folder_open(const char *folder, struct err *err);
/* What the folder's MANIFEST.json says (*ret_was) and what is there (*ret_is); both are the caller's to free, also after
 * an error. ERR_USAGE if there is no manifest, or none that can be read. */
MUST_CHECK int manifest_folder_read(const char *folder, struct manifest *ret_was, struct manifest *ret_is, struct err *err);

/* Whether the folder's manifest is the one with that sum; NULL: any. ERR_USAGE if it is no sum, else ESTALE. */
MUST_CHECK int manifest_sum_check(const char *folder, const struct manifest *was, const char *sum, struct err *err);

/* --manifest DIR[@sha256:SUM]: every folder must be as its MANIFEST.json says, and that the one with this sum. An error names
 * the first entry that is not. */
MUST_CHECK int manifest_check(const struct cli_list *folders, struct err *err);
/* Writes to that audit log that something was refused for it; says so if it cannot. */
void manifest_refused(const char *audit, const struct err *why);

#endif
