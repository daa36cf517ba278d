/* The far side of a secret door: TLS by OpenSSL, or plain bytes where the upstream has none. Nothing here blocks, and
 * nothing is read from files: whom to trust is given as text.
 *
 * TLS 1.2 or later; the certificate must lead to one of the authorities and be for the host, a name or an address. */
#ifndef HOTCELL_NET_TLS_H
#define HOTCELL_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct tls; /* whom to trust, and as whom */
/* authorities: certificates in PEM. same: another with the same ones, which are not read again then; or NULL. */
MUST_CHECK struct tls *tls_open(const char *authorities, const struct tls *same, const char *host, struct err *err);
struct tls *tls_free(struct tls *tls); /* NULL is fine; returns NULL */

struct far; /* one connection */
/* fd: connected, not blocking; it and `tls` stay the caller's and live longer. tls NULL: plain. NULL when
 * memory is out. */
struct far *far_open(struct tls *tls, int fd);
struct far *far_free(struct far *far); /* NULL is fine; returns NULL */

enum far_end {
	FAR_OK,
	FAR_WAIT, /* until what far_events says */
	FAR_OVER, /* reading: the other side has ended, and said so */
	FAR_FAILED /* far_why */
};
/* Before anything else, until it is FAR_OK. */
enum far_end far_shake(struct far *far);
/* One piece, at most FAR_PIECE bytes: `bytes` has room for them. */
#define FAR_PIECE 16384
enum far_end far_read(struct far *far, char bytes[FAR_PIECE], size_t *ret_len);
enum far_end far_write(struct far *far, const char *bytes, size_t len, size_t *ret_len);
/* For what to wait in epoll, if shaking hands, reading or writing is what is wanted. */
uint32_t far_events(const struct far *far, bool reading, bool writing);
const char *far_why(const struct far *far); /* "its certificate has expired", ... */

#endif
