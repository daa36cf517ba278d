/* hotcell trust: which state folders are believed though hotcell did not make them, after the user has seen what they decide.
 *
 * What is shown comes from a stranger's folder: nothing of it is followed through a link, and all of it is escaped. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/term.h"
#include "campaign/ledger/ledger.h"
#include "project/state.h"
#include "project/trust.h"
#include "cli/cmd/campaign/args.h"
#include "cli/campaign_options.h"
#include "cli/cmd/verbs.h"

#define WORD_SHOWN 300
#define LINE_SHOWN 1000
#define ENTRIES_MAX 100000 /* looked at */

struct trust_options {
	bool list, remove, dry_run, json;
};

/* ---- which folder ---- */

/* What hotcell puts into a state folder; the first two no project has. */
static const char *const contents[] = {"ledger.db", "audit.jsonl", "audit.head", "campaigns",
	"findings", "corpus", "functions", "fuzz", "cache", "engines", ".gitignore", ".", "..",
	NULL};
#define CONTENTS_SURE 2
#define CONTENTS_ANY 10 /* those that say something: each project has a .gitignore */

static size_t content_at(const char *name)
{
	size_t i = 0;

	while (contents[i] && strcmp(contents[i], name) != 0)
		i++;
	return i;
}

/* Whatever it is called: by a name that is sure, or if there is nothing else in it. A project, too,
 * may have findings and a cache. */
static bool is_state(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	bool sure = false, any = false, other = false;

	for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
		size_t at = content_at(entry->d_name);
		sure = sure || at < CONTENTS_SURE;
		any = any || at < CONTENTS_ANY;
		other = other || !contents[at];
	}
	if (dir)
		(void)closedir(dir);
	return sure || (any && !other);
}

static int check_owner(int folder, const char *shown, struct err *err)
{
	struct stat st;

	if (fstat(folder, &st) < 0)
		return err_errno(err, errno, "look at '%s'", shown);
	if (st.st_uid != geteuid())
		return err_set(err, ERR_USAGE, "'%s' belongs to another user, who could change it at any time: copy it, and trust your copy", shown);
	if (st.st_mode & 022)
		return err_set(err, ERR_USAGE, "'%s' can be written by others, who could change it at any time: make it 'chmod 700' first", shown);
	return 0;
}

/* The state folder that a word means: itself, or the one that the project has. */
static int open_meant(const char *word, struct buf *shown, struct err *err)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	own(freep) char *below = xfmt("%s/" STATE_FOLDER, word);
	struct stat st;
	bool has = lstat(below, &st) == 0;

	term_line(has ? below : word, strlen(has ? below : word), WORD_SHOWN / 2, shown);
	own(fd_closep) int fd = open(has ? below : word, flags);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return err_set(err, ERR_USAGE, "'%s' is a link or no folder: a state folder is neither; name the folder itself", buf_text(shown));
	if (fd < 0) {
		(void)err_errno(err, errno, "open '%s'", buf_text(shown));
		err->code = ERR_USAGE;
		return -1;
	}
	if (check_owner(fd, buf_text(shown), err) < 0)
		return -1;
	const char *slash = strrchr(word, '/');
	if (!has && !is_state(fd) && strcmp(slash ? slash + 1 : word, STATE_FOLDER) != 0)
		return err_set(err, ENOENT, "there is no state folder at '%s': nothing to trust", buf_text(shown));
	return fd_take(&fd);
}

/* ---- what is in it ---- */

/* Neither links nor what is another user's, at the top and a level below: whoever made them would still decide where they lead.
 * What a target left in its folder of work is nobody's to be read. */
static int check_entries(int folder, const char *above, uint64_t *count, struct err *err)
{
	int again = openat(folder, *above ? above : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct stat st;

	if (!dir)
		return err_errno(err, errno, "look into '%.100s'", *above ? above : "the state folder");
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir)) != NULL;) {
		own(buf_done) struct buf name = {0};
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		term_line(entry->d_name, strlen(entry->d_name), 80, &name);
		if (++*count > ENTRIES_MAX)
			rc = err_set(err, ERR_USAGE, "there are more than %d entries in it, too many to be looked at", ENTRIES_MAX);
		else if (S_ISLNK(st.st_mode) || st.st_uid != geteuid() || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
			rc = err_set(err, ERR_USAGE, "in it '%s%s%s' is %s: remove that first", above, *above ? "/" : "", buf_text(&name),
				S_ISLNK(st.st_mode) ? "a symbolic link" : st.st_uid != geteuid() ? "another user's" : "neither a file nor a folder");
		else if (!*above && S_ISDIR(st.st_mode) && strcmp(entry->d_name, "fuzz") != 0 && strcmp(entry->d_name, "engines") != 0)
			rc = check_entries(folder, entry->d_name, count, err);
	}
	(void)closedir(dir);
	return rc;
}

static uint64_t count_in(int folder, const char *name)
{
	own(fd_closep) int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t count = 0;

	if (!dir)
		return 0;
	fd = -1;
	for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
		count += entry->d_name[0] != '.' && (strcmp(name, "findings") != 0 || strstr(entry->d_name, ".json"));
	(void)closedir(dir);
	return count;
}

struct shown {
	struct buf text;
	struct json json;
	uint64_t campaigns;
	struct err err; /* why a campaign could not be shown */
};

static void shown_done(struct shown *shown)
{
	buf_done(&shown->text);
	json_done(&shown->json);
}

static void put_line(struct buf *out, const char *before, const char *text)
{
	buf_str(out, before);
	term_line(text, strlen(text), LINE_SHOWN, out);
	buf_char(out, '\n');
}

/* However long: what is cut off would be what is to be hidden. */
static void put_whole(struct buf *out, const char *before, const char *text)
{
	buf_str(out, before);
	term_line(text, strlen(text), strlen(text) * 8 + 1, out);
	buf_char(out, '\n');
}

/* By what a resume would parse, never by what the ledger says that it shows: both are a stranger's.
 * What runs outside of cells comes first, then what of this machine the cells get. */
static int show_outside(const struct campaign_record *campaign, struct shown *shown, struct err *err)
{
	static const struct {
		const char *key, *before;
		char *(*next)(const struct campaign_words *words, size_t nth);
	} parts[] = {{"outside", "    runs outside the sandbox: ", campaign_words_outside},
		{"access", "    gives its cells access to: ", campaign_words_access}};
	own(campaign_words_done) struct campaign_words words = {0};

	if (campaign_words_look(&words, campaign, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		json_key(&shown->json, parts[i].key);
		json_open(&shown->json, '[');
		for (size_t nth = 0;; nth++) {
			own(freep) char *what = parts[i].next(&words, nth);
			if (!what)
				break;
			json_string(&shown->json, what);
			put_whole(&shown->text, parts[i].before, what);
		}
		json_close(&shown->json, ']');
	}
	return 0;
}

static int show_campaign(void *data, const struct campaign_record *campaign)
{
	struct shown *shown = data;
	struct json *json = &shown->json;
	own(buf_done) struct buf words = {0};
	size_t len = campaign->words_len;
	const char *all = campaign->words;

	json_open(json, '{');
	json_put_string(json, "name", campaign->name);
	put_line(&shown->text, "  campaign ", campaign->name);
	if (show_outside(campaign, shown, &shown->err) < 0)
		return -1;
	put_whole(
		&shown->text, "    is resumed in the folder ", campaign->cwd ? campaign->cwd : "");
	put_whole(&shown->text, "    writes its sessions to ",
		campaign->output ? campaign->output : "");
	json_put_string(json, "output", campaign->output);
	json_put_string(json, "folder", campaign->cwd);
	json_key(json, "words");
	json_open(json, '[');
	for (size_t at = 0; at < len; at += strlen(all + at) + 1) {
		buf_fmt(&words, "%s%s", words.len ? " " : "", all + at);
		json_string(json, all + at);
	}
	json_close(json, ']');
	json_close(json, '}');
	put_line(&shown->text, "    resumes as ", buf_text(&words));
	shown->campaigns++;
	return 0;
}

static int show_ledger(int folder, const char *path, struct shown *shown, struct err *err)
{
	own(freep) char *file = state_ledger(path);
	struct stat st;

	if (fstatat(folder, "ledger.db", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	own(ledger_freep) struct ledger *ledger = ledger_open(file, LEDGER_READ, err);
	int rc = ledger ? ledger_campaigns(ledger, show_campaign, shown, err) : -1;
	if (shown->err.code)
		*err = shown->err;
	return rc < 0 || shown->err.code ? -1 : 0;
}

static int show_state(int folder, const char *path, struct shown *shown, struct err *err)
{
	static const struct {
		const char *name, *what;
	} counted[] = {{"findings", "findings, which 'hotcell repro' tries again in cells"}, {"corpus", "corpora"},
		{"functions", "histories of coverage"}, {"cache", "caches of builds, which cells that build can write"},
		{"engines", "engines, which are not taken from here: --engine names one"}};

	json_key(&shown->json, "campaigns");
	json_open(&shown->json, '[');
	if (show_ledger(folder, path, shown, err) < 0)
		return -1;
	json_close(&shown->json, ']');
	for (size_t i = 0; i < ARRAY_LEN(counted); i++) {
		uint64_t count = count_in(folder, counted[i].name);
		json_put_uint(&shown->json, counted[i].name, count);
		if (count)
			buf_fmt(&shown->text, "  %" PRIu64 " %s\n", count, counted[i].what);
	}
	if (!shown->text.len)
		buf_str(&shown->text, "  no campaigns, findings, corpora or caches\n");
	return 0;
}

/* ---- the three things to do ---- */

static int trust_one(const struct trust_options *options, const char *word)
{
	own(trust_entry_done) struct trust_entry entry = {0};
	own(buf_done) struct buf name = {0}, out = {0};
	own(shown_done) struct shown shown = {.json = {.pretty = true}};
	uint64_t count = 0;
	struct err err = {0};
	static char none[] = "{}\n";
	own(fd_closep) int folder = open_meant(word, &name, &err);

	if (folder < 0 && err.code == ENOENT) { /* as where a cache is restored that is still empty */
		cli_say("%s", err.text);
		return options->json ? cli_print(&(struct buf){.data = none, .len = strlen(none)}) : 0;
	}
	json_open(&shown.json, '{');
	if (folder < 0 || trust_entry_of(folder, &entry, &err) < 0)
		return cli_fail(&err);
	json_put_string(&shown.json, "state", entry.path);
	if (check_entries(folder, "", &count, &err) < 0 || show_state(folder, entry.path, &shown, &err) < 0) {
		(void)err_wrap(&err, "'%s' is not trusted", buf_text(&name));
		return cli_fail(&err);
	}
	own(freep) char *writer = options->dry_run ? NULL : trust_writer_above(entry.path);
	if (writer) {
		(void)err_set(&err, ERR_USAGE,
			"'%s' is not trusted while a cell has it, a part of it or a folder above it mounted read-write: "
			"wait until it has ended",
			buf_text(&name));
		return cli_fail(&err);
	}
	entry.by_hand = true;
	if (!options->dry_run && trust_add(&entry, &err) < 0)
		return cli_fail(&err);
	json_put_bool(&shown.json, "trusted", !options->dry_run);
	json_close(&shown.json, '}');
	buf_char(&shown.json.out, '\n');
	put_line(&out, options->dry_run ? "would trust " : "trusted ", entry.path);
	buf_add(&out, buf_text(&shown.text), shown.text.len);
	return cli_print(options->json ? &shown.json.out : &out);
}

static bool is_there(const struct trust_entry *entry)
{
	own(fd_closep) int fd = open(entry->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	own(trust_entry_done) struct trust_entry now = {0};
	struct err err;

	return fd >= 0 && trust_entry_of(fd, &now, &err) == 0 && now.inode == entry->inode && strcmp(now.born, entry->born) == 0;
}

static int list_all(const struct trust_options *options)
{
	own(trust_list_done) struct trust_list list = {0};
	own(json_done) struct json json = {.pretty = true};
	own(buf_done) struct buf out = {0};
	struct err err = {0};
	char when[24];

	if (trust_read(&list, &err) < 0)
		return cli_fail(&err);
	json_open(&json, '[');
	for (size_t i = 0; i < list.count; i++) {
		const struct trust_entry *entry = &list.items[i];
		bool there = is_there(entry);
		buf_fmt(&out, "%s  %-7s  %s", campaign_time((uint64_t)entry->since * 1000, when, sizeof(when)),
			entry->by_hand ? "trusted" : "made", there ? "" : "(gone or replaced) ");
		put_line(&out, "", entry->path);
		json_open(&json, '{');
		json_put_string(&json, "state", entry->path);
		json_put_string(&json, "how", entry->by_hand ? "trusted" : "made");
		json_put_int(&json, "since", entry->since);
		json_put_bool(&json, "there", there);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	buf_char(&json.out, '\n');
	return cli_print(options->json ? &json.out : &out);
}

/* As it was recorded: what it names may be gone. */
static char *path_meant(const char *word)
{
	own(freep) char *below = xfmt("%s/" STATE_FOLDER, word), *state = realpath(below, NULL), *real = realpath(word, NULL);

	return state ? ptr_take(&state) : real ? ptr_take(&real) : xstrdup(word);
}

static int remove_one(const struct trust_options *options, const char *word)
{
	own(freep) char *path = path_meant(word);
	own(buf_done) struct buf shown = {0};
	bool removed = false;
	struct err err = {0};

	term_line(path, strlen(path), WORD_SHOWN / 2, &shown);
	if (options->dry_run)
		(void)err_set(&err, ERR_USAGE, "--remove and --dry-run contradict each other: leave one of them out");
	else if (trust_remove(path, &removed, &err) == 0 && !removed)
		(void)err_set(&err, ERR_USAGE, "'%s' is not recorded: 'hotcell trust --list' shows what is", buf_text(&shown));
	if (err.code)
		return cli_fail(&err);
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {.pretty = true};
	json_open(&json, '{');
	json_put_string(&json, "state", path);
	json_put_bool(&json, "trusted", false);
	json_close(&json, '}');
	buf_char(&json.out, '\n');
	buf_fmt(&out, "no longer trusted: %s\n", buf_text(&shown));
	return cli_print(options->json ? &json.out : &out);
}

static int run(void *data, const struct cli_args *args)
{
	const struct trust_options *options = data;
	const char *word = args->word_count > 0 ? args->words[0] : ".";
	struct err err = {0};

	if (options->list && (args->word_count > 0 || options->remove || options->dry_run)) {
		(void)err_set(&err, ERR_USAGE, "--list shows all that is recorded: it takes neither a folder nor another option than --json");
		return cli_fail(&err);
	}
	return options->list ? list_all(options) : options->remove ? remove_one(options, word) : trust_one(options, word);
}

static const struct cli_option table[] = {
	{.name = "list", .kind = CLI_FLAG, CLI_INTO(struct trust_options, list),
		.help = "print the state folders that hotcell uses: those it made, and those you trusted"},
	{.name = "remove", .kind = CLI_FLAG, CLI_INTO(struct trust_options, remove), .help = "stop using this state folder"},
	{.name = "dry-run", .letter = 'n', .kind = CLI_FLAG, CLI_INTO(struct trust_options, dry_run),
		.help = "print what the folder decides, and record nothing"},
	{.name = "json", .kind = CLI_FLAG, CLI_INTO(struct trust_options, json), .help = "print the same as JSON"},
	{0},
};

const struct cli_verb verb_trust = {
	.name = "trust",
	.summary = "accept a state folder that was cloned, copied or moved",
	.usage = "[options] [DIR]",
	.details = "DIR is a state folder, or a project that holds one; this folder if it is left out. Read the output\n"
		   "first (--dry-run): resuming a campaign runs the commands it shows, on this machine.\n",
	.options = table,
	.options_size = sizeof(struct trust_options),
	.words_max = 1,
	.word = "DIR",
	.word_hint = CLI_HINT_FOLDER,
	.run = run,
};
