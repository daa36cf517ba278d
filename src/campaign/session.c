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

#include "base/clock.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/term.h"
#include "campaign/network.h"
#include "campaign/secrets.h"

#define OWNER_FILE ".hotcell-campaign"
#define MARKER_DRAFT ".marker"

const char *const session_reserved[] = { "stdout.log", "stderr.log", "result.json", "SUCCESS", "ERROR", "TIMEOUT",
	NETWORK_LOG, NETWORK_EXCHANGES, MARKER_DRAFT, NULL };

/* ---- the folder of all sessions ---- */

/* The first name in it; NULL if it is empty. */
static char *first_entry(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
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
	own(fd_closep) int file = openat(fd, OWNER_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	own(freep) char *text = xfmt("%s\n", uuid);

	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
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
	bool read = fs_read_small(fd, OWNER_FILE, 256, &text, &none) == 0;
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

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

int sessions_open(const char *path, const char *uuid, int *ret_fd, struct err *err)
{
	if (is_link(path))
		return err_set(err, ERR_USAGE, "'%s' is a symbolic link: name the folder itself with --output", path);
	if (fs_mkdirs(path, err) < 0) {
		err->code = err->code == ENOTDIR || err->code == EEXIST ? ERR_USAGE : err->code;
		return err_wrap(err, "make the folder '%s' for sessions", path);
	}
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, errno, "open the folder '%s' for sessions", path);
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
	own(fd_closep) int fd = openat(sessions, OWNER_FILE, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct flock lock = { .l_type = F_WRLCK };

	if (fd < 0)
		return err_errno(err, errno, "open '%s/" OWNER_FILE "'", path);
	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return err_set(err, ERR_USAGE, "another hotcell is writing sessions to '%s'", path);
	return fd_take(&fd);
}

void sessions_disown(const char *path, const char *uuid)
{
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	own(buf_done) struct buf text = { 0 };
	struct err none;

	if (fd < 0 || fs_read_small(fd, OWNER_FILE, 256, &text, &none) < 0 || !is_owner(&text, uuid))
		return;
	(void)unlinkat(fd, OWNER_FILE, 0);
	(void)rmdir(path); /* stays if there is anything in it */
}

bool sessions_free(const char *path)
{
	own(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT;
	own(freep) char *entry = first_entry(fd);
	return entry == NULL;
}

/* ---- one session ---- */

static int log_open(int dir, const char *name, struct err *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);

	return fd < 0 ? err_errno(err, errno, "make '%s'", name) : fd;
}

static int folder_make(int sessions, const char *name, struct err *err)
{
	if (mkdirat(sessions, name, 0755) == 0)
		return 0;
	if (errno != EEXIST)
		return err_errno(err, errno, "make the session folder '%s'", name);
	if (fs_remove_tree(sessions, name, err) < 0)
		return err_wrap(err, "remove what an earlier try left in session '%s'", name);
	if (mkdirat(sessions, name, 0755) < 0)
		return err_errno(err, errno, "make the session folder '%s'", name);
	return 0;
}

int session_create(struct session *ret, int sessions, const char *name, struct err *err)
{
	own(session_done) struct session session = { .dir = -1, .out = -1, .err = -1 };

	(void)snprintf(session.name, sizeof(session.name), "%s", name);
	if (folder_make(sessions, name, err) < 0)
		return -1;
	session.dir = openat(sessions, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (session.dir < 0)
		return err_errno(err, errno, "open the session folder '%s'", name);
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
	own(fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return err_errno(err, errno, "make '%s'", name);
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
	own(fd_closep) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
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
		if (faccessat(dir, run_state_marker(finals[i]), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
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
	if (renameat(dir, MARKER_DRAFT, dir, run_state_marker(run->state)) < 0)
		return err_errno(err, errno, "mark session '%s'", name);
	return 0;
}

static int mark(int sessions, const char *name, bool looks, const struct run_record *run, uint64_t timeout_ms,
	const struct redactor *redactor, struct err *err)
{
	own(fd_closep) int dir = openat(sessions, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		return err_errno(err, errno, "open the session folder '%s'", name);
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
	return fs_remove_tree(sessions, name, err);
}
