#include "finding/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/own.h"

#define SUFFIX ".json"
#define FINDINGS_MAX 100000

static int by_severity(const void *a, const void *b)
{
	return finding_order(a, b);
}

static bool is_capsule_name(const char *name)
{
	return strlen(name) == FINDING_ID_LEN + strlen(SUFFIX) && strspn(name, "0123456789abcdef") == FINDING_ID_LEN &&
		strcmp(name + FINDING_ID_LEN, SUFFIX) == 0;
}

static struct finding *place(struct finding_store *store)
{
	store->items = xrealloc(store->items, store->count + 1, sizeof(*store->items));
	store->items[store->count] = (struct finding){0};
	return &store->items[store->count++];
}

static void load(struct finding_store *store, int folder, const char *name)
{
	own(buf_done) struct buf text = {0};
	struct finding read = {0};
	struct err err = {0};

	if (beneath_read(folder, name, CAPSULE_MAX, &text, &err) < 0 ||
		capsule_read(&read, buf_text(&text), text.len, name, &err) < 0) {
		strings_add(&store->unread, err.text);
		return;
	}
	if (strncmp(read.id, name, FINDING_ID_LEN) == 0) {
		*place(store) = read;
		return;
	}
	own(freep) char *why = xfmt("%s: is the capsule of another finding, %s", name, read.id);
	strings_add(&store->unread, why);
	finding_done(&read);
}

/* The store is a folder of a state folder, which is the one that is held. */
static int folder_open(const char *folder, bool make, struct err *err)
{
	own(freep) char *state = NULL;
	own(freep) char *last = beneath_split(folder, &state);
	own(fd_closep) int root = beneath_root(state, err);

	if (root < 0)
		return -1;
	return make ? beneath_mkdirs(root, last, 0755, err) : beneath_open(root, last, O_RDONLY | O_DIRECTORY, 0, err);
}

int store_open(struct finding_store *ret, const char *folder, struct err *err)
{
	own(fd_closep) int fd = folder_open(folder, false, err);

	*ret = (struct finding_store){.folder = xstrdup(folder)};
	if (fd < 0 && err->code == ENOENT)
		return 0;
	DIR *dir = fd < 0 ? NULL : beneath_list(fd, ".");
	if (!dir) {
		int code = errno;
		store_done(ret);
		return fd < 0 ? err_wrap(err, "open the folder of findings") : err_errno(err, code, "open the folder of findings '%s'", folder);
	}
	for (const struct dirent *entry; (entry = readdir(dir)) && ret->count < FINDINGS_MAX;)
		if (is_capsule_name(entry->d_name))
			load(ret, fd, entry->d_name);
	(void)closedir(dir);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_severity);
	return 0;
}

void store_done(struct finding_store *store)
{
	for (size_t i = 0; i < store->count; i++)
		finding_done(&store->items[i]);
	free(store->items);
	free(store->folder);
	strings_done(&store->unread);
	*store = (struct finding_store){0};
}

const struct finding *store_find(const struct finding_store *store, const char *id)
{
	const struct finding *found = NULL;
	size_t len = strlen(id);

	for (size_t i = 0; len && i < store->count; i++) {
		if (strncmp(store->items[i].id, id, len) != 0)
			continue;
		if (found)
			return NULL; /* two begin like that */
		found = &store->items[i];
	}
	return found;
}

/* ---- writing ---- */

/* The bytes of an input in a file of their own: what a debugger is given. */
static int put_bytes(int folder, const char *name, const char *text, struct err *err)
{
	own(buf_done) struct buf bytes = {0};

	if (!base64_read(text, strlen(text), &bytes))
		return 0; /* a capsule that somebody made: it is kept as it is */
	return beneath_write(folder, name, &bytes, 0644, err);
}

/* Where a run left a core: below the same state folder, most of all. */
static int core_open(const char *store, const char *from, struct err *err)
{
	own(freep) char *state = NULL;
	own(freep) char *last = beneath_split(store, &state);
	size_t len = strlen(state);

	if (strncmp(from, state, len) != 0 || from[len] != '/')
		return beneath_root(from, err);
	own(fd_closep) int root = beneath_root(state, err);
	return root < 0 ? -1 : beneath_open(root, from + len + 1, O_RDONLY | O_DIRECTORY, 0, err);
}

/* Moved, since they may be large. Whoever took them has seen that they are plain files, and nobody else has them any more. */
static int put_core(const char *store, const char *from, int folder, struct err *err)
{
	static const char *const names[] = {STORE_CORE, STORE_PROGRAM};
	own(fd_closep) int old = core_open(store, from, err);

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (old < 0 || beneath_rename(old, names[i], folder, names[i], err) < 0)
			return err_wrap(err, "move the core");
	return 0;
}

/* FOLDER/ID/ has what cannot be read in a capsule: input, found, report.txt, core and program. */
static int put_files(const char *shown, int store, const struct finding *finding, struct err *err)
{
	own(buf_done) struct buf text = {0};

	if (!finding->binary)
		return 0;
	own(fd_closep) int folder = beneath_mkdirs(store, finding->id, 0755, err);
	if (folder < 0 || put_bytes(folder, STORE_INPUT, finding->input, err) < 0 ||
		(finding->found && put_bytes(folder, STORE_FOUND, finding->found, err) < 0))
		return -1;
	if (finding->core_from && put_core(shown, finding->core_from, folder, err) < 0)
		return -1;
	if (!finding->report && beneath_is_file(folder, STORE_REPORT))
		return 0; /* what was said when it was found */
	buf_str(&text, finding->report ? finding->report : "");
	for (size_t i = 0; !finding->report && i < finding->evidence.count; i++)
		buf_fmt(&text, "%s\n", finding->evidence.items[i]);
	return beneath_write(folder, STORE_REPORT, &text, 0644, err);
}

int store_put(struct finding_store *store, const struct finding *finding, struct err *err)
{
	own(freep) char *name = xfmt("%s" SUFFIX, finding->id);
	own(json_done) struct json json = {.pretty = true};
	own(fd_closep) int folder = folder_open(store->folder, true, err);

	if (folder < 0)
		return -1;
	capsule_write(finding, &json);
	buf_char(&json.out, '\n');
	if (json.out.len > CAPSULE_MAX)
		return err_set(err, ERR_LIMIT, "the capsule of finding %s would be larger than %zu MB", finding->id, CAPSULE_MAX >> 20);
	return put_files(store->folder, folder, finding, err) < 0 ? -1 : beneath_write(folder, name, &json.out, 0644, err);
}

/* By way of the capsule: what can be written can be read, and nothing is shared. */
static int copy(struct finding *ret, const struct finding *finding, struct err *err)
{
	own(json_done) struct json json = {0};

	capsule_write(finding, &json);
	return capsule_read(ret, json.out.data, json.out.len, finding->id, err);
}

/* What is known of `old` and is worth keeping. Not its input, be it smaller: `fresh` has the one that was just seen. */
static void join(struct finding *fresh, const struct finding *old)
{
	fresh->times += old->times;
	fresh->core = fresh->core || old->core;
	if (old->first_seen && (!fresh->first_seen || old->first_seen < fresh->first_seen))
		fresh->first_seen = old->first_seen;
	if (old->state == FINDING_SUPPRESSED) {
		fresh->state = FINDING_SUPPRESSED;
		free(fresh->reason);
		fresh->reason = old->reason ? xstrdup(old->reason) : NULL;
		fresh->until = old->until;
	}
}

/* What others wrote since the store was opened counts too: above all a suppression, while a campaign runs all night. */
static void refresh(struct finding_store *store, const char *id)
{
	struct err err = {0};
	own(fd_closep) int folder = folder_open(store->folder, false, &err);
	own(freep) char *name = xfmt("%s" SUFFIX, id);
	own(buf_done) struct buf text = {0};
	struct finding read = {0}, *old = NULL;

	if (folder < 0 || beneath_read(folder, name, CAPSULE_MAX, &text, &err) < 0 ||
		capsule_read(&read, buf_text(&text), text.len, name, &err) < 0)
		return;
	if (strcmp(read.id, id) != 0) {
		finding_done(&read);
		return;
	}
	for (size_t i = 0; i < store->count && !old; i++)
		if (strcmp(store->items[i].id, id) == 0)
			old = &store->items[i];
	if (old)
		finding_done(old);
	else
		old = place(store);
	*old = read;
}

int store_add(struct finding_store *store, const struct finding *finding, bool *ret_new, struct err *err)
{
	struct finding fresh = {0};
	struct finding *old = NULL;

	if (copy(&fresh, finding, err) < 0)
		return -1;
	fresh.report = finding->report ? xstrdup(finding->report) : NULL;
	fresh.core_from = finding->core_from ? xstrdup(finding->core_from) : NULL;
	refresh(store, fresh.id);
	for (size_t i = 0; i < store->count && !old; i++)
		if (strcmp(store->items[i].id, fresh.id) == 0)
			old = &store->items[i];
	*ret_new = !old;
	if (old)
		join(&fresh, old);
	int written = store_put(store, &fresh, err); /* if not, it is known all the same: whoever found it tells of it */
	free(ptr_take(&fresh.core_from)); /* it is there now, or never will be */
	if (old)
		finding_done(old);
	else
		old = place(store);
	*old = fresh;
	qsort(store->items, store->count, sizeof(*store->items), by_severity);
	return written;
}
