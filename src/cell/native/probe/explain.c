/* The cell as it would be made, for people. What this machine gives it is tried, as doctor does,
 * and then said by the same code that fills a receipt; files to be hidden are looked for in the
 * mounts themselves. Nothing is started and nothing stays. Values of the environment are not shown:
 * they may be secrets, and this text ends in logs. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/runtime.h"
#include "base/size.h"
#include "base/term.h"
#include "cell/backend.h"
#include "cell/native/supervisor/pool.h"
#include "cell/native/probe/probe.h"
#include "cell/native/supervisor/receipt.h"

#define LABEL 16 /* columns */
#define WIDTH 100
#define MAX_SHOWN 2048 /* bytes of one argument or path */
#define MAX_WALK 2000000
#define MAX_HIDDEN 4096 /* more than this and the cell is not made */
#define FIRST_HIDDEN 10

/* ---- laying out ---- */

/* A label once, then what follows it below each other; words fill the lines. */
struct page {
	struct buf *out;
	const char *label; /* of the next line; "" when it was said */
	size_t column; /* in the line of words; 0: none is begun */
};

static void page_label(struct page *page, const char *label)
{
	page->label = label;
}

static void page_begin(struct page *page)
{
	buf_fmt(page->out, "%-*s", LABEL, page->label);
	page->label = "";
}

static void PRINTF_LIKE(2, 3) page_line(struct page *page, const char *format, ...)
{
	own(freep) char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	page_begin(page);
	buf_fmt(page->out, "%s\n", text == NULL ? "?" : text);
}

static void page_word(struct page *page, const char *word)
{
	size_t len = strlen(word);

	if (page->column > 0 && page->column + 1 + len > WIDTH) {
		buf_char(page->out, '\n');
		page->column = 0;
	}
	if (page->column == 0) {
		page_begin(page);
		page->column = LABEL;
	} else {
		buf_char(page->out, ' ');
		page->column++;
	}
	buf_str(page->out, word);
	page->column += len;
}

static void page_words_end(struct page *page)
{
	if (page->column > 0)
		buf_char(page->out, '\n');
	page->column = 0;
}

/* Text of somebody else's, safe to print; the caller frees. */
static char *shown(const char *text)
{
	struct buf buf = {0};

	term_line(text, strlen(text), MAX_SHOWN, &buf);
	return buf_text(&buf)[0] == '\0' ? xstrdup("") : buf_take(&buf);
}

static char *quoted(const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
	own(freep) char *safe = shown(text);

	if (*text != '\0' && text[strspn(text, plain)] == '\0')
		return ptr_take(&safe);
	return xfmt("'%s'", safe);
}

/* ---- what is run ---- */

static void put_command(struct page *page, const struct cell_spec *spec)
{
	page_label(page, "command");
	for (size_t i = 0; spec->argv[i] != NULL; i++) {
		own(freep) char *word = quoted(spec->argv[i]);
		page_word(page, word);
	}
	page_words_end(page);
	own(freep) char *folder = shown(spec->cwd == NULL ? CELL_WORKSPACE : spec->cwd);
	page_label(page, "folder");
	page_line(page, "%s", folder);
}

static bool is_public(const char *entry)
{
	static const char *const names[] = {"PATH=", "HOME=", "LANG="};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(entry, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void put_environment(struct page *page, const struct cell_spec *spec)
{
	page_label(page, "environment");
	for (size_t i = 0; spec->env != NULL && spec->env[i] != NULL; i++) {
		const char *entry = spec->env[i];
		own(freep) char *name = strndup(entry, strcspn(entry, "="));
		own(freep) char *text = is_public(entry) ? shown(entry) : xfmt("%s=<hidden>", name);
		page_line(page, "%s", text);
	}
	if (page->label[0] != '\0')
		page_line(page, "empty");
}

static bool is_own(enum receipt_whose whose)
{
	return whose == WHOSE_CELLS || whose == WHOSE_CELLS_OF_USER;
}

static void put_user(struct page *page, const struct cell_spec *spec, enum receipt_whose whose,
	const struct cell_receipt *receipt)
{
	const char *outside = "outside you, but reaching only what is mounted";

	if (is_own(whose))
		outside = whose == WHOSE_CELLS ? "outside a number that is nobody's"
					       : "outside one of your numbers in /etc/subuid";
	page_label(page, "user");
	page_line(page, "%u:%u inside, without capabilities; %s", spec->uid, spec->gid, outside);
	page_line(page, "%s", receipt->note[CELL_NON_ROOT]);
}

/* ---- what it sees ---- */

static void put_host(struct page *page)
{
	page_line(page,
		"host: this machine's /usr, /bin, /sbin and /lib*, read-only; of /etc only what is here of:");
	for (size_t i = 0; native_etc[i] != NULL; i++) {
		own(freep) char *path = xfmt("/etc/%s", native_etc[i]);
		if (access(path, F_OK) == 0)
			page_word(page, native_etc[i]);
	}
	page_words_end(page);
	page_line(page, "and passwd, group, hosts, hostname and resolv.conf of the cell's own");
}

static void put_image(struct page *page, const struct cell_spec *spec)
{
	page_label(page, "image");
	if (strcmp(spec->image, "host") == 0) {
		put_host(page);
	} else {
		own(freep) char *path = shown(spec->image);
		page_line(page,
			"%s, read-only; its /dev, /proc, /sys, /tmp, /run and " CELL_WORKSPACE
			" are not seen",
			path);
	}
	page_label(page, "devices");
	page_line(page, "/dev/null zero full random urandom tty%s",
		spec->tty ? ", a terminal of its own" : "");
}

struct hidden {
	char *first[FIRST_HIDDEN];
	size_t count;
};

static int hidden_add(void *data, const char *path, bool is_dir, struct err *err)
{
	struct hidden *hidden = data;

	(void)err;
	if (hidden->count < FIRST_HIDDEN) {
		own(freep) char *safe = shown(path);
		hidden->first[hidden->count] = xfmt("%s%s", safe, is_dir ? "/" : "");
	}
	hidden->count++;
	return 0;
}

static void hidden_done(struct hidden *hidden)
{
	for (size_t i = 0; i < FIRST_HIDDEN; i++)
		free(hidden->first[i]);
}

/* What of this mount would be hidden: a real walk. Returns whether something would. */
static bool put_hidden(
	struct page *page, const struct cell_mount *mount, const char *const *globs, bool overlay)
{
	own(hidden_done) struct hidden hidden = {0};
	own(fd_closep) int dir =
		open(mount->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own(freep) char *target = shown(mount->target), *above = realpath(mount->source, NULL);
	own(buf_done) struct buf links = {0};
	bool mounts = false;
	struct runtime_hold hold;
	struct err err;

	runtime_hold_init(&hold);
	runtime_hold_look(&hold, (const char *const[]){ NULL });
	const struct fs_ids runtime = { hold.ids, hold.count };
	if (dir < 0 && errno == ENOTDIR)
		return false; /* a single file was asked for by its name */
	int found = dir < 0 ? err_errno(&err, errno, "open it")
			    : fs_find_ids(dir, above, globs, &runtime, MAX_WALK, hidden_add, &hidden, &mounts, &links, &err);
	if (found < 0) {
		page_line(page, "%s: the cell would not be made: %s", target, err.text);
		return true;
	}
	if (hidden.count > MAX_HIDDEN)
		page_line(page, "%s: the cell would not be made: more than %d files to hide",
			target, MAX_HIDDEN);
	else if (hidden.count > 0)
		page_line(page, "%s: %zu would %s:", target, hidden.count,
			overlay && !mount->writable && !mounts ? "vanish"
						    : "stay as a name, empty and unreadable");
	for (size_t i = 0; i < FIRST_HIDDEN && hidden.first[i] != NULL; i++)
		page_line(page, "  %s", hidden.first[i]);
	if (hidden.count > FIRST_HIDDEN)
		page_line(page, "  and %zu more", hidden.count - FIRST_HIDDEN);
	char *rest = links.data;
	for (int i = 0; i < FIRST_HIDDEN && rest && *rest; i++)
		page_line(page, "%s", strsep(&rest, "\n"));
	return hidden.count > 0;
}

static void put_mounts(struct page *page, const struct cell_spec *spec)
{
	page_label(page, "mounts");
	for (size_t i = 0; i < spec->mount_count; i++) {
		own(freep) char *source = shown(spec->mounts[i].source),
				*target = shown(spec->mounts[i].target);
		page_line(page, "%s -> %s  %s", source, target,
			spec->mounts[i].writable ? "rw: what it writes there stays" : "ro");
	}
	if (spec->mount_count == 0)
		page_line(page, "none");
	else
		page_line(page, "without sockets, FIFOs, and the folder of hotcell's own control sockets");
	page_label(page, "hidden names");
	for (size_t i = 0; spec->hide != NULL && spec->hide[i] != NULL; i++) {
		own(freep) char *glob = shown(spec->hide[i]);
		page_word(page, glob);
	}
	page_words_end(page);
	if (page->label[0] != '\0')
		page_line(page, "none");
}

/* What its root would be built with, by building one as for a cell: links are followed there and nowhere else. */
static int find_forbidden(const struct cell_spec *spec, struct buf *ret, struct err *err)
{
	struct loop *loop = loop_open(err);
	struct cell_backend_pool *pool = loop == NULL ? NULL : cell_native.open(loop, err);
	struct kind *kind = pool == NULL ? NULL : kind_get(pool, spec, err);

	while (kind != NULL && !kind->ready && !kind->dead)
		if (loop_turn(loop, -1) < 0 && errno != EINTR)
			break;
	bool found = kind != NULL && kind->ready && !kind->dead;
	if (found)
		buf_add(ret, kind->forbidden.data, kind->forbidden.len);
	else if (kind != NULL)
		*err = kind->err;
	cell_native.close(pool, false);
	(void)loop_free(loop);
	return found ? 0 : -1;
}

static void put_forbidden(struct page *page, const struct cell_spec *spec, bool possible)
{
	own(buf_done) struct buf list = {0};
	const char *name, *path;
	struct err err = {0};

	if (spec->forbid == NULL || spec->forbid[0] == NULL)
		return;
	page_label(page, "forbidden");
	if (!possible || find_forbidden(spec, &list, &err) < 0) {
		page_line(page, "the cell would not be made: %s", possible ? err.text : "there is no user namespace");
		return;
	}
	for (size_t at = 0; cell_forbidden_next(list.data, list.len, &at, &name, &path);) {
		own(freep) char *name_shown = shown(name), *path_shown = shown(path);
		if (*path == '\0')
			page_line(page, "%s: leads to NOTHING in this cell: is it misspelt?", name_shown);
		else
			page_line(page, "%s: %s can be neither run nor read", name_shown, path_shown);
	}
	page_line(page, "what the run itself writes or brings along is another program");
}

static void put_vanishing(struct page *page, const struct cell_spec *spec)
{
	char saw[SAW_MAX];
	struct err err;
	bool any = false;

	if (spec->mount_count == 0 || spec->hide == NULL || spec->hide[0] == NULL)
		return;
	bool overlay = trial_run(&trial_overlay, saw, &err) == 0;
	page_label(page, "hidden files");
	for (size_t i = 0; i < spec->mount_count; i++)
		if (put_hidden(page, &spec->mounts[i], spec->hide,
			    overlay && !root_is_rearranged(&spec->mounts[i], spec->mounts, spec->mount_count, spec->hide)))
			any = true;
	if (!any)
		page_line(page, "none in these mounts now");
}

static void put_writable(struct page *page, const struct cell_spec *spec)
{
	const struct cell_limits *limits = &spec->limits;
	char size[16];

	page_label(page, "writable");
	page_line(page, "%-12s%10s  private, empty at the start, gone afterwards%s", CELL_WORKSPACE,
		size_text(limits->disk, size, sizeof(size)), spec->no_exec ? "; programs cannot be run from it" : "");
	page_line(page, "%-12s%10s  the same%s", "/tmp", size_text(limits->tmp, size, sizeof(size)),
		spec->tmp_exec ? "" : "; programs cannot be run from it");
	page_line(page, "%-12s%10s  the same; programs cannot be run from it", "/dev/shm",
		size_text(limits->shm, size, sizeof(size)));
}

static void put_network(struct page *page, const struct cell_spec *spec)
{
	page_label(page, "network");
	if (spec->listener_count == 0) {
		page_line(page, "a loopback of its own and nothing else");
		return;
	}
	page_line(page, "a loopback of its own, and on it %zu door%s, served from outside:", spec->listener_count,
		spec->listener_count == 1 ? "" : "s");
	for (size_t i = 0; i < spec->listener_count; i++) {
		uint32_t at = spec->listeners[i].address;
		page_line(page, "  %u.%u.%u.%u:%u", at >> 24, at >> 16 & 0xff, at >> 8 & 0xff, at & 0xff,
			spec->listeners[i].port);
	}
}

/* ---- what holds it ---- */

/* Tried, as a cell's makers do it. */
static enum receipt_whose whose_limits(const struct cell_spec *spec)
{
	char saw[SAW_MAX];
	struct err err;

	if (native_is_root())
		return WHOSE_CELLS;
	if (!kind_is_apart(spec))
		return WHOSE_USERS_MOUNTS;
	const struct trial *trial = cell_spec_collects(spec) ? &trial_own_output : &trial_own_users;
	return trial_run(trial, saw, &err) == 0 ? WHOSE_CELLS_OF_USER : WHOSE_USERS;
}

/* The receipt its cell would have, if nothing fails; where none is possible, once that is mended. */
static void predict(const struct cell_spec *spec, bool possible, enum receipt_whose whose,
	struct cell_receipt *ret)
{
	char saw[SAW_MAX];
	struct err err = {0};
	struct cgroup_host *cgroup = cgroup_open(&err);
	uint32_t facts = FACT_NO_CAPS | FACT_NPROC | FACT_PINNED | FACT_WATCHED;

	(void)cgroup_make(cgroup);
	if (!possible || native_user_ns_works())
		facts |= FACT_USER_NS;
	if (landlock_abi() > 0)
		facts |= FACT_LANDLOCK;
	if (landlock_rules_files(spec, (facts & FACT_USER_NS) != 0))
		facts |= FACT_LANDLOCK_FILES;
	if (!possible || trial_run(&trial_proc, saw, &err) == 0)
		facts |= FACT_PROC;
	if (!possible || trial_run(&trial_cgroup_ns, saw, &err) == 0)
		facts |= FACT_CGROUP_NS;
	if (trial_run(&trial_filter, saw, &err) == 0)
		facts |= FACT_SECCOMP | FACT_SECCOMP_COUNTED;
	else if (err.code == EBUSY)
		facts |= FACT_SECCOMP;
	*ret = (struct cell_receipt){0};
	ret->grade[CELL_OUTPUT_LIMITED] = ret->grade[CELL_WALL_CLOCK] =
		CELL_ON; /* every backend's cells have them */
	receipt_fill(ret, cgroup, facts, HIDE_NOTHING, &spec->limits, spec->uid);
	receipt_user(ret, whose);
	char opened[64];
	calls_opened(spec->calls_allow, opened, sizeof(opened));
	receipt_opened(ret, opened);
	receipt_doors(ret, spec->listener_count);
	(void)cgroup_free(cgroup);
}

static void put_limit(struct page *page, const char *name, const char *value, const char *how)
{
	page_line(page, "%-14s%10s  %s", name, value, how);
}

static void put_limits(struct page *page, const struct cell_limits *limits,
	enum receipt_whose whose, const struct cell_receipt *receipt)
{
	char text[24];

	page_label(page, "limits");
	put_limit(page, "memory", size_text(limits->memory, text, sizeof(text)),
		receipt->note[CELL_MEMORY_LIMIT]);
	(void)snprintf(text, sizeof(text), "%g", limits->cpus_milli / 1000.0);
	put_limit(page, "CPUs", text, receipt->note[CELL_CPU_LIMIT]);
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)limits->processes);
	put_limit(page, "processes", text, receipt->note[CELL_PROCESS_LIMIT]);
	put_limit(page, "time", duration_text(limits->timeout_ms * NS_PER_MS, text, sizeof(text)),
		"our clock");
	put_limit(page, "output", size_text(limits->output, text, sizeof(text)),
		"stdout and stderr together");
	put_limit(page, "largest file", size_text(limits->file_size, text, sizeof(text)),
		"RLIMIT_FSIZE");
	uint64_t open_files = users_open_files_here(limits->open_files, is_own(whose));
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)open_files);
	put_limit(page, "open files", text, open_files < limits->open_files ?
		"RLIMIT_NOFILE, of each process: half of hotcell's own limit" : "RLIMIT_NOFILE, of each process");
}

static void put_weaker(
	struct page *page, const struct cell_spec *spec, const struct cell_receipt *receipt)
{
	struct err err;

	page_label(page, "weaker here");
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (receipt->grade[i] != CELL_ON)
			page_line(page, "%s%s: %s", cell_protection_name((enum cell_protection)i),
				receipt->grade[i] == CELL_OFF ? " is off" : "", receipt->note[i]);
	if (page->label[0] != '\0')
		page_line(page, "nothing: every protection is on");
	if (spec->require == NULL || spec->require[0] == NULL)
		return;
	page_label(page, "required");
	if (cell_require_check(cell_required(spec), receipt, &err) < 0)
		page_line(page, "the cell would not start: %s", err.text);
	else
		page_line(page, "all that was required is on");
}

static void put_back(struct page *page, const struct cell_spec *spec)
{
	char size[16];

	page_label(page, "comes back");
	page_line(page, "what it prints, made safe where that is a terminal, and how it ended");
	if (!cell_spec_collects(spec))
		return;
	own(freep) char *path = shown(spec->output_dir == NULL ? "the output folder" : spec->output_dir);
	page_line(page,
		"%s <- what it left in " CELL_WORKSPACE ": at most %s and %llu files and folders;",
		path, size_text(spec->limits.collect, size, sizeof(size)),
		(unsigned long long)spec->limits.collect_files);
	page_line(page,
		"no links, devices, FIFOs or sockets, no set-id bits, and no name that would be overwritten");
}

/* Calls that are refused only with some arguments. `pinned`: for want of a cgroup, and must stay
 * so. */
static const char *refused_part(const char *name, bool pinned)
{
	static const struct {
		const char *name, *part;
	} parts[] = {
		{"clone", "new namespaces"},
		{"unshare", "new namespaces"},
		{"socket", "raw, or neither unix, TCP nor UDP"},
		{"socketpair", "not unix"},
		{"setsockopt", "what outlives the cell"},
		{"ioctl", "typing into a terminal, keys of encrypted folders, Btrfs as a whole"},
		{"sync", "says that it was done"},
		{"syncfs", "says that it was done"},
		{"fsync", "says that it was done"},
		{"fdatasync", "says that it was done"},
		{"sync_file_range", "says that it was done"},
		{"fcntl", "leases, notices and hints on files"},
		{"personality", "odd ones"},
		{"mknod", "devices"},
		{"mknodat", "devices"},
		{"prlimit64", "init's, or of cores"},
		{"setrlimit", "of cores"},
		{"sched_setscheduler", "init's"},
		{"sched_setparam", "init's"},
		{"sched_setattr", "init's"},
		{"sched_setaffinity", "init's"},
		{"setpriority", "init's"},
		{"ioprio_set", "init's"},
		{"fchmod", "set-id bits"},
		{"fchmodat", "set-id bits"},
		{"fchmodat2", "set-id bits"},
		{"openat", "set-id bits"},
		{"chmod", "set-id bits"},
		{"creat", "set-id bits"},
		{"open", "set-id bits"},
	};

	if (pinned && strcmp(name, "sched_setaffinity") == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strcmp(parts[i].name, name) == 0)
			return parts[i].part;
	return NULL;
}

static bool applies(unsigned index, unsigned want)
{
	return filter_when(index) == 0 || (filter_when(index) & want) != 0;
}

static void put_names(struct page *page, const char *label, const char *const *names)
{
	if (names == NULL || names[0] == NULL)
		return;
	page_label(page, label);
	for (; *names != NULL; names++)
		page_word(page, *names);
	page_words_end(page);
}

static void put_paths(struct page *page, const struct cell_spec *spec)
{
	if (spec->path_count > 0)
		page_label(page, "paths");
	for (size_t i = 0; i < spec->path_count; i++) {
		own(freep) char *path = shown(spec->paths[i].path);
		own(buf_done) struct buf rights = {0};
		for (unsigned k = 0; k < CELL_RIGHT_COUNT; k++)
			if ((spec->paths[i].rights & CELL_RIGHT(k)) != 0)
				buf_fmt(&rights, " %s", cell_right_name(k));
		page_line(page, "%s:%s", path, buf_text(&rights));
	}
}

static void put_refused(struct page *page, unsigned want)
{
	bool pinned = (want & FILTER_PINNED) != 0;
	const char *name;

	page_label(page, "refused calls");
	for (unsigned i = 0; (name = filter_name(i)) != NULL; i++)
		if (applies(i, want) && refused_part(name, pinned) == NULL)
			page_word(page, name);
	page_words_end(page);
	page_label(page, "refused in part");
	for (unsigned i = 0; (name = filter_name(i)) != NULL; i++) {
		if (!applies(i, want) || refused_part(name, pinned) == NULL)
			continue;
		own(freep) char *text = xfmt("%s (%s)", name, refused_part(name, pinned));
		page_word(page, text);
	}
	page_words_end(page);
	page_label(page, "unknown calls");
	page_line(page, "do not exist: clone3, and whatever is newer than this program");
}

void native_explain(const struct cell_spec *spec, struct buf *ret)
{
	struct page page = {.out = ret, .label = ""};
	struct cell_receipt receipt;
	bool possible = native_is_root() || native_user_ns_works();

	if (!possible) {
		page_label(&page, "NO CELL");
		page_line(&page,
			"this machine lets ordinary users make no user namespace, without which there is no cell:");
		page_line(&page, "'hotcell doctor' says how to allow it. With one it would be:");
	}
	enum receipt_whose whose = whose_limits(spec);
	predict(spec, possible, whose, &receipt);
	put_command(&page, spec);
	put_environment(&page, spec);
	put_user(&page, spec, whose, &receipt);
	put_image(&page, spec);
	put_mounts(&page, spec);
	put_vanishing(&page, spec);
	put_forbidden(&page, spec, possible);
	put_writable(&page, spec);
	put_network(&page, spec);
	put_limits(&page, &spec->limits, whose, &receipt);
	put_weaker(&page, spec, &receipt);
	put_back(&page, spec);
	unsigned want = (receipt.grade[CELL_CPU_LIMIT] != CELL_ON ? FILTER_PINNED : 0) |
			(receipt.grade[CELL_MEMORY_LIMIT] != CELL_ON ? FILTER_NO_HIDDEN_MEMORY : 0);
	want |= filter_want_of(spec->mounts, spec->mount_count);
	put_paths(&page, spec);
	put_names(&page, "denied calls", spec->calls_deny);
	put_names(&page, "added calls", spec->calls_allow);
	put_refused(&page, want);
}
