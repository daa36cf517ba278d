/* Seen by the files of policy only: what is true of every single door, whether an option or a message says it. */
#ifndef HOTCELL_DOOR_POLICY_POLICY_PRIVATE_H
#define HOTCELL_DOOR_POLICY_POLICY_PRIVATE_H

#include "door/policy/policy.h"

#define CA_FILE_MAX ((size_t)1 << 20)
#define CA_BUNDLE_MAX ((size_t)4 << 20)

void service_done(struct door_service *service);
void secret_done(struct secret_door *door); /* wipes the credential */

/* Of an address or localhost; ADDRESS_OTHER for a name, which says nothing about where it is. */
enum address_class said_class(const char *host);

/* A name server as ADDRESS:PORT, from that or ADDRESS alone; NULL: it is none. The caller frees it. */
char *resolver_canonical(const char *text);

/* Each gives NULL, or why it cannot be: static, and to be read after "NAME: ". Members may be NULL. */
const char *service_fault(const struct door_service *service);
const char *secret_fault(const struct secret_door *door);
const char *upstream_fault(const char *host, uint16_t port);
const char *credential_fault(const char *secret);
const char *certificates_fault(const char *text, size_t max);

#endif
