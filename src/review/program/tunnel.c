/* What is said at the proxy of its cell and in its tunnels: hellos of TLS, requests that can be read in two ways, too
 * much, too slowly, too many. */
#include "review/program/call.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#define EVIL "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"

static long long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* ---- hellos ---- */

static void put_number(struct text *text, unsigned number, int bytes)
{
	for (int i = bytes - 1; i >= 0; i--)
		text_add(text, &(char){ (char)(number >> 8 * i) }, 1);
}

static void put_sized(struct text *text, int bytes, const struct text *data)
{
	put_number(text, (unsigned)data->len, bytes);
	text_add(text, data->bytes, data->len);
}

static void put_extension(struct text *text, unsigned kind, const struct text *data)
{
	put_number(text, kind, 2);
	put_sized(text, 2, data);
}

/* server_name with a list of names (NULL-terminated); '@' in one stands for a NUL. */
static void put_names(struct text *text, int kind, const char *const *names)
{
	struct text list = { .len = 0 }, data = { .len = 0 };

	for (; *names; names++) {
		struct text name = { .len = 0 };
		text_put(&name, "%s", *names);
		for (size_t i = 0; i < name.len; i++)
			name.bytes[i] = name.bytes[i] == '@' ? '\0' : name.bytes[i];
		put_number(&list, (unsigned)kind, 1);
		put_sized(&list, 2, &name);
	}
	put_sized(&data, 2, &list);
	put_extension(text, 0, &data);
}

static void put_record(struct text *text, int kind, const void *bytes, size_t len)
{
	put_number(text, (unsigned)kind, 1);
	put_number(text, 0x0301, 2);
	put_number(text, (unsigned)len, 2);
	text_add(text, bytes, len);
}

/* A client's first message with these extensions; NULL: one from before there were some. */
static void hello_body(struct text *ret, int message, const struct text *extensions)
{
	struct text body = { .len = 0 };

	put_number(&body, 0x0303, 2);
	text_add(&body, "0123456789abcdef0123456789abcdef", 32);
	text_add(&body, "\0\0\4\x13\1\xc0\x2f\1\0", 9);
	if (extensions)
		put_sized(&body, 2, extensions);
	ret->len = 0;
	put_number(ret, (unsigned)message, 1);
	put_sized(ret, 3, &body);
}

static const struct hello {
	const char *what;
	const char *first[3], *second[3]; /* names in the first, and in a second server_name */
	int kind, message; /* of the names; of the message, 0: a client's hello */
	unsigned other, times; /* another extension, so many times */
	bool bare; /* no extensions at all */
	const char *cut; /* how it is put into records */
} hellos[] = {
	{ "no-name", .other = 0x2b, .times = 1 },
	{ "no-extensions", .bare = true },
	{ "another-name", { "evil.test" } },
	{ "a-name-below", { "a.good.test" } },
	{ "a-name-above", { "test" } },
	{ "an-address", { "127.0.0.1" } },
	{ "a-nul", { "good.test@" } },
	{ "a-nul-and-more", { "good.test@.evil.test" } },
	{ "a-dot", { "good.test.." } },
	{ "two-names", { "good.test", "evil.test" } },
	{ "two-names-evil-first", { "evil.test", "good.test" } },
	{ "one-name-twice", { "good.test", "good.test" } },
	{ "two-extensions", { "good.test" }, { "evil.test" } },
	{ "two-extensions-evil-first", { "evil.test" }, { "good.test" } },
	{ "a-name-of-another-kind", { "good.test" }, .kind = 1 },
	{ "an-empty-name", { "" } },
	{ "encrypted-hello", { "good.test" }, .other = 0xfe0d, .times = 1 },
	{ "a-draft-of-it", { "good.test" }, .other = 0xfe0a, .times = 1 },
	{ "encrypted-name", { "good.test" }, .other = 0xffce, .times = 1 },
	{ "an-extension-twice", { "good.test" }, .other = 0x2b, .times = 2 },
	{ "a-servers-hello", { "good.test" }, .message = 2 },
	{ "another-name-byte-by-byte", { "evil.test" }, .cut = "bytes" },
	{ "another-name-in-many-records", { "evil.test" }, .cut = "records" },
	{ "an-empty-record-before", { "good.test" }, .cut = "empty" },
	{ "an-alert-in-between", { "good.test" }, .cut = "alert" },
	{ "two-hellos-in-a-record", { "good.test" }, .cut = "twice" },
	{ "a-record-without-end", { "good.test" }, .cut = "long" },
};

static void hello_cut(const struct hello *hello, const struct text *body, struct text *ret)
{
	const char *cut = hello->cut ? hello->cut : "";

	ret->len = 0;
	if (strcmp(cut, "records") == 0) {
		for (size_t i = 0; i < body->len; i++)
			put_record(ret, 22, body->bytes + i, 1);
	} else if (strcmp(cut, "alert") == 0) {
		put_record(ret, 22, body->bytes, 4);
		put_record(ret, 21, "\1\0", 2);
		put_record(ret, 22, body->bytes + 4, body->len - 4);
	} else if (strcmp(cut, "twice") == 0) {
		struct text both = *body;
		text_add(&both, body->bytes, body->len);
		put_record(ret, 22, both.bytes, both.len);
	} else if (strcmp(cut, "long") == 0) {
		text_add(ret, "\x16\3\1\xff\xff", 5);
		text_add(ret, body->bytes, body->len);
	} else {
		if (strcmp(cut, "empty") == 0)
			put_record(ret, 22, "", 0);
		put_record(ret, 22, body->bytes, body->len);
	}
}

static void hello_make(const struct hello *hello, struct text *ret)
{
	struct text extensions = { .len = 0 }, body, more = { .len = 0 };

	text_add(&more, "\2\3\4", 3);
	if (hello->first[0])
		put_names(&extensions, hello->kind, hello->first);
	if (hello->second[0])
		put_names(&extensions, 0, hello->second);
	for (unsigned i = 0; i < hello->times; i++)
		put_extension(&extensions, hello->other, &more);
	hello_body(&body, hello->message ? hello->message : 1, hello->bare ? NULL : &extensions);
	hello_cut(hello, &body, ret);
}

/* Says it in a tunnel; "ok" if anything comes back. */
static void say_in_tunnel(const char *what, const char *target, const struct text *said, size_t at_once)
{
	char answer[256], line[128];
	int status, fd = tunnel(target, &status);
	ssize_t came;

	snprintf(line, sizeof(line), "%s-%s", what, target);
	if (fd < 0) {
		got_number(line, status);
		return;
	}
	for (size_t at = 0; at < said->len; at += at_once)
		if (send(fd, said->bytes + at, said->len - at < at_once ? said->len - at : at_once, MSG_NOSIGNAL) < 0)
			break;
	shutdown(fd, SHUT_WR);
	came = recv(fd, answer, sizeof(answer), 0);
	if (came > 0)
		got_text(line, "ok");
	else if (came == 0)
		got_text(line, "closed");
	else
		got(line, -1);
	close(fd);
}

/* hellos: TLS whose name is not the tunnel's, in every way; and what is no TLS at all */
static int attack_hellos(int argc, char **argv)
{
	static const char *const others[] = { "GET / HTTP/1.1\r\nHost: good.test\r\n\r\n", "SSH-2.0-x\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
		"\x80\x2e\1\3\1", "\x17\3\3" };
	static struct text said;

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(hellos); i++) {
		hello_make(&hellos[i], &said);
		bool slowly = hellos[i].cut && strcmp(hellos[i].cut, "bytes") == 0;
		say_in_tunnel(hellos[i].what, "good.test:443", &said, slowly ? 1 : said.len);
		say_in_tunnel(hellos[i].what, "good.test:8443", &said, slowly ? 1 : said.len);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		said.len = 0;
		text_put(&said, "%s", others[i]);
		say_in_tunnel("no-tls", "good.test:443", &said, said.len);
	}
	return 0;
}

/* ---- two readers ---- */

static const struct {
	const char *fields, *body;
} posts[] = {
	{ "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" EVIL },
	{ "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n" EVIL },
	{ "Content-Length: 5\r\nContent-Length: 0\r\n", "hello" },
	{ "Content-Length: 5\r\nContent-Length: 5\r\n", "hello" },
	{ "Content-Length: 5, 5\r\n", "hello" },
	{ "Content-Length: +5\r\n", "hello" },
	{ "Content-Length: -1\r\n", "hello" },
	{ "Content-Length: 0x5\r\n", "hello" },
	{ "Content-Length: 05\r\n", "hello" },
	{ "Content-Length:\r\n", "hello" },
	{ "Content-Length: 18446744073709551621\r\n", "hello" },
	{ "Content-Length : 5\r\n", "hello" },
	{ "Content_Length: 5\r\n", "hello" },
	{ "Content-Length:\r\n 5\r\n", "hello" },
	{ "X: a\r\n b\r\n", "" },
	{ "Transfer-Encoding:\tchunked\r\n", "0\r\n\r\n" },
	{ "Transfer_Encoding: chunked\r\n", "0\r\n\r\n" },
	{ "Transfer-Encoding: chunked\r\n\t, identity\r\n", "0\r\n\r\n" },
	{ "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" },
	{ "Transfer-Encoding: identity\r\n", "" },
	{ "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n" },
	{ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" },
	{ "Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n" },
	{ "Content-Length: 5\r\nConnection: content-length\r\n", "hello" },
	{ "Host: evil.test\r\n", "" },
	{ "X: a\nHost: evil.test\r\n", "" },
	{ "X: a\rHost: evil.test\r\n", "" },
	{ ": a\r\n", "" },
	{ "nothing\r\n", "" },
	{ " X: a\r\n", "" },
	{ "Transfer-Encoding: chunked\r\n", "5\r\nhelloX" },
	{ "Transfer-Encoding: chunked\r\n", "g\r\n" },
	{ "Transfer-Encoding: chunked\r\n", "-5\r\nhello\r\n" },
	{ "Transfer-Encoding: chunked\r\n", "ffffffffffffffffff\r\n" },
};
static const char *const requests[] = {
	"GET http://good.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
	"GET http://good.test/ HTTP/1.1\r\nHost: good.test:8080\r\n\r\n",
	"GET http://good.test/ HTTP/1.1\r\nHost: x@good.test\r\n\r\n",
	"GET http://good.test/ HTTP/1.1\r\nHost:\r\n\r\n",
	"GET http://good.test/ HTTP/1.1\r\n\r\n",
	"CONNECT good.test:80 HTTP/1.1\r\nHost: evil.test:80\r\n\r\n",
	"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:22\r\n\r\n",
	"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\nContent-Length: 5\r\n\r\nhello",
	"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\n\r\n" EVIL,
	"CONNECT good.test:80 HTTP/1.1\r\nHost: good.test:80\r\n\r\nCONNECT evil.test:80 HTTP/1.1\r\nHost: evil.test:80\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"CONNECT http://good.test:80/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET https://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET ftp://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET http://good.test/#@evil.test HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET http://evil.test\\@good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"get http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET http://good.test/\r\n\r\n",
	"GET http://good.test/ HTTP/2.0\r\nHost: good.test\r\n\r\n",
	"GET http://good.test/ HTTP/1.10\r\nHost: good.test\r\n\r\n",
	"GET  http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET\thttp://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"\r\nGET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	" GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
	"GET http://good.test/ HTTP/1.1\nHost: good.test\n\n",
	"POST http://good.test/ HTTP/1.0\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"\5\1\r\n",
	"\4\1\r\n",
};

/* smuggle: requests that can be read in two ways */
static int attack_smuggle(int argc, char **argv)
{
	static struct text request, answer;

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(posts); i++) {
		request.len = 0;
		text_put(&request, "POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\n%s\r\n%s", posts[i].fields,
			posts[i].body);
		told("post", posts[i].fields, strlen(posts[i].fields), ask(&request, &answer));
	}
	for (size_t i = 0; i < COUNT(requests); i++) {
		request.len = 0;
		text_put(&request, "%s", requests[i]);
		told("request", requests[i], strlen(requests[i]), ask(&request, &answer));
	}
	return 0;
}

/* pipeline: something behind an allowed request, in the same bytes or after them */
static int attack_pipeline(int argc, char **argv)
{
	static const char *const firsts[] = {
		"GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n\r\n",
		"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nContent-Length: 5\r\n\r\nhello",
		"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"POST http://good.test/ HTTP/1.1\r\nHost: good.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\n\r\n"
	};
	static const char *const seconds[] = { EVIL, "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
		"GET http://good.test/evil HTTP/1.1\r\nHost: good.test\r\n\r\n" };
	static struct text request, answer;
	char more[256];

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(firsts) * COUNT(seconds); i++) {
		const char *first = firsts[i / COUNT(seconds)], *second = seconds[i % COUNT(seconds)];
		request.len = 0;
		text_put(&request, "%s%s", first, second);
		got_number("at-once", ask(&request, &answer));
		int fd = call();
		send(fd, first, strlen(first), MSG_NOSIGNAL);
		recv(fd, more, 8, 0);
		send(fd, second, strlen(second), MSG_NOSIGNAL);
		shutdown(fd, SHUT_WR);
		while (recv(fd, more, sizeof(more), 0) > 0)
			;
		got_text("afterwards", "said");
		close(fd);
	}
	return 0;
}

/* ---- too much ---- */

static void put_many(struct text *text, char letter, size_t count)
{
	for (; count > 0; count--)
		text_add(text, &letter, 1);
}

static void put_fields(struct text *text, const char *line, int count)
{
	text->len = 0;
	text_put(text, "%s", line);
	for (int i = 0; i < count; i++)
		text_put(text, "X%d: a\r\n", i);
	text_put(text, "\r\n");
}

/* large: heads beyond all measure */
static int attack_large(int argc, char **argv)
{
	static const char line[] = "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\n";
	static struct text request, answer;

	(void)argc, (void)argv;
	for (int which = 0; which < 4; which++) {
		request.len = 0;
		if (which == 0)
			text_put(&request, "%sX: ", line), put_many(&request, 'a', 9000),
				text_put(&request, "\r\n\r\n");
		if (which == 1)
			text_put(&request, "%sX: ", line), put_many(&request, 'a', 60000);
		if (which == 2)
			text_put(&request, "GET http://good.test/"), put_many(&request, 'a', 9000),
				text_put(&request, " HTTP/1.1\r\nHost: good.test\r\n\r\n");
		if (which == 3)
			put_many(&request, 'A', 20000);
		got_number("large", ask(&request, &answer));
	}
	put_fields(&request, line, 150);
	got_number("fields", ask(&request, &answer));
	put_fields(&request, line, 50);
	got_number("few-fields", ask(&request, &answer));
	request.len = 0;
	text_put(&request, "%s\r\n", line);
	told("afterwards", "", 0, ask(&request, &answer));
	return 0;
}

/* slow: a byte a second, and silence, wherever a door waits for something to be said; others are served meanwhile */
static int attack_slow(int argc, char **argv)
{
	static const char head[] = "GET http://good.test/path/to/somewhere HTTP/1.1",
			  hello[] = "\x16\3\1\1\0\1\0\0\xfc\3\3abcdefghijklmnopqrstu";
	static struct text request, answer;
	int status, ended = 0, served = 0, failed = 0;
	struct pollfd slow[4] = { { call(), POLLIN, 0 }, { call(), POLLIN, 0 },
		{ tunnel("good.test:443", &status), POLLIN, 0 }, { tunnel("good.test:443", &status), POLLIN, 0 } };
	const char *const said[4] = { head, "", hello, "" };
	long long begun = now_ms();

	(void)argc, (void)argv;
	request_make(&request, true, "good.test:80", 12);
	for (int second = 0; second < (gentle() ? 12 : 20) && ended < 4; second++) {
		for (int i = 0; i < 4; i++) {
			char bytes[512];
			if (slow[i].fd >= 0 && *said[i] && second < 20)
				send(slow[i].fd, said[i] + second, 1, MSG_NOSIGNAL);
			if (slow[i].fd < 0 || poll(&slow[i], 1, 0) == 0)
				continue;
			while (recv(slow[i].fd, bytes, sizeof(bytes), 0) > 0)
				;
			close(slow[i].fd);
			slow[i].fd = -1;
			ended++;
		}
		served++;
		failed += ask(&request, &answer) != 200;
		poll(NULL, 0, 1000);
	}
	got_number("ended", ended);
	got_number("seconds", (now_ms() - begun) / 1000);
	got_number("served", served - failed);
	got_number("unserved", failed);
	return 0;
}

#define HOARD_MAX 1000

/* Says the request to each that can be spoken to by now, once. */
static void say_to_all(struct pollfd *held, int count, const struct text *request)
{
	(void)poll(held, (nfds_t)count, 20);
	for (int i = 0; i < count; i++)
		if (held[i].revents & POLLOUT && send(held[i].fd, request->bytes, request->len, MSG_NOSIGNAL) > 0)
			held[i].events = 0;
}

/* Connections to the proxy, each with a request, and none taken back. */
static _Noreturn void hoard(int each, int line)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	static struct text request;
	static struct pollfd held[HOARD_MAX];
	int count = 0;

	request_make(&request, false, "good.test:8080", 14);
	for (int i = 0; i < each && count < HOARD_MAX; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fd < 0)
			break;
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 && errno != EINPROGRESS)
			close(fd);
		else
			held[count++] = (struct pollfd){ fd, POLLOUT, 0 };
		(void)!write(line, "x", 1);
	}
	for (;; usleep(50000))
		say_to_all(held, count, &request);
}

/* greedy PROCESSES EACH [MS]: connections without end, held for so long, or until SIGTERM */
static int attack_greedy(int argc, char **argv)
{
	int processes = argc > 0 ? atoi(argv[0]) : 4, each = argc > 1 ? atoi(argv[1]) : 500, lines[2];
	long long total = 0, ms = argc > 2 ? atoi(argv[2]) : 1500;
	sigset_t end;
	char byte;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);

	if (pipe(lines) < 0)
		return 1;
	for (int i = 0; i < processes; i++)
		if (fork() == 0)
			hoard(each, lines[1]);
	while (total < (long long)processes * each && poll(&(struct pollfd){ lines[0], POLLIN, 0 }, 1, 3000) > 0 &&
		read(lines[0], &byte, 1) == 1)
		total++;
	got_number("connections", total);
	ready();
	(void)sigtimedwait(&end, NULL, &(struct timespec){ ms / 1000, ms % 1000 * 1000000 });
	return 0;
}

/* neighbours: the first run of a campaign is greedy; the others go on with their work, or fail */
static int attack_neighbours(int argc, char **argv)
{
	static struct text request, answer;
	const char *run = getenv("HOTCELL_RUN");
	char *much[] = { "20", "500", "4000" };

	(void)argc, (void)argv;
	if (run && strcmp(run, "1") == 0)
		return attack_greedy(3, much);
	request_make(&request, true, "good.test:80", 12);
	for (int i = 0; i < 40; i++) {
		int status = ask(&request, &answer);
		got_number("status", status);
		if (status != 200)
			return 1;
		poll(NULL, 0, 40);
	}
	return 0;
}

/* reload: until its budget is used up, and until it is raised, ask for what is denied; fails if that does not come
 * about */
static int attack_reload(int argc, char **argv)
{
	static struct text evil, good, answer;
	long long until = now_ms() + 15000;
	bool spent = false;
	int status = 0;

	(void)argc, (void)argv;
	request_make(&evil, true, "evil.test:80", 12);
	request_make(&good, true, "good.test:80", 12);
	while (now_ms() < until) {
		if (ask(&evil, &answer) == 200)
			got_text("evil", "ok");
		status = ask(&good, &answer);
		got_number("good", status);
		spent = spent || status == 429;
		if (spent && status == 200)
			return 0;
		poll(NULL, 0, 10);
	}
	return !spent ? 1 : status == 429 ? 2 : 3;
}

/* ---- when who serves them dies ---- */

static void bind_proxy(const char *what, int reuse)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (reuse > 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (reuse > 1)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	got(what, bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1 : listen(fd, 1));
	close(fd);
}

/* orphan MS: goes on asking for what is denied while the process that serves its doors dies, and tries to take its
 * place */
static int attack_orphan(int argc, char **argv)
{
	static struct text evil, good, answer;
	long long until = now_ms() + (argc > 0 ? atoi(argv[0]) : 1500);
	int status, held = tunnel("good.test:8080", &status), denied = 0, served = 0, closed = 0;

	request_make(&evil, true, "evil.test:80", 12);
	request_make(&good, true, "good.test:80", 12);
	ready();
	while (now_ms() < until) {
		status = ask(&evil, &answer);
		if (status == 200)
			got_text("evil", "ok");
		denied += status == 403;
		closed += status <= 0;
		served += ask(&good, &answer) == 200;
		poll(NULL, 0, 5);
	}
	for (int reuse = 0; reuse < 3; reuse++)
		bind_proxy("bind", reuse);
	char byte;
	got_text("held", held >= 0 && recv(held, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN ? "open" : "ended");
	got_number("denied", denied);
	got_number("served", served);
	got_number("closed", closed);
	return 0;
}

/* credential URL...: use a secret door, and read what it sends out from what comes back */
static int attack_credential(int argc, char **argv)
{
	static const char *const fields[] = { "", "X-Echo: yes\r\n", "Connection: close, x-api-key\r\n",
		"x-api-key: mine\r\n", "Accept-Encoding: gzip\r\n" };
	static struct text request, answer;

	for (size_t i = 0; argc == 2 && i < COUNT(fields); i++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])) };
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		ssize_t came;
		inet_pton(AF_INET, argv[0], &at.sin_addr);
		if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
			got("door", -1);
			continue;
		}
		request.len = answer.len = 0;
		text_put(&request, "GET /v1/models HTTP/1.1\r\nHost: safe.door\r\n%s\r\n", fields[i]);
		send(fd, request.bytes, request.len, MSG_NOSIGNAL);
		while (answer.len < sizeof(answer.bytes) &&
			(came = recv(fd, answer.bytes + answer.len, sizeof(answer.bytes) - answer.len, 0)) > 0)
			answer.len += (size_t)came;
		fwrite(answer.bytes, 1, answer.len, stdout);
		got_number("\nanswered", (long long)answer.len);
		close(fd);
	}
	return 0;
}

#define GUESSED 5 /* letters of a credential of hexadecimal digits */
#define SURVIVORS 8 /* guesses that may all be right: it can be told in some spellings at once */

/* How many bytes of an answer in chunks came after the first chunk. */
static size_t came_late(const char *body)
{
	size_t total = 0, first = 0;
	char *end;

	for (size_t size; (size = strtoul(body, &end, 16)) > 0 && end != body; total += size) {
		first = first ? first : size;
		if (size + 4 > strlen(end))
			break;
		body = end + 2 + size + 2;
	}
	return total - first;
}

/* Sends a guess, which is the last of what is said back. */
static size_t see_guess(const struct sockaddr_in *at, const char *guess)
{
	static struct text request, answer;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	request.len = answer.len = 0;
	text_put(&request, "POST / HTTP/1.1\r\nHost: safe.door\r\nContent-Length: %zu\r\n\r\n%s", strlen(guess), guess);
	if (connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0) {
		send(fd, request.bytes, request.len, MSG_NOSIGNAL);
		for (ssize_t came; answer.len < sizeof(answer.bytes) - 1 &&
			(came = recv(fd, answer.bytes + answer.len, sizeof(answer.bytes) - 1 - answer.len, 0)) > 0;)
			answer.len += (size_t)came;
	}
	close(fd);
	answer.bytes[answer.len] = '\0';
	const char *body = strstr(answer.bytes, "\r\n\r\n");
	return body ? came_late(body + 4) : 0;
}

/* guess ADDRESS PORT: find a secret door's credential letter by letter, from how a server that says everything back is heard:
 * what may be its beginning comes late */
static int attack_guess(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	char guesses[SURVIVORS + 1][GUESSED + 1] = { "" };
	size_t count = 1;

	if (argc != 2)
		return 2;
	at.sin_port = htons((uint16_t)atoi(argv[1]));
	inet_pton(AF_INET, argv[0], &at.sin_addr);
	for (size_t len = 1; len <= GUESSED && count <= SURVIVORS; len++) {
		char before[SURVIVORS + 1][GUESSED + 1];
		size_t tried = 16 * count;
		memcpy(before, guesses, sizeof(before));
		count = 0;
		for (size_t i = 0; i < tried && count <= SURVIVORS; i++) {
			char guess[GUESSED + 1];
			snprintf(guess, sizeof(guess), "%s%zx", before[i / 16], i % 16);
			if (see_guess(&at, guess) == len)
				memcpy(guesses[count++], guess, sizeof(guess));
		}
	}
	for (size_t i = 0; i < count && count <= SURVIVORS; i++)
		got_text("guess", guesses[i]);
	got_number("guesses", (long long)count);
	return 0;
}

/* spend ADDRESS PORT: ask a model many times before the first answer is read */
static int attack_spend(int argc, char **argv)
{
	static const char *const bodies[] = { "{\"model\":\"m\",\"stream\":true,\"max_tokens\":500,\"messages\":[]}",
		"{\"model\":\"m\",\"max_tokens\":500,\"n\":1,\"messages\":[]}" };
	static struct text request;
	int fds[40];
	char bytes[4096];

	for (size_t i = 0; argc == 2 && i < COUNT(fds); i++) {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])) };
		const char *body = bodies[i % COUNT(bodies)];
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		inet_pton(AF_INET, argv[0], &at.sin_addr);
		if (connect(fds[i], (struct sockaddr *)&at, sizeof(at)) < 0)
			continue;
		request.len = 0;
		text_put(&request, "POST /v1/chat/completions HTTP/1.1\r\nHost: safe.door\r\nContent-Length: %zu\r\n\r\n%s",
			strlen(body), body);
		send(fds[i], request.bytes, request.len, MSG_NOSIGNAL);
	}
	for (size_t i = 0; argc == 2 && i < COUNT(fds); i++) {
		ssize_t came = recv(fds[i], bytes, sizeof(bytes) - 1, 0);
		bytes[came > 0 ? came : 0] = '\0';
		got_number("answered", came > 12 ? atoi(bytes + 9) : 0);
		close(fds[i]);
	}
	return 0;
}

const struct attack tunnel_attacks[] = {
	{ "hellos", attack_hellos },
	{ "smuggle", attack_smuggle },
	{ "pipeline", attack_pipeline },
	{ "large", attack_large },
	{ "neighbours", attack_neighbours },
	{ "reload", attack_reload },
	{ "slow", attack_slow },
	{ "greedy", attack_greedy },
	{ "orphan", attack_orphan },
	{ "credential", attack_credential },
	{ "guess", attack_guess },
	{ "spend", attack_spend },
	{ 0 },
};
