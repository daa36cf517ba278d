/* Loopback is only one of the names of this machine: services that listen for the machine itself, or for its network, are
 * reached by each of its addresses, public ones too. Comparing with a list would miss what comes later, and sees no
 * addresses that are routes (local tables, anycast). So the kernel is asked how it would route there, which is what it
 * will do a moment later. It answers at once, within the call that asks.
 *
 * A table in which everything is local (ip route add local default) is a network of tests: it says nothing about one
 * address. Nobody could reach anything from there. */
#include "net/local.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/own.h"

#define ANSWER_MAX 4096
#define ANSWERS_MAX 16 /* to earlier questions */

static int asked = -1;
static uint32_t number;

void local_prepare(void)
{
	if (asked < 0)
		asked = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
}

static size_t bytes_of(const struct sockaddr *address, const void **ret)
{
	if (address->sa_family == AF_INET) {
		*ret = &((const struct sockaddr_in *)(const void *)address)->sin_addr;
		return 4;
	}
	*ret = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
	return 16;
}

static bool ask(const struct sockaddr *address)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr to;
		unsigned char bytes[16];
	} question = { .route = { .rtm_family = (unsigned char)address->sa_family, .rtm_flags = RTM_F_FIB_MATCH } };
	const void *bytes;
	size_t len = bytes_of(address, &bytes);

	memcpy(question.bytes, bytes, len);
	question.route.rtm_dst_len = (unsigned char)(len * 8);
	question.to = (struct rtattr){ (unsigned short)RTA_LENGTH(len), RTA_DST };
	question.head = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(len)),
		.nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++number };
	return send(asked, &question, question.head.nlmsg_len, MSG_NOSIGNAL) == (ssize_t)question.head.nlmsg_len;
}

static const char *judge(const struct rtmsg *route)
{
	switch (route->rtm_type) {
	case RTN_LOCAL: return route->rtm_dst_len > 0 ? "resolves to an address of this machine" : NULL;
	case RTN_BROADCAST:
	case RTN_MULTICAST: return "resolves to a multicast address";
	case RTN_ANYCAST: return "resolves to an address of this machine";
	default: return NULL;
	}
}

const char *local_refusal(const struct sockaddr *address)
{
	static const char unknown[] = "the kernel does not say whether its address is this machine's";
	union {
		struct nlmsghdr head;
		char bytes[ANSWER_MAX];
	} answer;

	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return NULL;
	if (asked < 0 || !ask(address))
		return unknown;
	for (int i = 0; i < ANSWERS_MAX; i++) {
		ssize_t len = recv(asked, &answer, sizeof(answer), 0);
		if (len < (ssize_t)sizeof(answer.head))
			return unknown;
		if (answer.head.nlmsg_seq != number)
			continue;
		if (answer.head.nlmsg_type == NLMSG_ERROR)
			return NULL; /* no way there: connecting says so */
		if (answer.head.nlmsg_type != RTM_NEWROUTE || len < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)))
			return unknown;
		return judge(NLMSG_DATA(&answer.head));
	}
	return unknown;
}
