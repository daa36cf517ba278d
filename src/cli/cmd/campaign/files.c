#include "cli/cmd/campaign/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/size.h"
#include "campaign/session.h"

#define OWNER_FILE ".hotcell-campaign"
#define OWNER_MAX 256
#define SIZE_DEPTH 32

int campaign_files_open(const struct campaign_record *campaign, int *ret_fd, struct err *err)
{
	own(fd_closep) int fd = sessions_folder(campaign->output, false, err);
	own(buf_done) struct buf owner = {0};
	struct err unread = {0};

	if (fd < 0 && (err->code == ENOENT || err->code == ENOTDIR || err->code == ERR_USAGE))
		return 0; /* none, or a link, which is not followed */
	if (fd < 0)
		return err_wrap(err, "open the folder of the sessions");
	if (beneath_read(fd, OWNER_FILE, OWNER_MAX, &owner, &unread) < 0)
		return 0;
	size_t len = strlen(campaign->uuid);
	if (len == 0 || strncmp(buf_text(&owner), campaign->uuid, len) != 0 || strcmp(buf_text(&owner) + len, "\n") != 0)
		return 0;
	*ret_fd = fd_take(&fd);
	return 1;
}

uint64_t campaign_files_number(const struct campaign_record *campaign, const char *name)
{
	char canonical[24];
	uint64_t number;
	struct err err = {0};

	if (strlen(name) != plan_digits(campaign->plan.runs) ||
		count_parse(name, "session", 1, campaign->plan.runs, &number, &err) < 0)
		return 0;
	plan_session_name(campaign->plan.runs, number, canonical, sizeof(canonical));
	return strcmp(name, canonical) == 0 ? number : 0;
}

static void dir_closep(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

int campaign_files_each(int sessions, const struct campaign_record *campaign, campaign_file_fn *fn, void *data,
	struct err *err)
{
	own(dir_closep) DIR *dir = beneath_list(sessions, ".");
	struct dirent *entry;

	if (!dir)
		return err_errno(err, errno, "list the folder '%s' of the sessions", campaign->output);
	while ((errno = 0, entry = readdir(dir))) {
		uint64_t number = campaign_files_number(campaign, entry->d_name);
		int rc = number > 0 ? fn(data, sessions, entry->d_name, number, err) : 0;
		if (rc != 0)
			return rc;
	}
	return errno ? err_errno(err, errno, "list the folder '%s' of the sessions", campaign->output) : 0;
}

/* Deeper than SIZE_DEPTH is not looked at: what a cell left may be nested as deep as its disk allowed. */
static bool size_below(int at, const char *name, unsigned depth, uint64_t *budget, uint64_t *ret_bytes)
{
	own(dir_closep) DIR *dir = beneath_list(at, name);
	struct dirent *entry;
	bool whole = true;

	while (dir && (entry = readdir(dir))) {
		struct stat st;
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (*budget == 0)
			return false;
		(*budget)--;
		if (beneath_stat(dirfd(dir), entry->d_name, &st) < 0)
			continue;
		*ret_bytes += (uint64_t)st.st_blocks * 512;
		if (S_ISDIR(st.st_mode))
			whole &= depth < SIZE_DEPTH && size_below(dirfd(dir), entry->d_name, depth + 1, budget, ret_bytes);
	}
	return whole && dir;
}

bool campaign_files_size(int sessions, const char *name, uint64_t *budget, uint64_t *ret_bytes)
{
	struct stat st;

	*ret_bytes = 0;
	if (beneath_stat(sessions, name, &st) == 0)
		*ret_bytes = (uint64_t)st.st_blocks * 512;
	return size_below(sessions, name, 0, budget, ret_bytes);
}

int campaign_files_finish(int sessions, const struct campaign_record *campaign, bool *ret_left, struct err *err)
{
	*ret_left = false;
	if (beneath_unlink(sessions, OWNER_FILE, 0) < 0 && errno != ENOENT)
		return err_errno(err, errno, "remove '%s' from '%s'", OWNER_FILE, campaign->output);
	if (sessions_folder_remove(campaign->output) == 0 || errno == ENOENT)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		*ret_left = true;
	else if (errno != EBUSY && errno != EACCES && errno != EPERM && errno != ENOTDIR)
		return err_errno(err, errno, "remove the folder '%s'", campaign->output);
	return 0;
}
