#include "fuzz/function/lang/rust/rust_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/homes.h"
#include "base/term.h"
#include "fuzz/function/lang/language.h"

#define MANIFEST_MAX ((size_t)1 << 20)
#define NAME_MAX_SHOWN 120

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, R_OK | X_OK) == 0;
}

/* ---- the toolchain ---- */

/* Its libraries, for at least one kind of machine: a program that is called rustc alone may be anybody's, in any folder. */
static bool has_libraries(const char *folder)
{
	own(freep) char *above = xfmt("%s/lib/rustlib", folder);
	DIR *dir = opendir(above);
	bool found = false;

	for (struct dirent *entry; dir && !found && (entry = readdir(dir));) {
		own(freep) char *lib = xfmt("%s/%s/lib", above, entry->d_name);
		found = *entry->d_name != '.' && is_folder(lib);
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

/* All of it is shown to cells: so a toolchain is in it, and nothing else. */
static bool has_nothing_else(const char *folder)
{
	static const char *const parts[] = {".", "..", "bin", "etc", "lib", "lib64", "libexec", "share", "src", "doc",
		"nix-support", ".brew", ".bottle", NULL};
	DIR *dir = opendir(folder);
	bool clean = dir;

	for (struct dirent *entry; clean && (entry = readdir(dir));) {
		own(freep) char *path = xfmt("%s/%s", folder, entry->d_name);
		size_t i = 0;
		while (parts[i] && strcmp(parts[i], entry->d_name) != 0)
			i++;
		clean = parts[i] || !is_folder(path); /* licences, and lists of what was installed */
	}
	if (dir)
		(void)closedir(dir);
	return clean;
}

static bool is_toolchain(const char *folder)
{
	own(freep) char *rustc = xfmt("%s/bin/rustc", folder);

	return is_file(rustc) && access(rustc, X_OK) == 0 && !folder_is_homelike(folder) && has_libraries(folder) && has_nothing_else(folder);
}

static char *home_folder(const char *variable, const char *name)
{
	const char *set = getenv(variable), *home = getenv("HOME");

	/* what is relative would be found in the project, whose own it must not be to say what is mounted */
	return set && *set == '/' ? xstrdup(set) : xfmt("%s/%s", home && *home == '/' ? home : "/nonexistent", name);
}

/* "key = "value"" on a line of its own. */
static char *toml_value(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		line += strspn(line, " \t\r\n");
		if (strncmp(line, key, len) != 0)
			continue;
		const char *at = line + len + strspn(line + len, " \t");
		if (*at != '=')
			continue;
		at += 1 + strspn(at + 1, " \t");
		if (*at == '"')
			return xfmt("%.*s", (int)strcspn(at + 1, "\"\n"), at + 1);
	}
	return NULL;
}

/* The one that rustup would choose, outside of any project. */
static char *toolchain_of_rustup(void)
{
	own(freep) char *home = home_folder("RUSTUP_HOME", ".rustup"), *settings = xfmt("%s/settings.toml", home);
	const char *chosen = getenv("RUSTUP_TOOLCHAIN");
	own(buf_done) struct buf text = {0};
	own(freep) char *name = NULL;
	struct err err;

	if (chosen && *chosen)
		name = xstrdup(chosen);
	else if (fs_read_small(AT_FDCWD, settings, MANIFEST_MAX, &text, &err) == 0)
		name = toml_value(buf_text(&text), "default_toolchain");
	if (!name || strchr(name, '/'))
		return NULL;
	own(freep) char *found = xfmt("%s/toolchains/%s", home, name), *whole = realpath(found, NULL);
	return whole && is_toolchain(whole) ? ptr_take(&whole) : NULL;
}

/* What a `rustc` that was found belongs to; *ret_system: to /usr. */
static char *toolchain_of(const char *rustc, bool *ret_system)
{
	own(freep) char *path = realpath(rustc, NULL);
	const char *slash = path ? strrchr(path, '/') : NULL;

	*ret_system = path && strncmp(path, "/usr/", 5) == 0;
	if (!path || *ret_system)
		return NULL;
	if (strcmp(slash, "/rustup") == 0)
		return toolchain_of_rustup();
	size_t len = (size_t)(slash - path);
	if (len > 4 && strncmp(slash - 4, "/bin", 4) == 0) {
		own(freep) char *folder = xfmt("%.*s", (int)(len - 4), path);
		return is_toolchain(folder) ? ptr_take(&folder) : NULL;
	}
	return NULL;
}

char *rust_toolchain(void)
{
	const char *path = getenv("PATH");
	bool system = false;

	for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
		size_t len = strcspn(at, ":");
		own(freep) char *rustc = xfmt("%.*s/rustc", (int)len, at);
		bool relative = *at != '/';
		at += len;
		if (relative || access(rustc, X_OK) < 0)
			continue;
		char *found = toolchain_of(rustc, &system);
		if (found || system)
			return found;
	}
	return access("/usr/bin/rustc", X_OK) == 0 ? NULL : toolchain_of_rustup();
}

char *rust_registry(void)
{
	own(freep) char *home = home_folder("CARGO_HOME", ".cargo"), *folder = xfmt("%s/registry", home);

	return is_folder(folder) ? realpath(folder, NULL) : NULL;
}

/* ---- where a file belongs ---- */

void rust_place_done(struct rust_place *place)
{
	free(place->manifest);
	free(place->root);
}

static bool manifest_names(const char *folder, const char *file)
{
	own(freep) char *path = xfmt("%s/Cargo.toml", folder), *quoted = xfmt("\"%s\"", file);
	own(buf_done) struct buf text = {0};
	struct err err;

	return fs_read_small(AT_FDCWD, path, MANIFEST_MAX, &text, &err) == 0 && strstr(buf_text(&text), quoted);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* The first file of the crate that a file is of, by cargo's rules; NULL: of none. */
static char *crate_root(const struct function_target *target, const char *folder, const char *below)
{
	own(freep) char *lib = xfmt("%s/src/lib.rs", folder), *main = xfmt("%s/src/main.rs", folder);

	if (target->harness || begins(below, "src/bin/") || strcmp(below, "src/main.rs") == 0)
		return xstrdup(target->file);
	if (manifest_names(folder, below))
		return xstrdup(path_has_suffix(below, "lib.rs") ? "lib" : target->file);
	if (!begins(below, "src/"))
		return NULL;
	if (is_file(lib) || !is_file(main))
		return xstrdup("lib");
	return xfmt("%.*ssrc/main.rs", (int)(strlen(target->file) - strlen(below)), target->file);
}

void rust_place_find(const struct function_target *target, struct rust_place *ret)
{
	own(freep) char *at = xstrdup(target->file);

	*ret = (struct rust_place){0};
	while (!target->alone && !ret->root) {
		char *slash = strrchr(at, '/');
		*(slash ? slash : at) = '\0';
		own(freep) char *folder = *at ? xfmt("%s/%s", target->root, at) : xstrdup(target->root);
		own(freep) char *manifest = xfmt("%s/Cargo.toml", folder);
		if (is_file(manifest)) {
			ret->root = crate_root(target, folder, target->file + (*at ? strlen(at) + 1 : 0));
			ret->manifest = ret->root ? xstrdup(*at ? at : ".") : NULL;
			break;
		}
		if (!*at)
			break;
	}
	if (!ret->root) {
		ret->manifest = xstrdup("-");
		ret->root = xstrdup(target->file);
	}
}

/* ---- a path of modules ---- */

static bool is_package_here(const char *name)
{
	own(buf_done) struct buf text = {0};
	struct err err;

	if (fs_read_small(AT_FDCWD, "Cargo.toml", MANIFEST_MAX, &text, &err) < 0)
		return false;
	own(freep) char *own_name = toml_value(buf_text(&text), "name");
	for (char *at = own_name; at && *at; at++)
		*at = *at == '-' && !strchr(name, '-') ? '_' : *at;
	return own_name && strcmp(own_name, name) == 0;
}

static bool is_name(const char *text, size_t len)
{
	size_t used = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return len > 0 && used >= len;
}

/* Modules that are files of their own, one after another; the rest of the path is within the last. */
static char *module_file(const char *first, const char *folder, const char **path)
{
	own(freep) char *file = xstrdup(first), *at = xstrdup(folder);

	for (const char *next; (next = strstr(*path, "::")) && is_name(*path, (size_t)(next - *path));
		*path = next + 2) {
		int len = (int)(next - *path);
		own(freep) char *plain = xfmt("%s/%.*s.rs", at, len, *path),
				*inside = xfmt("%s/%.*s/mod.rs", at, len, *path);
		if (!is_file(plain) && !is_file(inside))
			break;
		free(file);
		file = xstrdup(is_file(plain) ? plain : inside);
		char *below = xfmt("%s/%.*s", at, len, *path);
		free(at);
		at = below;
	}
	return ptr_take(&file);
}

int rust_crate_read(const char *text, char **ret_file, char **ret_function, struct err *err)
{
	const char *path = strstr(text, "::");
	own(freep) char *crate = xfmt("%.*s", (int)(path - text), text);
	own(buf_done) struct buf shown = {0};
	const char *folder = !is_folder(crate) && is_package_here(crate) ? "." : crate;
	own(freep) char *manifest = xfmt("%s/Cargo.toml", folder), *source = xfmt("%s/src", folder);
	own(freep) char *lib = xfmt("%s/lib.rs", source), *main = xfmt("%s/main.rs", source);

	term_line(crate, strlen(crate), NAME_MAX_SHOWN, &shown);
	if (!is_file(manifest))
		return err_set(err, ERR_USAGE,
			"'%s' is no folder of a Rust package with a Cargo.toml, and no package that is here; a function is named as "
			"path/to/package::module::function, or as FILE.rs:FUNCTION",
			buf_text(&shown));
	if (!is_file(lib) && !is_file(main))
		return err_set(err, ERR_USAGE,
			"'%s' has neither src/lib.rs nor src/main.rs: name the function as FILE.rs:FUNCTION",
			buf_text(&shown));
	path += 2;
	*ret_file = module_file(is_file(lib) ? lib : main, source, &path);
	*ret_function = xstrdup(path);
	return 0;
}
