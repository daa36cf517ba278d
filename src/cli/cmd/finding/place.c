#include "cli/cmd/finding/place.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/term.h"
#include "project/state.h"
#include "cli/core/cli.h"
#include "report/findings.h"

#define FOLDER "findings"
#define TOLD_MAX 10
#define TEXT_SHOWN 300

/* ---- the folder ---- */

/* A path below this folder as it is from here. */
static char *from_here(const char *path)
{
	own(freep) char *here = getcwd(NULL, 0);
	size_t len = here ? strlen(here) : 0;

	if (len > 1 && strncmp(path, here, len) == 0 && path[len] == '/')
		return xstrdup(path + len + 1);
	return xstrdup(path);
}

int findings_place_open(struct findings_place *ret, const char *given, struct err *err)
{
	const char *variable = getenv("HOTCELL_STATE");
	/* nothing was ever kept here, and nobody said that there should be something */
	bool none = !given && !(variable && *variable) && state_is_none(NULL);
	own(freep) char *state = none ? NULL : state_folder(given, false, err);

	*ret = (struct findings_place){0};
	if (!state && !none)
		return -1;
	own(freep) char *folder = xfmt("%s/" FOLDER, state ? state : STATE_FOLDER);
	if (store_open(&ret->store, folder, err) < 0)
		return -1;
	ret->shown = from_here(folder);
	return 0;
}

void findings_place_done(struct findings_place *place)
{
	free(place->shown);
	store_done(&place->store);
	*place = (struct findings_place){0};
}

static void tell_unread(const struct strings *unread)
{
	for (size_t i = 0; i < unread->count && i < TOLD_MAX; i++) {
		own(buf_done) struct buf line = {0};
		term_line(unread->items[i], strlen(unread->items[i]), TEXT_SHOWN, &line);
		cli_say("left alone: %s", buf_text(&line));
	}
	if (unread->count > TOLD_MAX)
		cli_say("left alone: %zu files more that are no findings", unread->count - TOLD_MAX);
}

void findings_place_tell(const struct findings_place *place, int64_t now)
{
	size_t ended = 0;

	tell_unread(&place->store.unread);
	for (size_t i = 0; i < place->store.count; i++) {
		const struct finding *finding = &place->store.items[i];
		own(buf_done) struct buf date = {0}, reason = {0};
		if (finding->state != FINDING_SUPPRESSED || finding_is_suppressed(finding, now) || ended++ >= TOLD_MAX)
			continue;
		finding_date(finding->until, &date);
		if (finding->reason)
			term_line(finding->reason, strlen(finding->reason), TEXT_SHOWN, &reason);
		cli_say("the suppression of %s ended on %s, and it counts again; it was: %s", finding->id, buf_text(&date),
			reason.len ? buf_text(&reason) : "without a reason");
	}
	if (ended > TOLD_MAX)
		cli_say("%zu suppressions more have ended", ended - TOLD_MAX);
}

/* ---- one ---- */

static size_t count_like(const struct finding_store *store, const char *id)
{
	size_t count = 0;

	for (size_t i = 0; i < store->count; i++)
		count += strncmp(store->items[i].id, id, strlen(id)) == 0;
	return count;
}

const struct finding *findings_place_find(const struct findings_place *place, const char *id, struct err *err)
{
	const struct finding *found = store_find(&place->store, id);
	own(buf_done) struct buf shown = {0};

	if (found)
		return found;
	term_line(id, strlen(id), 60, &shown);
	size_t like = *id ? count_like(&place->store, id) : 0;
	if (like > 1)
		(void)err_set(err, ERR_USAGE, "%zu findings begin with '%s': give more of the id; 'hotcell findings list --all' has them", like,
			buf_text(&shown));
	else
		(void)err_set(err, ERR_USAGE, "there is no finding '%s' in '%s'; 'hotcell findings list --all' has them", buf_text(&shown),
			place->shown);
	return NULL;
}

bool finding_is_file(const char *word)
{
	size_t len = strlen(word);

	return strchr(word, '/') || (len > 5 && strcmp(word + len - 5, ".json") == 0);
}

int finding_file_read(const char *path, struct finding *ret, struct err *err)
{
	own(buf_done) struct buf text = {0}, shown = {0};

	*ret = (struct finding){0};
	term_line(path, strlen(path), 200, &shown);
	if (fs_read_small(AT_FDCWD, path, CAPSULE_MAX, &text, err) < 0) {
		err->code = ERR_USAGE;
		return -1;
	}
	return capsule_read(ret, buf_text(&text), text.len, buf_text(&shown), err);
}
