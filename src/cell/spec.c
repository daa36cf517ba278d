/* What may be asked of a cell: defaults, and everything about a request that can be judged before
 * anything is made. Values of environment entries are secrets: no message repeats one. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/size.h"
#include "base/term.h"
#include "base/weaken.h"
#include "cell/backend.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define SIZE_MAX_ASKED (GIB * 1024 * 1024)

#define MAX_STRING 131072 /* the kernel's MAX_ARG_STRLEN: one argument with its NUL */

const char *const cell_default_env[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"HOME=" CELL_WORKSPACE,
	"LANG=C.UTF-8",
	NULL,
};

void cell_spec_defaults(struct cell_spec *spec)
{
	*spec = (struct cell_spec){
		.image = "host",
		.env = cell_default_env,
		.hide = cell_default_hide,
		.uid = 1000,
		.gid = 1000,
		.output_fd = -1,
		.limits = {
			.memory = 512 * MIB,
			.cpus_milli = 1000,
			.timeout_ms = 60 * 1000,
			.processes = 100,
			.tmp = 100 * MIB,
			.disk = 256 * MIB,
			.shm = 64 * MIB,
			.file_size = GIB,
			.open_files = 1024,
			.output = 64 * MIB,
			.collect = 256 * MIB,
			.collect_files = 100000,
		},
	};
}

bool cell_spec_collects(const struct cell_spec *spec)
{
	return spec->output_dir || spec->output_fd >= 0;
}

/* ---- limits ---- */

struct range {
	const char *what;
	size_t offset;
	uint64_t min, max;
	bool bytes;
};

#define LIMIT(field) offsetof(struct cell_limits, field)
static const struct range ranges[] = {
	{"memory", LIMIT(memory), 4 * MIB, SIZE_MAX_ASKED, true},
	{"timeout (ms)", LIMIT(timeout_ms), 1, UINT64_C(366) * 24 * 3600 * 1000},
	{"processes", LIMIT(processes), 1, 4194304}, /* the kernel's PID_MAX_LIMIT */
	{"size of /tmp", LIMIT(tmp), 4 * KIB, SIZE_MAX_ASKED, true},
	{"size of " CELL_WORKSPACE, LIMIT(disk), 4 * KIB, SIZE_MAX_ASKED, true},
	{"size of /dev/shm", LIMIT(shm), 4 * KIB, SIZE_MAX_ASKED, true},
	{"largest file", LIMIT(file_size), 1, SIZE_MAX_ASKED, true},
	{"open files", LIMIT(open_files), 4, 1048576}, /* the default fs.nr_open */
	{"largest output", LIMIT(output), 1, SIZE_MAX_ASKED, true},
	{"collected bytes", LIMIT(collect), 1, SIZE_MAX_ASKED, true},
	{"collected files", LIMIT(collect_files), 1, UINT64_C(100) * 1000 * 1000},
};

static int check_limits(const struct cell_limits *limits, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		const struct range *range = &ranges[i];
		uint64_t value;
		memcpy(&value, (const char *)limits + range->offset, sizeof(value));
		char asked[16], least[16], most[16];
		if (value >= range->min && value <= range->max)
			continue;
		(void)size_text(value, asked, sizeof(asked));
		(void)size_text(range->min, least, sizeof(least));
		(void)size_text(range->max, most, sizeof(most));
		if (!range->bytes || strcmp(asked, least) == 0 || strcmp(asked, most) == 0) /* or rounded to what it is not */
			return err_set(err, ERR_USAGE, "%s: %" PRIu64 " is not between %" PRIu64 " and %" PRIu64, range->what,
				value, range->min, range->max);
		return err_set(err, ERR_USAGE, "%s: %s is not between %s and %s", range->what, asked, least, most);
	}
	if (limits->cpus_milli < 10 || limits->cpus_milli > 4096 * 1000)
		return err_set(err, ERR_USAGE, "cpus: not between 0.01 and 4096");
	if (limits->nice > 19)
		return err_set(err, ERR_USAGE, "nice: not between 0 and 19");
	return 0;
}

/* ---- paths ---- */

/* An absolute path as the kernel would walk it without surprises. */
int cell_inside_path_check(const char *path, const char *what, struct err *err)
{
	if (path[0] != '/')
		return err_set(err, ERR_USAGE, "%s '%s' is not an absolute path", what, path);
	if (strlen(path) >= 4096)
		return err_set(err, ERR_USAGE, "%s is longer than 4095 bytes", what);
	for (const char *part = path + 1; *part || part > path + 1;) {
		size_t len = strcspn(part, "/");
		if (len == 0)
			return err_set(err, ERR_USAGE, "%s '%s' has an empty part: write it without '//' "
						       "and without a '/' at the end", what, path);
		if (len > 255)
			return err_set(err, ERR_USAGE, "%s has a name longer than 255 bytes", what);
		if (strncmp(part, ".", len) == 0 || (len == 2 && strncmp(part, "..", 2) == 0))
			return err_set(err, ERR_USAGE, "%s '%s' has a '.' or '..' in it", what, path);
		if (!part[len])
			break;
		part += len + 1;
	}
	return 0;
}

static bool is_at_or_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFLNK: return "a symbolic link";
	case S_IFIFO: return "a FIFO";
	case S_IFSOCK: return "a socket";
	case S_IFBLK: return "a block device";
	case S_IFCHR: return "a character device";
	case S_IFDIR: return "a folder";
	default: return "a file";
	}
}

/* lstat of the thing itself: "link/" would otherwise be followed. */
static int stat_itself(const char *path, const char *what, struct stat *ret, struct err *err)
{
	if (path[0] != '/')
		return err_set(err, ERR_USAGE, "%s '%s' is not an absolute path", what, path);
	own(freep) char *bare = xstrdup(path);
	for (size_t len = strlen(bare); len > 1 && bare[len - 1] == '/'; len--)
		bare[len - 1] = '\0';
	if ((weakened("mount-links") ? stat : lstat)(bare, ret) < 0)
		return err_set(err, ERR_USAGE, "%s '%s': %s", what, path, strerror(errno));
	if (S_ISLNK(ret->st_mode))
		return err_set(err, ERR_USAGE, "%s '%s' is a symbolic link: name what it points to", what, path);
	return 0;
}

int cell_image_compare(const char *image, struct fs_id id, const struct stat *now, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	if (id.inode == 0 || (id.inode == now->st_ino && id.device == now->st_dev))
		return 0;
	term_line(image, strlen(image), 200, &shown);
	return err_set(err, ERR_USAGE, "image '%s' was replaced after hotcell checked it; start again", buf_text(&shown));
}

static int check_image(const struct cell_spec *spec, struct err *err)
{
	const char *image = spec->image;
	struct stat st;
	if (!image || !image[0])
		return err_set(err, ERR_USAGE, "no image: give 'host' or the folder of a root file system");
	if (strcmp(image, "host") == 0)
		return 0;
	if (stat_itself(image, "image", &st, err) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "image '%s' is %s, not a folder", image, kind_name(st.st_mode));
	return cell_image_compare(image, spec->image_id, &st, err);
}

/* The folder where output goes: missing, or an empty folder. */
static int check_output_dir(const char *path, struct err *err)
{
	struct stat st;
	if (!path[0])
		return err_set(err, ERR_USAGE, "the output folder has no name");
	if ((weakened("output-folder") ? stat : lstat)(path, &st) < 0) {
		if (errno == ENOENT)
			return 0;
		return err_set(err, ERR_USAGE, "output folder '%s': %s", path, strerror(errno));
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "output folder '%s' is %s", path, kind_name(st.st_mode));
	DIR *dir = opendir(path);
	if (!dir)
		return err_set(err, ERR_USAGE, "output folder '%s': %s", path, strerror(errno));
	bool empty = true;
	for (struct dirent *entry; empty && (entry = readdir(dir));)
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	(void)closedir(dir);
	if (!empty && !weakened("output-folder"))
		return err_set(err, ERR_USAGE, "output folder '%s' is not empty: name a new or an empty one", path);
	return 0;
}

static int check_output(const struct cell_spec *spec, struct err *err)
{
	struct stat st;
	if (spec->output_dir)
		return check_output_dir(spec->output_dir, err);
	if (spec->output_fd < 0)
		return 0;
	if (fstat(spec->output_fd, &st) < 0)
		return err_set(err, ERR_USAGE, "output folder (descriptor %d): %s", spec->output_fd, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, "output folder (descriptor %d) is %s", spec->output_fd,
			kind_name(st.st_mode));
	return 0;
}

/* ---- mounts ---- */

/* What every cell has of its own; nothing of the host may be put there. */
static const char *const own_places[] = {"/proc", "/dev", "/sys", "/tmp", CELL_WORKSPACE};

static int check_target(const char *target, struct err *err)
{
	if (cell_inside_path_check(target, "mount target", err) < 0)
		return -1;
	if (strcmp(target, "/") == 0)
		return err_set(err, ERR_USAGE, "mount target '/' would replace the whole cell: use an image");
	for (size_t i = 0; i < ARRAY_LEN(own_places); i++)
		if (is_at_or_below(target, own_places[i]))
			return err_set(err, ERR_USAGE, "mount target '%s': %s is the cell's own", target,
				own_places[i]);
	return 0;
}

void cell_mount_pin(struct cell_mount *mount, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	mount->device = st.st_dev;
	mount->inode = st.st_ino;
}

int cell_mount_replaced(const struct cell_mount *mount, struct err *err)
{
	own(buf_done) struct buf shown = {0};

	term_line(mount->source, strlen(mount->source), 200, &shown);
	return err_set(err, ERR_USAGE, "mount source '%s' was replaced after hotcell checked it; "
				       "start again", buf_text(&shown));
}

static int check_mount(const struct cell_mount *mount, struct err *err)
{
	struct stat st;
	if (!mount->source || !mount->source[0] || !mount->target || !mount->target[0])
		return err_set(err, ERR_USAGE, "a mount needs a source and a target");
	if (mount->space && (strchr(mount->source, '/') || mount->source[0] == '.'))
		return err_set(err, ERR_USAGE, "mount source '%s' is no name of a folder in a space", mount->source);
	if (mount->space)
		return check_target(mount->target, err);
	if (check_target(mount->target, err) < 0 || stat_itself(mount->source, "mount source", &st, err) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "mount source '%s' is %s: only folders and files can be mounted",
			mount->source, kind_name(st.st_mode));
	if (mount->inode && (mount->inode != st.st_ino || mount->device != st.st_dev))
		return cell_mount_replaced(mount, err);
	return 0;
}

static int check_mounts(const struct cell_spec *spec, struct err *err)
{
	if (spec->mount_count > CELL_MAX_MOUNTS)
		return err_set(err, ERR_USAGE, "%zu mounts are more than the %d a cell takes", spec->mount_count,
			CELL_MAX_MOUNTS);
	for (size_t i = 0; i < spec->mount_count; i++) {
		if (check_mount(&spec->mounts[i], err) < 0)
			return -1;
		for (size_t j = 0; j < i; j++) {
			const char *target = spec->mounts[i].target, *before = spec->mounts[j].target;
			if (strcmp(target, before) == 0)
				return err_set(err, ERR_USAGE, "two mounts have the target '%s'", target);
			if (is_at_or_below(before, target))
				return err_set(err, ERR_USAGE, "mount target '%s' would cover '%s', which comes before it: put it first", target, before);
		}
	}
	return 0;
}

static bool is_default(const char *name)
{
	for (size_t i = 0; cell_default_hide[i]; i++)
		if (strcmp(cell_default_hide[i], name) == 0)
			return true;
	return false;
}

/* What is hidden can only become more: an exception is the default list's own. */
static int check_hide(const char *const *names, struct err *err)
{
	for (size_t i = 0; names && names[i]; i++) {
		if (!names[i][0])
			return err_set(err, ERR_USAGE, "a name to hide is empty");
		if (names[i][0] == '!' && !is_default(names[i]))
			return err_set(err, ERR_USAGE, "cannot hide '%s': what is hidden cannot be shown again; --no-default-hide leaves out "
						       "the default list", names[i]);
		for (const char *part = names[i] + (names[i][0] == '/'); part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
			size_t len = strcspn(part, "/");
			if ((len == 0 && (*part == '/' || part == names[i] + 1)) || (len == 1 && *part == '.') || (len == 2 && strncmp(part, "..", 2) == 0))
				return err_set(err, ERR_USAGE, "cannot hide '%s': no path has an empty name, '.' or '..' in it", names[i]);
		}
	}
	return 0;
}

/* A path has no globs: it is followed, not looked for. */
static int check_forbid(const char *const *names, struct err *err)
{
	for (size_t i = 0; names && names[i]; i++) {
		if (!names[i][0])
			return err_set(err, ERR_USAGE, "a name to forbid is empty");
		if (!strchr(names[i], '/'))
			continue;
		if (names[i][0] != '/')
			return err_set(err, ERR_USAGE, "cannot forbid '%s': give a name, without a '/', or an absolute path in the cell", names[i]);
		if (strpbrk(names[i], "*?["))
			return err_set(err, ERR_USAGE, "cannot forbid '%s': a path has no globs; a name may have some, as in '%s'", names[i],
				strrchr(names[i], '/') + 1);
		if (cell_inside_path_check(names[i], "forbidden path", err) < 0)
			return -1;
	}
	return 0;
}

/* ---- listeners and their names ---- */

static int check_listener(const struct cell_listener *listener, struct err *err)
{
	uint32_t host = listener->address & 0xffffff;
	unsigned at[4];
	for (int i = 0; i < 4; i++)
		at[i] = listener->address >> (24 - 8 * i) & 0xff;
	if (at[0] != 127)
		return err_set(err, ERR_USAGE, "a door at %u.%u.%u.%u: a cell has no addresses but 127.x.x.x", at[0], at[1],
			at[2], at[3]);
	if (host == 0 || host == 0xffffff)
		return err_set(err, ERR_USAGE, "a door at %u.%u.%u.%u: nobody can connect to that address", at[0], at[1],
			at[2], at[3]);
	if (listener->port == 0)
		return err_set(err, ERR_USAGE, "a door at %u.%u.%u.%u needs a port", at[0], at[1], at[2], at[3]);
	return 0;
}

static int check_listeners(const struct cell_spec *spec, struct err *err)
{
	const struct cell_listener *all = spec->listeners;
	if (spec->listener_count > CELL_MAX_LISTENERS)
		return err_set(err, ERR_USAGE, "%zu doors are more than the %d a cell takes", spec->listener_count,
			CELL_MAX_LISTENERS);
	for (size_t i = 0; i < spec->listener_count; i++) {
		if (check_listener(&all[i], err) < 0)
			return -1;
		for (size_t j = 0; j < i; j++)
			if (all[i].address == all[j].address && all[i].port == all[j].port)
				return err_set(err, ERR_USAGE, "two doors of a cell have the same address and port %u",
					all[i].port);
	}
	return 0;
}

static int check_hosts(const struct cell_spec *spec, struct err *err)
{
	size_t len = spec->hosts ? strlen(spec->hosts) : 0;
	if (len > CELL_MAX_HOSTS)
		return err_set(err, ERR_USAGE, "%zu bytes of names for /etc/hosts are more than %d", len, CELL_MAX_HOSTS);
	for (const char *at = spec->hosts; len && *at; at++)
		if ((*at < ' ' || *at > '~') && *at != '\n' && *at != '\t')
			return err_set(err, ERR_USAGE, "the names for /etc/hosts hold a byte that is not printable");
	for (size_t i = 0; len && i < spec->mount_count; i++)
		if (is_at_or_below("/etc/hosts", spec->mounts[i].target))
			return err_set(err, ERR_USAGE, "mount target '%s' would cover /etc/hosts, which names the cell's doors",
				spec->mounts[i].target);
	return 0;
}

/* ---- arguments and environment ---- */

static int check_env_name(const char *entry, size_t number, struct err *err)
{
	size_t len = strcspn(entry, "=");
	if (entry[len] != '=' || len == 0)
		return err_set(err, ERR_USAGE, "environment entry %zu is not NAME=VALUE", number + 1);
	for (size_t i = 0; i < len; i++) {
		own(buf_done) struct buf name = {0};
		if (isalpha((unsigned char)entry[i]) || entry[i] == '_' || (i > 0 && isdigit((unsigned char)entry[i])))
			continue;
		term_line(entry, len, 60, &name);
		return err_set(err, ERR_USAGE, "environment variable '%s': a name has only letters, digits and '_', and no digit first",
			buf_text(&name));
	}
	return 0;
}

static int check_string(const char *text, const char *what, size_t number, uint64_t *total, struct err *err)
{
	size_t len = strlen(text) + 1;
	if (len > MAX_STRING)
		return err_set(err, ERR_USAGE, "%s %zu has %zu bytes; the kernel takes at most %d", what, number,
			len - 1, MAX_STRING - 1);
	*total += len + sizeof(char *);
	return 0;
}

static int check_strings(const struct cell_spec *spec, struct err *err)
{
	uint64_t total = 0;
	size_t count = 0;
	for (size_t i = 0; spec->argv[i]; i++, count++)
		if (check_string(spec->argv[i], "argument", i, &total, err) < 0)
			return -1;
	for (size_t i = 0; spec->env && spec->env[i]; i++, count++)
		if (check_env_name(spec->env[i], i, err) < 0 ||
			check_string(spec->env[i], "environment entry", i + 1, &total, err) < 0)
			return -1;
	if (count > CELL_MAX_ARGS)
		return err_set(err, ERR_USAGE, "%zu arguments and environment entries are more than %d", count,
			CELL_MAX_ARGS);
	if (total > CELL_MAX_ARG_BYTES)
		return err_set(err, ERR_USAGE, "arguments and environment take %" PRIu64 " bytes together; "
					       "the kernel takes at most %" PRIu64, total, CELL_MAX_ARG_BYTES);
	return 0;
}

/* ---- required protections ---- */

static bool protection_find(const char *name, enum cell_protection *ret)
{
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++)
		if (strcmp(name, cell_protection_name(i)) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static int check_require(const char *const *require, struct err *err)
{
	enum cell_protection found;
	for (size_t i = 0; require && require[i]; i++)
		if (strcmp(require[i], "full") != 0 && !protection_find(require[i], &found))
			return err_set(err, ERR_USAGE, "no protection is named '%s'; --require takes 'full' or names "
						       "such as '%s' and '%s'", require[i],
				cell_protection_name(CELL_SECCOMP), cell_protection_name(CELL_MEMORY_LIMIT));
	return 0;
}

uint32_t cell_required(const struct cell_spec *spec)
{
	uint32_t mask = 0;
	_Static_assert(CELL_PROTECTION_COUNT <= 31, "a protection has no bit");
	for (size_t i = 0; spec->require && spec->require[i]; i++) {
		enum cell_protection found;
		if (strcmp(spec->require[i], "full") == 0)
			mask |= (UINT32_C(1) << CELL_PROTECTION_COUNT) - 1;
		else if (protection_find(spec->require[i], &found))
			mask |= UINT32_C(1) << found;
	}
	return mask;
}

int cell_require_check(uint32_t required, const struct cell_receipt *receipt, struct err *err)
{
	for (int i = 0; i < CELL_PROTECTION_COUNT; i++) {
		if (!(required & (UINT32_C(1) << i)) || receipt->grade[i] == CELL_ON)
			continue;
		const char *note = receipt->note[i];
		return err_set(err, ERR_MISSING, "%s is required but %s here%s%s%s; 'hotcell doctor' shows the "
						 "fix", cell_protection_name(i),
			receipt->grade[i] == CELL_WEAKER ? "weaker" : "off", note[0] ? " (" : "", note,
			note[0] ? ")" : "");
	}
	return 0;
}

/* ---- all of it ---- */

int cell_spec_check(const struct cell_spec *spec, struct err *err)
{
	if (!spec->argv || !spec->argv[0])
		return err_set(err, ERR_USAGE, "no command to run");
	if (!spec->argv[0][0])
		return err_set(err, ERR_USAGE, "the command is empty");
	if (check_strings(spec, err) < 0 || check_limits(&spec->limits, err) < 0 ||
		check_image(spec, err) < 0 || check_mounts(spec, err) < 0 ||
		check_hide(spec->hide, err) < 0 ||
		check_forbid(spec->forbid, err) < 0 || check_require(spec->require, err) < 0 ||
		check_listeners(spec, err) < 0 || check_hosts(spec, err) < 0 || cell_rules_check(spec, err) < 0)
		return -1;
	if (spec->cwd && cell_inside_path_check(spec->cwd, "working folder", err) < 0)
		return -1;
	if (spec->uid == UINT32_MAX || spec->gid == UINT32_MAX)
		return err_set(err, ERR_USAGE, "%" PRIu32 " is not a user or group number", UINT32_MAX);
	return check_output(spec, err);
}
