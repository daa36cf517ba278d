#include "base/homes.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"

#define PASSWD_MAX ((size_t)4 << 20)

static bool is_at_or_above(const char *folder, const char *path, size_t len)
{
	size_t size = strlen(folder);

	return size <= len && strncmp(path, folder, size) == 0 && (size == len || path[size] == '/');
}

/* The field `count` colons behind `at`, within its line; NULL: there is none. */
static const char *field(const char *at, unsigned count)
{
	for (; count; count--) {
		at += strcspn(at, ":\n");
		if (*at++ != ':')
			return NULL;
	}
	return at;
}

static bool is_number(const char *at, uint64_t number)
{
	uint64_t read = 0;
	size_t len = 0;

	for (; at[len] >= '0' && at[len] <= '9' && len < 10; len++)
		read = read * 10 + (uint64_t)(at[len] - '0');
	return len > 0 && at[len] == ':' && read == number;
}

bool homes_find(const char *passwd, uid_t uid, const char **ret, size_t *ret_len)
{
	for (const char *line = passwd; *line; line += strspn(line, "\n")) {
		const char *id = field(line, 2), *home = field(line, 5);
		size_t len = home ? strcspn(home, ":\n") : 0;
		if (len && *home == '/' && id && is_number(id, uid)) {
			*ret = home;
			*ret_len = len;
			return true;
		}
		line += strcspn(line, "\n");
	}
	return false;
}

/* A home may be behind a link, and `folder` is what is behind all of them. */
static bool holds(const char *folder, const char *home, size_t len)
{
	own(freep) char *copy = xfmt("%.*s", (int)len, home), *whole = realpath(copy, NULL);

	return is_at_or_above(folder, home, len) || (whole && is_at_or_above(folder, whole, strlen(whole)));
}

static bool holds_home_of(const char *folder, uid_t owner)
{
	own(buf_done) struct buf passwd = {0};
	const char *home;
	size_t len;
	struct err err;

	return fs_read_small(AT_FDCWD, "/etc/passwd", PASSWD_MAX, &passwd, &err) == 0 &&
		homes_find(buf_text(&passwd), owner, &home, &len) && holds(folder, home, len);
}

/* Each folder in one of these is a home, wherever the accounts are kept. */
static bool is_in_homes(const char *folder)
{
	static const char *const homes[] = {"/home", "/var/home", "/export/home", NULL};
	const char *slash = strrchr(folder, '/');

	for (size_t i = 0; slash && homes[i]; i++)
		if (strlen(homes[i]) == (size_t)(slash - folder) && strncmp(folder, homes[i], (size_t)(slash - folder)) == 0)
			return true;
	return false;
}

bool folder_is_shared(const char *folder)
{
	static const char *const system[] = {"/", "/bin", "/boot", "/dev", "/etc", "/export", "/home", "/lib", "/lib64", "/media", "/opt", "/proc",
		"/root", "/run", "/sbin", "/sys", "/tmp", "/usr", "/usr/local", "/var", "/var/home", "/var/lib", "/var/tmp", NULL};
	const char *home = getenv("HOME");
	struct stat st;

	for (size_t i = 0; system[i]; i++)
		if (strcmp(folder, system[i]) == 0)
			return true;
	if (is_in_homes(folder) || (home && *home == '/' && holds(folder, home, strlen(home))))
		return true;
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	return (st.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) || holds_home_of(folder, st.st_uid);
}

bool folder_is_homelike(const char *folder)
{
	static const char *const names[] = {"/.local", "/.config", "/.cache", "/.var", "/.local/share", "/.local/state", NULL};
	size_t len = strlen(folder);

	if (folder_is_shared(folder))
		return true;
	for (size_t i = 0; names[i]; i++) {
		size_t size = strlen(names[i]);
		own(freep) char *above = len > size && strcmp(folder + len - size, names[i]) == 0 ? xfmt("%.*s", (int)(len - size), folder) : NULL;
		if (above && folder_is_shared(above))
			return true;
	}
	return false;
}
