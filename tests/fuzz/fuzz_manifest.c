/* Whatever the text: it is refused with a clean sentence, or gives entries that stay inside, are sorted, say the same when
 * they are written and read again, and differ from nothing but others. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "manifest/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct err *err)
{
	assert(err->code == ERR_USAGE && strnlen(err->text, sizeof(err->text)) < sizeof(err->text));
	assert(strncmp(err->text, "f:", 2) == 0);
	for (const char *at = err->text; *at; at++)
		assert((unsigned char)*at >= 0x20 && *at != 0x7f);
}

static void check_path(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");
		assert(len > 0 && !(len == 1 && at[0] == '.') && !(len == 2 && at[0] == '.' && at[1] == '.'));
		at += len;
		if (!*at)
			return;
	}
}

static void check_entries(const struct manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++) {
		const struct manifest_entry *entry = &manifest->entries[i];
		check_path(entry->path);
		assert(i == 0 || strcmp(manifest->entries[i - 1].path, entry->path) < 0);
		assert(entry->mode <= 07777 && entry->size <= INT64_MAX && entry->trouble == 0);
		assert((entry->kind == MANIFEST_LINK || entry->kind >= MANIFEST_CHAR_DEVICE) == !!entry->target);
	}
}

static void check_written(const struct manifest *manifest)
{
	own(buf_done) struct buf first = {0}, second = {0};
	own(manifest_done) struct manifest again = {0};
	const struct manifest none = {0};
	struct err err = {0};

	manifest_write(manifest, &first);
	assert(manifest_read(&again, first.data, first.len, "f", &err) == 0);
	manifest_write(&again, &second);
	assert(first.len == second.len && memcmp(first.data, second.data, first.len) == 0);
	assert(manifest_compare(manifest, &again, NULL, NULL) == 0);
	assert(manifest_compare(manifest, &none, NULL, NULL) == manifest->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	own(freep) char *text = malloc(size ? size : 1); /* exactly, so that a byte too far is seen */
	own(manifest_done) struct manifest manifest = {0};
	struct err err = {0};

	memcpy(text, data, size);
	if (manifest_read(&manifest, text, size, "f", &err) < 0) {
		check_refusal(&err);
		assert(manifest.count == 0);
		return 0;
	}
	check_entries(&manifest);
	check_written(&manifest);
	return 0;
}
