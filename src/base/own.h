/* Scope-bound ownership.
 *
 *	own(fd_closep) int fd = open(...);
 *	own(freep) char *name = strdup(...);
 *	...
 *	return fd_take(&fd);		(hands the value on; the scope then owns nothing)
 */
#ifndef HOTCELL_BASE_OWN_H
#define HOTCELL_BASE_OWN_H

#include <stdlib.h>
#include <unistd.h>

#define own(destructor) __attribute__((cleanup(destructor)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(string, first) __attribute__((format(printf, string, first)))
#define ARRAY_LEN(array) (sizeof(array) / sizeof(*(array)))

static inline void freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void fd_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd); /* never retried: Linux has freed the number even on EINTR */
	*fd = -1;
}

static inline void fd_closep(int *fd)
{
	fd_close(fd);
}

static inline int fd_take(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

#define ptr_take(pointer)                                                                          \
	__extension__({                                                                            \
		__typeof__(*(pointer)) taken_ = *(pointer);                                        \
		*(pointer) = NULL;                                                                 \
		taken_;                                                                            \
	})

#endif
