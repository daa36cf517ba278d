/* Archives, as a run may leave them: who unpacks one without care writes where it says, and as much as it says. */
#include "review/program/hostile.h"

#define BLOCK 512 /* of a tar */
#define BOMB (16u << 20) /* what a few kilobytes unpack to */
#define PAYLOAD "written by an archive\n"

/* ---- tar ---- */

static void octal(char *field, size_t size, unsigned long long number)
{
	snprintf(field, size, "%0*llo", (int)size - 1, number);
}

/* One entry: a file with the payload ('0'), a link ('2') or a hard link ('1') to `link`. `claimed`: the size it tells of,
 * if it is not its own. */
static void tar_put(FILE *tar, char type, const char *name, const char *link, unsigned long long claimed)
{
	const bool is_file = type == '0';
	char head[BLOCK] = { 0 }, body[BLOCK] = PAYLOAD;
	unsigned sum = 0;

	snprintf(head, 100, "%s", name);
	octal(head + 100, 8, 0644);
	octal(head + 108, 8, 0);
	octal(head + 116, 8, 0);
	octal(head + 124, 12, claimed ? claimed : is_file ? strlen(PAYLOAD) : 0);
	octal(head + 136, 12, 0);
	memset(head + 148, ' ', 8);
	head[156] = type;
	snprintf(head + 157, 100, "%s", link ? link : "");
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)head[i];
	octal(head + 148, 7, sum);
	fwrite(head, 1, BLOCK, tar);
	if (is_file && !claimed)
		fwrite(body, 1, BLOCK, tar);
}

static FILE *begin(const char *name)
{
	FILE *file = fopen(name, "w");

	if (!file) {
		got(name, -1);
		exit(1);
	}
	return file;
}

/* Tells of it by its size, which the observer compares. */
static void end(FILE *file, const char *name)
{
	got_number(name, ftell(file));
	if (fclose(file) != 0) {
		got(name, -1);
		exit(1);
	}
}

static void tar_end(FILE *tar, const char *name)
{
	char nothing[2 * BLOCK] = { 0 };

	fwrite(nothing, 1, sizeof(nothing), tar);
	end(tar, name);
}

static void tars(const char *canary, const char *dir)
{
	char path[200], up[300];
	FILE *tar = begin("slip.tar");

	snprintf(up, sizeof(up), "../../../../../../../../..%s", canary);
	tar_put(tar, '0', "../slipped", NULL, 0);
	tar_put(tar, '0', "a/../../slipped-too", NULL, 0);
	tar_put(tar, '0', up, NULL, 0);
	tar_end(tar, "slip.tar");

	tar = begin("absolute.tar");
	snprintf(path, sizeof(path), "%s/absolute", dir);
	tar_put(tar, '0', path, NULL, 0);
	tar_put(tar, '0', canary, NULL, 0);
	tar_end(tar, "absolute.tar");

	tar = begin("through.tar");
	tar_put(tar, '2', "door", dir, 0);
	tar_put(tar, '0', "door/through", NULL, 0);
	tar_put(tar, '2', "file", canary, 0);
	tar_put(tar, '0', "file", NULL, 0);
	tar_end(tar, "through.tar");

	tar = begin("hard.tar");
	snprintf(path, sizeof(path), "%s/precious", dir);
	tar_put(tar, '1', "mine", path, 0);
	tar_put(tar, '0', "mine", NULL, 0);
	tar_end(tar, "hard.tar");

	tar = begin("twice.tar"); /* the second of a name is what counts, or the first */
	tar_put(tar, '0', "twice", NULL, 0);
	tar_put(tar, '2', "twice", path, 0);
	tar_put(tar, '0', "twice", NULL, 0);
	tar_end(tar, "twice.tar");

	tar = begin("bomb.tar"); /* and says it holds what no disk does */
	tar_put(tar, '0', "huge", NULL, 077777777777ULL);
	end(tar, "bomb.tar");
}

/* One that is larger than what may be taken back. */
static void large(void)
{
	static const char block[64 * 1024] = { 1 };
	FILE *tar = begin("large.tar");

	tar_put(tar, '0', "large", NULL, 4 << 20);
	for (int i = 0; i < 64; i++)
		fwrite(block, 1, sizeof(block), tar);
	tar_end(tar, "large.tar");
}

/* ---- zip ---- */

static uint32_t crc_add(uint32_t crc, unsigned char byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	return crc;
}

struct bits {
	unsigned char *out;
	size_t count;
};

static void put_bits(struct bits *bits, unsigned value, int count)
{
	for (; count-- > 0; value >>= 1, bits->count++)
		bits->out[bits->count / 8] |= (unsigned char)((value & 1) << bits->count % 8);
}

/* Zeros, deflated with the fixed codes: one as it is, then "258 times the byte before" over and over. */
static size_t deflate_zeros(unsigned char *out, uint32_t *ret_crc, uint32_t *ret_size)
{
	struct bits bits = { .out = out };
	uint32_t size = 1, crc = 0xffffffffu;

	put_bits(&bits, 3, 3); /* the last block; fixed codes */
	put_bits(&bits, 0x0c, 8); /* the byte 0: 00110000, its highest bit first */
	for (; size < BOMB; size += 258) {
		put_bits(&bits, 0xa3, 8); /* length 258: 11000101 */
		put_bits(&bits, 0, 5); /* one byte back */
	}
	put_bits(&bits, 0, 7); /* the end */
	for (uint32_t i = 0; i < size; i++)
		crc = crc_add(crc, 0);
	*ret_crc = ~crc;
	*ret_size = size;
	return (bits.count + 7) / 8;
}

struct zip_entry {
	const char *name;
	const unsigned char *data;
	uint32_t packed, size, crc, mode; /* mode: as of Unix, a link's among them */
	uint16_t method;
};

static void put16(FILE *zip, unsigned number)
{
	fputc((int)(number & 255), zip);
	fputc((int)(number >> 8 & 255), zip);
}

static void put32(FILE *zip, uint32_t number)
{
	put16(zip, number & 65535);
	put16(zip, number >> 16);
}

/* What a local head and one of the directory share. */
static void put_head(FILE *zip, const struct zip_entry *entry)
{
	put16(zip, 20);
	put16(zip, 0);
	put16(zip, entry->method);
	put32(zip, 0x21 << 16); /* the first day there is */
	put32(zip, entry->crc);
	put32(zip, entry->packed);
	put32(zip, entry->size);
	put16(zip, (unsigned)strlen(entry->name));
	put16(zip, 0);
}

static void zip_make(const char *name, const struct zip_entry *entries, size_t count)
{
	FILE *zip = begin(name);
	uint32_t at[8] = { 0 };

	for (size_t i = 0; i < count; i++) {
		at[i] = (uint32_t)ftell(zip);
		put32(zip, 0x04034b50);
		put_head(zip, &entries[i]);
		fputs(entries[i].name, zip);
		fwrite(entries[i].data, 1, entries[i].packed, zip);
	}
	uint32_t directory = (uint32_t)ftell(zip);
	for (size_t i = 0; i < count; i++) {
		put32(zip, 0x02014b50);
		put16(zip, 3 << 8 | 20); /* made on Unix: its modes count */
		put_head(zip, &entries[i]);
		put16(zip, 0);
		put16(zip, 0);
		put16(zip, 0);
		put32(zip, entries[i].mode << 16);
		put32(zip, at[i]);
		fputs(entries[i].name, zip);
	}
	uint32_t last = (uint32_t)ftell(zip);
	put32(zip, 0x06054b50);
	put32(zip, 0);
	put16(zip, (unsigned)count);
	put16(zip, (unsigned)count);
	put32(zip, last - directory);
	put32(zip, directory);
	put16(zip, 0);
	end(zip, name);
}

static struct zip_entry stored(const char *name, const char *text, uint32_t mode)
{
	struct zip_entry entry = { .name = name, .data = (const unsigned char *)text, .mode = mode, .crc = 0xffffffffu };

	entry.packed = entry.size = (uint32_t)strlen(text);
	for (uint32_t i = 0; i < entry.size; i++)
		entry.crc = crc_add(entry.crc, entry.data[i]);
	entry.crc = ~entry.crc;
	return entry;
}

static void zips(const char *canary, const char *dir)
{
	static unsigned char zeros[BOMB / 258 * 2 + 64];
	char path[200];

	snprintf(path, sizeof(path), "%s/zipped-absolute", dir);
	const struct zip_entry entries[] = {
		stored("../zipped", PAYLOAD, 0100644), stored("..\\zipped-too", PAYLOAD, 0100644), stored(path, PAYLOAD, 0100644),
		stored(canary, PAYLOAD, 0100644), stored("door", dir, 0120777), stored("door/zipped-through", PAYLOAD, 0100644),
		stored("twice", PAYLOAD, 0100644), stored("twice", PAYLOAD, 0104755),
	};
	zip_make("slip.zip", entries, COUNT(entries));

	struct zip_entry bomb = { .name = "zeros", .data = zeros, .method = 8, .mode = 0100644 };
	bomb.packed = (uint32_t)deflate_zeros(zeros, &bomb.crc, &bomb.size);
	zip_make("bomb.zip", &bomb, 1);
}

/* archives CANARY FOLDER: of each kind that has ever made somebody write elsewhere; FOLDER is the host's, and the workspace is
 * taken back to a folder in it */
static int attack_archives(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	tars(argv[0], argv[1]);
	large();
	zips(argv[0], argv[1]);
	return 0;
}

const struct attack pack_attacks[] = { { "archives", attack_archives }, { 0 } };
