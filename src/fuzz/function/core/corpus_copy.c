/* Inputs from a folder that anybody may have written to into one that names each by its content. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/sha256.h"
#include "base/term.h"
#include "fuzz/function/corpus.h"

#define ENTRIES_MAX 200000u /* looked at in one folder and those below it */

struct copying {
	int to;
	const struct corpus_caps *caps;
	struct corpus_taken *ret;
	struct err *err;
	unsigned seen;
};

void corpus_taken_done(struct corpus_taken *taken)
{
	strings_done(&taken->why);
	*taken = (struct corpus_taken){0};
}

bool corpus_taken_tell(const struct corpus_taken *taken, struct buf *out)
{
	if (!taken->left_out && !taken->full)
		return false;
	if (taken->left_out)
		buf_fmt(out, "%llu of its files %s left out: ", (unsigned long long)taken->left_out,
			taken->left_out == 1 ? "was" : "were");
	for (size_t i = 0; i < taken->why.count; i++)
		buf_fmt(out, "%s%s", i ? ", " : "", taken->why.items[i]);
	if (taken->left_out > taken->why.count)
		buf_str(out, ", ...");
	if (taken->full)
		buf_fmt(out, "%sthere is more in it than there is room for", taken->left_out ? "; " : "");
	return true;
}

static void leave_out(struct copying *it, const char *name, const char *why)
{
	own(buf_done) struct buf text = {0};

	it->ret->left_out++;
	if (it->ret->why.count >= CORPUS_WHY_MAX)
		return;
	buf_char(&text, '\'');
	term_line(name, strlen(name), 60, &text);
	buf_fmt(&text, "' %s", why);
	strings_add(&it->ret->why, buf_text(&text));
}

static const char *kind_text(mode_t mode)
{
	return S_ISLNK(mode)     ? "is a symbolic link"
		: S_ISFIFO(mode) ? "is a FIFO"
		: S_ISSOCK(mode) ? "is a socket"
		: S_ISDIR(mode)  ? "is a folder"
				 : "is a device";
}

/* What is opened is looked at again: the name may have been given to something else in between. */
static bool read_input(int dir, const char *name, struct buf *ret, char *why, size_t why_size)
{
	own(fd_closep) int fd = beneath_try(dir, name, O_RDONLY, 0);
	char part[16384];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)snprintf(why, why_size, "cannot be read (%s)", strerror(errno));
		return false;
	}
	(void)snprintf(why, why_size, "%s", S_ISREG(st.st_mode) ? "is larger than 1 MB" : kind_text(st.st_mode));
	if (!S_ISREG(st.st_mode) || st.st_size < 0 || (uint64_t)st.st_size > CORPUS_INPUT_MAX)
		return false;
	for (ssize_t got; (got = read(fd, part, sizeof(part))) != 0;) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			(void)snprintf(why, why_size, "cannot be read (%s)", strerror(errno));
		if (got < 0 || ret->len + (size_t)got > CORPUS_INPUT_MAX)
			return false;
		buf_add(ret, part, (size_t)got);
	}
	return true;
}

/* ---- writing ---- */

static int write_all(int fd, const struct buf *bytes)
{
	for (size_t done = 0; done < bytes->len;) {
		ssize_t put = write(fd, bytes->data + done, bytes->len - done);
		if (put < 0 && errno != EINTR)
			return -1;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

/* Whole under its name or not at all; whoever was first keeps it. 0: it was not there; 1: it was; -1 with errno. */
static int put_input(int dir, const char *name, const struct buf *bytes)
{
	own(fd_closep) int fd = beneath_try(dir, ".", O_TMPFILE | O_WRONLY, 0644);
	char held[40], part[40];

	if (fd >= 0) {
		(void)snprintf(held, sizeof(held), "/proc/self/fd/%d", fd);
		if (write_all(fd, bytes) < 0)
			return -1;
		return linkat(AT_FDCWD, held, dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno == EEXIST ? 1 : -1;
	}
	/* a file system without files that have no name */
	(void)snprintf(part, sizeof(part), ".part-%d", (int)getpid());
	(void)beneath_unlink(dir, part, 0);
	errno = 0;
	fd = beneath_try(dir, part, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return -1;
	int rc = write_all(fd, bytes) < 0 || (linkat(dir, part, dir, name, 0) < 0 && errno != EEXIST) ? -1 : 0;
	int code = errno;
	(void)beneath_unlink(dir, part, 0);
	errno = code;
	return rc == 0 && code == EEXIST ? 1 : rc;
}

/* ---- one folder ---- */

static void sum_name(const struct buf *bytes, char ret[SHA256_HEX])
{
	unsigned char sum[SHA256_SIZE];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, buf_text(bytes), bytes->len);
	sha256_end(&state, sum);
	sha256_hex(sum, ret);
}

static int copy_one(struct copying *it, int dir, const char *name)
{
	own(buf_done) struct buf bytes = {0};
	char hex[SHA256_HEX], why[80];
	struct stat there;

	if (!read_input(dir, name, &bytes, why, sizeof(why))) {
		leave_out(it, name, why);
		return 0;
	}
	sum_name(&bytes, hex);
	if (it->caps->named && strcmp(name, hex) != 0) {
		leave_out(it, name, "is not what its name says");
		return 0;
	}
	bool known = beneath_stat(it->to, hex, &there) == 0;
	if (known && !S_ISREG(there.st_mode))
		return beneath_fail(it->to, hex, EEXIST, "write the input", it->err);
	if (known) {
		it->ret->known++;
		if (it->caps->names)
			corpus_names_add(it->caps->names, hex);
		return 0;
	}
	if (it->ret->files >= it->caps->files || bytes.len > it->caps->bytes - it->ret->bytes) {
		it->ret->full = true;
		return 0;
	}
	int rc = put_input(it->to, hex, &bytes);
	if (rc < 0)
		return err_errno(it->err, errno, "write the input '%s'", hex);
	if (it->caps->names)
		corpus_names_add(it->caps->names, hex);
	it->ret->known += rc == 1;
	it->ret->files += rc == 0;
	it->ret->bytes += rc == 0 ? bytes.len : 0;
	return 0;
}

static int copy_folder(struct copying *it, int folder, unsigned depth);

static int copy_entry(struct copying *it, int dir, const char *name, unsigned depth)
{
	struct stat st;

	if (beneath_stat(dir, name, &st) < 0)
		return 0; /* it is gone */
	if (S_ISREG(st.st_mode))
		return copy_one(it, dir, name);
	own(fd_closep) int below =
		S_ISDIR(st.st_mode) && depth ? beneath_try(dir, name, O_RDONLY | O_DIRECTORY, 0) : -1;
	if (below >= 0)
		return copy_folder(it, below, depth - 1);
	leave_out(it, name, S_ISDIR(st.st_mode) && depth ? "cannot be read" : kind_text(st.st_mode));
	return 0;
}

static int copy_folder(struct copying *it, int folder, unsigned depth)
{
	DIR *dir = beneath_list(folder, ".");
	int rc = 0;

	if (!dir) {
		leave_out(it, ".", "cannot be read");
		return 0;
	}
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || (it->caps->named && strcmp(entry->d_name, "about.json") == 0))
			continue;
		if (it->seen++ >= ENTRIES_MAX) {
			it->ret->full = true;
			break;
		}
		rc = copy_entry(it, dirfd(dir), entry->d_name, depth);
	}
	(void)closedir(dir);
	return rc;
}

int corpus_copy(int from, int to, const struct corpus_caps *caps, struct corpus_taken *ret, struct err *err)
{
	struct copying it = {.to = to, .caps = caps, .ret = ret, .err = err};

	*ret = (struct corpus_taken){0};
	int rc = copy_folder(&it, from, caps->depth);
	if (caps->names)
		corpus_names_sort(caps->names);
	return rc;
}
