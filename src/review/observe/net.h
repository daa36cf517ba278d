/* What is outside of a cell's doors: a network of the review's own, with a name server and servers. Seen only inside
 * src/review.
 *
 * It is a network namespace whose loopback has every address there is, so that nothing ever leaves the machine and
 * whoever is connected to, at whatever address, is us. A process in it answers and writes down who came and what was said.
 *
 * The name server is at 127.0.0.1:53. A name tells by its first label where it is:
 *	a-7f000001.x	127.0.0.1		q-(32 digits).x	the same in IPv6
 *	t-A-B.x		A when asked first, then B	m-A-B.x		both at once
 *	c-A.x		A, by way of an alias	d-A.x		as a-, but the answer comes late
 *	any other	NET_EVIL if "evil" is in it, else NET_GOOD
 *
 * On port 80 and 8088 HTTP is answered, on 8081 with the request's head as it came; elsewhere what is said is said back. */
#ifndef HOTCELL_REVIEW_OBSERVE_NET_H
#define HOTCELL_REVIEW_OBSERVE_NET_H

#include "review/attack.h"

#define NET_GOOD "93.184.215.14"
#define NET_EVIL "93.184.215.15"
#define NET_OWN "93.184.215.90" /* public, and one of the machine's own */
#define NET_HEARD_MAX 4096

struct net_call { /* a connection, or a datagram */
	char to[64]; /* "ADDRESS:PORT", as who came meant it; datagrams: "udp ADDRESS:PORT" */
	size_t heard_bytes; /* all of them */
	char heard[NET_HEARD_MAX]; /* the first of them */
};

/* Makes it, and lets everything that this try runs begin in it. NULL: it could not (try_failed was called). */
struct net *net_open(struct review_try *try);
struct net *net_free(struct net *net); /* NULL is fine; returns NULL */
static inline void net_freep(struct net **net)
{
	*net = net_free(*net);
}

void net_settle(struct net *net); /* waits until all that was said has been heard: before looking */
size_t net_calls(const struct net *net);
const struct net_call *net_call(const struct net *net, size_t which);
bool net_overflowed(const struct net *net); /* more came than is kept: what is beyond has been seen by nobody */
size_t net_at_once(const struct net *net); /* connections that were open at the same time, at most */
size_t net_questions(const struct net *net);
const char *net_question(const struct net *net, size_t which); /* the name, as it was asked for */

#endif
