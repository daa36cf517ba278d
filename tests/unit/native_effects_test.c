/* Effects: which calls are asked about and by which arguments, and what is told of them as text and as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "cell/native/inside/effects.h"

#if defined(__x86_64__)
#define OURS AUDIT_ARCH_X86_64
#else
#define OURS AUDIT_ARCH_AARCH64
#endif
#define MARK UINT64_C(0x1122334455667788)

/* ---- the filter ---- */

struct built {
	struct call_set set;
	struct sock_fprog program;
};

static void build(struct built *ret, bool effects, bool observe, unsigned want)
{
	const struct template t = {.effects = effects, .observe = observe};
	size_t len = 0;
	struct err err;

	calls_set(&t, &ret->set);
	ret->set.mark = MARK;
	assert_int_equal(filter_build_set(want, &ret->set, &ret->program.filter, &len, &err), 0);
	assert_in_range(len, 1, BPF_MAXINSNS);
	ret->program.len = (unsigned short)len;
}

static void built_done(struct built *built)
{
	free(built->program.filter);
}

static uint32_t ask(const struct built *built, int nr, uint64_t a1, uint64_t a2, uint64_t a4, uint64_t a5)
{
	const struct seccomp_data data = {.nr = nr, .arch = OURS, .args = {0, a1, a2, 0, a4, a5}};

	return filter_judge(&built->program, &data);
}

/* Every number, with no argument that says more: what may have an effect is asked about, all else is as it was. */
static void only_what_may_have_an_effect_is_asked_about(void **state)
{
	(void)state;
	for (unsigned want = 0; want < 16; want++) {
		own(built_done) struct built before = {0}, after = {0};
		bool counted = (want & FILTER_COUNTED) != 0;
		build(&before, false, false, want);
		build(&after, true, false, want);
		for (int nr = 0; nr < 1024; nr++) {
			const struct effect_call *call = nr < FILTER_MAX_NR && calls_index(nr) >= 0 ? effect_call_find(nr) : NULL;
			bool asked = counted && call && call->form != FORM_OPEN && call->form != FORM_SENDTO;
			assert_int_equal(ask(&after, nr, 0, 0, 0, 0), asked ? SECCOMP_RET_USER_NOTIF : ask(&before, nr, 0, 0, 0, 0));
		}
	}
}

static void opening_is_asked_about_if_it_is_for_writing(void **state)
{
	static const struct {
		uint64_t flags;
		bool asked;
	} cases[] = {{O_RDONLY, false}, {O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, false}, {O_PATH, false},
		{O_APPEND, false}, {O_WRONLY, true}, {O_RDWR, true}, {3, true}, {O_CREAT, true}, {O_TRUNC, true}, {O_TMPFILE | O_RDWR, true},
		{UINT64_C(0xffffffff00000000), false}, {UINT64_C(0xffffffff00000000) | O_WRONLY, true}};
	own(built_done) struct built built = {0};

	(void)state;
	build(&built, true, false, FILTER_COUNTED);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t expected = cases[i].asked ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
		assert_int_equal(ask(&built, SYS_openat, 0, cases[i].flags, 0, 0), expected);
		assert_int_equal(effect_opens_for_writing((uint32_t)cases[i].flags), cases[i].asked);
#ifdef SYS_open
		assert_int_equal(ask(&built, SYS_open, cases[i].flags, 0, 0, 0), expected);
#endif
	}
	assert_int_equal(ask(&built, SYS_openat2, 0, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
}

/* Both halves of the pointer count. */
static void sending_is_asked_about_if_it_has_an_address(void **state)
{
	own(built_done) struct built built = {0};

	(void)state;
	build(&built, true, false, FILTER_COUNTED);
	assert_int_equal(ask(&built, SYS_sendto, 1, 1, 0, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&built, SYS_sendto, 1, 1, 8, 1), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_sendto, 1, 1, UINT64_C(1) << 40, 1), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_connect, 0, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
}

/* The mark frees from asking, not from the filter; and only those calls that init makes, and only as a whole. */
static void inits_own_calls_are_not_asked_about(void **state)
{
	own(built_done) struct built built = {0}, set_id = {0};

	(void)state;
	build(&built, true, false, FILTER_COUNTED);
	build(&set_id, true, false, FILTER_COUNTED | FILTER_NO_SET_ID);
	assert_int_equal(ask(&built, SYS_sendmsg, 1, 0, 0, MARK), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&built, SYS_openat, 1, O_RDWR, 0, MARK), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&built, SYS_sendmsg, 1, 0, 0, MARK ^ 1), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_sendmsg, 1, 0, 0, MARK ^ UINT64_C(1) << 32), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_sendmsg, 1, 0, 0, (uint32_t)MARK), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_sendmsg, 1, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_execve, 1, 0, 0, MARK), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_unlinkat, 1, 0, 0, MARK), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(&built, SYS_mount, 1, 0, 0, MARK), SECCOMP_RET_USER_NOTIF);
	/* a mode that is refused, marked or not */
	const struct seccomp_data data = {.nr = SYS_openat, .arch = OURS, .args = {0, 1, O_CREAT, S_ISUID, 0, MARK}};
	assert_int_equal(filter_judge(&set_id.program, &data), SECCOMP_RET_USER_NOTIF);
}

static void observing_and_effects_ask_about_the_calls_of_both(void **state)
{
	own(built_done) struct built effects = {0}, observe = {0}, both = {0};

	(void)state;
	build(&effects, true, false, FILTER_COUNTED);
	build(&observe, false, true, FILTER_COUNTED);
	build(&both, true, true, FILTER_COUNTED);
	for (int nr = 0; nr < FILTER_MAX_NR; nr++) {
		bool asked = ask(&effects, nr, 0, 0, 0, 0) == SECCOMP_RET_USER_NOTIF ||
			ask(&observe, nr, 0, 0, 0, 0) == SECCOMP_RET_USER_NOTIF;
		assert_int_equal(ask(&both, nr, 0, 0, 0, 0) == SECCOMP_RET_USER_NOTIF, asked);
	}
}

/* ---- texts ---- */

static void paths_are_folded_by_their_text(void **state)
{
	static const struct {
		const char *base, *path, *expected;
	} cases[] = {{"/tmp", "a", "/tmp/a"}, {"/tmp", "/a", "/a"}, {NULL, "/a//b/./c/", "/a/b/c"}, {"/tmp", "../../..", "/"},
		{"/tmp", ".", "/tmp"}, {"/tmp", "", "/tmp"}, {"/tmp", "..a/.b/...", "/tmp/..a/.b/..."}, {"/", "a", "/a"},
		{"/a/b", "../c/../../d", "/d"}, {"", "a", ""}, {NULL, "a", ""}, {"", "/", "/"}, {"/tmp", "a\n\x1b\xff", "/tmp/a\n\x1b\xff"},
		{"/memfd:x (deleted)", "", "/memfd:x (deleted)"}};

	(void)state;
	own(buf_done) struct buf text = {0};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		effect_path(cases[i].base, cases[i].path, &text);
		assert_string_equal(buf_text(&text), cases[i].expected);
		assert_int_equal(text.len, strlen(cases[i].expected));
	}
}

static void a_path_is_cut_where_it_is_too_long(void **state)
{
	own(buf_done) struct buf base = {0}, text = {0};

	(void)state;
	while (base.len < 3 * EFFECT_MAX_WHAT)
		buf_str(&base, "/folder");
	effect_path(buf_text(&base), "name", &text);
	assert_int_equal(strlen(buf_text(&text)), EFFECT_MAX_WHAT);
}

static const char *address(const void *bytes, size_t len, bool connects, struct buf *text)
{
	return effect_address(bytes, len, connects, "/tmp", text) ? buf_text(text) : NULL;
}

static void addresses_are_told_by_their_family(void **state)
{
	own(buf_done) struct buf text = {0};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(0xc0000201)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(443), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX, .sun_path = "a/../b"};
	char hostile[256];

	(void)state;
	assert_string_equal(address(&in, sizeof(in), true, &text), "192.0.2.1:80");
	assert_string_equal(address(&in6, sizeof(in6), true, &text), "[::1]:443");
	assert_string_equal(address(&un, sizeof(un), true, &text), "unix:/tmp/b");
	assert_string_equal(address(&un, 3, true, &text), "unix:/tmp/a");
	assert_string_equal(address(&un, 2, true, &text), "unix:");
	memcpy(un.sun_path, "\0a\0b", 4);
	assert_string_equal(address(&un, 6, true, &text), "unix:@a@b");
	memset(un.sun_path, 'x', sizeof(un.sun_path));
	assert_int_equal(strlen(address(&un, sizeof(un), true, &text)), strlen("unix:/tmp/") + sizeof(un.sun_path));
	in.sin_family = AF_UNSPEC;
	assert_null(address(&in, sizeof(in), true, &text)); /* disconnects */
	assert_string_equal(address(&in, sizeof(in), false, &text), "192.0.2.1:80");
	in.sin_family = AF_INET;
	assert_string_equal(address(&in, 8, false, &text), "family:2"); /* too short to be one */
	assert_string_equal(address(&in, 1, false, &text), "");
	assert_string_equal(address(NULL, 0, true, &text), "");
	memset(hostile, 0xee, sizeof(hostile));
	assert_string_equal(address(hostile, sizeof(hostile), true, &text), "family:61166");
}

static void a_status_tells_the_process_of_a_thread(void **state)
{
	char name[64];
	int pid = 7;

	(void)state;
	effect_status("Name:\tsh\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t12\nNgid:\t0\nPid:\t14\n", name, sizeof(name), &pid);
	assert_string_equal(name, "sh");
	assert_int_equal(pid, 12);
	effect_status("Name:\ta\\nTgid:\t1\nTgid:\t13\n", name, sizeof(name), &pid);
	assert_string_equal(name, "a\\nTgid:\t1");
	assert_int_equal(pid, 13);
	effect_status("", name, sizeof(name), &pid);
	assert_string_equal(name, "");
	assert_int_equal(pid, 13);
}

/* ---- bytes ---- */

static bool again(const struct buf *message, struct cell_effect *ret, const char ***words, bool *any, uint64_t *dropped)
{
	struct wire_reader reader = {.data = message->data, .len = message->len};

	assert_int_equal(wire_get_u32(&reader), MSG_EFFECT);
	return effect_decode(&reader, ret, words, any, dropped);
}

static void what_is_told_arrives_as_it_was(void **state)
{
	static const char *const given[] = {"rm", "-rf", "", "a\nb\x01\xff", NULL};
	const struct cell_effect effects[] = {
		{CELL_EFFECT_EXEC, "/bin/rm", given, "sh", 12},
		{CELL_EFFECT_EXEC, "", given + 4, "", 12},
		{CELL_EFFECT_CONNECT, "[::1]:80", NULL, "curl", 1 << 21},
		{CELL_EFFECT_REMOVE, "/tmp/\xff\n", NULL, "a\\n", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(effects); i++) {
		own(buf_done) struct buf message = {0};
		own(freep) const char **words = NULL;
		struct cell_effect got;
		uint64_t dropped = 0;
		bool any = false;
		effect_encode(&message, &effects[i], 1000 + i);
		assert_true(again(&message, &got, &words, &any, &dropped));
		assert_true(any);
		assert_int_equal(dropped, 1000 + i);
		assert_int_equal(got.kind, effects[i].kind);
		assert_int_equal(got.pid, effects[i].pid);
		assert_string_equal(got.what, effects[i].what);
		assert_string_equal(got.by, effects[i].by);
		assert_int_equal(got.words != NULL, got.kind == CELL_EFFECT_EXEC);
		for (size_t k = 0; got.words && effects[i].words[k]; k++)
			assert_string_equal(got.words[k], effects[i].words[k]);
	}
}

static void a_count_alone_is_no_effect(void **state)
{
	own(buf_done) struct buf message = {0};
	own(freep) const char **words = NULL;
	struct cell_effect got;
	uint64_t dropped = 0;
	bool any = true;

	(void)state;
	effect_encode(&message, NULL, 77);
	assert_true(again(&message, &got, &words, &any, &dropped));
	assert_false(any);
	assert_int_equal(dropped, 77);
}

/* Cut anywhere, or longer than it says, it is damaged. */
static void a_damaged_message_is_no_effect(void **state)
{
	static const char *const given[] = {"a", "b", NULL};
	const struct cell_effect effect = {CELL_EFFECT_EXEC, "/bin/a", given, "sh", 12};
	own(buf_done) struct buf whole = {0};

	(void)state;
	effect_encode(&whole, &effect, 1);
	for (size_t len = 4; len <= whole.len + 1; len++) {
		own(buf_done) struct buf message = {0};
		own(freep) const char **words = NULL;
		struct cell_effect got;
		uint64_t dropped;
		bool any;
		buf_add(&message, whole.data, len < whole.len ? len : whole.len);
		if (len > whole.len)
			buf_char(&message, 'x');
		assert_int_equal(again(&message, &got, &words, &any, &dropped), len == whole.len);
	}
}

static void too_much_of_anything_is_no_effect(void **state)
{
	const char *many[EFFECT_MAX_WORDS + 2] = {NULL};
	own(freep) char *long_text = xcalloc(EFFECT_MAX_WHAT + 2, 1);
	struct cell_effect effects[] = {{CELL_EFFECT_EXEC, "/a", many, "sh", 1}, {CELL_EFFECT_WRITE, long_text, NULL, "sh", 1},
		{CELL_EFFECT_COUNT, "/a", NULL, "sh", 1}, {CELL_EFFECT_WRITE, NULL, NULL, "sh", 1}, {CELL_EFFECT_WRITE, "/a", NULL, NULL, 1}};

	(void)state;
	memset(long_text, 'a', EFFECT_MAX_WHAT + 1);
	for (size_t i = 0; i <= EFFECT_MAX_WORDS; i++)
		many[i] = "w";
	for (size_t i = 0; i < ARRAY_LEN(effects); i++) {
		own(buf_done) struct buf message = {0};
		own(freep) const char **words = NULL;
		struct cell_effect got;
		uint64_t dropped;
		bool any;
		effect_encode(&message, &effects[i], 1);
		assert_false(again(&message, &got, &words, &any, &dropped));
	}
}

/* The longest that there can be is a message all the same. */
static void the_longest_effect_fits_into_a_message(void **state)
{
	own(freep) char *text = xcalloc(EFFECT_MAX_WORD_BYTES + 1, 1);
	const char *words[EFFECT_MAX_WORDS + 1] = {NULL};
	own(buf_done) struct buf message = {0};

	(void)state;
	memset(text, 'a', EFFECT_MAX_WORD_BYTES);
	for (size_t i = 0; i < EFFECT_MAX_WORDS; i++)
		words[i] = text + EFFECT_MAX_WORD_BYTES - EFFECT_MAX_WORD_BYTES / EFFECT_MAX_WORDS;
	const struct cell_effect effect = {CELL_EFFECT_EXEC, text + EFFECT_MAX_WORD_BYTES - EFFECT_MAX_WHAT, words, text + EFFECT_MAX_WORD_BYTES - 63, 1};
	effect_encode(&message, &effect, 1);
	assert_in_range(message.len, EFFECT_MAX_WHAT + EFFECT_MAX_WORD_BYTES, MAX_MESSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_may_have_an_effect_is_asked_about),
		cmocka_unit_test(opening_is_asked_about_if_it_is_for_writing),
		cmocka_unit_test(sending_is_asked_about_if_it_has_an_address),
		cmocka_unit_test(inits_own_calls_are_not_asked_about),
		cmocka_unit_test(observing_and_effects_ask_about_the_calls_of_both),
		cmocka_unit_test(paths_are_folded_by_their_text),
		cmocka_unit_test(a_path_is_cut_where_it_is_too_long),
		cmocka_unit_test(addresses_are_told_by_their_family),
		cmocka_unit_test(a_status_tells_the_process_of_a_thread),
		cmocka_unit_test(what_is_told_arrives_as_it_was),
		cmocka_unit_test(a_count_alone_is_no_effect),
		cmocka_unit_test(a_damaged_message_is_no_effect),
		cmocka_unit_test(too_much_of_anything_is_no_effect),
		cmocka_unit_test(the_longest_effect_fits_into_a_message),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
