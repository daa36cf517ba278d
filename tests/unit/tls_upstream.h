/* An upstream for tests of secret doors: it listens on loopback, with TLS or without, and says what the test says. The
 * test is the cell and the upstream at once, so that everything happens in an order that it chooses. */
#ifndef HOTCELL_TESTS_TLS_UPSTREAM_H
#define HOTCELL_TESTS_TLS_UPSTREAM_H

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"

#define PATIENCE 30 /* seconds until a test that waits for nothing fails */

struct authority {
	EVP_PKEY *key;
	X509 *certificate;
};

struct upstream {
	int listener;
	uint16_t port;
	SSL_CTX *context; /* NULL: plain */
	int fd; /* the connection it has */
	SSL *ssl;
	struct buf request; /* the one that was read last */
};

/* ---- certificates ---- */

static X509 *certificate_make(EVP_PKEY *key, const char *name, const char *alternatives, long from_s, long to_s,
	const struct authority *by)
{
	static long serial = 1;
	X509 *made = X509_new();
	X509_NAME *subject = X509_get_subject_name(made);
	X509V3_CTX context;

	assert_int_equal(X509_set_version(made, 2), 1);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(made), serial++), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(made), from_s));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(made), to_s));
	assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0), 1);
	assert_int_equal(X509_set_issuer_name(made, by != NULL ? X509_get_subject_name(by->certificate) : subject), 1);
	assert_int_equal(X509_set_pubkey(made, key), 1);
	X509V3_set_ctx(&context, by != NULL ? by->certificate : made, made, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context,
		alternatives != NULL ? NID_subject_alt_name : NID_basic_constraints,
		alternatives != NULL ? alternatives : "critical,CA:TRUE");
	assert_non_null(extension);
	assert_int_equal(X509_add_ext(made, extension, -1), 1);
	X509_EXTENSION_free(extension);
	assert_true(X509_sign(made, by != NULL ? by->key : key, EVP_sha256()) > 0);
	return made;
}

static void authority_make(struct authority *ret, const char *name)
{
	ret->key = EVP_EC_gen("P-256");
	assert_non_null(ret->key);
	ret->certificate = certificate_make(ret->key, name, NULL, -3600, 3600, NULL);
}

static void authority_done(struct authority *authority)
{
	X509_free(authority->certificate);
	EVP_PKEY_free(authority->key);
}

static char *authority_text(const struct authority *authority)
{
	BIO *bio = BIO_new(BIO_s_mem());
	struct buf text = { 0 };
	char *bytes;

	assert_int_equal(PEM_write_bio_X509(bio, authority->certificate), 1);
	long len = BIO_get_mem_data(bio, &bytes);
	buf_add(&text, bytes, (size_t)len);
	BIO_free(bio);
	return buf_take(&text);
}

/* ---- sockets ---- */

static void socket_patient(int fd)
{
	const struct timeval patience = { PATIENCE, 0 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
}

static int socket_listen(uint16_t *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	socket_patient(fd);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* ---- the upstream ---- */

static void upstream_open(struct upstream *up)
{
	*up = (struct upstream){ .fd = -1 };
	up->listener = socket_listen(&up->port);
}

/* alternatives: "DNS:localhost,IP:127.0.0.1". */
static void upstream_secure(struct upstream *up, const struct authority *by, const char *alternatives, long from_s, long to_s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = certificate_make(key, "upstream", alternatives, from_s, to_s, by);

	up->context = SSL_CTX_new(TLS_server_method());
	assert_non_null(up->context);
	assert_int_equal(SSL_CTX_use_certificate(up->context, certificate), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(up->context, key), 1);
	X509_free(certificate);
	EVP_PKEY_free(key);
}

static void upstream_hang_up(struct upstream *up, bool properly)
{
	if (up->ssl != NULL && properly)
		(void)SSL_shutdown(up->ssl);
	SSL_free(up->ssl);
	up->ssl = NULL;
	fd_close(&up->fd);
}

static void upstream_done(struct upstream *up)
{
	upstream_hang_up(up, false);
	fd_close(&up->listener);
	SSL_CTX_free(up->context);
	up->context = NULL;
	buf_done(&up->request);
}

/* Whether somebody came whom it got on with. */
static bool upstream_accept(struct upstream *up)
{
	up->fd = accept4(up->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(up->fd >= 0);
	socket_patient(up->fd);
	if (up->context == NULL)
		return true;
	up->ssl = SSL_new(up->context);
	assert_int_equal(SSL_set_fd(up->ssl, up->fd), 1);
	return SSL_accept(up->ssl) == 1;
}

static void upstream_read_more(struct upstream *up)
{
	char bytes[4096];
	ssize_t got = up->ssl != NULL ? SSL_read(up->ssl, bytes, sizeof(bytes)) : recv(up->fd, bytes, sizeof(bytes), 0);

	assert_true(got > 0);
	buf_add(&up->request, bytes, (size_t)got);
}

/* Accepts and reads until the request ends with this. */
static void upstream_hear(struct upstream *up, const char *end)
{
	size_t len = strlen(end);

	assert_true(upstream_accept(up));
	up->request.len = 0;
	while (up->request.len < len || memcmp(up->request.data + up->request.len - len, end, len) != 0)
		upstream_read_more(up);
}

static void upstream_say(struct upstream *up, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(up->ssl != NULL ? SSL_write(up->ssl, text, (int)len) : send(up->fd, text, (size_t)len, MSG_NOSIGNAL),
		len);
}

#endif
