#include "net/name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/own.h"
#include "base/weaken.h"

#define LABEL_MAX 63

/* ---- names ---- */

/* Not ctype.h, whose answers depend on the locale. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* An IPv6 address, bare or in brackets. One with a zone ("%eth0") is none: no name has a '%'. */
static bool is_ipv6(const char *bytes, size_t len)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (len >= 2 && bytes[0] == '[' && bytes[len - 1] == ']') {
		bytes++;
		len -= 2;
	}
	if (len == 0 || len >= sizeof(text) || memchr(bytes, '\0', len))
		return false;
	memcpy(text, bytes, len);
	text[len] = '\0';
	return inet_pton(AF_INET6, text, &address) == 1;
}

static bool label_ok(const char *label, size_t len)
{
	if (len == 0 || len > LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_digit(label[i]) && !(label[i] >= 'a' && label[i] <= 'z') && label[i] != '-')
			return false;
	return true;
}

static size_t name_bytes(const char *bytes, size_t len)
{
	size_t count = 0;

	while (count < len && (bytes[count] == '.' || label_ok((const char[]){'a', lower(bytes[count]), 'a'}, 3)))
		count++;
	while (count > 0 && bytes[count - 1] == '.')
		count--;
	return count;
}

/* Digits (decimal or octal), or 0x and hexadecimal digits, if any: wider than what inet_aton takes,
 * which differs between C libraries. No top-level domain looks like this. */
static bool label_is_number(const char *label)
{
	if (label[0] == '0' && label[1] == 'x') {
		for (label += 2; is_hex(*label); label++)
			continue;
		return *label == '\0';
	}
	while (is_digit(*label))
		label++;
	return *label == '\0';
}

enum host_kind host_canonical(const char *bytes, size_t len, char ret[HOST_MAX + 1])
{
	char name[HOST_MAX + 1];
	const char *label = name;

	if (len > 0 && is_ipv6(bytes, len))
		return HOST_LITERAL;
	if (weakened("door-names")) /* as who reads it up to the first byte that is none of a name, and drops dots */
		len = name_bytes(bytes, len);
	if (len > 0 && bytes[len - 1] == '.')
		len--;
	if (len == 0 || len > HOST_MAX)
		return HOST_BAD;
	for (size_t i = 0; i < len; i++)
		name[i] = lower(bytes[i]);
	name[len] = '\0';
	for (;;) {
		/* By length, not up to a NUL: one inside is a byte that no name has. */
		size_t left = (size_t)(name + len - label);
		const char *dot = memchr(label, '.', left);
		if (!label_ok(label, dot ? (size_t)(dot - label) : left))
			return HOST_BAD;
		if (!dot)
			break;
		label = dot + 1;
	}
	if (label_is_number(label))
		return HOST_LITERAL;
	memcpy(ret, name, len + 1);
	return HOST_NAME;
}

bool host_is_encoded(const char *canonical)
{
	for (const char *label = canonical; label; label = strchr(label, '.')) {
		label += *label == '.';
		if (strncmp(label, "xn--", 4) == 0)
			return true;
	}
	return false;
}

/* ---- addresses ---- */

struct range4 {
	uint8_t prefix[4];
	unsigned bits;
	enum address_class class;
};

struct range6 {
	uint8_t prefix[16];
	unsigned bits;
	enum address_class class;
};

/* IANA's registries of special-purpose addresses and what clouds serve credentials on. The first
 * that matches counts. */
static const struct range4 ranges4[] = {
	{{0}, 8, ADDRESS_RESERVED}, /* Linux connects 0.0.0.0 to itself */
	{{10}, 8, ADDRESS_PRIVATE},
	{{100, 64}, 10, ADDRESS_SHARED},
	{{127}, 8, ADDRESS_LOOPBACK},
	{{168, 63, 129, 16}, 32, ADDRESS_LINK}, /* looks public; Azure's host answers there */
	{{169, 254}, 16, ADDRESS_LINK},
	{{172, 16}, 12, ADDRESS_PRIVATE},
	{{192, 0, 0}, 24, ADDRESS_RESERVED},
	{{192, 0, 2}, 24, ADDRESS_RESERVED},
	{{192, 88, 99}, 24, ADDRESS_RESERVED}, /* relays of 6to4 */
	{{192, 168}, 16, ADDRESS_PRIVATE},
	{{198, 18}, 15, ADDRESS_RESERVED},
	{{198, 51, 100}, 24, ADDRESS_RESERVED},
	{{203, 0, 113}, 24, ADDRESS_RESERVED},
	{{224}, 4, ADDRESS_MULTICAST},
	{{255, 255, 255, 255}, 32, ADDRESS_MULTICAST},
	{{240}, 4, ADDRESS_RESERVED},
};

static const struct range6 ranges6[] = {
	{{0}, 128, ADDRESS_RESERVED},
	{{[15] = 1}, 128, ADDRESS_LOOPBACK},
	{{0}, 96, ADDRESS_MAPPED}, /* "compatible", ::a.b.c.d */
	{{[10] = 0xff, 0xff}, 96, ADDRESS_MAPPED},
	{{[8] = 0xff, 0xff}, 96, ADDRESS_MAPPED}, /* translated, ::ffff:0:a.b.c.d */
	{{0x00, 0x64, 0xff, 0x9b}, 96, ADDRESS_MAPPED}, /* NAT64 */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_MAPPED}, /* NAT64 of one's own */
	{{0x20, 0x01, 0x00, 0x00}, 32, ADDRESS_MAPPED}, /* Teredo */
	{{0x20, 0x01, 0x00, 0x00}, 23, ADDRESS_RESERVED}, /* protocols' own: ORCHID, benchmarks */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_RESERVED},
	{{0x20, 0x02}, 16, ADDRESS_MAPPED}, /* 6to4 */
	{{0x3f, 0xff}, 20, ADDRESS_RESERVED}, /* for documentation, as 2001:db8::/32 */
	{{0x20}, 3, ADDRESS_PUBLIC},
	{{0xfc}, 7, ADDRESS_PRIVATE},
	{{0xfe, 0x80}, 10, ADDRESS_LINK},
	{{0xfe, 0xc0}, 10, ADDRESS_PRIVATE}, /* "site-local", from before fc00::/7 */
	{{0xff}, 8, ADDRESS_MULTICAST},
	{{0}, 0, ADDRESS_RESERVED}, /* whatever else: nobody has been given it */
};

static bool in_range(const uint8_t *address, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(address, prefix, whole) != 0)
		return false;
	return rest == 0 || (address[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

/* ISATAP: the last eight bytes are 0000:5efe or 0200:5efe and an IPv4 address, in any network. */
static bool is_isatap(const uint8_t address[16])
{
	return (address[8] & ~2) == 0 && address[9] == 0 && address[10] == 0x5e &&
		address[11] == 0xfe;
}

static enum address_class classify4(const uint8_t address[4])
{
	for (size_t i = 0; i < ARRAY_LEN(ranges4); i++)
		if (in_range(address, ranges4[i].prefix, ranges4[i].bits))
			return ranges4[i].class;
	return ADDRESS_PUBLIC;
}

static enum address_class classify6(const uint8_t address[16])
{
	enum address_class class = ADDRESS_RESERVED;

	for (size_t i = 0; i < ARRAY_LEN(ranges6); i++) {
		if (in_range(address, ranges6[i].prefix, ranges6[i].bits)) {
			class = ranges6[i].class;
			break;
		}
	}
	return class == ADDRESS_PUBLIC && is_isatap(address) ? ADDRESS_MAPPED : class;
}

enum address_class address_classify(const struct sockaddr *address)
{
	/* Copied, because a sockaddr need not be aligned as what it really is. */
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, address, sizeof(in));
		return classify4((const uint8_t *)&in.sin_addr);
	}
	if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;
		memcpy(&in6, address, sizeof(in6));
		return classify6(in6.sin6_addr.s6_addr);
	}
	return ADDRESS_OTHER;
}

const char *address_class_name(enum address_class class)
{
	static const char *const names[] = {
		[ADDRESS_PUBLIC] = "public",
		[ADDRESS_LOOPBACK] = "loopback",
		[ADDRESS_PRIVATE] = "private",
		[ADDRESS_SHARED] = "shared",
		[ADDRESS_LINK] = "link-local",
		[ADDRESS_MULTICAST] = "multicast",
		[ADDRESS_RESERVED] = "reserved",
		[ADDRESS_MAPPED] = "mapped",
		[ADDRESS_OTHER] = "unknown",
	};
	_Static_assert(ARRAY_LEN(names) == ADDRESS_CLASS_COUNT, "a class has no name");

	return (unsigned)class < ARRAY_LEN(names) ? names[class] : "unknown";
}

bool address_allowed(const struct sockaddr *address, bool private_ok, const char **ret_reason)
{
	static const char *const reasons[] = {
		[ADDRESS_PUBLIC] = "",
		[ADDRESS_LOOPBACK] = "resolves to a loopback address",
		[ADDRESS_PRIVATE] = "resolves to a private address",
		[ADDRESS_SHARED] = "resolves to a shared address",
		[ADDRESS_LINK] = "resolves to a link-local address",
		[ADDRESS_MULTICAST] = "resolves to a multicast address",
		[ADDRESS_RESERVED] = "resolves to a reserved address",
		[ADDRESS_MAPPED] = "resolves to an IPv4 address inside an IPv6 one",
		[ADDRESS_OTHER] = "resolves to no internet address",
	};
	_Static_assert(ARRAY_LEN(reasons) == ADDRESS_CLASS_COUNT, "a class has no reason");
	enum address_class class = address_classify(address);

	/* Nobody can be connected to at a multicast address, whatever the rule says. */
	bool ok = class == ADDRESS_PUBLIC || weakened("door-addresses") ||
		(private_ok && class != ADDRESS_MULTICAST && class != ADDRESS_OTHER);
	*ret_reason = ok ? "" : reasons[class];
	return ok;
}
