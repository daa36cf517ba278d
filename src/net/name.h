/* Host names and addresses as somebody hostile writes them. Pure. */
#ifndef HOTCELL_NET_NAME_H
#define HOTCELL_NET_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HOST_MAX 253 /* bytes of a host name, without the NUL */

enum host_kind {
	HOST_NAME, /* a host name, in its one canonical form */
	HOST_LITERAL, /* an address, in whatever spelling: 127.0.0.1, 127.1, 0x7f000001, 2130706433, 0, [::1], 1.2.3.4. */
	HOST_BAD /* neither: a byte that no name has, an empty or long label, percent signs, userinfo ... */
};

/* Canonical: lower case, without the one trailing dot. Letters, digits and hyphens in labels of 1 to 63 bytes that
 * neither begin nor end with a hyphen; a name whose last label is a number in any base that inet_aton takes is an
 * address. `ret` is written for HOST_NAME only. */
enum host_kind host_canonical(const char *bytes, size_t len, char ret[HOST_MAX + 1]);
bool host_is_encoded(const char *canonical); /* has a label that begins with xn-- */

enum address_class {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK, /* 127/8, ::1 */
	ADDRESS_PRIVATE, /* 10/8, 172.16/12, 192.168/16, fc00::/7, fec0::/10 */
	ADDRESS_SHARED, /* 100.64/10 */
	ADDRESS_LINK, /* 169.254/16 with the metadata services, 168.63.129.16 which is one, fe80::/10 */
	ADDRESS_MULTICAST, /* 224/4, ff00::/8, broadcast */
	ADDRESS_RESERVED, /* 0/8, 192.0.0/24, 192.0.2/24, 198.18/15, 198.51.100/24, 203.0.113/24, 240/4, ::, 2001:db8::/32
			   * and what is outside of 2000::/3 and of no other class */
	ADDRESS_MAPPED, /* an IPv4 address, whichever, inside an IPv6 one: ::ffff:0:0/96, 64:ff9b::/96, 2002::/16,
			 * 2001::/32, ::/96, ISATAP ... */
	ADDRESS_OTHER, /* no address of IPv4 or IPv6 */
	ADDRESS_CLASS_COUNT
};
enum address_class address_classify(const struct sockaddr *address);
const char *address_class_name(enum address_class class); /* "loopback", ... */
/* Whether an allowed name may be at this address: a public one, or, with private_ok, any that one can be connected to.
 * *ret_reason (static) says why not; "" if it may. */
bool address_allowed(const struct sockaddr *address, bool private_ok, const char **ret_reason);

#endif
