#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "door/doord/replay.h"

#define SECRET "sk-real-0123456789abcdef"

static void read_back(int fd, struct exchange_book *ret)
{
	own(buf_done) struct buf text = { 0 };
	char bytes[65536];
	ssize_t got;
	off_t at = 0;
	struct err err;

	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		buf_add(&text, bytes, (size_t)got);
		at += got;
	}
	if (book_read(ret, buf_text(&text), text.len, "recording", &err) < 0)
		fail_msg("%s", err.text);
}

static void what_is_kept_is_scrubbed_and_has_its_pieces(void **state)
{
	static const char *const secrets[] = { SECRET };
	struct scrub_words *words = scrub_words_make(secrets, 1);
	struct keep *keep = keep_open("api", "POST", "/a?" SECRET);
	own(buf_done) struct buf fields = { 0 };
	own(fd_closep) int fd = memfd_create("recording", MFD_CLOEXEC);
	struct exchange_book book = { 0 };

	buf_str(&fields, "X: " SECRET "\r\n");
	keep_request_fields(keep, &fields);
	keep_request(keep, "<sk-real-01234", 14);
	keep_request(keep, "56789abcdef>", 12);
	fields.len = 0;
	buf_str(&fields, "Y: z\r\n");
	keep_answer(keep, 201, &fields);
	keep_piece(keep, "one", 3, 5 * NS_PER_S);
	keep_piece(keep, "", 0, 6 * NS_PER_S);
	keep_piece(keep, "two!", 4, 5 * NS_PER_S + 70 * NS_PER_MS);
	keep_write(keep, fd, words);
	keep = keep_free(keep);
	read_back(fd, &book);
	assert_int_equal(book.count, 1);
	const struct exchange *item = &book.items[0];
	assert_string_equal(item->path, "/a?************************");
	assert_string_equal(buf_text(&item->request_fields), "X: ************************\r\n");
	assert_string_equal(buf_text(&item->request), "<************************>");
	assert_int_equal(item->status, 201);
	assert_string_equal(buf_text(&item->fields), "Y: z\r\n");
	assert_string_equal(buf_text(&item->body), "onetwo!");
	assert_int_equal(item->piece_count, 2);
	assert_int_equal(item->pieces[0].delay_ms, 0);
	assert_int_equal(item->pieces[1].delay_ms, 70);
	assert_int_equal(item->pieces[1].len, 4);
	book_done(&book);
	scrub_words_free(words);
	(void)state;
}

static void a_body_that_is_too_long_is_cut_and_marked(void **state)
{
	static char megabyte[1 << 20];
	struct scrub_words *words = scrub_words_make(NULL, 0);
	struct keep *keep = keep_open("api", "POST", "/a");
	own(fd_closep) int fd = memfd_create("recording", MFD_CLOEXEC);
	struct exchange_book book = { 0 };
	own(buf_done) struct buf none = { 0 };

	memset(megabyte, 'x', sizeof(megabyte));
	keep_answer(keep, 200, &none);
	for (int i = 0; i < 9; i++)
		keep_piece(keep, megabyte, sizeof(megabyte), 0);
	keep_write(keep, fd, words);
	keep = keep_free(keep);
	read_back(fd, &book);
	assert_int_equal(book.count, 1);
	assert_true(book.items[0].cut);
	assert_int_equal(book.items[0].body.len, EXCHANGE_BODY_MAX);
	book_done(&book);
	scrub_words_free(words);
	(void)state;
}

static void pieces_come_when_they_are_due(void **state)
{
	struct exchange_piece pieces[] = { { 3, 0 }, { 0, 10 }, { 4, 30 }, { 2, 5000 } };
	struct exchange exchange = { .pieces = pieces, .piece_count = ARRAY_LEN(pieces) };
	struct play play;
	struct span piece;

	buf_str(&exchange.body, "onetwo!..rest");
	play_begin(&play, &exchange, 0);
	assert_true(play_next(&play, 0, 2, &piece));
	assert_memory_equal(piece.at, "on", 2);
	assert_true(play_next(&play, 0, 2, &piece)); /* at most as much as there is room for */
	assert_int_equal(piece.len, 1);
	assert_false(play_next(&play, 0, 100, &piece));
	assert_true(play.due_ns > 0);
	uint64_t now = 40 * NS_PER_MS;
	assert_true(play_next(&play, now, 100, &piece));
	assert_memory_equal(piece.at, "two!", 4);
	assert_false(play_next(&play, now, 100, &piece));
	assert_int_equal(play.due_ns, now + 50 * NS_PER_MS); /* nobody waits as long as it took */
	now += 50 * NS_PER_MS;
	assert_true(play_next(&play, now, 100, &piece));
	assert_int_equal(piece.len, 2);
	assert_false(play_over(&play));
	assert_true(play_next(&play, now, 100, &piece)); /* what no piece tells of */
	assert_memory_equal(piece.at, "rest", 4);
	assert_true(play_over(&play));
	assert_false(play_next(&play, now, 100, &piece));
	buf_done(&exchange.body);
	(void)state;
}

static void all_delays_together_are_bounded(void **state)
{
	struct exchange_piece pieces[1000];
	struct exchange exchange = { .pieces = pieces, .piece_count = ARRAY_LEN(pieces) };
	struct play play;
	struct span piece;
	uint64_t now = 0;

	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		pieces[i] = (struct exchange_piece){ 1, 60000 };
		buf_char(&exchange.body, 'x');
	}
	play_begin(&play, &exchange, now);
	while (!play_over(&play)) {
		now = play.due_ns;
		assert_true(play_next(&play, now, 100, &piece));
	}
	assert_int_equal(now, 2 * NS_PER_S);
	buf_done(&exchange.body);
	(void)state;
}

static void an_empty_body_is_over_at_once(void **state)
{
	const struct exchange exchange = { .status = 204 };
	struct play play;

	play_begin(&play, &exchange, 0);
	assert_true(play_over(&play));
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_scrubbed_and_has_its_pieces),
		cmocka_unit_test(a_body_that_is_too_long_is_cut_and_marked),
		cmocka_unit_test(pieces_come_when_they_are_due),
		cmocka_unit_test(all_delays_together_are_bounded),
		cmocka_unit_test(an_empty_body_is_over_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
