#include "fuzz/function/lang/lock.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"

#define NAME_MAX_LEN 300u
#define SUM_GO 47u /* "h1:" and 32 bytes as base64 */
#define SUM_CARGO 64u

struct span {
	const char *at;
	size_t len;
};

static bool is_of(struct span text, const char *more)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isascii((unsigned char)text.at[i]) || (!isalnum((unsigned char)text.at[i]) && (!text.at[i] || !strchr(more, text.at[i]))))
			return false;
	return text.len > 0 && text.len <= NAME_MAX_LEN;
}

/* The next line of a text, cut off from it. */
static bool next_line(struct span *rest, struct span *ret)
{
	const char *end = rest->len ? memchr(rest->at, '\n', rest->len) : NULL;

	if (!rest->len)
		return false;
	*ret = (struct span){rest->at, end ? (size_t)(end - rest->at) : rest->len};
	size_t used = ret->len + (end != NULL);
	*rest = (struct span){rest->at + used, rest->len - used};
	if (ret->len && ret->at[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

/* ---- go.sum ---- */

static struct span next_word(struct span *line)
{
	size_t len = 0;

	while (line->len && *line->at == ' ')
		*line = (struct span){line->at + 1, line->len - 1};
	while (len < line->len && line->at[len] != ' ')
		len++;
	struct span word = {line->at, len};
	*line = (struct span){line->at + len, line->len - len};
	return word;
}

/* Steps of a path, none of which is empty or begins with a dot. */
static bool is_module(struct span path)
{
	if (!is_of(path, "-._~/") || path.at[path.len - 1] == '/')
		return false;
	for (size_t i = 0; i < path.len; i++)
		if ((i == 0 || path.at[i - 1] == '/') && strchr("./-~", path.at[i]))
			return false;
	return true;
}

static void put_go(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		if (isupper((unsigned char)text.at[i]))
			buf_char(out, '!');
		buf_char(out, (char)tolower((unsigned char)text.at[i]));
	}
}

void lock_read_go_sum(const char *text, size_t len, lock_fn *fn, void *data)
{
	struct span rest = {text, len}, line;

	for (unsigned count = 0; count < LOCK_ENTRIES_MAX && next_line(&rest, &line); count++) {
		own(buf_done) struct buf name = {0}, version = {0}, sum = {0};
		struct span module = next_word(&line), at = next_word(&line), hash = next_word(&line);
		bool mod = at.len > 7 && memcmp(at.at + at.len - 7, "/go.mod", 7) == 0;
		at.len -= mod ? 7 : 0;
		if (!is_module(module) || !is_of(at, "-._+~") || *at.at != 'v' || hash.len != SUM_GO || memcmp(hash.at, "h1:", 3) != 0 ||
			!is_of(hash, ":+/=") || next_word(&line).len)
			continue;
		put_go(module, &name);
		put_go(at, &version);
		buf_add(&sum, hash.at, hash.len);
		fn(data, &(struct lock_entry){buf_text(&name), buf_text(&version), buf_text(&sum), mod});
	}
}

/* ---- Cargo.lock ---- */

struct package {
	struct span name, version, source, sum;
};

/* The value of 'key = "value"', if the line is that. */
static void take_value(struct span line, const char *key, struct span *ret)
{
	size_t len = strlen(key);

	if (line.len < len + 5 || memcmp(line.at, key, len) != 0 || memcmp(line.at + len, " = \"", 4) != 0 || line.at[line.len - 1] != '"')
		return;
	*ret = (struct span){line.at + len + 4, line.len - len - 5};
}

static bool begins(struct span text, const char *with)
{
	return text.len >= strlen(with) && memcmp(text.at, with, strlen(with)) == 0;
}

static void package_give(const struct package *package, lock_fn *fn, void *data)
{
	own(buf_done) struct buf name = {0}, version = {0}, sum = {0};

	if (!is_of(package->name, "-_") || !is_of(package->version, "-.+") || !isdigit((unsigned char)*package->version.at) ||
		(!begins(package->source, "registry+") && !begins(package->source, "sparse+")))
		return;
	buf_add(&name, package->name.at, package->name.len);
	buf_add(&version, package->version.at, package->version.len);
	if (package->sum.len == SUM_CARGO && is_of(package->sum, ""))
		buf_add(&sum, package->sum.at, package->sum.len);
	fn(data, &(struct lock_entry){.name = buf_text(&name), .version = buf_text(&version), .sum = sum.len ? buf_text(&sum) : ""});
}

void lock_read_cargo(const char *text, size_t len, lock_fn *fn, void *data)
{
	struct span rest = {text, len}, line;
	struct package package = {0};

	for (unsigned count = 0; count < LOCK_ENTRIES_MAX && next_line(&rest, &line);) {
		if (line.len && *line.at == '[') {
			package_give(&package, fn, data);
			package = (struct package){0};
			count++;
		}
		take_value(line, "name", &package.name);
		take_value(line, "version", &package.version);
		take_value(line, "source", &package.source);
		take_value(line, "checksum", &package.sum);
	}
	package_give(&package, fn, data);
}
