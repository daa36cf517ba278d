/* At the doors of its cell: who opens, what is said, and what else can be found there. */
#include "review/program/hostile.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool address_of(const char *text, struct sockaddr_in *ret)
{
	char host[64];
	const char *colon = strrchr(text, ':');

	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return false;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1)) };
	return inet_pton(AF_INET, host, &ret->sin_addr) == 1;
}

/* Connects and says "knock CELL". */
static int knock(const char *at)
{
	struct sockaddr_in address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	const char *number = getenv("CELL");

	if (!address_of(at, &address) || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		dprintf(fd, "knock %s\n", number ? number : "?") < 0)
		return -1;
	return fd;
}

static int talk(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		char reply[64] = "";
		size_t len = 0;
		int fd = knock(argv[i]);
		if (fd < 0) {
			got(argv[i], -1);
			continue;
		}
		for (ssize_t more = 1; more > 0 && len < sizeof(reply) - 1; len += more > 0 ? (size_t)more : 0)
			more = read(fd, reply + len, sizeof(reply) - 1 - len);
		reply[strcspn(reply, "\n")] = '\0';
		for (char *space; (space = strchr(reply, ' ')) != NULL;)
			*space = '-';
		got_text(argv[i], reply[0] ? reply : "nothing");
		close(fd);
	}
	return 0;
}

/* Leaves its words where nobody has taken them. */
static int leave(int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		got(argv[i], knock(argv[i]) < 0 ? -1 : 0);
	return 0;
}

static int claim(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		struct sockaddr_in address;
		int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
		if (address_of(argv[i], &address))
			got(argv[i], bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1 : listen(fd, 1));
	}
	return 0;
}

static int sockets_of(const char *pid)
{
	char path[300], link[64];
	int count = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	DIR *dir = opendir(path);
	if (dir == NULL)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while ((entry = readdir(dir)) != NULL) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		count += strncmp(link, "socket:", 7) == 0;
	}
	closedir(dir);
	return count;
}

/* Sockets that processes hold, and how many of the network's listen. */
static int look(int argc, char **argv)
{
	DIR *dir = opendir("/proc");
	FILE *table = fopen("/proc/net/tcp", "r");
	int sockets = 0, closed = 0, listening = 0;
	struct dirent *entry;
	char line[512];
	unsigned state;

	(void)argc;
	(void)argv;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		int count = sockets_of(entry->d_name);
		sockets += count > 0 ? count : 0;
		closed += count < 0;
	}
	while (table != NULL && fgets(line, sizeof(line), table) != NULL)
		listening += sscanf(line, " %*d: %*s %*s %x", &state) == 1 && state == 0x0a;
	got_number("sockets", sockets);
	got_number("closed to us", closed);
	got_number("listening", listening);
	return 0;
}

static int show(int argc, char **argv)
{
	char chunk[4096];

	(void)argc;
	FILE *file = fopen(argv[0], "r");
	for (size_t len; file != NULL && (len = fread(chunk, 1, sizeof(chunk), file)) > 0;)
		fwrite(chunk, 1, len, stdout);
	return file == NULL;
}

const struct attack knock_attacks[] = {
	{ "talk", talk }, { "leave", leave }, { "claim", claim }, { "look", look },
	{ "show", show },
	{ 0 },
};
