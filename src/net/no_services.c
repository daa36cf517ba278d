/* A static program asks no service switch.
 *
 * c-ares and OpenSSL can look up names of services and hosts through the C library, which in a static program works only
 * with the very libc it was built with, and opens files that doord may not open. Nothing here asks them to: names are
 * resolved by resolve.c alone. The build turns these calls into ours (--wrap), which find nothing. */
#include <netdb.h>
#include <stddef.h>

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
struct hostent *__wrap_gethostbyname(const char *name);
struct servent *__wrap_getservbyname(const char *name, const char *protocol);
int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer, size_t len,
	struct servent **ret);

int __wrap_getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **ret)
{
	(void)name;
	(void)service;
	(void)hints;
	*ret = NULL;
	return EAI_FAIL;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

struct hostent *__wrap_gethostbyname(const char *name)
{
	(void)name;
	return NULL;
}

struct servent *__wrap_getservbyname(const char *name, const char *protocol)
{
	(void)name;
	(void)protocol;
	return NULL;
}

int __wrap_getservbyport_r(int port, const char *protocol, struct servent *entry, char *buffer, size_t len,
	struct servent **ret)
{
	(void)port;
	(void)protocol;
	(void)entry;
	(void)buffer;
	(void)len;
	*ret = NULL;
	return 0;
}
