/* Between filter.c (tables, layout), filter_checks.c (calls by their arguments) and filter_apart.c (what stands in front). */
#ifndef HOTCELL_CELL_NATIVE_INSIDE_FILTER_H
#define HOTCELL_CELL_NATIVE_INSIDE_FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "cell/native/native.h"
#include "cell/native/inside/newer_calls.h"

#define MAX_NR FILTER_MAX_NR

/* Where a jump goes: over that many instructions, or to one of the verdicts, which all checks share and which
 * come behind them. */
enum target {
	NEXT = 0,
	TO_ALLOW = 250,
	TO_NOTIFY,
	TO_EPERM,
	TO_ENOSYS,
	TO_EAFNOSUPPORT,
	TO_NOTHING, /* says that it was done */
	TO_END
};

struct code {
	struct sock_filter insn[2048];
	size_t len;
	bool full, counted;
};

static inline void emit(struct code *code, uint16_t op, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (code->len == ARRAY_LEN(code->insn)) {
		code->full = true;
		return;
	}
	code->insn[code->len++] = (struct sock_filter){ op, jt, jf, k };
}

static inline void load(struct code *code, size_t offset)
{
	emit(code, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static inline void load_arg(struct code *code, unsigned index)
{
	/* the low half, on the little-endian machines we know */
	load(code, offsetof(struct seccomp_data, args) + index * sizeof(uint64_t));
}

static inline enum target refused(const struct code *code, int error)
{
	if (code->counted)
		return TO_NOTIFY;
	return error == ENOSYS ? TO_ENOSYS : error == EAFNOSUPPORT ? TO_EAFNOSUPPORT : TO_EPERM;
}

/* Numbers from `first` on, up to the next range's. */
struct range {
	uint32_t first;
	unsigned char action;
};

/* A check begins with nothing loaded, and ends in a verdict. `error` is what a refused call gets. */
typedef void check_fn(struct code *code, int error);
check_fn emit_clone, emit_unshare, emit_socket, emit_socketpair, emit_setsockopt, emit_ioctl, emit_fcntl, emit_done, emit_personality, emit_mknod, emit_mknodat,
	emit_not_init, emit_prlimit, emit_setrlimit,
	emit_priority, emit_io_priority, emit_mode1, emit_mode2, emit_open, emit_openat;

/* What a spec denies, and what the listener is asked about: in front of the rest. The number is loaded, before and behind. */
void emit_denied(struct code *code, const struct call_set *set, bool counted);

#endif
