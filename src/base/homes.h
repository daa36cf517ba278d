/* Folders that are more than one project: whoever is shown one of them is shown what is not meant. By the file system and the
 * accounts, and not by $HOME alone: under sudo and cron that is another's. */
#ifndef HOTCELL_BASE_HOMES_H
#define HOTCELL_BASE_HOMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The root, the system's own folders, those that everybody may write to, a home (the user's, or that of the folder's owner), and
 * folders above a home. `folder` is absolute, and behind all links. */
bool folder_is_shared(const char *folder);
/* A home, or a folder directly in one that programs of all kinds keep their files in: ~/.local, ~/.config. */
bool folder_is_homelike(const char *folder);

/* The home of a user by the text of /etc/passwd, in *ret: false if there is none. Pure; *ret points into the text. */
bool homes_find(const char *passwd, uid_t uid, const char **ret, size_t *ret_len);

#endif
