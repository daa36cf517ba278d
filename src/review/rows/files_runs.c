/* Attacks on files that take more than one run. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "review/rows/files.h"
#include "review/observe/props.h"
#include "review/observe/scene.h"

#define EXIT_USAGE 2
#define EXIT_REFUSED 125

/* hotcell said no, before or while it made a cell: that is a try, and was held if nothing else happened. */
static bool is_refused(const struct review_try *try)
{
	return try_result(try, "outcome") ? try_outcome_is(try, "setup-failed")
					  : try->status == EXIT_USAGE || try->status == EXIT_REFUSED;
}

/* One run, judged. */
static void attempt(struct review_try *try, const char *program, const char *format, ...) PRINTF_LIKE(3, 4);
static void attempt(struct review_try *try, const char *program, const char *format, ...)
{
	char flags[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(flags, sizeof(flags), format, args);
	va_end(args);
	const struct try_command command = {.flags = flags, .program = program};
	if (try->verdict == REVIEW_ESCAPED || try_run(try, &command) < 0)
		return;
	if (is_refused(try)) {
		try->tries++;
		scene_look(try->scene, try);
		return;
	}
	try_judge(try);
	if (try_outcome_is(try, "exited") && try_result_number(try, "exit_code") != 0)
		try_failed(try, "the attack itself failed with '%s': exit code %s", flags, try_result(try, "exit_code"));
}

static void at_least(struct review_try *try, unsigned tries)
{
	if (try->tries < tries)
		try_failed(try, "it told of %u tries, not of %u", try->tries, tries);
}

/* Without a cell hotcell mounts nothing, and has no image. */
static bool needs_mounts(struct review_try *try)
{
	if (try->outside)
		try_not_applicable(try, "without a cell nothing is mounted, and no image is used");
	return !try->outside;
}

void files_workdir(struct review_try *try)
{
	static const char *const folders[] = {"/", "/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/proc/self/fd/0",
		"/proc/self/fd/3", "/proc/self/fd/4", "/proc/self/fd/5", "/proc/self/fd/6", "/proc/self/fd/7", "/proc/self/fd/8",
		"/proc/self/fd/10", "/proc/self/fd/137", "/proc/self/fd/138", "/proc/thread-self/fd/138", "/dev/fd/138",
		"/workspace/../proc/self/fd/138", "/proc/self/fd/138/../.."};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		attempt(try, "paths here .{canary} ..{canary} ../../..{canary}", "-w %s", folders[i]);
		const char *here = try_said(try, "here");
		if (!is_refused(try) && !here)
			try_failed(try, "it did not say where it is, with '-w %s'", folders[i]);
		else if (here && *here != '/')
			try_escaped(try, "it is in a folder outside of its root, with '-w %s': '%.100s'", folders[i], here);
	}
	at_least(try, ARRAY_LEN(folders));
}

/* ---- mounting ---- */

void files_target_links(struct review_try *try)
{
	static const char *const links[][2] = {{"absolute", "/etc"}, {"up", "../../.."}, {"proc", "/proc/self/root"},
		{"host", "{dir}/host"}, {"descriptor", "/proc/self/fd/3"}};

	if (!needs_mounts(try))
		return;
	props_file(try, "second/file", "second", 0644);
	props_folder(try, "host");
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		own(freep) char *name = xfmt("outer/%s", links[i][0]);
		props_link(try, name, links[i][1]);
		for (int below = 0; below < 2; below++)
			attempt(try, "paths read /etc/file /file", "--mount {dir}/outer:/p:rw --mount {dir}/second:/p/%s%s", links[i][0],
				below ? "/below" : "");
	}
	props_count(try, "host", 0);
	props_count(try, "outer", ARRAY_LEN(links));
	at_least(try, 2 * ARRAY_LEN(links));
}

void files_fake_proc(struct review_try *try)
{
	static const char *const targets[] = {"/proc", "/proc/self", "/proc/self/attr", "/proc/sys", "/proc/1", "/proc/thread-self",
		"//proc", "/./proc", "/usr/../proc", "/proc/.", "/proc/", "/dev", "/dev/null", "/dev/shm", "/dev/pts", "/sys", "/"};
	static const char *const files[] = {"uid_map", "setgroups", "attr/exec", "self/attr/exec", "self/uid_map", "sys/kernel/x"};

	if (!needs_mounts(try))
		return;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		own(freep) char *name = xfmt("fake/%s", files[i]);
		props_file(try, name, "fake", 0666);
	}
	for (size_t i = 0; i < ARRAY_LEN(targets); i++)
		attempt(try, "shown fake", "--mount {dir}/fake:%s:rw", targets[i]);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		own(freep) char *name = xfmt("fake/%s", files[i]);
		props_same(try, name, "fake", 0666);
	}
	at_least(try, ARRAY_LEN(targets));
}

/* ---- images ---- */

void files_image_links(struct review_try *try)
{
	static const char *const names[] = {"dev", "proc", "sys", "tmp", "run", "workspace"};
	static const char *const targets[] = {"{dir}/secret", "/", "../../../../../..", "nowhere"};

	if (!needs_mounts(try))
		return;
	props_file(try, "secret/file", "{token}", 0644);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		own(freep) char *image = xfmt("image-%s", names[i]), *name = xfmt("%s/%s", image, names[i]);
		own(freep) char *program = xfmt("paths read /%s/file /%s/{canary}", names[i], names[i]);
		props_link(try, name, targets[i % ARRAY_LEN(targets)]);
		attempt(try, program, "--image {dir}/%s", image);
	}
	props_file(try, "image-file/proc", "no folder", 0644);
	attempt(try, "paths read /proc", "--image {dir}/image-file");
	props_link(try, "image-link", "{dir}/image-file");
	attempt(try, "paths read /proc", "--image {dir}/image-link");
	at_least(try, ARRAY_LEN(names) + 2);
}

void files_image_devices(struct review_try *try)
{
	static const char *const links[][2] = {{"dev/null", "{canary}"}, {"dev/console", "{canary}"}, {"dev/tty", "{canary}"},
		{"dev/pts/0", "{canary}"}, {"dev/shm", "{dir}/secret"}, {"proc/self", "{dir}/secret"}, {"etc/absolute", "{canary}"},
		{"etc/up", "../../../../../../../..{canary}"}, {"usr", "/nowhere"}, {"layers/0", "{dir}/secret"},
		{"root/0", "{dir}/secret"}, {".hotcell-layers/empty-folder", "{dir}/secret"}, {"..layers/empty-folder", "{dir}/secret"},
		{"layers/empty-folder", "{dir}/secret"}};

	if (!needs_mounts(try))
		return;
	props_file(try, "secret/file", "{token}", 0644);
	props_file(try, "project/.git/config", "{token}", 0644);
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		own(freep) char *name = xfmt("image/%s", links[i][0]);
		props_link(try, name, links[i][1]);
	}
	attempt(try, "shown fake", "--image {dir}/image");
	attempt(try, "paths read /dev/null /dev/console /dev/pts/0 /dev/shm/file /etc/absolute /etc/up /src/.git/file /src/.git/config "
		     "/layers/0/file /root/0/file",
		"--image {dir}/image --mount {dir}/project:/src");
	at_least(try, 15);
}

/* ---- between runs ---- */

void files_swapped(struct review_try *try)
{
	/* what a cell that may write to `kept` could have left there for the next run */
	static const char *const uses[][2] = {
		{"paths read /q/file", "--mount {dir}/kept/folder:/q"},
		{"paths read /q/file", "--mount {dir}/kept/folder:/q:rw"},
		{"paths read /q", "--mount {dir}/kept/file:/q"},
		{"paths read /file", "--image {dir}/kept/folder"},
		{"leave links {canary}", "--output {dir}/kept/folder"},
		{"leave links {canary}", "--output {dir}/kept/file"},
		{"leave links {canary}", "--network-log {dir}/kept/file --allow example.com"},
		{"leave links {canary}", "--audit {dir}/kept/file"},
		{"leave links {canary}", "--json-file {dir}/kept/file"},
		{"paths read /dev/stdin", "--stdin {dir}/kept/file"},
		{"paths read /q/file", "--mount {dir}/replaced:/q"},
	};

	if (!needs_mounts(try))
		return;
	props_file(try, "secret/file", "{token}", 0644);
	props_link(try, "kept/folder", "{dir}/secret");
	props_link(try, "kept/file", "{canary}");
	props_link(try, "replaced", "{dir}/secret");
	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		attempt(try, uses[i][0], "%s", uses[i][1]);
	props_count(try, "secret", 1);
	props_same(try, "secret/file", "{token}", 0644);
	at_least(try, ARRAY_LEN(uses));
}

/* ---- what a cell is shown ---- */

void files_run_from(struct review_try *try)
{
	if (try->outside) {
		attempt(try, "reach run-from {dir}", "%s", "");
		return;
	}
	attempt(try, "reach run-from /tmp", "%s", "");
	attempt(try, "reach run-from /dev/shm", "%s", "");
	at_least(try, 10);
}

static void respell(char *name, unsigned how)
{
	for (size_t i = 0; name[i]; i++)
		if (name[i] >= 'a' && name[i] <= 'z' && (how == 1 || (how == 2 && i % 2)))
			name[i] = (char)(name[i] - 'a' + 'A');
}

void files_hidden(struct review_try *try)
{
	static const char *const names[] = {".env", ".env.local", ".envrc", "server.pem", "my.key", "cert.p12", "cert.pfx", "a.jks",
		"id_rsa", "id_ed25519", "id_ecdsa.old", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".pgpass", ".htpasswd",
		"credentials.json", "secrets.yaml", "terraform.tfstate", "prod.tfvars", ".vault-token", ".git/config", ".ssh/known",
		".aws/credentials", ".kube/config", ".docker/config.json", ".gnupg/ring", ".bash_history", "prod.env", ".boto", ".s3cfg",
		".config/gh/hosts.yml", ".claude/.credentials.json", ".codex/auth.json", ".cargo/credentials.toml"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (unsigned how = 0; how < 3; how++) {
			own(freep) char *name = xstrdup(names[i]);
			respell(name, how);
			own(freep) char *path = xfmt("%s%s", (i + how) % 3 ? "folder-1/deep/" : "", name);
			props_file(try, path, "{token}", 0644);
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		own(freep) char *path = xfmt("folder-%u/.env", i);
		props_file(try, path, "{token}", 0644);
	}
	props_file(try, "dots/ring/key", "{token}", 0644);
	props_file(try, "dots/agent/history.jsonl", "{token}", 0644);
	props_file(try, "dots/stage/production", "{token}", 0644);
	props_folder(try, "home");
	props_link(try, "home/.gnupg", "../dots/ring");
	props_link(try, "home/.claude", "../dots/agent");
	props_link(try, "home/way", "../dots/agent");
	props_link(try, "home/.env", "way/../stage/production");
	props_file(try, "innocent", "plain", 0644);
	attempt(try, "shown hidden {shown}", "--mount {dir}:/shown");
	attempt(try, "shown hidden {shown}", "--mount {dir}:/shown:rw");
	at_least(try, 16);
}

void files_state(struct review_try *try)
{
	own(freep) char *state = xfmt("%s/kept", try->dir);
	const char *const trust[] = {try->options->hotcell, "trust", state, NULL};
	own(buf_done) struct buf said = {0};

	props_file(try, "kept/findings/capsule.json", "{token}", 0644);
	try->enter = props_record;
	if (try_host(try, trust, &said) != 0) {
		try_failed(try, "the state folder could not be recorded: %.200s", buf_text(&try->err));
		return;
	}
	attempt(try, "paths read {shown}/kept/findings/capsule.json", "--mount {dir}:/shown:rw");
	attempt(try, "paths read {shown}/kept/findings/capsule.json", "--mount {dir}:/shown:rw --no-default-hide");
	attempt(try, "paths read /shown/states", "--mount {dir}/hotcell:/shown");
	at_least(try, 3);
}

/* What a cell leaves in a project would decide what the user's next command there runs and mounts. */
void files_state_made(struct review_try *try)
{
	own(freep) char *project = props_path(try, "project");
	own(freep) char *state = props_path(try, "project/.hotcell");
	const char *const list[] = {try->options->hotcell, "findings", "list", "--state", state, NULL};
	const char *program = try->outside ? "shown state {dir}/project" : "shown state /shown";
	own(buf_done) struct buf said = {0};

	props_folder(try, "project");
	(void)chmod(project, 0777); /* cells may have another user than we */
	try->enter = props_record;
	attempt(try, program, "--mount {dir}/project:/shown:rw");
	int code = try_host(try, list, &said);
	if (code == 0)
		try_escaped(try, "hotcell used a state folder that a cell had made");
	else if (code != EXIT_USAGE)
		try_failed(try, "hotcell refused it in another way: %.200s", buf_text(&try->err));
	at_least(try, 1);
}

/* The handle of the canary is found out here, where that is allowed: nothing needs to be guessed. */
void files_handles(struct review_try *try)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} found = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
	own(buf_done) struct buf program = {0};
	int mount_id;

	buf_str(&program, "paths handle ");
	if (name_to_handle_at(AT_FDCWD, scene_canary(try->scene), &found.handle, &mount_id, 0) == 0) {
		buf_fmt(&program, "%d:", found.handle.handle_type);
		for (unsigned i = 0; i < found.handle.handle_bytes; i++)
			buf_fmt(&program, "%02x", found.handle.f_handle[i]);
	}
	attempt(try, buf_text(&program), "%s", "");
	const char *guessed = try_said(try, "by-handle-guessed");
	if (guessed && strcmp(guessed, "0") != 0)
		try_escaped(try, "%s files of the host were opened by guessed handles", guessed);
	at_least(try, 4);
}

void files_uncover(struct review_try *try)
{
	attempt(try, "paths umount", "%s", "");
	attempt(try, "shown told", "%s", "");
	at_least(try, 10);
}
