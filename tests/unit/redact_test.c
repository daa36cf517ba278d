#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base64.h"
#include "redact/redact.h"
#include "redact/scrub.h"

#define KNOWN "correct horse/battery+staple"
#define RANDOM "q7Xv2LmP9sT4wYb8KdR3nHc6ZfJ1gA5u"

static struct redactor *redactor_known(void)
{
	static const char *const values[] = {KNOWN, "short", ""};
	const struct redact_known known = {.values = values, .count = 3, .home = "/srv/people/alice", .user = "alice"};

	return redactor_make(&known);
}

static struct redactor *redactor_plain(void)
{
	return redactor_make(&(struct redact_known){0});
}

static void pass(const struct redactor *redactor, enum redact_style style, const char *text, size_t len, size_t step,
	struct buf *out)
{
	own(redact_done) struct redact redact = {.style = style};

	for (size_t i = 0; i < len; i += step)
		redact_take(&redact, redactor, text + i, len - i < step ? len - i : step, out);
	redact_end(&redact, redactor, out);
}

static void check(const struct redactor *redactor, const char *text, const char *expected)
{
	for (size_t step = 1; step <= strlen(text) + 1; step += step < 4 ? 1 : 7) {
		own(buf_done) struct buf out = {0};
		pass(redactor, REDACT_NAMED, text, strlen(text), step, &out);
		if (strcmp(buf_text(&out), expected) != 0)
			fail_msg("in pieces of %zu, '%s' is '%s', not '%s'", step, text, buf_text(&out), expected);
	}
}

static void keys_are_known_by_their_shape(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"key sk-ant-" "api03-abcdefghijklmnop-xyz, then", "key [redacted:anthropic-key], then"},
		{"sk-" "proj-" RANDOM, "[redacted:api-key]"},
		{"sk-" "or-v1-0123456789abcdef0123456789abcdef", "[redacted:api-key]"},
		{"(ghp_" "abcdefghijklmnopqrstuvwxyz0123456789)", "([redacted:github-token])"},
		{"github_pat_" "11ABCDEFG0abcdefghijkl_mnop", "[redacted:github-token]"},
		{"id=AKIA" "ABCDEFGHIJKLMNOP;", "id=[redacted:aws-key];"},
		{"xoxb-" "123456789012-abcdef", "[redacted:slack-token]"},
		{"xoxp-" "123456789012-abcdef", "[redacted:slack-token]"},
		{"?key=AIza" "SyA-abcdefghijklmnopqrstuvwxyz01234&x", "?key=[redacted:google-key]&x"},
		{"glpat-" "abcdefghij0123456789", "[redacted:gitlab-token]"},
		{"eyJ" "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl end", "[redacted:jwt] end"},
		{"a -----BEGIN " "RSA PRIVATE KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----\nb", "a [redacted:private-key]\nb"},
		{"-----BEGIN " "PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\nb", "[redacted:private-key]\\nb"},
		{"x -----BEGIN " "OPENSSH PRIVATE KEY-----\nb3Bl", "x [redacted:private-key]"},
	};
	struct redactor *redactor = redactor_plain();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(redactor, rows[i].text, rows[i].expected);
	redactor_free(redactor);
}

static void values_are_known_by_the_name_in_front(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"password=hunter2 next", "password=[redacted:password] next"},
		{"--password=hunter2", "--password=[redacted:password]"},
		{"Password: hunter2", "Password: [redacted:password]"},
		{"DB_PASSWORD='two words' x", "DB_PASSWORD='[redacted:password]' x"},
		{"{\"password\":\"a\\\"b c\",\"x\":1}", "{\"password\":\"[redacted:password]\",\"x\":1}"},
		{"{\\\"api_key\\\": \\\"abc\\\"}", "{\\\"api_key\\\": \\\"[redacted:api-key]\\\"}"},
		{"aws_secret_access_key = abc/def", "aws_secret_access_key = [redacted:secret]"},
		{"apiKey: abc", "apiKey: [redacted:api-key]"},
		{"clientSecret=abc", "clientSecret=[redacted:secret]"},
		{"X-Api-Key: abc\n", "X-Api-Key: [redacted:api-key]\n"},
		{"?access_token=abc&x=1", "?access_token=[redacted:token]&x=1"},
		{"Authorization: Bearer abc.def", "Authorization: Bearer [redacted:authorization]"},
		{"authorization: Basic dTpw", "authorization: Basic [redacted:authorization]"},
		{"'Authorization': 'token abc'", "'Authorization': 'token [redacted:authorization]'"},
		{"sent bearer abcdefgh12345678 on", "sent bearer [redacted:authorization] on"},
		{"Cookie: a=b; c=d\nx", "Cookie: [redacted:cookie]\nx"},
		{"postgres://me:pw@db/x", "postgres://[redacted:userinfo]@db/x"},
		{"https://x-token-123456@host/", "https://[redacted:userinfo]@host/"},
		{"password=[redacted:password]", "password=[redacted:password]"},
		{"PGPASSWORD=abc dbpassword: def", "PGPASSWORD=[redacted:password] dbpassword: [redacted:password]"},
		{"CLIENTSECRET=abc token2=d", "CLIENTSECRET=[redacted:secret] token2=[redacted:token]"},
	};
	struct redactor *redactor = redactor_plain();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(redactor, rows[i].text, rows[i].expected);
	redactor_free(redactor);
}

static void homes_and_users_are_taken_out(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"open '/home/bob/x.c': no", "open '[redacted:home]/x.c': no"},
		{"/root", "[redacted:home]"},
		{"--mount=/root/a:/b", "--mount=[redacted:home]/a:/b"},
		{"/Users/carol/x", "[redacted:home]/x"},
		{"/srv/people/alice/x", "[redacted:value]/x"},
		{"%2Fsrv%2Fpeople%2Falice", "[redacted:value]"},
		{"alice's run by alice", "[redacted:user]'s run by [redacted:user]"},
		{"malice and alice_1", "malice and alice_1"},
		{"\\/home\\/bob\\/x", "[redacted:encoded]"},
		{"/rootfs /root-x /var/root /home /home/", "/rootfs /root-x /var/root /home /home/"},
	};
	struct redactor *redactor = redactor_known();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(redactor, rows[i].text, rows[i].expected);
	redactor_free(redactor);
}

static void random_strings_are_taken_out(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"x " RANDOM " y", "x [redacted:random] y"},
		{"wJalrXUtnFEMI/K7MDENG/bPxRfiCY3x9KEY7q", "[redacted:random]"},
		{"dGhpcyBpcyBhIHRlc3QgMTIz+NDU2Nzg5IHNlY3JldA==", "[redacted:random]"},
		{"k3j9x0q2m5v8z1w4y7t6r3p0n2l5h8g1f4d7s9a2", "[redacted:random]"},
	};
	struct redactor *redactor = redactor_plain();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(redactor, rows[i].text, rows[i].expected);
	redactor_free(redactor);
}

static void what_people_need_to_read_stays(void **state)
{
	static const char *const rows[] = {
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"commit 28273a5c0ffee28273a5c0ffee28273a5c0ffee0 (28273a5)",
		"run-550e8400-e29b-41d4-a716-446655440000",
		"HOTCELL_SEED=18446744073709551615 seed 1234567890123456789",
		"cell c4f1a02 ended: exit 3",
		"[redacted:random]",
		"/usr/lib/python3/dist-packages/setuptools/_vendor/jaraco/functools.py",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
		"x86_64-pc-linux-gnu-gcc-12 gcc-12.2.0-14+deb12u1",
		"_ZNSt6vectorIiSaIiEE9push_backEOi",
		"com.example.project.SomeVeryLongClassNameFactoryBuilder2",
		"HOTCELL_CAMPAIGN HTTP_PROXY LC_ALL=C.UTF-8",
		"https://github.com/torvalds/linux/blob/master/MAINTAINERS#L100",
		"ssh://git@github.com/x http://127.0.0.1:3128 git@github.com:a/b",
		"user@example.com, 2026-11-16T07:50:58.123Z",
		"sk-learn-pipeline-with-many-words-in-it task-sk-1",
		"the token was wrong; tokens: 500, password policy; passwords: 3, tokenizer=fast secretary: Ann",
		"if (token == next)",
		"-----BEGIN CERTIFICATE----- MIIB",
		"python3 -m pytest -q --timeout=180 tests/system/test_run.py::test_exit",
		"AKIAX BASIA ASIA-PACIFIC",
		"objects/ab/cdef0123456789abcdef0123456789abcdef01 in Build/Release2",
		"mkdir: cannot create directory '/workspace/x': No space left on device",
		"timeout after 60s, out of memory (limit 512 MB)",
		"Supercalifragilisticexpialidocious floccinaucinihilipilification",
	};
	struct redactor *redactor = redactor_known();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(redactor, rows[i], rows[i]);
	redactor_free(redactor);
}

static void encode(struct buf *out, const char *text, int how)
{
	own(buf_done) struct buf padded = {0};

	if (how < 3) {
		buf_add(&padded, "ab ", (size_t)how);
		buf_str(&padded, text);
		base64_write(padded.data, padded.len, out);
		return;
	}
	for (const char *at = text; *at; at++)
		buf_fmt(out, how == 3 ? "%02x" : how == 4 ? "%02X" : how == 5 ? "%%%02x" : "\\u%04x", (unsigned char)*at);
}

static void shapes_are_found_inside_what_is_encoded(void **state)
{
	static const char *const texts[] = {"sk-ant-" "api03-abcdefghijklmnop", "ghp_" "abcdefghijklmnopqrstuvwxyz0123456789",
		"Authorization: Bearer abcdef", "/home/somebody/x"};
	struct redactor *redactor = redactor_plain();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		for (int how = 0; how < 7; how++) {
			own(buf_done) struct buf text = {0}, out = {0};
			if (how == 1 || how == 2)
				continue; /* a letter in front of it: no shape begins there */
			buf_str(&text, "<");
			encode(&text, texts[i], how);
			buf_str(&text, ">");
			(void)redact_text(redactor, REDACT_NAMED, text.data, text.len, &out);
			assert_string_equal(buf_text(&out), how == 0 && strstr(buf_text(&out), "random") ? "<[redacted:random]>" : "<[redacted:encoded]>");
		}
	}
	redactor_free(redactor);
}

static void no_spelling_of_a_known_value_stays(void **state)
{
	struct redactor *redactor = redactor_known();

	(void)state;
	for (int how = -1; how < 5; how++) {
		for (size_t step = 1; step < 60; step += 13) {
			own(buf_done) struct buf text = {0}, out = {0}, stars = {0};
			buf_str(&text, "before ");
			if (how < 0)
				buf_str(&text, KNOWN);
			else
				encode(&text, KNOWN, how);
			buf_str(&text, " after");
			pass(redactor, REDACT_NAMED, text.data, text.len, step, &out);
			pass(redactor, REDACT_STARS, text.data, text.len, step, &stars);
			assert_non_null(strstr(buf_text(&out), "[redacted:"));
			assert_null(strstr(buf_text(&out), "horse"));
			assert_int_equal(stars.len, text.len);
			assert_non_null(strstr(buf_text(&stars), "****************************"));
			assert_memory_equal(stars.data, "before ", 7);
		}
	}
	check(redactor, "?x=correct%20horse/battery%2bstaple&", "[redacted:encoded]");
	check(redactor, "it is short", "it is short");
	check(redactor, KNOWN KNOWN, "[redacted:value][redacted:value]");
	redactor_free(redactor);
}

static void a_known_value_that_reaches_further_than_a_shape_goes_altogether(void **state)
{
	static const char *const values[] = {"hunter2,and more"};
	struct redactor *redactor = redactor_make(&(struct redact_known){.values = values, .count = 1});

	(void)state;
	check(redactor, "password=xhunter2,and more.", "password=[redacted:password].");
	check(redactor, "hunter2,and morepassword=x", "[redacted:value]password=[redacted:password]");
	redactor_free(redactor);
}

static void what_has_no_end_is_taken_out_in_bounded_memory(void **state)
{
	struct redactor *redactor = redactor_plain();
	own(redact_done) struct redact redact = {0};
	own(buf_done) struct buf out = {0};
	char bytes[1000];

	(void)state;
	redact_take(&redact, redactor, "a sk-ant-", 9, &out);
	memset(bytes, 'x', sizeof(bytes));
	for (int i = 0; i < 1000; i++) {
		redact_take(&redact, redactor, bytes, sizeof(bytes), &out);
		assert_true(redact.held.len <= 2 * REDACT_AHEAD);
	}
	redact_take(&redact, redactor, " b", 2, &out);
	redact_end(&redact, redactor, &out);
	assert_string_equal(buf_text(&out), "a [redacted:anthropic-key] b");
	redactor_free(redactor);
}

/* ---- hostile values ---- */

/* The spellings of a value, made by other means than the module's. */
enum spelling { PLAIN, HEX, HEX_UPPER, PERCENT, PERCENT_LOWER, JSON, BASE64, BASE64_1, BASE64_2, URL, URL_1, URL_2, SPELLINGS };

static void spell_each(const char *value, const char *format, bool (*plain)(unsigned char), struct buf *out)
{
	for (; *value; value++) {
		if (plain && plain((unsigned char)*value))
			buf_char(out, *value);
		else
			buf_fmt(out, format, (unsigned char)*value);
	}
}

static bool is_plain(unsigned char byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte && strchr("-._~", byte));
}

static void spell_json(const char *value, struct buf *out)
{
	for (; *value; value++) {
		if (*value == '\n')
			buf_str(out, "\\n");
		else
			buf_fmt(out, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
	}
}

/* With bytes around it, whose letters come along. */
static void spell_base64(const char *value, size_t before, bool url, struct buf *out)
{
	own(buf_done) struct buf whole = {0};
	size_t from = out->len;

	buf_add(&whole, "<<<", before);
	buf_str(&whole, value);
	base64_write(whole.data, whole.len, out);
	for (size_t i = from; url && i < out->len; i++)
		out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

static void spell(enum spelling how, const char *value, struct buf *out)
{
	switch (how) {
	case PLAIN: buf_str(out, value); break;
	case HEX: spell_each(value, "%02x", NULL, out); break;
	case HEX_UPPER: spell_each(value, "%02X", NULL, out); break;
	case PERCENT: spell_each(value, "%%%02X", is_plain, out); break;
	case PERCENT_LOWER: spell_each(value, "%%%02x", is_plain, out); break;
	case JSON: spell_json(value, out); break;
	case BASE64: spell_base64(value, 0, false, out); break;
	case BASE64_1: spell_base64(value, 1, false, out); break;
	case BASE64_2: spell_base64(value, 2, false, out); break;
	case URL: spell_base64(value, 0, true, out); break;
	case URL_1: spell_base64(value, 1, true, out); break;
	case URL_2: spell_base64(value, 2, true, out); break;
	case SPELLINGS: break;
	}
}

static const char *const hostile[] = {
	"eightbyt", "eightbytes", "eightbytes-and-more", /* beginnings of each other */
	"abcabcabcabc", "bcabcabcabca", /* overlapping */
	"aaaaaaaaaaaa",
	"two\nlines \"quoted\" \\back",
	"K\xc3\xb6nigsberg \xe2\x82\xac\xf0\x9f\x94\x91",
	"a/b+c=d&e?f%g",
	"../../etc/passwd",
	"****-stars-****",
};

static struct redactor *redactor_hostile(void)
{
	return redactor_make(&(struct redact_known){.values = hostile, .count = ARRAY_LEN(hostile)});
}

static void expect_gone(const char *value, const struct buf *out, const char *how)
{
	for (int i = 0; i < SPELLINGS; i++) {
		own(buf_done) struct buf form = {0};
		spell((enum spelling)i, value, &form);
		if (i >= BASE64) { /* letters that stand for its neighbours, too, tell nothing of it alone */
			form.len = form.len > 4 ? form.len - 4 : 0;
			size_t skip = form.len > 4 ? 4 : 0;
			memmove(form.data, form.data + skip, form.len - skip);
			form.len -= skip;
		}
		if (form.len >= 8 && memmem(buf_text(out), out->len, form.data, form.len))
			fail_msg("%s: '%s' is left (spelling %d): %s", how, value, i, buf_text(out));
	}
}

static void a_value_split_at_any_byte_over_two_writes_is_gone_in_every_spelling(void **state)
{
	struct redactor *redactor = redactor_hostile();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hostile) - 1; i++) /* the last one is of stars */
		for (int how = 0; how < SPELLINGS; how++) {
			own(buf_done) struct buf text = {0};
			buf_str(&text, "(");
			spell((enum spelling)how, hostile[i], &text);
			buf_str(&text, ")");
			for (size_t cut = 0; cut <= text.len; cut++) {
				own(scrub_done) struct scrub scrub = {0};
				own(redact_done) struct redact redact = {0};
				own(buf_done) struct buf scrubbed = {0}, redacted = {0};
				const struct scrub_words *words = redactor_words(redactor);
				scrub_take(&scrub, words, text.data, cut, &scrubbed);
				scrub_take(&scrub, words, text.data + cut, text.len - cut, &scrubbed);
				scrub_end(&scrub, words, &scrubbed);
				expect_gone(hostile[i], &scrubbed, "scrubbed");
				if (cut % 5 > 0) /* the slow one */
					continue;
				redact_take(&redact, redactor, text.data, cut, &redacted);
				redact_take(&redact, redactor, text.data + cut, text.len - cut, &redacted);
				redact_end(&redact, redactor, &redacted);
				expect_gone(hostile[i], &redacted, "redacted");
			}
		}
	redactor_free(redactor);
}

static void values_that_begin_or_overlap_each_other_leave_no_rest(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"<eightbytes-and-more>", "<*******************>"},
		{"<eightbytes-and-mor>", "<**********-and-mor>"},
		{"<eightbytesx>", "<**********x>"},
		{"<eightbytx>", "<********x>"},
		{"<abcabcabcabca>", "<*************>"},
		{"<aaaaaaaaaaaaaaaaaaaaaa>", "<**********************>"},
		{"<abcabcabcab>", "<abcabcabcab>"},
	};
	struct redactor *redactor = redactor_hostile();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(freep) char *shown = redact_copy(redactor, REDACT_VALUES, rows[i].text);
		assert_string_equal(shown, rows[i].expected);
	}
	redactor_free(redactor);
}

static void values_under_eight_bytes_are_not_known(void **state)
{
	static const char *const values[] = {"a", "ab", "abc", "abcd", "abcdefg", "abcdefgh"};
	struct redactor *redactor = redactor_make(&(struct redact_known){.values = values, .count = ARRAY_LEN(values)});
	own(freep) char *shown = redact_copy(redactor, REDACT_VALUES, "a ab abc abcd abcdefg abcdefgh");

	(void)state;
	assert_string_equal(shown, "a ab abc abcd abcdefg ********");
	redactor_free(redactor);
	redactor = redactor_make(&(struct redact_known){.values = values, .count = 5});
	assert_false(redactor_knows(redactor));
	assert_false(redactor_knows(NULL));
	redactor_free(redactor);
}

/* Encoded twice: streams know percent, JSON and HTML around base64; whole texts know every pair. */
static void of_two_encodings_those_are_known_that_are_said_to_be(void **state)
{
	static const struct {
		enum spelling inner, outer;
		bool in_streams;
	} rows[] = {
		{BASE64, PERCENT, true}, {BASE64, JSON, true}, {URL, PERCENT_LOWER, true}, {BASE64, BASE64, false}, {HEX, BASE64, false},
		{PERCENT, BASE64_1, false}, {JSON, BASE64_2, false}, {BASE64, HEX, false}, {PLAIN, BASE64, true}, {HEX, HEX, false},
	};
	static const char value[] = "tr0ub4dor & \"three\"/plus+";
	const char *const values[] = {value};
	struct redactor *redactor = redactor_make(&(struct redact_known){.values = values, .count = 1});

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf inner = {0}, outer = {0};
		spell(rows[i].inner, value, &inner);
		spell(rows[i].outer, buf_text(&inner), &outer);
		own(freep) char *values_only = redact_copy(redactor, REDACT_VALUES, buf_text(&outer));
		own(freep) char *all = redact_copy(redactor, REDACT_ALL, buf_text(&outer));
		if ((strchr(values_only, '*') != NULL) != rows[i].in_streams)
			fail_msg("row %zu in a stream: %s", i, values_only);
		if (!strstr(all, "[redacted:"))
			fail_msg("row %zu in a text: %s", i, all);
	}
	redactor_free(redactor);
}

/* ---- shown or stored ---- */

static void our_own_words_lose_known_values_only(void **state)
{
	struct redactor *redactor = redactor_known();
	own(freep) char *ours = redact_copy(redactor, REDACT_VALUES, "open '/home/bob/x' of alice: password=x; " KNOWN);
	own(freep) char *none = redact_copy(NULL, REDACT_VALUES, KNOWN), *shaped = redact_copy(NULL, REDACT_ALL, "in /home/bob: " KNOWN);
	char line[] = "at " KNOWN " it";

	(void)state;
	assert_string_equal(ours, "open '/home/bob/x' of alice: password=x; ****************************");
	assert_string_equal(none, KNOWN);
	assert_string_equal(shaped, "in [redacted:home]: " KNOWN);
	redact_line(redactor, line);
	assert_string_equal(line, "at **************************** it");
	redact_line(NULL, line);
	char cut[] = "'x correct horse/bat...' and correct horse/ba", few[] = "so it is correct";
	redact_line(redactor, cut);
	assert_string_equal(cut, "'x *****************...' and ****************");
	redact_line(redactor, few);
	assert_string_equal(few, "so it is correct");
	redactor_free(redactor);
}

static void variables_are_secret_by_their_name_or_their_value(void **state)
{
	static const struct {
		const char *name, *value;
		bool secret;
	} rows[] = {
		{"API_TOKEN", "x", true}, {"DB_PASSWORD", "x", true}, {"AWS_SECRET_ACCESS_KEY", "x", true}, {"ANTHROPIC_API_KEY", "x", true},
		{"githubToken", "x", true}, {"SSH_KEY", "x", true}, {"GH_PAT", "x", true}, {"BASIC_AUTH", "x", true}, {"SENTRY_DSN", "x", true},
		{"DATABASE_URL", "postgres://me:pw@db/x", true}, {"THING", "AKIA" "ABCDEFGHIJKLMNOP", true}, {"PATH", "/usr/bin:/bin", false},
		{"HOME", "/home/bob", false}, {"MODE", "production", false}, {"MONKEY", "banana", false}, {"COMPAT", "1", false},
		{"BYPASS", "x", false}, {"KEYBOARD", "de", false}, {"TOKENS", "100", false},
		{"PGPASSWORD", "x", true}, {"SSHPASS", "x", true}, {"DBPASSWORD", "x", true}, {"userpassword", "x", true}, {"MYTOKEN", "x", true},
		{"CLIENTSECRET", "x", true}, {"PASSWORD1", "x", true}, {"TOKEN_V2", "x", true}, {"SECRETS", "x", true}, {"DB_PASS", "x", true},
		{"API_TOKENS", "x,y", true}, {"TOKEN_2", "x", true}, {"GITHUB_TOKEN-v10", "x", true}, {"OPENAIAPIKEY", "x", true},
		{"MYSQL_PWD", "x", true}, {"DBPASS2", "x", true}, {"URL", "amqp://u:p(w)@h", true}, {"URL", "http://host:80/a@b:c", false},
		{"PWD", "/srv/x", false}, {"COMPASS", "x", false}, {"PASSENGER", "x", false}, {"COMPASS2", "x", false}, {"MAX_TOKENS", "4096", false},
		{"PASSES", "3", false}, {"LOWPASS", "x", false}, {"TOKENIZER", "x", false}, {"SECRETARY", "x", false}, {"V2", "x", false}, {"2", "x", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (redact_is_secret(rows[i].name, strlen(rows[i].name), rows[i].value) != rows[i].secret)
			fail_msg("%s=%s", rows[i].name, rows[i].value);
}

static void what_follows_an_option_for_a_secret_is_not_in_a_command(void **state)
{
	static const struct {
		const char *words[5], *expected;
	} rows[] = {
		{{"echo", "--password", "hunter2", "x"}, "echo --password [redacted:password] x"},
		{{"--token", "abc"}, "--token [redacted:token]"},
		{{"--api-key", "two words", "-v"}, "--api-key [redacted:api-key] -v"},
		{{"--dbpassword", "abc"}, "--dbpassword [redacted:password]"},
		{{"-u", "admin:hunter2"}, "-u admin:[redacted:password]"},
		{{"--user=admin:hunter2"}, "--user=admin:[redacted:password]"},
		{{"-uadmin:hunter2"}, "-uadmin:[redacted:password]"},
		{{"PGPASSWORD=hunter 22", "x"}, "PGPASSWORD=[redacted:password] x"},
		{{"--client-secret=a b", "x"}, "--client-secret=[redacted:secret] x"},
		{{"Private-Token: abc def", "x"}, "Private-Token: [redacted:token] x"},
		{{"-H", "X-Token:abc"}, "-H X-Token:[redacted:token]"},
		{{"--env=MYSQLPASSWORD=abc"}, "--env=MYSQLPASSWORD=[redacted:password]"},
		{{"correct", "horse/battery+staple"}, "[redacted:value]"},
		{{"--password", "--verbose"}, "--password --verbose"},
		{{"docker", "-u", "1000:1000", "token:latest"}, "docker -u 1000:1000 token:latest"},
		{{"--password-file", "x", "--max-tokens", "4096"}, "--password-file x --max-tokens 4096"},
		{{"git", "push", "-u", "origin"}, "git push -u origin"},
		{{"", "--token", "", "="}, " --token  ="},
	};
	struct redactor *redactor = redactor_known();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		own(buf_done) struct buf out = {0};
		redact_command(redactor, rows[i].words, &out);
		assert_string_equal(buf_text(&out), rows[i].expected);
	}
	redactor_free(redactor);
}

static void the_password_of_a_url_is_known_as_it_is_and_as_it_is_meant(void **state)
{
	own(freep) char *there = redact_url_password("postgres://me:p%40ss@w/d@db/x?y@z", false);
	own(freep) char *last = redact_url_password("postgres://me:p%40s:s@w@db/x?y@z", false);
	own(freep) char *meant = redact_url_password("postgres://me:p%40s%zz@db", true);

	(void)state;
	assert_string_equal(there, "p%40ss");
	assert_string_equal(last, "p%40s:s@w");
	assert_string_equal(meant, "p@s%zz");
	assert_null(redact_url_password("http://git@host:80/", false));
	assert_null(redact_url_password("me:pw@host", false));
	assert_null(redact_url_password("http://me:@host", false));
}

/* Where it is encoded once more, as only whole texts know it. */
static void characters_beyond_ascii_are_found_where_they_are_escaped_twice(void **state)
{
	static const char *const values[] = {"p\xc3\xa4ssw\xc3\xb6rd-\xf0\x9f\x94\x91-99"};
	struct redactor *redactor = redactor_make(&(struct redact_known){.values = values, .count = 1});

	(void)state;
	check(redactor, "p\\u00e4ssw\\u00f6rd-\\ud83d\\udd11-99", "[redacted:value]");
	check(redactor, "p\\\\u00e4ssw\\\\u00f6rd-\\\\ud83d\\\\udd11-99", "[redacted:value]");
	check(redactor, "%5Cu0070%5Cu00e4ssw%5Cu00f6rd-%5Cud83d%5Cudd11-99", "[redacted:encoded]");
	redactor_free(redactor);
}

static void values_are_not_handed_on_by_a_fork(void **state)
{
	struct redactor *redactor = redactor_known();
	int status = 0;

	(void)state;
	pid_t child = fork();
	if (child == 0) {
		own(freep) char *shown = redact_copy(redactor, REDACT_VALUES, KNOWN);
		_exit(strcmp(shown, KNOWN) == 0 ? 0 : 1); /* nothing is known any more */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	redactor_free(redactor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_known_by_their_shape),
		cmocka_unit_test(values_are_known_by_the_name_in_front),
		cmocka_unit_test(homes_and_users_are_taken_out),
		cmocka_unit_test(random_strings_are_taken_out),
		cmocka_unit_test(what_people_need_to_read_stays),
		cmocka_unit_test(shapes_are_found_inside_what_is_encoded),
		cmocka_unit_test(no_spelling_of_a_known_value_stays),
		cmocka_unit_test(a_known_value_that_reaches_further_than_a_shape_goes_altogether),
		cmocka_unit_test(what_has_no_end_is_taken_out_in_bounded_memory),
		cmocka_unit_test(a_value_split_at_any_byte_over_two_writes_is_gone_in_every_spelling),
		cmocka_unit_test(values_that_begin_or_overlap_each_other_leave_no_rest),
		cmocka_unit_test(values_under_eight_bytes_are_not_known),
		cmocka_unit_test(of_two_encodings_those_are_known_that_are_said_to_be),
		cmocka_unit_test(our_own_words_lose_known_values_only),
		cmocka_unit_test(variables_are_secret_by_their_name_or_their_value),
		cmocka_unit_test(what_follows_an_option_for_a_secret_is_not_in_a_command),
		cmocka_unit_test(the_password_of_a_url_is_known_as_it_is_and_as_it_is_meant),
		cmocka_unit_test(characters_beyond_ascii_are_found_where_they_are_escaped_twice),
		cmocka_unit_test(values_are_not_handed_on_by_a_fork),
	};
	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
