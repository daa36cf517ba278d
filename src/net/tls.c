/* OpenSSL is told to read no configuration and to load no module: all it does it does with what is linked in. A
 * connection works on its descriptor directly and never reads ahead of the record it is in, so that what epoll says
 * about the descriptor is all there is to know: a read with room for a whole record leaves nothing inside. */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/buf.h"

struct tls {
	SSL_CTX *context;
	char *host;
	bool is_address;
};

struct far {
	int fd;
	SSL *ssl; /* NULL: plain */
	uint32_t read_waits, write_waits; /* EPOLLIN or EPOLLOUT */
	char why[120];
};

/* ---- whom to trust ---- */

static bool is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static int trust(X509_STORE *store, const char *authorities, struct err *err)
{
	BIO *text = BIO_new_mem_buf(authorities, -1);
	X509 *one;
	size_t count = 0;

	if (text == NULL)
		return err_set(err, ENOMEM, "no memory for certificates");
	while ((one = PEM_read_bio_X509_AUX(text, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_cert(store, one) == 1;
		X509_free(one);
	}
	BIO_free(text);
	ERR_clear_error(); /* the end of the text is an error to it */
	return count > 0 ? 0 : err_set(err, ERR_USAGE, "there is no certificate to trust");
}

static int check_host(SSL_CTX *context, const struct tls *tls)
{
	X509_VERIFY_PARAM *param = SSL_CTX_get0_param(context);

	if (tls->is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(param, tls->host);
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return X509_VERIFY_PARAM_set1_host(param, tls->host, 0);
}

static int set_up(struct tls *tls, const char *authorities, const struct tls *same, struct err *err)
{
	static const unsigned char protocols[] = "\x08http/1.1";
	SSL_CTX *context = tls->context;

	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 || check_host(context, tls) != 1 ||
		SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols) - 1) != 0)
		return err_set(err, EINVAL, "TLS cannot be set up");
	(void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	(void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
		SSL_MODE_RELEASE_BUFFERS);
	/* Records without data are one turn each: whoever sends them without end keeps nobody else waiting. */
	(void)SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_read_ahead(context, 0);
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	/* Whoever trusts a server's own certificate by name need not trust its authority. */
	(void)X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
	if (same == NULL)
		return trust(SSL_CTX_get_cert_store(context), authorities, err);
	SSL_CTX_set1_cert_store(context, SSL_CTX_get_cert_store(same->context)); /* a machine's take a while to read */
	return 0;
}

struct tls *tls_open(const char *authorities, const struct tls *same, const char *host, struct err *err)
{
	struct tls *tls = xcalloc(1, sizeof(*tls));

	(void)OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL);
	tls->host = xstrdup(host);
	tls->is_address = is_address(host);
	tls->context = SSL_CTX_new(TLS_client_method());
	if (tls->context == NULL)
		(void)err_set(err, ENOMEM, "TLS cannot be begun");
	else if (set_up(tls, authorities, same, err) == 0)
		return tls;
	return tls_free(tls);
}

struct tls *tls_free(struct tls *tls)
{
	if (tls == NULL)
		return NULL;
	SSL_CTX_free(tls->context);
	free(tls->host);
	free(tls);
	return NULL;
}

/* ---- a connection ---- */

struct far *far_open(struct tls *tls, int fd)
{
	struct far *far = xcalloc(1, sizeof(*far));

	*far = (struct far){ .fd = fd, .read_waits = EPOLLIN, .write_waits = EPOLLOUT };
	if (tls == NULL)
		return far;
	far->ssl = SSL_new(tls->context);
	if (far->ssl == NULL || SSL_set_fd(far->ssl, fd) != 1 ||
		(!tls->is_address && SSL_set_tlsext_host_name(far->ssl, tls->host) != 1))
		return far_free(far);
	SSL_set_connect_state(far->ssl);
	return far;
}

struct far *far_free(struct far *far)
{
	if (far == NULL)
		return NULL;
	SSL_free(far->ssl);
	free(far);
	return NULL;
}

static enum far_end fail(struct far *far, const char *why)
{
	(void)snprintf(far->why, sizeof(far->why), "%s", why);
	return FAR_FAILED;
}

/* What a certificate lacks, as somebody who has to mend it would say it. NULL: nothing was wrong with it. */
static const char *certificate_fault(long result)
{
	switch (result) {
	case X509_V_OK: return NULL;
	case X509_V_ERR_HOSTNAME_MISMATCH:
	case X509_V_ERR_IP_ADDRESS_MISMATCH: return "its certificate is for another name";
	case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired";
	case X509_V_ERR_CERT_NOT_YET_VALID: return "its certificate is not valid yet";
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
	case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
	case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
	case X509_V_ERR_CERT_UNTRUSTED:
	case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
	case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: return "its certificate is from an unknown authority";
	default: return X509_verify_cert_error_string(result);
	}
}

static enum far_end fail_tls(struct far *far, int kind, int saved_errno)
{
	unsigned long code = ERR_peek_last_error();
	const char *certificate = certificate_fault(SSL_get_verify_result(far->ssl));
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	if (certificate != NULL)
		return fail(far, certificate);
	if (kind == SSL_ERROR_SYSCALL)
		return fail(far, saved_errno == 0 ? "it hung up" : strerror(saved_errno));
	if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return fail(far, "it hung up without ending TLS");
	(void)snprintf(far->why, sizeof(far->why), "TLS failed: %s", reason != NULL ? reason : "for no stated reason");
	return FAR_FAILED;
}

/* What came of a call that did not succeed. */
static enum far_end not_done(struct far *far, int result, uint32_t *waits)
{
	int saved_errno = errno, kind = SSL_get_error(far->ssl, result);

	switch (kind) {
	case SSL_ERROR_WANT_READ: *waits = EPOLLIN; return FAR_WAIT;
	case SSL_ERROR_WANT_WRITE: *waits = EPOLLOUT; return FAR_WAIT;
	case SSL_ERROR_ZERO_RETURN: return FAR_OVER;
	default: return fail_tls(far, kind, saved_errno);
	}
}

enum far_end far_shake(struct far *far)
{
	if (far->ssl == NULL)
		return FAR_OK;
	ERR_clear_error();
	errno = 0;
	int result = SSL_do_handshake(far->ssl);
	if (result != 1) {
		enum far_end end = not_done(far, result, &far->read_waits);
		return end == FAR_OVER ? fail(far, "it ended TLS before it began") : end;
	}
	far->read_waits = EPOLLIN;
	/* Asked again here, so that no mistake in what was set up lets an unchecked certificate pass. */
	const char *fault = certificate_fault(SSL_get_verify_result(far->ssl));
	if (fault != NULL || SSL_get0_peer_certificate(far->ssl) == NULL)
		return fail(far, fault != NULL ? fault : "it has no certificate");
	return FAR_OK;
}

static enum far_end plain_end(struct far *far)
{
	return errno == EAGAIN || errno == EINTR ? FAR_WAIT : fail(far, strerror(errno));
}

enum far_end far_read(struct far *far, char bytes[FAR_PIECE], size_t *ret_len)
{
	*ret_len = 0;
	if (far->ssl == NULL) {
		ssize_t got = recv(far->fd, bytes, FAR_PIECE, 0);
		*ret_len = got > 0 ? (size_t)got : 0;
		return got > 0 ? FAR_OK : got == 0 ? FAR_OVER : plain_end(far);
	}
	ERR_clear_error();
	errno = 0;
	far->read_waits = EPOLLIN;
	int result = SSL_read_ex(far->ssl, bytes, FAR_PIECE, ret_len);
	return result == 1 ? FAR_OK : not_done(far, result, &far->read_waits);
}

enum far_end far_write(struct far *far, const char *bytes, size_t len, size_t *ret_len)
{
	*ret_len = 0;
	if (far->ssl == NULL) {
		ssize_t sent = send(far->fd, bytes, len, MSG_NOSIGNAL);
		*ret_len = sent > 0 ? (size_t)sent : 0;
		return sent >= 0 ? FAR_OK : plain_end(far);
	}
	ERR_clear_error();
	errno = 0;
	far->write_waits = EPOLLOUT;
	int result = SSL_write_ex(far->ssl, bytes, len, ret_len);
	enum far_end end = result == 1 ? FAR_OK : not_done(far, result, &far->write_waits);
	return end == FAR_OVER ? fail(far, "it takes no more") : end;
}

uint32_t far_events(const struct far *far, bool reading, bool writing)
{
	return (reading ? far->read_waits : 0) | (writing ? far->write_waits : 0);
}

const char *far_why(const struct far *far)
{
	return far->why;
}
