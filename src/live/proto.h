/* What both sides of a control socket agree on. Seen only inside src/live.
 *
 * A request is one message: u32 version, u32 what, then fields. Its answer is one message: u32 code (0, or
 * why not, with a sentence), then fields.
 *
 *	LIST  u32 from                          u32 more, u32 count, then for each cell: str id, str command,
 *	                                        str backend, u32 pid, u64 age, u64 memory, u64 printed
 *	KILL  str id                            -
 *	TAIL  str id, u64 offset, u32 wait      u32 over, u64 offset after, u32 length, bytes
 *	EXEC  str id, u32 tty; descriptors:     u32 wait status, when it is over
 *	      memory file (list argv, list env), stdin, stdout, stderr
 *	DOORS -                                 u32 any; if so, a descriptor: memory file of JSON */
#ifndef HOTCELL_LIVE_PROTO_H
#define HOTCELL_LIVE_PROTO_H

#include <stdbool.h>
#include <sys/un.h>

#include "base/err.h"

#define LIVE_VERSION 1
#define LIVE_REQUEST_MAX 4096
#define LIVE_TAIL_MAX (64 << 10)
#define LIVE_REPLY_MAX (LIVE_TAIL_MAX + 4096)
#define LIVE_EXEC_MAX (4 << 20) /* argv and env on the wire */
#define LIVE_EXEC_FDS 4
#define LIVE_COMMAND_MAX 1024
#define LIVE_DOORS_MAX (8 << 20) /* of JSON */

enum live_what {
	LIVE_LIST,
	LIVE_KILL,
	LIVE_TAIL,
	LIVE_EXEC,
	LIVE_DOORS,
	LIVE_WHAT_COUNT
};

/* The address of a socket in an open folder, however long the folder's path is. */
struct sockaddr_un live_address(int folder, const char *name);
/* Whether the other side is our user or root, and lives in no cell. */
bool live_peer_is_ours(int fd);

#endif
