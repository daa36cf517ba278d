/* One error: a cause and a sentence. It needs no heap, so a child can send it down a socket
 * before exec. Libraries fill it, each level adding what it was doing; only cli prints it. */
#ifndef HOTCELL_BASE_ERR_H
#define HOTCELL_BASE_ERR_H

#include "base/own.h"

struct err {
	int code; /* an errno value, or one of the ERR_ codes below */
	char text[400];
};

enum {
	ERR_USAGE = 10001, /* the caller's input is wrong: exit 2 */
	ERR_LIMIT = 10002, /* more than we take */
	ERR_MISSING = 10003, /* this machine lacks what was asked for */
	ERR_LOST = 10004, /* whoever was to do it was killed from outside: it may be asked for again */
};

/* All three return -1, so that `return err_set(...)` reads well.
 * err_errno appends the text of `code`; err_set does not; err_wrap puts "doing: " in front. */
int err_errno(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int err_set(struct err *err, int code, const char *format, ...) PRINTF_LIKE(3, 4);
int err_wrap(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
