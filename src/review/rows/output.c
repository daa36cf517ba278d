/* Attacks on what takes a run's output back to the host: files, text for a terminal, a log or a page, and the verdict itself. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/utf8.h"
#include "review/observe/props.h"
#include "review/observe/scene.h"

#define PAGE_MAX ((size_t)16 << 20)
#define ARCHIVES_MAX (1u << 20) /* bytes that may be taken back, as in the row */

/* What takes output back is hotcell itself. */
static void not_outside(struct review_try *try)
{
	if (try->outside)
		try_not_applicable(try, "it is hotcell that holds it, with a cell or without");
}

/* ---- files ---- */

static void taken_judge(struct review_try *try)
{
	size_t taken = props_taken_back(try, "out");
	uint64_t told = try_result_number(try, "output.files") + try_result_number(try, "output.folders");

	if (taken == 0)
		try_failed(try, "nothing was taken back: the attack left nothing");
	else if (taken != told)
		try_escaped(try, "hotcell tells of %llu files and folders, and took back %zu", (unsigned long long)told, taken);
	try->tries += (unsigned)(taken + try_result_number(try, "output.skipped"));
}

static void must_be_skipped(struct review_try *try, uint64_t count)
{
	uint64_t skipped = try_result_number(try, "output.skipped");

	if (skipped < count)
		try_escaped(try, "only %llu of %llu dangerous entries were left behind", (unsigned long long)skipped,
			(unsigned long long)count);
}

static void links_judge(struct review_try *try)
{
	taken_judge(try);
	must_be_skipped(try, 7);
}

static void kinds_judge(struct review_try *try)
{
	taken_judge(try);
	must_be_skipped(try, 2);
}

/* Bytes that would do something to the terminal of who lists the folder, or reads what we say of it. */
static bool has_controls(const struct buf *text)
{
	for (size_t i = 0; i < text->len; i++) {
		unsigned char byte = (unsigned char)text->data[i];
		if ((byte < 0x20 && byte != '\n') || byte == 0x7f)
			return true;
	}
	return false;
}

static void names_judge(struct review_try *try)
{
	const char *said = try_said(try, "made");
	uint64_t made = said ? strtoull(said, NULL, 10) : 0;
	uint64_t told = try_result_number(try, "output.files") + try_result_number(try, "output.skipped");

	taken_judge(try);
	if (made == 0)
		try_failed(try, "it made no files");
	else if (told != made)
		try_escaped(try, "%llu files were made, and hotcell tells of %llu", (unsigned long long)made, (unsigned long long)told);
	if (has_controls(&try->err))
		try_escaped(try, "a name with control bytes is in what hotcell says");
}

static void contents_judge(struct review_try *try)
{
	taken_judge(try);
	for (int i = 0; i < 8; i++) {
		own(freep) char *name = xfmt("out/file-%d", i), *path = props_path(try, name);
		own(buf_done) struct buf text = {0};
		struct err err;
		if (fs_read_small(AT_FDCWD, path, 4096, &text, &err) < 0)
			continue;
		if (text.len && strcmp(buf_text(&text), "AAAAAAAA") != 0 && strcmp(buf_text(&text), "BBBBBBBB") != 0)
			try_escaped(try, "'%s' was taken back with something else in it", name);
	}
}

static void sparse_judge(struct review_try *try)
{
	own(freep) char *monster = props_path(try, "out/monster"), *holes = props_path(try, "out/holes");
	struct stat st;

	taken_judge(try);
	if (lstat(monster, &st) == 0)
		try_escaped(try, "a file of 4 TiB that holds nothing was taken back");
	if (lstat(holes, &st) == 0 && st.st_blocks * 512 > 1 << 20)
		try_escaped(try, "holes became %lld bytes on the host's disk", (long long)st.st_blocks * 512);
}

static void many_judge(struct review_try *try)
{
	size_t taken = props_taken_back(try, "out");

	if (taken > 500)
		try_escaped(try, "%zu entries were taken back, and 500 were allowed", taken);
	else if (taken == 0)
		try_failed(try, "nothing was taken back");
	try->tries += (unsigned)taken;
}

static void deep_judge(struct review_try *try)
{
	const char *cap = try_result(try, "output.capped");

	taken_judge(try);
	if (!cap || strcmp(cap, "depth") != 0)
		try_escaped(try, "folders were taken back however deep they are");
}

static void sealed_judge(struct review_try *try)
{
	own(freep) char *inside = props_path(try, "out/closed/inside");

	taken_judge(try);
	if (access(inside, R_OK) < 0)
		try_escaped(try, "a file without permissions kept itself from being taken back");
}

/* The output folder is a link, a file, or not empty. */
static void folder_alone(struct review_try *try)
{
	static const char *const folders[] = {"link", "full", "full/precious", "link/below", "fifo/x"};

	not_outside(try);
	if (try->outside)
		return;
	props_file(try, "full/precious", "precious", 0644);
	props_link(try, "link", "{dir}/full");
	props_file(try, "fifo", "", 0644);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		own(freep) char *flags = xfmt("--output {dir}/%s", folders[i]);
		const struct try_command command = {.flags = flags, .program = "leave big 1"};
		if (try_run(try, &command) < 0)
			return;
		try->tries++;
		scene_look(try->scene, try);
		if (try_outcome_is(try, "exited") && i != 3) /* one further up is the caller's */
			try_escaped(try, "output was written to '%s'", folders[i]);
	}
	props_same(try, "full/precious", "precious", 0644);
}

/* ---- text ---- */

/* Text, colour, and what moves within a line: all that may reach a terminal. The offset of what may not, or -1. */
static ssize_t terminal_danger(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned char byte = (unsigned char)text[i];
		if (byte == 0x1b) {
			size_t end = i + 1;
			if (end < len && text[end] == '[')
				for (end++; end < len && strchr("0123456789;:", text[end]) && text[end];)
					end++;
			if (end >= len || end == i + 1 || text[end] != 'm')
				return (ssize_t)i;
			i = end + 1;
			continue;
		}
		int size = utf8_char(text + i, len - i);
		if (size <= 0 || (utf8_is_control(text + i, size) && !strchr("\n\r\t\b", byte)) || byte == 0)
			return (ssize_t)i;
		i += (size_t)size;
	}
	return -1;
}

static void judge_terminal(struct review_try *try, const struct buf *text, const char *where)
{
	ssize_t at = terminal_danger(buf_text(text), text->len);

	try->tries++;
	if (text->len < 4096)
		try_failed(try, "only %zu bytes came to %s", text->len, where);
	else if (at >= 0)
		try_escaped(try, "byte 0x%02x of a control sequence came to %s", (unsigned char)text->data[at], where);
}

static void terminal_alone(struct review_try *try)
{
	static const char *const flags[] = {"", "--tty"};

	not_outside(try);
	for (size_t i = 0; i < ARRAY_LEN(flags) && !try->outside; i++) {
		const struct try_command command = {.flags = flags[i], .program = "leave storm", .terminal = true};
		if (try_run(try, &command) < 0)
			return;
		scene_look(try->scene, try);
		judge_terminal(try, &try->out, i ? "the terminal, by a terminal of its own" : "the terminal");
	}
}

/* A campaign of one run that prints all it can. */
static bool storm(struct review_try *try, const char *state)
{
	own(freep) char *backend = xfmt("--backend=%s", try->options->backend);
	own(freep) char *runs = xfmt("--output=%s/runs", try->dir), *mount = xfmt("--mount=%s:/review", scene_program(try->scene));
	own(freep) char *image = xfmt("--image=%s", try->options->image ? try->options->image : "host");
	const char *const campaign[] = {try->options->hotcell, "campaign", "run", "--name=storm", "--runs=1", "--plain", backend, image,
		state, runs, mount, "--env=ATTACK_GENTLE=1", "--", "/review/attack", "leave", "storm", "1", NULL};
	own(buf_done) struct buf said = {0};

	if (try_host(try, campaign, &said) < 0)
		return false;
	if (terminal_danger(buf_text(&try->out), try->out.len) >= 0 || terminal_danger(buf_text(&try->err), try->err.len) >= 0)
		try_escaped(try, "control sequences came into what a campaign says");
	return true;
}

/* A campaign's logs and page show what its runs printed. */
static void page_alone(struct review_try *try)
{
	own(freep) char *state = xfmt("--state=%s/state", try->dir), *page = props_path(try, "page.html");
	const char *const logs[] = {try->options->hotcell, "logs", "storm/1", state, NULL};
	const char *const report[] = {try->options->hotcell, "report", "storm", state, "-o", page, NULL};
	own(buf_done) struct buf said = {0}, text = {0};
	struct err err;

	not_outside(try);
	if (try->outside || !storm(try, state))
		return;
	if (try_host_terminal(try, logs) < 0)
		return;
	judge_terminal(try, &try->out, "the terminal, by 'hotcell logs'");
	if (try_host(try, report, &said) != 0 || fs_read_small(AT_FDCWD, page, PAGE_MAX, &text, &err) < 0) {
		try_failed(try, "no page was made: %.200s", buf_text(&try->err));
		return;
	}
	try->tries++;
	if (!strstr(buf_text(&text), "review-storm"))
		try_failed(try, "the page shows nothing of what the run printed");
	if (strstr(buf_text(&text), "<script>alert(") || strstr(buf_text(&text), "<img src=x"))
		try_escaped(try, "what a run printed is part of the page, not text in it");
	if (strlen(buf_text(&text)) != text.len || terminal_danger(text.data, text.len) >= 0)
		try_escaped(try, "control sequences came into the page");
}

/* ---- the verdict ---- */

static void forged_judge(struct review_try *try)
{
	const char *backend = try_result(try, "receipt.backend");
	const char *last = buf_text(&try->out);

	for (const char *at = last; (at = strchr(at, '\n')) && at[1]; at++)
		last = at + 1;
	if (!try_outcome_is(try, "exited") || try_result_number(try, "exit_code") != 7 || try->status != 7)
		try_escaped(try, "a forged result was believed: %s, exit code %s, status %d", try_result(try, "outcome"),
			try_result(try, "exit_code"), try->status);
	if (!backend || strcmp(backend, try->options->backend) != 0)
		try_escaped(try, "the receipt is forged");
	if (!strstr(last, "\"exit_code\":7") || strstr(last, "forged"))
		try_escaped(try, "the last line of stdout is not hotcell's own result");
	try->tries++;
	taken_judge(try);
}

static void codes_alone(struct review_try *try)
{
	static const int codes[] = {1, 2, 124, 125, 126, 127, 130, 137, 143, 255};
	static const int numbers[] = {6, 9, 15, 24};

	not_outside(try);
	for (size_t i = 0; i < ARRAY_LEN(codes) && !try->outside; i++) {
		own(freep) char *program = xfmt("leave forge %d", codes[i]);
		const struct try_command command = {.program = program};
		if (try_run(try, &command) < 0)
			return;
		try->tries++;
		scene_look(try->scene, try);
		if (!try_outcome_is(try, "exited") || try_result_number(try, "exit_code") != (uint64_t)codes[i])
			try_escaped(try, "exit code %d was taken for '%s'", codes[i], try_result(try, "outcome"));
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers) && !try->outside; i++) {
		own(freep) char *program = xfmt("procs die %d", numbers[i]);
		const struct try_command command = {.program = program};
		if (try_run(try, &command) < 0)
			return;
		try->tries++;
		if (!try_outcome_is(try, "signaled") || try_result_number(try, "signal") != (uint64_t)numbers[i])
			try_escaped(try, "signal %d was taken for '%s'", numbers[i], try_result(try, "outcome"));
	}
}

/* ---- errors ---- */

static void errors_alone(struct review_try *try)
{
	/* a secret in every place where one is given, and something wrong with it */
	static const char *const flags[] = {"--env=SECRET={token}", "--env={token}", "--env=={token}", "--env=A\tB={token}",
		"--pass-env=REVIEW_TOKEN", "--upstream-proxy=http://user:{token}@host:80 --allow=a.example",
		"--upstream-proxy=http://{token}@host:99999 --allow=a.example",
		"--secret-door=x=https://user:{token}@a.example,header=authorization,env=REVIEW_TOKEN",
		"--secret-door=x=https://a.example,header=authorization,env=REVIEW_TOKEN,prefix={token}:\t",
		"--secret-door=x=https://a.example/?key={token},header=authorization,env=REVIEW_TOKEN",
		"--secret-door=x=https://a.example,header=authorization,value={token}",
		"--secret-door=x=https://a.example,header=authorization,env=REVIEW_TOKEN --pass-env=REVIEW_TOKEN"};
	const char *const words[] = {"/no/such/program", NULL};

	not_outside(try);
	for (size_t i = 0; i < ARRAY_LEN(flags) && !try->outside; i++) {
		own(freep) char *all = xfmt("--json --verbose %s", flags[i]);
		const struct try_command command = {.flags = all, .words = words};
		if (try_run(try, &command) < 0)
			return;
		try->tries++;
		scene_look(try->scene, try);
		if (try_outcome_is(try, "exited"))
			try_failed(try, "a program that is not there was run");
	}
}

/* ---- archives ---- */

static void archives_before(struct review_try *try)
{
	not_outside(try);
	props_file(try, "precious", "precious", 0644); /* what a hard link and a second entry aim at */
}

/* As it was made: the very file, not what is in it. */
static void must_be_archive(struct review_try *try, const char *name)
{
	own(freep) char *below = xfmt("out/%s", name), *path = props_path(try, below);
	const char *made = try_said(try, name);
	own(buf_done) struct buf bytes = {0};
	struct err err;
	struct stat st;

	if (!made || strtoull(made, NULL, 10) == 0)
		try_failed(try, "it did not make '%s'", name);
	else if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != strtoull(made, NULL, 10))
		try_escaped(try, "the archive '%s' was not taken back as the file it is", name);
	else if (fs_read_small(AT_FDCWD, path, PAGE_MAX, &bytes, &err) < 0 ||
		(!memmem(buf_text(&bytes), bytes.len, "ustar", 5) && !memmem(buf_text(&bytes), bytes.len, "PK\5\6", 4)))
		try_escaped(try, "the archive '%s' is none any more", name);
	else
		try->tries++;
}

/* Exactly they are there, and what they aim at is as it was; canaries are looked at for every row. */
static void archives_judge(struct review_try *try)
{
	static const char *const names[] = {
		"slip.tar", "absolute.tar", "through.tar", "hard.tar", "twice.tar", "bomb.tar", "slip.zip", "bomb.zip"};
	const char *cap = try_result(try, "output.capped");
	const uint64_t taken = try_result_number(try, "output.bytes");

	taken_judge(try);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		must_be_archive(try, names[i]);
	props_count(try, "out", ARRAY_LEN(names)); /* not the large one */
	props_count(try, ".", 2); /* the output, and what is precious */
	props_same(try, "precious", "precious", 0644);
	const char *large = try_said(try, "large.tar");
	if (!large || strtoull(large, NULL, 10) <= ARCHIVES_MAX)
		try_failed(try, "it made no archive that is too large");
	else if (!cap || strcmp(cap, "bytes") != 0 || taken == 0 || taken > ARCHIVES_MAX)
		try_escaped(try, "%llu bytes of archives were taken back, and %u were allowed", (unsigned long long)taken, ARCHIVES_MAX);
}

const struct review_attack review_output[] = {
	{
		.id = "output.links",
		.technique = "symbolic links to files of the host, hard links and folders that are links, as results",
		.cve = "CVE-2024-28185, CVE-2024-28189",
		.safe = "left behind and told; nothing of the host is read, and nothing is given to another owner",
		.without = "collect-links",
		.flags = "--output {dir}/out",
		.program = "leave links {canary}",
		.but = "*", /* in its own workspace it may */
		.before = not_outside,
		.judge = links_judge,
		.tries = 8,
	},
	{
		.id = "output.kinds",
		.technique = "a FIFO, a socket, a device, set-id and sticky bits as results",
		.safe = "left behind and told, nobody waits for a FIFO; files come back with plain modes",
		.without = "collect-kinds",
		.flags = "--output {dir}/out",
		.program = "leave kinds",
		.but = "*",
		.before = not_outside,
		.judge = kinds_judge,
		.tries = 2,
	},
	{
		.id = "output.names",
		.technique = "names with newlines, escape sequences, invalid UTF-8, shell's letters, 255 bytes",
		.safe = "written so that they are plain text; none is lost unsaid",
		.without = "collect-names",
		.flags = "--output {dir}/out",
		.program = "leave bytes",
		.before = not_outside,
		.judge = names_judge,
		.tries = 1,
	},
	{
		.id = "output.odd-names",
		.technique = "names that look like options, substitutions, other systems' devices, or turn text around",
		.safe = "plain files of that name, or so that they are plain text",
		.without = "collect-names",
		.flags = "--output {dir}/out",
		.program = "leave names",
		.before = not_outside,
		.judge = taken_judge,
	},
	{
		.id = "output.changing",
		.technique = "processes that stay behind change files, links and FIFOs while they are taken back",
		.safe = "everything is dead before the first is read",
		.without = "pid-namespace kill-all",
		.flags = "--output {dir}/out",
		.program = "leave writers {canary}",
		.before = not_outside,
		.judge = contents_judge,
		.tries = 1,
	},
	{
		.id = "output.sparse",
		.technique = "a file of 4 TiB that holds nothing, and one with holes",
		.safe = "counted by what it holds; holes stay holes",
		.without = "collect-sparse",
		.flags = "--output {dir}/out --file-size 8T",
		.program = "leave sparse",
		.but = "*",
		.before = not_outside,
		.judge = sparse_judge,
		.tries = 2,
	},
	{
		.id = "output.many",
		.technique = "more files than may be taken back",
		.safe = "no more than were allowed",
		.without = "collect-caps",
		.flags = "--output {dir}/out --max-collect-files 500",
		.program = "leave many 1500",
		.before = not_outside,
		.judge = many_judge,
		.tries = 1,
	},
	{
		.id = "output.deep",
		.technique = "folders in folders, further down than a path can name",
		.safe = "taken back as far as is allowed",
		.by = "how deep it walks is the size of a table of its own",
		.flags = "--output {dir}/out",
		.program = "leave deep 600",
		.before = not_outside,
		.judge = deep_judge,
		.tries = 1,
	},
	{
		.id = "output.sealed",
		.technique = "files and folders without any permission, the workspace itself among them",
		.safe = "taken back and readable",
		.by = "who takes back may open them: root as root, others by changing the mode of what is theirs",
		.flags = "--output {dir}/out",
		.program = "leave sealed",
		.before = not_outside,
		.judge = sealed_judge,
	},
	{
		.id = "output.archives",
		.technique = "tar and zip archives with '..', absolute names, links to write through, hard links out, names twice, bombs",
		.safe = "the very files are taken back, up to the size allowed; nothing is unpacked, and nothing beside them changes",
		.by = "nothing of hotcell unpacks any: an archive is a file like any other, and counts as one",
		.flags = "--output {dir}/out --max-collect 1M",
		.program = "pack archives {canary} {dir}",
		.before = archives_before,
		.judge = archives_judge,
		.tries = 9,
	},
	{
		.id = "output.folder",
		.technique = "an output folder that is a link, a file, or holds something",
		.safe = "refused, and what it holds is as it was",
		.without = "output-folder",
		.alone = folder_alone,
	},
	{
		.id = "output.terminal",
		.technique = "escape and control sequences to a terminal: titles, clipboards, answers, files, whole and in pieces",
		.cve = "CVE-2021-25743",
		.safe = "shown, not obeyed: text and colour alone pass",
		.without = "terminal-filter",
		.alone = terminal_alone,
	},
	{
		.id = "output.page",
		.technique = "markup, scripts and escape sequences in what a campaign's page and summary show, and its logs on a terminal",
		.cve = "CVE-2021-25743",
		.safe = "text, and nothing else",
		.without = "page-escapes",
		.alone = page_alone,
	},
	{
		.id = "output.forged",
		.technique = "a forged result on stdout, stderr and in the workspace",
		.safe = "the verdict is hotcell's own",
		.by = "the result comes by a socket that no program of a cell has; what is printed is never read",
		.flags = "--json --output {dir}/out",
		.program = "leave forge 7",
		.outcomes = "exited",
		.before = not_outside,
		.judge = forged_judge,
	},
	{
		.id = "output.codes",
		.technique = "exit codes and signals that look like a timeout, a failure of ours, or too little memory",
		.safe = "the result tells them apart",
		.by = "the kernel's own word on how it ended; what is printed is never read",
		.alone = codes_alone,
	},
	{
		.id = "output.errors",
		.technique = "secrets in what is asked for wrongly: do they come back in the error?",
		.safe = "no message repeats one",
		.by = "messages do not repeat what is given to options for secrets; that each line is redacted is beside that",
		.alone = errors_alone,
	},
	{0},
};
