#include "review/program/call.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/time.h>

#define SHOWN 90

void text_add(struct text *text, const void *bytes, size_t len)
{
	size_t room = sizeof(text->bytes) - text->len;

	len = len < room ? len : room;
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
}

void text_put(struct text *text, const char *format, ...)
{
	char made[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(made, sizeof(made), format, args);
	va_end(args);
	text_add(text, made, strlen(made));
}

int call(void)
{
	struct sockaddr_in proxy = {
		.sin_family = AF_INET, .sin_port = htons(PROXY_PORT), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	struct timeval patience = { .tv_sec = 12 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static int status_of(const struct text *answer)
{
	int status = 0;

	if (answer->len < 12 || memcmp(answer->bytes, "HTTP/1.", 7) != 0)
		return 0;
	return sscanf(answer->bytes + 8, " %3d", &status) == 1 ? status : 0;
}

int ask(const struct text *request, struct text *answer)
{
	int fd = call();
	ssize_t got;

	answer->len = 0;
	if (fd < 0)
		return -1;
	for (size_t said = 0; said < request->len;) { /* all of it, however little is taken at once */
		ssize_t some = send(fd, request->bytes + said, request->len - said, MSG_NOSIGNAL);
		if (some <= 0)
			break;
		said += (size_t)some;
	}
	shutdown(fd, SHUT_WR);
	while (answer->len < sizeof(answer->bytes) - 1 &&
		(got = recv(fd, answer->bytes + answer->len, sizeof(answer->bytes) - 1 - answer->len, 0)) > 0)
		answer->len += (size_t)got;
	answer->bytes[answer->len] = '\0';
	close(fd);
	return status_of(answer);
}

void request_make(struct text *ret, bool get, const void *target, size_t len)
{
	ret->len = 0;
	text_put(ret, get ? "GET http://" : "CONNECT ");
	text_add(ret, target, len);
	text_put(ret, get ? "/path HTTP/1.1\r\nHost: " : " HTTP/1.1\r\nHost: ");
	text_add(ret, target, len);
	text_put(ret, "\r\n\r\n");
}

int tunnel(const char *target, int *ret_status)
{
	static struct text request;
	struct text answer = { .len = 0 };
	int fd = call();

	*ret_status = -1;
	if (fd < 0)
		return -1;
	request_make(&request, false, target, strlen(target));
	send(fd, request.bytes, request.len, MSG_NOSIGNAL);
	while (answer.len < 4096 && recv(fd, answer.bytes + answer.len, 1, 0) == 1) {
		answer.len++;
		if (answer.len >= 4 && memcmp(answer.bytes + answer.len - 4, "\r\n\r\n", 4) == 0)
			break;
	}
	*ret_status = status_of(&answer);
	if (*ret_status == 200)
		return fd;
	close(fd);
	return -1;
}

void told(const char *how, const void *what, size_t len, int status)
{
	const unsigned char *bytes = what;

	printf("%s-", how);
	for (size_t i = 0; i < len && i < SHOWN; i++) {
		if (bytes[i] > ' ' && bytes[i] < 127 && bytes[i] != '%')
			putchar(bytes[i]);
		else
			printf("%%%02x", bytes[i]);
	}
	if (status == 200)
		printf(" ok\n");
	else if (status < 0)
		printf(" %s\n", strerrorname_np(errno));
	else
		printf(" %d\n", status);
	fflush(stdout);
}

void ask_for(const void *target, size_t len)
{
	static struct text request, answer;

	for (int get = 0; get < 2; get++) {
		request_make(&request, get, target, len);
		told(get ? "GET" : "CONNECT", target, len, ask(&request, &answer));
	}
}

void ask_for_text(const char *format, ...)
{
	char made[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(made, sizeof(made), format, args);
	va_end(args);
	ask_for(made, strlen(made));
}
