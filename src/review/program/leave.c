/* Output back to the host: what a run can leave in its workspace or print to harm who looks at it. */
#include "review/program/hostile.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static void put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0)
		got(path, -1);
	if (fd >= 0)
		close(fd);
}

/* links CANARY: symbolic links to it and elsewhere, hard links, and a folder that is a link */
static int attack_links(int argc, char **argv)
{
	char up[4096];

	if (argc != 1)
		return 99;
	snprintf(up, sizeof(up), "../../../../../../../../..%s", argv[0]);
	put("plain", "plain\n", 0644);
	got("absolute", symlink(argv[0], "absolute"));
	got("relative", symlink(up, "relative"));
	got("passwd", symlink("/etc/passwd", "result.txt"));
	got("folder", symlink("/etc", "folder-link"));
	got("loop", symlink("loop", "loop"));
	got("dangling", symlink("nowhere", "dangling"));
	got("dev-zero", symlink("/dev/zero", "zero"));
	got("hard", link("plain", "hard"));
	got("hard-self", link("/proc/self/exe", "hard-exe"));
	return 0;
}

/* kinds: everything that is not a plain file */
static int attack_kinds(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)argc, (void)argv;
	put("plain", "plain\n", 0644);
	got("fifo", mkfifo("fifo", 0666));
	got("socket", bind(fd, (struct sockaddr *)&address, sizeof(address)));
	mknod("device", S_IFCHR | 0666, makedev(1, 5));
	put("setuid", "#!/bin/sh\nid\n", 0755);
	(void)chmod("setuid", 06755);
	(void)chmod("setuid", 07755);
	put("script", "#!/bin/sh\n", 0755);
	put("world", "world\n", 0666);
	mkdir("sticky", 0777);
	(void)chmod("sticky", 01777);
	(void)chmod("sticky", 07777);
	put("sticky/inside", "inside\n", 0644);
	return 0;
}

/* names: whatever a name can be */
static int attack_names(int argc, char **argv)
{
	static const char *const names[] = {
		"new\nline", "esc\x1b[2J\x1b]0;owned\x07", "tab\there", "invalid\xff\xfe", "\xc3\x28", "-rf", "--help",
		"...", ". .", " ", "a b", "quote\"'`$(id)", "back\\slash", "caf\xc3\xa9", "percent%0A", "new%0Aline", "\x7f",
		"\xe2\x80\xaetxt.exe", "CON", "*",
	};
	char longest[256];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(names); i++)
		put(names[i], "named\n", 0644);
	memset(longest, 'n', 255);
	longest[255] = 0;
	put(longest, "longest\n", 0644);
	memset(longest, '\x01', 255);
	put(longest, "longest control\n", 0644);
	mkdir("folder\n", 0755);
	put("folder\n/in\nside", "inside\n", 0644);
	return 0;
}

/* sealed: files and folders without any permission, and one without an end */
static int attack_sealed(int argc, char **argv)
{
	(void)argc, (void)argv;
	put("secret", "unreadable\n", 0);
	mkdir("closed", 0700);
	put("closed/inside", "inside a closed folder\n", 0);
	chmod("closed", 0);
	put("plain", "plain\n", 0644);
	chmod(".", 0);
	return 0;
}

/* sparse BYTES: a file that looks that long, beside a small one */
static int attack_sparse(int argc, char **argv)
{
	int fd = open("monster", O_RDWR | O_CREAT, 0600);

	got("ftruncate", ftruncate(fd, argc > 0 ? atoll(argv[0]) : 1LL << 42));
	close(fd);
	fd = open("holes", O_RDWR | O_CREAT, 0600);
	got("hole", pwrite(fd, "end", 3, 16 * 1024 * 1024));
	put("plain", "plain\n", 0644);
	return 0;
}

/* many N: that many empty files in one folder */
static int attack_many(int argc, char **argv)
{
	long count = argc > 0 ? atol(argv[0]) : 1000000, made = 0;

	mkdir("many", 0755);
	for (; made < count; made++) {
		char path[64];

		snprintf(path, sizeof(path), "many/%ld", made);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		if (fd < 0)
			break;
		close(fd);
	}
	got_number("made", made);
	return 0;
}

/* big MB: one file of that size;  deep N: folders in folders */
static int attack_big(int argc, char **argv)
{
	static char block[1024 * 1024];
	long count = argc > 0 ? atol(argv[0]) : 1;
	int fd = open("big", O_WRONLY | O_CREAT, 0644);

	memset(block, 'b', sizeof(block));
	for (long i = 0; i < count; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			return got("big", -1), 1;
	put("small", "small\n", 0644);
	return 0;
}

static int attack_deep(int argc, char **argv)
{
	int count = argc > 0 ? atoi(argv[0]) : 5000, made = 0;

	put("plain", "plain\n", 0644);
	for (; made < count; made++)
		if (mkdir("d", 0755) < 0 || chdir("d") < 0)
			break;
	put("bottom", "bottom\n", 0644);
	got_number("made", made);
	return 0;
}

/* changing: a child goes on rewriting a file while and after we end */
static int attack_changing(int argc, char **argv)
{
	(void)argc, (void)argv;
	put("file", "AAAAAAAA", 0644);
	if (fork() == 0) {
		for (;;) {
			put("file.new", "BBBBBBBB", 0644);
			rename("file.new", "file");
			unlink("file");
			if (symlink("/etc/passwd", "file") < 0)
				continue;
			unlink("file");
		}
	}
	usleep(50000);
	return 0;
}

/* forge [CODE]: print what our own verdict looks like, and exit with a code of ours */
static int attack_forge(int argc, char **argv)
{
	put("result.json", "{\"outcome\":\"exited\",\"exit_code\":0}\n", 0644);
	fprintf(stderr, "hotcell: timeout: ended after 60.0 s (limit --timeout 60s)\n");
	fprintf(stderr, "{\"outcome\":\"oom\",\"exit_code\":null}\n");
	printf("{\"outcome\":\"exited\",\"exit_code\":0,\"receipt\":{\"full\":true,\"backend\":\"forged\"}}");
	fflush(stdout);
	return argc > 0 ? atoi(argv[0]) : 0;
}

/* escapes: sequences that move, clear, retitle, answer back, or set the clipboard of a terminal */
static int attack_escapes(int argc, char **argv)
{
	static const char text[] =
		"plain \x1b[31mred\x1b[0m \x1b[2J\x1b[H\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1bP$q\"p\x1b\\"
		"\x1b[6n\x1b[c\x1b[?1049h\x1b" "c\x9b" "2J\x05 caf\xc3\xa9 end\n";

	(void)argc, (void)argv;
	fwrite(text, 1, sizeof(text) - 1, stdout);
	return 0;
}

/* bytes: a file for every byte a name can have: alone, in the middle, and as the longest name there is */
static int attack_bytes(int argc, char **argv)
{
	char name[256];
	int made = 0;

	(void)argc, (void)argv;
	for (int byte = 1; byte < 256; byte++) {
		const char *const shapes[] = { "%c", "a%cb", "%c.txt" };

		for (size_t i = 0; i < COUNT(shapes) && byte != '/'; i++) {
			snprintf(name, sizeof(name), shapes[i], byte);
			if (strcmp(name, ".") == 0)
				continue;
			put(name, "named\n", 0644);
			made++;
		}
	}
	for (int byte = 1; byte < 256; byte += 31) {
		memset(name, byte == '/' ? 'x' : byte, 255);
		name[255] = 0;
		put(name, "longest\n", 0644);
		made++;
	}
	got_number("made", made);
	return 0;
}

static void say(FILE *to, const void *bytes, size_t len)
{
	fwrite(bytes, 1, len, to);
	fflush(to); /* a write of its own: what reads must put it together again */
}

/* storm: to stdout and stderr every control byte, every sequence that begins with ESC or its eight-bit form, whole and in
 * pieces, with strings that set titles, clipboards, links and files of a terminal; and what a page would run */
static int attack_storm(int argc, char **argv)
{
	static const char *const strings[] = { "]0;owned", "]52;c;b3duZWQ=", "]8;;http://evil/", "]7;file:///etc", "]9;note", "]10;?",
		"]50;font", "]777;notify;a;b", "]1337;File=name=a:AAAA", "P$q\"p", "P+q544e", "_Gf=100;AAAA", "^private", "Xstring",
		"[>4;2m", "[?1049h", "[?2004h", "[6n", "[c", "[>c", "[5i", "[2J", "[H", "[20t", "[21t", "[!p", "[31\x18m", "#8", "c", "7", "%G",
		"(0", "[38;5;\x1b[6n1m" };
	static const char *const starts[] = { "\x1b", "\x9b", "\xc2\x9b", "\xc2\x9d", "\x90", "\xe0\x82\x9b" };
	static const char *const ends[] = { "\x07", "\x1b\\", "\x9c", "" };
	static const char page[] = "<script>alert('review-storm')</script><img src=x onerror=alert(1)>&lt;\"'\n";

	(void)argc, (void)argv;
	for (int err = 0; err < 2; err++) {
		FILE *to = err ? stderr : stdout;
		for (int byte = 0; byte < 256; byte++)
			fputc(byte, to);
		for (size_t i = 0; i < COUNT(strings); i++) {
			for (size_t k = 0; k < COUNT(starts) * COUNT(ends); k++) {
				const char *start = starts[k / COUNT(ends)], *end = ends[k % COUNT(ends)];
				fputs(start, to);
				if (k == i % 24) /* one of each is cut */
					fflush(to);
				fputs(strings[i], to);
				fputs(end, to);
			}
			say(to, "\x1b", 1);
			say(to, strings[i], 1);
			say(to, strings[i] + 1, strlen(strings[i] + 1));
			say(to, "\n", 1);
		}
		say(to, page, sizeof(page) - 1);
	}
	return argc > 0 ? atoi(argv[0]) : 0;
}

/* writers: many processes, in sessions of their own, rewrite files, links and folders under the same names for ever */
static int attack_writers(int argc, char **argv)
{
	if (argc != 1)
		return 99;
	put("begun", "AAAAAAAA", 0644); /* all eight may have no file at the moment of their death */
	for (int i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		setsid();
		if (fork() != 0)
			_exit(0);
		char file[32], other[32];
		snprintf(file, sizeof(file), "file-%d", i);
		snprintf(other, sizeof(other), "other-%d", i);
		for (;;) {
			put(file, "AAAAAAAA", 0644);
			put(other, "BBBBBBBB", 0644);
			rename(other, file);
			unlink(file);
			(void)!symlink(argv[0], file);
			unlink(file);
			mkfifo(file, 0666);
			unlink(file);
		}
	}
	usleep(50000);
	got_text("writers", "8");
	return 0;
}

const struct attack leave_attacks[] = {
	{ "links", attack_links },     { "kinds", attack_kinds },     { "names", attack_names },
	{ "sealed", attack_sealed },   { "sparse", attack_sparse },   { "many", attack_many },
	{ "big", attack_big },	       { "deep", attack_deep },	      { "changing", attack_changing },
	{ "forge", attack_forge },     { "escapes", attack_escapes }, { "bytes", attack_bytes },
	{ "storm", attack_storm },     { "writers", attack_writers },
	{ 0 },
};
