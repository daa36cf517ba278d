/* Which parts of the caches of this machine a build is shown. A lock file is a stranger's, who may name what is private and only
 * guess at it: so what is not from a public registry must have the sum that the file says, which nobody knows who has not got it. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/beneath.h"
#include "base/fs.h"
#include "base/sha256.h"
#include "fuzz/function/lang/language.h"
#include "fuzz/function/lang/lock.h"
#include "fuzz/function/lang/parts.h"

#define LOCK_MAX ((size_t)8 << 20)
#define SMALL_MAX ((size_t)1 << 20)
#define CRATE_MAX ((uint64_t)256 << 20)

struct gather {
	const char *cache; /* on the host */
	const char *index; /* of cargo: a registry's name */
	struct parts *ret;
};

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ---- what builds keep ---- */

#define KEY_LEN 16

char *parts_cache(const char *language, const char *root)
{
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, root, strlen(root));
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	return xfmt("%s-%.*s", language, KEY_LEN, hex);
}

void parts_seed(const char *state, const char *language, struct parts *ret)
{
	own(freep) char *name = xfmt("cache/%s", language), *above = state ? realpath(state, NULL) : NULL;
	struct err none;
	own(fd_closep) int dir = above ? beneath_root(state, &none) : -1;
	own(fd_closep) int fd = dir < 0 ? -1 : beneath_try(dir, name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	ret->seed = xfmt("%s/%s", above, name);
	ret->seed_id = (struct fs_id){st.st_dev, st.st_ino};
}

/* ---- Go ---- */

static char *module_cache(void)
{
	const char *given = getenv("GOMODCACHE"), *path = getenv("GOPATH"), *home = getenv("HOME");
	/* absolute ones alone: what is relative would be found in the project, whose own it must not be to say what is mounted */
	own(freep) char *folder = given && *given == '/' ? xstrdup(given)
		: path && *path == '/'                   ? xfmt("%.*s/pkg/mod", (int)strcspn(path, ":"), path)
							 : xfmt("%s/go/pkg/mod", home && *home == '/' ? home : "/nonexistent");
	own(freep) char *real = realpath(folder, NULL);

	return real && is_folder(real) ? ptr_take(&real) : NULL;
}

/* As in go.sum: of a list of one file, with its sum. */
static void sum_of_mod(const struct buf *text, struct buf *ret)
{
	unsigned char sum[SHA256_SIZE];
	char hex[SHA256_HEX];
	struct sha256 state;

	sha256_init(&state);
	sha256_add(&state, buf_text(text), text->len);
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	own(freep) char *line = xfmt("%s  go.mod\n", hex);
	sha256_init(&state);
	sha256_add(&state, line, strlen(line));
	sha256_end(&state, sum);
	buf_str(ret, "h1:");
	base64_write(sum, sizeof(sum), ret);
}

static void go_module(void *data, const struct lock_entry *entry)
{
	const struct gather *it = data;
	own(freep) char *name = xfmt("cache/download/%s/@v/%s.%s", entry->name, entry->version, entry->mod_only ? "mod" : "ziphash");
	own(freep) char *path = xfmt("%s/%s", it->cache, name), *folder = xfmt("%s@%s", entry->name, entry->version);
	own(freep) char *source = xfmt("%s/%s", it->cache, folder);
	own(buf_done) struct buf text = {0}, sum = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, path, SMALL_MAX, &text, &err) < 0)
		return;
	if (entry->mod_only)
		sum_of_mod(&text, &sum);
	else
		buf_add(&sum, buf_text(&text), strcspn(buf_text(&text), "\n"));
	if (strcmp(buf_text(&sum), entry->sum) != 0 || memchr(buf_text(&text), '\0', text.len))
		return;
	parts_add_file(it->ret, name, &text);
	if (!entry->mod_only)
		parts_add_folder(it->ret, folder, source);
}

void parts_of_go(const char *root, struct parts *ret)
{
	own(freep) char *lock = xfmt("%s/go.sum", root), *vendor = xfmt("%s/vendor/modules.txt", root), *cache = module_cache();
	own(buf_done) struct buf text = {0};
	struct gather gather = {.cache = cache, .ret = ret};
	struct err err;

	if (!cache || access(vendor, F_OK) == 0 || fs_read_small(AT_FDCWD, lock, LOCK_MAX, &text, &err) < 0)
		return;
	ret->top = FUNCTION_LIBRARIES;
	lock_read_go_sum(buf_text(&text), text.len, go_module, &gather);
}

/* ---- Rust ---- */

/* What is there anybody may read. */
static bool is_public(const char *index)
{
	static const char *const names[] = {"github.com-1ecc6299db9ec823", "github.com-1285ae84e5963aae", NULL}; /* its index by git */

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], index) == 0)
			return true;
	return strncmp(index, "index.crates.io-", 16) == 0;
}

static bool file_has_sum(const char *path, const char *wanted)
{
	own(fd_closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	unsigned char sum[SHA256_SIZE], bytes[65536];
	char hex[SHA256_HEX];
	struct sha256 state;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > CRATE_MAX)
		return false;
	sha256_init(&state);
	for (ssize_t got; (got = read(fd, bytes, sizeof(bytes))) != 0;) {
		if (got < 0)
			return false;
		sha256_add(&state, bytes, (size_t)got);
	}
	sha256_end(&state, sum);
	sha256_hex(sum, hex);
	return strcmp(hex, wanted) == 0;
}

static void rust_crate(void *data, const struct lock_entry *entry)
{
	const struct gather *it = data;
	own(freep) char *name = xfmt("%s/%s-%s", it->index, entry->name, entry->version), *source = xfmt("%s/src/%s", it->cache, name);
	own(freep) char *archive = xfmt("%s/cache/%s.crate", it->cache, name);

	if (is_folder(source) && (is_public(it->index) || file_has_sum(archive, entry->sum)))
		parts_add_folder(it->ret, name, source);
}

static void rust_lock(const struct gather *gather, const char *folder)
{
	own(freep) char *path = xfmt("%s/Cargo.lock", folder);
	own(buf_done) struct buf text = {0};
	struct gather it = *gather;
	struct err err;

	if (fs_read_small(AT_FDCWD, path, LOCK_MAX, &text, &err) == 0)
		lock_read_cargo(buf_text(&text), text.len, rust_crate, &it);
}

void parts_of_rust(const char *root, const char *manifest, const char *registry, struct parts *ret)
{
	own(freep) char *indexes = registry ? xfmt("%s/src", registry) : NULL;
	DIR *dir = indexes && strcmp(manifest, "-") != 0 ? opendir(indexes) : NULL;

	ret->top = dir ? FUNCTION_PACKAGES : NULL;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		const struct gather gather = {registry, entry->d_name, ret};
		own(freep) char *at = xstrdup(strcmp(manifest, ".") == 0 ? "" : manifest);
		if (*entry->d_name == '.')
			continue;
		rust_lock(&gather, root);
		while (*at) { /* of the package, and of those that it is in */
			own(freep) char *folder = xfmt("%s/%s", root, at);
			rust_lock(&gather, folder);
			char *slash = strrchr(at, '/');
			*(slash ? slash : at) = '\0';
		}
	}
	if (dir)
		(void)closedir(dir);
}
