/* What a campaign's options reach outside of its cells: for files, which may have come with a
 * clone, and for ledgers that are looked at before they are trusted. */
#ifndef HOTCELL_CLI_CAMPAIGN_REACH_H
#define HOTCELL_CLI_CAMPAIGN_REACH_H

#include <stdbool.h>

enum campaign_reach {
	REACH_CELL, /* nothing but the cell, and the project that the current folder is */
	REACH_SAID, /* the network, or a built-in profile: said, and taken */
	REACH_OUT, /* something of this machine or of the user's, or an option that has no row: needs --trust */
};
/* Of one option as "--NAME=VALUE" or "--NAME", seen from the current folder. */
enum campaign_reach campaign_reach(const char *word);
bool campaign_reach_known(const char *name); /* whether the option "NAME" has a row */

/* Whether it names anything of this machine at all, in whichever folder: for who looks at it from
 * elsewhere. */
bool campaign_is_access(const char *word);

#endif
