#include "review/observe/scene.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fs.h"
#include "review/program_image.h"

#define TOKEN_LEN 32
#define EAR_TRIES 16

enum listener { EAR_TCP4, EAR_TCP6, EAR_UDP4, EAR_UNIX, EAR_ABSTRACT, EAR_COUNT };
static const char *const listener_names[EAR_COUNT] = {
	[EAR_TCP4] = "TCP 127.0.0.1",
	[EAR_TCP6] = "TCP ::1",
	[EAR_UDP4] = "UDP 127.0.0.1",
	[EAR_UNIX] = "a unix socket",
	[EAR_ABSTRACT] = "an abstract unix socket",
};

struct scene {
	char *folder, *program, *canary, *socket, *abstract;
	char token[TOKEN_LEN + 1], hex[2 * TOKEN_LEN + 1], base64[3][64]; /* base64: at each of three alignments */
	struct stat canary_was;
	int lock, canary_fd, root_fd, listeners[EAR_COUNT], shm;
	char *shm_at;
	uint16_t port;
	pid_t owner, victim; /* owner: ourselves */
	atomic_uint *signals; /* how many the victim got */
};

static void random_text(char *ret, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[64];

	while (getrandom(bytes, len, 0) != (ssize_t)len)
		;
	for (size_t i = 0; i < len; i++)
		ret[i] = digits[bytes[i] & 15];
	ret[len] = '\0';
}

/* ---- the victim ---- */

static atomic_uint *victim_signals;

static void count_signal(int number)
{
	(void)number;
	atomic_fetch_add(victim_signals, 1);
}

void scene_child(const struct scene *scene, int death)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, death);
	if (getppid() != scene->owner) /* it died before we asked to be told */
		_exit(127);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a session of its own: what the terminal sends (a new size, Ctrl-C) is not the attack's. */
_Noreturn static void victim_main(const struct scene *scene)
{
	char name[16];

	(void)setsid();
	for (int number = 1; number < SIGRTMAX; number++)
		(void)signal(number, count_signal);
	scene_child(scene, SIGKILL);
	(void)setenv("REVIEW_TOKEN", scene->token, 1);
	(void)snprintf(name, sizeof(name), "victim-%.8s", scene->token);
	(void)prctl(PR_SET_NAME, name);
	for (;;)
		(void)pause();
}

static int victim_start(struct scene *scene, struct err *err)
{
	if (scene->signals)
		(void)munmap(scene->signals, sizeof(*scene->signals));
	scene->signals = mmap(NULL, sizeof(*scene->signals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (scene->signals == MAP_FAILED) {
		scene->signals = NULL;
		return err_errno(err, errno, "memory for the victim");
	}
	victim_signals = scene->signals;
	scene->victim = fork();
	if (scene->victim == 0)
		victim_main(scene);
	return scene->victim < 0 ? err_errno(err, errno, "fork the victim") : 0;
}

/* ---- sockets ---- */

static int listener_inet(int family, int kind, uint16_t *port, struct err *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(*port)};
	struct sockaddr_in four = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(*port)};
	const struct sockaddr *address = family == AF_INET ? (const void *)&four : (const void *)&six;
	socklen_t len = family == AF_INET ? sizeof(four) : sizeof(six);
	own(fd_closep) int fd = socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 && family == AF_INET6)
		return -1; /* a machine without: nobody can come that way */
	if (fd < 0 || bind(fd, address, len) < 0 || (kind == SOCK_STREAM && listen(fd, 16) < 0)) {
		return family == AF_INET6 ? -1 : err_errno(err, errno, "listen on the loopback");
	}
	if (family == AF_INET && getsockname(fd, (struct sockaddr *)&four, &len) == 0)
		*port = ntohs(four.sin_port);
	return fd_take(&fd);
}

static int listener_unix(const char *path, bool abstract, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	own(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (len + 2 > sizeof(address.sun_path))
		return err_set(err, ERR_LIMIT, "'%s' is too long for a socket's path", path);
	memcpy(address.sun_path + abstract, path, len);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 16) < 0)
		return err_errno(err, errno, "listen on the unix socket '%s'", path);
	if (!abstract)
		(void)chmod(path, 0777);
	return fd_take(&fd);
}

static void listeners_close(struct scene *scene)
{
	for (size_t i = 0; i < EAR_COUNT; i++)
		fd_close(&scene->listeners[i]);
}

/* One port for all three; where another has it already, a new one. */
static int listeners_inet(struct scene *scene, struct err *err)
{
	for (int tries = 0; tries < EAR_TRIES; tries++) {
		listeners_close(scene);
		scene->port = 0;
		scene->listeners[EAR_TCP4] = listener_inet(AF_INET, SOCK_STREAM, &scene->port, err);
		if (scene->listeners[EAR_TCP4] < 0)
			return -1;
		scene->listeners[EAR_TCP6] = listener_inet(AF_INET6, SOCK_STREAM, &scene->port, err);
		scene->listeners[EAR_UDP4] = listener_inet(AF_INET, SOCK_DGRAM, &scene->port, err);
		if (scene->listeners[EAR_UDP4] >= 0)
			return 0;
	}
	return -1;
}

static int listeners_open(struct scene *scene, struct err *err)
{
	if (listeners_inet(scene, err) < 0)
		return -1;
	scene->listeners[EAR_UNIX] = listener_unix(scene->socket, false, err);
	scene->listeners[EAR_ABSTRACT] = listener_unix(scene->abstract, true, err);
	return scene->listeners[EAR_UNIX] < 0 || scene->listeners[EAR_ABSTRACT] < 0 ? -1 : 0;
}

/* Who came is sent away: whether somebody came. */
static bool listener_heard(int fd, bool datagrams)
{
	bool heard = false;
	char byte;

	for (;;) {
		if (datagrams) {
			if (recv(fd, &byte, 1, MSG_DONTWAIT) < 0)
				return heard;
		} else {
			own(fd_closep) int came = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (came < 0)
				return heard;
		}
		heard = true;
	}
}

/* ---- the folder ---- */

static int file_write(const char *path, const void *bytes, size_t len, mode_t mode, struct err *err)
{
	own(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const char *next = bytes;

	if (fd < 0)
		return err_errno(err, errno, "make '%s'", path);
	while (len > 0) {
		ssize_t wrote = write(fd, next, len);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return err_errno(err, errno, "write '%s'", path);
		next += wrote, len -= (size_t)wrote;
	}
	return fchmod(fd, mode) < 0 ? err_errno(err, errno, "set the mode of '%s'", path) : 0;
}

static int canary_write(struct scene *scene, struct err *err)
{
	own(freep) char *text = xfmt("%s\n", scene->token);

	(void)unlink(scene->canary);
	if (file_write(scene->canary, text, strlen(text), 0644, err) < 0)
		return -1;
	if (lstat(scene->canary, &scene->canary_was) < 0)
		return err_errno(err, errno, "look at '%s'", scene->canary);
	return 0;
}

static int folder_make(struct scene *scene, const struct review_options *options, struct err *err)
{
	own(freep) char *program = NULL;

	scene->folder = place_make(options, &scene->lock, err);
	if (!scene->folder)
		return -1;
	scene->program = xfmt("%s/program", scene->folder);
	scene->canary = xfmt("%s/canary", scene->folder);
	scene->socket = xfmt("%s/socket", scene->folder);
	scene->abstract = xfmt("hotcell-review-%s", strrchr(scene->folder, '.') + 1);
	program = xfmt("%s/attack", scene->program);
	if (mkdir(scene->program, 0755) < 0)
		return err_errno(err, errno, "make a folder below '%s'", scene->folder);
	return file_write(program, program_image, (size_t)(program_image_end - program_image), 0755, err);
}

/* Marked for removal at once: it can be had by its id as long as we have it, and goes with us however we end. */
static int shm_make(struct scene *scene, struct err *err)
{
	scene->shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
	if (scene->shm < 0)
		return err_errno(err, errno, "make shared memory");
	scene->shm_at = shmat(scene->shm, NULL, 0);
	int code = errno;
	(void)shmctl(scene->shm, IPC_RMID, NULL);
	if (scene->shm_at == (void *)-1) {
		scene->shm_at = NULL;
		return err_errno(err, code, "map shared memory");
	}
	memcpy(scene->shm_at, scene->token, sizeof(scene->token));
	return 0;
}

static void token_spell(struct scene *scene)
{
	for (size_t i = 0; i < TOKEN_LEN; i++)
		(void)snprintf(scene->hex + 2 * i, 3, "%02x", (unsigned char)scene->token[i]);
	/* what base64 makes of it depends on how many bytes come before: only what does not is compared */
	for (size_t shift = 0; shift < 3; shift++) {
		own(buf_done) struct buf text = {0};
		char padded[TOKEN_LEN + 3] = "xx";
		memcpy(padded + shift, scene->token, TOKEN_LEN);
		base64_write(padded, TOKEN_LEN + shift, &text);
		(void)snprintf(scene->base64[shift], sizeof(scene->base64[shift]), "%.24s", buf_text(&text) + 4);
	}
}

struct scene *scene_open(const struct review_options *options, struct err *err)
{
	own(scene_freep) struct scene *scene = xcalloc(1, sizeof(*scene));

	scene->owner = getpid();
	scene->lock = scene->canary_fd = scene->root_fd = scene->shm = -1;
	for (size_t i = 0; i < EAR_COUNT; i++)
		scene->listeners[i] = -1;
	random_text(scene->token, TOKEN_LEN);
	token_spell(scene);
	if (folder_make(scene, options, err) < 0 || canary_write(scene, err) < 0 || listeners_open(scene, err) < 0 ||
		shm_make(scene, err) < 0 || victim_start(scene, err) < 0)
		return NULL;
	scene->canary_fd = open(scene->canary, O_RDONLY | O_CLOEXEC);
	scene->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (scene->canary_fd < 0 || scene->root_fd < 0) {
		err_errno(err, errno, "open what is to be lent");
		return NULL;
	}
	return ptr_take(&scene);
}

struct scene *scene_free(struct scene *scene)
{
	struct err err;

	if (!scene)
		return NULL;
	if (scene->victim > 0) {
		(void)kill(scene->victim, SIGKILL);
		(void)waitpid(scene->victim, NULL, 0);
	}
	listeners_close(scene);
	fd_close(&scene->canary_fd);
	fd_close(&scene->root_fd);
	if (scene->shm_at)
		(void)shmdt(scene->shm_at);
	if (scene->signals)
		(void)munmap(scene->signals, sizeof(*scene->signals));
	if (scene->folder)
		(void)!fs_remove_tree(AT_FDCWD, scene->folder, &err);
	fd_close(&scene->lock);
	free(scene->folder);
	free(scene->program);
	free(scene->canary);
	free(scene->socket);
	free(scene->abstract);
	free(scene);
	return NULL;
}

/* ---- what it is called ---- */

const char *scene_folder(const struct scene *scene)
{
	return scene->folder;
}

const char *scene_program(const struct scene *scene)
{
	return scene->program;
}

const char *scene_canary(const struct scene *scene)
{
	return scene->canary;
}

const char *scene_token(const struct scene *scene)
{
	return scene->token;
}

pid_t scene_victim(const struct scene *scene)
{
	return scene->victim;
}

bool scene_has_token(const struct scene *scene, const char *bytes, size_t len)
{
	if (!len)
		return false;
	if (memmem(bytes, len, scene->token, TOKEN_LEN) || memmem(bytes, len, scene->hex, 2 * TOKEN_LEN))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(scene->base64); i++) {
		if (memmem(bytes, len, scene->base64[i], strlen(scene->base64[i])))
			return true;
	}
	return false;
}

static bool put_name(const struct scene *scene, const struct review_try *try, const char *name, size_t len, struct buf *ret)
{
	const struct {
		const char *name, *text;
		long number;
	} names[] = {
		{"canary", scene->canary, 0}, {"dir", try->dir, 0}, {"token", scene->token, 0}, {"mark", try->mark, 0},
		{"victim", NULL, scene->victim}, {"port", NULL, scene->port}, {"socket", scene->socket, 0},
		{"abstract", scene->abstract, 0}, {"shm", NULL, scene->shm},
		{"review", try->outside ? scene->program : "/review", 0}, {"shown", try->outside ? try->dir : "/shown", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strlen(names[i].name) != len || memcmp(names[i].name, name, len) != 0)
			continue;
		if (names[i].text)
			buf_str(ret, names[i].text);
		else
			buf_fmt(ret, "%ld", names[i].number);
		return true;
	}
	return false;
}

void scene_expand(const struct scene *scene, const struct review_try *try, const char *text, struct buf *ret)
{
	while (*text) {
		const char *end = *text == '{' ? strchr(text, '}') : NULL;
		if (end && put_name(scene, try, text + 1, (size_t)(end - text - 1), ret)) {
			text = end + 1;
			continue;
		}
		buf_char(ret, *text++);
	}
}

void scene_lend(const struct scene *scene)
{
	(void)dup2(scene->canary_fd, SCENE_CANARY_FD); /* without close-on-exec */
	(void)dup2(scene->root_fd, SCENE_ROOT_FD);
}

/* ---- what was seen ---- */

static bool canary_changed(const struct scene *scene, const char **ret_how)
{
	own(buf_done) struct buf text = {0};
	struct err err;
	struct stat st;
	const struct stat *was = &scene->canary_was;

	*ret_how = "gone";
	if (lstat(scene->canary, &st) < 0)
		return true;
	*ret_how = "another file";
	if (st.st_ino != was->st_ino || st.st_dev != was->st_dev || !S_ISREG(st.st_mode))
		return true;
	*ret_how = "changed in its mode, owner or links";
	if (st.st_mode != was->st_mode || st.st_uid != was->st_uid || st.st_gid != was->st_gid || st.st_nlink != was->st_nlink)
		return true;
	*ret_how = "written to";
	return fs_read_small(AT_FDCWD, scene->canary, 4096, &text, &err) < 0 || text.len != TOKEN_LEN + 1 ||
		memcmp(text.data, scene->token, TOKEN_LEN) != 0;
}

static void victim_look(struct scene *scene, struct review_try *try)
{
	char path[64];
	own(buf_done) struct buf text = {0};
	struct err err;

	if (scene->victim <= 0) {
		try_failed(try, "there is no victim to look at");
		return;
	}
	if (waitpid(scene->victim, NULL, WNOHANG) == scene->victim) {
		try_escaped_for(try, "pid-namespace", "a process of the host was killed");
		scene->victim = 0;
		if (victim_start(scene, &err) < 0)
			try_failed(try, "%s", err.text);
		return;
	}
	if (atomic_exchange(scene->signals, 0) > 0)
		try_escaped_for(try, "pid-namespace", "a process of the host got a signal");
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", scene->victim);
	if (fs_read_small(AT_FDCWD, path, 4096, &text, &err) < 0)
		return;
	const char *state = strrchr(buf_text(&text), ')');
	if (state && (state[2] == 'T' || state[2] == 't')) {
		try_escaped_for(try, "pid-namespace", "a process of the host was stopped");
		(void)kill(scene->victim, SIGCONT);
		atomic_store(scene->signals, 0);
	}
}

void scene_look(struct scene *scene, struct review_try *try)
{
	const char *how;
	struct err err;

	if (canary_changed(scene, &how)) {
		try_escaped_for(try, "private-tmp", "the canary on the host is %s", how);
		if (canary_write(scene, &err) < 0)
			try_failed(try, "%s", err.text);
	}
	if (try->leaked || scene_has_token(scene, buf_text(&try->out), try->out.len) || scene_has_token(scene, buf_text(&try->err), try->err.len))
		try_escaped_for(try, "private-tmp hidden-files pid-namespace ipc-namespace", "the canary's token was read: it is in what the attack printed");
	victim_look(scene, try);
	for (size_t i = 0; i < EAR_COUNT; i++) {
		if (scene->listeners[i] >= 0 && listener_heard(scene->listeners[i], i == EAR_UDP4))
			try_escaped_for(try, i == EAR_UNIX ? "private-tmp" : "net-namespace", "it reached a socket of the host: %s", listener_names[i]);
	}
}
