/* Observers of the attacks on files: what the host sees of a cell while it runs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "review/rows/files.h"
#include "review/observe/props.h"
#include "review/observe/scene.h"

void files_go_on(struct review_try *try)
{
	props_file(try, "go", "", 0644);
}

void files_looked(struct review_try *try)
{
	own(freep) char *path = props_path(try, "go");

	if (access(path, F_OK) < 0)
		try_failed(try, "it never came to where it was to be looked at");
}

/* The process that attacks, as the host numbers it; 0 if it is gone. */
static pid_t attacker(const struct review_try *try)
{
	pid_t found[32];
	size_t count = try_processes(try, found, ARRAY_LEN(found));

	for (size_t i = 0; i < count; i++) {
		own(buf_done) struct buf name = {0};
		if (try_proc(try, found[i], "comm", &name) && strcmp(buf_text(&name), "hotcell\n") != 0)
			return found[i];
	}
	return 0;
}

/* ---- mounts ---- */

struct mount_line {
	char device[32], root[512], point[512], flags[256], type[64], source[512];
};

static bool mount_parse(const char *line, struct mount_line *ret)
{
	const char *dash = strstr(line, " - ");

	return dash && sscanf(line, "%*d %*d %31s %511s %511s %255s", ret->device, ret->root, ret->point, ret->flags) == 4 &&
		sscanf(dash, " - %63s %511s", ret->type, ret->source) == 2;
}

static bool has_flag(const struct mount_line *mount, const char *flag)
{
	size_t len = strlen(flag);

	for (const char *at = mount->flags; (at = strstr(at, flag)); at += len)
		if ((at == mount->flags || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
			return true;
	return false;
}

static bool is_scratch(const char *point)
{
	return strcmp(point, "/tmp") == 0 || strcmp(point, "/workspace") == 0 || strcmp(point, "/dev/shm") == 0;
}

static bool mount_read(pid_t pid, const char *point, struct mount_line *ret)
{
	own(buf_done) struct buf text = {0};

	if (!try_proc(NULL, pid, "mountinfo", &text))
		return false;
	for (const char *line = buf_text(&text); line && *line; line = strchr(line, '\n'), line += line != NULL)
		if (mount_parse(line, ret) && strcmp(ret->point, point) == 0)
			return true;
	return false;
}

static void judge_mount(struct review_try *try, const struct mount_line *mount, const struct mount_line *host)
{
	bool device = strncmp(mount->point, "/dev/", 5) == 0 && !is_scratch(mount->point);
	bool cover = strcmp(mount->root, "/null") == 0 || strcmp(mount->root, "/dev/null") == 0;
	/* the root holds the few devices of /dev where root made them; nobody can add to it */
	bool ours = strcmp(mount->type, "tmpfs") == 0 && strcmp(mount->source, "hotcell") == 0 && has_flag(mount, "ro");

	if (strcmp(mount->device, host->device) == 0 && strcmp(mount->root, host->root) == 0)
		try_escaped(try, "the host's root folder is mounted on '%s'", mount->point);
	if (!has_flag(mount, "nosuid"))
		try_escaped(try, "set-id programs count on '%s' (seen from outside)", mount->point);
	if (!has_flag(mount, "nodev") && !device && !cover && !ours)
		try_escaped(try, "devices can be used on '%s' (seen from outside)", mount->point);
	if (!has_flag(mount, "ro") && !device && !cover && !is_scratch(mount->point))
		try_escaped(try, "'%s' is mounted to be written to (seen from outside)", mount->point);
	if (!has_flag(mount, "noexec") && is_scratch(mount->point) && strcmp(mount->point, "/workspace") != 0)
		try_escaped(try, "programs can be run from '%s' (seen from outside)", mount->point);
}

void files_mounts_during(struct review_try *try)
{
	own(buf_done) struct buf text = {0};
	struct mount_line mount, host;
	pid_t pid = attacker(try);
	unsigned seen = 0;

	if (!pid || !try_proc(try, pid, "mountinfo", &text) || !mount_read(getpid(), "/", &host)) {
		try_failed(try, "the cell's mounts cannot be seen from here");
		return;
	}
	for (const char *line = buf_text(&text); line && *line; line = strchr(line, '\n'), line += line != NULL) {
		if (!mount_parse(line, &mount))
			continue;
		judge_mount(try, &mount, &host);
		seen++;
	}
	if (seen < 5 && !try->outside)
		try_failed(try, "the cell has only %u mounts", seen);
	files_go_on(try);
}

/* ---- /proc ---- */

void files_knobs_during(struct review_try *try)
{
	own(buf_done) struct buf score = {0};
	struct mount_line mount;
	pid_t pid = attacker(try);

	if (!pid || !try_proc(try, pid, "oom_score_adj", &score))
		try_failed(try, "the cell's process cannot be seen from here");
	else if (strtol(buf_text(&score), NULL, 10) == 777)
		try_escaped(try, "it changed what the kernel holds of it: oom_score_adj is 777, seen from outside");
	if (pid && mount_read(pid, "/proc", &mount) && !has_flag(&mount, "ro"))
		try_escaped(try, "its /proc is mounted to be written to (seen from outside)");
	files_go_on(try);
}

/* ---- what is made later ---- */

void files_fifo_during(struct review_try *try)
{
	own(freep) char *path = props_path(try, "late");
	bool made = mkfifo(path, 0666) == 0 && chmod(path, 0666) == 0;
	own(fd_closep) int reader = made ? open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC) : -1;
	char bytes[16];
	ssize_t got = -1;

	if (reader < 0)
		try_failed(try, "no FIFO could be made to listen at");
	files_go_on(try);
	while (reader >= 0 && got <= 0 && attacker(try) != 0 && try_sleep(try, 10))
		got = read(reader, bytes, sizeof(bytes));
	if (reader >= 0 && (got > 0 || read(reader, bytes, sizeof(bytes)) > 0))
		try_escaped(try, "what it wrote to a FIFO was read on the host");
}

/* ---- what makes the host wait ---- */

void files_leases_during(struct review_try *try)
{
	own(freep) char *path = props_path(try, "file");
	own(fd_closep) int writer = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	if (writer < 0 && errno == EWOULDBLOCK)
		try_escaped(try, "the host has to wait for the cell before it may write to a file that it shows it");
	else if (writer < 0)
		try_failed(try, "the file cannot be opened on the host: %s", strerror(errno));
	files_go_on(try);
}

/* ---- who it is ---- */

void files_set_id_during(struct review_try *try)
{
	own(buf_done) struct buf status = {0};
	pid_t pid = attacker(try);
	unsigned uid = 0, effective = 0, saved = 0, files = 0;

	if (!pid || !try_proc(try, pid, "status", &status)) {
		try_failed(try, "the cell's process cannot be seen from here");
		return;
	}
	const char *line = try_status_line(&status, "Uid");
	if (!line || sscanf(line, "%u %u %u %u", &uid, &effective, &saved, &files) != 4)
		try_failed(try, "the cell's user cannot be seen from here");
	else if (geteuid() == 0 && (!uid || !effective || !saved || !files))
		try_escaped(try, "it is root, seen from outside");
	line = try_status_line(&status, "NoNewPrivs");
	if (line && strcmp(line, "1") != 0)
		try_escaped(try, "it may gain rights by running programs (no_new_privs is off, seen from outside)");
	files_go_on(try);
}

/* ---- what cells might share ---- */

/* Another cell looks while the first is there: as a program of the host, since a try has but one run at a time. */
static bool others_see_it(const struct review_try *try)
{
	own(freep) char *backend = xfmt("--backend=%s", try->options->backend);
	own(freep) char *mount = xfmt("--mount=%s:/review", scene_program(try->scene));
	own(freep) char *image = xfmt("--image=%s", try->options->image ? try->options->image : "host");
	const char *const words[] = {try->options->hotcell, "run", backend, image, mount, "--env=ATTACK_GENTLE=1", "--", "/review/attack",
		"paths", "list", "/tmp", "/dev/shm", "/var/tmp", "/run", NULL};
	struct review_try other = {.attack = try->attack, .options = try->options, .scene = try->scene};
	own(buf_done) struct buf seen = {0};

	bool sees = try_host(&other, words, &seen) != 0 || strstr(buf_text(&seen), try->mark + 1) != NULL;
	try_done(&other);
	return sees;
}

void files_shared_during(struct review_try *try)
{
	static const char *const folders[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		own(freep) char *path = xfmt("%s/%s", folders[i], try->mark + 1);
		if (access(path, F_OK) == 0)
			try_escaped(try, "a file that a cell made is on the host: '%s'", path);
	}
	if (others_see_it(try))
		try_escaped(try, "a file that a cell made is seen by another cell");
	files_go_on(try);
}

/* ---- who enters ---- */

/* The id of this try's cell, as `hotcell ps` has it; to be freed, or NULL. */
static char *cell_listed(const struct review_try *try, struct review_try *other)
{
	const char *const words[] = {try->options->hotcell, "ps", "--json", NULL};
	own(buf_done) struct buf list = {0};
	const char *id = NULL;

	if (try_host(other, words, &list) != 0)
		return NULL;
	const char *mark = strstr(buf_text(&list), try->mark);
	for (const char *at = buf_text(&list); mark && (at = strstr(at, "{\"id\":\"")) && at < mark; at++)
		id = at + strlen("{\"id\":\"");
	return id ? xfmt("%.*s", (int)strcspn(id, "\""), id) : NULL;
}

/* A run that is over at once is never listed: so it takes a little while until one is. */
static char *cell_of(struct review_try *try, struct review_try *other)
{
	char *id = NULL;

	for (unsigned i = 0; !id && i < 50; i++) {
		try_sleep(try, i ? 20 : 0);
		id = cell_listed(try, other);
	}
	return id;
}

void files_ambush_during(struct review_try *try)
{
	struct review_try other = {.attack = try->attack, .options = try->options, .scene = try->scene};
	own(freep) char *id = cell_of(try, &other);
	const char *const words[] = {try->options->hotcell, "exec", id, "--", "/review/attack", "reach", "linger", "entered", NULL};
	unsigned entered = 0;

	for (unsigned i = 0; id && i < 6; i++) {
		own(buf_done) struct buf said = {0};
		entered += try_host(&other, words, &said) == 0 && strstr(buf_text(&said), "entered");
	}
	if (entered == 0)
		try_failed(try, "nobody could enter the cell: %.200s", buf_text(&other.err));
	try_done(&other);
	files_go_on(try);
}
