/* Attacks on checks: races, encodings, case, hangs, what errors tell, words that reach a shell, side channels. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/clock.h"
#include "base/fs.h"
#include "review/rows/doors.h"
#include "review/observe/net.h"

#define RACES 30 /* at least */
#define RACES_MOST 600
#define SWAPS_LEAST 300
#define SWAPPED 8 /* files and as many links, as in the program */

/* ---- files of the host ---- */

/* {dir}/PATH with the token in it; folders on the way are made. */
static void plant(struct review_try *try, const char *path)
{
	own(freep) char *full = xfmt("%s/%s", try->dir, path);
	own(freep) char *folder = xstrdup(full);
	struct err err;

	*strrchr(folder, '/') = '\0';
	own(fd_closep) int made = beneath_root_make(folder, 0755, NULL, &err);
	if (made < 0) {
		try_failed(try, "%s", err.text);
		return;
	}
	own(fd_closep) int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || dprintf(fd, "%s\n", scene_token(try->scene)) < 0)
		try_failed(try, "plant '%s': %s", full, strerror(errno));
	(void)fchmod(fd, 0644);
}

/* ---- time of check, time of use ---- */

/* Swaps {dir}/now, a folder, for {dir}/link, which leads to the secret, and back, without rest. *swaps: how often. */
static pid_t swapper_start(struct review_try *try, volatile uint64_t *swaps)
{
	own(freep) char *now = xfmt("%s/now", try->dir);
	own(freep) char *link = xfmt("%s/link", try->dir);
	pid_t pid = fork();

	if (pid < 0)
		try_failed(try, "no process that swaps: %s", strerror(errno));
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned round = 0;; round++) {
		if (renameat2(AT_FDCWD, now, AT_FDCWD, link, RENAME_EXCHANGE) < 0)
			_exit(errno);
		++*swaps;
		(void)usleep(round % 2 ? 400 + round % 7 * 100 : 100); /* a link is refused at once: the folder stays for longer */
	}
}

/* It must have swapped until now, and in every run. */
static void swapper_end(struct review_try *try, pid_t pid, uint64_t swaps)
{
	int status = 0;

	if (waitpid(pid, &status, WNOHANG) != 0) {
		try_failed(try, "what swaps ended: %s", WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "by a signal");
		return;
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	if (swaps < SWAPS_LEAST)
		try_failed(try, "it was swapped only %llu times", (unsigned long long)swaps);
}

/* Each run finds the folder or the link when it checks, and maybe the other when it mounts. */
static void alone_mount_race(struct review_try *try)
{
	own(freep) char *now = xfmt("%s/now", try->dir);
	own(freep) char *link = xfmt("%s/link", try->dir);
	unsigned began = 0, refused = 0;

	if (try->outside) {
		try_not_applicable(try, "without a sandbox nothing is mounted");
		return;
	}
	plant(try, "secret/canary");
	if (mkdir(now, 0755) < 0 || symlink("secret", link) < 0) {
		try_failed(try, "make what is swapped: %s", strerror(errno));
		return;
	}
	volatile uint64_t *swaps = mmap(NULL, sizeof(*swaps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (swaps == MAP_FAILED) {
		try_failed(try, "no memory to count in: %s", strerror(errno));
		return;
	}
	pid_t swapper = swapper_start(try, swaps);
	/* how many swaps a run sees depends on the machine: there are runs until enough was seen */
	for (unsigned i = 0; i < RACES_MOST && swapper > 0 && try->verdict == REVIEW_HELD; i++) {
		if (i >= RACES && *swaps >= SWAPS_LEAST && began && refused)
			break;
		if (try_run(try, &(struct try_command){.flags = "--mount {dir}/now:/now", .program = "paths read /now/canary"}) < 0)
			break;
		try->tries++;
		began += try_outcome_is(try, "exited");
		refused += try_outcome_is(try, "setup-failed");
		if (scene_has_token(try->scene, buf_text(&try->out), try->out.len))
			try_escaped(try, "a link that came after the check was followed, and what is behind it read");
	}
	if (swapper > 0)
		swapper_end(try, swapper, *swaps);
	(void)munmap((void *)(uintptr_t)swaps, sizeof(*swaps));
	if (!began || !refused)
		try_failed(try, "of %u runs %u began and %u met the link: both must be", try->tries, began, refused);
}

/* The cell swaps what it leaves behind until it is killed; what is collected is its own. */
static void judge_output_race(struct review_try *try)
{
	own(freep) char *folder = xfmt("%s/out", try->dir);
	DIR *dir = opendir(folder);
	size_t files = 0, links = (size_t)try_result_number(try, "output.skipped");

	for (const struct dirent *entry; dir && (entry = readdir(dir));) {
		own(buf_done) struct buf text = {0};
		struct err err;
		struct stat st;
		if (entry->d_name[0] == '.')
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISLNK(st.st_mode))
			try_escaped(try, "a symbolic link was collected");
		files += S_ISREG(st.st_mode);
		if (S_ISREG(st.st_mode) && fs_read_small(dirfd(dir), entry->d_name, 4096, &text, &err) == 0 &&
			scene_has_token(try->scene, text.data, text.len))
			try_escaped(try, "a file of the host was collected");
	}
	if (dir)
		(void)closedir(dir);
	if (files < SWAPPED / 2 || links < SWAPPED / 2)
		try_failed(try, "%zu files were collected and %zu links left behind, of %d each", files, links, SWAPPED);
}

/* ---- case and encodings ---- */

static const char *const secrets[] = {
	".env", ".netrc", "id_rsa", "server.pem", ".ssh/id_ed25519", ".aws/credentials", ".git/config"};

static void plant_cases(struct review_try *try, const char *name)
{
	for (int how = 0; how < 3; how++) {
		own(freep) char *path = xfmt("mounted/%s", name);
		for (char *at = path + strlen("mounted/"); *at; at++)
			if ((how == 1 || (how == 2 && !(at[-1] >= 'a' && at[-1] <= 'z'))) && *at >= 'a' && *at <= 'z')
				*at = (char)(*at - 'a' + 'A');
		plant(try, path);
	}
}

static void alone_case(struct review_try *try)
{
	own(buf_done) struct buf program = {0};
	own(freep) char *open_folder = xfmt("%s/mounted/open", try->dir);

	buf_fmt(&program, "bypass folded %s", try->outside ? "{dir}/mounted" : "/m");
	for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
		plant_cases(try, secrets[i]);
		buf_fmt(&program, " %s", secrets[i]);
	}
	if (mkdir(open_folder, 0755) < 0)
		try_failed(try, "make '%s': %s", open_folder, strerror(errno));
	if (try->verdict == REVIEW_HELD &&
		try_run(try, &(struct try_command){.flags = "--mount {dir}/mounted:/m", .program = buf_text(&program)}) == 0)
		try_judge(try);
}

/* Whether something is there must not be told either. */
static void alone_oracle(struct review_try *try)
{
	const char *base = try->outside ? "{dir}/mounted" : "/m";
	own(freep) char *program = xfmt("bypass exists {canary} %s/.env %s/.env-not-there %s/.git %s/.git-not-there", base, base,
		base, base);

	plant(try, "mounted/.env");
	plant(try, "mounted/.git/config");
	if (try->verdict == REVIEW_HELD &&
		try_run(try, &(struct try_command){.flags = "--mount {dir}/mounted:/m", .program = program}) == 0)
		try_judge(try);
	if (!try_said(try, "stat-/m/.env") || try->verdict != REVIEW_HELD)
		return;
	own(freep) char *hidden = xstrdup(try_said(try, "stat-/m/.env"));
	const char *missing = try_said(try, "stat-/m/.env-not-there");
	if (missing && strcmp(hidden, missing) != 0)
		try_escaped(try, "a hidden name says %s, and a missing one %s", hidden, missing);
}

/* ---- words ---- */

#define PWNED "{dir}/pwned"
static const char *const injections[] = {
	";>" PWNED, "$(>" PWNED ")", "`>" PWNED "`", "|>" PWNED, "&>" PWNED "&", "\n>" PWNED "\n", "';>" PWNED ";'", "\";>" PWNED ";\"",
	"${IFS};>" PWNED, "x\r\n>" PWNED, "<(>" PWNED ")", "%0a>" PWNED, "$((`>" PWNED "`))", "{;>" PWNED ";}", "!>" PWNED, "--;>" PWNED,
};

static void judge_pwned(struct review_try *try, const char *where)
{
	DIR *dir = opendir(try->dir);

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		if (strncmp(entry->d_name, "pwned", 5) == 0)
			try_escaped(try, "a shell on the host ran what was in %s", where);
	if (dir)
		(void)closedir(dir);
}

/* As arguments, in the environment, as names to hide and to forbid, as folder, and as the program itself. */
static void alone_shell(struct review_try *try)
{
	static const char *const options[] = {
		"--env=X=", "--hide=", "--forbid=", "--workdir=/", "--output={dir}/out/", "--network-log={dir}/log/"};
	const char *words[ARRAY_LEN(injections) + 5] = {"{review}/attack", "{mark}", "bypass", "words"};
	char count[16];

	for (size_t i = 0; i < ARRAY_LEN(injections); i++)
		words[4 + i] = injections[i];
	if (try_run(try, &(struct try_command){.words = words}) < 0)
		return;
	(void)snprintf(count, sizeof(count), "%zu", ARRAY_LEN(injections));
	if (!try_said(try, "words") || strcmp(try_said(try, "words"), count) != 0)
		try_escaped(try, "%zu words arrived as %s", ARRAY_LEN(injections), try_said(try, "words"));
	try_judge(try);
	judge_pwned(try, "an argument");
	for (size_t i = 0; i < ARRAY_LEN(injections); i++) {
		const char *program[] = {injections[i], NULL};
		if (try_run(try, &(struct try_command){.words = program}) < 0)
			return;
		judge_pwned(try, "the name of a program");
		for (size_t j = 0; j < ARRAY_LEN(options) && i % 4 == 0; j++) {
			own(freep) char *flags = xfmt("%s%s", options[j], injections[i + j % 4]);
			if (try_run(try, &(struct try_command){.flags = flags, .program = "bypass words"}) < 0)
				return;
			judge_pwned(try, options[j]);
			try->tries++;
		}
		try->tries++;
	}
}

static size_t entries_of(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t count = 0;

	for (const struct dirent *entry; dir && (entry = readdir(dir));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (dir)
		(void)closedir(dir);
	return count;
}

/* What was collected is in its folder, and nothing but that folder is new. */
static void judge_names(struct review_try *try)
{
	own(freep) char *out = xfmt("%s/out", try->dir);

	judge_pwned(try, "the name of a file");
	if (entries_of(try->dir) != 1)
		try_escaped(try, "something was written beside the folder of the output");
	if (entries_of(out) < 20)
		try_failed(try, "only %zu files were collected", entries_of(out));
}

/* ---- what errors tell ---- */

/* Runs that fail, each with the secret in a place where it may be; nothing that is printed has it, which scene_look sees. */
static void alone_error(struct review_try *try)
{
	static const char *const failing[] = {
		"--pass-env REVIEW_TOKEN",
		"--pass-env REVIEW_TOKEN --workdir /no/such/folder",
		"--env SECRET={token} --workdir /no/such/folder",
		"--env SECRET={token} --mount /no/such/file:/x",
		"--env SECRET={token} --memory nonsense",
		"--env {token}",
		"--env ={token}",
		"--secret-door x=http://a.test/,header=a,env=REVIEW_TOKEN",
		"--secret-door x=https://u:{token}@a.test/,header=a,env=REVIEW_TOKEN",
		"--secret-door x=https://a.test/?key={token},header=a,env=REVIEW_TOKEN",
		"--secret-door {token}",
		"--upstream-proxy http://u:{token}@a.test:3128 --allow a.test",
	};
	static const char *const nothing[] = {"/no/such/program", NULL};

	for (size_t i = 0; i < ARRAY_LEN(failing); i++) {
		if (try_run(try, &(struct try_command){.flags = failing[i], .words = nothing}) < 0)
			return;
		const char *error = try_result(try, "error");
		if (scene_has_token(try->scene, buf_text(&try->err), try->err.len) || (error && strstr(error, scene_token(try->scene))))
			try_escaped(try, "an error tells the secret: %.160s", buf_text(&try->err));
		if (!try->status)
			try_failed(try, "a run that was to fail did not (%zu)", i);
		try->tries++;
	}
}

/* The words for what went wrong outside name nothing of the outside. */
static void judge_door_errors(struct review_try *try)
{
	const char *const outside[] = {"93.184.", "127.0.0.1", "10.0.0.1", "fd00:", scene_canary(try->scene), ":53", "/proc/", "/tmp/"};

	for (size_t i = 0; i < ARRAY_LEN(outside); i++)
		if (strstr(buf_text(&try->out), outside[i]))
			try_escaped(try, "an answer to a cell names '%s'", outside[i]);
}

/* ---- side channels ---- */

/* That nobody was asked is judged for every row at doors; how long a refusal took tells nothing then. */
static void judge_timing(struct review_try *try)
{
	own(freep) char *fast = xstrdup(try_said(try, "fast-us") ? try_said(try, "fast-us") : "0");
	const char *slow = try_said(try, "slow-us");

	if (slow && atol(slow) > atol(fast) + 100000) /* an answer that is waited for comes after 150 ms */
		try_escaped(try, "a denied name that is slow to find is refused after %s us, another after %s", slow, fast);
}

/* ---- the catalogue ---- */

const struct review_attack review_bypass[] = {
	{
		.id = "bypass.mount-race",
		.technique = "swap a folder that is to be mounted for a link, again and again, while it is checked and used",
		.cve = "CVE-2021-30465",
		.safe = "what was checked is what is mounted",
		.without = "mount-links",
		.alone = alone_mount_race,
	},
	{
		.id = "bypass.output-race",
		.technique = "swap a file for a link to one of the host until the very end, to be collected",
		.safe = "collected when nobody is left to swap; links stay behind",
		.without = "collect-links",
		.flags = "-t 600ms --output {dir}/out",
		.program = "bypass swap {canary}",
		.outcomes = "timeout",
		.judge = judge_output_race,
	},
	{
		.id = "bypass.encodings",
		.technique = "read a file of the host by paths in 24 encodings: percent once, twice and thrice, overlong UTF-8, "
			     "full-width, backslashes, mixed",
		.safe = "a name is its bytes; every way ends inside the cell",
		.without = "mount-namespace private-tmp",
		.program = "bypass encodings {canary}",
		.tries = 250,
	},
	{
		.id = "bypass.case-folding",
		.technique = "read secrets of a mount in other cases and by other ways",
		.safe = "their names are gone in any case",
		.without = "hidden-files",
		.tries = 200,
		.alone = alone_case,
	},
	{
		.id = "bypass.existence",
		.technique = "learn whether a file of the host, or a secret of a mount, exists",
		.safe = "both are as what is not there",
		.without = "hidden-files",
		.tries = 10,
		.alone = alone_oracle,
		.own_word = true,
	},
	{
		.id = "bypass.hang",
		.technique = "an argument that hangs for half an hour: asleep, stopped, spinning, waiting, deaf to signals",
		.safe = "ended on the clock, all of it",
		.without = "wall-clock",
		.flags = "-t 700ms",
		.program = "bypass hang",
		.outcomes = "timeout",
	},
	{
		.id = "bypass.shell-words",
		.technique = "shell metacharacters in arguments, variables, names of programs, folders and rules",
		.safe = "they reach no shell",
		.by = "hotcell starts no shell, ever",
		.tries = 1,
		.alone = alone_shell,
	},
	{
		.id = "bypass.shell-names",
		.technique = "files whose names a shell, a decoder or a walker would obey, to be collected",
		.safe = "they are names, in the folder of the output",
		.by = "hotcell starts no shell, ever",
		.flags = "--output {dir}/out",
		.program = "bypass names {dir}/pwned",
		.tries = 20,
		.judge = judge_names,
	},
	{
		.id = "bypass.error-leaks",
		.technique = "make hotcell fail with a secret in its environment, options and doors",
		.safe = "no error tells it",
		.by = "messages do not repeat what is given to options for secrets; that each line is redacted is beside that",
		.alone = alone_error,
	},
	{
		.id = "bypass.error-leaks-doors",
		.technique = "make requests fail outside, and read what the cell is told",
		.safe = "it names nothing of the outside",
		.by = "what a cell is told is one of a few sentences of ours",
		.flags = "--resolver 127.0.0.1:53 --allow *.good.test:80 --allow *.good.test:9",
		.program = "doors leaks",
		.tries = 5,
		.alone = doors_alone,
		.judge = judge_door_errors,
	},
	{
		.id = "bypass.dns-channel",
		.technique = "carry a secret out in names: ask name servers, and ask the proxy for names that have it",
		.safe = "no name server hears anything",
		.without = "net-namespace door-rules",
		.flags = "--resolver 127.0.0.1:53 --allow good.test",
		.program = "doors dns secret",
		.tries = 8,
		.alone = doors_alone,
	},
	{
		.id = "bypass.dns-direct",
		.technique = "carry a secret out in questions to name servers, where there are no doors",
		.safe = "no name server hears anything",
		.without = "net-namespace",
		.program = "doors dns secret",
		.tries = 8,
		.alone = doors_alone,
	},
	{
		.id = "bypass.timing",
		.technique = "tell denied names apart by the time their refusal takes",
		.safe = "nobody is asked for them, so there is nothing to tell",
		.without = "door-rules",
		.flags = "--resolver 127.0.0.1:53 --allow good.test",
		.program = "doors timing",
		.tries = 40,
		.alone = doors_alone,
		.judge = judge_timing,
	},
	{0},
};
