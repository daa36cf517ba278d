/* hotcell review: attack the cells of this machine, and say what was held. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/backend.h"
#include "cli/cmd/host/review_out.h"
#include "cli/cmd/verbs.h"
#include "view/review.h"

#define EXIT_WORSE 1 /* something got through, or is worse than it was */
#define EXIT_UNKNOWN 4 /* something could not be tried */
#define SAVE_NAME "review.json"

struct review_cli {
	struct cli_list only;
	const char *backend, *image, *compare, *state;
	struct review_files files;
	bool json, list, threats;
#ifdef HOTCELL_WEAKEN
	const char *weaken;
#endif
};

/* ---- what is asked for without a review ---- */

static void put_list(struct buf *out)
{
	for (const struct review_group *group = review_groups; group->name; group++) {
		buf_fmt(out, "%s: %s\n", group->name, group->title);
		for (const struct review_attack *attack = group->attacks; attack->id; attack++)
			buf_fmt(out, "  %-28s  %s\n", attack->id, attack->technique);
	}
}

static int print_catalogue(const struct review_cli *cli)
{
	own(buf_done) struct buf out = {0};

	if (cli->threats)
		review_threats(&out);
	else
		put_list(&out);
	return cli_print(&out);
}

/* ---- while it runs ---- */

static void progress(void *data, size_t done, size_t count, const struct review_row *next)
{
	(void)data;
	(void)fprintf(stderr, "\r\033[K");
	if (next)
		(void)fprintf(stderr, "%zu/%zu %s", done + 1, count, next->attack->id);
	(void)fflush(stderr);
}

/* A descriptor that becomes readable when the user wants no more; -1 and no harm where there is none. Signals that are
 * ignored stay so: nohup and background jobs ask for it. */
static int stop_open(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct sigaction now;
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			(void)sigaddset(&set, numbers[i]);
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int stopped(int fd)
{
	struct signalfd_siginfo info = {.ssi_signo = SIGINT};

	(void)!read(fd, &info, sizeof(info));
	if (isatty(STDERR_FILENO))
		(void)fprintf(stderr, "\r\033[K");
	cli_say("stopped; everything is tidied up, and nothing is said of the attacks");
	return 128 + (int)info.ssi_signo;
}

static int attack(const struct review_cli *cli, struct review *ret)
{
	own(fd_closep) int stop = stop_open();
	struct err err = {0};
	struct review_options options = {
		.hotcell = "/proc/self/exe",
		.backend = cli->backend,
		.image = strcmp(cli->image, "host") == 0 ? NULL : cli->image,
		.only = cli->only.items,
		.progress = isatty(STDERR_FILENO) ? progress : NULL,
		.stop = &stop,
	};

#ifdef HOTCELL_WEAKEN
	options.weaken = cli->weaken;
#endif
	if (review_run(ret, &options, &err) == 0)
		return 0;
	if (err.code == ECANCELED)
		return stopped(stop);
	int code = cli_fail(&err);
	return err.code == ERR_MISSING ? EXIT_UNKNOWN : code;
}

/* ---- what came of it ---- */

static int print(const struct review_cli *cli, const struct review *review, const struct review_changes *changes)
{
	own(buf_done) struct buf out = {0};
	own(json_done) struct json json = {.pretty = true};

	if (cli->json) {
		json_open(&json, '{');
		review_json_members(review, &json);
		if (cli->compare) {
			json_key(&json, "changes");
			review_put_changes_json(changes, cli->compare, &json);
		}
		json_close(&json, '}');
		buf_char(&json.out, '\n');
		return cli_print(&json.out);
	}
	const bool taken = review_files_on_stdout(&cli->files); /* by a document, which is the review then */
	if (!taken) {
		review_text(review, cli_color(STDOUT_FILENO), &out);
		review_put_fixes(review, &out);
	}
	if (cli->compare)
		review_put_changes(changes, cli->compare, &out);
	if (!taken)
		return cli_print(&out);
	(void)!fwrite(buf_text(&out), 1, out.len, stderr); /* no document has what changed */
	return 0;
}

static int code_of(const struct review *review, const struct review_changes *changes)
{
	if (review->counts[REVIEW_ESCAPED] || changes->worse)
		return EXIT_WORSE;
	return review->counts[REVIEW_FAILED] ? EXIT_UNKNOWN : 0;
}

/* Printed first: what cannot be written must not take the verdicts with it. */
static int tell(const struct review_cli *cli, const struct review *review, const struct value *then, const struct review_log *log)
{
	own(review_changes_done) struct review_changes changes = {0};
	struct err err = {0};

	if (cli->compare)
		review_compare(then, review, &changes);
	int code = code_of(review, &changes), printed = print(cli, review, &changes);
	int written = review_write(review, &cli->files);
	int logged = review_log_put(log, review, &err) < 0 ? cli_fail(&err) : 0;
	if (code == EXIT_WORSE)
		return code;
	return printed ? printed : written ? written : logged ? logged : code;
}

/* What was saved is read before the same file is written anew, and nothing is attacked for a result that has no place. */
static int prepare(const struct review_cli *cli, struct value *then, struct review_log *log)
{
	struct err err = {0};
	bool fine = (!cli->compare || review_read(cli->compare, then, &err) == 0) && review_files_check(&cli->files, cli->json, &err) == 0 &&
		review_log_open(cli->state, log, &err) == 0;

	return fine ? 0 : cli_fail(&err);
}

static int run(void *data, const struct cli_args *args)
{
	const struct review_cli *cli = data;
	own(review_done) struct review review = {0};
	own(value_done) struct value then = {0};
	own(review_log_done) struct review_log log = {0};

	(void)args;
	if (cli->list || cli->threats)
		return print_catalogue(cli);
	int failed = prepare(cli, &then, &log);
	if (failed)
		return failed;
	if (!cell_backend_can(cli->backend, CELL_ISOLATES))
		backend_warn_none();
	failed = attack(cli, &review);
	return failed ? failed : tell(cli, &review, &then, &log);
}

static void defaults(void *data)
{
	struct review_cli *cli = data;

	cli->backend = "native";
	cli->image = "host";
}

#define INTO(member) CLI_INTO(struct review_cli, member)
static const struct cli_option options_table[] = {
	{.name = "backend", .value = "NAME", .kind = CLI_TEXT, INTO(backend), .hint = CLI_HINT_CHOICE, .choices = "native none",
		.fallback = "native", .help = "what makes the cells that are attacked"},
	{.name = "image", .value = "DIR", .kind = CLI_TEXT, INTO(image), .hint = CLI_HINT_FOLDER, .fallback = "host",
		.help = "their root file system: a folder, or 'host'"},
	{.name = "only", .value = "GROUP|GLOB", .kind = CLI_LIST, INTO(only),
		.help = "only attacks of this group, or with such an id; repeatable"},
	{.name = "list", .kind = CLI_FLAG, INTO(list), .help = "list the attacks, and try none"},
	{.name = "threats", .kind = CLI_FLAG, INTO(threats),
		.help = "print as Markdown what the attacks cover, and what nothing covers; try none"},
#ifdef HOTCELL_WEAKEN
	{.name = "weaken", .value = "NAME", .kind = CLI_TEXT, INTO(weaken), .help = "leave out this protection"},
#endif
	{.name = "json", .kind = CLI_FLAG, INTO(json), .help = "print one JSON object"},
	{.name = "html", .value = "FILE", .kind = CLI_TEXT, INTO(files.html), .hint = CLI_HINT_FILE,
		.help = "write a page that needs nothing else; - is stdout"},
	{.name = "sarif", .value = "FILE", .kind = CLI_TEXT, INTO(files.sarif), .hint = CLI_HINT_FILE,
		.help = "write a SARIF log of what was not held; - is stdout"},
	{.name = "save", .value = "FILE", .bare = SAVE_NAME, .kind = CLI_TEXT, INTO(files.save), .hint = CLI_HINT_FILE,
		.help = "keep the review, with the sum of what it says; without FILE: " SAVE_NAME},
	{.name = "compare", .value = "FILE", .bare = SAVE_NAME, .kind = CLI_TEXT, INTO(compare), .hint = CLI_HINT_FILE,
		.help = "say what changed since a review was saved there; without FILE: " SAVE_NAME},
	{.name = "state", .value = "DIR", .kind = CLI_TEXT, INTO(state), .hint = CLI_HINT_FOLDER,
		.help = "folder whose audit log is told (default: the nearest .hotcell, here or above)"},
	{0},
};

const struct cli_verb verb_review = {
	.name = "review",
	.summary = "attack the cells of this machine, and say what was held",
	.usage = "[options]",
	.details = "Exit codes: 0 everything was held, or this machine lacks what would hold it; 1 something got through, or is\n"
		   "worse than in the review it is compared with; 4 something, or everything, could not be tried.\n",
	.options = options_table,
	.options_size = sizeof(struct review_cli),
	.defaults = defaults,
	.run = run,
};
