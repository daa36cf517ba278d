/* What programs of a cell set out to do: from a call that waits at the filter's listener to a record, and back. */
#ifndef HOTCELL_CELL_NATIVE_INSIDE_EFFECTS_H
#define HOTCELL_CELL_NATIVE_INSIDE_EFFECTS_H

#include "cell/native/native.h"

#define EFFECT_MAX_WHAT 4096
#define EFFECT_MAX_WORDS 32
#define EFFECT_MAX_WORD_BYTES 8192
/* In the place of a kind: no effect, only how many were dropped. */
#define EFFECT_NONE UINT32_MAX

/* ---- which calls (effect_calls.c; pure) ---- */

/* Where a call's effect is told. Numbers are those of arguments; -1: none, for a folder the working directory. */
enum effect_form {
	FORM_PATH, /* a name, from a folder */
	FORM_TWO_PATHS, /* the first is removed, the second written */
	FORM_FD, /* a descriptor: its file */
	FORM_OPEN, /* a name, from a folder, if `flags` is for writing */
	FORM_OPEN_HOW, /* the same, with the flags in memory */
	FORM_EXEC, /* a name, from a folder; words */
	FORM_CONNECT, /* an address */
	FORM_SENDTO, /* an address, if there is one */
	FORM_SENDMSG, /* one in a header */
	FORM_SENDMMSG, /* in several */
};
struct effect_call {
	int nr;
	enum effect_form form;
	enum cell_effect_kind kind;
	int folder, path, folder2, path2;
	int extra; /* flags of FORM_OPEN, words of FORM_EXEC */
};
const struct effect_call *effect_call_find(int nr); /* NULL: none */
bool effect_opens_for_writing(uint64_t flags);

/* ---- texts and bytes (effect_text.c; pure) ---- */

/* The path as it is from the root on, "." and ".." folded by their text; "" if it is not absolute and has no base. At most
 * EFFECT_MAX_WHAT bytes. */
void effect_path(const char *base, const char *path, struct buf *ret);
/* A socket's address of `len` bytes, for a process whose working directory is `base`. False if it names nothing: to connect
 * to AF_UNSPEC is to disconnect. */
bool effect_address(const void *address, size_t len, bool connects, const char *base, struct buf *ret);
/* The name and the process of a thread, from its /proc/TID/status. */
void effect_status(const char *text, char *ret_name, size_t size, int *ret_pid);
void effect_encode(struct buf *buf, const struct cell_effect *effect, uint64_t dropped); /* effect NULL: EFFECT_NONE */
/* What follows MSG_EFFECT. Strings point into the message, the words are the caller's to free. False: damaged. *ret_any:
 * whether it is an effect. */
bool effect_decode(struct wire_reader *reader, struct cell_effect *ret, const char ***ret_words, bool *ret_any,
	uint64_t *ret_dropped);

/* ---- init's side (effects.c) ---- */

struct effects {
	bool proc; /* the cell has its /proc, so memory and folders can be looked at */
	int control; /* where they are told */
	uint64_t mark; /* of our own calls */
	size_t room; /* of `control`, bytes */
	uint64_t dropped, next_note;
};
void effects_open(struct effects *effects, int control, bool proc, uint64_t mark); /* before the filter is on */
/* Tells what this call would do. False if its caller is gone, and with it the call. */
bool effects_tell(struct effects *effects, int listener, const struct seccomp_notif *call);
void effects_end(struct effects *effects); /* tells how many were dropped in all */

#endif
