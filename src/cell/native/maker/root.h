/* What the files that make a cell's root share: what is to be placed in it, and who builds it. */
#ifndef HOTCELL_CELL_NATIVE_MAKER_ROOT_H
#define HOTCELL_CELL_NATIVE_MAKER_ROOT_H

#include <sys/mount.h>
#include <sys/types.h>

#include "cell/native/native.h"

/* One thing to be placed in the new root. */
struct piece {
	char *target; /* relative to the new root */
	char *link; /* a symbolic link with this text, or */
	char *text; /* a small file with this content, or */
	size_t text_len;
	int copy; /* a copy of this one, as long as that, or */
	bool cover; /* over a file of that name, which the image has */
	int tree; /* a detached mount, or */
	dev_t device; /* a device to be made, where we may; else bound */
	bool is_dir;
	bool writable; /* the cell may write to the mount */
	const struct cell_mount *mount; /* the user's, for which names may be hidden */
	char *above; /* the path of its source, whose names count for what is hidden; NULL: not known */
	bool rearranged; /* a mount that can be written to shows some of this, too */
	bool overlaid; /* placed as an overlay: `tree` is what lies below */
	bool of_image; /* of a folder given as image, in which sockets are hidden; the host's own programs are not searched */
};

/* One that is open, to place things in. */
struct folder {
	char *name;
	int fd;
	dev_t device;
	bool ours; /* of the new root's own file system, to which may be added */
};

struct builder {
	const struct template *t;
	uint32_t outer_uid, outer_gid;
	struct piece *pieces;
	size_t count, cap;
	struct folder *way; /* to the one last placed into, from the root on */
	size_t depth;
	uid_t owner_uid;
	gid_t owner_gid;
	int owner_ns; /* of mounts, last asked for: neighbours mostly have one owner; -1: none yet */
	enum hide_how hide;
	unsigned layer;
	bool layers_made;
	pid_t maker; /* our parent, to die with */
};

/* As all mounts of a cell are, but for those that it may write to: MOUNT_ATTR_... */
uint64_t root_nothing_special(void);
#define RO (MOUNT_ATTR_RDONLY | root_nothing_special())

#define LAYERS "../layers" /* beside the new root, never in it: an image may hold any name */
#define EMPTY_FILE LAYERS "/empty-file" /* that nobody may read: to cover others with */
#define EMPTY_FOLDER LAYERS "/empty-folder"

/* What a cell reads as the id of the machine's boot; its own /proc comes over it. */
#define ROOT_BOOT_ID "proc/boot_id"

/* Of a mount whose owner is mapped even root may not list what belongs to others or to another group, while the cell may. So
 * real root looks around in it as the cell's user; an ordinary user is that already. */
void root_look_as_cell(const struct builder *b);
void root_look_as_ourselves(const struct builder *b);
/* What root or the cell's user can reach below `dir`, as O_PATH; -1 with errno. */
int root_open_as_either(const struct builder *b, int dir, const char *path);

/* ---- root_runtime.c ---- */

/* The folders of control sockets: covered wherever a mount or an image shows them. */
struct fs_ids root_runtime(const struct template *t);
/* Refuses a mount or an image that is one of those, or lies in one: `fd` is open on it, `source` led there. */
MUST_CHECK int root_refuse_runtime(const struct template *t, int fd, const char *source, struct err *err);

/* ---- root_look.c ---- */

/* A second look, at what the kernel says of the mounts: that none but what was meant to be can be written to. Pure. */
MUST_CHECK int root_look_again(const struct builder *b, const char *mountinfo, struct err *err);

/* ---- forbid.c ---- */

/* Covers whatever the template's forbidden names and paths lead to below `root`, our working directory: the files, their other
 * names and their copies. What was covered is added to *ret, as cell_forbidden_next reads it. */
MUST_CHECK int forbid_programs(const struct builder *b, int root, struct buf *ret, struct err *err);

/* ---- root_collect.c ---- */

/* Everything that is to be placed, opened and thereby pinned, while the host's tree is still in place. */
MUST_CHECK int root_collect(struct builder *b, bool need_visible_proc, struct err *err);
/* A mount of its own of what `path` names below `dir`, with these attributes. */
MUST_CHECK int tree_open(int dir, const char *path, uint64_t attributes, struct err *err);
void piece_done(struct piece *piece);

#endif
