/* Words that another program hands us through a descriptor.
 *
 * The kernel shows a command line to every user of the machine until we have wiped it, and that is too late for whoever
 * looks at the right moment. libhotcell has values of variables in its words, so it writes them into memory and starts
 * us with that memory's descriptor instead. */
#include "cli/core/words_fd.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"

#define OPTION "--words-fd="
#define FIRST_FD 3u
#define LAST_FD 99u

bool words_fd_is_given(int argc, char *const *argv)
{
	return argc == 2 && strncmp(argv[1], OPTION, strlen(OPTION)) == 0;
}

static int number_read(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && number >= FIRST_FD && number <= LAST_FD ? (int)number : -1;
}

static int bytes_read(int fd, char *bytes, size_t len, struct err *err)
{
	for (size_t at = 0; at < len;) {
		ssize_t got = pread(fd, bytes + at, len - at, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return err_errno(err, got < 0 ? errno : EIO, OPTION "%d", fd);
		at += (size_t)got;
	}
	return 0;
}

int words_fd_read(char *const *argv, int *ret_argc, char ***ret_argv, struct err *err)
{
	own(fd_closep) int fd = number_read(argv[1] + strlen(OPTION));
	struct stat st;
	size_t count = 1;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 1 || (uint64_t)st.st_size > WORDS_FD_MAX)
		return err_set(err, ERR_USAGE, OPTION " needs the number of an open file of at most 16 MB: one word after another, a NUL "
					       "byte behind each");
	size_t len = (size_t)st.st_size;
	char *bytes = xcalloc(len + 1, 1); /* never freed: the words of this process */
	if (bytes_read(fd, bytes, len, err) < 0)
		return -1;
	for (size_t i = 0; i < len; i++)
		count += bytes[i] == '\0';
	char **words = xcalloc(count + 2, sizeof(*words));
	words[0] = argv[0];
	count = 1;
	for (char *at = bytes; at < bytes + len; at += strlen(at) + 1)
		words[count++] = at;
	*ret_argc = (int)count;
	*ret_argv = words;
	return 0;
}
