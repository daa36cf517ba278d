/* Past a check: other spellings of a path, races, hangs, names that mean something to somebody else. */
#include "review/program/hostile.h"

#include <ctype.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

static void shown(const char *how, const char *what, long rc)
{
	char line[200];
	int error = errno;
	size_t len = (size_t)snprintf(line, sizeof(line), "%s-", how);

	for (; *what && len < sizeof(line) - 5; what++)
		len += (size_t)snprintf(line + len, sizeof(line) - len,
			*what > ' ' && *what < 127 && *what != '%' ? "%c" : "%%%02x", (unsigned char)*what);
	errno = error;
	got(line, rc);
}

/* Opens it; what is in it is printed, for who looks at that. */
static void look_into(const char *how, const char *path)
{
	char bytes[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

	shown(how, path, len < 0 ? -1 : 0);
	if (len > 0)
		fwrite(bytes, 1, (size_t)len, stdout), putchar('\n');
	if (fd >= 0)
		close(fd);
}

/* ---- spellings of paths ---- */

/* '/' and '.' as others write them. */
static const struct {
	const char *how, *slash, *dot;
} codes[] = {
	{ "plain", "/", "." },
	{ "percent", "%2f", "%2e" },
	{ "PERCENT", "%2F", "%2E" },
	{ "percent-slash", "%2f", "." },
	{ "percent-dot", "/", "%2e" },
	{ "twice", "%252f", "%252e" },
	{ "thrice", "%25252f", "%25252e" },
	{ "twice-dot", "/", "%252e" },
	{ "overlong-2", "\xc0\xaf", "\xc0\xae" },
	{ "overlong-3", "\xe0\x80\xaf", "\xe0\x80\xae" },
	{ "overlong-4", "\xf0\x80\x80\xaf", "\xf0\x80\x80\xae" },
	{ "overlong-dot", "/", "\xc0\xae" },
	{ "overlong-percent", "%c0%af", "%c0%ae" },
	{ "wide", "\xef\xbc\x8f", "\xef\xbc\x8e" },
	{ "division", "\xe2\x88\x95", "\xe2\x80\xa4" },
	{ "backslash", "\\", "." },
	{ "backslash-percent", "%5c", "%2e" },
	{ "mixed", "\\/", "." },
	{ "unicode", "%u2215", "%u002e" },
	{ "utf-7", "+AC8-", "." },
	{ "html", "&#47;", "&#46;" },
	{ "doubled", "//", "." },
	{ "dotted", "/./", "." },
	{ "semicolon", ";/", "." },
};

static void put_code(char *ret, size_t size, const char *path, size_t code)
{
	size_t len = strlen(ret);

	for (; *path && len + 16 < size; path++)
		len += (size_t)snprintf(ret + len, size - len,
			*path == '/'           ? "%s"
				: *path == '.' ? "%s"
					       : "%.1s",
			*path == '/'           ? codes[code].slash
				: *path == '.' ? codes[code].dot
					       : path);
}

/* encodings PATH: the way there, in every spelling, from the root and from chains of '..' */
static int attack_encodings(int argc, char **argv)
{
	static const char *const ups[] = { "", "../../../../../../../../../../../..", "/workspace/../../../../../../..",
		"....//....//....//....//....//..", "/proc/self/root/../../..", "/proc/self/cwd/../../../..", "/mnt",
		"/oldroot", "/.old", "/host" }; /* where the host's root may have been left */

	if (argc != 1)
		return 99;
	for (size_t code = 0; code < COUNT(codes); code++) {
		for (size_t up = 0; up < COUNT(ups); up++) {
			char path[4096] = "";
			put_code(path, sizeof(path), ups[up], code);
			put_code(path, sizeof(path), argv[0], code);
			look_into(codes[code].how, path);
			memset(path, 0, sizeof(path));
			put_code(path, sizeof(path), ups[up], code); /* and only the way up */
			snprintf(path + strlen(path), sizeof(path) - strlen(path), "%s", argv[0]);
			look_into(codes[code].how, path);
		}
	}
	return 0;
}

/* ---- hidden names ---- */

static void cased(char *ret, size_t size, const char *name, int how)
{
	size_t i = 0;

	for (; name[i] && i + 1 < size; i++) {
		bool upper = how == 1 || (how == 2 && (i == 0 || !isalpha((unsigned char)name[i - 1]))) ||
			(how == 3 && i % 2);
		ret[i] = (char)(upper ? toupper((unsigned char)name[i]) : name[i]);
	}
	ret[i] = '\0';
}

/* folded FOLDER NAME...: each name in other cases, and by other ways */
static int attack_folded(int argc, char **argv)
{
	static const char *const frames[] = { "%s/%s", "%s//%s", "%s/./%s", "%s/open/../%s", "/proc/self/root%s/%s",
		"%s/%s/", "%s/%s/.", "%s/%s " };

	for (int i = 1; i < argc; i++) {
		for (int how = 0; how < 4; how++) {
			char name[256], path[4096];
			cased(name, sizeof(name), argv[i], how);
			for (size_t frame = 0; frame < COUNT(frames); frame++) {
				snprintf(path, sizeof(path), frames[frame], argv[0], name);
				look_into("folded", path);
			}
		}
	}
	return 0;
}

/* swap PATH: a file and a link to PATH change places under several names, for ever; in small, two seconds */
static int attack_swap(int argc, char **argv)
{
	long long rounds = 0;

	if (argc != 1)
		return 99;
	for (int i = 0; i < 8; i++) {
		char name[16];
		snprintf(name, sizeof(name), "file%d", i);
		close(open(name, O_WRONLY | O_CREAT, 0644));
		snprintf(name, sizeof(name), "link%d", i);
		(void)!symlink(argv[0], name);
	}
	ready();
	for (time_t end = time(NULL) + 2; !gentle() || time(NULL) < end; rounds++) {
		char file[16], link[16];
		snprintf(file, sizeof(file), "file%lld", rounds % 8);
		snprintf(link, sizeof(link), "link%lld", rounds % 8);
		if (renameat2(AT_FDCWD, file, AT_FDCWD, link, RENAME_EXCHANGE) < 0)
			return got("swap", -1), 1;
	}
	return 0;
}

/* ---- hangs ---- */

static void hang(int how)
{
	int lines[2];
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (how == 0)
		sleep_forever();
	if (how == 1)
		nanosleep(&(struct timespec){ .tv_sec = 1800 }, NULL);
	if (how == 2 && pipe(lines) == 0)
		(void)!read(lines[0], &how, 1);
	if (how == 3)
		raise(SIGSTOP);
	if (how == 4)
		for (volatile unsigned long spin = 0;; spin++)
			;
	if (how == 5)
		for (;;)
			sigsuspend(&all);
}

/* hang: every way of not ending for half an hour; in small, three seconds */
static int attack_hang(int argc, char **argv)
{
	pid_t pids[6];

	(void)argc, (void)argv;
	for (int signal_number = 1; signal_number < NSIG; signal_number++)
		(void)signal(signal_number, SIG_IGN);
	for (int how = 0; how < (int)COUNT(pids); how++) {
		pids[how] = fork();
		if (pids[how] == 0) {
			hang(how);
			_exit(0);
		}
	}
	ready();
	if (!gentle())
		hang(0);
	nanosleep(&(struct timespec){ .tv_sec = 3 }, NULL);
	for (size_t i = 0; i < COUNT(pids); i++)
		kill(pids[i], SIGKILL);
	return 0;
}

/* ---- names ---- */

/* names PATH: files in the working folder whose names mean more than a name to a shell, a decoder or a walker; what
 * they would do is make PATH */
static int attack_names(int argc, char **argv)
{
	static const char *const frames[] = { "$(%s)", "`%s`", ";%s;", "|%s", "&%s&", "\n%s\n", "';%s;'", "\";%s;\"",
		"${IFS}%s", "-rf %s", "--output=%s", "..%%2f..%%2f%s", "%%2e%%2e%%2f%s", "..\\..\\%s", "%%0a%s",
		"\033]0;%s\007", "..%s", "...", " %s", "%s ", "\xc0\xae\xc0\xae\xc0\xaf%s", "%%s%%n%s", "~%s", "*", "?",
		"C:%s", "con", "%s\r" };
	char flat[256];
	size_t len = 0;

	if (argc != 1)
		return 99;
	for (const char *at = argv[0]; *at && len < sizeof(flat) - 1; at++) /* no name has a slash */
		flat[len++] = *at == '/' ? '_' : *at;
	flat[len] = '\0';
	for (size_t i = 0; i < COUNT(frames); i++) {
		char command[300], name[600];
		snprintf(command, sizeof(command), ">%s", flat);
		snprintf(name, sizeof(name), frames[i], command);
		int fd = open(name, O_WRONLY | O_CREAT, 0600);
		got_number("named", fd >= 0 && write(fd, "x", 1) == 1);
		close(fd);
	}
	return 0;
}

/* words WORD...: as many as came, for who counts */
static int attack_words(int argc, char **argv)
{
	(void)argv;
	got_number("words", argc);
	return 0;
}

/* exists PATH...: what is told of each; what is not there and what must not be seen are one */
static int attack_exists(int argc, char **argv)
{
	struct stat st;

	for (int i = 0; i < argc; i++) {
		shown("stat", argv[i], stat(argv[i], &st));
		shown("access", argv[i], access(argv[i], F_OK));
	}
	return 0;
}

const struct attack bypass_attacks[] = {
	{ "encodings", attack_encodings },
	{ "folded", attack_folded },
	{ "hang", attack_hang },
	{ "names", attack_names },
	{ "words", attack_words },
	{ "exists", attack_exists },
	{ "swap", attack_swap },
	{ 0 },
};
