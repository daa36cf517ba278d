#include "base/wire.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/stat.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3 */
#endif

/* A descriptor list and room for credentials, should a peer's socket option add them. */
#define CONTROL_SIZE (CMSG_SPACE(WIRE_MAX_FDS * sizeof(int)) + CMSG_SPACE(64))

void wire_put_u32(struct buf *buf, uint32_t value)
{
	value = htole32(value);
	buf_add(buf, &value, sizeof(value));
}

void wire_put_u64(struct buf *buf, uint64_t value)
{
	value = htole64(value);
	buf_add(buf, &value, sizeof(value));
}

/* On the wire: u32 length with the NUL counted, bytes, NUL. 0 alone is NULL. */
void wire_put_str(struct buf *buf, const char *text)
{
	if (!text) {
		wire_put_u32(buf, 0);
		return;
	}
	size_t size = strlen(text) + 1;
	if (size > UINT32_MAX)
		abort(); /* ours: what comes from outside is capped long before */
	wire_put_u32(buf, (uint32_t)size);
	buf_add(buf, text, size);
}

void wire_put_list(struct buf *buf, const char *const *list)
{
	uint32_t count = 0;

	while (list && list[count])
		count++;
	wire_put_u32(buf, count);
	for (uint32_t i = 0; i < count; i++)
		wire_put_str(buf, list[i]);
}

/* The next `size` bytes, or NULL once the reader is bad. */
static const char *wire_get(struct wire_reader *reader, size_t size)
{
	if (reader->bad || reader->pos > reader->len || size > reader->len - reader->pos) {
		reader->bad = true;
		return NULL;
	}
	const char *at = reader->data + reader->pos;
	reader->pos += size;
	return at;
}

uint32_t wire_get_u32(struct wire_reader *reader)
{
	uint32_t value = 0;
	const char *at = wire_get(reader, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

uint64_t wire_get_u64(struct wire_reader *reader)
{
	uint64_t value = 0;
	const char *at = wire_get(reader, sizeof(value));

	if (at)
		memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

const char *wire_get_str(struct wire_reader *reader)
{
	uint32_t size = wire_get_u32(reader);

	if (reader->bad)
		return "";
	if (size == 0)
		return NULL;
	const char *text = wire_get(reader, size);
	/* The only NUL is the last byte: a string never reads shorter than it was sent. */
	if (!text || memchr(text, '\0', size) != text + size - 1) {
		reader->bad = true;
		return "";
	}
	return text;
}

const char **wire_get_list(struct wire_reader *reader, size_t max)
{
	uint32_t count = wire_get_u32(reader);

	/* Each entry takes at least five bytes: a lie about the count cannot make us allocate. */
	if (reader->bad || count > max || count > (reader->len - reader->pos) / 5) {
		reader->bad = true;
		return xcalloc(1, sizeof(char *));
	}
	const char **list = xcalloc((size_t)count + 1, sizeof(*list));
	for (uint32_t i = 0; i < count && !reader->bad; i++) {
		list[i] = wire_get_str(reader);
		if (!list[i])
			reader->bad = true; /* NULL would end the list early */
	}
	if (reader->bad)
		list[0] = NULL;
	return list;
}

int wire_send(int socket, const void *data, size_t len, const int *fds, size_t fd_count)
{
	return wire_send_marked(socket, data, len, fds, fd_count, 0, 0);
}

int wire_send_marked(int socket, const void *data, size_t len, const int *fds, size_t fd_count, int flags, uint64_t mark)
{
	union {
		char bytes[CONTROL_SIZE];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (len == 0 || fd_count > WIRE_MAX_FDS) { /* an empty message would read as end of file */
		errno = EINVAL;
		return -1;
	}
	if (fd_count) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, fd_count * sizeof(int));
	}
	long sent;
	do
		sent = syscall(SYS_sendmsg, socket, &msg, flags | MSG_NOSIGNAL, 0, 0, mark);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

/* Moves the received descriptors into `fds`, closes those beyond `max`; returns how many came. */
static size_t wire_take_fds(struct msghdr *msg, int *fds, size_t max)
{
	size_t came = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
			if (came < max)
				fds[came] = fd;
			else
				fd_close(&fd);
			came++;
		}
	}
	return came;
}

static void wire_close_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(&fds[i]);
}

ssize_t wire_recv(
	int socket, void *data, size_t size, int *fds, size_t max_fds, size_t *ret_fds, int flags)
{
	union {
		char bytes[CONTROL_SIZE];
		struct cmsghdr align;
	} control;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg;
	ssize_t got;

	if (ret_fds)
		*ret_fds = 0;
	do {
		msg = (struct msghdr){
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.bytes,
			.msg_controllen = sizeof(control.bytes),
		};
		got = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -1;

	size_t came = wire_take_fds(&msg, fds, max_fds);
	size_t kept = came < max_fds ? came : max_fds;
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || came > max_fds || (came && !ret_fds)) {
		wire_close_fds(fds, kept);
		errno = EMSGSIZE;
		return -1;
	}
	if (got == 0) { /* end of file, or an empty message, which we never send */
		wire_close_fds(fds, kept);
		return 0;
	}
	if (ret_fds)
		*ret_fds = kept;
	return got;
}

int wire_to_memfd(const struct buf *buf, struct err *err)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	own(fd_closep) int fd = memfd_create("hotcell", flags | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		fd = memfd_create("hotcell", flags);
	if (fd < 0)
		return err_errno(err, errno, "make a memory file");
	for (size_t done = 0; done < buf->len;) {
		ssize_t wrote = write(fd, buf->data + done, buf->len - done);
		if (wrote < 0 && errno != EINTR)
			return err_errno(err, errno, "fill a memory file of %zu bytes", buf->len);
		done += wrote > 0 ? (size_t)wrote : 0;
	}
	if (fcntl(fd, F_ADD_SEALS, seals) < 0)
		return err_errno(err, errno, "seal a memory file");
	return fd_take(&fd);
}

int wire_from_memfd(int fd, size_t max, struct buf *ret, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_errno(err, errno, "read a message file");
	if (!S_ISREG(st.st_mode)) /* a FIFO would let the sender hold us up */
		return err_set(err, EINVAL, "read a message file: it is not a regular file");
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return err_set(err, ERR_LIMIT, "read a message file: %lld bytes, more than %zu",
			(long long)st.st_size, max);
	/* pread, because the offset is shared with the sender; a file that shrinks meanwhile is
	 * an error, one that grows is read as far as it was. */
	for (size_t done = 0; done < (size_t)st.st_size;) {
		char chunk[16384];
		size_t left = (size_t)st.st_size - done;
		size_t want = left < sizeof(chunk) ? left : sizeof(chunk);
		ssize_t got = pread(fd, chunk, want, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(err, errno, "read a message file");
		if (got == 0)
			return err_set(err, EIO, "read a message file: it shrank meanwhile");
		buf_add(ret, chunk, (size_t)got);
		done += (size_t)got;
	}
	return 0;
}
