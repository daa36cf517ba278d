/* The findings of a project, as verbs mean them: the folder in the state folder, and one of them by its id or file. */
#ifndef HOTCELL_CLI_CMD_FINDING_PLACE_H
#define HOTCELL_CLI_CMD_FINDING_PLACE_H

#include "finding/store.h"

struct findings_place {
	char *shown; /* how its folder is named in commands: from here, if it is below */
	struct finding_store store;
};

/* `given` is what --state says, or NULL. Nothing is made: where nothing was ever found, there is nothing. */
MUST_CHECK int findings_place_open(struct findings_place *ret, const char *given, struct err *err);
void findings_place_done(struct findings_place *place);
/* Says on stderr which files are no findings, and which suppressions have ended. */
void findings_place_tell(const struct findings_place *place, int64_t now);

/* By its id or an unmistakable beginning of it. NULL is ERR_USAGE: there is none, or more than one. */
MUST_CHECK const struct finding *findings_place_find(const struct findings_place *place, const char *id, struct err *err);
/* Whether the word is a capsule's file, and not an id. */
bool finding_is_file(const char *word);
/* The file is a stranger's. */
MUST_CHECK int finding_file_read(const char *path, struct finding *ret, struct err *err);

#endif
