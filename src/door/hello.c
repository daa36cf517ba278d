#include "door/hello.h"

#include <stdbool.h>
#include <string.h>

#include "base/own.h"

#define RECORD_HEADER 5
#define RECORD_MAX 16384
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER 4
#define MESSAGE_CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0

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
	bool bad, hidden;
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
		if (type == EXTENSION_SERVER_NAME && !found->bad)
			read_names(body, found);
	}
}

/* What follows the message's header, all of it. */
static enum hello read_message(struct part part, char ret_name[HOST_MAX + 1])
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
	return HELLO_OK;
}

/* ---- records ---- */

struct records {
	struct part rest;
	size_t got; /* bytes of the message */
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
static enum hello judge(const struct records *records, size_t record_left, char ret_name[HOST_MAX + 1])
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
	return read_message((struct part){.at = at + MESSAGE_HEADER, .len = len - MESSAGE_HEADER}, ret_name);
}

enum hello hello_read(const uint8_t *bytes, size_t len, char ret_name[HOST_MAX + 1])
{
	struct records records;
	enum hello hello = HELLO_MORE;

	records.rest = (struct part){.at = bytes, .len = len < HELLO_MAX ? len : HELLO_MAX};
	records.got = 0;
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
	return hello == HELLO_MORE && len >= HELLO_MAX ? HELLO_BAD : hello;
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
