#include "campaign/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/term.h"
#include "door/policy/totals.h"
#include "run/secrets.h"

#define DEFAULT_FOLDER "fuzz" /* of "fuzz/runs", where --output is not given */
#define OWNER_FILE ".hotcell-campaign"
#define MARKER_DRAFT ".marker"

const char *const session_reserved[] = { "stdout.log", "stderr.log", "result.json", "SUCCESS", "ERROR", "TIMEOUT",
	NETWORK_LOG, NETWORK_EXCHANGES, MARKER_DRAFT, NULL };

/* ---- the folder of all sessions ---- */

/* The first name in it; NULL if it is empty. */
static char *first_entry(int fd)
{
	DIR *dir = beneath_list(fd, ".");
	struct dirent *entry;
	char *found = NULL;

	while (dir != NULL && found == NULL && (entry = readdir(dir)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			found = xstrdup(entry->d_name);
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}

static int owner_write(int fd, const char *path, const char *uuid, struct err *err)
{
	own(fd_closep) int file = beneath_open(fd, OWNER_FILE, O_WRONLY | O_CREAT, 0600, err);
	own(freep) char *text = xfmt("%s\n", uuid);

	if (file < 0)
		return -1;
	if (write(file, text, strlen(text)) != (ssize_t)strlen(text))
		return err_errno(err, errno, "write to the folder '%s'", path);
	return 0;
}

/* Exactly this one, and somebody's at all. */
static bool is_owner(const struct buf *text, const char *uuid)
{
	size_t len = strlen(uuid);

	return len > 0 && text->len == len + 1 && memcmp(text->data, uuid, len) == 0 && text->data[len] == '\n';
}

static int owner_check(int fd, const char *path, const char *uuid, struct err *err)
{
	own(buf_done) struct buf text = { 0 };
	own(freep) char *other = first_entry(fd);
	struct err none;

	if (other == NULL)
		return owner_write(fd, path, uuid, err);
	bool read = beneath_read(fd, OWNER_FILE, 256, &text, &none) == 0;
	if (read && is_owner(&text, uuid))
		return 0;
	if (read && text.len == 0 && strcmp(other, OWNER_FILE) == 0) /* who began to take it was killed */
		return owner_write(fd, path, uuid, err);
	own(buf_done) struct buf shown = { 0 };
	term_line(other, strlen(other), 60, &shown);
	if (text.len > 0)
		return err_set(err, ERR_USAGE, "'%s' holds the sessions of another campaign: name another folder with --output",
			path);
	return err_set(err, ERR_USAGE,
		"'%s' is not empty and not a campaign's ('%s' is in it): name another folder with --output", path,
		buf_text(&shown));
}

/* The way to the folder is the user's own, but for the name that is ours when the user gives none: who may write to the project
 * may have put a link there. */
static int above_open(const char *path, bool make, char **ret_last, struct err *err)
{
	own(freep) char *folder = NULL, *rest = NULL;
	own(freep) char *last = beneath_split(path, &folder), *name = beneath_split(folder, &rest), *again = NULL;

	if (strcmp(name, DEFAULT_FOLDER) != 0)
		return beneath_parent(path, make, ret_last, err);
	own(fd_closep) int project = beneath_parent(folder, make, &again, err);
	if (project < 0)
		return -1;
	int fd = make ? beneath_mkdirs(project, name, 0755, err) : beneath_open(project, name, O_RDONLY | O_DIRECTORY, 0, err);
	if (fd >= 0)
		*ret_last = ptr_take(&last);
	return fd;
}

int sessions_folder(const char *path, bool make, struct err *err)
{
	own(freep) char *last = NULL;
	own(fd_closep) int above = above_open(path, make, &last, err);

	if (above < 0)
		return -1;
	/* ours alone: what runs printed and left is nobody else's to read */
	return make ? beneath_mkdirs(above, last, 0700, err) : beneath_open(above, last, O_RDONLY | O_DIRECTORY, 0, err);
}

int sessions_folder_remove(const char *path)
{
	own(freep) char *last = NULL;
	struct err err;
	own(fd_closep) int above = above_open(path, false, &last, &err);

	if (above >= 0)
		return beneath_unlink(above, last, AT_REMOVEDIR);
	errno = err.code;
	return -1;
}

/* Whoever else may rename what is in it could show us sessions that were none. */
static int check_ours(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "look at the folder '%s'", path);
	if (st.st_uid != geteuid())
		return err_set(err, ERR_USAGE, "the folder '%s' for sessions belongs to another user, who could change them: name another with --output",
			path);
	if (st.st_mode & 002)
		return err_set(err, ERR_USAGE, "the folder '%s' for sessions can be written by everybody: 'chmod o-w' it, or name another with --output",
			path);
	return 0;
}

int sessions_open(const char *path, const char *uuid, int *ret_fd, struct err *err)
{
	own(fd_closep) int fd = sessions_folder(path, true, err);

	if (fd < 0) {
		err->code = err->code == ENOTDIR || err->code == EEXIST ? ERR_USAGE : err->code;
		return err_wrap(err, "make the folder for sessions, which --output names");
	}
	if (check_ours(fd, path, err) < 0)
		return -1;
	/* of several that find it empty at the same time one takes it */
	if (flock(fd, LOCK_EX) < 0)
		return err_errno(err, errno, "lock the folder '%s'", path);
	int checked = owner_check(fd, path, uuid, err);
	(void)flock(fd, LOCK_UN);
	if (checked < 0)
		return -1;
	*ret_fd = fd_take(&fd);
	return 0;
}

int sessions_lock(int sessions, const char *path, struct err *err)
{
	own(fd_closep) int fd = beneath_open(sessions, OWNER_FILE, O_RDWR, 0, err);
	struct flock lock = { .l_type = F_WRLCK };

	if (fd < 0)
		return -1;
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return err_set(err, ERR_USAGE, "another hotcell is writing sessions to '%s'", path);
	return fd_take(&fd);
}

void sessions_disown(const char *path, const char *uuid)
{
	struct err none;
	own(fd_closep) int fd = sessions_folder(path, false, &none);
	own(buf_done) struct buf text = { 0 };

	if (fd < 0 || beneath_read(fd, OWNER_FILE, 256, &text, &none) < 0 || !is_owner(&text, uuid))
		return;
	(void)beneath_unlink(fd, OWNER_FILE, 0);
	(void)sessions_folder_remove(path); /* stays if there is anything in it */
}

bool sessions_free(const char *path)
{
	struct err none;
	own(fd_closep) int fd = sessions_folder(path, false, &none);

	if (fd < 0)
		return none.code == ENOENT;
	own(freep) char *entry = first_entry(fd);
	return entry == NULL;
}

/* ---- one session ---- */

static int log_open(int dir, const char *name, struct err *err)
{
	return beneath_open(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644, err);
}

static int folder_make(int sessions, const char *name, struct err *err)
{
	int fd = beneath_mkdir(sessions, name, 0755, err);

	if (fd >= 0 || err->code != EEXIST)
		return fd;
	if (beneath_remove(sessions, name, err) < 0)
		return err_wrap(err, "remove what an earlier try left in session '%s'", name);
	return beneath_mkdir(sessions, name, 0755, err);
}

int session_create(struct session *ret, int sessions, const char *name, struct err *err)
{
	own(session_done) struct session session = { .dir = -1, .out = -1, .err = -1 };

	(void)snprintf(session.name, sizeof(session.name), "%s", name);
	session.dir = folder_make(sessions, name, err);
	if (session.dir < 0)
		return err_wrap(err, "make the session folder '%s'", name);
	session.out = log_open(session.dir, "stdout.log", err);
	session.err = session.out < 0 ? -1 : log_open(session.dir, "stderr.log", err);
	if (session.err < 0)
		return -1;
	*ret = session;
	session = (struct session){ .dir = -1, .out = -1, .err = -1 };
	return 0;
}

int session_log(const struct session *session, const char *name, struct err *err)
{
	int fd = log_open(session->dir, name, err);

	return fd < 0 ? err_wrap(err, "session '%s'", session->name) : fd;
}

void session_done(struct session *session)
{
	fd_close(&session->dir);
	fd_close(&session->out);
	fd_close(&session->err);
}

static int write_file(int dir, const char *name, const struct buf *text, struct err *err)
{
	own(fd_closep) int fd = beneath_open(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644, err);

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < text->len;) {
		ssize_t wrote = write(fd, text->data + done, text->len - done);
		if (wrote < 0 && errno != EINTR)
			return err_errno(err, errno, "write '%s'", name);
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	return 0;
}

static void put_time(struct json *json, const char *key, uint64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	char text[40];

	(void)gmtime_r(&seconds, &tm);
	size_t len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + len, sizeof(text) - len, ".%03uZ", (unsigned)(ms % 1000));
	json_put_string(json, key, text);
}

int session_result(const struct session *session, const struct campaign_record *campaign,
	const struct run_record *run, const struct cell_result *result, bool doors, const char *spent,
	const struct redactor *redactor, struct err *err)
{
	own(json_done) struct json json = { 0 };
	own(secrets_result_done) struct cell_result shown;

	secrets_result(redactor, result, &shown);
	json_open(&json, '{');
	json_put_string(&json, "campaign", campaign->name);
	json_put_string(&json, "campaign_id", campaign->uuid);
	json_put_uint(&json, "run", run->number);
	json_put_uint(&json, "attempt", run->attempt);
	json_put_uint(&json, "seed", run->seed);
	json_put_uint(&json, "worker", run->worker);
	json_put_string(&json, "state", run_state_names[run->state]);
	json_put_string(&json, "cause", run->cause);
	put_time(&json, "started", run->started_ms);
	put_time(&json, "ended", run->ended_ms);
	if (doors) {
		json_put_string(&json, "budget", spent);
		json_key(&json, "network");
		json_open(&json, '{');
		network_json(&run->network, &json);
		json_close(&json, '}');
	}
	json_key(&json, "result");
	cell_result_json(&shown, &json);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	return write_file(session->dir, "result.json", &json.out, err);
}

/* ---- the marker ---- */

void session_marker_text(const struct run_record *run, uint64_t timeout_ms, const char *tail, size_t tail_len,
	const struct redactor *redactor, struct buf *ret)
{
	struct term_filter filter = { 0 };
	own(buf_done) struct buf shown = { 0 };

	if (run->state == RUN_SUCCESS) {
		buf_fmt(ret, "Completed in %.1fs\n", (double)run->wall_ns / (double)NS_PER_S);
		return;
	}
	if (run->state == RUN_TIMEOUT) {
		buf_fmt(ret, "Timed out after %gs\n", (double)timeout_ms / 1000);
		return;
	}
	if (run->outcome == CELL_SETUP_FAILED) {
		buf_fmt(ret, "Unexpected error: %s\n", run->cause == NULL ? "unknown" : run->cause);
		return;
	}
	buf_fmt(ret, "Exit code: %d\n", run->exit_code >= 0 ? run->exit_code : 128 + (run->signal > 0 ? run->signal : SIGKILL));
	if (run->outcome != CELL_EXITED)
		buf_fmt(ret, "Cause: %s\n", run->cause == NULL ? cell_outcome_name(run->outcome) : run->cause);
	buf_str(ret, "\nLogs:\n");
	redact_show(redactor, REDACT_ALL, tail, tail_len, &shown);
	term_filter(&filter, shown.data, shown.len, ret);
	term_filter_end(&filter, ret);
	if (tail_len > 0 && tail[tail_len - 1] != '\n')
		buf_char(ret, '\n');
}

/* The last bytes of a log, from the beginning of a line where there is one, else of a word: the rest of a key that was cut
 * would not be known as one. */
static size_t read_tail(int dir, const char *name, char *ret, size_t max)
{
	own(fd_closep) int fd = beneath_try(dir, name, O_RDONLY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
		return 0;
	off_t from = st.st_size > (off_t)max ? st.st_size - (off_t)max : 0;
	ssize_t got = pread(fd, ret, max, from);
	if (got <= 0)
		return 0;
	char *line = from > 0 ? memchr(ret, '\n', (size_t)got) : NULL;
	if (from > 0 && (line == NULL || line + 1 == ret + got))
		line = memchr(ret, ' ', (size_t)got);
	size_t skip = line == NULL || line + 1 == ret + got ? 0 : (size_t)(line + 1 - ret);
	memmove(ret, ret + skip, (size_t)got - skip);
	return (size_t)got - skip;
}

static bool is_marked(int dir)
{
	static const enum run_state finals[] = { RUN_SUCCESS, RUN_ERROR, RUN_TIMEOUT };

	for (size_t i = 0; i < ARRAY_LEN(finals); i++)
		if (beneath_is_file(dir, run_state_marker(finals[i])))
			return true;
	return false;
}

static int marker_make(int dir, const char *name, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err)
{
	own(buf_done) struct buf text = { 0 };
	char tail[SESSION_TAIL];
	size_t len = 0;

	if (run->state == RUN_ERROR) {
		len = read_tail(dir, "stderr.log", tail, sizeof(tail));
		if (len == 0)
			len = read_tail(dir, "stdout.log", tail, sizeof(tail));
	}
	session_marker_text(run, timeout_ms, tail, len, redactor, &text);
	if (write_file(dir, MARKER_DRAFT, &text, err) < 0)
		return err_wrap(err, "mark session '%s'", name);
	if (beneath_rename(dir, MARKER_DRAFT, dir, run_state_marker(run->state), err) < 0)
		return err_wrap(err, "mark session '%s'", name);
	return 0;
}

static int mark(int sessions, const char *name, bool looks, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err)
{
	own(fd_closep) int dir = beneath_open(sessions, name, O_RDONLY | O_DIRECTORY, 0, err);

	if (dir < 0)
		return err_wrap(err, "open the session folder '%s'", name);
	return looks && is_marked(dir) ? 0 : marker_make(dir, name, run, timeout_ms, redactor, err);
}

int session_mark(int sessions, const char *name, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err)
{
	return mark(sessions, name, true, run, timeout_ms, redactor, err);
}

int session_mark_own(int sessions, const char *name, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err)
{
	return mark(sessions, name, false, run, timeout_ms, redactor, err);
}

int session_remove(int sessions, const char *name, struct err *err)
{
	return beneath_remove(sessions, name, err);
}
