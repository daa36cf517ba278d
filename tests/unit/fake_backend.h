/* A backend that makes nothing and does what a script says, one action a turn of the loop. */
#ifndef HOTCELL_TESTS_FAKE_BACKEND_H
#define HOTCELL_TESTS_FAKE_BACKEND_H

#include "cell/backend.h"

enum fake_kind {
	FAKE_STOP, /* nothing more happens by itself: it hangs until killed */
	FAKE_LISTENING, /* with `count` descriptors of /dev/null, closed afterwards */
	FAKE_STARTED,
	FAKE_PRINT, /* `text`, `count` times, to stdout */
	FAKE_PRINT_ERR, /* the same to stderr */
	FAKE_READ, /* stdin to its end, into fake.input */
	FAKE_WAIT, /* until fake.go */
	FAKE_ENDED, /* with `fake.end` */
	FAKE_FAILED, /* with `text` */
};

struct fake_action {
	enum fake_kind kind;
	const char *text;
	size_t count; /* 0 counts as 1 */
};

struct fake {
	/* the script */
	const struct fake_action *actions;
	struct cell_end end;
	int workspace; /* a copy is handed to ended; -1 */
	uint32_t off; /* protections that the receipt has not on, one bit each */
	const char *refuse; /* start fails with this */
	int fail_code; /* of FAKE_FAILED; 0 counts as EIO */
	bool deaf; /* kill does nothing */
	bool go;
	/* what was seen */
	unsigned opened, closed, started, killed, released, execs;
	struct buf input;
	cell_exec_fn *exec_done; /* of the last exec */
	void *exec_data;
	int exec_fds[3]; /* copies */
	bool exec_tty;
	char *exec_command;
};

extern struct fake fake;
extern const struct cell_backend fake_backend;
void fake_reset(const struct fake_action *actions);

#endif
