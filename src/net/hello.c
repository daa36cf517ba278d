#include "net/hello.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER 4
#define MESSAGE_CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0
#define EXTENSION_EARLY_DATA 42
#define RECORD_CHANGE 20
#define RECORD_ALERT 21
#define RECORD_DATA 23
#define DATA_MAX (RECORD_MAX + 2048)
#define CIPHER_MIN 16 /* bytes that any encrypted message has */

/* ---- bytes that are all there ---- */

/* Reads on; what is not there makes it bad, and all that follows is 0 or empty. */
struct part {
	const uint8_t *at;
	size_t len;
	bool bad;
};

static const uint8_t *part_skip(struct part *part, size_t len)
{
	const uint8_t *at = part->at;

	if (part->bad || len > part->len) {
		*part = (struct part){.bad = true};
		return NULL;
	}
	part->at += len;
	part->len -= len;
	return at;
}

static unsigned part_number(struct part *part, size_t bytes)
{
	const uint8_t *at = part_skip(part, bytes);
	unsigned value = 0;

	for (size_t i = 0; at && i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* What is preceded by its length in `bytes` bytes. */
static struct part part_inner(struct part *part, size_t bytes)
{
	size_t len = part_number(part, bytes);
	const uint8_t *at = part_skip(part, len);

	return (struct part){.at = at, .len = at ? len : 0, .bad = !at};
}

/* ---- the message ---- */

struct found {
	bool bad, hidden, early;
	unsigned names;
	char name[HOST_MAX + 1];
};

/* Encrypted client hello, and what its drafts used. Somebody who only pretends to hide a name looks the same. */
static bool is_hiding(unsigned type)
{
	return (type >= 0xfe08 && type <= 0xfe0d) || (type >= 0xff02 && type <= 0xff08) || type == 0xffce;
}

static void read_names(struct part part, struct found *found)
{
	struct part list = part_inner(&part, 2);

	found->bad |= part.bad || part.len || !list.len;
	while (list.len) {
		unsigned type = part_number(&list, 1);
		struct part name = part_inner(&list, 2);
		if (name.bad || type != 0 || host_canonical((const char *)name.at, name.len, found->name) != HOST_NAME) {
			found->bad = true;
			return;
		}
		found->names++;
	}
}

static void read_extensions(struct part list, struct found *found)
{
	uint8_t seen[65536 / 8] = {0};

	while (list.len && !found->bad) {
		unsigned type = part_number(&list, 2);
		struct part body = part_inner(&list, 2);
		bool again = seen[type / 8] & 1u << type % 8;
		seen[type / 8] |= (uint8_t)(1u << type % 8);
		found->bad |= body.bad || (again && type != EXTENSION_SERVER_NAME);
		found->hidden |= is_hiding(type);
		found->early |= type == EXTENSION_EARLY_DATA;
		if (type == EXTENSION_SERVER_NAME && !found->bad)
			read_names(body, found);
	}
}

/* What follows the message's header, all of it. */
static enum hello read_message(struct part part, char ret_name[HOST_MAX + 1], bool *ret_early)
{
	struct found found = {0};
	unsigned version = part_number(&part, 2);

	(void)part_skip(&part, 32); /* random */
	struct part session = part_inner(&part, 1);
	struct part suites = part_inner(&part, 2);
	struct part compressions = part_inner(&part, 1);
	if (part.bad || version < 0x0301 || version > 0x0303 || session.len > 32 || suites.len < 2 ||
		suites.len % 2 || !compressions.len)
		return HELLO_BAD;
	if (!part.len)
		return HELLO_NO_NAME; /* older than extensions */
	struct part extensions = part_inner(&part, 2);
	if (part.bad || part.len)
		return HELLO_BAD;
	read_extensions(extensions, &found);
	if (found.bad)
		return HELLO_BAD;
	if (found.names > 1)
		return HELLO_TWO_NAMES;
	if (found.hidden)
		return HELLO_HIDDEN;
	if (!found.names)
		return HELLO_NO_NAME;
	memcpy(ret_name, found.name, strlen(found.name) + 1);
	*ret_early = found.early;
	return HELLO_OK;
}

/* ---- records ---- */

struct records {
	struct part rest;
	size_t got; /* bytes of the message */
	bool early; /* when it is whole */
	uint8_t message[HELLO_MAX];
};

/* What is there of the next record's header. HELLO_OK: all of it, and it is one. */
static enum hello record_header(const struct records *records, size_t *ret_len)
{
	const uint8_t *at = records->rest.at;
	size_t len = records->rest.len;
	enum hello wrong = records->got ? HELLO_BAD : HELLO_NOT_TLS;

	if (len > 0 && at[0] != RECORD_HANDSHAKE)
		return wrong;
	if (len > 1 && at[1] != 3)
		return wrong;
	if (len > 2 && (at[2] < 1 || at[2] > 3))
		return wrong;
	if (len < RECORD_HEADER)
		return HELLO_MORE;
	*ret_len = (size_t)at[3] << 8 | at[4];
	return *ret_len == 0 || *ret_len > RECORD_MAX ? HELLO_BAD : HELLO_OK;
}

/* What is there of the message. A record that goes on after it is refused: who reads on would find something that was
 * not looked at. */
static enum hello judge(struct records *records, size_t record_left, char ret_name[HOST_MAX + 1])
{
	const uint8_t *at = records->message;

	if (records->got > 0 && at[0] != MESSAGE_CLIENT_HELLO)
		return HELLO_BAD;
	if (records->got < MESSAGE_HEADER)
		return HELLO_MORE;
	size_t len = MESSAGE_HEADER + ((size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]);
	if (len > HELLO_MAX || records->got + record_left > len)
		return HELLO_BAD;
	if (records->got < len)
		return HELLO_MORE;
	return read_message((struct part){.at = at + MESSAGE_HEADER, .len = len - MESSAGE_HEADER}, ret_name, &records->early);
}

/* *ret_size, *ret_early: of one that is HELLO_OK, how many bytes it took, and whether it announced early data. */
static enum hello read_hello(const uint8_t *bytes, size_t len, char ret_name[HOST_MAX + 1], size_t *ret_size, bool *ret_early)
{
	struct records records;
	enum hello hello = HELLO_MORE;

	records.rest = (struct part){.at = bytes, .len = len < HELLO_MAX ? len : HELLO_MAX};
	records.got = 0;
	records.early = false;
	ret_name[0] = '\0';
	while (hello == HELLO_MORE && records.rest.len) {
		size_t record = 0;
		hello = record_header(&records, &record);
		if (hello != HELLO_OK)
			break;
		(void)part_skip(&records.rest, RECORD_HEADER);
		size_t there = record < records.rest.len ? record : records.rest.len;
		memcpy(records.message + records.got, records.rest.at, there); /* fits: never more than was given */
		records.got += there;
		(void)part_skip(&records.rest, there);
		hello = judge(&records, record - there, ret_name);
	}
	*ret_size = hello == HELLO_OK ? (size_t)(records.rest.at - bytes) : 0;
	*ret_early = records.early;
	return hello == HELLO_MORE && len >= HELLO_MAX ? HELLO_BAD : hello;
}

enum hello hello_read(const uint8_t *bytes, size_t len, char ret_name[HOST_MAX + 1])
{
	size_t size;
	bool early;

	return read_hello(bytes, len, ret_name, &size, &early);
}

/* ---- a second one ---- */

/* After a change of ciphers a handshake record is encrypted in TLS 1.2, and a second hello in TLS 1.3. What is as short as
 * no encrypted message is, or looks like the beginning of a hello in every part, is held to be one. */
static bool may_be_hello(const struct hello_watch *watch, const uint8_t *at, size_t len, size_t record)
{
	if (at[0] != MESSAGE_CLIENT_HELLO || !watch->changed || record < CIPHER_MIN || len < MESSAGE_HEADER + 2)
		return at[0] == MESSAGE_CLIENT_HELLO;
	size_t size = (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
	return size <= HELLO_MAX && at[4] == 3 && at[5] <= 3;
}

/* What the record at the beginning of these bytes comes to; *ret_size: of one that is of no interest, how long it is. */
static enum hello_watched look(struct hello_watch *watch, const char *host, const uint8_t *at, size_t len, size_t *ret_size)
{
	size_t record = len < RECORD_HEADER ? 0 : (size_t)at[3] << 8 | at[4], size;
	char name[HOST_MAX + 1];
	bool early;

	*ret_size = 0;
	if (len < RECORD_HEADER)
		return WATCH_ON;
	if (at[0] < RECORD_CHANGE || at[0] > RECORD_DATA || at[1] != 3 || record == 0 || record > DATA_MAX)
		return WATCH_BAD;
	if (at[0] == RECORD_DATA && !watch->early)
		return WATCH_OVER; /* whoever was asked for a second hello says nothing else first */
	if (at[0] != RECORD_HANDSHAKE) {
		watch->changed |= at[0] == RECORD_CHANGE;
		*ret_size = RECORD_HEADER + record;
		return WATCH_ON;
	}
	size_t wanted = record < MESSAGE_HEADER + 2 ? record : MESSAGE_HEADER + 2;
	if (len < RECORD_HEADER + wanted)
		return WATCH_ON;
	if (!may_be_hello(watch, at + RECORD_HEADER, len - RECORD_HEADER, record))
		return WATCH_OVER; /* TLS 1.2 goes on */
	enum hello hello = read_hello(at, len, name, &size, &early);
	if (hello == HELLO_MORE)
		return WATCH_ON;
	return hello == HELLO_OK && strcmp(name, host) == 0 ? WATCH_OVER : WATCH_BAD;
}

enum hello_watched hello_watch(struct hello_watch *watch, const char *host, const uint8_t *bytes, size_t len)
{
	size_t skip = watch->skip < len ? watch->skip : len, at = 0, size;
	enum hello_watched watched;

	watch->skip -= skip;
	if (skip == len)
		return WATCH_ON;
	buf_add(&watch->held, bytes + skip, len - skip);
	do {
		watched = look(watch, host, (const uint8_t *)watch->held.data + at, watch->held.len - at, &size);
		at += size;
	} while (size > 0 && at < watch->held.len);
	watch->skip = at > watch->held.len ? at - watch->held.len : 0;
	at = at < watch->held.len ? at : watch->held.len;
	memmove(watch->held.data, watch->held.data + at, watch->held.len - at);
	watch->held.len -= at;
	return watched;
}

enum hello_watched hello_watch_first(struct hello_watch *watch, const char *host, const uint8_t *bytes, size_t len)
{
	char name[HOST_MAX + 1];
	size_t size;

	if (read_hello(bytes, len, name, &size, &watch->early) != HELLO_OK)
		return WATCH_BAD;
	return hello_watch(watch, host, bytes + size, len - size);
}

void hello_watch_done(struct hello_watch *watch)
{
	buf_done(&watch->held);
}

const char *hello_reason(enum hello hello)
{
	static const char *const reasons[] = {
		[HELLO_MORE] = "TLS whose first message never ended",
		[HELLO_OK] = "",
		[HELLO_NOT_TLS] = "not TLS",
		[HELLO_NO_NAME] = "TLS without a server name",
		[HELLO_TWO_NAMES] = "TLS with more than one server name",
		[HELLO_HIDDEN] = "TLS that hides the server name",
		[HELLO_BAD] = "TLS whose first message is damaged",
	};
	_Static_assert(ARRAY_LEN(reasons) == HELLO_BAD + 1, "a verdict has no reason");

	return reasons[hello];
}
