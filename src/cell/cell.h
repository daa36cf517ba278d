/* One sandboxed run: a `cell_spec` in, a `cell_result` out.
 *
 * A pool makes cells with one backend and keeps warm what it can. Life of a cell: cell_start, then
 * its `done` callback exactly once with the result, then cell_free. Everything inside is dead when
 * `done` is called. Freeing a running cell kills it.
 *
 *	own(cell_pool_freep) struct cell_pool *pool = cell_pool_open("native", loop, &err);
 *	struct cell *cell = cell_start(pool, &spec, &io, done, data, &err);
 *	while (...) loop_turn(loop, -1);
 *
 * Nothing in this header belongs to a particular backend. */
#ifndef HOTCELL_CELL_CELL_H
#define HOTCELL_CELL_CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/loop.h"

/* ---- what is asked for ---- */

struct cell_space;

struct cell_mount {
	const char *source; /* absolute path on the host: a folder or a regular file */
	const char *target; /* absolute path in the cell */
	bool writable;
	const struct cell_space *space; /* not NULL: the source is the name of a folder at the top of this, and not the host's */
	/* Of the source, where it was opened or looked at before: a cell is made with no other, whatever is at the path by then.
	 * 0: whatever is there when the cell is asked for. */
	uint64_t device, inode;
};
/* Ties a mount to what this descriptor has open. */
void cell_mount_pin(struct cell_mount *mount, int fd);
int cell_mount_replaced(const struct cell_mount *mount, struct err *err); /* the error if it is not that any more: -1 */
/* The same of an image: `now` is what is there. */
MUST_CHECK int cell_image_compare(const char *image, struct fs_id id, const struct stat *now, struct err *err);

/* A socket that listens in the cell's own loopback network, and is served from outside. */
struct cell_listener {
	uint32_t address; /* in 127.0.0.0/8, host byte order */
	uint16_t port;
};

/* What a program may do below a path, each a bit: Landlock's rights, by the names of cell_right_name. */
enum cell_right {
	CELL_READ, CELL_LIST, CELL_EXECUTE, CELL_WRITE, CELL_TRUNCATE, CELL_MAKE_FILE, CELL_MAKE_DIR, CELL_MAKE_SYMLINK,
	CELL_MAKE_SOCKET, CELL_MAKE_FIFO, CELL_REMOVE_FILE, CELL_REMOVE_DIR, CELL_REFER, CELL_IOCTL,
	CELL_RIGHT_COUNT
};
const char *cell_right_name(enum cell_right right); /* "read", "make-file", ... */
#define CELL_RIGHT(right) (UINT32_C(1) << (right))

struct cell_path {
	const char *path; /* absolute, in the cell; what is missing below the workspace, /tmp or /dev/shm is made, as a folder */
	uint32_t rights; /* bits of CELL_RIGHT; at least one */
};

struct cell_limits {
	uint64_t memory; /* bytes, swap included */
	uint32_t cpus_milli; /* 1000 = one CPU */
	uint32_t nice; /* 0 to 19: how far it steps back where others want the same CPU */
	uint64_t timeout_ms;
	uint64_t processes; /* tasks, threads too */
	uint64_t tmp; /* size of /tmp */
	uint64_t disk; /* size of the workspace */
	uint64_t shm; /* size of /dev/shm */
	uint64_t file_size; /* largest single file */
	uint64_t open_files; /* per process */
	uint64_t output; /* stdout + stderr, bytes */
	uint64_t collect; /* bytes taken back from the workspace */
	uint64_t collect_files; /* files and folders taken back */
};

struct cell_spec {
	const char *image; /* "host", or the path of a root file system */
	struct fs_id image_id; /* of that folder, as with mounts; 0: whatever is there when the cell is asked for */
	const char *const *argv; /* NULL-terminated */
	const char *const *env; /* "K=V", NULL-terminated; the whole environment */
	const char *cwd; /* in the cell; NULL: the workspace */
	const struct cell_mount *mounts;
	size_t mount_count;
	const char *const *hide; /* globs of names, or of paths from a mount's top ("/a/b"), that vanish; NULL-terminated */
	/* Programs that can be neither run nor read: globs of names, wherever they are, and absolute paths in the cell; what these lead
	 * to through links is meant, under all its names. NULL-terminated. */
	const char *const *forbid;
	uint32_t uid, gid; /* as seen inside */
	bool tmp_exec; /* programs may be run from /tmp */
	bool no_exec; /* no program may be run from the workspace or a writable mount */
	/* System calls by name, NULL-terminated; NULL: none. Those to be refused, and those to be let through that are
	 * refused otherwise, which makes the filter weaker (see cell_call). */
	const char *const *calls_deny, *const *calls_allow;
	/* With any, the rights to write are had below these paths only; so are reading, listing, executing and ioctl if some
	 * path here has that right. What the cell would not let it do without them stays so: they can only take away. */
	const struct cell_path *paths;
	size_t path_count;
	bool observe; /* say in the result which calls were made, and where something was written; slow */
	bool effects; /* tell what its programs set out to do to the world around them: cell_io.effect */
	const char *profile; /* for the result: where all this comes from, NAME@sha256:SUM; NULL: nowhere */
	bool tty; /* a terminal of its own for stdin, stdout and stderr */
	unsigned rows, columns; /* of it, at the start; 0: not known */
	/* What the run left in its workspace is copied into a folder: a new or an empty one by its path; or, when
	 * that is NULL, an open one (-1: none), which may hold files already and keeps them. The descriptor stays
	 * the caller's. */
	const char *output_dir;
	int output_fd;
	const char *const *output_reserved; /* names not to be taken into it; NULL-terminated; may be NULL */
	struct cell_limits limits;
	const struct cell_listener *listeners; /* given to cell_io.listening before the program runs */
	size_t listener_count;
	const char *hosts; /* further lines of the cell's /etc/hosts; NULL: none. An image must have that file then */
	const char *const *require; /* names of protections without which it must not start; "full" = all */
};

#define CELL_WORKSPACE "/workspace"
#define CELL_MAX_MOUNTS 256
#define CELL_MAX_SPACES 2 /* of one cell */
#define CELL_MAX_PATHS 128
#define CELL_MAX_LISTENERS 14
#define CELL_MAX_HOSTS 65536 /* bytes */
#define CELL_MAX_ARGS 65536
#define CELL_MAX_ARG_BYTES (UINT64_C(2) << 20) /* argv and env together, as the kernel takes them */

/* Default limits, user and hide list; argv and the rest empty. */
void cell_spec_defaults(struct cell_spec *spec);
bool cell_spec_collects(const struct cell_spec *spec); /* whether the workspace is wanted afterwards */
extern const char *const cell_default_hide[]; /* NULL-terminated */
extern const char *const cell_default_env[];
/* Everything that can be judged without making a cell. Errors have code ERR_USAGE. */
MUST_CHECK int cell_spec_check(const struct cell_spec *spec, struct err *err);

/* System calls as the filter knows them. What it does not know does not exist in a cell. */
enum cell_call_kind {
	CELL_CALL_FREE, /* allowed, perhaps but for some arguments; may be denied */
	CELL_CALL_KEPT, /* the same, but no program would start without it: cannot be denied */
	CELL_CALL_CLOSED, /* refused, may be allowed */
	CELL_CALL_NEVER, /* refused, cannot be allowed: `why` says what would break */
};
struct cell_call {
	const char *name;
	enum cell_call_kind kind;
	const char *why; /* half a sentence; NULL for CELL_CALL_FREE */
};
#define CELL_MAX_CALLS 512
const struct cell_call *cell_call_at(size_t index); /* in no order; NULL at the end, before CELL_MAX_CALLS */
const struct cell_call *cell_call_find(const char *name); /* NULL if there is none */

/* ---- what came of it ---- */

enum cell_outcome {
	CELL_EXITED, /* the program ended by itself */
	CELL_SIGNALED, /* a signal ended it */
	CELL_TIMEOUT, /* our clock ended it */
	CELL_OOM, /* it went beyond its memory */
	CELL_OUTPUT_LIMIT, /* it printed more than it may */
	CELL_DISK_LIMIT, /* it failed with its scratch space full, or beyond the file size */
	CELL_DENIED, /* the system call filter ended it */
	CELL_SETUP_FAILED, /* it never ran */
	CELL_CANCELLED, /* we or the user ended it */
	CELL_OUTCOME_COUNT
};
const char *cell_outcome_name(enum cell_outcome outcome); /* "exited", "output-limit", ... */

/* Each protection a cell may have. A receipt says for each whether it took effect. */
enum cell_protection {
	CELL_USER_NS, CELL_PID_NS, CELL_MOUNT_NS, CELL_NET_NS, CELL_IPC_NS, CELL_UTS_NS, CELL_CGROUP_NS,
	CELL_READ_ONLY_ROOT, CELL_PRIVATE_TMP, CELL_PRIVATE_PROC, CELL_HIDDEN_FILES,
	CELL_NON_ROOT, CELL_NO_CAPS, CELL_NO_NEW_PRIVS, CELL_SECCOMP, CELL_LANDLOCK,
	CELL_MEMORY_LIMIT, CELL_CPU_LIMIT, CELL_PROCESS_LIMIT, CELL_DISK_LIMITED, CELL_FILE_LIMITS,
	CELL_OUTPUT_LIMITED, CELL_WALL_CLOCK,
	CELL_CLEAN_FDS, CELL_CLEAN_ENV, CELL_OWN_SESSION, CELL_KILL_ALL,
	CELL_PROTECTION_COUNT
};
const char *cell_protection_name(enum cell_protection protection); /* "user-namespace", "memory-limit", ... */
const char *cell_protection_help(enum cell_protection protection); /* one line for people */

enum cell_grade {
	CELL_OFF, /* not in effect */
	CELL_WEAKER, /* something less than the full mechanism; `note` says what */
	CELL_ON
};

struct cell_receipt {
	const char *backend; /* static */
	uint8_t grade[CELL_PROTECTION_COUNT]; /* enum cell_grade */
	char note[CELL_PROTECTION_COUNT][120]; /* how, or why not; "" when there is nothing to say */
};
bool cell_receipt_full(const struct cell_receipt *receipt);

#define CELL_REFUSED_KEPT 32
struct cell_refused {
	const char *what; /* static: "mount", "socket", "clone" ... */
	uint64_t count;
};

/* What it did, if that was asked for. Calls that every program needs (CELL_CALL_KEPT) are not looked at. */
struct cell_observed {
	bool valid; /* it was looked at from its beginning to its end */
	bool calls[CELL_MAX_CALLS]; /* made and let through, by the index of cell_call_at */
	bool wrote_tmp, wrote_shm, wrote_workspace; /* a name was made or removed at its top, or it holds something */
};

struct cell_result {
	enum cell_outcome outcome;
	int exit_code; /* when outcome is CELL_EXITED, or what the main program exited with; else -1 */
	int signal; /* the signal that ended the main program, else 0 */
	bool lost; /* its end, or what it left, was not seen: a process of ours was killed from outside. Says nothing about the program */
	uint64_t wall_ns; /* from the program's start to its end */
	uint64_t setup_ns; /* from cell_start to the program's start */
	uint64_t user_us, system_us; /* of everything in the cell */
	uint64_t peak_memory; /* bytes; 0 where it could not be known */
	uint64_t oom_kills;
	uint64_t processes; /* tasks ever made in the cell */
	uint64_t stdout_bytes, stderr_bytes; /* passed on */
	bool stdout_unfinished; /* what was passed on to stdout did not end its last line */
	uint64_t dropped_bytes; /* printed beyond the limit */
	uint64_t written_bytes; /* held in /tmp and the workspace at the end */
	uint64_t refused_total;
	struct cell_refused refused[CELL_REFUSED_KEPT]; /* by name; unused ones have what == NULL */
	bool collected; /* `collect` holds */
	struct fs_copy_report collect;
	struct cell_observed observed;
	char *profile; /* as in the spec; NULL: none */
	char *forbidden; /* what was covered for spec->forbid, see cell_forbidden_next; NULL: nothing was to be */
	size_t forbidden_len;
	struct cell_receipt receipt;
	struct err err; /* why, when it never ran, was lost, or collecting failed */
};
void cell_result_done(struct cell_result *result);
/* Each name of spec->forbid with the paths that were covered for it, a pair at a time, in order; *ret_path is "" for a name that
 * leads to nothing in the cell. *at begins at 0. Pure. */
bool cell_forbidden_next(const char *list, size_t len, size_t *at, const char **ret_name, const char **ret_path);
void cell_result_json(const struct cell_result *result, struct json *json); /* one object */
void cell_result_members(const struct cell_result *result, struct json *json); /* the same, into an open one */
int cell_result_exit_code(const struct cell_result *result); /* what `hotcell run` exits with */

/* ---- making them ---- */

struct cell_pool;
struct cell;

/* Something that a program in the cell sets out to do, known before it happens. Whether it succeeds is not told: what the
 * cell forbids is set out to be done all the same. The texts come out of the program's memory, which its other threads may
 * change: they are what it showed, not what the kernel read. */
enum cell_effect_kind {
	CELL_EFFECT_EXEC, /* starts a program; the main program's own start is none */
	CELL_EFFECT_CONNECT, /* connects, or sends without connection */
	CELL_EFFECT_WRITE, /* opens a file for writing; makes, links, truncates, or changes the mode, owner or times of something */
	CELL_EFFECT_REMOVE, /* removes or renames something: what is there under `what` is gone after it */
	CELL_EFFECT_COUNT
};
const char *cell_effect_name(enum cell_effect_kind kind); /* "exec", "connect", "write", "remove" */

struct cell_effect {
	enum cell_effect_kind kind;
	const char *what; /* an absolute path as it sees it, "192.0.2.1:80", "[::1]:80", "unix:/path", "unix:@name"; raw bytes, at most 4096 */
	const char *const *words; /* CELL_EFFECT_EXEC: its arguments, the first 32, 8 KB in all; NULL-terminated; else NULL */
	const char *by; /* the name of the process (its comm) */
	int pid; /* as the cell sees it */
};

/* Where the cell's stdio goes. The pool reads and writes these; they never enter the cell. -1: nothing
 * (stdin is empty, output is counted and dropped). With spec->tty, stdin and stdout are one terminal. */
struct cell_io {
	int in, out, err;
	/* They enter the cell as they are, for a program that is spoken with: nothing of ours stands between, and nothing
	 * counts or limits what is said. Give pipes or sockets of their own, never a terminal. -1: as above. Not with
	 * spec->tty. */
	bool direct;
	bool filter; /* what goes to a terminal is made safe for it on the way */
	size_t keep; /* bytes of latest output kept for cell_tail */
	/* The cell's listeners, in the order of the spec, with the data of cell_start; from the loop, once, before the
	 * program runs; never for a cell without any, or one that does not get so far. They are closed after the
	 * call: copy what is to stay. It may cancel the cell, not free it. May be NULL. */
	void (*listening)(void *data, const int *fds, size_t count);
	/* Changes what was printed, with the data of cell_start: adds to *out what is to be kept, and passed on. `stream` is 0
	 * for stdout, 1 for stderr. It may hold bytes back, and gets no bytes once, at the stream's end. What is counted is
	 * what was printed. May be NULL. */
	void (*change)(void *data, unsigned stream, const char *bytes, size_t len, struct buf *out);
	bool pass_unchanged; /* only what is kept is changed */
	/* With spec->effects, each effect, in order, with the data of cell_start. It may cancel the cell, not free it. The
	 * effect is good during the call. May be NULL. */
	void (*effect)(void *data, const struct cell_effect *effect);
};

typedef void cell_done_fn(void *data, struct cell *cell, const struct cell_result *result);

MUST_CHECK struct cell_pool *cell_pool_open(const char *backend, struct loop *loop, struct err *err);
struct cell_pool *cell_pool_free(struct cell_pool *pool); /* kills what runs; waits until nothing is left */
/* The same for a process about to end: what is left when all cells are dead goes by itself, soon after. */
void cell_pool_leave(struct cell_pool *pool);
void cell_pool_freep(struct cell_pool **pool);
uint64_t cell_pool_cleanup_failures(const struct cell_pool *pool); /* cells that did not go by themselves in time */
/* Who keeps a record of all cells of a pool: called when one was started, with no result; and once when it is over, before
 * `done`, and also where nobody waits for that any more. Not for one that did not die in time when the pool was freed. It
 * neither cancels nor frees. */
typedef void cell_watch_fn(void *data, const struct cell *cell, const struct cell_result *result);
void cell_pool_watch(struct cell_pool *pool, cell_watch_fn *fn, void *data);
/* Who is told, in a sentence for the user, of each name of spec->forbid that matches no program: a misspelt one must not look like
 * protection. For the first cell of the pool alone, before its program runs. */
typedef void cell_warn_fn(void *data, const char *sentence);
void cell_pool_warn(struct cell_pool *pool, cell_warn_fn *fn, void *data);
/* Keep `count` cells of this spec ready beforehand; they are refilled as they are used. Optional. */
MUST_CHECK int cell_pool_warm(struct cell_pool *pool, const struct cell_spec *spec, unsigned count, struct err *err);

/* A file system with a size, which several cells can be shown at once and which we see while they write to it. It is memory, charged
 * to whoever writes, and on no disk: what is left in it goes with the last of its users, however those end. Nothing outside of this
 * process and of cells with a mount of it can reach it. Cells of its pool alone can be shown it. Free it before its pool. */
MUST_CHECK struct cell_space *cell_space_open(struct cell_pool *pool, uint64_t bytes, uint64_t files, struct err *err);
/* Cells that are shown it are to have ended. NULL is fine; returns NULL. */
struct cell_space *cell_space_free(struct cell_space *space);
int cell_space_top(const struct cell_space *space); /* its top folder; what cells made below is hostile */
/* How much of it is free: what is open and has no name any more takes as much as what has. False: it cannot be told. */
bool cell_space_left(const struct cell_space *space, uint64_t *ret_bytes, uint64_t *ret_files);

/* NULL only for errors of the request itself; whatever goes wrong later comes as a result. The spec
 * is used before the call returns and need not live on. */
MUST_CHECK struct cell *cell_start(struct cell_pool *pool, const struct cell_spec *spec, const struct cell_io *io,
	cell_done_fn *done, void *data, struct err *err);
void cell_cancel(struct cell *cell); /* ends it; `done` follows with CELL_CANCELLED */
struct cell *cell_free(struct cell *cell); /* NULL is fine; returns NULL */

/* For a live cell. */
const char *cell_id(const struct cell *cell); /* "c4f1a02", unique on this machine while it lives */
uint64_t cell_age_ns(const struct cell *cell);
uint64_t cell_memory(const struct cell *cell); /* bytes now; 0 if unknown */
int cell_pid(const struct cell *cell); /* a process on the host that dies with the cell; 0 if none */
const struct cell_receipt *cell_receipt(const struct cell *cell);
void cell_tail(const struct cell *cell, struct buf *ret); /* the latest output kept */
uint64_t cell_printed(const struct cell *cell); /* bytes of output so far: where the tail ends */
/* Tells (cell_io.effect) what has been set out to be done so far: all of it that happened before anything the cell has said
 * on a direct descriptor by now. False: this backend or kernel tells none. */
bool cell_effects(struct cell *cell);
uint64_t cell_effects_dropped(const struct cell *cell); /* set out faster than they were taken in */
/* A terminal has not taken all of its output, and may be inside a sequence: what is printed there next begins with TERM_CANCEL.
 * Holds on after the end, if that was not waited for. */
bool cell_is_cut(const struct cell *cell);
void cell_resize(struct cell *cell, unsigned rows, unsigned columns); /* of its terminal */

/* A further program inside a live cell, in all its namespaces and limits. The three descriptors
 * enter the cell as they are: give pipes or a terminal of its own, never yours, nor a device of the host's. -1: nothing. */
typedef void cell_exec_fn(void *data, int wait_status, const struct err *err); /* err NULL when it ran */
MUST_CHECK int cell_exec(struct cell *cell, const char *const *argv, const char *const *env, const int fds[3],
	bool tty, cell_exec_fn *done, void *data, struct err *err);

/* ---- what this machine can do ---- */

#define CELL_PROBE_WHOLE "a whole cell"
struct cell_probe {
	const char *name; /* "user namespaces"; CELL_PROBE_WHOLE is off where no cell can be made */
	enum cell_grade grade;
	char detail[160]; /* what was tried and seen */
	char fix[240]; /* the exact way to get it; "" when on */
};
/* Tries everything for real. Returns the count written into ret (at most max). */
size_t cell_probe(const char *backend, struct cell_probe *ret, size_t max);
extern const char *const cell_backends[]; /* names, NULL-terminated; the first is the default */

/* What a backend can do. Whoever needs one asks for it, never for a backend's name. */
enum cell_ability {
	CELL_ISOLATES = 1 << 0, /* what runs in a cell is held in a sandbox */
	CELL_MOUNTS = 1 << 1, /* a cell sees files of its own: the host's are shown elsewhere, or hidden */
	CELL_LISTENS = 1 << 2, /* sockets listen in a cell's own network: it can have doors */
	CELL_HOLDS_RULES = 1 << 3, /* denied calls and paths, and forbidden programs */
	CELL_TELLS_EFFECTS = 1 << 4, /* spec->effects */
	CELL_OBSERVES = 1 << 5, /* spec->observe */
	CELL_HAS_SPACES = 1 << 6, /* cell_space_open */
};
bool cell_backend_can(const char *backend, enum cell_ability ability); /* false for an unknown one */

/* Processes that dead supervisors left on this machine and that did not go by themselves: there should be none. */
unsigned cell_orphans(void);

/* What a backend would do with this spec, as text lines for --explain. Starts nothing. */
void cell_explain(const char *backend, const struct cell_spec *spec, struct buf *ret);

#endif
