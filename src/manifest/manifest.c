#include "manifest/manifest.h"

#include <string.h>

const char *const manifest_kind_names[MANIFEST_KINDS] = {
	[MANIFEST_FILE] = "file",
	[MANIFEST_FOLDER] = "folder",
	[MANIFEST_LINK] = "link",
	[MANIFEST_FIFO] = "fifo",
	[MANIFEST_SOCKET] = "socket",
	[MANIFEST_CHAR_DEVICE] = "char-device",
	[MANIFEST_BLOCK_DEVICE] = "block-device",
};

void manifest_done(struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++) {
		free(manifest->entries[i].path);
		free(manifest->entries[i].target);
	}
	free(manifest->entries);
	*manifest = (struct manifest){0};
}

uint64_t manifest_bytes(const struct manifest *manifest)
{
	uint64_t total = 0;

	for (size_t i = 0; i < manifest->count; i++)
		total += manifest->entries[i].size;
	return total;
}

/* ---- comparing ---- */

static unsigned entry_changes(const struct manifest_entry *was, const struct manifest_entry *is)
{
	unsigned changes = is->trouble ? MANIFEST_UNREADABLE : 0;

	if (was->kind != is->kind)
		return changes | MANIFEST_KIND_CHANGED;
	if (was->mode != is->mode)
		changes |= MANIFEST_MODE_CHANGED;
	if (was->size != is->size)
		changes |= MANIFEST_SIZE_CHANGED;
	else if (!is->trouble && memcmp(was->sha256, is->sha256, SHA256_SIZE) != 0)
		changes |= MANIFEST_CONTENTS_CHANGED;
	if (strcmp(was->target ? was->target : "", is->target ? is->target : "") != 0)
		changes |= MANIFEST_TARGET_CHANGED;
	return changes;
}

static int entry_order(const void *path, const void *entry)
{
	return strcmp(path, ((const struct manifest_entry *)entry)->path);
}

/* Whether a folder above it could not be read, so that nobody knows. */
static bool is_out_of_sight(const struct manifest *is, const char *path)
{
	own(freep) char *above = xstrdup(path);

	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = '\0';
		const struct manifest_entry *folder =
			is->count ? bsearch(above, is->entries, is->count, sizeof(*is->entries), entry_order) : NULL;
		if (folder)
			return folder->kind == MANIFEST_FOLDER && folder->trouble;
	}
	return false;
}

size_t manifest_compare(const struct manifest *was, const struct manifest *is, manifest_difference_fn *fn, void *data)
{
	size_t found = 0;

	for (size_t i = 0, j = 0; i < was->count || j < is->count;) {
		struct manifest_difference difference = {
			.was = i < was->count ? &was->entries[i] : NULL,
			.is = j < is->count ? &is->entries[j] : NULL,
		};
		int order = !difference.was ? 1 : !difference.is ? -1 : strcmp(difference.was->path, difference.is->path);
		if (order > 0)
			difference.was = NULL;
		if (order < 0)
			difference.is = NULL;
		i += order <= 0;
		j += order >= 0;
		difference.path = difference.was ? difference.was->path : difference.is->path;
		if (order < 0)
			difference.changes = is_out_of_sight(is, difference.path) ? 0 : MANIFEST_REMOVED;
		else
			difference.changes = order > 0 ? MANIFEST_ADDED : entry_changes(difference.was, difference.is);
		if (difference.changes == 0)
			continue;
		found++;
		if (fn)
			fn(data, &difference);
	}
	return found;
}

/* ---- in words ---- */

static void changed_text(const struct manifest_difference *difference, struct buf *out)
{
	const struct manifest_entry *was = difference->was, *is = difference->is;
	unsigned changes = difference->changes;
	const char *join = "";

	if (changes & MANIFEST_KIND_CHANGED) {
		buf_fmt(out, "a %s, now a %s", manifest_kind_names[was->kind], manifest_kind_names[is->kind]);
		join = ", ";
	}
	if (changes & MANIFEST_SIZE_CHANGED) {
		buf_fmt(out, "%ssize %llu -> %llu", join, (unsigned long long)was->size, (unsigned long long)is->size);
		join = ", ";
	}
	if (changes & MANIFEST_MODE_CHANGED) {
		buf_fmt(out, "%smode %04o -> %04o", join, was->mode, is->mode);
		join = ", ";
	}
	if (changes & MANIFEST_CONTENTS_CHANGED) {
		buf_fmt(out, "%scontents", join);
		join = ", ";
	}
	if (changes & MANIFEST_TARGET_CHANGED) {
		buf_fmt(out, "%s%s '%s' -> '%s'", join, is->kind == MANIFEST_LINK ? "target" : "device", was->target, is->target);
		join = ", ";
	}
	if (changes & MANIFEST_UNREADABLE)
		buf_fmt(out, "%s%s", join, is->trouble == MANIFEST_CHANGING ? "it changed while it was read" : strerror(is->trouble));
}

void manifest_difference_text(const struct manifest_difference *difference, struct buf *out)
{
	if (difference->changes & (MANIFEST_ADDED | MANIFEST_REMOVED))
		buf_fmt(out, "a %s", manifest_kind_names[(difference->is ? difference->is : difference->was)->kind]);
	else
		changed_text(difference, out);
}
