/* Calls that are allowed or refused by their arguments: the code that decides on each. Arguments are compared in their low 32
 * bits, as the kernel takes them. See filter.c. */
#include "cell/native/inside/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/weaken.h"

static void if_equal(struct code *code, uint32_t k, enum target then, enum target otherwise)
{
	emit(code, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)then, (uint8_t)otherwise, k);
}

static void if_set(struct code *code, uint32_t bits, enum target then, enum target otherwise)
{
	emit(code, BPF_JMP | BPF_JSET | BPF_K, (uint8_t)then, (uint8_t)otherwise, bits);
}

static void only_if_among(
	struct code *code, const uint32_t *values, size_t count, enum target then, enum target otherwise)
{
	for (size_t i = 0; i < count; i++) /* NEXT: over the rest of the list */
		if_equal(code, values[i], then == NEXT ? (enum target)(count - i - 1) : then,
			i + 1 < count ? NEXT : otherwise);
}

void emit_clone(struct code *code, int error)
{
	static const uint32_t namespaces = 0x7e020000; /* the CLONE_NEW* that clone knows */

	load_arg(code, 0);
	if_set(code, namespaces, refused(code, error), TO_ALLOW);
}

void emit_unshare(struct code *code, int error)
{
	static const uint32_t harmless = 0x200 | 0x400 | 0x40000; /* FS, FILES, SYSVSEM */

	load_arg(code, 0);
	if_set(code, ~harmless, refused(code, error), TO_ALLOW);
}

void emit_socket(struct code *code, int error)
{
	static const uint32_t types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	static const uint32_t protocols[] = { 0, 1, 6, 17, 58 }; /* the usual; ICMP, TCP, UDP, ICMPv6 */
	static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6 };

	load_arg(code, 1);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, 0xf); /* the type without its flags */
	only_if_among(code, types, ARRAY_LEN(types), NEXT, refused(code, error));
	load_arg(code, 2);
	only_if_among(code, protocols, ARRAY_LEN(protocols), NEXT, refused(code, error));
	load_arg(code, 0);
	only_if_among(code, families, ARRAY_LEN(families), TO_ALLOW, refused(code, error));
}

void emit_socketpair(struct code *code, int error)
{
	load_arg(code, 0);
	if_equal(code, AF_UNIX, TO_ALLOW, refused(code, error));
}

/* What would outlive the cell. A connection that is closed with bytes to send is kept by the kernel, with its memory and
 * its network, until those are sent or an answer says that nobody wants them: so none shall send slower than it can, or
 * where nobody is, drop its answers or wait longer for them. A flow label is nobody's but the network's, which another cell may get.
 * And what a program for packets is translated to is memory that no cgroup counts, and of which the
 * whole machine has half a gigabyte: when that is used up nobody but root gets a filter of system
 * calls any more. */
void emit_setsockopt(struct code *code, int error)
{
	static const struct {
		uint32_t level, names[5];
		size_t count;
	} kinds[] = {
		/* SO_MAX_PACING_RATE, SO_ATTACH_FILTER, SO_BINDTODEVICE, SO_BINDTOIFINDEX,
		 * SO_ATTACH_REUSEPORT_CBPF */
		{ SOL_SOCKET, { 47, 26, 25, 62, 51 }, 5 },
		{ IPPROTO_TCP, { 14, 32, 38, 37, 44 }, 5 }, /* MD5SIG, MD5SIG_EXT, AO_ADD_KEY, TX_DELAY, RTO_MAX_MS */
		{ IPPROTO_IPV6, { 32, 73, 57, 6 }, 4 }, /* FLOWLABEL_MGR, MINHOPCOUNT, RTHDR, 2292PKTOPTIONS */
		{ IPPROTO_IP, { 21, 4 }, 2 }, /* MINTTL, OPTIONS */
	};

	load_arg(code, 1);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) { /* else: over the load and the names, to the next level */
		enum target otherwise = i + 1 < ARRAY_LEN(kinds) ? (enum target)(1 + kinds[i].count) : TO_ALLOW;
		if_equal(code, kinds[i].level, NEXT, otherwise);
		load_arg(code, 2);
		only_if_among(code, kinds[i].names, kinds[i].count, refused(code, error), TO_ALLOW);
	}
}

/* Putting words into a terminal's mouth; and what works through a read-only mount all the same: taking
 * away the key of an encrypted folder, which is the user's and not a descriptor's (the host's own folder
 * is locked), giving the file system one, which stays until that is unmounted, and writing out all of a
 * Btrfs. */
void emit_ioctl(struct code *code, int error)
{
	static const uint32_t requests[] = { 0x5412, 0x541c, /* TIOCSTI, TIOCLINUX */
		FS_IOC_REMOVE_ENCRYPTION_KEY, FS_IOC_ADD_ENCRYPTION_KEY,
		0x9408, 0x80089418 }; /* BTRFS_IOC_SYNC, BTRFS_IOC_START_SYNC */

	load_arg(code, 1);
	only_if_among(code, requests, ARRAY_LEN(requests), refused(code, error), TO_ALLOW);
}

/* A lease or a delegation on a file that is only read makes everybody else on the machine wait who opens it; a notice and a
 * hint reach the host's inode, too. Programs can do without any of them. Newer commands are unknown, as newer calls are. */
void emit_fcntl(struct code *code, int error)
{
	static const uint32_t first_unknown = 1036; /* F_SET_RW_HINT; behind those of files come F_GETDELEG and F_SETDELEG */
	static const uint32_t reaching[] = { 1024, 1026 }; /* F_SETLEASE, F_NOTIFY */

	load_arg(code, 1);
	emit(code, BPF_JMP | BPF_JGE | BPF_K, (uint8_t)refused(code, error), NEXT, first_unknown);
	only_if_among(code, reaching, ARRAY_LEN(reaching), refused(code, error), TO_ALLOW);
}

/* Who can write to nothing that lasts has nothing to be written out, and is told so: it would be the host's. */
void emit_done(struct code *code, int error)
{
	(void)error;
	if_equal(code, 0, TO_NOTHING, TO_NOTHING);
}

void emit_personality(struct code *code, int error)
{
	/* PER_LINUX, PER_LINUX32; ADDR_NO_RANDOMIZE: debuggers and fuzzers; the last only asks */
	static const uint32_t kinds[] = { 0, 8, 0x0040000, 0xffffffff };

	load_arg(code, 0);
	only_if_among(code, kinds, ARRAY_LEN(kinds), TO_ALLOW, refused(code, error));
}

#define SET_ID (S_ISUID | S_ISGID)

static void emit_node(struct code *code, unsigned mode_arg, int error)
{
	static const uint32_t kinds[] = { 0, S_IFREG, S_IFIFO, S_IFSOCK };

	load_arg(code, mode_arg);
	if_set(code, SET_ID, refused(code, error), NEXT);
	emit(code, BPF_ALU | BPF_AND | BPF_K, 0, 0, S_IFMT);
	only_if_among(code, kinds, ARRAY_LEN(kinds), TO_ALLOW, refused(code, error));
}

void emit_mknod(struct code *code, int error)
{
	emit_node(code, 1, error);
}

void emit_mknodat(struct code *code, int error)
{
	emit_node(code, 2, error);
}

static void emit_mode(struct code *code, unsigned mode_arg, int error)
{
	load_arg(code, mode_arg);
	if_set(code, SET_ID, refused(code, error), TO_ALLOW);
}

void emit_mode1(struct code *code, int error)
{
	emit_mode(code, 1, error);
}

void emit_mode2(struct code *code, int error)
{
	emit_mode(code, 2, error);
}

/* The mode counts only where a file may be made; else the register holds anything. */
static void emit_creating(struct code *code, unsigned flags_arg, int error)
{
	load_arg(code, flags_arg);
	if_set(code, O_CREAT | 020000000 /* O_TMPFILE's own bit */, NEXT, TO_ALLOW);
	emit_mode(code, flags_arg + 1, error);
}

void emit_open(struct code *code, int error)
{
	emit_creating(code, 1, error);
}

void emit_openat(struct code *code, int error)
{
	emit_creating(code, 2, error);
}

/* The first argument is a process: any but init. */
void emit_not_init(struct code *code, int error)
{
	load_arg(code, 0);
	if_equal(code, 1, refused(code, error), TO_ALLOW);
}

/* The limit of cores stays what it is, and whoever sets it is told that it was done: sanitizers give up where they cannot. At 0
 * the kernel would call the handler of the machine, which is root's and in no cell (core_pattern with a '|'). */
static enum target core_target(void)
{
	return weakened("core-limit") ? TO_ALLOW : TO_NOTHING;
}

void emit_prlimit(struct code *code, int error)
{
	load_arg(code, 0);
	if_equal(code, 1, refused(code, error), NEXT);
	load_arg(code, 1);
	if_equal(code, RLIMIT_CORE, NEXT, TO_ALLOW);
	load_arg(code, 2); /* without a new limit it only asks */
	if_equal(code, 0, NEXT, core_target());
	load(code, offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t) + sizeof(uint32_t));
	if_equal(code, 0, TO_ALLOW, core_target());
}

void emit_setrlimit(struct code *code, int error)
{
	(void)error;
	load_arg(code, 0);
	if_equal(code, RLIMIT_CORE, core_target(), TO_ALLOW);
}

/* Kinds of "who": 0 a process, 1 a group, 2 a user, which would include init. */
static void emit_who(struct code *code, uint32_t user, int error)
{
	load_arg(code, 0);
	if_equal(code, user, refused(code, error), NEXT);
	load_arg(code, 1);
	if_equal(code, 1, refused(code, error), TO_ALLOW);
}

void emit_priority(struct code *code, int error)
{
	emit_who(code, 2, error); /* PRIO_USER */
}

void emit_io_priority(struct code *code, int error)
{
	emit_who(code, 3, error); /* IOPRIO_WHO_USER */
}
